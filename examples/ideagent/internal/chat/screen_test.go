// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/internal/guard"
)

func ptr[T any](v T) *T { return &v }

func call(id, title string, status acp.ToolCallStatus, content ...acp.ToolCallContent) *acp.SessionUpdate {
	return &acp.SessionUpdate{ToolCall: &acp.ToolCall{ToolCallID: acp.ToolCallID(id), Title: title, Status: status, Content: content}}
}

func change(id string, status acp.ToolCallStatus, content ...acp.ToolCallContent) *acp.SessionUpdate {
	return &acp.SessionUpdate{ToolCallUpdate: &acp.ToolCallUpdate{ToolCallID: acp.ToolCallID(id), Status: status, Content: content}}
}

func diff(path, old, text string) acp.ToolCallContent {
	return acp.ToolCallContent{Diff: &acp.Diff{Path: path, OldText: &old, NewText: text}}
}

func shown(tty, color bool, f func(*screen)) string {
	var b bytes.Buffer
	s := newScreen(&b, tty, color, "/w")
	f(s)
	return b.String()
}

func (s *screen) updates(all ...*acp.SessionUpdate) {
	for _, u := range all {
		s.update(u)
	}
}

func text(t string) *acp.SessionUpdate    { return ptr(acp.TextChunk(t)) }
func thought(t string) *acp.SessionUpdate { return ptr(acp.ThoughtChunk(t)) }

