// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset/workspace"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// recorder is a workspace that writes down what is asked of it, and fails one of the calls.
type recorder struct {
	*workspace.Memory
	features workspace.Features

	mu    sync.Mutex
	calls []string
	seen  map[string]int
	fail  string // the call that fails, with how often it was made before
}

// note writes a call down. It returns an error if the call is the one to fail.
func (r *recorder) note(format string, args ...any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	call := fmt.Sprintf(format, args...)
	r.seen[call]++
	if n := r.seen[call]; n > 1 {
		call += fmt.Sprintf(" (%d)", n)
	}
	r.calls = append(r.calls, call)
	if call == r.fail {
		return &workspace.PathError{Op: "test", Path: "x", Err: fs.ErrPermission}
	}
	return nil
}

func (r *recorder) Features() workspace.Features { return r.features }

func (r *recorder) Read(ctx context.Context, path string, g workspace.Range) (workspace.File, error) {
	if err := r.note("read %s line %d+%d offset %d limit %d saved %t", path, g.Line, g.Lines, g.Offset, g.Limit, g.Saved); err != nil {
		return workspace.File{}, err
	}
	return r.Memory.Read(ctx, path, g)
}

func (r *recorder) Write(ctx context.Context, path string, data []byte, v workspace.Version) (workspace.Version, error) {
	if err := r.note("write %s %q if %q", path, data, v); err != nil {
		return "", err
	}
	return r.Memory.Write(ctx, path, data, v)
}

func (r *recorder) ApplyChange(ctx context.Context, path string, c workspace.Change) (*workspace.Document, error) {
	if err := r.note("change %s to %q if %q of %s exact %t", path, c.Data, c.IfVersion, c.File, c.Exact); err != nil {
		return nil, err
	}
	return r.Memory.ApplyChange(ctx, path, c)
}

func (r *recorder) Stat(ctx context.Context, path string) (workspace.Info, error) {
	if err := r.note("stat %s", path); err != nil {
		return workspace.Info{}, err
	}
	return r.Memory.Stat(ctx, path)
}

func (r *recorder) Walk(ctx context.Context, dir string, o workspace.WalkOptions) iter.Seq2[workspace.Info, error] {
	if err := r.note("walk %s depth %d details %t filtered %t", dir, o.Depth, o.Details, o.Filter != nil); err != nil {
		return func(yield func(workspace.Info, error) bool) { yield(workspace.Info{Path: dir}, err) }
	}
	return r.Memory.Walk(ctx, dir, o)
}

func (r *recorder) Start(ctx context.Context, c workspace.Command) (workspace.Process, error) {
	if err := r.note("start %q %q in %q with %q sandbox %q", c.Line, c.Args, c.Dir, c.Env, c.Sandbox); err != nil {
		return nil, err
	}
	p, err := r.Memory.Start(ctx, c)
	if err != nil {
		return nil, err
	}
	if c.Line != "serve" {
		if _, err := p.Wait(ctx); err != nil {
			return nil, err
		}
	}
	return recorded{p, r}, nil
}

// recorded is a process of a recorder.
type recorded struct {
	workspace.Process
	r *recorder
}

func (p recorded) Output(ctx context.Context, from int64, limit int) (workspace.Chunk, error) {
	if err := p.r.note("output %s from %d limit %d", p.Ref(), from, limit); err != nil {
		return workspace.Chunk{}, err
	}
	return p.Process.Output(ctx, from, limit)
}

func (p recorded) Wait(ctx context.Context) (workspace.Exit, error) {
	if err := p.r.note("wait %s", p.Ref()); err != nil {
		return workspace.Exit{}, err
	}
	return p.Process.Wait(ctx)
}

func (p recorded) Kill(ctx context.Context) error {
	if err := p.r.note("kill %s", p.Ref()); err != nil {
		return err
	}
	return p.Process.Kill(ctx)
}

func (p recorded) Close(ctx context.Context) error {
	err := p.r.note("close %s", p.Ref())
	if closing := p.Process.Close(ctx); err == nil {
		err = closing
	}
	return err
}

// plainly hides what a workspace implements beside the interface.
type plainly struct{ workspace.Workspace }

