// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// TestKeptRunContextsStayThoseOfTheirRuns has a tool keep its run contexts and use them while later
// runs are under way, in the memory that the earlier ones have left.
func TestKeptRunContextsStayThoseOfTheirRuns(t *testing.T) {
	type kept struct {
		run  *toolset.RunContext[deps]
		want addArgs
	}
	var all []kept
	keep := toolset.Func("keep", "", func(_ context.Context, run *toolset.RunContext[deps], in addArgs) (string, error) {
		all = append(all, kept{run, in})
		return "kept", nil
	})
	const runs = 20
	for i := range runs {
		args := fmt.Sprintf(`{"x":%d,"y":%d}`, i, i+1)
		a := newAgent(t, cfg{Model: modeltest.Script(
			modeltest.Say(model.ToolCall(fmt.Sprint("call", i), "keep", args)), modeltest.SayText("done"),
		)}, keep)
		earlier := all
		var using sync.WaitGroup
		using.Go(func() {
			for j, k := range earlier {
				k.run.Emit("too late")
				_, err := k.run.Ask(context.Background(), toolset.Question{})
				assert.ErrorIs(t, err, toolset.ErrNobody)
				got, ok := agent.Arguments(k.run)
				assert.True(t, ok)
				assert.Equal(t, &k.want, got)
				assert.Equal(t, fmt.Sprint(k.run.RunID, "/1/call", j), k.run.IdempotencyKey())
			}
		})
		if i%2 == 0 {
			res, err := a.Run(t.Context(), deps{}, "go")
			require.NoError(t, err)
			require.Equal(t, "done", res.Output)
			require.Len(t, res.Messages, 4)
		} else {
			s := a.Stream(t.Context(), deps{}, "go")
			for e := range s.Events() {
				require.NotEqual(t, agent.EventCustom, e.Kind)
			}
			_, err := s.Result()
			require.NoError(t, err)
		}
		using.Wait()
	}
	require.Len(t, all, runs)
}

// TestRunsOfOneAgentOfferWhatTheirOptionsSay has runs with options that change what is offered, in
// turn and side by side.
func TestRunsOfOneAgentOfferWhatTheirOptionsSay(t *testing.T) {
	a := newAgent(t, cfg{
		Instructions: "Add.", Settings: &model.Settings{MaxTokens: 7}, Model: modeltest.Script(),
	}, addTool())
	required := model.ToolChoice{Mode: model.ToolChoiceRequired}
	quick, nine := agent.WithInstructions("Quick."), agent.WithSettings(model.Settings{MaxTokens: 9})
	cases := []struct {
		opts         []agent.RunOption
		instructions string
		tokens       int
		choice       model.ToolChoice // of the first step
	}{
		{nil, "Add.", 7, model.ToolChoice{}},
		{[]agent.RunOption{quick}, "Add.\nQuick.", 7, model.ToolChoice{}},
		{nil, "Add.", 7, model.ToolChoice{}},
		{[]agent.RunOption{nine}, "Add.", 9, model.ToolChoice{}},
		{[]agent.RunOption{agent.WithToolChoice(required)}, "Add.", 7, required},
		{nil, "Add.", 7, model.ToolChoice{}},
		{[]agent.RunOption{agent.WithToolRetries(0), quick}, "Add.\nQuick.", 7, model.ToolChoice{}},
		{nil, "Add.", 7, model.ToolChoice{}},
	}
	runCase := func(i int) {
		c := cases[i]
		step := 0
		m := model.Func(model.Info{}, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
			assert.Equal(t, c.instructions, req.Instructions)
			assert.Equal(t, c.tokens, req.Settings.MaxTokens)
			assert.Len(t, req.Tools, 1)
			if step++; step > 1 {
				assert.Zero(t, req.ToolChoice)
				return model.Response(model.Text("3")), nil
			}
			assert.Equal(t, c.choice, req.ToolChoice)
			return model.Response(add("a", 1, 2)), nil
		})
		_, err := a.Run(t.Context(), deps{}, "go", append([]agent.RunOption{agent.WithModel(m)}, c.opts...)...)
		assert.NoError(t, err)
		assert.Equal(t, 2, step)
	}
	for i := range cases {
		runCase(i)
	}
	var all sync.WaitGroup
	for i := range cases {
		all.Go(func() {
			for range 50 {
				runCase(i)
			}
		})
	}
	all.Wait()
}
