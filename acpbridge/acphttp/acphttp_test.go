// SPDX-License-Identifier: Apache-2.0

package acphttp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acphttp"
)

func TestTurnOverHTTP(t *testing.T) {
	_, url := newHandler(t, nil)
	conn := begin(t, url)
	next := events(t, url, conn)
	require.Equal(t, http.StatusAccepted, do(t, "POST", url, `{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/repo","mcpServers":[]}}`, conn).StatusCode)
	made := next()
	id := made["result"].(map[string]any)["sessionId"].(string)
	session := acphttp.HeaderSession + ": " + id
	require.Equal(t, http.StatusAccepted, do(t, "POST", url, fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"method":"session/prompt",
		"params":{"sessionId":%q,"prompt":[{"type":"text","text":"hi"}]}}`, id), conn, session).StatusCode)
	mine := events(t, url, conn, session) // opened late: nothing is lost
	said := ""
	for {
		m := mine()
		require.NotNil(t, m)
		if m["method"] == nil {
			require.EqualValues(t, 3, m["id"])
			require.Equal(t, "end_turn", m["result"].(map[string]any)["stopReason"])
			break
		}
		require.Equal(t, "session/update", m["method"])
		if u := m["params"].(map[string]any)["update"].(map[string]any); u["sessionUpdate"] == "agent_message_chunk" {
			said += u["content"].(map[string]any)["text"].(string)
		}
	}
	require.Equal(t, "hello", said)
	require.Equal(t, http.StatusConflict, do(t, "GET", url, "", conn, session, "Accept: text/event-stream").StatusCode, "one reader")

	require.Equal(t, http.StatusAccepted, do(t, "DELETE", url, "", conn).StatusCode)
	require.Nil(t, mine(), "the streams end with the connection")
	require.Nil(t, next())
}

func TestRequestsAreGuarded(t *testing.T) {
	_, url := newHandler(t, func(c *acphttp.Config) { c.Guard.Origins = []string{"https://editor.example"} })
	for _, c := range []struct {
		headers []string
		want    int
	}{
		{nil, http.StatusOK},
		{[]string{"Authorization: "}, http.StatusUnauthorized},
		{[]string{"Authorization: Bearer wrong-token-of-some-length"}, http.StatusUnauthorized},
		{[]string{"Authorization: Basic " + token}, http.StatusUnauthorized},
		{[]string{"Authorization: Bearer " + token + "x"}, http.StatusUnauthorized},
		{[]string{"Origin: https://editor.example"}, http.StatusOK},
		{[]string{"Origin: https://evil.example"}, http.StatusForbidden},
		{[]string{"Origin: null"}, http.StatusForbidden},
		{[]string{"Origin: https://editor.example.evil.example"}, http.StatusForbidden},
		{[]string{"Origin: http://127.0.0.1"}, http.StatusForbidden},
		{[]string{"Host: localhost:80"}, http.StatusOK},
		{[]string{"Host: LOCALHOST"}, http.StatusOK},
		{[]string{"Host: [::1]:80"}, http.StatusOK},
		{[]string{"Host: evil.example"}, http.StatusMisdirectedRequest},
		{[]string{"Host: localhost.evil.example"}, http.StatusMisdirectedRequest},
		{[]string{"Host: 127.0.0.1.evil.example:80"}, http.StatusMisdirectedRequest},
	} {
		require.Equal(t, c.want, do(t, "POST", url, initialize, c.headers...).StatusCode, c.headers)
	}
	for _, method := range []string{"GET", "DELETE", "PUT", "OPTIONS"} {
		require.Equal(t, http.StatusUnauthorized, do(t, method, url, "", "Authorization: ").StatusCode, method)
	}
}

// Each of several Origin headers has to be allowed.
func TestEveryOriginIsChecked(t *testing.T) {
	g := acphttp.Guard{Token: token, Origins: []string{"https://a.test"}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/", nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Origin", "https://a.test")
	require.Zero(t, g.Check(r, ""))
	r.Header.Add("Origin", "https://b.test")
	require.Equal(t, http.StatusForbidden, g.Check(r, ""))
}

func TestBadRequestsAreRefused(t *testing.T) {
	_, url := newHandler(t, func(c *acphttp.Config) { c.MaxMessage = 1000 })
	conn := begin(t, url)
	for _, c := range []struct {
		method, body string
		headers      []string
		want         int
	}{
		{"POST", `{}`, []string{"Content-Type: text/plain"}, http.StatusUnsupportedMediaType},
		{"POST", `{`, []string{conn}, http.StatusBadRequest},
		{"POST", ``, []string{conn}, http.StatusBadRequest},
		{"POST", `[]`, []string{conn}, http.StatusBadRequest},
		{"POST", initialize, []string{conn}, http.StatusBadRequest},
		{"POST", `{}`, nil, http.StatusBadRequest},
		{"POST", `{}`, []string{acphttp.HeaderConnection + ": other"}, http.StatusNotFound},
		{"POST", `{"a":"` + strings.Repeat("x", 1000) + `"}`, []string{conn}, http.StatusRequestEntityTooLarge},
		{"GET", "", []string{conn, "Accept: text/html"}, http.StatusNotAcceptable},
		{"GET", "", []string{"Accept: text/event-stream"}, http.StatusBadRequest},
		{"GET", "", []string{conn, "Upgrade: websocket", "Connection: Upgrade"}, http.StatusUpgradeRequired},
		{"PUT", "", []string{conn}, http.StatusMethodNotAllowed},
		{"DELETE", "", nil, http.StatusBadRequest},
		{"DELETE", "", []string{acphttp.HeaderConnection + ": other"}, http.StatusNotFound},
		{"GET", "", []string{acphttp.HeaderConnection + ": other", "Accept: text/event-stream"}, http.StatusNotFound},
		{"GET", "", []string{acphttp.HeaderConnection + ": ", "Accept: text/event-stream"}, http.StatusBadRequest},
		{"HEAD", "", []string{conn}, http.StatusMethodNotAllowed},
	} {
		require.Equal(t, c.want, do(t, c.method, url, c.body, c.headers...).StatusCode, "%s %s", c.method, c.body)
	}
	next := events(t, url, conn)
	require.Equal(t, http.StatusAccepted, do(t, "POST", url, "{\"jsonrpc\":\"2.0\",\n\"id\":7,\"method\":\"no/such\"}", conn).StatusCode)
	require.EqualValues(t, -32601, next()["error"].(map[string]any)["code"], "the connection lives, and line breaks do not matter")
}

func TestConnectionsAreBounded(t *testing.T) {
	_, url := newHandler(t, func(c *acphttp.Config) { c.MaxConnections = 1 })
	conn := begin(t, url)
	require.Equal(t, http.StatusServiceUnavailable, do(t, "POST", url, initialize).StatusCode)
	next := events(t, url, conn)
	do(t, "DELETE", url, "", conn)
	require.Nil(t, next())
	for do(t, "POST", url, initialize).StatusCode != http.StatusOK { // when its agent has ended
	}
}

func TestAgentThatDoesNotAnswerIsABadGateway(t *testing.T) {
	_, url := newHandler(t, func(c *acphttp.Config) {
		c.Serve = func(context.Context, io.Reader, io.Writer) error { return io.ErrUnexpectedEOF }
	})
	require.Equal(t, http.StatusBadGateway, do(t, "POST", url, initialize).StatusCode)
}

// An agent that writes more than is read waits, and goes on when its client reads.
func TestOutputIsBounded(t *testing.T) {
	wrote := make(chan int, 100)
	_, url := newHandler(t, func(c *acphttp.Config) {
		c.MaxBuffered = 1000
		c.Serve = func(ctx context.Context, in io.Reader, out io.Writer) error {
			_, err := io.WriteString(out, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`+"\n")
			for i := 0; i < 10 && err == nil; i++ {
				_, err = fmt.Fprintf(out, `{"jsonrpc":"2.0","method":"_x","params":{"n":%d,"text":"%s"}}`+"\n", i, strings.Repeat("x", 400))
				wrote <- i
			}
			<-ctx.Done()
			return err
		}
	})
	conn := begin(t, url)
	require.Equal(t, 0, <-wrote)
	require.Equal(t, 1, <-wrote)
	next := events(t, url, conn)
	for i := range 10 {
		require.EqualValues(t, i, next()["params"].(map[string]any)["n"])
	}
}

