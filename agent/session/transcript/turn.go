// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/view"
)

// promptKey is the key of the prompt until the first request has been recorded.
const promptKey = "prompt"

// Turn records one run of an agent. It implements [journal.Journal].
type Turn struct {
	c  *Conversation
	id string
	// kept are the messages of the run that have entries.
	kept []keptMessage
	// past are the records so far, by run.
	past map[string][][]byte
	// answers are those to pending calls that the turn was started with. given is the entry that
	// says so until it is recorded.
	answers agent.DeferredResults
	given   *session.Entry
	// cut is the step of the response that was recorded in part, 0 if there is none.
	cut int
	// asked is the prompt of a turn that is resumed.
	asked []model.Part

	mu     sync.Mutex
	opened map[string]bool
	shown  map[string]*model.Approval
	// sent are the requests that the next response answers, prompt is the turn's first input.
	sent   []session.Entry
	prompt []byte
	over   bool
	ran    bool // a run has asked for its journal
	// unsure reports that the store may have entries of the turn that kept does not have, because
	// an append has failed.
	unsure bool

	text streamer
}

var _ journal.Journal = (*Turn)(nil)

// keptMessage is a message of the run that has an entry. data is its JSON.
type keptMessage struct {
	seq  int64
	key  string
	kind model.Kind
	data []byte
}

func (c *Conversation) turn(id string) *Turn {
	t := &Turn{c: c, id: id, past: map[string][][]byte{}, opened: map[string]bool{}, shown: map[string]*model.Approval{}}
	t.text.init(c.w, id, c.unrecorded)
	return t
}

// Begin begins a turn, records its prompt and shows it. The run must be given the same prompt. A turn without parts
// resumes the history, for example a pending run. If the last turn was interrupted, Begin settles it first.
func (c *Conversation) Begin(ctx context.Context, prompt ...model.Part) (*Turn, error) {
	return c.BeginAs(ctx, Prompt{Turn: rand.Text(), Parts: prompt})
}

// Prompt is the input of a turn.
type Prompt struct {
	// Turn is the id of the turn. It must be new, and must not be empty or have a slash.
	Turn string
	// Parts are what the model is given.
	Parts []model.Part
	// Shown is the user's text, if the parts differ from it.
	Shown []view.Content
	// Consumed are items of the session's inbox that are consumed with the prompt: the prompt itself.
	Consumed []session.Ref
	// Answers are the answers to pending calls that the turn is started with. They are among
	// [Turn.Options], also when the turn is resumed after a crash. If it is nil, the program passes
	// [agent.WithResults] itself, and a turn that is resumed has those that [Conversation.Answer]
	// has recorded.
	Answers *agent.DeferredResults
}

// BeginAs is like [Conversation.Begin]. The turn may have been shown before, with [Transcript.Start].
func (c *Conversation) BeginAs(ctx context.Context, p Prompt) (*Turn, error) {
	t, err := c.record(ctx, &p)
	if err != nil {
		return nil, err
	}
	c.recording.Store(t)
	if c.run != t.id {
		c.Start(t.id)
	}
	c.begun = true
	if len(p.Parts) > 0 {
		c.Prompt(p.Parts, p.Shown)
	}
	return t, nil
}

// record records the prompt of a turn.
func (c *Conversation) record(ctx context.Context, p *Prompt) (*Turn, error) {
	if p.Turn == "" || strings.Contains(p.Turn, "/") {
		return nil, &session.Error{Op: "begin", Session: c.w.Session(), Err: fmt.Errorf("%w: the id of a turn is %q", session.ErrInvalid, p.Turn)}
	}
	if err := c.Settle(ctx); err != nil {
		return nil, err
	}
	t := c.turn(p.Turn)
	if err := t.give(p.Answers); err != nil {
		return nil, err
	}
	if len(p.Parts) == 0 {
		return t, nil
	}
	m := &model.Message{Kind: model.KindRequest, Parts: p.Parts, RunID: t.id, ConversationID: c.w.Session(), Time: time.Now().UTC().Round(0)}
	e, data, err := t.entry(m, promptKey)
	if err != nil {
		return nil, err
	}
	given := t.takeGiven()
	first, err := c.w.Write(ctx, session.Batch{Entries: append(given, e), Consumed: p.Consumed})
	if err != nil {
		c.stale = true
		return nil, err
	}
	seq := first + int64(len(given))
	t.kept = append(t.kept, keptMessage{seq, promptKey, model.KindRequest, data})
	t.prompt, err = json.Marshal(p.Parts)
	return t, err
}

