// SPDX-License-Identifier: Apache-2.0

package lsptoolset_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/lsptoolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

// A rename is one question with the diffs of all files. Undo takes all of it back.
func TestRename(t *testing.T) {
	b := newBench(t, fakeConfig(t, "good"), lsptoolset.Options{}, project)
	recorder := checkpoint.New(b.session.Workspace(), checkpoint.Options{})
	b.session = workspace.NewSession(recorder)
	res := b.call("rename_symbol", `{"symbol":"run","new_name":"läuft😀"}`)
	require.Equal(
		t,
		"Rename run to läuft😀: done.\na.toy: +2 -2 lines\nsub/b.toy: +1 -1 lines",
		res.Text,
	)
	require.Equal(
		t,
		"def start\n  läuft😀 läuft😀\n  other\ndef läuft😀\n  text 😀 start\n",
		b.read("a.toy"),
	)
	require.Equal(t, "def other\r\n  😀 läuft😀\r\n", b.read("sub/b.toy"))
	require.Equal(t, "run\n", b.read("sub/c.txt"))
	require.Len(t, b.asked, 2)
	a := b.asked[1]
	require.Equal(t, "Rename run to läuft😀 (2 files)", a.Title)
	require.Len(t, a.Preview, 2)
	require.Equal(t, filepath.Join(b.dir, "sub", "b.toy"), a.Preview[1].Diff.Path)
	require.Equal(t, "def other\r\n  😀 run\r\n", *a.Preview[1].Diff.Old)
	require.Equal(t, "def other\r\n  😀 läuft😀\r\n", *a.Preview[1].Diff.New)
	require.Equal(t, []model.Effect{
		{
			Kind: model.EffectWrite,
			Path: filepath.Join(b.dir, "a.toy"),
		}, {Kind: model.EffectWrite, Path: filepath.Join(b.dir, "sub", "b.toy")},
	}, a.Effects)
	require.Len(t, a.Parts, 2)
	_, err := recorder.Undo(t.Context(), checkpoint.Span{})
	require.NoError(t, err)
	for name, text := range project {
		require.Equal(t, text, b.read(name))
	}
	require.Equal(
		t,
		"a.toy:2: run run\nsub/b.toy:2: 😀 run",
		b.call("find_references", `{"symbol":"run"}`).Text,
		"the server sees the undo",
	)
}

// Edits of a text that the server no longer has, or of files that it reads differently from disk,
// are not made in the wrong place.
func TestEditsFitTheText(t *testing.T) {
	o := lsptoolset.Options{Trust: true, Budget: -1}
	b := newBench(t, fakeConfig(t, "edits an old version"), o, project)
	require.Equal(
		t,
		"Nothing was changed: a.toy has changed meanwhile. Try again.",
		b.call("rename_symbol", `{"symbol":"run","path":"a.toy","new_name":"walk"}`).Text,
	)
	b = newBench(t, fakeConfig(t, "reads files without marks"), o, files{
		"a.toy": "def run\n", "b.toy": "\ufeffx run\n",
	})
	b.call("rename_symbol", `{"symbol":"run","path":"a.toy","new_name":"walk"}`)
	require.Equal(t, "\ufeffx walk\n", b.read("b.toy"))
}

// A server that dies while it works out a rename changes nothing, and the next call has a new one.
func TestServersThatDieInRenames(t *testing.T) {
	o := lsptoolset.Options{Trust: true}
	b := newBench(t, fakeConfig(t, "exits when it renames"), o, project)
	res := b.call("rename_symbol", `{"symbol":"run","new_name":"walk"}`)
	require.Equal(t, model.OutcomeFailed, res.Outcome)
	require.Contains(t, res.Text, "fake: it exited with code 9")
	for name, text := range project {
		require.Equal(t, text, b.read(name))
	}
	require.Empty(t, b.asks())
	require.Contains(t, b.call("find_definition", `{"symbol":"run"}`).Text, "a.toy:4: def run")
}

