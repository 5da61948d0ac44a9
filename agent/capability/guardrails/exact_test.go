// SPDX-License-Identifier: Apache-2.0

package guardrails_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/guardrails"
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// Equal numbers have one spelling, up to 40 places on either side of the point. A number whose exponent is past all use stays as it is.
func TestNumbersHaveOneSpelling(t *testing.T) {
	zeros := func(n int) string { return strings.Repeat("0", n) }
	for spelled, want := range map[string]string{
		"0": "0", "-0": "0", "0.000": "0", "-0e7": "0", "7": "7", "-5": "-5", "-1.50": "-1.5", "-1e-3": "-0.001", "-2e3": "-2000",
		"123.4500": "123.45", "0.00012": "0.00012", "12e-1": "1.2", "12e-2": "0.12", "12e-3": "0.012", "100e-2": "1", "1200e-1": "120",
		"1e39": "1" + zeros(39), "1e40": "1e40", "12e38": "12" + zeros(38), "12e39": "12e39", "-1e40": "-1e40", "1" + zeros(40): "1e40",
		"1e-40": "0." + zeros(39) + "1", "1e-41": "1e-41", "12e-41": "0." + zeros(39) + "12", "12e-42": "12e-42", "-1.0e-50": "-1e-50",
		"10e1073741824": "1e1073741825", "10e1073741825": "10e1073741825", "10e-1073741824": "1e-1073741823", "10e-1073741825": "10e-1073741825",
		"10E99999999999999999999": "10E99999999999999999999",
	} {
		var seen any
		var text string
		g := guard{Name: "g", On: output, Check: func(_ context.Context, _ *toolset.RunContext[none], s *subject) (verdict, error) {
			seen, text = s.At("/0"), s.Text
			return guardrails.ReplaceValues(map[string]any{"/1": "y"}, ""), nil
		}}
		res, err := newAgent(t, speaker(says("["+spelled+`,"x"]`)), g).Run(t.Context(), none{}, "go")
		require.NoError(t, err)
		require.Equal(t, json.Number(want), seen, spelled)
		require.Equal(t, "["+want+`,"x"]`, text)
		require.Equal(t, "["+spelled+`,"y"]`, res.Output, "what is not replaced stays as it was written")
	}
}

func TestErrorsOfGuardsSayWhatIsWrong(t *testing.T) {
	_, err := agent.New(config(modeltest.Script(),
		guard{On: output}, guard{Name: "a", Check: redact}, guard{Name: "a", On: 31, Check: redact, Parallel: true}, guard{Name: "b", On: output, Check: redact, Stream: -1, Parallel: true},
		guard{Name: "c", On: call, Check: redact, Stream: 1, Timeout: -time.Second, Tools: []string{"ok*", "[", "x["}},
		guard{Name: "fine", On: output | input, Check: redact, Stream: 1, Parallel: true, Timeout: 1, Tools: []string{"*"}},
	))
	for _, line := range []string{
		`guardrails: guard 0 has no name`, `guardrails: "": Check is nil`,
		`guardrails: "a": On is Stage(0); use Input, Output, Call and Result`,
		`guardrails: "a": there are two guards of this name`, `guardrails: "a": On is Stage(31); use Input, Output, Call and Result`,
		`guardrails: "b": Parallel needs On to have Input`, `guardrails: "b": Stream is -1; it must not be negative, and needs On to have Output`,
		`guardrails: "c": Stream is 1; it must not be negative, and needs On to have Output`, `guardrails: "c": Timeout is -1s; it must not be negative`,
		`guardrails: "c": "[" is not a pattern for names of tools`, `guardrails: "c": "x[" is not a pattern for names of tools`,
	} {
		require.Equal(t, 1, strings.Count(err.Error(), line), "%s in %v", line, err)
	}
	require.Equal(t, 11, strings.Count(err.Error(), "guardrails: "), err)
	require.NotContains(t, err.Error(), "fine")
}

