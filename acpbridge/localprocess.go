// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ponte-go/ponte/internal/acpview"
	"github.com/ponte-go/ponte/internal/clean"
	"github.com/ponte-go/ponte/internal/markdown"
	ws "github.com/ponte-go/ponte/toolset/workspace"
)

const (
	// outputInterval is how often the output of a command on this machine is reported.
	outputInterval = 200 * time.Millisecond
	// outputShown is how much of it is shown, in bytes. Of longer output half of that is kept, and
	// may grow again.
	outputShown = 64 << 10
	// piecesAtOnce bounds what is read at once of a command that writes faster than it can be
	// shown.
	piecesAtOnce = 32
)

// localProcess is a command on this machine. The user sees its output while a tool call waits for
// it.
type localProcess struct{ ws.Process }

// Wait implements [ws.Process].
func (p *localProcess) Wait(ctx context.Context) (ws.Exit, error) {
	a := reportOf(ctx)
	if a == nil {
		return p.Process.Wait(ctx)
	}
	o := &growingOutput{begun: a.about.Runs} // else there may be a lot of it already
	for {
		slice, cancel := context.WithTimeout(ctx, outputInterval)
		exit, err := p.Process.Wait(slice)
		over := slice.Err() != nil && ctx.Err() == nil
		cancel()
		switch {
		case over:
			p.show(ctx, a, o)
		case a.output == o: // the rest of what was shown
			p.show(context.WithoutCancel(ctx), a, o)
			return exit, err
		default:
			return exit, err
		}
	}
}

// show shows what is new of the output, piece by piece: what is dropped has been shown.
func (p *localProcess) show(ctx context.Context, a *report, o *growingOutput) {
	for range piecesAtOnce {
		if !o.read(ctx, p.Process) {
			return
		}
		a.showOutput(ctx, o)
	}
}

// growingOutput is the output of a command as the user sees it while a call waits for it.
type growingOutput struct {
	acpview.Output
	fence string
	begun bool   // what is read next follows
	end   int64  // the position of what is read next
	cut   []byte // the beginning of a character at the end
}

// read reads what the command has written since the last time. It reports whether there is more to
// show.
func (o *growingOutput) read(ctx context.Context, p ws.Process) bool {
	from := o.end
	if !o.begun {
		from = -outputShown
	}
	chunk, err := p.Output(ctx, from, outputShown/4)
	if err != nil || len(chunk.Data) == 0 {
		return false
	}
	if !o.begun || chunk.From > o.end { // a part was lost, or is not shown
		o.Before, o.Text, o.cut = o.Before+int64(len(o.Text))+chunk.From-o.end, "", nil
	}
	o.begun, o.end = true, chunk.From+int64(len(chunk.Data))
	return o.add(chunk.Data)
}

// add adds output. Of a character that is not complete the rest may follow.
func (o *growingOutput) add(data []byte) bool {
	data = append(o.cut, data...)
	whole := len(clean.Whole(data))
	o.cut = append([]byte(nil), data[whole:]...)
	o.Text += strings.ToValidUTF8(string(data[:whole]), "\ufffd")
	if drop := len(o.Text) - outputShown/2; len(o.Text) > outputShown {
		if i := strings.IndexByte(o.Text[drop:], '\n'); i >= 0 && i < outputShown/8 {
			drop += i + 1
		}
		for drop < len(o.Text) && !utf8.RuneStart(o.Text[drop]) {
			drop++
		}
		o.Before, o.Text = o.Before+int64(drop), strings.Clone(o.Text[drop:])
	}
	if fence := markdown.Fence(o.Text, 3); len(fence) > len(o.fence) {
		o.fence = fence
	}
	return whole > 0
}

// shown returns what is shown while more may follow.
func (o *growingOutput) shown() string { return o.Grows(o.fence) }

// ended returns the final content. how describes how the command ended.
func (o *growingOutput) ended(how string) string {
	if len(o.cut) > 0 {
		o.Text, o.cut = o.Text+"\ufffd", nil
	}
	text := o.shown()
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return acpview.Closed(text + how)
}
