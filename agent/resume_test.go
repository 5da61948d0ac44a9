// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// reread passes on a history as another process reads it.
func reread(t *testing.T, messages []*model.Message) agent.RunOption {
	t.Helper()
	data, err := json.Marshal(messages)
	require.NoError(t, err)
	var back []*model.Message
	require.NoError(t, json.Unmarshal(data, &back))
	return agent.WithHistory(back)
}

// picture is a tool that shows an image.
func picture(name string) *toolset.Tool[deps] {
	return toolset.Func(name, "", func(context.Context, *toolset.RunContext[deps], none) (toolset.Result, error) {
		return toolset.Result{Text: "see below", Content: []model.Part{{Kind: model.PartMedia, MediaType: "image/png", Data: []byte(name)}}}, nil
	})
}

// guarded is a tool that needs approval.
func guarded(t *toolset.Tool[deps]) *toolset.Tool[deps] {
	t.Approval = func(context.Context, *toolset.RunContext[deps], any) (*toolset.Approval, error) {
		return &toolset.Approval{}, nil
	}
	return t
}

func TestImagesOfToolsSurviveAResume(t *testing.T) {
	tools := func() []*toolset.Tool[deps] {
		return []*toolset.Tool[deps]{picture("first"), guarded(picture("second")), picture("third")}
	}
	script := []modeltest.Step{modeltest.Say(call("1", "first"), call("2", "second"), call("3", "third")), modeltest.SayText("ok")}
	_, err := newAgent(t, cfg{Model: modeltest.Script(script...)}, tools()...).Run(context.Background(), deps{}, "go")
	var pending *agent.PendingError
	require.ErrorAs(t, err, &pending)
	for _, journaled := range []bool{false, true} {
		opts := []agent.RunOption{reread(t, asRunError(t, err).Messages), agent.WithResults(agent.DeferredResults{Decisions: map[string]toolset.Decision{"2": toolset.Allow()}})}
		if journaled {
			opts = append(opts, agent.WithJournal(new(journal.Memory)), agent.WithRunID("r"))
		}
		res, err := newAgent(t, cfg{Model: modeltest.Script(script[1:]...)}, tools()...).Run(context.Background(), deps{}, "", opts...)
		require.NoError(t, err)
		var seen []string
		for _, p := range res.Messages[2].Parts {
			if p.Kind == model.PartMedia {
				seen = append(seen, string(p.Data))
			}
		}
		require.ElementsMatch(t, []string{"first", "second", "third"}, seen)
	}
}

// TestResumedRunThatStopsKeepsWhatIsKnown stops a resumed run after each of its events. Results, images and denials that
// were there must still be there, and nothing is kept of calls that never ran.
func TestResumedRunThatStopsKeepsWhatIsKnown(t *testing.T) {
	tools := func() []*toolset.Tool[deps] {
		return []*toolset.Tool[deps]{
			picture("image"), addTool(), guarded(says("denied", "no")), guarded(picture("allowed")),
			tool("external", nil, func(o *toolset.Options) { o.External = true }),
		}
	}
	script := []modeltest.Step{
		modeltest.Say(call("1", "image"), add("2", 1, 500), call("5", "external"), call("3", "denied"), call("4", "allowed"), call("6", "nonsense")),
		modeltest.SayText("ok"),
	}
	_, err := newAgent(t, cfg{Model: modeltest.Script(script...)}, tools()...).Run(context.Background(), deps{}, "go")
	var pending *agent.PendingError
	require.ErrorAs(t, err, &pending)
	require.Len(t, pending.Calls, 3)
	first := asRunError(t, err)
	for leave := 1; ; leave++ {
		s := newAgent(t, cfg{Model: modeltest.Script(script[1:]...)}, tools()...).Stream(context.Background(), deps{}, "", reread(t, first.Messages), agent.WithResults(agent.DeferredResults{
			Decisions: map[string]toolset.Decision{"3": toolset.Deny("not this"), "4": toolset.Allow()},
			Results:   map[string]toolset.Result{"5": {Text: "from elsewhere", Content: []model.Part{{Kind: model.PartMedia, MediaType: "image/png", Data: []byte("external")}}}},
		}))
		n, seen := 0, map[string]bool{}
		for e := range s.Events() {
			if n++; e.Kind == agent.EventToolResult {
				seen[e.CallID] = true
			}
			if n == leave {
				break
			}
		}
		_, err := s.Result()
		if err == nil {
			require.Greater(t, leave, 10)
			return
		}
		failed := asRunError(t, err)
		require.ErrorIs(t, err, agent.ErrStopped)
		got := map[string]string{}
		for _, m := range failed.Messages[2:] {
			for _, p := range m.Parts {
				switch p.Kind {
				case model.PartMedia:
					got[string(p.Data)] = "image"
				case model.PartToolReturn, model.PartRetry:
					require.NotContains(t, got, p.CallID, "answered once")
					got[p.CallID] = p.Text
				}
			}
		}
		if leave == 1 { // the run has not looked at the calls yet: the history is as it was
			require.Equal(t, dump(first.Messages), dump(failed.Messages))
			continue
		}
		require.Equal(t, "see below", got["1"], "event %d", leave)
		require.Equal(t, "image", got["image"], "event %d", leave)
		require.Equal(t, "not this", got["3"], "event %d", leave)
		require.Equal(t, "from elsewhere", got["5"], "event %d", leave)
		require.Equal(t, "image", got["external"], "event %d", leave)
		if failed.Messages[2].Interrupted {
			require.NotContains(t, got, "2", "it never ran")
			require.NotContains(t, got, "6", "it never ran")
		}
		if seen["4"] {
			require.Equal(t, "image", got["allowed"], "event %d", leave)
		}
	}
}

func TestTextOfAToolDoesNotRenewABudget(t *testing.T) {
	note := toolset.Func("note", "", func(context.Context, *toolset.RunContext[deps], none) (toolset.Result, error) {
		return toolset.Result{Text: "see below", Content: []model.Part{model.User("a note")}}, nil
	})
	history := []*model.Message{
		model.UserText("go"), model.Response(add("1", 1, 500)),
		{Kind: model.KindRequest, Parts: []model.Part{model.Retry("1", "add", "too large")}},
		model.Response(call("2", "note")),
		{Kind: model.KindRequest, Parts: []model.Part{model.ToolReturn("2", "note", "see below"), model.User("a note")}},
	}
	_, err, _ := runWith(t, cfg{}, []modeltest.Step{modeltest.Say(add("3", 1, 500)), modeltest.SayText("ok")}, "", []agent.RunOption{agent.WithHistory(history)}, note, addTool())
	var budget *agent.BudgetError
	require.ErrorAs(t, err, &budget, "a run that was never interrupted would have ended here, too")
}
