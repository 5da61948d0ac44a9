// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/compaction"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

type deps struct{ work *workspace.Session }

// looking is a tool whose results are about size bytes and have a fact each.
func looking(size int) *toolset.Tool[deps] {
	return toolset.Plain[deps]("look", "Look.", func(_ context.Context, in lookArgs) (string, error) {
		return fmt.Sprintf("FACT-%d %s", in.N, strings.Repeat("lorem ipsum ", size/12)), nil
	})
}

// watched runs an agent and returns its events.
func watched(t *testing.T, a *agent.Agent[deps, string], history []*model.Message, prompt string) (*agent.Result[string], *seen) {
	t.Helper()
	got := &seen{}
	s := a.Stream(t.Context(), deps{}, prompt, agent.WithHistory(history), agent.WithLimits(agent.Limits{Requests: agent.Unlimited}))
	for e := range s.Events() {
		if e.Kind == agent.EventCustom {
			got.add(e.Value)
		}
	}
	res, err := s.Result()
	require.NoError(t, err)
	return res, got
}

// A single turn of many steps, ten times as long as the window: the task is to look at everything and to name all that was found.
func TestTurnTenTimesAsLongAsTheWindowIsFinished(t *testing.T) {
	const window, steps, size = 8000, 160, 2000
	for name, m := range map[string]*small{
		"usage": {bytes: 4}, "denser than estimated": {bytes: 3}, "no usage": {bytes: 4, silent: true}, "no usage, denser": {bytes: 3, silent: true},
	} {
		t.Run(name, func(t *testing.T) {
			m.t, m.window = t, window
			n := 0
			m.answer = func(req *model.Request) *model.Message {
				require.Contains(t, textOf(req.Messages), "the code is 4711", "the task is never lost")
				if n < steps {
					n++
					return look(n)
				}
				return model.Response(model.Text(fmt.Sprintf("%d of them", len(facts(textOf(req.Messages))))))
			}
			a := agent.Must(agent.New(agent.Config[deps, string]{
				Model: m, Tools: []*toolset.Tool[deps]{looking(size)},
				Capabilities: []agent.Capability[deps]{compaction.New(compaction.Options[deps]{Model: summariser()})},
			}))
			_, got := watched(t, a, nil, "Look at all of them. Remember: the code is 4711.")
			require.GreaterOrEqual(t, steps*size/m.bytes, 10*window)
			require.Equal(t, steps, n)
			require.Positive(t, got.summaries+got.cleared)
			if !m.silent {
				require.Zero(t, m.refused)
				require.Equal(t, got.summaries+got.cleared, changedPrefixes(m.requests), "the prefix changes only where something was compacted")
			}
			require.LessOrEqual(t, changedPrefixes(m.requests), got.summaries+got.cleared+2*m.refused)
			require.Less(t, changedPrefixes(m.requests), steps/3, "the prompt cache is lost seldom")
			t.Logf("%d requests, %d prefixes changed, %d cleared, %d summaries, %d refused", len(m.requests), changedPrefixes(m.requests), got.cleared, got.summaries, m.refused)
		})
	}
}

// A session of many turns. What was said in the first one is known in the last one.
func TestSessionTenTimesAsLongAsTheWindowKeepsItsFacts(t *testing.T) {
	const window, turns = 8000, 60
	m := &small{t: t, window: window, bytes: 4}
	a := agent.Must(agent.New(agent.Config[deps, string]{
		Model: m, Tools: []*toolset.Tool[deps]{looking(3000)},
		Capabilities: []agent.Capability[deps]{compaction.New(compaction.Options[deps]{Model: summariser()})},
	}))
	var messages []*model.Message
	total := &seen{}
	changed := 0
	for turn := range turns {
		called := false
		m.answer = func(req *model.Request) *model.Message {
			if !called {
				called = true
				return look(1000 + turn)
			}
			return model.Response(model.Text(fmt.Sprintf("I saw FACT-%d. %s", 1000+turn, strings.Repeat("And so on. ", 100))))
		}
		res, got := watched(t, a, messages, fmt.Sprintf("Turn %d: FACT-%d. %s", turn, turn, strings.Repeat("Please be thorough. ", 40)))
		messages = res.Messages
		total.summaries += got.summaries
		total.cleared += got.cleared
	}
	changed = changedPrefixes(m.requests)
	require.Zero(t, m.refused)
	require.Equal(t, total.summaries+total.cleared, changed, "the prefix changes only where something was compacted")
	require.Positive(t, total.summaries)
	found := facts(textOf(m.requests[len(m.requests)-1].Messages))
	require.Contains(t, found, "FACT-0")
	require.GreaterOrEqual(t, len(found), 2*turns-1)
	t.Logf("%d requests, %d cleared, %d summaries", len(m.requests), total.cleared, total.summaries)
}

