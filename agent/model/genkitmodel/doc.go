// SPDX-License-Identifier: Apache-2.0

// Package genkitmodel turns models of Genkit (github.com/firebase/genkit/go) into models of Ponte, for programs that have
// Genkit plugins already: of a provider that Ponte has no adapter for, or of their own.
//
//	m, err := genkitmodel.New(genkitModel, genkitmodel.Config{Dialect: openaidialect.Dialect()})
//
// A model comes from a plugin or from [ai.NewModel]; no genkit.Genkit is needed, and nothing of Ponte calls genkit.Init. That
// function takes over SIGINT and SIGTERM: a program that calls it should call signal.Reset right after.
//
// # Dialects
//
// Plugins differ in what they read of a request and what they keep of an answer, so each is spoken to in a [Dialect]. The
// packages beside this one have those of Genkit's own plugins, each with a New that makes plugin and model at once; a program
// links the SDK of a provider only if it imports the package:
//
//	openaidialect     plugins compat_oai and openai
//	anthropicdialect  plugin anthropic
//	googledialect     plugin googlegenai
//	ollamadialect     plugin ollama
//
// [Generic] is for all others. It keeps to what Genkit defines and refuses the rest.
//
// # Contract
//
// Plugins break Genkit's contract and ours in many ways; what a dialect does not mend is listed in its documentation. In
// front of every plugin these hold: a panic, a missing response or message, and a plugin that does not end are errors;
// empty chunks are dropped and adjacent text is one part; the sink is called by the caller's goroutine alone, and what it
// was told is what the message says; whole numbers of 64 bits survive on their way to the plugin; call ids are unique; media that
// is not listed is refused before the plugin sees it; and errors are a [*model.APIError] in which errors.As finds those of the
// provider's SDK. Nothing is retried here.
//
// # Costs
//
// Genkit checks each request and response against JSON schemas and encodes them several times for its traces, so a step
// costs time and memory in proportion to the whole history. One step on one core, without a network:
//
//	messages   openaidialect                     openaimodel
//	1          0.36 ms   229 kB    2,800 allocs  0.01 ms   13 kB  90 allocs
//	100        1.5 ms    1.0 MB   12,600 allocs  0.01 ms   32 kB  65 allocs
//	1,000      12 ms     8.3 MB  104,000 allocs  0.12 ms  215 kB  65 allocs
//
// A stripped program with an agent is 16 MB large with openaidialect and 18 MB with anthropicdialect, 9 MB with openaimodel
// and 12 MB with anthropicmodel. Therefore Ponte has adapters of its own for OpenAI, Anthropic, Google and whatever is
// compatible: use those unless Genkit is there anyway.
//
// # Traces
//
// Every request is a span of Genkit's, a child of the span in the context, with request and response in its attributes.
// The first one makes Genkit set its own global tracer provider of OpenTelemetry, unless that is one of OpenTelemetry's
// SDK already: set yours before the first request.
//
// # Concurrency
//
// A [Model] is safe for concurrent use as far as the plugin is. Each request runs the plugin on a goroutine that has ended when
// Generate returns, but for a plugin that does not heed its context.
package genkitmodel
