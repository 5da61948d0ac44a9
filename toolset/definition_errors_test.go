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

// withSchema is a tool with a given schema.
func withSchema(schema string) *toolset.Tool[deps] {
	return toolset.Raw("t", "", json.RawMessage(schema), func(_ context.Context, _ *runContext, args json.RawMessage) (toolset.Result, error) {
		return toolset.Result{Text: string(args)}, nil
	})
}

// TestWhatIsWrongWithATool: each mistake is told with the tool, what is wrong, and what it must be.
func TestWhatIsWrongWithATool(t *testing.T) {
	no := func(context.Context, *runContext, struct{}) (string, error) { return "", nil }
	for want, tool := range map[string]*toolset.Tool[deps]{
		`tool name "": must have 1 to 64 characters`:                                  toolset.Func("", "", no),
		`tool name "` + strings.Repeat("x", 65) + `": must have 1 to 64 characters`:   toolset.Func(strings.Repeat("x", 65), "", no),
		`tool name "a/b": invalid character "/"; use letters, digits, '_' and '-'`:    toolset.Func("a/b", "", no),
		"tool name \"a`\": invalid character \"`\"; use letters, digits, '_' and '-'": toolset.Func("a`", "", no),
		`tool name "a{": invalid character "{"; use letters, digits, '_' and '-'`:     toolset.Func("a{", "", no),
		`tool name "a@": invalid character "@"; use letters, digits, '_' and '-'`:     toolset.Func("a@", "", no),
		`tool name "a[": invalid character "["; use letters, digits, '_' and '-'`:     toolset.Func("a[", "", no),
		`tool name "a:": invalid character ":"; use letters, digits, '_' and '-'`:     toolset.Func("a:", "", no),
		`tool "t": function is nil`:                                                                 toolset.Func[deps, struct{}, string]("t", "", nil),
		`tool "p": function is nil`:                                                                 toolset.Plain[deps, struct{}, string]("p", "", nil),
		`tool "r": function is nil`:                                                                 toolset.Raw[deps]("r", "", json.RawMessage(`{"type":"object"}`), nil),
		`tool "t": arguments have type string, must be a struct`:                                    toolset.Func("t", "", func(context.Context, *runContext, string) (string, error) { return "", nil }),
		`tool "t": timeout -1s must not be negative; 0 means the agent's timeout`:                   toolset.Func("t", "", no, toolset.Timeout(-time.Second)),
		`tool "t": timeout -1ns must not be negative; 0 means the agent's timeout`:                  toolset.Func("t", "", no, toolset.Timeout(-1)),
		`tool "t": retries -1 must not be negative`:                                                 toolset.Func("t", "", no, toolset.Retries(-1)),
		`tool "t": schema is missing; set the JSON schema of an object, at least {"type":"object"}`: withSchema(""),
		`tool "t": schema is not valid JSON: unexpected end of JSON input`:                          withSchema("{"),
		`tool "t": schema must be a JSON object, not null`:                                          withSchema("null"),
		`tool "t": schema must be a JSON object, not a boolean`:                                     withSchema("true"),
		`tool "t": schema must be a JSON object, not a number`:                                      withSchema("1"),
		`tool "t": schema must be a JSON object, not a string`:                                      withSchema(`"object"`),
		`tool "t": schema must be a JSON object, not an array`:                                      withSchema(`[]`),
		`tool "t": schema has no type, must have "type": "object"`:                                  withSchema(`{}`),
		`tool "t": schema must have "type": "object", not array`:                                    withSchema(`{"type":"array"}`),
		`tool "t": schema must have "type": "object", not [object]`:                                 withSchema(`{"type":["object"]}`),
		`tool "t": schema: properties must be a JSON object, not an array`:                          withSchema(`{"type":"object","properties":[]}`),
		`tool "t": schema: properties must be a JSON object, not null`:                              withSchema(`{"type":"object","properties":null}`),
		"tool name \"a b\": invalid character \" \"; use letters, digits, '_' and '-'\ntool \"a b\": function is nil\ntool \"a b\": timeout -1ns must not be negative; 0 means the agent's timeout\ntool \"a b\": retries -2 must not be negative\ntool \"a b\": schema must have \"type\": \"object\", not array": toolset.Raw[deps]("a b", "", json.RawMessage(`{"type":"array"}`), nil, toolset.Timeout(-1), toolset.Retries(-2)),
	} {
		require.EqualError(t, tool.Err(), want)
		set := toolset.Named(toolset.Of(tool), "set")
		require.ErrorContains(t, toolset.Base[deps]{Toolset: set}.Check(), "toolset "+toolset.Of(tool).Name()+": "+want)
		_, err := set.Open(t.Context(), nil)
		require.ErrorContains(t, err, want)
	}
	for _, tool := range []*toolset.Tool[deps]{
		withSchema(`{"type":"object"}`), withSchema(`{"type":"object","properties":{}}`),
		toolset.Func("azAZ09_-", "", no, toolset.Timeout(0), toolset.Retries(0)),
	} {
		require.NoError(t, tool.Err())
	}
}

