// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

// described makes a toolset from pairs of name and description. Its tools return their names.
func described(pairs ...string) set {
	var tools []*toolset.Tool[deps]
	for i := 0; i < len(pairs); i += 2 {
		t := *tell(pairs[i])
		t.Def.Description = pairs[i+1]
		tools = append(tools, &t)
	}
	return toolset.Of(tools...)
}

func office() set {
	return described(
		"send_email", "Send an e-mail to somebody.",
		"read_inbox", "List the e-mails that have arrived.",
		"create_event", "Put an appointment into the calendar.\nTakes a day and an hour.",
		"list_events", "Show what is in the calendar.",
		"book_flight", "Book a flight.",
		"deleteFile", "Remove a file for good.",
	)
}

func search(id, query string) model.Part {
	args, _ := json.Marshal(map[string]string{"query": query})
	return model.ToolCall(id, "search_tools", string(args))
}

func TestFoundToolsAreOfferedAfterTheSearch(t *testing.T) {
	both(t, office(), func(t *testing.T, inner set) {
		s := toolset.Searchable(inner, toolset.Search[deps]{Visible: func(t *toolset.Tool[deps]) bool { return t.Def.Name == "book_flight" }})
		tr := run(t, []set{s},
			modeltest.Say(search("1", "calendar"), model.ToolCall("2", "list_events", "")),
			say("list_events", "create_event"),
			modeltest.Say(search("3", "send mail"), search("4", "events in the calendar")),
			say("send_email"), done)
		require.NoError(t, tr.err)
		require.Equal(t, [][]string{
			{"book_flight", "search_tools"},
			{"book_flight", "search_tools", "list_events", "create_event"},
			{"book_flight", "search_tools", "list_events", "create_event"},
			{"book_flight", "search_tools", "list_events", "create_event", "send_email", "read_inbox"},
			{"book_flight", "search_tools", "list_events", "create_event", "send_email", "read_inbox"},
		}, tr.offered)
		require.Equal(t, "These tools are now available:\n- list_events: Show what is in the calendar.\n- create_event: Put an appointment into the calendar.", tr.answers[0])
		require.Equal(t, `Unknown tool "list_events". Available tools: book_flight, search_tools.`, tr.answers[1], "hidden tools cannot be called")
		require.Contains(t, tr.answers, "send_email for Ada")
	})
}

func TestSearchKeepsThePromptPrefix(t *testing.T) {
	tr := run(t, []set{tells("first"), toolset.Searchable(office(), toolset.Search[deps]{})},
		modeltest.Say(search("1", "e-mail")), modeltest.Say(search("2", "flight")), modeltest.Say(search("3", "calendar")), done)
	require.NoError(t, tr.err)
	requests := tr.script.Requests()
	for i, r := range requests[1:] {
		before := requests[i]
		require.Greater(t, len(r.Tools), len(before.Tools))
		require.Equal(t, before.Tools, r.Tools[:len(before.Tools)], "earlier requests are prefixes")
	}
}

func TestFoundToolsAreDerivedFromTheHistory(t *testing.T) {
	s := func() set { return toolset.Searchable(office(), toolset.Search[deps]{}) }
	tr := run(t, []set{s()}, modeltest.Say(search("1", "calendar")), done)
	require.NoError(t, tr.err)

	stored, err := json.Marshal(tr.res.Messages)
	require.NoError(t, err)
	var history []*model.Message
	require.NoError(t, json.Unmarshal(stored, &history))
	resume := func(history []*model.Message) []string {
		script := modeltest.Script(done)
		_, err := newAgent(t, script, s()).Run(t.Context(), deps{}, "again", agent.WithHistory(history))
		require.NoError(t, err)
		return offeredBy(script.Requests()[0])
	}
	require.Equal(t, []string{"search_tools", "list_events", "create_event"}, resume(history), "in another process too")
	require.Equal(t, []string{"search_tools"}, resume(history[3:]), "tools are found only if the history says so")
}

func TestPendingCallOfAFoundToolCanBeResumed(t *testing.T) {
	s := toolset.Approved(toolset.Searchable(office(), toolset.Search[deps]{}), func(_ context.Context, _ *runContext, t *toolset.Tool[deps], _ any) (*toolset.Approval, error) {
		if t.Def.Name == "search_tools" {
			return nil, nil
		}
		return &toolset.Approval{}, nil
	})
	tr := run(t, []set{s}, modeltest.Say(search("1", "flight")), say("book_flight"))
	require.Len(t, pending(t, tr.err), 1)
	var e *agent.RunError
	require.ErrorAs(t, tr.err, &e)
	res, err := newAgent(t, modeltest.Script(done), s).Run(t.Context(), deps{"Ada"}, "", agent.WithHistory(e.Messages),
		agent.WithResults(agent.DeferredResults{Decisions: map[string]toolset.Decision{"call0": toolset.Allow()}}))
	require.NoError(t, err)
	require.Equal(t, "book_flight for Ada", res.Messages[4].Parts[0].Text)
}

