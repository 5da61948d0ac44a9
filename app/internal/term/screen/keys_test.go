// SPDX-License-Identifier: Apache-2.0

package screen_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/term/screen"
)

// states are what a person can find the screen in.
var states = map[string]func(d *desk){
	"idle":  func(*desk) {},
	"typed": func(d *desk) { d.typed("some text") },
	"lines": func(d *desk) { d.read("\x1b[200~one\ntwo\nthree\x1b[201~") },
	"busy":  func(d *desk) { d.Begin(d.now) },
	"cancelled": func(d *desk) {
		d.Begin(d.now)
		d.read("\x03")
	},
	"commands": func(d *desk) {
		d.updates(acp.SessionUpdate{AvailableCommandsUpdate: &acp.AvailableCommandsUpdate{AvailableCommands: []acp.AvailableCommand{{Name: "a"}, {Name: "ab"}}}})
		d.typed("/a")
	},
	"files": func(d *desk) {
		d.SetFiles([]string{"a.txt", "ab.txt"})
		d.typed("see @a")
	},
	"history": func(d *desk) {
		d.typed("one\rtwo\r")
		d.read("\x1b[A")
	},
	"scrolled": func(d *desk) {
		for i := range 200 {
			d.updates(acp.TextChunk(fmt.Sprintf("line %d\n\n", i)))
		}
		d.shown()
		d.read("\x1b[5~")
	},
	"question": func(d *desk) {
		d.Begin(d.now)
		d.Ask(d.now, 1, question("Run make", command("make")))
		d.shown()
		d.pass(time.Second)
	},
	"long question": func(d *desk) {
		d.Begin(d.now)
		d.Ask(d.now, 1, question("Run make", command(strings.Repeat("make\n", 100))))
		d.shown()
		d.pass(time.Second)
	},
	"question on its way": func(d *desk) {
		d.Begin(d.now)
		d.Ask(d.now, 1, question("Run make", command("make")))
		d.Frame()
	},
	"mute terminal": func(d *desk) {
		d.Begin(d.now)
		d.Ask(d.now, 1, question("Run make", command("make")))
		d.Frame()
		d.pass(3 * time.Second)
	},
}

var everyKey = []string{
	"a", "y", "漢", " ", "/", "@", "\r", "\n", "\t", "\x1b[Z", "\x7f", "\x1b[3~", "\x1b[27u", "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x1b[H", "\x1b[F",
	"\x1b[5~", "\x1b[6~", "\x1b[1;2A", "\x1b[1;2B", "\x1b[1;5C", "\x1b[1;5D", "\x1bb", "\x1bf", "\x1bd", "\x1bq", "\x01", "\x02", "\x03", "\x04", "\x05", "\x06",
	"\x07", "\x0b", "\x0c", "\x0e", "\x0f", "\x10", "\x11", "\x12", "\x14", "\x15", "\x16", "\x17", "\x18", "\x13", "\x19", "\x1a", "\x1f", "\x1b[11~", "\x1b[24~", "\x1b[<64;1;1M",
	"\x1b[200~pasted\x1b[201~", "\x1b[200~\x1b[201~",
}

func TestEveryKeyMovesSomething(t *testing.T) {
	for name, prepare := range states {
		for _, key := range everyKey {
			d := newDesk(t, 80, 24)
			prepare(d)
			d.done()
			for range 3 { // the first time, and again
				before := d.Frame()
				d.read(key)
				if slices.Contains(d.done(), screen.Effect{Do: screen.Quit}) {
					break
				}
				require.NotEqual(t, before, d.Frame(), "%s: %q", name, key)
			}
		}
	}
}

func TestSomethingMovesWhileWorkGoesOn(t *testing.T) {
	for name, prepare := range states {
		d := newDesk(t, 80, 24)
		prepare(d)
		d.Begin(d.now)
		d.Frame()
		d.pass(6 * time.Second) // hints are over
		for range 20 {
			before := d.Frame()
			d.pass(100 * time.Millisecond)
			require.NotEqual(t, before.Lines, d.Frame().Lines, name)
		}
	}
}

