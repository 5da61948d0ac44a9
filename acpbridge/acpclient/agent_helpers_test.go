// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
)

// scripted is an agent that does in its n-th prompt what the n-th function does.
type scriptedAgent struct {
	acp.UnimplementedAgent
	client *acp.AgentConn
	turns  []func(ctx context.Context, a *turn) (*acp.PromptResponse, error)

	mu       sync.Mutex
	sessions int
	prompts  []string
	closed   []acp.SessionID
	deaf     bool // closes no session
}

// turn is a prompt that the agent works on.
type turn struct {
	*scriptedAgent
	session acp.SessionID
	prompt  string
}

func (s *scriptedAgent) Initialize(context.Context, *acp.InitializeRequest) (*acp.InitializeResponse, error) {
	return &acp.InitializeResponse{ProtocolVersion: acp.Version, AgentInfo: &acp.Implementation{Name: "scripted"}, AgentCapabilities: acp.AgentCapabilities{
		SessionCapabilities: acp.SessionCapabilities{Close: &acp.SessionCloseCapabilities{}},
	}}, nil
}

func (s *scriptedAgent) NewSession(context.Context, *acp.NewSessionRequest) (*acp.NewSessionResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions++
	return &acp.NewSessionResponse{SessionID: acp.SessionID(fmt.Sprintf("s%d", s.sessions))}, nil
}

func (s *scriptedAgent) CloseSession(ctx context.Context, r *acp.CloseSessionRequest) (*acp.CloseSessionResponse, error) {
	acp.Async(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deaf {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	s.closed = append(s.closed, r.SessionID)
	return &acp.CloseSessionResponse{}, nil
}

func (s *scriptedAgent) Prompt(ctx context.Context, r *acp.PromptRequest) (*acp.PromptResponse, error) {
	acp.Async(ctx)
	s.mu.Lock()
	n := len(s.prompts)
	s.prompts = append(s.prompts, r.Prompt[0].Text.Text)
	s.mu.Unlock()
	if n >= len(s.turns) {
		return nil, acp.Errorf(acp.CodeInternal, "no script for this prompt")
	}
	return s.turns[n](ctx, &turn{s, r.SessionID, r.Prompt[0].Text.Text})
}

func (a *turn) update(ctx context.Context, u acp.SessionUpdate) {
	_ = a.client.SessionUpdate(ctx, &acp.SessionNotification{SessionID: a.session, Update: u})
}

func (a *turn) say(ctx context.Context, text string) { a.update(ctx, acp.TextChunk(text)) }

func (a *turn) call(ctx context.Context, id acp.ToolCallID, title string, status acp.ToolCallStatus, output string) {
	u := &acp.ToolCallUpdate{ToolCallID: id, Title: &title, Kind: acp.ToolKindExecute, Status: status, RawInput: []byte(`{"n":1}`)}
	if output != "" {
		u.RawOutput = []byte(fmt.Sprintf("%q", output))
	}
	a.update(ctx, acp.SessionUpdate{ToolCallUpdate: u})
}

// ask asks for permission, and returns the option that was chosen, or "".
func (a *turn) ask(ctx context.Context, id acp.ToolCallID, title string) acp.PermissionOptionID {
	resp, err := a.client.RequestPermission(ctx, &acp.RequestPermissionRequest{
		SessionID: a.session, ToolCall: acp.ToolCallUpdate{ToolCallID: id, Title: &title}, Options: []acp.PermissionOption{
			{OptionID: "yes", Name: "Yes", Kind: acp.PermissionOptionKindAllowOnce}, {OptionID: "no", Name: "No", Kind: acp.PermissionOptionKindRejectOnce},
		},
	})
	if err != nil || resp.Outcome.Selected == nil {
		return ""
	}
	return resp.Outcome.Selected.OptionID
}

var endAgentTurn = &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}

// says is a turn that says something.
func says(text string) func(context.Context, *turn) (*acp.PromptResponse, error) {
	return func(ctx context.Context, a *turn) (*acp.PromptResponse, error) {
		a.say(ctx, text)
		return endAgentTurn, nil
	}
}

// start connects a client with the agent.
func start(t testing.TB, s *scriptedAgent, config acpclient.Config) *acpclient.Client {
	t.Helper()
	toAgent, fromClient := acp.Pipe()
	toClient, fromAgent := acp.Pipe()
	conn := acp.NewAgentConn(toAgent, fromAgent, func(c *acp.AgentConn) acp.Agent { s.client = c; return s }, nil)
	served := make(chan error, 1)
	go func() { served <- conn.Serve(context.WithoutCancel(t.Context())) }()
	c, err := acpclient.Connect(t.Context(), toClient, fromClient, config)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, c.Close())
		<-served
	})
	return c
}

// wire notes what a client sends.
type wire struct {
	mu    sync.Mutex
	lines []string
}

func (w *wire) options() acp.ConnOptions {
	return acp.ConnOptions{Tap: func(d acp.Direction, line []byte) {
		if d == acp.Sent {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.lines = append(w.lines, string(line))
		}
	}}
}

func (w *wire) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.lines, "\n")
}
