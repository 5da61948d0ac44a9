// SPDX-License-Identifier: Apache-2.0

package subagents_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/subagents"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// Nothing begins in a run that has ended.
func TestNothingBeginsInARunThatHasEnded(t *testing.T) {
	require.EqualError(t, subagents.StartWhenClosed(t.Context()), "subagents: the run has ended")
}

// What the model writes, and what an agent fails with, is told in part.
func TestLongTextsAreToldInPart(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	fails := func(n int) sub {
		return subagents.FromTool(toolset.Plain[none](fmt.Sprint("fails", n), "Fails.", func(context.Context, struct {
			Prompt string `json:"prompt"`
		}) (string, error) {
			return "", errors.New(x(n))
		}))
	}
	var handles []string
	for i := range 4 {
		handles = append(handles, fmt.Sprintf("%q", x(98-i)))
	}
	a := newAgent(t, []sub{fails(2000), fails(2001)},
		modeltest.Say(delegate("1", x(100), "x", false)), modeltest.Say(delegate("3", "fails2000", "x", true)), modeltest.Say(delegate("4", "fails2001", "x", true)), modeltest.Say(wait(strings.Join(handles, ","))), modeltest.Say(wait(`"fails2001-1","fails2000-1"`)), modeltest.Say(wait(`"x"`)))
	res, err := a.Run(t.Context(), none{}, "go")
	require.NoError(t, err)
	texts := told(res.Messages)
	require.Equal(t, `unknown agent "`+x(100)+`". Agents: fails2000, fails2001`, texts[0])
	require.Equal(t, "Unknown handle "+x(98)+", "+x(97)+", "+x(96)+",…. Background agents: fails2000-1, fails2001-1.", texts[3])
	require.Equal(t, "# fails2001-1 (fails2001)\nFailed: "+x(1997)+"…\n\n# fails2000-1 (fails2000)\nFailed: "+x(2000), texts[4])
	require.Equal(t, "Unknown handle x. Background agents: none.", texts[5])

	res, err = newAgent(t, []sub{fails(1)}, modeltest.Say(delegate("2", x(101), "x", false))).Run(t.Context(), none{}, "go")
	require.NoError(t, err)
	require.Equal(t, []string{`unknown agent "` + x(97) + `…". Agents: fails1`}, told(res.Messages))

	long := subagents.FromTool(toolset.Plain[none]("long", x(1025), func(context.Context, struct {
		Prompt string `json:"prompt"`
	}) (string, error) {
		return strings.Repeat("y", 64<<10), nil
	}))
	res, err = newAgent(t, []sub{long}, modeltest.Say(delegate("1", "long", "x", false))).Run(t.Context(), none{}, "go")
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(res.Messages[0].Instructions, "\n- long: "+x(1021)+"…"), res.Messages[0].Instructions)
	require.Equal(t, strings.Repeat("y", 64<<10), told(res.Messages)[0])
}

// Events of an agent in the background are kept until the model waits: 2,000 of them, and deltas among the first 1,000.
func TestEventsOfTheBackgroundAreKeptInPart(t *testing.T) {
	for _, c := range []struct {
		deltas, others, more int // more are deltas, too
		want                 [2]int
	}{
		{10, 20, 5, [2]int{15, 20}}, {1000, 10, 5, [2]int{1000, 10}}, {1001, 0, 0, [2]int{1000, 0}}, {990, 10, 5, [2]int{990, 10}}, {990, 9, 5, [2]int{991, 9}}, {0, 1999, 5, [2]int{0, 1999}}, {0, 2000, 0, [2]int{0, 2000}}, {0, 2001, 5, [2]int{0, 2000}}, {1500, 1500, 9, [2]int{1000, 1000}},
	} {
		ready := make(chan struct{})
		tool := toolset.Func("talker", "Talks.", func(_ context.Context, run *toolset.RunContext[none], _ struct {
			Prompt string `json:"prompt"`
		}) (string, error) {
			defer close(ready)
			emit := func(n int, kind agent.EventKind) {
				for range n {
					run.Emit(agent.Nested{Agent: "talker", Event: agent.Event{Kind: kind}})
				}
			}
			emit(c.deltas, agent.EventPartDelta)
			emit(c.others, agent.EventToolResult)
			emit(c.more, agent.EventPartDelta)
			return "done", nil
		})
		m := modeltest.Script(modeltest.Say(delegate("1", "talker", "x", true)), func(context.Context, *model.Request) (*model.Message, error) {
			<-ready
			return model.Response(wait("")), nil
		}, modeltest.SayText("done"))
		var got [2]int
		s := agentOn(t, m, []sub{subagents.FromTool(tool)}).Stream(t.Context(), none{}, "go")
		for e := range s.Events() {
			if n, ok := e.Value.(agent.Nested); ok {
				if n.Event.Kind == agent.EventPartDelta {
					got[0]++
				} else {
					got[1]++
				}
			}
		}
		_, err := s.Result()
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%+v", c)
	}
}
