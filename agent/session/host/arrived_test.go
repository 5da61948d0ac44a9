// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
)

// forgetful is a store that takes a prompt out of an inbox and does not say so.
type forgetful struct {
	*session.Memory
	forgets atomic.Bool
}

func (f *forgetful) Append(
	ctx context.Context, l session.Lease, head int64, b session.Batch,
) (int64, error) {
	last, err := f.Memory.Append(ctx, l, head, b)
	if err == nil && len(b.Entries) == 0 && len(b.Consumed) > 0 && f.forgets.Swap(false) {
		return 0, errDistant("append")
	}
	return last, err
}

// A command or a prompt that is refused leaves the inbox, and the answer of the store is lost. It
// is not taken for one that another process has run: the command is carried out, once, and nobody is
// told of a prompt that stays.
func TestWhatHasLeftTheInboxIsNotTakenForAnothers(t *testing.T) {
	for _, what := range []string{"/hello", "refused"} {
		synctest.Test(t, func(t *testing.T) {
			ran, g, store := 0, newGate(), &forgetful{Memory: new(session.Memory)}
			var log bytes.Buffer
			errRefused := errors.New("no more budget")
			hello := host.Command{Name: "hello", Run: func(
				context.Context, *host.CommandCall,
			) (agent.CommandResult, error) {
				ran++
				return agent.CommandResult{Notice: "Hello!"}, nil
			}}
			h := newHost(t, host.Config[none, string]{
				Agent: newAgent(g.model()), Store: store, Commands: []host.Command{hello},
				Logger: slog.New(slog.NewTextHandler(&log, nil)),
				RunOptions: func(_ context.Context, _ none, p *host.Prompt) ([]agent.RunOption, error) {
					if p.Parts[0].Text == "refused" {
						return nil, errRefused
					}
					return nil, nil
				},
			})
			s := create(t, h)
			first := runs(t, s, "first")
			<-g.asked
			second := runs(t, s, what)
			synctest.Wait()
			require.Equal(t, []string{what}, waitingTexts(t, s))
			store.forgets.Store(true)
			g.answer <- "done"
			require.NoError(t, (<-first).Err)
			o := <-second
			require.False(t, store.forgets.Load())
			require.False(t, o.Elsewhere)
			require.Empty(t, waitingTexts(t, s))
			require.NotContains(t, log.String(), "stays in the inbox")
			if what == "refused" {
				require.ErrorIs(t, o.Err, errRefused)
				require.NotContains(t, shown(t, s), "refused")
			} else {
				require.NoError(t, o.Err)
				require.Equal(t, transcript.Done, o.Reason)
				require.Equal(t, 1, ran)
				require.Contains(t, shown(t, s), "Hello!")
			}
			require.NoError(t, h.Close(t.Context()))
		})
	}
}

// crowded is a store that has no time for the prompt of a turn.
type crowded struct {
	*session.Memory
	busy atomic.Bool
}

func (c *crowded) Append(
	ctx context.Context, l session.Lease, head int64, b session.Batch,
) (int64, error) {
	if c.busy.Load() && len(b.Entries) > 0 {
		return 0, &session.Error{Op: "append", Session: l.Session, Err: session.ErrBusy}
	}
	return c.Memory.Append(ctx, l, head, b)
}

// A prompt that the store certainly does not have is shown as little here as in other processes.
func TestPromptsThatAreNotRecordedAreNotShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &crowded{Memory: new(session.Memory)}
		machines := make([]*host.Session, 2)
		for n, name := range []string{"here", "there"} {
			h := newHost(t, host.Config[none, string]{
				Agent: newAgent(echo()), Store: store, Holder: name, Logger: slog.New(slog.DiscardHandler),
			})
			if n == 0 {
				machines[0] = create(t, h)
				require.NoError(t, prompt(t, machines[0], "One.").Err)
				continue
			}
			var err error
			machines[1], err = h.Open(t.Context(), machines[0].ID(), nil)
			require.NoError(t, err)
		}
		store.busy.Store(true)
		o := prompt(t, machines[0], "Two.")
		require.ErrorContains(t, o.Err, "host: the prompt is not recorded: ")
		require.ErrorIs(t, o.Err, session.ErrBusy)
		require.Equal(t, transcript.Failed, o.Reason)
		store.busy.Store(false)
		for _, s := range machines {
			all := shown(t, s)
			require.NotContains(t, all, "Two.")
			require.NotContains(t, all, transcript.Failed)
			require.Contains(t, all, "I One.")
		}
		require.NoError(t, prompt(t, machines[0], "Three.").Err)
		require.Contains(t, shown(t, machines[1]), "II Three.")
		for _, s := range machines {
			require.NoError(t, s.Host().Close(t.Context()))
		}
	})
}
