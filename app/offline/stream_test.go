// SPDX-License-Identifier: Apache-2.0

package offline_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/app/offline"
)

// stream returns the deltas of an answer, and the message.
func stream(t *testing.T, config offline.Config, req *model.Request) ([]model.Delta, *model.Message) {
	t.Helper()
	var deltas []model.Delta
	m, err := offline.New(config).Generate(t.Context(), req, func(d model.Delta) error {
		deltas = append(deltas, d)
		return nil
	})
	require.NoError(t, err)
	return deltas, m
}

// People see a few words at a time: up to the space or line break after the 24th byte, or 24 bytes where there is none
// for as long again, and never half a character.
func TestTextComesInPieces(t *testing.T) {
	pieces := func(what string) (pieces []string) {
		deltas, _ := stream(t, offline.Config{}, &model.Request{Messages: []*model.Message{model.UserText("think " + what)}})
		for _, d := range deltas {
			if d.Kind == model.PartThinking {
				pieces = append(pieces, d.Text)
			}
		}
		return pieces
	}
	plan := []string{"Offline demo model, my plan:", "1. think about"}
	for what, want := range map[string][]string{
		"x": {"Offline demo model, my plan: ", "1. think about `x`.", " Thinking about `x`: rules ", "are all I have."},
		strings.Repeat("y", 48): {
			plan[0] + " ", "1. think about `" + strings.Repeat("y", 8), strings.Repeat("y", 24), strings.Repeat("y", 16) + "`.",
			" Thinking about `" + strings.Repeat("y", 7), strings.Repeat("y", 41) + "`: ", "rules are all I have.",
		},
		strings.Repeat("é", 16): {
			plan[0] + " ", "1. think about `" + strings.Repeat("é", 4), strings.Repeat("é", 12), "`.",
			" Thinking about `" + strings.Repeat("é", 4), strings.Repeat("é", 12) + "`: ", "rules are all I have.",
		},
		strings.Repeat("é", 40): {
			plan[0] + " ", "1. think about `" + strings.Repeat("é", 4), strings.Repeat("é", 12), strings.Repeat("é", 12), strings.Repeat("é", 12), "`.",
			" Thinking about `" + strings.Repeat("é", 4), strings.Repeat("é", 12), strings.Repeat("é", 12), strings.Repeat("é", 12) + "`: ", "rules are all I have.",
		},
		"x" + strings.Repeat("é", 40): {
			plan[0] + " ", "1. think about `x" + strings.Repeat("é", 4), strings.Repeat("é", 12), strings.Repeat("é", 12), strings.Repeat("é", 12), "`.",
			" Thinking about `x" + strings.Repeat("é", 3), strings.Repeat("é", 12), strings.Repeat("é", 12), strings.Repeat("é", 13) + "`: ", "rules are all I have.",
		},
	} {
		require.Equal(t, want, pieces(what), what)
	}
}

func TestPiecesComeAtThePaceOfTheConfiguration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		deltas, m := stream(t, offline.Config{Delay: time.Second}, &model.Request{Messages: []*model.Message{model.UserText("frobnicate")}})
		require.Len(t, deltas, 10)
		require.Equal(t, 9*time.Second, time.Since(begin), "after each piece of text")
		require.Equal(t, &m.Usage, deltas[9].Usage)

		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		_, err := offline.New(offline.Config{Delay: time.Second}).Generate(ctx, &model.Request{Messages: []*model.Message{model.UserText("help")}}, nil)
		require.EqualError(t, err, "offline: context deadline exceeded")
		require.Equal(t, 11500*time.Millisecond, time.Since(begin))
	})
}

// Each error of a sink ends the answer, wherever it comes.
func TestErrorsOfTheSinkEndTheAnswer(t *testing.T) {
	for _, request := range []string{"wait 10ms", "use read_file {}", "think x"} {
		req := &model.Request{Tools: []model.ToolDef{{Name: "read_file"}}, Messages: []*model.Message{model.UserText(request)}}
		deltas, _ := stream(t, offline.Config{}, req)
		require.Greater(t, len(deltas), 3)
		for fails := range deltas {
			stop, got := errors.New("stop"), 0
			_, err := offline.New(offline.Config{}).Generate(t.Context(), req, func(model.Delta) error {
				if got++; got > fails {
					return stop
				}
				return nil
			})
			require.Equal(t, stop, err)
			require.Equal(t, fails+1, got)
		}
	}
}

