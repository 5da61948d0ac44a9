// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/linediff"
	"github.com/ponte-go/ponte/toolset"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// recorder is a store that remembers what was appended, so that it can be cut off anywhere.
type recorder struct {
	*session.Memory
	mu      sync.Mutex
	batches [][]session.Entry
}

func (r *recorder) Append(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
	at, err := r.Memory.Append(ctx, l, head, b)
	if err == nil && len(b.Entries) > 0 {
		r.mu.Lock()
		r.batches = append(r.batches, slices.Clone(b.Entries))
		r.mu.Unlock()
	}
	return at, err
}

// cut returns a store as it was after a number of appends.
func (r *recorder) cut(t *testing.T, n int) *session.Memory {
	t.Helper()
	m := new(session.Memory)
	_, err := m.Create(t.Context(), session.New{ID: "s"})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), m, "s", session.Claim{})
	require.NoError(t, err)
	for _, batch := range r.batches[:n] {
		_, err := w.Append(t.Context(), batch...)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close(t.Context()))
	return m
}

// play is a process that has a conversation.
type play struct {
	dice
	t *testing.T
	c *transcript.Conversation
	a *agent.Agent[none, string]
	// cancel is called by the tool that stops the run.
	cancel *func()
}

// enter opens the session in another process.
func (p *play) enter(s session.Store) *play {
	t := p.t
	t.Helper()
	w, err := session.Open(t.Context(), s, "s", session.Claim{Force: true})
	require.NoError(t, err)
	c, err := transcript.Open(t.Context(), w, options)
	require.NoError(t, err)
	return &play{p.dice, t, c, p.a, p.cancel}
}

// turn begins a turn and runs it. If calls wait for answers, it may give them.
func (p *play) turn(id string) {
	r := p.at("turn", id)
	prompt := transcript.Prompt{Turn: id, Parts: []model.Part{model.User("prompt " + id)}}
	if r.IntN(4) == 0 {
		prompt.Shown = []view.Content{{Kind: view.Text, Text: "typed " + id}}
	}
	if calls := agent.PendingCalls(p.c.Messages()); len(calls) > 0 && r.IntN(4) > 0 {
		prompt.Parts, prompt.Shown = nil, nil
		var given agent.DeferredResults
		for i := range calls {
			p.answer(r.IntN(4), &calls[i], &given)
			require.NoError(p.t, p.c.Answer(p.t.Context(), &calls[i], given))
		}
		if r.IntN(2) == 0 {
			prompt.Answers = &given
		}
	}
	now, err := p.c.BeginAs(p.t.Context(), prompt)
	require.NoError(p.t, err)
	if prompt.Parts == nil && prompt.Answers == nil {
		prompt.Answers = new(p.c.Answers())
	}
	p.run(now, prompt.Parts)
}

func (p *play) answer(how int, call *agent.PendingCall, given *agent.DeferredResults) {
	switch {
	case call.Approval == nil:
		given.Supply(call.Key(), toolset.Result{Text: "from outside", Content: []model.Part{model.User("and more")}, Meta: json.RawMessage(`{"n":3}`)})
	case how == 0:
		given.Decide(call.Key(), toolset.Decision{Verdict: toolset.VerdictDeny, Reason: "no", By: "user"})
	case how == 1:
		given.Decide(call.Key(), toolset.Decision{Verdict: toolset.VerdictAllow, By: "user", Args: json.RawMessage(`{"x":2}`)})
	default:
		given.Decide(call.Key(), toolset.Decision{Verdict: toolset.VerdictAllow, By: "a rule"})
	}
}

// run runs a turn that has begun.
func (p *play) run(now *transcript.Turn, parts []model.Part) {
	ctx, cancel := context.WithCancel(p.t.Context())
	defer cancel()
	*p.cancel = cancel
	asker := toolset.AskerFuncs{OnApprove: func(ctx context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
		q := view.Entity{
			ID: transcript.QuestionID(r.RunID, r.Step, r.CallID()), Kind: view.Question, Title: r.Approval.Title, Status: view.Pending,
			Parent: transcript.CallID(r.RunID, r.Step, r.CallID()),
		}
		p.c.Report(&q)
		d := toolset.Decision{Verdict: toolset.VerdictAllow, By: "user"}
		switch p.at("approve", r.RunID, r.Step, r.CallID()).IntN(5) {
		case 0:
			d = toolset.Decision{Verdict: toolset.VerdictDeny, Reason: "not now", By: "user"}
		case 1:
			d = toolset.Defer()
		case 2:
			d.Args = json.RawMessage(`{"x":3}`)
		case 3:
			d.By = "a rule"
		}
		err := now.Decided(ctx, r.RunID, r.Step, r.CallID(), r.Tool, d)
		q.Status = view.Completed
		p.c.Report(&q)
		return d, err
	}}
	inbox := new(agent.Inbox)
	inbox.Send(model.User("by the way"))
	text := ""
	if len(parts) > 0 {
		text = parts[0].Text
	}
	opts := append(now.Options(), agent.WithAsker(asker))
	if p.at("inbox", now.ID()).IntN(2) == 0 {
		opts = append(opts, agent.WithInbox(inbox))
	}
	stream := p.a.Stream(ctx, none{}, text, opts...)
	for e := range stream.Events() {
		now.Observe(&e)
	}
	res, err := stream.Result()
	if waits, ok := errors.AsType[*agent.PendingError](err); ok {
		for i := range waits.Calls {
			call := &waits.Calls[i]
			p.c.Report(&view.Entity{ID: transcript.PendingID(now.ID(), call.Key()), Kind: view.Question, Parent: p.c.Waiting(call), Title: "Well?", Status: view.Pending})
		}
	}
	require.NoError(p.t, transcript.End(p.t.Context(), now, res, err))
}

