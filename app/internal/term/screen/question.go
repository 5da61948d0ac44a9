// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/term/input"
	"github.com/ponte-go/ponte/app/internal/term/render"
	"github.com/ponte-go/ponte/app/internal/term/text"
	"github.com/ponte-go/ponte/internal/show"
)

// question is a question that waits for a person.
type question struct {
	id      int
	request *acpclient.PermissionRequest
	keys    []string // one for each option

	state  state
	at     [2]Place  // where the terminal was asked for the cursor
	seen   int       // answers of the terminal
	since  time.Time // it was drawn
	quiet  time.Time // the last time that something was typed, or that the question was opened
	code   string
	typed  string
	scroll int

	lines []text.Line // of the preview, for a width
	width int
}

// state is how far a question is.
type state uint8

const (
	fresh  state = iota // it has not been drawn
	drawn               // the terminal has not answered yet
	locked              // the terminal does not answer: the code has to be typed
	opened              // a person can have seen it
)

// Bounds of time.
const (
	patience = 2 * time.Second        // with a terminal that does not answer
	settle   = 300 * time.Millisecond // between the last thing that was typed and an answer
)

// Place is a place on the screen, counted from 1.
type Place struct{ Row, Column int }

// Ask shows a question when those before it have been answered.
func (m *Model) Ask(now time.Time, id int, r *acpclient.PermissionRequest) {
	m.now, m.bell = now, true
	q := &question{id: id, request: r}
	for i, o := range r.Options {
		key := map[acp.PermissionOptionKind]string{
			acp.PermissionOptionKindAllowOnce: "y", acp.PermissionOptionKindAllowAlways: "a",
			acp.PermissionOptionKindRejectOnce: "n", acp.PermissionOptionKindRejectAlways: "d",
		}[o.Kind]
		if key == "" || slices.Contains(q.keys, key) {
			key = string("123456789bcefghijklmopqrstuvwxz"[i%31])
			if i >= 31 || slices.Contains(q.keys, key) {
				key = "" // it cannot be chosen
			}
		}
		q.keys = append(q.keys, key)
	}
	m.questions = append(m.questions, q)
}

// Withdraw removes a question.
func (m *Model) Withdraw(id int) {
	if m.field != nil && m.field.id == id {
		m.endField()
	}
	m.questions = slices.DeleteFunc(m.questions, func(q *question) bool { return q.id == id })
}

// query draws where the terminal is asked for the cursor. The first row is left out: its answers
// look like function keys.
func (m *Model) query(q *question) {
	q.state, q.since = drawn, m.now
	for i := range q.at {
		q.at[i] = Place{Row: 1, Column: 1 + m.config.Rand(max(m.width-1, 1))}
		if m.height > 1 {
			q.at[i].Row = 2 + m.config.Rand(m.height-1)
		}
	}
}

// report takes an answer of the terminal.
func (q *question) report(e input.Event, now time.Time) {
	if q.state != drawn && q.state != locked || q.seen >= len(q.at) {
		return
	}
	if (Place{e.Row, e.Column}) == q.at[q.seen] {
		if q.seen++; q.seen == len(q.at) {
			q.open(now)
		}
	}
}

// unseen has the questions drawn again before they can be answered.
func (m *Model) unseen() {
	for _, q := range m.questions {
		q.state, q.seen = fresh, 0
	}
}

func (q *question) open(now time.Time) { q.state, q.quiet, q.code = opened, now, "" }

func (q *question) late(now time.Time) bool { return q.state == drawn && now.Sub(q.since) > patience }

func (q *question) lock(code string) { q.state, q.code, q.typed = locked, code, "" }

