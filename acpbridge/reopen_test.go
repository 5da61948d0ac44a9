// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

func TestOpenSessionThatIsLoadedElsewhereMoves(t *testing.T) {
	var got []string
	where := tool("where", func(_ context.Context, run *toolset.RunContext[bare]) (string, error) {
		got = append(got, run.Deps.Session.Cwd+" "+strings.Join(run.Deps.Session.AdditionalDirectories, " "), strings.Join(run.Deps.Workspace.Workspace().Roots(), " "))
		return "here", nil
	})
	for _, method := range []string{acp.MethodLoadSession, acp.MethodResumeSession} {
		got = nil
		var script []modeltest.Step
		for i := range 5 {
			script = append(script, modeltest.Say(model.ToolCall(fmt.Sprint(i), "where", "{}")), modeltest.SayText("done"))
		}
		e, id := start(t, stored(t, newStore(), modeltest.Script(script...), where))
		requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "one"))
		for _, where := range []string{`"/elsewhere"`, `"/elsewhere","additionalDirectories":["/more"]`, `"/elsewhere/","additionalDirectories":["/more"]`, `"/repo"`} {
			answer := e.call(method, fmt.Sprintf(`{"sessionId":%q,"cwd":%s,"mcpServers":[]}`, id, where))
			require.Nil(t, answer.Error)
			requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "again"))
		}
		require.Equal(t, []string{"/repo ", "/repo", "/elsewhere ", "/elsewhere", "/elsewhere /more", "/elsewhere /more", "/elsewhere /more", "/elsewhere /more", "/repo ", "/repo"}, got)
		require.NoError(t, e.stop())
	}
}

func TestMessagesBehindALoadWaitForIt(t *testing.T) {
	store := newStore()
	e, id := start(t, stored(t, store, modeltest.Script(modeltest.SayText("before"))))
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "one"))
	require.NoError(t, e.stop())
	for _, method := range []string{acp.MethodLoadSession, acp.MethodResumeSession} {
		for i := range 20 {
			after := fmt.Sprint(method, i)
			e := serve(t, stored(t, store, modeltest.Script(modeltest.SayText(after))))
			e.initialize(`{}`)
			load, first := e.request(method, fmt.Sprintf(`{"sessionId":%q,"cwd":"/repo","mcpServers":[]}`, id))
			prompt, second := e.promptLine(id, "two")
			_, third := e.request("session/close", fmt.Sprintf(`{"sessionId":%q}`, id))
			e.write(first, second)
			require.Nil(t, e.answer(load).Error)
			requireStop(t, acp.StopReasonEndTurn, e.answer(prompt))
			e.write(third)
			seen := []string{}
			for _, l := range e.all() {
				if l.Is(load) || l.Is(prompt) {
					seen = append(seen, fmt.Sprint(l.Is(load)))
				} else if strings.Contains(l.Text, after) {
					seen = append(seen, "after")
				} else if strings.Contains(l.Text, `"before"`) {
					seen = append(seen, "before")
				}
			}
			if method == acp.MethodLoadSession {
				require.Equal(t, []string{"before", "true", "after", "false"}, seen)
			} else {
				require.Equal(t, []string{"true", "after", "false"}, seen)
			}
			require.NoError(t, e.stop())
		}
	}
}

func TestCancelBehindALoadAndAPromptCancels(t *testing.T) {
	store := newStore()
	e, id := start(t, stored(t, store, echo()))
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "one"))
	require.NoError(t, e.stop())
	again := serve(t, stored(t, store, callsOnce("wait"), waits("wait", make(chan struct{}, 1))))
	again.initialize(`{}`)
	load, first := again.request(acp.MethodLoadSession, fmt.Sprintf(`{"sessionId":%q,"cwd":"/repo","mcpServers":[]}`, id))
	prompt, second := again.promptLine(id, "two")
	again.write(first, second, fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`+"\n", id))
	require.Nil(t, again.answer(load).Error)
	requireStop(t, acp.StopReasonCancelled, again.answer(prompt))
	require.NoError(t, again.stop())
}

func TestSessionWithARunningTurnIsNotLoaded(t *testing.T) {
	started := make(chan struct{}, 1)
	e, id := start(t, stored(t, newStore(), callsOnce("wait"), waits("wait", started)))
	prompt, line := e.promptLine(id, "go")
	e.write(line)
	<-started
	for _, method := range []string{acp.MethodLoadSession, acp.MethodResumeSession} {
		for _, dir := range []string{"/repo", "/elsewhere"} {
			answer := e.call(method, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, id, dir))
			require.NotNil(t, answer.Error)
			require.Equal(t, acp.CodeInvalidRequest, answer.Error.Code)
			require.Equal(t, "busy", answer.Error.Data["kind"])
		}
	}
	e.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`+"\n", id))
	requireStop(t, acp.StopReasonCancelled, e.answer(prompt))
	require.NoError(t, e.stop())
}
