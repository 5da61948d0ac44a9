// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// Result is the result of an undo.
type Result struct {
	// Checkpoint is the checkpoint of the undo: [Recorder.Undo] of [Only] its ID is a redo. It is
	// zero if nothing was changed.
	Checkpoint Checkpoint
	// Files are the files of the plan, with the outcome.
	Files []FileUndo
	// Dropped is copied from the plan.
	Dropped int
}

// ErrConflict means that an undo left a file alone because others changed the same places.
var ErrConflict = errors.New("conflict")

// IncompleteError means that an undo did not take back all of the changes. errors.Is finds
// [ErrConflict], and why files could not be written.
type IncompleteError struct{ Result *Result }

func (e *IncompleteError) Error() string {
	text := "checkpoint: not undone: " + strings.Join(e.left(), ", ")
	if done := e.Result.done(); len(done) > 0 {
		text += "; undone: " + strings.Join(done, ", ")
	}
	return text
}

// left describes what was not undone.
func (e *IncompleteError) left() (not []string) {
	for i := range e.Result.Files {
		f := &e.Result.Files[i]
		if why := f.problem(); why != "" {
			not = append(not, fmt.Sprintf("%s (%s)", f.Name, why))
		}
	}
	if e.Result.Dropped > 0 {
		not = append(not, fmt.Sprintf("up to %d older changes that are no longer kept", e.Result.Dropped))
	}
	return not
}

// done returns the names of the files that were undone.
func (r *Result) done() (names []string) {
	if r == nil {
		return nil
	}
	for i := range r.Files {
		if f := &r.Files[i]; f.Done && f.Err == nil {
			names = append(names, f.Name+f.where())
		}
	}
	return names
}

// where notes that only the text in the editor was put back.
func (f *FileUndo) where() string {
	if f.InEditor {
		return " (its text in the editor)"
	}
	return ""
}

// Unwrap returns what was wrong with the files.
func (e *IncompleteError) Unwrap() []error {
	var errs []error
	for _, f := range e.Result.Files {
		if f.Action == Clash {
			errs = append(errs, ErrConflict)
		}
		if f.Err != nil {
			errs = append(errs, f.Err)
		}
	}
	return errs
}

// problem says why a file has not been undone; it is empty if it has.
func (f *FileUndo) problem() string {
	switch {
	case f.Err != nil:
		if e, ok := errors.AsType[*workspace.PathError](f.Err); ok { // whose path is the name
			return e.Err.Error()
		}
		return f.Err.Error()
	case f.Action == Clash || f.Action == Impossible:
		return f.Reason
	}
	return ""
}

// Undo reverts the changes of a span where possible: it is [Recorder.PlanUndo] and
// [Recorder.Apply].
func (r *Recorder) Undo(ctx context.Context, s Span) (*Result, error) {
	p, err := r.PlanUndo(ctx, s)
	if err != nil {
		return nil, err
	}
	return r.Apply(ctx, p)
}

// Apply carries out a plan, file by file, the last change first. Each file is changed as a whole or
// not at all, and only if it is as it was when the plan was made. A file that cannot be changed
// does not keep the others from being undone; the end of ctx and the loss of the workspace do. The
// changes of Apply are recorded under a new checkpoint, and a further checkpoint separates later
// changes.
//
// The error is an [*IncompleteError] if a change was not taken back. The result is never nil.
func (r *Recorder) Apply(ctx context.Context, p *Plan) (*Result, error) {
	res := &Result{Files: slices.Clone(p.Files), Dropped: p.Dropped}
	var todo []*FileUndo
	complete := p.Dropped == 0
	for i := range res.Files {
		switch f := &res.Files[i]; f.Action {
		case Rewrite, Remove:
			todo = append(todo, f)
		case Clash, Impossible:
			complete = false
		}
	}
	slices.SortFunc(todo, func(a, b *FileUndo) int { return cmp.Compare(a.order, b.order) })
	if len(todo) > 0 {
		before := r.current()
		res.Checkpoint = r.mark(undoTitle(p.Span), "", true)
		complete = r.apply(ctx, todo) && complete
		if complete {
			res.Checkpoint = r.undoes(res.Checkpoint.ID, p.Span, before.ID)
		}
		r.mark(before.Title, "", false)
		if !slices.ContainsFunc(res.Files, func(f FileUndo) bool { return f.Done }) {
			res.Checkpoint = Checkpoint{}
		}
	}
	if !complete {
		return res, &IncompleteError{res}
	}
	return res, nil
}

