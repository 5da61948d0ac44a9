// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

// TestStemsOfWords: endings are cut from words that are long enough to keep a stem, so that forms of a word match.
func TestStemsOfWords(t *testing.T) {
	for word, want := range map[string]string{
		"lies": "lie", "flies": "fly", "ies": "ies", "bing": "bing", "being": "being", "sings": "sing", "boxing": "box", "string": "str",
		"bed": "bed", "shed": "shed", "rated": "rat", "goes": "goe", "boxes": "box", "used": "used", "uses": "use", "bus": "bus", "cats": "cat",
		"ass": "ass", "boss": "boss", "bosses": "boss", "tie": "tie", "time": "tim", "age": "age", "see": "see", "add": "ad", "egg": "eg", "gg": "gg",
		"hidden": "hidden", "running": "run", "hopped": "hop", "tell": "tell", "telling": "tell", "putting": "put", "hummed": "hum", "jarred": "jar",
		"robbed": "rob", "zzz": "zzz", "off": "off",
	} {
		require.Equal(t, []string{want}, toolset.Words(word), word)
	}
}

// TestWordsOfNames: names are split where people would.
func TestWordsOfNames(t *testing.T) {
	for text, want := range map[string]string{
		"aB": "b", "AB": "ab", "ABc": "bc", "ABCd": "ab cd", "xY1Z": "x y1z", "x1Y": "x1y", "éA": "é", "e\u0301tat": "e\u0301tat",
		"zwei  drei": "zwei drei", "x.y": "x y", "漢字かなカナ": "漢 字 か な カ ナ", "x漢y": "x 漢 y", "漢Xy": "漢 xy", "tools you": "", "x\ty": "x y",
	} {
		got := strings.Join(toolset.Words(text), " ")
		require.Equal(t, want, got, text)
	}
}

// TestSearchOrder: rare words count more than common ones, exact ones more than beginnings, names more than descriptions, and short
// descriptions more than long ones.
func TestSearchOrder(t *testing.T) {
	for name, test := range map[string]struct {
		query string
		tools []string
		want  string
	}{
		"rare words":             {"common rare", []string{"a1", "common", "b1", "common", "c1", "rare", "d1", "common"}, "c1 a1 b1 d1"},
		"exact words":            {"calendar", []string{"a1", "calend", "b1", "calendar"}, "b1 a1"},
		"the beginning of words": {"calen", []string{"a1", "calendar", "b1", "cal"}, "a1"},
		"shorter than four":      {"cal", []string{"a1", "calendar"}, ""},
		"words that go on":       {"calendars", []string{"a1", "calen", "b1", "other"}, "a1"},
		"names":                  {"mail", []string{"a1", "mail mail", "mail", "x y"}, "mail a1"},
		"short descriptions":     {"mail", []string{"a1", "mail and many other things besides that", "b1", "mail"}, "b1 a1"},
		"often":                  {"mail", []string{"a1", "mail x y z", "b1", "mail mail y z"}, "b1 a1"},
		"more words":             {"red blue", []string{"a1", "red green", "b1", "red blue"}, "b1 a1"},
		"repeated in the query":  {"red red red blue", []string{"a1", "red x", "b1", "blue y", "c1", "blue z"}, "a1 b1 c1"},
		"five at most":           {"mail", []string{"a1", "mail", "b1", "mail", "c1", "mail", "d1", "mail", "e1", "mail", "f1", "mail"}, "a1 b1 c1 d1 e1"},
	} {
		res, err := toolsettest.Call(t.Context(), toolset.Searchable(described(test.tools...), toolset.Search[deps]{}), nil, "search_tools", fmt.Sprintf(`{"query":%q}`, test.query))
		require.NoError(t, err, name)
		var got []string
		for line := range strings.Lines(res.Text) {
			if tool, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
				tool, _, _ = strings.Cut(tool, ":")
				got = append(got, tool)
			}
		}
		require.Equal(t, test.want, strings.Join(got, " "), name)
	}
	var query []string // 64 words count
	for i := range 65 {
		query = append(query, fmt.Sprintf("q%02d", i))
	}
	set := toolset.Searchable(described("a1", "q64", "b1", "q63"), toolset.Search[deps]{})
	res, err := toolsettest.Call(t.Context(), set, nil, "search_tools", fmt.Sprintf(`{"query":%q}`, strings.Join(query, " ")))
	require.NoError(t, err)
	require.Equal(t, "These tools are now available:\n- b1: q63", res.Text)
}

