// SPDX-License-Identifier: Apache-2.0

// Package genkitdev makes agents appear in Genkit's developer tools: the developer UI and the command genkit list an agent as a
// flow, run it and stream it, and show its requests and tool calls as a trace. It is for a program that already uses Genkit, or
// wants its tools while an agent is being written; nothing else of Ponte needs it.
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
// Then "genkit start -- go run ." opens the developer UI, and this works beside it:
//
//	genkit flow:run forecaster '{"prompt": "Oslo tomorrow?"}' --stream
//	genkit trace:list
//	genkit trace:get ID
//
// # Input, stream and output
//
// A flow takes an [Input], a JSON object with a prompt, and with a history to go on with one. It streams [Chunk] values: text,
// thinking, tool calls, results, retries and what tools emit. It gives back an [Output]: the agent's output, usage and the
// messages, which are the history for the next run. The schema of the output is derived from the agent's output type by Genkit,
// which holds every output against it. A part of it that writes itself as JSON, by a method MarshalJSON, is shown as something
// unknown, unless it also has a method JSONSchema, as package github.com/invopop/jsonschema describes it.
//
// # Traces
//
// [Hooks] give runs, requests and tool calls the attributes by which Genkit's tools know the parts of a trace: type, name, input,
// output and state. Inputs and outputs are what was really said, and the input of a request is the whole conversation, so that
// the tools can repeat it: a trace grows with the square of a conversation's length, as Genkit's own traces do. Media of more
// than 256 KiB, signatures, opaque data and extra headers are left out there; but Genkit itself records the input and the output
// of the flow as they are, with the messages. The tools keep traces as files in the directory .genkit of the project. Runs from
// anywhere else than a flow, and programs outside of Genkit's development environment, are left alone.
//
// # What genkit.Init does to a program
//
// This package never calls genkit.Init; the program does, and should know, of version 1.4:
//
//   - Init catches SIGINT and SIGTERM for good, so that Ctrl-C alone no longer ends the program. Handle them before Init, as
//     above, or call signal.Reset for both right after it.
//   - It panics if a plugin has no key, and if the port of its reflection server is taken. In the development environment that
//     server listens on 127.0.0.1, from port 3100 on, and runs whatever it is asked to, with your dependencies: never set
//     GENKIT_ENV=dev on a server. It writes a file to .genkit/runtimes beside the program's go.mod.
//   - With its first span Genkit installs a global tracer provider of its own, if the global one is not an SDK's. A program that
//     has its own must set it before Init; one that is set after the first span takes over from Genkit's, and Genkit panics if it
//     is not an SDK's.
//   - To a provider that was there before it, Genkit does not add the exporter of its developer tools, so that they would show
//     no traces. The program does it: tracing.WriteTelemetryImmediate(tracing.NewHTTPTelemetryClient(url)), with the url in the
//     variable GENKIT_TELEMETRY_SERVER, if it is set.
//   - In the development environment each Init leaves a goroutine behind.
//
// # Concurrency
//
// Flows run as often at a time as they are asked to. [Register] may be called while others run.
package genkitdev
