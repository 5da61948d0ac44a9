// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// world is what happens outside of a session: what its tools do, and what people have answered. A
// life is a process, which may be killed after any write. What one has done before that write is
// certain; what it has done after the write may be taken to have happened or not.
type world struct {
	mu     sync.Mutex
	random *rand.Rand
	calls  int
	kinds  map[int]string // of calls
	keys   map[int]string // under which calls ran
	again  map[int]int    // how often a person has allowed that a call runs again
	past   []deed         // of earlier lives
	now    []deed
	denied map[int]bool // in earlier lives
	acked  []acked
	store  *snapshots
	life   int // the generation of processes that may do something
	wrong  []string
	log    []string
}

// deed is an effect of a call after some number of writes, and acked an answer that was recorded.
type (
	deed  struct{ call, at int }
	acked struct {
		call, at int
		denied   bool
	}
)

// snapshots is a store that keeps what it had after each write. If a process that was killed has
// left it, there is work until somebody writes.
type snapshots struct {
	*session.Memory
	left bool
	mu   sync.Mutex
	all  [][]byte
}

func (s *snapshots) Work(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if s.left && s.count() == 0 && !yield("s", nil) {
			return
		}
		s.Memory.Work(ctx)(yield)
	}
}

func (s *snapshots) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

func (s *snapshots) Append(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, err := s.Memory.Append(ctx, l, head, b)
	if err == nil {
		var data bytes.Buffer
		err = session.Export(context.WithoutCancel(ctx), s.Memory, &data)
		s.all = append(s.all, data.Bytes())
	}
	return h, err
}

var errKilled = errors.New("this process was killed")

func (w *world) rnd(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.random.IntN(n)
}

// fail notes a mistake. mu is held.
func (w *world) fail(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

func (w *world) check(t *testing.T, when string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.wrong) > 0 {
		t.Fatalf("%s: %s\n\n%s", when, strings.Join(w.wrong, "\n"), strings.Join(w.log, "\n"))
	}
}

// note notes what has happened, for whoever reads of a mistake. mu is held.
func (w *world) note(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

// did reports how often a call has had its effect. mu is held.
func (w *world) did(call int) (times int) {
	for _, d := range slices.Concat(w.past, w.now) {
		if d.call == call {
			times++
		}
	}
	return times
}

type order struct {
	N    int    `json:"n"`
	Note string `json:"note,omitempty"`
}

// act is what most tools do. It notes what must not happen: a call under two keys, two calls under
// one, an effect that nobody has allowed to be repeated, or that was denied for good.
func (w *world) act(run *toolset.RunContext[none], in order, life int) (string, error) {
	w.mu.Lock()
	store := w.store
	w.mu.Unlock()
	at := store.count()
	w.mu.Lock()
	defer w.mu.Unlock()
	if life != w.life {
		return "", errKilled
	}
	kind, key := w.kinds[in.N], run.IdempotencyKey()
	for n, k := range w.keys {
		if (n == in.N) != (k == key) {
			w.fail("calls %d and %d (%s) have the keys %s and %s", n, in.N, kind, k, key)
		}
	}
	w.keys[in.N] = key
	w.now = append(w.now, deed{in.N, at})
	w.note("%d: call %d (%s) runs under %s", at, in.N, kind, key)
	if times := w.did(in.N); times > 1+w.again[in.N] && kind != "idem" && kind != "look" {
		w.fail("call %d (%s) ran %d times, and was allowed again %d times", in.N, kind, times, w.again[in.N])
	}
	if w.denied[in.N] {
		w.fail("call %d (%s) ran after it was denied for good", in.N, kind)
	}
	return fmt.Sprintf("did %d", in.N), nil
}

// respond makes the calls of a response.
func (w *world) respond() *model.Message {
	var parts []model.Part
	for range 1 + w.random.IntN(3) {
		w.calls++
		kind := []string{"pay", "pay", "pay", "idem", "free", "look", "ext", "ask", "gask", "dyn", "seq"}[w.random.IntN(11)]
		w.kinds[w.calls] = kind
		args := fmt.Sprintf(`{"n":%d}`, w.calls)
		if kind == "ask" || kind == "gask" {
			args = fmt.Sprintf(`{"prompt":"pay %d"}`, w.calls)
		}
		parts = append(parts, model.ToolCall(fmt.Sprint("c", w.calls), kind, args))
	}
	return model.Response(parts...)
}

// model notes what it is told that is not true.
func (w *world) model(life int) model.Model {
	return model.Func(model.Info{}, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if life != w.life {
			return nil, errKilled
		}
		responses, seen := 0, map[string]bool{}
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				switch p.Kind {
				case model.PartUser:
					responses = 0
				case model.PartToolReturn:
					if seen[p.CallID] {
						w.fail("two results of %s", p.CallID)
					}
					seen[p.CallID] = true
					w.told(&p)
				}
			}
			if m.Kind == model.KindResponse {
				responses++
			}
		}
		if responses >= 2 || w.random.IntN(4) == 0 && responses > 0 {
			return model.Response(model.Text("done")), nil
		}
		return w.respond(), nil
	})
}

