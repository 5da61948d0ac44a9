// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"context"
	"fmt"
	"strconv"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/history"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/clean"
	"github.com/ponte-go/ponte/internal/explain"
	"github.com/ponte-go/ponte/toolset"
)

// teller shows what becomes of a history.
type teller struct {
	id   string
	emit func(any)
}

type tellerKey struct{}

// tell shows the compaction in progress to observers.
func tell(ctx context.Context, e view.Entity) {
	if t, ok := ctx.Value(tellerKey{}).(*teller); ok {
		e.ID, e.Kind = t.id, view.Compaction
		t.emit(change(e))
	}
}

// change returns the change that shows an entity.
func change(e view.Entity) view.Change { return view.Change{Op: view.Upsert, ID: e.ID, Entity: &e} }

// failed reports that a summary could not be made. Users see it, so it has no text of a provider.
func failed(err error) view.Entity {
	text, ok := explain.Known(err)
	if !ok {
		text = "The model could not summarise the conversation."
	}
	return view.Entity{Status: view.Failed, Title: clean.Short(text, 500)}
}

// watch returns a run and a context in which the events of package history are also shown as
// entities.
func watch[D any](ctx context.Context, run *toolset.RunContext[D]) (*toolset.RunContext[D], context.Context) {
	if run == nil || run.Host == nil {
		return run, ctx
	}
	t := &teller{id: "compaction-" + placeOf(run), emit: run.Emit}
	watched := *run
	watched.Host = &host{run.Host, t}
	return &watched, context.WithValue(ctx, tellerKey{}, t)
}

// placeOf identifies a step of a run.
func placeOf[D any](run *toolset.RunContext[D]) string {
	return run.RunID + "-" + strconv.Itoa(run.Step)
}

// host adds entities to the events of processors.
type host struct {
	toolset.Host
	*teller
}

// Emit implements [toolset.Host].
func (h *host) Emit(call toolset.Call, value any) {
	h.Host.Emit(call, value)
	switch v := value.(type) {
	case history.Summarised:
		h.Host.Emit(call, change(view.Entity{ID: h.id, Kind: view.Compaction, Status: view.Completed, Content: []view.Content{{Kind: view.Text, Text: v.Text}}}))
	case history.Cleared:
		h.Host.Emit(call, change(view.Entity{ID: "cleared-" + h.id, Kind: view.Notice, Class: "info", Title: fmt.Sprintf("Removed %d old tool results to save space.", v.Results)}))
	}
}

// announced is a model whose requests are summaries.
type announced struct{ model.Model }

// Generate implements [model.Model].
func (a *announced) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	tell(ctx, view.Entity{Status: view.Running})
	return model.Ask(ctx, a.Model, req, sink)
}

// warn emits a notice when a history grows beyond the share of the bound at which users are warned.
func (c *compactor[D]) warn(run *toolset.RunContext[D], messages []*model.Message, now int64, bound int) {
	at := int64(bound * warnAt / 100)
	if run == nil || now < at {
		return
	}
	last := len(messages) - 1
	for last > 0 && messages[last].Kind != model.KindResponse {
		last--
	}
	if c.size(messages[:last]) < at { // as the last request was measured
		run.Emit(change(view.Entity{
			ID: "nearly-full-" + placeOf(run), Kind: view.Notice, Class: "warning",
			Title: fmt.Sprintf("The conversation fills %d%% of the context window. Its older part will be summarised soon; /compact does it now.", now*100/int64(bound)),
		}))
	}
}

// corrected adjusts the response to a request that was cut: its size becomes the size of the
// history.
func (c *compactor[D]) corrected(run *toolset.RunContext[D], resp *model.Message, size int64) *model.Message {
	if resp == nil {
		return nil
	}
	clone := resp.Clone()
	if clone.Metadata == nil {
		clone.Metadata = map[string]string{}
	}
	clone.Metadata[history.MetaContext] = strconv.FormatInt(max(size, int64(c.bound(run))+1), 10)
	return clone
}

// command is /compact.
func (c *compactor[D]) command(ctx context.Context, call agent.CommandCall[D]) (agent.CommandResult, error) {
	messages, done, err := history.Compact(ctx, c.summary(c.boundOf(c.options.Window)), call.Messages, call.Args, call.Meter)
	switch {
	case err != nil:
		return agent.CommandResult{}, err
	case done == nil:
		return agent.CommandResult{Notice: "There is nothing to summarise yet."}, nil
	}
	return agent.CommandResult{
		Messages: messages,
		Notice:   fmt.Sprintf("Summarised %d messages: %d tokens are now %d.", done.Messages, done.Before, done.After),
	}, nil
}
