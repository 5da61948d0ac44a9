// SPDX-License-Identifier: Apache-2.0

package acp_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

func TestObjectsAreMerged(t *testing.T) {
	for _, c := range []struct{ base, more, want string }{
		{`{"a":1}`, `{"b":2}`, `{"a":1,"b":2}`},
		{`{"a":{"x":1,"y":2}}`, `{"a":{"y":3}}`, `{"a":{"x":1,"y":3}}`},
		{`{"a":[{"x":1},{"x":2}]}`, `{"a":[{"y":1},{}]}`, `{"a":[{"x":1,"y":1},{"x":2}]}`},
		{`{"a":[1]}`, `{"a":[1,2]}`, `{"a":[1,2]}`},
		{`{"a":{"x":1}}`, `{"a":null}`, `{"a":null}`},
		{`{"a":[]}`, `{"a":null}`, `{"a":null}`},
		{`{"a":null}`, `{"a":[]}`, `{"a":[]}`},
		{`{"a":[1]}`, `{"a":{"x":1}}`, `{"a":{"x":1}}`},
		{`{"a":{"x":1}}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"a":9007199254740993}`, `{}`, `{"a":9007199254740993}`},
		{`null`, `{"a":1}`, `{"a":1}`},
	} {
		got, err := acp.Merge(json.RawMessage(c.base), json.RawMessage(c.more))
		require.NoError(t, err)
		require.Equal(t, c.want, string(got))
	}
	for _, bad := range []string{`[]`, `7`, `{`} {
		_, err := acp.Merge(json.RawMessage(bad), json.RawMessage(`{}`))
		require.Error(t, err)
		_, err = acp.Merge(json.RawMessage(`{}`), json.RawMessage(bad))
		require.Error(t, err)
	}
}

type metaKey struct{}

// pipes connects an agent and a client with these options.
func pipes(t *testing.T, agent *fakeAgent, agentOpts, clientOpts *acp.ConnOptions) *acp.ClientConn {
	t.Helper()
	toAgent, fromClient := acp.Pipe()
	toClient, fromAgent := acp.Pipe()
	a := acp.NewAgentConn(toAgent, fromAgent, func(conn *acp.AgentConn) acp.Agent { agent.conn = conn; return agent }, agentOpts)
	c := acp.NewClientConn(toClient, fromClient, func(*acp.ClientConn) acp.Client { return acp.UnimplementedClient{} }, clientOpts)
	ended := make(chan error, 2)
	go func() { ended <- a.Serve(context.Background()) }()
	go func() { ended <- c.Serve(context.Background()) }()
	t.Cleanup(func() {
		_ = c.Close()
		<-ended
		<-ended
	})
	_, err := c.Initialize(t.Context(), &acp.InitializeRequest{ProtocolVersion: acp.Version})
	require.NoError(t, err)
	return c
}

func TestMetaIsAddedToRequestsAndReachesHandlers(t *testing.T) {
	var seen map[string]json.RawMessage
	var kept map[string]json.RawMessage
	agent := &fakeAgent{prompt: func(ctx context.Context, p *acp.PromptRequest) (*acp.PromptResponse, error) {
		seen, _ = ctx.Value(metaKey{}).(map[string]json.RawMessage)
		kept = p.Meta
		return &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
	}}
	c := pipes(t, agent, &acp.ConnOptions{IncomingMeta: func(ctx context.Context, meta map[string]json.RawMessage) context.Context {
		return context.WithValue(ctx, metaKey{}, meta)
	}}, &acp.ConnOptions{OutgoingMeta: func(ctx context.Context) map[string]json.RawMessage {
		if ctx.Value(metaKey{}) == nil {
			return nil
		}
		return map[string]json.RawMessage{"a": json.RawMessage(`"added"`), "b": json.RawMessage(`"added"`)}
	}})
	prompt := func(ctx context.Context, meta map[string]json.RawMessage) {
		_, err := c.Prompt(ctx, &acp.PromptRequest{SessionID: "s", Prompt: []acp.ContentBlock{acp.TextBlock("hi")}, Meta: meta})
		require.NoError(t, err)
	}
	own := map[string]json.RawMessage{"b": json.RawMessage(`"own"`)}
	prompt(context.WithValue(t.Context(), metaKey{}, true), own)
	want := map[string]json.RawMessage{"a": json.RawMessage(`"added"`), "b": json.RawMessage(`"own"`)}
	require.Equal(t, want, seen)
	require.Equal(t, want, kept)
	require.Len(t, own, 1, "the caller's stays as it is")
	prompt(t.Context(), nil)
	require.Nil(t, seen)
	require.Nil(t, kept)
	require.NoError(t, c.Call(context.WithValue(t.Context(), metaKey{}, true), acp.MethodNewSession, json.RawMessage(`{"cwd":"/","mcpServers":[]}`), nil))
	require.ErrorIs(t, c.Call(context.WithValue(t.Context(), metaKey{}, true), "_x", json.RawMessage(`[1]`), nil), acp.ErrMethodNotFound, "a list has no _meta")
}

func TestAnswersAreExtendedAndErrorsAreNot(t *testing.T) {
	failing := false
	agent := &fakeAgent{newSession: func(ctx context.Context) (*acp.NewSessionResponse, error) {
		for _, more := range []any{map[string]int{"a": 1}, map[string]any{"b": []int{2}}} {
			ok, err := acp.ExtendAnswer(ctx, more)
			require.True(t, ok)
			require.NoError(t, err)
		}
		_, err := acp.ExtendAnswer(ctx, 7)
		require.Error(t, err)
		require.JSONEq(t, `{"cwd":"/","mcpServers":[],"own":1}`, string(acp.Params(ctx)))
		if failing {
			return nil, acp.ErrInternal
		}
		return &acp.NewSessionResponse{SessionID: "s"}, nil
	}}
	c := pipes(t, agent, nil, nil)
	var answer json.RawMessage
	require.NoError(t, c.Call(t.Context(), acp.MethodNewSession, json.RawMessage(`{"cwd":"/","mcpServers":[],"own":1}`), &answer))
	require.JSONEq(t, `{"sessionId":"s","a":1,"b":[2]}`, string(answer))
	failing = true
	require.ErrorIs(t, c.Call(t.Context(), acp.MethodNewSession, json.RawMessage(`{"cwd":"/","mcpServers":[],"own":1}`), &answer), acp.ErrInternal)
	ok, err := acp.ExtendAnswer(t.Context(), map[string]int{})
	require.False(t, ok)
	require.NoError(t, err)
	require.Nil(t, acp.Params(t.Context()))
}
