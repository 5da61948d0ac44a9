// SPDX-License-Identifier: Apache-2.0

package together

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/deps"
)

// A terminal and a page send prompts at once, change what waits and stop turns. Every prompt that
// was neither removed nor stopped is answered once, and a terminal that followed shows what one
// that loads the session does.
func TestTerminalAndPageShareWhatWaits(t *testing.T) {
	m := modeltest.Func(func(ctx context.Context, req *model.Request) (*model.Message, error) {
		last := req.Messages[len(req.Messages)-1].Parts
		select {
		case <-time.After(time.Duration(rand.IntN(4)) * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		return model.Response(model.Text("to " + last[len(last)-1].Text)), nil
	})
	a, err := agent.New(agent.Config[deps.ACPDeps, string]{Model: m})
	require.NoError(t, err)
	h, err := host.New(host.Config[deps.ACPDeps, string]{
		Agent: a, Store: new(session.Memory), Logger: slog.New(slog.DiscardHandler),
		Deps: func(_ context.Context, of *host.Session) (deps.ACPDeps, error) {
			return acpbridge.DepsOf(of, acpbridge.LocalFallback{})
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close(context.Background())) })
	c := terminal(t, h)
	require.True(t, c.Queues())
	s, err := c.NewSession(t.Context(), acpclient.SessionConfig{Cwd: t.TempDir()})
	require.NoError(t, err)
	page := h.Session(string(s.ID()))
	var all sync.WaitGroup
	for who := range 2 {
		all.Go(func() { // the terminal
			for i := range 10 {
				if err := s.Queue(t.Context(), acp.TextBlock(fmt.Sprintf("t%d-%d", who, i))); err != nil {
					t.Error(err)
				}
				if rand.IntN(8) == 0 {
					_ = s.Cancel(t.Context())
				}
			}
		})
		for i := range 10 {
			all.Go(func() { // the page
				turn, err := page.AdmitWith(t.Context(), host.BusyQueue)
				if err != nil {
					t.Error(err)
					return
				}
				turn.Run(host.Prompt{Parts: []model.Part{model.User(fmt.Sprintf("p%d-%d", who, i))}})
			})
		}
		all.Go(func() {
			for range 20 {
				waiting, err := page.Waiting(t.Context())
				if err != nil || len(waiting) == 0 {
					continue
				}
				w := waiting[rand.IntN(len(waiting))]
				if rand.IntN(2) == 0 {
					_ = page.RemoveWaiting(t.Context(), w.ID, w.Version)
				} else {
					text := []model.Part{model.User(w.Parts[0].Text + "!")}
					_ = page.EditWaiting(t.Context(), w.ID, w.Version, text, nil)
				}
				if rand.IntN(5) == 0 {
					page.Cancel()
				}
			}
		})
	}
	all.Wait()
	require.Eventually(t, func() bool {
		waiting, err := page.Waiting(t.Context())
		return err == nil && len(waiting) == 0 && page.Turn() == nil
	}, time.Minute, 5*time.Millisecond)
	require.NoError(t, s.Queue(t.Context(), acp.TextBlock("end")))
	require.Eventually(t, func() bool {
		now := said(s)
		return len(now) > 0 && now[len(now)-1] == "assistant to end"
	}, time.Minute, 5*time.Millisecond)
	require.Empty(t, c.Problems())
	seen := map[string]int{}
	for _, text := range said(s) {
		seen[text]++
		require.Equal(t, 1, seen[text], text)
	}
	other := terminal(t, h)
	loaded, err := other.LoadSession(t.Context(), s.ID(), acpclient.SessionConfig{Cwd: s.Cwd()})
	require.NoError(t, err)
	require.ElementsMatch(t, said(loaded), said(s))
	require.Empty(t, other.Problems())
}
