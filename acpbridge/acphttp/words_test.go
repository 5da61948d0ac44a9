// SPDX-License-Identifier: Apache-2.0

package acphttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acphttp"
)

// TestRefusalsSayWhy has each request that is refused, with its status and text.
func TestRefusalsSayWhy(t *testing.T) {
	h := handler(t, acphttp.Config{MaxMessage: 100, Serve: helloAgent(nil)})
	conn := acphttp.HeaderConnection
	id := ask(t, h, "POST", initialize).Header().Get(conn)
	require.NotEmpty(t, id)
	const events = "text/event-stream"
	for _, c := range []struct {
		method, body string
		header       []string
		status       int
		want         string
	}{
		{"POST", `{}`, []string{"Content-Type", "text/plain"}, 415, "Content-Type must be application/json"},
		{"POST", `{}`, []string{"Content-Type", ";"}, 415, "Content-Type must be application/json"},
		{"POST", `{"a":"` + strings.Repeat("x", 93) + `"}`, []string{conn, id}, 413, "the message cannot be read"},
		{"POST", `{"a":"` + strings.Repeat("x", 92) + `"}`, []string{conn, id}, 202, ""},
		{"POST", `{"a":1`, []string{conn, id}, 400, "the message is not JSON"},
		{"POST", ` [{}]`, []string{conn, id}, 400, "a message is one JSON object: batches are not supported"},
		{"POST", `"{"`, []string{conn, id}, 400, "a message is one JSON object: batches are not supported"},
		{"POST", initialize, []string{conn, id}, 400, "the connection has been initialized"},
		{"POST", `{"method":"initialize"}`, nil, 400, "missing Acp-Connection-Id"},
		{"POST", `{"id":1,"method":"other"}`, nil, 400, "missing Acp-Connection-Id"},
		{"POST", `{}`, []string{conn, "other"}, 404, "unknown Acp-Connection-Id"},
		{"GET", ``, []string{conn, id}, 406, "Accept must be text/event-stream"},
		{"GET", ``, []string{"Accept", events}, 400, "missing Acp-Connection-Id"},
		{"GET", ``, []string{"Accept", events, conn, "other"}, 404, "unknown Acp-Connection-Id"},
		{"GET", ``, []string{"Accept", events, conn, id, "Last-Event-ID", "x"}, 400, "Last-Event-ID must be the id of an event of this stream"},
		{"GET", ``, []string{"Accept", events, conn, id, "Last-Event-ID", "-1"}, 400, "Last-Event-ID must be the id of an event of this stream"},
		{"GET", ``, []string{"Accept", events, conn, id, "Last-Event-ID", "7"}, 409, "messages of this stream were dropped, because they were not read in time: load the session again"},
		{"GET", ``, []string{"Upgrade", "WebSocket"}, 426, "WebSocket is not served here"},
		{"PUT", ``, nil, 405, "method not allowed"},
		{"DELETE", ``, nil, 400, "missing Acp-Connection-Id"},
		{"DELETE", ``, []string{conn, "other"}, 404, "unknown Acp-Connection-Id"},
		{"GET", ``, []string{"Host", "evil.example"}, 421, "Misdirected Request"},
		{"GET", ``, []string{"Host", "127.0.0.2"}, 421, "Misdirected Request"},
		{"GET", ``, []string{"Origin", "https://evil.example"}, 403, "Forbidden"},
		{"GET", ``, []string{"Authorization", ""}, 401, "Unauthorized"},
		{"GET", ``, []string{"Authorization", "bearer " + token}, 401, "Unauthorized"},
	} {
		w := ask(t, h, c.method, c.body, c.header...)
		require.Equal(t, c.status, w.Code, "%v", c)
		require.Equal(t, c.want, strings.TrimSuffix(w.Body.String(), "\n"), "%v", c)
		if c.status == 405 {
			require.Equal(t, "GET, POST, DELETE", w.Header().Get("Allow"))
		}
		if c.status < 421 && c.status != 401 && c.status != 403 {
			require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		}
		require.Equal(t, c.want != "" || c.status == 202 && c.want == "", w.Header().Get("X-Content-Type-Options") == "nosniff")
	}
	w := ask(t, h, "DELETE", "", conn, id)
	require.Equal(t, 202, w.Code)
	require.Eventually(t, func() bool { return ask(t, h, "POST", `{}`, conn, id).Code == 404 }, time.Minute, time.Millisecond)
	require.NoError(t, h.Close())
	w = ask(t, h, "POST", initialize)
	require.Equal(t, 503, w.Code)
	require.Equal(t, "too many connections\n", w.Body.String())
	require.Equal(t, "1", w.Header().Get("Retry-After"))
	require.Equal(t, "acphttp.Handler", fmt.Sprint(h))
}