func TestStatusSaysWhatIsRunning(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.Begin(d.now)
	require.Contains(t, d.shown(), "0s waiting for the agent · Ctrl-C cancels")
	d.updates(acp.ThoughtChunk("hm"))
	d.pass(65 * time.Second)
	require.Contains(t, d.shown(), "1m05s thinking")
	d.updates(acp.SessionUpdate{ToolCall: &acp.ToolCall{ToolCallID: "1", Title: "Search \x1b[1m\"x\"", Status: acp.ToolCallStatusInProgress}})
	require.Contains(t, d.shown(), "1m05s Search \"x\"")
	d.updates(acp.TextChunk("hi"))
	require.Contains(t, d.shown(), "writing")
	d.read("\x03")
	require.Contains(t, d.shown(), "cancelling")
	d.End(d.now, "Cancelled.")
	require.Contains(t, d.shown(), "fake 1 in repo")
}

// Ctrl-C clears, then cancels, then asks.
func TestCtrlC(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.Begin(d.now)
	d.typed("half a thought")
	d.read("\x03")
	require.Empty(t, d.done())
	require.NotContains(t, d.shown(), "› half")
	d.read("\x03")
	require.Equal(t, []screen.Effect{{Do: screen.Cancel}}, d.done())
	d.read("\x03")
	require.Empty(t, d.done())
	require.Contains(t, d.shown(), "Press Ctrl-C again to leave")
	d.pass(10 * time.Second)
	d.read("\x03")
	require.Empty(t, d.done(), "too late")
	d.read("x\x7f\x03")
	require.Empty(t, d.done(), "something else in between")
	d.read("\x03")
	require.Equal(t, []screen.Effect{{Do: screen.Quit}}, d.done())
	d.read("\x1b[A")
	require.Contains(t, d.shown(), "› half a thought", "what was cleared is in the history")
	d.Begin(d.now)
	d.Ask(d.now, 1, question("Run make", command("make")))
	d.shown()
	d.read("\x03")
	require.Equal(t, []screen.Effect{{Do: screen.Cancel}}, d.done(), "a question is left by cancelling its turn")
	d.Withdraw(1)
	require.NotContains(t, d.shown(), "Question")
}

func TestPromptsAreQueued(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.typed("one\r")
	require.Equal(t, []screen.Effect{{Do: screen.Send, Text: "one"}}, d.done())
	d.Begin(d.now)
	d.typed("two\rthree\r")
	require.Empty(t, d.done())
	require.Contains(t, d.shown(), "  next: two\n  next: three\n")
	d.End(d.now, "")
	require.Equal(t, []screen.Effect{{Do: screen.Send, Text: "two"}}, d.done())
	d.Begin(d.now)
	d.read("\x03")
	d.End(d.now, "Cancelled.")
	require.Equal(t, []screen.Effect{{Do: screen.Cancel}}, d.done())
	require.NotContains(t, d.shown(), "next:")
}

func TestPromptsForAnAgentThatTakesThemDuringATurn(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.Model = screen.New(screen.Config{Agent: "fake 1", Dir: "/repo", Rand: d.rand, Code: func() string { return "bcdfg" }, Queues: true})
	d.Resize(80, 24)
	send := func(text string) screen.Effect { return screen.Effect{Do: screen.Send, Text: text} }
	d.typed("one\rtwo\r")
	require.Equal(t, []screen.Effect{send("one"), send("two")}, d.done())
	d.typed("/new\r")
	require.Empty(t, d.done(), "the prompts are under way")
	d.Sent(d.now, "")
	d.Begin(d.now)
	d.typed("three\r")
	require.Equal(t, []screen.Effect{send("three")}, d.done())
	require.Contains(t, d.shown(), "It waits at the agent for the end of the turn")
	require.NotContains(t, d.shown(), "next:")
	d.read("\x03")
	d.End(d.now, "Cancelled.")
	require.Equal(t, []screen.Effect{{Do: screen.Cancel}}, d.done())
	require.NotContains(t, d.shown(), "Not sent")
	d.typed("four\r")
	d.Sent(d.now, "no room")
	require.Contains(t, d.shown(), "! no room")
	require.Equal(t, []screen.Effect{send("four")}, d.done())
	d.typed("/new\rfive\rsix\r")
	require.Equal(t, []screen.Effect{{Do: screen.NewSession}}, d.done())
	d.Opened("", true)
	require.Equal(t, []screen.Effect{send("five"), send("six")}, d.done(), "they wait for the session and no longer")
}

