// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// Write implements [workspace.Workspace]. The change is recorded with what the file held before:
// for a version that was just read, nothing is read again.
func (r *Recorder) Write(
	ctx context.Context, path string, data []byte, ifVersion workspace.Version,
) (workspace.Version, error) {
	doc, err := r.ApplyChange(ctx, path, workspace.Change{Data: data, IfVersion: ifVersion})
	if err != nil {
		return "", err
	}
	return doc.Version, nil
}

// ApplyChange implements [workspace.Applier]. It records the contents that are there afterwards,
// as the editor saved them.
func (r *Recorder) ApplyChange(ctx context.Context, path string, c workspace.Change) (*workspace.Document, error) {
	at, err := workspace.LocateIn(r.workspace, path)
	if err != nil {
		return workspace.ApplyChange(ctx, r.workspace, path, c) // which says what is wrong with the path
	}
	unlock, err := r.lock(ctx, "write", path)
	if err != nil {
		return nil, err
	}
	defer unlock()
	ifVersion := c.IfVersion
	file := workspace.Follow(ctx, r.workspace, at.Path) // a file has one name, so that its changes are one after the other
	for attempt := 0; ; attempt++ {
		before, version := r.before(ctx, file, ifVersion)
		if attempt == maxAttempts {
			version = ifVersion
		}
		c.IfVersion = version
		r.intend(file, before, known(c.Data))
		done, err := workspace.ApplyChange(ctx, r.workspace, path, c)
		r.settle(err)
		if ifVersion == workspace.AnyVersion && version != ifVersion && errors.Is(err, workspace.ErrChanged) {
			continue // it changed since it was read, and AnyVersion takes what is there
		}
		switch now := (*workspace.Side)(nil); {
		case err == nil:
			now = done.Current()
			r.record(file, before, found{data: now.Data, absent: !now.Exists}, false)
			r.remember(file, done.Version, found{data: now.Data, uncertain: done.Uncertain})
		case !refused(err):
			r.record(file, before, known(c.Data), true)
		}
		return done, err
	}
}

// maxAttempts is how often a write with AnyVersion is tried with the version that was read,
// before it is made whatever is there.
const maxAttempts = 3

