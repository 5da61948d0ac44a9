// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/acpview"
)

// fold folds updates, given as JSON.
func fold(t testing.TB, updates ...string) *view.Snapshot {
	t.Helper()
	var f acpclient.Fold
	for _, text := range updates {
		var u acp.SessionUpdate
		require.NoError(t, json.Unmarshal([]byte(text), &u))
		require.NoError(t, f.Apply(&u))
	}
	return f.View().Snapshot()
}

func chunk(kind, id, text string) string {
	data, _ := json.Marshal(map[string]any{"sessionUpdate": kind, "messageId": id, "content": map[string]string{"type": "text", "text": text}})
	return strings.Replace(string(data), `,"messageId":""`, "", 1)
}

func shown(s *view.Snapshot) (all []string) {
	for e := range s.All() {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s%s", e.Kind, e.Role, e.Title, e.Text())))
	}
	return all
}

func TestMessagesGoOnUntilSomethingElseIsSaid(t *testing.T) {
	got := shown(fold(t,
		chunk("agent_thought_chunk", "", "h"), chunk("agent_thought_chunk", "", "m"),
		chunk("agent_message_chunk", "", "Hel"), `{"sessionUpdate":"usage_update","used":1,"size":2}`, chunk("agent_message_chunk", "", "lo"),
		`{"sessionUpdate":"tool_call","toolCallId":"1","title":"Read"}`,
		chunk("agent_message_chunk", "", "By"), `{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed"}`, chunk("agent_message_chunk", "", "e"),
	))
	require.Equal(t, []string{"thought  hm", "message assistant Hello", "usage", "tool_call  Read", "message assistant Bye"}, got)
}

func TestMessagesWithIDsAreKeptApart(t *testing.T) {
	got := shown(fold(t,
		chunk("agent_message_chunk", "a", "A"), chunk("agent_message_chunk", "b", "B"), chunk("agent_message_chunk", "a", "a"),
		chunk("agent_thought_chunk", "a", "other"), chunk("agent_message_chunk", "", "none"), chunk("agent_message_chunk", "", "!"),
	))
	require.Equal(t, []string{"message assistant Aa", "message assistant B", "thought  other", "message assistant none!"}, got)
}

func TestToolCallsAreMerged(t *testing.T) {
	s := fold(t,
		`{"sessionUpdate":"tool_call","toolCallId":"1","title":"Edit","kind":"edit","status":"pending","rawInput":{"n":9007199254740993},"locations":[{"path":"/repo/a","line":3}]}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"in_progress","content":[{"type":"diff","path":"/repo/a","oldText":"x","newText":"y"},{"type":"terminal","terminalId":"t"}]}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed","rawOutput":"done"}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"2","status":"completed"}`,
	)
	old := "x"
	require.Equal(t, &view.Entity{
		ID: "call:1", Kind: view.ToolCall, Title: "Edit", Class: "edit", Status: view.Completed,
		Input: json.RawMessage(`{"n":9007199254740993}`), Output: json.RawMessage(`"done"`), Locations: []view.Location{{Path: "/repo/a", Line: 3}},
		Content: []view.Content{{Kind: view.Diff, Diff: &view.FileChange{Path: "/repo/a", Old: &old, New: "y"}}, {Kind: view.Output, Ref: "command:t"}},
	}, s.Get(acpview.CallID("1")))
	require.Equal(t, "2", s.Get(acpview.CallID("2")).Title, "a call that was not announced")
}

