// SPDX-License-Identifier: Apache-2.0

package editortest_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/internal/editortest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

// client is an ACP client with the files of a fake of an editor.
type client struct {
	*acptest.Client
	editor *editortest.Editor
}

func (c *client) ReadTextFile(_ context.Context, req *acp.ReadTextFileRequest) (*acp.ReadTextFileResponse, error) {
	var lines [2]int
	for i, n := range []*uint32{req.Line, req.Limit} {
		if n != nil {
			lines[i] = int(*n)
		}
	}
	text, err := c.editor.ReadLines(req.Path, lines[0], lines[1])
	if err != nil {
		return nil, acp.Errorf(acp.CodeInternal, "Internal error").WithData(err.Error())
	}
	return &acp.ReadTextFileResponse{Content: string([]rune(text))}, nil
}

func (c *client) WriteTextFile(_ context.Context, req *acp.WriteTextFileRequest) (*acp.WriteTextFileResponse, error) {
	if err := c.editor.Write(req.Path, req.Content); err != nil {
		return nil, acp.Errorf(acp.CodeInternal, "Internal error").WithData(err.Error())
	}
	return &acp.WriteTextFileResponse{}, nil
}

// far is the workspace of an editor on another machine. What it opens, reads and changes may be spoiled.
type far struct {
	workspace.Workspace
	disk   workspacetest.Disk
	open   func(d *workspace.Document) error
	read   func(f *workspace.File) error
	change func(f *far, path string, c workspace.Change) (*workspace.Document, error)
	after  func(d *workspace.Document)
}

func (f *far) Open(ctx context.Context, path string, quick bool) (*workspace.Document, error) {
	d, err := f.Workspace.(workspace.Opener).Open(ctx, path, quick)
	if err == nil && f.open != nil {
		if d.Buffer != nil {
			b := *d.Buffer
			d.Buffer = &b
		}
		err = f.open(d)
	}
	return d, err
}

func (f *far) Follow(ctx context.Context, path string) (string, error) {
	return f.Workspace.(workspace.Follower).Follow(ctx, path)
}

func (f *far) Read(ctx context.Context, path string, r workspace.Range) (workspace.File, error) {
	file, err := f.Workspace.Read(ctx, path, r)
	if err == nil && f.read != nil {
		err = f.read(&file)
	}
	return file, err
}

func (f *far) ApplyChange(ctx context.Context, path string, c workspace.Change) (*workspace.Document, error) {
	if f.change != nil {
		return f.change(f, path, c)
	}
	return f.really(ctx, path, c)
}

func (f *far) really(ctx context.Context, path string, c workspace.Change) (*workspace.Document, error) {
	c.Found = nil // it may be spoiled
	d, err := f.Workspace.(workspace.Applier).ApplyChange(ctx, path, c)
	if err == nil && f.after != nil {
		f.after(d)
	}
	return d, err
}

// farEnv returns a new environment of an editor on another machine, whose workspace mischief spoils.
func farEnv(can acp.FileSystemCapabilities, mischief func(*far, *workspacetest.Env)) func(*editortest.Editor) (*workspacetest.Env, error) {
	return func(e *editortest.Editor) (*workspacetest.Env, error) {
		const root = "/elsewhere/project"
		there, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{root}})
		if err != nil {
			return nil, err
		}
		e.Disk = there.Disk()
		c := &client{acptest.New(acptest.Options{Capabilities: &acp.ClientCapabilities{FS: can}}), e}
		d := c.Deps(root)
		d.Client = c
		w, err := acpbridge.NewWorkspace(d, acpbridge.LocalFallback{})
		if err != nil {
			return nil, err
		}
		f := &far{Workspace: w, disk: e.Disk}
		env := &workspacetest.Env{Workspace: f, Disk: e.Disk, Elsewhere: true, Close: c.Close}
		if mischief != nil {
			mischief(f, env)
		}
		return env, nil
	}
}

