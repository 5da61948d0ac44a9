// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// entities returns what a session shows of a kind, as JSON, an entity a line.
func entities(t *testing.T, turn *acpclient.Turn, kind view.Kind) string {
	t.Helper()
	var lines []string
	for e := range turn.Snapshot.Of(kind) {
		data, err := json.Marshal(e)
		require.NoError(t, err)
		lines = append(lines, string(data))
	}
	return strings.Join(lines, "\n")
}

// What is a part of a turn is a problem outside of one. The rest comes at any time.
func TestUpdatesOutsideOfTurnsAreReported(t *testing.T) {
	text := `"content":{"type":"text","text":"x"}}`
	for update, ofTurn := range map[string]bool{
		`{"sessionUpdate":"agent_message_chunk",` + text: true, `{"sessionUpdate":"agent_thought_chunk",` + text: true, `{"sessionUpdate":"user_message_chunk",` + text: true,
		`{"sessionUpdate":"tool_call","toolCallId":"c","title":"x"}`: true, `{"sessionUpdate":"tool_call_update","toolCallId":"c","title":"x"}`: true, `{"sessionUpdate":"plan","entries":[]}`: true,
		`{"sessionUpdate":"available_commands_update","availableCommands":[]}`: false, `{"sessionUpdate":"current_mode_update","currentModeId":"m"}`: false, `{"sessionUpdate":"usage_update","used":1,"size":2}`: false,
		`{"sessionUpdate":"session_info_update","title":"T"}`: false, `{"sessionUpdate":"config_option_update","configOptions":[]}`: false,
	} {
		over, sent := make(chan struct{}), make(chan struct{})
		s := begin(t, acpclient.Config{}, func(a *raw) {
			a.open()
			a.turn(func() {})
			<-over
			a.update(update)
			a.call("session/request_permission", `{"sessionId":"s","toolCall":{"toolCallId":"q"},"options":[]}`) // which comes behind the update
			close(sent)
			a.wait()
		})
		_, err := s.Say(t.Context(), "go")
		require.NoError(t, err)
		close(over)
		<-sent
		got := problems(s.Client())
		require.Equal(t, ofTurn, strings.Contains(got, "an update of a turn after its end"), "%s: %s", update, got)
	}
}

// A question is shown with its choices, and an asker learns whose it is.
func TestAskersHearWhoseQuestionItIs(t *testing.T) {
	var asked []toolset.Question
	answer := acpclient.AnswerWith(toolset.AskerFuncs{OnAnswer: func(_ context.Context, q toolset.Question) (toolset.Reply, error) {
		asked = append(asked, q)
		switch len(asked) {
		case 1:
			return toolset.Reply{Action: toolset.ActionAccept, Content: json.RawMessage(`{"size":"L"}`)}, nil
		case 2:
			return toolset.Reply{}, toolset.ErrNobody
		case 3:
			return toolset.Reply{Action: toolset.ActionAccept, Content: json.RawMessage(`[]`)}, nil
		}
		return toolset.Reply{Action: toolset.ActionAccept}, nil
	}})
	form := `{"sessionId":"s","toolCallId":"c","mode":"form","message":"Which\u001b?","requestedSchema":{"type":"object","properties":{"size":{"type":"string","enum":["S","L"]}},"required":["size"]}}`
	var got []string
	s := begin(t, acpclient.Config{Elicitation: answer}, func(a *raw) {
		a.open()
		a.turn(func() {
			a.update(`{"sessionUpdate":"tool_call","toolCallId":"c","title":"Order","kind":"fetch","_meta":{}}`)
			for _, ask := range []string{form, form, form, askURL} {
				m := a.call("elicitation/create", ask)
				got = append(got, string(m.Result))
			}
		})
		a.wait()
	})
	turn, err := s.Say(t.Context(), "go")
	require.NoError(t, err)
	require.Equal(t, []string{`{"action":"accept","content":{"size":"L"}}`, `{"action":"cancel"}`, `{"action":"cancel"}`, `{"action":"accept"}`}, got)
	require.Len(t, asked, 4)
	q := asked[0]
	require.Equal(t, toolset.Origin{Path: []string{"s", "call:c"}, Agent: "raw", RunID: "s", Tool: "agent_tool", Title: "Order", Kind: toolset.KindFetch}, q.Origin)
	require.Equal(t, "Which⟨ESC⟩?", q.Message)
	require.JSONEq(t, `{"type":"object","properties":{"size":{"type":"string","enum":["S","L"]}},"required":["size"]}`, string(q.Schema))
	require.Equal(t, []string{"s"}, asked[3].Path)
	require.Equal(t, "https://example.com/login", asked[3].URL)
	require.Equal(t, "v1", asked[3].ID)
	require.Nil(t, asked[3].Schema)
	shown := entities(t, turn, view.Question)
	require.Equal(t, `{"id":"question-1","parent":"call:c","kind":"question","title":"Which\u001b?","status":"completed","choices":[{"id":"S","title":"S"},{"id":"L","title":"L"}],"value":"accept"}`, strings.Split(shown, "\n")[0])
	require.Equal(t, `{"id":"visit:v1","kind":"question","title":"Log in.","status":"in_progress","content":[{"kind":"link","uri":"https://example.com/login"}],"value":"accept"}`, strings.Split(shown, "\n")[3])
}

