// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// mischief is an editor of which one call does not go as it should.
type mischief struct {
	mu    sync.Mutex
	n     int // of the calls so far
	which int // the call; 0 is none
	err   error
	late  time.Duration // instead of an error
	asked []string
}

func (m *mischief) before(ctx context.Context, c acptest.Call) error {
	time.Sleep(time.Nanosecond) // everything else has happened
	m.mu.Lock()
	m.n++
	is := m.n == m.which
	data, err := json.Marshal(c.Params)
	if err != nil {
		panic(err)
	}
	m.asked = append(m.asked, c.Method+" "+string(data))
	m.mu.Unlock()
	if !is {
		return nil
	}
	if m.late > 0 {
		select {
		case <-time.After(m.late):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return m.err
}

// toolScripts are what a model does with the tools in one run.
var toolScripts = map[string][]model.Part{
	"files": {
		call("1", "read_file", args{"path": "main.go"}),
		call("2", "read_file", args{"path": "main.go", "line": 2, "limit": 1}),
		call("3", "read_file", args{"path": "none.go"}),
		call("4", "write_file", args{"path": "new.go", "content": "package app\n"}),
		call("5", "edit_file", editArgs("main.go", "two", "2")),
		call("6", "edit_file", editArgs("main.go", "none", "2")),
		call("7", "write_file", args{"path": "main.go", "content": "all\nnew\n"}),
		call("8", "write_file", args{"path": "main.go", "content": "all\nnew\n"}),
		call("9", "write_file", args{"path": "/etc/passwd", "content": "me"}),
	},
	"commands": {
		call("1", "run_command", args{"command": "make all"}),
		call("2", "run_command", args{"command": "make", "args": []string{"some", "more"}, "cwd": "sub", "env": args{"A": "1"}}),
		call("3", "run_command", args{"command": "fails"}),
		call("4", "run_command", args{"command": "hangs", "timeout_seconds": 5}),
		call("5", "run_command", args{"command": "serve", "background": true}),
		call("6", "wait_for_terminal_exit", args{"terminal_id": "terminal-5", "timeout_seconds": 3}),
		call("7", "get_terminal_output", args{"terminal_id": "terminal-5"}),
		call("8", "kill_terminal", args{"terminal_id": "terminal-5"}),
		call("9", "wait_for_terminal_exit", args{"terminal_id": "terminal-5"}),
		call("10", "get_terminal_output", args{"terminal_id": "terminal-5"}),
		call("11", "release_terminal", args{"terminal_id": "terminal-5"}),
		call("12", "get_terminal_output", args{"terminal_id": "terminal-5"}),
		call("13", "run_command", args{"command": "make", "sandbox": "none"}),
		call("14", "run_command", args{"command": "serve", "background": true}),
	},
}

// toolsWith runs a script in an editor, and returns what it was asked, and what the model was told.
func toolsWith(t *testing.T, script []model.Part, m *mischief, answers []acptest.Answer, opts ...acpbridge.ToolsetOption) (asked, told []string) {
	t.Helper()
	editor := acptest.New(acptest.Options{
		Files: map[string]string{"/project/main.go": "one\ntwo\nthree\n"},
		Programs: map[string]acptest.Program{
			"make": acptest.Prints("made\n", 0), "fails": acptest.Prints("no rule\n", 2), "hangs": acptest.Runs("waiting\n"), "serve": acptest.Runs("listening\n"),
		},
		Before: m.before, Answers: answers,
	})
	r := runScript(t.Context(), t, editor, editor.Deps("/project"), stepsOf(script), opts...)
	if r.err != nil {
		told = append(told, "the run ends: "+r.err.Error())
	}
	for _, p := range r.answers() {
		told = append(told, fmt.Sprintf("told %s %s %q", p.CallID, p.Outcome, p.Text))
	}
	for _, v := range editor.Violations() {
		told = append(told, "violation: "+v)
	}
	for _, open := range editor.Open() {
		told = append(told, "open: "+open)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked, told
}

// different returns the lines of got that are not in want, and the other way round.
func different(want, got []string) []string {
	var lines []string
	rest := slices.Clone(want)
	for _, l := range got {
		if i := slices.Index(rest, l); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
			continue
		}
		lines = append(lines, "+ "+l)
	}
	for i, l := range rest {
		if i == 6 {
			lines = append(lines, fmt.Sprintf("- and %d others", len(rest)-i))
			break
		}
		l, _, _ = strings.Cut(strings.Replace(l, `{"sessionId":"session-1",`, "", 1), `"title"`)
		lines = append(lines, "- "+l[:min(len(l), 100)])
	}
	return lines
}

// TestEveryCallOfAnEditorMayGoWrong has runs with all the tools, in which one call of the editor after another fails or is slow. What the
// editor is asked and shown, and what the model is told, is compared with a record: of the first run everything, and of the others what is
// different. Run it with -update to make the record anew, and read it.
func TestEveryCallOfAnEditorMayGoWrong(t *testing.T) {
	var got strings.Builder
	outcomes := map[string]string{} // titles by outcome
	var order []string
	note := func(title string, lines []string) {
		outcome := strings.Join(lines, "\n")
		if outcomes[outcome] == "" {
			order = append(order, outcome)
		}
		outcomes[outcome] += title + "\n"
	}
	for _, name := range []string{"files", "commands"} {
		script := toolScripts[name]
		var asked, told []string
		synctest.Test(t, func(t *testing.T) {
			asked, told = toolsWith(t, script, &mischief{}, nil)
		})
		note("# "+name+", with a good editor", append(slices.Clone(asked), told...))
		for n := range asked {
			for _, how := range []struct {
				title string
				err   error
				late  time.Duration
			}{
				{"fails", acp.Errorf(acp.CodeInternal, "broken"), 0}, {"is not known", acp.Errorf(acp.CodeMethodNotFound, "method not found"), 0}, {"finds nothing", acp.Errorf(acp.CodeResourceNotFound, "gone"), 0},
				{"is the last", acp.ErrClosed, 0}, {"takes a minute", nil, time.Minute},
			} {
				if strings.HasPrefix(asked[n], acp.MethodSessionUpdate) && how.title != "fails" {
					continue // nobody looks at the error
				}
				synctest.Test(t, func(t *testing.T) {
					m := &mischief{which: n + 1, err: how.err, late: how.late}
					then, now := toolsWith(t, script, m, nil)
					lines := different(asked, then)
					note(fmt.Sprintf("# %s, where call %d %s (%s)", name, n+1, how.title, strings.SplitN(asked[n], " ", 2)[0]), append(lines, different(told, now)...))
				})
			}
		}
		synctest.Test(t, func(t *testing.T) {
			then, now := toolsWith(t, script, &mischief{}, nil, allowed()...)
			note("# "+name+", where everything is allowed", append(different(asked, then), different(told, now)...))
		})
		for _, answer := range []acptest.Answer{acptest.RejectOnce, acptest.RejectAlways, acptest.AllowAlways} {
			synctest.Test(t, func(t *testing.T) {
				then, now := toolsWith(t, script, &mischief{}, []acptest.Answer{answer})
				note(fmt.Sprintf("# %s, where the first answer is %v", name, answer), append(different(asked, then), different(told, now)...))
			})
		}
	}
	for _, outcome := range order {
		got.WriteString(outcomes[outcome] + outcome + "\n\n")
	}
	golden(t, "mischief.want", got.String())
}

// stepsOf are the steps of a model that makes the calls one after the other, and then says that it is done.
func stepsOf(calls []model.Part) (steps []modeltest.Step) {
	for _, c := range calls {
		steps = append(steps, modeltest.Say(c))
	}
	return append(steps, modeltest.SayText("done"))
}
