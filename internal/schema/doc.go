// Package schema turns Go types into JSON schemas that a model can follow, and decodes what a model
// wrote back into those types, strictly.
//
// A rule is written once, as a struct tag: the schema tells it to the model and [Type.Decode] holds
// the model to it. Whatever Decode accepts satisfies the schema, fits the Go type and passes the
// type's validate tags; whatever it refuses comes back as an [*Error] that lists every problem with
// its path, in words that a model can act on.
//
// All functions and methods may be called from several goroutines at once.
package schema