// TestWhatIsWrongWithAToolset: combinators without a toolset or function are mistakes that name the combinator, and do not hide those of
// the toolset inside.
func TestWhatIsWrongWithAToolset(t *testing.T) {
	type S = toolset.Toolset[deps]
	ok, bad := toolset.Named(tells("a"), "ok"), toolset.Named(toolset.Of(tell("b b")), "bad")
	anything := func(context.Context, *runContext, *toolset.Tool[deps]) (bool, error) { return true, nil }
	named := `toolset bad: toolset of(b b): tool name "b b": invalid character " "; use letters, digits, '_' and '-'`
	for name, test := range map[string]struct {
		make func(set S) S
		nil  string // without a toolset
		with string // with one
	}{
		"Adapt":           {func(s S) S { return toolset.Adapt[deps, deps](s, nil) }, "toolset Adapt(): the toolset is nil", "Adapt: the function is nil"},
		"Filtered":        {func(s S) S { return toolset.Filtered(s, nil) }, "toolset Filtered(): the toolset is nil", "Filtered: the function is nil"},
		"Prepared":        {func(s S) S { return toolset.Prepared(s, nil) }, "toolset Prepared(): the toolset is nil", "Prepared: the function is nil"},
		"PreparedAll":     {func(s S) S { return toolset.PreparedAll(s, nil) }, "toolset PreparedAll(): the toolset is nil", "PreparedAll: the function is nil"},
		"RenamedFunc":     {func(s S) S { return toolset.RenamedFunc(s, nil) }, "toolset RenamedFunc(): the toolset is nil", "RenamedFunc: the function is nil"},
		"Renamed":         {func(s S) S { return toolset.Renamed(s, map[string]string{"z": "y"}) }, "toolset Renamed(): the toolset is nil", `rename: unknown tool "z"`},
		"Limited":         {func(s S) S { return toolset.Limited(s, 0) }, "toolset Limited(): the toolset is nil", "Limited: limit 0 must be at least 1"},
		"LimitedPerRun":   {func(s S) S { return toolset.LimitedPerRun(s, -1) }, "toolset LimitedPerRun(): the toolset is nil", "LimitedPerRun: limit -1 must be at least 1"},
		"Wrapped":         {func(s S) S { return toolset.Wrapped(s, pass, nil) }, "toolset Wrapped(): the toolset is nil", "Wrapped: hook 1 is nil"},
		"Defaults":        {func(s S) S { return toolset.Defaults(s, toolset.Timeout(-1)) }, "toolset Defaults(): the toolset is nil", "Defaults: timeout -1ns must not be negative"},
		"Defaults again":  {func(s S) S { return toolset.Defaults(s, toolset.Retries(-1)) }, "toolset Defaults(): the toolset is nil", "Defaults: retries -1 must not be negative"},
		"Defaults of one": {func(s S) S { return toolset.Defaults(s, toolset.Approve(expensive)) }, "toolset Defaults(): the toolset is nil", "Defaults: Approve and Check apply to a single tool; use Approved for a toolset"},
		"Searchable":      {func(s S) S { return toolset.Searchable(s, toolset.Search[deps]{Max: -1}) }, "toolset Searchable(): the toolset is nil", "Searchable: Max -1 must not be negative"},
		"Searchable name": {func(s S) S { return toolset.Searchable(s, toolset.Search[deps]{Name: "s s"}) }, "toolset Searchable(): the toolset is nil", `Searchable: tool name "s s": invalid character " "; use letters, digits, '_' and '-'`},
		"Named":           {func(s S) S { return toolset.Named(s, "") }, "toolset : the toolset is nil", ""},
		"Approved":        {func(s S) S { return toolset.Approved(s, nil) }, "toolset Approved(): the toolset is nil", ""},
		"Instructed":      {func(s S) S { return toolset.Instructed(s, "x") }, "toolset Instructed(): the toolset is nil", ""},
		"Stateless":       {func(s S) S { return toolset.Stateless(s) }, "toolset: Base: the toolset is nil", ""},
	} {
		for kind, inner := range map[string]S{"nil": nil, "ok": ok, "bad": bad} {
			var want []string
			switch {
			case kind == "nil":
				want = []string{test.nil}
			case kind == "bad":
				want = append(want, named)
				fallthrough
			default:
				if test.with != "" {
					want = append(want, "toolset "+inner.Name()+": "+test.with)
				}
			}
			set := test.make(inner)
			err := toolset.Base[deps]{Toolset: set}.Check()
			if len(want) == 0 {
				require.NoError(t, err, "%s of %s", name, kind)
				continue
			}
			require.Error(t, err, "%s of %s", name, kind)
			for _, w := range want {
				require.ErrorContains(t, err, w, "%s of %s", name, kind)
			}
			_, openErr := set.Open(t.Context(), new(runContext))
			require.Error(t, openErr, "%s of %s", name, kind)
			if kind == "ok" {
				fixed, is := set.(toolset.Fixed[deps])
				require.True(t, is, name)
				require.Len(t, fixed.FixedTools(), 1, "the tools are still known, so that all problems are found at once: %s", name)
			}
		}
	}
	for want, set := range map[string]S{
		"toolset x: PerRun: the function is nil":       toolset.PerRun[deps]("x", nil),
		"toolset x: PerStep: the function is nil":      toolset.PerStep[deps]("x", nil),
		"toolset: toolset 1 is nil":                    toolset.Combine(ok, nil),
		"toolset of(): tool 0 is nil":                  toolset.Of[deps](nil),
		"toolset of(a,…): tool 1 is nil":               toolset.Of(tell("a"), nil),
		`toolset of(c): tool "c" has no Call function`: toolset.Of(&toolset.Tool[deps]{Def: model.ToolDef{Name: "c", Schema: json.RawMessage(`{"type":"object"}`)}}),
	} {
		require.EqualError(t, toolset.Base[deps]{Toolset: set}.Check(), want)
	}
	require.Equal(t, "ok+nil", toolset.Combine(ok, nil).Name())
	_, err := toolset.Combine(ok, nil).Open(t.Context(), new(runContext))
	require.EqualError(t, err, "toolset: toolset 1 is nil")
	_, err = toolset.Filtered(tells("a"), anything).Open(t.Context(), new(runContext))
	require.NoError(t, err)
	require.Equal(t, "nil", toolset.Base[deps]{}.Name())
	_, err = toolset.Base[deps]{}.Open(t.Context(), nil)
	require.EqualError(t, err, "toolset: Base: the toolset is nil")
}