// changed has a change be made in another way.
func changed(how func(f *far, path string, c workspace.Change) (*workspace.Document, error)) func(*far, *workspacetest.Env) {
	return func(f *far, _ *workspacetest.Env) { f.change = how }
}

// mischiefs are what workspaces of editors on other machines do wrong.
var mischiefs = []struct {
	name string
	do   func(f *far, env *workspacetest.Env)
}{
	{"it reads a byte more at the beginning", func(f *far, _ *workspacetest.Env) {
		f.read = func(file *workspace.File) error { file.Data = append([]byte{'!'}, file.Data...); return nil }
	}},
	{"it reads a claim at the end", func(f *far, _ *workspacetest.Env) {
		f.read = func(file *workspace.File) error {
			file.Data = append(slices.Clone(file.Data), "This is saved.\n"...)
			return nil
		}
	}},
	{"it reads nothing", func(f *far, _ *workspacetest.Env) {
		f.read = func(file *workspace.File) error { file.Data = nil; return nil }
	}},
	{"what it reads is doubtful", func(f *far, _ *workspacetest.Env) {
		f.read = func(file *workspace.File) error { file.Doubtful = !file.Doubtful; return nil }
	}},
	{"it is certain of what it reads", func(f *far, _ *workspacetest.Env) {
		f.read = func(file *workspace.File) error { file.Uncertain = false; return nil }
	}},
	{"what it reads is unsaved", func(f *far, _ *workspacetest.Env) {
		f.read = func(file *workspace.File) error { file.Unsaved = true; return nil }
	}},
	{"it refuses to read", func(f *far, _ *workspacetest.Env) {
		f.read = func(*workspace.File) error { return fs.ErrPermission }
	}},
	{"it changes what it reads", func(f *far, _ *workspacetest.Env) {
		f.read = func(file *workspace.File) error {
			return f.disk.WriteFile(file.Path, append(slices.Clone(file.Data), '!'), 0o644)
		}
	}},
	{"it shows a byte more", func(f *far, _ *workspacetest.Env) {
		f.open = func(d *workspace.Document) error {
			if d.Buffer != nil && d.Buffer.Exists {
				d.Buffer.Data = append(slices.Clone(d.Buffer.Data), '!')
			}
			return nil
		}
	}},
	{"it shows a new file", func(f *far, _ *workspacetest.Env) {
		f.open = func(d *workspace.Document) error { d.Buffer = &workspace.Side{}; return nil }
	}},
	{"it shows an empty file", func(f *far, _ *workspacetest.Env) {
		f.open = func(d *workspace.Document) error { d.Buffer = &workspace.Side{Exists: true}; return nil }
	}},
	{"it shows capitals", func(f *far, _ *workspacetest.Env) {
		f.open = func(d *workspace.Document) error {
			if d.Buffer != nil {
				d.Buffer.Data = bytes.ReplaceAll(d.Buffer.Data, []byte("two"), []byte("TWO"))
			}
			return nil
		}
	}},
	{"it shows what is doubtful without doubt", func(f *far, _ *workspacetest.Env) {
		f.open = func(d *workspace.Document) error { d.Doubtful, d.Blocked = false, ""; return nil }
	}},
	{"it says what is on disk", func(f *far, _ *workspacetest.Env) {
		f.open = func(d *workspace.Document) error { d.Disk = cmp.Or(d.Buffer, d.Disk); return nil }
	}},
	{"it says that the disk has another text", func(f *far, _ *workspacetest.Env) {
		f.open = func(d *workspace.Document) error {
			if d.Buffer != nil {
				d.Disk, d.Unsaved = &workspace.Side{Exists: true, Data: []byte("other\n")}, true
			}
			return nil
		}
	}},
	{"it says that the way leads past the editor", func(f *far, _ *workspacetest.Env) {
		f.open = func(d *workspace.Document) error { d.Bypass = "The editor is on strike."; return nil }
	}},
	{"it blocks all files", func(f *far, _ *workspacetest.Env) {
		f.open = func(d *workspace.Document) error { d.Blocked = "it is Sunday"; return nil }
	}},
	{"it blocks with the right words", func(f *far, _ *workspacetest.Env) {
		f.open = func(d *workspace.Document) error { d.Blocked = "it has U+FFFD"; return nil }
	}},
	{"it fails to open", func(f *far, _ *workspacetest.Env) {
		f.open = func(*workspace.Document) error { return errLie }
	}},
	{"it changes nothing", changed(func(f *far, path string, c workspace.Change) (*workspace.Document, error) {
		return &workspace.Document{Path: path, Buffer: &workspace.Side{Exists: true, Data: c.Data}, Version: "v"}, nil
	})},
	{"it writes a byte more", changed(func(f *far, path string, c workspace.Change) (*workspace.Document, error) {
		c.Data = append(slices.Clone(c.Data), '!')
		return f.really(context.Background(), path, c)
	})},
	{"it writes a byte more and does not tell", changed(func(f *far, path string, c workspace.Change) (*workspace.Document, error) {
		data := c.Data
		c.Data = append(slices.Clone(c.Data), '!')
		d, err := f.really(context.Background(), path, c)
		if err == nil && d.Buffer != nil {
			d.Buffer = &workspace.Side{Exists: true, Data: data}
		}
		return d, err
	})},
	{"it writes and fails", changed(func(f *far, path string, c workspace.Change) (*workspace.Document, error) {
		_, err := f.really(context.Background(), path, c)
		return nil, errors.Join(errLie, err)
	})},
	{"it writes and refuses", changed(func(f *far, path string, c workspace.Change) (*workspace.Document, error) {
		_, _ = f.really(context.Background(), path, c)
		return nil, fs.ErrPermission
	})},
	{"it refuses to write", changed(func(*far, string, workspace.Change) (*workspace.Document, error) { return nil, fs.ErrPermission })},
	{"it says after a change that it is not saved", func(f *far, _ *workspacetest.Env) {
		f.after = func(d *workspace.Document) {
			if d.Buffer != nil {
				d.Unsaved, d.Disk = true, &workspace.Side{}
			}
		}
	}},
	{"it says after a change what is on disk", func(f *far, _ *workspacetest.Env) {
		f.after = func(d *workspace.Document) { d.Disk = cmp.Or(d.Buffer, d.Disk) }
	}},
	{"it says after a change that the file is shorter", func(f *far, _ *workspacetest.Env) {
		f.after = func(d *workspace.Document) {
			if d.Buffer != nil && len(d.Buffer.Data) > 0 {
				d.Buffer = &workspace.Side{Exists: true, Data: d.Buffer.Data[1:]}
			}
		}
	}},
	{"it says after a change that there is no file", func(f *far, _ *workspacetest.Env) {
		f.after = func(d *workspace.Document) { d.Buffer = &workspace.Side{} }
	}},
	{"it says after a change that it went past the editor", func(f *far, _ *workspacetest.Env) {
		f.after = func(d *workspace.Document) { d.Bypass = "The editor is on strike." }
	}},
	{"the person denies", func(_ *far, env *workspacetest.Env) {
		env.Asker = answers{toolset.Decision{Verdict: toolset.VerdictDeny, Reason: "not today"}, nil}
	}},
	{"the first change is right and the second one changes nothing", func(f *far, _ *workspacetest.Env) {
		n := 0
		f.change = func(f *far, path string, c workspace.Change) (*workspace.Document, error) {
			if n++; n == 1 {
				return f.really(context.Background(), path, c)
			}
			return &workspace.Document{Path: path, Buffer: &workspace.Side{Exists: true, Data: c.Data}, Version: "v"}, nil
		}
	}},
	{"the first change is right and the second one fails", func(f *far, _ *workspacetest.Env) {
		n := 0
		f.change = func(f *far, path string, c workspace.Change) (*workspace.Document, error) {
			if n++; n == 1 {
				return f.really(context.Background(), path, c)
			}
			return nil, errLie
		}
	}},
	{"the first change is right and the second one writes half of it and fails", func(f *far, _ *workspacetest.Env) {
		n := 0
		f.change = func(f *far, path string, c workspace.Change) (*workspace.Document, error) {
			if n++; n == 1 {
				return f.really(context.Background(), path, c)
			}
			c.Data = c.Data[:len(c.Data)/2]
			_, err := f.really(context.Background(), path, c)
			return nil, errors.Join(errLie, err)
		}
	}},
	{"the first change is right and the second one writes more", func(f *far, _ *workspacetest.Env) {
		n := 0
		f.change = func(f *far, path string, c workspace.Change) (*workspace.Document, error) {
			if n++; n > 1 {
				c.Data = append(slices.Clone(c.Data), '!')
			}
			return f.really(context.Background(), path, c)
		}
	}},
}