func TestBlockedErrorsTellPeopleAndPrograms(t *testing.T) {
	boom := errors.New("boom")
	for _, c := range []struct {
		e             guardrails.BlockedError
		text, refused string
	}{
		{guardrails.BlockedError{Guard: "g", Stage: input}, `guardrails: input blocked by "g"`, `The input was blocked by the guardrail "g".`},
		{guardrails.BlockedError{Guard: "g", Stage: output, Reason: "No."}, `guardrails: output blocked by "g": No.`, `The output was blocked by the guardrail "g": No.`},
		{guardrails.BlockedError{Guard: "g", Stage: call, Tool: "pay", Reason: "no", Err: boom}, `guardrails: call of tool "pay" blocked by "g": no: boom`, `The call was blocked by the guardrail "g": no.`},
		{guardrails.BlockedError{Guard: "g", Stage: result, Tool: "pay", Err: boom}, `guardrails: result of tool "pay" blocked by "g": boom`, `The result was blocked by the guardrail "g".`},
	} {
		require.EqualError(t, &c.e, c.text)
		require.Equal(t, c.refused, c.e.Refused())
		require.ErrorIs(t, &c.e, guardrails.ErrBlocked)
		require.Equal(t, c.e.Err != nil, errors.Is(&c.e, boom))
		require.Equal(t, c.e.Stage == input, errors.Is(&c.e, agent.ErrContentFilter))
		for _, one := range c.e.Unwrap() {
			require.Error(t, one)
		}
	}
}

// What a person is asked about a text has its place, the reasons of all guards, and the text.
func TestPeopleSeeWhatGuardsAskAbout(t *testing.T) {
	script := modeltest.Script(modeltest.Say(model.ToolCall("c1", "echo", `{"text":"x"}`)), modeltest.SayText("Done."))
	var seen []toolset.Question
	a := newAgent(t, script, guard{Name: "a", On: result, Check: always(guardrails.Ask("odd"))}, guard{Name: "b", On: result | output, Check: always(guardrails.Ask("late"))})
	_, err := a.Run(t.Context(), none{}, "Hello.", person("Let it pass", nil, &seen))
	require.NoError(t, err)
	require.Len(t, seen, 2)
	require.Equal(t, "The guardrail a, b asks you to decide about the result of the tool echo: odd; late\n\n  said x⟨LF⟩\n  shown x", seen[0].Message)
	require.Equal(t, "The guardrail b asks you to decide about the output: late\n\n  Done.", seen[1].Message)
	require.JSONEq(t, `{"type":"object","properties":{"answer":{"type":"string","title":"Answer","enum":["Let it pass","Block it"]}},"required":["answer"]}`, string(seen[0].Schema))

	for name, reply := range map[string]toolset.Reply{
		"declined": {Action: toolset.ActionDecline, Content: json.RawMessage(`{"answer":"Let it pass"}`)}, "no form": {Action: toolset.ActionAccept, Content: json.RawMessage(`[]`)},
		"the other answer": {Action: toolset.ActionAccept, Content: json.RawMessage(`{"answer":"Block it"}`)},
	} {
		_, err := newAgent(t, modeltest.Script(modeltest.SayText("x")), guard{Name: "g", On: output, Check: always(guardrails.Ask("odd"))}).Run(t.Context(), none{}, "go",
			agent.WithAsker(toolset.AskerFuncs{OnAnswer: func(context.Context, toolset.Question) (toolset.Reply, error) { return reply, nil }}))
		require.ErrorContains(t, err, `guardrails: output blocked by "g": odd (not allowed by the person who was asked)`, name)
	}
}

// bill has members that are left out when they are empty.
type bill struct {
	Card  string         `json:"card,omitempty"`
	Paid  bool           `json:"paid,omitempty"`
	Sum   int            `json:"sum,omitempty"`
	Items []string       `json:"items,omitempty"`
	Notes map[string]int `json:"notes,omitempty"`
	Of    *note          `json:"of,omitempty"`
}

