// SPDX-License-Identifier: Apache-2.0

package lsptoolset_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/lsptoolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// A server is told of the program, of the project and of its settings when it is started.
func TestServersAreToldOfTheProject(t *testing.T) {
	settings := map[string]any{"gopls": map[string]any{"gofumpt": true}}
	for name, c := range map[string]struct {
		change                   func(*lsptoolset.Config)
		client, options, changed string
	}{
		"nothing":         {nil, `{"name":"ponte"}`, "", ""},
		"a program":       {func(c *lsptoolset.Config) { c.Client = lsptoolset.ClientInfo{Name: "x", Version: "1"} }, `{"name":"x","version":"1"}`, "", ""},
		"options":         {func(c *lsptoolset.Config) { c.Servers[0].Options = []int{1} }, `{"name":"ponte"}`, `[1]`, ""},
		"settings":        {func(c *lsptoolset.Config) { c.Servers[0].Settings = settings }, `{"name":"ponte"}`, "", `{"settings":{"gopls":{"gofumpt":true}}}`},
		"its own":         {func(c *lsptoolset.Config) { asGopls(c); c.Servers[0].Settings = settings }, `{"name":"ponte"}`, `{"gofumpt":true}`, `{"settings":{"gopls":{"gofumpt":true}}}`},
		"its own options": {func(c *lsptoolset.Config) { asGopls(c); c.Servers[0].Settings, c.Servers[0].Options = settings, 1 }, `{"name":"ponte"}`, `1`, `{"settings":{"gopls":{"gofumpt":true}}}`},
	} {
		b := newWritten(t, c.change, trusted, "{}", files{"a.toy": "x\n"})
		b.call("find_symbols", `{"path":"a.toy"}`)
		heard := b.heard("initialize", "workspace/didChangeConfiguration", "textDocument/didOpen")
		require.True(t, strings.HasPrefix(heard[0], "initialize "), name)
		var told map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(heard[0], "initialize ")), &told))
		for member, want := range map[string]string{
			"processId": "null", "clientInfo": c.client, "rootPath": `"DIR"`, "rootUri": `"ROOT"`, "initializationOptions": c.options,
			"workspaceFolders": fmt.Sprintf(`[{"uri":"ROOT","name":%q}]`, filepath.Base(b.dir)),
		} {
			require.Equal(t, want, string(told[member]), "%s: %s", name, member)
		}
		want := []string{"initialized {}", `textDocument/didOpen {"textDocument":{"uri":"ROOT/a.toy","languageId":"toy","version":1,"text":"x\n"}}`}
		if c.changed != "" {
			want = []string{want[0], "workspace/didChangeConfiguration " + c.changed, want[1]}
		}
		require.Equal(t, want, heard[1:], name)
	}
}