// TestSearchTool: what it is called, what it tells the model, and what the history keeps.
func TestSearchTool(t *testing.T) {
	library := described("pay", "  Pays an invoice.\nSlowly.", "quiet", "", "list", "Lists.")
	listing := func(set set, messages ...*model.Message) []*toolset.Tool[deps] {
		run := new(runContext)
		run.Messages = messages
		l, err := open(t, set).Tools(t.Context(), run)
		require.NoError(t, err)
		return l.Tools
	}
	tool := listing(toolset.Searchable(library, toolset.Search[deps]{}))[0]
	require.Equal(t, "search_tools", tool.Def.Name)
	require.Equal(t, "Search for additional tools. Matching tools become available to call. Search before concluding that something is not possible.", tool.Def.Description)
	require.Equal(t, toolset.KindSearch, tool.Kind)
	require.Equal(t, "Search tools", tool.Title)
	require.Contains(t, string(tool.Def.Schema), "A few keywords that describe what the tool should do, such as the action and the object")
	tool = listing(toolset.Searchable(library, toolset.Search[deps]{Name: "find", Description: "Finds."}))[0]
	require.Equal(t, "find", tool.Def.Name)
	require.Equal(t, "Finds.", tool.Def.Description)

	rank := func(tools []*toolset.Tool[deps], err error) func(context.Context, string, []*toolset.Tool[deps]) ([]*toolset.Tool[deps], error) {
		return func(_ context.Context, query string, hidden []*toolset.Tool[deps]) ([]*toolset.Tool[deps], error) {
			require.Equal(t, "q", query)
			if tools == nil {
				tools = append(tools, hidden...)
			}
			clear(hidden) // it is its own
			return tools, err
		}
	}
	all := toolset.Searchable(library, toolset.Search[deps]{Rank: rank(nil, nil)})
	in := open(t, all)
	l, err := in.Tools(t.Context(), new(runContext))
	require.NoError(t, err)
	args, err := l.Tools[0].Decode([]byte(`{"query":"q"}`))
	require.NoError(t, err)
	res, err := l.Tools[0].Call(t.Context(), new(runContext), args)
	require.NoError(t, err)
	require.Equal(t, toolset.Result{
		Text: "These tools are now available:\n- pay: Pays an invoice.\n- quiet\n- list: Lists.",
		Meta: json.RawMessage(`{"discovered_tools":{"search_tools":["pay","quiet","list"]}}`),
		Keep: "pay quiet list",
	}, res)
	found := model.ToolReturn("1", "search_tools", res.Text)
	found.Meta = json.RawMessage(`{"discovered_tools":{"search_tools":["list","pay"]}}`)
	kept := &model.Message{Kind: model.KindRequest, Parts: []model.Part{model.User("x")}, Kept: []model.Part{found}}
	run := new(runContext)
	run.Messages = []*model.Message{kept}
	l, err = in.Tools(t.Context(), run)
	require.NoError(t, err)
	require.Equal(t, "search_tools list pay", names(l), "what a summary has kept")
	res, err = l.Tools[0].Call(t.Context(), run, args)
	require.NoError(t, err)
	require.Equal(t, "quiet", res.Keep, "the others are kept already")

	for want, set := range map[string]set{
		"boom": toolset.Searchable(library, toolset.Search[deps]{Rank: rank(nil, errBoom)}),
		"search: Rank returned a tool it was not given": toolset.Searchable(library, toolset.Search[deps]{Rank: rank([]*toolset.Tool[deps]{tell("other")}, nil)}),
	} {
		_, err := toolsettest.Call(t.Context(), set, nil, "search_tools", `{"query":"q"}`)
		require.EqualError(t, err, want)
	}
	res, err = toolsettest.Call(t.Context(), toolset.Searchable(library, toolset.Search[deps]{Rank: rank(nil, toolset.Failed("no index"))}), nil, "search_tools", `{"query":"q"}`)
	require.NoError(t, err)
	require.Equal(t, toolset.Result{Text: "no index", Outcome: model.OutcomeFailed}, res)
	_, err = tool.Call(t.Context(), nil, args)
	require.NoError(t, err)

	_, err = open(t, toolset.Searchable(&failing{listErr: errBoom}, toolset.Search[deps]{})).Tools(t.Context(), run)
	require.Equal(t, errBoom, err)
	_, err = toolset.Searchable[deps](&failing{openErr: errBoom}, toolset.Search[deps]{}).Open(t.Context(), run)
	require.Equal(t, errBoom, err)
	require.Equal(t, errBoom, open(t, toolset.Searchable[deps](&failing{closeErr: errBoom}, toolset.Search[deps]{})).Close(t.Context()))
}

