// SPDX-License-Identifier: Apache-2.0

// Package input reads what a terminal sends: keys, pasted text, and the terminal's answers to
// questions.
package input

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Kind is the kind of an [Event].
type Kind uint8

// The kinds of events.
const (
	Text   Kind = iota + 1 // characters that were typed: Text
	Paste                  // text that was pasted as a whole: Text
	Report                 // the terminal's answer to a question for the position of the cursor: Row, Column
	Enter
	Tab
	Backspace
	Delete
	Escape
	Up
	Down
	Left
	Right
	Home
	End
	PageUp
	PageDown
	WheelUp
	WheelDown
	Ctrl    // Text is the letter
	Unknown // a key without a meaning here
)

// Event is a key, a paste, or a report.
type Event struct {
	Kind             Kind
	Text             string
	Shift, Alt, Held bool // Held is the Ctrl key, for keys that are no letters
	Row, Column      int
	// Alone is set if nothing else was read together with it.
	Alone bool
}

// Parser makes events of bytes. The zero value is ready to use.
type Parser struct {
	buf     []byte
	pasting bool
	paste   []byte
}

// maxPaste bounds what is kept of a paste.
const maxPaste = 4 << 20

var (
	beginPaste = []byte("\x1b[200~")
	endPaste   = []byte("\x1b[201~")
)

// Feed takes what was read at once, and returns what is complete.
func (p *Parser) Feed(data []byte) []Event {
	rest := len(p.buf) > 0 || p.pasting
	p.buf = append(p.buf, data...)
	var all []Event
	for len(p.buf) > 0 {
		if p.pasting {
			if !p.more(&all) {
				break
			}
			continue
		}
		if bytes.HasPrefix(p.buf, beginPaste) {
			p.pasting, p.paste = true, nil
			p.buf = p.buf[len(beginPaste):]
			continue
		}
		e, n := next(p.buf)
		if n == 0 {
			break
		}
		p.buf = p.buf[n:]
		if e.Kind != 0 {
			all = append(all, e)
		}
	}
	all = wheel(all)
	if len(all) == 1 && len(p.buf) == 0 && !p.pasting && !rest {
		all[0].Alone = true
	}
	if len(p.buf) == 0 {
		p.buf = nil
	}
	return all
}

// wheel makes steps of the wheel of arrow keys that were read at once: terminals send several for
// a step on a separate screen. A person's keys come one by one.
func wheel(all []Event) []Event {
	if len(all) < 2 || all[0].Kind != Up && all[0].Kind != Down {
		return all
	}
	step := all[0]
	for _, e := range all {
		if e != step || e.Shift || e.Alt || e.Held {
			return all
		}
	}
	step.Kind = map[Kind]Kind{Up: WheelUp, Down: WheelDown}[step.Kind]
	steps := make([]Event, (len(all)+2)/3)
	for i := range steps {
		steps[i] = step
	}
	return steps
}

// more takes the rest of the paste. It returns false if the paste is not complete.
func (p *Parser) more(all *[]Event) bool {
	end := bytes.Index(p.buf, endPaste)
	n, over := end, end >= 0
	if !over { // the end may be cut off
		n = len(p.buf)
		for k := min(len(endPaste)-1, n); k > 0; k-- {
			if bytes.HasSuffix(p.buf, endPaste[:k]) {
				n -= k
				break
			}
		}
	}
	if room := maxPaste - len(p.paste); room > 0 {
		p.paste = append(p.paste, p.buf[:min(n, room)]...)
	}
	p.buf = p.buf[n:]
	if over {
		p.buf, p.pasting = p.buf[len(endPaste):], false
		*all = append(*all, Event{Kind: Paste, Text: pasted(p.paste)})
		p.paste = nil
	}
	return over
}

// pasted makes text of a paste. Terminals send CR for a line break.
func pasted(b []byte) string {
	return strings.ToValidUTF8(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(b)), "\uFFFD")
}

// Waiting reports whether there is the beginning of something: an Esc may be a key, or begin one.
func (p *Parser) Waiting() bool { return len(p.buf) > 0 && !p.pasting }

// Flush returns what there is, when nothing more has come for a while.
func (p *Parser) Flush() []Event {
	if !p.Waiting() {
		return nil
	}
	buf := p.buf
	p.buf = nil
	if buf[0] != 0x1b {
		return []Event{{Kind: Unknown}} // half a character
	}
	if len(buf) == 1 {
		return []Event{{Kind: Escape, Alone: true}}
	}
	return []Event{{Kind: Unknown}}
}

