// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
)

// Layers come before what the session remembers, and before its mode.
func TestLayersDecideFirst(t *testing.T) {
	edited, asked := 0, 0
	verdict := toolset.Verdict("")
	call := modeltest.Say(model.ToolCall("c", "edit", `{}`))
	m := modeltest.Script(call, modeltest.SayText("1"), call, modeltest.SayText("2"), call, modeltest.SayText("3"))
	s := create(t, newHost(t, host.Config[none, string]{
		Agent: newAgent(m, editor(&edited)...), Modes: []host.Mode{host.ModeCode()},
		Layers: func(none) []approval.Layer {
			return []approval.Layer{{Name: "rules", Decide: func(context.Context, *toolset.ApprovalRequest) (approval.Ruling, error) {
				return approval.Ruling{Verdict: verdict}, nil
			}}}
		},
	}))
	p := say("Edit.")
	p.Asker = toolset.AskerFuncs{OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
		asked++
		require.True(t, r.Once)
		return toolset.Allow(), nil
	}}
	for _, c := range []struct {
		verdict       toolset.Verdict
		edited, asked int
	}{{"", 1, 0}, {approval.VerdictAsk, 2, 1}, {toolset.VerdictDeny, 2, 1}} {
		verdict = c.verdict
		o, err := s.Prompt(t.Context(), p)
		require.NoError(t, err)
		require.NoError(t, o.Err)
		require.Equal(t, []int{c.edited, c.asked}, []int{edited, asked}, c.verdict)
	}
}

func TestLayersThatPanicFailTheTurn(t *testing.T) {
	s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Layers: func(none) []approval.Layer { panic("no") }}))
	var p *agent.PanicError
	require.ErrorAs(t, prompt(t, s, "Hi.").Err, &p)
}

func TestSessionCommands(t *testing.T) {
	saying := func(name, text string) host.Command {
		return host.Command{Name: name, Run: func(context.Context, *host.CommandCall) (agent.CommandResult, error) {
			if text == "" {
				return agent.CommandResult{}, errors.New("fails")
			}
			return agent.CommandResult{Notice: text}, nil
		}}
	}
	s := create(t, newHost(t, host.Config[none, string]{
		Agent: newAgent(echo()), Commands: []host.Command{saying("help", "the program's")},
		SessionCommands: func(s *host.Session) []host.Command {
			return []host.Command{saying("here", "in "+s.Info().Dir), saying("help", "the directory's"), saying("here", "twice"), saying("no name", "x"), {Name: "empty"}}
		},
	}))
	var names []string
	for _, c := range s.Commands() {
		names = append(names, c.Name)
	}
	require.Equal(t, []string{"help", "here"}, names)
	prompt(t, s, "/here")
	prompt(t, s, "/help")
	prompt(t, s, "/her")
	text := shown(t, s)
	require.Contains(t, text, "in "+s.Info().Dir)
	require.Contains(t, text, "the program's")
	require.NotContains(t, text, "the directory's")
	require.Contains(t, text, "Did you mean /here?")
}

func TestModelsHaveTheirOwnThinking(t *testing.T) {
	m := modeltest.Script(modeltest.SayText("1"), modeltest.SayText("2"), modeltest.SayText("3"))
	s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(m), Models: []host.Model{
		{ID: "a", Model: m, Thinking: []string{host.ThinkingDefault, "high"}}, {ID: "b", Model: m, Thinking: []string{}}, {ID: "c", Model: m, Thinking: []string{"low"}},
	}}))
	level := func() string {
		if set := m.Requests()[len(m.Requests())-1].Settings; set != nil {
			return set.Thinking
		}
		return ""
	}
	require.Equal(t, host.ThinkingDefault, s.Setting(host.SettingThinking))
	prompt(t, s, "1")
	require.Empty(t, level())
	_, err := s.Set(t.Context(), host.SettingThinking, "high")
	require.NoError(t, err)
	prompt(t, s, "2")
	require.Equal(t, "high", level())

	all, err := s.Set(t.Context(), host.SettingModel, "b")
	require.NoError(t, err)
	require.Len(t, all, 1, "the model has no levels")
	_, err = s.Set(t.Context(), host.SettingThinking, "high")
	require.ErrorIs(t, err, host.ErrNoSetting)
	_, err = s.Set(t.Context(), host.SettingModel, "c")
	require.NoError(t, err)
	prompt(t, s, "3")
	require.Equal(t, "low", level(), "high is not a level of this model")

	_, err = host.New(host.Config[none, string]{Agent: newAgent(m), Models: []host.Model{{ID: "a", Model: m, Thinking: []string{"x", "x"}}}})
	require.ErrorContains(t, err, `the model "a": its levels of thinking must be unique`)
}
