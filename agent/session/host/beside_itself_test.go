// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"log/slog"
	"strings"
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

// The process is killed while a call runs beside one that has just asked for approval by itself. The call may have had its
// effect: nobody is told that it was not executed, and it is not made again unless a person says so.
func TestCallsBesideOneThatAsksItself(t *testing.T) {
	for _, served := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			began, ended := 0, make(chan struct{})
			act := toolset.Func("act", "", func(context.Context, *toolset.RunContext[none], none) (string, error) {
				began++
				<-ended
				return "acted", nil
			})
			itself := toolset.Func("itself", "", func(_ context.Context, run *toolset.RunContext[none], _ none) (string, error) {
				if !run.Call.Approved {
					return "", toolset.ApprovalRequired(toolset.Approval{Title: "Itself"})
				}
				return "done", nil
			})
			var told []string
			agents := func() *agent.Agent[none, string] {
				return newAgent(modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
					if len(req.Messages) == 1 {
						return model.Response(model.ToolCall("a", "itself", `{}`), model.ToolCall("b", "act", `{}`)), nil
					}
					for _, m := range req.Messages {
						for _, p := range m.Parts {
							if p.CallID == "b" && p.Kind == model.PartToolReturn {
								told = append(told, p.Text)
							}
						}
					}
					return model.Response(model.Text("Well.")), nil
				}), act, itself)
			}
			first := newHost(t, host.Config[none, string]{Agent: agents(), Store: shared{new(session.Memory)}, Logger: slog.New(slog.DiscardHandler)})
			killed, err := first.Create(t.Context(), session.New{ID: "s"}, nil)
			require.NoError(t, err)
			go func() { _, _ = killed.Prompt(t.Context(), say("Go.")) }()
			time.Sleep(time.Minute) // until it is recorded that one has asked
			synctest.Wait()
			require.Equal(t, 1, began)
			store := lost(t, first.Store().(shared).Memory).(durable).Store.(*session.Memory)
			close(ended)
			require.NoError(t, first.Close(t.Context()))

			h := newHost(t, host.Config[none, string]{Agent: agents(), Store: &snapshots{Memory: store, left: true}, Logger: slog.New(slog.DiscardHandler)})
			if served {
				stop := serve(t, h)
				defer stop()
				time.Sleep(time.Minute)
				synctest.Wait()
			}
			s, err := h.Open(t.Context(), "s", nil)
			require.NoError(t, err)
			require.Equal(t, 1, began, "nobody has said that it may run again")
			if served {
				require.Equal(t, "Call act again?", asked(t, s, 1)[0].Title)
			}
			require.NotContains(t, shown(t, s), "Not executed: the process ended before the call was started.")
			told = nil
			require.NoError(t, prompt(t, s, "And?").Err)
			require.NotEmpty(t, told)
			for _, text := range told {
				require.True(t, strings.Contains(text, "not known whether"), text)
			}
			require.Equal(t, 1, began)
			require.NoError(t, h.Close(t.Context()))
		})
	}
}