// A server is told of the texts of documents as they change, and that they are saved, unless it
// would do its work again.
func TestServersAreToldOfDocuments(t *testing.T) {
	for _, server := range []string{"fake", "gopls"} {
		b := newWritten(t, func(c *lsptoolset.Config) { c.Servers[0].Name = server }, trusted, "{}", files{"a.toy": "x\n", "b.toy": "y\n"})
		told := func(path string) string {
			b.call("find_symbols", `{"path":"`+path+`"}`)
			return strings.Join(b.heard("textDocument/did"), "\n")
		}
		changed := func(file string, version int, text string, saved bool) string {
			line := fmt.Sprintf(`textDocument/didChange {"contentChanges":[{"text":%q}],"textDocument":{"version":%d,"uri":"ROOT/%s"}}`, text, version, file)
			if saved && server == "fake" {
				line += "\n" + `textDocument/didSave {"textDocument":{"uri":"ROOT/` + file + `"}}`
			}
			return line
		}
		require.Equal(t, `textDocument/didOpen {"textDocument":{"uri":"ROOT/a.toy","languageId":"toy","version":1,"text":"x\n"}}`, told("a.toy"))
		require.Equal(t, `textDocument/didOpen {"textDocument":{"uri":"ROOT/b.toy","languageId":"toy","version":1,"text":"y\n"}}`, told("b.toy"))
		require.Empty(t, told("a.toy"))
		b.write("a.toy", "x changed\n")
		require.Equal(t, changed("a.toy", 2, "x changed\n", true), told("b.toy"), "also those that no call names")
		b.write("a.toy", "x again\n")
		b.write("b.toy", "y again\n")
		require.Equal(t, changed("b.toy", 2, "y again\n", true)+"\n"+changed("a.toy", 3, "x again\n", true), told("b.toy"))
		require.NoError(t, os.Remove(filepath.Join(b.dir, "a.toy")))
		require.Equal(t, `textDocument/didClose {"textDocument":{"uri":"ROOT/a.toy"}}`, told("b.toy"))
		require.Empty(t, told("b.toy"))
		b.write("a.toy", "x\n")
		require.Equal(t, `textDocument/didOpen {"textDocument":{"uri":"ROOT/a.toy","languageId":"toy","version":1,"text":"x\n"}}`, told("a.toy"))
		b.write("b.toy", "y\x00\xff")
		require.Equal(t, `textDocument/didClose {"textDocument":{"uri":"ROOT/b.toy"}}`, told("a.toy"), "what is no text any more is closed")
	}
	b := newWritten(t, nil, trusted, "{}", files{"a.toy": "x\n"})
	text := map[string]string{"a.toy": "typed\n"}
	b.session = b.editor("editor", text)
	b.call("find_symbols", `{"path":"a.toy"}`)
	text["a.toy"] = "typed more\n"
	b.call("find_symbols", `{"path":"a.toy"}`)
	require.Equal(t, []string{
		`textDocument/didOpen {"textDocument":{"uri":"ROOT/a.toy","languageId":"toy","version":1,"text":"typed\n"}}`,
		`textDocument/didChange {"contentChanges":[{"text":"typed more\n"}],"textDocument":{"version":2,"uri":"ROOT/a.toy"}}`,
	}, b.heard("textDocument/did"), "unsaved text is not saved")
}

// Servers are told which files others have made, changed and removed, if these matter to them.
func TestServersAreToldOfFiles(t *testing.T) {
	b := newWritten(t, asGopls, trusted, "{}", files{"a.toy": "x\n", "b.toy": "x\n", "go.sum": "x\n", "c.txt": "x\n"})
	b.call("find_symbols", `{"path":"a.toy"}`)
	b.heard()
	told := func(want ...string) {
		t.Helper()
		left := map[string]bool{}
		for _, event := range want {
			left[event] = true
		}
		require.Eventually(t, func() bool {
			b.call("find_symbols", `{"path":"a.toy"}`)
			for _, line := range b.heard("workspace/didChangeWatchedFiles") {
				var p struct {
					Changes []struct {
						URI  string
						Type int
					}
				}
				require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(line, "workspace/didChangeWatchedFiles ")), &p))
				for _, e := range p.Changes {
					event := fmt.Sprintf("%s %d", strings.TrimPrefix(e.URI, "ROOT/"), e.Type)
					require.Contains(t, left, event)
					delete(left, event)
				}
			}
			return len(left) == 0
		}, time.Minute, 10*time.Millisecond)
	}
	b.write("sub/new.toy", "x\n")
	b.write("node_modules/new.toy", "x\n")
	b.write(".hidden/new.toy", "x\n")
	b.write("new.txt", "x\n")
	b.write("b.toy", "changed\n")
	b.write("go.sum", "changed\n")
	told("sub/new.toy 1", "b.toy 2", "go.sum 2")
	require.NoError(t, os.Remove(filepath.Join(b.dir, "sub", "new.toy")))
	b.write("UPPER.TOY", "x\n")
	b.write("a.toy", "changed\n") // it has the text of documents
	told("sub/new.toy 3", "UPPER.TOY 1")
}

