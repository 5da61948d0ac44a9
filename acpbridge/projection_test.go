// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
)

// weather is the arguments of a tool, and place a structured output.
type weather struct {
	City string `json:"city" validate:"required"`
}

type place struct {
	City string  `json:"city"`
	High float64 `json:"high"`
}

func forecast() *toolset.Tool[bare] {
	return toolset.Func("forecast", "Forecast for a city.", func(_ context.Context, _ *toolset.RunContext[bare], in weather) (string, error) {
		if in.City == "Atlantis" {
			return "", toolset.Failed("no such city")
		}
		return "21 degrees in " + in.City, nil
	}, toolset.OfKind(toolset.KindFetch, "Ask the weather service"))
}

// randomID is what crypto/rand.Text makes.
var randomID = regexp.MustCompile(`[A-Z2-7]{26}`)

// wireText returns the lines with their random ids replaced by id1, id2 and so on.
func wireText(lines []wireLine) string {
	seen := map[string]string{}
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(randomID.ReplaceAllStringFunc(l.Text, func(id string) string {
			if seen[id] == "" {
				seen[id] = "id" + strconv.Itoa(len(seen)+1)
			}
			return seen[id]
		}))
		b.WriteByte('\n')
	}
	return b.String()
}

func TestTheWireOfASessionWithToolCalls(t *testing.T) {
	m := modeltest.Script(
		modeltest.Say(model.Thinking("Two cities."), model.Text("Let me look."),
			model.ToolCall("a", "forecast", `{"city":"Oslo"}`), model.ToolCall("b", "forecast", `{"city":"Rome"}`)),
		modeltest.Say(model.ToolCall("a", "forecast", "{\n\"city\": \"Atlantis\"\n}")),
		modeltest.SayText("21 degrees in Oslo."))
	a, err := agent.New(agent.Config[bare, string]{Model: m, Toolsets: []toolset.Toolset[bare]{toolset.Of(forecast())}, MaxParallelCalls: 1})
	require.NoError(t, err)
	c := config(t, m)
	c.Host.Agent = a
	c.Host.Info = &model.Info{ContextWindow: 1000}
	e, id := start(t, c)
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "Weather in Oslo?"))
	got, golden := wireText(e.all()), filepath.Join("testdata", "serve_toolcalls.jsonl")
	if *updateGolden {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err, "run the test with -update to make it")
	require.Equal(t, string(want), got)
}

func TestRawInputIsVerbatim(t *testing.T) {
	const args = `{"n":12345678901234567890,"x":1.10,"a":null,"a":"\u00e9"}`
	any := toolset.Raw("any", "", json.RawMessage(`{"type":"object"}`), func(context.Context, *toolset.RunContext[bare], json.RawMessage) (toolset.Result, error) {
		return toolset.Result{}, nil
	})
	e, id := start(t, config(t, modeltest.Script(
		modeltest.Say(model.ToolCall("1", "any", args), model.ToolCall("2", "any", ""), model.ToolCall("3", "any", "{oops"), model.ToolCall("4", "any", `{"a":["b"],}`)),
		modeltest.SayText("done")), any))
	e.prompt(id, "go")
	var inputs []string
	var last acp.ToolCallStatus
	for _, u := range e.updates(id) {
		told := toolCall(&u)
		if told != nil && strings.HasSuffix(string(told.ToolCallID), "/3") && told.Status != "" {
			last = told.Status
		}
		if told != nil && told.RawInput != nil {
			inputs = append(inputs, string(told.RawInput))
		}
	}
	assert.Equal(t, []string{args, "{}", `"{oops"`, `{"a":["b"]}`}, inputs, "repaired arguments are shown as the tool gets them")
	assert.Equal(t, acp.ToolCallStatusFailed, last, "a call whose arguments are wrong")
}