// Tokens are counted by the rule of thumb: four bytes each, of all that is sent and said, and a part is one.
func TestUsage(t *testing.T) {
	for name, c := range map[string]struct {
		req  model.Request
		want model.Usage
	}{
		"empty":        {model.Request{}, model.Usage{InputTokens: 0, OutputTokens: 25}},
		"instructions": {model.Request{Instructions: "12345"}, model.Usage{InputTokens: 2, OutputTokens: 25}},
		"tools": {
			model.Request{Tools: []model.ToolDef{{Name: "12", Description: "345", Schema: json.RawMessage("6789")}}},
			model.Usage{InputTokens: 3, OutputTokens: 25},
		},
		"arguments": {
			model.Request{Messages: []*model.Message{
				model.Response(model.ToolCall("1", "x", `{"a":1}`)), model.UserText("1"), {Kind: model.KindRequest}, model.UserText("hello"),
			}},
			model.Usage{InputTokens: 4, OutputTokens: 25},
		},
		"thoughts": {
			model.Request{Messages: []*model.Message{model.UserText("use x")}, Tools: []model.ToolDef{{Name: "x"}}},
			model.Usage{InputTokens: 2, OutputTokens: 11, ReasoningTokens: 10},
		},
	} {
		deltas, m := stream(t, offline.Config{}, &c.req)
		require.Equal(t, c.want, m.Usage, name)
		require.Equal(t, &m.Usage, deltas[len(deltas)-1].Usage, name)
		require.Equal(t, []string{"offline", "offline-demo"}, []string{m.Provider, m.Model})
	}
	require.Equal(t, model.Info{Provider: "offline", Name: "offline-demo", ContextWindow: 32_768}, offline.New(offline.Config{}).Info())
}

func TestRefusalsSayWhatIsNotSupported(t *testing.T) {
	for want, req := range map[string]*model.Request{
		"offline: output by schema: not supported by the model":       {Output: &model.OutputSchema{}},
		`offline: tool choice "required": not supported by the model`: {ToolChoice: model.ToolChoice{Mode: model.ToolChoiceRequired}},
		`offline: tool choice "tool": not supported by the model`:     {ToolChoice: model.ToolChoice{Mode: model.ToolChoiceTool}},
		"offline: media (image/png): not supported by the model":      {Messages: []*model.Message{model.UserText("x"), {Kind: model.KindRequest, Parts: []model.Part{model.User("x"), {Kind: model.PartMedia, MediaType: "image/png"}}}}},
	} {
		_, err := offline.New(offline.Config{}).Generate(t.Context(), req, nil)
		require.ErrorIs(t, err, model.ErrUnsupported)
		require.EqualError(t, err, want)
	}
}

