// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// shown is what the observer of an outer run has been shown.
type shown struct {
	text, thinking strings.Builder
	calls          map[string]string // the arguments of the step's calls
	ids            map[int]string    // of the step's parts
	before         string            // what is told only now, because the run before was left pending
	events, ends   int
	over           bool // the observer has left or panicked
}

func (s *shown) take(e agent.Event) {
	s.events++
	if text, ok := handedOverText(e); ok {
		s.text.WriteString(text)
		return
	}
	switch {
	case e.Kind == agent.EventRunEnd:
		s.ends++
	case e.Kind == agent.EventRequestStart:
		s.calls, s.ids = map[string]string{}, map[int]string{}
	case e.Kind == agent.EventPartStart && e.CallID != "":
		s.ids[e.Part], s.calls[e.CallID] = e.CallID, ""
	case e.Kind == agent.EventPartDelta && e.PartKind == model.PartText:
		s.text.WriteString(e.Text)
	case e.Kind == agent.EventPartDelta && e.PartKind == model.PartThinking:
		s.thinking.WriteString(e.Text)
	case e.Kind == agent.EventPartDelta:
		s.calls[s.ids[e.Part]] += e.Text
	}
}

// handedOverText returns the text of an agent that the run was handed over to.
func handedOverText(e agent.Event) (string, bool) {
	nested, ok := e.Value.(agent.Nested)
	for ok && nested.HandOver {
		if e = nested.Event; e.Kind == agent.EventPartDelta && e.PartKind == model.PartText {
			return e.Text, true
		}
		nested, ok = e.Value.(agent.Nested)
	}
	return "", false
}

// suspendedText returns what was told by an agent that waits.
func suspendedText(history []*model.Message) string {
	var text strings.Builder
	for _, s := range history[len(history)-1].SuspendedCalls {
		for _, m := range s.Told {
			text.WriteString(m.Text())
		}
	}
	return text.String()
}

// verify compares what was shown with the history. White space does not count, because text of nothing else may be left out.
func (s *shown) verify(t *testing.T, runID string, messages []*model.Message) {
	t.Helper()
	squash := func(text string) string { return strings.Join(strings.Fields(text), "") }
	var kept strings.Builder
	interrupted, further := false, false
	shown := s.before + s.text.String()
	for _, m := range messages {
		if m.Kind != model.KindResponse || m.RunID != runID {
			continue
		}
		interrupted, further = m.Interrupted && m.Finish == "", m.HandOver != nil // a response that came whole is kept whole
		for i := range m.Parts {
			switch p := &m.Parts[i]; {
			case p.Kind == model.PartText:
				kept.WriteString(p.Text)
			case interrupted && p.Kind == model.PartThinking:
				require.Contains(t, s.thinking.String(), p.Text)
				require.NotEmpty(t, p.Signature)
			case interrupted && p.Kind == model.PartToolCall:
				require.Contains(t, s.calls, p.CallID)
				require.Equal(t, s.calls[p.CallID], string(p.Args))
				require.True(t, json.Valid(p.Args))
			}
		}
	}
	kept.WriteString(suspendedText(messages))
	if s.over && (!interrupted || further) { // of a response that came as a whole, also to an agent further in, the rest was not shown any more
		require.True(t, strings.HasPrefix(squash(kept.String()), squash(shown)), "%q was shown, %q is kept", shown, kept.String())
		return
	}
	require.Equal(t, squash(shown), squash(kept.String()), "what was shown is kept")
}