// handler returns a handler without a listener.
func handler(t *testing.T, c acphttp.Config) *acphttp.Handler {
	t.Helper()
	c.Guard.Token = token
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	h, err := acphttp.New(c)
	require.NoError(t, err)
	t.Cleanup(func() { _ = h.Close() })
	return h
}

// asking makes a request. A header without a value is left out.
func asking(ctx context.Context, method, body string, header ...string) *http.Request {
	r := httptest.NewRequestWithContext(ctx, method, "http://localhost/", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		switch {
		case header[i] == "Host":
			r.Host = header[i+1]
		case header[i+1] == "":
			r.Header.Del(header[i])
		default:
			r.Header.Set(header[i], header[i+1])
		}
	}
	return r
}

func ask(t *testing.T, h http.Handler, method, body string, header ...string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, asking(t.Context(), method, body, header...))
	return w
}

// helloAgent answers initialize, writes what it is told to, and ends with its input. It tells what it reads.
func helloAgent(say <-chan string) func(context.Context, io.Reader, io.Writer) error {
	return func(ctx context.Context, in io.Reader, out io.Writer) error {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = io.Copy(io.Discard, in)
		}()
		if _, err := io.WriteString(out, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`+"\n"); err != nil {
			return err
		}
		for {
			select {
			case line := <-say:
				if _, err := io.WriteString(out, line); err != nil {
					<-ended
					return err
				}
			case <-ended:
				return nil
			}
		}
	}
}

// watched is a response that is written to while the test reads it.
type watched struct {
	*httptest.ResponseRecorder
	mu sync.Mutex
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ResponseRecorder.Write(p)
}

func (w *watched) Flush() {}

func (w *watched) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Body.String()
}

// TestConnectionsByDefault has as many connections as there may be, one that ends because it is silent, and a stream that is kept alive.
func TestConnectionsByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		say := make(chan string, 10)
		h := handler(t, acphttp.Config{Serve: helloAgent(say)})
		conn := acphttp.HeaderConnection
		first := ask(t, h, "POST", initialize)
		require.Equal(t, 200, first.Code)
		require.Equal(t, "application/json", first.Header().Get("Content-Type"))
		require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`, first.Body.String())
		id := first.Header().Get(conn)
		ctx, leave := context.WithCancel(t.Context())
		w := &watched{ResponseRecorder: httptest.NewRecorder()}
		ended := make(chan struct{})
		go func() { h.ServeHTTP(w, asking(ctx, "GET", "", "Accept", "text/event-stream", conn, id)); close(ended) }()
		synctest.Wait()
		require.Equal(t, "text/event-stream", w.Header().Get("Content-Type"))
		require.Equal(t, id, w.Header().Get(conn))
		say <- `{"method":"_a"}` + "\n" + `{"method":`
		say <- `"_b"}` + "\n"
		synctest.Wait()
		require.Equal(t, "id: 1\ndata: {\"method\":\"_a\"}\n\nid: 2\ndata: {\"method\":\"_b\"}\n\n", w.text())
		for range 15 {
			require.Equal(t, 200, ask(t, h, "POST", initialize).Code)
		}
		require.Equal(t, 503, ask(t, h, "POST", initialize).Code, "sixteen, of which none has been silent for a second")
		time.Sleep(time.Second - time.Nanosecond)
		require.Equal(t, 503, ask(t, h, "POST", initialize).Code)
		time.Sleep(time.Nanosecond)
		newest := ask(t, h, "POST", initialize)
		require.Equal(t, 200, newest.Code, "one that is silent is replaced")
		time.Sleep(10*time.Second - time.Nanosecond)
		synctest.Wait()
		require.Equal(t, 202, ask(t, h, "POST", `{}`, conn, newest.Header().Get(conn)).Code)
		time.Sleep(10*time.Second - time.Nanosecond)
		require.Equal(t, 202, ask(t, h, "POST", `{}`, conn, newest.Header().Get(conn)).Code, "a request puts the end off")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Equal(t, 404, ask(t, h, "POST", `{}`, conn, newest.Header().Get(conn)).Code)
		require.Equal(t, 2, strings.Count(w.text(), ":\n\n"), "a comment every 15 seconds")
		require.Equal(t, 202, ask(t, h, "POST", `{}`, conn, id).Code, "a stream keeps its connection")
		leave()
		<-ended
		time.Sleep(10*time.Second - time.Nanosecond)
		synctest.Wait()
		again := &watched{ResponseRecorder: httptest.NewRecorder()}
		ended = make(chan struct{})
		ctx, leave = context.WithCancel(t.Context())
		go func() {
			h.ServeHTTP(again, asking(ctx, "GET", "", "Accept", "text/event-stream", conn, id, "Last-Event-ID", "1"))
			close(ended)
		}()
		synctest.Wait()
		require.Equal(t, "id: 2\ndata: {\"method\":\"_b\"}\n\n", again.text(), "it goes on after the message that the client has")
		leave()
		<-ended
		require.NoError(t, h.Close())
	})
}

