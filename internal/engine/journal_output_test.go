// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

type shape interface{ area() float64 }

type square struct {
	Side float64 `json:"side"`
}

type circle struct {
	Radius float64 `json:"radius"`
}

func (s square) area() float64  { return s.Side * s.Side }
func (c *circle) area() float64 { return 3 * c.Radius * c.Radius }

// hidden is a shape that JSON does not give back.
type hidden struct{ side float64 }

func (h hidden) area() float64 { return h.side }

// odd is JSON in one direction only.
type odd struct{ Side float64 }

func (odd) area() float64                { return 1 }
func (odd) MarshalJSON() ([]byte, error) { return []byte(`"odd"`), nil }

type mean struct{ square }

func (mean) MarshalJSON() ([]byte, error) { panic("no") }

// outputs runs an agent, and again on its journal, and returns how often the output was made.
func outputs[O any](t *testing.T, alternatives []agent.Alternative[none, O], part model.Part) (made []int, out O) {
	t.Helper()
	var j journal.Memory
	n := 0
	c := agent.Config[none, O]{Alternatives: alternatives, Validators: []agent.Validator[none, O]{func(_ context.Context, _ *runContext, out O) (O, error) {
		n++
		return out, nil
	}}}
	first, err := run(t, &j, c, []modeltest.Step{modeltest.Say(part)})
	require.NoError(t, err)
	made = append(made, n)
	for range 2 {
		again, err := run(t, &j, c, nil)
		require.NoError(t, err)
		require.Equal(t, first, again)
		made = append(made, n)
	}
	return made, first.Output
}

var once, thrice = []int{1, 1, 1}, []int{1, 2, 3}

func TestOutputsComeBackAsTheyWere(t *testing.T) {
	made, text := outputs[string](t, nil, model.Text("hello"))
	require.Equal(t, once, made)
	require.Equal(t, "hello", text)
	made, list := outputs[[]square](t, nil, model.ToolCall("1", "final_result", `{"value":[{"side":2}]}`))
	require.Equal(t, once, made)
	require.Equal(t, []square{{2}}, list)
	made, pointer := outputs[*square](t, nil, model.ToolCall("1", "final_result", `{"side":2}`))
	require.Equal(t, once, made)
	require.Equal(t, &square{2}, pointer)
}

func shapes() []agent.Alternative[none, shape] {
	return []agent.Alternative[none, shape]{
		agent.As[none]("square", "", func(s square) shape { return s }),
		agent.As[none]("circle", "", func(c circle) shape { return &c }),
		agent.OutputFunc("function", "", func(_ context.Context, _ *runContext, s square) (shape, error) { return square{s.Side + 1}, nil }),
		agent.As[none]("hidden", "", func(s square) shape { return hidden{s.Side} }),
		agent.As[none]("odd", "", func(o odd) shape { return o }),
		agent.As[none]("mean", "", func(s square) shape { return mean{s} }),
		agent.As[none]("nan", "", func(square) shape { return square{math.NaN()} }),
		agent.As[none]("nil", "", func(square) shape { return nil }),
	}
}

func TestMediaComesBackAsItWas(t *testing.T) {
	picture := model.Part{Kind: model.PartMedia, MediaType: "image/png", Data: []byte{0, 0xff, 1}, Provider: "p", ID: "m1"}
	made, kept := outputs(t, []agent.Alternative[none, []model.Part]{
		agent.Media(func(_ context.Context, _ *runContext, media []model.Part, _ string) ([]model.Part, error) {
			return media, nil
		}),
	}, picture)
	require.Equal(t, once, made)
	require.Equal(t, []model.Part{picture}, kept)

	// What JSON does not give back is made again, of the media in the journal.
	made, again := outputs(t, []agent.Alternative[none, shape]{
		agent.Media(func(_ context.Context, _ *runContext, media []model.Part, _ string) (shape, error) {
			return hidden{float64(len(media[0].Data))}, nil
		}),
	}, picture)
	require.Equal(t, thrice, made)
	require.Equal(t, hidden{3}, again)
}