func TestEachToolCallIsAnnouncedOnceThoughStepsReuseItsID(t *testing.T) {
	e, id := start(t, config(t, modeltest.Script(
		modeltest.Say(model.ToolCall("1", "forecast", `{"city":"Oslo"}`)),
		modeltest.Say(model.ToolCall("1", "forecast", `{"city":"Rome"}`), model.ToolCall("1", "forecast", `{"city":"Bern"}`)),
		modeltest.SayText("done"), modeltest.Say(model.ToolCall("1", "forecast", `{"city":"Oslo"}`)), modeltest.SayText("done")), forecast()))
	e.prompt(id, "go")
	e.prompt(id, "again")
	announced, completed := map[acp.ToolCallID]int{}, map[acp.ToolCallID]int{}
	for _, u := range e.updates(id) {
		if u.ToolCall != nil {
			announced[u.ToolCall.ToolCallID]++
		}
		if u.ToolCallUpdate != nil {
			assert.Equal(t, 1, announced[u.ToolCallUpdate.ToolCallID], "an update of a call that was not announced")
			if u.ToolCallUpdate.Status == acp.ToolCallStatusCompleted {
				completed[u.ToolCallUpdate.ToolCallID]++
			}
		}
	}
	assert.Len(t, announced, 4)
	assert.Equal(t, announced, completed)
	for _, n := range announced {
		assert.Equal(t, 1, n)
	}
}

// A call is announced before it is complete if the model writes more than a kilobyte of arguments.
func TestACallIsAnnouncedWhileTheModelStillWritesIt(t *testing.T) {
	writing := make(chan struct{})
	m := model.Func(model.Info{}, func(_ context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
		if len(req.Messages) > 1 {
			return model.Response(model.Text("done")), nil
		}
		err := errors.Join(
			sink(model.Delta{Part: 0, Kind: model.PartToolCall, CallID: "1", Tool: "forecast", Text: `{"ci`}),
			sink(model.Delta{Part: 1, Kind: model.PartToolCall, CallID: "2", Tool: "forecast", Text: `{`}),
			sink(model.Delta{Part: 1, Kind: model.PartToolCall, Text: strings.Repeat(" ", 1024)}))
		<-writing
		return model.Response(model.ToolCall("1", "forecast", `{"city":"Oslo"}`)), err
	})
	e, id := start(t, config(t, m, forecast()))
	n := e.sendPrompt(id, "go")
	e.awaitUpdate(func(u *acp.SessionUpdate) bool {
		return u.ToolCall != nil && u.ToolCall.Status == acp.ToolCallStatusPending && u.ToolCall.Title == "Ask the weather service" && strings.HasSuffix(string(u.ToolCall.ToolCallID), "/2")
	})
	close(writing)
	requireStop(t, acp.StopReasonEndTurn, e.answer(n))
	status := map[string]acp.ToolCallStatus{}
	for _, u := range e.updates(id) {
		if told := toolCall(&u); told != nil && told.Status != "" {
			_, call, _ := strings.Cut(string(told.ToolCallID), "/")
			status[call] = told.Status
		}
	}
	assert.Equal(t, map[string]acp.ToolCallStatus{"1/1": "completed", "1/2": "failed"}, status, "a call that was not made after all has failed")
}

func TestWhatAToolShowsItselfIsKept(t *testing.T) {
	rich := tool("rich", func(ctx context.Context, run *toolset.RunContext[bare]) (string, error) {
		id := deps.ToolCallID(run.RunID, run.Step, run.Call.ID)
		return "for the model", run.Deps.Tracker.Update(ctx, acp.ToolCallUpdate{ToolCallID: id, Content: []acp.ToolCallContent{
			{Diff: &acp.Diff{Path: "/home/a.txt", NewText: "new"}}}})
	})
	e, id := start(t, config(t, modeltest.Script(modeltest.Say(model.ToolCall("1", "rich", "{}")), modeltest.SayText("done")), rich))
	e.prompt(id, "go")
	for _, u := range e.updates(id) {
		if u.ToolCallUpdate != nil {
			for _, c := range u.ToolCallUpdate.Content {
				assert.NotNil(t, c.Diff)
			}
		}
	}
	assert.Contains(t, wireText(e.all()), `"diff"`)
	assert.NotContains(t, wireText(e.all()), "for the model")
}

