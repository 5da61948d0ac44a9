// SPDX-License-Identifier: Apache-2.0

package screen_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/term/screen"
	"github.com/ponte-go/ponte/toolset"
)

// further are states besides those that a key must always move.
var further = map[string]func(d *desk){
	"words": func(d *desk) {
		d.typed("one two_three, four")
		d.read("\x1bb\x1bb")
	},
	"killed":      func(d *desk) { d.typed("one two\x17") },
	"middle":      func(d *desk) { d.read("\x1b[200~first\nsecond line\nthird\x1b[201~\x1b[A\x1b[D\x1b[D\x1b[D") },
	"many lines":  func(d *desk) { d.read("\x1b[200~" + numbered(12) + "\x1b[201~\x1b[A\x1b[A\x1b[A") },
	"fourth line": func(d *desk) { d.read("\x1b[200~" + numbered(12) + "\x1b[201~" + strings.Repeat("\x1b[A", 8)) },
	"popup that was closed": func(d *desk) {
		d.SetFiles([]string{"a1", "a2"})
		d.typed("@a")
		d.read("\x1b[27u")
	},
	"two rows for the transcript": func(d *desk) { low(d, 5) },
	"one row for the transcript":  func(d *desk) { low(d, 4) },
	"low question": func(d *desk) {
		d.resize(60, 6)
		d.Begin(d.now)
		d.Ask(d.now, 1, question("Run make", command(numbered(9))))
		d.shown()
		d.pass(time.Second)
	},
	"prefix":       func(d *desk) { d.typed("text"); d.read("\x18") },
	"leaving":      func(d *desk) { d.read("\x03") },
	"old history":  func(d *desk) { d.typed("abc\rxb\rabd\r"); d.done(); d.End(d.now, ""); d.typed("ab"); d.read("\x12") },
	"oldest":       func(d *desk) { d.typed("abc\rabd\r"); d.done(); d.typed("ab"); d.read("\x1b[A\x1b[27u\x1b[A") },
	"modes":        func(d *desk) { modes(d, "plan") },
	"last mode":    func(d *desk) { modes(d, "code") },
	"unknown mode": func(d *desk) { modes(d, "other") },
	"no modes":     func(d *desk) { modes(d) },
	"field":        func(d *desk) { d.typed("draft"); d.AskLine(3, []string{"City", "(text)"}) },
	"field, busy":  func(d *desk) { d.Begin(d.now); d.AskLine(3, []string{"City"}); d.typed("Oslo") },
	"sending":      func(d *desk) { d.typed("one\r") },
	"queue":        func(d *desk) { d.Begin(d.now); d.typed("one\rtwo\rthree\rfour\rfive\r") },
	"popup": func(d *desk) {
		d.SetFiles([]string{"a1", "a2", "a3", "a4", "a5", "a6", "a7", "b1"})
		d.typed("@a")
		d.read("\x1b[B\x1b[27u\x1b[B")
	},
	"popup at its end": func(d *desk) {
		d.SetFiles([]string{"a1", "a2", "a3", "a4", "a5", "a6", "a7", "b1"})
		d.typed("@a\x1b[A")
		for range 2 {
			d.read("\x1b[A")
		}
	},
	"slash":            func(d *desk) { d.typed("/") },
	"at":               func(d *desk) { d.SetFiles([]string{"a1"}); d.typed("@") },
	"complete command": func(d *desk) { commands(d); d.typed("/one") },
	"scrolled to the top": func(d *desk) {
		for i := range 40 {
			d.updates(acp.TextChunk(fmt.Sprintf("line %d\n\n", i)))
		}
		d.shown()
		for range 5 {
			d.read("\x1b[5~")
		}
	},
	"almost at the end": func(d *desk) {
		for i := range 40 {
			d.updates(acp.TextChunk(fmt.Sprintf("line %d\n\n", i)))
		}
		d.shown()
		d.read("\x1b[1;2A")
	},
	"locked, half typed": func(d *desk) {
		d.Begin(d.now)
		d.Ask(d.now, 1, question("Run make", command("make")))
		d.Frame()
		d.pass(2001 * time.Millisecond)
		d.typed("bxbcd")
	},
	"questions": func(d *desk) {
		d.Begin(d.now)
		d.Ask(d.now, 1, question("Run make", command(numbered(40))))
		d.Ask(d.now, 2, question("Run it", command("it")))
		d.shown()
		d.pass(time.Second)
		d.read("\x1b[6~")
	},
	"question at its end": func(d *desk) {
		d.Begin(d.now)
		d.Ask(d.now, 1, question("Run make", command(numbered(40))))
		d.shown()
		d.pass(time.Second)
		d.read("\x1b[F")
	},
	"question of one moment ago": func(d *desk) {
		d.Begin(d.now)
		d.Ask(d.now, 1, question("Run make", command("make")))
		d.shown()
		d.pass(289 * time.Millisecond)
	},
	"question of another moment ago": func(d *desk) {
		d.Begin(d.now)
		d.Ask(d.now, 1, question("Run make", command("make")))
		d.shown()
		d.pass(290 * time.Millisecond)
	},
}