// Whether a document spells out what is empty makes no other output of it, nor does the order of its members. Another value does.
func TestOutputsAreCheckedOnceInAnySpelling(t *testing.T) {
	asked := 0
	count := guard{Name: "count", On: output, Check: func(context.Context, *toolset.RunContext[none], *subject) (verdict, error) {
		asked++
		return guardrails.Pass(), nil
	}}
	for _, args := range []string{
		`{"sum":7,"card":"x"}`, `{"card":"x","paid":false,"sum":7,"items":[],"notes":{},"of":null}`, `{"items":["a","b"],"of":{"text":"x"},"card":"","sum":0}`,
		`{"notes":{"b":1,"a":2}}`, `{"of":{"text":""}}`, `{"items":["","x"]}`,
	} {
		for changed, want := range map[bool]int{false: 1, true: 2} {
			asked = 0
			_, err := agent.Must(agent.New(agent.Config[none, bill]{
				Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "final_result", args))), Capabilities: []agent.Capability[none]{guardrails.New(count)},
				Validators: []agent.Validator[none, bill]{func(_ context.Context, _ *toolset.RunContext[none], b bill) (bill, error) {
					if changed {
						b.Items = append(b.Items, "more")
					}
					return b, nil
				}},
			})).Run(t.Context(), none{}, "go")
			require.NoError(t, err)
			require.Equal(t, want, asked, "%s changed %t", args, changed)
		}
	}
	asked = 0
	_, err := agent.Must(agent.New(agent.Config[none, []string]{
		Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "final_result", `{"value":["a","b"]}`))), Capabilities: []agent.Capability[none]{guardrails.New(count)},
		Validators: []agent.Validator[none, []string]{func(_ context.Context, _ *toolset.RunContext[none], l []string) ([]string, error) {
			return []string{l[1], l[0]}, nil
		}},
	})).Run(t.Context(), none{}, "go")
	require.NoError(t, err)
	require.Equal(t, 2, asked, "the order of a list counts")
}

// made returns the output of an agent whose function makes it.
func made[O any](t *testing.T, value O, g guard) (O, error) {
	t.Helper()
	res, err := agent.Must(agent.New(agent.Config[none, O]{
		Model:        modeltest.Script(modeltest.Say(model.ToolCall("1", "make", "{}"))),
		Alternatives: []agent.Alternative[none, O]{agent.OutputFunc("make", "", func(context.Context, *toolset.RunContext[none], none) (O, error) { return value, nil })},
		Capabilities: []agent.Capability[none]{guardrails.New(g)},
	})).Run(t.Context(), none{}, "go")
	if err != nil {
		var zero O
		return zero, err
	}
	return res.Output, nil
}

type label string

// formless has no JSON form, and shows its card only to who prints it.
type formless struct {
	Card string
	F    func() `json:"f"`
}

// What a function returns is checked and replaced in whatever type it has.
func TestOutputsOfFunctionsAreReplacedInTheirType(t *testing.T) {
	rewrite := guard{Name: "g", On: output, Check: func(_ context.Context, _ *toolset.RunContext[none], s *subject) (verdict, error) {
		return s.Rewrite(func(text string) string { return strings.ReplaceAll(text, secret, "[card]") }, ""), nil
	}}
	text, err := made(t, label("It is "+secret), rewrite)
	require.NoError(t, err)
	require.Equal(t, label("It is [card]"), text)
	b, err := made(t, bill{Card: secret, Sum: 7, Items: []string{"x", secret}}, rewrite)
	require.NoError(t, err)
	require.Equal(t, bill{Card: "[card]", Sum: 7, Items: []string{"x", "[card]"}}, b)
	list, err := made(t, []string{secret, "y"}, rewrite)
	require.NoError(t, err)
	require.Equal(t, []string{"[card]", "y"}, list)
	words, err := made(t, map[string]string{"a": secret}, rewrite)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "[card]"}, words)

	only := func(v verdict) guard {
		return guard{Name: "g", On: output, Check: func(_ context.Context, _ *toolset.RunContext[none], s *subject) (verdict, error) {
			if s.Tool == "make" && s.Text == "{}" { // the arguments of the function
				return guardrails.Pass(), nil
			}
			return v, nil
		}}
	}
	n, err := made(t, 7, only(guardrails.Replace("8", "")))
	require.NoError(t, err)
	require.Equal(t, 8, n)
	_, err = made(t, 7, only(guardrails.Replace(`"eight"`, "")))
	require.ErrorContains(t, err, `output of tool "make" blocked by "g": the replacement is not a valid output: `)
	_, err = made(t, bill{Sum: 7}, only(guardrails.Replace(`{"sum":"x"}`, "")))
	require.ErrorContains(t, err, "the replacement is not a valid output: ")
	_, err = made(t, formless{Card: secret}, guard{Name: "g", On: output, Check: redact})
	require.ErrorContains(t, err, `guardrails: output blocked by "g": an output without a JSON form cannot be replaced`)
	_, err = made(t, formless{Card: "none"}, guard{Name: "g", On: output, Check: redact})
	require.NoError(t, err)
	empty, err := made(t, "", guard{Name: "g", On: output, Check: func(_ context.Context, _ *toolset.RunContext[none], s *subject) (verdict, error) {
		require.Equal(t, "{}", s.Text, "there is nothing to check in an empty output")
		return guardrails.Pass(), nil
	}})
	require.NoError(t, err)
	require.Empty(t, empty)
}