// A compaction begins with its update or with the first piece of its summary, and says how it ended.
func TestCompactionsAreShown(t *testing.T) {
	s := begin(t, acpclient.Config{}, func(a *raw) {
		a.open()
		a.turn(func() {
			chunk := func(id, text string) {
				a.update(fmt.Sprintf(`{"sessionUpdate":"compaction_summary_chunk","compactionId":%q,"content":{"type":"text","text":%q}}`, id, text))
			}
			chunk("a", "first ")
			chunk("a", "piece")
			a.update(`{"sessionUpdate":"compaction_update","compactionId":"a","status":"completed"}`)
			a.update(`{"sessionUpdate":"compaction_update","compactionId":"b","status":"in_progress"}`)
			chunk("b", "lost")
			a.update(`{"sessionUpdate":"compaction_update","compactionId":"b","status":"failed","error":"no room"}`)
			a.update(`{"sessionUpdate":"compaction_update","compactionId":"c","status":"completed","summary":[{"type":"text","text":"whole"}]}`)
			a.update(`{"sessionUpdate":"compaction_update","compactionId":"c","status":"completed"}`)
		})
		a.wait()
	})
	turn, err := s.Say(t.Context(), "go")
	require.NoError(t, err)
	require.Equal(t, `{"id":"compaction:a","kind":"compaction","status":"completed","content":[{"kind":"text","text":"first piece"}]}
{"id":"compaction:b","kind":"compaction","title":"no room","status":"failed","content":[{"kind":"text","text":"lost"}]}
{"id":"compaction:c","kind":"compaction","status":"completed","content":[{"kind":"text","text":"whole"}]}`, entities(t, turn, view.Compaction))
	require.Empty(t, problems(s.Client()))
}

// An agent as a model refuses what it cannot be told, by name, before anything is started.
func TestModelsRefuseWhatAgentsCannotBeTold(t *testing.T) {
	f := 0.5
	for want, req := range map[string]*model.Request{
		"tools (a); it has its own":    {Tools: []model.ToolDef{{Name: "a"}}},
		"tools (a, b); it has its own": {Tools: []model.ToolDef{{Name: "a"}, {Name: "b"}}},
		"a demanded tool call":         {ToolChoice: model.ToolChoice{Mode: model.ToolChoiceRequired}},
		"media (image/png)":            {Messages: []*model.Message{{Kind: model.KindRequest, Parts: []model.Part{model.User("x"), model.Media("image/png", []byte{1})}}}},
		"the setting MaxTokens":        {Settings: &model.Settings{MaxTokens: 1}},
		"the setting Temperature":      {Settings: &model.Settings{Temperature: &f}},
		"the setting TopP":             {Settings: &model.Settings{TopP: &f}},
		"the setting Stop":             {Settings: &model.Settings{Stop: []string{"x"}}},
		"the setting Thinking":         {Settings: &model.Settings{Thinking: "high"}},
		"the setting ServiceTier":      {Settings: &model.Settings{ServiceTier: "flex"}},
		"the setting CompactAt":        {Settings: &model.Settings{CompactAt: 1}},
		"the setting ExtraHeaders":     {Settings: &model.Settings{ExtraHeaders: map[string]string{}}},
	} {
		m := acpclient.NewModel(acpclient.Agent{Name: "helper", Command: acpclient.Command{Path: "no such program"}})
		_, err := m.Generate(t.Context(), req, nil)
		require.ErrorContains(t, err, "acpclient: helper: an ACP agent as a model cannot take "+want+": unsupported operation")
		require.NoError(t, m.Close())
	}
}

// Of what an agent prints instead of messages the last line is told, cut at 400 bytes and made visible.
func TestGarbageIsToldInPart(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	for line, want := range map[string]string{
		"Usage: agent\x1b": "Usage: agent⟨ESC⟩", x(400): x(400), x(401): x(400) + "…", x(399) + "é": x(399) + "…", "  blanks \t": "blanks", x(10_000): x(400) + "…",
	} {
		_, err := connect(t, acpclient.Config{}, func(a *raw) {
			a.await("initialize")
			a.write("first")
			a.write("%s", line)
			a.write(" ")
		})
		require.EqualError(t, err, "acpclient: initialize: the agent broke the protocol: the connection has ended; it printed "+want, "%q", line)
	}
	_, err := connect(t, acpclient.Config{}, func(a *raw) { a.await("initialize") })
	require.EqualError(t, err, "acpclient: initialize: the agent broke the protocol: the connection has ended")
	_, err = connect(t, acpclient.Config{}, func(a *raw) {
		a.answer(a.await("initialize"), `{"protocolVersion":7,"agentCapabilities":{}}`)
	})
	require.EqualError(t, err, fmt.Sprintf("acpclient: initialize: the agent broke the protocol: it speaks version 7 of the protocol, and this client version %d", acp.Version))
}

// The first hundred problems are kept, and the number of the others. Each is told when it happens.
func TestProblemsAreKeptInPart(t *testing.T) {
	for n, more := range map[int]string{100: "", 101: "acpclient: and 1 more", 130: "acpclient: and 30 more"} {
		told := 0
		over, sent := make(chan struct{}), make(chan struct{})
		s := begin(t, acpclient.Config{OnProblem: func(error) { told++ }}, func(a *raw) {
			a.open()
			a.turn(func() {})
			<-over
			for range n {
				a.say("late")
			}
			a.call("session/request_permission", `{"sessionId":"s","toolCall":{"toolCallId":"q"},"options":[]}`) // which comes behind them
			close(sent)
			a.wait()
		})
		_, err := s.Say(t.Context(), "go")
		require.NoError(t, err)
		close(over)
		<-sent
		require.Equal(t, n, told)
		all := s.Client().Problems()
		if more == "" {
			require.Len(t, all, n)
			continue
		}
		require.Len(t, all, 101)
		require.EqualError(t, all[100], more)
	}
}
