// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
)

// TestNobodyWaitsForAnOutageLongerThanAsked begins an outage of an hour at each operation of callers
// that take and give back a session. They, those who read it, stop its turn and answer meanwhile, and
// who closes the host, wait for as long as their contexts say, and a moment.
func TestNobodyWaitsForAnOutageLongerThanAsked(t *testing.T) {
	const patience = 2 * time.Second
	callers := map[string]func(ctx context.Context, h *host.Host, id string){
		"open": func(ctx context.Context, h *host.Host, id string) { _, _ = h.Open(ctx, id, nil) },
		"set": func(ctx context.Context, h *host.Host, id string) {
			if s := h.Session(id); s != nil {
				_, _ = s.Set(ctx, "fast", "true")
			}
		},
		"name": func(ctx context.Context, h *host.Host, id string) {
			if s := h.Session(id); s != nil {
				_ = s.SetTitle(ctx, "Name")
			}
		},
		"answer": func(ctx context.Context, h *host.Host, id string) {
			if s := h.Session(id); s != nil {
				_ = s.Decide(ctx, "question", "", host.Answer{Digest: "d", Choice: host.AllowOnce})
			}
		},
	}
	for name, call := range callers {
		met := 0
		for operation := 1; operation < 25; operation++ {
			synctest.Test(t, func(t *testing.T) {
				store := &distant{Memory: new(session.Memory), length: time.Hour}
				id := cutOff(t, store)
				fast := host.Setting{Setting: view.Setting{ID: "fast", Value: "false", Switch: true}}
				h := newHost(t, host.Config[none, string]{
					Agent: newAgent(echo()), Store: store, Logger: slog.New(slog.DiscardHandler), Settings: []host.Setting{fast},
				})
				within := func(what string, do func(ctx context.Context)) {
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					begun := time.Now()
					do(ctx)
					took := time.Since(begun)
					require.LessOrEqual(t, took, patience+3*time.Second, fmt.Sprint(name, ", operation ", operation, ": ", what))
				}
				if name != "open" {
					_, err := h.Open(t.Context(), id, nil)
					require.NoError(t, err)
					synctest.Wait()
				}
				store.arm(operation)
				called := make(chan struct{})
				go func() {
					defer close(called)
					within("the caller", func(ctx context.Context) { call(ctx, h, id) })
				}()
				time.Sleep(100 * time.Millisecond)
				if s := h.Session(id); s != nil {
					within("reading", func(ctx context.Context) { _, _, _ = s.Snapshot(ctx) })
					within("answering", func(ctx context.Context) {
						_, _ = s.Answer(ctx, "other", "", host.Answer{Digest: "d", Choice: host.AllowOnce})
					})
				}
				<-called
				if store.hasBegun() {
					met++
				}
				within("closing", func(ctx context.Context) { _ = h.Close(ctx) })
			})
		}
		require.Greater(t, met, 2, name)
	}
}

// cutOff makes a session with a turn that has no end.
func cutOff(t *testing.T, store session.Store) (id string) {
	info, err := store.Create(t.Context(), session.New{})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), store, info.ID, session.Claim{})
	require.NoError(t, err)
	_, err = w.Append(t.Context(), session.Entry{
		Kind: session.KindMessage, Run: "turn", Key: "prompt",
		Data: []byte(`{"message":{"v":1,"kind":"request","parts":[{"kind":"user","text":"Go."}],"run_id":"turn"}}`),
	})
	require.NoError(t, err)
	require.NoError(t, w.Close(t.Context()))
	return info.ID
}
