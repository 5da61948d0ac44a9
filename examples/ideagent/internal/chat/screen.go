// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"bufio"
	"io"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// screen shows a conversation, in the order in which things happen. Several goroutines may show things.
type screen struct {
	tty, color bool
	dir        string

	mu  sync.Mutex
	out *bufio.Writer
	// block is what was shown last; breaks counts the line breaks at its end that have not been written yet, since
	// nothing may follow.
	block  block
	breaks int
	blank  bool // a blank line, or nothing, stands above
	// line is the tool call whose line the cursor stands at the end of.
	line  acp.ToolCallID
	calls map[acp.ToolCallID]*callView
	usage string
	mode  acp.SessionModeID
}

// block is a kind of thing that is shown.
type block int

const (
	blockNone     block = iota
	blockText           // what the agent says
	blockThought        // what it thinks
	blockLine           // whole lines
	blockCall           // the line of a tool call, unfinished
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

func newScreen(out io.Writer, tty, color bool, dir string) *screen {
	return &screen{tty: tty, color: color, dir: dir, out: bufio.NewWriter(out), calls: map[acp.ToolCallID]*callView{}, blank: true}
}

func (s *screen) style(style, text string) string {
	if !s.color || style == styleNone || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// locked shows what f writes.
func (s *screen) locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	_ = s.out.Flush() // a terminal that is gone is noticed elsewhere
}

// begin goes to the beginning of a line for a new block. A block of text has a blank line above and below.
func (s *screen) begin(next block) {
	if s.block == blockCall {
		s.out.WriteByte('\n')
		s.line = ""
		s.blank = false
	}
	if s.block == blockText || s.block == blockThought || s.block == blockQuestion {
		s.out.WriteByte('\n')
		s.blank = false
	}
	text := func(b block) bool { return b == blockText || b == blockThought }
	if next != s.block && next != blockNone && (text(next) || text(s.block)) && !s.blank {
		s.out.WriteByte('\n')
		s.blank = true
	}
	s.breaks = 0
	s.block = next
}

// stream appends to the block of text of that kind, or begins one.
func (s *screen) stream(kind block, text string) {
	text = clean(text)
	if s.block != kind {
		if text = strings.TrimLeft(text, "\n"); text == "" {
			return
		}
		s.begin(kind)
	}
	body := strings.TrimRight(text, "\n")
	if body != "" {
		s.out.WriteString(strings.Repeat("\n", s.breaks))
		s.breaks = 0
		style := styleNone
		if kind == blockThought {
			style = styleDim
		}
		s.out.WriteString(s.style(style, body))
		s.blank = false
	}
	s.breaks += len(text) - len(body)
}

// lines shows whole lines.
func (s *screen) lines(style string, lines ...string) {
	s.begin(blockLine)
	for _, l := range lines {
		s.out.WriteString(s.style(style, l))
		s.out.WriteByte('\n')
	}
	s.blank = false
}

// note shows a remark of the client.
func (s *screen) note(text string) { s.locked(func() { s.lines(styleDim, "  "+oneLine(text)) }) }

// fail shows an error.
func (s *screen) fail(text string) { s.locked(func() { s.lines(styleRed, "error: "+text) }) }

// prompt asks the user what to do next.
const prompt = "› "

// ask shows a question; the answer is entered on the same line.
func (s *screen) ask(question string) {
	s.locked(func() {
		s.begin(blockLine)
		if question == prompt && !s.blank {
			s.out.WriteByte('\n')
			s.blank = true
		}
		s.out.WriteString(s.style(styleBold, question))
		s.block = blockQuestion
	})
}

// answered notes that the user has entered a line, and its end with it.
func (s *screen) answered() {
	s.locked(func() {
		if s.block == blockQuestion {
			s.block, s.blank = blockLine, false
		}
	})
}

func (s *screen) option(n int, name string) {
	s.locked(func() { s.lines(styleNone, "  "+s.style(styleBold, string(rune('0'+n)))+"  "+name) })
}

// end finishes what has been begun, at the end of a turn.
func (s *screen) end() {
	s.locked(func() {
		s.finishCalls()
		if s.usage != "" {
			s.lines(styleDim, "  "+s.usage)
			s.usage = ""
		}
		s.begin(blockNone)
	})
}