// TestStreamThatNobodyReadsIsGivenUp writes to a session's stream that nobody opens, until it is full for three seconds. The turn is
// cancelled, and the agent's requests are answered.
func TestStreamThatNobodyReadsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := make(chan string, 10)
		full := make(chan time.Duration, 1)
		line := func(n int) string {
			const head, tail = `{"method":"_x","params":{"sessionId":"s","a":"`, `"}}`
			return head + strings.Repeat("x", n-len(head)-len(tail)) + tail + "\n"
		}
		h := handler(t, acphttp.Config{Serve: func(_ context.Context, in io.Reader, out io.Writer) error {
			_, _ = io.WriteString(out, `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n")
			began := time.Now()
			_, _ = io.WriteString(out, `{"id":"q1","method":"ask","params":{"sessionId":"s"}}`+"\n")
			_, _ = io.WriteString(out, line(4<<20-len(`{"id":"q1","method":"ask","params":{"sessionId":"s"}}`)))
			full <- time.Since(began)
			_, _ = io.WriteString(out, `{"id":"q2","method":"ask","params":{"sessionId":"s"}}`+"\n")
			full <- time.Since(began)
			d := json.NewDecoder(in)
			for {
				var m json.RawMessage
				if err := d.Decode(&m); err != nil {
					return nil
				}
				heard <- string(m)
			}
		}})
		w := ask(t, h, "POST", initialize)
		require.Equal(t, time.Duration(0), <-full, "4 MiB may wait")
		require.Equal(t, 3*time.Second, <-full)
		require.JSONEq(t, initialize, <-heard)
		const refused = `{"jsonrpc":"2.0","id":%q,"error":{"code":-32603,"message":"the client does not read this session's stream"}}`
		require.JSONEq(t, fmt.Sprintf(refused, "q1"), <-heard)
		require.JSONEq(t, `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`, <-heard)
		require.JSONEq(t, fmt.Sprintf(refused, "q2"), <-heard)
		conn := acphttp.HeaderConnection
		lost := ask(t, h, "GET", "", "Accept", "text/event-stream", conn, w.Header().Get(conn), acphttp.HeaderSession, "s")
		require.Equal(t, 409, lost.Code)
		require.Equal(t, "messages of this stream were dropped, because they were not read in time: load the session again\n", lost.Body.String())
		require.NoError(t, h.Close())
	})
}

// TestConnectionThatNobodyReadsEnds writes to the connection's own stream.
func TestConnectionThatNobodyReadsEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := make(chan error, 1)
		var log strings.Builder
		h := handler(t, acphttp.Config{MaxBuffered: 100, Idle: time.Hour, Logger: slog.New(slog.NewTextHandler(&log, nil)), Serve: func(_ context.Context, _ io.Reader, out io.Writer) error {
			_, err := io.WriteString(out, `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n")
			began := time.Now()
			for err == nil {
				_, err = io.WriteString(out, `{"method":"_x"}`+"\n")
			}
			if d := time.Since(began); d != 3*time.Second {
				err = fmt.Errorf("after %v", d)
			}
			failed <- err
			return err
		}})
		require.Equal(t, 200, ask(t, h, "POST", initialize).Code)
		require.ErrorIs(t, <-failed, io.ErrClosedPipe)
		require.NoError(t, h.Close())
		require.Contains(t, log.String(), "acphttp: connection begins")
		require.Contains(t, log.String(), "acphttp: connection ends")
		require.NotContains(t, log.String(), "ended with an error", "it was ended")
	})
}

