// SPDX-License-Identifier: Apache-2.0

package acp_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// The answers to a prompt and to session/load wait for the updates before them. Those to other
// calls wait for nothing, whatever the client is doing.
func TestAnswersWaitForTheUpdatesOfTheirSessionOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		toAgent, fromClient := acp.Pipe()
		toClient, fromAgent := acp.Pipe()
		agent := &fakeAgent{}
		a := acp.NewAgentConn(toAgent, fromAgent, func(conn *acp.AgentConn) acp.Agent {
			agent.conn = conn
			return agent
		}, nil)
		agent.prompt = func(ctx context.Context, p *acp.PromptRequest) (*acp.PromptResponse, error) {
			err := agent.conn.SessionUpdate(ctx, &acp.SessionNotification{
				SessionID: p.SessionID, Update: acp.TextChunk("slow"),
			})
			return &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, err
		}
		release := make(chan struct{})
		client := &fakeClient{update: func(context.Context, *acp.SessionNotification) error {
			<-release
			return nil
		}}
		slow := func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			<-release
			return json.RawMessage(`{}`), nil
		}
		c := acp.NewClientConn(toClient, fromClient, func(*acp.ClientConn) acp.Client {
			return client
		}, &acp.ConnOptions{ExtMethod: slow})
		ended := make(chan error, 2)
		go func() { ended <- a.Serve(context.Background()) }()
		go func() { ended <- c.Serve(context.Background()) }()
		_, err := c.Initialize(t.Context(), &acp.InitializeRequest{ProtocolVersion: acp.Version})
		require.NoError(t, err)

		go func() { _ = a.Call(context.Background(), "_slow", nil, nil) }() // of no session
		prompted := make(chan error, 1)
		go func() {
			_, err := c.Prompt(context.Background(), &acp.PromptRequest{SessionID: "s"})
			prompted <- err
		}()
		synctest.Wait()
		_, err = c.ListSessions(t.Context(), &acp.ListSessionsRequest{})
		require.NoError(t, err)
		_, err = c.SetSessionMode(t.Context(), &acp.SetSessionModeRequest{SessionID: "s", ModeID: "m"})
		require.NoError(t, err)
		require.Empty(t, prompted)
		close(release)
		require.NoError(t, <-prompted)
		require.NoError(t, c.Close())
		<-ended
		<-ended
	})
}
