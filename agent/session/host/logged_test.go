// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
)

// broken is a store of which some operations fail.
type broken struct {
	*session.Memory
	mu    sync.Mutex
	fails map[string]bool
}

func (b *broken) breaks(op string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fails = map[string]bool{op: true}
}

func (b *broken) does(op string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fails[op] {
		return errFire
	}
	return nil
}

func (b *broken) Get(ctx context.Context, id string) (session.Info, error) {
	if err := b.does("get"); err != nil {
		return session.Info{}, err
	}
	return b.Memory.Get(ctx, id)
}

func (b *broken) Update(ctx context.Context, id string, c session.Change) (session.Info, error) {
	if err := b.does("update"); err != nil {
		return session.Info{}, err
	}
	return b.Memory.Update(ctx, id, c)
}

func (b *broken) Put(ctx context.Context, id string, i session.Item) (session.Item, error) {
	if err := b.does("put"); err != nil {
		return session.Item{}, err
	}
	return b.Memory.Put(ctx, id, i)
}

// deafRunner cannot be told of anything.
type deafRunner struct{ stepRunner }

func (deafRunner) Wake(context.Context, string) error { return errFire }

// stubborn does not keep rules.
type stubborn struct{ kept }

func (*stubborn) Keep(...approval.Rule) error { return errFire }

// Errors that no caller gets are logged once, with the session and the kind of the error. What the
// error says is not: it may quote users.
func TestErrorsThatNoCallerGetsAreLogged(t *testing.T) {
	undone := "Files taken back: a.txt"
	for _, c := range []struct {
		msg    string
		config func(*host.Config[none, string])
		do     func(t *testing.T, s *host.Session, store *broken)
	}{
		{"host: an idle session's dependencies were not released", func(c *host.Config[none, string]) {
			c.Idle = time.Second
			c.Release = func(context.Context, *host.Session, none) error { return errFire }
		}, func(_ *testing.T, s *host.Session, _ *broken) {
			time.Sleep(1500 * time.Millisecond)
		}},
		{"host: a prompt in the inbox cannot be read", nil, func(t *testing.T, s *host.Session, store *broken) {
			_, err := store.Put(t.Context(), s.ID(), session.Item{Kind: session.ItemPrompt, Data: []byte(`{"parts":1}`)})
			require.NoError(t, err)
			time.Sleep(1500 * time.Millisecond)
			require.Nil(t, s.Turn())
			all, err := s.Waiting(t.Context())
			require.NoError(t, err)
			require.Empty(t, all)
		}},
		{"host: the runner was not told about the inbox", func(c *host.Config[none, string]) {
			c.Runner = &deafRunner{}
		}, func(t *testing.T, s *host.Session, _ *broken) {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			o, err := s.Prompt(ctx, say("One."))
			require.NoError(t, err)
			require.ErrorIs(t, o.Err, context.DeadlineExceeded)
			require.Equal(t, []string{"One."}, waitingTexts(t, s))
		}},
		{"host: a turn in another process was not stopped", nil, func(_ *testing.T, s *host.Session, store *broken) {
			store.breaks("get")
			s.Cancel()
		}},
		{"host: a turn in another process was not stopped", nil, func(t *testing.T, s *host.Session, store *broken) {
			l, err := store.Acquire(t.Context(), s.ID(), session.Claim{Holder: "there"})
			require.NoError(t, err)
			store.breaks("put")
			s.Cancel()
			store.breaks("")
			require.NoError(t, store.Release(t.Context(), l))
		}},
		{"host: what holds always in the project is not recorded", func(c *host.Config[none, string]) {
			c.Kept = func(string) approval.Keeper { return &stubborn{} }
		}, func(t *testing.T, s *host.Session, _ *broken) {
			prompt(t, s, "Pay.")
			q := asked(t, s, 1)[0]
			resumed, err := s.Answer(t.Context(), q.ID, "", host.Answer{Digest: q.Digest, Choice: "allow_always_project"})
			require.NoError(t, err)
			require.NoError(t, resumed.Resume(host.Prompt{}).Err)
			require.Len(t, s.Policy().Rules(), 1, "it holds in the session at least")
		}},
		{"host: the session has no title", nil, func(t *testing.T, s *host.Session, store *broken) {
			store.breaks("update")
			o := prompt(t, s, "Pay.")
			require.False(t, o.Titled)
			require.Empty(t, s.Info().Title)
			store.breaks("")
		}},
		{"host: notes for the model about changed files are not recorded", func(c *host.Config[none, string]) {
			c.Files = func(none) host.Files { return &undoer{undone} }
		}, func(t *testing.T, s *host.Session, store *broken) {
			o := prompt(t, s, "Pay.")
			store.breaks("update")
			note, err := s.Rewind(t.Context(), "prompt:"+o.Turn)
			require.NoError(t, err)
			require.Equal(t, undone, note)
			store.breaks("")
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var log bytes.Buffer
			var paid []string
			store := &broken{Memory: new(session.Memory)}
			config := host.Config[none, string]{
				Agent: newAgent(modeltest.Script(
					modeltest.Say(model.ToolCall("c", "pay", `{"to":"Ada"}`)), modeltest.SayText("done")), pay(&paid)),
				Store:  store,
				Logger: slog.New(slog.NewJSONHandler(&locked{mu: &mu, to: &log}, &slog.HandlerOptions{Level: slog.LevelError})),
			}
			if c.config != nil {
				c.config(&config)
			}
			h, err := host.New(config)
			require.NoError(t, err)
			s := create(t, h)
			c.do(t, s, store)
			synctest.Wait()
			mu.Lock()
			said := bytes.Clone(log.Bytes())
			mu.Unlock()
			_ = h.Close(context.Background())
			var line map[string]any
			require.NoError(t, json.Unmarshal(said, &line), "one line: %s", said)
			require.Equal(t, c.msg, line["msg"])
			require.Equal(t, s.ID(), line["session"])
			require.Regexp(t, `^\*(errors|fmt)\.[a-zA-Z]+$`, line["error"], c.msg)
			require.Len(t, line, 5)
			require.NotContains(t, string(said), errFire.Error())
		})
	}
}

// Whoever closes a session is told that its rules are not stored.
func TestRulesThatAreNotStoredAreAnErrorOfClose(t *testing.T) {
	store := &broken{Memory: new(session.Memory)}
	s := create(t, newHost(t, host.Config[none, string]{
		Agent: newAgent(echo()), Store: store, Logger: slog.New(slog.DiscardHandler),
	}))
	require.NoError(t, prompt(t, s, "One.").Err)
	s.Policy().RememberApproval("pay", &toolset.Approval{}, toolset.VerdictDeny)
	store.breaks("update")
	require.ErrorIs(t, s.Close(t.Context()), errFire)
	info, err := store.Memory.Get(t.Context(), s.ID())
	require.NoError(t, err)
	require.Empty(t, info.Holder)
}

// locked writes for several goroutines.
type locked struct {
	mu *sync.Mutex
	to *bytes.Buffer
}

func (l *locked) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(data)
}