// Each part of a configuration that is wrong is named.
func TestConfigurationsAreChecked(t *testing.T) {
	good := lsptoolset.Server{Name: "x", Command: []string{"x"}, Files: map[string]string{".x": "x"}}
	with := func(change func(*lsptoolset.Server)) lsptoolset.Config {
		s := good
		change(&s)
		return lsptoolset.Config{Servers: []lsptoolset.Server{s}}
	}
	const name = `Servers[0]: Name %q must have 1 to 64 letters, digits, or one of "._-"`
	long := strings.Repeat("x", 65)
	const times = "StartTimeout, CallTimeout and ReadyTimeout must not be negative"
	const run = "Run.OutputLimit and Run.TimeLimit must not be negative"
	for i, c := range []struct {
		config lsptoolset.Config
		want   string
	}{
		{with(func(*lsptoolset.Server) {}), ""},
		{with(func(s *lsptoolset.Server) { s.Name = "" }), fmt.Sprintf(name, "")},
		{with(func(s *lsptoolset.Server) { s.Name = long }), fmt.Sprintf(name, long)},
		{with(func(s *lsptoolset.Server) { s.Name = long[1:] }), ""},
		{with(func(s *lsptoolset.Server) { s.Name = "a b" }), fmt.Sprintf(name, "a b")},
		{with(func(s *lsptoolset.Server) { s.Name = "A.b_c-1" }), ""},
		{lsptoolset.Config{Servers: []lsptoolset.Server{good, good}}, `Servers[1]: there are two servers called "x"`},
		{with(func(s *lsptoolset.Server) { s.Command = nil }), `server "x": Command is empty`},
		{with(func(s *lsptoolset.Server) { s.Command = []string{""} }), `server "x": Command is empty`},
		{with(func(s *lsptoolset.Server) { s.Env = []string{"A=b", "B="} }), ""},
		{with(func(s *lsptoolset.Server) { s.Env = []string{"A=b", "secret"} }), `server "x": Env[1] is not of the form NAME=value`},
		{with(func(s *lsptoolset.Server) { s.Env = []string{"=secret"} }), `server "x": Env[0] is not of the form NAME=value`},
		{with(func(s *lsptoolset.Server) { s.Files = nil }), `server "x": Files is empty: name the extensions that the server is for`},
		{with(func(s *lsptoolset.Server) { s.Files = map[string]string{"x": "x"} }), `server "x": Files has "x": "x"; use an extension such as ".go" and a language`},
		{with(func(s *lsptoolset.Server) { s.Files = map[string]string{".x": ""} }), `server "x": Files has ".x": ""; use an extension such as ".go" and a language`},
		{lsptoolset.Config{StartTimeout: -1}, times},
		{lsptoolset.Config{CallTimeout: -1}, times},
		{lsptoolset.Config{ReadyTimeout: -1}, times},
		{lsptoolset.Config{Run: local.Config{OutputLimit: -1}}, run},
		{lsptoolset.Config{Run: local.Config{TimeLimit: -1}}, run},
		{lsptoolset.Config{Memory: -1, Idle: -1}, ""},
	} {
		servers, err := lsptoolset.New(c.config)
		if c.want != "" {
			require.EqualError(t, err, "lsptoolset: config: "+c.want, i)
			continue
		}
		require.NoError(t, err, i)
		require.NoError(t, servers.Close())
		require.NoError(t, servers.Close(), "it may be closed several times")
	}
}

// Programs are looked for where language tools are usually installed, and never in the project.
func TestProgramsAreFound(t *testing.T) {
	home := t.TempDir()
	for _, path := range []string{"path/tool", "gobin/tool", "gopath1/bin/tool", "gopath2/bin/other", "home/go/bin/g", "home/.local/bin/l", "home/.cargo/bin/c", "home/else/e"} {
		path = filepath.Join(home, filepath.FromSlash(path))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755))
	}
	dir := func(name string) string { return filepath.Join(home, name) }
	list := string(filepath.ListSeparator)
	for i, c := range []struct {
		program string
		env     []string
		found   bool
	}{
		{"tool", []string{}, false},
		{"tool", []string{"PATH=" + dir("path")}, true},
		{"tool", []string{"PATH=" + dir("none") + list + dir("path")}, true},
		{"tool", []string{"PATH=" + dir("path"), "PATH=" + dir("none")}, false},
		{"tool", []string{"PATH=" + dir("none"), "PATH=" + dir("path")}, true},
		{"tool", []string{"XPATH=" + dir("path")}, false},
		{"tool", []string{"GOBIN=" + dir("gobin")}, true},
		{"tool", []string{"GOPATH=" + dir("gopath1")}, true},
		{"other", []string{"GOPATH=" + dir("gopath1") + list + dir("gopath2")}, true},
		{"g", []string{"HOME=" + dir("home")}, true},
		{"l", []string{"HOME=" + dir("home")}, true},
		{"c", []string{"HOME=" + dir("home")}, true},
		{"e", []string{"HOME=" + dir("home")}, false},
		{"g", []string{"HOME="}, false},
		{dir("path/tool"), []string{}, true},
		{dir("path/none"), []string{}, false},
		{dir("path"), []string{}, false},
		{"./tool", []string{"PATH=" + dir("path")}, false},
		{"path/tool", []string{"PATH=" + home}, false},
		{`path\tool`, []string{"PATH=" + home}, false},
		{"tool", []string{"PATH=path"}, false},
	} {
		servers, err := lsptoolset.New(lsptoolset.Config{
			Servers: []lsptoolset.Server{{Name: "x", Command: []string{c.program}, Files: map[string]string{".x": "x"}}}, Run: local.Config{Env: c.env},
		})
		require.NoError(t, err)
		require.Equal(t, c.found, len(servers.Installed()) == 1, "%d: %s with %s", i, c.program, c.env)
		require.NoError(t, servers.Close())
	}
}

