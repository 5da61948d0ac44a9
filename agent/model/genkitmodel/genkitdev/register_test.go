// SPDX-License-Identifier: Apache-2.0

package genkitdev_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/invopop/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel/genkitdev"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

type forecast struct {
	City    string   `json:"city" jsonschema:"description=Where it is."`
	Degrees int64    `json:"degrees"`
	Notes   []string `json:"notes,omitempty"`
}

func TestAgentIsListedWithSchemas(t *testing.T) {
	name, _ := register(t, agent.Config[deps, forecast]{Model: modeltest.Script()}, genkitdev.Options[deps]{Prompt: "Oslo?"})
	resp, err := client.Get(reflection + "/api/actions")
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	var actions map[string]struct {
		Name                      string
		InputSchema, OutputSchema json.RawMessage
	}
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&actions))
	flow := actions["/flow/"+name]
	require.Equal(t, name, flow.Name)
	var in, out struct {
		Type       string
		Properties map[string]map[string]any
		Required   []string
	}
	require.NoError(t, json.Unmarshal(flow.InputSchema, &in))
	require.Equal(t, "object", in.Type)
	require.Equal(t, "string", in.Properties["prompt"]["type"])
	require.Equal(t, "Oslo?", in.Properties["prompt"]["default"])
	require.Equal(t, "array", in.Properties["history"]["type"])
	require.Contains(t, in.Properties, "results")
	require.Empty(t, in.Required)

	require.NoError(t, json.Unmarshal(flow.OutputSchema, &out))
	require.Equal(t, "array", out.Properties["messages"]["type"])
	require.Contains(t, out.Properties["usage"]["properties"], "input_tokens")
	city := asJSON(t, out.Properties["output"])
	require.Contains(t, city, `"city":{"description":"Where it is.","type":"string"}`)
	require.NotContains(t, out.Required, "output")
}

func TestRunReturnsOutputUsageAndHistory(t *testing.T) {
	captured := modeltest.Capture(modeltest.Script(
		modeltest.Say(model.ToolCall("1", "count", `{"n":9007199254740993}`)),
		modeltest.Say(model.ToolCall("2", "final_result", `{"city":"Oslo","degrees":-3}`)),
		modeltest.Say(model.ToolCall("3", "final_result", `{"city":"Bergen","degrees":5}`)),
	))
	type number struct {
		N int64 `json:"n"`
	}
	count := toolset.Func("count", "Counts.", func(_ context.Context, run *toolset.RunContext[deps], in number) (string, error) {
		return fmt.Sprint(run.Deps.user, in.N), nil
	})
	name, _ := register(t, agent.Config[deps, forecast]{Name: "forecaster", Model: captured, Toolsets: tools(count)}, genkitdev.Options[deps]{
		Deps: func(context.Context) (deps, error) { return deps{"ada"}, nil },
		Run:  []agent.RunOption{agent.WithConversationID("talk")},
	})

	first := result[forecast](t, name, `{"prompt": "Oslo?"}`)
	require.Equal(t, forecast{City: "Oslo", Degrees: -3}, *first.Output)
	require.Equal(t, 2, first.Usage.Requests)
	require.Equal(t, 1, first.Usage.ToolCalls)
	require.Positive(t, first.Usage.InputTokens)
	require.Equal(t, "talk", first.ConversationID)
	require.NotEmpty(t, first.RunID)
	require.Empty(t, first.Pending)
	require.Equal(t, "ada9007199254740993", first.Messages[2].Parts[0].Text)

	second := result[forecast](t, name, asJSON(t, genkitdev.Input{Prompt: "And Bergen?", History: first.Messages}))
	require.Equal(t, "Bergen", second.Output.City)
	last := captured.Requests()[2]
	require.Equal(t, "Oslo?", last.Messages[0].Parts[0].Text)
	require.Equal(t, `{"n":9007199254740993}`, string(last.Messages[1].Parts[0].Args), "Genkit reads numbers as floats; arguments are text")
	require.Equal(t, "And Bergen?", last.Messages[len(last.Messages)-1].Parts[len(last.Messages[len(last.Messages)-1].Parts)-1].Text)
}

