// SPDX-License-Identifier: Apache-2.0

// Package genkitmodel makes models of Genkit (github.com/firebase/genkit/go) usable as Ponte
// models. It is for programs that already have Genkit plugins, for example for a provider without a
// Ponte adapter.
//
//	m, err := genkitmodel.New(genkitModel, genkitmodel.Config{Dialect: openaidialect.Dialect()})
//
// The model comes from a plugin or from [ai.NewModel]. No genkit.Genkit is needed, and Ponte never
// calls genkit.Init. That function handles SIGINT and SIGTERM: a program that calls it should call
// signal.Reset right after.
//
// # Dialects
//
// Plugins differ in what they use of a request and what they keep of a response. A [Dialect]
// describes a plugin. The packages below contain the dialects of Genkit's own plugins, each with a
// New that makes plugin and model together. A program links the SDK of a provider only if it
// imports the package:
//
//	openaidialect     plugins compat_oai and openai
//	anthropicdialect  plugin anthropic
//	googledialect     plugin googlegenai
//	ollamadialect     plugin ollama
//
// [Generic] is for all other plugins. It is restricted to what Genkit defines and returns an error
// for the rest.
//
// # Contract
//
// Plugins break the contracts of Genkit and Ponte in many ways. The documentation of each dialect
// lists what it cannot fix. For every plugin: panics, missing responses or messages, and plugins
// that do not return are errors. Empty chunks are dropped, and adjacent text is merged. The sink is
// called only on the caller's goroutine, and the message matches what it was told. Whole numbers of
// 64 bits reach the plugin exactly. Call ids are unique. Media that is not listed is an error
// before the plugin is called. Errors are a [*model.APIError], in which errors.As finds those of
// the provider's SDK. Nothing is retried.
//
// # Costs
//
// Genkit checks each request and response against JSON schemas and encodes them several times for
// its traces. A step therefore costs time and memory in proportion to the whole history. One step
// on one core, without a network:
//
//	messages   openaidialect                     openaimodel
//	1          0.36 ms   229 kB    2,800 allocs  0.01 ms   13 kB  90 allocs
//	100        1.5 ms    1.0 MB   12,600 allocs  0.01 ms   32 kB  65 allocs
//	1,000      12 ms     8.3 MB  104,000 allocs  0.12 ms  215 kB  65 allocs
//
// The size of a stripped program with an agent is 16 MB with openaidialect and 18 MB with
// anthropicdialect, compared to 9 MB with openaimodel and 12 MB with anthropicmodel. Use Ponte's
// own adapters for OpenAI, Anthropic, Google and compatible providers, unless the program uses
// Genkit anyway.
//
// # Traces
//
// Every request is a Genkit span, a child of the span in the context, with request and response in
// its attributes. With the first request Genkit sets its own global OpenTelemetry tracer provider,
// unless the global one is already from OpenTelemetry's SDK. Set yours before the first request.
//
// # Concurrency
//
// A [Model] is safe for concurrent use if the plugin is. Each request runs the plugin on a
// goroutine that ends before Generate returns, unless the plugin ignores its context.
package genkitmodel
