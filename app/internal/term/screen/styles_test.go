// SPDX-License-Identifier: Apache-2.0

package screen_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/term/edit"
	"github.com/ponte-go/ponte/app/internal/term/screen"
	"github.com/ponte-go/ponte/app/internal/term/text"
)

// styled returns the lines of a frame with the control sequences of their styles as <1;33>.
func styled(d *desk) string {
	var b strings.Builder
	for i, l := range d.Frame().Lines {
		var line strings.Builder
		for _, s := range l {
			if sgr := strings.TrimPrefix(s.Style.SGR(true), "\x1b["); sgr != "" && s.Text != "" {
				line.WriteString("<" + strings.TrimSuffix(sgr, "m") + ">")
			}
			line.WriteString(s.Text + "|")
		}
		if line.Len() > 0 {
			fmt.Fprintf(&b, "%2d %s\n", i, line.String())
		}
	}
	return b.String()
}

// How everything looks in each state.
func TestStyles(t *testing.T) {
	var b strings.Builder
	names, of := sorted(states, further)
	for _, name := range names {
		d := newDesk(t, 60, 16)
		of[name](d)
		d.pass(10 * time.Millisecond)
		d.shown()
		fmt.Fprintf(&b, "=== %s\n%s", name, styled(d))
	}
	for name, do := range map[string]func(d *desk){
		"problems": func(d *desk) {
			d.Sent(d.now, "no room")
			d.Opened("gone", false)
			d.Opened("another one", true)
			d.Opened("not there", false)
			d.End(d.now, "broken")
			d.typed("/set\r/sessions\r")
			d.SetSessions(nil)
			d.Told("**done**")
		},
	} {
		d := newDesk(t, 60, 30)
		do(d)
		fmt.Fprintf(&b, "=== %s\n%s", name, styled(d))
	}
	golden(t, "styles", b.String())
}

// What a signal, an editor and a file manager do is what keys do.
func TestWhatDoesNotComeFromKeys(t *testing.T) {
	d := newDesk(t, 60, 16)
	d.Begin(d.now)
	d.Interrupt(d.now)
	require.Equal(t, []screen.Effect{{Do: screen.Cancel}}, d.done())
	require.Contains(t, d.shown(), "cancelling")
	d.End(d.now, "")
	later := d.now.Add(time.Minute)
	d.Interrupt(later)
	require.Contains(t, d.shown(), "Press Ctrl-C again to leave")
	d.Tick(later.Add(5 * time.Second))
	require.Contains(t, d.shown(), "Press Ctrl-C again to leave", "for five seconds")
	d.Interrupt(later.Add(5*time.Second - 1))
	require.Equal(t, []screen.Effect{{Do: screen.Quit}}, d.done())

	d = newDesk(t, 60, 16)
	d.Model = screen.New(screen.Config{Agent: "fake", Dir: "/repo", Dropped: func(pasted string) string {
		if pasted == "/repo/a.txt" {
			return "@a.txt"
		}
		return ""
	}})
	d.resize(60, 16)
	d.read("\x1b[200~/repo/a.txt\x1b[201~")
	require.Contains(t, d.shown(), "› @a.txt\n")
	require.Contains(t, d.shown(), "fake in repo", "no hint says that nothing was done")
	d.read("\x1b[200~/repo/b.txt\x1b[201~")
	require.Contains(t, d.shown(), "› @a.txt /repo/b.txt\n")
	d.AskLine(1, nil)
	d.read("\x1b[200~/repo/a.txt\x1b[201~")
	require.Contains(t, d.shown(), "› /repo/a.txt\n", "an answer is what was pasted")
}

// The conversation can be written for a terminal that scrolls by itself.
func TestTranscript(t *testing.T) {
	d := newDesk(t, 60, 16)
	d.updates(acp.TextChunk("one two three\n\nfour"))
	d.Note("noted", text.Style{})
	var lines []string
	for _, l := range d.Transcript(10) {
		lines = append(lines, l.Plain())
	}
	require.Equal(t, []string{"one two", "three", "", "four", "", "noted"}, lines)
}

// What changes tells the time, too.
func TestTimeOfChanges(t *testing.T) {
	d := newDesk(t, 60, 16)
	d.Begin(d.now)
	d.Update(d.now.Add(3*time.Second), []view.Change{{Op: view.Remove, ID: "none"}})
	require.Contains(t, d.shown(), " 3s waiting for the agent")
	d.Ask(d.now.Add(4*time.Second), 1, question("Run make", command("make")))
	d.Withdraw(1)
	require.Contains(t, d.shown(), " 4s waiting for the agent")
	d.Input(d.now.Add(6*time.Second), nil)
	require.Contains(t, d.shown(), " 6s waiting for the agent")
	require.True(t, d.Tick(d.now.Add(7*time.Second)))
	require.Contains(t, d.shown(), " 7s waiting for the agent")
}

// Once ends the program with its turn, and a history that is given is used.
func TestConfigurationOfScreens(t *testing.T) {
	d := newDesk(t, 60, 16)
	history := &edit.History{}
	history.Add("earlier")
	d.Model = screen.New(screen.Config{Agent: "fake", Dir: "/repo", Once: true, Queues: true, History: history})
	d.resize(60, 16)
	d.read("\x1b[A")
	require.Contains(t, d.shown(), "› earlier\n")
	d.read("\r")
	d.Begin(d.now)
	d.typed("two\rthree\r")
	require.Equal(t, []screen.Effect{{Do: screen.Send, Text: "earlier"}, {Do: screen.Send, Text: "two"}, {Do: screen.Send, Text: "three"}}, d.done(), "they wait at the agent")
	d.End(d.now, "")
	require.Equal(t, []screen.Effect{{Do: screen.Quit}}, d.done())
}

// The keys of options are told as well as there is room.
func TestKeysOfOptionsInALine(t *testing.T) {
	var b strings.Builder
	all := []acp.PermissionOption{
		{Name: "Allow", Kind: acp.PermissionOptionKindAllowOnce}, {Name: "Always", Kind: acp.PermissionOptionKindAllowAlways},
		{Name: "Reject", Kind: acp.PermissionOptionKindRejectOnce}, {Name: "Never", Kind: acp.PermissionOptionKindRejectAlways}, {Name: "Other", Kind: "seventeen_letters"},
	}
	for _, options := range [][]acp.PermissionOption{all, all[:3], all[2:4], all[:2], all[:1], all[4:]} {
		last := ""
		for width := 90; width >= 10; width-- {
			r := question("Run make", command("make"))
			r.Options = options
			d := newDesk(t, width, 6)
			d.Ask(d.now, 1, r)
			d.shown()
			if line := drawn(d)[5]; line != last {
				fmt.Fprintf(&b, "%d %s\n", width, line)
				last = line
			}
		}
	}
	golden(t, "shortkeys", b.String())
}
