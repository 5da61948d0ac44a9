// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ponte-go/ponte/internal/clean"
	"github.com/ponte-go/ponte/toolset"
)

// shownOutput is as much of a command's output as is shown at once: all of it, or the beginning
// and the end.
type shownOutput struct {
	head, tail string
	// at is the position of what is left out, and left how much that is.
	at, left int64
	lost     bool  // the beginning
	before   int64 // how much of it at least
	exit     *Exit
}

// output reads a command's output, the beginning and the end of a long one.
func (c *call) output(ctx context.Context, t *Terminal) (shownOutput, error) {
	limit := int64(c.options.outputLimit)
	chunk, err := t.Process.Output(ctx, 0, int(limit)+1)
	if err != nil {
		return shownOutput{}, c.failed(ctx, "read the output of "+t.short(), err)
	}
	if n := int64(len(chunk.Data)); n <= limit && chunk.From+n >= chunk.End {
		return shownOutput{head: toText(chunk.Data), lost: chunk.Lost, before: chunk.From, exit: chunk.Exit}, nil
	}
	head := cutHead(string(chunk.Data[:min(limit/4, int64(len(chunk.Data)))]))
	last, err := t.Process.Output(ctx, -(limit - limit/4), 0)
	if err != nil {
		return shownOutput{}, c.failed(ctx, "read the output of "+t.short(), err)
	}
	tail := cutTail(string(last.Data))
	at := chunk.From + int64(len(head))
	return shownOutput{
		head: toText([]byte(head)), tail: toText([]byte(tail)), at: at, left: max(
			last.End-int64(len(tail))-at, 1,
		), lost: chunk.Lost,
		before: chunk.From, exit: last.Exit,
	}, nil
}

// state describes the state of the command of the terminal id.
func (o *shownOutput) state(id string) CommandState {
	return CommandState{Terminal: id, Exit: o.exit, Running: o.exit == nil, Truncated: o.lost || o.left > 0}
}

// text shows an output with how the command ended.
func (o *shownOutput) text(id, how string) string {
	var b strings.Builder
	switch {
	case o.lost && o.before > 1: // of an editor one knows no more than that
		fmt.Fprintf(&b, "[The beginning of the output is lost: %d bytes or more.]\n", o.before)
	case o.lost:
		b.WriteString("[The beginning of the output is lost.]\n")
	}
	b.WriteString(o.head)
	if o.left > 0 {
		endLine(&b, o.head)
		if id == "" {
			fmt.Fprintf(&b, "[%d bytes left out here. To see them, have the command write to a file.]\n", o.left)
		} else {
			fmt.Fprintf(&b, "[%d bytes left out here. To read them, call %s with terminal_id %q and from %d.]\n", o.left, ToolGetTerminalOutput, id, o.at)
		}
		b.WriteString(o.tail)
	}
	if all := o.head + o.tail; all == "" {
		b.WriteString("[no output]\n")
	} else {
		endLine(&b, all)
	}
	b.WriteString("[" + how + "]")
	return b.String()
}

// endLine ends the line that a text has begun.
func endLine(b *strings.Builder, text string) {
	if text != "" && !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n')
	}
}

// toText makes what a program wrote fit to be shown.
func toText(data []byte) string { return strings.ToValidUTF8(string(data), "\ufffd") }

// cutHead shortens a text that was cut off at its end: to whole lines if the last one is not
// long, else to whole characters.
func cutHead(s string) string {
	if i := strings.LastIndexByte(s, '\n'); i >= len(s)/2 {
		return s[:i+1]
	}
	return clean.Whole(s)
}

// cutTail shortens a text that was cut off at its beginning.
func cutTail(s string) string {
	if i := strings.IndexByte(s, '\n'); i >= 0 && i < len(s)/2 {
		return s[i+1:]
	}
	for n := 0; n < utf8.UTFMax && s != "" && !utf8.RuneStart(s[0]); n++ {
		s = s[1:]
	}
	return s
}

// readOn shows an output from a position.
func (c *call) readOn(ctx context.Context, t *Terminal, from int64) (toolset.Result, error) {
	chunk, err := t.Process.Output(ctx, from, c.options.outputLimit)
	if err != nil {
		return toolset.Result{}, c.failed(ctx, "read the output of "+t.short(), err)
	}
	data := chunk.Data
	for len(data) > 0 && !utf8.RuneStart(data[0]) && len(chunk.Data)-len(data) < utf8.UTFMax {
		data = data[1:]
	}
	body := string(data)
	next := chunk.From + int64(len(chunk.Data))
	if next < chunk.End {
		body = cutHead(body)
		next = chunk.From + int64(len(chunk.Data)-len(data)+len(body))
	}
	var b strings.Builder
	if chunk.Lost {
		fmt.Fprintf(&b, "[The output before position %d is lost.]\n", chunk.From)
	}
	b.WriteString(toText([]byte(body)))
	endLine(&b, body)
	switch {
	case next < chunk.End:
		fmt.Fprintf(
			&b, "[%d bytes more. To read on, call %s with from %d.]\n", chunk.End-next,
			ToolGetTerminalOutput, next,
		)
	case body == "":
		fmt.Fprintf(&b, "[No output after position %d.]\n", chunk.From)
	}
	fmt.Fprintf(&b, "[%s]", howEnded(chunk.Exit))
	state := CommandState{
		Terminal: t.ID, Exit: chunk.Exit, Running: chunk.Exit == nil,
		Truncated: chunk.From > 0 || next < chunk.End,
	}
	return withMeta(b.String(), state), nil
}
