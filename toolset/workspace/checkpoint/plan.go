// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// Action is the effect of an undo on a file.
type Action string

// The actions of an undo.
const (
	// Rewrite means that the earlier contents are written, merged with changes by others.
	Rewrite Action = "restore"
	// Remove means that a file that was created is removed.
	Remove Action = "remove"
	// Nothing means that the file is as it was before the changes already.
	Nothing Action = "nothing"
	// Clash means that the file is left alone because others changed the same places.
	Clash Action = "conflict"
	// Impossible means that the file is left alone because the workspace cannot do it, or because
	// the contents are not kept.
	Impossible Action = "impossible"
)

// Plan describes the effects of an undo. It is made for the current files, and [Recorder.Apply]
// changes no file that has changed since.
type Plan struct {
	// Span is the span that the undo reverts.
	Span Span
	// Files are sorted by path.
	Files []FileUndo
	// Dropped is the number of changes of the span, or before it, that are no longer kept and
	// cannot be undone.
	Dropped int
}

// FileUndo is the planned or completed undo of a file.
type FileUndo struct {
	// Path is absolute. Name is for people.
	Path, Name string
	Action     Action
	// Old is the current content of the file, New the content after the undo. Nil means no file.
	// Both are set for Rewrite and Remove only, and must not be changed.
	Old, New []byte
	// Reason says why a file is left alone, for people and models.
	Reason string
	// Conflicts are the places that both sides changed, if lines can be told.
	Conflicts []Conflict
	// InEditor is set if only the editor's text of the file was put back, because the file is on
	// another machine and nothing else of it is known.
	InEditor bool
	// Done is set if [Recorder.Apply] has changed the file. Err is the error if it could not.
	Done bool
	Err  error

	version workspace.Version // of Old
	order   int
	bypass  bool   // the change goes to the disk although there is an editor
	raw     string // the name without quotes
}

// Conflict is a range of lines that others changed after they were changed through the recorder.
type Conflict struct {
	// Line is the first of the lines in the file as it is, counted from 1, and Lines how many there
	// are. Line is 0 if that is not known.
	Line, Lines int
	// Current are the current lines, Changed the lines after the recorded change, and Before the
	// lines before it.
	Current, Changed, Before string
}

// PlanUndo works out how to take back the changes of a span. It changes nothing. It fails with
// [ErrNoCheckpoint], at the end of ctx, and if the workspace is lost. Everything else is in the
// plan.
func (r *Recorder) PlanUndo(ctx context.Context, s Span) (*Plan, error) {
	r.mu.Lock()
	files, err := r.files(s)
	p := &Plan{Span: s, Dropped: r.dropped(s)}
	r.mu.Unlock()
	if err != nil {
		return nil, err
	}
	slices.Reverse(files) // the last change first
	for i, f := range files {
		u, err := r.planFile(ctx, f)
		if err != nil {
			return nil, fmt.Errorf("checkpoint: undo: %w", err)
		}
		if u.Action == Nothing && len(f.segments) == 1 && f.segments[0].before.same(f.segments[0].after) {
			continue
		}
		u.order = i
		p.Files = append(p.Files, *u)
	}
	slices.SortFunc(p.Files, func(a, b FileUndo) int { return bytes.Compare([]byte(a.Path), []byte(b.Path)) })
	return p, nil
}

