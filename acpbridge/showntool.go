// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"errors"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// maxChanges is how often a call is begun again because the file has changed meanwhile.
const maxChanges = 5

// shown returns a tool of package workspace whose calls the user sees, and about which the program's permissions decide first.
func (s *acpTools[D]) shown(session *workspace.Session, t *toolset.Tool[D]) *toolset.Tool[D] {
	shown := *t
	if (t.Def.Name == ToolListFiles || t.Def.Name == ToolSearchFiles) && readsEditor(session) {
		shown.Def.Description += " Unsaved changes in the editor are not seen."
	}
	p := &permission{decide: s.options.permissions}
	if roots := session.Workspace().Roots(); len(roots) > 0 {
		p.style = workspace.StyleOf(roots[0])
	}
	live := runsInEditor(session)
	begin := func(run *toolset.RunContext[D], args any) *activity {
		a := &activity{ACPDeps: run.Deps.ACP(), tool: t.Def.Name, kind: acp.ToolKind(t.Kind), id: deps.ToolCallID(run.RunID, run.Step, run.Call.ID)}
		a.about, _ = session.Subject(args)
		a.live = live
		return a
	}
	if t.Approval != nil {
		shown.Approval = func(ctx context.Context, run *toolset.RunContext[D], args any) (*toolset.Approval, error) {
			approval, err := t.Approval(ctx, run, args)
			if err != nil || approval == nil {
				return nil, err
			}
			a := begin(run, args)
			return p.needed(ctx, a, a.titled(approval))
		}
	}
	shown.Call = func(ctx context.Context, run *toolset.RunContext[D], args any) (toolset.Result, error) {
		a := begin(run, args)
		return a.perform(ctx, &run.Call, func(ctx context.Context) (toolset.Result, error) {
			run := *run
			for changes := 0; ; changes++ {
				if t.Approval == nil || run.Call.Approved {
					a.started(ctx, run.Call.Approval)
				}
				res, err := t.Call(ctx, &run, args)
				required, ok := errors.AsType[*toolset.ApprovalRequiredError](err)
				if !ok || changes > maxChanges {
					return res, err
				}
				// Nobody has been asked yet, or the file has changed since.
				if err := p.permit(ctx, a, &run.Call, a.titled(&required.Approval)); err != nil {
					return toolset.Result{}, err
				}
			}
		})
	}
	return &shown
}

// titled gives an approval the title that the call has in the editor: there commands are their own titles.
func (a *activity) titled(approval *toolset.Approval) *toolset.Approval {
	if a.tool == ToolRunCommand {
		approval.Title = a.about.Title
	}
	return approval
}