func TestOldResultsAreClearedBeforeAnythingIsSummarised(t *testing.T) {
	m, n := &small{t: t, window: 10_000, bytes: 4}, 0
	m.answer = func(*model.Request) *model.Message {
		if n++; n <= 14 {
			return look(n)
		}
		return model.Response(model.Text("done"))
	}
	a := agent.Must(agent.New(agent.Config[deps, string]{
		Model: m, Tools: []*toolset.Tool[deps]{looking(2000)},
		Capabilities: []agent.Capability[deps]{compaction.New(compaction.Options[deps]{Model: summariser()})},
	}))
	_, got := watched(t, a, nil, "go")
	require.Equal(t, 1, got.cleared)
	require.Zero(t, got.summaries)
	require.Contains(t, got.titles(view.Notice, "")[0], "old tool results to save space.")
	last := textOf(m.requests[len(m.requests)-1].Messages)
	require.Contains(t, last, "was removed to save space. Call look again if you need it.]")
	require.Contains(t, last, "FACT-14 lorem")
}

func TestUsersAreWarnedOnce(t *testing.T) {
	m, n := &small{t: t, window: 10_000, bytes: 4}, 0
	m.answer = func(*model.Request) *model.Message {
		n++
		return model.Response(model.Text(strings.Repeat("word ", 300)))
	}
	a := agent.Must(agent.New(agent.Config[deps, string]{
		Model: m, Capabilities: []agent.Capability[deps]{compaction.New(compaction.Options[deps]{Model: summariser()})},
	}))
	var messages []*model.Message
	var warnings []string
	summaries := 0
	for summaries == 0 {
		res, got := watched(t, a, messages, strings.Repeat("word ", 50))
		messages, summaries = res.Messages, got.summaries
		if summaries == 0 {
			warnings = append(warnings, got.titles(view.Notice, "")...)
		} else {
			require.Equal(t, []string{""}, got.titles(view.Compaction, view.Running))
			require.Equal(t, []string{"They found ."}, got.titles(view.Compaction, view.Completed))
			require.Equal(t, got.entities[0].ID, got.entities[1].ID)
		}
	}
	require.Len(t, warnings, 1)
	require.Regexp(t, `^The conversation fills 7\d% of the context window\. .* /compact does it now\.$`, warnings[0])
}

func TestFailedSummaryDoesNotEndTheRun(t *testing.T) {
	m := &small{t: t, window: 8000, bytes: 4}
	m.answer = func(*model.Request) *model.Message { return model.Response(model.Text(strings.Repeat("word ", 300))) }
	a := agent.Must(agent.New(agent.Config[deps, string]{
		Model: m, Capabilities: []agent.Capability[deps]{compaction.New(compaction.Options[deps]{
			Model: modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) { return nil, errors.New("no\nroom") }),
		})},
	}))
	var messages []*model.Message
	var failures []string
	for range 40 {
		res, got := watched(t, a, messages, strings.Repeat("word ", 50))
		messages = res.Messages
		failures = append(failures, got.titles(view.Compaction, view.Failed)...)
	}
	require.Equal(t, "The model could not summarise the conversation.", failures[0])
	require.Zero(t, m.refused, "the budget takes its place")
}

func TestRequestThatIsTooLongIsSentAgain(t *testing.T) {
	m := &small{t: t, window: 4000, bytes: 1, silent: true} // a token is a byte, which no estimate expects
	m.answer = func(*model.Request) *model.Message { return model.Response(model.Text("yes")) }
	a := agent.Must(agent.New(agent.Config[deps, string]{
		Model: m, Capabilities: []agent.Capability[deps]{compaction.New(compaction.Options[deps]{Model: summariser()})},
	}))
	var messages []*model.Message
	refused := make([]int, 40)
	for i := range refused {
		res, _ := watched(t, a, messages, fmt.Sprint(i)+strings.Repeat(" word", 60))
		messages, refused[i] = res.Messages, m.refused
	}
	require.Positive(t, m.refused)
	require.LessOrEqual(t, m.refused, 12)

	m.answer, m.window = nil, 10
	_, err := a.Run(t.Context(), deps{}, "too long by itself")
	require.ErrorIs(t, err, model.ErrContextLength)
}

