// SPDX-License-Identifier: Apache-2.0

package plain_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/term/plain"
	"github.com/ponte-go/ponte/toolset"
)

// paper is a printer, and what it has printed.
type paper struct {
	*plain.Printer
	bytes.Buffer
	fold acpclient.Fold
	last *view.Snapshot
	t    *testing.T
}

func newPaper(t *testing.T, color bool) *paper {
	p := &paper{t: t}
	p.Printer = plain.New(&p.Buffer, color, "/repo")
	return p
}

// updates shows updates, each by itself.
func (p *paper) updates(all ...acp.SessionUpdate) {
	for i := range all {
		require.NoError(p.t, p.fold.Apply(&all[i]))
		p.show()
	}
}

func (p *paper) show() {
	u, err := p.fold.View().Cursor(p.last).Update(p.t.Context())
	require.NoError(p.t, err)
	p.last = u.Snapshot
	p.Update(u)
}

// command shows a command, as far as it is.
func (p *paper) command(id, output string, exit *view.Exit) {
	e := &view.Entity{ID: id, Kind: view.Command, Title: "make", Dir: "/repo", Status: view.Running, Content: []view.Content{{Kind: view.Text, Text: output}}}
	if exit != nil {
		e.Status, e.Exit = view.Completed, exit
	}
	require.NoError(p.t, p.fold.View().Apply(view.Change{Op: view.Upsert, ID: id, Entity: e}))
	p.show()
}

func call(id, title string, status acp.ToolCallStatus, content ...acp.ToolCallContent) acp.SessionUpdate {
	return acp.SessionUpdate{ToolCall: &acp.ToolCall{ToolCallID: acp.ToolCallID(id), Title: title, Status: status, Content: content}}
}

func change(id string, status acp.ToolCallStatus, content ...acp.ToolCallContent) acp.SessionUpdate {
	return acp.SessionUpdate{ToolCallUpdate: &acp.ToolCallUpdate{ToolCallID: acp.ToolCallID(id), Status: status, Content: content}}
}

func diff(path, old, text string) acp.ToolCallContent {
	return acp.ToolCallContent{Diff: &acp.Diff{Path: path, OldText: &old, NewText: text}}
}

func said(text string) acp.ToolCallContent {
	return acp.ToolCallContent{Content: &acp.Content{Content: acp.TextBlock(text)}}
}

func TestATurnOnPaper(t *testing.T) {
	p := newPaper(t, false)
	p.updates(
		acp.ThoughtChunk("my plan: "), acp.ThoughtChunk("read.\n"),
		call("1", "Read a.txt", acp.ToolCallStatusPending), change("1", acp.ToolCallStatusInProgress), change("1", acp.ToolCallStatusCompleted),
		acp.TextChunk("\n\nIt says\n"), acp.TextChunk("\nhello.\n\n"),
		call("2", "Write a.txt", acp.ToolCallStatusPending, diff("/repo/a.txt", "one\ntwo\n", "one\n2\n")),
	)
	r := &acpclient.PermissionRequest{Call: p.last.Get("call:2"), Approval: toolset.Approval{Title: "Write a.txt", Preview: []toolset.Preview{
		{Diff: &toolset.Diff{Path: "/repo/a.txt", Old: new("one\ntwo\n"), New: new("one\n2\n")}}}}}
	p.Asked(r, "once", "-yes: Allow")
	p.updates(
		change("2", acp.ToolCallStatusCompleted), acp.TextChunk("Done."),
		call("3", "Run x", "", said("no such\nprogram")), change("3", acp.ToolCallStatusFailed),
		acp.SessionUpdate{UsageUpdate: &acp.UsageUpdate{Used: 500, Size: 1000}},
	)
	p.EndTurn()
	require.Equal(t, `my plan: read.

✓ Read a.txt

It says

hello.

○ Write a.txt (pending)
    a.txt  +1 -1
    @@ -1,2 +1,2 @@
     one
    -two
    +2
  -yes: Allow
✓ Write a.txt

Done.

✗ Run x (failed)
    no such
    program
  context: 500 of 1000 tokens (50 %)
`, p.String())
}

func TestColorsOnlyWhereTheyAreWanted(t *testing.T) {
	for _, color := range []bool{false, true} {
		p := newPaper(t, color)
		p.updates(acp.ThoughtChunk("hm"), acp.TextChunk("ok"), call("1", "Write", acp.ToolCallStatusCompleted, diff("/repo/a", "x\n", "y\n")))
		p.EndTurn()
		if !color {
			require.NotContains(t, p.String(), "\x1b")
			continue
		}
		for _, want := range []string{"\x1b[2mhm\x1b[0m", "\x1b[31m    -x\x1b[0m", "\x1b[32m    +y\x1b[0m", "\x1b[32m✓\x1b[0m Write"} {
			require.Contains(t, p.String(), want)
		}
	}
}

func TestCommandOutputIsShownFromBothEnds(t *testing.T) {
	p := newPaper(t, false)
	var all strings.Builder
	for i := range 100 {
		fmt.Fprintf(&all, "line %02d\n", i)
		p.command("c", all.String(), nil)
	}
	all.WriteString("10 %\r50 %\r\x1b[31mred\x1b[0m")
	p.command("c", all.String(), &view.Exit{Code: 1})
	p.command("c", all.String()+"late\n", &view.Exit{Code: 1})
	got := p.String()
	require.True(t, strings.HasPrefix(got, "  $ make\n  │ line 00\n  │ line 01\n"), got)
	require.Contains(t, got, "  │ line 19\n  │ … 71 lines …\n  │ line 91\n")
	require.True(t, strings.HasSuffix(got, "  │ line 99\n  │ red\n  └ exit code 1\n"), got)
}

