// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine/enginetest"
	"github.com/ponte-go/ponte/agent/history"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/internal/leaktest"
	"github.com/ponte-go/ponte/toolset"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

type none struct{}

// errDied is what a process that has died gets from its store.
var errDied = errors.New("the process is dead")

// mortal is a store whose process dies after a number of appends.
type mortal struct {
	*session.Memory
	left *atomic.Int64
}

func mortalStore(m *session.Memory, left int) *mortal {
	s := &mortal{m, new(atomic.Int64)}
	s.left.Store(int64(left))
	return s
}

func (m *mortal) Append(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
	if m.left.Add(-1) < 0 {
		return 0, errDied
	}
	return m.Memory.Append(ctx, l, head, b)
}

// open opens the only session of a store as a new process does.
func open(t *testing.T, s session.Store) (*transcript.Conversation, *session.Writer) {
	t.Helper()
	if _, err := s.Create(t.Context(), session.New{ID: "s"}); err != nil {
		require.ErrorIs(t, err, session.ErrExists)
	}
	w, err := session.Open(t.Context(), s, "s", session.Claim{Force: true})
	require.NoError(t, err)
	c, err := transcript.Open(t.Context(), w, transcript.Options{})
	require.NoError(t, err)
	return c, w
}

// text returns messages as JSON, without times.
func text(t *testing.T, messages []*model.Message) string {
	t.Helper()
	var b strings.Builder
	for _, m := range messages {
		m = m.Clone()
		m.Time, m.RunID = time.Time{}, ""
		data, err := json.Marshal(m)
		require.NoError(t, err)
		b.Write(append(data, '\n'))
	}
	return b.String()
}

// exact returns messages as JSON.
func exact(t *testing.T, messages []*model.Message) string {
	t.Helper()
	data, err := json.Marshal(messages)
	require.NoError(t, err)
	return string(data)
}

func read(t *testing.T, s session.Store) *transcript.Transcript {
	t.Helper()
	h, err := transcript.Read(t.Context(), s, "s", transcript.Options{})
	require.NoError(t, err)
	return h
}

func export(t *testing.T, s session.Store) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, session.Export(t.Context(), s, &b))
	return b.String()
}

// worker is an agent that calls tools in two steps, one of them inside another agent, and counts what it does.
type worker struct {
	done []string
}

func (w *worker) agent() *agent.Agent[none, string] {
	tool := func(name string) *toolset.Tool[none] {
		return toolset.Func(name, "Do something.", func(context.Context, *toolset.RunContext[none], none) (string, error) {
			w.done = append(w.done, name)
			return "result of " + name, nil
		})
	}
	inner := agent.Must(agent.New(agent.Config[none, string]{Name: "inner", Model: w.model("inner", func(steps int) *model.Message {
		if steps == 0 {
			return model.Response(model.ToolCall("i1", "deep", `{}`))
		}
		return model.Response(model.Text("inner answer"))
	}), Tools: []*toolset.Tool[none]{tool("deep")}}))
	return agent.Must(agent.New(agent.Config[none, string]{
		Name: "worker", Instructions: "Work.", MaxParallelCalls: 1,
		Model: w.model("outer", func(steps int) *model.Message {
			switch steps {
			case 0:
				return model.Response(model.Text("I begin. <&>"), model.ToolCall("c1", "one", `{}`), model.ToolCall("", "two", `{}`), model.ToolCall("c3", "unknown", `{}`))
			case 1:
				return model.Response(model.ToolCall("c4", "ask", `{"prompt":"How?"}`))
			}
			return model.Response(model.Text("It is done."))
		}),
		Tools: []*toolset.Tool[none]{tool("one"), tool("two"), agent.AsTool("ask", "Ask.", inner, func(none) none { return none{} })},
	}))
}

// model returns a model that answers by how many responses follow the last prompt.
func (w *worker) model(name string, answer func(steps int) *model.Message) model.Model {
	return modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		steps := 0
		for _, m := range slices.Backward(req.Messages) {
			if m.Kind == model.KindRequest && slices.ContainsFunc(m.Parts, func(p model.Part) bool { return p.Kind == model.PartUser }) {
				break
			}
			if m.Kind == model.KindResponse {
				steps++
			}
		}
		w.done = append(w.done, fmt.Sprint(name, steps))
		return answer(steps), nil
	})
}

