// SPDX-License-Identifier: Apache-2.0

package genkitdev

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/firebase/genkit/go/core"
	"github.com/firebase/genkit/go/core/api"
	"github.com/firebase/genkit/go/genkit"

	"github.com/ponte-go/ponte/agent"
)

// Options determines how Genkit's tools run an agent. The zero value suits agents without
// dependencies.
type Options[D any] struct {
	// Deps returns the dependencies of a run. If nil, the zero value of D is used. It must be safe
	// for concurrent use.
	Deps func(ctx context.Context) (D, error)
	// Prompt is an example prompt, which the tools offer as the default.
	Prompt string
	// Run is passed to every run, before the options from the input.
	Run []agent.RunOption
}

// Flow is an agent as a Genkit flow. Programs may also run it themselves, or serve it with
// [genkit.Handler].
type Flow[O any] = core.Flow[Input, Output[O], Chunk]

// Register defines an agent as a streaming flow of g. Genkit's developer tools list it, run it and
// show what it streams. Name must be unique among the flows of g. The input is an [Input], the flow
// streams [Chunk] values, and the output is an [Output]. The model always streams, even if nobody
// observes.
//
// Register returns an error if an argument is missing, if the name is taken, or if there is no JSON
// schema of O. Errors of runs are those of the agent, each an [*agent.RunError]. A pending run is
// not an error. See [Output.Pending].
func Register[D, O any](g *genkit.Genkit, name string, a *agent.Agent[D, O], options Options[D]) (_ *Flow[O], err error) {
	switch {
	case g == nil:
		return nil, errors.New("genkitdev: register: Genkit is nil; pass the result of genkit.Init")
	case name == "":
		return nil, errors.New("genkitdev: register: flow has no name")
	case a == nil:
		return nil, fmt.Errorf("genkitdev: register %q: agent is nil", name)
	}
	defer func() { // Genkit reports invalid arguments by a panic
		if p := recover(); p != nil {
			err = fmt.Errorf("genkitdev: register %q: %v", name, p)
		}
	}()
	r := &runner[D, O]{name, a, options}
	// The flow is first defined outside of the registry, because its schemas must be corrected
	// before others can see them.
	flow := core.DefineStreamingFlow(aside{}, name, r.run)
	describe(flow.Desc(), options.Prompt, reflect.TypeFor[O]())
	genkit.RegisterAction(g, flow)
	return flow, nil
}

// aside is a registry that stores nothing.
type aside struct{ api.Registry }

func (aside) RegisterAction(string, api.Action) {}

// runner runs an agent as a flow.
type runner[D, O any] struct {
	name    string
	agent   *agent.Agent[D, O]
	options Options[D]
}

// run is the function of the flow. send is never nil.
func (r *runner[D, O]) run(ctx context.Context, in Input, send core.StreamCallback[Chunk]) (Output[O], error) {
	deps, err := r.deps(ctx)
	if err != nil {
		return Output[O]{}, fmt.Errorf("genkitdev: dependencies of %q: %w", r.name, err)
	}
	stream := r.agent.Stream(ctx, deps, in.Prompt, in.options(r.options.Run)...)
	for e := range stream.Events() {
		if chunk, ok := chunkOf(&e); ok {
			if err := send(ctx, chunk); err != nil {
				return Output[O]{}, fmt.Errorf("genkitdev: stream of %q: %w", r.name, err) // leaving the loop ends the run
			}
		}
	}
	res, err := stream.Result()
	return outputOf(res, err)
}

// deps returns the dependencies of a run. A panic becomes an error, because the tools show only
// errors.
func (r *runner[D, O]) deps(ctx context.Context) (deps D, err error) {
	if r.options.Deps == nil {
		return deps, nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return r.options.Deps(ctx)
}
