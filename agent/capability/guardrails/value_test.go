// SPDX-License-Identifier: Apache-2.0

package guardrails_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/guardrails"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// payment has a number and a text that a guard looks for, each in many spellings.
type payment struct {
	Amount float64 `json:"amount"`
	Card   string  `json:"card"`
}

var amounts = []string{
	"1000", "1000.0", "1e3", "1E3", "1e+3", "1E+03", "10e2", "100e1", "0.1e4", "1000.000", "10000e-1", "1000e0", "1.0e3", "0.001e6", "1000000e-3",
}

var cards = []string{
	`4111-1111`, `4111\u002d1111`, `4111\u002D1111`, `\u0034111-1111`, `\u00341\u00311-1111`, `4111-111\u0031`,
	`\u0034\u0031\u0031\u0031\u002d\u0031\u0031\u0031\u0031`,
}

var frames = []string{
	`{"amount":%s,"card":"%s"}`, `{"amount": %s, "card": "%s"}`, "{\n\t\"amount\" :\r\n %s ,\"card\"\t:\"%s\" }\n",
	`{"\u0061mount":%s,"c\u0061rd":"%s"}`,
}

// spellings returns documents that mean the same.
func spellings() (all []string) {
	for i, frame := range frames {
		for j, amount := range amounts {
			all = append(all, fmt.Sprintf(frame, amount, cards[(i+j)%len(cards)]))
		}
	}
	return all
}

// finder blocks what has the amount and the card, by the values or by the text.
func finder(on guardrails.Stage, byText bool, stream int) guardrails.Guard[none] {
	return guardrails.Guard[none]{Name: "finder", On: on, Stream: stream, Check: func(_ context.Context, _ *toolset.RunContext[none], s *guardrails.Subject) (guardrails.Verdict, error) {
		found := s.At("/amount") == json.Number("1000") && s.At("/card") == "4111-1111"
		if byText {
			found = strings.Contains(s.Text, `"amount":1000,"card":"4111-1111"`)
		}
		if found {
			return guardrails.Block("found"), nil
		}
		return guardrails.Pass(), nil
	}}
}

// play runs an agent with a guard, and returns what was shown and the error.
func playValue[O any](t *testing.T, c agent.Config[none, O], g guardrails.Guard[none], streamed bool) (shown string, err error) {
	t.Helper()
	c.Capabilities = []agent.Capability[none]{guardrails.New(g)}
	a, err := agent.New(c)
	require.NoError(t, err)
	if !streamed {
		_, err = a.Run(t.Context(), none{}, "go")
		return "", err
	}
	var b strings.Builder
	s := a.Stream(t.Context(), none{}, "go")
	for e := range s.Events() {
		if e.Kind == agent.EventPartDelta {
			b.WriteString(e.Text)
		}
	}
	_, err = s.Result()
	return b.String(), err
}

func TestGuardsSeeOneValueForAllSpellings(t *testing.T) {
	pay := toolset.Func("pay", "", func(context.Context, *toolset.RunContext[none], payment) (string, error) {
		t.Error("the call has run")
		return "", nil
	})
	for _, text := range spellings() {
		for _, byText := range []bool{false, true} {
			for _, streamed := range []bool{false, true} {
				call := modeltest.Say(model.ToolCall("1", "pay", text))
				_, err := playValue(t, agent.Config[none, string]{Model: modeltest.Script(call), Tools: []*toolset.Tool[none]{pay}}, finder(guardrails.Call, byText, 0), streamed)
				require.ErrorIs(t, err, guardrails.ErrBlocked, "arguments %s", text)

				look := toolset.Func("look", "", func(context.Context, *toolset.RunContext[none], none) (json.RawMessage, error) {
					return json.RawMessage(text), nil
				})
				raw := toolset.Func("raw", "", func(context.Context, *toolset.RunContext[none], none) (toolset.Result, error) {
					return toolset.Result{Text: text, Content: []model.Part{model.User("and more")}}, nil
				})
				for _, tool := range []*toolset.Tool[none]{look, raw} {
					if tool == raw && !byText {
						continue // several texts have no paths
					}
					ask := modeltest.Script(modeltest.Say(model.ToolCall("1", tool.Def.Name, "{}")), modeltest.SayText("ok"))
					_, err = playValue(t, agent.Config[none, string]{Model: ask, Tools: []*toolset.Tool[none]{tool}}, finder(guardrails.Result, byText, 0), streamed)
					require.ErrorIs(t, err, guardrails.ErrBlocked, "result %s", text)
				}

				for _, said := range []string{text, "```json\n" + text + "\n```"} {
					shown, err := playValue(t, agent.Config[none, string]{Model: modeltest.Script(modeltest.SayText(said))}, finder(guardrails.Output, byText, 5), streamed)
					require.ErrorIs(t, err, guardrails.ErrBlocked, "text %s", said)
					require.Empty(t, shown)
				}
				for _, mode := range []agent.OutputMode{agent.OutputTool, agent.OutputPrompted} {
					say := modeltest.Script(modeltest.Say(model.ToolCall("1", "final_result", text)))
					if mode == agent.OutputPrompted {
						say = modeltest.Script(modeltest.SayText(text))
					}
					shown, err := playValue(t, agent.Config[none, payment]{Model: say, Output: agent.Output{Mode: mode}}, finder(guardrails.Output, byText, 0), streamed)
					require.ErrorIs(t, err, guardrails.ErrBlocked, "output %s", text)
					require.Empty(t, shown)
				}
			}
		}
	}
}

