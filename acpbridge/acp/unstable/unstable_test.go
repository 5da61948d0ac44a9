// SPDX-License-Identifier: Apache-2.0

package unstable_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acp/unstable"
)

// agent is an agent that can do what is not stable.
type agent struct {
	acp.UnimplementedAgent
	unstable.UnsupportedAgent
	client *acp.AgentConn
	told   chan *unstable.MessageMCPNotification
}

func (a *agent) Initialize(ctx context.Context, _ *acp.InitializeRequest) (*acp.InitializeResponse, error) {
	more, err := unstable.Params[unstable.InitializeRequest](ctx)
	if err != nil {
		return nil, err
	}
	if more.ClientCapabilities != nil && more.ClientCapabilities.Subagents != nil {
		err = unstable.ExtendAnswer(ctx, unstable.InitializeResponse{AgentCapabilities: &unstable.AgentCapabilities{
			SessionCapabilities: &unstable.SessionCapabilities{Fork: &unstable.SessionForkCapabilities{}},
		}})
	}
	return &acp.InitializeResponse{ProtocolVersion: acp.Version, AgentCapabilities: acp.AgentCapabilities{
		LoadSession: true, SessionCapabilities: acp.SessionCapabilities{Close: &acp.SessionCloseCapabilities{}},
	}}, err
}

func (a *agent) ForkSession(ctx context.Context, p *unstable.ForkSessionRequest) (*unstable.ForkSessionResponse, error) {
	if p.SystemPrompt == nil || p.SystemPrompt.Content[0].Text.Text != "Be brief." {
		return nil, acp.ErrInvalidParams
	}
	u, err := (&unstable.SessionUpdate{SubagentUpdate: &unstable.SubagentUpdate{
		SessionID: "sub", State: &unstable.StateUpdate{Idle: &unstable.IdleStateUpdate{StopReason: new("end_turn")}},
	}}).Stable()
	if err != nil {
		return nil, err
	}
	if err := a.client.SessionUpdate(ctx, &acp.SessionNotification{SessionID: p.SessionID, Update: u}); err != nil {
		return nil, err
	}
	return &unstable.ForkSessionResponse{SessionID: p.SessionID + "-fork"}, nil
}

func (a *agent) ArchiveSession(context.Context, *unstable.ArchiveSessionRequest) (*unstable.ArchiveSessionResponse, error) {
	return nil, nil // answered as {}
}

func (a *agent) ListProviders(context.Context, *unstable.ListProvidersRequest) (*unstable.ListProvidersResponse, error) {
	return &unstable.ListProvidersResponse{}, nil
}

func (a *agent) MessageMCP(_ context.Context, p *unstable.MessageMCPNotification) error {
	a.told <- p
	return nil
}

type client struct {
	acp.UnimplementedClient
	unstable.UnsupportedClient
	updates chan *acp.SessionUpdate
}

func (c *client) SessionUpdate(_ context.Context, n *acp.SessionNotification) error {
	c.updates <- &n.Update
	return nil
}

func (c *client) MessageMCP(context.Context, *unstable.MessageMCPRequest) (*unstable.MessageMCPResponse, error) {
	return &unstable.MessageMCPResponse{Result: json.RawMessage(`{"tools":[]}`)}, nil
}

// connected returns both sides of a connection, and the lines that went over it.
func connected(t *testing.T, serveAgent bool) (*agent, *client, *acp.ClientConn) {
	t.Helper()
	toAgent, fromClient := acp.Pipe()
	toClient, fromAgent := acp.Pipe()
	a, c := &agent{told: make(chan *unstable.MessageMCPNotification, 1)}, &client{updates: make(chan *acp.SessionUpdate, 10)}
	var agentOpts, clientOpts acp.ConnOptions
	if serveAgent {
		unstable.ServeAgent(&agentOpts, a)
		unstable.ServeClient(&clientOpts, c)
	}
	agentConn := acp.NewAgentConn(toAgent, fromAgent, func(conn *acp.AgentConn) acp.Agent {
		a.client = conn
		return a
	}, &agentOpts)
	clientConn := acp.NewClientConn(toClient, fromClient, func(*acp.ClientConn) acp.Client { return c }, &clientOpts)
	ended := make(chan struct{}, 2)
	go func() { _ = agentConn.Serve(context.Background()); ended <- struct{}{} }()
	go func() { _ = clientConn.Serve(context.Background()); ended <- struct{}{} }()
	t.Cleanup(func() {
		_ = clientConn.Close()
		<-ended
		<-ended
	})
	return a, c, clientConn
}

func hello(t *testing.T, conn *acp.ClientConn, more *unstable.InitializeRequest) (acp.InitializeResponse, unstable.InitializeResponse) {
	t.Helper()
	var stable acp.InitializeResponse
	var extra unstable.InitializeResponse
	require.NoError(t, unstable.Call(t.Context(), conn, acp.MethodInitialize,
		&acp.InitializeRequest{ProtocolVersion: acp.Version, ClientCapabilities: acp.ClientCapabilities{Terminal: true}}, more, &stable, &extra))
	return stable, extra
}

