// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
)

// A call had to be approved when it was looked at first, and no longer after the one before it. The
// process is killed while it runs, beside another one. Both may have had their effects: nobody is
// told otherwise, and they are not made again.
func TestCallsThatNeedNoApprovalAnyMore(t *testing.T) {
	for _, served := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			began, prepared, ended := new(atomic.Int32), false, make(chan struct{})
			type run = *toolset.RunContext[none]
			does := func(context.Context, run, none) (string, error) {
				began.Add(1)
				<-ended
				return "acted", nil
			}
			tools := []*toolset.Tool[none]{
				toolset.Func("prepare", "", func(context.Context, run, none) (string, error) {
					prepared = true
					return "prepared", nil
				}),
				toolset.Func("act", "", does, toolset.Approve(
					func(context.Context, run, none) (*toolset.Approval, error) {
						if prepared {
							return nil, nil
						}
						return &toolset.Approval{Title: "Act"}, nil
					},
				)),
				toolset.Func("free", "", does),
			}
			told := map[string]string{}
			agents := func() *agent.Agent[none, string] {
				says := func(_ context.Context, req *model.Request) (*model.Message, error) {
					if len(req.Messages) == 1 {
						return model.Response(
							model.ToolCall("a", "prepare", `{}`), model.ToolCall("b", "act", `{}`),
							model.ToolCall("c", "free", `{}`),
						), nil
					}
					for _, m := range req.Messages {
						for _, p := range m.Parts {
							if p.Kind == model.PartToolReturn {
								told[p.CallID] = p.Text
							}
						}
					}
					return model.Response(model.Text("Well.")), nil
				}
				return newAgent(modeltest.Func(says), tools...)
			}
			quiet := slog.New(slog.DiscardHandler)
			first := newHost(t, host.Config[none, string]{
				Agent: agents(), Store: shared{new(session.Memory)}, Logger: quiet,
			})
			killed, err := first.Create(t.Context(), session.New{ID: "s"}, nil)
			require.NoError(t, err)
			go func() { _, _ = killed.Prompt(t.Context(), say("Go.")) }()
			time.Sleep(time.Minute)
			synctest.Wait()
			require.EqualValues(t, 2, began.Load())
			store := lost(t, first.Store().(shared).Memory).(durable).Store.(*session.Memory)
			close(ended)
			require.NoError(t, first.Close(t.Context()))

			h := newHost(t, host.Config[none, string]{
				Agent: agents(), Store: &snapshots{Memory: store, left: true}, Logger: quiet,
			})
			if served {
				stop := serve(t, h)
				defer stop()
				time.Sleep(time.Minute)
				synctest.Wait()
			}
			s, err := h.Open(t.Context(), "s", nil)
			require.NoError(t, err)
			require.EqualValues(t, 2, began.Load(), "nobody has said that they may run again")
			if served {
				asked(t, s, 2)
			}
			require.NotContains(t, shown(t, s), "Not executed")
			clear(told)
			require.NoError(t, prompt(t, s, "And?").Err)
			require.Equal(t, "prepared", told["a"])
			require.Contains(t, told["b"], "not known whether")
			require.Contains(t, told["c"], "not known whether")
			require.EqualValues(t, 2, began.Load())
			require.NoError(t, h.Close(t.Context()))
		})
	}
}
