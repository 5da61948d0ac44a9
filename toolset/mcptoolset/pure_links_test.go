// SPDX-License-Identifier: Apache-2.0

//lint:file-ignore SA1019 Servers still use what the newest version of the protocol deprecates.

package mcptoolset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

// The end of a connection is explained by who has ended it: this program, the process, or what the
// server wrote.
func TestEndsOfConnectionsAreExplained(t *testing.T) {
	because := errors.New("no connection within 30s")
	died, said := errors.New("the server exited with code 3: oops"), "its standard output had lines"
	answer := &jsonrpc.Error{Code: 1, Message: "no"}
	for i, c := range []struct {
		err, cause, why error
		note            string
		want            string
		is              error
	}{
		{errors.New("EOF"), nil, nil, "", "EOF", nil},
		{errors.New("EOF"), nil, died, "", "the server exited with code 3: oops", died},
		{errors.New("EOF"), nil, died, said, "the server exited with code 3: oops; " + said, died},
		{errors.New("EOF"), nil, nil, said, "EOF; " + said, nil},
		{errors.New("EOF"), because, died, "", "no connection within 30s", because},
		{errors.New("EOF"), because, died, said, "no connection within 30s; " + said, because},
		{errors.New("EOF"), context.Canceled, died, "", "the server exited with code 3: oops", died},
		{errors.New("EOF"), ErrClosed, died, said, "the server is closed", ErrClosed},
		{fmt.Errorf("x: %w", answer), nil, died, said, "x: " + answer.Error() + "; " + said, answer},
		{errNoMessages, nil, died, said, errNoMessages.Error() + "; " + said, errNoMessages},
		{errors.New("unsupported protocol version 1"), nil, died, "", "unsupported protocol version 1: this program knows " + strings.Join(mcp.SupportedProtocolVersions(), ", "), nil},
	} {
		l := &link{opened: &opened{why: func() error { return c.why }, note: func(context.Context) string { return c.note }}}
		var cancel context.CancelCauseFunc
		l.ctx, cancel = context.WithCancelCause(t.Context())
		if c.cause != nil {
			cancel(c.cause)
		}
		err := l.explain(c.err)
		require.EqualError(t, err, c.want, i)
		if c.is != nil {
			require.ErrorIs(t, err, c.is, i)
		}
		l.err, l.gone = c.err, make(chan struct{})
		close(l.gone)
		require.EqualError(t, l.wait(), c.want, i)
		require.True(t, l.over())
		l.opened = nil
		if c.why == nil && c.note == "" {
			require.EqualError(t, l.explain(c.err), c.want, "nothing else is known")
		}
		cancel(nil)
	}
	l := &link{ctx: t.Context(), opened: &opened{}, gone: make(chan struct{})}
	require.EqualError(t, l.cause(), "the server closed the connection")
	require.False(t, l.over())
	for err, lost := range map[error]bool{
		errors.New("x"): false, mcp.ErrConnectionClosed: true, mcp.ErrSessionMissing: true, io.EOF: true, io.ErrClosedPipe: true, io.ErrUnexpectedEOF: false, fmt.Errorf("x: %w", io.EOF): true,
	} {
		require.Equal(t, lost, l.lost(err), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.True(t, (&link{ctx: ctx, gone: make(chan struct{})}).lost(errors.New("x")))
	close(l.gone)
	require.True(t, l.lost(errors.New("x")))
	s := &Server{config: &Config{Name: "s", Transport: Func(nil)}}
	live := &link{ctx: t.Context(), opened: &opened{why: func() error { return died }}, gone: make(chan struct{})}
	require.EqualError(t, s.failure(t.Context(), live, io.EOF), `failed: The connection to the MCP server "s" was lost during this call. It is not known whether the call had any effect. The call was not repeated. Reason: the server exited with code 3: oops`)
	require.EqualError(t, s.failure(t.Context(), live, errors.New("bad\nanswer")), `failed: The call of the MCP server "s" failed. It is not known whether the call had any effect. The call was not repeated. Reason: bad\nanswer`)
}

// What a client says it can do depends on the configuration, and notifications are heard once.
func TestAbilitiesOfClients(t *testing.T) {
	for _, c := range []struct {
		sampling Sampling
		ordered  bool
	}{{SamplingAsk, false}, {SamplingAllow, true}, {SamplingNever, false}} {
		l := &link{server: &Server{config: &Config{Sampling: c.sampling}}, opened: &opened{ordered: c.ordered}}
		o := l.options()
		require.NotNil(t, o.Logger)
		require.NotNil(t, o.ElicitationHandler)
		require.Equal(t, &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}}}, o.Capabilities)
		require.Equal(t, c.sampling != SamplingNever, o.CreateMessageHandler != nil)
		require.Equal(t, !c.ordered, o.ProgressNotificationHandler != nil)
		require.Equal(t, !c.ordered, o.LoggingMessageHandler != nil)
		require.False(t, l.stale.Load())
		o.ToolListChangedHandler(t.Context(), nil)
		require.True(t, l.stale.Load())
	}
}