func TestPasteIsOnePrompt(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.read("\x1b[200~first\r\nsecond\rthird\n\x1b[201~")
	require.Empty(t, d.done())
	d.typed("!\r")
	require.Equal(t, []screen.Effect{{Do: screen.Send, Text: "first\nsecond\nthird\n!"}}, d.done())
}

func TestNewLines(t *testing.T) {
	for _, key := range []string{"\n", "\x1b\r", "\x1b[13;2u", "\\\r"} {
		d := newDesk(t, 80, 24)
		d.typed("a")
		d.read(key)
		if key == "\\\r" {
			d.read("x\x7f")
		}
		d.typed("b\r")
		require.Equal(t, []screen.Effect{{Do: screen.Send, Text: "a\nb"}}, d.done(), "%q", key)
	}
}

func TestCommandsOfTheClient(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.typed("/help\r")
	require.Contains(t, d.shown(), "clears the input, then cancels the turn, then leaves")
	d.Update(d.now, []view.Change{{Op: view.Upsert, ID: "o", Entity: &view.Entity{ID: "o", Kind: view.Options, Settings: []view.Setting{
		{ID: "mode", Category: "mode", Value: "ask", Choices: []view.Choice{{ID: "ask"}, {ID: "code"}}}, {ID: "fast", Switch: true, Value: "true"}}}}})
	d.typed("/set\r")
	require.Contains(t, d.shown(), "/set mode ask   (ask, code)")
	require.Contains(t, d.shown(), "/set fast true   (true, false)")
	d.typed("/set mode code\r")
	require.Equal(t, []screen.Effect{{Do: screen.Set, Text: "mode code"}}, d.done())
	d.typed("/unknown thing\r")
	require.Equal(t, []screen.Effect{{Do: screen.Send, Text: "/unknown thing"}}, d.done(), "the agent may know it")
	d.Begin(d.now)
	d.End(d.now, "")
	d.updates(acp.SessionUpdate{AvailableCommandsUpdate: &acp.AvailableCommandsUpdate{AvailableCommands: []acp.AvailableCommand{{Name: "quit"}}}})
	d.typed("/quit\r")
	require.Equal(t, []screen.Effect{{Do: screen.Send, Text: "/quit"}}, d.done(), "the agent's own commands go first")
}

func TestAnEntryOfTheHistoryIsNotCompleted(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.updates(acp.SessionUpdate{AvailableCommandsUpdate: &acp.AvailableCommandsUpdate{AvailableCommands: []acp.AvailableCommand{{Name: "abacus"}, {Name: "abbey"}}}})
	d.typed("/ab")
	require.Contains(t, d.shown(), "/abbey")
	d.read("\x1b[27u")
	d.typed("\r") // sent as it is, and in the history
	d.done()
	d.typed("two\r")
	d.read("\x1b[A")
	d.read("\x1b[A")
	require.Contains(t, d.shown(), "› /ab")
	require.NotContains(t, d.shown(), "/abbey", "nobody types it")
}

// What an editor leaves is new text: earlier entries that begin with it are found from the last one
// on.
func TestTheHistoryAfterAnEditor(t *testing.T) {
	d := newDesk(t, 80, 24)
	for _, line := range []string{"two times\r", "other\r", "two\r"} {
		d.typed(line)
		d.Begin(d.now)
		d.End(d.now, "")
	}
	d.read("\x1b[A")
	d.read("\x1b[A")
	require.Contains(t, d.shown(), "› other")
	d.SetInput("tw")
	d.read("\x1b[A")
	require.Contains(t, d.shown(), "› two\n")
	d.read("\x1b[A")
	require.Contains(t, d.shown(), "› two times")
}
