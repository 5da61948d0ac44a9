// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
)

// An editor that comes while a turn of somebody else is running has what the session shows by then.
// With its next prompt it is shown the rest of that turn, also of a message that was half said.
func TestEditorsThatComeWithinATurnAreShownTheRest(t *testing.T) {
	for method, before := range map[string][]string{
		acp.MethodResumeSession: nil, acp.MethodLoadSession: {"message: one "},
	} {
		said, goOn := make(chan struct{}), make(chan struct{})
		tell := tool("tell", func(_ context.Context, run *toolset.RunContext[bare]) (string, error) {
			piece := func(text string) acp.SessionUpdate {
				return acp.SessionUpdate{AgentMessageChunk: &acp.ContentChunk{
					MessageID: "m", Content: acp.TextBlock(text),
				}}
			}
			run.Emit(piece("one "))
			close(said)
			<-goOn
			run.Emit(piece("two"))
			return "told", nil
		})
		m := modeltest.Script(modeltest.Say(model.ToolCall("a", "tell", `{}`)),
			modeltest.SayText("Done."), modeltest.SayText("mine"))
		c := stored(t, newStore(), m, tell)
		c.Host.Deps = func(_ context.Context, s *host.Session) (bare, error) {
			return acpbridge.DepsOf(s, acpbridge.LocalFallback{})
		}
		h, err := host.New(c.Host)
		require.NoError(t, err)
		first := serveHost(t, h, acpbridge.Options{})
		first.initialize(`{}`)
		id := first.newSession()
		turn := first.sendPrompt(id, "go")
		<-said
		second := serveHost(t, h, acpbridge.Options{})
		second.initialize(`{}`)
		require.Nil(t, second.load(method, id).Error)
		require.Equal(t, before, pieces(second.updates(id)))
		seen := len(second.updates(id))
		close(goOn)
		requireStop(t, acp.StopReasonEndTurn, first.answer(turn))
		requireStop(t, acp.StopReasonEndTurn, second.prompt(id, "and me?"))
		require.Equal(t, []string{"message: two", "message: mine"}, pieces(second.updates(id)[seen:]))
		require.NoError(t, first.stop())
		require.NoError(t, second.stop())
		require.NoError(t, h.Close(context.Background()))
	}
}
