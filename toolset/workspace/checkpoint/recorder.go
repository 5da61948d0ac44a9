// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// Options bound what a [Recorder] keeps. The zero value is useful.
type Options struct {
	// MaxBytes is how many bytes of contents are kept, 64 MiB by default. Equal contents count
	// once.
	MaxBytes int64
	// MaxChanges is how many changes, and how many checkpoints, are kept, 10,000 each by default.
	// Several writes to a file since one checkpoint are one change, unless others wrote in between.
	MaxChanges int
	// Cipher, if not nil, encrypts what [Keep] writes.
	Cipher *Cipher
	// Problem, if not nil, is told what a recorder of [Keep] could not write. It must not call
	// methods of the recorder that change files or make checkpoints.
	Problem func(error)
}

// Cipher encrypts files. Its functions are those of a session.Keyring, for example.
type Cipher struct {
	// Seal encrypts data. Open decrypts what Seal has made, under the same purpose.
	Seal, Open func(data []byte, purpose string) ([]byte, error)
	// Hide returns 64 hexadecimal digits that stand for a name and do not reveal it.
	Hide func(name, purpose string) string
}

// Checkpoint is a moment to which files can be taken back.
type Checkpoint struct {
	// ID counts the checkpoints of a recorder from 1.
	ID int `json:"id"`
	// Title is the program's name for it, such as the prompt of the turn that began.
	Title string `json:"title,omitempty"`
	// Turn is the turn that began, for checkpoints of [Turns].
	Turn string `json:"turn,omitempty"`
	// Time is when it was made.
	Time time.Time `json:"time"`
	// Undo is set if the following changes were made by an undo. To undo them is to redo.
	Undo bool `json:"undo,omitempty"`
	// Undoes is the span that the undo reverted. It is zero if some changes could not be reverted.
	Undoes Span `json:"undoes,omitzero"`
}

// Span is changes in a row. The zero Span is everything that is recorded.
type Span struct {
	// From and To are the ids of the first and the last checkpoint whose changes are meant. If To
	// is 0, all changes since From are.
	From int `json:"from,omitempty"`
	To   int `json:"to,omitempty"`
}

// Since returns all changes since a checkpoint.
func Since(id int) Span { return Span{From: id} }

// Only returns the changes between a checkpoint and the next one.
func Only(id int) Span { return Span{From: id, To: id} }

// ErrNoCheckpoint means that a [Span] names a checkpoint that the recorder has not made.
var ErrNoCheckpoint = errors.New("checkpoint: no such checkpoint")

// Recorder is a workspace that records the changes made through it. Everything else is passed on to
// the inner workspace. It is safe for concurrent use: writes happen one after the other.
type Recorder struct {
	workspace workspace.Workspace
	style     workspace.Style
	options   Options
	writing   chan struct{} // holds a token while a file is changed
	keeper    *keeper       // nil unless the recorder is kept in a directory
	reads     func(path string) (toolset.Verdict, string)

	mu       sync.Mutex
	log      Log
	pending  *Change // which is being made
	contents contents
	recent   recentReads
}

var (
	_ workspace.Workspace = (*Recorder)(nil)
	_ workspace.Resolver  = (*Recorder)(nil)
	_ workspace.Opener    = (*Recorder)(nil)
	_ workspace.Applier   = (*Recorder)(nil)
)

// New returns a recorder of the changes in w. Pass it to [workspace.NewSession] instead of w. It
// does not have to be closed.
//
// New panics if w is nil or an option is negative.
func New(w workspace.Workspace, o Options) *Recorder {
	if err := check(w, &o); err != nil {
		panic(err.Error())
	}
	o.MaxBytes, o.MaxChanges = cmp.Or(o.MaxBytes, 64<<20), cmp.Or(o.MaxChanges, 10_000)
	r := &Recorder{workspace: w, options: o, writing: make(chan struct{}, 1), log: Log{Version: logVersion}}
	r.contents.max = o.MaxBytes
	if roots := w.Roots(); len(roots) > 0 {
		r.style = workspace.StyleOf(roots[0])
	}
	return r
}

// check returns what is wrong with the arguments of a recorder.
func check(w workspace.Workspace, o *Options) error {
	switch {
	case w == nil:
		return errors.New("checkpoint: the workspace is nil")
	case o.MaxBytes < 0 || o.MaxChanges < 0:
		return fmt.Errorf(
			"checkpoint: MaxBytes is %d and MaxChanges %d; they must not be negative",
			o.MaxBytes, o.MaxChanges,
		)
	}
	return nil
}

// GuardReads sets what was decided about reading a file, by its absolute path, as for
// [workspace.Session.GuardReads]. Neither the tools nor the questions about an undo show the
// contents of files that must not be read or are asked about. It must not be called while the
// recorder is in use.
func (r *Recorder) GuardReads(reads func(path string) (verdict toolset.Verdict, reason string)) {
	r.reads = reads
}

// hides reports whether the contents of a file are not shown, by its name or that of what a link
// leads to from there.
func (r *Recorder) hides(ctx context.Context, path string) bool {
	if r.reads == nil {
		return false
	}
	for _, name := range []string{path, workspace.Follow(ctx, r.workspace, path)} {
		if verdict, _ := r.reads(name); verdict != "" && verdict != toolset.VerdictAllow {
			return true
		}
	}
	return false
}