// next returns the first event, without a kind if it is nothing, and how many bytes it took; 0
// bytes if it is not complete.
func next(b []byte) (Event, int) {
	switch c := b[0]; {
	case c == 0x1b:
		return escape(b)
	case c == '\r':
		return Event{Kind: Enter}, 1
	case c == '\n':
		return Event{Kind: Enter, Shift: true}, 1
	case c == '\t':
		return Event{Kind: Tab}, 1
	case c == 0x7f, c == 0x08:
		return Event{Kind: Backspace}, 1
	case c == 0:
		return Event{Kind: Unknown}, 1
	case c < 0x1b:
		return Event{Kind: Ctrl, Text: string(rune('a' + c - 1))}, 1
	case c < ' ':
		return Event{Kind: Ctrl, Text: string(rune(`\]^_`[c-0x1c]))}, 1
	}
	if !utf8.FullRune(b) {
		return Event{}, 0
	}
	// Characters that come together stay together: with what combines with them they are one.
	n := 0
	for n < len(b) && b[n] >= ' ' && b[n] != 0x7f && utf8.FullRune(b[n:]) {
		_, size := utf8.DecodeRune(b[n:])
		n += size
	}
	return Event{Kind: Text, Text: strings.ToValidUTF8(string(b[:n]), "\uFFFD")}, n
}

// escape reads a sequence that begins with Esc.
func escape(b []byte) (Event, int) {
	if len(b) == 1 {
		return Event{}, 0
	}
	switch b[1] {
	case '[':
		return sequence(b)
	case 'O':
		if len(b) < 3 {
			return Event{}, 0
		}
		return Event{Kind: final(b[2])}, 3
	case 0x1b:
		return Event{Kind: Escape}, 1
	case ']', 'P', '_', '^', 'X': // answers of the terminal to what was not asked
		if end := bytes.IndexAny(b[2:], "\x07\x1b"); end >= 0 {
			return Event{}, 2 + end + 1
		}
		if len(b) > 4096 {
			return Event{}, len(b)
		}
		return Event{}, 0
	}
	e, n := next(b[1:])
	if n == 0 {
		return Event{}, 0
	}
	if e.Kind == Text { // the first character only
		r, size := utf8.DecodeRune(b[1:])
		e.Text, n = string(r), size
	}
	e.Alt = true
	return e, n + 1
}

func final(c byte) Kind {
	switch c {
	case 'A':
		return Up
	case 'B':
		return Down
	case 'C':
		return Right
	case 'D':
		return Left
	case 'H':
		return Home
	case 'F':
		return End
	case 'M':
		return Enter
	}
	return Unknown
}

// sequence reads a control sequence: Esc, [, parameters, a final byte.
func sequence(b []byte) (Event, int) {
	n := 2
	for n < len(b) && (b[n] < '@' || b[n] > '~') {
		if b[n] < ' ' || n > 64 { // it is broken off
			return Event{Kind: Unknown}, n
		}
		n++
	}
	if n == len(b) {
		return Event{}, 0
	}
	params, c := string(b[2:n]), b[n]
	n++
	if strings.HasPrefix(params, "<") { // the mouse
		switch button, _, _ := strings.Cut(params[1:], ";"); button {
		case "64":
			return Event{Kind: WheelUp}, n
		case "65":
			return Event{Kind: WheelDown}, n
		}
		return Event{}, n
	}
	var v [3]int
	for i, f := range strings.SplitN(params, ";", 3) {
		f, _, _ = strings.Cut(f, ":")
		v[i], _ = strconv.Atoi(f)
	}
	e := Event{Kind: Unknown}
	modifiers := v[1]
	switch c {
	case 'R':
		if strings.Contains(params, ";") {
			return Event{Kind: Report, Row: v[0], Column: v[1]}, n
		}
	case 'Z':
		return Event{Kind: Tab, Shift: true}, n
	case 'I', 'O': // the focus
		return Event{}, n
	case '~':
		if v[0] == 27 { // xterm's modifyOtherKeys: 27;modifiers;code
			e = ofCode(v[2])
		} else {
			e.Kind = map[int]Kind{1: Home, 3: Delete, 4: End, 5: PageUp, 6: PageDown, 7: Home, 8: End}[v[0]]
		}
	case 'u': // kitty's protocol: code;modifiers
		e = ofCode(v[0])
	default:
		e.Kind = final(c)
	}
	if e.Kind == 0 {
		e.Kind = Unknown
	}
	if modifiers > 0 {
		modifiers--
	}
	e.Shift, e.Alt, e.Held = modifiers&1 != 0, modifiers&2 != 0, modifiers&4 != 0
	if e.Held && e.Kind == Text {
		e.Kind, e.Held = Ctrl, false
	}
	return e, n
}

// ofCode returns the key with a Unicode code.
func ofCode(code int) Event {
	switch code {
	case 9:
		return Event{Kind: Tab}
	case 13, 57414:
		return Event{Kind: Enter}
	case 27:
		return Event{Kind: Escape}
	case 8, 127:
		return Event{Kind: Backspace}
	}
	if code >= ' ' && code < 0xe000 && utf8.ValidRune(rune(code)) {
		return Event{Kind: Text, Text: string(rune(code))}
	}
	return Event{Kind: Unknown}
}