// low is a conversation on a screen of few rows.
func low(d *desk, rows int) {
	d.resize(60, rows)
	for i := range 9 {
		d.updates(acp.TextChunk(fmt.Sprintf("line %d\n\n", i)))
	}
	d.shown()
	d.read("\x1b[<64;1;1M")
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func settings(d *desk, all ...view.Setting) {
	d.Update(d.now, []view.Change{{Op: view.Upsert, ID: "o", Entity: &view.Entity{ID: "o", Kind: view.Options, Settings: all}}})
}

func modes(d *desk, now ...string) {
	for _, value := range now {
		settings(d, view.Setting{ID: "model", Category: "model", Value: "small"}, view.Setting{ID: "mode", Category: "mode", Value: value, Choices: []view.Choice{{ID: "ask"}, {ID: "plan"}, {ID: "code"}}})
		return
	}
	settings(d, view.Setting{ID: "mode", Category: "mode", Value: "ask"})
}

func commands(d *desk) {
	d.Update(d.now, []view.Change{{Op: view.Upsert, ID: "c", Entity: &view.Entity{ID: "c", Kind: view.Commands, Slash: []view.SlashCommand{
		{Name: "one", Description: "does\none"}, {Name: "onetwo"}, {Name: "once", Description: "needs no turn", AtOnce: true}, {Name: "help", Description: "of the agent"},
	}}}})
}

// drawn returns a frame with its cursor. What is highlighted is in ‹›.
func drawn(d *desk) []string {
	f := d.Frame()
	lines := []string{fmt.Sprintf("cursor %d,%d", f.Row, f.Column)}
	if len(f.Query) > 0 {
		lines[0] += fmt.Sprintf(" asked at %v", f.Query)
	}
	for i, l := range f.Lines {
		var b strings.Builder
		for _, s := range l {
			if s.Style.Highlighted {
				s.Text = "‹" + s.Text + "›"
			}
			b.WriteString(s.Text)
		}
		lines = append(lines, strings.TrimRight(fmt.Sprintf("%2d %s", i, b.String()), " "))
	}
	if d.Bell() {
		lines = append(lines, "bell")
	}
	return lines
}

// changed returns the lines that are new.
func changed(before, after []string) (all []string) {
	for i, l := range after {
		if i >= len(before) || before[i] != l {
			all = append(all, l)
		}
	}
	return all
}

func effects(d *desk) (all []string) {
	for _, e := range d.done() {
		all = append(all, strings.TrimRight(fmt.Sprintf("do %d %q %d %s", e.Do, e.Text, e.Question, e.Option), " 0"))
	}
	return all
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, strings.ReplaceAll(string(want), "\r\n", "\n"), got, "%s: go test -update writes it anew", file)
}