// questionKey handles an event while a question is shown. It returns false for what was typed
// before the question was drawn.
func (m *Model) questionKey(q *question, e input.Event) bool {
	if e.Kind == input.Report {
		q.report(e, m.now)
		return true
	}
	if q.state == fresh || q.state == drawn {
		return false
	}
	switch e.Kind {
	case input.PageUp:
		m.scrollQuestion(q, -1, true)
		return true
	case input.PageDown:
		m.scrollQuestion(q, 1, true)
		return true
	case input.Up, input.WheelUp:
		m.scrollQuestion(q, -1, false)
		return true
	case input.Down, input.WheelDown:
		m.scrollQuestion(q, 1, false)
		return true
	case input.Home:
		m.scrollQuestion(q, -q.scroll, false)
		return true
	case input.End:
		m.scrollQuestion(q, len(m.panel(q).all), false)
		return true
	case input.Ctrl:
		if e.Text == "c" || e.Text == "o" || e.Text == "z" {
			return false
		}
	}
	if q.state == locked {
		m.unlock(q, e)
		return true
	}
	quiet := q.quiet
	q.quiet = m.now
	i := slices.Index(q.keys, e.Text)
	switch {
	case e.Kind == input.Paste:
		m.tell("A question is not answered by pasting")
	case e.Kind != input.Text || e.Alt || i < 0 || e.Text == "":
		m.tell("Answer with one of the keys below, or Ctrl-C to cancel the turn")
	case !e.Alone || m.now.Sub(quiet) < settle:
		m.tell("That was too soon after something else: press it again")
	default:
		m.Withdraw(q.id)
		m.do(Effect{Do: Answer, Question: q.id, Option: string(q.request.Options[i].OptionID)})
	}
	return true
}

// unlock takes what is typed of the code.
func (m *Model) unlock(q *question, e input.Event) {
	if e.Kind != input.Text {
		q.typed = ""
		m.tell("Type the word that is shown")
		return
	}
	q.typed += e.Text
	for q.typed != "" && !strings.HasPrefix(q.code, q.typed) {
		q.typed = q.typed[1:]
	}
	if q.typed == q.code {
		q.open(m.now)
	}
	m.tell("Typed: " + q.typed)
}

// panel is how the panel of a question is divided.
type panel struct {
	all    []text.Line // what can be scrolled: the preview, and the options if they take too much room
	pinned []text.Line // the options below it
	short  string      // the keys
	body   int         // how many lines of all there is room for
}

func (m *Model) panel(q *question) panel {
	p := panel{all: q.preview(m)}
	p.pinned, p.short = q.options(max(m.width-2, 8))
	most := m.height - 4 // the heading, a blank line, the keys, the status
	if m.height >= 16 {
		most -= 4 // of the transcript
	}
	if len(p.pinned) > most/2 {
		p.all = append(append(p.all[:len(p.all):len(p.all)], nil), p.pinned...)
		p.pinned = nil
	}
	p.body = max(1, min(len(p.all), most-len(p.pinned)))
	return p
}

func (m *Model) scrollQuestion(q *question, n int, pages bool) {
	p := m.panel(q)
	if pages {
		n *= max(p.body-1, 1)
	}
	before := q.scroll
	q.scroll = max(0, min(q.scroll+n, len(p.all)-p.body))
	if q.scroll == before {
		m.tell("There is nothing more")
	}
}

// preview returns everything that the question is about.
func (q *question) preview(m *Model) []text.Line {
	width := max(m.width-2, 8)
	if q.lines == nil || q.width != width {
		q.width = width
		q.lines = Preview(q.request, m.doc.Relative, width)
	}
	return q.lines
}

// Preview returns lines with everything that a question is about. Nothing is left out or cut, and
// what people do not see is written out.
func Preview(r *acpclient.PermissionRequest, relative func(string) string, width int) (lines []text.Line) {
	add := func(more []text.Line) {
		if len(lines) > 0 && len(more) > 0 {
			lines = append(lines, nil)
		}
		lines = append(lines, more...)
	}
	if r.Call != nil {
		add(render.Whole(show.Received(r.Approval.Title), render.Bold, width))
	}
	var diffs []view.FileChange
	for _, p := range r.Approval.Preview {
		if p.Diff != nil && p.Diff.New != nil {
			diffs = append(diffs, view.FileChange{Path: p.Diff.Path, Old: p.Diff.Old, New: *p.Diff.New})
		}
	}
	for _, part := range render.Parts(r, diffs) {
		add(render.Whole(part, text.Style{}, width))
	}
	for i := range diffs {
		add(render.Diff(relative(diffs[i].Path), &diffs[i], width))
	}
	return lines
}

