// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
)

type featured struct {
	Workspace
	features Features
}

func (f featured) Features() Features { return f.features }

// A run has the tools that its workspace can do, and instructions if there are any.
func TestRunsHaveTheToolsOfTheirWorkspace(t *testing.T) {
	memory, err := NewMemory(MemoryConfig{})
	require.NoError(t, err)
	open := func(s *Session) toolset.Listing[*Session] {
		in, err := Tools(func(s *Session) *Session { return s }).Open(t.Context(), &toolset.RunContext[*Session]{Deps: s})
		require.NoError(t, err)
		l, err := in.Tools(t.Context(), nil)
		require.NoError(t, err)
		return l
	}
	require.Empty(t, open(nil))
	for _, c := range []struct {
		features Features
		want     string
	}{
		{Features{}, ""}, {Features{Read: true}, "read_file "}, {Features{Write: true}, "write_file "}, {Features{Remove: true}, ""}, {Features{Walk: true}, "list_files "}, {Features{Commands: true}, "run_command get_terminal_output wait_for_terminal_exit kill_terminal release_terminal "}, {Features{Read: true, Write: true}, "read_file write_file edit_file "}, {Features{Read: true, Remove: true}, "read_file "}, {Features{Read: true, Walk: true}, "read_file list_files search_files "}, {Features{Read: true, Write: true, Remove: true, Walk: true, Commands: true}, "read_file write_file edit_file list_files search_files run_command get_terminal_output wait_for_terminal_exit kill_terminal release_terminal "},
	} {
		for _, unsaved := range []bool{false, true} {
			c.features.Unsaved = unsaved
			l := open(NewSession(featured{memory, c.features}))
			var names string
			for _, tool := range l.Tools {
				names += tool.Def.Name + " "
			}
			want := ""
			if len(l.Tools) > 0 {
				want = instructions(memory)
			}
			if unsaved {
				want += " Files are read from the user's editor, including unsaved changes."
			}
			require.Equal(t, c.want, names, "%+v", c.features)
			require.Equal(t, want, l.Instructions)
		}
	}
	_, err = Tools(func(s *Session) *Session { return s }).Open(t.Context(), &toolset.RunContext[*Session]{Deps: NewSession(nil)})
	require.ErrorIs(t, err, errNoWorkspace)
	_, err = Tools[*Session](nil).Open(t.Context(), nil)
	require.EqualError(t, err, "workspace: Tools: the function is nil")
}

type followed struct {
	Workspace
	err error
}

func (f followed) Follow(_ context.Context, path string) (string, error) {
	return path + " followed", f.err
}

// Links are followed by the workspace, but for names with steps up: what they mean depends on links.
func TestNamesAreFollowed(t *testing.T) {
	memory, err := NewMemory(MemoryConfig{})
	require.NoError(t, err)
	ctx := t.Context()
	for name, want := range map[string]string{"a": "/project/a followed", "/project/a": "/project/a followed", "a/../b": "a/../b", "../a": "../a", "": ""} {
		require.Equal(t, want, (&call{ws: followed{memory, nil}}).follow(ctx, name), name)
		require.Equal(t, name, (&call{ws: featured{memory, Features{}}}).follow(ctx, name), name)
	}
	require.Equal(t, "a", (&call{ws: followed{memory, errors.New("because")}}).follow(ctx, "a"))
}
