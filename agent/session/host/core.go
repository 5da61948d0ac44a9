// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"runtime/debug"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
)

// core is the typed side of a host. It is where the types are; nothing else here has type parameters.
type core interface {
	open(ctx context.Context, s *Session) (instance, error)
}

// instance is the typed side of a session that is awake.
type instance interface {
	// run runs the agent once. It returns the whole history also if it fails, unless the run has not begun.
	run(ctx context.Context, in *runInput, event func(*agent.Event)) (history []*model.Message, err error)
	// command runs a slash command of the agent.
	command(ctx context.Context, text string, history []*model.Message) (agent.CommandResult, bool, error)
	// keep reports whether the session stays awake.
	keep() bool
	// release frees the dependencies.
	release(ctx context.Context) error
}

// runInput is what a run is given.
type runInput struct {
	prompt  *Prompt
	before  []agent.RunOption // that the user's options win over
	options []agent.RunOption // that win
}

type typed[D, O any] struct{ config Config[D, O] }

type typedInstance[D, O any] struct {
	config  *Config[D, O]
	session *Session
	deps    D
}

func (t *typed[D, O]) open(ctx context.Context, s *Session) (_ instance, err error) {
	defer recovered(&err)
	i := &typedInstance[D, O]{config: &t.config, session: s}
	if t.config.Deps != nil {
		i.deps, err = t.config.Deps(ctx, s)
	}
	return i, err
}

func (i *typedInstance[D, O]) run(ctx context.Context, in *runInput, event func(*agent.Event)) ([]*model.Message, error) {
	options, err := i.options(ctx, in)
	if err != nil {
		return nil, err
	}
	stream := i.config.Agent.Stream(ctx, i.deps, "", options...)
	for e := range stream.Events() {
		event(&e)
	}
	result, err := stream.Result()
	if err != nil {
		var run *agent.RunError
		if errors.As(err, &run) {
			return run.Messages, err
		}
		return nil, err
	}
	return result.Messages, nil
}

func (i *typedInstance[D, O]) options(ctx context.Context, in *runInput) (options []agent.RunOption, err error) {
	defer recovered(&err)
	options = in.before
	if i.config.RunOptions != nil {
		own, err := i.config.RunOptions(ctx, i.deps, in.prompt)
		if err != nil {
			return nil, err
		}
		options = append(options, own...)
	}
	return append(options, in.options...), nil
}

func (i *typedInstance[D, O]) command(ctx context.Context, text string, history []*model.Message) (agent.CommandResult, bool, error) {
	return i.config.Agent.Command(ctx, i.deps, text, history)
}

func (i *typedInstance[D, O]) keep() bool {
	return i.config.Keep != nil && i.config.Keep(i.session, i.deps)
}

func (i *typedInstance[D, O]) release(ctx context.Context) (err error) {
	defer recovered(&err)
	if i.config.Release != nil {
		return i.config.Release(ctx, i.session, i.deps)
	}
	return nil
}

// recovered turns a panic of user code into an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = &agent.PanicError{Value: p, Stack: debug.Stack()}
	}
}