func TestReplacementsArePerValueAndLeaveTheRest(t *testing.T) {
	var got payment
	pay := toolset.Func("pay", "", func(_ context.Context, _ *toolset.RunContext[none], in payment) (string, error) {
		got = in
		return "", nil
	})
	for _, text := range spellings() {
		for _, made := range []string{"[card]", `"`, `\`, "}", "\n", "x\",\"amount\":1", ""} {
			g := guardrails.Guard[none]{Name: "cards", On: guardrails.Call, Check: func(_ context.Context, _ *toolset.RunContext[none], s *guardrails.Subject) (guardrails.Verdict, error) {
				return s.Rewrite(func(text string) string { return strings.ReplaceAll(text, "4111-1111", made) }, ""), nil
			}}
			m := modeltest.Script(modeltest.Say(model.ToolCall("1", "pay", text)), modeltest.SayText("ok"))
			_, err := playValue(t, agent.Config[none, string]{Model: m, Tools: []*toolset.Tool[none]{pay}}, g, false)
			require.NoError(t, err)
			require.Equal(t, payment{1000, made}, got, "%s", text)
		}
	}
}

func TestGuardsSeeEveryMemberAndTheirPaths(t *testing.T) {
	text := `{"a/b":[1,{"~":"x"}],"twice":"first","twice":"second","n":null,"t":true,"id":9223372036854775807,"tiny":-0.00,"long":1e400,"forty":-` + strings.Repeat("9", 40) + `,"more":` + strings.Repeat("9", 41) + `,"much":` + strings.Repeat("9", 41) + `0}`
	want := map[string]any{
		"/a~1b/0": json.Number("1"), "/a~1b/1/~0": "x", "/n": nil, "/t": true, "/id": json.Number("9223372036854775807"),
		"/tiny": json.Number("0"), "/long": json.Number("1e400"),
		"/forty": json.Number("-" + strings.Repeat("9", 40)), "/more": json.Number(strings.Repeat("9", 41) + "e0"), "/much": json.Number(strings.Repeat("9", 41) + "e1"),
	}
	var seen []string
	got := map[string]any{}
	g := guardrails.Guard[none]{Name: "all", On: guardrails.Result, Check: func(_ context.Context, _ *toolset.RunContext[none], s *guardrails.Subject) (guardrails.Verdict, error) {
		for path, v := range s.All() {
			if path == "/twice" {
				seen = append(seen, v.(string))
				continue
			}
			got[path] = v
		}
		require.Nil(t, s.At("/nowhere"))
		return guardrails.Pass(), nil
	}}
	look := toolset.Func("look", "", func(context.Context, *toolset.RunContext[none], none) (toolset.Result, error) {
		return toolset.Result{Text: text}, nil
	})
	m := modeltest.Script(modeltest.Say(model.ToolCall("1", "look", "{}")), modeltest.SayText("ok"))
	_, err := playValue(t, agent.Config[none, string]{Model: m, Tools: []*toolset.Tool[none]{look}}, g, false)
	require.NoError(t, err)
	require.True(t, maps.Equal(want, got), "%v", got)
	require.Equal(t, []string{"first", "second"}, seen)
	require.Equal(t, text, m.Requests()[1].Messages[2].Parts[0].Text, "what passes stays as it is")
}

func TestReplacementThatFitsNoValueBlocks(t *testing.T) {
	for name, v := range map[string]guardrails.Verdict{
		"no such path": guardrails.ReplaceValues(map[string]any{"/nowhere": "x"}, ""), "not JSON": guardrails.ReplaceValues(map[string]any{"/amount": func() {}}, ""),
		"text": guardrails.Replace("x", ""),
	} {
		g := guardrails.Guard[none]{Name: "wrong", On: guardrails.Call, Check: func(context.Context, *toolset.RunContext[none], *guardrails.Subject) (guardrails.Verdict, error) {
			return v, nil
		}}
		pay := toolset.Func("pay", "", func(context.Context, *toolset.RunContext[none], payment) (string, error) { return "", nil })
		m := modeltest.Script(modeltest.Say(model.ToolCall("1", "pay", `{"amount":1,"card":"x"}`)))
		_, err := playValue(t, agent.Config[none, string]{Model: m, Tools: []*toolset.Tool[none]{pay}}, g, false)
		require.ErrorIs(t, err, guardrails.ErrBlocked, name)
	}
}

func TestTextThatIsNoDocumentIsStreamed(t *testing.T) {
	long := strings.Repeat("words and more words ", 40)
	for text, held := range map[string]bool{
		long: false, "[1] " + long: false, "```go\n" + long: false, `["` + long + `"]`: true, "  {\"a\":\"" + long + `"}`: true, "```json\n[\"" + long: true,
	} {
		first := ""
		g := guardrails.Guard[none]{Name: "all", On: guardrails.Output, Stream: 8, Check: func(_ context.Context, _ *toolset.RunContext[none], s *guardrails.Subject) (guardrails.Verdict, error) {
			if first == "" {
				first = map[bool]string{true: "partial", false: "whole"}[s.Partial]
			}
			return guardrails.Pass(), nil
		}}
		shown, err := playValue(t, agent.Config[none, string]{Model: modeltest.Script(modeltest.SayText(text))}, g, true)
		require.NoError(t, err)
		require.Equal(t, text, shown)
		require.Equal(t, held, first == "whole", "%.20s", text)
	}
}

// A list is held back until it is whole, wherever it is cut, be it behind a backslash.
func TestListsAreHeldBackWhereverTheyAreCut(t *testing.T) {
	const text = `["a\"b, ]","c\\\\"]`
	for _, cut := range cuts(text) {
		var seen []string
		g := guardrails.Guard[none]{Name: "all", On: guardrails.Output, Stream: 1, Check: func(_ context.Context, _ *toolset.RunContext[none], s *guardrails.Subject) (guardrails.Verdict, error) {
			seen = append(seen, s.Text)
			return guardrails.Pass(), nil
		}}
		shown, err := playValue(t, agent.Config[none, string]{Model: pieces(cut)}, g, true)
		require.NoError(t, err)
		require.Equal(t, text, shown)
		require.Equal(t, []string{text}, seen, "%q", cut)
	}
}

// The guards of docs/guardrails.md.
var documented = regexp.MustCompile(`\d{4}-\d{4}`)

func redactAsDocumented(_ context.Context, _ *toolset.RunContext[none], s *guardrails.Subject) (guardrails.Verdict, error) {
	return s.Rewrite(func(text string) string { return documented.ReplaceAllString(text, "[card]") }, "a card number"), nil
}

func refundsAsDocumented(_ context.Context, _ *toolset.RunContext[none], s *guardrails.Subject) (guardrails.Verdict, error) {
	amount, _ := s.At("/amount").(json.Number)
	if n, err := amount.Float64(); err != nil || n >= 1000 {
		return guardrails.Ask("it is a large refund"), nil
	}
	return guardrails.Pass(), nil
}

func TestGuardsOfTheDocumentationHold(t *testing.T) {
	page, err := os.ReadFile("../../../docs/guardrails.md")
	require.NoError(t, err)
	own, err := os.ReadFile("value_test.go")
	require.NoError(t, err)
	for _, name := range []string{"redact", "refunds"} {
		_, body, _ := strings.Cut(string(own), "func "+name+"AsDocumented(")
		_, body, _ = strings.Cut(body, "\n")
		body, _, _ = strings.Cut(body, "\n}\n")
		require.Contains(t, string(page), strings.ReplaceAll(body, "documented", "card"))
	}
	type refund struct {
		Amount int `json:"amount"`
	}
	refunded := 0
	tool := toolset.Func("refund", "", func(_ context.Context, _ *toolset.RunContext[none], in refund) (string, error) {
		refunded = in.Amount
		return "", nil
	})
	play := func(args string) error {
		refunded = 0
		m := modeltest.Script(modeltest.Say(model.ToolCall("1", "refund", args)), modeltest.SayText("ok"))
		_, err := playValue(t, agent.Config[none, string]{Model: m, Tools: []*toolset.Tool[none]{tool}},
			guardrails.Guard[none]{Name: "refunds", On: guardrails.Call, Tools: []string{"refund"}, Check: refundsAsDocumented}, false)
		return err
	}
	require.NoError(t, play(`{"amount": 999}`))
	require.Equal(t, 999, refunded)
	for _, amount := range append([]string{"1001", "99999999999", "1e9", "-0.5e-7", `"1000"`, "null", "true", "[1000]", "1e999"}, amounts...) {
		for _, frame := range []string{`{"amount":%s}`, "{ \"amount\"\n:\t%s }", `{"\u0061mount":%s}`, `{"amount":1,"amount":%s}`, "```json\n{\"amount\":%s,}\n```"} {
			_ = play(fmt.Sprintf(frame, amount))
			require.Less(t, refunded, 1000, frame, amount)
		}
	}
	for _, c := range cards {
		seen := toolset.Func("look", "", func(context.Context, *toolset.RunContext[none], none) (toolset.Result, error) {
			return toolset.Result{Text: `{"card": "` + c + `", "n": 1}`}, nil
		})
		m := modeltest.Script(modeltest.Say(model.ToolCall("1", "look", "{}")), modeltest.SayText("ok"))
		_, err := playValue(t, agent.Config[none, string]{Model: m, Tools: []*toolset.Tool[none]{seen}},
			guardrails.Guard[none]{Name: "cards", On: guardrails.Result, Check: redactAsDocumented}, false)
		require.NoError(t, err)
		require.Equal(t, `{"card":"[card]","n":1}`, m.Requests()[1].Messages[2].Parts[0].Text)
	}
}