// failing is a toolset and its instance, with errors.
type failing struct{ openErr, listErr, closeErr error }

func (f *failing) Name() string { return "failing" }

func (f *failing) Open(context.Context, *runContext) (toolset.Instance[deps], error) {
	return f, f.openErr
}

func (f *failing) Tools(context.Context, *runContext) (toolset.Listing[deps], error) {
	return toolset.Listing[deps]{}, f.listErr
}

func (f *failing) Close(context.Context) error { return f.closeErr }

// TestCombinatorsPassOnErrors: of what they contain, with the place where they say it.
func TestCombinatorsPassOnErrors(t *testing.T) {
	for name, combine := range combinators() {
		opens, _ := combine(&failing{openErr: errBoom})
		in, err := opens.Open(t.Context(), new(runContext))
		if name == "PerStep" || name == "PerRun" {
			if err == nil {
				_, err = in.Tools(t.Context(), new(runContext))
			}
		}
		require.ErrorIs(t, err, errBoom, name)
		lists, _ := combine(&failing{listErr: errBoom})
		in, err = lists.Open(t.Context(), new(runContext))
		require.NoError(t, err, name)
		l, err := in.Tools(t.Context(), new(runContext))
		require.ErrorIs(t, err, errBoom, name)
		require.Zero(t, l, name)
		closes, _ := combine(&failing{closeErr: errBoom})
		in, err = closes.Open(t.Context(), new(runContext))
		require.NoError(t, err, name)
		_, _ = in.Tools(t.Context(), new(runContext))
		require.ErrorIs(t, in.Close(t.Context()), errBoom, name)
	}
}

