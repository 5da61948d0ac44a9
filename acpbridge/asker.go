// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/internal/acpview"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset"
)

// Asker asks the user of an editor about tool calls that need approval, with
// session/request_permission. The user sees what the call would do (see
// [toolset.Approval.Preview]), and may allow or reject it, once or always. "Always" is kept in the
// session's policy. The protocol supports neither reasons nor changed arguments. Without a client
// or session, there is no one to ask.
//
// # Questions
//
// Questions of tools go to the client with elicitation/create, if it has announced that it can show forms or open addresses. An
// answer is checked against the form. After an invalid one the user is asked again, three times in all. Addresses must be plain http
// or https ones. When the turn ends, the client gets elicitation/complete for each address that was opened in it, unless a tool has
// sent it before.
//
// For clients without elicitation, a choice of at most eight values, a yes or no, and an address become a session/request_permission
// whose options are the choices. A client that allows everything then chooses the first value. Other questions fail with an error that
// is [toolset.ErrNobody] and a [toolset.FailedError]. If a tool returns this error, the call has failed, and the model is told to ask
// the question in its reply.
//
// If its ctx ends, a question is withdrawn.
//
// [Serve] passes Asker to each turn, instead of the agent's own asker. An agent.WithAsker of [host.Config].RunOptions takes precedence.
func Asker(d deps.ACPDeps) toolset.Asker {
	if d.Client == nil || d.Session == nil {
		return toolset.AskerFuncs{}
	}
	return approval.Remember(d.Session.Policy, editorAsker(d))
}

// editorAsker is [Asker] without a memory.
func editorAsker(d deps.ACPDeps) toolset.Asker {
	if d.Client == nil || d.Session == nil {
		return toolset.AskerFuncs{}
	}
	return toolset.AskerFuncs{OnApprove: func(ctx context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
		id, answered := deps.ToolCallID(r.RunID, r.Step, r.CallID()), false
		defer func() {
			if !answered {
				_ = d.Tracker.Fail(ctx, id, "The question panicked. "+notRun)
			}
		}()
		decision, err := askToApprove(ctx, d, &r)
		answered = true
		switch {
		case errors.Is(context.Cause(ctx), host.ErrDecided): // somebody else has answered
		case err != nil:
			_ = d.Tracker.Fail(ctx, id, forUser(ctx, err))
		case decision.Verdict == toolset.VerdictDeny:
			_ = d.Tracker.Fail(ctx, id, decision.Reason)
		}
		return decision, err
	}, OnAnswer: func(ctx context.Context, q toolset.Question) (toolset.Reply, error) {
		return answerQuestion(ctx, d, &q)
	}}
}

const notRun = "The tool was not run."

func askToApprove(ctx context.Context, d deps.ACPDeps, r *toolset.ApprovalRequest) (toolset.Decision, error) {
	offered := approval.Choices(r, d.Session.Policy != nil)
	resp, err := d.Client.RequestPermission(ctx, &acp.RequestPermissionRequest{
		SessionID: d.Session.ID, ToolCall: shownCall(ctx, d, r), Options: permissionOptions(offered),
	})
	if err != nil {
		return refusedBy(clientError(ctx, "ask the user for permission", err))
	}
	if ctx.Err() != nil { // whatever was answered, nobody wants it done any more
		return toolset.Decision{}, context.Cause(ctx)
	}
	selected := resp.Outcome.Selected
	if selected == nil {
		return denied("The user closed the question without an answer. " + notRun + " Ask the user what to do."), nil
	}
	for _, c := range offered {
		if acp.PermissionOptionID(c.ID) != selected.OptionID {
			continue
		}
		d := c.Decision
		switch d.By = transcript.ByUser; c.Class {
		case host.RejectOnce:
			d.Reason = "The user rejected this. " + notRun + " Do not try to do the same in another way; ask what to do instead."
		case host.RejectAlways:
			d.Reason = "The user does not allow " + approval.ScopeTitle(r.Tool, &r.Approval) + " in this session. " + notRun + " Do not try to do the same in another way."
		}
		return d, nil
	}
	return denied(fmt.Sprintf("The editor gave an answer that was not among the options (%q), which counts as a refusal. %s", selected.OptionID, notRun)), nil
}

