// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// The names of the tools.
const (
	ToolListChanges = "list_changes"
	ToolUndoChanges = "undo_changes"
)

// Tools returns the tools with which a model looks at the changes of a recorder and takes them
// back: list_changes and undo_changes. Offer them beside [workspace.Tools], which should work on
// a session of the same recorder. The tools do not make checkpoints: the program does, with
// [Recorder.Mark], before each run.
//
// recorder returns the recorder from the dependencies of a run. Nil means that the run gets none
// of the tools. undo_changes is not offered if the workspace cannot read and write.
//
// undo_changes needs approval, with the diff of each file that it would change. If a file changes
// while the question is open, the undo is worked out and shown again.
func Tools[D any](recorder func(deps D) *Recorder) toolset.Toolset[D] {
	t := &tools[D]{recorder: recorder}
	t.list = toolset.Func(ToolListChanges, listChangesDescription, func(ctx context.Context, run *toolset.RunContext[D], in listChangesArgs) (string, error) {
		return listChanges(ctx, t.of(run), in)
	}, toolset.OfKind(toolset.KindRead, "List changes"))
	t.undo = toolset.Func(ToolUndoChanges, undoChangesDescription, func(ctx context.Context, run *toolset.RunContext[D], in undoChangesArgs) (string, error) {
		return undoChanges(ctx, t.of(run), &run.Call, in)
	}, toolset.OfKind(toolset.KindEdit, "Undo changes"), toolset.Sequential(),
		toolset.Approve(func(ctx context.Context, run *toolset.RunContext[D], in undoChangesArgs) (*toolset.Approval, error) {
			return approveUndo(ctx, t.of(run), in)
		}))
	return t
}

type tools[D any] struct {
	recorder   func(D) *Recorder
	list, undo *toolset.Tool[D]
}

func (t *tools[D]) of(run *toolset.RunContext[D]) *Recorder { return t.recorder(run.Deps) }

func (t *tools[D]) Name() string { return "checkpoint" }

// Check implements [toolset.Checker].
func (t *tools[D]) Check() error {
	if t.recorder == nil {
		return errors.New("checkpoint: Tools: the function is nil")
	}
	return nil
}

func (t *tools[D]) Open(_ context.Context, run *toolset.RunContext[D]) (toolset.Instance[D], error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	in := &instance[D]{}
	r := t.of(run)
	if r == nil {
		return in, nil
	}
	in.listing.Tools = []*toolset.Tool[D]{t.list}
	if f := r.Features(); f.Read && f.Write {
		in.listing.Tools = append(in.listing.Tools, t.undo)
	}
	return in, nil
}

type instance[D any] struct{ listing toolset.Listing[D] }

func (in *instance[D]) Tools(context.Context, *toolset.RunContext[D]) (toolset.Listing[D], error) {
	return in.listing, nil
}

func (in *instance[D]) Close(context.Context) error { return nil }

const undoChangesDescription = "Undo the file changes of a checkpoint, by default the latest one that is still in effect. " +
	"Changes that the user has made since are kept. Changes made by commands are not undone. Call it again to undo the previous checkpoint. The user is asked first."

type undoChangesArgs struct {
	Checkpoint int `json:"checkpoint,omitempty" jsonschema_description:"The number of the checkpoint to undo, as list_changes shows it. Default: the latest. To redo, give the number of an undo." validate:"omitempty,min=1"`
}

// planFor returns what a call of undo_changes would do, and the checkpoint that it means. The
// error is for the model.
func planFor(ctx context.Context, r *Recorder, in undoChangesArgs) (*Plan, error) {
	id := in.Checkpoint
	if id == 0 {
		c, ok := r.Undoable()
		if !ok {
			return nil, toolset.Failed("There is nothing to undo.")
		}
		id = c.ID
	}
	p, err := r.PlanUndo(ctx, Only(id))
	if errors.Is(err, ErrNoCheckpoint) {
		return nil, toolset.Failed("Unknown checkpoint %d. Call %s to list checkpoints.", id, ToolListChanges)
	}
	return p, err
}

// doable returns the files that a plan changes.
func (p *Plan) doable() []*FileUndo {
	var files []*FileUndo
	for i := range p.Files {
		if f := &p.Files[i]; f.Action == Rewrite || f.Action == Remove {
			files = append(files, f)
		}
	}
	return files
}

// basis identifies what the plan does, for [toolset.Approval].
func (p *Plan) basis() string {
	h := sha256.New()
	fmt.Fprintf(h, "%d %d", p.Span.From, p.Span.To)
	for i := range p.Files {
		f := &p.Files[i]
		fmt.Fprintf(h, "\x00%s\x00%s\x00%s\x00%s", f.Path, f.Action, hashOf(f.Old), hashOf(f.New))
	}
	return "undo " + hex.EncodeToString(h.Sum(nil)[:16])
}

func approveUndo(ctx context.Context, r *Recorder, in undoChangesArgs) (*toolset.Approval, error) {
	p, err := planFor(ctx, r, in)
	if err != nil || len(p.doable()) == 0 {
		return nil, context.Cause(ctx) // the call says the rest
	}
	return r.approval(ctx, p), nil
}