// prompt runs a turn.
func prompt(t *testing.T, c *transcript.Conversation, a *agent.Agent[none, string], text string) (*agent.Result[string], error) {
	t.Helper()
	now, err := c.Begin(t.Context(), model.User(text))
	if err != nil {
		return nil, err
	}
	res, err := a.Run(t.Context(), none{}, text, now.Options()...)
	return res, errors.Join(err, transcript.End(t.Context(), now, res, err))
}

func TestTurnsAreReadAsTheyWere(t *testing.T) {
	m := new(session.Memory)
	c, w := open(t, m)
	var wk worker
	for n := range 3 {
		res, err := prompt(t, c, wk.agent(), fmt.Sprint("Prompt ", n))
		require.NoError(t, err)
		require.Equal(t, exact(t, res.Messages), exact(t, read(t, m).Messages()))
		require.Equal(t, exact(t, res.Messages), exact(t, c.Messages()))
	}
	require.Empty(t, read(t, m).Interrupted())
	require.NoError(t, w.Close(t.Context()))
	all := export(t, m)
	require.Equal(t, 3, strings.Count(all, "I begin."), "a response is kept once")
	require.Equal(t, 3, strings.Count(all, "result of one"), "and a result")
	require.Equal(t, 1, strings.Count(all, "Prompt 1"))
	require.NotContains(t, all, `"kind":"step"`)
}

// TestCutOffTurnsAreSettled lets processes die after each append.
func TestCutOffTurnsAreSettled(t *testing.T) {
	for left := 1; ; left++ {
		m := new(session.Memory)
		c, _ := open(t, mortalStore(m, left))
		var wk worker
		_, err := prompt(t, c, wk.agent(), "Begin.")
		if err == nil {
			require.Greater(t, left, 10)
			break
		}
		require.ErrorIs(t, err, errDied)
		h := read(t, m)
		require.NotEmpty(t, h.Interrupted())
		all := text(t, h.Messages())
		require.Contains(t, all, "Begin.", "the prompt is there")
		recorded := export(t, m)
		for _, what := range []string{"I begin.", "result of one", "result of two", "inner answer", "It is done."} {
			if what != "inner answer" || strings.Contains(recorded, `"call":"c4"`) && strings.Contains(recorded, `"text":"inner answer"`) && strings.Contains(recorded, `"op":"tool","step":2,"call":"c4"`) {
				require.Equal(t, strings.Contains(recorded, what), strings.Contains(all, what), "%d: %s, in\n%s", left, what, recorded)
			}
		}
		last := h.Messages()[len(h.Messages())-1]
		require.False(t, last.HasToolCalls(), "its calls are answered")

		// The next prompt works in another process, and what was settled stays so.
		c, w := open(t, m)
		require.Equal(t, h.Interrupted(), c.Interrupted())
		res, err := prompt(t, c, wk.agent(), "Go on.")
		require.NoError(t, err)
		require.Equal(t, "It is done.", res.Output)
		settled := slices.DeleteFunc(slices.Clone(h.Messages()), func(m *model.Message) bool { return m.Interrupted && m.Kind == model.KindRequest })
		require.True(t, strings.HasPrefix(text(t, c.Messages()), text(t, settled)), "but for the request that the next prompt completes")
		require.Equal(t, exact(t, c.Messages()), exact(t, read(t, m).Messages()))
		require.NotContains(t, export(t, m), `"kind":"step"`)
		require.NoError(t, w.Close(t.Context()))
	}
}

// TestCutOffTurnsResume lets processes die after each append, and goes on with the turn.
func TestCutOffTurnsResume(t *testing.T) {
	var undisturbed worker
	m := new(session.Memory)
	c, _ := open(t, m)
	want, err := prompt(t, c, undisturbed.agent(), "Begin.")
	require.NoError(t, err)
	for left := 1; ; left++ {
		m := new(session.Memory)
		c, _ := open(t, mortalStore(m, left))
		var wk worker
		if _, err := prompt(t, c, wk.agent(), "Begin."); err == nil {
			break
		}
		recorded := export(t, m)
		c, w := open(t, m)
		now, err := c.Resume(t.Context())
		require.NoError(t, err)
		before := len(wk.done)
		res, err := wk.agent().Run(t.Context(), none{}, "Begin.", now.Options()...)
		require.NoError(t, err, "after %d appends", left)
		require.NoError(t, transcript.End(t.Context(), now, res, err))
		require.Equal(t, text(t, want.Messages), text(t, res.Messages))
		require.Equal(t, exact(t, res.Messages), exact(t, read(t, m).Messages()))
		for _, again := range wk.done[before:] {
			for name, in := range map[string]string{"one": `"text":"result of one"`, "two": `"text":"result of two"`, "deep": `"text":"result of deep"`, "outer0": "I begin."} {
				if again == name {
					require.NotContains(t, recorded, in, "it is done again")
				}
			}
		}
		require.Equal(t, 1, strings.Count(export(t, m), "I begin."))
		require.NoError(t, w.Close(t.Context()))
	}
}

