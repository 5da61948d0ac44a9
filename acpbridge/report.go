// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/internal/acpview"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset"
	ws "github.com/ponte-go/ponte/toolset/workspace"
)

// report tells the user of a tool call in progress. Reports that fail are dropped: whether the
// client can be reached shows in the calls that do the work.
type report struct {
	deps.ACPDeps
	tool  string
	kind  acp.ToolKind
	id    acp.ToolCallID
	about ws.Subject

	held   acp.ToolCall   // goes out with the next report: nothing is told that the next report would correct
	live   bool           // the user sees commands in terminals of the client
	output *growingOutput // what the call has shown of a command on this machine; nil if nothing
}

type reportKey struct{}

// reportOf returns the tool call that a context belongs to, nil if there is none.
func reportOf(ctx context.Context) *report {
	a, _ := ctx.Value(reportKey{}).(*report)
	return a
}

// perform reports a call from its beginning to its end, whatever that is. do does the work.
func (a *report) perform(ctx context.Context, call *toolset.Call, do func(ctx context.Context) (toolset.Result, error)) (toolset.Result, error) {
	title := a.about.Title
	if call.Approval != nil && call.Approval.Title != "" {
		title = call.Approval.Title
	}
	a.held = acp.ToolCall{Title: show.Line(title), Name: &a.tool, Kind: a.kind, Status: acp.ToolCallStatusPending, Locations: a.locations()}
	if a.Tracker.Snapshot(a.id).RawInput == nil { // else the bridge has announced the call, with what the model wrote
		a.held.RawInput = transcript.Input(call.Args)
	}
	returned := false
	defer func() {
		if !returned {
			a.fail(ctx, "The tool panicked.")
		}
	}()
	res, err := do(context.WithValue(ctx, reportKey{}, a))
	returned = true
	if denied, ok := errors.AsType[*toolset.DeniedError](err); ok {
		res, err = toolset.Result{Text: denied.Message, Outcome: model.OutcomeDenied}, nil
	}
	switch {
	case errors.As(err, new(*toolset.ApprovalRequiredError)): // the call comes here again
	case err != nil:
		a.fail(ctx, forUser(ctx, err))
	case res.Outcome != "":
		a.fail(ctx, res.Text)
	default:
		a.update(ctx, a.completed(&res))
	}
	return res, err
}

// locations are the file that the call is about.
func (a *report) locations() []acp.ToolCallLocation {
	if a.about.Path == "" {
		return nil
	}
	at := acp.ToolCallLocation{Path: a.about.Path}
	if a.about.Line > 0 {
		at.Line = new(uint32(a.about.Line))
	}
	return []acp.ToolCallLocation{at}
}

// started reports that the work has begun, and shows the change that was allowed if the user has
// not seen it.
func (a *report) started(ctx context.Context, approval *toolset.Approval) {
	if a.about.Runs && a.live { // it is shown with its terminal
		a.held.Status = acp.ToolCallStatusInProgress
		return
	}
	u := acp.ToolCallUpdate{Status: acp.ToolCallStatusInProgress}
	shown := a.Tracker.Snapshot(a.id).Content
	isDiff := func(c acp.ToolCallContent) bool { return c.Diff != nil }
	if approval != nil && !slices.ContainsFunc(shown, isDiff) {
		u.Title = new(show.Line(approval.Title))
		for _, p := range approval.Preview {
			if p.Diff != nil && p.Diff.New != nil {
				u.Content = append(u.Content, acpview.Diff(p.Diff.Path, p.Diff.Old, *p.Diff.New)...)
			}
		}
		if u.Content != nil {
			u.Content = append(u.Content, shown...)
		}
	}
	a.update(ctx, u)
}

// showTerminal replaces the preview of a command by a terminal of the client.
func (a *report) showTerminal(ctx context.Context, id acp.TerminalID) {
	a.update(ctx, acp.ToolCallUpdate{Content: append([]acp.ToolCallContent{{Terminal: &acp.Terminal{TerminalID: id}}}, a.notes()...)})
}

// showOutput shows what a command has written so far.
func (a *report) showOutput(ctx context.Context, o *growingOutput) {
	a.output = o
	a.update(ctx, acp.ToolCallUpdate{Content: append(a.notes(), deps.TextContent(o.shown()))})
}