func TestCompactCommand(t *testing.T) {
	var asked string
	a := agent.Must(agent.New(agent.Config[deps, string]{
		Model: modeltest.Script(modeltest.SayText("One."), modeltest.SayText("Two."), modeltest.SayText("Three.")),
		Capabilities: []agent.Capability[deps]{compaction.New(compaction.Options[deps]{
			Model: modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
				asked = req.Instructions
				return model.Response(model.Text("Short: " + strings.Join(facts(textOf(req.Messages)), " "))), nil
			}),
		})},
	}))
	res, _, err := a.Command(t.Context(), deps{}, "/compact", nil)
	require.NoError(t, err)
	require.Equal(t, agent.CommandResult{Notice: "There is nothing to summarise yet."}, res)
	var messages []*model.Message
	for i := range 2 {
		res, _ := watched(t, a, messages, fmt.Sprintf("FACT-%d", i))
		messages = res.Messages
	}
	res, _, err = a.Command(t.Context(), deps{}, "/compact the ports", messages)
	require.NoError(t, err)
	require.Contains(t, asked, "The user asks you to keep this above all: the ports")
	require.Regexp(t, `^Summarised 2 messages: \d+ tokens are now \d+\.$`, res.Notice)
	require.Len(t, res.Messages, 3)
	require.Contains(t, res.Messages[0].Parts[0].Text, "Short: FACT-0")
	require.Equal(t, textOf(messages[2:]), textOf(res.Messages[1:]), "the last turn stays")
	next, _ := watched(t, a, res.Messages, "go on")
	require.Equal(t, "Three.", next.Output)
	again, _, err := a.Command(t.Context(), deps{}, "/compact", res.Messages)
	require.NoError(t, err)
	require.Nil(t, again.Messages)
}

func TestLongResultsAreSpilled(t *testing.T) {
	ws, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{"/repo"}})
	require.NoError(t, err)
	work := workspace.NewSession(ws)
	defer work.Close(context.Background())
	session := func(d deps) *workspace.Session { return d.work }
	long := "begin\n" + strings.Repeat("ü line\n", 20<<10) + "end"
	script := modeltest.Script(
		modeltest.Say(model.ToolCall("1", "big", "{}"), model.ToolCall("2", "fine", "{}")),
		modeltest.Say(model.ToolCall("1", workspace.ToolReadFile, `{"path":".agents/results/8f13.txt"}`)), modeltest.SayText("done"))
	a := agent.Must(agent.New(agent.Config[deps, string]{
		Model: script, Toolsets: []toolset.Toolset[deps]{workspace.Tools(session)},
		Tools: []*toolset.Tool[deps]{
			toolset.Plain[deps]("big", "", func(context.Context, struct{}) (string, error) { return long, nil }),
			toolset.Plain[deps]("fine", "", func(context.Context, struct{}) (string, error) { return "fine", nil }),
		},
		Capabilities: []agent.Capability[deps]{compaction.New(compaction.Options[deps]{
			Model: summariser(), Spill: func(d deps) workspace.Workspace { return d.work.Workspace() },
		})},
	}))
	res, err := a.Run(t.Context(), deps{work}, "go")
	require.NoError(t, err)
	text := res.Messages[2].Parts[0].Text
	require.Less(t, len(text), 4<<10)
	require.True(t, strings.HasPrefix(text, "begin\n"))
	require.True(t, strings.HasSuffix(text, "line\nend"))
	require.Regexp(t, `\n\[The result has 163849 bytes; the middle is omitted here\. The full result is in \.agents/results/[0-9a-f]{16}\.txt: read parts of it with read_file\.\]\n`, text)
	name := text[strings.Index(text, ".agents"):]
	stored, err := ws.Disk().ReadFile("/repo/" + name[:strings.Index(name, ":")])
	require.NoError(t, err)
	require.Equal(t, long, string(stored))
	ignore, err := ws.Disk().ReadFile("/repo/.agents/results/.gitignore")
	require.NoError(t, err)
	require.Equal(t, "*\n", string(ignore))
	require.Equal(t, "fine", res.Messages[2].Parts[1].Text)
}

