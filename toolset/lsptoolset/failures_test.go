// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// failing is a call of a tool, with the answers of the server.
type failing struct {
	tool, args string
	answers    []string
	prepare    func(d *desk)
}

// failingCalls are calls that use servers and files in all ways.
func failingCalls() []failing {
	const symbols, search, define = "documentSymbol", "workspace/symbol", "textDocument/definition"
	fun := symbolIn("run", 12, 0, 1, 4, "")
	class := symbolIn("T", 5, 1, 2, 6, `,"children":[`+symbolIn("go", 6, 2, 1, 2, "")+"]")
	outline := result(fun, class)
	item := fmt.Sprintf(`{"name":"run","kind":12,"uri":"ROOT/a.toy","range":%s,"selectionRange":%s}`, where(0, 0, 7), where(0, 4, 7))
	edits := fmt.Sprintf(`"edit":{"changes":{"ROOT/a.toy":[{"range":%s,"newText":"x"}]}}`, where(0, 4, 7))
	fix := `{"title":"Fix","kind":"quickfix","data":1}`
	resolves := func(d *desk) { d.l.can.CodeActionProvider = rawJSON(`{"resolveProvider":true}`) }
	asked := func(d *desk) { d.l.can.DiagnosticProvider = rawJSON("{}") }
	pulled := []string{"textDocument/diagnostic", `"result":{"kind":"full","items":[{"range":` + where(0, 0, 3) + `,"message":"bad"}]}`}
	return []failing{
		{"find_symbols", `{"path":"a.toy"}`, []string{symbols, outline}, nil},
		{"find_symbols", `{"query":"run"}`, []string{search, result(found("run", "a.toy", 0, 4))}, nil},
		{"find_definition", `{"symbol":"T.go","body":true}`, []string{`"T.go"`, result(), search, result(found("T", "a.toy", 1, 6)), symbols, outline, define, result(placeIn("b.toy", 0, 0))}, nil},
		{"find_definition", `{"symbol":"run","path":"b.toy","line":2,"body":true}`, []string{define, result(placeIn("a.toy", 0, 4)), symbols, outline, "hover", `"result":{"contents":"said"}`}, nil},
		{"find_definition", `{"symbol":"two","path":"a.toy"}`, []string{symbols, result(symbolIn("two", 12, 3, 1, 0, ""), symbolIn("two", 12, 4, 1, 0, "")), "references", result(placeIn("a.toy", 3, 0), placeIn("a.toy", 4, 0)), define, result(placeIn("a.toy", 3, 0))}, nil},
		{"find_references", `{"symbol":"run","path":"b.toy"}`, []string{symbols, result(), define, result(placeIn("a.toy", 0, 4)), "references", result(placeIn("b.toy", 1, 2))}, nil},
		{"find_references", `{"symbol":"run","path":"a.toy","kind":"callers"}`, []string{symbols, outline, "prepareCallHierarchy", result(item), "incomingCalls", result(`{"from":` + item + `,"fromRanges":[` + where(1, 0, 3) + `]}`)}, nil},
		{"find_references", `{"symbol":"run","path":"a.toy","kind":"callees"}`, []string{symbols, outline, "prepareCallHierarchy", result(item), "outgoingCalls", result(`{"to":` + item + `}`)}, nil},
		{"find_references", `{"symbol":"two","kind":"callers"}`, []string{search, result(found("p.two", "a.toy", 3, 0), `{"name":"p.T.two","kind":6,"location":`+placeIn("b.toy", 1, 2)+`}`), `b.toy"}}`, result(symbolIn("T.two", 6, 1, 1, 2, "")), symbols, result(symbolIn("two", 5, 3, 1, 0, "")), `{"line":3`, result(), "prepareCallHierarchy", result(item), "incomingCalls", result()}, nil},
		{"rename_symbol", `{"symbol":"run","path":"b.toy","line":2,"new_name":"x"}`, []string{"textDocument/rename", `"result":{"changes":{"ROOT/a.toy":[{"range":` + where(0, 4, 7) + `,"newText":"x"}]}}`}, nil},
		{"edit_symbol", `{"path":"a.toy","symbol":"run","where":"before","text":"x"}`, []string{symbols, outline}, nil},
		{"code_actions", `{"path":"a.toy","apply":"Fix"}`, append([]string{"textDocument/codeAction", result(fix), "codeAction/resolve", `"result":{"title":"Fix",` + edits + `}`}, pulled...), func(d *desk) { resolves(d); asked(d) }},
		{"code_actions", `{"path":"a.toy","apply":"Format the file"}`, append([]string{"formatting", `"result":[{"range":` + where(0, 0, 3) + `,"newText":"x"}]`}, pulled...), asked},
		{"code_actions", `{"path":"a.toy","apply":"Do"}`, append([]string{"textDocument/codeAction", result(`{"title":"Do","command":"edit"}`)}, pulled...), asked},
		{"get_diagnostics", `{"path":"a.toy"}`, pulled, asked},
		{"get_diagnostics", `{}`, pulled, func(d *desk) { asked(d); d.l.guest.server.OpenOnly = true }},
	}
}

