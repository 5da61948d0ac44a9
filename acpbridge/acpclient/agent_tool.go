// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"context"
	"fmt"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// task holds the arguments that the model passes to the agent.
type task struct {
	Prompt string `json:"prompt" jsonschema:"description=The task\\, with all the context needed to do it" validate:"required"`
}

// Tool makes a tool of an ACP agent: the model calls it with a prompt and gets the agent's answer.
// Each call is a new session.
//
//   - The agent's tool calls are events of the outer run, each in an [agent.Nested], as with agent.AsTool. All that it shows, such as its
//     plan, is in a custom event in there, as a [view.Change].
//   - Its questions go to the outer run's asker, unless Session.Permission or Session.Elicitation is set. If there is neither, the answer
//     is no. A decision that defers withdraws the question.
//   - The tokens and the cost in US dollars that it reports are counted on the run's meter at the end of the turn. If a limit is reached,
//     the turn and the run end.
//   - If it fails, the model is told why, and the run continues. The end of the run ends the agent.
func Tool[D any](name, description string, a Agent, opts ...toolset.Option) *toolset.Tool[D] {
	return toolset.Func(name, description, func(ctx context.Context, run *toolset.RunContext[D], in task) (string, error) {
		c := &call{
			agent: &a, name: name, meter: run.Meter, id: run.Call.ID,
			emit: func(e agent.Event) { run.Emit(agent.Nested{Agent: a.Name, Event: e}) },
			ask:  AskWith(agent.AskerOf(run)), answer: AnswerWith(agent.AskerOf(run)),
		}
		return c.run(ctx, in.Prompt)
	}, opts...)
}

// call is a call of the tool. It has no type parameters.
type call struct {
	agent  *Agent
	name   string
	id     string
	meter  *toolset.Meter
	emit   func(agent.Event)
	ask    PermissionFunc
	answer ElicitationFunc
	cost   float64 // counted so far
}

func (c *call) run(ctx context.Context, prompt string) (said string, err error) {
	a := *c.agent
	if a.Config.Elicitation == nil {
		a.Config.Elicitation = c.answer // a client that is started announces it
	}
	client, end, err := a.connect(ctx)
	if err != nil {
		return "", c.failed(ctx, err)
	}
	defer end()
	config := c.agent.Session
	if config.Permission == nil {
		config.Permission = c.ask
	}
	if config.Elicitation == nil {
		config.Elicitation = c.answer
	}
	session, err := client.NewSession(ctx, config)
	if err != nil {
		return "", c.failed(ctx, err)
	}
	defer closeSession(ctx, session)
	c.emit(agent.Event{Kind: agent.EventRunStart})
	defer func() { c.emit(agent.Event{Kind: agent.EventRunEnd, Err: err}) }()
	c.emit(agent.Event{Kind: agent.EventResponse, Message: &model.Message{Kind: model.KindResponse, RunID: string(session.ID())}})

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := c.follow(session, cancel)
	turn, err := session.Say(ctx, prompt)
	stop()
	if err != nil {
		if limit := c.limit(context.Cause(ctx)); limit != nil {
			return "", limit
		}
		return "", c.failed(ctx, err)
	}
	if err := c.count(turn); err != nil {
		return "", err
	}
	return c.result(turn)
}

// result is the result for the model.
func (c *call) result(turn *Turn) (string, error) {
	text := turn.Text()
	if text == "" {
		text = "The agent ended without a message."
	}
	switch turn.StopReason {
	case acp.StopReasonEndTurn:
		return text, nil
	case acp.StopReasonRefusal:
		return "", toolset.Failed("%s refused to do this.", c.name)
	}
	return fmt.Sprintf("%s\n\n[The agent stopped early: %s.]", text, turn.StopReason), nil
}

// failed tells the model of an error. If the run is to end, it does.
func (c *call) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%v: %w", err, context.Cause(ctx))
	}
	return toolset.Failed("%s failed: %v", c.name, err)
}

// follow emits what the session shows, until stop is called, which emits the rest.
func (c *call) follow(session *Session, cancel context.CancelCauseFunc) (stop func()) {
	watching, done := context.WithCancel(context.Background())
	sub := session.Cursor(nil)
	events := &events{emit: c.emit, calls: map[string]view.Status{}}
	next := func() bool {
		u, err := sub.Update(watching)
		if err != nil {
			return false
		}
		for i := range u.Changes {
			change := &u.Changes[i]
			events.change(change)
			if e := change.Entity; e != nil && e.Usage != nil {
				if err := c.spent(e.Usage); err != nil {
					cancel(err)
				}
			}
		}
		return true
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for next() {
		}
	}()
	return func() {
		done()
		<-ended
		for next() { // what there is comes before the end of the context
		}
		events.end()
	}
}

// spent counts the cost that the agent has reported so far.
func (c *call) spent(u *view.Tokens) error {
	if c.meter == nil || u.Currency != "USD" || u.Cost <= c.cost {
		return nil
	}
	c.meter.Add(toolset.Usage{Cost: u.Cost - c.cost})
	c.cost = u.Cost
	return c.meter.CheckCost(0)
}

// count counts the tokens of the turn.
func (c *call) count(turn *Turn) error {
	if c.meter == nil {
		return nil
	}
	if used := usageOf(turn); used != (model.Usage{}) {
		c.meter.Add(toolset.Usage{Usage: used})
	}
	if err := c.meter.CheckTokens(model.Usage{}); err != nil {
		return err
	}
	return c.meter.CheckCost(0)
}

// limit returns the error of a limit of the run, nil if err is another one.
func (c *call) limit(err error) error {
	if limit, ok := err.(interface{ Applies(*toolset.Meter) bool }); ok && c.meter != nil && limit.Applies(c.meter) {
		return err
	}
	return nil
}

// usageOf returns the tokens of a turn. Some agents leave tokens from the cache out of the input:
// the total tells.
func usageOf(turn *Turn) model.Usage {
	u := turn.Usage
	if u == nil {
		return model.Usage{}
	}
	out := max(u.OutputTokens, 0)
	in := max(u.InputTokens, u.TotalTokens-out, 0)
	read := min(max(u.CachedReadTokens, 0), in)
	return model.Usage{
		InputTokens: in, OutputTokens: out, CacheReadTokens: read, CacheWriteTokens: min(max(u.CachedWriteTokens, 0), in-read),
		ReasoningTokens: min(max(u.ThoughtTokens, 0), out),
	}
}