func TestResultsStayWhereTheyCannotBeSpilled(t *testing.T) {
	ws, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{"/repo"}, Files: map[string]string{"big.txt": strings.Repeat("line\n", 20<<10), "results": "a file"}})
	require.NoError(t, err)
	work := workspace.NewSession(ws)
	defer work.Close(context.Background())
	for name, o := range map[string]compaction.Options[deps]{
		"no workspace":         {Spill: func(deps) workspace.Workspace { return nil }},
		"a file in the way":    {Spill: func(d deps) workspace.Workspace { return d.work.Workspace() }, SpillDir: "results"},
		"outside":              {Spill: func(d deps) workspace.Workspace { return d.work.Workspace() }, SpillDir: "../results"},
		"read_file has a file": {Spill: func(d deps) workspace.Workspace { return d.work.Workspace() }},
	} {
		t.Run(name, func(t *testing.T) {
			o.Model = summariser()
			a := agent.Must(agent.New(agent.Config[deps, string]{
				Model:        modeltest.Script(modeltest.Say(model.ToolCall("1", workspace.ToolReadFile, `{"path":"big.txt"}`), model.ToolCall("2", "big", "{}")), modeltest.SayText("done")),
				Toolsets:     []toolset.Toolset[deps]{workspace.Tools(func(d deps) *workspace.Session { return d.work })},
				Tools:        []*toolset.Tool[deps]{toolset.Plain[deps]("big", "", func(context.Context, struct{}) (string, error) { return strings.Repeat("x", 100<<10), nil })},
				Capabilities: []agent.Capability[deps]{compaction.New(o)},
			}))
			res, err := a.Run(t.Context(), deps{work}, "go")
			require.NoError(t, err)
			require.Len(t, res.Messages[2].Parts[0].Text, 100<<10)
			if name != "read_file has a file" {
				require.Len(t, res.Messages[2].Parts[1].Text, 100<<10)
			}
		})
	}
}

func TestNewReportsInvalidOptions(t *testing.T) {
	for want, o := range map[string]compaction.Options[deps]{
		"Options.Model is nil":     {},
		"Options.Window is 100":    {Model: summariser(), Window: 100},
		"Options.Reserve is 3000":  {Model: summariser(), Window: 5000, Reserve: 3000},
		"Options.KeepTurns is -1":  {Model: summariser(), KeepTurns: -1},
		"Options.SpillBytes is 10": {Model: summariser(), SpillBytes: 10},
		"Options.Reserve is -1":    {Model: summariser(), Reserve: -1},
	} {
		_, err := agent.New(agent.Config[deps, string]{Capabilities: []agent.Capability[deps]{compaction.New(o)}})
		require.ErrorContains(t, err, want)
	}
}

func ExampleNew() {
	a := agent.Must(agent.New(agent.Config[deps, string]{
		Model: modeltest.Script(modeltest.SayText("Blue."), modeltest.SayText("Seven.")),
		Capabilities: []agent.Capability[deps]{compaction.New(compaction.Options[deps]{
			Model: modeltest.Script(modeltest.SayText("The user's colour is blue.")),
		})},
	}))
	var messages []*model.Message
	for _, prompt := range []string{"Name a colour.", "Name a number."} {
		res, err := a.Run(context.Background(), deps{}, prompt, agent.WithHistory(messages))
		if err != nil {
			fmt.Println(err)
			return
		}
		messages = res.Messages
	}
	done, _, err := a.Command(context.Background(), deps{}, "/compact", messages)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(done.Messages[0].Parts[0].Text)
	fmt.Println(done.Messages[1].Parts[0].Text)
	// Output:
	// Summary of the conversation up to here, which is no longer shown:
	//
	// The user's colour is blue.
	// Name a number.
}

// The capability offers no tools, so that a tool choice of an unknown one is found all the same.
func TestToolChoiceIsCheckedBesideCompaction(t *testing.T) {
	choice := model.ToolChoice{Mode: model.ToolChoiceTool, Tool: "gone"}
	_, err := agent.New(agent.Config[deps, string]{
		Model: summariser(), ToolChoice: choice, Capabilities: []agent.Capability[deps]{compaction.New(compaction.Options[deps]{Model: summariser()})},
	})
	require.ErrorContains(t, err, `ToolChoice: unknown tool "gone"`)
}
