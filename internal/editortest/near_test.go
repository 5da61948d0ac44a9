// SPDX-License-Identifier: Apache-2.0

package editortest_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/internal/editortest"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

// recorded is a disk that notes what is done to it, and may do something else.
type recorded struct {
	workspacetest.Disk
	who   string
	notes *[]string
	// write makes other contents of what is written, or fails.
	write func(data []byte) ([]byte, error)
}

func (d *recorded) note(format string, args ...any) {
	*d.notes = append(*d.notes, d.who+" "+fmt.Sprintf(format, args...))
}

func (d *recorded) WriteFile(path string, data []byte, mode fs.FileMode) error {
	d.note("writes %s %v: %q", filepath.Base(path), mode, editortest.Short(string(data)))
	if d.write != nil {
		other, err := d.write(data)
		if err != nil {
			return err
		}
		data = other
	}
	return d.Disk.WriteFile(path, data, mode)
}

func (d *recorded) Remove(path string) error {
	d.note("removes %s", filepath.Base(path))
	return d.Disk.Remove(path)
}

// nearness is an editor on this machine, with its workspace, and what was done.
type nearness struct {
	t        *testing.T
	dir      string // with a directory for each environment
	notes    []string
	mischief func(f *far, env *workspacetest.Env)
	saving   func(data []byte) ([]byte, error)
	commands bool
}

func (n *nearness) env(e *editortest.Editor) (*workspacetest.Env, error) {
	root, err := os.MkdirTemp(n.dir, "p")
	if err != nil {
		return nil, err
	}
	n.notes = nil
	e.Disk = &recorded{Disk: workspacetest.OSDisk{}, who: "the editor", notes: &n.notes, write: n.saving}
	can := acp.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}
	c := &client{acptest.New(acptest.Options{Capabilities: &acp.ClientCapabilities{FS: can}}), e}
	d := c.Deps(root)
	d.Client = c
	w, err := acpbridge.NewWorkspace(d, acpbridge.LocalFallback{Commands: n.commands})
	if err != nil {
		return nil, err
	}
	f := &far{Workspace: w, disk: workspacetest.OSDisk{}}
	env := &workspacetest.Env{
		Workspace: f, Disk: &recorded{Disk: workspacetest.OSDisk{}, who: "somebody", notes: &n.notes}, Outside: root + "-outside",
		Close: func() {
			_ = w.Close()
			c.Close()
		},
	}
	if n.mischief != nil {
		n.mischief(f, env)
	}
	return env, nil
}

func newNearness(t *testing.T) *nearness {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return &nearness{t: t, dir: dir}
}

// savings are what may become of what editors save.
var savings = []struct {
	name string
	do   func(data []byte) ([]byte, error)
}{
	{"the disk takes nothing", func([]byte) ([]byte, error) { return nil, errors.New("no space left") }},
	{"the disk has a byte more", func(data []byte) ([]byte, error) { return append(slices.Clone(data), '!'), nil }},
	{"the disk has nothing", func([]byte) ([]byte, error) { return nil, nil }},
	{"the disk has blanks removed", func(data []byte) ([]byte, error) {
		return []byte(strings.ReplaceAll(string(data), "  \n", "\n")), nil
	}},
}

// forEditors calls f for some editors by their names.
func forEditors(names []string, f func(i int, e *editortest.Editor)) {
	for i, e := range editortest.Editors() {
		if slices.Contains(names, e.Name) {
			f(i, e)
		}
	}
}

// TestMischiefNearbyIsFound has what the law of files says of editors on this machine: of what workspaces do wrong,
// and of what becomes of what is saved.
func TestMischiefNearbyIsFound(t *testing.T) {
	kinds := []string{
		"plain", "CRLF", "Latin-1", "UTF-16", "binary", "empty", "missing", "created by the agent", "long lines", "changed on disk", "unsaved in the editor",
		"typed while the question is open", "deleted while the question is open",
	}
	var b strings.Builder
	forEditors([]string{"faithful", "does not save", "formats when it saves"}, func(i int, e *editortest.Editor) {
		n := newNearness(t)
		look := func(name string, kinds []string) {
			found := findings(kinds, func(kind, what string) error {
				return editortest.TruthIn(t.Context(), editortest.Editors()[i], kind, what, n.env)
			})
			if name == "" {
				require.Empty(t, found, e.Name)
			}
			fmt.Fprintf(&b, "%s: %s\n%s", e.Name, name, strings.ReplaceAll(found, n.dir, "DIR"))
		}
		look("", slices.DeleteFunc(editortest.Kinds(), func(kind string) bool { return kind == "large" }))
		some := kinds
		if e.Name != "faithful" {
			some = []string{"plain", "missing", "unsaved in the editor", "created by the agent"}
		}
		for _, s := range savings {
			n.saving = s.do
			look(s.name, some)
		}
		n.saving = nil
		for _, m := range mischiefs {
			n.mischief = m.do
			look(m.name, some)
		}
	})
	golden(t, "near", workspaceNames.ReplaceAllString(b.String(), "DIR"))
}

// TestSessionsInEditorsDo has what random sessions do in editors, and what is said when something is wrong.
func TestSessionsInEditorsDo(t *testing.T) {
	var b strings.Builder
	n := newNearness(t)
	n.commands = true
	forEditors([]string{"faithful", "has line feeds", "formats when it saves", "does not save", "Zed", "agent-shell"}, func(i int, e *editortest.Editor) {
		for seed := range uint64(6) {
			e := editortest.Editors()[i]
			err := editortest.RunSession(t.Context(), seed, e, n.env)
			require.NoError(t, err, "%s: seed %d", e.Name, seed)
			fmt.Fprintf(&b, "# %s, seed %d\n%s\n", e.Name, seed, strings.Join(n.notes, "\n"))
		}
	})
	forEditors([]string{"faithful", "does not save", "formats when it saves"}, func(i int, e *editortest.Editor) {
		seeds := uint64(4)
		if e.Name != "faithful" {
			seeds = 2
		}
		said := func(name string) {
			for seed := range seeds {
				if err := editortest.RunSession(t.Context(), seed, editortest.Editors()[i], n.env); err != nil {
					fmt.Fprintf(&b, "%s, %s: %s\n", e.Name, name, strings.ReplaceAll(strings.ReplaceAll(err.Error(), n.dir, "DIR"), "\n", "\n    "))
				}
			}
		}
		for _, s := range savings {
			n.saving = s.do
			said(s.name)
		}
		n.saving = nil
		for _, m := range mischiefs {
			n.mischief = m.do
			said(m.name)
		}
		n.mischief = nil
	})
	golden(t, "sessions_near", workspaceNames.ReplaceAllString(b.String(), "DIR"))
}

// TestSessionsEndWithTheirContext: a session of which the context has ended makes no steps.
func TestSessionsEndWithTheirContext(t *testing.T) {
	n := newNearness(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for seed := range uint64(4) {
		err := editortest.RunSession(ctx, seed, editortest.Editors()[0], n.env)
		require.ErrorIs(t, err, context.Canceled, "seed %d", seed)
	}
}

// workspaceNames are the names of the directories of environments.
var workspaceNames = regexp.MustCompile(`DIR/p\d+`)