func sorted(all ...map[string]func(*desk)) (names []string, of map[string]func(*desk)) {
	of = map[string]func(*desk){}
	for _, m := range all {
		for name, f := range m {
			names, of[name] = append(names, name), f
		}
	}
	slices.Sort(names)
	return names, of
}

// What each key does in each state: what is to be done, and what changes on the screen.
func TestWhatKeysDo(t *testing.T) {
	var b strings.Builder
	names, of := sorted(states, further)
	for _, name := range names {
		ready := func() (*desk, []string) {
			d := newDesk(t, 60, 16)
			of[name](d)
			d.pass(10 * time.Millisecond)
			d.shown()
			d.done()
			return d, drawn(d)
		}
		_, first := ready()
		fmt.Fprintf(&b, "=== %s\n%s\n", name, strings.Join(first, "\n"))
		does := map[string][]string{} // keys, by what they do
		var order []string
		for _, key := range append(everyKey, "b", "bcdfg", "\x1b[17~", "x\x1b[3~", "\x1b\x7f", "\x1b[127;5u", "\x1b[<65;1;1M", "\x1b[1;3A", "\x1b[1;5B") {
			d, before := ready()
			var did []string
			for range 2 {
				d.read(key)
				did = append(did, effects(d)...)
				after := drawn(d)
				did = append(did, changed(before, after)...)
				before = after
			}
			what := strings.Join(did, "\n")
			if does[what] == nil {
				order = append(order, what)
			}
			does[what] = append(does[what], fmt.Sprintf("%q", key))
		}
		for _, what := range order {
			fmt.Fprintf(&b, "--- %s\n%s\n", strings.Join(does[what], " "), what)
		}
	}
	golden(t, "keys", b.String())
}

// What each line does that is entered, in each state in which one can be.
func TestWhatLinesDo(t *testing.T) {
	var b strings.Builder
	names, of := sorted(map[string]func(*desk){
		"idle": func(*desk) {}, "busy": func(d *desk) { d.Begin(d.now) }, "sending": func(d *desk) { d.typed("one\r") },
		"commands of the agent": commands, "sessions": func(d *desk) { d.SetSessions([]screen.Session{{ID: "s1", Title: "One", When: "now"}, {ID: "s2"}}) },
		"opening":  func(d *desk) { d.typed("/new\r") },
		"settings": func(d *desk) { modes(d, "plan") },
		"folded": func(d *desk) {
			d.updates(acp.TextChunk(strings.ReplaceAll(numbered(40), "\n", "\n\n")))
			d.shown()
			d.read("\x1b[5~")
		},
	})
	for _, name := range names {
		fmt.Fprintf(&b, "=== %s\n", name)
		for _, line := range []string{
			"text", " text ", "/help", "/help ", " /help", "/keys", "/copy", "/copy code", "/copy x", "/set", "/set a b", "/set  a", "/new", "/new x", "/sessions", "/sessions 0", "/sessions 1",
			"/sessions 2", "/sessions 3", "/sessions x", "/quit", "/exit", "/diff", "/unknown x", "/one", "/onc", "/once a b", "!ls -l", "! ls", "!", "a\\", "  ", "/",
		} {
			d := newDesk(t, 100, 40)
			of[name](d)
			d.done()
			before := drawn(d)
			d.read("\x1b[200~" + line + "\x1b[201~")
			d.read("\r")
			did := append(effects(d), changed(before, drawn(d))...)
			fmt.Fprintf(&b, "--- %q\n%s\n", line, strings.Join(did, "\n"))
		}
	}
	golden(t, "lines", b.String())
}