// TestDefaultsFillWhatAToolDoesNotSay: an option of the tool itself counts.
func TestDefaultsFillWhatAToolDoesNotSay(t *testing.T) {
	no := func(context.Context, *runContext, struct{}) (string, error) { return "", nil }
	all := []toolset.Option{toolset.Sequential(), toolset.Timeout(time.Second), toolset.Retries(2), toolset.OfKind(toolset.KindRead, "Read")}
	own := []toolset.Option{toolset.Timeout(time.Minute), toolset.Retries(0), toolset.OfKind(toolset.KindEdit, "Edit")}
	options := func(set toolset.Toolset[deps]) toolset.Options {
		return set.(toolset.Fixed[deps]).FixedTools()[0].Options
	}
	want := toolset.Options{Sequential: true, Timeout: time.Second, Retries: new(2), Kind: toolset.KindRead, Title: "Read"}
	require.Equal(t, want, options(toolset.Defaults(toolset.Of(toolset.Func("t", "", no)), all...)))
	want = toolset.Options{Sequential: true, Timeout: time.Minute, Retries: new(0), Kind: toolset.KindEdit, Title: "Edit"}
	require.Equal(t, want, options(toolset.Defaults(toolset.Of(toolset.Func("t", "", no, own...)), all...)))
	want.Sequential = false
	require.Equal(t, want, options(toolset.Defaults(toolset.Of(toolset.Func("t", "", no, own...)))))
	want.Sequential = true
	require.Equal(t, want, options(toolset.Defaults(toolset.Of(toolset.Func("t", "", no, append(own, toolset.Sequential())...)))))
	require.True(t, toolset.Func("t", "", no, toolset.Idempotent()).Idempotent)
	require.Equal(t, "a cache", toolset.Func("t", "", no, toolset.InMemory("a cache")).InMemory)
}

