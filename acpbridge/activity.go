// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset"
)

// describer is implemented by the arguments of a tool: it says what a call with them is about, for people.
type describer interface {
	describe(w *workspace) (title string, locations []acp.ToolCallLocation)
}

// activity is a tool call in progress, as the user sees it. Reports that fail are dropped: whether the client can be
// reached shows in the calls that do the work.
type activity struct {
	*workspace
	tool string
	id   acp.ToolCallID
	call toolset.Call
}

// answer is what a tool call came to.
type answer struct {
	// text is for the model.
	text string
	// show is for the user; nil leaves what is shown.
	show []acp.ToolCallContent
	// raw is for the client's programs.
	raw any
	// failed marks the call as failed for the user, though the model gets an ordinary result.
	failed bool
}

// perform reports a call from its beginning to its end, whatever that is.
func (a *activity) perform(ctx context.Context, kind acp.ToolKind, in describer, do func(context.Context) (answer, error)) (toolset.Result, error) {
	title, locations := in.describe(a.workspace)
	if a.call.Approval != nil && a.call.Approval.Title != "" {
		title = a.call.Approval.Title
	}
	c := acp.ToolCall{
		ToolCallID: a.id, Title: show.Line(title), Name: &a.tool, Kind: kind, Status: acp.ToolCallStatusPending, Locations: locations,
	}
	if a.Tracker.Snapshot(a.id).RawInput == nil { // else the bridge has announced the call, with what the model wrote
		c.RawInput = rawJSON(in)
	}
	_ = a.Tracker.Start(ctx, c)
	returned := false
	defer func() {
		if !returned {
			_ = a.Tracker.Fail(ctx, a.id, "The tool panicked.")
		}
	}()
	got, err := do(ctx)
	returned = true
	if errors.As(err, new(*toolset.ApprovalRequiredError)) { // the call comes here again
		return toolset.Result{}, err
	}
	if err != nil {
		_ = a.Tracker.Fail(ctx, a.id, forUser(ctx, err))
		return toolset.Result{}, err
	}
	done := acp.ToolCallUpdate{ToolCallID: a.id, Status: acp.ToolCallStatusCompleted, Content: got.show, RawOutput: rawJSON(got.raw)}
	if got.failed {
		done.Status = acp.ToolCallStatusFailed
	}
	_ = a.Tracker.Update(ctx, done)
	return toolset.Result{Text: got.text}, nil
}

// started reports that the work has begun.
func (a *activity) started(ctx context.Context, show ...acp.ToolCallContent) {
	a.update(ctx, acp.ToolCallUpdate{Status: acp.ToolCallStatusInProgress, Content: show})
}

func (a *activity) update(ctx context.Context, u acp.ToolCallUpdate) {
	u.ToolCallID = a.id
	_ = a.Tracker.Update(ctx, u)
}

// forUser is what the user is told about an error of a tool.
func forUser(ctx context.Context, err error) string {
	if failed, ok := errors.AsType[*toolset.FailedError](err); ok {
		return failed.Message
	}
	if denied, ok := errors.AsType[*toolset.DeniedError](err); ok {
		return denied.Message
	}
	if retry, ok := errors.AsType[*toolset.RetryError](err); ok {
		return retry.Message
	}
	if ctx.Err() != nil {
		return "Cancelled."
	}
	return err.Error()
}

func rawJSON(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	data, err := json.Marshal(v)
	if err != nil { // only plain structs get here
		return nil
	}
	return data
}

func terminalContent(id acp.TerminalID) acp.ToolCallContent {
	return acp.ToolCallContent{Terminal: &acp.Terminal{TerminalID: id}}
}

var _ deps.Carrier = (*activity)(nil)