// What is shown of a turn and of what comes in, and for how long.
func TestWhatEventsDo(t *testing.T) {
	var b strings.Builder
	d := newDesk(t, 70, 14)
	before := drawn(d)
	step := func(name string, do func()) {
		do()
		did := effects(d)
		after := drawn(d)
		did = append(did, changed(before, after)...)
		before = after
		fmt.Fprintf(&b, "--- %s\n%s\n", name, strings.Join(did, "\n"))
	}
	pass := func(by time.Duration) {
		step("after "+by.String(), func() {
			d.now = d.now.Add(by)
			if d.Tick(d.now) {
				b.WriteString("moves\n")
			}
		})
	}
	pass(time.Second)
	step("begin", func() { d.Begin(d.now) })
	pass(9*time.Second + 999*time.Millisecond)
	step("end", func() { d.End(d.now, "") })
	step("begin", func() { d.Begin(d.now) })
	pass(10 * time.Second)
	step("end", func() { d.End(d.now, "Something\nwent wrong.") })
	step("begin", func() { d.Begin(d.now) })
	pass(59 * time.Second)
	pass(time.Second)
	pass(time.Hour)
	step("steer", func() { d.typed("go on"); d.read("\x13") })
	step("passed", func() { d.Passed(d.now) })
	pass(5 * time.Second)
	pass(time.Millisecond)
	step("steer", func() { d.typed("more"); d.read("\x13") })
	step("later", func() { d.Later(d.now.Add(time.Second), "more", "The turn has ended") })
	step("cancel", func() { d.read("\x03") })
	step("end", func() { d.End(d.now, "Cancelled.") })
	pass(time.Second)
	step("steer idle", func() { d.typed("now"); d.read("\x13") })
	step("steer nothing", func() { d.read("\x13") })
	step("sent", func() { d.Sent(d.now, "") })
	step("not sent", func() { d.Sent(d.now, "no room") })
	step("told", func() { d.Told("**done**\x1b[1m") })
	step("edited", func() { d.SetInput("from the editor\r\n\n") })
	step("mention", func() { d.InsertMention("@a.txt") })
	step("mention", func() { d.InsertMention("@b.txt") })
	step("mention", func() { d.read("\n"); d.InsertMention("@c.txt") })
	step("edit", func() { d.read("\x07") })
	step("edit", func() { d.read("\x18\x05") })
	step("prefix and another key", func() { d.read("\x18"); d.read("x"); d.read("\x05") })
	step("opened", func() { d.Opened("A new conversation.", true) })
	step("not opened", func() { d.Opened("! gone", false) })
	step("usage", func() {
		d.Update(d.now, []view.Change{{Op: view.Upsert, ID: "u", Entity: &view.Entity{ID: "u", Kind: view.Usage, Usage: &view.Tokens{Used: 1, Size: 2}}}})
	})
	step("settings", func() { modes(d, "plan") })
	step("narrow", func() { d.resize(40, 14) })
	step("tiny", func() { d.resize(8, 3) })
	step("nothing", func() { d.resize(0, 0) })
	step("wide", func() { d.resize(70, 14) })
	step("no sessions", func() { d.SetSessions(nil) })
	step("sessions", func() {
		d.SetSessions([]screen.Session{{ID: "1", Title: "One", When: "then"}, {ID: "2", Title: "Two", When: "now"}})
	})
	step("line", func() { d.AskLine(1, []string{"City", strings.Repeat("long ", 20)}) })
	step("another line", func() { d.typed("x"); d.AskLine(2, []string{"Town"}) })
	step("withdrawn", func() { d.Withdraw(1) })
	step("withdrawn", func() { d.Withdraw(2) })
	step("line", func() { d.AskLine(4, nil) })
	step("steer a line", func() { d.read("\x13") })
	step("edit a line", func() { d.read("\x07") })
	step("answered", func() { d.typed("Oslo\r") })
	step("waits", func() {
		for i := range 5 {
			e := &view.Entity{ID: fmt.Sprint("w", i), Kind: view.Waiting, Title: fmt.Sprint(i + 1), Content: []view.Content{{Kind: view.Text, Text: "prompt\n" + fmt.Sprint(i)}}}
			d.Update(d.now, []view.Change{{Op: view.Upsert, ID: e.ID, Entity: e}})
		}
	})
	step("waits no more", func() { d.Update(d.now, []view.Change{{Op: view.Remove, ID: "w1"}, {Op: view.Remove, ID: "none"}}) })
	step("changed", func() {
		d.Update(d.now, []view.Change{{Op: view.Upsert, ID: "w2", Entity: &view.Entity{ID: "w2", Kind: view.Waiting, Title: "2", Content: []view.Content{{Kind: view.Text, Text: "changed"}}}}})
	})
	step("scrolled", func() { d.updates(acp.TextChunk(numbered(30))); d.shown(); d.read("\x1b[<64;1;1M") })
	step("higher", func() { d.resize(70, 40) })
	step("lower", func() { d.resize(70, 14) })
	step("files", func() { d.SetInput("@"); d.read("m"); d.SetFiles([]string{"main.go", "mod"}) })
	require.Equal(t, []string{"main.go", "mod"}, d.Files())
	golden(t, "events", b.String())
}

