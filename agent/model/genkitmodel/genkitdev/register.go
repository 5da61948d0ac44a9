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

// Options say how an agent runs when Genkit's tools run it. The zero value suits agents without dependencies.
type Options[D any] struct {
	// Deps makes the dependencies of each run. Nil passes the zero value of D. It must be safe for concurrent use.
	Deps func(ctx context.Context) (D, error)
	// Prompt is an example of a prompt: the tools offer it as the default.
	Prompt string
	// Run is passed to every run. What the input says comes after it.
	Run []agent.RunOption
}

// Flow is an agent as a flow of Genkit's. A program may also run it itself, or serve it with [genkit.Handler].
type Flow[O any] = core.Flow[Input, Output[O], Chunk]

// Register makes an agent a streaming flow of g, under a name that no other flow of g has, so that Genkit's developer tools
// list it, run it and show what it streams. The flow's input is an [Input], what it streams are [Chunk] values, and its
// output is an [Output]. The model always streams, whether somebody watches or not.
//
// It returns an error if an argument is missing, if the name is taken, or if there is no JSON schema of O. Errors of runs are
// those of the agent, an [*agent.RunError] each; a run that waits for approvals or results is no error: see
// [Output.Pending].
func Register[D, O any](g *genkit.Genkit, name string, a *agent.Agent[D, O], options Options[D]) (_ *Flow[O], err error) {
	switch {
	case g == nil:
		return nil, errors.New("genkitdev: register: no Genkit: pass what genkit.Init returns")
	case name == "":
		return nil, errors.New("genkitdev: register: the flow has no name")
	case a == nil:
		return nil, fmt.Errorf("genkitdev: register %q: no agent", name)
	}
	defer func() { // Genkit reports what it cannot take by a panic
		if p := recover(); p != nil {
			err = fmt.Errorf("genkitdev: register %q: %v", name, p)
		}
	}()
	r := &runner[D, O]{name, a, options}
	// The flow is defined beside the registry first, because its schemas must be right before others can see them.
	flow := core.DefineStreamingFlow(aside{}, name, r.run)
	describe(flow.Desc(), options.Prompt, reflect.TypeFor[O]())
	genkit.RegisterAction(g, flow)
	return flow, nil
}

// aside is a registry that keeps nothing.
type aside struct{ api.Registry }

func (aside) RegisterAction(string, api.Action) {}

// runner runs an agent as a flow.
type runner[D, O any] struct {
	name    string
	agent   *agent.Agent[D, O]
	options Options[D]
}

// run is the flow's function. send is never nil.
func (r *runner[D, O]) run(ctx context.Context, in Input, send core.StreamCallback[Chunk]) (Output[O], error) {
	deps, err := r.deps(ctx)
	if err != nil {
		return Output[O]{}, fmt.Errorf("genkitdev: dependencies of %q: %w", r.name, err)
	}
	stream := r.agent.Stream(ctx, deps, in.Prompt, in.options(r.options.Run)...)
	for e := range stream.Events() {
		if chunk, ok := chunkOf(&e); ok {
			if err := send(ctx, chunk); err != nil {
				return Output[O]{}, fmt.Errorf("genkitdev: stream of %q: %w", r.name, err) // leaving the range ends the run
			}
		}
	}
	res, err := stream.Result()
	return outputOf(res, err)
}

// deps makes the dependencies of a run. A panic is an error, since the tools show errors only.
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
