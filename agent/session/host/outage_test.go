// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// distant is a store that cannot be reached for a while, from one of its operations on.
type distant struct {
	*session.Memory
	length time.Duration // of the outage
	lost   bool          // what the operation writes is stored, and only the answer gets lost
	last   bool          // one more append fails when it is over

	mu    sync.Mutex
	left  int // operations until the outage
	began time.Time
	first string // the operation it began with
}

// errDistant is what the store says.
func errDistant(op string) error { return &session.Error{Op: op, Err: session.ErrUnavailable} }

// op counts an operation, unless it only follows what others do. stored reports that what it writes is stored although it
// fails.
func (d *distant) op(name string, follows bool) (stored bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.began.IsZero() && !follows {
		if d.left--; d.left == 0 {
			d.began, d.first = time.Now(), name
			return d.lost, errDistant(name)
		}
	}
	if !d.began.IsZero() && time.Since(d.began) < d.length {
		return false, errDistant(name)
	}
	if !d.began.IsZero() && d.last && name == "append" {
		d.last = false
		return false, errDistant(name)
	}
	return false, nil
}

// arm has the store out of reach from an operation on, of which 1 is the next one.
func (d *distant) arm(operation int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = operation
}

// reached reports that the store can be reached.
func (d *distant) reached() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.began.IsZero() || time.Since(d.began) >= d.length
}

func (d *distant) hasBegun() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.began.IsZero()
}

// does does something unless the store is out of reach. If writes is false, it does nothing that can be stored without an
// answer.
func does[T any](d *distant, name string, writes bool, do func() (T, error)) (got T, err error) {
	stored, err := d.op(name, false)
	switch {
	case err == nil:
		return do()
	case stored && writes:
		_, _ = do()
	}
	return got, err
}

func (d *distant) Get(ctx context.Context, id string) (session.Info, error) {
	return does(d, "get", false, func() (session.Info, error) { return d.Memory.Get(ctx, id) })
}

func (d *distant) Update(ctx context.Context, id string, c session.Change) (session.Info, error) {
	return does(d, "update", true, func() (session.Info, error) { return d.Memory.Update(ctx, id, c) })
}

func (d *distant) Acquire(ctx context.Context, id string, c session.Claim) (session.Lease, error) {
	return does(d, "acquire", false, func() (session.Lease, error) { return d.Memory.Acquire(ctx, id, c) })
}

func (d *distant) Release(ctx context.Context, l session.Lease) error {
	_, err := does(d, "release", false, func() (none, error) { return none{}, d.Memory.Release(ctx, l) })
	return err
}

func (d *distant) Append(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
	return does(d, "append", true, func() (int64, error) { return d.Memory.Append(ctx, l, head, b) })
}

func (d *distant) Put(ctx context.Context, id string, i session.Item) (session.Item, error) {
	return does(d, "put", true, func() (session.Item, error) { return d.Memory.Put(ctx, id, i) })
}

// reads yields what the store has, or that it is out of reach.
func reads[T any](d *distant, name string, follows bool, all iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if _, err := d.op(name, follows); err != nil {
			var nothing T
			yield(nothing, err)
			return
		}
		all(yield)
	}
}

func (d *distant) Items(ctx context.Context, id string, after int64, kinds ...session.ItemKind) iter.Seq2[session.Item, error] {
	return reads(d, "items", false, d.Memory.Items(ctx, id, after, kinds...))
}

func (d *distant) Load(ctx context.Context, id string, after int64) iter.Seq2[session.Entry, error] {
	return reads(d, "load", false, d.Memory.Load(ctx, id, after))
}

func (d *distant) Watch(ctx context.Context, id string, after int64) iter.Seq2[session.Entry, error] {
	return reads(d, "watch", true, d.Memory.Watch(ctx, id, after))
}

func (d *distant) Listen(ctx context.Context) iter.Seq2[string, error] {
	return reads(d, "listen", true, d.Memory.Listen(ctx))
}

func (d *distant) Work(ctx context.Context) iter.Seq2[string, error] {
	return reads(d, "work", true, d.Memory.Work(ctx))
}