// Which keys choose, with options of all kinds and as many as there can be.
func TestKeysOfOptions(t *testing.T) {
	var b strings.Builder
	all := []acp.PermissionOption{
		{OptionID: "o", Name: "Allow\nonce", Kind: acp.PermissionOptionKindAllowOnce}, {OptionID: "a", Name: "Always allow", Kind: acp.PermissionOptionKindAllowAlways},
		{OptionID: "n", Name: "Reject", Kind: acp.PermissionOptionKindRejectOnce}, {OptionID: "d", Name: "Never allow", Kind: acp.PermissionOptionKindRejectAlways},
		{OptionID: "o2", Name: "Allow this, too", Kind: acp.PermissionOptionKindAllowOnce}, {OptionID: "x", Name: "Something else", Kind: "something_else_that_is_long"}, {OptionID: "s", Name: "Short", Kind: "sixteen_letters_"}, {OptionID: "t", Name: "Long", Kind: "seventeen_letters"},
	}
	many := make([]acp.PermissionOption, 33)
	for i := range many {
		many[i] = acp.PermissionOption{OptionID: acp.PermissionOptionID(fmt.Sprint("m", i)), Name: fmt.Sprint("Option ", i), Kind: acp.PermissionOptionKindAllowOnce}
	}
	for _, c := range []struct {
		name          string
		options       []acp.PermissionOption
		width, height int
	}{
		{"two", all[:2], 60, 16}, {"all", all, 60, 24}, {"all, low", all, 60, 10}, {"all, low and wide", all, 140, 10}, {"all, narrow", all, 30, 10}, {"all, narrower", all, 20, 10}, {"all, tiny", all, 10, 6}, {"no one allows", all[2:4], 16, 8},
		{"every one allows", all[:2], 16, 8}, {"many", many, 60, 50}, {"many, low", many, 100, 12}, {"none", nil, 60, 10}, {"one line", all[:3], 60, 1},
	} {
		r := question("Run make", command("make"))
		r.Options = c.options
		d := newDesk(t, c.width, c.height)
		d.Ask(d.now, 1, r)
		d.shown()
		fmt.Fprintf(&b, "=== %s\n%s\n", c.name, strings.Join(drawn(d), "\n"))
		for _, key := range "yandbc123456789efghijklmopqrstuvwxz" {
			d := newDesk(t, c.width, c.height)
			d.Ask(d.now, 1, r)
			d.shown()
			d.pass(time.Second)
			d.read(string(key))
			for _, e := range d.done() {
				fmt.Fprintf(&b, "%c %s\n", key, e.Option)
			}
		}
	}
	golden(t, "options", b.String())
}