// outputOf returns the whole output of a command on this machine, and how the command ended.
func (a *report) outputOf(res *toolset.Result) acp.ToolCallContent {
	if a.output == nil {
		return verbatim(transcript.Clip(res.Text))
	}
	how := res.Text[strings.LastIndexByte(res.Text, '\n')+1:]
	return deps.TextContent(a.output.ended(how))
}

// notes are what stays when the content of a call is replaced: who allowed it.
func (a *report) notes() []acp.ToolCallContent {
	return slices.DeleteFunc(a.Tracker.Snapshot(a.id).Content, func(c acp.ToolCallContent) bool {
		return c.Content == nil || c.Content.Content.Text == nil || !strings.HasPrefix(c.Content.Content.Text.Text, view.AllowedBy)
	})
}

// completed reports how the call has ended well.
func (a *report) completed(res *toolset.Result) acp.ToolCallUpdate {
	u := acp.ToolCallUpdate{Status: acp.ToolCallStatusCompleted, RawOutput: res.Meta}
	if a.about.Listing {
		u.Content = []acp.ToolCallContent{deps.TextContent(transcript.Clip(res.Text))}
	}
	var state ws.CommandState
	if !a.about.Output || json.Unmarshal(res.Meta, &state) != nil {
		return u
	}
	u.RawOutput = rawOutput(&state, res.Text, a.live)
	if a.about.Runs && !state.Running && !state.Succeeded() { // the model gets an ordinary result
		u.Status = acp.ToolCallStatusFailed
	}
	if !a.live {
		u.Content = append(a.notes(), a.outputOf(res))
	}
	return u
}

// commandEnd is the raw output of run_command and of the tools that look at its terminal.
type commandEnd struct {
	TerminalID string  `json:"terminalId,omitempty"`
	ExitCode   *int    `json:"exitCode,omitempty"`
	Signal     *string `json:"signal,omitempty"`
	TimedOut   bool    `json:"timedOut,omitempty"`
	Running    bool    `json:"running,omitempty"`
	Truncated  bool    `json:"truncated,omitempty"`
	Output     *string `json:"output,omitempty"`
}

// rawOutput returns the raw output of a call for the client's programs. text is the text for the
// model: the output, then a line with the state of the command. The output of a command on this
// machine is left out, because the content has it.
func rawOutput(s *ws.CommandState, text string, live bool) json.RawMessage {
	end := commandEnd{TerminalID: s.Terminal, TimedOut: s.TimedOut, Running: s.Running, Truncated: s.Truncated}
	if s.Exit != nil && s.Exit.Signal != "" {
		end.Signal = &s.Exit.Signal
	} else if s.Exit != nil && s.Exit.Code >= 0 {
		end.ExitCode = &s.Exit.Code
	}
	if live {
		output := ""
		if i := strings.LastIndex(text, "\n["); i >= 0 && text[:i+1] != noOutput {
			output = text[:i+1]
		}
		end.Output = &output
	}
	data, err := json.Marshal(end)
	if err != nil { // only strings and numbers
		return nil
	}
	return data
}

const noOutput = "[no output]\n"

// update reports changes, with what was held back.
func (a *report) update(ctx context.Context, u acp.ToolCallUpdate) {
	c := a.held
	a.held = acp.ToolCall{}
	c.ToolCallID, c.Status, c.RawOutput = a.id, cmp.Or(u.Status, c.Status), u.RawOutput
	if u.Title != nil {
		c.Title = *u.Title
	}
	if u.Content != nil {
		c.Content = u.Content
	}
	_ = a.Tracker.Start(ctx, c)
}

// fail reports that the call has failed, and why.
func (a *report) fail(ctx context.Context, why string) {
	shown := a.held.Content
	if shown == nil {
		shown = a.Tracker.Snapshot(a.id).Content
	}
	u := acp.ToolCallUpdate{Status: acp.ToolCallStatusFailed}
	if why != "" {
		u.Content = append(slices.Clip(shown), deps.TextContent(why))
	}
	a.update(ctx, u)
}

// forUser returns the text about a tool's error for the user.
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
