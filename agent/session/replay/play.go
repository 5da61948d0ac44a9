// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// PlayOptions change what is replayed and compared. The zero value replays the results of all
// tools, and compares everything.
type PlayOptions struct {
	// Real names tools that are called. Their results are compared with those of the session. The
	// other tools are not called: the model gets the session's results.
	Real []string
	// Ignore has the aspects that are not compared.
	Ignore []Aspect
	// Run are options for the run of the agent, such as limits. Those that belong to a single run
	// cannot be used.
	Run []agent.RunOption
}

// Aspect is a part of what an agent does.
type Aspect string

const (
	// Instructions are the agent's instructions.
	Instructions Aspect = "instructions"
	// Tools are the names, descriptions and schemas of tools, and their order.
	Tools Aspect = "tools"
	// Settings are the settings of the model, and the choice of tools.
	Settings Aspect = "settings"
	// Results are the texts of the results of calls. Whether calls succeed is still compared.
	Results Aspect = "results"
)

// Play runs an agent on a turn of the recording, counted from 0: the model answers as in the
// session, calls have the results that they had, and questions get the answers that they got. It
// returns a [*Difference] if the agent does something else, and another error if the recording
// cannot be played. Nothing reaches a network as long as the agent's instructions, hooks and real
// tools do not use one.
//
// The run ends where the session does not tell how it went on: where it was cancelled, where a
// provider failed, and where an agent took over by a hand-over.
func Play[D, O any](ctx context.Context, r *Recording, turn int, a *agent.Agent[D, O], deps D,
	o PlayOptions) error {
	_, err := play(ctx, r, turn, a, deps, o, false)
	return err
}

// Fill adds to a turn of a recording what the session does not keep: what the model is told of
// tools, settings, the output, and how the run ended. Later replays are compared with it. Lines of
// the instructions that the session does not have, such as the date, are replaced by [Any].
// Fill returns an error as Play does if the agent differs from the session.
func Fill[D, O any](ctx context.Context, r *Recording, turn int, a *agent.Agent[D, O], deps D,
	o PlayOptions) error {
	p, err := play(ctx, r, turn, a, deps, o, true)
	if err != nil {
		return err
	}
	r.Turns[turn].Checked = &p.checked
	info := a.ModelInfo()
	if info.Name != "" {
		r.Model = info
	}
	return nil
}

func play[D, O any](ctx context.Context, r *Recording, turn int, a *agent.Agent[D, O], deps D,
	o PlayOptions, fill bool) (*player, error) {
	if turn < 0 || turn >= len(r.Turns) {
		return nil, fmt.Errorf("replay: there is no turn %d: the recording has %d",
			turn, len(r.Turns))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := newPlayer(r, turn, o, fill, cancel)
	calls := toolset.Wrapped(a.Toolset(), func(ctx context.Context, run *toolset.RunContext[D],
		args any, next toolset.CallFunc) (toolset.Result, error) {
		if run.RunID != p.turn.ID || slices.Contains(o.Real, run.Call.Tool) {
			return p.real(ctx, &run.Call, args, next)
		}
		return p.call(ctx, &run.Call)
	})
	info := a.ModelInfo()
	if info.Name == "" {
		info = r.Model
	}
	ctx = a.Override(ctx, agent.Overrides[D]{
		Model: model.Func(info, p.generate), Toolsets: []toolset.Toolset[D]{calls},
	})
	ctx = agent.AddInstrumentation(ctx, agent.Hooks[any]{Request: p.inside})
	opts := append(slices.Clone(o.Run),
		agent.WithHistory(r.messages(p.turn.Before)), agent.WithRunID(p.turn.ID),
		agent.WithConversationID(r.Session), agent.WithInbox(&p.inbox),
		agent.WithAsker(toolset.AskerFuncs{OnApprove: p.approve}))
	if len(p.turn.Prompt) > 0 {
		opts = append(opts, agent.WithParts(p.turn.Prompt...))
	} else {
		opts = append(opts, agent.WithResults(p.turn.Answers))
	}
	res, err := a.Run(ctx, deps, "", opts...)
	p.mu.Lock()
	defer p.mu.Unlock()
	var output any
	var messages []*model.Message
	if res != nil {
		output, messages = res.Output, res.Messages
	}
	if failed, ok := errors.AsType[*agent.RunError](err); ok {
		messages = failed.Messages
	}
	if err := p.end(output, messages, err); err != nil {
		return p, err
	}
	return p, nil
}

// errEnd ends a run where the recording ends.
var errEnd = errors.New("replay: the session does not tell how it went on")

// end compares how the run has ended.
func (p *player) end(output any, messages []*model.Message, err error) error {
	if p.different != nil {
		return p.different
	}
	pending := errorIs[*agent.PendingError](err)
	switch ended := p.stopped != "" || errors.Is(err, errEnd); {
	case ended:
		p.checked.End = p.stopped
	case err != nil && !pending:
		p.checked.End = "failed: " + err.Error()
	case pending:
		p.checked.End = "pending"
	default:
		text, encodeErr := json.Marshal(output)
		if encodeErr != nil {
			return fmt.Errorf("replay: the output is not JSON: %w", encodeErr)
		}
		p.checked.Output = text
	}
	if d := p.missing(err); d != nil {
		return d
	}
	if p.stopped == "" {
		if d := p.tail(messages, err); d != nil {
			return d
		}
	}
	return p.compareChecked()
}

func errorIs[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