// Unwrap returns the inner workspace. Direct writes to it are not recorded.
func (r *Recorder) Unwrap() workspace.Workspace { return r.workspace }

// Mark makes a checkpoint. Changes belong to the last checkpoint before them. Call it when a turn
// begins. The first change makes a checkpoint itself if there is none.
func (r *Recorder) Mark(title string) Checkpoint { return r.mark(title, "", false) }

func (r *Recorder) mark(title, turn string, undo bool) Checkpoint {
	defer r.save()
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.log.add(title, turn, undo)
	r.bound()
	return c
}

// Checkpoints returns the checkpoints that are kept, the oldest first.
func (r *Recorder) Checkpoints() []Checkpoint {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.log.Checkpoints)
}

// Roots implements [workspace.Workspace].
func (r *Recorder) Roots() []string { return r.workspace.Roots() }

// RealRoots implements [workspace.Linked]. It is nil if the inner workspace does not.
func (r *Recorder) RealRoots() []string {
	if linked, ok := r.workspace.(workspace.Linked); ok {
		return linked.RealRoots()
	}
	return nil
}

// Features implements [workspace.Workspace].
func (r *Recorder) Features() workspace.Features { return r.workspace.Features() }

// Read implements [workspace.Workspace].
func (r *Recorder) Read(ctx context.Context, path string, part workspace.Range) (workspace.File, error) {
	f, err := r.workspace.Read(ctx, path, part)
	if whole := part.Offset == 0 && part.Line == 0 && part.Lines == 0 && part.Limit == 0 && part.Buf == nil && !part.Saved; err == nil && whole {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.recent.put(r.style.Fold(f.Path), f.Version, read(&f))
	}
	return f, err
}

// Open implements [workspace.Opener]. A quick look at a file that has the version that was read
// last needs no second read.
func (r *Recorder) Open(ctx context.Context, path string, quick bool) (*workspace.Document, error) {
	if _, ok := r.workspace.(workspace.Opener); !ok && quick {
		if doc := r.lately(ctx, path); doc != nil {
			return doc, nil
		}
	}
	doc, err := workspace.OpenDocument(ctx, r.workspace, path, quick)
	if now := (*workspace.Side)(nil); err == nil && !doc.Unread {
		if now = doc.Current(); now.Exists { // a version says what the contents are, also if the document is out of date
			r.remember(workspace.Follow(ctx, r.workspace, doc.Path), doc.Version, found{
				data: now.Data, uncertain: doc.Uncertain,
			})
		}
	}
	return doc, err
}

// lately returns a document of the last read, if the file still has its version. Otherwise it is
// nil.
func (r *Recorder) lately(ctx context.Context, path string) *workspace.Document {
	info, err := r.workspace.Stat(ctx, path)
	if err != nil || info.Version == "" {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	last, ok := r.recent.get(r.style.Fold(info.Path), info.Version)
	if !ok {
		return nil
	}
	return workspace.SavedDocument(&workspace.File{Info: info, Data: last.data})
}

// Stat implements [workspace.Workspace].
func (r *Recorder) Stat(ctx context.Context, path string) (workspace.Info, error) {
	return r.workspace.Stat(ctx, path)
}

// Walk implements [workspace.Workspace].
func (r *Recorder) Walk(ctx context.Context, dir string, o workspace.WalkOptions) iter.Seq2[workspace.Info, error] {
	return r.workspace.Walk(ctx, dir, o)
}

// Start implements [workspace.Workspace]. Changes by the command are not recorded.
func (r *Recorder) Start(ctx context.Context, c workspace.Command) (workspace.Process, error) {
	p, err := r.workspace.Start(ctx, c)
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.log.addCommand(c)
	}
	return p, err
}

// Resolve implements [workspace.Resolver] if the inner workspace does.
func (r *Recorder) Resolve(ctx context.Context, path string) error {
	if inner, ok := r.workspace.(workspace.Resolver); ok {
		return inner.Resolve(ctx, path)
	}
	var err error
	if r.workspace.Features().Read {
		_, err = r.workspace.Stat(ctx, path)
	} else if _, err = workspace.LocateIn(r.workspace, path); err != nil {
		err = &workspace.PathError{Op: "resolve", Path: path, Err: err}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Follow implements [workspace.Follower] if the inner workspace does.
func (r *Recorder) Follow(ctx context.Context, path string) (string, error) {
	if inner, ok := r.workspace.(workspace.Follower); ok {
		return inner.Follow(ctx, path)
	}
	at, err := workspace.LocateIn(r.workspace, path)
	return at.Path, err
}

// lock waits until no other file is being changed.
func (r *Recorder) lock(ctx context.Context, op, path string) (unlock func(), err error) {
	select {
	case r.writing <- struct{}{}:
		return func() { <-r.writing }, nil
	case <-ctx.Done():
		return nil, &workspace.PathError{Op: op, Path: path, Err: fmt.Errorf("%w", context.Cause(ctx))}
	}
}