// A place may be in the path, in the name or in a member of its own, which counts.
func TestPlacesOfNames(t *testing.T) {
	b := newWritten(t, asGopls, trusted, pairs(`"textDocument/definition a.toy 0:0":`+location("a.toy", 0, 0), `"textDocument/definition a.toy 1:0":`+location("a.toy", 1, 0)),
		files{"a.toy": "run\nrun now\n", "my files/a.toy": "x\n"})
	const first, second = "a.toy:1: run", "a.toy:2: run now"
	for args, want := range map[string]string{
		`{"symbol":"run","path":"a.toy","line":1}`:         first,
		`{"symbol":"run","path":"a.toy:2"}`:                second,
		`{"symbol":"run","path":"a.toy:2","line":1}`:       first,
		`{"symbol":"a.toy:2 run"}`:                         second,
		`{"symbol":"a.toy:2:7 run"}`:                       second,
		`{"symbol":"a.toy:2 run","line":1}`:                first,
		`{"symbol":"a.toy  run","line":2}`:                 second,
		`{"symbol":"a.toy:0 run","path":"a.toy","line":1}`: "Line 1 of a.toy does not mention 0run. It is: run",
		`{"symbol":"run","path":"a.toy:0"}`:                "There is no language server for a.toy:0.",
		`{"symbol":"run","path":"a.toy:x"}`:                "There is no language server for a.toy:x.",
		`{"symbol":"run","path":"a.toy:-2"}`:               "There is no language server for a.toy:-2.",
		`{"symbol":"run","path":"a.toy:3"}`:                "Line 3 of a.toy does not mention run. It is: ",
		`{"symbol":"run","path":"a.toy:4"}`:                "a.toy has 3 lines.",
		`{"symbol":"my files/a.toy:1 run"}`:                "Line 1 of my files/a.toy does not mention run. It is: x",
	} {
		require.Equal(t, want, b.call("find_definition", args).Text, args)
	}
}

// broken is a workspace in which a file cannot be opened or changed.
type broken struct {
	workspace.Workspace
	path         string
	open, change error
	undo         bool // changes of other files are made once only
	changed      map[string]bool
	after        func(*workspace.Document)
}

func (w *broken) Open(ctx context.Context, path string, known bool) (*workspace.Document, error) {
	if w.open != nil && filepath.Base(path) == w.path {
		return nil, &workspace.PathError{Op: "read", Path: path, Err: w.open}
	}
	return workspace.OpenDocument(ctx, w.Workspace, path, known)
}

func (w *broken) ApplyChange(ctx context.Context, path string, c workspace.Change) (*workspace.Document, error) {
	if w.change != nil && filepath.Base(path) == w.path || w.undo && w.changed[path] {
		return nil, &workspace.PathError{Op: "write", Path: path, Err: w.change}
	}
	if w.changed == nil {
		w.changed = map[string]bool{}
	}
	w.changed[path] = true
	doc, err := workspace.ApplyChange(ctx, w.Workspace, path, c)
	if err == nil && w.after != nil {
		w.after(doc)
	}
	return doc, err
}