func TestUnstableFieldsAreOptIn(t *testing.T) {
	_, _, conn := connected(t, true)
	stable, extra := hello(t, conn, &unstable.InitializeRequest{})
	require.Nil(t, extra.AgentCapabilities.SessionCapabilities.Fork)
	require.True(t, stable.AgentCapabilities.LoadSession)

	_, _, conn = connected(t, true)
	stable, extra = hello(t, conn, &unstable.InitializeRequest{ClientCapabilities: &unstable.ClientCapabilities{Subagents: &unstable.SubagentCapabilities{}}})
	require.NotNil(t, extra.AgentCapabilities.SessionCapabilities.Fork)
	require.True(t, stable.AgentCapabilities.LoadSession, "what the handler returned is kept")
	require.NotNil(t, stable.AgentCapabilities.SessionCapabilities.Close)
}

func TestUnstableMethodsAndUpdates(t *testing.T) {
	a, c, conn := connected(t, true)
	hello(t, conn, &unstable.InitializeRequest{})
	peer, ctx := unstable.CallAgent(conn), t.Context()
	forked, err := peer.ForkSession(ctx, &unstable.ForkSessionRequest{
		SessionID: "s", Cwd: "/repo", SystemPrompt: &unstable.SystemPrompt{Mode: unstable.SystemPromptModeAppend, Content: []acp.ContentBlock{acp.TextBlock("Be brief.")}},
	})
	require.NoError(t, err)
	require.EqualValues(t, "s-fork", forked.SessionID)
	u, err := unstable.UpdateOf(<-c.updates)
	require.NoError(t, err)
	require.EqualValues(t, "sub", u.SubagentUpdate.SessionID)
	require.Equal(t, "end_turn", *u.SubagentUpdate.State.Idle.StopReason)

	_, err = peer.ArchiveSession(ctx, &unstable.ArchiveSessionRequest{SessionID: "s"})
	require.NoError(t, err)
	_, err = peer.SessionStatus(ctx, &unstable.SessionStatusRequest{SessionID: "s"})
	require.ErrorIs(t, err, acp.ErrMethodNotFound, "what is not implemented is not there")
	_, err = peer.ForkSession(ctx, &unstable.ForkSessionRequest{SessionID: "s", Cwd: "/repo"})
	require.ErrorIs(t, err, acp.ErrInvalidParams, "an error of a handler is the answer")
	providers, err := peer.ListProviders(ctx, &unstable.ListProvidersRequest{})
	require.NoError(t, err)
	require.NotNil(t, providers.Providers, "a required list is not null")

	require.NoError(t, peer.MessageMCP(ctx, &unstable.MessageMCPNotification{ServerID: "m", RequestID: "1", Method: "x"}))
	require.EqualValues(t, "m", (<-a.told).ServerID)
	answer, err := unstable.CallClient(a.client).MessageMCP(ctx, &unstable.MessageMCPRequest{ServerID: "m", RequestID: "1", Method: "tools/list"})
	require.NoError(t, err)
	require.JSONEq(t, `{"tools":[]}`, string(answer.Result))
}

func TestUnstableMethodsAreNotFoundWithoutOptIn(t *testing.T) {
	_, _, conn := connected(t, false)
	hello(t, conn, &unstable.InitializeRequest{})
	_, err := unstable.CallAgent(conn).ForkSession(t.Context(), &unstable.ForkSessionRequest{SessionID: "s", Cwd: "/"})
	require.ErrorIs(t, err, acp.ErrMethodNotFound)
}

func TestServeAgentKeepsOtherHandlers(t *testing.T) {
	opts := acp.ConnOptions{
		ExtMethod: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`"own"`), nil
		},
	}
	unstable.ServeAgent(&opts, unstable.UnsupportedAgent{})
	got, err := opts.ExtMethod(t.Context(), "_mine", nil)
	require.NoError(t, err)
	require.Equal(t, `"own"`, string(got))
	_, err = opts.ExtMethod(t.Context(), unstable.MethodForkSession, json.RawMessage(`{"sessionId":"s","cwd":"/"}`))
	require.ErrorIs(t, err, acp.ErrMethodNotFound)
	_, err = opts.ExtMethod(t.Context(), unstable.MethodForkSession, json.RawMessage(`{"cwd":"/"}`))
	require.ErrorIs(t, err, acp.ErrInvalidParams)
	require.ErrorContains(t, err, "invalid params: ForkSessionRequest.sessionId: required, but missing")
	require.NoError(t, opts.ExtNotification(t.Context(), "_mine", nil))
}

func TestOrderedMethodsAreNotCalledWithFields(t *testing.T) {
	err := unstable.Call(t.Context(), nil, acp.MethodPrompt, &acp.PromptRequest{}, nil, nil, nil)
	require.ErrorContains(t, err, "use the typed method")
}