func TestDeniedEditsChangeNothing(t *testing.T) {
	b := newBench(t, fakeConfig(t, "good"), lsptoolset.Options{Trust: true}, project)
	b.deny = func(*toolsetApproval) bool { return true }
	for _, c := range [][2]string{
		{"rename_symbol", `{"symbol":"run","new_name":"x"}`}, {"edit_symbol", `{"path":"a.toy","symbol":"run","where":"replace","text":"x"}`},
		{"code_actions", `{"path":"a.toy","apply":"Format the file"}`}, {"code_actions", `{"path":"a.toy","apply":"Apply by command"}`},
	} {
		_, err := b.try(c[0], c[1])
		require.ErrorIs(t, err, errDenied, c)
	}
	for name, text := range project {
		require.Equal(t, text, b.read(name))
	}
}

// Files are created, renamed and deleted with the edit, and the server's remarks are shown.
func TestResourceOperations(t *testing.T) {
	b := newBench(t, fakeConfig(t, "renames the file"), lsptoolset.Options{Trust: true}, files{
		"sub/run.toy": "def run\n", "old.toy": "def old\n", "other.toy": "run\n",
	})
	res := b.call("rename_symbol", `{"symbol":"run","new_name":"walk"}`)
	require.Equal(
		t,
		"Rename run to walk: done.\nsub/new/notes.toy (created): +1 -0 lines\nsub/walk.toy (renamed from sub/run.toy): +1 -0 lines\n"+
			"old.toy: removed\nsub/run.toy: removed",
		res.Text,
	)
	require.Equal(t, "def walk\n", b.read("sub/walk.toy"))
	require.Equal(t, "# notes\n", b.read("sub/new/notes.toy"))
	require.NoFileExists(t, filepath.Join(b.dir, "sub", "run.toy"))
	require.NoFileExists(t, filepath.Join(b.dir, "old.toy"))
	a := b.asked[0]
	var diffs []string
	for _, p := range a.Preview {
		switch {
		case p.Diff == nil:
			diffs = append(diffs, p.Text)
		case p.Diff.New == nil:
			diffs = append(diffs, "-"+filepath.Base(p.Diff.Path))
		case p.Diff.Old == nil:
			diffs = append(diffs, "+"+filepath.Base(p.Diff.Path))
		}
	}
	require.Equal(
		t,
		[]string{
			"-old.toy",
			"+notes.toy",
			"-run.toy",
			"+walk.toy",
			"sub/run.toy is renamed to sub/walk.toy.",
			"Moves the file: because (the language server asks for confirmation)",
		},
		diffs,
	)
}

// A directory whose files an edit has moved is empty, whatever is still on disk.
func TestDirectoriesAreMovedByFiles(t *testing.T) {
	o := lsptoolset.Options{Trust: true, Budget: -1}
	b := newBench(t, fakeConfig(t, "moves the directory"), o, files{"sub/run.toy": "def run\n"})
	res := b.call("rename_symbol", `{"symbol":"run","new_name":"walk"}`)
	require.Equal(
		t,
		"Rename run to walk: done.\nwalk/run.toy (renamed from sub/run.toy): +1 -0 lines\n"+
			"sub/run.toy: removed",
		res.Text,
	)
	require.Equal(t, "def walk\n", b.read("walk/run.toy"))
	require.NoFileExists(t, filepath.Join(b.dir, "sub", "run.toy"))

	b = newBench(t, fakeConfig(t, "moves the directory"), o, files{
		"sub/run.toy": "def run\n", "sub/other.toy": "def other\n",
	})
	res = b.call("rename_symbol", `{"symbol":"run","new_name":"walk"}`)
	require.Equal(t, "Nothing was changed: sub is a directory that is not empty.", res.Text)
}

