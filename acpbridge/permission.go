// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"fmt"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
)

// PermissionRequest describes an action that needs permission.
type PermissionRequest struct {
	// Tool is the tool's name. Rules of the session's policy are kept by it.
	Tool string
	// Session is the session that the action belongs to, ToolCall what the user is shown of it. [Permit] sets them.
	Session  *deps.Session
	ToolCall acp.ToolCallUpdate

	// Path is the file that is to be written, absolute; Command and Args are what is to be run, and Cwd is where. A line that a
	// shell is to run is the last argument of the shell.
	Path    string
	Command string
	Args    []string
	Cwd     string

	// Scope is what a rule covers that the user makes by answering "always": of a command its first words, of a file its path.
	// Empty covers everything that the tool does.
	Scope string
	// ScopeTitle names the scope to the user, as in "Always allow …".
	ScopeTitle string
	// Covers lists further scopes that the action lies in, such as directories. Rules about them are honoured.
	Covers []string
	// Refusal says, as a sentence, what has not been done when permission is denied. It is for the model.
	Refusal string
}

// PermissionFunc decides about an action before the user is asked. [toolset.VerdictDefer] leaves it to the session's policy and the
// user. It may be called for several runs at once; an error ends the run.
type PermissionFunc func(ctx context.Context, req *PermissionRequest) (toolset.Verdict, error)

// AllowAll permits everything but what the session's policy rejects. It is for agents that nobody watches.
func AllowAll(context.Context, *PermissionRequest) (toolset.Verdict, error) {
	return toolset.VerdictAllow, nil
}

// WithPermissions has decide decide about actions before the user is asked: [AllowAll], or a function that knows of modes,
// rules and environments. What the user has rejected for good in this session is rejected before that. The default asks the
// user about everything that the session's policy does not know.
func WithPermissions(decide PermissionFunc) ToolsetOption {
	return func(o *toolsetOptions) { o.permissions = decide }
}

// Permit returns nil if an action of the tool call id is permitted: by a rule of the session's policy, or by the user, who is
// asked with session/request_permission and may make a rule. Tools of your own can use it as well. A refusal is an error made
// by [toolset.Denied]. One user is asked one question at a time, so that of two equal calls the second one is decided by the
// rule that the first one led to. Waiting ends with ctx.
func Permit(ctx context.Context, d deps.ACPDeps, id acp.ToolCallID, req PermissionRequest) error {
	_, err := permit(ctx, d, id, nil, req)
	return err
}

func (a *activity) permit(ctx context.Context, req PermissionRequest) (asked bool, err error) {
	decide := a.options.permissions
	if a.approved {
		decide = AllowAll
	}
	return permit(ctx, a.ACPDeps, a.id, decide, req)
}

// permit also reports whether the user was asked.
func permit(ctx context.Context, d deps.ACPDeps, id acp.ToolCallID, decide PermissionFunc, req PermissionRequest) (asked bool, err error) {
	if d.Client == nil || d.Session == nil {
		return false, toolset.Denied("Nobody can be asked for permission. %s", req.Refusal)
	}
	req.Session, req.ToolCall = d.Session, d.Tracker.Snapshot(id)
	policy, scopes := d.Session.Policy, append([]string{req.Scope}, req.Covers...)
	verdict := policy.Decide(req.Tool, scopes...)
	if verdict != toolset.VerdictDeny && decide != nil {
		decided, err := decide(ctx, &req)
		if err != nil {
			return false, fmt.Errorf("acpbridge: permission for %s: %w", req.Tool, err)
		}
		if decided == toolset.VerdictDeny {
			return false, toolset.Denied("This is not permitted here. %s Do not try to do the same in another way.", req.Refusal)
		}
		verdict = decided
	}
	if verdict != toolset.VerdictAllow {
		verdict, err = policy.AskOnce(ctx, req.Tool, scopes, func(ctx context.Context) (toolset.Verdict, error) {
			asked = true
			return askUser(ctx, d, &req)
		})
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return asked, fmt.Errorf("acpbridge: permission for %s: %w", req.Tool, context.Cause(ctx))
	case err != nil:
		return asked, err
	case verdict == toolset.VerdictAllow:
		return asked, nil
	}
	return asked, toolset.Denied("The user does not allow %s in this session. %s Do not try to do the same in another way.", req.scopeTitle(), req.Refusal)
}

func (r *PermissionRequest) scopeTitle() string {
	if r.ScopeTitle == "" {
		return r.Tool
	}
	return r.ScopeTitle
}

// The ids of the options are their kinds, as the protocol names them.
const (
	allowOnce    = acp.PermissionOptionID(acp.PermissionOptionKindAllowOnce)
	allowAlways  = acp.PermissionOptionID(acp.PermissionOptionKindAllowAlways)
	rejectOnce   = acp.PermissionOptionID(acp.PermissionOptionKindRejectOnce)
	rejectAlways = acp.PermissionOptionID(acp.PermissionOptionKindRejectAlways)
)

// options are what the user can choose from: "always" only where somebody remembers it.
func (r *PermissionRequest) options() []acp.PermissionOption {
	option := func(id acp.PermissionOptionID, name string) acp.PermissionOption {
		return acp.PermissionOption{OptionID: id, Name: name, Kind: acp.PermissionOptionKind(id)}
	}
	if r.Session.Policy == nil {
		return []acp.PermissionOption{option(allowOnce, "Allow once"), option(rejectOnce, "Reject")}
	}
	return []acp.PermissionOption{
		option(allowOnce, "Allow once"),
		option(allowAlways, "Always allow "+r.scopeTitle()+" in this session"),
		option(rejectOnce, "Reject"),
		option(rejectAlways, "Always reject "+r.scopeTitle()+" in this session"),
	}
}

// askUser asks. It returns [toolset.VerdictAllow], or an error that says why not.
func askUser(ctx context.Context, d deps.ACPDeps, req *PermissionRequest) (toolset.Verdict, error) {
	resp, err := d.Client.RequestPermission(ctx, &acp.RequestPermissionRequest{
		SessionID: d.Session.ID, ToolCall: req.ToolCall, Options: req.options(),
	})
	if err != nil {
		return toolset.VerdictDefer, clientError(ctx, "ask the user for permission", err)
	}
	if ctx.Err() != nil { // whatever was answered, nobody wants it done any more
		return toolset.VerdictDefer, context.Cause(ctx)
	}
	selected := resp.Outcome.Selected
	if selected == nil {
		return toolset.VerdictDefer, toolset.Denied("The user closed the question without an answer. %s Ask the user what to do.", req.Refusal)
	}
	switch selected.OptionID {
	case allowAlways:
		d.Session.Policy.Remember(req.Tool, req.Scope, toolset.VerdictAllow)
		return toolset.VerdictAllow, nil
	case allowOnce:
		return toolset.VerdictAllow, nil
	case rejectAlways:
		d.Session.Policy.Remember(req.Tool, req.Scope, toolset.VerdictDeny)
		return toolset.VerdictDeny, nil
	case rejectOnce:
		return toolset.VerdictDefer, toolset.Denied("The user rejected this. %s Do not try to do the same in another way; ask what to do instead.", req.Refusal)
	}
	return toolset.VerdictDefer, toolset.Denied("The editor gave an answer that was not among the options (%q), which counts as a refusal. %s", selected.OptionID, req.Refusal)
}
