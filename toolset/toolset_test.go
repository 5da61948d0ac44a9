// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

type deps struct{ Name string }

type query struct {
	City string `json:"city" validate:"required"`
	Days int    `json:"days,omitempty" validate:"omitempty,min=1,max=14"`
}

func greet(name string) *toolset.Tool[deps] {
	return toolset.Func(name, "Greet.", func(_ context.Context, run *toolset.RunContext[deps], _ struct{}) (string, error) {
		return "hello " + run.Deps.Name, nil
	})
}

func TestFuncDecodesValidatesAndCalls(t *testing.T) {
	var got query
	tool := toolset.Func("forecast", "Forecast.", func(_ context.Context, run *toolset.RunContext[deps], q query) (string, error) {
		got = q
		return run.Deps.Name, nil
	})
	require.NoError(t, tool.Err())
	args, err := tool.Decode([]byte(`{"city":"Oslo","days":3}`))
	require.NoError(t, err)
	res, err := tool.Call(context.Background(), &toolset.RunContext[deps]{Deps: deps{"x"}}, args)
	require.NoError(t, err)
	require.Equal(t, toolset.Result{Text: "x"}, res)
	require.Equal(t, query{"Oslo", 3}, got)

	_, err = tool.Decode([]byte(`{"days":20}`))
	var invalid *toolset.ValidationError
	require.ErrorAs(t, err, &invalid)
	require.Len(t, invalid.Problems, 2, "all problems are reported at once")
}

func TestFuncReportsForeignArguments(t *testing.T) {
	tool := greet("greet")
	_, err := tool.Call(context.Background(), &toolset.RunContext[deps]{}, "text")
	require.ErrorContains(t, err, "arguments are string, want *struct {}")
}

func TestPlainToolServesAnyDeps(t *testing.T) {
	double := func(_ context.Context, in struct {
		N int `json:"n"`
	}) (int, error) {
		return 2 * in.N, nil
	}
	check := func(decode func([]byte) (any, error), call func(any) (toolset.Result, error)) {
		args, err := decode([]byte(`{"n":21}`))
		require.NoError(t, err)
		res, err := call(args)
		require.NoError(t, err)
		require.Equal(t, "42", res.Text)
	}
	a := toolset.Plain[deps]("double", "", double)
	check(a.Decode, func(v any) (toolset.Result, error) { return a.Call(context.Background(), nil, v) })
	b := toolset.Plain[int]("double", "", double)
	check(b.Decode, func(v any) (toolset.Result, error) { return b.Call(context.Background(), nil, v) })
}

func TestOptionsOfATool(t *testing.T) {
	tool := toolset.Plain[deps]("t", "", func(context.Context, struct{}) (string, error) { return "", nil },
		toolset.Sequential(), toolset.Timeout(time.Second), toolset.Retries(3), toolset.OfKind(toolset.KindFetch, "Title"))
	require.Equal(t, toolset.Options{Sequential: true, Timeout: time.Second, Retries: new(3), Kind: toolset.KindFetch, Title: "Title"}, tool.Options)
}

func TestToolNamesMustSuitAllProviders(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "A-b_9": true, strings.Repeat("a", 64): true, "": false, strings.Repeat("a", 65): false, "a b": false, "ä": false, "a.b": false,
	} {
		if ok {
			require.NoError(t, greet(name).Err(), name)
		} else {
			require.ErrorContains(t, greet(name).Err(), "tool name", name)
		}
	}
}

func TestOutcomesOfATool(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want toolset.Result
	}{
		"failed": {toolset.Failed("no %d", 1), toolset.Result{Text: "no 1", Outcome: model.OutcomeFailed}},
		"denied": {fmt.Errorf("x: %w", toolset.Denied("no %d", 2)), toolset.Result{Text: "no 2", Outcome: model.OutcomeDenied}},
	} {
		tool := toolset.Plain[deps]("t", "", func(context.Context, struct{}) (string, error) { return "ignored", c.err })
		res, err := tool.Call(context.Background(), nil, new(struct{}))
		require.NoError(t, err, name)
		require.Equal(t, c.want, res, name)
	}
	for _, want := range []error{toolset.Retry("again"), errors.New("other")} {
		tool := toolset.Plain[deps]("t", "", func(context.Context, struct{}) (string, error) { return "", want })
		_, err := tool.Call(context.Background(), nil, new(struct{}))
		require.Equal(t, want, err)
	}
	require.EqualError(t, toolset.Retry("r"), "retry: r")
	require.EqualError(t, toolset.Failed("f"), "failed: f")
	require.EqualError(t, toolset.Denied("d"), "denied: d")
}