// What servers may ask for besides edits of text: files that are made, moved and deleted, with what
// they say of files that exist or are missing. Of an edit that does not fit, nothing is done.
func TestFilesAreMadeMovedAndDeletedAsServersSay(t *testing.T) {
	b := newBench(t, fakeConfig(t, "renames as written"), lsptoolset.Options{Trust: true, Budget: -1}, files{
		"a.toy": "def run\n", "b.toy": "b\n", "c.toy": "c\n", "dir/x.toy": "x\n", "dir/sub/y.toy": "y\n", "linked/z.toy": "z\n", "twin/x.toy": "old\n",
	})
	links := os.Symlink("z.toy", filepath.Join(b.dir, "linked", "link.toy")) == nil // Windows may not allow it
	const refused = "Nothing was changed: "
	file := func(kind, uri, options string) string {
		if !strings.Contains(uri, ":") {
			uri = "ROOT/" + uri
		}
		return fmt.Sprintf(`{"kind":%q,"uri":%q,"options":{%s}}`, kind, uri, options)
	}
	move := func(from, to, options string) string {
		for _, uri := range []*string{&from, &to} {
			if !strings.Contains(*uri, ":") {
				*uri = "ROOT/" + *uri
			}
		}
		return fmt.Sprintf(`{"kind":"rename","oldUri":%q,"newUri":%q,"options":{%s}}`, from, to, options)
	}
	for _, c := range []struct {
		edit, want string
		left       files // "-" is a file that is gone
	}{
		{file("create", "b.toy", ""), refused + "b.toy exists already.", files{"b.toy": "b\n"}},
		{file("create", "b.toy", `"ignoreIfExists":true`), "", files{"b.toy": "b\n"}},
		{file("create", "file:///etc/new", ""), refused + "the language server wants to change a file that is outside of the project: /etc/new.", nil},
		{file("delete", "none.toy", ""), refused + "none.toy: not found.", nil},
		{file("delete", "none.toy", `"ignoreIfNotExists":true`), "", nil},
		{file("delete", "file:///etc/passwd", ""), refused + "the language server wants to delete a file that is outside of the project: /etc/passwd.", nil},
		{file("delete", "dir", ""), refused + "dir is a directory that is not empty.", files{"dir/x.toy": "x\n"}},
		{file("delete", ".", `"recursive":true`), refused + "the edit is of the whole directory of the project.", files{"b.toy": "b\n"}},
		{file("delete", "linked", `"recursive":true`), refused + "linked/link.toy is a link, which cannot be moved with its directory.", files{"linked/z.toy": "z\n"}},
		{move("none.toy", "new.toy", ""), refused + "none.toy: not found.", nil},
		{move("b.toy", "c.toy", ""), refused + "c.toy exists already.", files{"b.toy": "b\n", "c.toy": "c\n"}},
		{move("b.toy", "c.toy", `"ignoreIfExists":true`), "", files{"b.toy": "b\n", "c.toy": "c\n"}},
		{move("file:///etc/passwd", "new.toy", ""), refused + "the language server wants to rename a file that is outside of the project: /etc/passwd.", nil},
		{move("b.toy", "file:///etc/new", ""), refused + "the language server wants to rename a file to one that is outside of the project: /etc/new.", files{"b.toy": "b\n"}},
		{move(".", "elsewhere", ""), refused + "the edit is of the whole directory of the project.", nil},
		{move("dir", "twin", ""), refused + "twin/x.toy exists already.", files{"dir/x.toy": "x\n", "twin/x.toy": "old\n"}},
		{move("b.toy", "new.toy", "") + "," + file("delete", "none.toy", ""), refused + "none.toy: not found.", files{"b.toy": "b\n", "new.toy": "-"}},
		{move("b.toy", "c.toy", `"overwrite":true`), "b.toy: removed", files{"b.toy": "-", "c.toy": "b\n"}},
		{file("create", "c.toy", `"overwrite":true`), "c.toy: +0 -1 lines", files{"c.toy": ""}},
		{move("dir", "twin", `"overwrite":true`), "twin/sub/y.toy", files{"dir/x.toy": "-", "dir/sub/y.toy": "-", "twin/x.toy": "x\n", "twin/sub/y.toy": "y\n"}},
		{file("create", "twin/new.toy", "") + "," + move("twin", "other", ""), "other/new.toy", files{"twin/x.toy": "-", "other/x.toy": "x\n", "other/new.toy": ""}},
		{file("delete", "other", `"recursive":true`), "other/x.toy: removed", files{"other/x.toy": "-", "other/sub/y.toy": "-"}},
	} {
		if !links && strings.Contains(c.edit, "linked") {
			continue
		}
		b.write("edit.json", `{"documentChanges":[`+c.edit+`]}`)
		got := b.call("rename_symbol", `{"symbol":"run","path":"a.toy","new_name":"walk"}`).Text
		require.Contains(t, got, c.want, c.edit)
		if strings.HasPrefix(c.want, refused) {
			require.Equal(t, c.want, got, c.edit)
			require.Empty(t, b.asks(), c.edit)
		}
		for name, text := range c.left {
			if text == "-" {
				require.NoFileExists(t, filepath.Join(b.dir, name), c.edit)
				continue
			}
			require.Equal(t, text, b.read(name), c.edit)
		}
	}
}

