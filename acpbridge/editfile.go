// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"errors"
	"fmt"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/toolset"
	ws "github.com/ponte-go/ponte/toolset/workspace"
)

const editFileDescription = "Replace parts of a text file. Each edit replaces old_text, which must match the file exactly, with new_text. " +
	"Edits are applied in order, all or none. Read the file first. The user sees the change and may refuse it."

type editFileArgs struct {
	Path  string    `json:"path" jsonschema_description:"The file: an absolute path, or one relative to the working directory. It must exist." validate:"required"`
	Edits []ws.Edit `json:"edits" jsonschema_description:"The replacements." validate:"required,min=1,max=100"`
}

func (in editFileArgs) describe(w *workspace) (string, []acp.ToolCallLocation) {
	shown := w.display(in.Path)
	return "Edit " + shown.short, []acp.ToolCallLocation{{Path: shown.absolute}}
}

// planEdit returns what the edits make of the file, as a call of write_file.
func (w *workspace) planEdit(ctx context.Context, in editFileArgs) (*plannedWrite, writeFileArgs, error) {
	path, err := w.resolve(in.Path)
	if err != nil {
		return nil, writeFileArgs{}, err
	}
	old, err := w.currentText(ctx, path)
	if err != nil {
		return nil, writeFileArgs{}, err
	}
	return w.plannedEdit(in, path, old)
}

// plannedEdit makes the edits in a text; old is nil if there is no file.
func (w *workspace) plannedEdit(in editFileArgs, path string, old *string) (*plannedWrite, writeFileArgs, error) {
	if old == nil {
		return nil, writeFileArgs{}, toolset.Failed("Could not edit %s: not found. Create it with %s.", w.short(path), ToolWriteFile)
	}
	edited, err := ws.ApplyEdits([]byte(*old), in.Edits)
	if wrong, ok := errors.AsType[*ws.EditError](err); ok {
		return nil, writeFileArgs{}, toolset.Failed("Nothing was changed in %s. %s", w.short(path), wrong.Message)
	}
	write := writeFileArgs{Path: in.Path, Content: string(edited)}
	plan := w.plannedWrite(write, path, old)
	plan.req.Tool = ToolEditFile
	return plan, write, err
}

func (w *workspace) approveEdit(ctx context.Context, a *activity, in editFileArgs) (*toolset.Approval, error) {
	plan, write, err := w.planEdit(ctx, in)
	if err != nil || plan.same(write) {
		return nil, nil // the call says so itself
	}
	return a.approval(ctx, &plan.req)
}

func (w *workspace) editFile(ctx context.Context, a *activity, in editFileArgs) (answer, error) {
	plan, write, err := w.approvedEdit(a, in)
	if plan == nil && err == nil {
		plan, write, err = w.planEdit(ctx, in)
	}
	if err != nil {
		return answer{}, err
	}
	if plan.same(write) {
		return answer{text: fmt.Sprintf("The edits leave %s as it is; nothing was written.", plan.name), raw: fileWritten{Bytes: len(write.Content)}}, nil
	}
	if err := w.carryOut(ctx, a, plan, write.Content); err != nil {
		return answer{}, err
	}
	return answer{
		text: fmt.Sprintf("Edited %s. %s", plan.name, ws.ChangedLines([]byte(*plan.old), []byte(write.Content))),
		raw:  fileWritten{Bytes: len(write.Content), Changed: true},
	}, nil
}

// approvedEdit returns what was approved: the run has just compared the file with what was shown. It is nil if that is not known.
func (w *workspace) approvedEdit(a *activity, in editFileArgs) (*plannedWrite, writeFileArgs, error) {
	shown := a.call.Approval
	if !a.call.Approved || shown == nil || shown.Basis == "" || len(shown.Preview) != 1 || shown.Preview[0].Diff == nil {
		return nil, writeFileArgs{}, nil
	}
	path, err := w.resolve(in.Path)
	diff := shown.Preview[0].Diff
	if err != nil || diff.Path != path || diff.New == nil {
		return nil, writeFileArgs{}, err
	}
	plan, write, err := w.plannedEdit(in, path, diff.Old)
	if err != nil || write.Content != *diff.New {
		return nil, writeFileArgs{}, nil
	}
	return plan, write, nil
}
