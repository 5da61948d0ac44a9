// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// TestMischief lets each use of a file fail in turn, alone and with all that follow, while an edit of
// a server makes, moves, changes and removes files. It compares what models are told and what the
// files are then: those from before, or it is said.
func TestMischief(t *testing.T) {
	move := `{"kind":"rename","oldUri":"ROOT/dir","newUri":"ROOT/moved"}`
	edit := `{"textDocument":{"uri":"ROOT/a.toy"},"edits":[{"range":` + where(0, 4, 7) + `,"newText":"walk"}]}`
	steps := []string{
		move, edit, `{"kind":"create","uri":"ROOT/new.toy"}`, `{"kind":"delete","uri":"ROOT/old","options":{"recursive":true}}`, `{"kind":"delete","uri":"ROOT/b.toy"}`,
	}
	rename := []string{"textDocument/rename", `"result":{"documentChanges":[` + strings.Join(steps, ",") + `]}`}
	before := map[string]string{"a.toy": "def run\n", "b.toy": "b\n", "dir/x.toy": "x\n", "dir/y.toy": "y\n", "old/z.toy": "z\n"}
	after := map[string]string{"a.toy": "def walk\n", "moved/x.toy": "x\n", "moved/y.toy": "y\n", "new.toy": ""}
	var told strings.Builder
	try := func(n int, all, approved bool, because error) (uses int) {
		bubble(t, func(t *testing.T) {
			d := newDesk(t, "gopls", Options{Budget: -1}, before)
			_ = d.call("find_symbols", `{"path":"a.toy"}`)
			d.w.uses()
			var failed string
			d.w.fails = func(use string) error {
				if uses++; uses == n || all && uses > n && n > 0 {
					if failed == "" {
						failed = use
					}
					return because
				}
				return nil
			}
			d.approved = approved
			text := d.call("rename_symbol", `{"symbol":"run","path":"a.toy","line":1,"new_name":"walk"}`, rename...)
			d.w.fails = nil
			files := d.files()
			if n > 0 && strings.HasPrefix(text, "Rename") {
				text = "done"
			}
			fmt.Fprintf(&told, "%s: %s\n", failed, text)
			if strings.Contains(text, "Nothing was changed") {
				require.Equal(t, before, files, text)
			}
			if !maps.Equal(files, before) && !maps.Equal(files, after) {
				fmt.Fprintf(&told, "  %q\n", files)
			}
		})
		return uses
	}
	because := errors.New("because")
	denied := &workspace.PathError{Op: "use", Path: "it", Err: fs.ErrPermission}
	for n := range try(0, false, true, nil) {
		try(n+1, false, true, because)
		try(n+1, true, true, because)
		try(n+1, false, true, denied)
		try(n+1, false, true, workspace.ErrLost) // which ends the run
	}
	told.WriteString("\nWith a question:\n")
	for n := range try(0, false, false, nil) {
		try(n+1, false, false, because)
		try(n+1, true, false, because)
	}
	golden(t, "mischief.txt", told.String())
}

// files are the files of the project.
func (d *disk) files(t *testing.T) map[string]string {
	all := map[string]string{}
	for info, err := range d.Workspace.Walk(t.Context(), "/project", workspace.WalkOptions{}) {
		require.NoError(t, err)
		if info.Mode.IsRegular() {
			f, err := d.Workspace.Read(t.Context(), info.Path, workspace.Range{})
			require.NoError(t, err)
			all[strings.TrimPrefix(info.Path, "/project/")] = string(f.Data)
		}
	}
	return all
}

func (d *desk) files() map[string]string { return d.w.files(d.t) }
