// SPDX-License-Identifier: Apache-2.0

package acpmcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acp/unstable"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

// peer is an editor that answers as a test says.
type peer struct {
	asked  chan unstable.MessageMCPRequest
	answer func(ctx context.Context, r *unstable.MessageMCPRequest) (string, error)
}

func (p *peer) Call(ctx context.Context, method string, params, result any) error {
	data, err := json.Marshal(params)
	if err != nil {
		return err
	}
	var r unstable.MessageMCPRequest
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	if p.asked != nil {
		p.asked <- r
	}
	text, err := p.answer(ctx, &r)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(text), result)
}

func (p *peer) Notify(context.Context, string, any) error { return errors.New("nothing is told") }

func message(t *testing.T, id any, method, params string) *jsonrpc.Request {
	r := &jsonrpc.Request{Method: method, Params: json.RawMessage(params)}
	if id != nil {
		made, err := jsonrpc.MakeID(id)
		require.NoError(t, err)
		r.ID = made
	}
	return r
}

func connected(t *testing.T, p *peer) (*hosted, *hostedConn) {
	h := &hosted{peer: p, id: "server"}
	c, err := h.Connect(t.Context())
	require.NoError(t, err)
	return h, c.(*hostedConn)
}

// Each answer of an editor becomes one of the server.
func TestAnswersOfEditorsAreTheServers(t *testing.T) {
	for _, c := range []struct {
		text string
		err  error
		want string
	}{
		{`{"result":{"a":1}}`, nil, `{"a":1} <nil>`},
		{`{"error":{"code":-5,"message":"no","data":{"b":2}}}`, nil, ` {-5 no {"b":2}}`},
		{`{}`, nil, ` {-32603 the editor's answer has neither a result nor an error }`},
		{"", acp.Errorf(-7, "broken"), ` {-32603 the editor: broken }`},
		{"", acp.ErrClosed, ` {-32603 the editor's connection: acp: connection closed }`},
	} {
		_, conn := connected(t, &peer{answer: func(context.Context, *unstable.MessageMCPRequest) (string, error) { return c.text, c.err }})
		require.Empty(t, conn.SessionID())
		require.NoError(t, conn.Write(t.Context(), message(t, "x", "tools/call", `{"name":"f"}`)))
		got, err := conn.Read(t.Context())
		require.NoError(t, err)
		answer := got.(*jsonrpc.Response)
		require.Equal(t, "x", answer.ID.Raw())
		told := "<nil>"
		if e, ok := errors.AsType[*jsonrpc.Error](answer.Error); ok {
			told = fmt.Sprintf("{%d %s %s}", e.Code, e.Message, e.Data)
		}
		require.Equal(t, c.want, string(answer.Result)+" "+told)
		require.NoError(t, conn.Close())
	}
}

// An editor is sent requests, and no answers and notifications. Their identifiers are unique, and numbers and strings stay apart.
func TestEditorsAreSentRequestsOnly(t *testing.T) {
	p := &peer{asked: make(chan unstable.MessageMCPRequest, 9), answer: func(context.Context, *unstable.MessageMCPRequest) (string, error) { return `{"result":{}}`, nil }}
	h, conn := connected(t, p)
	for _, m := range []jsonrpc.Message{
		&jsonrpc.Response{}, message(t, nil, "notifications/initialized", ""), message(t, nil, "notifications/cancelled", `{"requestId":"none"}`), message(t, nil, "notifications/cancelled", `7`), message(t, nil, "notifications/cancelled", `{"requestId":{}}`), message(t, nil, "notifications/cancelled", `{}`),
	} {
		require.NoError(t, conn.Write(t.Context(), m))
	}
	require.ErrorContains(t, conn.Write(t.Context(), message(t, 1.0, "tools/list", `7`)), "acpmcp: the parameters of tools/list: ")
	for _, c := range []struct {
		id     any
		params string
		want   string
	}{{1.0, ``, `-1 tools/list map[]`}, {"1", `{}`, `-"1" tools/list map[]`}, {2.0, `{"a":[1]}`, `-2 tools/list map[a:[1]]`}} {
		require.NoError(t, conn.Write(t.Context(), message(t, c.id, "tools/list", c.params)))
		r := <-p.asked
		require.Equal(t, unstable.MCPServerACPID("server"), r.ServerID)
		params := map[string]string{}
		for k, v := range r.Params {
			params[k] = string(v)
		}
		require.Equal(t, conn.prefix+c.want, fmt.Sprintf("%s %s %v", r.RequestID, r.Method, params))
		_, err := conn.Read(t.Context())
		require.NoError(t, err)
	}
	require.Empty(t, p.asked)
	require.Len(t, conn.prefix, 8)
	_, other := connected(t, p)
	require.NotEqual(t, conn.prefix, other.prefix)
	require.Len(t, h.open, 1)
	require.NoError(t, conn.Close())
	require.NoError(t, conn.Close(), "further calls do nothing")
	require.Empty(t, h.open)
	require.Empty(t, conn.calls)
	err := conn.Write(t.Context(), message(t, 3.0, "tools/list", ``))
	require.ErrorIs(t, err, mcp.ErrConnectionClosed)
	require.ErrorContains(t, err, "acpmcp: ")
	require.NoError(t, conn.Write(t.Context(), message(t, nil, "notifications/initialized", "")))
	_, err = conn.Read(t.Context())
	require.Equal(t, io.EOF, err)
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	_, err = other.Read(ctx)
	require.Equal(t, stopped, err)
	require.NoError(t, other.Close())
}

