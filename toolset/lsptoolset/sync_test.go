// SPDX-License-Identifier: Apache-2.0

package lsptoolset_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/lsptoolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

var randomEdits = flag.Int(
	"lsp-edits",
	60,
	"number of random edits after which a server's text is compared",
)

// said returns the text that the fake server has of a file that begins with "def top".
func (b *bench) said(file string) string {
	res := b.call("find_definition", `{"symbol":"top","path":`+quoted(file)+`}`)
	_, text, ok := strings.Cut(res.Text, "\n\n")
	require.True(b, ok, res.Text)
	text, err := strconv.Unquote(text)
	require.NoError(b, err)
	return text
}

// The server's text is the workspace's after every change, by whomever it was made.
func TestServersSeeTheText(t *testing.T) {
	for _, mode := range []string{"good", "utf-8"} {
		b := newBench(t, fakeConfig(t, mode), lsptoolset.Options{Trust: true, Budget: -1}, nil)
		seed := rand.Uint64()
		random := rand.New(rand.NewPCG(seed, 1))
		pieces := []string{
			"a",
			"ß",
			"😀",
			"𝒳",
			"\t",
			"\r\n",
			"\n",
			" run ",
			"e\u0301",
			"👩‍💻",
			"\ufeff",
			"",
			"\u2028",
			"x y",
		}
		text := "def top run\r\n"
		b.write("a.toy", text)
		for i := range *randomEdits {
			head, tail := "def top", text[len("def top"):]
			at := []rune(tail)
			at = at[:min(len(at), 200)] // answers show texts up to a length
			from := random.IntN(len(at) + 1)
			to := min(from+random.IntN(6), len(at))
			var insert strings.Builder
			for range random.IntN(4) {
				insert.WriteString(pieces[random.IntN(len(pieces))])
			}
			text = head + " " + string(at[:from]) + insert.String() + string(at[to:])
			switch random.IntN(3) {
			case 0: // somebody else
				b.write("a.toy", text)
			default:
				f, err := b.session.Workspace().Read(t.Context(), "a.toy", workspace.Range{})
				require.NoError(t, err)
				_, err = b.session.Workspace().Write(t.Context(), "a.toy", []byte(text), f.Version)
				require.NoError(t, err)
			}
			require.Equal(t, text, b.said("a.toy"), "edit %d of seed %d", i, seed)
			if random.IntN(10) == 0 { // and edits that the server makes fit
				b.call("code_actions", `{"path":"a.toy","apply":"Format the file"}`)
				end := "\n"
				if n := strings.Count(text, "\n"); n > 0 && strings.Count(text, "\r\n") == n {
					end = "\r\n"
				}
				text += "# formatted" + end
				require.Equal(t, text, b.read("a.toy"), "edit %d of seed %d", i, seed)
				b.call("rename_symbol", `{"symbol":"top","path":"a.toy","new_name":"bottom"}`)
				require.True(t, strings.HasPrefix(b.read("a.toy"), "def bottom"))
				b.write("a.toy", text)
			}
		}
	}
}

// unsaved is a workspace with an editor: some files have text that is not on disk.
type unsaved struct {
	workspace.Workspace
	text map[string]string
	view any
}

func (u *unsaved) View() any { return u.view }

func (u *unsaved) Features() workspace.Features {
	f := u.Workspace.Features()
	f.Unsaved = true
	return f
}

func (u *unsaved) Open(ctx context.Context, path string, _ bool) (*workspace.Document, error) {
	doc, err := workspace.OpenDocument(ctx, u.Workspace, path, false)
	if err != nil {
		return nil, err
	}
	if at, _ := workspace.LocateIn(u, path); u.text[at.Name] != "" {
		doc.Buffer = &workspace.Side{Exists: true, Data: []byte(u.text[at.Name])}
		doc.Unsaved = true
		doc.Version += workspace.Version(u.text[at.Name])
	}
	return doc, nil
}

func (u *unsaved) Read(
	ctx context.Context,
	path string,
	r workspace.Range,
) (workspace.File, error) {
	return u.Workspace.Read(ctx, path, r)
}

func (u *unsaved) ApplyChange(
	ctx context.Context,
	path string,
	c workspace.Change,
) (*workspace.Document, error) {
	at, err := workspace.LocateIn(u, path)
	if err != nil {
		return nil, err
	}
	doc, err := u.Open(ctx, path, false)
	if err != nil {
		return nil, err
	}
	if doc.Version != c.IfVersion {
		return nil, &workspace.PathError{Op: "write", Path: path, Err: workspace.ErrChanged}
	}
	delete(u.text, at.Name)
	if _, err := u.Workspace.Write(ctx, path, c.Data, workspace.AnyVersion); err != nil {
		return nil, err
	}
	return u.Open(ctx, path, false)
}

// editor returns a session in an editor.
func (b *bench) editor(view any, text map[string]string) *workspace.Session {
	return workspace.NewSession(&unsaved{Workspace: b.session.Workspace(), text: text, view: view})
}