func TestReplacedHistoryIsReadAgain(t *testing.T) {
	in := open(t, toolset.Searchable(office(), toolset.Search[deps]{}))
	offered := func(messages ...*model.Message) string {
		rc := &runContext{}
		rc.Messages = messages
		l, err := in.Tools(t.Context(), rc)
		require.NoError(t, err)
		return names(l)
	}
	found := func(tools string) *model.Message {
		p := model.ToolReturn("1", "search_tools", "")
		p.Meta = json.RawMessage(`{"discovered_tools":{"search_tools":[` + tools + `]}}`)
		return &model.Message{Kind: model.KindRequest, Parts: []model.Part{model.User("x"), p}}
	}
	a, b, other := found(`"list_events"`), found(`"book_flight","unknown"`), found("")
	require.Equal(t, "search_tools list_events", offered(other, a))
	require.Equal(t, "search_tools list_events", offered(other, a, other))
	require.Equal(t, "search_tools list_events book_flight", offered(other, a, other, b))
	require.Equal(t, "search_tools book_flight", offered(other, other, other, b), "a message in the middle was replaced")
	require.Equal(t, "search_tools list_events", offered(a), "the history is shorter")
	require.Equal(t, "search_tools book_flight list_events", offered(b, a))
	require.Equal(t, "search_tools", offered(other, other), "another one of the same length")
	require.Equal(t, "search_tools", offered())
}

func TestForeignMarksAreIgnored(t *testing.T) {
	in := open(t, toolset.Searchable(office(), toolset.Search[deps]{}))
	for _, meta := range []string{`{"discovered_tools":{"other":["list_events"]}}`, `{"discovered_tools":5}`, `{"discovered_tools"`, `"discovered_tools"`, `{}`, ``} {
		p := model.ToolReturn("1", "search_tools", "")
		p.Meta = json.RawMessage(meta)
		user := model.User("x")
		user.Meta = json.RawMessage(`{"discovered_tools":{"search_tools":["list_events"]}}`)
		rc := &runContext{}
		rc.Messages = []*model.Message{{Kind: model.KindRequest, Parts: []model.Part{p, user}}}
		l, err := in.Tools(t.Context(), rc)
		require.NoError(t, err)
		require.Equal(t, "search_tools", names(l), meta)
	}
}

func TestSearchReadsEachMessageOnce(t *testing.T) {
	in := open(t, toolset.Searchable(office(), toolset.Search[deps]{}))
	rc := &runContext{}
	for range 1000 {
		rc.Messages = append(rc.Messages, &model.Message{Kind: model.KindRequest, Parts: []model.Part{model.User("x")}})
	}
	_, err := in.Tools(t.Context(), rc)
	require.NoError(t, err)
	// A message that was read is never read again. Otherwise this one would discover a tool.
	p := model.ToolReturn("1", "search_tools", "")
	p.Meta = json.RawMessage(`{"discovered_tools":{"search_tools":["list_events"]}}`)
	rc.Messages[500].Parts = []model.Part{p}
	l, err := in.Tools(t.Context(), rc)
	require.NoError(t, err)
	require.Equal(t, "search_tools", names(l))
}

func TestSearchWithoutMatches(t *testing.T) {
	tr := run(t, []set{toolset.Searchable(office(), toolset.Search[deps]{})}, modeltest.Say(search("1", "weather"), search("2", "the"), search("3", "")), done)
	require.NoError(t, tr.err)
	require.Equal(t, "No matching tools. Try a different query.", tr.answers[0])
	require.Equal(t, "No matching tools. Try a different query.", tr.answers[1])
	require.Contains(t, tr.answers[2], "query: ")
	require.Equal(t, []string{"search_tools"}, tr.offered[1])
}

func TestNoSearchToolWithoutHiddenTools(t *testing.T) {
	all := func(*toolset.Tool[deps]) bool { return true }
	require.Equal(t, [][]string{{"a", "b"}}, run(t, []set{toolset.Searchable(tells("a", "b"), toolset.Search[deps]{Visible: all})}, done).offered)
}

