// SPDX-License-Identifier: Apache-2.0

package screen_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/term/input"
	"github.com/ponte-go/ponte/app/internal/term/screen"
	"github.com/ponte-go/ponte/toolset"
)

// desk is a screen with somebody before it. Its time passes when it is told to.
type desk struct {
	*screen.Model
	t      *testing.T
	now    time.Time
	fold   acpclient.Fold
	last   *view.Snapshot
	parser input.Parser
	did    []screen.Effect
	width  int
	height int
	rand   func(n int) int
}

func newDesk(t *testing.T, width, height int) *desk {
	d := &desk{t: t, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), width: width, height: height}
	next := 0
	d.rand = func(n int) int { next += 7; return next % n }
	d.Model = screen.New(screen.Config{Agent: "fake 1", Dir: "/repo", Rand: func(n int) int { return d.rand(n) }, Code: func() string { return "bcdfg" }})
	d.Resize(width, height)
	return d
}

func (d *desk) resize(width, height int) {
	d.width, d.height = width, height
	d.Resize(width, height)
}

// pass lets time pass.
func (d *desk) pass(by time.Duration) {
	d.now = d.now.Add(by)
	d.Tick(d.now)
}

// read takes what is read from the terminal at once.
func (d *desk) read(s string) {
	d.Input(d.now, d.parser.Feed([]byte(s)))
	d.collect()
}

// typed takes keys one after the other, as a person types them.
func (d *desk) typed(s string) {
	for _, r := range s {
		d.pass(80 * time.Millisecond)
		d.read(string(r))
	}
}

func (d *desk) collect() { d.did = append(d.did, d.Effects()...) }

// done returns what was to be done since the last time.
func (d *desk) done() []screen.Effect {
	d.collect()
	all := d.did
	d.did = nil
	return all
}

func (d *desk) updates(all ...acp.SessionUpdate) {
	for i := range all {
		if err := d.fold.Apply(&all[i]); err != nil {
			d.t.Fatal(err)
		}
	}
	d.show()
}

func (d *desk) show() {
	u, err := d.fold.View().Cursor(d.last).Update(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	d.last = u.Snapshot
	d.Update(d.now, u.Changes)
}

// shown returns the screen as text, and has the terminal answer what it is asked.
func (d *desk) shown() string {
	f := d.Frame()
	for _, at := range f.Query {
		d.read(reportOf(at))
	}
	return textOf(d.t, f, d.width, d.height)
}

func textOf(t *testing.T, f screen.Frame, width, height int) string {
	if len(f.Lines) != height {
		t.Fatalf("%d lines on a screen of %d", len(f.Lines), height)
	}
	var b strings.Builder
	for _, l := range f.Lines {
		if n := l.Width(); n > width {
			t.Fatalf("a line of %d columns on a screen of %d: %q", n, width, l.Plain())
		}
		b.WriteString(strings.TrimRight(l.Plain(), " ") + "\n")
	}
	return b.String()
}

func question(title string, preview ...toolset.Preview) *acpclient.PermissionRequest {
	return &acpclient.PermissionRequest{
		Call:     &view.Entity{ID: "call:1", Kind: view.ToolCall, Title: title},
		Approval: toolset.Approval{Title: title, Preview: preview},
		Options: []acp.PermissionOption{
			{OptionID: "once", Name: "Allow once", Kind: acp.PermissionOptionKindAllowOnce},
			{OptionID: "always", Name: "Always allow `make` in this session", Kind: acp.PermissionOptionKindAllowAlways},
			{OptionID: "no", Name: "Reject", Kind: acp.PermissionOptionKindRejectOnce},
		},
	}
}

func command(line string) toolset.Preview {
	return toolset.Preview{Command: &toolset.CommandLine{Line: line, Dir: "/repo"}}
}