func TestALongResultIsShownInPart(t *testing.T) {
	long := tool("long", func(context.Context, *toolset.RunContext[bare]) (string, error) {
		return strings.Repeat("é", 100_000), nil
	})
	e, id := start(t, config(t, modeltest.Script(modeltest.Say(model.ToolCall("1", "long", "{}")), modeltest.SayText("done")), long))
	e.prompt(id, "go")
	for _, u := range e.updates(id) {
		if u.ToolCallUpdate != nil && u.ToolCallUpdate.Content != nil {
			text := u.ToolCallUpdate.Content[0].Content.Content.Text.Text
			assert.Less(t, len(text), 70_000)
			assert.True(t, strings.Contains(text, "é\n[134464 bytes (0 lines) are not shown]\né"), len(text))
			return
		}
	}
	assert.Fail(t, "no content")
}

func TestUpdatesThatToolsEmitAreShownOrRefused(t *testing.T) {
	plans := tool("plans", func(_ context.Context, run *toolset.RunContext[bare]) (string, error) {
		run.Emit(acp.SessionUpdate{Plan: &acp.Plan{Entries: []acp.PlanEntry{{Content: "first", Priority: "high", Status: "pending"}}}})
		run.Emit(&acp.SessionUpdate{Unknown: json.RawMessage(`{"sessionUpdate":"_own","n":1}`)})
		run.Emit(acp.SessionUpdate{AvailableCommandsUpdate: &acp.AvailableCommandsUpdate{}})
		run.Emit(acp.SessionUpdate{}) // says nothing
		run.Emit("not for the client")
		run.Emit((*acp.SessionUpdate)(nil))
		return "ok", nil
	})
	var log logBuffer
	c := config(t, modeltest.Script(modeltest.Say(model.ToolCall("1", "plans", "{}")), modeltest.SayText("done")), plans)
	c.Host.Logger = log.logger()
	e, id := start(t, c)
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "go"))
	text := wireText(e.all())
	assert.Contains(t, text, `{"sessionUpdate":"plan","entries":[{"content":"first","priority":"high","status":"pending"}]}`)
	assert.NotContains(t, text, `"_own"`, "nobody would see it who loads the session")
	assert.Equal(t, 3, strings.Count(log.String(), "tools cannot send updates of this kind"))
}

func TestUsageIsThatOfTheLastResponseAndNeedsAWindow(t *testing.T) {
	for window, want := range map[int]int{0: 0, 500: 1} { // the second response has used as much as the first one
		c := config(t, modeltest.Script(modeltest.Say(model.ToolCall("1", "forecast", `{"city":"Oslo"}`)), modeltest.SayText("done")), forecast())
		c.Host.Info = &model.Info{ContextWindow: window}
		e, id := start(t, c)
		e.prompt(id, "go")
		n := 0
		for _, u := range e.updates(id) {
			if u.UsageUpdate != nil {
				n++
				assert.EqualValues(t, 15, u.UsageUpdate.Used)
				assert.EqualValues(t, window, u.UsageUpdate.Size)
			}
		}
		assert.Equal(t, want, n)
	}
}

