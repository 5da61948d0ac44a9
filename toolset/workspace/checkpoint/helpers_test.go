// SPDX-License-Identifier: Apache-2.0

package checkpoint_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

type files = map[string]string

// bench is a recorder in front of a workspace in memory, which the user changes behind its back.
type bench struct {
	*checkpoint.Recorder
	t    *testing.T
	disk *workspace.MemoryDisk
	ws   *workspace.Memory
}

func newBench(t *testing.T, f files, o checkpoint.Options) *bench {
	t.Helper()
	ws, err := workspace.NewMemory(workspace.MemoryConfig{Files: f, Commands: map[string]workspace.MemoryScript{"make": workspace.MemoryPrint("", 0)}})
	require.NoError(t, err)
	return &bench{checkpoint.New(ws, o), t, ws.Disk(), ws}
}

// agent writes a file through the recorder, as the tools do: after reading it.
func (b *bench) agent(name, text string) {
	b.t.Helper()
	b.write(b.Recorder, name, text)
}

func (b *bench) write(w workspace.Workspace, name, text string) {
	b.t.Helper()
	version := workspace.Version("")
	if f, err := w.Read(b.t.Context(), name, workspace.Range{}); err == nil {
		version = f.Version
	}
	_, err := w.Write(b.t.Context(), name, []byte(text), version)
	require.NoError(b.t, err)
}

// user writes a file behind the recorder's back.
func (b *bench) user(name, text string) {
	b.t.Helper()
	require.NoError(b.t, b.disk.WriteFile("/project/"+name, []byte(text), 0o644))
}

func (b *bench) userRemoves(name string) {
	b.t.Helper()
	require.NoError(b.t, b.disk.Remove("/project/"+name))
}

// userRemovesAny removes a file that may be there.
func (b *bench) userRemovesAny(name string) { _ = b.disk.Remove("/project/" + name) }

// all returns what files hold; "-" is no file.
func (b *bench) all(names ...string) map[string]string {
	held := map[string]string{}
	for _, name := range names {
		held[name] = "-"
		if data, err := b.disk.ReadFile("/project/" + name); err == nil {
			held[name] = string(data)
		}
	}
	return held
}

// holds checks what a file holds; "-" is no file.
func (b *bench) holds(name, want string) {
	b.t.Helper()
	data, err := b.disk.ReadFile("/project/" + name)
	if want == "-" {
		require.Error(b.t, err, name)
		return
	}
	require.NoError(b.t, err, name)
	require.Equal(b.t, want, string(data), name)
}

func (b *bench) undo(s checkpoint.Span) *checkpoint.Result {
	b.t.Helper()
	res, err := b.Undo(b.t.Context(), s)
	require.NoError(b.t, err)
	return res
}

// undoFails undoes what cannot be undone as a whole.
func (b *bench) undoFails(s checkpoint.Span) (*checkpoint.Result, *checkpoint.IncompleteError) {
	b.t.Helper()
	res, err := b.Undo(b.t.Context(), s)
	incomplete, ok := errors.AsType[*checkpoint.IncompleteError](err)
	require.True(b.t, ok, "%v", err)
	require.Same(b.t, res, incomplete.Result)
	return res, incomplete
}

func (b *bench) changes(s checkpoint.Span) *checkpoint.Changes {
	b.t.Helper()
	c, err := b.Changes(s)
	require.NoError(b.t, err)
	return c
}

func names(files []checkpoint.FileChange) []string {
	var list []string
	for _, f := range files {
		list = append(list, string(f.Kind)+" "+f.Name)
	}
	return list
}

// limited is a workspace without some features.
type limited struct {
	workspace.Workspace
	features workspace.Features
}

func (w limited) Features() workspace.Features { return w.features }

func (w limited) Remove(ctx context.Context, path string, v workspace.Version) error {
	if !w.features.Remove {
		return &workspace.PathError{Op: "remove", Path: path, Err: errors.ErrUnsupported}
	}
	return w.Workspace.Remove(ctx, path, v)
}

func (w limited) Read(ctx context.Context, path string, r workspace.Range) (workspace.File, error) {
	if !w.features.Read {
		return workspace.File{}, &workspace.PathError{Op: "read", Path: path, Err: errors.ErrUnsupported}
	}
	return w.Workspace.Read(ctx, path, r)
}

// countingReads counts the reads of a workspace.
type countingReads struct {
	workspace.Workspace
	reads int
}

func (w *countingReads) Read(ctx context.Context, path string, r workspace.Range) (workspace.File, error) {
	w.reads++
	return w.Workspace.Read(ctx, path, r)
}
