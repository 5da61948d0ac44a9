// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
)

// end records the resulting history: entries for the messages that have none, and with them the
// end, which names the entries of all messages.
func (t *Turn) end(ctx context.Context, messages []*model.Message, reason string) error {
	return t.endWith(ctx, messages, reason, agent.DeferredResults{})
}

// endWith is like end, and records with it the answers to pending calls that are known already.
func (t *Turn) endWith(
	ctx context.Context, messages []*model.Message, reason string, answers agent.DeferredResults,
) error {
	if reason != Pending {
		messages = t.withoutPending(messages)
	}
	if t.c.recording.CompareAndSwap(t, nil) && t.c.run == t.id {
		t.c.Said(messages)
		t.c.Stop(reason)
	}
	t.c.withoutResults(messages, reason)
	t.text.stop()
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
	h := t.c.h
	e := ending{
		turn: t, keep: h.common(messages), pending: agent.PendingCalls(messages), answers: answers,
	}
	e.messages, e.seqs = messages[e.keep:], make([]int64, len(messages)-e.keep)
	t.c.answering.Lock() // an answer comes before the end, which keeps it, or after it
	defer t.c.answering.Unlock()
	err := t.lookUp(ctx)
	if err == nil {
		err = e.find(h)
	}
	if err == nil {
		err = e.unanswered(ctx, h)
	}
	if err == nil {
		err = e.append(ctx, reason)
	}
	if err != nil {
		t.mu.Lock()
		t.unsure = true
		t.mu.Unlock()
		t.c.stale = true
		return err
	}
	if !t.idle() {
		t.c.answered = nil
	}
	t.c.reopen(e.pending)
	h.Messages = messages[:len(messages):len(messages)]
	h.seqs = append(h.seqs[:e.keep:e.keep], e.seqs...)
	h.answers = answers
	h.settled, h.Interrupted, h.open, h.before = len(h.Messages), "", nil, nil
	return nil
}

// withoutPending returns messages without the calls that the turn's run left waiting: it was
// stopped when it had ended. They have no results, as other calls that a stop has cut off.
func (t *Turn) withoutPending(messages []*model.Message) []*model.Message {
	n := len(messages) - 1
	if n < 0 || messages[n] == nil || !messages[n].Pending || messages[n].RunID != t.id {
		return messages
	}
	m := *messages[n]
	m.Pending, m.PendingCalls, m.SuspendedCalls, m.Interrupted = false, nil, nil, true
	if len(m.Parts) == 0 {
		return messages[:n:n]
	}
	return append(messages[:n:n], &m)
}