// slow is a model that streams a word a tenth of a second.
func slow(words int) model.Model {
	return model.Func(model.Info{Provider: "test", Name: "slow"}, func(ctx context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		var all string
		for n := range words {
			word := fmt.Sprintf("word%d ", n)
			all += word
			if sink != nil {
				if err := sink(model.Delta{Kind: model.PartText, Text: word}); err != nil {
					return nil, err
				}
			}
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return model.Response(model.Text(all)), nil
	})
}

func TestStreamedTextSurvives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := new(session.Memory)
		store := mortalStore(m, 1<<30)
		c, _ := open(t, store)
		a := agent.Must(agent.New(agent.Config[none, string]{Model: slow(20)}))
		now, err := c.Begin(t.Context(), model.User("Talk."))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := a.Stream(ctx, none{}, "Talk.", now.Options()...)
		for ev := range s.Events() {
			now.Observe(&ev)
			if ev.Kind == agent.EventPartDelta && ev.Text == "word12 " {
				store.left.Store(0) // nothing is written any more
				cancel()
			}
		}
		_, err = s.Result()
		require.ErrorIs(t, err, context.Canceled)
		require.Error(t, transcript.End(t.Context(), now, (*agent.Result[string])(nil), err))

		h := read(t, m)
		require.Len(t, h.Messages(), 2)
		require.True(t, h.Messages()[1].Interrupted)
		shown := h.Messages()[1].Text()
		require.True(t, strings.HasPrefix("word0 word1 word2 word3 word4 word5 word6 word7 word8 word9 word10 word11 word12 ", shown))
		require.GreaterOrEqual(t, strings.Count(shown, "word"), 13-4, "what was shown more than a quarter of a second ago is there")
		views := strings.Count(export(t, m), `"kind":"view"`)
		require.LessOrEqual(t, views, 6, "a piece each quarter of a second")
		require.GreaterOrEqual(t, views, 3)
		c, w := open(t, m)
		_, err = prompt(t, c, agent.Must(agent.New(agent.Config[none, string]{Model: slow(1)})), "Go on.")
		require.NoError(t, err)
		require.Equal(t, shown, read(t, m).Messages()[1].Text())
		require.NoError(t, w.Close(t.Context()))
	})
}

func TestResponseReplacesStreamedText(t *testing.T) {
	for _, cancelled := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := new(session.Memory)
			c, w := open(t, m)
			now, err := c.Begin(t.Context(), model.User("Talk."))
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s := agent.Must(agent.New(agent.Config[none, string]{Model: slow(20)})).Stream(ctx, none{}, "Talk.", now.Options()...)
			for ev := range s.Events() {
				now.Observe(&ev)
				if ev.Text == "word10 " {
					require.Contains(t, export(t, m), `"kind":"view"`)
					if cancelled {
						cancel()
					}
				}
			}
			res, err := s.Result()
			require.NoError(t, transcript.End(t.Context(), now, res, err))
			all := export(t, m)
			require.NotContains(t, all, `"kind":"view"`)
			require.Equal(t, 1, strings.Count(all, "word7"))
			h := read(t, m)
			require.Equal(t, cancelled, h.Messages()[1].Interrupted)
			require.Contains(t, all, `"reason":"`+map[bool]string{false: transcript.Done, true: transcript.Cancelled}[cancelled])
			require.NoError(t, w.Close(t.Context()))
		})
	}
}

