// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

func TestToolThatIgnoresItsContextDoesNotHoldTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		called, release := make(chan struct{}, 1), make(chan struct{})
		var log logBuffer
		m := modeltest.Script(modeltest.Say(model.ToolCall("1", "stubborn", "{}")), modeltest.SayText("next"))
		c := config(t, m, stubborn(called, release))
		c.Host.Logger = log.logger()
		e, id := start(t, c)
		first := e.sendPrompt(id, "go")
		<-called
		before := time.Now()
		e.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`+"\n", id))
		requireStop(t, acp.StopReasonCancelled, e.answer(first))
		require.Equal(t, 5*time.Second, time.Since(before))
		require.Contains(t, e.text(id), "still running: stubborn")
		require.Contains(t, log.String(), "stubborn", "the log is told whose goroutine goes on")
		shown := len(e.updates(id))
		require.Contains(t, wireText(e.all()), `"status":"failed"`)

		second := e.sendPrompt(id, "and now?")
		time.Sleep(time.Minute)
		require.Len(t, e.updates(id), shown, "nothing follows the answer, and the next turn waits")
		close(release)
		requireStop(t, acp.StopReasonEndTurn, e.answer(second))
		require.Contains(t, e.text(id), "next")
		var results []string
		for _, msg := range m.Requests()[1].Messages {
			for _, p := range msg.Parts {
				if p.Kind == model.PartToolReturn {
					results = append(results, p.Text)
				}
			}
		}
		require.Equal(t, []string{"at last"}, results, "what the tool did is not lost")
		require.NoError(t, e.stop())
	})
}

// A prompt that waits behind such a turn is answered, too, when it is cancelled.
func TestPromptsBehindAStuckTurnCanBeCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		called, release := make(chan struct{}, 1), make(chan struct{})
		e, id := start(t, config(t, callsOnce("stubborn"), stubborn(called, release)))
		cancel := fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`+"\n", id)
		first := e.sendPrompt(id, "go")
		<-called
		e.write(cancel)
		requireStop(t, acp.StopReasonCancelled, e.answer(first))
		for range 3 {
			next := e.sendPrompt(id, "again")
			e.write(cancel)
			requireStop(t, acp.StopReasonCancelled, e.answer(next))
		}
		close(release)
		synctest.Wait()
		requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "at last"))
		require.Equal(t, 1, strings.Count(wireText(e.all()), "still running"))
		require.NoError(t, e.stop())
	})
}

func TestToolThatEndsWithItsContextIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		called := make(chan struct{}, 1)
		e, id := start(t, config(t, callsOnce("wait"), waits("wait", called)))
		first := e.sendPrompt(id, "go")
		<-called
		before := time.Now()
		e.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`+"\n", id))
		requireStop(t, acp.StopReasonCancelled, e.answer(first))
		require.Zero(t, time.Since(before))
		require.NotContains(t, wireText(e.all()), "still running")
		require.NoError(t, e.stop())
	})
}

// Tools that ignore their context are named wherever they run: side by side, and inside of agents. Those that have ended are not.
func TestEachToolThatIgnoresItsContextIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		called, release := make(chan struct{}, 3), make(chan struct{})
		inner := agent.Must(agent.New(agent.Config[bare, string]{
			Name: "clerk", Tools: []*toolset.Tool[bare]{stubborn(called, release)},
			Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "stubborn", "{}"), model.ToolCall("2", "stubborn", "{}")), modeltest.SayText("inner done")),
		}))
		deaf := tool("deaf", func(context.Context, *toolset.RunContext[bare]) (string, error) {
			called <- struct{}{}
			<-release
			return "heard", nil
		})
		ends := make(chan struct{}, 1)
		m := modeltest.Script(modeltest.Say(
			model.ToolCall("1", "ask_clerk", `{"prompt":"go"}`), model.ToolCall("2", "deaf", "{}"), model.ToolCall("3", "obeys", "{}"),
		), modeltest.SayText("next"))
		e, id := start(t, config(t, m, agent.AsTool("ask_clerk", "", inner, func(d bare) bare { return d }), deaf, waits("obeys", ends)))
		first := e.sendPrompt(id, "go")
		for range 3 {
			<-called
		}
		<-ends
		e.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`+"\n", id))
		before := time.Now()
		requireStop(t, acp.StopReasonCancelled, e.answer(first))
		require.Equal(t, 5*time.Second, time.Since(before))
		require.Contains(t, e.text(id), "still running: ask_clerk, deaf, stubborn.")
		second := e.sendPrompt(id, "and now?")
		time.Sleep(time.Minute)
		close(release)
		requireStop(t, acp.StopReasonEndTurn, e.answer(second))
		told := map[string]string{}
		for _, p := range m.Requests()[1].Messages[2].Parts {
			told[p.Tool] = p.Text
		}
		require.Equal(t, "heard", told["deaf"])
		require.Contains(t, told["obeys"], "It is not known")
		require.NoError(t, e.stop())
	})
}
