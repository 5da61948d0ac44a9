// SPDX-License-Identifier: Apache-2.0

// Package schema derives JSON schemas from Go types, and strictly decodes what a model wrote into
// those types.
//
// A rule is written once, as a struct tag: the schema shows it to the model, and [Type.Decode]
// enforces it. Everything that Decode accepts matches the schema, fits the Go type and passes the
// type's validate tags. Otherwise Decode returns an [*Error] that lists every problem with its
// path, in words that a model can act on.
//
// # Schemas
//
// [For] treats a type as encoding/json does. Everything is inlined except recursive types, which
// become definitions. In addition:
//
//   - A field is required unless it has omitempty, omitzero or a default. The "required" of a validate or jsonschema tag requires it
//     in any case. Required means present: false and 0 are valid values, but a string whose validate tag says required
//     must not be empty.
//   - A required pointer may be null, unless its validate tag says required. So may a field whose jsonschema tag says
//     nullable.
//   - A jsonschema tag adds keywords, as in the invopop/jsonschema package. A tag that the package would read only in part
//     is an error. So are tags of other libraries that would have no effect, and rules that cannot work.
//   - The tag enum lists values. The tag default has the value of an absent field.
//   - jsonschema:"-" hides a field from the model.
//   - The tags description and jsonschema_description describe a field.
//   - A validate tag adds what a schema can express: bounds, lengths, choices, formats, patterns.
//   - A type with a JSONSchema method determines its own schema. Other types with their own decoding are strings
//     (UnmarshalText) or anything (UnmarshalJSON).
//   - time.Duration is text such as "1h30m", for [Type.Decode] and for [Marshal].
//   - Keys of maps may be integers.
//
// # Decoding
//
// The text is first checked against a compiled form of the schema that the model was shown. Then it
// is decoded by encoding/json and validated. The check does not allocate, so strictness costs
// little more than decoding alone. Where the schema allows what encoding/json does not, the text is
// edited between the two. Rules do not apply to fields that are absent. Structs in slices and maps
// are validated with or without "dive".
//
// All functions and methods are safe for concurrent use.
package schema
