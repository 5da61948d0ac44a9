// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/compaction"
	"github.com/ponte-go/ponte/agent/history"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// compacting is an agent with /compact.
func compacting(m model.Model, tools ...*toolset.Tool[none]) *agent.Agent[none, string] {
	summary := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		return model.Response(model.Text("They talked.")), nil
	})
	return agent.Must(agent.New(agent.Config[none, string]{Model: m, Tools: tools, Commands: []agent.Command[none]{{
		Name: "compact", Description: "Summarise.", Run: func(ctx context.Context, c agent.CommandCall[none]) (agent.CommandResult, error) {
			made, _, err := history.Compact(ctx, history.Summary{Model: summary, Threshold: 1000}, c.Messages, "", nil)
			return agent.CommandResult{Messages: made, Notice: "Summarised."}, err
		},
	}}}))
}

// lastRequest returns what a request tells, without its last message.
func lastRequest(req *model.Request) string {
	var texts []string
	for _, m := range req.Messages[:len(req.Messages)-1] {
		for i := range m.Parts {
			texts = append(texts, m.Parts[i].Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Prompts that only a summary tells of cannot be taken back. What is taken back is gone from what is
// shown and from what the model is told, and nothing else is.
func TestSummarisedPromptsAreNotTakenBack(t *testing.T) {
	told := ""
	m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		told = lastRequest(req)
		return model.Response(model.Text("Answer.")), nil
	})
	h := newHost(t, host.Config[none, string]{Agent: compacting(m), Store: new(session.Memory), Commands: host.BuiltIns(nil)})
	s := create(t, h)
	var turns []string
	for _, text := range []string{"one", "two", "three"} {
		turns = append(turns, prompt(t, s, text).Turn)
	}
	cost := lastWords(t, s, "/cost")
	require.Contains(t, cost, "3 requests")
	require.NoError(t, prompt(t, s, "/compact").Err)
	require.Equal(t, cost, lastWords(t, s, "/cost"))
	_, err := s.Rewind(t.Context(), transcript.PromptID(turns[1]))
	require.ErrorIs(t, err, session.ErrInvalid)
	require.ErrorContains(t, err, "only a summary")
	s = requireReadTheSame(t, h, s)
	require.NotContains(t, shown(t, s), "Summary of the conversation", "nobody has said it")
	prompt(t, s, "/undo")
	require.Contains(t, shown(t, s), "Taken back: three")
	prompt(t, s, "/undo")
	require.Contains(t, shown(t, s), "or only a summary of it")
	s = requireReadTheSame(t, h, s)
	require.Contains(t, shown(t, s), `"text":"two"`)
	require.NotContains(t, shown(t, s), `"text":"three"`)
	prompt(t, s, "four")
	require.Contains(t, told, "They talked.")
	require.NotContains(t, told, "three")
	requireReadTheSame(t, h, s)
}

// A command that changes the history, and one that does not, leave the questions of a run that waits
// as they are: with the answers that were given, before and after the session is read again.
func TestCommandsLeaveAnswersAsTheyAre(t *testing.T) {
	for _, command := range []string{"/compact", "/help", "/cost"} {
		var paid []string
		n := 0
		m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
			if n++; n == 3 {
				return model.Response(model.ToolCall("a", "pay", `{"to":"Ada"}`), model.ToolCall("b", "pay", `{"to":"Bob"}`)), nil
			}
			return model.Response(model.Text("Answer.")), nil
		})
		store := new(session.Memory)
		h := newHost(t, host.Config[none, string]{Agent: compacting(m, pay(&paid)), Store: durable{store}, Commands: host.BuiltIns(nil)})
		s := create(t, h)
		for _, text := range []string{"one", "two", "pay"} {
			prompt(t, s, text)
		}
		open, err := questions(s)
		require.NoError(t, err)
		require.Len(t, open, 2)
		require.NoError(t, s.Decide(t.Context(), open[0].ID, "", allowed(open[0])))
		require.NoError(t, prompt(t, s, command).Err, command)
		require.NotContains(t, shown(t, s), string(view.Failed), command)
		s = requireReadTheSame(t, h, s)
		open, err = questions(s)
		require.NoError(t, err)
		require.Len(t, open, 1, "%s: the first one is answered", command)
		now, err := s.Answer(t.Context(), open[0].ID, "", allowed(open[0]))
		require.NoError(t, err)
		require.NoError(t, now.Resume(host.Prompt{}).Err, command)
		require.Equal(t, []string{"Ada", "Bob"}, paid, command)
		require.NotContains(t, shown(t, s), string(view.Failed), command)
	}
}

// A long turn is summarised in its middle. It is shown whole, live and read, and goes as a whole: also
// if it began with a question, so that the run that was summarised is that of the answer.
func TestSummarisedTurnIsTakenBackWhole(t *testing.T) {
	for _, asks := range []bool{false, true} {
		var paid []string
		steps, told := 0, ""
		m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
			last := req.Messages[len(req.Messages)-1].Parts[0].Text
			if told = lastRequest(req); last == "long" {
				if steps = 30; asks {
					return model.Response(model.ToolCall("p", "pay", `{"to":"Ada"}`)), nil
				}
			}
			if steps--; steps > 0 {
				return model.Response(model.ToolCall("c", "look", `{"to":"x"}`)), nil
			}
			return model.Response(model.Text("Answer to " + last[:3])), nil
		})
		summary := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
			return model.Response(model.Text("They looked.")), nil
		})
		look := toolset.Func("look", "Look.", func(context.Context, *toolset.RunContext[none], payment) (string, error) {
			return strings.Repeat("Long. ", 100), nil
		})
		h := newHost(t, host.Config[none, string]{Store: durable{new(session.Memory)}, Commands: host.BuiltIns(nil), Agent: agent.Must(agent.New(agent.Config[none, string]{
			Model: m, Tools: []*toolset.Tool[none]{look, pay(&paid)},
			Capabilities: []agent.Capability[none]{compaction.New(compaction.Options[none]{Model: summary, Window: 4000, KeepSteps: 2, KeepResults: []string{"look"}})},
		}))})
		s := create(t, h)
		prompt(t, s, "one")
		prompt(t, s, "long")
		calls := 29
		if asks {
			open, err := questions(s)
			require.NoError(t, err)
			now, err := s.Answer(t.Context(), open[0].ID, "", allowed(open[0]))
			require.NoError(t, err)
			require.NoError(t, now.Resume(host.Prompt{}).Err)
			calls++
		}
		require.Contains(t, told, "They looked.")
		require.Contains(t, shown(t, s), `"kind":"compaction"`)
		require.Equal(t, calls, strings.Count(shown(t, s), `"kind":"tool_call"`))
		s = requireReadTheSame(t, h, s)
		prompt(t, s, "/undo")
		require.Contains(t, shown(t, s), "Taken back: long")
		require.NotContains(t, shown(t, s), `"kind":"tool_call"`)
		s = requireReadTheSame(t, h, s)
		prompt(t, s, "two")
		require.Equal(t, "one\nAnswer to one", told)
		requireReadTheSame(t, h, s)
	}
}