func TestTheRestIsFolded(t *testing.T) {
	s := fold(t,
		`{"sessionUpdate":"plan","entries":[{"content":"one","priority":"high","status":"pending"}]}`,
		`{"sessionUpdate":"plan","entries":[{"content":"one","priority":"high","status":"completed"}]}`,
		`{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"test","description":"Run tests","input":{"hint":"package"}}]}`,
		`{"sessionUpdate":"config_option_update","configOptions":[{"type":"select","id":"model","name":"Model","category":"model","currentValue":"a","options":[{"group":"g","name":"G","options":[{"value":"a","name":"A"}]}]},{"type":"boolean","id":"web","name":"Web","currentValue":true},{"type":"dial","id":"x","name":"X"}]}`,
		`{"sessionUpdate":"current_mode_update","currentModeId":"plan"}`,
		`{"sessionUpdate":"session_info_update","title":"Fix it","updatedAt":"2026-01-02T03:04:05Z"}`,
		`{"sessionUpdate":"session_info_update","title":null}`,
		`{"sessionUpdate":"usage_update","used":10,"size":100,"cost":{"amount":0.5,"currency":"USD"}}`,
		`{"sessionUpdate":"notice","severity":"warning","title":"Careful","description":"slow"}`,
		`{"sessionUpdate":"compaction_update","compactionId":"k","status":"in_progress"}`,
		`{"sessionUpdate":"compaction_summary_chunk","compactionId":"k","content":{"type":"text","text":"in short"}}`,
		`{"sessionUpdate":"compaction_update","compactionId":"k","status":"completed"}`,
	)
	require.Equal(t, []view.Step{{Text: "one", Status: view.Completed, Priority: "high"}}, s.Get(acpclient.PlanID).Steps)
	require.Equal(t, []view.SlashCommand{{Name: "test", Description: "Run tests", Hint: "package"}}, s.Get(acpclient.CommandsID).Slash)
	require.Equal(t, []view.Setting{
		{ID: "mode", Title: "Mode", Category: "mode", Value: "plan"},
		{ID: "model", Title: "Model", Category: "model", Value: "a", Choices: []view.Choice{{ID: "a", Title: "A", Group: "G"}}},
		{ID: "web", Title: "Web", Value: "true", Switch: true},
	}, s.Get(acpclient.OptionsID).Settings)
	require.Empty(t, s.Get(acpclient.SessionID).Title)
	require.Equal(t, 2026, s.Get(acpclient.SessionID).Updated.Year())
	require.Equal(t, &view.Tokens{Used: 10, Size: 100, Cost: 0.5, Currency: "USD"}, s.Get(acpclient.UsageID).Usage)
	require.Equal(t, "warning", s.Last(view.Notice).Class)
	require.Equal(t, view.Completed, s.Last(view.Compaction).Status)
	require.Equal(t, "in short", s.Last(view.Compaction).Text())
}

func TestSourcesAreFolded(t *testing.T) {
	link := func(meta string) string {
		return `{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"resource_link","uri":"https://a.test/","name":"A","_meta":` + meta + `}}`
	}
	s := fold(t, chunk("agent_message_chunk", "m", "Tea."), link(`{"ponte-go.dev/cites":[{"start":0,"end":3}]}`))
	require.Equal(t, []view.Content{
		{Kind: view.Text, Text: "Tea."}, {Kind: view.Link, URI: "https://a.test/", Name: "A", Cites: []view.Span{{Start: 0, End: 3}}},
	}, s.Last(view.Message).Content)
	for _, meta := range []string{`{}`, `{"ponte-go.dev/cites":1}`, `{"ponte-go.dev/cites":[{"start":-1,"end":3}]}`, `{"ponte-go.dev/cites":[{"start":3,"end":3}]}`, `{"ponte-go.dev/cites":[` + strings.Repeat(`{"start":0,"end":1},`, 1000) + `{}]}`} {
		require.Nil(t, fold(t, link(meta)).Last(view.Message).Content[0].Cites, meta[:20%len(meta)])
	}
}