// watch is an observer that may leave or panic.
func (w *nestedWorld) watch(t *testing.T, rnd *rand.Rand, s *agent.Stream[string], seen *shown) {
	leave, fall := 0, 0
	switch rnd.IntN(8) {
	case 0:
		leave = 1 + rnd.IntN(150)
	case 1:
		fall = 1 + rnd.IntN(150)
	}
	thrown := errors.New("thrown")
	defer func() {
		p := recover()
		if seen.over && fall > 0 {
			require.Equal(t, any(thrown), p)
			return
		}
		require.Nil(t, p)
	}()
	for e := range s.Events() {
		require.False(t, seen.over)
		require.Zero(t, seen.ends, "the end is the last event")
		seen.take(e)
		checkEventJSON(t, e)
		switch seen.events {
		case leave:
			seen.over = true
			return
		case fall:
			seen.over = true
			panic(thrown)
		}
	}
	require.Equal(t, 1, seen.ends)
}

// spyJournal is a journal in memory that knows what its runs had recorded when they were begun.
type spyJournal struct {
	journal.Memory
	mu   sync.Mutex
	runs map[string]*spyLog
}

type spyLog struct {
	journal.Log
	spy     *spyJournal
	records []spyRecord
	loaded  int
}

type spyRecord struct {
	Op, Call string
	Step     int
	Used     *struct {
		Requests  int `json:"requests"`
		ToolCalls int `json:"tool_calls"`
		model.Usage
	}
	Response *model.Message
	Return   *struct {
		Retry, Deferred bool
		Outcome         model.Outcome
		Approval        json.RawMessage
		Pending         json.RawMessage
	}
}

func (j *spyJournal) Open(ctx context.Context, runID string) (journal.Log, error) {
	log, err := j.Memory.Open(ctx, runID)
	if err != nil {
		return nil, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.runs == nil {
		j.runs = map[string]*spyLog{}
	}
	l := &spyLog{Log: log, spy: j}
	if old := j.runs[runID]; old != nil {
		l.records = old.records
	}
	l.loaded = len(l.records)
	j.runs[runID] = l
	return l, nil
}

func (l *spyLog) Append(ctx context.Context, line []byte) error {
	var r spyRecord
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	l.spy.mu.Lock()
	defer l.spy.mu.Unlock()
	l.records = append(l.records, r)
	return l.Log.Append(ctx, line)
}

// notRecorded returns an error if something had been recorded before the run was begun.
func (j *spyJournal) notRecorded(runID, op string, step int, call string) error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	l := j.runs[runID]
	if l == nil {
		return fmt.Errorf("run %q has no journal", runID)
	}
	for _, r := range l.records[:l.loaded] {
		if r.Op == op && r.Step == step && r.Call == call {
			return fmt.Errorf("run %q: %s of step %d, call %q, is done again", runID, op, step, call)
		}
	}
	return nil
}

// before returns what the records say that the run had used before it was begun.
func (j *spyJournal) before(runID string) toolset.Usage {
	var u toolset.Usage
	if j == nil || j.runs[runID] == nil {
		return u
	}
	l := j.runs[runID]
	for _, r := range l.records[:l.loaded] {
		if r.Used != nil {
			addUsage(&u, toolset.Usage{Requests: r.Used.Requests, ToolCalls: r.Used.ToolCalls, Usage: r.Used.Usage})
		}
		if ret := r.Return; ret != nil && r.Op == "tool" && !ret.Retry && !ret.Deferred && ret.Approval == nil && ret.Pending == nil && ret.Outcome == model.OutcomeSuccess {
			u.ToolCalls++
		}
	}
	return u
}

// inside returns what the records of the runs inside of a run say that they had used before it was begun.
func (j *spyJournal) inside(runID string) toolset.Usage {
	var u toolset.Usage
	if j != nil {
		for id := range j.runs {
			if strings.HasPrefix(id, runID+"/") {
				addUsage(&u, j.before(id))
			}
		}
	}
	return u
}

// callOf takes the id of an inner run apart.
func (j *spyJournal) callOf(outer, inner string) (step int, call string, ok bool) {
	rest, ok := strings.CutPrefix(inner, outer+"/")
	if j == nil || !ok {
		return 0, "", false
	}
	_, err := fmt.Sscanf(rest, "%d/%s", &step, &call)
	return step, call, err == nil
}
