// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
)

// The layer that decided is shown in the editor and logged.
func TestLayersThatDecideAreShownAndLogged(t *testing.T) {
	act := func(name string) *toolset.Tool[bare] {
		return toolset.Func(name, "", func(context.Context, *toolset.RunContext[bare], none) (string, error) { return "", nil },
			toolset.Approve(func(context.Context, *toolset.RunContext[bare], none) (*toolset.Approval, error) {
				return &toolset.Approval{}, nil
			}))
	}
	configuration, err := approval.ParseConfig([]byte(`{"rules":[{"decision":"allow","tool":"good"},{"decision":"deny","tool":"bad"}]}`))
	require.NoError(t, err)
	layer, err := configuration.Layer("/repo")
	require.NoError(t, err)
	var log logBuffer
	c := config(t, modeltest.Script(modeltest.Say(model.ToolCall("1", "good", "{}"), model.ToolCall("2", "bad", "{}")), modeltest.SayText("ok")), act("good"), act("bad"))
	c.Host.RunOptions = func(_ context.Context, d bare, _ *host.Prompt) ([]agent.RunOption, error) {
		return []agent.RunOption{agent.WithAsker(approval.Logged(approval.Layered(acpbridge.Asker(d), layer), slog.New(slog.NewTextHandler(&log, nil))))}, nil
	}
	e, id := start(t, c)
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "go"))
	shown := map[string]string{}
	for _, u := range e.updates(id) {
		told := toolCall(&u)
		if told == nil {
			continue
		}
		for _, c := range told.Content {
			call := string(told.ToolCallID)
			shown[call[len(call)-1:]] = c.Content.Content.Text.Text
		}
	}
	require.Equal(t, map[string]string{
		"1": `Allowed by: configuration, allow tool "good"`,
		"2": "Not permitted (configuration). Do not try to do the same in another way.",
	}, shown)
	require.Contains(t, log.String(), "by=configuration")
	require.Equal(t, 2, strings.Count(log.String(), "approval: decided"))
}

func TestServeLogsDecisions(t *testing.T) {
	var log logBuffer
	act := toolset.Func("act", "", func(context.Context, *toolset.RunContext[bare], none) (string, error) { return "", nil },
		toolset.Approve(func(context.Context, *toolset.RunContext[bare], none) (*toolset.Approval, error) {
			return &toolset.Approval{}, nil
		}))
	c := config(t, modeltest.Script(modeltest.Say(model.ToolCall("1", "act", "{}")), modeltest.SayText("ok")), act)
	c.Host.Logger = log.logger()
	e, id := start(t, c)
	turn := e.sendPrompt(id, "go")
	asked := e.await(func(l wireLine) bool { return l.Method == acp.MethodRequestPermission })
	e.write(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":{"outcome":{"outcome":"selected","optionId":"allow_once"}}}` + "\n")
	requireStop(t, acp.StopReasonEndTurn, e.answer(turn))
	require.Contains(t, log.String(), `msg="approval: decided" tool=act`)
	require.Contains(t, log.String(), "by=user")
}

// Where somebody wants to be asked every time, "always" is not offered.
func TestAlwaysIsNotOfferedWhereItWouldNotHold(t *testing.T) {
	editor := acptest.New(acptest.Options{Answers: []acptest.Answer{acptest.AllowOnce}})
	r := approvalOf("s")
	r.Once = true
	_, err := acpbridge.Asker(editor.Deps("/project")).Approve(t.Context(), r)
	require.NoError(t, err)
	require.Len(t, editor.Permissions()[0].Options, 2)
}