func TestRunStreamsChunks(t *testing.T) {
	name, _ := register(t, agent.Config[deps, string]{
		Model: modeltest.Script(
			modeltest.Say(model.Thinking("hm"), model.Text("Let me look."), call("1", "look"), model.ToolCall("2", "look", `{"n":`)),
			modeltest.Say(call("3", "fail")),
			modeltest.SayText("Done."),
		),
		Toolsets: tools(tool("look", func(_ context.Context, run *toolset.RunContext[deps]) (string, error) {
			run.Emit(map[string]int{"percent": 50})
			run.Emit(func() {}) // cannot be encoded as JSON
			return "clouds", nil
		}), tool("fail", func(context.Context, *toolset.RunContext[deps]) (string, error) { return "", toolset.Failed("no") })),
	}, genkitdev.Options[deps]{})
	a := run(t, name, `{"prompt": "Go."}`, true)
	require.Nil(t, a.Error)
	var text, thinking string
	var rest []string
	for _, c := range a.Chunks {
		switch c["type"] {
		case "text":
			text += c["text"].(string)
		case "thinking":
			thinking += c["text"].(string)
		case "retry":
			require.NotEmpty(t, c["text"])
			c["text"] = "..."
			rest = append(rest, asJSON(t, c))
		default:
			rest = append(rest, asJSON(t, c))
		}
	}
	require.Equal(t, "Let me look.Done.", text)
	require.Equal(t, "hm", thinking)
	require.ElementsMatch(t, []string{
		`{"args":{},"call_id":"1","step":1,"tool":"look","type":"tool_call"}`,
		`{"args":"{\"n\":","call_id":"2","step":1,"tool":"look","type":"tool_call"}`,
		`{"call_id":"1","step":1,"tool":"look","type":"custom","value":{"percent":50}}`,
		`{"call_id":"1","step":1,"text":"clouds","tool":"look","type":"tool_result"}`,
		`{"call_id":"2","step":1,"text":"...","tool":"look","type":"retry"}`,
		`{"args":{},"call_id":"3","step":2,"tool":"fail","type":"tool_call"}`,
		`{"call_id":"3","outcome":"failed","step":2,"text":"no","tool":"fail","type":"tool_result"}`,
	}, rest)
	var out genkitdev.Output[string]
	require.NoError(t, json.Unmarshal(a.Result, &out))
	require.Equal(t, "Done.", *out.Output)
}

func TestRunErrorsAreShown(t *testing.T) {
	failing := errors.New("out of paper")
	for name, c := range map[string]struct {
		model   model.Model
		options genkitdev.Options[deps]
		input   string
		want    string
	}{
		"model": {model: modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) { return nil, failing }), input: `{"prompt":"x"}`, want: "agent helper: model: out of paper"},
		"deps": {
			options: genkitdev.Options[deps]{Deps: func(context.Context) (deps, error) { return deps{}, failing }},
			input:   `{}`, want: `": out of paper`,
		},
		"panic": {
			options: genkitdev.Options[deps]{Deps: func(context.Context) (deps, error) { panic("no paper") }},
			input:   `{}`, want: `": panic: no paper`,
		},
		"nothing":       {input: `{}`, want: agent.ErrNoPrompt.Error()},
		"no object":     {input: `"x"`, want: "Expected: object, given: string"},
		"unknown field": {input: `{"promt":"x"}`, want: "promt"},
		"wrong type":    {input: `{"prompt":7}`, want: "prompt"},
		"wrong message": {input: `{"history":[{"kind":"x"}]}`, want: `model: message: kind is "x"`},
		"wrong results": {input: `{"results":{"decisions":{"1":{"verdict":"perhaps"}}}}`, want: `verdict is "perhaps"`},
	} {
		t.Run(name, func(t *testing.T) {
			m := c.model
			if m == nil {
				m = modeltest.Script()
			}
			flow, _ := register(t, agent.Config[deps, string]{Name: "helper", Model: m}, c.options)
			for _, stream := range []bool{false, true} {
				a := run(t, flow, c.input, stream)
				require.NotNil(t, a.Error)
				require.Contains(t, a.Error.Message, c.want)
			}
		})
	}
}

func TestFlowReturnsTheAgentsError(t *testing.T) {
	failing := errors.New("out of paper")
	_, flow := register(t, agent.Config[deps, string]{Model: modeltest.Script(modeltest.Fail(failing))}, genkitdev.Options[deps]{})
	_, err := flow.Run(t.Context(), genkitdev.Input{Prompt: "x"})
	require.ErrorIs(t, err, failing)
	var ended *agent.RunError
	require.ErrorAs(t, err, &ended)
	require.NotEmpty(t, ended.Messages)
}