// denied is a decision in the name of the user.
func denied(reason string) toolset.Decision {
	return toolset.Decision{Verdict: toolset.VerdictDeny, Reason: reason, By: transcript.ByUser}
}

// refusedBy makes a denial of what a client cannot do. Any other error ends the run.
func refusedBy(err error) (toolset.Decision, error) {
	if failed, ok := errors.AsType[*toolset.FailedError](err); ok {
		return toolset.Deny(strings.TrimSuffix(failed.Message, ".") + ". " + notRun), nil
	}
	return toolset.Decision{}, err
}

// shownCall returns the call in the form that the user sees: its known fields and what it would do.
// It also reports this to the client before the question, so the call keeps showing it afterwards.
func shownCall(ctx context.Context, d deps.ACPDeps, r *toolset.ApprovalRequest) acp.ToolCallUpdate {
	id := deps.ToolCallID(r.RunID, r.Step, r.CallID())
	if len(r.Path) > 1 {
		d.Tracker.Label(r.RunID, r.Agent)
	}
	known := d.Tracker.Snapshot(id)
	call := acp.ToolCall{
		ToolCallID: id, Title: show.Line(cmp.Or(r.Approval.Title, r.Title, r.Tool)), Name: &r.Tool, Kind: cmp.Or(acp.ToolKind(r.Kind), acp.ToolKindOther),
		Status: acp.ToolCallStatusPending, Content: previews(&r.Approval), Locations: locations(&r.Approval),
	}
	if r.Approval.Title == "" && known.Title != nil {
		call.Title = *known.Title
	}
	if known.RawInput == nil {
		call.RawInput = r.Args
	}
	if d.Tracker == nil {
		return acp.ToolCallUpdate{
			ToolCallID: id, Title: &call.Title, Name: call.Name, Kind: call.Kind, Status: call.Status, Content: call.Content,
			Locations: call.Locations, RawInput: call.RawInput,
		}
	}
	_ = d.Tracker.Start(ctx, call) // whether the client can be reached shows in the question
	return d.Tracker.Snapshot(id)
}

// locations are the files that a call would change.
func locations(a *toolset.Approval) []acp.ToolCallLocation {
	var all []acp.ToolCallLocation
	for i := range a.Preview {
		if diff := a.Preview[i].Diff; diff != nil {
			all = append(all, acp.ToolCallLocation{Path: diff.Path})
		}
	}
	return all
}

// previews returns an approval's reason and previews as the client shows them. Nothing is left out. The client draws diffs itself, so
// lines with invisible characters are listed separately.
func previews(a *toolset.Approval) []acp.ToolCallContent {
	var all []acp.ToolCallContent
	if a.Reason != "" {
		all = append(all, deps.TextContent(show.Text(a.Reason)))
	}
	for i := range a.Preview {
		p := &a.Preview[i]
		if p.Diff == nil {
			all = append(all, verbatim(approval.PreviewText(p)))
			continue
		}
		after := ""
		if p.Diff.New == nil {
			all = append(all, deps.TextContent("Delete "+show.Line(p.Diff.Path)))
		} else {
			after = *p.Diff.New
		}
		all = append(all, acpview.Diff(p.Diff.Path, p.Diff.Old, after)...)
		if hidden := approval.Hidden(p); hidden != "" {
			all = append(all, deps.TextContent("The new text contains invisible characters:"), verbatim(hidden))
		}
	}
	return all
}

// verbatim returns text that editors show as it is. They render other text as Markdown, which could hide parts of it.
func verbatim(text string) acp.ToolCallContent {
	return deps.TextContent(acpview.Fenced(text))
}
