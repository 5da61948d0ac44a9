// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/toolset"
)

// TestResumedTurnKeepsLimits lets processes die after each append while two agents work side by side, and goes on with the turn. One of
// the agents begins late then: what it has recorded counts all the same.
func TestResumedTurnKeepsLimits(t *testing.T) {
	const limit = 9
	var late atomic.Bool
	var made atomic.Int64
	working := func() *agent.Agent[none, string] {
		inner := agent.Must(agent.New(agent.Config[none, string]{
			Limits: agent.Limits{Requests: agent.Unlimited},
			Model: modeltest.Func(func(ctx context.Context, _ *model.Request) (*model.Message, error) {
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				}
				made.Add(1)
				return model.Response(model.ToolCall("w", "work", `{}`)), nil
			}),
			Tools: []*toolset.Tool[none]{toolset.Plain[none]("work", "", func(context.Context, none) (string, error) { return "worked", nil })},
		}))
		ask := func(name string) *toolset.Tool[none] {
			return agent.AsTool(name, "", inner, func(none) none {
				if name == "right" && late.Load() {
					time.Sleep(time.Hour)
				}
				return none{}
			})
		}
		return agent.Must(agent.New(agent.Config[none, string]{
			Limits: agent.Limits{Requests: limit}, Tools: []*toolset.Tool[none]{ask("left"), ask("right")},
			Model: modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
				made.Add(1)
				return model.Response(model.ToolCall("l", "left", `{"prompt":"go"}`), model.ToolCall("r", "right", `{"prompt":"go"}`)), nil
			}),
		}))
	}
	resumed := 0
	for left, over := 2, false; !over; left++ {
		synctest.Test(t, func(t *testing.T) {
			m := new(session.Memory)
			c, _ := open(t, mortalStore(m, left))
			late.Store(false)
			_, err := prompt(t, c, working(), "Begin.")
			if strings.Contains(fmt.Sprint(err), "usage limit") {
				over = true
				return
			}
			require.ErrorIs(t, err, errDied)
			recorded := strings.Count(export(t, m), `"op":"model"`)
			c, w := open(t, m)
			defer func() { require.NoError(t, w.Close(t.Context())) }()
			now, err := c.Resume(t.Context())
			require.NoError(t, err)
			late.Store(true)
			made.Store(0)
			res, err := working().Run(t.Context(), none{}, "Begin.", now.Options()...)
			require.ErrorAs(t, err, new(*agent.LimitError))
			require.Error(t, err)
			require.NoError(t, transcript.End(t.Context(), now, res, err))
			require.EqualValues(t, limit, int64(recorded)+made.Load(), "after %d appends: recorded %d, then made %d", left, recorded, made.Load())
			resumed++
		})
	}
	require.Greater(t, resumed, 5)
}