// TestRawArguments: no arguments are an empty object; what is no JSON, or no object where a program outside needs one, the model is asked
// for again.
func TestRawArguments(t *testing.T) {
	external := toolset.External[deps](model.ToolDef{Name: "t", Schema: json.RawMessage(`{"type":"object"}`)}).(toolset.Fixed[deps]).FixedTools()[0]
	for args, want := range map[string][2]string{
		``: {"{}", "{}"}, `{}`: {"{}", "{}"}, `{"a":1}`: {`{"a":1}`, `{"a":1}`},
		`[1]`: {"[1]", "the arguments must be a JSON object"}, `1`: {"1", "the arguments must be a JSON object"},
		`null`: {"null", "the arguments must be a JSON object"}, `{"a"`: {"the arguments are not valid JSON", "the arguments are not valid JSON"},
	} {
		for i, tool := range []*toolset.Tool[deps]{withSchema(`{"type":"object"}`), external} {
			got, err := tool.Decode([]byte(args))
			if strings.HasPrefix(want[i], "the arguments") {
				require.Equal(t, toolset.Retry("%s", want[i]), err, args)
				continue
			}
			require.NoError(t, err, args)
			require.Equal(t, json.RawMessage(want[i]), got, args)
		}
	}
	res, err := toolsettest.Call(t.Context(), toolset.Of(withSchema(`{"type":"object"}`)), nil, "t", `{"a":1}`)
	require.NoError(t, err)
	require.Equal(t, toolset.Result{Text: `{"a":1}`}, res)
}

// TestResultsOfEveryKind: what a function returns is what the model reads.
func TestResultsOfEveryKind(t *testing.T) {
	type point struct {
		X int `json:"x"`
	}
	for want, value := range map[string]any{
		"text": "text", `{"x":1}`: point{1}, "[1,2]": []int{1, 2}, "1.5": 1.5, "null": nil, `raw`: json.RawMessage("raw"), "ok": struct{}{},
		"whole": toolset.Result{Text: "whole"}, "pointer": &toolset.Result{Text: "pointer"}, `{"x":2}`: &point{2},
	} {
		res, err := toolset.Plain[deps]("t", "", func(context.Context, struct{}) (any, error) { return value, nil }).Call(t.Context(), nil, new(struct{}))
		require.NoError(t, err)
		require.Equal(t, toolset.Result{Text: want}, res)
	}
	_, err := toolset.Plain[deps]("t", "", func(context.Context, struct{}) (func(), error) { return func() {}, nil }).Call(t.Context(), nil, new(struct{}))
	require.ErrorContains(t, err, "result of type func() cannot be encoded for the model: ")
	_, err = toolset.Plain[deps]("t", "", func(context.Context, struct{}) (*toolset.Result, error) { return nil, nil }).Call(t.Context(), nil, new(struct{}))
	require.EqualError(t, err, "returned a nil *toolset.Result")
}

