// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// publish makes the server publish the problems of each document that is opened or changed, after a
// delay: the lines that have a "!".
func (d *desk) publish(delay *time.Duration) {
	d.p.told = func(method, params string) {
		if method != "textDocument/didOpen" && method != "textDocument/didChange" || *delay < 0 {
			return
		}
		var p struct {
			TextDocument struct {
				URI, Text string
				Version   int
			}
			ContentChanges []struct{ Text string }
		}
		_ = json.Unmarshal([]byte(params), &p)
		text := p.TextDocument.Text
		for _, c := range p.ContentChanges {
			text = c.Text
		}
		var problems []string
		for i, line := range strings.Split(text, "\n") {
			if strings.Contains(line, "!") {
				problems = append(problems, fmt.Sprintf(`{"range":%s,"severity":2,"message":%q,"source":"s"}`, where(i, 0, 1), line))
			}
		}
		time.AfterFunc(*delay, func() {
			d.p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"textDocument/publishDiagnostics","params":{"uri":%q,"version":%d,"diagnostics":[%s]}}`,
				p.TextDocument.URI, p.TextDocument.Version, strings.Join(problems, ",")))
		})
	}
}

// TestReports compares what the results of edits tell about new problems, and how long they wait for
// that: a second here.
func TestReports(t *testing.T) {
	const ms = time.Millisecond
	var got string
	replace := func(text string) string {
		return fmt.Sprintf(`{"path":"a.toy","symbol":"run","where":"replace","text":%q}`, text)
	}
	outline := []string{"documentSymbol", result(symbolIn("run", 12, 0, 1, 4, ""))}
	for _, server := range []string{"gopls", "fake"} {
		for _, delay := range []time.Duration{0, 300 * ms, 500 * ms, 1100 * ms, -1} {
			bubble(t, func(t *testing.T) {
				d := newDesk(t, server, Options{Budget: 1000 * ms}, map[string]string{"a.toy": "def run\nold!\n"})
				d.approved = true
				now := time.Duration(0)
				d.publish(&now)
				fmt.Fprintf(&d.told, "\n## %s, published after %v\n", server, delay)
				d.call("get_diagnostics", `{"path":"a.toy"}`)
				now = delay
				time.Sleep(time.Hour)
				d.call("edit_symbol", replace("def run\nnew!\nbad!"), outline...)
				time.Sleep(time.Hour)
				now = 0
				d.call("edit_symbol", replace("def run"), outline...)
				time.Sleep(time.Hour)
				got += d.told.String()
			})
		}
	}
	golden(t, "reports.txt", got)
}

// Reports are of the files that an edit changes, thirty-two at most, and of those that the session
// may read. Servers that do not run, or end, are named.
func TestReportsAreOfChangedFiles(t *testing.T) {
	bubble(t, func(t *testing.T) {
		files := map[string]string{}
		var edits []string
		for i := range 33 {
			name := fmt.Sprintf("f%02d.toy", i)
			files[name] = "run\n"
			edits = append(edits, fmt.Sprintf(`"ROOT/%s":[{"range":%s,"newText":"walk!"}]`, name, where(0, 0, 3)))
		}
		files["z.oth"], files["y.txt"] = "run\n", "run\n"
		edits = append(edits, `"ROOT/z.oth":[{"newText":"x"}]`, `"ROOT/y.txt":[{"newText":"x"}]`)
		d := newDesk(t, "gopls", Options{Budget: time.Second}, files)
		v := d.l.guest.view
		other := Server{Name: "other", Command: []string{"/bin/sh"}, Files: map[string]string{".oth": "other"}}
		v.pool.config.Servers = []Server{v.pool.config.Servers[0], other}
		d.l.guest.server = &v.pool.config.Servers[0]
		v.allowed["other"] = true
		d.approved = true
		delay := time.Duration(0)
		d.publish(&delay)
		rename := []string{"textDocument/rename", `"result":{"changes":{` + strings.Join(edits, ",") + `}}`}
		text := d.call("rename_symbol", `{"symbol":"run","path":"f00.toy","line":1,"new_name":"walk!"}`, rename...)
		require.Equal(t, 32, strings.Count(d.told.String(), "heard: textDocument/didOpen"))
		head, tail, _ := strings.Cut(text, "\n\nNew problems since this change:\n")
		require.True(t, strings.HasPrefix(head, "Rename run to walk!: done.\nf00.toy: +1 -1 lines\n"), head)
		want := ""
		for i := range 20 {
			want += fmt.Sprintf("f%02d.toy:1: warning: walk! [s]\n", i)
		}
		require.Equal(t, want+"[12 more: see get_diagnostics.]\n[No diagnostics: the language server other is not running. get_diagnostics starts it.]", tail)
	})
	bubble(t, func(t *testing.T) {
		d := newDesk(t, "gopls", Options{Budget: time.Second}, map[string]string{"a.toy": "def run\n", "b.toy": "b!\n", "c.toy": "c\n"})
		d.approved = true
		delay := time.Duration(0)
		d.publish(&delay)
		for _, name := range []string{"a.toy", "b.toy", "c.toy"} {
			d.call("get_diagnostics", `{"path":"`+name+`"}`)
		}
		d.session.GuardReads(func(path string) (toolset.Verdict, string) {
			return map[bool]toolset.Verdict{true: toolset.VerdictDeny}[path == "/project/c.toy"], "secret"
		})
		rename := []string{"textDocument/rename", `"result":{"changes":{"ROOT/a.toy":[{"newText":"a!"}]}}`}
		told := d.p.told
		d.p.told = func(method, params string) {
			if method == "textDocument/didChange" { // what it breaks elsewhere
				for _, name := range []string{"b.toy", "c.toy"} {
					d.p.send(`{"jsonrpc":"2.0","method":"textDocument/publishDiagnostics","params":{"uri":"ROOT/` + name + `","diagnostics":[{"range":` + where(0, 0, 1) + `,"message":"broken"}]}}`)
				}
			}
			told(method, params)
		}
		text := d.call("rename_symbol", `{"symbol":"run","path":"a.toy","line":1,"new_name":"x"}`, rename...)
		_, tail, _ := strings.Cut(text, "\n\nNew problems since this change:\n")
		require.Equal(t, "b.toy:1: error: broken\na.toy:1: warning: a!def run [s]", tail)
	})
}

// A call whose context has ended ends with its cause, whatever it was about to ask.
func TestEndedCallsAskNothing(t *testing.T) {
	because := errors.New("because")
	for tool, args := range map[string]string{
		"find_symbols": `{"path":"a.toy"}`, "find_definition": `{"symbol":"run","path":"a.toy"}`, "find_references": `{"symbol":"run","path":"a.toy"}`,
		"get_diagnostics": `{"path":"a.toy"}`, "rename_symbol": `{"symbol":"run","path":"a.toy","new_name":"x"}`,
		"edit_symbol": `{"path":"a.toy","symbol":"run","where":"replace","text":"x"}`, "code_actions": `{"path":"a.toy","apply":"x"}`,
	} {
		for _, missing := range []bool{false, true} {
			bubble(t, func(t *testing.T) {
				d := newDesk(t, "gopls", Options{Budget: -1}, map[string]string{"a.toy": "def run\n"})
				d.p.answer = func(method, params string) string { return "" } // it does not answer
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { cancel(because) })
				if missing {
					args = strings.Replace(args, "a.toy", "b.toy", 1)
					d.w.fails = func(string) error { cancel(because); return because }
				}
				d.l.syncing <- struct{}{}
				began := time.Now()
				_, err := toolsettest.Call(ctx, d.set, &toolset.RunContext[*workspace.Session]{Deps: d.session}, tool, args)
				require.ErrorIs(t, err, because, tool)
				require.Nil(t, toolset.Outcome(err), tool)
				if !missing {
					require.Equal(t, time.Second, time.Since(began), tool)
				}
			})
		}
	}
}

// A session without a workspace has no tools, and what its calls ask is left to the calls.
func TestQuestionsAreLeftToCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := newDesk(t, "gopls", Options{}, map[string]string{"a.toy": "def run\n"})
		run := &toolset.RunContext[*workspace.Session]{Deps: d.session}
		in, err := d.set.Open(t.Context(), run)
		require.NoError(t, err)
		listing, err := in.Tools(t.Context(), run)
		require.NoError(t, err)
		require.Equal(t, instructions, listing.Instructions)
		for _, tool := range listing.Tools {
			args, err := tool.Decode([]byte(`{"symbol":"run","path":"a.toy","new_name":"x","where":"replace","text":"x","apply":"x"}`))
			if err != nil {
				continue // members of other tools
			}
			approval, err := tool.Approval(t.Context(), &toolset.RunContext[*workspace.Session]{}, args)
			require.NoError(t, err)
			require.Nil(t, approval)
			_, err = tool.Call(t.Context(), &toolset.RunContext[*workspace.Session]{}, args)
			require.EqualError(t, err, "failed: No workspace is available.")
			d.l.guest.view.pool.closed = true
			approval, err = tool.Approval(t.Context(), run, args)
			require.NoError(t, err)
			require.Nil(t, approval)
			_, err = tool.Call(t.Context(), run, args)
			require.EqualError(t, err, "lsptoolset: the language servers are closed")
			require.ErrorIs(t, err, ErrClosed)
			d.l.guest.view.pool.closed = false
		}
	})
}