// Resume continues the interrupted turn. The run must be given the same prompt as the first time. Recorded steps are
// not executed again.
func (c *Conversation) Resume(ctx context.Context) (*Turn, error) {
	if err := c.refresh(ctx); err != nil {
		return nil, err
	}
	if c.h.Interrupted == "" {
		return nil, &session.Error{Op: "resume", Session: c.w.Session(), Err: fmt.Errorf("%w: %w", session.ErrInvalid, errNothing)}
	}
	t := c.turn(c.h.Interrupted)
	if err := t.load(c.h.open); err != nil {
		return nil, err
	}
	c.unend(t.id)
	c.recording.Store(t)
	c.Start(t.id)
	c.withdraw(cmp.Or(t.text.unanswered(), t.cut, t.text.last+1))
	c.begun = true
	h := c.h
	for i, m := range h.Messages[h.settled:] { // the run tells of its responses again
		if m.Kind == model.KindResponse && m.HandOver == nil && h.seqs[h.settled+i] > 0 {
			c.spent -= c.costOf(m)
		}
	}
	h.Messages, h.seqs = h.Messages[:h.settled:h.settled], h.seqs[:h.settled:h.settled]
	if h.before != nil {
		h.Messages, h.seqs = h.before, h.beforeSeqs
	}
	h.settled, h.Interrupted, h.open, h.before = len(h.Messages), "", nil, nil
	if t.answers = h.took; h.told != nil && h.told.turn == t.id {
		t.answers = h.told.Answers
	}
	return t, nil
}

// load reads the entries of the interrupted turn.
func (t *Turn) load(entries []session.Entry) error {
	t.ran = true
	for i := range entries {
		e := &entries[i]
		if line := recordOf(e); line != nil && !isAnswered(e, line) {
			t.past[e.Run] = append(t.past[e.Run], line)
			_, r := entryOf("", e.Run, line, true, t.shown)
			if r != nil && e.Kind == session.KindMessage {
				t.text.answered(r.Step)
			}
		}
		if e.Kind == session.KindView && e.Run == t.id && strings.HasSuffix(e.Key, "/response") {
			t.text.step = max(t.text.step, stepIn(e.Key)) // its text was shown
		}
		if e.Kind != session.KindMessage {
			continue
		}
		k, m, err := keptOf(t.c.w.Session(), e)
		if err != nil {
			return err
		}
		if m.Kind == model.KindResponse && m.Interrupted {
			t.cut = stepIn(e.Key)
		}
		if e.Key == promptKey {
			t.prompt, _ = json.Marshal(m.Parts)
			t.asked = m.Parts
		}
		t.kept = append(t.kept, k)
	}
	return nil
}

// keptOf returns the message of an entry.
func keptOf(id string, e *session.Entry) (keptMessage, *model.Message, error) {
	m, err := messageOf(e)
	var data []byte
	if err == nil {
		data, err = json.Marshal(m)
	}
	if err != nil {
		return keptMessage{}, nil, corrupt(id, e, err)
	}
	return keptMessage{e.Seq, e.Key, m.Kind, data}, m, nil
}

// ID returns the id of the turn and its run.
func (t *Turn) ID() string { return t.id }

// Options returns the options for the run: history, journal, the ids of run and conversation,
// and [Prompt.Answers] if there are any.
func (t *Turn) Options() []agent.RunOption {
	all := []agent.RunOption{
		agent.WithHistory(t.c.Messages()), agent.WithJournal(t), agent.WithRunID(t.id), agent.WithConversationID(t.c.w.Session()),
	}
	if len(t.answers.Decisions)+len(t.answers.Results) > 0 {
		all = append(all, agent.WithResults(t.answers))
	}
	return all
}

// entry returns the entry of a message, and the message's JSON.
func (t *Turn) entry(m *model.Message, key string) (session.Entry, []byte, error) {
	data, err := m.MarshalJSON() // which json.Marshal would read twice more
	if err != nil {
		return session.Entry{}, nil, err
	}
	return t.entryOf(m, key, data), data, nil
}

// entryOf returns the entry of a message from its JSON, with data in the form of a body.
func (t *Turn) entryOf(m *model.Message, key string, data []byte) session.Entry {
	b := slices.Concat([]byte(`{"message":`), data, []byte("}"))
	return session.Entry{Kind: session.KindMessage, Time: m.Time, Run: t.id, Key: key, Data: b}
}

// Open implements [journal.Journal], for the run of the turn and the runs inside it.
func (t *Turn) Open(_ context.Context, runID string) (journal.Log, error) {
	if runID != t.id && !strings.HasPrefix(runID, t.id+"/") {
		return nil, fmt.Errorf("transcript: run %q does not belong to turn %s: pass the turn's Options to the run", runID, t.id)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return nil, errors.New("transcript: the turn has ended")
	}
	if t.opened[runID] {
		return nil, fmt.Errorf("%w: %q", journal.ErrInUse, runID)
	}
	t.opened[runID], t.ran = true, true
	return &log{turn: t, run: runID}, nil
}

// log is the records of a run.
type log struct {
	turn *Turn
	run  string
	mu   sync.Mutex
	done bool
}

// Load implements [journal.Log].
func (l *log) Load(context.Context) ([][]byte, error) {
	l.turn.mu.Lock()
	defer l.turn.mu.Unlock()
	if l.closed() {
		return nil, journal.ErrClosed
	}
	var lines [][]byte
	for _, line := range l.turn.past[l.run] {
		lines = append(lines, bytes.Clone(line))
	}
	return lines, nil
}

func (l *log) closed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.done
}

