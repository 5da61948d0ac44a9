// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

var payments = flag.Int("payments", 6, "how many processes that pay are killed with kill -9")

const payerEnv = "PONTE_HOST_PAYER"

// payer says what a process that pays does. Its payments have numbers from First on.
type payer struct {
	Dir   string
	First int
	// Live answers while the run waits, otherwise the run ends pending. Inner pays in an agent inside a call, Free without an approval.
	Live, Inner, Guarded, Free bool
	// Answer is what the process answers: allow, edit or deny. Prompt writes a prompt in place of the first answer. Two answers twice at once.
	Answer      string
	Prompt, Two bool
	// Stop is the line at which the process waits until it is killed.
	Stop string
}

// say writes what has happened, and stops there if the process is to be killed at this point.
func (p *payer) say(what string, n int) {
	fmt.Println(what, n)
	if what == p.Stop {
		select {}
	}
}

type refunded struct {
	N    int    `json:"n"`
	Note string `json:"note,omitempty"`
}

// refund pays. Every payment is a line of the ledger: its number, its key, its note.
func (p *payer) refund() *toolset.Tool[none] {
	var opts []toolset.Option
	if !p.Free {
		opts = append(opts, toolset.Approve(func(context.Context, *toolset.RunContext[none], refunded) (*toolset.Approval, error) {
			return &toolset.Approval{Reason: "it is money"}, nil
		}))
	}
	return toolset.Func("refund", "", func(_ context.Context, run *toolset.RunContext[none], in refunded) (string, error) {
		p.say("began", in.N)
		f, err := os.OpenFile(filepath.Join(p.Dir, "ledger"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return "", err
		}
		if _, err := fmt.Fprintln(f, in.N, run.IdempotencyKey(), in.Note); err != nil {
			return "", err
		}
		p.say("paid", in.N)
		return fmt.Sprint("refunded ", in.N), f.Close()
	}, opts...)
}

// payingModel calls a tool with the same id of the call in every response, once for each prompt.
func payingModel(tool string, args func(n string) string) model.Model {
	return model.Func(model.Info{}, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
		n, called := "", false
		for _, m := range req.Messages {
			for _, part := range m.Parts {
				switch part.Kind {
				case model.PartUser:
					if _, after, ok := strings.Cut(part.Text, "pay "); ok {
						n, called = after, false
					} else {
						n = ""
					}
				case model.PartToolCall:
					called = true
				}
			}
		}
		if n == "" || called {
			return model.Response(model.Text("done")), nil
		}
		return model.Response(model.ToolCall("c", tool, args(n))), nil
	})
}

func (p *payer) agent() *agent.Agent[none, string] {
	direct := payingModel("refund", func(n string) string { return `{"n":` + n + `}` })
	if !p.Inner {
		return newAgent(direct, p.refund())
	}
	ask := agent.AsTool("ask", "", newAgent(direct, p.refund()), func(none) none { return none{} })
	if p.Guarded {
		ask.Approval = func(context.Context, *toolset.RunContext[none], any) (*toolset.Approval, error) {
			return &toolset.Approval{Reason: "it is an agent"}, nil
		}
	}
	return newAgent(payingModel("ask", func(n string) string { return `{"prompt":"pay ` + n + `"}` }), ask)
}