// TestWrongConfigurationIsNamed has whole texts.
func TestWrongConfigurationIsNamed(t *testing.T) {
	good := acphttp.Guard{Token: "1234567890123456"}
	const short = "acphttp: Guard.Token has fewer than 16 bytes: make one with crypto/rand.Text"
	const spaces = "acphttp: Guard.Token begins or ends with white space, or has control characters: no request can have it"
	const negative = "acphttp: Config: MaxConnections, MaxMessage, MaxBuffered, Idle, Stall and Heartbeat must not be negative"
	origin := func(s string) acphttp.Guard { return acphttp.Guard{Token: good.Token, Origins: []string{s}} }
	host := func(s string) acphttp.Guard { return acphttp.Guard{Token: good.Token, Hosts: []string{s}} }
	wrongHost := func(s string) string {
		return fmt.Sprintf("acphttp: Guard.Hosts has %q: use a name in lower case, without a port", s)
	}
	for want, guards := range map[string][]acphttp.Guard{
		"":     {good, origin("https://a.example"), origin("http://localhost:3000"), host("a.example"), host("::1"), host("10.0.0.1")},
		short:  {{Token: good.Token[1:]}},
		spaces: {{Token: good.Token + " "}, {Token: "\t" + good.Token}, {Token: "1\x00" + good.Token}},
		short + "\n" + spaces + "\n" + wrongHost(""):                                                       {{Token: " ", Hosts: []string{""}}},
		`acphttp: Guard.Origins has "a.example": use a scheme and a host, such as https://editor.example`:  {origin("a.example")},
		`acphttp: Guard.Origins has "https://a/": use a scheme and a host, such as https://editor.example`: {origin("https://a/")},
		`acphttp: Guard.Origins has "https://": use a scheme and a host, such as https://editor.example`:   {origin("https://")},
		`acphttp: Guard.Origins has ":": use a scheme and a host, such as https://editor.example`:          {origin(":")},
		wrongHost("A.example"): {host("A.example")}, wrongHost("a:80"): {host("a:80")}, wrongHost("[::1]"): {host("[::1]")}, wrongHost("*.a"): {host("*.a")}, wrongHost("a b"): {host("a b")}, wrongHost("a/b"): {host("a/b")},
	} {
		for _, g := range guards {
			for _, made := range []func(acphttp.Config) error{
				func(c acphttp.Config) error { _, err := acphttp.New(c); return err },
				func(c acphttp.Config) error { _, err := acphttp.NewWebSocket(c); return err },
			} {
				err := made(acphttp.Config{Guard: g, Serve: serveAgent})
				if want == "" {
					require.NoError(t, err)
					require.EqualError(t, made(acphttp.Config{Guard: g}), "acphttp: Config.Serve is nil: set a function that serves an agent on two streams")
					require.EqualError(t, made(acphttp.Config{Guard: g, Serve: serveAgent, MaxBuffered: -1}), negative)
					require.EqualError(t, made(acphttp.Config{Guard: g, Serve: serveAgent, Stall: -1}), negative)
				} else {
					require.EqualError(t, err, want)
				}
			}
		}
	}
	r := asking(t.Context(), "GET", "", "Authorization", "")
	require.Equal(t, 401, (&acphttp.Guard{}).Check(r, ""), "a guard without a token lets nobody in")
	require.Equal(t, 401, (&acphttp.Guard{Token: "short"}).Check(r, "short"))
	require.Zero(t, good.Check(r, good.Token), "the token may come otherwise")
	r.Header.Set("Authorization", "Bearer other")
	require.Equal(t, 401, good.Check(r, good.Token), "but the header counts")
	for name, status := range map[string]int{"a.example": 0, "A.EXAMPLE:80": 0, "[::1]:80": 0, "::1": 0, "localhost": 421, "b.a.example": 421} {
		named := acphttp.Guard{Token: good.Token, Hosts: []string{"a.example", "::1"}}
		r := asking(t.Context(), "GET", "", "Host", name, "Authorization", "")
		require.Equal(t, status, named.Check(r, good.Token), name)
	}
}