// Arguments that are no JSON are seen as they are, and what replaces them must be JSON.
func TestReplacedArgumentsAreJSON(t *testing.T) {
	for with, want := range map[string]string{`{"text":"y"}`: "", "no JSON": `guardrails: call of tool "echo" blocked by "g": the replacement is not JSON`} {
		script := modeltest.Script(modeltest.Say(model.ToolCall("c1", "echo", `oops`)), modeltest.SayText("Done."))
		_, err := newAgent(t, script, guard{Name: "g", On: call, Check: always(guardrails.Replace(with, ""))}).Run(t.Context(), none{}, "go")
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, want)
		require.Len(t, script.Requests(), 1)
	}
	script := modeltest.Script(modeltest.Say(model.ToolCall("c1", "echo", `{"text":"x"}`)))
	_, err := newAgent(t, script, guard{Name: "g", On: call, Check: always(guardrails.Replace("x", ""))}).Run(t.Context(), none{}, "go")
	require.ErrorContains(t, err, "the replacement is not JSON: use Rewrite or ReplaceValues")
	for name, values := range map[string]map[string]any{"not a string": {"": 1}, "another path": {"/a": "x"}, "two": {"": "x", "/a": "y"}} {
		_, err := newAgent(t, speaker(says("text")), guard{Name: "g", On: output, Check: always(guardrails.ReplaceValues(values, ""))}).Run(t.Context(), none{}, "go")
		require.ErrorContains(t, err, `the subject is text: its only value has the path "" and is a string`, name)
	}
	for path, value := range map[string]any{`there is no value at "/b"`: nil, `the value for "/a": json: unsupported type: func()`: func() {}} {
		at := "/b"
		if value != nil {
			at = "/a"
		}
		_, err := newAgent(t, speaker(says(`{"a":1}`)), guard{Name: "g", On: output, Check: always(guardrails.ReplaceValues(map[string]any{at: value}, ""))}).Run(t.Context(), none{}, "go")
		require.ErrorContains(t, err, path)
	}
}

// A text in the place of a document in a response or a result becomes a JSON string, unless it is JSON.
func TestTextInThePlaceOfADocumentIsAString(t *testing.T) {
	for with, want := range map[string]string{"gone <b>": `"gone <b>"`, `{"b":2}`: `{"b":2}`, `"x"`: `"x"`} {
		res, err := newAgent(t, speaker(says(`{"a":1}`)), guard{Name: "g", On: output, Check: always(guardrails.Replace(with, ""))}).Run(t.Context(), none{}, "go")
		require.NoError(t, err)
		require.Equal(t, want, res.Output)
	}
	res, err := newAgent(t, speaker(says(`"a"`)), guard{Name: "g", On: output, Check: always(guardrails.Replace("gone", ""))}).Run(t.Context(), none{}, "go")
	require.NoError(t, err)
	require.Equal(t, "gone", res.Output, "a string is a text")
}