func TestConfigurationIsChecked(t *testing.T) {
	_, err := acphttp.New(acphttp.Config{Serve: serveAgent, Guard: acphttp.Guard{Token: "short"}})
	require.ErrorContains(t, err, "Guard.Token has fewer than 16 bytes")
	_, err = acphttp.New(acphttp.Config{Guard: acphttp.Guard{Token: token}})
	require.ErrorContains(t, err, "Config.Serve is nil")
	guarded := func(change func(*acphttp.Guard)) acphttp.Config {
		c := acphttp.Config{Serve: serveAgent, Guard: acphttp.Guard{Token: token}}
		c.Guard.Origins, c.Guard.Hosts = []string{"https://e.test:1"}, []string{"a.test", "::1"}
		change(&c.Guard)
		return c
	}
	_, err = acphttp.New(guarded(func(*acphttp.Guard) {}))
	require.NoError(t, err)
	for want, change := range map[string]func(*acphttp.Guard){
		"begins or ends with white space":  func(g *acphttp.Guard) { g.Token += "\n" },
		`Guard.Origins has "https://e/"`:   func(g *acphttp.Guard) { g.Origins = []string{"https://e/"} },
		`Guard.Origins has "e.test"`:       func(g *acphttp.Guard) { g.Origins = []string{"e.test"} },
		`Guard.Hosts has "E.test": use`:    func(g *acphttp.Guard) { g.Hosts = []string{"E.test"} },
		`Guard.Hosts has "e.test:80": use`: func(g *acphttp.Guard) { g.Hosts = []string{"e.test:80"} },
		`Guard.Hosts has "https://e": use`: func(g *acphttp.Guard) { g.Hosts = []string{"https://e"} },
	} {
		_, err := acphttp.New(guarded(change))
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), token)
	}
	for _, c := range []acphttp.Config{
		{MaxConnections: -1}, {MaxMessage: -1}, {MaxBuffered: -1}, {Idle: -1}, {Stall: -1}, {Heartbeat: -1},
	} {
		c.Guard, c.Serve = acphttp.Guard{Token: token}, serveAgent
		_, err := acphttp.New(c)
		require.ErrorContains(t, err, "must not be negative")
		_, err = acphttp.NewWebSocket(c)
		require.ErrorContains(t, err, "must not be negative")
	}
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0", "example.com:0", "[::]:0", "nonsense"} {
		_, err := acphttp.Listen(t.Context(), address)
		require.ErrorContains(t, err, "acphttp: listen: ", address)
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	ended := make(chan struct{})
	h, err := acphttp.New(acphttp.Config{Guard: acphttp.Guard{Token: token}, Serve: func(ctx context.Context, in io.Reader, out io.Writer) error {
		defer close(ended)
		return serveAgent(ctx, in, out)
	}})
	require.NoError(t, err)
	l, err := acphttp.Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- acphttp.Serve(ctx, l, h) }()
	conn := begin(t, "http://"+l.Addr().String())
	next := events(t, "http://"+l.Addr().String(), conn)
	cancel()
	require.Nil(t, next())
	require.NoError(t, <-served)
	<-ended
}

