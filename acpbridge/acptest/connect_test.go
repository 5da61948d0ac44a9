// SPDX-License-Identifier: Apache-2.0

package acptest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// echo is an agent that says what it was told.
type echo struct {
	acp.UnimplementedAgent
	client *acp.AgentConn
}

func newEcho(c *acp.AgentConn) acp.Agent { return &echo{client: c} }

func (*echo) Initialize(context.Context, *acp.InitializeRequest) (*acp.InitializeResponse, error) {
	return &acp.InitializeResponse{ProtocolVersion: acp.Version}, nil
}

func (*echo) NewSession(_ context.Context, req *acp.NewSessionRequest) (*acp.NewSessionResponse, error) {
	return &acp.NewSessionResponse{SessionID: acp.SessionID("in " + req.Cwd)}, nil
}

func (e *echo) Prompt(ctx context.Context, req *acp.PromptRequest) (*acp.PromptResponse, error) {
	acp.Async(ctx)
	text := req.Prompt[0].Text.Text
	if text == "wait" {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	err := e.client.SessionUpdate(ctx, &acp.SessionNotification{SessionID: req.SessionID, Update: acp.TextChunk(text)})
	return &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, err
}

func TestAnAgentIsDrivenOverAConnection(t *testing.T) {
	editor := acptest.New(acptest.Options{})
	conn := acptest.Connect(t, editor, acptest.ServeAgent(newEcho, nil))
	session, err := conn.Start(t.Context(), "/project")
	require.NoError(t, err)
	assert.Equal(t, acp.SessionID("in /project"), session)
	stop, err := conn.Say(t.Context(), session, "hello")
	require.NoError(t, err)
	assert.Equal(t, acp.StopReasonEndTurn, stop)
	assert.Equal(t, "hello", editor.State(session).Text)
	second, err := conn.Open(t.Context(), "/more")
	require.NoError(t, err)
	assert.NotEqual(t, session, second)
}

func TestDisconnectEndsTheConnection(t *testing.T) {
	editor := acptest.New(acptest.Options{})
	conn := acptest.Connect(t, editor, acptest.ServeAgent(newEcho, nil))
	session, err := conn.Start(t.Context(), "/project")
	require.NoError(t, err)
	time.AfterFunc(time.Millisecond, editor.Disconnect)
	_, err = conn.Say(t.Context(), session, "wait")
	require.ErrorIs(t, err, acp.ErrClosed)
}