// findings runs the law of files for kinds of files, and groups the kinds by what is said of them.
func findings(kinds []string, truth func(kind, what string) error) string {
	var b strings.Builder
	for _, what := range []string{"read", "write", "edit", "undo"} {
		said := map[string][]string{}
		var order []string
		for _, kind := range kinds {
			err := truth(kind, what)
			if err == nil {
				continue
			}
			text := strings.ReplaceAll(err.Error(), "\n", "\n    ")
			if said[text] == nil {
				order = append(order, text)
			}
			said[text] = append(said[text], kind)
		}
		for _, text := range order {
			fmt.Fprintf(&b, "  %s of %s: %s\n", what, strings.Join(said[text], ", "), text)
		}
	}
	return b.String()
}

var (
	bothWays  = acp.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}
	readsOnly = acp.FileSystemCapabilities{ReadTextFile: true}
	writeOnly = acp.FileSystemCapabilities{WriteTextFile: true}
)

// TestNothingIsFoundElsewhere: what editors on other machines do is right.
func TestNothingIsFoundElsewhere(t *testing.T) {
	for i, e := range editortest.Editors() {
		if i%2 != 0 { // package acpbridge tests all of them
			continue
		}
		found := findings(editortest.Kinds(), func(kind, what string) error {
			return editortest.TruthIn(t.Context(), editortest.Editors()[i], kind, what, farEnv(bothWays, nil))
		})
		require.Empty(t, found, e.Name)
	}
}