// recorder is a response that needs no network.
type recorder struct {
	header http.Header
	status int
	body   strings.Builder
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }

func TestIdleConnectionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		h, err := acphttp.New(acphttp.Config{Guard: acphttp.Guard{Token: token}, Idle: time.Minute, Serve: func(ctx context.Context, in io.Reader, out io.Writer) error {
			defer close(ended)
			return serveAgent(ctx, in, out)
		}})
		require.NoError(t, err)
		req, err := http.NewRequestWithContext(t.Context(), "POST", "http://localhost/", strings.NewReader(initialize))
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		w := &recorder{header: http.Header{}, status: http.StatusOK}
		h.ServeHTTP(w, req)
		require.Equal(t, http.StatusOK, w.status)
		before := time.Now()
		<-ended
		require.GreaterOrEqual(t, time.Since(before), time.Minute)
		require.NoError(t, h.Close())
	})
}

// An agent answers a request whose id it cannot use with the id null.
func TestInitializeWithABadIDIsAnswered(t *testing.T) {
	for _, id := range []string{"1.0", "1e0", "true", "{}", "[]", "null", `"\u0061"`} {
		_, url := newHandler(t, nil)
		resp := do(t, "POST", url, strings.Replace(initialize, `"id":1`, `"id":`+id, 1))
		require.Equal(t, http.StatusOK, resp.StatusCode, id)
		data, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Contains(t, string(data), `"jsonrpc":"2.0"`, id)
	}
}
