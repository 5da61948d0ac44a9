// SPDX-License-Identifier: Apache-2.0

package acpmcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acp/unstable"
)

// hosted is a server that the client hosts itself: each request is an mcp/message over the editor's
// connection, and its answer is the answer. The server's notifications about a request arrive as
// mcp/message from the client. The client is sent nothing else, so the server must speak version
// 2026-07-28 of MCP, or do without notifications.
type hosted struct {
	peer unstable.Peer
	id   unstable.MCPServerACPID

	mu   sync.Mutex
	open map[*hostedConn]struct{}
}

// Connect implements [mcp.Transport].
func (h *hosted) Connect(context.Context) (mcp.Connection, error) {
	c := &hostedConn{
		server: h, prefix: rand.Text()[:8], calls: map[string]context.CancelFunc{}, incoming: make(chan jsonrpc.Message), ended: make(chan struct{}),
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open == nil {
		h.open = map[*hostedConn]struct{}{}
	}
	h.open[c] = struct{}{}
	return c, nil
}

// notify passes a notification of the client on to the connection whose request it belongs to. The
// others are dropped.
func (h *hosted) notify(ctx context.Context, n *unstable.MessageMCPNotification) {
	h.mu.Lock()
	var to *hostedConn
	for c := range h.open {
		if c.active(string(n.RequestID)) {
			to = c
		}
	}
	h.mu.Unlock()
	if to == nil {
		return
	}
	params, err := paramsOf(n.Params)
	if err != nil {
		return
	}
	to.deliver(ctx, &jsonrpc.Request{Method: n.Method, Params: params})
}

func paramsOf(params map[string]json.RawMessage) (json.RawMessage, error) {
	if params == nil {
		return nil, nil
	}
	return json.Marshal(params)
}

// hostedConn is one connection to a server. Its identifiers of requests begin with a unique prefix,
// since several sessions may use one server.
type hostedConn struct {
	server *hosted
	prefix string

	incoming chan jsonrpc.Message
	ended    chan struct{}
	work     sync.WaitGroup

	mu     sync.Mutex
	closed bool
	calls  map[string]context.CancelFunc // of requests without an answer, by the identifier on the wire
}

// SessionID implements [mcp.Connection].
func (*hostedConn) SessionID() string { return "" }

func (c *hostedConn) active(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[id] != nil
}

// wireID is the identifier of a request on the wire. Numbers and strings stay apart.
func (c *hostedConn) wireID(id jsonrpc.ID) string { return fmt.Sprintf("%s-%#v", c.prefix, id.Raw()) }

// Write implements [mcp.Connection]. It does not wait for the answer to a request.
func (c *hostedConn) Write(_ context.Context, msg jsonrpc.Message) error {
	req, ok := msg.(*jsonrpc.Request)
	switch {
	case !ok: // an answer: the server has no way to ask
		return nil
	case req.Method == "notifications/cancelled":
		c.cancel(req.Params)
		return nil
	case !req.IsCall(): // there is no way to send it
		return nil
	}
	var params map[string]json.RawMessage
	if len(req.Params) > 0 {
		if err := json.Unmarshal(req.Params, &params); err != nil {
			return fmt.Errorf("acpmcp: the parameters of %s: %w", req.Method, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	id := c.wireID(req.ID)
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		cancel()
		return fmt.Errorf("acpmcp: %w", mcp.ErrConnectionClosed)
	}
	c.calls[id] = cancel
	c.work.Add(1)
	c.mu.Unlock()
	go func() {
		defer c.work.Done()
		defer cancel()
		answer := c.call(ctx, &unstable.MessageMCPRequest{ServerID: c.server.id, RequestID: unstable.MCPRequestID(id), Method: req.Method, Params: params})
		answer.ID = req.ID
		c.mu.Lock()
		delete(c.calls, id)
		c.mu.Unlock()
		c.deliver(context.Background(), answer)
	}()
	return nil
}

// call asks the client. Errors of the connection become errors of the request.
func (c *hostedConn) call(ctx context.Context, req *unstable.MessageMCPRequest) *jsonrpc.Response {
	resp, err := unstable.CallClient(c.server.peer).MessageMCP(ctx, req)
	switch {
	case err != nil:
		answer, ok := errors.AsType[*acp.Error](err)
		if !ok {
			return &jsonrpc.Response{Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the editor's connection: " + err.Error()}}
		}
		return &jsonrpc.Response{Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the editor: " + answer.Message}}
	case resp.Result != nil:
		return &jsonrpc.Response{Result: resp.Result}
	case resp.Error != nil:
		return &jsonrpc.Response{Error: &jsonrpc.Error{Code: int64(resp.Error.Code), Message: resp.Error.Message, Data: resp.Error.Data}}
	}
	return &jsonrpc.Response{Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the editor's answer has neither a result nor an error"}}
}

// cancel ends the call that a notification names.
func (c *hostedConn) cancel(params json.RawMessage) {
	var p struct {
		RequestID any `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	id, err := jsonrpc.MakeID(p.RequestID)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.calls[c.wireID(id)]; cancel != nil {
		cancel()
	}
}

// deliver hands a message to the reader.
func (c *hostedConn) deliver(ctx context.Context, msg jsonrpc.Message) {
	select {
	case c.incoming <- msg:
	case <-c.ended:
	case <-ctx.Done():
	}
}

// Read implements [mcp.Connection].
func (c *hostedConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg := <-c.incoming:
		return msg, nil
	case <-c.ended:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Close implements [mcp.Connection].
func (c *hostedConn) Close() error {
	c.server.mu.Lock()
	delete(c.server.open, c)
	c.server.mu.Unlock()
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		close(c.ended)
		for _, cancel := range c.calls {
			cancel()
		}
	}
	c.mu.Unlock()
	c.work.Wait()
	return nil
}