// open opens the session of the directory.
func (p *payer) open(ctx context.Context) (*host.Host, *host.Session, *sqlitestore.Store, error) {
	store, err := sqlitestore.Open(p.Dir, sqlitestore.Options{})
	if err != nil {
		return nil, nil, nil, err
	}
	h, err := host.New(host.Config[none, string]{Agent: p.agent(), Store: store, Busy: host.BusyQueue, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, nil, nil, err
	}
	s, err := h.Open(ctx, "s", nil)
	if errors.Is(err, session.ErrNotFound) {
		s, err = h.Create(ctx, session.New{ID: "s"}, nil)
	}
	return h, s, store, err
}

// questions returns the open questions.
func questions(s *host.Session) ([]*view.Entity, error) {
	snapshot, _, err := s.Snapshot(context.Background())
	if err != nil {
		return nil, err
	}
	var open []*view.Entity
	for e := range snapshot.All() {
		if e.Kind == view.Question && !e.Status.Ended() {
			open = append(open, e)
		}
	}
	return open, nil
}

// answer answers a question. It runs the turn that follows.
func (p *payer) answer(s *host.Session, q *view.Entity) error {
	p.say("asked", 0)
	a := host.Answer{Digest: q.Digest}
	switch p.Answer {
	case "edit":
		a.Decision = &toolset.Decision{Verdict: toolset.VerdictAllow, Args: p.edited(s, q)}
	case "deny":
		a.Choice = host.RejectOnce
	default:
		a.Choice = host.AllowOnce
	}
	if p.Two {
		second := make(chan error)
		go func() { second <- s.Decide(context.Background(), q.ID, "", a) }()
		defer func() { <-second }()
	}
	t, err := s.Answer(context.Background(), q.ID, "", a)
	if p.Two && errors.Is(err, host.ErrNoQuestion) {
		err = nil
	}
	if err != nil {
		return err
	}
	fmt.Println("decided", a.Choice)
	p.say("decided", 0)
	if t != nil {
		t.Resume(p.prompt(nil))
	}
	return nil
}

// edited returns the arguments of a question about a payment with a note.
func (p *payer) edited(s *host.Session, q *view.Entity) json.RawMessage {
	snapshot, _, _ := s.Snapshot(context.Background())
	var in refunded
	if call := snapshot.Get(q.Parent); call == nil || call.Name != "refund" || json.Unmarshal(call.Input, &in) != nil {
		return nil
	}
	in.Note = "edited"
	data, _ := json.Marshal(in)
	return data
}

func (p *payer) prompt(parts []model.Part) host.Prompt {
	return host.Prompt{Parts: parts, Wait: p.Live, Observe: func(e *agent.Event) {
		if e.Kind == agent.EventToolResult && e.Result != nil && e.Result.Outcome == model.OutcomeSuccess {
			if n, err := strconv.Atoi(strings.TrimPrefix(e.Result.Text, "refunded ")); err == nil {
				p.say("result", n)
			}
		}
	}}
}

// run answers what is open and pays, until the process is killed.
func (p *payer) run() error {
	ctx := context.Background()
	_, s, _, err := p.open(ctx)
	if err != nil {
		return err
	}
	if p.Live {
		go func() {
			for u, err := range s.Watch(ctx, "") {
				if err != nil {
					return
				}
				for _, c := range u.Changes {
					if p.Prompt && strings.Contains(c.ID, "/pending/") {
						continue // the prompt is for what is open from before
					}
					if c.Entity != nil && c.Entity.Kind == view.Question && !c.Entity.Status.Ended() {
						go p.answer(s, c.Entity)
					}
				}
			}
		}()
	}
	if !p.Prompt {
		if err := p.answerAll(s); err != nil {
			return err
		}
	}
	for n := p.First; n < p.First+100; n++ {
		if _, err := s.Prompt(ctx, p.prompt([]model.Part{model.User(fmt.Sprint("pay ", n))})); err != nil {
			return err
		}
		if err := p.answerAll(s); err != nil {
			return err
		}
		p.say("done", n)
	}
	select {}
}

func (p *payer) answerAll(s *host.Session) error {
	for {
		open, err := questions(s)
		if err != nil || len(open) == 0 {
			return err
		}
		if err := p.answer(s, open[0]); err != nil && !errors.Is(err, host.ErrNoQuestion) {
			return err
		}
	}
}

// ledger returns the keys under which each payment was made, in order.
func ledger(t *testing.T, dir string) map[int][]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "ledger"))
	paid := map[int][]string{}
	if errors.Is(err, os.ErrNotExist) {
		return paid
	}
	require.NoError(t, err)
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue // the file was made, and nothing written
		}
		n, err := strconv.Atoi(fields[0])
		require.NoError(t, err)
		paid[n] = append(paid[n], fields[1])
	}
	return paid
}

// checkPaid checks what people and the model are told in a session whose process was killed.
func checkPaid(t *testing.T, p payer, lines []string) {
	t.Helper()
	p.Stop = ""
	paid := ledger(t, p.Dir)
	for n, keys := range paid {
		for _, key := range keys {
			require.Equal(t, keys[0], key, "payment %d was made under several keys", n)
		}
	}
	h, s, store, err := p.open(t.Context())
	require.NoError(t, err)
	completed := map[string]bool{}
	for _, line := range lines {
		if n, ok := strings.CutPrefix(line, "result "); ok {
			completed[n] = true
		}
	}
	// The first decision is about the first payment, and it was durable when it had been said.
	if p.First == 1 && !p.Guarded && slices.Contains(lines, "decided "+host.AllowOnce) && len(paid[1]) == 0 {
		paid[1] = []string{"allowed"}
	}
	snapshot, _, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	for e := range snapshot.All() {
		var in refunded
		if e.Kind != view.ToolCall || e.Name != "refund" || json.Unmarshal(e.Input, &in) != nil {
			continue
		}
		text := textOf(e)
		if completed[strconv.Itoa(in.N)] {
			require.Equal(t, view.Completed, e.Status, "payment %d has ended, and is shown as %s: %s", in.N, e.Status, text)
		}
		if len(paid[in.N]) > 0 {
			require.NotContains(t, text, "Not executed", "payment %d was made", in.N)
			require.NotContains(t, text, "Not run", "payment %d was made", in.N)
			for q := range snapshot.All() {
				if q.Kind == view.Question && q.Parent == e.ID && !q.Status.Ended() {
					require.Contains(t, textOf(q), "It is not known whether the call had any effect", "payment %d was made", in.N)
				}
			}
		}
	}
	require.NoError(t, h.Close(t.Context()))
	c, err := transcript.Read(t.Context(), store, "s", transcript.Options{})
	require.NoError(t, err)
	number := map[string]int{}
	for _, m := range c.Messages() {
		for i := range m.Parts {
			part := &m.Parts[i]
			var in struct {
				N      int    `json:"n"`
				Prompt string `json:"prompt"`
			}
			switch part.Kind {
			case model.PartToolCall:
				require.NoError(t, json.Unmarshal(part.Args, &in))
				if after, ok := strings.CutPrefix(in.Prompt, "pay "); ok {
					in.N, _ = strconv.Atoi(after)
				}
				number[part.CallID] = in.N
			case model.PartToolReturn:
				if n := number[part.CallID]; len(paid[n]) > 0 {
					require.NotContains(t, part.Text, "Not executed", "payment %d was made", n)
				}
			}
		}
	}
	require.NoError(t, store.Close())
}

