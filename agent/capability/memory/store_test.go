// SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/capability/memory"
	"github.com/ponte-go/ponte/toolset/workspace"
)

func note(t *testing.T, s memory.Store, name string) memory.Note {
	t.Helper()
	all, err := s.All(t.Context())
	require.NoError(t, err)
	for _, n := range all {
		if n.Name == name {
			return n
		}
	}
	require.Fail(t, "no note "+name)
	return memory.Note{}
}

// A version holds for one text: whoever has an older one must not overwrite or remove what somebody else has written.
func TestVersionOfANoteChangesWithItsText(t *testing.T) {
	for name, s := range map[string]memory.Store{"map": new(memory.Map), "files": memory.Files(newDisk(t, nil), "n")} {
		t.Run(name, func(t *testing.T) {
			seen := map[string]bool{"": true}
			for _, text := range []string{"one", "two", "three"} {
				version := ""
				if text != "one" {
					version = note(t, s, "a").Version
				}
				require.NoError(t, s.Put(t.Context(), "a", text, version))
				got := note(t, s, "a")
				require.Equal(t, text, got.Text)
				require.False(t, seen[got.Version], "a new version")
				require.ErrorIs(t, s.Put(t.Context(), "a", "x", version), memory.ErrChanged)
				require.ErrorIs(t, s.Remove(t.Context(), "a", version), memory.ErrChanged)
				require.Equal(t, text, note(t, s, "a").Text)
				seen[got.Version] = true
			}
			old := note(t, s, "a").Version
			require.NoError(t, s.Put(t.Context(), "b", "other", ""))
			require.NotEqual(t, old, note(t, s, "b").Version)
			require.NoError(t, s.Remove(t.Context(), "a", old))
			require.ErrorIs(t, s.Remove(t.Context(), "a", old), memory.ErrChanged)
			require.ErrorIs(t, s.Put(t.Context(), "a", "x", old), memory.ErrChanged, "it is no longer there")
			require.NoError(t, s.Put(t.Context(), "a", "again", ""))
			all, err := s.All(t.Context())
			require.NoError(t, err)
			require.Equal(t, []string{"a", "b"}, []string{all[0].Name, all[1].Name}, "sorted by name")
		})
	}
}

func TestNamesOfNotesAreBoundedExactly(t *testing.T) {
	for name, valid := range map[string]bool{
		strings.Repeat("a", 64): true, strings.Repeat("a", 65): false, "azAZ09": true, "a-b_c.d e": true, "-": true, "_": true,
		"a`b": false, "a{b": false, "a@b": false, "a[b": false, "a/b": false, "a:b": false, "a.": false, "a ": false, ".a": false, " a": false,
	} {
		for kind, s := range map[string]memory.Store{"map": new(memory.Map), "files": memory.Files(newDisk(t, nil), "n")} {
			require.Equal(t, valid, s.Put(t.Context(), name, "x", "") == nil, "%s %q", kind, name)
		}
	}
}

// unreadable is a workspace that fails at some paths.
type unreadable struct {
	workspace.Workspace
	fail map[string]error
}

func (u *unreadable) err(op, path string) error {
	if err := u.fail[op+" "+path]; err != nil {
		return &workspace.PathError{Op: op, Path: path, Err: err}
	}
	return nil
}

func (u *unreadable) Read(ctx context.Context, path string, r workspace.Range) (workspace.File, error) {
	if err := u.err("read", path); err != nil {
		return workspace.File{}, err
	}
	return u.Workspace.Read(ctx, path, r)
}

func (u *unreadable) Write(ctx context.Context, path string, data []byte, v workspace.Version) (workspace.Version, error) {
	if err := u.err("write", path); err != nil {
		return "", err
	}
	return u.Workspace.Write(ctx, path, data, v)
}

func (u *unreadable) Remove(ctx context.Context, path string, v workspace.Version) error {
	if err := u.err("remove", path); err != nil {
		return err
	}
	return u.Workspace.Remove(ctx, path, v)
}

func TestErrorsOfFilesAreTold(t *testing.T) {
	boom := errors.New("boom")
	ws := newDisk(t, map[string]string{"n/a.md": "a", "n/b.md": "b", "file.md": "x"})
	s := memory.Files(&unreadable{ws, map[string]error{"read n/a.md": boom, "write n/c.md": boom, "remove n/b.md": boom, "write n/d.md": fs.ErrNotExist}}, "n")
	all, err := s.All(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1, "one that cannot be read is left out")
	require.Equal(t, "b", all[0].Name)
	err = s.Put(t.Context(), "c", "x", "")
	require.ErrorIs(t, err, boom)
	require.ErrorContains(t, err, `memory: write "c"`)
	require.ErrorIs(t, s.Put(t.Context(), "d", "x", ""), memory.ErrChanged)
	err = s.Remove(t.Context(), "b", all[0].Version)
	require.ErrorIs(t, err, boom)
	require.ErrorContains(t, err, `memory: remove "b"`)

	s = memory.Files(&unreadable{ws, map[string]error{"read n/b.md": workspace.ErrLost}}, "n")
	_, err = s.All(t.Context())
	require.ErrorIs(t, err, workspace.ErrLost, "a workspace that is lost has not just no notes")
	s = memory.Files(ws, "../outside")
	_, err = s.All(t.Context())
	require.ErrorContains(t, err, `memory: list "../outside"`)
	require.Error(t, s.Put(t.Context(), "a", "x", ""))
	all, err = memory.Files(ws, "missing").All(t.Context())
	require.NoError(t, err)
	require.Empty(t, all, "a directory that is made with the first note")
}

func TestLongNotesAreCutAtACharacter(t *testing.T) {
	for i := range 12 {
		text := "xxx"[:i%4] + strings.Repeat([]string{"é", "日", "😀"}[i/4], memory.MaxRead/2+10)
		got := note(t, memory.Files(newDisk(t, map[string]string{"a.md": text}), "."), "a")
		require.True(t, got.Cut)
		require.True(t, strings.HasPrefix(text, got.Text))
		require.Greater(t, len(got.Text), memory.MaxRead-4)
		require.LessOrEqual(t, len(got.Text), memory.MaxRead)
		require.NotEmpty(t, got.Version)
	}
	exact := strings.Repeat("x", memory.MaxRead)
	require.False(t, note(t, memory.Files(newDisk(t, map[string]string{"a.md": exact}), "."), "a").Cut)
	all, err := memory.Files(newDisk(t, map[string]string{"a.md": "a\xff" + exact}), ".").All(t.Context())
	require.NoError(t, err)
	require.Empty(t, all, "no text")
}

func TestSearchShowsTheBestNotesFirst(t *testing.T) {
	s := new(memory.Map)
	put := func(name, text string) { require.NoError(t, s.Put(t.Context(), name, text, "")) }
	put("a", "tea once")
	put("b", "tea tea tea")
	put("c", "coffee and tea")
	put("tea", "named")
	put("green tea", "named in part")
	put("none", "water")
	_, told := run(t, memory.Options{}, s, nil, search("TEA"), search("coffee tea"), search(" tea "))
	var order []string
	for line := range strings.Lines(told[0]) {
		if name, ok := strings.CutPrefix(line, "# Note "); ok {
			order = append(order, strings.TrimSpace(name))
		}
	}
	require.Equal(t, []string{"tea", "green tea", "b", "a", "c"}, order)
	require.True(t, strings.HasPrefix(told[1], "# Note c\n"), "all words fit")
	require.True(t, strings.HasPrefix(told[2], "# Note tea\n"))
	require.NotContains(t, fmt.Sprint(told), "water")
}
