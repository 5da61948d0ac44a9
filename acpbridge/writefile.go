// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset"
)

const writeFileDescription = "Write a whole text file, replacing what is there or creating it. The user sees the change and may refuse it. " +
	"Read the file first unless it is new: content must be the whole new text."

type writeFileArgs struct {
	Path    string `json:"path" jsonschema_description:"The file: an absolute path, or one relative to the working directory." validate:"required"`
	Content string `json:"content" jsonschema_description:"The whole new text of the file."`
}

func (in writeFileArgs) describe(w *workspace) (string, []acp.ToolCallLocation) {
	shown := w.display(in.Path)
	return "Write " + shown.short, []acp.ToolCallLocation{{Path: shown.absolute}}
}

// fileWritten is the raw output of write_file.
type fileWritten struct {
	Bytes   int  `json:"bytes"`
	Created bool `json:"created,omitempty"`
	Changed bool `json:"changed"`
}

// plannedWrite is what a call would write. old is nil for a new file, or if the client cannot read.
type plannedWrite struct {
	path, name string
	old        *string
	req        PermissionRequest
}

func (w *workspace) planWrite(ctx context.Context, in writeFileArgs) (*plannedWrite, error) {
	path, err := w.resolve(in.Path)
	if err != nil {
		return nil, err
	}
	old, err := w.currentText(ctx, path)
	if err != nil {
		return nil, err
	}
	return w.plannedWrite(in, path, old), nil
}

func (w *workspace) plannedWrite(in writeFileArgs, path string, old *string) *plannedWrite {
	name, canRead := w.short(path), w.Session.Capabilities.FS.ReadTextFile
	approval := toolset.Approval{
		Title: "Write " + name, Scope: w.fileScope(path), ScopeTitle: "changes to " + name, Covers: w.parentScopes(path),
		Preview: []toolset.Preview{{Diff: &toolset.Diff{Path: path, Old: old, New: &in.Content}}},
	}
	switch {
	case old != nil:
		approval.Title = "Edit " + name
		approval.Basis = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(*old)))
	case canRead:
		approval.Title = "Create " + name
		approval.Basis = "no file"
	}
	return &plannedWrite{path, name, old, PermissionRequest{Tool: ToolWriteFile, Path: path, Approval: approval}}
}

// same reports whether the file has the content already.
func (p *plannedWrite) same(in writeFileArgs) bool { return p.old != nil && *p.old == in.Content }

func (w *workspace) approveWrite(ctx context.Context, a *activity, in writeFileArgs) (*toolset.Approval, error) {
	plan, err := w.planWrite(ctx, in)
	if err != nil || plan.same(in) {
		return nil, nil // the call says so itself
	}
	return a.approval(ctx, &plan.req)
}

func (w *workspace) writeFile(ctx context.Context, a *activity, in writeFileArgs) (answer, error) {
	plan, err := w.approvedWrite(a, in)
	if plan == nil && err == nil {
		plan, err = w.planWrite(ctx, in)
	}
	if err != nil {
		return answer{}, err
	}
	if plan.same(in) {
		return answer{text: plan.name + " has this content already; nothing was written.", raw: fileWritten{Bytes: len(in.Content)}}, nil
	}
	if err := w.carryOut(ctx, a, plan, in.Content); err != nil {
		return answer{}, err
	}
	created := plan.old == nil && w.Session.Capabilities.FS.ReadTextFile
	done := "Wrote"
	if created {
		done = "Created"
	}
	return answer{
		text: fmt.Sprintf("%s %s (%d bytes).", done, plan.name, len(in.Content)),
		raw:  fileWritten{Bytes: len(in.Content), Created: created, Changed: true},
	}, nil
}

// carryOut shows a plan, sees that it is permitted, and writes it.
func (w *workspace) carryOut(ctx context.Context, a *activity, plan *plannedWrite, content string) error {
	a.update(ctx, acp.ToolCallUpdate{Title: new(show.Line(plan.req.Approval.Title)), Content: diffContent(plan.path, plan.old, content)})
	if err := a.permit(ctx, &plan.req); err != nil {
		return err
	}
	a.started(ctx)
	if _, err := w.Client.WriteTextFile(ctx, &acp.WriteTextFileRequest{SessionID: w.Session.ID, Path: plan.path, Content: content}); err != nil {
		return clientError(ctx, "write "+plan.name, err)
	}
	return nil
}

// approvedWrite returns what was approved: the run has just compared the file with what was shown. It is nil if that is not known.
func (w *workspace) approvedWrite(a *activity, in writeFileArgs) (*plannedWrite, error) {
	shown := a.call.Approval
	if !a.call.Approved || shown == nil || shown.Basis == "" || len(shown.Preview) != 1 || shown.Preview[0].Diff == nil {
		return nil, nil
	}
	path, err := w.resolve(in.Path)
	diff := shown.Preview[0].Diff
	if err != nil || diff.Path != path || diff.New == nil || *diff.New != in.Content {
		return nil, err
	}
	return w.plannedWrite(in, path, diff.Old), nil
}

// currentText returns what the editor has in a file; nil if the file does not exist, or if the client cannot read.
func (w *workspace) currentText(ctx context.Context, path string) (*string, error) {
	if !w.Session.Capabilities.FS.ReadTextFile {
		return nil, nil
	}
	resp, err := w.Client.ReadTextFile(ctx, &acp.ReadTextFileRequest{SessionID: w.Session.ID, Path: path})
	switch {
	case err == nil:
		return &resp.Content, nil
	case ctx.Err() == nil && isNotFound(err):
		return nil, nil
	}
	return nil, clientError(ctx, "write "+w.short(path)+", because its present content cannot be read", err)
}