// briefly has a word for each kind of option, for narrow screens.
var briefly = map[string]string{
	"allow_once": "yes", "allow_always": "always", "reject_once": "no", "reject_always": "never",
}

// options returns the options with their keys, and a short form of them that has every key.
func (q *question) options(width int) (lines []text.Line, short string) {
	var names, words []string
	for i, o := range q.request.Options {
		key := q.keys[i]
		if key == "" {
			continue
		}
		style := text.Style{Bold: true, Color: text.Green}
		if !strings.HasPrefix(string(o.Kind), "allow") {
			style.Color = text.Red
		}
		lines = append(lines, text.Indent(text.Wrap(text.Of(show.Received(o.Name), text.Style{}), width-3),
			append(text.Of(key, style), text.Of("  ", text.Style{})...), text.Of("   ", text.Style{}))...)
		name := strings.ReplaceAll(string(o.Kind), "_", " ")
		if name = show.Received(name); len(name) > 16 || name == "" {
			name = "option"
		}
		names = append(names, key+" "+name)
		words = append(words, strings.TrimSpace(key+" "+briefly[string(o.Kind)]))
	}
	if short = strings.Join(names, " · "); utf8.RuneCountInString(short) > width {
		short = strings.Join(words, " · ")
	}
	if utf8.RuneCountInString(short) > width {
		short = q.shortest(width)
	}
	return lines, short
}

// shortest returns the keys of the options that allow, and of the others.
func (q *question) shortest(width int) string {
	var yes, no, all []string
	for i, o := range q.request.Options {
		switch key := q.keys[i]; {
		case key == "":
			continue
		case strings.HasPrefix(string(o.Kind), "allow"):
			yes, all = append(yes, key), append(all, key)
		default:
			no, all = append(no, key), append(all, key)
		}
	}
	short := strings.Join(yes, " ") + ": yes · " + strings.Join(no, " ") + ": no"
	if len(yes) == 0 || len(no) == 0 || utf8.RuneCountInString(short) > width {
		short = strings.Join(all, " ")
	}
	return short
}

// drawQuestion returns the lines of the panel.
func (m *Model) drawQuestion(q *question) (lines []text.Line) {
	p := m.panel(q)
	all, body := p.all, p.body
	q.scroll = max(0, min(q.scroll, len(all)-body))
	heading := "Question"
	if n := len(m.questions); n > 1 {
		heading = fmt.Sprintf("Question 1 of %d", n)
	}
	if len(all) > body {
		heading += fmt.Sprintf(" · lines %d-%d of %d", q.scroll+1, min(q.scroll+body, len(all)), len(all))
		if q.scroll+body < len(all) {
			heading += " · more below: PgDn, End"
		}
	}
	heading = "━━ " + heading + " "
	heading += strings.Repeat("━", max(0, m.width-text.Width(heading)))
	lines = append(lines, text.Cut(text.Of(heading, text.Style{Color: text.Yellow, Bold: true}), m.width))
	lines = append(lines, text.Indent(all[q.scroll:min(q.scroll+body, len(all))], side, side)...)
	if len(p.pinned) > 0 {
		lines = append(lines, side)
		lines = append(lines, text.Indent(p.pinned, side, side)...)
	}
	keys := text.Of(p.short, render.Bold)
	switch {
	case p.pinned == nil:
	case len(all) > body:
		keys = text.Of("↑ ↓ PgUp PgDn Home End scroll", render.Dim)
	default:
		keys = text.Of("Ctrl-C cancels the turn", render.Dim)
	}
	switch q.state {
	case locked:
		keys = text.Of("Type "+q.code+" to answer: this terminal does not report what it shows", render.Bold)
	case fresh, drawn:
		keys = text.Of("…", render.Dim)
	}
	return append(lines, text.Cut(append(side[:1:1], keys...), m.width))
}

var side = text.Of("┃ ", text.Style{Color: text.Yellow})