func TestEditsOutsideAreRefused(t *testing.T) {
	for mode, want := range map[string]string{
		"edits other projects": "Nothing was changed: the language server wants to change a file that is outside of the project: /etc/passwd.",
		"edits overlap":        "Nothing was changed: the edit does not fit a.toy: two edits overlap.",
	} {
		b := newBench(t, fakeConfig(t, mode), lsptoolset.Options{Trust: true}, project)
		res := b.call("rename_symbol", `{"symbol":"run","new_name":"x"}`)
		require.Equal(t, want, res.Text)
		require.Empty(t, b.asks())
		require.Equal(t, project["a.toy"], b.read("a.toy"))
	}
}

// What a server wants to edit by itself is refused, and edits of its commands are shown first.
func TestEditsOfServers(t *testing.T) {
	b := newBench(t, fakeConfig(t, "edits unasked"), lsptoolset.Options{Trust: true}, project)
	b.call("find_symbols", `{"path":"a.toy"}`)
	b.call("find_references", `{"symbol":"run"}`)
	require.Equal(t, project["a.toy"], b.read("a.toy"))

	b = newBench(t, fakeConfig(t, "good"), lsptoolset.Options{Trust: true}, project)
	require.Equal(
		t,
		"Apply by command [quickfix]\nFormat all [source.fixAll]\nFormat the file [source.format]",
		b.call("code_actions", `{"path":"a.toy"}`).Text,
	)
	res := b.call("code_actions", `{"path":"a.toy","apply":"Apply by command"}`)
	require.Contains(t, res.Text, "Apply by command in a.toy: done.\na.toy: +1 -0 lines")
	require.Equal(t, "# by command\n"+project["a.toy"], b.read("a.toy"))
	require.Equal(t, []string{"Apply by command in a.toy"}, b.asks())
	require.Equal(
		t,
		"Format all in a.toy: this changes nothing.",
		b.call("code_actions", `{"path":"a.toy","apply":"Format all"}`).Text,
	)
	res = b.call("code_actions", `{"path":"a.toy","apply":"Do magic"}`)
	require.Contains(t, res.Text, `There is no action "Do magic" here. The actions are:`)

	for _, mode := range []string{"good", "moves code"} {
		c := fakeConfig(t, mode)
		if mode == "good" {
			c.Servers[0].Edits = nil
		}
		b = newBench(t, c, lsptoolset.Options{Trust: true}, project)
		b.call("code_actions", `{"path":"a.toy","apply":"Apply by command"}`)
		require.Equal(
			t,
			[]string{"Run the command fake.apply of fake", "Apply by command in a.toy"},
			b.asks(),
			mode,
		)
	}
}