func TestUnionsComeBackAsTheyWere(t *testing.T) {
	for tool, want := range map[string]shape{"square": square{2}, "function": square{3}} {
		made, out := outputs(t, shapes(), model.ToolCall("1", tool, `{"side":2}`))
		require.Equal(t, once, made, tool)
		require.Equal(t, want, out)
	}
	made, out := outputs(t, shapes(), model.ToolCall("1", "circle", `{"radius":2}`))
	require.Equal(t, once, made)
	require.Equal(t, &circle{2}, out)
	made, text := outputs(t, []agent.Alternative[none, any]{
		agent.Text(func(_ context.Context, _ *runContext, text string) (any, error) { return text, nil }),
	}, model.Text("hello"))
	require.Equal(t, once, made)
	require.Equal(t, "hello", text)
}

func TestOutputThatIsNoJSONIsMadeAgain(t *testing.T) {
	for tool, args := range map[string]string{"hidden": `{"side":2}`, "odd": `{"Side":2}`, "mean": `{"square":{"side":2}}`, "nil": `{"side":2}`} {
		if tool == "mean" {
			args = `{"side":2}`
		}
		made, _ := outputs(t, shapes(), model.ToolCall("1", tool, args))
		require.Equal(t, thrice, made, tool)
	}
}

// opaque has something that only its package can set.
type opaque struct {
	Side float64 `json:"side"`
	area float64
}

func TestOutputWithUnexportedFieldsIsMadeAgain(t *testing.T) {
	made, out := outputs(t, []agent.Alternative[none, opaque]{agent.OutputFunc("square", "", func(_ context.Context, _ *runContext, s square) (opaque, error) {
		return opaque{s.Side, s.area()}, nil
	})}, model.ToolCall("1", "square", `{"side":2}`))
	require.Equal(t, thrice, made)
	require.Equal(t, opaque{2, 4}, out)
}

// TestOutputThatIsMadeAgainMayBeAnother: a validator that has changed its mind is heard, and that is recorded.
func TestOutputThatIsMadeAgainMayBeAnother(t *testing.T) {
	var j journal.Memory
	n := 0
	c := agent.Config[none, shape]{Alternatives: shapes(), Validators: []agent.Validator[none, shape]{func(_ context.Context, _ *runContext, out shape) (shape, error) {
		if _, ok := out.(hidden); ok {
			if n++; n == 2 {
				return nil, toolset.Retry("not again")
			}
		}
		return out, nil
	}}}
	_, err := run(t, &j, c, []modeltest.Step{modeltest.Say(model.ToolCall("1", "hidden", `{"side":2}`))})
	require.NoError(t, err)
	for _, steps := range [][]modeltest.Step{{modeltest.Say(model.ToolCall("1", "square", `{"side":2}`))}, nil} {
		res, err := run(t, &j, c, steps)
		require.NoError(t, err)
		require.Equal(t, square{2}, res.Output)
		require.Equal(t, 2, n)
	}
}

func TestOutputOfATypeThatIsGoneIsReported(t *testing.T) {
	var j journal.Memory
	_, err := run(t, &j, agent.Config[none, shape]{Alternatives: shapes()}, []modeltest.Step{modeltest.Say(model.ToolCall("1", "circle", `{"radius":2}`))})
	require.NoError(t, err)
	fewer := shapes()[:1]
	fewer = append(fewer, agent.As[none]("circle", "", func(c struct {
		Radius float64 `json:"radius"`
	}) shape {
		return &circle{c.Radius}
	}))
	_, err = run(t, &j, agent.Config[none, shape]{Alternatives: fewer}, nil)
	require.ErrorIs(t, err, journal.ErrDiverged)
	require.ErrorContains(t, err, "no alternative of the output is of type *engine_test.circle")

	value := shapes()[:2]
	value[1] = agent.As[none]("circle", "", func(circle) shape { return square{} })
	j2 := &journal.Memory{}
	_, err = run(t, j2, agent.Config[none, square]{}, []modeltest.Step{modeltest.Say(model.ToolCall("1", "final_result", `{"side":2}`))})
	require.NoError(t, err)
	_, err = run(t, j2, agent.Config[none, struct {
		Side string `json:"side"`
	}]{}, nil)
	require.Error(t, err)
}

