// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"encoding/json"
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

// What a surface decides holds beyond the session only if that was offered, if it holds always, and
// if the arguments are those that the person saw. Where nothing is kept beyond the session, what
// holds always holds in the session.
func TestHowLongTheDecisionOfASurfaceHolds(t *testing.T) {
	always := toolset.Decision{Verdict: toolset.VerdictAllow, Always: true, Lasting: true}
	once, other, session := always, always, always
	once.Always, session.Lasting = false, false
	other.Args = json.RawMessage(`{"to":"Eve"}`)
	rule := []approval.Rule{{Tool: "pay", Verdict: toolset.VerdictAllow}}
	for name, c := range map[string]struct {
		decision             toolset.Decision
		keeps                bool
		inProject, inSession []approval.Rule
		asked                int
	}{
		"always, in the project":             {always, true, rule, nil, 1},
		"always, and nothing is kept":        {always, false, nil, rule, 1},
		"once, in the project":               {once, true, nil, nil, 2},
		"always, with other arguments":       {other, true, nil, nil, 2},
		"the same, where nothing is kept":    {other, false, nil, nil, 2},
		"once, where nothing is kept":        {once, false, nil, nil, 2},
		"always in the session, and no more": {session, true, nil, rule, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var paid []string
			k := &kept{}
			config := host.Config[none, string]{Agent: newAgent(modeltest.Script(
				modeltest.Say(model.ToolCall("c", "pay", `{"to":"Ada"}`)),
				modeltest.Say(model.ToolCall("d", "pay", `{"to":"Bob"}`)), modeltest.SayText("done")), pay(&paid))}
			if c.keeps {
				config.Kept = func(string) approval.Keeper { return k }
			}
			s := create(t, newHost(t, config))
			asked, p := 0, say("Pay.")
			p.Asker = toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
				asked++
				return c.decision, nil
			}}
			o, err := s.Prompt(t.Context(), p)
			require.NoError(t, err)
			require.NoError(t, o.Err)
			require.Equal(t, c.inProject, k.rules)
			require.Equal(t, c.inSession, append([]approval.Rule(nil), s.Policy().Rules()...))
			require.Equal(t, c.asked, asked)
		})
	}
}

// A command whose run options fail does not begin. Its line is no prompt, and no unknown command.
func TestCommandsWhoseOptionsFail(t *testing.T) {
	errOptions := errors.New("no budget")
	ran := 0
	command := agent.Command[none]{Name: "hello", Run: func(context.Context, agent.CommandCall[none]) (agent.CommandResult, error) {
		ran++
		return agent.CommandResult{}, nil
	}}
	for _, commands := range [][]host.Command{nil, host.BuiltIns(nil)} {
		a := agent.Must(agent.New(agent.Config[none, string]{Model: echo(), Commands: []agent.Command[none]{command}}))
		s := create(t, newHost(t, host.Config[none, string]{
			Agent: a, Commands: commands,
			RunOptions: func(context.Context, none, *host.Prompt) ([]agent.RunOption, error) { return nil, errOptions },
		}))
		o := prompt(t, s, "/hello")
		require.NoError(t, o.Err)
		require.Regexp(t, `"text":"/hello"}\]}\n.*"role":"assistant",.*"text":"no budget"}\]}\n$`, shown(t, s))
		require.Zero(t, ran)
	}
}