// newRecorder makes a workspace with files of every kind.
func newRecorder(t *testing.T) *recorder {
	t.Helper()
	lines := ""
	for i := range 40 {
		lines += fmt.Sprintf("line %d\n", i+1)
	}
	w, err := workspace.NewMemory(workspace.MemoryConfig{
		Roots: []string{"/project", "/more"},
		Commands: map[string]workspace.MemoryScript{
			"hello": workspace.MemoryPrint("hello\n", 0), "fail": workspace.MemoryPrint("permission denied", 3), "quiet": workspace.MemoryPrint("", 0), "long": workspace.MemoryPrint(lines, 0), "wide": workspace.MemoryPrint(strings.Repeat("ä€", 40), 1), "raw": workspace.MemoryPrint("a\xffb", 0), "tool -x a b": workspace.MemoryPrint("args\n", 0),
			"serve": func(ctx context.Context, sh *workspace.MemoryShell) int {
				_, _ = sh.Write([]byte("up\n"))
				<-ctx.Done()
				return 0
			},
		},
	})
	require.NoError(t, err)
	d := w.Disk()
	for _, f := range [][2]string{
		{"a.txt", "one\ntwo\nthree\n"}, {"b/c.go", "package c\n\nfunc C() {\n\treturn\n}\n"}, {"b/d.go", "package d"}, {"crlf.txt", "one\r\ntwo\r\n"}, {"bom.txt", "\ufeffone\n"}, {"latin.txt", "caf\xe9 cr\xe8me\nna\xefve\n"}, {"utf16.txt", "\xff\xfeh\x00i\x00\n\x00y\x00o\x00\n\x00"}, {"image.png", "\x89PNG\r\n\x1a\n"}, {"zero.bin", "a\x00b"}, {"odd.txt", "\xff\xff\xff"}, {"empty.txt", ""}, {"/more/gap.txt", "\n" + strings.Repeat("w", 300)}, {"long.txt", lines}, {"wide.txt", strings.Repeat("w", 8100) + "\nend\n"},
		{".gitignore", "*.log\nignored/\n!keep.log\n"}, {"x.log", "two\n"}, {"keep.log", "two\n"}, {"ignored/z.txt", "two\n"}, {"sub/.ignore", "only.txt\n"}, {"sub/only.txt", "two\n"}, {"sub/deep/f.txt", "zero\ntwo\n"}, {"node_modules/m.txt", "two\n"}, {"a b\n.txt", "two\n"}, {"/more/m.txt", "two more\n"}, {"/etc/secret", "two\n"},
	} {
		name := f[0]
		if name[0] != '/' {
			name = "/project/" + name
		}
		require.NoError(t, d.WriteFile(name, []byte(f[1]), 0o644))
	}
	require.NoError(t, d.Symlink("a.txt", "/project/link"))
	require.NoError(t, d.Symlink("/etc", "/project/out"))
	require.NoError(t, d.Symlink("b", "/project/dirlink"))
	require.NoError(t, d.Pipe("/project/pipe"))
	return &recorder{Memory: w, features: w.Features(), seen: map[string]int{}}
}