// TestMischiefElsewhereIsFound has what the law of files says of what workspaces of editors on other machines do
// wrong. The law does not notice everything: a kind that is not named is held for good.
func TestMischiefElsewhereIsFound(t *testing.T) {
	kinds := slices.DeleteFunc(editortest.Kinds(), func(kind string) bool {
		return slices.Contains([]string{"mixed line endings", "byte order mark", "UTF-16", "no final newline", "encoded in two ways", "large", "blanks and tabs", "read-only", "link"}, kind)
	})
	var b strings.Builder
	for i, e := range editortest.Editors() {
		for _, m := range mischiefs {
			can := map[string]acp.FileSystemCapabilities{}
			switch e.Name {
			case "faithful":
				can = map[string]acp.FileSystemCapabilities{"": bothWays, ", reads only": readsOnly, ", writes only": writeOnly}
			case "Zed", "replaces what is not UTF-8":
				can[""] = bothWays
			}
			for _, way := range slices.Sorted(maps.Keys(can)) {
				found := findings(kinds, func(kind, what string) error {
					var spoilt far
					m.do(&spoilt, new(workspacetest.Env))
					switch reads := spoilt.read != nil; {
					case reads != (what == "read") && kind != "plain", way == ", reads only" && what != "read" && kind != "plain", // the tool is not offered
						e.Name != "faithful" && !slices.Contains([]string{"plain", "Latin-1", "missing", "created by the agent", "unsaved in the editor"}, kind):
						return nil
					}
					return editortest.TruthIn(t.Context(), editortest.Editors()[i], kind, what, farEnv(can[way], m.do))
				})
				fmt.Fprintf(&b, "%s%s: %s\n%s", e.Name, way, m.name, found)
			}
		}
	}
	golden(t, "elsewhere", b.String())
}