// made finds random ids.
var made = regexp.MustCompile(`[A-Z2-7]{26}`)

// long is how much is kept of a line.
const long = 240

// short leaves out what all lines have.
var short = strings.NewReplacer(`"v":1,`, "", `"conversation_id":"s",`, "", `2000-01-01T00:`, "")

// state returns what a process finds in a store, one thing a line.
func state(t *testing.T, c *transcript.Conversation) string {
	t.Helper()
	var b strings.Builder
	line := func(what string, v any) {
		data, err := json.Marshal(v)
		if err != nil { // of a spoilt entry
			data = []byte(err.Error())
		}
		writeLine(&b, what, data)
	}
	for _, m := range c.Messages() {
		line("message", m)
	}
	for e := range c.Fold().Snapshot().All() {
		line("shown", e)
	}
	unknown, whole := c.Unknown()
	line("interrupted", []any{c.Interrupted(), unknown, whole, c.Running(), c.Finish()})
	line("answers", []any{c.Answers(), c.Attempts()})
	for _, call := range agent.PendingCalls(c.Messages()) {
		line("waits", []any{call.Key(), c.Waiting(&call)})
	}
	return b.String()
}

// past returns the turns of a session, one a line.
func past(t *testing.T, s session.Store) string {
	t.Helper()
	turns, err := transcript.Past(t.Context(), s, "s")
	require.NoError(t, err)
	var b strings.Builder
	for _, one := range turns {
		var decisions []string
		for call, d := range one.Decisions {
			decisions = append(decisions, fmt.Sprint(call.Step, call.ID, d.Verdict, d.By, string(d.Args)))
		}
		slices.Sort(decisions)
		data, err := json.Marshal([]any{one.ID, one.Reason, len(one.Before), len(one.After), decisions, one.Prompt, one.Answers})
		require.NoError(t, err)
		writeLine(&b, "turn", data)
		if n := len(one.Before); n > 0 && n < len(one.After) && one.Before[n-1] != one.After[n-1] {
			data, err = json.Marshal(one.Before[n-1])
			require.NoError(t, err)
			writeLine(&b, "before", data)
		}
		for _, m := range one.Messages {
			if at := slices.Index(one.After, m); at >= 0 {
				fmt.Fprintln(&b, "of it is message", at)
				continue
			}
			data, err = json.Marshal(m)
			require.NoError(t, err)
			writeLine(&b, "of it", data)
		}
	}
	return b.String()
}

// writeLine writes JSON on a line, without what is random. Of a long line the beginning and a sum are enough.
func writeLine(b *strings.Builder, what string, data []byte) {
	text := short.Replace(made.ReplaceAllString(string(data), "random"))
	if len(text) > long {
		text = fmt.Sprintf("%s… %d %08x", text[:long], len(text), crc32.ChecksumIEEE([]byte(text)))
	}
	fmt.Fprintf(b, "%s %s\n", what, text)
}

// entriesOf returns the entries after one. Of those of a run, how many views there are depends on the moment: they are left out unless whole is set,
// and so is data.
func entriesOf(t *testing.T, s session.Store, after int64, whole bool) string {
	t.Helper()
	var b strings.Builder
	for e, err := range s.Load(t.Context(), "s", after) {
		require.NoError(t, err)
		if !whole {
			if e.Kind == session.KindView {
				continue
			}
			e.Seq, e.Data = 0, nil
		}
		data, err := json.Marshal(e)
		require.NoError(t, err)
		writeLine(&b, "entry", data)
	}
	return b.String()
}