func TestPromptsThatAreRepeatedAreShownOnce(t *testing.T) {
	for _, c := range []struct {
		echo []string
		want []string
	}{
		{nil, []string{"message user hello", "message assistant ok"}},
		{[]string{"hel", "lo"}, []string{"message user hello", "message assistant ok"}},
		{[]string{"help"}, []string{"message user hello", "message user help", "message assistant ok"}},
		{[]string{"hel", "p"}, []string{"message user hello", "message user help", "message assistant ok"}},
		{[]string{"hello", "!"}, []string{"message user hello", "message user hello!", "message assistant ok"}},
		{[]string{"other"}, []string{"message user hello", "message user other", "message assistant ok"}},
	} {
		var f acpclient.Fold
		f.Prompt(acp.TextBlock("hello"))
		for _, text := range append(c.echo, "") {
			u := acp.SessionUpdate{UserMessageChunk: &acp.ContentChunk{Content: acp.TextBlock(text)}}
			if text == "" {
				u = acp.TextChunk("ok")
			}
			require.NoError(t, f.Apply(&u))
		}
		require.Equal(t, c.want, shown(f.View().Snapshot()), c.echo)
	}
}

// A message appears with what is said in it: whoever looks in between would show an empty one.
func TestMessagesAppearWithTheirContent(t *testing.T) {
	picture := acp.ContentBlock{Image: &acp.ImageContent{Data: "AA=="}}
	for _, content := range []acp.ContentBlock{acp.TextBlock("a"), picture} {
		c := &acp.ContentChunk{Content: content}
		for _, u := range []acp.SessionUpdate{{AgentMessageChunk: c}, {AgentThoughtChunk: c}, {UserMessageChunk: c}} {
			var f acpclient.Fold
			require.NoError(t, f.Apply(&u))
			require.EqualValues(t, 1, f.View().Snapshot().Pos(), "one change")
			require.Len(t, shown(f.View().Snapshot()), 1)
		}
	}
	var f acpclient.Fold
	f.Prompt(acp.TextBlock("a"), acp.TextBlock("b"), picture, acp.TextBlock("c"))
	require.EqualValues(t, 1, f.View().Snapshot().Pos(), "one change")
	e := f.View().Snapshot().Last(view.Message)
	require.Len(t, e.Content, 3)
	require.Equal(t, "ab", e.Content[0].Text)
}

// randomUpdates makes a session. Texts are whole.
func randomUpdates(r *rand.Rand, n int) []acp.SessionUpdate {
	all := make([]acp.SessionUpdate, 0, n)
	text := func() string { return strings.Repeat("aäb€", 1+r.IntN(6)) }
	for len(all) < n {
		c := &acp.ContentChunk{Content: acp.TextBlock(text())}
		if r.IntN(3) == 0 {
			c.MessageID = acp.MessageID(fmt.Sprint(r.IntN(5)))
		}
		if r.IntN(15) == 0 {
			c.Content = acp.ContentBlock{Image: &acp.ImageContent{Data: "AA=="}}
		}
		id := acp.ToolCallID(fmt.Sprint(r.IntN(20)))
		status := []acp.ToolCallStatus{"", "pending", "in_progress", "completed", "failed"}[r.IntN(5)]
		var u acp.SessionUpdate
		switch r.IntN(9) {
		case 0, 1, 2:
			u.AgentMessageChunk = c
		case 3:
			u.AgentThoughtChunk = c
		case 4:
			u.UserMessageChunk = c
		case 5:
			u.ToolCall = &acp.ToolCall{ToolCallID: id, Title: text(), Status: status}
		case 6:
			u.ToolCallUpdate = &acp.ToolCallUpdate{ToolCallID: id, Status: status, Content: []acp.ToolCallContent{{Content: &acp.Content{Content: acp.TextBlock(text())}}}}
		case 7:
			u.Plan = &acp.Plan{Entries: []acp.PlanEntry{{Content: text()}}}
		case 8:
			u.CompactionSummaryChunk = &acp.CompactionSummaryChunk{CompactionID: "k", Content: acp.TextBlock(text())}
		}
		all = append(all, u)
	}
	return all
}