// Commands get ordinary variables, those that they inherit, and their own, which are secrets.
func TestVariablesOfServers(t *testing.T) {
	t.Setenv("PONTE_TEST_ONE", "first-secret")
	t.Setenv("PONTE_TEST_TWO", "second-secret")
	c := Command{Path: "x", Env: []string{"A=1", "PONTE_TEST_ONE=own=secret", "B="}, Inherit: []string{"ponte_test_*"}}
	env := c.environment()
	require.Equal(t, c.Env, env[len(env)-3:])
	for _, v := range []string{"PONTE_TEST_ONE=first-secret", "PONTE_TEST_TWO=second-secret"} {
		require.Contains(t, env, v)
		require.NotContains(t, Command{}.environment(), v)
	}
	secrets := c.secrets()
	require.Equal(t, []string{"1", "own=secret", ""}, secrets[:3])
	slices.Sort(secrets[3:])
	require.Equal(t, []string{"first-secret", "second-secret"}, secrets[3:])
	require.Empty(t, Command{}.secrets())
	require.Nil(t, Func(nil).secrets())
	require.EqualError(t, Func(nil).check(), "the transport function is nil")
	require.Equal(t, "function", Func(nil).LogValue().String())
	failing := errors.New("failing")
	_, err := Func(func(context.Context) (mcp.Transport, error) { return nil, failing }).open(t.Context(), &defaults)
	require.Equal(t, failing, err)
	plain := &mcp.InMemoryTransport{}
	o, err := Func(func(context.Context) (mcp.Transport, error) { return plain, nil }).open(t.Context(), &defaults)
	require.NoError(t, err)
	require.Equal(t, &opened{Transport: plain, ordered: true}, o)
}

// answers is a tripper with one answer.
type answers struct {
	kind, body string
	err        error
}

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	if a.err != nil {
		return nil, a.err
	}
	return &http.Response{Header: http.Header{"Content-Type": {a.kind}}, Body: io.NopCloser(strings.NewReader(a.body)), ContentLength: int64(len(a.body))}, nil
}

