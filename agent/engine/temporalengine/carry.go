// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"context"
	"errors"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// A workflow is continued as a new one before its history reaches Temporal's limits of 51,200
// events and 50 MiB. This happens between two steps, or while the run waits for people: no activity
// and no child runs then. The server suggests the moment; these bounds are for servers that do not.
const (
	maxEvents = 10_000
	maxBytes  = 10 << 20
	// A run whose tools have just failed is continued in the next step, because the new execution would begin to count failures with the user's last
	// message. It does not wait for longer than this.
	mustEvents = 30_000
	mustBytes  = 30 << 20
)

// errFull ends a leg whose workflow is to be continued as a new one.
var errFull = errors.New("temporalengine: the history of the workflow is full")

// carried is the state that one execution of a workflow passes to the next.
type carried struct {
	// History is the run's history. Instructions belong to its requests.
	History      *reference   `json:"history"`
	Instructions []instructed `json:"instructions,omitempty"`
	// Usage is the run's usage. Steps counts the steps.
	Usage toolset.Usage `json:"usage,omitzero"`
	Steps int           `json:"steps,omitempty"`
	// Dropped is the number of transcript messages that the history no longer contains.
	Dropped int `json:"dropped,omitempty"`
	// Inbox are the messages that the run has not read yet.
	Inbox [][]model.Part `json:"inbox,omitempty"`
	// Waits is set if the history ends with calls that wait for answers. Results are the answers
	// received.
	Waits   bool                    `json:"waits,omitempty"`
	Results toolset.DeferredResults `json:"results,omitzero"`
	// Taken identifies answers that have been taken.
	Taken []string `json:"taken,omitempty"`
}

// instructed records the instructions of requests, from a message on.
type instructed struct {
	From int    `json:"from"`
	Text string `json:"text,omitempty"`
}

// full reports whether the history of the workflow is so long that it should be continued as a new one.
func (e *runEngine) full() bool {
	if e.own { // the workflow is not ours to be continued
		return false
	}
	info := workflow.GetInfo(e.ctx)
	return info.GetContinueAsNewSuggested() || e.state.asks >= manyAsked || info.GetCurrentHistoryLength() >= maxEvents || info.GetCurrentHistorySize() >= maxBytes
}

// fullBefore reports whether the workflow should be continued as a new one before a step. An execution does something first.
func (e *runEngine) fullBefore(step *engine.Task) bool {
	if !e.state.worked || !e.full() || len(step.Checks) == 0 {
		return e.state.worked && e.full()
	}
	info := workflow.GetInfo(e.ctx)
	return info.GetCurrentHistoryLength() >= mustEvents || info.GetCurrentHistorySize() >= mustBytes
}

// fullWaiting reports whether a workflow that waits should be continued as a new one.
func (e *runEngine) fullWaiting() bool {
	return (e.state.worked || e.state.heard || e.messages.Len() > 0) && e.full()
}

// again continues the workflow as a new one.
func (f *flow[D, O]) again(ctx workflow.Context, e *runEngine, in begin, waits bool) error {
	s := e.state
	e.receive()
	history, _, err := e.refer(s.messages)
	if err != nil {
		return f.failed(ctx, in, s, err)
	}
	in.Prompt, in.Parts, in.History = "", nil, nil
	in.Carried = &carried{
		History: history, Instructions: instructions(s.messages), Usage: s.usage, Steps: e.steps,
		Dropped: e.dropped, Inbox: s.inbox.Left(), Waits: waits, Results: s.results, Taken: s.taken,
	}
	return workflow.NewContinueAsNewError(ctx, f.config.Name, in)
}

// resume takes over what an earlier execution has left.
func (f *flow[D, O]) resume(ctx workflow.Context, e *runEngine, c *carried) {
	s := e.state
	before := f.load(ctx, c.History.Before)
	messages := instruct(append(before[:len(before):len(before)], c.History.Messages...), c.Instructions)
	if n := len(messages); n > 0 {
		own := *messages[n-1] // it may change
		messages[n-1] = &own
		e.resumed = &own
	}
	if n := len(before); n > 0 {
		e.chain.kept = tip{last: messages[n-1], n: n, key: c.History.Before, links: maxLinks}
	}
	s.messages, s.usage, s.results, s.taken = messages, c.Usage, c.Results, c.Taken
	e.before, e.steps, e.dropped = &c.Usage, c.Steps, c.Dropped
	for _, parts := range c.Inbox {
		s.inbox.Send(parts...)
	}
	if c.Waits && e.resumed != nil {
		s.pending = e.resumed.PendingCalls
	}
}

// load returns the history that is kept under a key. Unavailable blobs fail the workflow task, not
// the workflow. Temporal retries the task.
func (f *flow[D, O]) load(ctx workflow.Context, key string) (messages []*model.Message) {
	chain := patient(ctx, loader{converter.GetDefaultDataConverter(), f.histories})
	if err := chain.FromPayload(&commonpb.Payload{Data: []byte(key)}, &messages); err != nil {
		panic(fmt.Sprintf("temporalengine: load the history of run %s: %v", workflow.GetInfo(ctx).WorkflowExecution.ID, err))
	}
	return messages
}

// loader is a converter that makes a history of its key, and keeps a history.
type loader struct {
	converter.DataConverter
	histories *histories
}

// ToPayload implements [converter.DataConverter]. It keeps a history.
func (l loader) ToPayload(value any) (*commonpb.Payload, error) {
	ctx, cancel := context.WithTimeout(context.Background(), loadTimeout)
	defer cancel()
	_, err := l.histories.messages(ctx, value.(*reference))
	return nil, err
}

// FromPayload implements [converter.DataConverter].
func (l loader) FromPayload(p *commonpb.Payload, to any) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), loadTimeout)
	defer cancel()
	*to.(*[]*model.Message), err = l.histories.load(ctx, string(p.Data))
	return err
}

// instructions returns the instructions of the requests of a history. A stored history lacks the
// instructions of its own requests, because the following step makes them.
func instructions(messages []*model.Message) (all []instructed) {
	text := ""
	for i, m := range messages {
		if m.Kind == model.KindRequest && m.Instructions != text {
			text = m.Instructions
			all = append(all, instructed{i, text})
		}
	}
	return all
}

// instruct gives the requests of a history their instructions. Messages that change are copied, because others may have them, too.
func instruct(messages []*model.Message, all []instructed) []*model.Message {
	text := ""
	for i, m := range messages {
		if len(all) > 0 && all[0].From == i {
			text, all = all[0].Text, all[1:]
		}
		if m.Kind == model.KindRequest && m.Instructions != text {
			own := *m
			own.Instructions = text
			messages[i] = &own
		}
	}
	return messages
}