func TestDecisionsSayWhatWasShown(t *testing.T) {
	m := new(session.Memory)
	c, w := open(t, m)
	pay := toolset.Func("pay", "Pay.", func(context.Context, *toolset.RunContext[none], none) (string, error) { return "paid", nil })
	set := toolset.Approved(toolset.Of(pay), func(context.Context, *toolset.RunContext[none], *toolset.Tool[none], any) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Pay 5 euros"}, nil
	})
	newAgent := func() *agent.Agent[none, string] {
		return agent.Must(agent.New(agent.Config[none, string]{Toolsets: []toolset.Toolset[none]{set},
			Model: modeltest.Script(modeltest.Say(model.ToolCall("c1", "pay", `{}`)), modeltest.SayText("Paid."))}))
	}
	asker := toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
		return toolset.Decision{Verdict: toolset.VerdictAllow, By: "Ada"}, nil
	}}
	now, err := c.Begin(t.Context(), model.User("Pay."))
	require.NoError(t, err)
	res, err := newAgent().Run(t.Context(), none{}, "Pay.", append(now.Options(), agent.WithAsker(asker))...)
	require.NoError(t, err)
	require.NoError(t, transcript.End(t.Context(), now, res, err))
	found := 0
	for e, err := range m.Load(t.Context(), "s", 0) {
		require.NoError(t, err)
		if e.Kind == session.KindDecision {
			found++
			require.Contains(t, string(e.Data), `"by":"Ada"`)
			require.Contains(t, string(e.Data), `"Pay 5 euros"`)
			require.Contains(t, string(e.Data), `"tool":"pay"`)
			require.False(t, e.Time.IsZero())
		}
	}
	require.Equal(t, 1, found)

	// A turn that waits for answers has ended; the next one has them.
	now, err = c.Begin(t.Context(), model.User("Pay again."))
	require.NoError(t, err)
	a := newAgent()
	res, err = a.Run(t.Context(), none{}, "Pay again.", now.Options()...)
	var pending *agent.PendingError
	require.ErrorAs(t, err, &pending)
	require.NoError(t, transcript.End(t.Context(), now, res, err))
	require.NoError(t, w.Close(t.Context()))
	c, w = open(t, m)
	require.Empty(t, c.Interrupted())
	now, err = c.Begin(t.Context())
	require.NoError(t, err)
	answers := agent.DeferredResults{Decisions: map[string]toolset.Decision{pending.Calls[0].Key(): {Verdict: toolset.VerdictAllow}}}
	res, err = a.Run(t.Context(), none{}, "", append(now.Options(), agent.WithResults(answers))...)
	require.NoError(t, err)
	require.NoError(t, transcript.End(t.Context(), now, res, err))
	require.Equal(t, exact(t, res.Messages), exact(t, read(t, m).Messages()))
	require.Equal(t, "Paid.", res.Output)
	require.NoError(t, w.Close(t.Context()))
}

func TestProcessedHistoriesStaySo(t *testing.T) {
	m := new(session.Memory)
	c, w := open(t, m)
	for n := range 5 {
		a := agent.Must(agent.New(agent.Config[none, string]{Model: modeltest.Script(modeltest.SayText(fmt.Sprint("answer ", n))),
			History: []agent.HistoryProcessor[none]{history.KeepLast[none](2, 0)}}))
		res, err := prompt(t, c, a, fmt.Sprint("prompt ", n))
		require.NoError(t, err)
		require.Equal(t, exact(t, res.Messages), exact(t, read(t, m).Messages()))
	}
	require.NotContains(t, text(t, read(t, m).Messages()), "answer 1")
	require.Contains(t, export(t, m), "answer 1", "what was lost stays in the session")
	require.NoError(t, w.Close(t.Context()))
}

func TestForkHasTheHistoryUpToThere(t *testing.T) {
	m := new(session.Memory)
	c, w := open(t, m)
	var heads []int64
	var wk worker
	for n := range 3 {
		_, err := prompt(t, c, wk.agent(), fmt.Sprint("Prompt ", n))
		require.NoError(t, err)
		heads = append(heads, w.Head())
	}
	_, err := m.Fork(t.Context(), "s", heads[1], session.New{ID: "fork"})
	require.NoError(t, err)
	h, err := transcript.Read(t.Context(), m, "fork", transcript.Options{})
	require.NoError(t, err)
	require.Equal(t, exact(t, c.Messages()[:len(h.Messages())]), exact(t, h.Messages()))
	require.Equal(t, 2, strings.Count(text(t, h.Messages()), "I begin"))
	require.NoError(t, w.Close(t.Context()))
}

