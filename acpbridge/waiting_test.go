// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/internal/acpview"
)

// answered is a model that says what it was asked, and waits for its answers.
func answered() (m model.Model, asked, answer chan string) {
	asked, answer = make(chan string, 10), make(chan string)
	return modeltest.Func(func(ctx context.Context, req *model.Request) (*model.Message, error) {
		last := req.Messages[len(req.Messages)-1].Parts
		asked <- last[len(last)-1].Text
		select {
		case text := <-answer:
			return model.Response(model.Text(text)), nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}), asked, answer
}

// waitFor waits until the client has been told of n prompts that wait, in an update behind the ones
// that it has seen, and returns their numbers.
func (e *editor) waitFor(seen *int, n int) (numbers []string) {
	e.t.Helper()
	e.wait(func() bool {
		for *seen < len(e.lines) {
			u := e.lines[*seen].Params.Update.SessionInfoUpdate
			*seen++
			if u == nil {
				continue
			}
			if all, ok := acpview.WaitingOf(u); ok && len(all) == n {
				for _, w := range all {
					numbers = append(numbers, w.Title)
				}
				return true
			}
		}
		return false
	})
	return numbers
}

func (e *editor) command(id acp.SessionID, command string) string {
	e.t.Helper()
	var answer struct{ Text string }
	line := e.call(acpbridge.MethodCommand, commandParams(id, command))
	require.NoError(e.t, json.Unmarshal(line.Result, &answer), line.Text)
	return answer.Text
}

func commandParams(id acp.SessionID, command string) string {
	return fmt.Sprintf(`{"sessionId":%q,"command":%q}`, id, command)
}

// What a client sends while a turn runs waits in the session's inbox, where it is seen and changed.
func TestWaitingPromptsAreToldAndChanged(t *testing.T) {
	m, asked, answer := answered()
	c := config(t, m)
	c.Host.Busy, c.Host.Commands = host.BusyQueue, host.BuiltIns(nil)
	e, id := start(t, c)
	e.awaitUpdate(func(u *acp.SessionUpdate) bool {
		if u.AvailableCommandsUpdate == nil {
			return false
		}
		for _, c := range u.AvailableCommandsUpdate.AvailableCommands {
			if (string(c.Meta[acpview.MetaAtOnce]) == "true") != (c.Name == "waiting") {
				return false
			}
		}
		return true
	})
	seen := 0
	first := e.sendPrompt(id, "a")
	require.Equal(t, "a", <-asked)
	second := e.sendPrompt(id, "b")
	e.waitFor(&seen, 1)
	third := e.sendPrompt(id, "c")
	numbers := e.waitFor(&seen, 2)

	// An editor sends the command as a prompt: it is answered while the turn runs.
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "/waiting"))
	require.Contains(t, e.text(id), "- "+numbers[0]+": `` b ``")
	require.Contains(t, e.text(id), "- "+numbers[1]+": `` c ``")
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "/waiting edit "+numbers[0]+" B"))
	// A client that knows the extension has it carried out without a prompt.
	require.Contains(t, e.command(id, "/waiting remove "+numbers[1]), "Removed")
	answer <- "1"
	requireStop(t, acp.StopReasonEndTurn, e.answer(first))
	require.Equal(t, "B", <-asked)
	answer <- "2"
	requireStop(t, acp.StopReasonCancelled, e.answer(third))
	requireStop(t, acp.StopReasonEndTurn, e.answer(second))

	spaced := e.sendPrompt(id, " /waiting")
	require.Equal(t, " /waiting", <-asked, "a text that begins with a space is sent as it is")
	answer <- "3"
	requireStop(t, acp.StopReasonEndTurn, e.answer(spaced))
	require.Empty(t, e.waitFor(&seen, 0))
	refused := e.call(acpbridge.MethodCommand, commandParams(id, "/cost"))
	require.Equal(t, acp.CodeInvalidParams, refused.Error.Code)
}

// A client that cancels does not find its prompts run afterwards. One that is gone does.
func TestPromptsThatWaitGoWithACancelAndStayWithoutTheirClient(t *testing.T) {
	store := &session.Memory{}
	m, asked, _ := answered()
	c := config(t, m)
	c.Host.Busy, c.Host.Store = host.BusyQueue, store
	e, id := start(t, c)
	waiting := func() (all []string) {
		items, err := session.Waiting(t.Context(), store, string(id))
		require.NoError(t, err)
		for _, i := range items {
			all = append(all, string(i.Data))
		}
		return all
	}
	seen := 0
	first := e.sendPrompt(id, "a")
	require.Equal(t, "a", <-asked)
	second := e.sendPrompt(id, "b")
	e.waitFor(&seen, 1)
	e.write(cancelLine(id))
	requireStop(t, acp.StopReasonCancelled, e.answer(first))
	requireStop(t, acp.StopReasonCancelled, e.answer(second))
	require.Empty(t, waiting())
	require.Empty(t, asked)

	e.sendPrompt(id, "c")
	require.Equal(t, "c", <-asked)
	e.sendPrompt(id, "d")
	e.waitFor(&seen, 1)
	_ = e.stop()
	require.Len(t, waiting(), 1)
	require.True(t, strings.Contains(waiting()[0], `"d"`))
}