// cutUp cuts the texts of chunks into pieces.
func cutUp(r *rand.Rand, all []acp.SessionUpdate) []acp.SessionUpdate {
	var out []acp.SessionUpdate
	for _, u := range all {
		make := func(set func(*acp.SessionUpdate, *acp.ContentChunk), c *acp.ContentChunk) {
			for text := c.Content.Text.Text; text != ""; {
				n := 1 + r.IntN(len(text))
				piece := *c
				piece.Content = acp.TextBlock(text[:n])
				var one acp.SessionUpdate
				set(&one, &piece)
				out = append(out, one)
				text = text[n:]
			}
		}
		switch {
		case u.AgentMessageChunk != nil && u.AgentMessageChunk.Content.Text != nil:
			make(func(u *acp.SessionUpdate, c *acp.ContentChunk) { u.AgentMessageChunk = c }, u.AgentMessageChunk)
		case u.AgentThoughtChunk != nil && u.AgentThoughtChunk.Content.Text != nil:
			make(func(u *acp.SessionUpdate, c *acp.ContentChunk) { u.AgentThoughtChunk = c }, u.AgentThoughtChunk)
		case u.UserMessageChunk != nil && u.UserMessageChunk.Content.Text != nil:
			make(func(u *acp.SessionUpdate, c *acp.ContentChunk) { u.UserMessageChunk = c }, u.UserMessageChunk)
		default:
			out = append(out, u)
		}
	}
	return out
}

// What is shown does not depend on how the text was cut into chunks, nor on when somebody looked.
func TestChunksMakeNoDifference(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		updates := randomUpdates(r, 150)
		var whole, pieces acpclient.Fold
		prompt := acp.TextBlock("aäb€")
		whole.Prompt(prompt)
		pieces.Prompt(prompt)
		for i := range updates {
			require.NoError(t, whole.Apply(&updates[i]))
		}
		for _, u := range cutUp(r, updates) {
			require.NoError(t, pieces.Apply(&u))
			if r.IntN(10) == 0 {
				_ = pieces.View().Snapshot()
			}
		}
		a, b := whole.View().Snapshot(), pieces.View().Snapshot()
		if !reflect.DeepEqual(all(a), all(b)) {
			require.Equal(t, all(a), all(b), "seed %d", seed)
		}
	}
}

func all(s *view.Snapshot) (out []view.Entity) {
	for e := range s.All() {
		out = append(out, *e)
	}
	return out
}

func BenchmarkFold(b *testing.B) {
	u := acp.TextChunk("a few more words ")
	b.Run("text", func(b *testing.B) {
		var f acpclient.Fold
		b.ReportAllocs()
		for b.Loop() {
			_ = f.Apply(&u)
		}
	})
	b.Run("tool call", func(b *testing.B) {
		var f acpclient.Fold
		c := acp.SessionUpdate{ToolCallUpdate: &acp.ToolCallUpdate{ToolCallID: "1", Content: []acp.ToolCallContent{{Content: &acp.Content{Content: acp.TextBlock("x")}}}}}
		b.ReportAllocs()
		for b.Loop() {
			_ = f.Apply(&c)
		}
	})
}

func TestFoldingAllocatesLittle(t *testing.T) {
	text := acp.TextChunk("a few more words ")
	call := acp.SessionUpdate{ToolCallUpdate: &acp.ToolCallUpdate{
		ToolCallID: "1", Status: acp.ToolCallStatusInProgress, Content: []acp.ToolCallContent{{Content: &acp.Content{Content: acp.TextBlock("x")}}},
	}}
	plan := acp.SessionUpdate{Plan: &acp.Plan{Entries: make([]acp.PlanEntry, 5)}}
	for name, c := range map[string]struct {
		update *acp.SessionUpdate
		most   float64
	}{"text": {&text, 0.02}, "tool call": {&call, 4}, "plan": {&plan, 2}} {
		var f acpclient.Fold
		require.NoError(t, f.Apply(c.update))
		const n = 1000
		allocs := testing.AllocsPerRun(5, func() {
			for range n {
				_ = f.Apply(c.update)
			}
		})
		require.LessOrEqual(t, allocs/n, c.most, name)
	}
}