// TestErrorsOfDynamicToolsets: where they come from.
func TestErrorsOfDynamicToolsets(t *testing.T) {
	build := func(s set, err error) func(context.Context, *runContext) (set, error) {
		return func(context.Context, *runContext) (set, error) { return s, err }
	}
	run := new(runContext)
	_, err := toolset.PerRun("x", build(nil, errBoom)).Open(t.Context(), run)
	require.EqualError(t, err, "build: boom")
	in := open(t, toolset.PerRun("x", build(nil, nil)))
	l, err := in.Tools(t.Context(), run)
	require.NoError(t, err)
	require.Zero(t, l, "no toolset has no tools")

	in = open(t, toolset.PerStep("x", build(nil, errBoom)))
	_, err = in.Tools(t.Context(), run)
	require.EqualError(t, err, "build: boom")
	require.NoError(t, in.Close(t.Context()))
	in = open(t, toolset.PerStep("x", build(&failing{openErr: errBoom}, nil)))
	_, err = in.Tools(t.Context(), run)
	require.EqualError(t, err, `open toolset "failing": boom`)
	require.NoError(t, in.Close(t.Context()))

	steps := []set{&failing{closeErr: errors.New("first")}, nil, &failing{closeErr: errors.New("second")}, &failing{closeErr: errors.New("third")}}
	step := -1
	in = open(t, toolset.PerStep("x", func(context.Context, *runContext) (set, error) { step++; return steps[step], nil }))
	for range steps {
		l, err := in.Tools(t.Context(), run)
		require.NoError(t, err)
		require.Zero(t, l)
	}
	require.EqualError(t, in.Close(t.Context()), "close toolset \"failing\": first\nclose toolset \"failing\": second\nclose toolset \"failing\": third")
	_, err = open(t, toolset.Filtered(tells("a"), func(context.Context, *runContext, *toolset.Tool[deps]) (bool, error) { return false, errBoom })).Tools(t.Context(), run)
	require.EqualError(t, err, `filter tool "a": boom`)

	// Toolsets that cannot be compared are new in each step.
	opened := 0
	in = open(t, toolset.PerStep("x", func(context.Context, *runContext) (set, error) { return uncomparable{func() { opened++ }}, nil }))
	for range 2 {
		_, err := in.Tools(t.Context(), run)
		require.NoError(t, err)
	}
	require.Equal(t, 2, opened)
}

type uncomparable struct{ opens func() }

func (uncomparable) Name() string { return "uncomparable" }

func (u uncomparable) Open(ctx context.Context, run *runContext) (toolset.Instance[deps], error) {
	u.opens()
	return toolset.Of[deps]().Open(ctx, run)
}

// TestKeysOfCalls: the key of a call that an earlier run has made is that run's.
func TestKeysOfCalls(t *testing.T) {
	info := toolset.RunInfo{RunID: "run", Step: 2}
	for want, call := range map[string]toolset.Call{
		"run/2/c": {ID: "c"}, "earlier/7/c": {ID: "c", RunID: "earlier", Step: 7}, "run/2/a~1b": {ID: "a/b"}, "run/2/": {Step: 5},
	} {
		require.Equal(t, want, (&runContext{RunInfo: info, Call: call}).IdempotencyKey())
	}
}

// TestHooksCannotPassOnRefusedArguments: an engine checks what a hook passes on. Checks around it apply as well, and a refusal is not
// an outcome of the tool.
func TestHooksCannotPassOnRefusedArguments(t *testing.T) {
	ran := 0
	tool := toolset.Plain[deps]("t", "", func(_ context.Context, q query) (string, error) { ran++; return q.City, nil })
	passOn := func(ctx context.Context, _ *runContext, args any, next toolset.CallFunc) (toolset.Result, error) {
		return next(ctx, args)
	}
	wrapped := toolset.Wrapped(toolset.Of(tool), passOn).(toolset.Fixed[deps]).FixedTools()[0]
	var asked []string
	check := func(name string, err error) func(context.Context, any) error {
		return func(_ context.Context, args any) error {
			asked = append(asked, name+" "+args.(*query).City)
			return err
		}
	}
	inner, outer := toolset.Failed("inner"), toolset.Denied("outer")
	call := func(ctx context.Context) (toolset.Result, error) {
		asked = nil
		return wrapped.Call(ctx, new(runContext), &query{City: "Oslo"})
	}
	res, err := call(toolset.WithArgsCheck(toolset.WithArgsCheck(t.Context(), check("outer", nil)), check("inner", nil)))
	require.NoError(t, err)
	require.Equal(t, "Oslo", res.Text)
	require.Equal(t, []string{"inner Oslo", "outer Oslo"}, asked)
	_, err = call(toolset.WithArgsCheck(toolset.WithArgsCheck(t.Context(), check("outer", outer)), check("inner", nil)))
	require.Equal(t, outer, err, "as it is")
	require.Equal(t, []string{"inner Oslo", "outer Oslo"}, asked)
	_, err = call(toolset.WithArgsCheck(toolset.WithArgsCheck(t.Context(), check("outer", outer)), check("inner", inner)))
	require.Equal(t, inner, err)
	require.Equal(t, []string{"inner Oslo"}, asked)
	require.Equal(t, 1, ran)
	res, err = toolset.Wrapped(toolset.Of(fails("f", outer)), passOn).(toolset.Fixed[deps]).FixedTools()[0].Call(t.Context(), new(runContext), new(noArgs))
	require.NoError(t, err)
	require.Equal(t, toolset.Result{Text: "outer", Outcome: model.OutcomeDenied}, res)
}