// recordedScripts are calls, one or several after each other, as lines of a tool and its arguments.
var recordedScripts = []string{
	// Files that are read.
	`read_file {"path":"a.txt"}`, `read_file {"path":"./b/../a.txt"}`, `read_file {"path":"a.txt","line":2}`, `read_file {"path":"a.txt","line":2,"limit":1}`, `read_file {"path":"a.txt","limit":2}`, `read_file {"path":"a.txt","line":9}`, `read_file {"path":"b/d.go"}`, `read_file {"path":"empty.txt"}`, `read_file {"path":"none"}`, `read_file {"path":"b"}`, `read_file {"path":"pipe"}`, `read_file {"path":"out/secret"}`, `read_file {"path":"/etc/secret"}`, `read_file {"path":"/more/m.txt"}`, `read_file {"path":"link"}`, `read_file {"path":"latin.txt"}`, `read_file {"path":"latin.txt","line":2}`, `read_file {"path":"utf16.txt"}`, `read_file {"path":"utf16.txt","line":2,"limit":1}`, `read_file {"path":"image.png"}`, `read_file {"path":"zero.bin"}`, `read_file {"path":"odd.txt"}`, `read_file {"path":"long.txt"}`, `read_file {"path":"long.txt","line":30}`, `read_file {"path":"long.txt","line":3,"limit":4}`, `read_file {"path":"wide.txt"}`, `read_file {"path":"file:///project/a.txt#L2-3"}`, `read_file {"path":"file:///project/a.txt#L2-3","line":1}`, `read_file {"path":"a b\n.txt"}`, `read_file {"path":"a.txt/x"}`, `read_file {"path":"bom.txt"}`,
	// Files that are written.
	`write_file {"path":"new/x.txt","content":"x\n"}`, `write_file {"path":"a.txt","content":"new\n"}`, `write_file {"path":"a.txt","content":"one\ntwo\nthree\n"}`, `write_file {"path":"link","content":"by link\n"}`, `write_file {"path":"bom.txt","content":"one\ntwo\n"}`, `write_file {"path":"crlf.txt","content":"one\n"}`, `write_file {"path":"latin.txt","content":"é\n"}`, `write_file {"path":"latin.txt","content":"日本\n"}`, `write_file {"path":"utf16.txt","content":"hey\n"}`, `write_file {"path":"image.png","content":"text"}`, `write_file {"path":"b","content":"text"}`, `write_file {"path":"out/x","content":"text"}`, `write_file {"path":"a.txt/x","content":"text"}`, `write_file {"path":"empty.txt","content":"text"}`, `write_file {"path":".git/config","content":"x"}`,
	"write_file {\"path\":\"n\",\"content\":\"1\"}\nwrite_file {\"path\":\"n\",\"content\":\"1\"}\nwrite_file {\"path\":\"n\",\"content\":\"2\"}",
	// Files that are edited.
	`edit_file {"path":"a.txt","edits":[{"old_text":"two","new_text":"2"}]}`, `edit_file {"path":"a.txt","edits":[{"old_text":"o","new_text":"0","replace_all":true}]}`, `edit_file {"path":"a.txt","edits":[{"old_text":"o","new_text":"0"}]}`, `edit_file {"path":"a.txt","edits":[{"old_text":"one","new_text":"1"},{"old_text":"thre","new_text":"3"}]}`, `edit_file {"path":"a.txt","edits":[{"old_text":"one","new_text":"1"},{"old_text":"one","new_text":"3"}]}`, `edit_file {"path":"a.txt","edits":[{"old_text":"one","new_text":"1"},{"old_text":"1","new_text":"one"}]}`, `edit_file {"path":"a.txt","edits":[{"old_text":"","new_text":"3"}]}`, `edit_file {"path":"a.txt","edits":[{"old_text":"two","new_text":"two"}]}`, `edit_file {"path":"a.txt","edits":[{"old_text":" two","new_text":"2"}]}`, `edit_file {"path":"a.txt","edits":[{"old_text":"nothing like it","new_text":"2"}]}`, `edit_file {"path":"none","edits":[{"old_text":"a","new_text":"b"}]}`, `edit_file {"path":"image.png","edits":[{"old_text":"a","new_text":"b"}]}`, `edit_file {"path":"latin.txt","edits":[{"old_text":"café","new_text":"thé"}]}`, `edit_file {"path":"latin.txt","edits":[{"old_text":"café","new_text":"茶"}]}`, `edit_file {"path":"crlf.txt","edits":[{"old_text":"one\ntwo","new_text":"1\n2\n3"}]}`, `edit_file {"path":"link","edits":[{"old_text":"one\n","new_text":""}]}`, `edit_file {"path":"file:///project/a.txt#L2","edits":[{"old_text":"one\ntwo\nthree\n","new_text":""}]}`, `edit_file {"path":"/etc/secret","edits":[{"old_text":"a","new_text":"b"}]}`,
	// Files that are listed and searched.
	`list_files {}`, `list_files {"path":"."}`, `list_files {"path":"b"}`, `list_files {"path":"sub","depth":2}`, `list_files {"depth":1}`, `list_files {"pattern":"*.txt"}`, `list_files {"pattern":"sub/**/*.txt"}`, `list_files {"pattern":"*.txt","depth":1}`, `list_files {"pattern":"[","path":"b"}`, `list_files {"pattern":"*.none"}`, `list_files {"include_ignored":true}`, `list_files {"path":"sub","include_ignored":true,"depth":1}`, `list_files {"path":"none"}`, `list_files {"path":"a.txt"}`, `list_files {"path":"out"}`, `list_files {"path":"/more"}`, `list_files {"path":"dirlink"}`, `list_files {"path":"file:///project/b#L1"}`, `list_files {"path":"ignored"}`,
	`search_files {"pattern":"two"}`, `search_files {"pattern":"TWO","ignore_case":true,"path":"a.txt"}`, `search_files {"pattern":"t.o","path":"sub"}`, `search_files {"pattern":"t.o","literal":true}`, `search_files {"pattern":"two","context":1,"path":"a.txt"}`, `search_files {"pattern":"line 2","context":2,"path":"long.txt"}`, `search_files {"pattern":"line","path":"b"}`, `search_files {"pattern":"("}`, `search_files {"pattern":"a\nb","literal":true}`, `search_files {"pattern":"x","glob":"["}`, `search_files {"pattern":"two","glob":"*.log","include_ignored":true}`, `search_files {"pattern":"two","path":"none"}`, `search_files {"pattern":"w+","path":"wide.txt"}`, `search_files {"pattern":"yo","path":"utf16.txt"}`, `search_files {"pattern":"naïve","path":"latin.txt"}`, `search_files {"pattern":"a","path":"zero.bin"}`, `search_files {"pattern":"two","path":"/more"}`, `search_files {"pattern":"two","path":"/etc"}`,
	// Commands.
	`run_command {"command":"hello"}`, `run_command {"command":"fail"}`, `run_command {"command":"quiet"}`, `run_command {"command":"raw"}`, `run_command {"command":"wide"}`, `run_command {"command":"tool","args":["-x","a","b"]}`, `run_command {"command":"tool -x","args":["a","b"]}`, `run_command {"command":"tool | x","args":["a"]}`, `run_command {"command":"none"}`, `run_command {"command":"none","args":["x"]}`, `run_command {"command":"hello","cwd":"b"}`, `run_command {"command":"hello","cwd":"dirlink"}`, `run_command {"command":"hello","cwd":"none"}`, `run_command {"command":"hello","cwd":"a.txt"}`, `run_command {"command":"hello","cwd":"/etc"}`, `run_command {"command":" "}`, `run_command {"command":"hello","env":{"B":"2","A":"1"}}`, `run_command {"command":"hello","env":{"":"2"}}`, `run_command {"command":"rm b/c.go link"}`, `run_command {"command":"hello","timeout_seconds":5}`,
	"run_command {\"command\":\"long\"}\nget_terminal_output {\"terminal_id\":\"terminal-1\"}\nget_terminal_output {\"terminal_id\":\"terminal-1\",\"from\":100}\nget_terminal_output {\"terminal_id\":\"terminal-1\",\"from\":300}\nget_terminal_output {\"terminal_id\":\"terminal-1\",\"from\":999}\nrelease_terminal {\"terminal_id\":\"terminal-1\"}\nget_terminal_output {\"terminal_id\":\"terminal-1\"}",
	"run_command {\"command\":\"hello\",\"background\":true}\nwait_for_terminal_exit {\"terminal_id\":\"terminal-1\"}\nkill_terminal {\"terminal_id\":\"terminal-1\"}\nrun_command {\"command\":\"quiet\",\"background\":true}\nkill_terminal {\"terminal_id\":\"terminal-3\"}\nrelease_terminal {\"terminal_id\":\"terminal-2\"}\nrelease_terminal {\"terminal_id\":\"terminal-2\"}",
	"run_command {\"command\":\"fail\",\"background\":true}\nget_terminal_output {\"terminal_id\":\"terminal-1\",\"from\":4}",
	`read_file {"path":"/more/gap.txt"}`, `read_file {"path":"/more/gap.txt","line":2}`,
	"kill_terminal {\"terminal_id\":\"x\"}", "wait_for_terminal_exit {\"terminal_id\":\"x\",\"timeout_seconds\":1}", "get_terminal_output {\"terminal_id\":\"x\",\"from\":1}",
}