// changes returns the lines that differ, of those that are gone the beginning.
func changes(before, after string) string {
	var b strings.Builder
	for _, h := range linediff.Hunks(before, after, 0) {
		for _, l := range h.Lines {
			text := strings.TrimSuffix(l.Text, "\n")
			if l.Op == linediff.Delete {
				text = text[:min(len(text), 40)]
			}
			fmt.Fprintf(&b, "%c %s\n", l.Op, text)
		}
	}
	return cmp.Or(b.String(), "the same\n")
}

// ways are what a process can do with what it finds.
var goings = []struct {
	name string
	do   func(p *play)
}{
	{"settled", func(p *play) { require.NoError(p.t, p.c.Settle(p.t.Context())) }},
	{"doubted", func(p *play) {
		p.c.Doubt()
		require.NoError(p.t, p.c.Settle(p.t.Context()))
	}},
	{"resumed", func(p *play) {
		require.NoError(p.t, p.c.Attempt(p.t.Context()))
		now, err := p.c.Resume(p.t.Context())
		require.NoError(p.t, err)
		p.run(now, now.Prompt())
	}},
	{"answered", func(p *play) {
		p.c.Doubt()
		p.turn("answer")
	}},
	{"taken back", func(p *play) {
		_, err := p.c.Rewind(p.t.Context(), cmp.Or(p.c.Interrupted(), "t1"))
		require.NoError(p.t, err)
		p.c.Say("It is taken back.")
		require.NoError(p.t, p.c.Keep(p.t.Context()))
	}},
	{"prompted", func(p *play) {
		now, err := p.c.BeginAs(p.t.Context(), transcript.Prompt{Turn: "next", Parts: []model.Part{model.User("Well?")}})
		require.NoError(p.t, err)
		m := model.Response(model.Text("Well."))
		m.RunID = now.ID()
		for _, e := range []agent.Event{{Kind: agent.EventRequestStart}, {Kind: agent.EventPartDelta, PartKind: model.PartText, Text: "Well."}, {Kind: agent.EventResponse, Message: m}} {
			e.Step = 1
			now.Observe(&e)
		}
		require.NoError(p.t, now.Finish(p.t.Context(), append(p.c.Messages(), m), transcript.Done))
	}},
}

// follows has another process follow the session, and take it over.
func follows(t *testing.T, s session.Store, found string) {
	t.Helper()
	c, err := transcript.Follow(t.Context(), s, "s", options)
	require.NoError(t, err)
	w, err := session.Open(t.Context(), s, "s", session.Claim{Force: true})
	require.NoError(t, err)
	require.Equal(t, w.Head(), c.Taken())
	going := c.Going()
	c.Hold(w)
	require.Equal(t, going, c.Interrupted())
	require.Empty(t, c.Going())
	require.True(t, strings.HasPrefix(found, state(t, c)), "a process that has followed finds the same")
}

// perform plays a conversation of some turns, cuts it off after each append, and tells what other processes make of it.
func perform(t *testing.T, d dice) string {
	store := &recorder{Memory: new(session.Memory)}
	_, err := store.Create(t.Context(), session.New{ID: "s"})
	require.NoError(t, err)
	cancel := new(func())
	p := (&play{dice: d, t: t, a: playAgent(d, cancel), cancel: cancel}).enter(store)
	for n := range 2 {
		p.turn(fmt.Sprint("t", n))
	}
	var b strings.Builder
	before := ""
	for n := range len(store.batches) + 1 {
		fmt.Fprintf(&b, "after %d appends:\n", n)
		read := p.enter(store.cut(t, n))
		found := state(t, read.c) + past(t, store.cut(t, n))
		follows(t, store.cut(t, n), found)
		b.WriteString(changes(before, found))
		before = found
		if read.c.Interrupted() == "" {
			continue
		}
		for _, g := range goings {
			m := store.cut(t, n)
			info, err := m.Get(t.Context(), "s")
			require.NoError(t, err)
			g.do(p.enter(m))
			fmt.Fprintf(&b, "%s:\n%s%s", g.name, changes(found, state(t, p.enter(m).c)+past(t, m)), entriesOf(t, m, info.Head, g.name == "settled"))
		}
	}
	return b.String()
}

// TestPlays has conversations of random turns, with processes that die after each append. What others find, and what becomes of it if they go on,
// is in testdata, as what has changed since the append before.
func TestPlays(t *testing.T) {
	for _, seed := range []dice{5, 7, 10, 17, 30, 87, 89} { // which come to most of the code
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := perform(t, seed)
				path := filepath.Join("testdata", fmt.Sprintf("play%d.txt", seed))
				if *update {
					require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
				}
				want, err := os.ReadFile(path)
				require.NoError(t, err)
				require.Equal(t, string(want), got)
			})
		})
	}
}