// TestAddressesOfOthersAreRefused listens on addresses of this machine only.
func TestAddressesOfOthersAreRefused(t *testing.T) {
	for address, want := range map[string]string{
		"0.0.0.0:0": `acphttp: listen: "0.0.0.0" is not a loopback address; use 127.0.0.1 or [::1]`, ":0": `acphttp: listen: "" is not a loopback address; use 127.0.0.1 or [::1]`,
		"example.com:0": `acphttp: listen: "example.com" is not a loopback address; use 127.0.0.1 or [::1]`,
		"127.0.0.1":     "acphttp: listen: address 127.0.0.1: missing port in address",
	} {
		_, err := acphttp.Listen(t.Context(), address)
		require.EqualError(t, err, want)
		require.EqualError(t, acphttp.ListenAndServe(t.Context(), address, nil), want)
	}
	for _, address := range []string{"127.0.0.1:0", "localhost:0"} {
		l, err := acphttp.Listen(t.Context(), address)
		require.NoError(t, err)
		_, err = acphttp.Listen(t.Context(), l.Addr().String())
		require.ErrorContains(t, err, "acphttp: listen tcp")
		require.NoError(t, l.Close())
		err = acphttp.Serve(t.Context(), l, handler(t, acphttp.Config{Serve: helloAgent(nil)}))
		require.ErrorContains(t, err, "acphttp: ")
	}
	l, err := acphttp.Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancelCause(t.Context())
	served := make(chan error, 1)
	go func() { served <- acphttp.Serve(ctx, l, handler(t, acphttp.Config{Serve: helloAgent(nil)})) }()
	stop(errors.New("over"))
	require.NoError(t, <-served)
}

// TestSessionThatIsLoadedAgainLeavesItsOldConnection loads a session on a second connection. The first one ends if its client has no stream
// on which it could see the session.
func TestSessionThatIsLoadedAgainLeavesItsOldConnection(t *testing.T) {
	for _, watched := range []bool{false, true} {
		for _, method := range []string{"session/load", "session/resume", "session/prompt"} {
			synctest.Test(t, func(t *testing.T) {
				h := handler(t, acphttp.Config{Serve: func(_ context.Context, in io.Reader, out io.Writer) error {
					for d := json.NewDecoder(in); ; {
						var m struct{ ID json.RawMessage }
						if d.Decode(&m) != nil {
							return nil
						}
						if _, err := fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", m.ID); err != nil {
							return err
						}
					}
				}})
				const conn = acphttp.HeaderConnection
				first, second := ask(t, h, "POST", initialize).Header().Get(conn), ask(t, h, "POST", initialize).Header().Get(conn)
				load := func(id, method string) int {
					defer synctest.Wait()
					return ask(t, h, "POST", `{"jsonrpc":"2.0","id":2,"method":"`+method+`","params":{"sessionId":"s"}}`, conn, id).Code
				}
				require.Equal(t, 202, load(first, "session/load"))
				ctx, leave := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					if watched {
						h.ServeHTTP(httptest.NewRecorder(), asking(ctx, "GET", "", "Accept", "text/event-stream", conn, first, acphttp.HeaderSession, "s"))
					}
				}()
				synctest.Wait()
				require.Equal(t, 202, load(second, method))
				want := 202
				if !watched && method != "session/prompt" {
					want = 404
				}
				require.Equal(t, want, ask(t, h, "POST", `{}`, conn, first).Code, "%s, watched: %v", method, watched)
				require.Equal(t, 202, ask(t, h, "POST", `{}`, conn, second).Code)
				leave()
				<-ended
				require.NoError(t, h.Close())
			})
		}
	}
}

