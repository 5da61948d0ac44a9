// SPDX-License-Identifier: Apache-2.0

// Package screen is the terminal client's screen as a state machine. Its input is everything that
// happens: keys, changes of the conversation, questions, the time. Its output is a frame and
// effects to carry out. It reads no clock and starts nothing, so tests drive it without a terminal.
//
// # Only a person answers
//
// A question is drawn together with two queries for the position of the cursor, at places that are
// drawn at random. A terminal handles what it is sent in order, and its answers appear in the input
// in order of time. So what comes before both answers was typed before the question was drawn,
// however long it was under way, and does not answer it. A terminal that does not answer gets a
// word that has to be typed first. An answer is a single key that comes alone, after a moment in
// which nothing was typed. Pasted text is never an answer.
package screen

import (
	"fmt"
	"time"

	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/term/edit"
	"github.com/ponte-go/ponte/app/internal/term/render"
	"github.com/ponte-go/ponte/app/internal/term/text"
)

// Config is the initial configuration of a screen.
type Config struct {
	// Agent names the agent, Dir is the session's directory.
	Agent, Dir string
	// Once ends everything after the first turn.
	Once bool
	// Queues is set if the agent takes prompts while a turn runs: they wait there. Otherwise they
	// wait here.
	Queues bool
	// History holds earlier entries. Nil keeps one in memory.
	History *edit.History
	// Dropped returns what stands for a file in the input, such as @main.go, if pasted text is
	// the path of one: terminals paste the path of a file that is dropped on them. It is empty
	// for other text. Dropped may be nil.
	Dropped func(pasted string) string
	// Rand returns an unpredictable number below n. Code returns an unpredictable word.
	Rand func(n int) int
	Code func() string
}

// Effect is something to do. Do determines the fields that are used.
type Effect struct {
	Do Do
	// Text is the prompt that is to be sent, the option that is to be set, as "ID VALUE", the
	// line that answers, or the id of a session.
	Text string
	// Question and Option are the answer to a question.
	Question int
	Option   string
}

// Do is a kind of effect.
type Do uint8

// The effects.
const (
	Send      Do = iota + 1 // a prompt: Text. See [Model.Sent]
	Cancel                  // the turn
	Quit                    // leave
	Answer                  // Question, Option
	ListFiles               // for completion
	Set                     // an option: Text

	AnswerLine   // Question, Text
	NewSession   // in place of this one
	ListSessions // see [Model.SetSessions]
	LoadSession  // in place of this one: Text

	Shell   // runs a command for the person: Text
	Copy    // the last answer to the clipboard, or its last block of code if Text is "code"
	Suspend // stops the process, as a shell's jobs are

	Edit    // the input in the person's editor: Text. See [Model.SetInput]
	Picture // takes a picture from the clipboard. See [Model.InsertMention]
	Steer   // passes a message to the running turn: Text. See [Model.Passed] and [Model.Later]
	Command // a command of the agent that needs no turn: Text. See [Model.Told]
)

// Model is the screen. It is not safe for concurrent use.
type Model struct {
	config        Config
	width, height int
	now           time.Time
	effects       []Effect

	doc    *render.Document
	follow bool
	top    render.Pos // of the transcript, unless it follows the end
	room   int        // lines of the transcript, in the last frame
	notes  int

	buffer   edit.Buffer
	history  *edit.History
	popup    popup
	files    []string
	listed   bool
	commands []edit.Candidate
	atOnce   map[string]bool // commands that need no turn
	settings []view.Setting
	usage    string

	busy, cancelling bool
	sending          bool           // a turn is about to begin
	since            time.Time      // the turn began
	doing            string         // what is running
	queue            []string       // prompts for an agent that does not take them now
	waiting          []*view.Entity // prompts that wait for their turns at the agent, in order

	questions []*question
	field     *field    // that is asked for
	sessions  []Session // as they were listed
	opening   bool      // another session is being opened
	hint      string
	hinted    time.Time
	recalled  bool      // the text comes from the history: it is not completed
	dots      int       // so that two hints in a row differ
	leaving   time.Time // Ctrl-C was pressed
	bell      bool      // a person is wanted
	prefix    bool      // Ctrl-X was pressed
}

// New returns a screen.
func New(config Config) *Model {
	m := &Model{
		config: config, doc: render.NewDocument(config.Dir), follow: true, history: config.History,
		width: 80, height: 24,
	}
	if m.history == nil {
		m.history = &edit.History{}
	}
	return m
}

// Effects returns the pending effects, once.
func (m *Model) Effects() []Effect {
	all := m.effects
	m.effects = nil
	return all
}

func (m *Model) do(e Effect) { m.effects = append(m.effects, e) }

// Bell reports, once, whether something has happened that a person may be waiting for elsewhere: a
// question, or the end of a turn that took a while.
func (m *Model) Bell() bool {
	ring := m.bell
	m.bell = false
	return ring
}