// TestArgumentsOfAnotherType: a hook that passes on something else gets an error that says what the tool takes.
func TestArgumentsOfAnotherType(t *testing.T) {
	called := 0
	byValue := toolset.Func("t", "", func(_ context.Context, _ *runContext, in query) (string, error) { called++; return in.City, nil },
		toolset.Check(func(context.Context, *runContext, query) error { return nil }),
		toolset.Approve(func(context.Context, *runContext, query) (*toolset.Approval, error) { return nil, nil }),
		toolset.Effects(func(context.Context, *runContext, query) ([]toolset.Effect, error) { return nil, nil }))
	byPointer := toolset.Func("t", "", func(_ context.Context, _ *runContext, in *query) (string, error) { called++; return in.City, nil })
	for _, args := range []any{query{City: "Oslo"}, &query{City: "Oslo"}} {
		res, err := byValue.Call(t.Context(), nil, args)
		require.NoError(t, err)
		require.Equal(t, "Oslo", res.Text)
	}
	require.Equal(t, 2, called)
	const want = "arguments are int, want *toolset_test.query"
	_, err := byPointer.Call(t.Context(), nil, 1)
	require.EqualError(t, err, want)
	_, err = byValue.Call(t.Context(), nil, 1)
	require.EqualError(t, err, want)
	require.EqualError(t, byValue.Check(t.Context(), nil, 1), want)
	_, err = byValue.Approval(t.Context(), nil, 1)
	require.EqualError(t, err, want)
	_, err = byValue.Effects(t.Context(), nil, 1)
	require.EqualError(t, err, want)
	require.Equal(t, 2, called)
}

// TestChecksRunInOrder: up to the first error, and every option of a wrong type is told.
func TestChecksRunInOrder(t *testing.T) {
	var ran []string
	check := func(name string, err error) toolset.Option {
		return toolset.Check(func(context.Context, *runContext, query) error {
			ran = append(ran, name)
			return err
		})
	}
	no := func(context.Context, *runContext, query) (string, error) { return "", nil }
	shared := []toolset.Option{check("first", nil), check("second", errBoom), check("third", nil)}
	tool := toolset.Func("t", "", no, shared...)
	require.Equal(t, errBoom, tool.Check(t.Context(), nil, query{}))
	require.Equal(t, []string{"first", "second"}, ran)
	require.NoError(t, toolset.Func("t", "", no, shared[0], shared[2]).Check(t.Context(), nil, query{}))
	require.Equal(t, []string{"first", "second", "first", "third"}, ran)

	var none func(context.Context, *runContext, query) error
	var noEffects func(context.Context, *runContext, query) ([]toolset.Effect, error)
	require.EqualError(t, toolset.Func("t", "", no, toolset.Check(none), toolset.Effects(noEffects)).Err(),
		"tool \"t\": Effects: the function is nil\ntool \"t\": Check: the function is nil")
	other := toolset.Effects(func(context.Context, *toolset.RunContext[int], query) ([]toolset.Effect, error) { return nil, nil })
	require.EqualError(t, toolset.Func("t", "", no, other).Err(),
		`tool "t": Effects: the function takes *toolset.RunContext[int] and toolset_test.query, the tool has *toolset.RunContext[github.com/ponte-go/ponte/toolset_test.deps] and toolset_test.query`)
}

// TestWithoutAHost: a unit test that sets no host, and an asker without functions.
func TestWithoutAHost(t *testing.T) {
	run := new(runContext)
	run.Emit("nobody hears it")
	reply, err := run.Ask(t.Context(), toolset.Question{})
	require.Equal(t, toolset.ErrNobody, err)
	require.Zero(t, reply)
	resp, err := run.Generate(t.Context(), new(model.Request))
	require.Equal(t, toolset.ErrNobody, err)
	require.Nil(t, resp)

	var asker toolset.AskerFuncs
	decision, err := asker.Approve(t.Context(), toolset.ApprovalRequest{})
	require.NoError(t, err)
	require.Equal(t, toolset.Defer(), decision)
	_, err = asker.Answer(t.Context(), toolset.Question{})
	require.Equal(t, toolset.ErrNobody, err)
	asker = toolset.AskerFuncs{
		OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
			return toolset.Deny(r.CallID()), errBoom
		},
		OnAnswer: func(_ context.Context, q toolset.Question) (toolset.Reply, error) {
			return toolset.Reply{Action: toolset.Action(q.Message)}, errBoom
		},
	}
	for path, id := range map[string][]string{"": nil, "a": {"a"}, "b": {"a", "b"}} {
		decision, err = asker.Approve(t.Context(), toolset.ApprovalRequest{Origin: toolset.Origin{Path: id}})
		require.Equal(t, errBoom, err)
		require.Equal(t, toolset.Deny(path), decision)
	}
	host := &toolsettest.Host{Asker: asker, Model: model.Func(model.Info{}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) { return nil, errBoom })}
	run.Host = host
	reply, err = run.Ask(t.Context(), toolset.Question{Message: "really"})
	require.Equal(t, errBoom, err)
	require.Equal(t, toolset.Action("really"), reply.Action)
	_, err = run.Generate(t.Context(), new(model.Request))
	require.Equal(t, errBoom, err)
	require.Equal(t, toolset.Decision{Verdict: toolset.VerdictAllow, Args: json.RawMessage("1")}, toolset.AllowWith(json.RawMessage("1")))
}

