// SPDX-License-Identifier: Apache-2.0

// Package endingtest tests how agents treat the ends of responses that an adapter reports.
package endingtest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// Reply is the content of a response: text, and a call of the tool act if there are arguments.
type Reply struct {
	Text, Args string
}

// The replies of [Check].
var (
	textReply = Reply{Text: "Half an answ"}
	callReply = Reply{Text: "I act.", Args: `{"n": 1}`}
	halfReply = Reply{Text: "I act.", Args: `{"n":`}
)

// Ending is a provider's name for the end of a response, and what it means.
type Ending struct {
	Wire string
	Want model.FinishReason
}

// Check runs an agent on a model whose fake server ends its responses in different ways, streamed and not. body returns a body
// for a request. Set noHalf for adapters that cannot return calls with incomplete arguments.
func Check(
	t *testing.T, open func(t testing.TB, url string) model.Model, body func(wire string, r Reply, req *http.Request) string, noHalf bool, endings ...Ending,
) {
	for _, e := range endings {
		for name, reply := range map[string]Reply{"text": textReply, "call": callReply, "half a call": halfReply} {
			for _, streamed := range []bool{false, true} {
				if noHalf && name == "half a call" {
					continue
				}
				t.Run(e.Wire+"/"+name+map[bool]string{true: ", streamed"}[streamed], func(t *testing.T) {
					answered := false
					server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						wire, now := e.Wire, reply
						if answered {
							wire, now = endings[0].Wire, Reply{Text: "Done."} // the first one is whole
						}
						answered = true
						text := body(wire, now, r)
						w.Header().Set("Content-Type", map[bool]string{true: "application/json", false: "text/event-stream"}[text[0] == '{'])
						_, _ = w.Write([]byte(text))
					}))
					t.Cleanup(server.Close)
					check := endingCheck{t: t, model: open(t, server.URL), reply: reply, want: e.Want, streamed: streamed}
					check.run(agent.Endings{})
				})
			}
		}
	}
}

type endingCheck struct {
	t        *testing.T
	model    model.Model
	reply    Reply
	want     model.FinishReason
	streamed bool
	ran      int
}

type endingArgs struct {
	N int `json:"n"`
}

// unusable are the errors of endings after which nothing can be used.
var unusable = map[model.FinishReason]error{
	model.FinishContentFilter: agent.ErrContentFilter, model.FinishRefusal: agent.ErrRefused, model.FinishError: agent.ErrResponseFailed,
}

func (c *endingCheck) run(e agent.Endings) {
	t := c.t
	act := toolset.Func("act", "Acts.", func(context.Context, *toolset.RunContext[struct{}], endingArgs) (string, error) {
		c.ran++
		return "done", nil
	})
	a, err := agent.New(agent.Config[struct{}, string]{Model: c.model, Tools: []*toolset.Tool[struct{}]{act}, Endings: e})
	require.NoError(t, err)
	var res *agent.Result[string]
	if c.streamed {
		s := a.Stream(t.Context(), struct{}{}, "go")
		for range s.Events() { //nolint:revive // the result is what counts
		}
		res, err = s.Result()
	} else {
		res, err = a.Run(t.Context(), struct{}{}, "go")
	}
	isCall, half := c.reply.Args != "", c.reply == halfReply
	switch {
	case unusable[c.want] != nil:
		c.failed(a, err, unusable[c.want])
	case c.want == model.FinishLength && half:
		c.failed(a, err, agent.ErrIncompleteToolCall)
	case isCall:
		require.NoError(t, err)
		require.Equal(t, "Done.", res.Output)
		require.Empty(t, res.Cut)
		require.Equal(t, !half, c.ran == 1)
	default:
		require.NoError(t, err)
		require.Equal(t, c.reply.Text, res.Output)
		require.Equal(t, c.want == model.FinishLength, res.Cut == model.FinishLength)
	}
}

// failed checks the error of a run, and that its history can be resumed from JSON.
func (c *endingCheck) failed(a *agent.Agent[struct{}, string], err, want error) {
	t := c.t
	require.ErrorIs(t, err, want)
	require.Zero(t, c.ran)
	var run *agent.RunError
	require.ErrorAs(t, err, &run)
	var resp *model.Message
	for _, m := range run.Messages {
		if m.Kind == model.KindResponse {
			resp = m
		}
	}
	require.NotNil(t, resp)
	require.True(t, resp.Interrupted)
	require.Equal(t, c.reply.Text, resp.Text())
	require.Equal(t, c.want, resp.Finish)
	data, err := json.Marshal(run.Messages)
	require.NoError(t, err)
	var history []*model.Message
	require.NoError(t, json.Unmarshal(data, &history))
	for _, prompt := range []string{"", "And now?"} {
		res, err := a.Run(t.Context(), struct{}{}, prompt, agent.WithHistory(history), agent.WithModel(modeltest.Script(modeltest.SayText("better"))))
		require.NoError(t, err)
		require.Equal(t, "better", res.Output)
	}
	require.Zero(t, c.ran)
}