func TestNothingControlsTheTerminal(t *testing.T) {
	const evil = "\x1b[2J\x1b]0;title\x07\x1b[31m\u202e\u009b31m\x00\x08\r\x1bc"
	p := newPaper(t, false)
	p.updates(acp.TextChunk(evil+"a"), acp.ThoughtChunk(evil+"b"), call("1", evil, acp.ToolCallStatusPending, diff("/repo/"+evil, evil, "y")),
		change("1", acp.ToolCallStatusFailed, said(evil)),
		acp.SessionUpdate{Plan: &acp.Plan{Entries: []acp.PlanEntry{{Content: evil}}}},
		acp.SessionUpdate{Notice: &acp.Notice{Title: evil, Description: new(evil)}},
	)
	p.command("c", evil+"\n"+evil, &view.Exit{Code: -1, Signal: evil})
	p.Asked(&acpclient.PermissionRequest{Approval: toolset.Approval{Title: evil, Reason: evil, Preview: []toolset.Preview{
		{Text: evil}, {Command: &toolset.CommandLine{Line: evil, Dir: evil, Env: []string{evil}}}, {Diff: &toolset.Diff{Path: evil, New: new(evil)}},
	}}}, "", evil)
	p.Ask([]acp.PermissionOption{{Name: evil}}, "bcdfg")
	p.Fail(evil)
	p.EndTurn()
	for _, r := range p.String() {
		require.True(t, r == '\n' || r >= ' ' && r != 0x7f && (r < 0x80 || r > 0x9f) && r != 0x202e, "%q in:\n%q", r, p.String())
	}
}

// A hidden end of a command ran once, because the question was cut.
func TestQuestionsShowWholeCommands(t *testing.T) {
	p := newPaper(t, false)
	line := "echo " + strings.Repeat("harmless ", 50) + "; touch X\nrm y"
	title := "Run " + line
	p.updates(call("1", title, acp.ToolCallStatusPending, said("nothing to see")))
	p.Preview(&acpclient.PermissionRequest{Call: p.last.Get("call:1"), Approval: toolset.Approval{Title: title, Preview: []toolset.Preview{
		{Text: strings.Repeat("padding\n", 1000)},
		{Command: &toolset.CommandLine{Line: line, Dir: "/repo/sub", Env: []string{"LD_PRELOAD=x y"}}},
	}}})
	got := p.String()
	require.True(t, strings.HasPrefix(got, "○ "+strings.ReplaceAll(title, "\n", "⟨LF⟩")+" (pending)\n    Run in a shell:\n      echo "), got[:200])
	require.Contains(t, got, "; touch X⟨LF⟩\n      rm y\n    Directory:\n      /repo/sub\n    Environment:\n      LD_PRELOAD='x y'\n    padding\n")
	require.Equal(t, 1000, strings.Count(got, "padding\n"))
}

// A text is left out if it repeats the command and its directory, and in no other case.
func TestTextsBesideACommandAreShown(t *testing.T) {
	for text, want := range map[string]bool{
		"```text\nRun in a shell:\n  make\nDirectory:\n  /repo\n```":        false,
		"```text\nRun in a shell:\n  make\nDirectory:\n  /repo\nshown\n```": true,
		"```text\nshown\n```": true,
		"shown":               true,
	} {
		p := newPaper(t, false)
		p.Preview(&acpclient.PermissionRequest{Approval: toolset.Approval{Preview: []toolset.Preview{
			{Text: text}, {Command: &toolset.CommandLine{Line: "make", Dir: "/repo"}},
		}}})
		require.True(t, strings.HasPrefix(p.String(), "    Run in a shell:\n      make\n    Directory:\n      /repo\n"), p.String())
		require.Equal(t, want, strings.Contains(p.String(), "shown"), text)
	}
}

func TestWholeDiffsAreShown(t *testing.T) {
	p := newPaper(t, false)
	p.updates(call("1", "Write", acp.ToolCallStatusPending, diff("/other/a", strings.Repeat("x\n", 100), strings.Repeat("y\n", 100))))
	require.Contains(t, p.String(), "    /other/a  +100 -100\n")
	require.Equal(t, 100, strings.Count(p.String(), "    +y\n"))
}

func TestPlanAndMode(t *testing.T) {
	p := newPaper(t, false)
	mode := func(id acp.SessionModeID) acp.SessionUpdate {
		return acp.SessionUpdate{CurrentModeUpdate: &acp.CurrentModeUpdate{CurrentModeID: id}}
	}
	plan := func(first acp.PlanEntryStatus) acp.SessionUpdate {
		return acp.SessionUpdate{Plan: &acp.Plan{Entries: []acp.PlanEntry{{Content: "one", Status: first}, {Content: "two"}}}}
	}
	p.updates(plan(acp.PlanEntryStatusPending), plan(acp.PlanEntryStatusCompleted), mode("code"), mode("ask"), mode("ask"))
	require.Equal(t, "  ☐ one\n  ☐ two\n  ☑ one\n  mode: ask\n", p.String())
}

func TestAnswersNeedTheCode(t *testing.T) {
	for line, want := range map[string]int{
		"1 bcdfg": 0, "  3   bcdfg ": 2, "1": -1, "bcdfg": -1, "1bcdfg": -1, "4 bcdfg": -1, "0 bcdfg": -1, "1 bcdfh": -1, "": -1, "y": -1,
		"1 bcdfg x": -1, "+1 bcdfg": 0,
	} {
		require.Equal(t, want, plain.Answer(line, "bcdfg", 3), line)
	}
	require.NotEqual(t, plain.Code(), plain.Code())
	require.Regexp(t, "^[b-z]{5}$", plain.Code())
}