// long is how long a turn takes whose end rings the bell.
const long = 10 * time.Second

// Resize sets the size of the terminal.
func (m *Model) Resize(width, height int) {
	width, height = max(width, 1), max(height, 1)
	if width == m.width && height == m.height {
		return
	}
	m.width, m.height = width, height
	for _, q := range m.questions {
		if q.state == drawn { // the terminal may have moved the cursor
			q.state, q.seen = fresh, 0
		}
	}
}

// Tick sets the time. It reports whether something moves.
func (m *Model) Tick(now time.Time) bool {
	m.now = now
	if m.hint != "" && now.Sub(m.hinted) > 5*time.Second {
		m.hint = ""
		return true
	}
	if len(m.questions) > 0 && m.questions[0].late(now) {
		m.questions[0].lock(m.config.Code())
	}
	return m.busy || m.hint != "" || len(m.questions) > 0
}

// Update takes over what has changed in the conversation.
func (m *Model) Update(now time.Time, changes []view.Change) {
	m.now = now
	m.doc.Apply(changes)
	for i := range changes {
		e := changes[i].Entity
		if e == nil {
			m.waits(changes[i].ID, nil)
			continue
		}
		switch e.Kind {
		case view.Message:
			if e.Role != view.User {
				m.doing = "writing"
			}
		case view.Thought:
			m.doing = "thinking"
		case view.ToolCall, view.Command:
			m.doing = text.OneLine(e.Title)
			if e.Status.Ended() {
				m.doing = ""
			}
		case view.Waiting:
			m.waits(e.ID, e)
		case view.Usage:
			m.usage = render.Usage(e.Usage)
		case view.Options:
			m.settings = e.Settings
		case view.Commands:
			m.commands, m.atOnce = nil, map[string]bool{}
			for _, c := range e.Slash {
				m.atOnce["/"+c.Name] = c.AtOnce
				m.commands = append(m.commands, edit.Candidate{
					Text: "/" + text.OneLine(c.Name), Note: text.OneLine(c.Description),
				})
			}
		}
	}
}

// Begin reports the beginning of a turn.
func (m *Model) Begin(now time.Time) {
	m.now, m.busy, m.cancelling, m.since, m.doing = now, true, false, now, ""
	m.follow, m.sending = true, false
}

// End reports the end of a turn. problem is empty for a normal end.
func (m *Model) End(now time.Time, problem string) {
	m.bell = m.bell || m.busy && now.Sub(m.since) >= long
	m.now, m.busy, m.doing, m.hint = now, false, "", ""
	if problem != "" {
		m.Note("! "+problem, text.Style{Color: text.Yellow})
	}
	cancelled := m.cancelling
	m.cancelling = false
	switch {
	case m.config.Once:
		m.do(Effect{Do: Quit})
	case len(m.queue) > 0 && cancelled:
		m.Note("Not sent, because the turn was cancelled; it is in the history.", render.Dim)
		m.queue = nil
	case len(m.queue) > 0:
		m.sendNext()
	}
	m.listed = false // files may have come or gone
}

// submit sends a prompt, at once or when the agent takes it. It reports whether that is now.
func (m *Model) submit(prompt string) bool {
	if m.opening || !m.config.Queues && (m.busy || m.sending) {
		m.queue = append(m.queue, prompt)
		return false
	}
	m.sending = m.sending || !m.busy
	m.do(Effect{Do: Send, Text: prompt})
	return true
}

// sendNext sends what the agent takes of the prompts that wait here.
func (m *Model) sendNext() {
	for ok := true; ok && len(m.queue) > 0; ok = m.config.Queues {
		next := m.queue[0]
		m.queue = m.queue[1:]
		m.sending = true
		m.do(Effect{Do: Send, Text: next})
	}
}

// Sent reports that the agent has a prompt, whose turn has begun or waits, or that it did not take
// it: then the problem is not empty.
func (m *Model) Sent(now time.Time, problem string) {
	m.now, m.sending = now, false
	if problem != "" {
		m.Note("! "+problem, text.Style{Color: text.Yellow})
	}
}

// Note adds a remark to the transcript.
func (m *Model) Note(note string, style text.Style) {
	m.Show(func(width int, _ bool) []text.Line { return render.Wrapped(text.Clean(note), style, width) })
}

// Show adds something to the transcript.
func (m *Model) Show(draw func(width int, expanded bool) []text.Line) {
	m.notes++
	m.doc.Note(fmt.Sprintf("note:%d", m.notes), draw)
}

// SetFiles sets the files for completion.
func (m *Model) SetFiles(files []string) {
	m.files = files
	m.complete()
}

// Files returns the files that can be completed.
func (m *Model) Files() []string { return m.files }

// Transcript returns the conversation, for a terminal that scrolls and wraps by itself.
func (m *Model) Transcript(width int) []text.Line { return m.doc.Print(width) }

func (m *Model) tell(hint string) {
	m.hint, m.hinted = hint, m.now
}