func TestPendingRunIsResumed(t *testing.T) {
	locked := toolset.Approved(toolset.Of(says("remove", "removed")), nil)
	name, _ := register(t, agent.Config[deps, forecast]{
		Model:    modeltest.Script(modeltest.Say(call("1", "remove")), modeltest.Say(model.ToolCall("2", "final_result", `{"city":"Oslo","degrees":1}`))),
		Toolsets: []toolset.Toolset[deps]{locked},
	}, genkitdev.Options[deps]{})
	waits := result[forecast](t, name, `{"prompt":"Remove it."}`)
	require.Nil(t, waits.Output)
	require.Len(t, waits.Pending, 1)
	require.Equal(t, "remove", waits.Pending[0].Tool)
	require.Equal(t, 1, waits.Usage.Requests)

	history := asJSON(t, waits.Messages)
	done := result[forecast](t, name, `{"history":`+history+`,"results":{"decisions":{"1":{"verdict":"allow"}}}}`)
	require.Equal(t, "Oslo", done.Output.City)
	require.Contains(t, asJSON(t, done.Messages), "removed")
}

// blocked returns a model that waits for the end of its context and reports it.
func blocked() (_ model.Model, began, ended chan struct{}) {
	began, ended = make(chan struct{}), make(chan struct{})
	return model.Func(model.Info{Name: "blocked"}, func(ctx context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		close(began)
		<-ctx.Done()
		close(ended)
		return nil, context.Cause(ctx)
	}), began, ended
}

func TestCancellationEndsTheRun(t *testing.T) {
	m, began, ended := blocked()
	name, _ := register(t, agent.Config[deps, string]{Model: m}, genkitdev.Options[deps]{})
	resp := post(t.Context(), t, "/api/runAction?stream=true", map[string]any{"key": "/flow/" + name, "input": genkitdev.Input{Prompt: "x"}})
	<-began
	cancelled := post(t.Context(), t, "/api/cancelAction", map[string]string{"traceId": resp.Header.Get("X-Genkit-Trace-Id")})
	require.Equal(t, http.StatusOK, cancelled.StatusCode)
	<-ended
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Contains(t, string(data), "Action was cancelled")
}

func TestDisconnectEndsTheRun(t *testing.T) {
	m, began, ended := blocked()
	name, _ := register(t, agent.Config[deps, string]{Model: m}, genkitdev.Options[deps]{})
	ctx, leave := context.WithCancel(t.Context())
	_ = post(ctx, t, "/api/runAction?stream=true", map[string]any{"key": "/flow/" + name, "input": genkitdev.Input{Prompt: "x"}})
	<-began
	leave()
	<-ended
}

func TestStreamErrorEndsTheRun(t *testing.T) {
	full := errors.New("disk full")
	captured := modeltest.Capture(modeltest.Script(modeltest.Say(model.Text("a"), call("1", "look")), modeltest.SayText("never asked")))
	_, flow := register(t, agent.Config[deps, string]{Model: captured, Toolsets: tools(says("look", "x"))}, genkitdev.Options[deps]{})
	sent := 0
	_, err := flow.RunJSON(t.Context(), []byte(`{"prompt":"x"}`), func(context.Context, json.RawMessage) error {
		sent++
		return full
	})
	require.ErrorIs(t, err, full)
	require.Equal(t, 1, sent)
	require.Len(t, captured.Requests(), 1)
}

type level int

func (l level) MarshalText() ([]byte, error) { return []byte([]string{"low", "high"}[l]), nil }

// made encodes itself as something else.
type made struct{ A int }

func (*made) MarshalJSON() ([]byte, error) { return []byte(`["x"]`), nil }

// colour encodes itself, and has a schema.
type colour struct{ R, G, B byte }

func (c colour) MarshalJSON() ([]byte, error) {
	return []byte(fmt.Sprintf(`"#%02x%02x%02x"`, c.R, c.G, c.B)), nil
}

func (colour) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: "^#"}
}

type embedded struct {
	Inner []level `json:"inner"`
}

type node struct {
	Name string  `json:"name"`
	Next *node   `json:"next"`
	More []*node `json:"more"`
}