// What the tools ask of a workspace, what people are asked and what the model is told is recorded,
// also if any of the calls of the workspace fails.
func TestEveryCallOfToolsIsRecorded(t *testing.T) {
	var b strings.Builder
	for _, script := range recordedScripts {
		fmt.Fprintf(&b, "# %s\n", strings.ReplaceAll(script, "\n", "\n# "))
		var whole strings.Builder
		calls := runScript(t, &whole, script, "", false)
		b.WriteString(whole.String())
		for i, call := range calls {
			fmt.Fprintf(&b, "%d: %s\n", i+1, call)
		}
		for i, call := range calls {
			var failed strings.Builder
			runScript(t, &failed, script, call, false)
			said := "nothing changes"
			if failed.String() != whole.String() {
				said = strings.ReplaceAll(strings.TrimSpace(failed.String()), "\n", "\n   ")
			}
			fmt.Fprintf(&b, "%d fails: %s\n", i+1, said)
		}
		var plain strings.Builder
		calls = runScript(t, &plain, script, "", true)
		if strings.HasPrefix(script, "write") || strings.HasPrefix(script, "edit") {
			fmt.Fprintf(&b, "plainly: %s\n   %s\n", strings.ReplaceAll(strings.TrimSpace(plain.String()), "\n", "\n   "), strings.Join(calls, "\n   "))
		}
		b.WriteByte('\n')
	}
	golden(t, "calls.txt", b.String())
}

