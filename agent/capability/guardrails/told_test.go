// SPDX-License-Identifier: Apache-2.0

package guardrails_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/guardrails"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// noPassword blocks, or replaces, values with a password.
func noPassword(replace bool) guardrails.Check[any] {
	return func(_ context.Context, _ *toolset.RunContext[any], s *guardrails.Subject) (guardrails.Verdict, error) {
		for _, v := range s.All() {
			if text, _ := v.(string); !replace && strings.Contains(text, "hunter2") {
				return guardrails.Block("a password"), nil
			}
		}
		return s.Rewrite(func(text string) string { return strings.ReplaceAll(text, "hunter2", "***") }, "a password"), nil
	}
}

func TestGuardsSeeAllThatToolsTellTheModel(t *testing.T) {
	for name, c := range map[string]struct {
		res     toolset.Result
		err     error
		outcome model.Outcome
		text    string // after a replacement
	}{
		"a failure":      {err: toolset.Failed("hunter2 is wrong"), outcome: model.OutcomeFailed, text: "*** is wrong"},
		"a denial":       {err: toolset.Denied("hunter2 is wrong"), outcome: model.OutcomeDenied, text: "*** is wrong"},
		"failures":       {err: errors.Join(toolset.Failed("no"), fmt.Errorf("db: %w", toolset.Failed("hunter2"))), outcome: model.OutcomeFailed, text: "no\n***"},
		"a retry":        {err: toolset.Retry("hunter2 is wrong"), text: "*** is wrong"},
		"a JSON string":  {res: toolset.Result{Text: ` "hunter\u0032"`}, text: `"***"`},
		"a quoted text":  {res: toolset.Result{Text: `"hunter2" is wrong`}, text: `"***" is wrong`},
		"a JSON object":  {res: toolset.Result{Text: `{"n":1.50,"is":"hunter\u0032"}`}, text: `{"n":1.50,"is":"***"}`},
		"another result": {res: toolset.Result{Text: "all is well", Outcome: model.OutcomeFailed}, outcome: model.OutcomeFailed, text: "all is well"},
	} {
		for _, replace := range []bool{false, true} {
			tool := &toolset.Tool[any]{Def: model.ToolDef{Name: "t", Description: "t", Schema: json.RawMessage(`{"type":"object"}`)}}
			tool.Call = func(context.Context, *toolset.RunContext[any], any) (toolset.Result, error) { return c.res, c.err }
			m := modeltest.Capture(modeltest.Script(modeltest.Say(model.ToolCall("1", "t", `{}`)), modeltest.SayText("ok")))
			a := agent.Must(agent.New(agent.Config[any, string]{Model: m, Tools: []*toolset.Tool[any]{tool}}))
			house := guardrails.Policy("house", guardrails.Guard[any]{Name: "secrets", On: guardrails.Result, Check: noPassword(replace)})
			_, err := a.Run(t.Context(), nil, "go", agent.WithPolicies(house))
			if !replace && c.text != "all is well" {
				require.ErrorIs(t, err, guardrails.ErrBlocked, name)
				continue
			}
			require.NoError(t, err, name)
			told := m.Last().Messages[2].Parts[0]
			require.Equal(t, c.text, told.Text, name)
			if told.Kind == model.PartToolReturn && c.outcome != "" {
				require.Equal(t, c.outcome, told.Outcome, name)
			}
		}
	}
}

// What is repaired to a document at its end is one while it is written.
func TestNothingOfADocumentIsStreamedBeforeItIsComplete(t *testing.T) {
	pad := strings.Repeat("x", 300)
	object := `{"pad":"` + pad + `","is":"hunter\u0032","more":"` + pad + `"}`
	for _, text := range []string{
		object, "[" + object + "]", "[[1,]," + object + "]", `[{"a":"\"]",} , ` + object + "]", "[1" + strings.Repeat("0", 400) + "," + object + "]",
		"```js\n" + object + "\n```", "```JSON " + object + "```", "\n```text\r\n[1,[2,]," + object + "]\n```", "```\n\u00a0" + object + "```", "\u00a0\f" + object,
		strings.TrimSuffix(object, "}"),
	} {
		for _, chunk := range []int{1, 7, len(text)} {
			m := model.Func(model.Info{Provider: "p", Name: "m"}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
				for i := 0; i < len(text); i += chunk {
					if err := sink(model.Delta{Kind: model.PartText, Text: text[i:min(len(text), i+chunk)]}); err != nil {
						return nil, err
					}
				}
				return model.Response(model.Text(text)), nil
			})
			a := agent.Must(agent.New(agent.Config[any, string]{Model: m}))
			house := guardrails.Policy("house", guardrails.Guard[any]{Name: "secrets", On: guardrails.Output, Stream: 40, Check: noPassword(false)})
			s := a.Stream(t.Context(), nil, "go", agent.WithPolicies(house))
			for e := range s.Events() {
				require.NotEqual(t, agent.EventPartDelta, e.Kind, text)
			}
			_, err := s.Result()
			require.ErrorIs(t, err, guardrails.ErrBlocked, text)
		}
	}
}

// Texts that begin like documents and are none are streamed.
func TestTextsThatAreNoDocumentsAreStreamed(t *testing.T) {
	for _, begin := range []string{"[1] says: ", "[note] ", "```go\nfunc ", `"Well", `, "[1,], ", "``code`` "} {
		text := begin + strings.Repeat("x", 1000)
		m := modeltest.Script(modeltest.SayText(text))
		a := agent.Must(agent.New(agent.Config[any, string]{Model: m}))
		house := guardrails.Policy("house", guardrails.Guard[any]{Name: "secrets", On: guardrails.Output, Stream: 40, Check: func(_ context.Context, _ *toolset.RunContext[any], s *guardrails.Subject) (guardrails.Verdict, error) {
			if !s.Partial {
				return guardrails.Block("at the end"), nil
			}
			return guardrails.Pass(), nil
		}})
		shown := ""
		s := a.Stream(t.Context(), nil, "go", agent.WithPolicies(house))
		for e := range s.Events() {
			if e.Kind == agent.EventPartDelta {
				shown += e.Text
			}
		}
		_, err := s.Result()
		require.ErrorIs(t, err, guardrails.ErrBlocked)
		require.Contains(t, shown+" ", begin, begin)
	}
}

func TestZeroHasOneSpelling(t *testing.T) {
	for _, zero := range []string{"0", "-0", "0.0", "-0.00e7", "0e99999999999999999999", "0E-99999999999999999999"} {
		m := modeltest.Script(modeltest.Say(model.ToolCall("1", "t", `{"n":`+zero+`}`)), modeltest.SayText("ok"))
		tool := toolset.Raw("t", "t", json.RawMessage(`{"type":"object"}`), func(context.Context, *toolset.RunContext[any], json.RawMessage) (toolset.Result, error) {
			return toolset.Result{}, nil
		})
		a := agent.Must(agent.New(agent.Config[any, string]{Model: m, Tools: []*toolset.Tool[any]{tool}}))
		house := guardrails.Policy("house", guardrails.Guard[any]{Name: "zero", On: guardrails.Call, Check: func(_ context.Context, _ *toolset.RunContext[any], s *guardrails.Subject) (guardrails.Verdict, error) {
			require.Equal(t, json.Number("0"), s.At("/n"), zero)
			return guardrails.Pass(), nil
		}})
		_, err := a.Run(t.Context(), nil, "go", agent.WithPolicies(house))
		require.NoError(t, err)
	}
}