// Close implements [journal.Log].
func (l *log) Close() error {
	l.mu.Lock()
	closed := l.done
	l.done = true
	l.mu.Unlock()
	if closed {
		return journal.ErrClosed
	}
	l.turn.mu.Lock()
	defer l.turn.mu.Unlock()
	delete(l.turn.opened, l.run)
	return nil
}

// Sent is called before each request, with its history, and what it was before the processors. The
// messages that the run has added since the last response are recorded together with the next one:
// as they were shown, which is before the processors, except for results that were redacted.
func (l *log) Sent(step int, before, made []*model.Message) {
	t := l.turn
	if l.run != t.id {
		return
	}
	if before == nil {
		before = made
	}
	first := len(before)
	for ; first > 0 && before[first-1].RunID == t.id; first-- {
		if m := before[first-1]; m.Kind != model.KindRequest && m.HandOver == nil {
			break
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent = nil
	for i, m := range before[first:] {
		key := fmt.Sprintf("%d/request/%d", step, i)
		if parts, err := json.Marshal(m.Parts); err == nil && t.prompt != nil && bytes.Equal(parts, t.prompt) {
			key, t.prompt = promptKey, nil
		}
		for _, r := range slices.Backward(made) {
			if hasResults(m) && r.RunID == t.id && slices.Equal(resultsOf(r), resultsOf(m)) {
				if r.Metadata["ponte.history.redacted"] != "" {
					m = r
				}
				break
			}
		}
		if e, _, err := t.entry(m, key); err == nil { // or it is recorded in the end, which says why it cannot be
			t.sent = append(t.sent, e)
		}
	}
}

// Append implements [journal.Log].
func (l *log) Append(ctx context.Context, line []byte) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if len(line) == 0 || bytes.ContainsAny(line, "\n\x00") {
		return errors.New("transcript: a record must be a JSON document on a single line")
	}
	if l.closed() {
		return journal.ErrClosed
	}
	t := l.turn
	t.mu.Lock()
	e, r := entryOf(t.c.w.Session(), l.run, line, l.run == t.id, t.shown)
	entries := t.takeGiven()
	if e.Kind == session.KindMessage {
		entries = append(entries, t.sent...)
		t.sent = nil
	}
	entries = append(entries, e)
	t.mu.Unlock()
	if e.Kind == session.KindMessage {
		t.text.answered(r.Step)
	}
	first, err := t.text.append(ctx, entries...)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.unsure = true
		return err
	}
	t.past[l.run] = append(t.past[l.run], bytes.Clone(line))
	t.recorded(first, entries)
	return nil
}

// recorded notes the messages of entries, the first of which has a number. mu must be held.
func (t *Turn) recorded(first int64, entries []session.Entry) {
	for i := range entries {
		e := &entries[i]
		if e.Kind != session.KindMessage {
			continue
		}
		m, err := messageOf(e)
		if err != nil {
			continue // it is recorded again in the end
		}
		if data, err := json.Marshal(m); err == nil {
			t.keep(keptMessage{first + int64(i), e.Key, m.Kind, data})
		}
	}
}

// keep notes that a message has an entry, which replaces the one with its key.
func (t *Turn) keep(k keptMessage) {
	for i := range t.kept {
		if t.kept[i].key == k.key {
			t.kept = append(t.kept[:i:i], t.kept[i+1:]...)
			break
		}
	}
	t.kept = append(t.kept, k)
}

// Observe shows an event of the run, and records the text of responses while they are streamed. Pass it all events of
// the run. It never blocks, and does not keep the event.
func (t *Turn) Observe(e *agent.Event) {
	t.text.observe(e)
	t.c.Event(e)
}

// viewKey is the key of entries of kind [session.KindView] with what is shown and is not in the messages.
const viewKey = "view"

// Finish ends a turn, with the messages of the resulting history and a reason, which is one of the
// constants. With [Refused], the messages are the history before the turn, and the results of calls
// that it left pending. For runs of an agent use [End].
//
// Without a run, calls that are pending, and with which messages still end, keep their answers.
func (t *Turn) Finish(ctx context.Context, messages []*model.Message, reason string) error {
	if t.idle() {
		return t.endWith(ctx, messages, reason, t.c.h.answers)
	}
	return t.end(ctx, messages, reason)
}

// idle reports whether the turn has had nothing to run.
func (t *Turn) idle() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.prompt == nil && !t.ran && len(t.answers.Decisions)+len(t.answers.Results) == 0
}

// End ends a turn with the results of [agent.Agent.Run] or [agent.Stream.Result]. Call it whenever the run has ended,
// also after an error. The messages of the run become the history.
func End[O any](ctx context.Context, t *Turn, res *agent.Result[O], err error) error {
	if err == nil {
		return t.end(ctx, res.Messages, Done)
	}
	reason := Failed
	var pending *agent.PendingError
	var run *agent.RunError
	switch {
	case errors.As(err, &pending):
		reason = Pending
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		reason = Cancelled
	}
	if errors.As(err, &run) && run.Messages != nil {
		return t.end(ctx, run.Messages, reason)
	}
	return t.end(ctx, t.c.h.Messages, reason)
}