func TestUnstableTypesAreEncodedAsTheProtocolDemands(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{&unstable.SessionUpdate{PlanUpdate: &unstable.PlanUpdate{Plan: unstable.PlanUpdateContent{Items: &unstable.PlanItems{PlanID: "p"}}}},
			`{"sessionUpdate":"plan_update","plan":{"type":"items","planId":"p","entries":[]}}`},
		{&unstable.SessionUpdate{PlanRemoved: &unstable.PlanRemoved{PlanID: "p"}}, `{"sessionUpdate":"plan_removed","planId":"p"}`},
		{&unstable.SessionUpdate{SessionMessageChunk: &unstable.SessionMessageChunk{MessageID: "m", Content: acp.TextBlock("<hi>")}},
			`{"sessionUpdate":"session_message_chunk","messageId":"m","content":{"type":"text","text":"<hi>"}}`},
		{&unstable.SubagentUpdate{SessionID: "s", State: &unstable.StateUpdate{Running: &unstable.RunningStateUpdate{}}}, `{"sessionId":"s","state":{"state":"running"}}`},
		{&unstable.SessionStatusResponse{Status: "frozen"}, `{"status":"frozen"}`},
		{&unstable.MCPServer{ACP: &unstable.MCPServerACP{Name: "n", ServerID: "i"}}, `{"type":"acp","name":"n","serverId":"i"}`},
		{&unstable.ProviderInfo{ProviderID: "p"}, `{"providerId":"p","supported":[],"required":false}`},
	} {
		data, err := json.Marshal(c.value)
		require.NoError(t, err)
		require.JSONEq(t, c.want, string(data))
	}
	_, err := json.Marshal(unstable.SessionUpdate{})
	require.ErrorContains(t, err, "SessionUpdate: no variant is set")
	_, err = json.Marshal(unstable.PlanUpdateContent{Items: &unstable.PlanItems{}, File: &unstable.PlanFile{}})
	require.ErrorContains(t, err, "PlanUpdateContent: 2 variants are set, want one")
}

func TestEveryUnstableTypeHasItsCodec(t *testing.T) {
	seen := map[reflect.Type]bool{}
	check := func(typ reflect.Type) {
		if seen[typ] {
			return
		}
		seen[typ] = true
		v := reflect.New(typ).Interface()
		if err := acp.Unmarshal([]byte(`{}`), v); err != nil {
			var missing *acp.DecodeError
			require.ErrorAs(t, err, &missing)
			require.Equal(t, typ.Name(), missing.Type)
		}
		text, err := acp.Marshal(v)
		require.NoError(t, err)
		require.True(t, json.Valid(text))
	}
	for _, role := range []reflect.Type{reflect.TypeFor[unstable.Agent](), reflect.TypeFor[unstable.Client]()} {
		for i := range role.NumMethod() {
			m := role.Method(i).Type
			check(m.In(1).Elem())
			if m.NumOut() == 2 {
				check(m.Out(0).Elem())
			}
		}
	}
	for _, v := range []any{unstable.InitializeRequest{}, unstable.InitializeResponse{}, unstable.NewSessionRequest{}, unstable.SubagentUpdate{}} {
		check(reflect.TypeOf(v))
	}
	require.Greater(t, len(seen), 20)
	_, tooLarge := errors.AsType[*acp.DecodeError](acp.Unmarshal([]byte(`{"code":2147483648,"message":""}`), new(unstable.MCPError)))
	require.True(t, tooLarge)
}

func TestUnstableTypesAreDecodedAsTheProtocolDemands(t *testing.T) {
	var u unstable.SessionUpdate
	const later = `{"sessionUpdate":"hologram","x":1}`
	require.NoError(t, acp.Unmarshal([]byte(later), &u))
	require.Equal(t, later, string(u.Unknown))
	require.ErrorContains(t, acp.Unmarshal([]byte(`{}`), &u), "SessionUpdate.sessionUpdate: required, but missing")
	require.ErrorContains(t, acp.Unmarshal([]byte(`{"sessionUpdate":"plan_removed"}`), &u), "PlanRemoved.planId: required, but missing")

	var p unstable.PlanItems
	require.NoError(t, acp.Unmarshal([]byte(`{"planId":"p","entries":[{"content":"a","priority":"high","status":"pending"},7],"_meta":7,"new":1}`), &p))
	require.Len(t, p.Entries, 1, "an entry of another kind is dropped")
	require.Nil(t, p.Meta)
	var m unstable.SessionMessage
	require.NoError(t, acp.Unmarshal([]byte(`{"messageId":"m","senderSessionId":7,"content":null}`), &m))
	require.Empty(t, m.SenderSessionID)
	var s unstable.SessionStatusRequest
	for _, bad := range []string{`null`, `[]`, `{"sessionId":null}`, `{"sessionId":7}`} {
		require.Error(t, acp.Unmarshal([]byte(bad), &s), bad)
	}
	stable := acp.TextChunk("hi")
	none, err := unstable.UpdateOf(&stable)
	require.NoError(t, err)
	require.Nil(t, none)
}