func TestATurnOnPaper(t *testing.T) {
	got := shown(false, false, func(s *screen) {
		s.updates(
			thought("my plan: "), thought("read.\n"),
			call("1", "Read a.txt", acp.ToolCallStatusPending), change("1", acp.ToolCallStatusInProgress), change("1", acp.ToolCallStatusCompleted),
			text("\n\nIt says\n"), text("\nhello.\n\n"),
			call("2", "Write a.txt", acp.ToolCallStatusPending, diff("/w/a.txt", "one\ntwo\n", "one\n2\n")),
		)
		s.toolCall(&acp.ToolCallUpdate{ToolCallID: "2", Content: []acp.ToolCallContent{diff("/w/a.txt", "one\ntwo\n", "one\n2\n")}})
		s.note("-yes: Allow")
		s.updates(
			change("2", acp.ToolCallStatusCompleted), text("Done."),
			call("3", "Run x", "", acp.ToolCallContent{Content: &acp.Content{Content: acp.TextBlock("no such\nprogram")}}), change("3", acp.ToolCallStatusFailed),
			&acp.SessionUpdate{UsageUpdate: &acp.UsageUpdate{Used: 500, Size: 1000}},
			&acp.SessionUpdate{Unknown: []byte(`{}`)},
		)
		s.end()
	})
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
`, got)
}

func TestOnATerminalTheLineOfACallIsWrittenAgain(t *testing.T) {
	got := shown(true, false, func(s *screen) {
		s.updates(
			call("1", "Read a.txt", ""), change("1", acp.ToolCallStatusInProgress), change("1", acp.ToolCallStatusCompleted),
			call("2", "Run x", acp.ToolCallStatusInProgress), call("3", "Run y", acp.ToolCallStatusInProgress),
			change("3", acp.ToolCallStatusCompleted), change("2", acp.ToolCallStatusFailed), change("2", acp.ToolCallStatusCompleted),
		)
		s.end()
	})
	require.Equal(t, "○ Read a.txt (pending)\r\x1b[K◌ Read a.txt (in progress)\r\x1b[K✓ Read a.txt\n"+
		"◌ Run x (in progress)\n◌ Run y (in progress)\r\x1b[K✓ Run y\n✗ Run x (failed)\n", got)
}

func TestWhatComesInsteadOfAnAnswerHasALineOfItsOwn(t *testing.T) {
	got := shown(true, false, func(s *screen) {
		s.ask("1-2: ")
		s.answered()
		s.ask("1-2: ")
		s.note("Cancelled.")
		s.answered()
		s.ask(prompt)
		s.end()
	})
	// The line break behind an answer is the user's.
	require.Equal(t, "1-2: 1-2: \n  Cancelled.\n\n› \n", got)
}

func TestColorsOnlyWhereTheyAreWanted(t *testing.T) {
	show := func(s *screen) {
		s.updates(thought("hm"), text("ok"), call("1", "Write", acp.ToolCallStatusCompleted, diff("/w/a", "x\n", "y\n")))
		s.end()
	}
	require.NotContains(t, shown(false, false, show), "\x1b")
	colored := shown(false, true, show)
	for _, want := range []string{"\x1b[2mhm\x1b[0m", "\x1b[31m    -x\x1b[0m", "\x1b[32m    +y\x1b[0m", "\x1b[32m✓\x1b[0m Write"} {
		require.Contains(t, colored, want)
	}
}

func TestOutputOfACommandIsShownFromBothEnds(t *testing.T) {
	got := shown(false, false, func(s *screen) {
		v := s.terminal()
		for i := range 100 {
			v.write([]byte("line "))
			v.write([]byte{byte('0' + i/10), byte('0' + i%10), '\n'})
		}
		v.write([]byte("10 %\r50 %\r\x1b[31mred\x1b[0m"))
		v.end(&guard.Exit{Code: 1})
		v.end(nil)
		v.write([]byte("late\n"))
	})
	require.True(t, strings.HasPrefix(got, "  │ line 00\n  │ line 01\n"))
	require.Contains(t, got, "  │ line 19\n  │ … 71 lines …\n  │ line 91\n")
	require.True(t, strings.HasSuffix(got, "  │ line 99\n  │ red\n  └ exit code 1\n"), got)
}

func TestNothingControlsTheTerminal(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\n":               "plain\ttext\n",
		"\x1b[31mred\x1b[0m":          "red",
		"\x1b]0;title\x07x":           "x",
		"\x1b]8;;http://x\x1b\\y":     "y",
		"a\rb\x08\x7fc\x00":           "abc",
		"\x1b[2J\x1b[Hgone":           "gone",
		"half \x1b[3":                 "half [3",
		"\u202eabc\u2066":             "abc",
		"\u009b31mC1":                 "31mC1",
		"a\r\nb":                      "a\nb",
		"\x1bcreset \x1b(B \x1b7save": "creset (B 7save",
	} {
		require.Equal(t, want, clean(in), "%q", in)
	}
	got := shown(false, false, func(s *screen) {
		s.updates(text("\x1b[2Jx"), thought("\x1b]0;y\x07"), call("1", "a\x1b[1mb\nc", acp.ToolCallStatusCompleted, diff("/w/\x1b[1mp", "\x1b[5mx", "y")))
		s.option(1, clean("\x1b[7mAllow"))
		s.end()
	})
	require.NotContains(t, got, "\x1b")
}

func TestALongDiffIsCut(t *testing.T) {
	got := shown(false, false, func(s *screen) {
		s.updates(call("1", "Write", acp.ToolCallStatusCompleted, diff("/other/a", strings.Repeat("x\n", 100), strings.Repeat("y\n", 100))))
		s.end()
	})
	require.Contains(t, got, "    /other/a  +100 -100\n")
	require.Contains(t, got, "    … 140 more lines\n")
	require.Less(t, strings.Count(got, "\n"), 70)
}

func TestPlanAndMode(t *testing.T) {
	got := shown(false, false, func(s *screen) {
		s.updates(
			&acp.SessionUpdate{Plan: &acp.Plan{Entries: []acp.PlanEntry{{Content: "one", Status: acp.PlanEntryStatusCompleted}, {Content: "two"}}}},
			&acp.SessionUpdate{CurrentModeUpdate: &acp.CurrentModeUpdate{CurrentModeID: "ask"}},
			&acp.SessionUpdate{CurrentModeUpdate: &acp.CurrentModeUpdate{CurrentModeID: "ask"}},
		)
	})
	require.Equal(t, "  ☑ one\n  ☐ two\n  mode: ask\n", got)
}
