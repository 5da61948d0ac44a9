// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

const takesTurns = `{"_meta":{"ponte-go.dev/turns":true}}`

// queued sends a prompt that becomes a turn when those before it have ended.
func (e *editor) queued(id acp.SessionID, text string) wireLine {
	e.t.Helper()
	return e.call(acpbridge.MethodQueue, fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}`, id, text))
}

// turns returns what the client was told of turns and in them: "[" and "]" with how it ended, and texts.
func (e *editor) turns(id acp.SessionID) (told []string) {
	for _, u := range e.updates(id) {
		switch {
		case u.UserMessageChunk != nil:
			told = append(told, "user: "+u.UserMessageChunk.Content.Text.Text)
		case u.AgentMessageChunk != nil && u.AgentMessageChunk.Content.Text.Text != "":
			told = append(told, u.AgentMessageChunk.Content.Text.Text)
		case u.SessionInfoUpdate != nil:
			switch what := acpview.TurnOf(u.SessionInfoUpdate); {
			case what == nil:
			case !what.Ended:
				told = append(told, "[")
			default:
				told = append(told, "] "+string(what.StopReason)+what.Message)
			}
		}
	}
	return told
}

// turnsEnded waits for the end of so many turns that the client has not asked for.
func (e *editor) turnsEnded(n int) {
	e.t.Helper()
	seen, next := 0, 0
	e.wait(func() bool {
		for ; next < len(e.lines); next++ {
			if u := e.lines[next].Params.Update.SessionInfoUpdate; u != nil {
				if what := acpview.TurnOf(u); what != nil && what.Ended {
					seen++
				}
			}
		}
		return seen >= n
	})
}

// Each turn of a prompt that was queued is told from its beginning, with its prompt, to its end.
// session/cancel ends the one that runs and no other.
func TestQueuedPromptsBecomeTurnsThatAreTold(t *testing.T) {
	m, asked, answer := answered()
	c := config(t, m)
	c.Host.Store = &session.Memory{}
	e := serve(t, c)
	require.Contains(t, e.initialize(takesTurns).Text, `"ponte-go.dev/turns":true`)
	id := e.newSession()
	for i, text := range []string{"a", "b", "c"} {
		require.JSONEq(t, `{}`, string(e.queued(id, text).Result))
		if i == 0 {
			require.Equal(t, "a", <-asked)
		}
	}
	e.write(cancelLine(id))
	require.Equal(t, "b", <-asked)
	require.Equal(t, acpbridge.KindBusy, acpbridge.ErrorKind(e.prompt(id, "d").Error.Data["kind"].(string)), "the host's policy is for other prompts")
	answer <- "1"
	require.Equal(t, "c", <-asked)
	answer <- "2"
	e.turnsEnded(3)
	require.Equal(t, []string{"[", "user: a", "] cancelled", "[", "user: b", "1", "] end_turn", "[", "user: c", "2", "] end_turn"}, e.turns(id))
	prompt := e.sendPrompt(id, "e")
	require.Equal(t, "e", <-asked)
	require.JSONEq(t, `{}`, string(e.queued(id, "f").Result))
	answer <- "3"
	requireStop(t, acp.StopReasonEndTurn, e.answer(prompt))
	require.Equal(t, "f", <-asked)
	answer <- "4"
	e.turnsEnded(4)
	told := e.turns(id)
	require.Equal(t, []string{"3", "[", "user: f", "4", "] end_turn"}, told[len(told)-5:], "a prompt of the client is its own")
	at := func(want func(wireLine) bool) int { return slices.IndexFunc(e.all(), want) }
	require.Less(t, at(func(l wireLine) bool { return l.Is(prompt) }), at(func(l wireLine) bool {
		u := l.Params.Update.UserMessageChunk
		return u != nil && u.Content.Text.Text == "f"
	}), "the turn begins behind the answer before it")
}

func TestQueuedTurnsThatFailAreTold(t *testing.T) {
	c := config(t, modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) { return nil, errors.New("no model") }))
	e := serve(t, c)
	e.initialize(takesTurns)
	id := e.newSession()
	require.JSONEq(t, `{}`, string(e.queued(id, "a").Result))
	e.turnsEnded(1)
	require.Equal(t, []string{"[", "user: a", "] no model"}, e.turns(id))
}

// Clients that do not show such turns have none.
func TestQueueIsForClientsThatShowTurns(t *testing.T) {
	e := serve(t, config(t, echo()))
	require.NotContains(t, e.initialize(`{}`).Text, "ponte-go.dev/turns")
	id := e.newSession()
	require.Equal(t, acp.CodeInvalidRequest, e.queued(id, "a").Error.Code)
	requireError(t, acp.CodeResourceNotFound, acpbridge.KindSession, e.queued("other", "a"))
	e = serve(t, config(t, echo()))
	e.initialize(takesTurns)
	id = e.newSession()
	requireError(t, acp.CodeInvalidParams, acpbridge.KindPrompt, e.call(acpbridge.MethodQueue, fmt.Sprintf(`{"sessionId":%q,"prompt":[]}`, id)))
	require.Equal(t, acp.CodeInvalidParams, e.call(acpbridge.MethodQueue, `{"sessionId":5}`).Error.Code)
}

// The end of the client leaves a prompt that waits in the inbox, and so does the end of the session. The next client
// is told of its turn.
func TestQueuedPromptsWaitForTheNextClient(t *testing.T) {
	for name, leave := range map[string]func(*editor, acp.SessionID){
		"end": func(e *editor, _ acp.SessionID) { require.NoError(t, e.stop()) },
		"close": func(e *editor, id acp.SessionID) {
			require.Nil(t, e.call(acp.MethodCloseSession, fmt.Sprintf(`{"sessionId":%q}`, id)).Error)
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := &session.Memory{}
			m, asked, answer := answered()
			c := config(t, m)
			c.Host.Store = store
			e := serve(t, c)
			e.initialize(takesTurns)
			id := e.newSession()
			e.queued(id, "a")
			require.Equal(t, "a", <-asked)
			e.queued(id, "b")
			leave(e, id)
			all, err := session.Waiting(t.Context(), store, string(id))
			require.NoError(t, err)
			require.Len(t, all, 1)

			next := serve(t, c)
			next.initialize(takesTurns)
			loaded := next.call(acp.MethodLoadSession, fmt.Sprintf(`{"sessionId":%q,"cwd":"/repo","mcpServers":[]}`, id))
			require.Nil(t, loaded.Error, loaded.Text)
			require.Equal(t, "b", <-asked)
			answer <- "2"
			next.turnsEnded(1)
			told := next.turns(id)
			require.Equal(t, []string{"[", "user: b", "2", "] end_turn"}, told[len(told)-4:])
			all, err = session.Waiting(t.Context(), store, string(id))
			require.NoError(t, err)
			require.Empty(t, all)
			require.Empty(t, asked)
		})
	}
}

// A slash command that records no prompt is shown all the same, and one that the text was changed to.
func TestQueuedCommandsAreShown(t *testing.T) {
	m, asked, answer := answered()
	c := config(t, m)
	c.Host.Store = &session.Memory{}
	c.Host.Commands = host.BuiltIns(nil)
	e := serve(t, c)
	e.initialize(takesTurns)
	id := e.newSession()
	e.queued(id, "a")
	require.Equal(t, "a", <-asked)
	e.queued(id, "b")
	require.Contains(t, e.command(id, "/waiting edit 1 /cost"), "Changed")
	answer <- "1"
	e.turnsEnded(2)
	told := e.turns(id)
	require.Equal(t, []string{"[", "user: /cost"}, told[4:6])
	require.Empty(t, asked)
}