// TestPreparedDefinitions: what a function gives back is checked, copied and kept.
func TestPreparedDefinitions(t *testing.T) {
	schema := json.RawMessage(`{"type":"object"}`)
	strict, text := false, ""
	one := func(_ context.Context, _ *runContext, def model.ToolDef) (*model.ToolDef, error) {
		def.Schema, def.Strict, def.Description = schema, strict, text
		return &def, nil
	}
	all := func(ctx context.Context, run *runContext, defs []model.ToolDef) ([]model.ToolDef, error) {
		for i := range defs {
			def, err := one(ctx, run, defs[i])
			if err != nil {
				return nil, err
			}
			defs[i] = *def
		}
		return defs, nil
	}
	for name, set := range map[string]set{"Prepared": toolset.Prepared(tells("a"), one), "PreparedAll": toolset.PreparedAll(tells("a"), all)} {
		strict, text, schema = false, "", json.RawMessage(`{"type":"object"}`)
		in := open(t, set)
		list := func() *toolset.Tool[deps] {
			l, err := in.Tools(t.Context(), new(runContext))
			require.NoError(t, err, name)
			return l.Tools[0]
		}
		first := list()
		require.NoError(t, first.Err())
		require.Same(t, first, list(), name)
		copy(schema, `{"tYPE"`)
		require.JSONEq(t, `{"type":"object"}`, string(first.Def.Schema), "the function may reuse its memory")
		_, err := in.Tools(t.Context(), new(runContext))
		require.ErrorContains(t, err, `schema has no type`, name)
		copy(schema, `{"type"`)
		require.Same(t, first, list(), name)
		strict = true
		second := list()
		require.NotSame(t, first, second, name)
		require.True(t, second.Def.Strict)
		text = "changed"
		third := list()
		require.NotSame(t, second, third, name)
		require.Equal(t, "changed", third.Def.Description)
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
		require.NotSame(t, third, list(), name)
	}
}

// TestErrorsOfStatelessToolsets: tools that keep something in memory are told with what they keep.
func TestErrorsOfStatelessToolsets(t *testing.T) {
	keeps := func(name, what string) *toolset.Tool[deps] {
		return toolset.Func(name, "", func(context.Context, *runContext, noArgs) (string, error) { return "", nil }, toolset.InMemory(what))
	}
	inner := toolset.Of(keeps("a", "a cache"), tell("b"), keeps("c", "files"))
	const why = " and its calls may run in several processes: leave it out, or run the agent on an engine that stays in one process"
	want := `toolset: the tool "a" keeps state in memory (a cache),` + why + "\n" + `toolset: the tool "c" keeps state in memory (files),` + why
	require.EqualError(t, toolset.Base[deps]{Toolset: toolset.Stateless(inner)}.Check(), want)
	in := open(t, toolset.Stateless(perRun(inner)))
	for range 2 {
		l, err := in.Tools(t.Context(), new(runContext))
		require.EqualError(t, err, want)
		require.Zero(t, l)
	}
	in = open(t, toolset.Stateless(perRun(tells("b"))))
	for range 2 {
		l, err := in.Tools(t.Context(), new(runContext))
		require.NoError(t, err)
		require.Equal(t, "b", names(l))
	}
}