func textOf(e *view.Entity) string {
	var b strings.Builder
	for i := range e.Content {
		b.WriteString(e.Content[i].Text + "\n")
	}
	return b.String()
}

func (p payer) kill(t *testing.T, when func(n int, line string) bool) []string {
	t.Helper()
	spec, err := json.Marshal(p)
	require.NoError(t, err)
	return killWith(t, payerEnv+"="+string(spec), when)
}

// TestKilledPaymentsAreMadeUnderOneKey kills processes that pay, at every point from the question to the result, in every way in which a
// call comes to be allowed. With fewer than 100 -payments it takes a sample of the ways.
func TestKilledPaymentsAreMadeUnderOneKey(t *testing.T) {
	r := rand.New(rand.NewPCG(rand.Uint64(), 0))
	for _, way := range []payer{{}, {Live: true}, {Inner: true}, {Inner: true, Live: true}, {Inner: true, Guarded: true, Free: true}, {Inner: true, Guarded: true, Free: true, Live: true}, {Free: true}} {
		for _, stop := range []string{"asked", "decided", "began", "paid", "result"} {
			if way.Free && !way.Guarded && (stop == "asked" || stop == "decided") || way.Inner && stop == "result" {
				continue
			}
			for _, then := range []payer{{Answer: "allow", Stop: "done"}, {Answer: "deny", Stop: "done"}, {Answer: "edit", Stop: "done"}, {Prompt: true, Stop: "done"}, {Answer: "allow", Two: true, Stop: "began"}} {
				if *payments < 100 && r.IntN(20) > 0 && (stop != "paid" || way.Inner || way.Free || then.Two || then.Answer != "allow" && !then.Prompt) {
					continue
				}
				t.Run(fmt.Sprintf("%+v/%s/%+v", way, stop, then), func(t *testing.T) {
					t.Parallel()
					p := way
					p.Dir, p.First, p.Answer, p.Stop = t.TempDir(), 1, "allow", stop
					checkPaid(t, p, p.kill(t, func(_ int, line string) bool { return strings.HasPrefix(line, stop+" ") }))
					for life := range 2 {
						p.First, p.Answer, p.Prompt, p.Two, p.Stop = 100*(life+1), then.Answer, then.Prompt, then.Two, then.Stop
						checkPaid(t, p, p.kill(t, func(_ int, line string) bool { return strings.HasPrefix(line, then.Stop+" ") }))
					}
				})
			}
		}
	}
}

// TestRandomlyKilledPayments kills processes that pay at random. Repeat the proof at its full size with -payments 200.
func TestRandomlyKilledPayments(t *testing.T) {
	killed := 0
	for killed < *payments {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 0))
		t.Logf("seed %d", seed)
		p := payer{Dir: t.TempDir(), Live: r.IntN(2) == 0, Inner: r.IntN(2) == 0}
		if p.Inner {
			p.Guarded, p.Free = r.IntN(2) == 0, r.IntN(3) == 0
		}
		for life := range min(4, *payments-killed) {
			p.First = 1 + 100*life
			p.Answer, p.Prompt, p.Two = []string{"allow", "allow", "edit", "deny"}[r.IntN(4)], r.IntN(4) == 0, r.IntN(3) == 0
			last := 1 + r.IntN(24)
			checkPaid(t, p, p.kill(t, func(n int, _ string) bool { return n == last }))
			killed++
		}
	}
	t.Logf("%d processes killed", killed)
}