// A question is asked together with the place of the cursor, anywhere but in the first row, if there are several.
func TestPlacesAreAnywhere(t *testing.T) {
	for _, c := range []struct {
		width, height, column, row int
		first, last                screen.Place
	}{
		{80, 24, 79, 23, screen.Place{Row: 2, Column: 1}, screen.Place{Row: 24, Column: 79}}, {80, 2, 79, 1, screen.Place{Row: 2, Column: 1}, screen.Place{Row: 2, Column: 79}},
		{80, 1, 79, 0, screen.Place{Row: 1, Column: 1}, screen.Place{Row: 1, Column: 79}}, {1, 3, 1, 2, screen.Place{Row: 2, Column: 1}, screen.Place{Row: 3, Column: 1}}, {2, 3, 1, 2, screen.Place{Row: 2, Column: 1}, screen.Place{Row: 3, Column: 1}},
	} {
		d := newDesk(t, c.width, c.height)
		var below []int
		d.rand = func(n int) int {
			below = append(below, n)
			if len(below) <= 1 || c.row > 0 && len(below) <= 2 {
				return 0
			}
			return n - 1
		}
		d.Ask(d.now, 1, question("Run make", command("make")))
		require.Equal(t, []screen.Place{c.first, c.last}, d.Frame().Query)
		want := []int{c.column, c.row, c.column, c.row}
		if c.row == 0 {
			want = []int{c.column, c.column}
		}
		require.Equal(t, want, below)
	}
}

// Everything that a question is about is shown, once and in order.
func TestPreviews(t *testing.T) {
	var b strings.Builder
	old, now := "a\n", "b\n"
	diff := toolset.Preview{Diff: &toolset.Diff{Path: "/repo/a.txt", Old: &old, New: &now}}
	call := &view.Entity{ID: "c", Kind: view.ToolCall, Input: []byte(`{"a": "b\u202e"}`)}
	for _, c := range []struct {
		name string
		r    acpclient.PermissionRequest
	}{
		{"a title", acpclient.PermissionRequest{Approval: toolset.Approval{Title: "Do it\nnow"}}},
		{"a call", acpclient.PermissionRequest{Call: call, Approval: toolset.Approval{Title: "Do it", Reason: "since\nI must"}}},
		{"a call without arguments", acpclient.PermissionRequest{Call: &view.Entity{}, Approval: toolset.Approval{Title: "Do it"}}},
		{"a text", acpclient.PermissionRequest{Approval: toolset.Approval{Title: "Do it", Preview: []toolset.Preview{{Text: "all\nof it\x1b[1m"}}}}},
		{"a change", acpclient.PermissionRequest{Call: call, Approval: toolset.Approval{Title: "Edit", Preview: []toolset.Preview{diff}}}},
		{"a file that is removed", acpclient.PermissionRequest{Call: call, Approval: toolset.Approval{Title: "Remove", Preview: []toolset.Preview{{Diff: &toolset.Diff{Path: "/repo/a.txt", Old: &old}}}}}},
		{"a command after a text", acpclient.PermissionRequest{Call: call, Approval: toolset.Approval{Title: "Run", Preview: []toolset.Preview{{Text: "first"}, command("make"), diff, command("make test"), {Text: "last"}}}}},
		{"a command told twice", acpclient.PermissionRequest{Call: call, Approval: toolset.Approval{Title: "Run", Preview: []toolset.Preview{command("make"), {Text: "```text\nmake\nin /repo\n```"}, {Text: "\n```text\nIn /repo:\nmake\n```\n"}, {Text: "```text\nmake"}, {Text: "make\n```"}}}}},
		{"a command with variables", acpclient.PermissionRequest{Approval: toolset.Approval{Title: "Run", Preview: []toolset.Preview{{Command: &toolset.CommandLine{Line: "make", Env: []string{"A=b"}}}}}}},
	} {
		for _, width := range []int{50, 12} {
			fmt.Fprintf(&b, "=== %s\n", c.name)
			for _, l := range screen.Preview(&c.r, func(path string) string { return strings.TrimPrefix(path, "/repo/") }, width) {
				b.WriteString(strings.TrimRight(l.Plain(), " ") + "⏎\n")
			}
		}
	}
	golden(t, "previews", b.String())
}
