// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// served returns the session and its workspace, if it has what is asked for.
func (h *handler) served(id acp.SessionID, method string, has func(workspace.Features) bool) (*Session, error) {
	s, err := h.of(id)
	if err != nil {
		return nil, err
	}
	if s.workspace == nil || !has(s.workspace.Features()) {
		return nil, acp.Errorf(acp.CodeMethodNotFound, "this client does not offer %s", method)
	}
	return s, nil
}

// ReadTextFile implements [acp.Client].
func (h *handler) ReadTextFile(ctx context.Context, r *acp.ReadTextFileRequest) (*acp.ReadTextFileResponse, error) {
	s, err := h.served(r.SessionID, acp.MethodReadTextFile, func(f workspace.Features) bool { return f.Read })
	if err != nil {
		return nil, err
	}
	select {
	case s.client.reading <- struct{}{}: // the agent's other messages wait
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-s.client.reading }()
	acp.Async(ctx)
	if r.Limit != nil && *r.Limit == 0 {
		return &acp.ReadTextFileResponse{}, nil
	}
	f, err := s.workspace.Read(ctx, r.Path, workspace.Range{Line: number(r.Line), Lines: number(r.Limit)})
	switch {
	case err != nil:
		return nil, workspaceError(ctx, "read", r.Path, err)
	case !utf8.Valid(f.Data):
		return nil, workspaceError(ctx, "read", r.Path, workspace.ErrBinary)
	}
	return &acp.ReadTextFileResponse{Content: string(f.Data)}, nil
}

func number(n *uint32) int {
	if n == nil {
		return 0
	}
	return int(min(*n, 1<<30))
}

// WriteTextFile implements [acp.Client].
func (h *handler) WriteTextFile(ctx context.Context, r *acp.WriteTextFileRequest) (*acp.WriteTextFileResponse, error) {
	s, err := h.served(r.SessionID, acp.MethodWriteTextFile, func(f workspace.Features) bool { return f.Write })
	if err != nil {
		return nil, err
	}
	done, err := s.wait()
	if err != nil {
		return nil, err
	}
	defer done()
	acp.Async(ctx)
	if err := s.write(ctx, r.Path, r.Content); err != nil {
		return nil, err
	}
	return &acp.WriteTextFileResponse{}, nil
}

// write writes a file if exactly that was allowed.
func (s *Session) write(ctx context.Context, path, content string) error {
	at, err := workspace.Locate(s.workspace.Roots(), path)
	if err != nil {
		return workspaceError(ctx, "write", path, err)
	}
	diff := &toolset.Diff{Path: at.Path, New: &content}
	version, title := workspace.AnyVersion, "Write "
	if s.workspace.Features().Read {
		f, err := s.workspace.Read(ctx, path, workspace.Range{})
		switch {
		case errors.Is(err, fs.ErrNotExist):
			version, title = "", "Create "
		case err != nil:
			return workspaceError(ctx, "write", path, err)
		case string(f.Data) == content:
			return nil
		default:
			version, diff.Old = f.Version, new(string(f.Data))
		}
	}
	if !s.grantedWrite(at.Path, diff.Old, content) {
		a := toolset.Approval{Title: title + show.Line(at.Path), Preview: []toolset.Preview{{Diff: diff}}}
		if err := s.permit(ctx, toolWrite, &a); err != nil {
			return err
		}
	}
	if _, err := s.workspace.Write(ctx, at.Path, []byte(content), version); err != nil {
		return workspaceError(ctx, "write", path, err)
	}
	return nil
}

// permit asks about what the agent is about to do without having asked. It returns nil if it was
// allowed.
func (s *Session) permit(ctx context.Context, tool string, a *toolset.Approval) error {
	if s.client.config.Trusted {
		return nil
	}
	a.Reason = "The agent has not asked about this."
	workspace.DefaultScope(ctx, s.workspace, tool, a)
	if tool == toolWrite {
		a.Covers = append(a.Covers, onlyFile(a.Scope))
	}
	if approval.Describe(a, s.cwd); a.Once {
		return s.permitOnce(ctx, tool, a)
	}
	scopes := append([]string{a.Scope}, a.Covers...)
	verdict, err := s.policy.AskOnce(ctx, tool, scopes, func(ctx context.Context) (toolset.Verdict, error) {
		if v := s.policy.DecideApproval(tool, a); v == toolset.VerdictAllow || v == toolset.VerdictDeny {
			return v, nil
		}
		return s.askPerson(ctx, tool, a), nil
	})
	switch {
	case err != nil:
		return acp.Errorf(acp.CodeRequestCancelled, "the question was withdrawn")
	case verdict != toolset.VerdictAllow:
		return acp.Errorf(acp.CodeInvalidRequest, "the user did not allow this: %s", oneLine(a.Title))
	}
	return nil
}

// permitOnce is permit for what is asked about every time.
func (s *Session) permitOnce(ctx context.Context, tool string, a *toolset.Approval) error {
	denied := s.policy.DecideApproval(tool, a) == toolset.VerdictDeny
	if denied || s.askPerson(ctx, tool, a) != toolset.VerdictAllow {
		return acp.Errorf(acp.CodeInvalidRequest,
			"the user did not allow this: %s", oneLine(a.Title))
	}
	return nil
}

func (s *Session) askPerson(ctx context.Context, tool string, a *toolset.Approval) toolset.Verdict {
	options := []acp.PermissionOption{
		{OptionID: "allow_once", Name: "Allow once", Kind: acp.PermissionOptionKindAllowOnce},
		{OptionID: "allow_always", Name: "Always allow " + show.Line(a.ScopeTitle) + " in this session", Kind: acp.PermissionOptionKindAllowAlways},
		{OptionID: "reject_once", Name: "Reject", Kind: acp.PermissionOptionKindRejectOnce},
	}
	if a.Once {
		options = slices.Delete(options, 1, 2)
	}
	chosen := s.decide(ctx, &PermissionRequest{Session: s, Approval: *a, Options: options, Unasked: true, Tool: tool})
	switch {
	case chosen == nil || !allows(chosen):
		return toolset.VerdictDeny
	case chosen.Kind == acp.PermissionOptionKindAllowAlways:
		s.policy.RememberApproval(tool, a, toolset.VerdictAllow)
	}
	return toolset.VerdictAllow
}

// workspaceError returns an error as the agent sees it.
func workspaceError(ctx context.Context, op, path string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	code := acp.CodeInternal
	switch {
	case errors.Is(err, fs.ErrNotExist):
		code = acp.CodeResourceNotFound
	case errors.Is(err, workspace.ErrOutside):
		return acp.Errorf(acp.CodeInvalidParams, "%s %s: the path lies outside of the session's directories", op, show.Line(cut(path)))
	case errors.Is(err, workspace.ErrPath), errors.Is(err, workspace.ErrBinary), errors.Is(err, workspace.ErrTooLarge),
		errors.Is(err, workspace.ErrIsDirectory), errors.Is(err, workspace.ErrNotRegular), errors.Is(err, workspace.ErrNotDirectory),
		errors.Is(err, fs.ErrPermission), errors.Is(err, workspace.ErrNoProgram), errors.Is(err, workspace.ErrCommand):
		code = acp.CodeInvalidParams
	}
	if e, ok := errors.AsType[*workspace.PathError](err); ok {
		err = e.Err
	}
	return acp.Errorf(code, "%s %s: %s", op, show.Line(cut(path)), strings.TrimPrefix(oneLine(err.Error()), "workspace: "))
}