// lookUp reads which messages of the turn have entries if an append has failed. Its entries may be
// there, and a message that is recorded again would be shown twice, or take the place of one that
// an end names.
func (t *Turn) lookUp(ctx context.Context) error {
	t.mu.Lock()
	unsure := t.unsure
	t.mu.Unlock()
	if !unsure {
		return nil
	}
	w := t.c.w
	if _, err := w.Append(ctx); err != nil { // after what is still being appended
		return err
	}
	var kept []keptMessage
	for e, err := range w.Store().Load(ctx, w.Session(), 0) {
		if err != nil {
			return err
		}
		if e.Kind != session.KindMessage || e.Run != t.id {
			continue
		}
		k, _, err := keptOf(w.Session(), &e)
		if err != nil {
			return err
		}
		kept = append(kept, k)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept, t.unsure = kept, false
	return nil
}

// common returns the number of messages at the beginning that equal the history's, in memory and in
// their entries.
func (h *history) common(messages []*model.Message) int {
	n := 0
	for n < min(len(h.Messages), len(messages)) && h.Messages[n] == messages[n] {
		if messages[n] == h.marked {
			break
		}
		n++
	}
	return n
}

// ending is the end of a turn that is being recorded.
type ending struct {
	turn *Turn
	// keep is the number of history messages that stay, and messages are the following ones, with
	// the numbers of their entries.
	keep     int
	messages []*model.Message
	seqs     []int64
	// missing are the indexes of messages without an entry, and encoded their JSON.
	missing []int
	encoded [][]byte
	// used marks the turn's kept messages that have found their place.
	used []bool
	// sent reports that the last request of the run is among them, although it had no response.
	sent bool
	// pending are the calls that the history ends with, and answers are the answers to them.
	pending []agent.PendingCall
	answers agent.DeferredResults
}

// find looks for the entries of the messages: in the history before the turn, and among those that
// the turn has recorded.
func (e *ending) find(h *history) error {
	known := map[*model.Message]int64{}
	for i, m := range h.Messages[e.keep:] {
		known[m] = h.seqs[e.keep+i]
	}
	delete(known, h.marked) // whose entry lacks the marks
	e.used, e.encoded = make([]bool, len(e.turn.kept)), make([][]byte, len(e.messages))
	e.missing = nil
	for i, m := range e.messages {
		if e.seqs[i] = known[m]; e.seqs[i] > 0 {
			if k := e.unused(func(k *keptMessage) bool { return k.seq == e.seqs[i] }); k >= 0 {
				e.used[k] = true
			}
			continue
		}
		data, err := m.MarshalJSON()
		if err != nil {
			return fmt.Errorf("transcript: end: %w", err)
		}
		k := e.unused(func(k *keptMessage) bool { return bytes.Equal(k.data, data) })
		if k < 0 {
			e.encoded[i], e.missing = data, append(e.missing, i)
			continue
		}
		e.used[k], e.seqs[i] = true, e.turn.kept[k].seq
	}
	return nil
}

// unanswered records the messages of a request that had no response as they were before processors
// have changed them, as the response would have done.
func (e *ending) unanswered(ctx context.Context, h *history) error {
	t := e.turn
	t.mu.Lock()
	defer t.mu.Unlock()
	changed := slices.ContainsFunc(e.missing, func(i int) bool {
		m := e.messages[i]
		return m.Kind == model.KindRequest && (m.RunID == t.id || m.RunID == "") && !isSummary(m) &&
			!slices.ContainsFunc(t.sent, func(s session.Entry) bool {
				return bytes.Contains(s.Data, e.encoded[i])
			})
	})
	if !changed || len(t.sent) == 0 {
		return nil
	}
	first, err := t.text.append(ctx, t.sent...)
	if err != nil {
		return err
	}
	t.recorded(first, t.sent)
	e.sent = true
	return e.find(h)
}

// unused returns the first kept message that fits and has not found its place, or -1.
func (e *ending) unused(fits func(*keptMessage) bool) int {
	for k := range e.turn.kept {
		if !e.used[k] && fits(&e.turn.kept[k]) {
			return k
		}
	}
	return -1
}

// append records what was shown, the messages that have no entry, and the end, all of it or nothing:
// a turn whose end is not recorded may be taken up, and must not have messages that say it has ended.
func (e *ending) append(ctx context.Context, reason string) error {
	t := e.turn
	steps, answered := e.steps()
	var entries []session.Entry
	for n, i := range e.missing {
		key := e.key(i, steps[i], answered)
		entries = append(entries, t.entryOf(e.messages[i], key, e.encoded[i]))
		e.seqs[i] = int64(n - len(e.missing)) // from the end's own number, which is not known yet
	}
	end, err := e.entries(reason)
	if err != nil {
		return err
	}
	first, err := t.text.append(ctx, append(entries, end...)...)
	if err != nil {
		return err
	}
	for n, i := range e.missing {
		e.seqs[i] = first + int64(n)
	}
	return nil
}

// steps returns the step of the run that each message belongs to, and the index of the last response
// that has an entry, if only as it was before a processor has changed it, or -1. A run that resumes
// calls begins with their step.
func (e *ending) steps() (steps []int, answered int) {
	step, answered := 0, -1
	for i, m := range e.messages {
		if m.RunID == e.turn.id && (m.Kind == model.KindResponse || step == 0 && hasResults(m)) {
			step = max(step+1, m.Step) // processors may have taken some out
		}
		steps = append(steps, step)
		if m.RunID == e.turn.id && m.Kind == model.KindResponse && m.HandOver == nil {
			for k := range e.turn.kept {
				if e.turn.kept[k].key == responseKey(m.Step) {
					answered = i
				}
			}
		}
		if e.sent && m.Kind == model.KindRequest {
			answered = i
		}
	}
	return steps, answered
}

// endPrefix begins the keys of messages that are first recorded with the end of their turn.
// changedPrefix begins those of messages that a processor has made of others, or a command: the
// history has them, and nothing is shown of them. What follows is the key of the entry of the run
// that such a message is another version of, if it is known.
const (
	endPrefix     = "end/"
	changedPrefix = "changed/"
)

// key returns the key of the entry for a message that has none. The entry takes the place of
// another one with its key. Messages of the run up to the index answered had entries before.
func (e *ending) key(i, step, answered int) string {
	t, m, prefix := e.turn, e.messages[i], endPrefix
	own := m.RunID == t.id && !isSummary(m)
	if !own || i <= answered {
		prefix = changedPrefix
	}
	key := fmt.Sprint(prefix, i)
	for n := i; e.isKey(key); n++ { // of an end that was cut off
		key = fmt.Sprint(prefix, n, "/", i)
	}
	switch {
	case !own:
		return key
	case i <= answered:
		if k := e.unused(func(k *keptMessage) bool { return k.isOf(m) }); k >= 0 {
			e.used[k], key = true, changedPrefix+t.kept[k].key
		}
		return key
	case m.Kind == model.KindResponse && len(t.past[t.id]) == 0: // of a run without a journal
		key = responseKey(step)
	case m.Kind == model.KindRequest && answered < 0 && len(Contents(m.Parts)) > 0:
		if k := e.unused(func(k *keptMessage) bool { return k.key == promptKey }); k >= 0 {
			e.used[k], key = true, promptKey // as it was sent
		}
	}
	if m.Kind == model.KindResponse && m.Interrupted && strings.HasPrefix(key, endPrefix) {
		if step := t.text.unanswered(); step > 0 {
			key = responseKey(step)
		}
	}
	return key
}

// isOf reports whether a message of the run is another version of the one that was kept.
func (k *keptMessage) isOf(m *model.Message) bool {
	if m.Kind == model.KindResponse {
		return m.HandOver == nil && k.key == responseKey(m.Step)
	}
	var was model.Message
	return k.kind == m.Kind && json.Unmarshal(k.data, &was) == nil &&
		slices.Equal(resultsOf(&was), resultsOf(m))
}

// resultsOf returns the ids of the calls whose results a message has.
func resultsOf(m *model.Message) (ids []string) {
	for i := range m.Parts {
		if isResult(&m.Parts[i]) {
			ids = append(ids, m.Parts[i].CallID)
		}
	}
	return ids
}

// isKey reports whether a message that has found its place has the key.
func (e *ending) isKey(key string) bool {
	for k := range e.turn.kept {
		if e.used[k] && e.turn.kept[k].key == key {
			return true
		}
	}
	return false
}

// entries returns the entry of the end itself, and the entries of known answers.
func (e *ending) entries(reason string) ([]session.Entry, error) {
	data, err := json.Marshal(ended{Version: endVersion, Reason: reason, Keep: e.keep, Messages: e.seqs})
	if err != nil {
		return nil, fmt.Errorf("transcript: end: %w", err)
	}
	entries := []session.Entry{{Kind: session.KindEnd, Run: e.turn.id, Data: data}}
	for _, call := range e.pending {
		_, done := e.answers.Results[call.Key()]
		if _, decided := e.answers.Decisions[call.Key()]; !done && !(decided && e.turn.idle()) {
			continue
		}
		answer, err := answerEntry(e.turn.c.w.Session(), e.turn.id, &call, e.answers)
		if err != nil {
			return nil, err
		}
		entries = append(entries, answer)
	}
	if e.turn.idle() {
		entries = append(entries, e.turn.c.answered...)
	}
	return entries, nil
}

// hasResults reports whether a message holds results of calls.
func hasResults(m *model.Message) bool { return len(resultsOf(m)) > 0 }