// The progress of a turn is what its calls and their results say, however they are recorded.
func TestProgressIsReadFromTheHistory(t *testing.T) {
	called := func(id, tool, args string) *model.Message { return model.Response(model.ToolCall(id, tool, args)) }
	results := func(parts ...model.Part) *model.Message { return &model.Message{Kind: model.KindRequest, Parts: parts} }
	returned := func(id, text string, outcome model.Outcome) model.Part {
		return model.Part{Kind: model.PartToolReturn, CallID: id, Tool: "read_file", Text: text, Outcome: outcome}
	}
	first := []*model.Message{model.UserText("read a.txt, read b.txt"), called("call_1", "read_file", `{"path":"a.txt"}`)}
	const readsB = `call_2 {"path":"b.txt"}`
	for name, c := range map[string]struct {
		messages   []*model.Message
		says, call string
	}{
		"a result": {[]*model.Message{results(model.ToolReturn("call_1", "read_file", "A"))}, "`a.txt`:\n\n```txt\nA\n```\n\n", readsB},
		"a result of a call before": {
			[]*model.Message{results(model.ToolReturn("call_0", "read_file", "0"), model.ToolReturn("call_1", "read_file", "A"))},
			"`a.txt`:\n\n```txt\nA\n```\n\n", readsB,
		},
		"two results of one call": {
			[]*model.Message{results(model.ToolReturn("call_1", "read_file", "A"), model.ToolReturn("call_1", "read_file", "B"))},
			"`a.txt`:\n\n```txt\nA\n```\n\n", readsB,
		},
		"a text with the result": {
			[]*model.Message{results(model.ToolReturn("call_1", "read_file", "A"), model.User("list files"))}, "`a.txt`:\n\n```txt\nA\n```\n\n", readsB,
		},
		"a result that asks to retry": {[]*model.Message{results(model.Retry("call_1", "read_file", "no\npath"))}, "I could not read `a.txt`: no path\n\n", readsB},
		"a retry with a text": {
			[]*model.Message{results(model.Retry("call_1", "read_file", "no path"), model.User("list files"))}, "I could not read `a.txt`: no path\n\n", readsB,
		},
		"a retry of no call": {
			[]*model.Message{results(model.Retry("", "", "What?"))},
			"I cannot read `a.txt`: the record of this turn does not fit what I would have done. Please ask again.\n\n", readsB,
		},
		"denied": {
			[]*model.Message{results(returned("call_1", "No.", model.OutcomeDenied))}, "I was not permitted to read `a.txt`: No.\n\n", readsB,
		},
		"failed":      {[]*model.Message{results(returned("call_1", "Gone.", model.OutcomeFailed))}, "I could not read `a.txt`: Gone.\n\n", readsB},
		"could not":   {[]*model.Message{results(returned("call_1", "Could not open it.", model.OutcomeFailed))}, "I could not open it.\n\n", readsB},
		"nothing was": {[]*model.Message{results(returned("call_1", "Nothing was read.", model.OutcomeFailed))}, "Nothing was read.\n\n", readsB},
		"nothing was, but it succeeded": {
			[]*model.Message{results(returned("call_1", "Nothing was read.", model.OutcomeSuccess))}, "`a.txt`:\n\n```txt\nNothing was read.\n```\n\n", readsB,
		},
		"no result": {nil, "I cannot read `a.txt`: the record of this turn does not fit what I would have done. Please ask again.\n\n", readsB},
		"another tool": {
			[]*model.Message{called("call_2", "list_files", `{}`), results(model.ToolReturn("call_2", "list_files", "x"), model.ToolReturn("call_1", "read_file", "A"))},
			"I cannot read `b.txt`: the record of this turn does not fit what I would have done. Please ask again.\n\n", "",
		},
		"interrupted, and a new request": {
			[]*model.Message{results(returned("call_1", "", model.OutcomeInterrupted), model.User("use list_files {}"))}, "", `call_2 {}`,
		},
		"two parts of a request": {
			[]*model.Message{results(model.ToolReturn("call_1", "read_file", "A")), results(model.User("read"), model.User("c.txt"))}, "", `call_2 {"path":"c.txt"}`,
		},
		"files that a request mentions": {
			[]*model.Message{results(model.User("read c.txt"), model.User("Contents of c.txt: list files"))}, "", `call_2 {"path":"c.txt"}`,
		},
		"a request that begins like a mention": {
			[]*model.Message{results(model.User("Contents of c.txt"))}, refusal("I did not understand `Contents of c.txt`."), "",
		},
		"instructions in between": {
			[]*model.Message{results(model.ToolReturn("call_1", "read_file", "A")), {Kind: model.KindRequest}}, "`a.txt`:\n\n```txt\nA\n```\n\n", readsB,
		},
	} {
		t.Run(name, func(t *testing.T) {
			req := &model.Request{Messages: append(first[:2:2], c.messages...), Tools: []model.ToolDef{{Name: "read_file"}, {Name: "list_files"}}}
			_, m := stream(t, offline.Config{}, req)
			got := ""
			for _, p := range callsOf(m) {
				got = p.CallID + " " + string(p.Args)
			}
			require.Equal(t, c.says, m.Text())
			require.Equal(t, c.call, got)
		})
	}
}

// A checkpoint is only what undo_changes says, and the last one counts.
func TestRedoTakesTheLastCheckpoint(t *testing.T) {
	undone := func(id, tool, text string) []*model.Message {
		return []*model.Message{
			model.UserText("undo"), model.Response(model.ToolCall(id, tool, `{}`)),
			{Kind: model.KindRequest, Parts: []model.Part{model.ToolReturn(id, tool, text)}},
		}
	}
	history := append(undone("1", "undo_changes", "call undo_changes with checkpoint 3"), undone("2", "undo_changes", "To redo, call undo_changes with checkpoint 7.")...)
	history = append(history, undone("3", "undo_changes", "There is nothing to undo.")...)
	history = append(history, undone("4", "read_file", "call undo_changes with checkpoint 9")...)
	_, m := stream(t, offline.Config{}, &model.Request{Messages: append(history, model.UserText("redo")), Tools: []model.ToolDef{{Name: "undo_changes"}}})
	require.Equal(t, `{"checkpoint":7}`, string(callsOf(m)[0].Args))
	require.Equal(t, "call_5", callsOf(m)[0].CallID)
	require.Equal(t, model.FinishToolCalls, m.Finish)
}

func refusal(why string) string {
	return "I am the offline demo model, a few rules and no intelligence, and have done nothing: " + why + "\nSay `help` to see what I understand, or start the agent with a real model, such as `-model openai:NAME` or `-model ollama:NAME`.\n"
}
