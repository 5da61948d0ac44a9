// SPDX-License-Identifier: Apache-2.0

package guardrails_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/guardrails"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// order allows one reading of a document whose last brackets are missing. Without its type there are several.
type order struct {
	Payment struct {
		Card string `json:"card"`
		Note string `json:"note"`
	} `json:"payment"`
}

// Guards see what a tool or an output gets of a document that has to be repaired, also if only its type shows that there is one reading.
func TestGuardsSeeDocumentsThatTheirTypeRepairs(t *testing.T) {
	const text = `{"payment":{"card":"4111\u002d1111","note":"x"`
	hide := guard{Name: "cards", On: guardrails.Call | guardrails.Output, Check: func(_ context.Context, _ *toolset.RunContext[none], s *subject) (verdict, error) {
		if s.At("/payment/card") == secret {
			return guardrails.ReplaceValues(map[string]any{"/payment/card": "[card]"}, "a card"), nil
		}
		return guardrails.Pass(), nil
	}}
	var got order
	pay := toolset.Func("pay", "", func(_ context.Context, _ *toolset.RunContext[none], in order) (string, error) {
		got = in
		return "paid", nil
	})
	script := modeltest.Script(modeltest.Say(model.ToolCall("1", "pay", text)), modeltest.SayText("done"))
	c := config(script, hide)
	c.Tools = []*toolset.Tool[none]{pay}
	o := play(t, agent.Must(agent.New(c)), script, "go")
	require.NoError(t, o.err)
	require.Equal(t, "[card]", got.Payment.Card)
	require.NotContains(t, o.seen, `4111`)

	for mode, said := range map[agent.OutputMode]model.Part{
		agent.OutputTool: model.ToolCall("1", "final_result", text), agent.OutputPrompted: model.Text(text), agent.OutputNative: model.Text(text),
	} {
		a := agent.Must(agent.New(agent.Config[none, order]{
			Model: modeltest.Script(modeltest.Finish(model.FinishStop, said)), Output: agent.Output{Mode: mode},
			Capabilities: []agent.Capability[none]{guardrails.New(hide)},
		}))
		res, err := a.Run(t.Context(), none{}, "go")
		require.NoError(t, err, mode)
		require.Equal(t, "[card]", res.Output.Payment.Card, mode)
		require.NotContains(t, res.Messages[1].Text()+string(res.Messages[1].Parts[0].Args), "4111", mode)
	}
}