// A request ends when it is cancelled, and all of them with the connection.
func TestRequestsToHostedServersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan string, 9)
		p := &peer{answer: func(ctx context.Context, r *unstable.MessageMCPRequest) (string, error) {
			<-ctx.Done()
			ended <- r.Method
			return "", acp.Errorf(acp.CodeRequestCancelled, "cancelled")
		}}
		h, conn := connected(t, p)
		require.NoError(t, conn.Write(t.Context(), message(t, 1.0, "one", ``)))
		require.NoError(t, conn.Write(t.Context(), message(t, "1", "two", ``)))
		require.NoError(t, conn.Write(t.Context(), message(t, 3.0, "three", ``)))
		synctest.Wait()
		require.Empty(t, ended)
		require.NoError(t, conn.Write(t.Context(), message(t, nil, "notifications/cancelled", `{"requestId":"1"}`)))
		require.Equal(t, "two", <-ended)
		got, err := conn.Read(t.Context())
		require.NoError(t, err)
		require.Equal(t, "1", got.(*jsonrpc.Response).ID.Raw())
		synctest.Wait()
		require.Empty(t, ended)

		// What the server says about a request goes to the connection of the request.
		_, other := connected(t, p)
		h.open[other] = struct{}{}
		one := unstable.MCPRequestID(conn.prefix + "-1")
		go h.notify(t.Context(), &unstable.MessageMCPNotification{RequestID: one, Method: "notifications/progress", Params: map[string]json.RawMessage{"a": json.RawMessage("1")}})
		got, err = conn.Read(t.Context())
		require.NoError(t, err)
		require.Equal(t, "notifications/progress", got.(*jsonrpc.Request).Method)
		require.JSONEq(t, `{"a":1}`, string(got.(*jsonrpc.Request).Params))
		go h.notify(t.Context(), &unstable.MessageMCPNotification{RequestID: one, Method: "plain"})
		got, err = conn.Read(t.Context())
		require.NoError(t, err)
		require.Nil(t, got.(*jsonrpc.Request).Params)
		for _, id := range []unstable.MCPRequestID{"other", unstable.MCPRequestID(conn.prefix + `-"1"`), ""} {
			h.notify(t.Context(), &unstable.MessageMCPNotification{RequestID: id, Method: "dropped"})
		}
		h.notify(t.Context(), &unstable.MessageMCPNotification{RequestID: one, Method: "dropped", Params: map[string]json.RawMessage{"a": json.RawMessage("{")}})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		h.notify(ctx, &unstable.MessageMCPNotification{RequestID: one, Method: "late"})
		synctest.Wait()
		require.NoError(t, conn.Close())
		require.ElementsMatch(t, []string{"one", "three"}, []string{<-ended, <-ended})
		require.Empty(t, conn.calls)
		require.NoError(t, other.Close())
	})
}