// paying pays with an approval, asks a question, has another agent pay, and says what has become of that.
func paying(l *till) *agent.Agent[none, string] {
	inner := newAgent(modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		if len(req.Messages) > 1 {
			return model.Response(model.Text("paid")), nil
		}
		return model.Response(model.ToolCall("c", "pay", `{"to":"Eve"}`)), nil
	}), toolset.Func("pay", "Pay.", func(_ context.Context, run *payingRun, in payment) (string, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		return "paid", l.note(run.IdempotencyKey(), in.To)
	}, toolset.Idempotent()))
	calls := []model.Part{
		model.ToolCall("c0", "pay", `{"to":"Ada"}`), model.ToolCall("c1", "ask", `{}`),
		model.ToolCall("c2", "help", `{"prompt":"Pay."}`),
	}
	outer := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		n := 0
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				if p.Kind == model.PartToolReturn || p.Kind == model.PartRetry {
					n++
				}
			}
		}
		if n < len(calls) {
			return model.Response(calls[n]), nil
		}
		return model.Response(model.Text("over")), nil
	})
	ask := toolset.Func("ask", "Ask.", func(ctx context.Context, run *payingRun, _ none) (string, error) {
		r, err := run.Ask(ctx, toolset.Question{Message: "Whom?", Schema: []byte(`{"type":"object","properties":{"to":{"type":"string"}}}`)})
		return string(r.Action), err
	}, toolset.Idempotent())
	return newAgent(outer, l.pay(), ask, agent.AsTool("help", "Help.", inner, func(n none) none { return n }))
}

// note notes a payment. The caller holds mu.
func (l *till) note(key, to string) error {
	for other, whom := range l.paid {
		if whom == to && other != key {
			l.bad += "paid under two keys: " + to + "\n"
		}
	}
	l.paid[key] = to
	return nil
}

// outages is a person and a machine whose store is out of reach for a while.
type outages struct {
	store *distant
	till  *till
	other bool // another machine serves the store, too, which reaches it all the time
}

func (o *outages) host(t *testing.T, store session.Store, name string) *host.Host {
	h, err := host.New(host.Config[none, string]{
		Agent: paying(o.till), Store: store, Holder: name, Attempts: 20, Logger: slog.New(slog.DiscardHandler), Busy: host.BusyQueue,
	})
	require.NoError(t, err)
	return h
}

// serve has a host serve its store until the function that it returns is called.
func serve(t *testing.T, h *host.Host) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- h.Serve(ctx) }()
	return func() {
		cancel()
		require.ErrorIs(t, <-served, context.Canceled)
		require.NoError(t, h.Close(context.Background()))
	}
}

// answers answers what a session asks, as often as it takes.
func answers(s *host.Session) {
	open, err := questions(s)
	if err != nil {
		return
	}
	for _, q := range open {
		a := host.Answer{Digest: q.Digest, Choice: host.AllowOnce}
		if len(q.Choices) == 0 {
			a = host.Answer{Digest: q.Digest, Reply: &toolset.Reply{Action: toolset.ActionAccept, Content: []byte(`{"to":"Ada"}`)}}
		}
		_ = s.Decide(context.Background(), q.ID, "ada", a)
	}
}

// look returns what the session shows, if the store can be reached.
func look(s *host.Session) (text string) {
	snapshot, _, err := s.Snapshot(context.Background())
	if err != nil {
		return ""
	}
	for e := range snapshot.All() {
		if e.Kind == view.Message || e.Kind == view.ToolCall || e.Kind == view.Question || e.Kind == view.Notice {
			text += fmt.Sprintf("%s %s %s %q %q\n", e.Kind, e.ID, e.Status, e.Title, e.Text())
		}
	}
	return text
}

// cutInside reports that a turn has ended as interrupted because an agent had begun inside it, which cannot begin again.
func cutInside(all string) bool {
	return strings.Contains(all, `failed "help"`) && strings.Contains(all, " interrupted ")
}

// play has a person prompt and answer. It returns how the prompt ended, and what the session shows in the end.
func (o *outages) play(t *testing.T, operation int) (out *host.Outcome, all string) {
	h := o.host(t, o.store, "here")
	defer serve(t, h)()
	if o.other {
		defer serve(t, o.host(t, shared{o.store.Memory}, "there"))()
	}
	s, err := h.Create(t.Context(), session.New{ID: "s"}, nil)
	require.NoError(t, err)
	o.store.arm(operation)
	ended := make(chan *host.Outcome, 1)
	p := say("Pay.")
	p.Wait = true
	go func() {
		out, err := s.Prompt(context.Background(), p)
		if err != nil {
			out = &host.Outcome{Err: err}
		}
		ended <- out
	}()
	for end := time.Now().Add(10 * time.Minute); time.Now().Before(end); time.Sleep(time.Second / 3) {
		answers(s)
		select {
		case out = <-ended:
		default:
		}
		info, err := o.store.Memory.Get(t.Context(), "s")
		require.NoError(t, err)
		all = look(s)
		over := strings.Contains(all, `"over"`) || cutInside(all)
		if out != nil && info.Holder == "" && info.Waiting == 0 && over {
			o.store.arm(0) // never
			if o.store.reached() {
				break
			}
		}
		if out != nil && out.Err != nil && info.Head == 0 && info.Holder == "" { // nothing was recorded, and the person was told
			out = nil
			go func() {
				out, _ := s.Prompt(context.Background(), p)
				ended <- out
			}()
		}
	}
	return out, all
}

