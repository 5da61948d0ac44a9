// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// core is the typed side of a host. It is where the types are; nothing else here has type
// parameters.
type core interface {
	open(ctx context.Context, s *Session) (instance, error)
	// commands returns the agent's slash commands.
	commands() []view.SlashCommand
}

// instance is the typed side of a session that is awake.
type instance interface {
	// run runs the agent once. Events are valid during the call. It returns the whole history also
	// if it fails, unless the run has not begun.
	run(ctx context.Context, in *runInput, event func(*agent.Event)) (history []*model.Message, err error)
	// input passes a prompt through the agent's checks of its input.
	input(ctx context.Context, in *runInput, parts []model.Part) (*agent.Input, error)
	// command runs a slash command of the agent.
	// in makes the arguments of a run, whose limits and policies hold for the command.
	command(ctx context.Context, in func() (*runInput, error), text string, history []*model.Message) (agent.CommandResult, bool, error)
	// layers are the first to decide about calls.
	layers() ([]approval.Layer, error)
	// files returns what takes files along, or nil.
	files() Files
	// tools returns what the agent has, in the order in which it is offered.
	tools(ctx context.Context) ([]Tool, error)
	// made returns the dependencies.
	made() any
	// keep reports whether the session stays awake.
	keep() bool
	// release frees the dependencies.
	release(ctx context.Context) error
}

// runInput holds the arguments of a run.
type runInput struct {
	prompt  *Prompt
	before  []agent.RunOption // that the user's options win over
	options []agent.RunOption // that win
	keep    func(tool string, kind toolset.Kind) bool
	// own are before and the layers of RunOptions, once they have been asked for.
	own []agent.RunOption
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

func (i *typedInstance[D, O]) run(
	ctx context.Context, in *runInput, event func(*agent.Event),
) ([]*model.Message, error) {
	options, err := i.options(ctx, in)
	if err != nil {
		return nil, err
	}
	if set := i.offered(in.keep); set != nil {
		ctx = i.config.Agent.Override(ctx, agent.Overrides[D]{Toolsets: []toolset.Toolset[D]{set}})
	}
	stream := i.config.Agent.Stream(ctx, i.deps, "", options...)
	var now agent.Event // one for all, because deltas come by the thousand
	for now = range stream.Events() {
		event(&now)
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

func (i *typedInstance[D, O]) input(
	ctx context.Context, in *runInput, parts []model.Part,
) (_ *agent.Input, err error) {
	defer recovered(&err)
	options, err := i.options(ctx, in)
	if err != nil {
		return nil, err
	}
	return i.config.Agent.Input(ctx, i.deps, parts, options...)
}

// offered returns the tools for a run, or nil for all of the agent.
func (i *typedInstance[D, O]) offered(
	keep func(string, toolset.Kind) bool,
) (set toolset.Toolset[D]) {
	if keep != nil {
		set = i.kept(keep)
	}
	if i.config.Runner == nil {
		return set
	}
	if set == nil {
		set = i.config.Agent.Toolset()
	}
	return toolset.Stateless(set)
}

// kept returns the tools of the agent that are kept.
func (i *typedInstance[D, O]) kept(keep func(string, toolset.Kind) bool) toolset.Toolset[D] {
	return toolset.Filtered(i.config.Agent.Toolset(), func(_ context.Context, _ *toolset.RunContext[D], t *toolset.Tool[D]) (bool, error) {
		return keep(t.Def.Name, t.Kind), nil
	})
}

func (i *typedInstance[D, O]) tools(ctx context.Context) (all []Tool, err error) {
	defer recovered(&err)
	set := i.config.Agent.Toolset()
	if keep := i.session.keeps(); keep != nil {
		set = i.kept(keep)
	}
	run := &toolset.RunContext[D]{Deps: i.deps}
	open, err := set.Open(ctx, run)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, open.Close(context.WithoutCancel(ctx))) }()
	listing, err := open.Tools(ctx, run)
	for _, t := range listing.Tools {
		all = append(all, Tool{
			Name: t.Def.Name, Title: t.Title, Description: t.Def.Description, Kind: t.Kind,
			Idempotent: t.Idempotent || t.External, // it does not run here
		})
	}
	return all, err
}

func (t *typed[D, O]) commands() []view.SlashCommand {
	var all []view.SlashCommand
	for _, c := range t.config.Agent.Commands() {
		all = append(all, view.SlashCommand{Name: c.Name, Description: c.Description, Hint: c.Hint})
	}
	return all
}

func (i *typedInstance[D, O]) options(ctx context.Context, in *runInput) (options []agent.RunOption, err error) {
	defer recovered(&err)
	if in.own == nil {
		in.own = in.before
		if i.config.RunOptions != nil {
			own, err := i.config.RunOptions(ctx, i.deps, in.prompt)
			if err != nil {
				return nil, err
			}
			in.own = append(in.own, own...)
		}
	}
	for _, o := range in.own {
		if name := agent.SingleRunOption(o); name == "WithEngine" || name == "WithJournal" {
			return nil, fmt.Errorf("host: the options of a run have agent.%s: the session is its journal; set Config.Runner to run it elsewhere", name)
		}
	}
	return append(slices.Clip(in.own), in.options...), nil
}

func (i *typedInstance[D, O]) command(
	ctx context.Context, in func() (*runInput, error), text string, history []*model.Message,
) (_ agent.CommandResult, ok bool, err error) {
	var options []agent.RunOption
	words := strings.Fields(text)
	is := func(c agent.Command[D]) bool { return c.Run != nil && words[0] == "/"+c.Name }
	if slices.ContainsFunc(i.config.Agent.Commands(), is) {
		run, err := in()
		if err == nil {
			options, err = i.options(ctx, run)
		}
		if err != nil {
			return agent.CommandResult{}, true, err
		}
	}
	return i.config.Agent.Command(ctx, i.deps, text, history, options...)
}

func (i *typedInstance[D, O]) layers() (all []approval.Layer, err error) {
	defer recovered(&err)
	if i.config.Layers != nil {
		all = i.config.Layers(i.deps)
	}
	return all, nil
}

func (i *typedInstance[D, O]) files() Files {
	if i.config.Files == nil {
		return nil
	}
	return i.config.Files(i.deps)
}

func (i *typedInstance[D, O]) made() any { return i.deps }

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