func (r *Recorder) planFile(ctx context.Context, f *FileChange) (*FileUndo, error) {
	u := &FileUndo{Path: f.Path, Name: f.Name, raw: f.raw}
	stop := func(a Action, format string, args ...any) (*FileUndo, error) {
		u.Action, u.Reason, u.Old, u.New = a, fmt.Sprintf(format, args...), nil, nil
		return u, nil
	}
	for _, s := range f.segments {
		switch {
		case s.kept:
		case s.before.Unknown != "":
			return stop(Impossible, "its earlier contents are unknown, because %s", s.before.Unknown)
		default:
			return stop(Impossible, "its earlier contents are no longer kept")
		}
	}
	can := r.workspace.Features()
	if !can.Read {
		return stop(Impossible, "this workspace cannot read files")
	}
	if file := workspace.Follow(ctx, r.workspace, f.Path); file != f.Path {
		return stop(Impossible, "it is now a link, or is reached through one, to %s", printable(r.relative(file)))
	}
	now, err := workspace.OpenDocument(ctx, r.workspace, f.Path, false)
	switch {
	case err == nil && now.Blocked != "":
		return stop(Impossible, "%s", now.Blocked)
	case err == nil:
		u.version, u.bypass = now.Version, now.Faithful != workspace.FaithUnknown && !now.Unsaved && now.Buffer != nil
		if side := now.Current(); side.Exists && !(now.Uncertain && f.segments[0].before.Absent) {
			u.Old = present(side.Data)
		}
	case ctx.Err() != nil || errors.Is(err, workspace.ErrLost):
		return nil, err
	default:
		return stop(Impossible, "it cannot be read: %v", cause(err))
	}
	u.New = u.Old
	for i := len(f.segments) - 1; i >= 0; i-- {
		next, why, conflicts := unmake(&f.segments[i], u.New)
		if why != "" {
			if i < len(f.segments)-1 {
				for j := range conflicts {
					conflicts[j].Line = 0 // it counts lines of a text that nobody has seen
				}
			}
			u.Conflicts = conflicts
			return stop(Clash, "%s", why)
		}
		u.New = next
	}
	switch {
	case equal(u.Old, u.New):
		return stop(Nothing, "it already has its earlier contents")
	case u.New == nil && !can.Remove:
		return stop(Impossible, "it was created, and this workspace cannot remove files")
	case u.New != nil && len(u.New) == 0 && f.segments[0].before.Uncertain && !can.Remove:
		return stop(Impossible, "it was empty or did not exist, the editor does not say which, and this workspace cannot remove files")
	case u.New != nil && !can.Write:
		return stop(Impossible, "this workspace cannot write files")
	case u.New == nil:
		u.Action = Remove
	default:
		u.Action = Rewrite
	}
	return u, nil
}

// unmake takes back the change of a segment from what the file holds. why says in words why it
// cannot be taken back.
func unmake(s *segment, now []byte) (restored []byte, why string, conflicts []Conflict) {
	before, after := s.beforeData, s.afterData
	switch {
	case equal(now, after):
		return before, "", nil
	case equal(now, before), equal(before, after):
		return now, "", nil
	case before == nil:
		return nil, "it was created, and someone else has changed it since", nil
	case now == nil:
		return nil, "someone else has removed it since", nil
	case after == nil:
		return nil, "it was removed, and someone else has created it again since", nil
	}
	return merge(before, after, now)
}

// merge takes a change back from a text that others have changed since, in the encoding that it
// has now.
func merge(before, after, now []byte) (restored []byte, why string, conflicts []Conflict) {
	texts := [3]workspace.Text{}
	for i, data := range [][]byte{after, now, before} {
		text, ok := workspace.DecodeText(data)
		if !ok {
			return nil, "someone else has changed it since, and it is not text", nil
		}
		texts[i] = text
	}
	merged, conflicts := mergeText(string(texts[0].Data), string(texts[1].Data), string(texts[2].Data))
	if len(conflicts) > 0 {
		return nil, "someone else has changed the same or adjacent lines since", conflicts
	}
	restored, err := texts[1].Encode([]byte(merged))
	if err != nil {
		return nil, "someone else has changed it since, and its encoding does not fit the merged text", nil
	}
	return restored, "", nil
}

// equal compares contents; nil is no file.
func equal(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// cause returns what a workspace says is wrong, without the path.
func cause(err error) error {
	if e, ok := errors.AsType[*workspace.PathError](err); ok {
		return e.Err
	}
	return err
}

// Diff shows what the plan would change as one unified diff. Files that would be left alone are
// not in it.
func (p *Plan) Diff() string {
	var b strings.Builder
	for i := range p.Files {
		if f := &p.Files[i]; f.Action == Rewrite || f.Action == Remove {
			b.WriteString(f.diff())
		}
	}
	return b.String()
}

func (f *FileUndo) diff() string {
	s := segment{
		before: stateOf(foundIn(f.Old)), after: stateOf(foundIn(f.New)), beforeData: f.Old,
		afterData: f.New, kept: true,
	}
	return s.diff(f.raw)
}

func foundIn(data []byte) found { return found{data: data, absent: data == nil} }