func TestResultsAreReturnedUnchanged(t *testing.T) {
	full := toolset.Result{Text: "t", Content: []model.Part{model.Media("image/png", []byte{1})}, Meta: json.RawMessage(`1`)}
	for name, v := range map[string]any{"value": full, "pointer": &full} {
		tool := toolset.Plain[deps]("t", "", func(context.Context, struct{}) (any, error) { return v, nil })
		res, err := tool.Call(context.Background(), nil, new(struct{}))
		require.NoError(t, err, name)
		require.Equal(t, full, res, name)
	}
	tool := toolset.Plain[deps]("t", "", func(context.Context, struct{}) (json.RawMessage, error) { return json.RawMessage(`{"n": 1}`), nil })
	res, err := tool.Call(context.Background(), nil, new(struct{}))
	require.NoError(t, err)
	require.Equal(t, `{"n": 1}`, res.Text)
	missing := toolset.Plain[deps]("t", "", func(context.Context, struct{}) (*toolset.Result, error) { return nil, nil })
	_, err = missing.Call(context.Background(), nil, new(struct{}))
	require.ErrorContains(t, err, "nil *toolset.Result")
}

func open(t *testing.T, set toolset.Toolset[deps]) toolset.Instance[deps] {
	t.Helper()
	in, err := set.Open(context.Background(), &toolset.RunContext[deps]{})
	require.NoError(t, err)
	return in
}

func names(l toolset.Listing[deps]) string {
	var s []string
	for _, t := range l.Tools {
		s = append(s, t.Def.Name)
	}
	return strings.Join(s, " ")
}

func TestCombineListsAllToolsInOrder(t *testing.T) {
	in := open(t, toolset.Combine(toolset.Of(greet("a"), greet("b")), toolset.Of[deps](), toolset.Of(greet("c"))))
	l, err := in.Tools(context.Background(), nil)
	require.NoError(t, err)
	require.Equal(t, "a b c", names(l))
	again, err := in.Tools(context.Background(), nil)
	require.NoError(t, err)
	require.Same(t, &l.Tools[0], &again.Tools[0], "the same slice while nothing changes")
	require.NoError(t, in.Close(context.Background()))
}

// changing lists one more tool in each step.
type changing struct{ n int }

func (c *changing) Name() string { return "changing" }

func (c *changing) Open(context.Context, *toolset.RunContext[deps]) (toolset.Instance[deps], error) {
	return &changing{}, nil
}

func (c *changing) Tools(context.Context, *toolset.RunContext[deps]) (toolset.Listing[deps], error) {
	c.n++
	if c.n > 3 {
		return toolset.Listing[deps]{}, errors.New("enough")
	}
	l := toolset.Listing[deps]{Instructions: fmt.Sprint("step ", c.n)}
	for i := range c.n {
		l.Tools = append(l.Tools, greet(fmt.Sprint("t", i)))
	}
	return l, nil
}

func (c *changing) Close(context.Context) error { return errors.New("stuck") }

func TestCombineFollowsToolsetsThatChange(t *testing.T) {
	in := open(t, toolset.Combine(toolset.Of(greet("a")), toolset.Toolset[deps](&changing{}), toolset.Named(toolset.Of(greet("t2")), "twice")))
	for _, want := range []string{"a t0 t2", "a t0 t1 t2"} {
		l, err := in.Tools(context.Background(), nil)
		require.NoError(t, err)
		require.Equal(t, want, names(l))
		require.Contains(t, l.Instructions, "step ")
	}
	_, err := in.Tools(context.Background(), nil)
	require.Equal(t, &toolset.NameClashError{Tool: "t2", First: "changing", Second: "twice"}, err)
	_, err = in.Tools(context.Background(), nil)
	require.EqualError(t, err, `tools of toolset "changing": enough`)
	require.EqualError(t, in.Close(context.Background()), `close toolset "changing": stuck`)
}

