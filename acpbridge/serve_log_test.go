// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acp/unstable"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
)

var logTime = regexp.MustCompile(`(?m)^time=\S+ `)

// ours returns what the bridge has logged, without times and with names for the sessions.
func (b *logBuffer) ours(names ...acp.SessionID) []string {
	text := logTime.ReplaceAllString(b.String(), "")
	for i, id := range names {
		text = strings.ReplaceAll(text, string(id), string(rune('A'+i)))
	}
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); strings.Contains(line, `"acpbridge: `) {
			lines = append(lines, line)
		}
	}
	return lines
}

// The log tells which sessions begin, are forked, end and continue, and nothing of what is said.
func TestTheLogTellsTheLifeOfSessions(t *testing.T) {
	var log logBuffer
	c := unstableConfig(t, newStore(), echo())
	c.Host.Logger = log.logger()
	e, id := start(t, c)
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "a secret"))
	answer := e.about(unstable.MethodForkSession, id, `,"cwd":"/repo"`)
	var forked unstable.ForkSessionResponse
	require.NoError(t, json.Unmarshal(answer.Result, &forked), answer.Text)
	require.Nil(t, e.about(acp.MethodCloseSession, id, "").Error)
	require.Nil(t, e.load(acp.MethodLoadSession, id).Error)
	require.Nil(t, e.load(acp.MethodResumeSession, id).Error, "it is open already")
	require.NoError(t, e.stop())
	require.Equal(t, []string{
		`level=INFO msg="acpbridge: session begins" session=A`,
		`level=INFO msg="acpbridge: session forked" session=A fork=B`,
		`level=INFO msg="acpbridge: session ends" session=A`,
		`level=INFO msg="acpbridge: session continues" session=A`,
	}, log.ours(id, forked.SessionID))
	require.NotContains(t, log.String(), "secret")
}

// A session that is closed while a tool ignores its context is answered for after ten seconds, and
// ends when the tool has ended. Until then it cannot be opened again.
func TestAClosedSessionEndsWithItsLastTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logBuffer
		called, release := make(chan struct{}, 1), make(chan struct{})
		c := stored(t, newStore(), callsOnce("stubborn"), stubborn(called, release))
		c.Host.Logger = log.logger()
		c.ShutdownTimeout = 9 * time.Second
		e, id := start(t, c)
		n := e.sendPrompt(id, "go")
		<-called
		begun := time.Now()
		require.Nil(t, e.about(acp.MethodCloseSession, id, "").Error)
		require.Equal(t, 9*time.Second, time.Since(begun))
		requireStop(t, acp.StopReasonCancelled, e.answer(n))
		left := []string{
			`level=INFO msg="acpbridge: session begins" session=A`,
			`level=WARN msg="acpbridge: a cancelled turn does not end: something ignores its context"` +
				` session=A tools=[stubborn]`,
			`level=WARN msg="acpbridge: session closed, but something ignores its context" session=A`,
		}
		require.Equal(t, left, log.ours(id))
		begun = time.Now()
		requireError(t, acp.CodeInvalidRequest, acpbridge.KindBusy, e.load(acp.MethodLoadSession, id))
		require.Equal(t, 9*time.Second, time.Since(begun))
		loads := make(chan wireLine, 1)
		go func() { loads <- e.load(acp.MethodLoadSession, id) }()
		synctest.Wait()
		require.Empty(t, loads)
		close(release)
		require.Nil(t, (<-loads).Error)
		require.NoError(t, e.stop())
		require.Equal(t, append(left,
			`level=INFO msg="acpbridge: session ends" session=A`,
			`level=INFO msg="acpbridge: session continues" session=A`,
		), log.ours(id))
	})
}

// Updates that tools may not send are logged with the tool that has sent them.
func TestUpdatesThatAreNotShownAreLogged(t *testing.T) {
	var log logBuffer
	tells := tool("tells", func(_ context.Context, run *toolset.RunContext[bare]) (string, error) {
		run.Emit(acp.SessionUpdate{AvailableCommandsUpdate: &acp.AvailableCommandsUpdate{}})
		run.Emit(acp.SessionUpdate{ToolCallUpdate: &acp.ToolCallUpdate{ToolCallID: "none"}})
		run.Emit(acp.TextChunk("fine"))
		return "told", nil
	})
	c := config(t, callsOnce("tells"), tells)
	c.Host.Logger = log.logger()
	e, id := start(t, c)
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "go"))
	require.NoError(t, e.stop())
	const line = `level=WARN msg="acpbridge: an update that a tool has emitted is not shown" ` +
		`session=A tool=tells error=`
	require.Equal(t, []string{
		`level=INFO msg="acpbridge: session begins" session=A`,
		line + `"acpbridge: tools cannot send updates of this kind: use messages, tool calls, plans, ` +
			`notices and compactions"`,
		line + fmt.Sprintf("%q", deps.ErrUnknownToolCall.Error()),
	}, log.ours(id))
	require.NotContains(t, wireText(e.all()), `"none"`, "a call that nobody knows is not begun")
}

// Dependencies without the editor that they were given are a mistake that the log points out.
func TestDependenciesWithoutTheEditorAreLogged(t *testing.T) {
	var log logBuffer
	c := config(t, echo())
	c.Host.Logger = log.logger()
	c.Deps = func(context.Context, deps.ACPDeps) (bare, error) { return bare{}, nil }
	e, id := start(t, c)
	require.NoError(t, e.stop())
	require.Equal(t, []string{
		`level=WARN msg="acpbridge: Deps has dropped the deps.ACPDeps that it was given: ` +
			`tools cannot use the editor" session=A`,
		`level=INFO msg="acpbridge: session begins" session=A`,
	}, log.ours(id))
}

// undeletable is a store that deletes nothing.
type undeletable struct{ session.Store }

func (undeletable) Delete(context.Context, string) error { return errors.New("it stays") }

// A fork that cannot be opened is deleted again. If that fails as well, the log says which it is.
func TestAForkThatIsLeftIsLogged(t *testing.T) {
	var log logBuffer
	opened := 0
	c := unstableConfig(t, lasting{undeletable{new(session.Memory)}}, echo())
	c.Host.Logger = log.logger()
	c.Deps = func(_ context.Context, d deps.ACPDeps) (bare, error) {
		if opened++; opened == 2 {
			return d, errors.New("no room")
		}
		return d, nil
	}
	e, id := start(t, c)
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "first"))
	answer := e.about(unstable.MethodForkSession, id, `,"cwd":"/repo"`)
	requireError(t, acp.CodeInternal, acpbridge.KindSession, answer)
	ids, _ := e.list(`{}`)
	require.Len(t, ids, 2)
	fork := ids[0]
	if fork == id {
		fork = ids[1]
	}
	require.NoError(t, e.stop())
	require.Equal(t, []string{
		`level=INFO msg="acpbridge: session begins" session=A`,
		`level=ERROR msg="acpbridge: the session cannot be forked" session=A error=*errors.joinError`,
		`level=ERROR msg="acpbridge: the fork is left" session=B error=*errors.errorString`,
	}, log.ours(id, fork))
}