// The window is the one that is configured, or that of the model: of the host's if it is known.
func TestWindowIsThatOfTheConfigurationOrTheModel(t *testing.T) {
	for _, c := range []struct {
		window, ofHost, ofModel, want int
	}{
		{0, 0, 500, 500}, {0, 300, 500, 300}, {1, 0, 500, 1}, {1, 300, 500, 1}, {700, 300, 500, 700},
	} {
		script := modeltest.Script(modeltest.SayText("done"))
		config := config(t, model.Func(model.Info{ContextWindow: c.ofModel}, script.Generate))
		if config.Host.Window = c.window; c.ofHost > 0 {
			config.Host.Info = &model.Info{ContextWindow: c.ofHost}
		}
		e, id := start(t, config)
		e.prompt(id, "go")
		var sizes []uint64
		for _, u := range e.updates(id) {
			if u.UsageUpdate != nil {
				sizes = append(sizes, u.UsageUpdate.Size)
			}
		}
		assert.Equal(t, []uint64{uint64(c.want)}, sizes, "%+v", c)
	}
}

// structured returns the configuration of an agent with a structured output.
func structured(t *testing.T, c agent.Config[bare, place]) acpbridge.Config[bare, place] {
	a, err := agent.New(c)
	require.NoError(t, err)
	return acpbridge.Config[bare, place]{Host: host.Config[bare, place]{Agent: a, Logger: (&logBuffer{}).logger()}}
}

func TestAStructuredOutputIsOneMessageAndNoToolCall(t *testing.T) {
	m := modeltest.Script(
		modeltest.Say(model.Text("Here:"), model.ToolCall("1", "final_result", `{"city":"<Oslo>","high":21.5}`)),
		modeltest.Say(model.ToolCall("1", "final_result", `{"city":"Rome","high":30}`)))
	c := structured(t, agent.Config[bare, place]{Model: m})
	e, id := start(t, c)
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "go"))
	assert.Equal(t, "Here:```json\n{\n  \"city\": \"<Oslo>\",\n  \"high\": 21.5\n}\n```", e.text(id))
	var messages []acp.MessageID
	for _, u := range e.updates(id) {
		require.Nil(t, u.ToolCall)
		if u.AgentMessageChunk != nil {
			messages = append(messages, u.AgentMessageChunk.MessageID)
		}
	}
	require.Len(t, messages, 2)
	assert.NotEqual(t, messages[0], messages[1])

	m = modeltest.Script(modeltest.Say(model.ToolCall("1", "answer", `{"city":"Rome","high":30}`)))
	c = structured(t, agent.Config[bare, place]{Model: m, Output: agent.Output{Name: "answer"}})
	c.Host.Render = func(p any) (string, error) { return "In " + p.(place).City, nil }
	e, id = start(t, c)
	e.prompt(id, "go")
	assert.Equal(t, "In Rome", e.text(id))
	assert.NotContains(t, wireText(e.all()), "tool_call")
}

func TestTextThatAnOutputFunctionMadeIsShownAsText(t *testing.T) {
	m := modeltest.Script(modeltest.Say(model.ToolCall("1", "say", `{"city":"Rome","high":30}`)))
	a, err := agent.New(agent.Config[bare, string]{Model: m, Alternatives: []agent.Alternative[bare, string]{
		agent.OutputFunc("say", "", func(_ context.Context, _ *toolset.RunContext[bare], p place) (string, error) {
			return "To " + p.City, nil
		}),
	}})
	require.NoError(t, err)
	e, id := start(t, acpbridge.Config[bare, string]{Host: host.Config[bare, string]{Agent: a, Logger: (&logBuffer{}).logger()}})
	e.prompt(id, "go")
	assert.Equal(t, "To Rome", e.text(id))
}

func TestAStructuredOutputThatTheModelWroteAsTextIsNotRepeated(t *testing.T) {
	m := modeltest.Script(modeltest.SayText(`{"city":"Rome","high":30}`))
	e, id := start(t, structured(t, agent.Config[bare, place]{Model: m, Output: agent.Output{Mode: agent.OutputNative}}))
	e.prompt(id, "go")
	assert.Equal(t, `{"city":"Rome","high":30}`, e.text(id))
}

