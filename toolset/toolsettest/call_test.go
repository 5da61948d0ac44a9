// SPDX-License-Identifier: Apache-2.0

package toolsettest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

func TestCallWorksLikeAnAgent(t *testing.T) {
	s := toolset.Prefixed(toolset.Of(forecast()), "x_")
	run := &runContext{Deps: deps{"Ada"}}
	res, err := toolsettest.Call(t.Context(), s, run, "x_forecast", `{"city":"Oslo"}`)
	require.NoError(t, err)
	require.Equal(t, "Oslo for Ada", res.Text)
	require.Zero(t, run.Call, "the run context is not modified")

	_, err = toolsettest.Call(t.Context(), s, run, "x_forecast", `{"town":"Oslo"}`)
	var invalid *toolset.ValidationError
	require.ErrorAs(t, err, &invalid)
	_, err = toolsettest.Call(t.Context(), s, run, "forecast", `{}`)
	require.EqualError(t, err, `toolsettest: toolset "of(forecast)" has no tool "forecast"; available tools: x_forecast`)
}

func TestCallFillsInWhatIsMissing(t *testing.T) {
	var saw runContext
	tool := toolset.Func("look", "", func(_ context.Context, run *runContext, _ query) (string, error) {
		saw = *run
		return "", nil
	})
	_, err := toolsettest.Call(t.Context(), toolset.Of(tool), nil, "look", oslo.Args)
	require.NoError(t, err)
	require.Equal(t, 1, saw.Step)
	require.Equal(t, toolset.Call{ID: "call", Tool: "look", Args: model.RawArgs(oslo.Args)}, saw.Call)

	given := toolset.Call{ID: "c7", Tool: "look_at", Args: model.RawArgs("{}"), Approved: true}
	_, err = toolsettest.Call(t.Context(), toolset.Of(tool), &runContext{RunInfo: toolset.RunInfo{Step: 3}, Call: given}, "look", oslo.Args)
	require.NoError(t, err)
	require.Equal(t, 3, saw.Step)
	require.Equal(t, given, saw.Call)
}

func TestCallReportsApprovalAndDeferral(t *testing.T) {
	s := toolset.Approved(toolset.Of(forecast(), toolset.ExternalTool[deps, query]("ask", "")), nil)
	run := &runContext{Deps: deps{"Ada"}}
	_, err := toolsettest.Call(t.Context(), s, run, "forecast", oslo.Args)
	var approval *toolset.ApprovalRequiredError
	require.ErrorAs(t, err, &approval)
	run.Call.Approved = true
	res, err := toolsettest.Call(t.Context(), s, run, "forecast", oslo.Args)
	require.NoError(t, err)
	require.Equal(t, "Oslo for Ada", res.Text)
	_, err = toolsettest.Call(t.Context(), s, run, "ask", oslo.Args)
	var deferred *toolset.DeferredError
	require.ErrorAs(t, err, &deferred)

	failing := toolset.Approved(toolset.Of(forecast()), func(context.Context, *runContext, *toolset.Tool[deps], any) (*toolset.Approval, error) {
		return nil, errors.New("boom")
	})
	_, err = toolsettest.Call(t.Context(), failing, nil, "forecast", oslo.Args)
	require.EqualError(t, err, "boom")
}

func TestCallClosesWhatItOpens(t *testing.T) {
	boom := errors.New("boom")
	list := func(err error) func(context.Context, *runContext, int) ([]*toolset.Tool[deps], error) {
		return func(context.Context, *runContext, int) ([]*toolset.Tool[deps], error) { return nil, err }
	}
	bad := forecast()
	bad.Def.Name = "bad name"
	for want, m := range map[string]*misfit{
		`open toolset "misfit": boom`:               {open: func(context.Context) error { return boom }},
		`tools of toolset "misfit": boom`:           {tools: list(boom)},
		`has no tool "forecast"; available tools: `: {tools: list(nil)},
		`tool name "bad name"`: {tools: func(context.Context, *runContext, int) ([]*toolset.Tool[deps], error) {
			return []*toolset.Tool[deps]{bad}, nil
		}},
	} {
		name := "forecast"
		if want == `tool name "bad name"` {
			name = "bad name"
		}
		_, err := toolsettest.Call(t.Context(), set(m), nil, name, "{}")
		require.ErrorContains(t, err, want)
		require.Zero(t, m.opened.Load())
	}
	m := &misfit{}
	m.close = func(*atomic.Int32) error { return boom }
	_, err := toolsettest.Call(t.Context(), set(m), nil, "forecast", oslo.Args)
	require.EqualError(t, err, `toolsettest: close toolset "misfit": boom`)
}

func TestCallWithoutDecode(t *testing.T) {
	tool := &toolset.Tool[deps]{Def: model.ToolDef{Name: "raw", Schema: json.RawMessage(`{"type":"object"}`)}, Call: func(_ context.Context, _ *runContext, args any) (toolset.Result, error) {
		return toolset.Result{Text: string(args.(json.RawMessage))}, nil
	}}
	res, err := toolsettest.Call(t.Context(), toolset.Of(tool), nil, "raw", "[1]")
	require.NoError(t, err)
	require.Equal(t, "[1]", res.Text)
}

func ExampleCall() {
	type Deps struct{ Highs map[string]float64 }
	type Query struct {
		City string `json:"city" validate:"required"`
	}
	tools := toolset.Of(toolset.Func("high", "Highest temperature.", func(_ context.Context, run *toolset.RunContext[Deps], q Query) (float64, error) {
		return run.Deps.Highs[q.City], nil
	}))

	run := &toolset.RunContext[Deps]{Deps: Deps{Highs: map[string]float64{"Oslo": -3.5}}}
	res, err := toolsettest.Call(context.Background(), tools, run, "high", `{"city":"Oslo"}`)
	fmt.Println(res.Text, err)
	// Output: -3.5 <nil>
}

func ExampleConformance() {
	tools := func() toolset.Toolset[int] { return toolset.Of[int]() }
	test := func(t *testing.T) { // as TestTools in a real program
		toolsettest.Conformance(t, tools, 0)
	}
	_ = test
}