// Answers are rewritten where the SDK would round numbers, for the transport of a user, too. They
// are bounded: answers as a whole, events one by one.
func TestAnswersAreRewritten(t *testing.T) {
	const exact = `{"result":{"structuredContent":{"a":1.50}}}`
	const hidden = `{"result":{"structuredContent":{"ponte-go.dev/verbatim":"{\"a\":1.50}"}}}`
	failing := errors.New("failing")
	for _, c := range []struct {
		answer answers
		limit  int
		want   string
		err    error
		length int64
	}{
		{answers{"application/json", exact, nil}, 1000, hidden, nil, -1},
		{answers{"Application/JSON; charset=utf-8", exact, nil}, 1000, hidden, nil, -1},
		{answers{"text/plain", exact, nil}, 1000, exact, nil, int64(len(exact))},
		{answers{"text/plain", exact, nil}, 5, exact[:5], errTooLarge, int64(len(exact))},
		{answers{"application/json", exact, nil}, 5, "", errTooLarge, -1},
		{answers{"text/event-stream", "id: 1\ndata: " + exact + "\n\n", nil}, 1000, "id: 1\ndata: " + hidden + "\n\n", nil, int64(len(exact) + 14)},
		{answers{"text/event-stream", "data:" + exact + "\n\n", nil}, 1000, "data: " + hidden + "\n\n", nil, int64(len(exact) + 7)},
		{answers{"text/event-stream", "data: " + exact + "\n\n", nil}, 10, "data: " + exact + "\n\n", nil, int64(len(exact) + 8)},
		{answers{"text/event-stream", "data: {}\n\n", nil}, 1000, "data: {}\n\n", nil, 10},
		{answers{err: failing}, 1000, "", failing, 0},
	} {
		own := &mcp.StreamableClientTransport{Endpoint: "https://a.test", HTTPClient: &http.Client{Transport: c.answer, Timeout: 5}}
		t2 := rewritingClient(own, c.limit)
		require.Equal(t, c.answer, own.HTTPClient.Transport, "the user's client stays as it is")
		require.EqualValues(t, 5, t2.HTTPClient.Timeout)
		require.Equal(t, "https://a.test", t2.Endpoint)
		res, err := t2.HTTPClient.Transport.RoundTrip(&http.Request{})
		if c.answer.err != nil {
			require.Equal(t, failing, err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.length, res.ContentLength, c.answer)
		data, err := io.ReadAll(res.Body)
		require.Equal(t, c.err, err, c.answer)
		require.Equal(t, c.want, string(data))
		require.NoError(t, res.Body.Close())
	}
	bare := rewritingClient(&mcp.StreamableClientTransport{}, 1)
	require.Equal(t, rewriter{http.DefaultTransport, 1}, bare.HTTPClient.Transport)
	for in, want := range map[string]string{
		exact: hidden, `{"params":null,"method":"x"}`: `{"method":"x","params":{}}`, `{"params":null,"method":1}`: `{"params":null,"method":1}`, `{"params":null}`: `{"params":null}`, `{"a":null}`: `{"a":null}`, `null`: `null`,
		`{"result":{"inputRequests":{"a":null}}}`: `{"result":{"inputRequests":{}}}`, `{"result":null,"params":null,"method":"x"}`: `{"method":"x","params":null,"result":null}`, `{`: `{`,
	} {
		require.Equal(t, want, string(verbatimMessage([]byte(in))), in)
	}
}

// Requests over HTTP go to the server's origin, with its headers, and end with the connection.
func TestRequestsStayAtHome(t *testing.T) {
	var got *http.Request
	next := tripper(func(r *http.Request) (*http.Response, error) {
		got = r
		return answers{"application/json", `{"structuredContent":1.50}`, nil}.RoundTrip(r)
	})
	ctx, cancel := context.WithCancel(t.Context())
	trip := &homeTripper{ctx: ctx, next: next, home: parsed(t, "https://a.test/mcp"), headers: map[string]string{"Key": "k"}, limit: 10}
	request := func(address string) *http.Request {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, &closing{Reader: strings.NewReader("x")})
		require.NoError(t, err)
		r.Header.Set("Key", "old")
		return r
	}
	first := request("https://a.test/x")
	res, err := trip.RoundTrip(first)
	require.NoError(t, err)
	require.Equal(t, "k", got.Header.Get("Key"))
	require.Equal(t, "old", first.Header.Get("Key"), "a request is not changed")
	data, err := io.ReadAll(res.Body)
	require.Equal(t, errTooLarge, err)
	require.Equal(t, `{"structur`, string(data))
	require.NoError(t, got.Context().Err())
	require.NoError(t, res.Body.Close())
	require.Error(t, got.Context().Err(), "the request ends with its body")
	away := request("https://b.test/x?secret")
	_, err = trip.RoundTrip(away)
	require.EqualError(t, err, "the server refers to another host: set its address as the URL if it is meant: https://b.test")
	require.ErrorIs(t, err, errElsewhere)
	require.True(t, away.Body.(*closing).closed)
	away.Body = nil
	_, err = trip.RoundTrip(away)
	require.ErrorIs(t, err, errElsewhere)
	failing := errors.New("failing")
	trip.next = tripper(func(r *http.Request) (*http.Response, error) { got = r; return nil, failing })
	_, err = trip.RoundTrip(request("https://a.test/x"))
	require.Equal(t, failing, err)
	require.Error(t, got.Context().Err())
	trip.next = tripper(func(r *http.Request) (*http.Response, error) {
		cancel()
		<-r.Context().Done()
		return nil, context.Cause(r.Context())
	})
	_, err = trip.RoundTrip(request("https://a.test/x"))
	require.ErrorIs(t, err, context.Canceled, "the connection has ended")
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Results are converted part by part. What does not fit is named.
func TestResultsAreConverted(t *testing.T) {
	limits := &Limits{Result: 60, Media: 5}
	info := &model.Info{Media: []string{"image"}}
	for i, c := range []struct {
		content []mcp.Content
		want    string
		media   int
	}{
		{nil, "The tool returned nothing.", 0},
		{[]mcp.Content{&mcp.TextContent{}}, "The tool returned nothing.", 0},
		{[]mcp.Content{&mcp.TextContent{Text: "a"}, &mcp.TextContent{Text: "b"}}, "a\nb", 0},
		{[]mcp.Content{&mcp.ImageContent{MIMEType: "image/png", Data: []byte("12345")}}, "[image (image/png, 5 bytes) follows]", 1},
		{[]mcp.Content{&mcp.ImageContent{MIMEType: "image/png", Data: []byte("123456")}}, "[image (image/png, 6 bytes) left out: it is too large]", 0},
		{[]mcp.Content{&mcp.ImageContent{MIMEType: "image/png"}}, "[empty image (image/png, 0 bytes)]", 0},
		{[]mcp.Content{&mcp.AudioContent{MIMEType: "audio/x", Data: []byte("1")}}, "[audio (audio/x, 1 bytes) left out: this model cannot read i\n[The rest is left out: 60 of 62 bytes are shown.]", 0},
		{[]mcp.Content{&mcp.EmbeddedResource{}}, "The tool returned nothing.", 0},
		{[]mcp.Content{&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "u", Text: "t"}}}, "[resource u]\nt", 0},
		{[]mcp.Content{&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "u", MIMEType: "image/png", Blob: []byte("1")}}}, "[image (image/png, 1 bytes) u follows]", 1},
		{[]mcp.Content{&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "u", MIMEType: "x/y", Blob: []byte{}}}}, "[empty file (x/y, 0 bytes) u]", 0},
		{[]mcp.Content{&mcp.ResourceLink{URI: "u", Name: "n", MIMEType: "a/b", Description: "d"}}, "[resource u n (a/b)] d", 0},
		{[]mcp.Content{&mcp.ToolUseContent{}}, "[content of an unknown kind was left out]", 0},
		{[]mcp.Content{&mcp.ImageContent{MIMEType: "image/a", Data: []byte("123")}, &mcp.ImageContent{MIMEType: "image/b", Data: []byte("12")}, &mcp.ImageContent{MIMEType: "image/c", Data: []byte("1")}}, "[image (image/a, 3 bytes) follows]\n[image (image/b, 2 bytes)\n[The rest is left out: 60 of 69 bytes are shown.]", 2},
	} {
		res, err := result("s", &Definition{Name: "t"}, &mcp.CallToolResult{Content: c.content}, limits, info)
		require.NoError(t, err, i)
		require.Equal(t, c.want, res.Text, i)
		require.Len(t, res.Content, c.media, i)
		_, err = result("s", &Definition{}, &mcp.CallToolResult{Content: c.content, IsError: true}, limits, info)
		require.EqualError(t, err, "failed: "+c.want, i)
	}
	checked := &Definition{Name: "t", check: newOutputCheck([]byte(`{"type":"object","required":["a"]}`))}
	for i, c := range []struct {
		structured any
		isError    bool
		text, meta string
	}{
		{map[string]any{"a": 1}, false, `{"a":1}`, `{"mcp_server":"s","mcp_tool":"t","structured":{"a":1}}`},
		{map[string]any{"b": "<"}, false, "[Do not rely on this result: it does not have the form that the server declares: ", `{"mcp_server":"s","mcp_tool":"t"}`},
		{map[string]any{"b": 1}, true, `failed: {"b":1}`, ""},
		{map[string]any{"a": strings.Repeat("x", 53)}, false, `{"a":"` + strings.Repeat("x", 53) + "\"\n[The rest is left out: 60 of 61 bytes are shown.]", `{"mcp_server":"s","mcp_tool":"t"}`},
		{map[string]any{"a": strings.Repeat("x", 52)}, false, `{"a":"` + strings.Repeat("x", 52) + `"}`, `{"mcp_server":"s","mcp_tool":"t","structured":{"a":"` + strings.Repeat("x", 52) + `"}}`},
	} {
		res, err := result("s", checked, &mcp.CallToolResult{StructuredContent: c.structured, IsError: c.isError}, limits, info)
		if c.isError {
			require.EqualError(t, err, c.text, i)
			continue
		}
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(res.Text, c.text), "%d %s", i, res.Text)
		if strings.HasPrefix(c.text, "[Do") {
			require.True(t, strings.HasSuffix(res.Text, ".]\n"+`{"b":"<"}`), res.Text)
		} else {
			require.Equal(t, c.text, res.Text)
		}
		require.Equal(t, c.meta, string(res.Meta), i)
	}
}