// TestBrokenToolsDoNotHideOthers: all problems are found at once, also of what a combinator makes of a broken toolset.
func TestBrokenToolsDoNotHideOthers(t *testing.T) {
	inner := toolset.Named(toolset.Of(tell("b b"), tell("a"), nil), "x")
	err := toolset.Base[deps]{Toolset: toolset.RenamedFunc(inner, func(name string) string { return name + "/" })}.Check()
	require.EqualError(t, err, "toolset x: toolset of(b b,…): tool name \"b b\": invalid character \" \"; use letters, digits, '_' and '-'\n"+
		"toolset of(b b,…): tool 2 is nil\n"+
		"toolset x: tool name \"a/\": invalid character \"/\"; use letters, digits, '_' and '-'")
}

// TestReplaysEndOnce: what was not asked for is taken back once.
func TestReplaysEndOnce(t *testing.T) {
	user := toolset.NewMeter(toolset.Limits{})
	run := user.Child(toolset.Limits{})
	end := toolset.Replay(run, "run", func() toolset.Usage { return two })
	require.Equal(t, two, user.Usage())
	end()
	end()
	require.Zero(t, user.Usage())
}

// TestReplaysPayForTheirRequests: what is recorded of a run is not counted again, down to the last request.
func TestReplaysPayForTheirRequests(t *testing.T) {
	user := toolset.NewMeter(toolset.Limits{})
	run := user.Child(toolset.Limits{})
	end := toolset.Replay(run, "run", func() toolset.Usage { return toolset.Usage{Requests: 1} })
	require.NoError(t, run.Request())
	require.Equal(t, 1, user.Usage().Requests)
	require.NoError(t, run.Request())
	require.Equal(t, 2, user.Usage().Requests)
	end()
	require.Equal(t, 2, user.Usage().Requests)
	require.Zero(t, new(toolset.Meter).Cost(asked, answered("a", "large", mega)), "without prices")
}

// TestRenamedToolsKeepTheirOwnName: in each of their functions.
func TestRenamedToolsKeepTheirOwnName(t *testing.T) {
	var got []string
	note := func(what string, run *runContext) { got = append(got, what+" "+run.Call.Tool) }
	tool := toolset.Func("own", "", func(_ context.Context, run *runContext, _ noArgs) (string, error) { note("call", run); return "", nil },
		toolset.Check(func(_ context.Context, run *runContext, _ noArgs) error { note("check", run); return nil }),
		toolset.Approve(func(_ context.Context, run *runContext, _ noArgs) (*toolset.Approval, error) {
			note("approve", run)
			return nil, nil
		}),
		toolset.Effects(func(_ context.Context, run *runContext, _ noArgs) ([]toolset.Effect, error) {
			note("effects", run)
			return nil, nil
		}))
	renamed := toolset.Renamed(toolset.Of(tool), map[string]string{"own": "new"}).(toolset.Fixed[deps]).FixedTools()[0]
	run := new(runContext)
	run.Call.Tool = "new"
	_, err := renamed.Call(t.Context(), run, noArgs{})
	require.NoError(t, err)
	require.NoError(t, renamed.Check(t.Context(), run, noArgs{}))
	_, err = renamed.Approval(t.Context(), run, noArgs{})
	require.NoError(t, err)
	_, err = renamed.Effects(t.Context(), run, noArgs{})
	require.NoError(t, err)
	require.Equal(t, []string{"call own", "check own", "approve own", "effects own"}, got)
	require.Equal(t, "new", run.Call.Tool, "the run's own context is as it was")
}

// TestOneToolOfServersGetsAName: of several that would give way to it.
func TestOneToolOfServersGetsAName(t *testing.T) {
	yields := func() *toolset.Tool[deps] {
		tool := tell("x")
		tool.Yield = func(string) string { return "y" }
		return tool
	}
	l, err := open(t, toolset.Combine(tells("x"), toolset.Of(yields()), toolset.Of(yields()), toolset.Of(yields()))).Tools(t.Context(), new(runContext))
	require.NoError(t, err)
	require.Equal(t, "x y", names(l))
}