func (w *world) told(p *model.Part) {
	n, _ := strconv.Atoi(strings.TrimPrefix(p.CallID, "c"))
	did, says := w.did(n) > 0, strings.Contains(p.Text, fmt.Sprintf("did %d", n))
	if did && !says && !strings.Contains(p.Text, "not known whether") {
		w.fail("the model is told of call %d (%s), which ran: %q", n, w.kinds[n], p.Text)
	}
	if says && !did && w.kinds[n] != "ext" {
		w.fail("the model is told that call %d ran, which did not", n)
	}
}

// agent returns the agent of a process. If life is not the present one, its tools do nothing.
func (w *world) agent(life int) *agent.Agent[none, string] {
	asks := toolset.Approve(func(_ context.Context, _ *toolset.RunContext[none], in order) (*toolset.Approval, error) {
		return &toolset.Approval{Title: fmt.Sprintf("Do %d", in.N), Scope: fmt.Sprint(in.N % 3)}, nil
	})
	act := func(_ context.Context, run *toolset.RunContext[none], in order) (string, error) {
		return w.act(run, in, life)
	}
	pay := toolset.Func("pay", "", act, asks)
	dyn := toolset.Func("dyn", "", func(_ context.Context, run *toolset.RunContext[none], in order) (string, error) {
		if !run.Call.Approved {
			return "", toolset.ApprovalRequired(toolset.Approval{Title: fmt.Sprintf("Do %d", in.N)})
		}
		return w.act(run, in, life)
	})
	payer := newAgent(model.Func(model.Info{}, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
		last := req.Messages[len(req.Messages)-1].Parts[0]
		if n, first := strings.CutPrefix(last.Text, "pay "); first && len(req.Messages) == 1 {
			return model.Response(model.ToolCall("in", "pay", `{"n":`+n+`}`)), nil
		}
		return model.Response(model.Text(last.Text)), nil
	}), pay)
	ask := agent.AsTool("ask", "", payer, func(none) none { return none{} })
	gask := agent.AsTool("gask", "", payer, func(none) none { return none{} })
	gask.Approval = func(context.Context, *toolset.RunContext[none], any) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Ask"}, nil
	}
	return newAgent(
		w.model(life), pay, toolset.Func("idem", "", act, asks, toolset.Idempotent()), toolset.Func("free", "", act),
		toolset.Func("seq", "", act, asks, toolset.Sequential()), toolset.Func("look", "", act, toolset.OfKind(toolset.KindRead, "Look")),
		toolset.ExternalTool[none, order]("ext", ""), dyn, ask, gask,
	)
}

// answer answers a question at random, and goes on with the turn that waited for it.
func (w *world) answer(s *host.Session, q *view.Entity, wait bool) {
	snapshot, _, err := s.Snapshot(context.Background())
	if err != nil {
		return
	}
	var in order
	if c := snapshot.Get(q.Parent); c != nil {
		_ = json.Unmarshal(c.Input, &in)
	}
	w.mu.Lock()
	kind := w.kinds[in.N]
	w.mu.Unlock()
	a, denied := host.Answer{Digest: q.Digest, Choice: host.AllowOnce}, false
	switch k := w.rnd(8); {
	case len(q.Choices) == 0:
		a.Choice, a.Result = "", &toolset.Result{Text: fmt.Sprintf("did %d", in.N)}
	case k < 4:
	case k == 4 && kind != "gask" && in.N > 0 && q.Title != "Ask":
		d := toolset.AllowWith([]byte(fmt.Sprintf(`{"n":%d,"note":"changed"}`, in.N)))
		a.Choice, a.Decision = "", &d
	case k == 5 && len(q.Choices) > 2:
		a.Choice = host.AllowAlways
	case k < 7:
		a.Choice, denied = host.RejectOnce, true
	}
	if a.Result == nil && !denied && in.N > 0 {
		w.mu.Lock()
		delete(w.denied, in.N)
		if strings.Contains(textOf(q), "not known whether") {
			w.again[in.N]++
		}
		w.mu.Unlock()
	}
	turn, err := s.Answer(context.Background(), q.ID, "", a)
	if err == nil && in.N > 0 {
		w.mu.Lock()
		w.acked = append(w.acked, acked{in.N, w.store.count(), denied})
		w.note("%d: the answer about call %d is recorded (denied: %t): %s", w.store.count(), in.N, denied, q.ID)
		w.mu.Unlock()
	}
	if w.rnd(4) == 0 { // twice, differently
		again, err := s.Answer(context.Background(), q.ID, "", host.Answer{Digest: q.Digest, Choice: host.RejectOnce})
		if err == nil && again != nil {
			again.Resume(host.Prompt{Wait: wait})
		}
	}
	if err == nil && turn != nil {
		turn.Resume(host.Prompt{Wait: wait})
	}
}