func TestHandOverResumesInsideTheInnerRun(t *testing.T) {
	var j journal.Memory
	thought := 0
	inner := func(steps ...modeltest.Step) (agent.Alternative[none, string], *modeltest.Scripted) {
		script := modeltest.Script(steps...)
		a := newAgent(t, config{Name: "inner"}, script, counted("think", &thought, says("hm")))
		return agent.HandOver("expert", "", a, func(none) none { return none{} }), script
	}
	handOver, _ := inner(calls("think"), modeltest.Fail(errBoom))
	outer := []modeltest.Step{modeltest.Say(model.ToolCall("1", "expert", `{"prompt":"why?"}`))}
	_, err := run(t, &j, agent.Config[none, string]{Alternatives: []agent.Alternative[none, string]{handOver}}, outer)
	require.ErrorIs(t, err, errBoom)
	handOver, script := inner(modeltest.SayText("because"))
	res, err := run(t, &j, agent.Config[none, string]{Alternatives: []agent.Alternative[none, string]{handOver}}, nil)
	require.NoError(t, err)
	require.Equal(t, "because", res.Output)
	require.Equal(t, 1, thought)
	require.Len(t, script.Requests(), 1)
	require.Equal(t, 3, res.Usage.Requests, "one of the outer, two of the inner agent")
	require.Equal(t, 1, res.Usage.ToolCalls)

	handOver, script = inner()
	again, err := run(t, &j, agent.Config[none, string]{Alternatives: []agent.Alternative[none, string]{handOver}}, nil)
	require.NoError(t, err)
	require.Equal(t, res, again)
	require.Empty(t, script.Requests())
}

// Whoever cleans up finds the runs of inner agents by the id of the outer one.
func TestInnerRunsHaveRecordsOfTheirOwn(t *testing.T) {
	d := newDir(t)
	inner := modeltest.Script(modeltest.SayText("because"))
	tool := agent.AsTool("inner", "", newAgent(t, config{}, inner), func(none) none { return none{} })
	_, err := run(t, d, config{}, []modeltest.Step{modeltest.Say(model.ToolCall("1", "inner", `{"prompt":"why?"}`)), modeltest.Fail(errBoom)}, tool)
	require.ErrorIs(t, err, errBoom)
	runs, err := d.Runs()
	require.NoError(t, err)
	require.Equal(t, []string{"r", "r/1/1"}, runs)

	_, err = run(t, d, config{}, []modeltest.Step{modeltest.SayText("ok")}, tool)
	require.NoError(t, err)
	require.Len(t, inner.Requests(), 1)
	for _, id := range runs {
		require.NoError(t, d.Remove(id))
	}
}

// TestJournalOfAnInnerAgentEndsTheOuterRun: the outer model is not told, it can do nothing about it.
func TestJournalOfAnInnerAgentEndsTheOuterRun(t *testing.T) {
	var memory journal.Memory
	j := journal.Func(func(ctx context.Context, run string) (journal.Log, error) {
		if run != "r" {
			return nil, errors.Join(errBoom)
		}
		return memory.Open(ctx, run)
	})
	tool := agent.AsTool("inner", "", newAgent(t, config{}, modeltest.Script()), func(none) none { return none{} })
	_, err := run(t, j, config{}, []modeltest.Step{modeltest.Say(model.ToolCall("1", "inner", `{"prompt":"why?"}`))}, tool)
	require.ErrorIs(t, err, errBoom)
	require.Equal(t, "r/1/1", journalError(t, err, "open").RunID)
}
