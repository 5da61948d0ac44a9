// SPDX-License-Identifier: Apache-2.0

// Package plain shows a conversation as text that is only appended to: for pipes, logs, CI, and
// simple terminals.
package plain

import (
	"bufio"
	"io"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/term/text"
)

// Printer shows a conversation, in the order in which things happen. It is safe for concurrent use.
type Printer struct {
	color bool
	dir   string

	mu  sync.Mutex
	out *bufio.Writer
	// block is the kind of the last block; breaks counts the line breaks at its end that have not
	// been written yet, since nothing may follow.
	block  block
	open   string // the entity whose text the block is
	breaks int
	blank  bool // a blank line, or nothing, stands above

	said     map[string]int // bytes of messages and thoughts that were shown
	calls    map[string]*call
	commands map[string]*output
	plan     []view.Step
	settings map[string]string
	usage    string
}

// block is a kind of thing that is shown.
type block int

const (
	blockNone     block = iota
	blockText           // what the agent says
	blockThought        // what it thinks
	blockLine           // whole lines
	blockQuestion       // a question that waits for its answer, on the same line
)

// The styles, as parameters of the SGR control sequence.
const (
	styleNone   = ""
	styleDim    = "2"
	styleBold   = "1"
	styleRed    = "31"
	styleGreen  = "32"
	styleYellow = "33"
	styleCyan   = "36"
)

// New returns a Printer that shows paths relative to dir.
func New(out io.Writer, color bool, dir string) *Printer {
	return &Printer{
		color: color, dir: dir, out: bufio.NewWriter(out), blank: true, said: map[string]int{}, calls: map[string]*call{},
		commands: map[string]*output{},
	}
}

func (p *Printer) style(style, text string) string {
	if !p.color || style == styleNone || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// locked shows what f writes.
func (p *Printer) locked(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	_ = p.out.Flush() // a terminal that is gone is noticed elsewhere
}

// begin goes to the beginning of a line for a new block. A block of text has a blank line above and
// below.
func (p *Printer) begin(next block) {
	if p.block == blockText || p.block == blockThought || p.block == blockQuestion {
		p.out.WriteByte('\n')
		p.blank = false
	}
	text := func(b block) bool { return b == blockText || b == blockThought }
	if next != blockNone && (text(next) || text(p.block)) && !p.blank {
		p.out.WriteByte('\n')
		p.blank = true
	}
	p.breaks, p.open = 0, ""
	p.block = next
}

// stream appends to the block of an entity's text, or begins one.
func (p *Printer) stream(kind block, id, more string) {
	more = text.Clean(more)
	if p.block != kind || p.open != id {
		if more = strings.TrimLeft(more, "\n"); more == "" {
			return
		}
		p.begin(kind)
		p.open = id
	}
	body := strings.TrimRight(more, "\n")
	if body != "" {
		p.out.WriteString(strings.Repeat("\n", p.breaks))
		p.breaks = 0
		style := styleNone
		if kind == blockThought {
			style = styleDim
		}
		p.out.WriteString(p.style(style, body))
		p.blank = false
	}
	p.breaks += len(more) - len(body)
}

// Reset begins another conversation: nothing of it has been shown.
func (p *Printer) Reset() {
	p.locked(func() {
		p.begin(blockNone)
		p.said, p.calls, p.commands = map[string]int{}, map[string]*call{}, map[string]*output{}
		p.plan, p.settings, p.usage = nil, nil, ""
	})
}

// lines shows whole lines.
func (p *Printer) lines(style string, lines ...string) {
	p.begin(blockLine)
	for _, l := range lines {
		p.out.WriteString(p.style(style, l))
		p.out.WriteByte('\n')
	}
	p.blank = false
}

// Note shows a remark of the client.
func (p *Printer) Note(note string) { p.locked(func() { p.lines(styleDim, "  "+text.OneLine(note)) }) }

// Fail shows an error. The conversation continues.
func (p *Printer) Fail(err string) {
	p.locked(func() { p.lines(styleRed, "error: "+text.OneLine(err)) })
}

// Prompt asks the user what to do next.
func (p *Printer) Prompt() {
	p.locked(func() {
		p.begin(blockLine)
		if !p.blank {
			p.out.WriteByte('\n')
		}
		p.out.WriteString(p.style(styleBold, "› "))
		p.block, p.blank = blockQuestion, false
	})
}

// Answered notes that the user has entered a line, and its end with it.
func (p *Printer) Answered() {
	p.locked(func() {
		if p.block == blockQuestion {
			p.block, p.blank = blockLine, false
		}
	})
}

// EndTurn finishes what has been begun.
func (p *Printer) EndTurn() {
	p.locked(func() {
		for _, o := range p.commands {
			o.finish(p)
		}
		p.plan = nil
		if p.usage != "" {
			p.lines(styleDim, "  "+p.usage)
			p.usage = ""
		}
		p.begin(blockNone)
	})
}

// relative returns a path as the user thinks of it.
func (p *Printer) relative(path string) string {
	if local, err := filepath.Rel(p.dir, path); err == nil && filepath.IsLocal(local) {
		return local
	}
	return path
}