// runScript makes the calls of a script in a new workspace, writes what is asked and told, and
// returns what was asked of the workspace.
func runScript(t *testing.T, b *strings.Builder, script, fail string, plain bool) []string {
	t.Helper()
	w := newRecorder(t)
	w.fail = fail
	var ws workspace.Workspace = w
	if plain {
		ws = plainly{w}
	}
	r := newRig(t, ws, workspace.WithReadLimit(200), workspace.WithOutputLimit(120))
	r.session = workspace.NewSession(ws)
	for line := range strings.Lines(script) {
		tool, raw, _ := strings.Cut(strings.TrimSpace(line), " ")
		var in args
		require.NoError(t, json.Unmarshal([]byte(raw), &in))
		told := r.calls(toolCall{tool, in})[0]
		for _, req := range r.asked {
			fmt.Fprintf(b, "? %s\n", asked(t, req.Approval))
		}
		r.asked = nil
		fmt.Fprintf(b, "= %s%s\n", told.Kind, shownMeta(told))
		for text := range strings.Lines(strings.TrimSuffix(told.Text, "\n")) {
			fmt.Fprintf(b, "| %s\n", strings.TrimSuffix(shortened(text), "\n"))
		}
	}
	for _, term := range r.session.Terminals() {
		fmt.Fprintf(b, "%s %s %s kept %t\n", term.ID, term.Title(), term.Dir, term.Kept)
	}
	w.mu.Lock()
	calls := slices.Clone(w.calls)
	w.mu.Unlock()
	if strings.HasPrefix(script, "search") { // by several workers
		slices.Sort(calls)
	}
	_ = r.session.Close(context.Background())
	return calls
}

func shownMeta(p model.Part) string {
	if len(p.Meta) == 0 {
		return ""
	}
	return " " + string(p.Meta)
}

// asked returns a question as a text, without what is empty.
func asked(t *testing.T, a any) string {
	raw, err := json.Marshal(a)
	require.NoError(t, err)
	return shortened(string(raw))
}

var longRun = regexp.MustCompile("w{20,}")

// shortened writes how long a run of a letter is.
func shortened(text string) string {
	return longRun.ReplaceAllStringFunc(text, func(run string) string { return fmt.Sprintf("w*%d", len(run)) })
}

// golden compares a text with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	wantLines, gotLines := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	heading := ""
	for i := range min(len(wantLines), len(gotLines)) {
		if strings.HasPrefix(wantLines[i], "#") {
			heading = wantLines[i]
		}
		require.Equal(t, wantLines[i], gotLines[i], "%s, line %d: %s", name, i+1, heading)
	}
	require.Len(t, gotLines, len(wantLines), name)
}