// Servers see unsaved text, also of files that only their answers name. Sessions share a server if
// they show the same text, and never see each other's.
func TestUnsavedText(t *testing.T) {
	b := newBench(t, fakeConfig(t, "good"), lsptoolset.Options{Trust: true}, project)
	disk := b.session
	one := b.editor("one", map[string]string{"sub/b.toy": "def other\n\n\nfirst run\n"})
	two := b.editor("two", map[string]string{"a.toy": "def start\ndef run\n"})
	again := b.editor("one", map[string]string{"sub/b.toy": "def other\n\n\nfirst run\n"})
	own := b.editor(nil, map[string]string{"a.toy": "def run\n"})
	for range 2 {
		for _, c := range []struct {
			session *workspace.Session
			want    string
		}{
			{disk, "a.toy:2: run run\nsub/b.toy:2: 😀 run"},
			{one, "a.toy:2: run run\nsub/b.toy:4: first run"},
			{two, "sub/b.toy:2: 😀 run"},
			{again, "a.toy:2: run run\nsub/b.toy:4: first run"},
			{own, "sub/b.toy:2: 😀 run"},
		} {
			b.session = c.session
			require.Equal(
				t,
				c.want,
				b.call("find_references", `{"symbol":"run","path":"a.toy"}`).Text,
			)
		}
	}
	require.Len(t, b.servers.Status(), 4, "the sessions of one editor share a server")

	b.session = one
	list := b.call("find_symbols", `{"query":"other"}`).Text
	require.Equal(t, "other (function) sub/b.toy:1", list)
	moved := map[string]string{"sub/c.toy": "\n\ndef run2\n"}
	b.session = b.editor("three", moved)
	list = b.call("find_symbols", `{"query":"run2"}`).Text
	require.Equal(t, "run2 (function) sub/c.toy:3", list, "of unsaved text")
	require.Contains(t, b.call("find_definition", `{"symbol":"run2"}`).Text, "sub/c.toy:3: def run2")
	b.session, b.asked = one, nil
	res := b.call("rename_symbol", `{"symbol":"run","new_name":"walk"}`).Text
	require.Equal(t, "def other\n\n\nfirst walk\n", b.read("sub/b.toy"), res)
	a := b.asked[len(b.asked)-1]
	require.Contains(
		t,
		a.Preview[2].Text,
		"The editor has text of sub/b.toy that is not on disk. It is saved with this change:\n--- a/sub/b.toy",
	)
}

// A file that changes while a rename is made, over open buffers, is not overwritten, and the others
// have the text that they had.
func TestRenameOverBuffersThatChange(t *testing.T) {
	b := newBench(t, fakeConfig(t, "good"), lsptoolset.Options{Trust: true, Budget: -1}, project)
	buffers := map[string]string{"a.toy": "def start\ndef run\n  run typed\n"}
	editor := &unsaved{Workspace: b.session.Workspace(), text: buffers, view: "editor"}
	b.session = workspace.NewSession(&typing{editor, b, filepath.Join(b.dir, "sub", "b.toy")})
	res := b.call("rename_symbol", `{"symbol":"run","path":"a.toy","new_name":"walk"}`)
	require.Equal(
		t,
		"Could not change sub/b.toy: it has changed meanwhile. Try again. No text was changed, "+
			"but the editor's unsaved text of these files is saved now: a.toy",
		res.Text,
	)
	require.Equal(t, "def start\ndef run\n  run typed\n", b.read("a.toy"))
	require.Equal(t, "def other\n  run, as somebody types\n", b.read("sub/b.toy"))
}

// typing is an editor in which somebody changes a file at the last moment.
type typing struct {
	*unsaved
	b    *bench
	path string
}

func (w *typing) ApplyChange(
	ctx context.Context,
	path string,
	c workspace.Change,
) (*workspace.Document, error) {
	if path == w.path {
		w.b.write("sub/b.toy", "def other\n  run, as somebody types\n")
	}
	return w.unsaved.ApplyChange(ctx, path, c)
}

// What others change is noticed, also in files that the server has not open, and removed files are
// closed.
func TestChangesByOthersAreNoticed(t *testing.T) {
	b := newBench(t, fakeConfig(t, "good"), lsptoolset.Options{Trust: true}, project)
	b.call("find_symbols", `{"path":"a.toy"}`)
	b.write("a.toy", "def run\nrun\n")
	b.write("sub/new.toy", "run\n")
	require.Equal(
		t,
		"a.toy:2: run\nsub/b.toy:2: 😀 run\nsub/new.toy:1: run",
		b.call("find_references", `{"symbol":"run","path":"a.toy"}`).Text,
	)
	require.NoError(t, b.session.Workspace().Remove(t.Context(), "a.toy", workspace.AnyVersion))
	require.Equal(
		t,
		"Could not read a.toy: not found.",
		b.call("find_symbols", `{"path":"a.toy"}`).Text,
	)
	require.Equal(
		t,
		"There is no symbol run.",
		strings.Split(b.call("find_definition", `{"symbol":"run"}`).Text, " Similar")[0],
	)
	_, err := b.session.Workspace().Stat(t.Context(), "a.toy")
	require.True(t, errors.Is(err, fs.ErrNotExist))
}

// Many files may be looked at: a server has a bounded number of them open.
func TestOpenDocumentsAreBounded(t *testing.T) {
	all := files{}
	for i := range 100 {
		all[fmt.Sprintf("f%d.toy", i)] = fmt.Sprintf("def top%d\n", i)
	}
	b := newBench(t, fakeConfig(t, "good"), lsptoolset.Options{Trust: true}, all)
	for i := range 100 {
		require.Contains(
			t,
			b.call("find_symbols", fmt.Sprintf(`{"path":"f%d.toy"}`, i)).Text,
			fmt.Sprintf("function top%d", i),
		)
	}
	require.LessOrEqual(t, b.servers.Opened(), 64)
}