// TestErrorsOfOutcomes: what logs have.
func TestErrorsOfOutcomes(t *testing.T) {
	for want, err := range map[string]error{
		"approval required: why": toolset.ApprovalRequired(toolset.Approval{Reason: "why"}), "deferred": toolset.Deferred(json.RawMessage("1")),
		"retry: 1": toolset.Retry("%d", 1), "failed: 1": toolset.Failed("%d", 1), "denied: 1": toolset.Denied("%d", 1),
		`waiting for calls inside the tool: "pay" (1)`: toolset.Pending(json.RawMessage("1"), toolset.PendingCall{Tool: "pay", ID: "1"}),
	} {
		require.EqualError(t, err, want)
		require.Equal(t, err, toolset.Outcome(errors.Join(err)))
	}
	var pending *toolset.PendingError
	require.ErrorAs(t, toolset.Pending(json.RawMessage("1"), toolset.PendingCall{Tool: "pay"}), &pending)
	require.Equal(t, json.RawMessage("1"), pending.State)
	var deferred *toolset.DeferredError
	require.ErrorAs(t, toolset.Deferred(json.RawMessage("2")), &deferred)
	require.Equal(t, json.RawMessage("2"), deferred.Meta)
}

// TestJoinedOutcomes: see [toolset.Outcome].
func TestJoinedOutcomes(t *testing.T) {
	r, f, d, d2 := toolset.Retry("r"), toolset.Failed("f"), toolset.Denied("d"), toolset.Denied("d2")
	by, by2 := toolset.Deny("by"), toolset.Deny("by2")
	decided, decided2 := &toolset.DeniedError{Message: "e", Decision: &by}, &toolset.DeniedError{Message: "e2", Decision: &by2}
	undone := []error{toolset.ApprovalRequired(toolset.Approval{}), toolset.Deferred(nil), toolset.Pending(nil)}
	for i, test := range []struct {
		err  error
		want error
	}{
		{errors.Join(r, f), toolset.Retry("r\nf")}, {errors.Join(f, r), toolset.Retry("f\nr")}, {errors.Join(d, r), toolset.Retry("d\nr")},
		{errors.Join(f, d), toolset.Failed("f\nd")}, {errors.Join(d, f), toolset.Failed("d\nf")}, {errors.Join(d, d2), toolset.Denied("d\nd2")},
		{errors.Join(f, f, d), toolset.Failed("f\nf\nd")}, {errors.Join(r, errors.Join(f, d)), toolset.Retry("r\nf\nd")},
		{errors.Join(decided, d), &toolset.DeniedError{Message: "e\nd", Decision: &by}}, {errors.Join(d, decided2), &toolset.DeniedError{Message: "d\ne2", Decision: &by2}},
		{errors.Join(decided, decided2), &toolset.DeniedError{Message: "e\ne2", Decision: &by}},
		{errors.Join(toolset.ErrNobody, f), f}, {errors.Join(f, toolset.ErrNobody), f}, {errors.Join(toolset.ErrNobody), nil},
		{errors.Join(f, errBoom), nil}, {errors.Join(errBoom, f), nil}, {errors.Join(r, errBoom), nil}, {errBoom, nil},
		{errors.Join(undone[0], f), nil}, {errors.Join(d, undone[1]), nil}, {errors.Join(undone[2], undone[2]), nil},
		{fmt.Errorf("%w: %w", r, errBoom), r}, {fmt.Errorf("%w: %w", errBoom, r), r}, {fmt.Errorf("%w: %w", f, errBoom), nil},
		{fmt.Errorf("%w: %w: %w", r, errBoom, f), nil}, {fmt.Errorf("%w\n%w", r, errBoom), nil},
	} {
		require.Equal(t, test.want, toolset.Outcome(test.err), "%d: %v", i, test.err)
	}
}