func TestMediaOfTheModelAreShownAsWhatTheyAre(t *testing.T) {
	m := modeltest.Script(modeltest.Say(model.Text("Here: "),
		model.Media("image/png", []byte("picture")), model.Media("audio/wav", []byte("sound")),
		model.Part{Kind: model.PartMedia, MediaType: "application/pdf", Data: []byte("paper"), Name: "a.pdf"},
		model.Part{Kind: model.PartMedia, MediaType: "text/csv", Data: []byte("a,b"), Name: "a.csv"},
		model.Part{Kind: model.PartMedia, Data: []byte("who knows")}, model.Part{Kind: model.PartMedia, MediaType: "image/png"},
		model.Part{Kind: model.PartMedia, MediaType: "video/mp4", URL: "https://example.com/a.mp4"}))
	e, id := start(t, config(t, m))
	e.prompt(id, "go")
	var shown []string
	messages := map[acp.MessageID]bool{}
	for _, u := range e.updates(id) {
		c := u.AgentMessageChunk
		if c == nil {
			continue
		}
		messages[c.MessageID] = true
		switch b := c.Content; {
		case b.Image != nil:
			shown = append(shown, b.Image.MIMEType+" "+b.Image.Data)
		case b.Audio != nil:
			shown = append(shown, b.Audio.MIMEType+" "+b.Audio.Data)
		case b.Resource != nil && b.Resource.Resource.Text != nil:
			shown = append(shown, *b.Resource.Resource.Text.MIMEType+" "+b.Resource.Resource.Text.URI+" "+b.Resource.Resource.Text.Text)
		case b.Resource != nil && b.Resource.Resource.Blob.MIMEType == nil:
			shown = append(shown, b.Resource.Resource.Blob.URI+" "+b.Resource.Resource.Blob.Blob)
		case b.Resource != nil:
			shown = append(shown, *b.Resource.Resource.Blob.MIMEType+" "+b.Resource.Resource.Blob.URI+" "+b.Resource.Resource.Blob.Blob)
		case b.ResourceLink != nil:
			shown = append(shown, *b.ResourceLink.MIMEType+" "+b.ResourceLink.Name+" "+b.ResourceLink.URI)
		}
	}
	assert.Equal(t, []string{
		"image/png cGljdHVyZQ==", "audio/wav c291bmQ=", "application/pdf a.pdf cGFwZXI=", "text/csv a.csv a,b",
		"media d2hvIGtub3dz", "video/mp4 video/mp4 https://example.com/a.mp4",
	}, shown)
	assert.Len(t, messages, 1, "they belong to the message beside whose text they stand")
}

func TestAPanicOfRenderIsSeenAndHarmless(t *testing.T) {
	m := modeltest.Script(modeltest.Say(model.ToolCall("1", "final_result", `{"city":"Rome","high":30}`)))
	c := structured(t, agent.Config[bare, place]{Model: m})
	c.Host.Render = func(any) (string, error) { panic("boom") }
	e, id := start(t, c)
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "go"))
	assert.Contains(t, e.text(id), "The output cannot be shown: panic: boom (projection_test.go:")
}

func TestResponsesAndThoughtsAreMessagesOfTheirOwn(t *testing.T) {
	e, id := start(t, config(t, modeltest.Script(
		modeltest.Say(model.Thinking("so so"), model.Text("one two"), model.ToolCall("1", "forecast", `{"city":"Oslo"}`)), modeltest.SayText("three four")), forecast()))
	e.prompt(id, "go")
	text := map[acp.MessageID]string{}
	for _, u := range e.updates(id) {
		if c := u.AgentMessageChunk; c != nil {
			text[c.MessageID] += c.Content.Text.Text
		}
		if c := u.AgentThoughtChunk; c != nil {
			text[c.MessageID] += "(" + c.Content.Text.Text + ")"
		}
	}
	var texts []string
	for _, s := range text {
		texts = append(texts, s)
	}
	assert.ElementsMatch(t, []string{"(so )(so)", "one two", "three four"}, texts)
}
