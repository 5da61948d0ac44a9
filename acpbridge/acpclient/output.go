// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// How much of an output is shown, in bytes: the beginning as it comes, and the end when the command
// has ended.
const (
	shownHead = 512 << 10
	shownTail = 512 << 10
)

// output shows what a command writes.
type output struct {
	process workspace.Process
	show    func(text string)
	pos     int64  // of what is to be read next
	rest    []byte // of the beginning: no whole character yet
	head    int    // bytes of the beginning
	tail    []byte // what came after it, or the end of that
	dropped int64  // bytes between the two
	breaks  int64  // line breaks in them
	gap     bool   // the command's workspace has dropped some of them: nobody knows how many lines those are
	told    bool
}

// more shows new output. over reports that the output is complete; exit is nil then if the command
// was released.
func (o *output) more() (exit *workspace.Exit, over bool) {
	const atOnce, rounds = 256 << 10, 16
	for range rounds {
		chunk, err := o.process.Output(context.Background(), o.pos, atOnce)
		if err != nil {
			return nil, true
		}
		o.take(chunk.From-o.pos, chunk.Data)
		o.pos = chunk.From + int64(len(chunk.Data))
		switch over = chunk.Exit != nil && o.pos >= chunk.End; {
		case over:
			return chunk.Exit, true
		case len(chunk.Data) == 0:
			return nil, false
		}
	}
	return nil, false
}

// take takes what comes next, after so many bytes that are lost.
func (o *output) take(lost int64, data []byte) {
	if lost > 0 {
		o.drop(o.tail)
		o.tail = o.tail[:0]
		o.dropped += lost
		o.head, o.gap = shownHead, true // the beginning ends here
	}
	n := min(shownHead-o.head, len(data))
	o.head += n
	o.rest = append(o.rest, data[:n]...)
	k := whole(o.rest)
	o.append(string(o.rest[:k]))
	o.rest = append(o.rest[:0], o.rest[k:]...)
	if data = data[n:]; len(data) == 0 {
		return
	}
	o.tail = append(o.tail, data...)
	if len(o.tail) > 2*shownTail {
		o.cut(len(o.tail) - shownTail)
	}
	if !o.told && o.dropped > 0 {
		o.told = true
		o.append(string(o.rest) + "\n[The end of the output is shown when the command has ended.]\n")
		o.rest = nil
	}
}

func (o *output) drop(data []byte) {
	o.dropped += int64(len(data))
	o.breaks += int64(bytes.Count(data, []byte("\n")))
}

func (o *output) cut(n int) {
	o.drop(o.tail[:n])
	o.tail = append(o.tail[:0], o.tail[n:]...)
}

// finish shows the end, preceded by a note about missing output.
func (o *output) finish() {
	tail := o.tail
	if o.dropped > 0 || len(tail) > shownTail {
		if n := len(tail) - shownTail; n > 0 {
			o.cut(n)
		}
		if i := bytes.IndexByte(o.tail, '\n'); i >= 0 && i < len(o.tail)/2 { // from whole lines on
			o.cut(i + 1)
		}
		lines := fmt.Sprintf(" (%d lines)", o.breaks)
		if o.gap {
			lines = ""
		}
		o.append(fmt.Sprintf("%s\n[%d bytes%s of the output are left out here.]\n", o.rest, o.dropped, lines))
		o.rest, tail = nil, o.tail
	}
	o.append(string(o.rest) + string(tail))
	o.rest, o.tail = nil, nil
}

func (o *output) append(text string) {
	if text != "" {
		o.show(strings.ToValidUTF8(text, "\uFFFD"))
	}
}

// whole returns how much of p ends at the end of a character.
func whole(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if c := p[len(p)-n:]; utf8.RuneStart(c[0]) {
			if utf8.FullRune(c) {
				return len(p)
			}
			return len(p) - n
		}
	}
	return len(p)
}