// apply changes the files and reports whether all have been changed.
func (r *Recorder) apply(ctx context.Context, todo []*FileUndo) bool {
	complete, lost := true, error(nil)
	for _, f := range todo {
		switch {
		case lost != nil:
			f.Err = fmt.Errorf("not tried: %w", lost)
		case workspace.Follow(ctx, r.workspace, f.Path) != f.Path: // a link was put into its path
			f.Err = &workspace.PathError{Op: "undo", Path: f.Path, Err: workspace.ErrChanged}
		case f.New == nil:
			f.Err = r.Remove(ctx, f.Path, f.version)
		default:
			f.Err = r.putBack(ctx, f)
		}
		if f.Err == nil {
			f.Done = true
			continue
		}
		complete = false
		if lost == nil && (ctx.Err() != nil || errors.Is(f.Err, workspace.ErrLost)) {
			lost = cmp.Or(context.Cause(ctx), f.Err)
		}
	}
	return complete
}

// putBack writes the earlier contents of a file. If an editor has made something else of them,
// the file is not undone.
func (r *Recorder) putBack(ctx context.Context, f *FileUndo) error {
	doc, err := r.ApplyChange(
		ctx, f.Path, workspace.Change{Data: f.New, IfVersion: f.version, File: f.Path, Exact: true},
	)
	if err != nil {
		return err
	}
	f.InEditor = doc.Disk == nil
	if now := doc.Current(); !now.Exists || !bytes.Equal(now.Data, f.New) {
		return errors.New("the editor has made something else of it")
	}
	if doc.Unsaved {
		return errors.New("the editor has it and has not saved it")
	}
	return nil
}

// current returns the last checkpoint.
func (r *Recorder) current() Checkpoint {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.log.Checkpoints) == 0 {
		return Checkpoint{}
	}
	return r.log.Checkpoints[len(r.log.Checkpoints)-1]
}

// undoes records what a checkpoint took back.
func (r *Recorder) undoes(id int, s Span, last int) Checkpoint {
	defer r.save()
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.To == 0 {
		s.To = last
	}
	for i := range r.log.Checkpoints {
		if c := &r.log.Checkpoints[i]; c.ID == id {
			c.Undoes = s
			return *c
		}
	}
	return Checkpoint{ID: id, Undo: true, Undoes: s} // dropped meanwhile
}

func undoTitle(s Span) string {
	if s.From == s.To {
		return fmt.Sprintf("undo of checkpoint %d", s.From)
	}
	if s.To == 0 {
		return fmt.Sprintf("undo of everything since checkpoint %d", s.From)
	}
	return fmt.Sprintf("undo of the checkpoints %d to %d", s.From, s.To)
}

// Undoable returns the newest checkpoint whose changes are still in effect: one that is not an
// undo, has changes, and has not been undone. ok is false if there is none.
func (r *Recorder) Undoable() (c Checkpoint, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	undone, changes := r.log.undone(), map[int]bool{}
	for i := range r.log.Changes {
		changes[r.log.Changes[i].Checkpoint] = true
	}
	for i := len(r.log.Checkpoints) - 1; i >= 0; i-- {
		c := r.log.Checkpoints[i]
		if c.Undo || undone[c.ID] || !changes[c.ID] {
			continue
		}
		files, err := r.files(Only(c.ID))
		if err == nil && slices.ContainsFunc(files, (*FileChange).changed) {
			return c, true
		}
	}
	return Checkpoint{}, false
}

// changed reports whether the file differs from its first state, or was changed by others in
// between.
func (f *FileChange) changed() bool {
	return len(f.segments) > 1 || !f.segments[0].before.same(f.segments[0].after)
}

// undone returns the checkpoints whose changes an undo has taken back, if that has not been
// undone itself.
func (l *Log) undone() map[int]bool {
	undone := map[int]bool{}
	for i := len(l.Checkpoints) - 1; i >= 0; i-- {
		c := &l.Checkpoints[i]
		if c.Undoes == (Span{}) || undone[c.ID] {
			continue
		}
		for id := c.Undoes.From; id <= c.Undoes.To; id++ {
			undone[id] = true
		}
	}
	return undone
}