func TestSearchableToolsetsAreIndependent(t *testing.T) {
	a := toolset.Searchable(tells("x", "y"), toolset.Search[deps]{Name: "search_a"})
	b := toolset.Prefixed(toolset.Searchable(tells("x", "y"), toolset.Search[deps]{}), "b_")
	tr := run(t, []set{a, b}, modeltest.Say(model.ToolCall("1", "search_a", `{"query":"x"}`)), modeltest.Say(model.ToolCall("2", "b_search_tools", `{"query":"y"}`)), done)
	require.NoError(t, tr.err)
	require.Equal(t, [][]string{{"search_a", "b_search_tools"}, {"search_a", "x", "b_search_tools"}, {"search_a", "x", "b_search_tools", "b_y"}}, tr.offered)

	require.ErrorContains(t, newProblems(toolset.Searchable(tells("x"), toolset.Search[deps]{}), toolset.Searchable(tells("y"), toolset.Search[deps]{})), `both have a tool "search_tools"`)
}

func TestRankCanBeReplaced(t *testing.T) {
	foreign := tell("foreign")
	s := toolset.Searchable(office(), toolset.Search[deps]{Max: 2, Description: "Search the office.", Rank: func(_ context.Context, query string, hidden []*toolset.Tool[deps]) ([]*toolset.Tool[deps], error) {
		switch query {
		case "fail":
			return nil, toolset.Failed("the index is down")
		case "boom":
			return nil, errBoom
		case "foreign":
			return []*toolset.Tool[deps]{foreign}, nil
		}
		slices.Reverse(hidden)
		return hidden, nil
	}})
	tr := run(t, []set{s}, modeltest.Say(search("1", "fail"), search("2", "x")), done)
	require.NoError(t, tr.err)
	require.Equal(t, "Search the office.", tr.script.Requests()[0].Tools[0].Description)
	require.Equal(t, "failed the index is down", tr.answers[0])
	require.Equal(t, []string{"search_tools", "deleteFile", "book_flight"}, tr.offered[1])
	require.ErrorIs(t, run(t, []set{s}, modeltest.Say(search("1", "boom"))).err, errBoom)
	require.ErrorContains(t, run(t, []set{s}, modeltest.Say(search("1", "foreign"))).err, "a tool it was not given")
}

func TestSearchUsesNamesAndDescriptions(t *testing.T) {
	library := described(
		"files_read", "Reads a file from the workspace.",
		"files_write", "Writes text to a file. Creates the file if it does not exist.",
		"deleteFile", "Removes a file for good.",
		"git_branches", "Lists branches.",
		"git_delete_branch", "Deletes a branch.",
		"HTTPRequest", "Makes a request to a web server.",
		"weather", "天気予報を調べる",
		"run_query", "Runs a query on the database and returns rows.",
		"cafe_lookup2", "Знаходить кав'ярні поблизу.",
		"quiet", "",
	)
	// The words of a query need not be those of the tool. A common prefix, or another ending, is enough.
	for query, want := range map[string]string{
		"read file":                    "files_read",
		"reading files":                "files_read",
		"delete a file":                "deleteFile",
		"deleted files":                "deleteFile",
		"DELETE-FILE":                  "deleteFile",
		"I want to delete branches":    "git_delete_branch",
		"list git branches":            "git_branches",
		"http":                         "HTTPRequest",
		"requests":                     "HTTPRequest",
		"天気":                           "weather",
		"sql queries":                  "run_query",
		"running a database query":     "run_query",
		"кав'ярні":                     "cafe_lookup2",
		"quiet":                        "quiet",
		"something that writes a text": "files_write",
		"data":                         "run_query",
	} {
		res, err := toolsettest.Call(t.Context(), toolset.Searchable(library, toolset.Search[deps]{Max: 1}), nil, "search_tools", fmt.Sprintf(`{"query":%q}`, query))
		require.NoError(t, err)
		require.Contains(t, res.Text, "\n- "+want, query)
	}
}

// A word in a tool's name counts as often as three in its description.
func TestNameCountsMoreThanDescription(t *testing.T) {
	library := described(
		"alpha", "An invoice, an invoice.",
		"invoice", "Alpha, beta.",
		"gamma", "Nothing of the kind.",
	)
	res, err := toolsettest.Call(t.Context(), toolset.Searchable(library, toolset.Search[deps]{}), nil, "search_tools", `{"query":"invoice"}`)
	require.NoError(t, err)
	require.Less(t, strings.Index(res.Text, "- invoice"), strings.Index(res.Text, "- alpha"))
}