// approval shows what an undo would do.
func (r *Recorder) approval(ctx context.Context, p *Plan) *toolset.Approval {
	files := p.doable()
	a := &toolset.Approval{Title: fmt.Sprintf("Undo the changes of %d files", len(files)), Basis: p.basis()}
	for _, f := range files {
		a.Parts = append(a.Parts, r.style.Fold(f.Path))
		a.Preview = append(a.Preview, r.preview(ctx, f))
		a.Effects = append(a.Effects, model.Effect{Kind: model.EffectWrite, Path: f.Path})
	}
	if slices.ContainsFunc(files, func(f *FileUndo) bool { return f.bypass }) {
		a.Preview = append(a.Preview, toolset.Preview{Text: "This is written to disk, not through the editor."})
	}
	a.Scope, a.ScopeTitle = strings.Join(a.Parts, "\n"), "undoing changes of these files"
	if len(files) == 1 {
		a.Title, a.ScopeTitle = "Undo the changes of "+files[0].Name, "undoing changes of "+files[0].Name
	}
	if left := leftAlone(p.Files, nil); left != "" {
		a.Preview = append(a.Preview, toolset.Preview{Text: "Not changed:\n" + left})
	}
	return a
}

// preview shows what becomes of a file, without the contents of one that must not be read.
func (r *Recorder) preview(ctx context.Context, f *FileUndo) toolset.Preview {
	switch hidden := r.hides(ctx, f.Path); {
	case hidden && f.Action == Remove:
		return toolset.Preview{Diff: &toolset.Diff{Path: f.Path}}
	case hidden:
		return toolset.Preview{Text: f.Name + " gets its earlier contents, which must not be read."}
	}
	return toolset.Preview{Diff: &toolset.Diff{Path: f.Path, Old: text(f.Old), New: text(f.New)}}
}

func text(data []byte) *string {
	if data == nil {
		return nil
	}
	decoded, ok := workspace.DecodeText(data)
	if !ok {
		return new(strings.ToValidUTF8(string(data), "\ufffd"))
	}
	return new(string(decoded.Data))
}

func undoChanges(ctx context.Context, r *Recorder, call *toolset.Call, in undoChangesArgs) (string, error) {
	p, err := planFor(ctx, r, in)
	if err != nil {
		return "", err
	}
	if len(p.doable()) > 0 && (!call.Approved || call.Approval != nil && call.Approval.Basis != p.basis()) {
		return "", toolset.ApprovalRequired(*r.approval(ctx, p))
	}
	res, err := r.Apply(ctx, p)
	if err != nil && (ctx.Err() != nil || errors.Is(err, workspace.ErrLost)) {
		return "", err
	}
	told := res.told()
	if err != nil && res.Checkpoint.ID == 0 {
		return "", toolset.Failed("Nothing was undone. %s", told)
	}
	return told, nil
}

// told says to a model what an undo did.
func (r *Result) told() string {
	var b strings.Builder
	for i := range r.Files {
		switch f := &r.Files[i]; {
		case f.Done && f.Action == Rewrite && f.Old == nil:
			fmt.Fprintf(&b, "Brought back %s%s.\n", f.Name, f.where())
		case f.Done && f.Action == Rewrite:
			fmt.Fprintf(&b, "Restored %s%s.\n", f.Name, f.where())
		case f.Done:
			fmt.Fprintf(&b, "Removed %s.\n", f.Name)
		case f.Action == Nothing:
			fmt.Fprintf(&b, "%s already has its earlier contents.\n", f.Name)
		}
	}
	if len(r.Files) == 0 && r.Dropped == 0 {
		b.WriteString("There is nothing to undo.\n")
	}
	if left := leftAlone(r.Files, r); left != "" {
		fmt.Fprintf(&b, "Not undone:\n%s", left)
	}
	if r.Checkpoint.ID != 0 {
		fmt.Fprintf(&b, "To redo, call %s with checkpoint %d.\n", ToolUndoChanges, r.Checkpoint.ID)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// leftAlone describes the files that are left alone and why, with the lines of conflicts.
func leftAlone(files []FileUndo, r *Result) string {
	var b strings.Builder
	for i := range files {
		f := &files[i]
		why := f.problem()
		if why == "" {
			continue
		}
		fmt.Fprintf(&b, "%s: %s.\n", f.Name, strings.TrimSuffix(why, "."))
		for n, c := range f.Conflicts {
			if n == maxConflictsShown {
				fmt.Fprintf(&b, "[%d more conflicts]\n", len(f.Conflicts)-n)
				break
			}
			fmt.Fprintf(
				&b, "%s, now:\n%sThe undo would make that:\n%s", c.where(), quoted(c.Current),
				quoted(c.Before),
			)
		}
	}
	if r != nil && r.Dropped > 0 {
		fmt.Fprintf(&b, "Up to %d older changes, which are no longer kept.\n", r.Dropped)
	}
	return b.String()
}

// where names the lines.
func (c *Conflict) where() string {
	switch {
	case c.Line == 0:
		return "Some lines"
	case c.Lines == 0:
		return fmt.Sprintf("Before line %d", c.Line)
	case c.Lines == 1:
		return fmt.Sprintf("Line %d", c.Line)
	}
	return fmt.Sprintf("Lines %d to %d", c.Line, c.Line+c.Lines-1)
}

const (
	maxConflictsShown = 8
	maxConflictSize   = 2000
)

// quoted indents lines, and cuts what is too long to be shown.
func quoted(lines string) string {
	if lines == "" {
		return "  [nothing]\n"
	}
	cut := ""
	if len(lines) > maxConflictSize {
		end := strings.LastIndexByte(lines[:maxConflictSize], '\n') + 1
		if end == 0 {
			end = maxConflictSize
		}
		lines, cut = strings.ToValidUTF8(lines[:end], ""), fmt.Sprintf("  [%d more bytes]\n", len(lines)-end)
	}
	lines = strings.ReplaceAll(strings.TrimSuffix(lines, "\n"), "\n", "\n  ")
	return "  " + lines + "\n" + cut
}