func TestNameClashAmongManyTools(t *testing.T) {
	var many []*toolset.Tool[deps]
	for i := range 30 {
		many = append(many, greet(fmt.Sprint("t", i)))
	}
	_, err := toolset.Combine(toolset.Named(toolset.Of(many...), "many"), toolset.Named(toolset.Of(greet("t29")), "one")).Open(context.Background(), nil)
	require.EqualError(t, err, `toolset: toolsets "many" and "one" both have a tool "t29"`)
}

func TestOpenReportsDefinitionErrors(t *testing.T) {
	_, err := toolset.Combine(toolset.Of(greet("bad name"))).Open(context.Background(), &toolset.RunContext[deps]{})
	require.ErrorContains(t, err, `tool name "bad name"`)
}

func TestToolsetsHaveNamesForErrors(t *testing.T) {
	require.Equal(t, "of()", toolset.Of[deps]().Name())
	require.Equal(t, "of(a)", toolset.Of(greet("a")).Name())
	require.Equal(t, "of(a,…)+b", toolset.Combine(toolset.Of(greet("a"), greet("b")), toolset.Named(toolset.Of(greet("c")), "b")).Name())
}

func TestEmitReachesTheHost(t *testing.T) {
	host := new(toolsettest.Host)
	run := &toolset.RunContext[deps]{Host: host}
	run.Emit(1)
	require.Equal(t, []any{1}, host.Events())
	(&toolset.RunContext[deps]{}).Emit(2)
}

func FuzzToolArguments(f *testing.F) {
	for _, seed := range []string{`{"city":"Oslo","days":3}`, ``, `{}`, `{"city":1}`, `[`, `{"city":"a","city":"b"}`, "{\"city\":\"\xff\"}", `{"days":1e400}`} {
		f.Add([]byte(seed))
	}
	tool := toolset.Plain[deps]("t", "", func(_ context.Context, q query) (query, error) { return q, nil })
	f.Fuzz(func(t *testing.T, args []byte) {
		decoded, err := tool.Decode(args)
		if err != nil {
			var invalid *toolset.ValidationError
			require.ErrorAs(t, err, &invalid, "errors must be fixable by the model")
			require.NotEmpty(t, invalid.Prompt())
			return
		}
		res, err := tool.Call(context.Background(), nil, decoded)
		require.NoError(t, err)
		_, err = tool.Decode([]byte(res.Text))
		require.NoError(t, err, "valid arguments stay valid: %s", res.Text)
	})
}

func ExampleFunc() {
	type Deps struct{ Rates map[string]float64 }
	type Amount struct {
		Value    float64 `json:"value" jsonschema:"description=Amount in euro" validate:"gte=0"`
		Currency string  `json:"currency" validate:"oneof=USD GBP"`
	}
	convert := toolset.Func("convert", "Convert euro to another currency.",
		func(_ context.Context, run *toolset.RunContext[Deps], a Amount) (string, error) {
			return fmt.Sprintf("%.2f %s", a.Value*run.Deps.Rates[a.Currency], a.Currency), nil
		})

	// The run loop does this with what a model wrote. A unit test can do it too.
	run := &toolset.RunContext[Deps]{Deps: Deps{Rates: map[string]float64{"USD": 1.1}}}
	args, err := convert.Decode([]byte(`{"value": 10, "currency": "USD"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := convert.Call(context.Background(), run, args)
	fmt.Println(res.Text, err)
	_, err = convert.Decode([]byte(`{"value": -1, "currency": "EUR"}`))
	fmt.Println(err)
	// Output:
	// 11.00 USD <nil>
	// value: must be at least 0, got -1; currency: must be one of "USD", "GBP", got "EUR"
}