// TestOutagesOfTheStoreFailNoTurn has the store out of reach from each of the operations of a turn on. If the outage is short, the turn waits. If it is
// long, the turn is left, and goes on when the store is back.
func TestOutagesOfTheStoreFailNoTurn(t *testing.T) {
	for name, c := range map[string]struct {
		length            time.Duration
		lost, other, last bool
	}{
		"short":                     {length: 20 * time.Second},
		"a moment, an answer lost":  {lost: true},
		"short, lost, two machines": {length: 20 * time.Second, lost: true, other: true},
		"long, an answer lost":      {length: 80 * time.Second, lost: true},
		"long, two machines":        {length: 80 * time.Second, other: true},
		"just too long":             {length: time.Minute, last: true},
	} {
		t.Run(name, func(t *testing.T) {
			left := 0
			for n, again := 1, true; again; n++ {
				synctest.Test(t, func(t *testing.T) {
					o := &outages{store: &distant{Memory: new(session.Memory), length: c.length, lost: c.lost, last: c.last}, till: &till{paid: map[string]string{}}, other: c.other}
					out, all := o.play(t, n)
					again = o.store.hasBegun()
					at := fmt.Sprintf("operation %d, %s\n%s\n%+v", n, o.store.first, all, out)
					cut := c.length >= time.Minute && cutInside(all)
					require.True(t, cut || strings.Contains(all, `"over"`), at)
					require.Equal(t, 1, strings.Count(all, `"Pay."`), at)
					if !cut {
						require.Len(t, o.till.paid, 2, at)
						require.NotContains(t, all, " "+string(view.Failed)+" ", at)
						require.NotContains(t, all, " "+string(view.Interrupted)+" ", at)
					}
					for _, bad := range []view.Status{view.Pending, view.Running} {
						require.NotContains(t, all, " "+string(bad)+" ", at)
					}
					require.Empty(t, o.till.bad, at)
					require.NotNil(t, out, at)
					if c.length < time.Minute {
						require.NoError(t, out.Err, at)
					} else if out.Err != nil {
						require.ErrorIs(t, out.Err, session.ErrUnavailable, at)
						if errors.Is(out.Err, host.ErrMoved) {
							left++
						}
					}
				})
			}
			t.Logf("%d turns were left", left)
			if c.length >= time.Minute {
				require.Positive(t, left)
			}
		})
	}
}

// TestAStopDuringAnOutageHolds stops a turn while the store is out of reach for long. It does not go on when the store is back.
func TestAStopDuringAnOutageHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		acting := make(chan struct{})
		m := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
			requests++
			return model.Response(model.ToolCall("c", "act", `{}`)), nil
		})
		act := toolset.Func("act", "Act.", func(ctx context.Context, _ *payingRun, _ none) (string, error) {
			close(acting)
			<-ctx.Done()
			return "", context.Cause(ctx)
		}, toolset.Idempotent())
		store := &distant{Memory: new(session.Memory), length: 2 * time.Minute}
		h, err := host.New(host.Config[none, string]{Agent: newAgent(m, act), Store: store, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		defer serve(t, h)()
		s, err := h.Create(t.Context(), session.New{ID: "s"}, nil)
		require.NoError(t, err)
		ended := make(chan *host.Outcome, 1)
		go func() {
			o, _ := s.Prompt(context.Background(), say("Act."))
			ended <- o
		}()
		<-acting
		synctest.Wait()
		store.arm(1)
		s.Cancel()
		o := <-ended
		require.ErrorIs(t, o.Err, session.ErrUnavailable)
		require.ErrorIs(t, o.Err, host.ErrMoved)
		require.Equal(t, host.ErrorText(o.Err), o.Failure, "not that of the stop")
		time.Sleep(3 * time.Minute)
		require.Equal(t, 1, requests, "it does not go on")
		all := look(s)
		require.Contains(t, all, string(view.Interrupted))
		require.NotContains(t, all, "goes on")
		info, err := store.Get(t.Context(), "s")
		require.NoError(t, err)
		require.Empty(t, info.Holder)
		require.Zero(t, info.Waiting)
		o, err = s.Prompt(t.Context(), host.Prompt{Parts: []model.Part{model.User("/")}, Plain: true, Began: func(t *host.Turn) { t.Cancel(nil) }})
		require.NoError(t, err)
		require.Equal(t, "cancelled", o.Reason, "the next turn begins")
	})
}
