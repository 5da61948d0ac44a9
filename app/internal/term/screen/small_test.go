// SPDX-License-Identifier: Apache-2.0

package screen_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/app/internal/term/screen"
	"github.com/ponte-go/ponte/internal/acpview"
	"github.com/ponte-go/ponte/toolset"
)

// framed is a frame with where the cursor is.
func framed(d *desk) string {
	f := d.Frame()
	for _, at := range f.Query {
		d.read(reportOf(at))
	}
	if f.Query != nil {
		f = d.Frame()
	}
	var b strings.Builder
	for _, l := range f.Lines {
		b.WriteString(strings.TrimRight(l.Plain(), " ") + "⏎\n")
	}
	fmt.Fprintf(&b, "cursor %d %d\n", f.Row, f.Column)
	return b.String()
}

// What is on screens that have hardly any room: the end of what is typed, or of a question.
func TestSmallScreens(t *testing.T) {
	kinds := []acp.PermissionOptionKind{
		acp.PermissionOptionKindAllowOnce, acp.PermissionOptionKindRejectOnce, acp.PermissionOptionKindRejectAlways,
	}
	asked := func(n int) *acpclient.PermissionRequest {
		r := &acpclient.PermissionRequest{Approval: toolset.Approval{Title: "Run make all of it"}}
		for i, kind := range kinds[:n] {
			id := acp.PermissionOptionID(fmt.Sprint(i))
			r.Options = append(r.Options, acp.PermissionOption{OptionID: id, Name: "aaaa bbbb", Kind: kind})
		}
		return r
	}
	var b strings.Builder
	show := func(width, height int, name string, do func(d *desk)) {
		d := newDesk(t, 80, 24)
		d.resize(width, height)
		do(d)
		fmt.Fprintf(&b, "=== %s %d %d\n%s", name, width, height, framed(d))
	}
	for _, size := range [][2]int{
		{0, 0}, {1, 1}, {1, 4}, {2, 4}, {3, 4}, {4, 4}, {5, 4}, {9, 2}, {9, 3}, {9, 5},
	} {
		show(size[0], size[1], "typed", func(d *desk) { d.typed("ab") })
	}
	for _, width := range []int{1, 2, 3, 4, 5} {
		show(width, 4, "a letter", func(d *desk) { d.typed("a") })
	}
	for _, size := range [][2]int{{0, 0}, {1, 1}, {8, 9}, {9, 9}, {10, 9}, {11, 9}, {12, 9}, {13, 9}, {14, 9}} {
		show(size[0], size[1], "one option", func(d *desk) { d.Ask(d.now, 1, asked(1)) })
	}
	for _, width := range []int{9, 10, 11, 12} {
		show(width, 24, "an option of six letters", func(d *desk) {
			r := asked(1)
			r.Options[0].Name = "aaaaaa"
			d.Ask(d.now, 1, r)
		})
	}
	for width := 12; width <= 25; width++ {
		show(width, 8, "three options", func(d *desk) { d.Ask(d.now, 1, asked(3)) })
	}
	for _, height := range []int{14, 15, 16, 17} {
		show(40, height, "a long question", func(d *desk) {
			r := asked(1)
			r.Approval.Reason = strings.Repeat("line\n", 20)
			d.Ask(d.now, 1, r)
		})
	}
	golden(t, "small", b.String())
}

// Before its size is known, a screen has that of the first terminals.
func TestTheSizeThatScreensBeginWith(t *testing.T) {
	f := screen.New(screen.Config{}).Frame()
	require.Len(t, f.Lines, 24)
	require.Equal(t, strings.Repeat("─", 80), f.Lines[22].Plain())
}

// The terminal has to answer for both places after each time that a question is drawn.
func TestBothPlacesAreAskedForEachTime(t *testing.T) {
	for name, again := range map[string]func(d *desk){
		"resize": func(d *desk) { d.resize(70, 20) },
		"stop":   func(d *desk) { d.read("\x1a") },
	} {
		d := newDesk(t, 80, 24)
		d.Ask(d.now, 7, question("Run make", command("make")))
		d.shown()
		if name == "resize" { // while the answers are under way
			d = newDesk(t, 80, 24)
			d.Ask(d.now, 7, question("Run make", command("make")))
			at := d.Frame().Query
			d.read(reportOf(at[0]))
		}
		again(d)
		at := d.Frame().Query
		require.Len(t, at, 2, name)
		d.done()
		d.read(reportOf(at[1]))
		d.pass(time.Second)
		d.read("y")
		require.Empty(t, d.done(), "%s: the second answer alone opens nothing", name)
		d.read(reportOf(at[0]))
		d.read(reportOf(at[1]))
		d.pass(time.Second)
		d.read("y")
		require.Equal(t, []screen.Effect{{Do: screen.Answer, Question: 7, Option: "once"}}, d.done(), name)
	}
}

// A question has something to move, if only to notice that a terminal does not answer.
func TestSomethingMovesWhileAQuestionIsAsked(t *testing.T) {
	d := newDesk(t, 80, 24)
	require.False(t, d.Tick(d.now))
	d.Ask(d.now, 7, question("Run make"))
	require.True(t, d.Tick(d.now))
	d.Withdraw(7)
	require.False(t, d.Tick(d.now))
}

// Who presses Ctrl-C twice within five seconds leaves.
func TestHowLongCtrlCIsRemembered(t *testing.T) {
	for wait, leaves := range map[time.Duration]bool{0: true, 5*time.Second - 1: true, 5 * time.Second: false} {
		d := newDesk(t, 80, 24)
		d.read("\x03")
		require.Empty(t, d.done())
		d.pass(wait)
		d.read("\x03")
		if leaves {
			require.Equal(t, []screen.Effect{{Do: screen.Quit}}, d.done(), wait)
		} else {
			require.Empty(t, d.done(), wait)
			require.Contains(t, d.shown(), "Press Ctrl-C again to leave")
		}
	}
}

// Tab shows what there is for a word again, also if it is one completion only.
func TestTabShowsTheOnlyCompletion(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.typed("/hel")
	require.Contains(t, d.shown(), "/help  keys and commands")
	d.read("\x1b")
	d.Input(d.now, d.parser.Flush())
	require.NotContains(t, d.shown(), "/help  keys and commands")
	d.read("\t")
	shown := d.shown()
	require.Contains(t, shown, "/help  keys and commands")
	require.NotContains(t, shown, "That key does nothing here")
}

// Where a question has room for a line, a page is that line.
func TestPagesOfOneLine(t *testing.T) {
	d := newDesk(t, 40, 4)
	r := question("one")
	r.Approval.Reason = "two\nthree"
	r.Options = r.Options[:1]
	d.Ask(d.now, 7, r)
	d.shown()
	for _, page := range []struct{ key, lines string }{{"", "1-1 of 6"}, {"\x1b[6~", "2-2 of 6"}, {"\x1b[6~", "3-3 of 6"}, {"\x1b[5~", "2-2 of 6"}} {
		d.read(page.key)
		require.Contains(t, d.shown(), "lines "+page.lines)
	}
}

func TestOnePromptThatWaits(t *testing.T) {
	d := newDesk(t, 60, 20)
	d.updates(acpview.WaitingInfo([]acpview.Waiting{{ID: "a", Version: 1, Number: "10", Text: "make tea"}}))
	shown := d.shown()
	require.Contains(t, shown, "  waits 10: make tea\n  1 waiting: /waiting changes them\n")
}
