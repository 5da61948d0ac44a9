// SPDX-License-Identifier: Apache-2.0

// Package genkitdev shows agents in Genkit's developer tools. The developer UI and the command
// genkit list an agent as a flow, run it and stream it, and show its requests and tool calls as a
// trace. It is for programs that already use Genkit, or to use its tools while developing an agent.
// Nothing else in Ponte needs it.
//
//	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
//	defer stop()
//	g := genkit.Init(ctx)
//
//	otelagent.Install(otelagent.Config{}) // if the program has it
//
//	a, err := agent.New(agent.Config[Deps, Forecast]{
//		Model: m,
//		Hooks: []agent.Hooks[Deps]{genkitdev.Hooks[Deps]()},
//	})
//	...
//	_, err = genkitdev.Register(g, "forecaster", a, genkitdev.Options[Deps]{Deps: newDeps, Prompt: "Oslo tomorrow?"})
//
// Then "genkit start -- go run ." opens the developer UI, and these commands work:
//
//	genkit flow:run forecaster '{"prompt": "Oslo tomorrow?"}' --stream
//	genkit trace:list
//	genkit trace:get ID
//
// # Input, stream and output
//
// A flow takes an [Input], a JSON object with a prompt and, to continue a conversation, a history.
// It streams [Chunk] values: text, thinking, tool calls, results, retries and values emitted by
// tools. It returns an [Output]: the agent's output, usage and the messages, which are the history
// for the next run. Genkit derives the schema of the output from the agent's output type, and
// checks every output against it. A type with a method MarshalJSON is shown as unknown, unless it
// also has a method JSONSchema, as described in package github.com/invopop/jsonschema.
//
// # Traces
//
// [Hooks] adds the attributes to runs, requests and tool calls by which Genkit's tools recognise
// the parts of a trace: type, name, input, output and state. Inputs and outputs are complete, and
// the input of a request is the whole conversation, so that the tools can repeat it. A trace
// therefore grows with the square of a conversation's length, as Genkit's own traces do. Media of
// more than 256 KiB, signatures, opaque data and extra headers are left out. But Genkit itself
// records the input and the output of the flow unchanged, including the messages. The tools store
// traces as files in the project's directory .genkit. Runs outside of a flow, and programs outside
// of Genkit's development environment, are not affected.
//
// # What genkit.Init does to a program
//
// This package never calls genkit.Init. The program does. As of version 1.4:
//
//   - Init handles SIGINT and SIGTERM permanently, so Ctrl-C alone no longer ends the program. Handle them before Init, as
//     above, or call signal.Reset for both right after it.
//   - It panics if a plugin has no key, or if the port of its reflection server is in use. In the development environment
//     that server listens on 127.0.0.1, from port 3100 on, and runs whatever it is asked to, with your dependencies: never
//     set GENKIT_ENV=dev on a server. It writes a file to .genkit/runtimes next to the program's go.mod.
//   - With its first span Genkit installs its own global tracer provider, unless the global one is an SDK's. A program
//     with its own provider must set it before Init. One that is set after the first span replaces Genkit's, and Genkit
//     panics if it is not an SDK's.
//   - If there already is a provider, Genkit does not add the exporter of its developer tools, so they would show no
//     traces. The program must add it: tracing.WriteTelemetryImmediate(tracing.NewHTTPTelemetryClient(url)), with the url
//     from the variable GENKIT_TELEMETRY_SERVER, if it is set.
//   - In the development environment each Init leaves a goroutine behind.
//
// # Concurrency
//
// Flows may run concurrently. [Register] may be called while flows run.
package genkitdev
