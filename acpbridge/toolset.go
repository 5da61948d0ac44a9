// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// Toolset returns the tools of package workspace for the user's files and terminals, and shows
// their calls in the editor: titles, changes as diffs, commands live. A run gets the tools that its
// client supports, see [Workspace], and none without a client.
//
//   - The tools use the session in [deps.ACPDeps].Workspace. Without one, the run gets its own
//     [Workspace], which is closed with all commands when the run ends.
//   - write_file, edit_file and run_command need approval. [Serve] asks the user. A run without
//     Serve needs agent.WithAsker with [Asker], otherwise these calls are left pending. For
//     unattended agents see [WithPermissions].
//   - If the client answers with an error, the call fails and the model is told. If the connection ends, the run ends.
//
// See [workspace.Tools] for the rest. The names of the tools are constants of package workspace.
func Toolset[D deps.Carrier](opts ...ToolsetOption) toolset.Toolset[D] {
	s := &acpTools[D]{}
	for _, opt := range opts {
		opt(&s.options)
	}
	s.tools = workspace.Tools(func(s *workspace.Session) *workspace.Session { return s }, s.options.tools...)
	return s
}

// ToolsetOption changes a [Toolset].
type ToolsetOption func(*toolsetOptions)

type toolsetOptions struct {
	tools       []workspace.ToolsOption
	permissions PermissionFunc
}

// WithTools passes options on to [workspace.Tools], such as [workspace.WithReadLimit].
func WithTools(opts ...workspace.ToolsOption) ToolsetOption {
	return func(o *toolsetOptions) { o.tools = append(o.tools, opts...) }
}

// acpTools is stateless: the session has everything that a run needs.
type acpTools[D deps.Carrier] struct {
	options toolsetOptions
	tools   toolset.Toolset[*workspace.Session]
}

func (s *acpTools[D]) Name() string { return "acp" }

func (s *acpTools[D]) Open(ctx context.Context, run *toolset.RunContext[D]) (_ toolset.Instance[D], err error) {
	in := &acpToolsInstance[D]{}
	defer func() {
		if err != nil {
			_ = in.Close(ctx)
		}
	}()
	if in.session, in.close, err = sessionOf(run.Deps.ACP()); err != nil || in.session == nil {
		return in, err
	}
	in.inner, err = toolset.Adapt(s.tools, func(D) *workspace.Session { return in.session }).Open(ctx, run)
	if err != nil {
		return nil, err
	}
	in.listing, err = in.inner.Tools(ctx, run)
	if err != nil {
		return nil, err
	}
	tools := make([]*toolset.Tool[D], len(in.listing.Tools))
	for i, t := range in.listing.Tools {
		tools[i] = s.shown(in.session, t)
	}
	in.listing.Tools = tools
	return in, nil
}

// acpToolsInstance is the toolset in one run. Its list follows from the session and never changes.
type acpToolsInstance[D deps.Carrier] struct {
	session *workspace.Session
	listing toolset.Listing[D]
	inner   toolset.Instance[D]
	close   func(context.Context) error // of a session of the run's own; may be nil
}

func (in *acpToolsInstance[D]) Tools(context.Context, *toolset.RunContext[D]) (toolset.Listing[D], error) {
	return in.listing, nil
}

func (in *acpToolsInstance[D]) Close(ctx context.Context) (err error) {
	if in.inner != nil {
		err = in.inner.Close(ctx)
	}
	if in.close != nil {
		err = errors.Join(err, in.close(ctx))
	}
	return err
}

// maxChanges is how often a call is begun again because the file has changed meanwhile.
const maxChanges = 5

// shown returns a tool of package workspace whose calls the user sees, and about which the
// program's permissions decide first.
func (s *acpTools[D]) shown(session *workspace.Session, t *toolset.Tool[D]) *toolset.Tool[D] {
	shown := *t
	p := &permission{decide: s.options.permissions}
	if roots := session.Workspace().Roots(); len(roots) > 0 {
		p.style = workspace.StyleOf(roots[0])
	}
	live := runsInEditor(session)
	begin := func(run *toolset.RunContext[D], args any) *report {
		a := &report{ACPDeps: run.Deps.ACP(), tool: t.Def.Name, kind: acp.ToolKind(t.Kind), id: deps.ToolCallID(run.RunID, run.Step, run.Call.ID)}
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

// titled gives an approval the title that the call has in the editor: there commands are their own
// titles.
func (a *report) titled(approval *toolset.Approval) *toolset.Approval {
	if a.about.Runs {
		approval.Title = a.about.Title
	}
	return approval
}

// sessionOf returns the session that a run works on, nil if there is none. close, if not nil, ends
// what was made for the run.
func sessionOf(d deps.ACPDeps) (s *workspace.Session, close func(context.Context) error, err error) {
	var fallback LocalFallback
	if d.Workspace != nil {
		w := bridged(d.Workspace)
		if w == nil || w.madeFor(d) {
			return d.Workspace, nil, nil
		}
		fallback = *w.fallback // somebody has put another client in its place
	}
	if d.Client == nil || d.Session == nil {
		return nil, nil, nil
	}
	w, err := NewWorkspace(d, fallback)
	if err != nil {
		return nil, nil, fmt.Errorf("acpbridge: %w", err)
	}
	s = workspace.NewSession(w)
	return s, func(ctx context.Context) error {
		_ = s.Close(ctx) // a client that is gone has ended its terminals
		return w.Close()
	}, nil
}

// bridged returns the bridge's workspace that a session works on, also if something records what is
// done on it; nil if it is another.
func bridged(s *workspace.Session) *Workspace {
	for w := s.Workspace(); ; {
		if bridge, ok := w.(*Workspace); ok {
			return bridge
		}
		around, ok := w.(interface{ Unwrap() workspace.Workspace })
		if !ok {
			return nil
		}
		w = around.Unwrap()
	}
}

// runsInEditor reports whether commands run in terminals of the client.
func runsInEditor(s *workspace.Session) bool {
	w := bridged(s)
	return w != nil && w.editor.features.Commands
}

// sameClient reports whether two clients are one. Clients that cannot be compared are not.
func sameClient(a, b acp.Client) bool {
	return a != nil && b != nil && reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}