// A denial and a question about one call: nobody is asked about what does not happen.
func TestDeniedCallsAreNotAskedAboutByGuards(t *testing.T) {
	var asked []toolset.ApprovalRequest
	asker := agent.WithAsker(toolset.AskerFuncs{OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
		asked = append(asked, r)
		return toolset.Allow(), nil
	}})
	for _, c := range []struct {
		guards []guard
		want   string
	}{
		{[]guard{{Name: "a", On: call, Check: always(guardrails.Ask("odd"))}, {Name: "b", On: call, Check: always(guardrails.Deny("no"))}}, `Not executed: no (guardrail "b"). Do not try to do the same in another way.`},
		{[]guard{{Name: "a", On: call, Check: always(guardrails.Pass())}}, "paid"},
		{[]guard{{Name: "a", On: call, Check: always(guardrails.Ask("odd"))}}, "paid"},
	} {
		asked = nil
		cfg := config(modeltest.Script(modeltest.Say(model.ToolCall("c1", "pay", `{"text":"x"}`)), modeltest.SayText("Done.")), c.guards...)
		cfg.Tools = []*toolset.Tool[none]{toolset.Func("pay", "Pay.", func(context.Context, *toolset.RunContext[none], echoArgs) (string, error) { return "paid", nil }, needsApproval)}
		res, err := agent.Must(agent.New(cfg)).Run(t.Context(), none{}, "Pay.", asker)
		require.NoError(t, err)
		require.Equal(t, c.want, res.Messages[2].Parts[0].Text)
		for _, r := range asked {
			require.Equal(t, len(c.guards) == 1 && c.want == "paid" && strings.Contains(r.Approval.Reason, "odd"), strings.Contains(r.Approval.Source, guardrails.Source), r.Approval)
		}
	}
}

// What the model is told of arguments that somebody has changed to something that the guards do not let pass.
func TestChangedArgumentsAreDeniedInWords(t *testing.T) {
	for name, c := range map[string]struct {
		v    verdict
		want string
	}{
		"replaced": {guardrails.Replace(`{"text":"y"}`, ""), `Not executed: these arguments are not allowed (guardrail "g").`},
		"denied":   {guardrails.Deny("a card"), `Not executed: a card (guardrail "g"). Do not try to do the same in another way.`},
		"asked":    {guardrails.Ask("a card"), `Not executed: it needs the approval of a person (guardrail g).`},
		"passed":   {guardrails.Pass(), "said changed"},
	} {
		cfg := config(modeltest.Script(modeltest.Say(model.ToolCall("c1", "echo", `{"text":"x"}`)), modeltest.SayText("Done.")),
			guard{Name: "g", On: call, Check: func(_ context.Context, _ *toolset.RunContext[none], s *subject) (verdict, error) {
				if s.At("/text") == "changed" {
					require.Equal(t, "echo", s.Tool)
					require.Equal(t, "c1", s.CallID)
					return c.v, nil
				}
				return guardrails.Pass(), nil
			}})
		cfg.Tools = nil
		cfg.Toolsets = []toolset.Toolset[none]{toolset.Wrapped(toolset.Of(echo), func(ctx context.Context, _ *toolset.RunContext[none], _ any, next toolset.CallFunc) (toolset.Result, error) {
			return next(ctx, echoArgs{"changed"})
		})}
		res, err := agent.Must(agent.New(cfg)).Run(t.Context(), none{}, "go")
		require.NoError(t, err, name)
		require.Equal(t, c.want, res.Messages[2].Parts[0].Text, name)
	}
}

// Pictures of a prompt are checked with its text, and alone, before the request or beside it.
func TestMediaOfPromptsAreChecked(t *testing.T) {
	picture := model.Media("image/png", []byte{1, 2, 3})
	for _, parallel := range []bool{false, true} {
		for prompt, want := range map[string]string{"See.": "See.\nThis.", "": "This."} {
			var saw []subject
			_, err := newAgent(t, modeltest.Script(modeltest.SayText("Done.")), guard{Name: "g", On: input, Parallel: parallel, Check: asking(&saw, func(*subject) verdict { return guardrails.Pass() })}).
				Run(t.Context(), none{}, prompt, agent.WithParts(picture, model.User("This.")))
			require.NoError(t, err)
			require.Len(t, saw, 1)
			require.Equal(t, want, saw[0].Text)
			require.Equal(t, []model.Part{picture}, saw[0].Media)
		}
		var saw []subject
		_, err := newAgent(t, modeltest.Script(modeltest.SayText("Done.")), guard{Name: "g", On: input, Parallel: parallel, Check: asking(&saw, func(*subject) verdict { return guardrails.Block("no") })}).
			Run(t.Context(), none{}, "", agent.WithParts(picture))
		require.ErrorIs(t, err, guardrails.ErrBlocked)
		require.Len(t, saw, 1)
		require.Equal(t, []model.Part{picture}, saw[0].Media)
	}
	res, err := newAgent(t, modeltest.Script(modeltest.SayText("Done.")), guard{Name: "g", On: input, Check: always(guardrails.Replace("Hidden.", ""))}).
		Run(t.Context(), none{}, "See.", agent.WithParts(picture, model.User("This.")))
	require.NoError(t, err)
	require.Equal(t, []model.Part{model.User("Hidden."), picture}, res.Messages[0].Parts, "media stay")
}

