// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
)

func loadParams(id acp.SessionID, dir string) string {
	return fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, id, dir)
}

// A session that has been closed is opened anew, and never goes on in its old directories, although a tool ignores its context. It is
// released when the tool has ended.
func TestSessionThatWasClosedIsReleasedBeforeItIsOpenedAgain(t *testing.T) {
	for _, method := range []string{"session/close", "session/delete"} {
		synctest.Test(t, func(t *testing.T) {
			called, release := make(chan struct{}, 1), make(chan struct{})
			c := stored(t, newStore(), callsOnce("stubborn"), stubborn(called, release))
			var released []string
			c.Host.Release = func(_ context.Context, _ *host.Session, d bare) error {
				released = append(released, d.Session.Cwd)
				return nil
			}
			e, id := start(t, c)
			first := e.sendPrompt(id, "go")
			<-called
			closing := e.send(method, fmt.Sprintf(`{"sessionId":%q}`, id))
			requireError(t, acp.CodeInvalidRequest, acpbridge.KindBusy, e.call(acp.MethodLoadSession, loadParams(id, "/other")))
			requireStop(t, acp.StopReasonCancelled, e.answer(first))
			closed := e.answer(closing)
			require.Empty(t, released)
			if method == "session/delete" {
				requireError(t, acp.CodeInvalidRequest, acpbridge.KindBusy, closed)
			}
			close(release)
			synctest.Wait()
			require.Equal(t, []string{"/repo"}, released)
			require.Nil(t, e.call(acp.MethodLoadSession, loadParams(id, "/other")).Error)
			requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "again"))
			require.NoError(t, e.stop())
			require.Equal(t, []string{"/repo", "/other"}, released)
		})
	}
}

// Serve knows the tools of sessions that have been closed.
func TestToolOfAClosedSessionIsNamedWhenServeGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		called, release := make(chan struct{}, 1), make(chan struct{})
		e, id := start(t, stored(t, newStore(), callsOnce("stubborn"), stubborn(called, release)))
		e.sendPrompt(id, "go")
		<-called
		require.Nil(t, e.call("session/close", fmt.Sprintf(`{"sessionId":%q}`, id)).Error)
		var stuck *acpbridge.StuckError
		require.ErrorAs(t, e.stop(), &stuck)
		require.Equal(t, []string{"stubborn"}, stuck.Tools)
		close(release)
		synctest.Wait()
	})
}

func TestSessionWithoutAPromptMovesToTheDirectoriesThatItIsLoadedIn(t *testing.T) {
	e, id := start(t, stored(t, newStore(), modeltest.Script(modeltest.SayText("here"))))
	require.Nil(t, e.call(acp.MethodLoadSession, loadParams(id, "/other")).Error)
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "go"))
	require.NoError(t, e.stop())
}

func TestLoadInADirectoryThatIsMissingLeavesTheSessionOpen(t *testing.T) {
	c := stored(t, newStore(), modeltest.Script(modeltest.SayText("one"), modeltest.SayText("two")))
	c.Local = acpbridge.LocalFallback{Files: true}
	e := serve(t, c)
	e.initialize(`{}`)
	var made acp.NewSessionResponse
	answer := e.call(acp.MethodNewSession, fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, t.TempDir()))
	require.NoError(t, json.Unmarshal(answer.Result, &made), answer.Text)
	requireStop(t, acp.StopReasonEndTurn, e.prompt(made.SessionID, "go"))
	requireError(t, acp.CodeInvalidParams, acpbridge.KindSession, e.call(acp.MethodLoadSession, loadParams(made.SessionID, "/does/not/exist")))
	requireStop(t, acp.StopReasonEndTurn, e.prompt(made.SessionID, "again"))
	require.NoError(t, e.stop())
}

func TestWhatATurnTellsBehindItsAnswerIsNotTakenForTheNextTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		called, release := make(chan struct{}, 1), make(chan struct{})
		var late error
		talks := tool("talks", func(_ context.Context, run *toolset.RunContext[bare]) (string, error) {
			called <- struct{}{}
			<-release
			late = run.Deps.Client.SessionUpdate(context.Background(), &acp.SessionNotification{SessionID: run.Deps.Session.ID, Update: acp.TextChunk("late")})
			return "done", nil
		})
		e, id := start(t, config(t, callsOnce("talks"), talks))
		first := e.sendPrompt(id, "go")
		<-called
		e.write(cancelLine(id))
		requireStop(t, acp.StopReasonCancelled, e.answer(first))
		second := e.sendPrompt(id, "next")
		time.Sleep(time.Minute)
		close(release)
		requireStop(t, acp.StopReasonEndTurn, e.answer(second))
		require.ErrorIs(t, late, acp.ErrAnswered)
		require.NotContains(t, e.text(id), "late")
		require.NoError(t, e.stop())
	})
}
