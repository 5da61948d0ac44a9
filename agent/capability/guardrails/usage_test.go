// SPDX-License-Identifier: Apache-2.0

package guardrails_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/guardrails"
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/engine/enginetest"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// A response that a guard blocks has been paid for all the same: the run has its usage, streamed or not, and whether the usage came
// in the stream or with the response alone.
func TestBlockedResponsesHaveBeenPaidFor(t *testing.T) {
	usage := model.Usage{InputTokens: 21, OutputTokens: 13, CacheReadTokens: 5}
	block := always(guardrails.Block("no"))
	for name, g := range map[string]guard{
		"input": {On: input, Parallel: true, Check: block}, "text": {On: output, Check: block}, "growing text": {On: output, Stream: 5, Check: block}, "call": {On: call, Check: block}, "nothing": {On: output | input | call, Parallel: true, Check: always(guardrails.Pass())},
		"thinking": {On: output, Stream: 5, Check: func(_ context.Context, _ *toolset.RunContext[none], s *subject) (verdict, error) {
			if s.Thinking {
				return guardrails.Block("no"), nil
			}
			return guardrails.Pass(), nil
		}},
	} {
		g.Name = "g"
		for _, how := range []string{"complete", "usage first", "usage last", "usage twice", "usage with the response"} {
			responded := make(chan struct{})
			own := g
			if g.Parallel {
				own.Check = func(ctx context.Context, run *toolset.RunContext[none], s *subject) (verdict, error) {
					if s.Stage == input {
						<-responded // so that the response is there when its prompt is blocked
					}
					return g.Check(ctx, run, s)
				}
			}
			n := 0
			m := model.Func(model.Info{Name: "m"}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
				if n++; n > 1 {
					return model.Response(model.Text("Done.")), nil
				}
				defer close(responded)
				resp := model.Response(model.Thinking("hm hm"), model.Text("some words that are long enough to be looked at while they are written, and a few more words"), model.ToolCall("1", "echo", `{"text":"x"}`))
				resp.Usage = usage
				if sink == nil {
					return resp, nil
				}
				part := usage
				part.OutputTokens = 1
				tell := map[string][]model.Delta{"usage first": {{Usage: &usage}}, "usage twice": {{Usage: &part}}}[how]
				for i := range resp.Parts {
					p := &resp.Parts[i]
					tell = append(tell, model.Delta{Part: i, Kind: p.Kind, Text: p.Text + string(p.Args), CallID: p.CallID, Tool: p.Tool})
				}
				if how == "usage last" || how == "usage twice" {
					tell = append(tell, model.Delta{Usage: &usage})
				}
				for _, d := range tell {
					if err := sink(d); err != nil {
						return nil, err
					}
				}
				return resp, nil
			})
			a := newAgent(t, m, own)
			var got model.Usage
			var err error
			if how == "complete" {
				var res *agent.Result[string]
				if res, err = a.Run(t.Context(), none{}, "go"); err == nil {
					got = res.Usage.Usage
				}
			} else {
				s := a.Stream(t.Context(), none{}, "go")
				for range s.Events() {
				}
				var res *agent.Result[string]
				if res, err = s.Result(); err == nil {
					got = res.Usage.Usage
				}
			}
			if name != "nothing" {
				require.ErrorIs(t, err, guardrails.ErrBlocked, name+", "+how)
				var failed *agent.RunError
				require.ErrorAs(t, err, &failed)
				got = failed.Usage.Usage
			} else {
				require.NoError(t, err, how)
			}
			want := usage
			if how != "complete" && (name == "growing text" || name == "thinking") { // the stream was broken off before the response
				switch how {
				case "usage last", "usage with the response":
					want = model.Usage{}
				case "usage twice":
					want.OutputTokens = 1
				}
			}
			require.Equal(t, want, got, name+", "+how)
		}
	}
}

// An error within a stream does not take back what has been used.
func TestFailedStreamsHaveTheirUsage(t *testing.T) {
	usage := model.Usage{InputTokens: 21, OutputTokens: 13}
	boom := errors.New("boom")
	m := model.Func(model.Info{Name: "m"}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		if err := sink(model.Delta{Usage: &usage}); err != nil {
			return nil, err
		}
		return nil, boom
	})
	s := newAgent(t, m, guard{Name: "g", On: output, Check: always(guardrails.Pass())}).Stream(t.Context(), none{}, "go")
	for range s.Events() {
	}
	_, err := s.Result()
	require.ErrorIs(t, err, boom)
	var failed *agent.RunError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, usage, failed.Usage.Usage)
}

// Engines hear which policies decide about calls where these are executed.
func TestOnlyGuardsOfCallsAndResultsDecideAboutCalls(t *testing.T) {
	for on := guardrails.Stage(1); on < 16; on++ {
		var told []engine.Policy
		a := newAgent(t, modeltest.Script(modeltest.SayText("Done.")), guard{Name: "g", On: on, Check: always(guardrails.Pass())})
		w := agent.NewWorker(a, none{})
		_, err := a.Run(t.Context(), none{}, "go", agent.WithEngine(func(_ context.Context, local engine.Worker) (engine.Engine, error) {
			return enginetest.NewRemote(local, func(ctx context.Context, data []byte, report func([]byte) error) ([]byte, error) {
				task, err := engine.UnmarshalTask(data)
				require.NoError(t, err)
				told = task.Options.Policies
				return engine.Execute(ctx, w, data, report)
			}), nil
		}))
		require.NoError(t, err)
		require.NoError(t, w.Close(t.Context()))
		require.Equal(t, []engine.Policy{{Name: "guardrails", Calls: on&(call|result) != 0}}, told, fmt.Sprint(on))
	}
}