// A loop that is repeated would ask a model again and again about its input. With Parallel, the input is checked with the request.
func TestModelsDoNotCheckTheInputOfARepeatedLoop(t *testing.T) {
	run := &toolset.RunContext[none]{RunInfo: toolset.RunInfo{Meter: new(toolset.Meter)}}
	check := guardrails.ByModel[none](guardrails.ModelCheck{Policy: "No cards.", Model: speaker(says(`{"verdict":"pass"}`))})
	loop := engine.WithPart(t.Context(), engine.LoopOnly)
	_, err := check(loop, run, &subject{Stage: input, Text: "x"})
	require.EqualError(t, err, "the loop of this run is repeated, and would ask the model each time: set Guard.Parallel, and the input is checked with the request")
	v, err := check(loop, run, &subject{Stage: output, Text: "x"})
	require.NoError(t, err)
	require.Equal(t, guardrails.Pass(), v)
	v, err = check(t.Context(), run, &subject{Stage: input, Text: "x"})
	require.NoError(t, err)
	require.Equal(t, guardrails.Pass(), v)
}

// What the judge is told: its role with the stage, the policy, and the text with the tool.
func TestJudgesAreToldTheirRole(t *testing.T) {
	run := &toolset.RunContext[none]{RunInfo: toolset.RunInfo{Meter: new(toolset.Meter)}}
	judge := modeltest.Script(modeltest.SayText(`{"verdict":"pass"}`), modeltest.SayText(`{"verdict":"ask","reason":"hm"}`), modeltest.SayText(`{"verdict":"block","reason":"no"}`))
	check := guardrails.ByModel[none](guardrails.ModelCheck{Policy: "No cards.", Model: judge, MaxBytes: 30})
	for _, c := range []struct {
		s    subject
		want verdict
	}{
		{subject{Stage: input, Text: "ten bytes!"}, guardrails.Pass()}, {subject{Stage: result, Tool: "pay", Text: "x"}, guardrails.Ask("hm")}, {subject{Stage: result, Tool: "pay", Text: "x"}, guardrails.Block("no")},
	} {
		v, err := check(t.Context(), run, &c.s)
		require.NoError(t, err)
		require.Equal(t, c.want, v)
		all := judge.Requests()
		req := all[len(all)-1]
		for _, part := range []string{fmt.Sprintf("You check the %s of an AI agent by a policy. You do nothing else.", c.s.Stage), "No cards.", "the policy allows it", "the policy forbids it", "the policy does not say, or you are not sure"} {
			require.Contains(t, req.Instructions, part)
		}
		require.Equal(t, c.s.Tool != "", strings.Contains(req.Messages[0].Parts[0].Text, `"tool"`))
	}
	_, err := check(t.Context(), run, &subject{Stage: input, Text: strings.Repeat("x", 31)})
	require.ErrorContains(t, err, "too long")
}

