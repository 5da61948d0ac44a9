// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// scripted is a workspace in memory that notes the calls it gets, and spoils one of them.
type scripted struct {
	workspace.Workspace
	calls    []string
	versions map[workspace.Version]string
	spoil    int // the call that is spoiled, counted from 1
	how      string
}

// how a call may be spoiled: by an error before it is made, or by what others do before it.
var spoilt = map[string]error{
	"changed": workspace.ErrChanged, "on fire": errors.New("on fire"), "lost": workspace.ErrLost, "missing": fs.ErrNotExist, "too large": workspace.ErrTooLarge, "denied": fs.ErrPermission,
	"done, then on fire": errors.New("on fire"), "no version": nil, "others wrote": nil,
}

// note notes a call, and returns the error that it ends with.
func (s *scripted) note(format string, args ...any) (how string, err error) {
	s.calls = append(s.calls, fmt.Sprintf(format, args...))
	if len(s.calls) != s.spoil {
		return "", nil
	}
	if s.how == "others wrote" {
		_, _ = s.Workspace.Write(context.Background(), "a", []byte("others\n"), workspace.AnyVersion)
	}
	return s.how, spoilt[s.how]
}

// version names versions by the order in which they are seen.
func (s *scripted) version(v workspace.Version) string {
	if v == "" || v == workspace.AnyVersion {
		return map[workspace.Version]string{"": "none", workspace.AnyVersion: "any"}[v]
	}
	if s.versions[v] == "" {
		s.versions[v] = fmt.Sprint("v", len(s.versions)+1)
	}
	return s.versions[v]
}

func (s *scripted) Read(ctx context.Context, path string, r workspace.Range) (workspace.File, error) {
	how, err := s.note("read %s%s", path, strings.TrimSuffix(fmt.Sprintf(" %+v", r), " {Line:0 Lines:0 Offset:0 Limit:0 Buf:[] Saved:false}"))
	if err != nil {
		return workspace.File{}, &workspace.PathError{Op: "read", Path: path, Err: err}
	}
	f, err := s.Workspace.Read(ctx, path, r)
	if how == "no version" {
		f.Version = ""
	}
	return f, err
}

func (s *scripted) Write(ctx context.Context, path string, data []byte, v workspace.Version) (workspace.Version, error) {
	how, err := s.note("write %s %q if %s", path, data, s.version(v))
	if err != nil && !strings.HasPrefix(how, "done") {
		return "", &workspace.PathError{Op: "write", Path: path, Err: err}
	}
	got, failed := s.Workspace.Write(ctx, path, data, v)
	return got, errors.Join(err, failed)
}

func (s *scripted) Remove(ctx context.Context, path string, v workspace.Version) error {
	how, err := s.note("remove %s if %s", path, s.version(v))
	if err != nil && !strings.HasPrefix(how, "done") {
		return &workspace.PathError{Op: "remove", Path: path, Err: err}
	}
	return errors.Join(err, s.Workspace.Remove(ctx, path, v))
}

func (s *scripted) Stat(ctx context.Context, path string) (workspace.Info, error) {
	how, err := s.note("stat %s", path)
	if err != nil {
		return workspace.Info{}, &workspace.PathError{Op: "stat", Path: path, Err: err}
	}
	info, err := s.Workspace.Stat(ctx, path)
	if how == "no version" {
		info.Version = ""
	}
	return info, err
}