// Remove implements [workspace.Workspace]. The removal is recorded with what the file held.
func (r *Recorder) Remove(ctx context.Context, path string, ifVersion workspace.Version) error {
	at, err := workspace.LocateIn(r.workspace, path)
	if err != nil {
		return r.workspace.Remove(ctx, path, ifVersion)
	}
	unlock, err := r.lock(ctx, "remove", path)
	if err != nil {
		return err
	}
	defer unlock()
	file := at.Path // a link is removed itself
	if dir := r.style.Parent(at.Path); dir != at.Path {
		file = r.style.Join(workspace.Follow(ctx, r.workspace, dir), strings.TrimLeft(at.Path[len(dir):], `/\`))
	}
	before, version := r.before(ctx, file, ifVersion)
	if version == "" {
		version = ifVersion
	}
	r.intend(file, before, found{absent: true})
	err = r.workspace.Remove(ctx, path, version)
	if ifVersion == workspace.AnyVersion && version != ifVersion && errors.Is(err, workspace.ErrChanged) {
		// It is a link, which has no version, or it has just changed.
		before = found{why: "it was a symbolic link, or changed while it was removed"}
		err = r.workspace.Remove(ctx, path, ifVersion)
	}
	r.settle(err)
	if err == nil || !refused(err) {
		r.record(file, before, found{absent: true}, err != nil)
	}
	return err
}

// found is the known state of a file at one time.
type found struct {
	data   []byte
	absent bool
	// uncertain is set if the file is empty or missing, and the editor does not say which.
	uncertain bool
	// why says why nothing is known.
	why string
}

func known(data []byte) found { return found{data: data} }

func read(f *workspace.File) found { return found{data: f.Data, uncertain: f.Uncertain} }

// before returns what a file holds that is about to be changed, and the version to change it with.
func (r *Recorder) before(ctx context.Context, path string, ifVersion workspace.Version) (found, workspace.Version) {
	switch {
	case ifVersion == "":
		return found{absent: true}, ifVersion
	case !r.workspace.Features().Read:
		return found{why: "this workspace cannot read files"}, ifVersion
	}
	if ifVersion != workspace.AnyVersion {
		r.mu.Lock()
		content, ok := r.recent.get(r.style.Fold(path), ifVersion)
		r.mu.Unlock()
		if ok {
			return content, ifVersion
		}
	}
	f, err := r.workspace.Read(ctx, path, workspace.Range{})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return found{absent: true}, use(ifVersion, "")
	case errors.Is(err, workspace.ErrTooLarge):
		return found{why: "it was too large to keep"}, ifVersion
	case err != nil:
		return found{why: "it could not be read"}, ifVersion
	case f.Version == "":
		return read(&f), ifVersion
	}
	return read(&f), use(ifVersion, f.Version)
}

// use returns the version that was read instead of AnyVersion.
func use(ifVersion, read workspace.Version) workspace.Version {
	if ifVersion == workspace.AnyVersion {
		return read
	}
	return ifVersion
}

// refused reports whether an error of a write means that nothing was written. After others, such as
// a lost connection, it is unknown.
func refused(err error) bool {
	for _, known := range []error{
		workspace.ErrChanged, workspace.ErrPath, workspace.ErrOutside, workspace.ErrIsDirectory, workspace.ErrNotDirectory, workspace.ErrNotRegular,
		workspace.ErrTooLarge, workspace.ErrBinary, fs.ErrNotExist, fs.ErrPermission, errors.ErrUnsupported,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// intend keeps a change that is about to be made, in recorders of [Keep]: a process that is killed
// in the middle of it leaves word of it. settle follows.
func (r *Recorder) intend(path string, before, after found) {
	if r.keeper == nil {
		return
	}
	defer r.save()
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.change(path, before, after, true)
	if c.kept = r.contents.fits(c.Before, c.After); c.kept {
		r.contents.add(c.Before, before.data)
		r.contents.add(c.After, after.data)
	}
	r.pending = &c
}

// settle forgets what was intended. A change that was made is recorded next.
func (r *Recorder) settle(err error) {
	r.mu.Lock()
	c := r.pending
	if r.pending = nil; c != nil {
		r.contents.releaseChange(c)
	}
	r.mu.Unlock()
	if c != nil && err != nil && refused(err) {
		r.save()
	}
}

// change returns a change as it is recorded. The recorder is locked.
func (r *Recorder) change(path string, before, after found, unsure bool) Change {
	if len(r.log.Checkpoints) == 0 {
		r.log.add("", "", false)
	}
	return Change{
		Checkpoint: r.log.last(), Path: path, Before: stateOf(before), After: stateOf(after), Unsure: unsure,
	}
}

// remember keeps what was written, because the next write is often to the same file.
func (r *Recorder) remember(path string, version workspace.Version, content found) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recent.put(r.style.Fold(path), version, content)
}

// record adds a change to the log. Changes of one file that follow each other since one
// checkpoint become one.
func (r *Recorder) record(path string, before, after found, unsure bool) {
	defer r.save()
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.change(path, before, after, unsure)
	last := r.log.lastOf(r.style, path, c.Checkpoint)
	if last != nil && !last.Unsure && !unsure && last.After.same(c.Before) {
		switch {
		case !last.kept:
		case r.contents.fits(last.Before, c.After):
			r.contents.add(c.After, after.data)
			r.contents.release(last.After)
		default:
			r.contents.releaseChange(last)
		}
		last.After = c.After
	} else {
		if c.kept = r.contents.fits(c.Before, c.After); c.kept {
			r.contents.add(c.Before, before.data)
			r.contents.add(c.After, after.data)
		}
		r.log.Changes = append(r.log.Changes, c)
	}
	r.bound()
}

// bound drops what is too old to be kept.
func (r *Recorder) bound() {
	if extra := len(r.log.Changes) - r.options.MaxChanges; extra > 0 {
		r.drop(extra)
	}
	if extra := len(r.log.Checkpoints) - r.options.MaxChanges; extra > 0 {
		oldest := r.log.Checkpoints[extra].ID
		n := 0
		for n < len(r.log.Changes) && r.log.Changes[n].Checkpoint < oldest {
			n++
		}
		r.drop(n)
		r.log.Checkpoints = append([]Checkpoint(nil), r.log.Checkpoints[extra:]...)
	}
	for i := 0; r.contents.size > r.contents.max && i < len(r.log.Changes); i++ {
		r.contents.releaseChange(&r.log.Changes[i])
	}
}

// drop forgets the oldest changes, but not that there were some.
func (r *Recorder) drop(n int) {
	if n <= 0 {
		return
	}
	for i := range n {
		r.contents.releaseChange(&r.log.Changes[i])
	}
	r.log.Dropped.Through = r.log.Changes[n-1].Checkpoint
	r.log.Dropped.Changes += n
	r.log.Changes = append([]Change(nil), r.log.Changes[n:]...)
}
