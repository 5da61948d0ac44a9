// SPDX-License-Identifier: Apache-2.0

package unstable

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// Peer is the other side of a connection: *acp.ClientConn for a client, *acp.AgentConn for an
// agent.
type Peer interface {
	// Call sends a request and decodes its answer.
	Call(ctx context.Context, method string, params, result any) error
	// Notify sends a notification.
	Notify(ctx context.Context, method string, params any) error
}

var (
	_ Peer = (*acp.ClientConn)(nil)
	_ Peer = (*acp.AgentConn)(nil)
)

// CallAgent returns the agent at the other side of a client's connection.
func CallAgent(conn Peer) Agent { return agentCalls{conn} }

// CallClient returns the client at the other side of an agent's connection.
func CallClient(conn Peer) Client { return clientCalls{conn} }

// ServeAgent makes an agent's connection with these options handle the methods of [Agent]. Handlers
// that the options already have come after them.
func ServeAgent(opts *acp.ConnOptions, agent Agent) {
	install(opts, agentRequests(agent), agentNotifications(agent))
}

// ServeClient is [ServeAgent] for the methods of [Client].
func ServeClient(opts *acp.ConnOptions, client Client) {
	install(opts, clientRequests(client), clientNotifications(client))
}

// handler handles a message.
type handler func(ctx context.Context, params json.RawMessage) (json.RawMessage, error)

func install(opts *acp.ConnOptions, requests, notifications map[string]handler) {
	request, notification := opts.ExtMethod, opts.ExtNotification
	opts.ExtMethod = func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		if h := requests[method]; h != nil {
			return h(ctx, params)
		}
		if request != nil {
			return request(ctx, method, params)
		}
		return nil, methodNotFound(method)
	}
	opts.ExtNotification = func(ctx context.Context, method string, params json.RawMessage) error {
		if h := notifications[method]; h != nil {
			_, err := h(ctx, params)
			return err
		}
		if notification != nil {
			return notification(ctx, method, params)
		}
		return nil
	}
}

func methodNotFound(method string) error {
	return acp.Errorf(acp.CodeMethodNotFound, "method not found: %s", method)
}

func requestHandler[P, R any](h func(context.Context, *P) (*R, error)) handler {
	return func(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
		p, err := decode[P](params)
		if err != nil {
			return nil, err
		}
		result, err := h(ctx, p)
		if err != nil {
			return nil, err
		}
		if result == nil {
			result = new(R)
		}
		return acp.Marshal(result)
	}
}

func notificationHandler[P any](h func(context.Context, *P) error) handler {
	return func(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
		p, err := decode[P](params)
		if err != nil {
			return nil, err
		}
		return nil, h(ctx, p)
	}
}

func decode[P any](params json.RawMessage) (*P, error) {
	if len(params) == 0 {
		params = json.RawMessage("{}")
	}
	p := new(P)
	if err := acp.Unmarshal(params, p); err != nil {
		return nil, acp.Errorf(acp.CodeInvalidParams, "invalid params: %s", strings.TrimPrefix(err.Error(), "acp: "))
	}
	return p, nil
}

func call[R any](ctx context.Context, peer Peer, method string, params any) (*R, error) {
	result := new(R)
	if err := peer.Call(ctx, method, params, result); err != nil {
		return nil, err
	}
	return result, nil
}

// Params returns the unstable fields of the request or notification whose handler has the ctx, such
// as [NewSessionRequest]. Without a connection they are zero.
func Params[T any](ctx context.Context) (*T, error) {
	return decode[T](acp.Params(ctx))
}

// ExtendAnswer adds unstable fields, such as an [InitializeResponse], to the answer to the request
// whose handler has the ctx. See [acp.ExtendAnswer].
func ExtendAnswer(ctx context.Context, fields any) error {
	_, err := acp.ExtendAnswer(ctx, fields)
	return err
}

// Call calls a stable method with unstable fields: params is of package acp, such as an
// *acp.InitializeRequest, and extra is of this package, such as an [InitializeRequest]. The answer
// is decoded into both results; nil ones are dropped. session/prompt and session/load must not be
// called in this way, because their answer would overtake the updates before it.
func Call(ctx context.Context, peer Peer, method string, params, extra, result, more any) error {
	if method == acp.MethodPrompt || method == acp.MethodLoadSession {
		return fmt.Errorf("unstable: Call: %s has updates that belong to its answer; use the typed method", method)
	}
	base, err := acp.Marshal(params)
	if err != nil {
		return fmt.Errorf("unstable: Call: %w", err)
	}
	fields, err := acp.Marshal(extra)
	if err != nil {
		return fmt.Errorf("unstable: Call: %w", err)
	}
	merged, err := acp.Merge(base, fields)
	if err != nil {
		return fmt.Errorf("unstable: Call: %w", err)
	}
	var answer json.RawMessage
	if err := peer.Call(ctx, method, merged, &answer); err != nil {
		return err
	}
	for _, r := range []any{result, more} {
		if r == nil {
			continue
		}
		if err := acp.Unmarshal(answer, r); err != nil {
			return fmt.Errorf("unstable: the answer to %s: %w", method, err)
		}
	}
	return nil
}

// Stable returns the update as package acp sends it.
func (v *SessionUpdate) Stable() (acp.SessionUpdate, error) {
	raw, err := acp.Marshal(v)
	return acp.SessionUpdate{Unknown: raw}, err
}

// UpdateOf returns an update that package acp does not know. It is nil for those that it does, and
// has Unknown for those that this package does not know either.
func UpdateOf(u *acp.SessionUpdate) (*SessionUpdate, error) {
	if u.Unknown == nil {
		return nil, nil
	}
	v := new(SessionUpdate)
	return v, acp.Unmarshal(u.Unknown, v)
}

// Stable returns the server as package acp sends it.
func (v *MCPServer) Stable() (acp.MCPServer, error) {
	raw, err := acp.Marshal(v)
	return acp.MCPServer{Unknown: raw}, err
}

// ServerOf returns a server that package acp does not know. It is nil for those that it does.
func ServerOf(s *acp.MCPServer) (*MCPServer, error) {
	if s.Unknown == nil {
		return nil, nil
	}
	v := new(MCPServer)
	return v, acp.Unmarshal(s.Unknown, v)
}