type everything struct {
	Slice    []string          `json:"slice"`
	Map      map[string]string `json:"map"`
	Pointer  *int              `json:"pointer"`
	Choice   *string           `json:"choice" jsonschema:"enum=a,enum=b"`
	Struct   *forecast         `json:"struct"`
	Nested   []map[string]*int `json:"nested"`
	Any      any               `json:"any"`
	Raw      json.RawMessage   `json:"raw"`
	Bytes    []byte            `json:"bytes"`
	Time     time.Time         `json:"time"`
	Level    level             `json:"level"`
	Tree     node              `json:"tree"`
	Array    [2]string         `json:"array"`
	Levels   map[string]*level `json:"levels"`
	Byname   map[level]int     `json:"byname"`
	Made     *made             `json:"made"`
	Number   int               `json:"number,string"`
	Untagged []int
	Colour   *colour `json:"colour"`
	embedded
}

// outputs makes an agent return each of the outputs, through Genkit's check of outputs.
func outputs[O any](t *testing.T, all ...O) {
	t.Helper()
	for i, out := range all {
		t.Run(fmt.Sprintf("%T %d", out, i), func(t *testing.T) {
			config := agent.Config[deps, O]{
				Model: modeltest.Script(modeltest.SayText("x")),
				Alternatives: []agent.Alternative[deps, O]{
					agent.Text(func(context.Context, *toolset.RunContext[deps], string) (O, error) { return out, nil }),
				},
			}
			name, _ := register(t, config, genkitdev.Options[deps]{})
			a := run(t, name, `{"prompt":"x"}`, false)
			require.Nil(t, a.Error)
		})
	}
}

func TestGenkitAcceptsAllOutputs(t *testing.T) {
	n := 1
	s := "a"
	full := everything{
		Slice: []string{"x"}, Map: map[string]string{"a": "b"}, Pointer: &n, Choice: &s, Struct: &forecast{}, Nested: []map[string]*int{nil, {"a": nil, "b": &n}},
		Any: []any{1, nil}, Raw: json.RawMessage(`{"a":null}`), Bytes: []byte("x"), Time: time.Unix(0, 0), Level: 1,
		Levels: map[string]*level{"a": nil, "b": new(level)}, Byname: map[level]int{1: 2}, Made: &made{}, Colour: &colour{}, embedded: embedded{[]level{0}},
		Tree: node{Next: &node{Next: &node{}}, More: []*node{nil, {}}},
	}
	outputs(t, everything{}, full)
	outputs(t, &everything{}, &full)
	outputs[[]string](t, nil, []string{"x"})
	outputs[map[string]*forecast](t, nil, map[string]*forecast{"a": nil})
	outputs[any](t, 1, "x", full)
	outputs(t, 1.5)
	outputs(t, true)
}

func TestTypeWithOwnSchema(t *testing.T) {
	type painted struct {
		Colour colour `json:"colour"`
		Made   made   `json:"made" jsonschema:"description=unknown"`
		Level  level  `json:"level"`
	}
	_, flow := register(t, agent.Config[deps, painted]{Model: modeltest.Script()}, genkitdev.Options[deps]{})
	properties := flow.Desc().OutputSchema["properties"].(map[string]any)["output"].(map[string]any)["properties"].(map[string]any)
	require.JSONEq(t, `{"colour":{"type":"string","pattern":"^#"},"made":{},"level":{"type":"string"}}`, asJSON(t, properties))
}

func TestRegisterReportsErrors(t *testing.T) {
	a, err := agent.New(agent.Config[deps, string]{Model: modeltest.Script()})
	require.NoError(t, err)
	_, err = genkitdev.Register(nil, "x", a, genkitdev.Options[deps]{})
	require.EqualError(t, err, "genkitdev: register: Genkit is nil; pass the result of genkit.Init")
	_, err = genkitdev.Register(g, "", a, genkitdev.Options[deps]{})
	require.EqualError(t, err, "genkitdev: register: flow has no name")
	_, err = genkitdev.Register[deps, string](g, "x", nil, genkitdev.Options[deps]{})
	require.EqualError(t, err, `genkitdev: register "x": agent is nil`)

	name := unique("twice")
	_, err = genkitdev.Register(g, name, a, genkitdev.Options[deps]{})
	require.NoError(t, err)
	_, err = genkitdev.Register(g, name, a, genkitdev.Options[deps]{})
	require.ErrorContains(t, err, `genkitdev: register "`+name+`": `)
	require.ErrorContains(t, err, "/flow/"+name)
}