// Servers of a session are named and reached as the client says.
func TestTransportsAreThoseOfTheClient(t *testing.T) {
	in := &session{}
	p := &peer{}
	for _, c := range []struct {
		json, want string
		peer       unstable.Peer
	}{
		{`{"name":"a","command":"/bin/a","args":["x","y"],"env":[{"name":"A","value":"1"},{"name":"B","value":"2=3"}]}`, `a mcptoolset.Command{Path:"/bin/a", Args:[]string{"x", "y"}, Env:[]string{"A=1", "B=2=3"}`, nil},
		{`{"type":"http","name":"b","url":"https://b","headers":[{"name":"H","value":"1"},{"name":"I","value":"2"}]}`, `b https://b map[H:1 I:2]`, nil},
		{`{"type":"sse","name":"c","url":"https://c","headers":[]}`, `c sse https://c map[]`, nil},
		{`{"type":"acp","name":"d","serverId":"one"}`, `unknown <nil>`, nil},
		{`{"type":"acp","name":"d","serverId":"one"}`, `d hosted`, p},
		{`{"type":"odd","name":"e"}`, `unknown <nil>`, p},
	} {
		var m acp.MCPServer
		require.NoError(t, json.Unmarshal([]byte(c.json), &m))
		name, transport := in.transport(c.peer, &m, "/dir")
		got := ""
		switch s := transport.(type) {
		case mcptoolset.HTTP:
			got = fmt.Sprint(s.URL, " ", s.Headers)
		case mcptoolset.SSE:
			got = fmt.Sprint("sse ", s.URL, " ", s.Headers)
		case mcptoolset.Command:
			require.Equal(t, "/dir", s.Dir)
			got = fmt.Sprintf("mcptoolset.Command{Path:%q, Args:%#v, Env:%#v", s.Path, s.Args, s.Env)
		case nil:
			got = "<nil>"
		default:
			got = "hosted"
		}
		require.Equal(t, c.want, name+" "+got)
	}
	require.Len(t, in.hosted, 1)
	require.Equal(t, unstable.MCPServerACPID("one"), in.hosted[0].id)
	require.Equal(t, unstable.Peer(p), in.hosted[0].peer)
}

// Messages of a client are for its own server of that name, in each session, until the session ends.
func TestMessagesAreForTheServersOfTheirClient(t *testing.T) {
	s := New(Config{})
	require.Equal(t, "acpmcp.Servers", fmt.Sprintf("%+v", s))
	require.Equal(t, acp.MCPCapabilities{HTTP: true, SSE: true}, s.Capabilities())
	one, two := &peer{}, &peer{}
	conns := map[string]*hostedConn{}
	for _, c := range []struct {
		session acp.SessionID
		peer    *peer
		id      unstable.MCPServerACPID
	}{{"a", one, "x"}, {"b", one, "y"}, {"c", two, "x"}} {
		h := &hosted{peer: c.peer, id: c.id}
		made, err := h.Connect(t.Context())
		require.NoError(t, err)
		conn := made.(*hostedConn)
		conn.calls["r"] = func() {}
		conns[string(c.session)] = conn
		s.sessions[c.session] = &session{hosted: []*hosted{h}}
	}
	said := func(p *peer, id unstable.MCPServerACPID) string {
		var heard []string
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		got := make(chan string, 9)
		for name, conn := range conns {
			go func() {
				if _, err := conn.Read(ctx); err == nil {
					got <- name
				} else {
					got <- ""
				}
			}()
		}
		go func() {
			defer close(done)
			s.Message(t.Context(), p, &unstable.MessageMCPNotification{ServerID: id, RequestID: "r", Method: "m"})
		}()
		<-done
		cancel()
		for range conns {
			if name := <-got; name != "" {
				heard = append(heard, name)
			}
		}
		return strings.Join(heard, " ")
	}
	require.Equal(t, "a", said(one, "x"))
	require.Equal(t, "b", said(one, "y"))
	require.Equal(t, "c", said(two, "x"))
	require.Empty(t, said(two, "y"))
	s.Close("a")
	require.Nil(t, s.session("a"))
	require.NotNil(t, s.session("b"))
	require.Empty(t, said(one, "x"))
	s.Close("a")
	s.Open(&deps.Session{ID: "new"}, nil)
	require.NotNil(t, s.session("new"))
}