// A million updates take ten times what a hundred thousand do in memory and in allocations, and what is kept is at most twice what is shown.
func TestAMillionUpdates(t *testing.T) {
	if testing.Short() {
		t.Skip("folds a million updates")
	}
	run := func(n int) (kept, showing int, allocs uint64) {
		updates := []acp.SessionUpdate{acp.ThoughtChunk("thinking about what to do "), acp.TextChunk("a few more words of the answer ")}
		u := acp.SessionUpdate{ToolCallUpdate: &acp.ToolCallUpdate{}}
		var before, after, end runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var f acpclient.Fold
		for i := range n {
			switch {
			case i%1000 < 450:
				require.NoError(t, f.Apply(&updates[0]))
			case i%1000 < 990:
				require.NoError(t, f.Apply(&updates[1]))
			default:
				u.ToolCallUpdate.ToolCallID = acp.ToolCallID(fmt.Sprint("call-", i/1000))
				u.ToolCallUpdate.Content = []acp.ToolCallContent{{Content: &acp.Content{Content: acp.TextBlock(strings.Repeat("x", i%1000))}}}
				require.NoError(t, f.Apply(&u))
			}
		}
		runtime.ReadMemStats(&end)
		s := f.View().Snapshot()
		runtime.GC()
		runtime.ReadMemStats(&after)
		for e := range s.All() {
			showing += int(reflect.TypeOf(*e).Size()) + len(e.Title) + len(e.ID)
			for _, c := range e.Content {
				showing += int(reflect.TypeOf(c).Size()) + len(c.Text)
			}
		}
		kept = int(after.HeapAlloc) - int(before.HeapAlloc)
		runtime.KeepAlive(&f)
		return kept, showing, end.Mallocs - before.Mallocs
	}
	_, _, few := run(100_000)
	kept, showing, many := run(1_000_000)
	t.Logf("%d bytes kept for %d bytes shown; %d and %d allocations", kept, showing, few, many)
	require.LessOrEqual(t, kept, 2*showing)
	require.LessOrEqual(t, float64(many), 11*float64(few))
	require.Less(t, many, uint64(300_000))
}

func FuzzFoldUpdates(f *testing.F) {
	f.Add([]byte(chunk("agent_message_chunk", "a", "x") + "\n" + `{"sessionUpdate":"tool_call","toolCallId":"1","title":"Read"}`))
	f.Add([]byte(`{"sessionUpdate":"config_option_update","configOptions":[{"type":"select","id":"m","name":"M","currentValue":"a","options":[]}]}`))
	f.Add([]byte(`{"sessionUpdate":"compaction_summary_chunk","compactionId":"k","content":{"type":"image","data":"","mimeType":""}}`))
	f.Fuzz(func(t *testing.T, lines []byte) {
		var follower view.Fold
		var fold acpclient.Fold
		fold.Prompt(acp.TextBlock("x"))
		sub := fold.View().Cursor(nil)
		for line := range strings.SplitSeq(string(lines), "\n") {
			var u acp.SessionUpdate
			if json.Unmarshal([]byte(line), &u) != nil {
				continue
			}
			_ = fold.Apply(&u)
		}
		fold.View().End(nil)
		for got, err := range sub.All(t.Context()) {
			require.NoError(t, err)
			for _, c := range got.Changes {
				require.NoError(t, follower.Apply(c))
			}
		}
		require.Equal(t, all(fold.View().Snapshot()), all(follower.Snapshot()))
		_, err := json.Marshal(all(fold.View().Snapshot()))
		require.NoError(t, err)
	})
}
