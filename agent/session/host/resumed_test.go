// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/mortal"
	"github.com/ponte-go/ponte/toolset"
)

// till is what has been paid, by key.
type till struct {
	mu   sync.Mutex
	paid map[string]string
	once bool // paying twice is a fault
	bad  string
}

type payingRun = toolset.RunContext[none]

func (l *till) pay() *toolset.Tool[none] {
	ask := func(_ context.Context, _ *payingRun, in payment) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Pay " + in.To}, nil
	}
	opts := []toolset.Option{toolset.Approve(ask)}
	if !l.once {
		opts = append(opts, toolset.Idempotent())
	}
	return toolset.Func("pay", "Pay.", func(_ context.Context, run *payingRun, in payment) (string, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		key := run.IdempotencyKey()
		for other, to := range l.paid {
			if to == in.To && (other != key || l.once) {
				l.bad += "paid twice: " + to + "\n"
			}
		}
		l.paid[key] = in.To
		return "paid " + in.To, nil
	}, opts...)
}

// payers pays those whom the prompt names, and then says what has become of that.
func payers(names ...string) model.Model {
	answer := func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
		var got []string
		called := false
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				called = called || p.Kind == model.PartToolCall
				if p.Kind == model.PartToolReturn {
					got = append(got, p.Text)
				}
			}
		}
		if called {
			return model.Response(model.Text("over: " + strings.Join(got, ", "))), nil
		}
		var calls []model.Part
		for i, name := range names {
			calls = append(calls, model.ToolCall(fmt.Sprint("c", i), "pay", fmt.Sprintf(`{"to":%q}`, name)))
		}
		return model.Response(calls...), nil
	}
	return model.Func(model.Info{}, answer)
}

// resumed is a run that ends pending, and is resumed with answers, by a process that is killed.
type resumed struct {
	names []string
	// choices are the answers in order; a prompt takes the place of those that are missing.
	choices []string
	once    bool // the tool is not idempotent
	again   bool // the process is killed after the answer; the next one answers again
}

func (c *resumed) host(t *testing.T, l *till, store *mortal.Store, name string) *host.Host {
	h, err := host.New(host.Config[none, string]{
		Agent: newAgent(payers(c.names...), l.pay()), Store: store, Holder: name, Attempts: 10,
		Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	return h
}

// choice is the answer to a question, if it is answered.
func (c *resumed) choice(q *view.Entity) string {
	for i, name := range c.names {
		if strings.HasSuffix(q.Title, name) && i < len(c.choices) {
			return c.choices[i]
		}
	}
	return ""
}

// answer answers what is asked, until the process has ended. It reports how many it has
// answered.
func (c *resumed) answer(s *host.Session) (n int) {
	open, err := questions(s)
	if err != nil {
		return 0
	}
	for _, q := range open {
		choice := c.choice(q)
		if choice == "" {
			continue
		}
		a := host.Answer{Digest: q.Digest, Choice: choice}
		turn, err := s.Answer(context.Background(), q.ID, "ada", a)
		if err == nil {
			n++
		}
		if turn != nil {
			turn.Resume(host.Prompt{})
		}
	}
	return n
}

// play kills the process in a write after the question was asked, and returns whether it came to
// that, and what the session shows in the end.
func (c *resumed) play(t *testing.T, write int) (killed bool, all string, l *till) {
	memory := new(session.Memory)
	l = &till{paid: map[string]string{}, once: c.once}
	first := mortal.New(memory)
	h := c.host(t, l, first, "first")
	s, err := h.Create(t.Context(), session.New{ID: "s"}, nil)
	require.NoError(t, err)
	p := say("Pay.")
	p.Defer = true
	_, err = s.Prompt(t.Context(), p)
	require.NoError(t, err)
	if c.again { // an answer, and nothing after it
		first.Kill(1)
		c.answer(s)
		require.True(t, first.IsDead())
		first = mortal.New(memory)
		_ = h.Close(context.Background())
		h = c.host(t, l, first, "again")
		s, err = h.Open(t.Context(), "s", nil)
		require.NoError(t, err)
	}
	first.Kill(write)
	c.answer(s)
	if len(c.choices) < len(c.names) && !first.IsDead() {
		_, _ = s.Prompt(t.Context(), say("Never mind."))
	}
	killed = first.IsDead()
	_ = h.Close(context.Background())
	return killed, c.end(t, memory, l), l
}

// end has the next process go on, until the run is over.
func (c *resumed) end(t *testing.T, memory *session.Memory, l *till) (all string) {
	later := c.host(t, l, mortal.New(memory), "later")
	serves := make(chan struct{})
	var once sync.Once
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- later.Serve(ctx, func(*session.Info) bool {
			once.Do(func() { close(serves) })
			return true
		})
	}()
	<-serves
	s, err := later.Open(t.Context(), "s", nil)
	require.NoError(t, err)
	defer func() {
		cancel()
		require.ErrorIs(t, <-served, context.Canceled)
		require.NoError(t, later.Close(context.Background()))
	}()
	eventually(t, "the run is over", func() bool {
		info, err := memory.Get(t.Context(), "s")
		if all = shown(t, s); err != nil || info.Holder != "" || s.Turn() != nil {
			return false
		}
		if strings.Contains(all, `"over: `) || strings.Contains(all, `"Failed: `) {
			return true
		}
		if c.answer(s) == 0 && len(c.choices) < len(c.names) { // a person is asked, and writes instead
			_, _ = s.Prompt(t.Context(), say("Never mind."))
		}
		return false
	})
	return all
}

// TestResumedRunsKeepTheirAnswers kills a process at each of its writes while it resumes a run
// that had ended pending. The next process
// goes on with the same answers.
func TestResumedRunsKeepTheirAnswers(t *testing.T) {
	allow, reject := host.AllowOnce, host.RejectOnce
	for name, c := range map[string]resumed{
		"one":               {names: []string{"Ada"}, choices: []string{allow}},
		"one of two denied": {names: []string{"Ada", "Bob"}, choices: []string{allow, reject}},
		"three":             {names: []string{"Ada", "Bob", "Eve"}, choices: []string{allow, allow, allow}},
		"not idempotent":    {names: []string{"Ada"}, choices: []string{allow}, once: true},
		"a prompt instead":  {names: []string{"Ada", "Bob"}, choices: []string{allow}},
		"answered again":    {names: []string{"Ada"}, choices: []string{allow}, again: true},
		"denied again":      {names: []string{"Ada", "Bob"}, choices: []string{reject, allow}, again: true},
	} {
		t.Run(name, func(t *testing.T) {
			for write := 1; ; write++ {
				killed, all, l := c.play(t, write)
				require.Contains(t, all, `"over: `, "killed in write %d", write)
				require.NotContains(t, all, "Failed: ", "killed in write %d", write)
				require.Empty(t, l.bad, "killed in write %d", write)
				for i, name := range c.names {
					if i < len(c.choices) && c.choices[i] == reject {
						require.NotContains(t, fmt.Sprint(l.paid), name, "killed in write %d", write)
					}
				}
				if !killed {
					t.Logf("%d writes", write-1)
					break
				}
			}
		})
	}
}