// TestAgentsThatFailAreLogged has an agent that ends with an error, which may have what must not be in a log.
func TestAgentsThatFailAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		h := handler(t, acphttp.Config{Logger: slog.New(slog.NewTextHandler(&log, nil)), Serve: func(_ context.Context, _ io.Reader, out io.Writer) error {
			_, _ = io.WriteString(out, `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n")
			return errors.New("at /secret/path")
		}})
		require.Equal(t, 200, ask(t, h, "POST", initialize).Code)
		synctest.Wait()
		require.NoError(t, h.Close())
		require.Contains(t, log.String(), `level=WARN msg="acphttp: the agent ended with an error" connection=`)
		require.NotContains(t, log.String(), "/secret/path")
	})
}

// TestTokensAreNotPrinted prints a guard, and a configuration with one, in each form.
func TestTokensAreNotPrinted(t *testing.T) {
	g := acphttp.Guard{Token: token, Hosts: []string{"a.example"}}
	data, err := json.Marshal(g)
	require.NoError(t, err)
	for _, text := range []string{fmt.Sprint(g), fmt.Sprintf("%+v", &g), fmt.Sprintf("%#v", g), fmt.Sprintf("%+v", acphttp.Config{Guard: g}), string(data)} {
		require.NotContains(t, text, token)
		require.Contains(t, text, "a.example")
	}
}

// TestOldMessagesAreNotKept resumes a stream after a message that is kept, and then after one that is not any more.
func TestOldMessagesAreNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		say := make(chan string)
		h := handler(t, acphttp.Config{Serve: helloAgent(say), MaxBuffered: 100})
		const conn = acphttp.HeaderConnection
		id := ask(t, h, "POST", initialize).Header().Get(conn)
		read := func(after string, lines int) (status int, text string) {
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			w := &watched{ResponseRecorder: httptest.NewRecorder()}
			ended := make(chan struct{})
			go func() {
				h.ServeHTTP(w, asking(ctx, "GET", "", "Accept", "text/event-stream", conn, id, "Last-Event-ID", after))
				close(ended)
			}()
			synctest.Wait()
			for range lines {
				say <- `{"method":"_x","params":{"a":"123456789"}}` + "\n" // 42 bytes
				synctest.Wait()
			}
			leave()
			<-ended
			return w.Code, w.text()
		}
		status, text := read("", 3)
		require.Equal(t, 200, status)
		require.Equal(t, 3, strings.Count(text, "id: "))
		status, text = read("2", 2)
		require.Equal(t, 200, status)
		require.Equal(t, 3, strings.Count(text, "id: "), text)
		require.Contains(t, text, "id: 3\n")
		status, _ = read("2", 0)
		require.Equal(t, 409, status, "two messages fit into 100 bytes")
		status, _ = read("6", 0)
		require.Equal(t, 409, status, "there is no such message")
		status, text = read("3", 0)
		require.Equal(t, 200, status)
		require.Equal(t, 2, strings.Count(text, "id: "))
		require.NoError(t, h.Close())
	})
}

// TestRefusedWebSocketsLeaveNoRoom refuses several connections while there is one. All of them are too many.
func TestRefusedWebSocketsLeaveNoRoom(t *testing.T) {
	h, err := acphttp.NewWebSocket(acphttp.Config{Guard: acphttp.Guard{Token: token}, MaxConnections: 1, Logger: slog.New(slog.DiscardHandler), Serve: func(ctx context.Context, in io.Reader, _ io.Writer) error {
		_, err := io.Copy(io.Discard, in)
		return err
	}})
	require.NoError(t, err)
	server := httptest.NewServer(h)
	defer server.Close()
	url := "ws" + strings.TrimPrefix(server.URL, "http")
	first, err := acphttp.DialWebSocket(t.Context(), url, token)
	require.NoError(t, err)
	for range 3 {
		_, err := acphttp.DialWebSocket(t.Context(), url, token)
		require.ErrorContains(t, err, "acphttp: ")
		require.ErrorContains(t, err, "503")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, asking(t.Context(), "GET", ""))
		require.Equal(t, 503, w.Code)
		require.Equal(t, "too many connections\n", w.Body.String())
		require.Equal(t, "1", w.Header().Get("Retry-After"))
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, asking(t.Context(), "GET", "", "Authorization", ""))
	require.Equal(t, 401, w.Code)
	require.Equal(t, "Unauthorized\n", w.Body.String())
	require.NoError(t, first.Close())
	require.NoError(t, h.Close())
	w = httptest.NewRecorder()
	h.ServeHTTP(w, asking(t.Context(), "GET", ""))
	require.Equal(t, 503, w.Code, "it is closed")
}