// What is wrong with a file is said, for what it is read, and for what it is changed.
func TestFilesThatCannotBeUsedHaveReasons(t *testing.T) {
	b := newWritten(t, asGopls, trusted, pairs(`"textDocument/rename":{"changes":{"ROOT/a.toy":[{"newText":"new "}],"ROOT/b.toy":[{"newText":"new "}]}}`),
		files{"a.toy": "run\n", "b.toy": "run\n"})
	w := &broken{Workspace: b.session.Workspace(), path: "b.toy"}
	b.session = workspace.NewSession(w)
	for err, want := range map[error]string{
		fs.ErrNotExist:           "Could not read b.toy: not found.",
		workspace.ErrOutside:     "Could not read b.toy: the path lies outside of the working directory. Use a path inside " + b.dir + ".",
		workspace.ErrIsDirectory: "Could not read b.toy: it is a directory.",
		fs.ErrPermission:         "Could not read b.toy: permission denied.",
		workspace.ErrPath:        "Could not read b.toy: the path is malformed.",
		workspace.ErrTooLarge:    "Could not read b.toy: it is too large.",
		errors.New("on fire"):    fmt.Sprintf("workspace: read %q: on fire", filepath.Join(b.dir, "b.toy")),
	} {
		w.open = err
		require.Equal(t, want, b.call("find_symbols", `{"path":"b.toy"}`).Text)
	}
	w.open = workspace.ErrLost
	_, err := b.try("find_symbols", `{"path":"b.toy"}`)
	require.ErrorIs(t, err, workspace.ErrLost)
	require.ErrorContains(t, err, "lsptoolset: find_symbols: ")
	w.open = nil
	const rename = `{"symbol":"run","path":"a.toy","line":1,"new_name":"walk"}`
	for err, want := range map[error]string{
		workspace.ErrChanged:   "it has changed meanwhile. Try again",
		fs.ErrPermission:       "permission denied",
		errors.ErrUnsupported:  "this is not supported here",
		errors.New("on\nfire"): fmt.Sprintf("workspace: write %q: on fire", filepath.Join(b.dir, "b.toy")),
	} {
		w.change = err
		text := b.call("rename_symbol", rename).Text
		require.Equal(t, "Nothing was changed. Could not change b.toy: "+want+".", strings.ReplaceAll(text, "on⟨LF⟩fire", "on fire"))
		require.Equal(t, "run\n", b.read("a.toy"))
	}
	w.change = workspace.ErrLost
	_, err = b.try("rename_symbol", rename)
	require.ErrorIs(t, err, workspace.ErrLost)
	w.undo, w.change, w.changed = true, fs.ErrPermission, nil
	require.Equal(t, "Could not change b.toy: permission denied. These files were changed already, and could not be changed back: a.toy",
		b.call("rename_symbol", rename).Text)
	require.Equal(t, "new run\n", b.read("a.toy"))
	// What an editor does with a change is said.
	w.undo, w.change = false, nil
	w.after = func(d *workspace.Document) { d.Unsaved = true }
	require.Equal(t, "Rename run to walk: done.\na.toy: +1 -1 lines [the editor has the change and has not saved it]\n"+
		"b.toy: +1 -1 lines [the editor has the change and has not saved it]", b.call("rename_symbol", rename).Text)
	w.after = func(d *workspace.Document) { d.Current().Data = []byte("other\n") }
	require.Contains(t, b.call("rename_symbol", rename).Text, "a.toy: +1 -1 lines [the editor reformatted it while saving]")
}

// Toolsets without servers or a session are refused, and without a workspace calls fail.
func TestToolsNeedServersAndASession(t *testing.T) {
	servers, err := lsptoolset.New(lsptoolset.Config{})
	require.NoError(t, err)
	defer servers.Close()
	for want, set := range map[string]toolsetOf{
		"lsptoolset: Tools: the servers are nil": lsptoolset.Tools(nil, identity, lsptoolset.Options{}),
		"lsptoolset: Tools: the function is nil": lsptoolset.Tools[*workspace.Session](servers, nil, lsptoolset.Options{}),
	} {
		require.EqualError(t, set.(toolset.Checker).Check(), want)
		_, err := set.Open(t.Context(), &toolset.RunContext[*workspace.Session]{})
		require.EqualError(t, err, want)
	}
	set := lsptoolset.Tools(servers, identity, lsptoolset.Options{})
	require.Equal(t, "lsp", set.Name())
	require.NoError(t, set.(toolset.Checker).Check())
	command := lsptoolset.Capability[*workspace.Session](servers, identity, lsptoolset.Options{}).Commands[0]
	_, err = command.Run(t.Context(), commandCall{})
	require.EqualError(t, err, "No workspace is available.")
	command = lsptoolset.Capability[*workspace.Session](nil, identity, lsptoolset.Options{}).Commands[0]
	_, err = command.Run(t.Context(), agent.CommandCall[*workspace.Session]{})
	require.EqualError(t, err, "lsptoolset: Tools: the servers are nil")
	require.NoError(t, servers.Close())
	w, err := local.Open(local.Config{Roots: []string{t.TempDir()}})
	require.NoError(t, err)
	defer w.Close()
	command = lsptoolset.Capability(servers, identity, lsptoolset.Options{}).Commands[0]
	_, err = command.Run(t.Context(), commandCall{Deps: workspace.NewSession(w)})
	require.EqualError(t, err, "lsptoolset: the language servers are closed")
}

