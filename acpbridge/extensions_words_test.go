// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/session/host"
)

// Methods beside the protocol check their parameters as its own are checked, and say what is wrong.
func TestExtensionMethodsSayWhatIsWrong(t *testing.T) {
	c := stored(t, newStore(), echo())
	command := func(context.Context, *host.CommandCall) (agent.CommandResult, error) {
		return agent.CommandResult{Notice: "done"}, nil
	}
	c.Host.Commands = []host.Command{
		{Name: "now", AtOnce: true, Run: command}, {Name: "turn", Run: command},
	}
	e, id := start(t, c)
	for _, r := range []struct {
		method, params string
		code           int
		says           string
	}{
		{acpbridge.MethodCommand, `[]`, acp.CodeInvalidParams,
			"invalid params: json: cannot unmarshal array"},
		{acpbridge.MethodCommand, `{"sessionId":"none","command":"/now"}`, acp.CodeResourceNotFound,
			`resource not found: session "none"`},
		{acpbridge.MethodCommand, fmt.Sprintf(`{"sessionId":%q,"command":"/turn"}`, id),
			acp.CodeInvalidParams, "invalid params: there is no such command, or it needs a turn"},
		{acpbridge.MethodCommand, fmt.Sprintf(`{"sessionId":%q,"command":"/none"}`, id),
			acp.CodeInvalidParams, "invalid params: there is no such command, or it needs a turn"},
		{acpbridge.MethodQueue, `[]`, acp.CodeInvalidParams, "invalid params: "},
		{acpbridge.MethodQueue, `{"sessionId":"none","prompt":[]}`, acp.CodeResourceNotFound,
			`resource not found: session "none"`},
		{acpbridge.MethodQueue, fmt.Sprintf(`{"sessionId":%q,"prompt":[]}`, id), acp.CodeInvalidRequest,
			"invalid request: the client has not announced ponte-go.dev/turns"},
		{"_ponte-go.dev/none", `{}`, acp.CodeMethodNotFound, ""},
	} {
		answer := e.call(r.method, r.params)
		require.NotNil(t, answer.Error, "%s %s", r.method, r.params)
		require.Equal(t, r.code, answer.Error.Code, "%s %s", r.method, r.params)
		require.Contains(t, answer.Error.Message, r.says, "%s %s", r.method, r.params)
	}
	answer := e.call(acpbridge.MethodCommand, fmt.Sprintf(`{"sessionId":%q,"command":"/now"}`, id))
	require.JSONEq(t, `{"text":"done"}`, string(answer.Result))
	require.NoError(t, e.stop())
}

// A command that has nothing to say is answered without a message, whatever came before it.
func TestCommandsThatSayNothingShowNothing(t *testing.T) {
	for notice, want := range map[string]string{"": "", "thought": "thought"} {
		c := stored(t, newStore(), echo())
		c.Host.Commands = []host.Command{{
			Name: "think", AtOnce: true,
			Run: func(context.Context, *host.CommandCall) (agent.CommandResult, error) {
				return agent.CommandResult{Notice: notice}, nil
			},
		}}
		e, id := start(t, c)
		answer := e.prompt(id, "/think")
		requireStop(t, acp.StopReasonEndTurn, answer)
		require.Equal(t, want, e.text(id))
		messages := 0
		for _, u := range e.updates(id) {
			if u.AgentMessageChunk != nil {
				messages++
			}
		}
		require.Equal(t, len(want) > 0, messages == 1)
		require.NoError(t, e.stop())
	}
}
