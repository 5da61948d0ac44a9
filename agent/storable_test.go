// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// A tool may accept arguments that are not JSON. The run that waits for such a call is stored and resumed like any other, and the
// tool gets what the model wrote.
func TestPendingRunWithBrokenArgumentsCanBeStored(t *testing.T) {
	object := json.RawMessage(`{"type":"object"}`)
	lenient := func(args []byte) (any, error) { return string(args), nil }
	for _, broken := range []string{`{"a":`, `{"a":1}}`, `nonsense`, "{\"a\": \"line\nbreak\"}", `{"a":1,}`, ` `, `"`} {
		var got string
		taking := func(first error) *toolset.Tool[deps] {
			return &toolset.Tool[deps]{Def: model.ToolDef{Name: "x", Schema: object}, Decode: lenient, Call: func(_ context.Context, run *toolset.RunContext[deps], args any) (toolset.Result, error) {
				if first != nil && !run.Call.Approved {
					return toolset.Result{}, first
				}
				got = args.(string)
				return toolset.Result{Text: "ok"}, nil
			}}
		}
		previewed := taking(nil)
		previewed.Approval = func(context.Context, *toolset.RunContext[deps], any) (*toolset.Approval, error) {
			return &toolset.Approval{}, nil
		}
		external := taking(nil)
		external.External = true
		undecoded := &toolset.Tool[deps]{Def: previewed.Def, Approval: previewed.Approval, Call: func(_ context.Context, _ *toolset.RunContext[deps], args any) (toolset.Result, error) {
			got = string(args.(json.RawMessage))
			return toolset.Result{Text: "ok"}, nil
		}}
		for name, x := range map[string]*toolset.Tool[deps]{
			"preview": previewed, "own": taking(toolset.ApprovalRequired(toolset.Approval{})), "deferred": taking(toolset.Deferred(nil)), "external": external, "no Decode": undecoded,
		} {
			for _, nested := range []bool{false, true} {
				inner := newAgent(t, cfg{Name: "inner", Model: modeltest.Script(modeltest.Say(model.ToolCall("c", "x", broken)), modeltest.SayText("done")), NoRepair: true}, x)
				a := inner
				if nested {
					sub := agent.AsTool("sub", "", inner, func(d deps) deps { return d })
					a = newAgent(t, cfg{Model: modeltest.Script(modeltest.Say(model.ToolCall("s", "sub", `{"prompt":"go"}`)), modeltest.SayText("done"))}, sub)
				}
				_, err := a.Run(t.Context(), deps{}, "go")
				var pending *agent.PendingError
				require.ErrorAs(t, err, &pending, "%s %q", name, broken)
				data, err2 := json.Marshal(pending.Calls)
				require.NoError(t, err2)
				var calls []agent.PendingCall
				require.NoError(t, json.Unmarshal(data, &calls))
				require.Equal(t, pending.Calls[0].Key(), calls[0].Key())
				var text string
				require.NoError(t, json.Unmarshal(calls[0].Args, &text))
				require.Equal(t, broken, text)
				answers := agent.DeferredResults{}
				if calls[0].Approval != nil {
					answers.Decide(calls[0].Key(), toolset.Allow())
				} else {
					got = broken
					answers.Supply(calls[0].Key(), toolset.Result{Text: "ok"})
				}
				res, err := a.Run(t.Context(), deps{}, "", throughJSON(t, asRunError(t, err).Messages), agent.WithResults(answers))
				require.NoError(t, err)
				require.Equal(t, "done", res.Output)
				require.Equal(t, broken, got, "%s nested=%v", name, nested)
				got = ""
			}
		}
	}
}

// JSON that a tool gives is checked where it is given, and not when the history is stored.
func TestJSONOfToolsIsChecked(t *testing.T) {
	broken := json.RawMessage(`{"a":`)
	shows := watched("x")
	shows.Approval = func(context.Context, *toolset.RunContext[deps], any) (*toolset.Approval, error) {
		return &toolset.Approval{Meta: broken}, nil
	}
	const meta = "the Meta that the tool returned is not valid JSON, so the history could not be stored"
	for name, c := range map[string]struct {
		tool *toolset.Tool[deps]
		want string
	}{
		"a deferred call": {fails("x", toolset.Deferred(broken)), meta},
		"a result": {toolset.Func("x", "", func(context.Context, *toolset.RunContext[deps], none) (toolset.Result, error) {
			return toolset.Result{Meta: broken}, nil
		}), meta},
		"a preview":          {shows, meta},
		"its own approval":   {fails("x", toolset.ApprovalRequired(toolset.Approval{Meta: broken})), meta},
		"the state":          {fails("x", toolset.Pending(broken, toolset.PendingCall{ID: "i"})), "the state that the tool gave to toolset.Pending is not valid JSON"},
		"a call inside it":   {fails("x", toolset.Pending(nil, toolset.PendingCall{ID: "i", Args: broken})), "the calls that the tool gave to toolset.Pending cannot be stored"},
		"its Meta":           {fails("x", toolset.Pending(nil, toolset.PendingCall{ID: "i", Meta: broken})), "the calls that the tool gave to toolset.Pending cannot be stored"},
		"its preview's Meta": {fails("x", toolset.Pending(nil, toolset.PendingCall{ID: "i", Approval: &toolset.Approval{Meta: broken}})), "the calls that the tool gave to toolset.Pending cannot be stored"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err, _ := run(t, cfg{}, []modeltest.Step{modeltest.Say(call("1", "x"))}, c.tool)
			require.ErrorContains(t, err, c.want)
			_, marshalErr := json.Marshal(err.Messages)
			require.NoError(t, marshalErr)
		})
	}
}

// So is the JSON of a result that somebody supplies.
func TestJSONOfSuppliedResultsIsChecked(t *testing.T) {
	_, failed, _ := run(t, cfg{}, []modeltest.Step{modeltest.Say(call("1", "x"))}, fails("x", toolset.Deferred(nil)))
	var answers agent.DeferredResults
	answers.Supply("1", toolset.Result{Text: "ok", Meta: json.RawMessage(`{`)})
	_, err := newAgent(t, cfg{Model: modeltest.Script()}, fails("x", errBoom)).Run(t.Context(), deps{}, "", agent.WithHistory(failed.Messages), agent.WithResults(answers))
	require.ErrorIs(t, err, agent.ErrResults)
	require.ErrorContains(t, err, `call "1": the Meta of the result is not valid JSON`)
}
