// SPDX-License-Identifier: Apache-2.0

package spend_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/spend"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/toolset"
)

// An inner agent that has a window of the same name does not get more room by that, and its own bound holds as well.
func TestBoundsOfAllWindowsOfOneNameApply(t *testing.T) {
	for name, c := range map[string]struct {
		outside, inside int64
		asked           int
		ends            bool
	}{
		"the outer one is tighter":           {1000, 1_000_000, 2, true},
		"the inner one is tighter":           {1_000_000, 1000, 2, false},
		"they are the same":                  {1000, 1000, 2, true},
		"the inner one is tighter, a little": {1_000_000, 1500, 3, false},
	} {
		store := new(session.Memory)
		window := func(tokens int64) []*agent.Policy {
			w := spend.Window[any]{Name: "daily", Length: time.Hour, Tokens: tokens}
			if tokens > 10_000 {
				w.Reserve = 100
			}
			return []*agent.Policy{spend.Policy("spend", spend.Options[any]{Store: store, Windows: []spend.Window[any]{w}})}
		}
		asked := 0
		m := model.Func(model.Info{Provider: "p", Name: "m"}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
			asked++
			resp := model.Response(model.Text("ok"))
			resp.Usage = model.Usage{OutputTokens: 500}
			return resp, nil
		})
		inner := agent.Must(agent.New(agent.Config[any, string]{Name: "inner", Model: m, Policies: window(c.inside)}))
		var calls []model.Part
		for i := range 6 {
			calls = append(calls, model.ToolCall(fmt.Sprint(i), "inner", `{"prompt":"go"}`))
		}
		tool := agent.AsTool("inner", "", inner, func(d any) any { return d }, toolset.Sequential())
		outer := agent.Must(agent.New(agent.Config[any, string]{
			Name: "outer", Model: modeltest.Script(modeltest.Say(calls...), modeltest.SayText("done")), Tools: []*toolset.Tool[any]{tool}, Policies: window(c.outside),
		}))
		_, err := outer.Run(t.Context(), nil, "go")
		require.Equal(t, c.asked, asked, name)
		if c.ends {
			require.ErrorIs(t, err, spend.ErrSpent, name)
		} else {
			require.NoError(t, err, name)
		}
	}
}

// Windows are those that a policy was made with, whatever becomes of the caller's list.
func TestWindowsOfAPolicyStayAsTheyWere(t *testing.T) {
	o := hourly(new(session.Memory), 10, 10)
	a := spender(10, o)
	o.Windows[0].Tokens, o.Windows[0].Name = 1000, "other"
	_, err := a.Run(t.Context(), user{"ada"}, "Hello.")
	require.NoError(t, err)
	_, err = a.Run(t.Context(), user{"ada"}, "Hello.")
	require.ErrorIs(t, err, spend.ErrSpent)
	require.ErrorContains(t, err, `"hourly" has used 10 of 10`)
}
