// SPDX-License-Identifier: Apache-2.0

package screen_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/app/internal/term/screen"
	"github.com/ponte-go/ponte/internal/acpview"
)

// helped has a test for each line of the help, by the text of its first column.
var helped = map[string]func(t *testing.T, d *desk){
	"Enter": func(t *testing.T, d *desk) {
		d.typed("hi")
		d.read("\x1b[13;2u") // Shift-Enter
		d.typed("a")
		d.read("\x1b\r") // Alt-Enter
		d.typed("b")
		d.read("\n") // Ctrl-J
		d.typed(`c\`)
		d.read("\r")
		d.typed("d")
		d.read("\r")
		require.Equal(t, []screen.Effect{{Do: screen.Send, Text: "hi\na\nb\nc\nd"}}, d.done())
	},
	"/ and @": func(t *testing.T, d *desk) {
		d.SetFiles([]string{"a.txt", "ab.txt"})
		d.typed("see @a")
		d.read("\x1b[B")
		d.read("\t")
		require.Contains(t, d.shown(), "› see @ab.txt")
	},
	"↑ ↓": func(t *testing.T, d *desk) {
		d.typed("one\r")
		d.typed("two\r")
		d.read("\x1b[A")
		require.Contains(t, d.shown(), "› two")
		d.read("\x1b[A")
		require.Contains(t, d.shown(), "› one")
		d.read("\x1b[B")
		require.Contains(t, d.shown(), "› two")
	},
	"PgUp PgDn": func(t *testing.T, d *desk) {
		for i := range 300 {
			d.updates(acp.TextChunk(fmt.Sprintf("line %d\n\n", i)))
		}
		require.Contains(t, d.shown(), "line 299\n")
		d.read("\x1b[5~")
		require.NotContains(t, d.shown(), "line 299\n")
		d.read("\x1b[6~")
		d.read("\x1b[1;2A") // Shift-↑
		d.read("\x1b[1;2A")
		require.NotContains(t, d.shown(), "line 299\n")
		d.read("\x1b[1;2B")
		d.read("\x1b")
		d.Input(d.now, d.parser.Flush())
		require.Contains(t, d.shown(), "line 299\n")
	},
	"Ctrl-O": func(t *testing.T, d *desk) {
		d.read("\x0f")
		require.Contains(t, d.shown(), "Everything is shown")
		d.read("\x0f")
		require.Contains(t, d.shown(), "Folded")
	},
	"Ctrl-C": func(t *testing.T, d *desk) {
		d.Begin(d.now)
		d.typed("text")
		d.read("\x03")
		require.Empty(t, d.done())
		require.NotContains(t, d.shown(), "› text")
		d.read("\x03")
		require.Equal(t, []screen.Effect{{Do: screen.Cancel}}, d.done())
		d.End(d.now, "")
		d.read("\x03")
		d.read("\x03")
		require.Equal(t, []screen.Effect{{Do: screen.Quit}}, d.done())
	},
	"Ctrl-D": func(t *testing.T, d *desk) {
		d.read("\x04")
		require.Equal(t, []screen.Effect{{Do: screen.Quit}}, d.done())
	},
	"Ctrl-R": func(t *testing.T, d *desk) {
		for _, line := range []string{"fix the build", "hello", "the build again"} {
			d.typed(line + "\r")
		}
		d.typed("build")
		d.read("\x12")
		require.Contains(t, d.shown(), "› the build again")
		d.read("\x12")
		require.Contains(t, d.shown(), "› fix the build")
		d.read("\x12")
		require.Contains(t, d.shown(), "Nothing older contains that")
		require.Contains(t, d.shown(), "› fix the build")
	},
	"Shift-Tab": func(t *testing.T, d *desk) {
		d.read("\x1b[Z")
		require.Contains(t, d.shown(), "The agent has no modes")
		var u acp.SessionUpdate
		require.NoError(t, json.Unmarshal([]byte(`{"sessionUpdate": "config_option_update", "configOptions": [{"id": "mode", "name": "Mode", "type": "select",
			"currentValue": "code", "options": [{"value": "ask", "name": "Ask"}, {"value": "code", "name": "Code"}]}]}`), &u))
		d.updates(u)
		d.read("\x1b[Z")
		require.Equal(t, []screen.Effect{{Do: screen.Set, Text: "mode ask"}}, d.done(), "after the last comes the first")
	},
	"Ctrl-Z": func(t *testing.T, d *desk) {
		d.typed("stays")
		d.read("\x1a")
		require.Equal(t, []screen.Effect{{Do: screen.Suspend}}, d.done())
		require.Contains(t, d.shown(), "› stays")
	},
	"Ctrl-A E B F K U W Y _, Alt-B F D: editing as in a shell": func(t *testing.T, d *desk) {
		for _, key := range []struct{ bytes, typed, want string }{
			{"", "one two", "one two"},
			{"\x01", "x", "xone two"},      // Ctrl-A
			{"\x06", "y", "xoyne two"},     // Ctrl-F
			{"\x02", "z", "xozyne two"},    // Ctrl-B
			{"\x0b", "", "xoz"},            // Ctrl-K
			{"\x19", "", "xozyne two"},     // Ctrl-Y
			{"\x01", "", "xozyne two"},     //
			{"\x05", "!", "xozyne two!"},   // Ctrl-E
			{"\x17", "", "xozyne"},         // Ctrl-W
			{"\x1f", "", "xozyne two!"},    // Ctrl-_
			{"\x15", "one two", "one two"}, // Ctrl-U
		} {
			if key.bytes != "" {
				d.read(key.bytes)
			}
			d.typed(key.typed)
			require.Contains(t, strings.ReplaceAll(d.shown(), " \n", "\n"), "› "+key.want+"\n", "%q", key)
		}
		d.read("\x01")       // Ctrl-A
		d.read("\x06")       // Ctrl-F
		d.read("\x02")       // Ctrl-B
		d.read("\x0b")       // Ctrl-K
		d.read("\x19")       // Ctrl-Y
		d.read("\x05")       // Ctrl-E
		d.read("\x17")       // Ctrl-W
		d.read("\x1b" + "b") // Alt-B
		d.read("\x1b" + "f") // Alt-F
		d.typed("-")
		require.Contains(t, d.shown(), "› one-")
		d.read("\x15") // Ctrl-U
		require.NotContains(t, d.shown(), "one-")
		d.read("\x1f") // Ctrl-_
		d.read("\x01")
		d.read("\x1b" + "d") // Alt-D
		require.NotContains(t, d.shown(), "› one")
	},
	"!COMMAND": func(t *testing.T, d *desk) {
		d.Begin(d.now) // also while the agent works
		d.typed("! git status\r")
		require.Equal(t, []screen.Effect{{Do: screen.Shell, Text: "git status"}}, d.done())
		d.typed("!\r")
		require.Empty(t, d.done())
	},
	"/copy": func(t *testing.T, d *desk) {
		d.typed("/copy\r")
		d.typed("/copy code\r")
		require.Equal(t, []screen.Effect{{Do: screen.Copy}, {Do: screen.Copy, Text: "code"}}, d.done())
		d.typed("/copy all\r")
		require.Empty(t, d.done())
	},
	"/diff": func(t *testing.T, d *desk) {
		d.typed("/diff\r")
		require.Equal(t, []screen.Effect{{Do: screen.Shell, Text: "git --no-pager diff"}}, d.done())
	},
	"Ctrl-G": func(t *testing.T, d *desk) {
		d.typed("draft")
		d.read("\x07")
		d.read("\x18") // Ctrl-X
		d.read("\x05") // Ctrl-E
		require.Equal(t, []screen.Effect{{Do: screen.Edit, Text: "draft"}, {Do: screen.Edit, Text: "draft"}}, d.done())
		d.SetInput("two\nlines\n")
		d.read("\x18")
		d.typed("e") // not Ctrl-E
		d.typed("\r")
		require.Equal(t, []screen.Effect{{Do: screen.Send, Text: "two\nlinese"}}, d.done())
	},
	"Ctrl-V": func(t *testing.T, d *desk) {
		d.read("\x16")
		require.Equal(t, []screen.Effect{{Do: screen.Picture}}, d.done())
		d.typed("see")
		d.InsertMention("@/tmp/a.png")
		d.typed("please\r")
		require.Equal(t, []screen.Effect{{Do: screen.Send, Text: "see @/tmp/a.png please"}}, d.done())
	},
	"Ctrl-S": func(t *testing.T, d *desk) {
		d.Begin(d.now)
		d.typed("not that file")
		d.read("\x13")
		require.Equal(t, []screen.Effect{{Do: screen.Steer, Text: "not that file"}}, d.done())
		require.NotContains(t, d.shown(), "› not that file")
		d.Later(d.now, "not that file", "The agent takes nothing while it works")
		require.Contains(t, d.shown(), "next: not that file")
		d.End(d.now, "")
		require.Equal(t, []screen.Effect{{Do: screen.Send, Text: "not that file"}}, d.done())
	},
	"/keys": func(t *testing.T, d *desk) {
		d.typed("/help\r")
		require.Contains(t, d.shown(), "Shift-Tab")
	},
	"/new": func(t *testing.T, d *desk) {
		d.typed("/new\r")
		require.Equal(t, []screen.Effect{{Do: screen.NewSession}}, d.done())
	},
	"/sessions": func(t *testing.T, d *desk) {
		d.typed("/sessions\r")
		d.SetSessions([]screen.Session{{ID: "a", When: "now", Title: "one"}})
		d.typed("/sessions 1\r")
		require.Equal(t, []screen.Effect{{Do: screen.ListSessions}, {Do: screen.LoadSession, Text: "a"}}, d.done())
	},
	"/waiting": func(t *testing.T, d *desk) {
		d.updates(acp.SessionUpdate{AvailableCommandsUpdate: &acp.AvailableCommandsUpdate{AvailableCommands: []acp.AvailableCommand{
			{Name: "waiting", Meta: map[string]json.RawMessage{acpview.MetaAtOnce: json.RawMessage("true")}},
		}}})
		d.Begin(d.now)
		d.typed("/waiting edit 2 x\r")
		require.Equal(t, []screen.Effect{{Do: screen.Command, Text: "/waiting edit 2 x"}}, d.done(), "also while a turn runs")
	},
	"/set": func(t *testing.T, d *desk) {
		d.typed("/set mode plan\r")
		require.Equal(t, []screen.Effect{{Do: screen.Set, Text: "mode plan"}}, d.done())
	},
	"/quit": func(t *testing.T, d *desk) {
		d.typed("/quit\r")
		require.Equal(t, []screen.Effect{{Do: screen.Quit}}, d.done())
	},
}

func TestLineThatBeginsWithASpaceIsNoCommand(t *testing.T) {
	for _, line := range []string{" /help", " /quit", " /waiting edit 2 x"} {
		d := newDesk(t, 120, 60)
		d.updates(acp.SessionUpdate{AvailableCommandsUpdate: &acp.AvailableCommandsUpdate{AvailableCommands: []acp.AvailableCommand{
			{Name: "waiting", Meta: map[string]json.RawMessage{acpview.MetaAtOnce: json.RawMessage("true")}},
		}}})
		d.typed(line + "\r")
		require.Equal(t, []screen.Effect{{Do: screen.Send, Text: line}}, d.done())
	}
}

// TestHelpIsTrue keeps each line of the help true, and keeps the help complete for the table.
func TestHelpIsTrue(t *testing.T) {
	d := newDesk(t, 120, 60)
	d.typed("/keys\r")
	lines := 0
	for line := range strings.Lines(d.shown()) {
		name, text, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if strings.HasPrefix(name, "Ctrl-A ") {
			ok, text = true, name
		}
		if !ok || strings.TrimSpace(text) == "" {
			continue
		}
		test, known := helped[name]
		if !known {
			continue
		}
		lines++
		t.Run(name, func(t *testing.T) { test(t, newDesk(t, 80, 24)) })
	}
	require.Equal(t, len(helped), lines, "every row of the table is a line of the help:\n%s", d.shown())
}

// The bell rings for what a person may wait for elsewhere.
func TestBell(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.Begin(d.now)
	d.pass(time.Second)
	d.End(d.now, "")
	require.False(t, d.Bell(), "a short turn")
	d.Begin(d.now)
	d.Ask(d.now, 1, question("Run make", command("make")))
	require.True(t, d.Bell())
	require.False(t, d.Bell(), "once")
	d.pass(time.Minute)
	d.End(d.now, "")
	require.True(t, d.Bell(), "a long turn")
}