// Each call that a recorder makes for a change, an undo and a look is recorded, with what is known
// afterwards: when all goes well, and when each of the calls is spoiled in each way.
func TestEveryCallOfRecordersIsRecorded(t *testing.T) {
	type act = func(ctx context.Context, r *Recorder) error
	write := func(path, text string, v func(context.Context, *Recorder) workspace.Version) act {
		return func(ctx context.Context, r *Recorder) error {
			_, err := r.Write(ctx, path, []byte(text), v(ctx, r))
			return err
		}
	}
	fixed := func(v workspace.Version) func(context.Context, *Recorder) workspace.Version {
		return func(context.Context, *Recorder) workspace.Version { return v }
	}
	read := func(ctx context.Context, r *Recorder) workspace.Version {
		f, _ := r.Read(ctx, "a", workspace.Range{})
		return f.Version
	}
	behind := func(ctx context.Context, r *Recorder) workspace.Version { // the recorder has not seen it
		f, _ := r.workspace.(*scripted).Workspace.Read(ctx, "a", workspace.Range{})
		return f.Version
	}
	open := func(quick bool) act {
		return func(ctx context.Context, r *Recorder) error {
			d, err := r.Open(ctx, "a", quick)
			if err == nil {
				r.workspace.(*scripted).calls = append(r.workspace.(*scripted).calls, fmt.Sprintf("opened %s %q, unread %t", d.Path, d.Current().Data, d.Unread))
			}
			return err
		}
	}
	undo := func(ctx context.Context, r *Recorder) error {
		res, err := r.Undo(ctx, Span{From: 1})
		if res != nil {
			for _, f := range res.Files {
				r.workspace.(*scripted).calls = append(r.workspace.(*scripted).calls, fmt.Sprintf("undone %s %s %q -> %q, %q, done %t, %v", f.Name, f.Action, f.Old, f.New, f.Reason, f.Done, f.Err))
			}
		}
		return err
	}
	steps := []struct {
		name string
		acts []act
	}{
		{"write any", []act{write("a", "two\n", fixed(workspace.AnyVersion))}},
		{"write what was read", []act{write("a", "two\n", read), write("a", "three\n", read)}},
		{"write what others read", []act{write("a", "two\n", behind)}},
		{"write a new file", []act{write("new", "one\n", fixed("")), write("new", "two\n", fixed(workspace.AnyVersion))}},
		{"write twice", []act{write("a", "two\n", fixed(workspace.AnyVersion)), write("a", "three\n", fixed(workspace.AnyVersion))}},
		{"write an old version", []act{write("a", "two\n", fixed("v0"))}},
		{"remove any", []act{func(ctx context.Context, r *Recorder) error { return r.Remove(ctx, "a", workspace.AnyVersion) }}},
		{"remove what was read", []act{func(ctx context.Context, r *Recorder) error { return r.Remove(ctx, "a", read(ctx, r)) }}},
		{"remove nothing", []act{func(ctx context.Context, r *Recorder) error { return r.Remove(ctx, "none", workspace.AnyVersion) }}},
		{"open", []act{open(false), open(true)}},
		{"open quickly", []act{open(true), open(true)}},
		{"undo a write", []act{write("a", "two\n", fixed(workspace.AnyVersion)), undo}},
		{"undo a new file", []act{write("new", "one\n", fixed("")), undo}},
		{"undo a removal", []act{func(ctx context.Context, r *Recorder) error { return r.Remove(ctx, "a", workspace.AnyVersion) }, undo, undo}},
	}
	var b strings.Builder
	for _, step := range steps {
		run := func(spoil int, how string) (calls int, text string) {
			w, err := workspace.NewMemory(workspace.MemoryConfig{Files: map[string]string{"a": "one\n"}})
			require.NoError(t, err)
			s := &scripted{Workspace: w, versions: map[workspace.Version]string{}, spoil: spoil, how: how}
			r := New(s, Options{})
			var out strings.Builder
			for _, act := range step.acts {
				err := act(t.Context(), r)
				s.calls = append(s.calls, fmt.Sprintf("ended: %v", err))
			}
			for _, c := range s.calls {
				fmt.Fprintf(&out, "  %s\n", c)
			}
			for _, c := range r.Log().Changes {
				before, _ := r.Content(c.Before.Hash)
				after, _ := r.Content(c.After.Hash)
				fmt.Fprintf(&out, "  changed %d %s: %s %q, now %s %q, unsure %t\n", c.Checkpoint, c.Path, c.Before, before, c.After, after, c.Unsure)
			}
			for _, f := range r.recent.files {
				fmt.Fprintf(&out, "  remembers %s %s: %q\n", f.path, s.version(f.version), f.content.data)
			}
			return len(s.calls), out.String()
		}
		calls, well := run(0, "")
		fmt.Fprintf(&b, "# %s\n%s", step.name, well)
		for n := 1; n <= calls; n++ {
			for _, how := range []string{"changed", "on fire", "lost", "missing", "too large", "denied", "done, then on fire", "no version", "others wrote"} {
				if _, text := run(n, how); text != well {
					fmt.Fprintf(&b, "# %s, call %d: %s\n%s", step.name, n, how, text)
				}
			}
		}
	}
	const name = "testdata/calls.txt"
	if flag.Lookup("update").Value.String() == "true" {
		require.NoError(t, os.WriteFile(name, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(name)
	require.NoError(t, err)
	wantLines, gotLines := strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")
	for i := range min(len(wantLines), len(gotLines)) {
		require.Equal(t, wantLines[i], gotLines[i], "line %d", i+1)
	}
	require.Len(t, gotLines, len(wantLines))
}