// fromJSON is what package json says of a text, in other words with each version of Go.
var fromJSON = regexp.MustCompile(`json: .*`)

// TestFailures lets each request to a server, and each use of a file, go wrong in turn, in several
// ways, and compares what models are told. No run ends, unless its context has, or the workspace is
// lost.
func TestFailures(t *testing.T) {
	because := errors.New("because")
	var told strings.Builder
	// try makes a call in which something may happen to the n-th request.
	try := func(f *failing, request func(n int, method string, cancel context.CancelCauseFunc) (answer string, ok bool), fails func(n int, use string) error) (text string, requests, uses int) {
		bubble(t, func(t *testing.T) {
			d := newDesk(t, "gopls", Options{Budget: -1}, map[string]string{
				"a.toy": "def run\nclass T\n  go\ntwo\ntwo\n", "b.toy": "use run\n  run two\n",
			})
			if f.prepare != nil {
				f.prepare(d)
			}
			d.answers = f.answers
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			usual := d.p.answer
			d.p.answer = func(method, params string) string {
				if strings.HasPrefix(method, "$/") {
					return ""
				}
				requests++
				if answer, ok := request(requests, method, cancel); ok {
					return answer
				}
				return usual(method, params)
			}
			d.w.fails = func(use string) error { uses++; return fails(uses, use) }
			run := &toolset.RunContext[*workspace.Session]{Deps: d.session}
			run.Call.Approved = true
			res, err := toolsettest.Call(ctx, d.set, run, f.tool, f.args)
			text = res.Text
			if err != nil {
				text = "error: " + err.Error()
				require.True(t, toolset.Outcome(err) != nil || errors.Is(err, because) || errors.Is(err, workspace.ErrLost), text)
			} else if res.Outcome != "" {
				text = string(res.Outcome) + ": " + text
			}
			text = strings.ReplaceAll(strings.TrimSpace(fromJSON.ReplaceAllString(text, "json: …")), "\n", "\n    ")
		})
		return text, requests, uses
	}
	no := func(int, string, context.CancelCauseFunc) (string, bool) { return "", false }
	fine := func(int, string) error { return nil }
	for _, f := range failingCalls() {
		text, requests, uses := try(&f, no, fine)
		fmt.Fprintf(&told, "\n# %s %s\n    %s\n", f.tool, f.args, text)
		say := func(what, got string) {
			if got == text {
				got = "the same"
			}
			fmt.Fprintf(&told, "%s: %s\n", what, got)
		}
		for n := range requests {
			var method string
			spoil := func(answer string) string {
				asked := 0
				got, _, _ := try(&f, func(i int, m string, _ context.CancelCauseFunc) (string, bool) {
					if i == n+1 {
						method, asked = m, asked+1
						return answer, true
					}
					return "", false
				}, fine)
				require.Equal(t, 1, asked)
				return got
			}
			what := func(how string) string { return fmt.Sprintf("%d %s %s", n+1, method, how) }
			got := spoil(failure)
			say(what("fails"), got)
			got = spoil(`"result":"x"`)
			say(what("malformed"), got)
			got = spoil(`"result":[1]`)
			say(what("malformed list"), got)
			got = spoil(`"result":null`)
			say(what("nothing"), got)
			got = spoil(`"error":{"code":-32801,"message":"modified"}`)
			require.Equal(t, text, got, "it is asked again")
			got, _, _ = try(&f, func(i int, _ string, cancel context.CancelCauseFunc) (string, bool) {
				if i == n+1 {
					cancel(because)
				}
				return "", i == n+1
			}, fine)
			require.Equal(t, "error: lsptoolset: "+f.tool+": because", got, what("ends"))
		}
		for n := range uses {
			for how, err := range []error{because, &workspace.PathError{Op: "use", Path: "it", Err: fs.ErrPermission}, workspace.ErrLost} {
				var used string
				got, _, _ := try(&f, no, func(i int, use string) error {
					if i == n+1 {
						used = use
						return err
					}
					return nil
				})
				say(fmt.Sprintf("%s %s", used, []string{"fails", "is denied", "is lost"}[how]), got)
			}
		}
	}
	golden(t, "failures.txt", told.String())
}
