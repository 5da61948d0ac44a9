// SPDX-License-Identifier: Apache-2.0

package fleettest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/mortal"
	"github.com/ponte-go/ponte/toolset"
)

// asking is a program that asks before it marks.
type asking struct {
	t      *testing.T
	memory *session.Memory

	mu    sync.Mutex
	marks []string
}

func (a *asking) host(store session.Store) *host.Host {
	mark := func(_ context.Context, rc *toolset.RunContext[none], in in) (string, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.marks = append(a.marks, in.To+" "+rc.IdempotencyKey())
		return "marked", nil
	}
	ask := func(_ context.Context, _ *toolset.RunContext[none], in in) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Mark " + in.To}, nil
	}
	tool := toolset.Func("mark", "Mark.", mark, toolset.Idempotent(), toolset.Approve(ask))
	agent, err := agent.New(agent.Config[none, string]{
		Model: marker(), Tools: []*toolset.Tool[none]{tool},
	})
	require.NoError(a.t, err)
	h, err := host.New(host.Config[none, string]{
		Agent: agent, Store: store, Logger: slog.New(slog.DiscardHandler), Attempts: 1000,
	})
	require.NoError(a.t, err)
	a.t.Cleanup(func() { _ = h.Close(context.Background()) })
	return h
}

// asked returns the question that is open, nil if there is none, and whether the answer is whole.
func asked(s *host.Session) (q *view.Entity, whole bool) {
	shown, _, err := s.Snapshot(context.Background())
	if err != nil {
		return nil, false
	}
	for e := range shown.All() {
		switch {
		case e.Kind == view.Question && e.Status == view.Pending:
			q = e
		case e.Kind == view.Message && e.Role == view.Assistant && e.Status == "":
			whole = whole || len(e.Text()) > 0 && e.Text()[len(e.Text())-2:] == ". "
		}
	}
	return q, whole
}

func allow(s *host.Session, q *view.Entity) error {
	a := host.Answer{Digest: q.Digest, Choice: host.AllowOnce}
	return s.Decide(context.Background(), q.ID, "", a)
}

// inGo answers with Decide, whose return acknowledges the answer.
func inGo(a *asking, store *mortal.Store) (id string, acknowledged bool) {
	h := a.host(store)
	s, err := h.Create(a.t.Context(), session.New{}, nil)
	if err != nil {
		return "", false
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = s.Prompt(a.t.Context(), host.Prompt{Parts: []model.Part{model.User("chat")}, Wait: true})
	}()
	for {
		if q, _ := asked(s); q != nil && !acknowledged {
			acknowledged = allow(s, q) == nil
		}
		select {
		case <-ended:
			return s.ID(), acknowledged
		case <-store.Dead():
			return s.ID(), acknowledged
		case <-time.After(time.Millisecond):
		}
	}
}

// muted says nothing any more when the process has ended.
type muted struct {
	io.WriteCloser
	store *mortal.Store
}

func (m muted) Write(data []byte) (int, error) {
	if m.store.IsDead() {
		return 0, mortal.ErrDead
	}
	return m.WriteCloser.Write(data)
}

// overACP answers as an editor does. Its answer is acknowledged when the editor is told that the
// call runs.
func overACP(a *asking, store *mortal.Store) (id string, acknowledged bool) {
	h := a.host(store)
	agentIn, clientOut := acp.Pipe()
	clientIn, agentOut := acp.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		served <- acpbridge.ServeHost(ctx, h, acpbridge.Options{In: agentIn, Out: muted{agentOut, store}})
	}()
	defer func() {
		cancel()
		<-served
	}()
	var allowed atomic.Bool
	c, err := acpclient.Connect(ctx, clientIn, clientOut, acpclient.Config{
		Permission: func(ctx context.Context, r *acpclient.PermissionRequest) (acp.PermissionOptionID, error) {
			allowed.Store(true)
			return acpclient.AllowAll(ctx, r)
		},
	})
	require.NoError(a.t, err)
	defer c.Close()
	ended := make(chan struct{})
	var s *acpclient.Session
	go func() {
		defer close(ended)
		if s, err = c.NewSession(ctx, acpclient.SessionConfig{Cwd: a.t.TempDir()}); err == nil {
			_, _ = s.Say(ctx, "chat")
		}
	}()
	select {
	case <-ended:
	case <-store.Dead():
		_ = c.Close()
		<-ended
	}
	if s == nil {
		return "", false
	}
	for e := range s.Snapshot().All() {
		runs := e.Status == view.Running || e.Status == view.Completed
		acknowledged = acknowledged || e.Kind == view.ToolCall && runs && allowed.Load()
	}
	return string(s.ID()), acknowledged
}

// TestNoAnswerIsLostInGoAndOverACP kills a process in each of its writes. The next one does not ask
// what was answered, and goes on.
func TestNoAnswerIsLostInGoAndOverACP(t *testing.T) {
	for name, way := range map[string]func(*asking, *mortal.Store) (string, bool){"Go": inGo, "ACP": overACP} {
		t.Run(name, func(t *testing.T) {
			step := 1
			if !*everyWrite {
				step = 3
			}
			acknowledgements := 0
			for write, killed := 1+rand.IntN(step), true; killed; write += step {
				t.Run(fmt.Sprint(write), func(t *testing.T) {
					a := &asking{t: t, memory: new(session.Memory)}
					first := mortal.New(a.memory)
					first.Kill(write)
					id, acknowledged := way(a, first)
					if acknowledged {
						acknowledgements++
					}
					killed = first.IsDead()
					a.goOn(id, acknowledged)
				})
			}
			require.Positive(t, acknowledgements)
		})
	}
}

// goOn has the next process go on with the session, if there is one.
func (a *asking) goOn(id string, acknowledged bool) {
	t := a.t
	if _, err := a.memory.Get(t.Context(), id); err != nil {
		require.False(t, acknowledged)
		return // it was never made
	}
	h := a.host(mortal.New(a.memory))
	h.WillServe()
	s, err := h.Open(t.Context(), id, nil)
	require.NoError(t, err)
	q, whole := asked(s)
	require.False(t, acknowledged && q != nil, "it is asked again: the answer is lost")
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = h.Serve(ctx)
	}()
	defer func() {
		cancel()
		<-served
	}()
	info, err := a.memory.Get(t.Context(), id)
	require.NoError(t, err)
	if info.Head == 0 && info.Waiting == 0 { // the prompt was not recorded, and nobody was told that it was
		require.False(t, acknowledged)
		return
	}
	for end := time.Now().Add(patience); !whole; q, whole = asked(s) {
		require.True(t, time.Now().Before(end), "it does not end")
		if q != nil {
			require.False(t, acknowledged, "it is asked again: the answer is lost")
			_ = allow(s, q) // or it is asked again
		}
		time.Sleep(2 * time.Millisecond)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	require.NotEmpty(t, a.marks)
	for _, mark := range a.marks {
		require.Equal(t, a.marks[0], mark, "marked twice under two keys")
	}
}