func TestRankingSplitsText(t *testing.T) {
	for text, want := range map[string]string{
		"read_file":                "read fil",
		"readFile, HTTPServer2":    "read fil http server2",
		"The files of a directory": "fil directory",
		"queries Query query":      "query query query",
		"add adding added adds":    "ad ad ad ad",
		"process processes":        "process process",
		"getXMLId":                 "get xml id",
		"grabbing, planned":        "grab plan",
		"日本abc":                    "日 本 abc",
		"天気 ok":                    "天 気 ok",
		"naïve Ünïcode":            "naïv ünïcod",
		"__--  ":                   "",
	} {
		require.Equal(t, want, strings.Join(toolset.Words(text), " "), text)
	}
}

func FuzzSearch(f *testing.F) {
	for _, seed := range []string{"delete a file", "", "天気", "HTTPServer", "\xff\xfe", "ing ed es s e", "a b c d e f g", strings.Repeat("x y z w ", 100), "éÉßſ", "ΑΣ ας"} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, query, description string) {
		for _, w := range toolset.Words(query) {
			require.NotEmpty(t, w)
			require.NotContains(t, w, " ")
		}
		find := func() string {
			args, err := json.Marshal(map[string]string{"query": query})
			require.NoError(t, err)
			s := toolset.Searchable(described("one", description, "two", query, "three", ""), toolset.Search[deps]{Max: 2})
			res, err := toolsettest.Call(t.Context(), s, nil, "search_tools", string(args))
			if err != nil {
				var invalid *toolset.ValidationError
				require.ErrorAs(t, err, &invalid)
			}
			return string(res.Meta)
		}
		found := find()
		require.Equal(t, found, find(), "ranking is deterministic")
		var meta struct {
			Discovered map[string][]string `json:"discovered_tools"`
		}
		if found != "" {
			require.NoError(t, json.Unmarshal([]byte(found), &meta))
			require.LessOrEqual(t, len(meta.Discovered["search_tools"]), 2)
			require.NotEmpty(t, meta.Discovered["search_tools"])
		}
	})
}

func BenchmarkSearchThousandTools(b *testing.B) {
	var pairs []string
	for i := range 1000 {
		pairs = append(pairs, fmt.Sprint("tool_number_", i), fmt.Sprintf("Does what tool %d does: reads, writes and deletes the things of kind %d in a workspace, and tells about it.", i, i%17))
	}
	in, err := toolset.Searchable(described(pairs...), toolset.Search[deps]{}).Open(b.Context(), &runContext{})
	require.NoError(b, err)
	l, err := in.Tools(b.Context(), &runContext{})
	require.NoError(b, err)
	args, err := l.Tools[0].Decode([]byte(`{"query":"delete things of kind 7"}`))
	require.NoError(b, err)
	for b.Loop() {
		_, _ = l.Tools[0].Call(b.Context(), nil, args)
	}
}

func ExampleSearchable() {
	tool := func(name, description string) *toolset.Tool[int] {
		return toolset.Plain[int](name, description, func(context.Context, struct{}) (string, error) { return "done", nil })
	}
	s := toolset.Searchable(toolset.Of(
		tool("send_email", "Send an e-mail."), tool("book_flight", "Book a flight."), tool("find_hotel", "Find a hotel for some nights."), // and 200 more
	), toolset.Search[int]{Description: "Find tools for mail and travel."})
	show(s, 0)
	res, err := toolsettest.Call(context.Background(), s, nil, "search_tools", `{"query":"hotels in Oslo"}`)
	fmt.Println(res.Text, err)
	// Output:
	// [search_tools]
	// These tools are now available:
	// - find_hotel: Find a hotel for some nights. <nil>
}

func TestEqualMatchesKeepTheirOrder(t *testing.T) {
	var pairs []string
	var want strings.Builder
	for i := range 30 {
		pairs = append(pairs, fmt.Sprintf("x%d", (i*7)%30), "Pays an invoice.")
		fmt.Fprintf(&want, "\n- x%d: Pays an invoice.", (i*7)%30)
	}
	pairs = append(pairs, "invoice", "Pays an invoice.")
	res, err := toolsettest.Call(t.Context(), toolset.Searchable(described(pairs...), toolset.Search[deps]{Max: 50}), nil, "search_tools", `{"query":"invoice"}`)
	require.NoError(t, err)
	require.Equal(t, "These tools are now available:\n- invoice: Pays an invoice."+want.String(), res.Text)
}