// Fixes are asked for where the problems are, as editors do: gopls fixes the range of the request.
func TestFixesAreOfTheirProblems(t *testing.T) {
	o := lsptoolset.Options{Trust: true, Budget: -1}
	b := newBench(t, fakeConfig(t, "fixes the range"), o, files{"x.toy": "def a\n  b BAD c\n"})
	for _, line := range []string{"", `,"line":2`} {
		require.Equal(
			t,
			"Remove [quickfix.remove]\nSort [source]\nFormat the file [source.format]",
			b.call("code_actions", `{"path":"x.toy"`+line+`}`).Text,
		)
		b.call("code_actions", `{"path":"x.toy","apply":"Remove"`+line+`}`)
		require.Equal(t, "def a\n  b  c\n", b.read("x.toy"))
		b.write("x.toy", "def a\n  b BAD c\n")
	}
}

func TestFormat(t *testing.T) {
	b := newBench(t, fakeConfig(t, "good"), lsptoolset.Options{Trust: true}, project)
	b.call("code_actions", `{"path":"sub/b.toy","apply":"Format the file"}`)
	require.Equal(t, project["sub/b.toy"]+"# formatted\r\n", b.read("sub/b.toy"))
	b.write("sub/b.toy", "a\r\nb\n")
	b.call("code_actions", `{"path":"sub/b.toy","apply":"Format the file"}`)
	require.Equal(t, "a\r\nb\n# formatted\n", b.read("sub/b.toy"))
}

func TestEditSymbol(t *testing.T) {
	for _, c := range []struct{ before, symbol, where, text, after string }{
		{"def a\ndef b\n", "a", "replace", "def c\n  x", "def c\n  x\ndef b\n"},
		{"def a\ndef b\n", "a", "replace", "", "def b\n"},
		{"def a\r\ndef b", "b", "replace", "def c\ndef d", "def a\r\ndef c\r\ndef d"},
		{"def a\n# about b\ndef b\n", "b", "before", "def c", "def a\ndef c\n\n# about b\ndef b\n"},
		{"def a\ndef b\n", "a", "after", "def c", "def a\n\ndef c\ndef b\n"},
		{"def a", "a", "after", "def c", "def a\n\ndef c\n"},
		{"# about b\ndef b\n", "b", "replace", "def c", "# about b\ndef c\n"},
		{"def a\n# about\n# b\ndef b\n", "b", "replace", "# new\ndef c", "def a\n# new\ndef c\n"},
	} {
		b := newBench(
			t,
			fakeConfig(t, "good"),
			lsptoolset.Options{Trust: true, Budget: -1},
			files{"x.toy": c.before},
		)
		b.call(
			"edit_symbol",
			`{"path":"x.toy","symbol":"`+c.symbol+`","where":"`+c.where+`","text":`+quoted(
				c.text,
			)+`}`,
		)
		require.Equal(t, c.after, b.read("x.toy"), "%+v", c)
	}
}

// What begins with # is no comment in C.
func TestEditSymbolKeepsDirectives(t *testing.T) {
	c := fakeConfig(t, "good")
	c.Servers[0].Files[".toy"] = "c"
	o := lsptoolset.Options{Trust: true, Budget: -1}
	b := newBench(t, c, o, files{"x.toy": "#include <x>\ndef a\n"})
	b.call("edit_symbol", `{"path":"x.toy","symbol":"a","where":"before","text":"def b"}`)
	require.Equal(t, "#include <x>\ndef b\n\ndef a\n", b.read("x.toy"))
	b.call("edit_symbol", `{"path":"x.toy","symbol":"b","where":"replace","text":"#if 1\ndef b"}`)
	require.Equal(t, "#include <x>\n#if 1\ndef b\n\ndef a\n", b.read("x.toy"))
}

// A file that changes between the question and the change is asked about anew, with what it is now.
func TestChangedFilesAreAskedAboutAgain(t *testing.T) {
	b := newBench(t, fakeConfig(t, "good"), lsptoolset.Options{Trust: true}, project)
	b.deny = func(a *toolsetApproval) bool {
		if len(b.asked) == 1 {
			b.write("sub/b.toy", "def other\n  more\n  run\n")
		}
		return false
	}
	b.call("rename_symbol", `{"symbol":"run","new_name":"x"}`)
	require.Len(t, b.asked, 2)
	require.Equal(t, "def other\n  more\n  x\n", b.read("sub/b.toy"))
	require.Contains(t, b.read("a.toy"), "def x\n")
}