func TestTurnIsJournal(t *testing.T) {
	enginetest.JournalConformance(t, func(t *testing.T) journal.Journal {
		c, _ := open(t, new(session.Memory))
		now, err := c.Begin(t.Context())
		require.NoError(t, err)
		return journal.Func(func(ctx context.Context, run string) (journal.Log, error) {
			if run == "" {
				return nil, errors.New("no id")
			}
			return now.Open(ctx, now.ID()+"/"+strconv.QuoteToASCII(run)) // the suite's ids need not be UTF-8
		})
	})
}

func TestRunsOfOtherTurnsAreRefused(t *testing.T) {
	c, w := open(t, new(session.Memory))
	now, err := c.Begin(t.Context(), model.User("Hi."))
	require.NoError(t, err)
	a := agent.Must(agent.New(agent.Config[none, string]{Model: modeltest.Script(modeltest.SayText("Hi."))}))
	res, err := a.Run(t.Context(), none{}, "Hi.", agent.WithJournal(now))
	require.ErrorContains(t, err, "does not belong to turn")
	require.NoError(t, transcript.End(t.Context(), now, res, err))
	require.Len(t, c.Messages(), 0)
	_, err = now.Open(t.Context(), now.ID())
	require.ErrorContains(t, err, "has ended")
	_, err = c.Resume(t.Context())
	require.ErrorIs(t, err, session.ErrInvalid)
	require.NoError(t, w.Close(t.Context()))
}

func TestDamagedTurnsAreErrors(t *testing.T) {
	for name, e := range map[string]session.Entry{
		"a message that is none": {Kind: session.KindMessage, Run: "r", Data: []byte(`{"message":{"kind":"nonsense"}}`)},
		"an end of nothing":      {Kind: session.KindEnd, Run: "r", Data: []byte(`{"v":1,"messages":[7]}`)},
		"an end that keeps":      {Kind: session.KindEnd, Run: "r", Data: []byte(`{"v":1,"keep":3}`)},
	} {
		t.Run(name, func(t *testing.T) {
			m := new(session.Memory)
			_, w := open(t, m)
			_, err := w.Append(t.Context(), e)
			require.NoError(t, err)
			_, err = transcript.Read(t.Context(), m, "s", transcript.Options{})
			require.ErrorIs(t, err, session.ErrCorrupt)
			require.ErrorContains(t, err, "entry 1")
		})
	}
	m := new(session.Memory)
	_, w := open(t, m)
	_, err := w.Append(t.Context(), session.Entry{Kind: session.KindEnd, Run: "r", Data: []byte(`{"v":2}`)})
	require.NoError(t, err)
	_, err = transcript.Read(t.Context(), m, "s", transcript.Options{})
	require.ErrorIs(t, err, session.ErrVersion)
}

// The text of a response that was cut off is stored once, also if the turn is resumed and cut off again.
func TestResponseOfAResumedTurnReplacesStreamedText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := new(session.Memory)
		store := mortalStore(m, 1<<30)
		a := agent.Must(agent.New(agent.Config[none, string]{Model: slow(20)}))
		until := func(now *transcript.Turn, word string, each func(agent.Event)) (*agent.Result[string], error) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s := a.Stream(ctx, none{}, "Talk.", now.Options()...)
			for ev := range s.Events() {
				each(ev)
				if ev.Text == word {
					cancel()
				}
			}
			return s.Result()
		}
		c, _ := open(t, store)
		now, err := c.Begin(t.Context(), model.User("Talk."))
		require.NoError(t, err)
		_, err = until(now, "word12 ", func(ev agent.Event) {
			if now.Observe(&ev); ev.Text == "word12 " {
				store.left.Store(0) // the process ends
			}
		})
		require.ErrorIs(t, err, context.Canceled)
		require.Error(t, transcript.End(t.Context(), now, (*agent.Result[string])(nil), err))
		require.Contains(t, export(t, m), `"kind":"view"`)

		c, w := open(t, m)
		now, err = c.Resume(t.Context())
		require.NoError(t, err)
		res, err := until(now, "word3 ", func(agent.Event) {})
		require.NoError(t, transcript.End(t.Context(), now, res, err))
		h := read(t, m)
		require.Equal(t, "word0 word1 word2 word3 ", h.Messages()[len(h.Messages())-1].Text())
		require.Equal(t, 1, strings.Count(export(t, m), "word0"))
		require.NotContains(t, export(t, m), `"kind":"view"`)
		require.NoError(t, w.Close(t.Context()))
	})
}
