// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"errors"
	"fmt"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// PermissionRequest describes an action of a tool of [Toolset] that needs permission.
type PermissionRequest struct {
	// Tool is the tool's name in the toolset.
	Tool string
	// Session is the session that the action belongs to, ToolCall what the user is shown of it.
	Session  *deps.Session
	ToolCall acp.ToolCallUpdate

	// Path is the absolute path of the file to write. Command and Args are the command to run, Cwd is its directory,
	// and Env are additions to its environment, each as "NAME=value". A shell line is the last argument of the shell.
	Path    string
	Command string
	Args    []string
	Cwd     string
	Env     []string

	// Approval describes the action to the user.
	Approval toolset.Approval
}

// PermissionFunc decides about an action before the user is asked. [toolset.VerdictDefer] leaves it
// to the run's asker. It may be called for several runs at once, and several times for one action;
// an error ends the run.
type PermissionFunc func(ctx context.Context, req *PermissionRequest) (toolset.Verdict, error)

// AllowAll permits everything except what the session's policy denies. It is for unattended agents.
func AllowAll(context.Context, *PermissionRequest) (toolset.Verdict, error) {
	return toolset.VerdictAllow, nil
}

// WithPermissions sets the function that decides about actions before the user is asked:
// [AllowAll], or one that knows modes, rules and environments. What the user has rejected for the
// whole session is rejected before that. By default the run's asker decides about everything.
func WithPermissions(decide PermissionFunc) ToolsetOption {
	return func(o *toolsetOptions) { o.permissions = decide }
}

// permission decides about the calls of one tool without asking the user.
type permission struct {
	decide PermissionFunc
	style  workspace.Style
}

// verdict decides about a call. The error of a denial is made by [toolset.Denied].
func (p *permission) verdict(ctx context.Context, a *report, approval *toolset.Approval) (toolset.Verdict, error) {
	if p.decide == nil {
		return toolset.VerdictDefer, nil
	}
	if a.Session != nil && a.Session.Policy.DecideApproval(a.tool, approval) == toolset.VerdictDeny {
		return toolset.VerdictDeny, toolset.Denied("The user does not allow this in this session. %s Do not try to do the same in another way.", notRun)
	}
	switch v, err := p.decide(ctx, p.request(a, approval)); {
	case err != nil && ctx.Err() != nil:
		return toolset.VerdictDefer, fmt.Errorf("acpbridge: permission for %s: %w", a.tool, context.Cause(ctx))
	case err != nil:
		return toolset.VerdictDefer, fmt.Errorf("acpbridge: permission for %s: %w", a.tool, err)
	case v == toolset.VerdictDeny:
		return v, toolset.Denied("This is not permitted here. %s Do not try to do the same in another way.", notRun)
	default:
		return v, nil
	}
}

// request describes a call.
func (p *permission) request(a *report, approval *toolset.Approval) *PermissionRequest {
	req := &PermissionRequest{Tool: a.tool, Session: a.Session, ToolCall: a.Tracker.Snapshot(a.id), Approval: *approval}
	req.ToolCall.Title, req.ToolCall.Name, req.ToolCall.Kind, req.ToolCall.Locations = &req.Approval.Title, &a.tool, a.kind, a.locations()
	for _, preview := range approval.Preview {
		if preview.Diff != nil {
			req.Path = preview.Diff.Path
		}
		if c := preview.Command; c != nil {
			argv := (&workspace.Command{Line: c.Line, Args: c.Args}).Argv(p.style)
			req.Command, req.Args, req.Cwd, req.Env = argv[0], argv[1:], c.Dir, c.Env
		}
	}
	return req
}

// needed returns what has to be approved before a call, or nil. A denied call needs no approval: it
// fails by itself.
func (p *permission) needed(ctx context.Context, a *report, approval *toolset.Approval) (*toolset.Approval, error) {
	v, err := p.verdict(ctx, a, approval)
	if err != nil && !errors.As(err, new(*toolset.DeniedError)) {
		return nil, err
	}
	if v == toolset.VerdictAllow || v == toolset.VerdictDeny {
		return nil, nil
	}
	return approval, nil
}

// permit is called just before a call that needs approval and has none. It marks it as approved, or says why it is not.
func (p *permission) permit(ctx context.Context, a *report, call *toolset.Call, approval *toolset.Approval) error {
	v, err := p.verdict(ctx, a, approval)
	if err == nil && v != toolset.VerdictAllow {
		err = toolset.ApprovalRequired(*approval)
	}
	if err == nil {
		call.Approved, call.Approval = true, approval
	}
	return err
}

// permissionOptions returns the user's choices as the protocol has them.
func permissionOptions(offered []approval.Choice) []acp.PermissionOption {
	all := make([]acp.PermissionOption, len(offered))
	for i, c := range offered {
		all[i] = acp.PermissionOption{
			OptionID: acp.PermissionOptionID(c.ID), Name: c.Title, Kind: acp.PermissionOptionKind(c.Class),
		}
	}
	return all
}