// Prompts, thoughts and parts of texts are texts, whatever they look like. Answers, arguments and results are documents if they are JSON: a
// result also if it is a string.
func TestSubjectsAreTextsOrDocuments(t *testing.T) {
	const doc, one = `{ "n": 1.0 }`, `{"n":1}`
	saw := map[string][]subject{}
	check := func(_ context.Context, _ *toolset.RunContext[none], s *subject) (verdict, error) {
		key := s.Stage.String()
		if s.Thinking {
			key = "thinking"
		}
		saw[key] = append(saw[key], *s)
		return guardrails.Pass(), nil
	}
	for text, c := range map[string]struct {
		seen string
		at   any
	}{doc: {one, nil}, `"quoted"`: {`"quoted"`, "quoted"}, ` "\u0061"`: {`"a"`, "a"}, `5.0`: {`5.0`, "5.0"}, `true`: {"true", "true"}, `x`: {"x", "x"}} {
		clear(saw)
		tool := toolset.Func("look", "", func(context.Context, *toolset.RunContext[none], none) (toolset.Result, error) {
			return toolset.Result{Text: text}, nil
		})
		cfg := config(modeltest.Script(modeltest.Say(model.Thinking(doc), model.Text(doc), model.ToolCall("1", "look", `{ }`)), modeltest.SayText(`"quoted"`)), guard{Name: "g", On: input | output | call | result, Check: check})
		cfg.Tools = []*toolset.Tool[none]{tool}
		res, err := agent.Must(agent.New(cfg)).Run(t.Context(), none{}, doc)
		require.NoError(t, err)
		require.Equal(t, text, res.Messages[2].Parts[0].Text)
		require.Equal(t, doc, saw["input"][0].Text)
		require.Equal(t, doc, saw["input"][0].At(""))
		require.Equal(t, doc, saw["thinking"][0].Text)
		require.Equal(t, one, saw["output"][0].Text)
		require.Equal(t, json.Number("1"), saw["output"][0].At("/n"))
		require.Equal(t, `"quoted"`, saw["output"][1].At(""), "an answer that is a string is a text")
		require.Equal(t, "{}", saw["call"][0].Text)
		require.Equal(t, c.seen, saw["result"][0].Text)
		require.Equal(t, c.at, saw["result"][0].At(""), text)
	}
}

// What a tool tells the model of its failure reaches it when it passes, with the outcome that the tool chose.
func TestFailuresThatPassAreTold(t *testing.T) {
	for want, err := range map[model.Outcome]error{model.OutcomeFailed: toolset.Failed("no luck"), model.OutcomeDenied: toolset.Denied("no luck")} {
		o := playNoisy(t, func() (toolset.Result, error) { return toolset.Result{}, err }, guard{Name: "g", On: result, Check: always(guardrails.Pass())})
		require.NoError(t, o.err)
		require.Equal(t, want, o.res.Messages[2].Parts[0].Outcome)
		require.Equal(t, "no luck", o.res.Messages[2].Parts[0].Text)
	}
	o := playNoisy(t, func() (toolset.Result, error) { return toolset.Result{}, toolset.Retry("again") }, guard{Name: "g", On: result, Check: always(guardrails.Pass())})
	require.NoError(t, o.err)
	require.Equal(t, model.PartRetry, o.res.Messages[2].Parts[0].Kind)
	require.Equal(t, "again", o.res.Messages[2].Parts[0].Text)
}

// Arguments that a hook has made of something without a JSON form cannot be checked, so they do not pass a guard of calls.
func TestChangedArgumentsWithoutAFormAreBlocked(t *testing.T) {
	for on, blocks := range map[guardrails.Stage]bool{call: true, result: false, output: false} {
		cfg := config(modeltest.Script(modeltest.Say(model.ToolCall("c1", "echo", `{"text":"x"}`)), modeltest.SayText("Done.")), guard{Name: "g", On: on, Check: always(guardrails.Pass())})
		cfg.Tools = nil
		cfg.Toolsets = []toolset.Toolset[none]{toolset.Wrapped(toolset.Wrapped(toolset.Of(echo), func(ctx context.Context, _ *toolset.RunContext[none], _ any, next toolset.CallFunc) (toolset.Result, error) {
			return next(ctx, echoArgs{"y"})
		}), func(ctx context.Context, _ *toolset.RunContext[none], _ any, next toolset.CallFunc) (toolset.Result, error) {
			return next(ctx, func() {})
		})}
		_, err := agent.Must(agent.New(cfg)).Run(t.Context(), none{}, "go")
		if !blocks {
			require.NotErrorIs(t, err, guardrails.ErrBlocked)
			continue
		}
		require.ErrorContains(t, err, `guardrails: call of tool "echo" blocked by "": a hook has changed the arguments to something that cannot be checked: `)
	}
}