// A change of several files that fails in the middle is taken back.
func TestFailedEditsAreTakenBack(t *testing.T) {
	b := newBench(t, fakeConfig(t, "good"), lsptoolset.Options{Trust: true}, project)
	broken := &failing{Workspace: b.session.Workspace(), path: filepath.Join(b.dir, "sub", "b.toy")}
	b.session = workspace.NewSession(broken)
	res := b.call("rename_symbol", `{"symbol":"run","new_name":"x"}`)
	require.Equal(
		t,
		"Nothing was changed. Could not change sub/b.toy: permission denied.",
		res.Text,
	)
	for name, text := range project {
		require.Equal(t, text, b.read(name))
	}
}

// failing is a workspace in which one file cannot be written.
type failing struct {
	workspace.Workspace
	path string
}

func (f *failing) Write(
	ctx context.Context,
	path string,
	data []byte,
	v workspace.Version,
) (workspace.Version, error) {
	if path == f.path {
		return "", &workspace.PathError{Op: "write", Path: path, Err: os.ErrPermission}
	}
	return f.Workspace.Write(ctx, path, data, v)
}

// Protected paths are asked about every time.
func TestProtectedPaths(t *testing.T) {
	b := newBench(
		t,
		fakeConfig(t, "good"),
		lsptoolset.Options{Trust: true},
		files{".git/hooks/run.toy": "def run\n"},
	)
	b.call(
		"edit_symbol",
		`{"path":".git/hooks/run.toy","symbol":"run","where":"replace","text":"def x"}`,
	)
	require.True(t, b.asked[0].Once)
}

// Files that the session must not read are not shown or changed.
func TestReadsAreGuarded(t *testing.T) {
	b := newBench(t, fakeConfig(t, "good"), lsptoolset.Options{Trust: true}, project)
	b.session.GuardReads(func(path string) (toolset.Verdict, string) {
		if filepath.Base(path) == "b.toy" {
			return toolset.VerdictDeny, "secret"
		}
		return "", ""
	})
	require.Equal(
		t,
		"a.toy:2: run run\nsub/b.toy:2",
		b.call("find_references", `{"symbol":"run"}`).Text,
	)
	require.NotContains(t, b.call("find_symbols", `{"query":"other"}`).Text, "sub/b.toy")
	require.Equal(t, "sub/b.toy:1", b.call("find_definition", `{"symbol":"a.toy:3 other"}`).Text)
	b.write("sub/b.toy", "def other\n  BAD run\n")
	b.call("find_references", `{"symbol":"a.toy:3 other"}`)
	require.NotContains(t, b.call("get_diagnostics", `{}`).Text, "BAD")
	res := b.call("find_references", `{"symbol":"other"}`)
	require.Contains(t, res.Text, "There is no symbol other.")
	b.write("sub/b.toy", project["sub/b.toy"])
	for tool, args := range map[string]string{
		"find_symbols": `{"path":"sub/b.toy"}`, "find_references": `{"symbol":"other","path":"sub/b.toy"}`, "find_definition": `{"symbol":"sub/b.toy:2 run"}`, "rename_symbol": `{"symbol":"run","new_name":"x"}`,
		"edit_symbol": `{"path":"sub/b.toy","symbol":"other","where":"replace","text":""}`, "code_actions": `{"path":"sub/b.toy"}`,
		"get_diagnostics": `{"path":"sub/b.toy"}`,
	} {
		res := b.call(tool, args)
		require.Contains(t, res.Text, "Reading sub/b.toy is not permitted: secret", tool)
		require.Equal(t, model.OutcomeDenied, res.Outcome, tool)
	}
	require.Equal(t, project["a.toy"], b.read("a.toy"))
}