// Of a project, languages with a tenth of the files of the main one have a server.
func TestLanguagesWithFewFilesHaveNoServer(t *testing.T) {
	for n, want := range map[int]string{
		10: "Start the language server fake, Start the language server other", 11: "Start the language server fake",
	} {
		all := files{"a.oth": "def run\n", "answers.json": pairs(`"workspace/symbol":[{"name":"run","kind":12,"location":` + location("a.oth", 0, 4) + "}]")}
		for i := range n {
			all[fmt.Sprintf("f%d.toy", i)] = "x\n"
		}
		c := fakeConfig(t, "as written")
		other := c.Servers[0]
		other.Name, other.Files = "other", map[string]string{".oth": "other"}
		c.Servers[0].Name = "fake"
		c.Servers = append(c.Servers, other)
		b := newBench(t, c, lsptoolset.Options{}, all)
		b.call("find_symbols", `{"query":"run"}`)
		require.Equal(t, want, strings.Join(b.asks(), ", "), n)
		var names []string
		for _, st := range b.servers.Status() {
			names = append(names, st.Server+" "+string(st.State))
		}
		if n == 10 {
			require.Equal(t, []string{"fake running", "other running"}, names)
		} else {
			require.Equal(t, []string{"fake running", "other not running"}, names)
		}
	}
}

// A directory of a language whose server knows open files only is opened, 200 files at most.
func TestDirectoriesAreCheckedByTheirFiles(t *testing.T) {
	for n, more := range map[int]string{
		200: "", 202: "\n[gopls checked the first 200 files; 2 more were not checked. Give a directory or a file.]",
	} {
		all := files{}
		for i := range n {
			all[fmt.Sprintf("sub/f%03d.toy", i)] = "x\n"
		}
		b := newWritten(t, func(c *lsptoolset.Config) { asGopls(c); c.Servers[0].OpenOnly = true }, trusted, pairs(`"publishes":[]`), all)
		require.Equal(t, "No problems."+more, b.call("get_diagnostics", `{"path":"sub"}`).Text)
		require.Equal(t, 200, b.servers.Opened())
	}
}

// Problems come in pages. Of those that a change has made, twenty are shown.
func TestProblemsAreCounted(t *testing.T) {
	problems := func(n int) string {
		return pairs(`"publishes":` + listed(n, func(i int) string { return fmt.Sprintf(`{"range":%s,"message":"m%02d"}`, span(i, 0, i, 1), i) }))
	}
	b := newWritten(t, asGopls, trusted, problems(101), files{"a.toy": "x\n"})
	require.Equal(t, "a.toy:101: error: m100\n[101 to 101 of 101 problems.]", b.call("get_diagnostics", `{"path":"a.toy","offset":100}`).Text)
	for _, n := range []int{20, 22} {
		b.write("answers.json", pairs(`"publishes":[]`))
		b.write("a.toy", fmt.Sprintf("before %d\n", n))
		b.call("get_diagnostics", `{"path":"a.toy"}`)
		b.write("answers.json", problems(n))
		want := "Wrote a.toy (8 bytes).\n\nNew problems since this change:"
		for i := range 20 {
			want += fmt.Sprintf("\na.toy:%d: error: m%02d", i+1, i)
		}
		if n > 20 {
			want += fmt.Sprintf("\n[%d more: see get_diagnostics.]", n-20)
		}
		require.Equal(t, []string{want}, b.play(lsptoolset.Options{Trust: true}, write("a.toy", fmt.Sprintf("after %d", n))))
	}
}
