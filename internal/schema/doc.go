// SPDX-License-Identifier: Apache-2.0

// Package schema turns Go types into JSON schemas that a model can follow, and decodes what a model
// wrote back into those types, strictly.
//
// A rule is written once, as a struct tag: the schema tells it to the model and [Type.Decode] holds
// the model to it. Whatever Decode accepts satisfies the schema, fits the Go type and passes the
// type's validate tags; whatever it refuses comes back as an [*Error] that lists every problem with
// its path, in words that a model can act on.
//
// # How a schema is made
//
// [For] sees a type as encoding/json does. Everything is inlined but recursive types, which become
// definitions. On top of that:
//
//   - A field is required unless it has omitempty or omitzero. The "required" of a validate or
//     jsonschema tag requires it regardless. Required means present: false and 0 are values, while a
//     string whose validate tag says required must not be empty.
//   - A required pointer may be null, unless its validate tag says required. So may a field whose
//     jsonschema tag says nullable.
//   - A jsonschema tag adds keywords as the invopop/jsonschema package reads them; a tag that it
//     would read only in part is an error. jsonschema:"-" hides a field from the model.
//   - The tag description describes a field; jsonschema_description does the same.
//   - A validate tag adds what a schema can say of it: bounds, lengths, choices, formats, patterns.
//   - A type with a JSONSchema method says itself what its schema is. Other types that decode
//     themselves are strings (UnmarshalText) or anything (UnmarshalJSON).
//   - time.Duration is an integer of nanoseconds, as in encoding/json, and its description says so.
//
// # How a text is decoded
//
// A walk over the text checks it against a compiled form of the very schema that the model was shown;
// then encoding/json decodes it and the validator runs. The walk allocates nothing, so strictness
// costs little more than the decoding itself. Structs within slices and maps are validated with or
// without "dive".
//
// All functions and methods may be called from several goroutines at once.
package schema
