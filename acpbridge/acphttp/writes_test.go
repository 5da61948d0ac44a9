// SPDX-License-Identifier: Apache-2.0

package acphttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
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

// response is one that writes down each write, flush and deadline, with the time of it. It may block and fail.
type response struct {
	mu      sync.Mutex
	began   time.Time
	header  http.Header
	got     []string
	fails   map[string]int // by what is done: how many more times it works
	blocked bool
	cut     chan struct{} // closed when the deadline is in the past
	once    sync.Once
}

func newResponse() *response {
	return &response{began: time.Now(), header: http.Header{}, fails: map[string]int{}, cut: make(chan struct{})}
}

func (w *response) note(what, text string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.got = append(w.got, fmt.Sprintf("%v %s%s", time.Since(w.began), what, text))
	left, limited := w.fails[what]
	if limited && left == 0 {
		return errors.New("broken")
	}
	if limited {
		w.fails[what]--
	}
	return nil
}

func (w *response) Header() http.Header { return w.header }
func (w *response) WriteHeader(s int)   { _ = w.note("status ", fmt.Sprint(s)) }
func (w *response) FlushError() error   { return w.note("flush", "") }

func (w *response) Write(p []byte) (int, error) {
	text := string(p)
	if len(text) > 60 {
		text = fmt.Sprintf("%s… %d bytes", text[:20], len(text))
	}
	if err := w.note("write", fmt.Sprintf(" %q", text)); err != nil {
		return 0, err
	}
	if w.blocked {
		<-w.cut
		return 0, errors.New("the deadline is over")
	}
	return len(p), nil
}

func (w *response) SetWriteDeadline(t time.Time) error {
	if t.Before(w.began) {
		w.once.Do(func() { close(w.cut) })
		return w.note("deadline", " over")
	}
	return w.note("deadline", fmt.Sprint(" ", t.Sub(w.began)))
}

func (w *response) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := strings.Join(w.got, "\n")
	w.got = nil
	return all
}

// lines joins lines.
func lines(all ...string) string { return strings.Join(all, "\n") }

// open opens a stream with a response that the test has made.
func open(t *testing.T, h http.Handler, w http.ResponseWriter, header ...string) (leave func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.ServeHTTP(w, asking(ctx, "GET", "", append([]string{"Accept", "text/event-stream"}, header...)...))
	}()
	synctest.Wait()
	return func() { cancel(); <-ended }
}

// Each message is written in pieces of 64 KiB, which have half a minute each. A silent stream has a comment now and then.
func TestMessagesAreWrittenInPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		say := make(chan string)
		h := handler(t, acphttp.Config{Serve: helloAgent(say), Heartbeat: 7 * time.Second})
		const conn = acphttp.HeaderConnection
		id := ask(t, h, "POST", initialize).Header().Get(conn)
		w := newResponse()
		leave := open(t, h, w, conn, id)
		require.Equal(t, lines("0s status 200", "0s flush"), w.take())
		time.Sleep(time.Second)
		say <- `{"method":"_a"}` + "\n"
		synctest.Wait()
		require.Equal(t, lines("1s deadline 31s", `1s write "id: 1\ndata: {\"method\":\"_a\"}\n\n"`, "1s flush"), w.take())
		const head, tail = "id: 2\ndata: ", "\n\n"
		for n, more := range []int{0, 1, 64 << 10} {
			line := `{"method":"` + strings.Repeat("x", 64<<10+more-len(head)-len(tail)-len(`{"method":""}`)) + `"}`
			say <- line + "\n"
			synctest.Wait()
			first := fmt.Sprintf("1s write %q", fmt.Sprintf("id: %d\ndata: {\"method… 65536 bytes", n+2))
			switch more {
			case 0:
				require.Equal(t, lines("1s deadline 31s", first, "1s flush"), w.take())
			case 1:
				require.Equal(t, lines("1s deadline 31s", first, "1s flush", "1s deadline 31s", `1s write "\n"`, "1s flush"), w.take())
			default:
				require.Equal(t, 2, strings.Count(w.take(), "65536 bytes"))
			}
		}
		time.Sleep(6*time.Second - time.Nanosecond)
		require.Empty(t, w.take())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Equal(t, lines("7s deadline 37s", `7s write ":\n\n"`, "7s flush"), w.take())
		leave()
		require.Empty(t, w.take())
		require.NoError(t, h.Close())
	})
}

// A message that could not be written whole is written again, to the next reader, and the stream that has failed ends.
func TestMessagesThatCouldNotBeWrittenAreRepeated(t *testing.T) {
	for what, times := range map[string]int{"write": 2, "flush": 3, "deadline": 2} {
		for n := range times {
			synctest.Test(t, func(t *testing.T) {
				say := make(chan string)
				h := handler(t, acphttp.Config{Serve: helloAgent(say)})
				const conn = acphttp.HeaderConnection
				id := ask(t, h, "POST", initialize).Header().Get(conn)
				for _, name := range []string{"a", "b"} {
					say <- fmt.Sprintf(`{"method":"_%s"}`+"\n", name)
				}
				synctest.Wait()
				w := newResponse()
				w.fails[what] = n
				leave := open(t, h, w, conn, id)
				got := w.take()
				next := newResponse()
				leaveNext := open(t, h, next, conn, id)
				again := next.take()
				sent := n // how many messages the first one has got
				if what == "flush" {
					sent = max(n-1, 0)
				}
				switch {
				case what == "deadline": // where there are none, the client's connection ends the writing
					require.Contains(t, got, "_b")
					require.Equal(t, 2, strings.Count(got, "write"))
				case sent == 0:
					require.NotContains(t, got, "_b")
					require.Contains(t, again, "id: 1\\n")
					require.Contains(t, again, "id: 2\\n")
				default:
					require.Contains(t, got, "_b", "%s %d", what, n)
					require.NotContains(t, again, "id: 1\\n")
					require.Contains(t, again, "id: 2\\n")
				}
				leave()
				leaveNext()
				require.NoError(t, h.Close())
			})
		}
	}
	synctest.Test(t, func(t *testing.T) { // the comment of a silent stream
		h := handler(t, acphttp.Config{Serve: helloAgent(nil), Heartbeat: time.Second})
		const conn = acphttp.HeaderConnection
		id := ask(t, h, "POST", initialize).Header().Get(conn)
		w := newResponse()
		w.fails["write"] = 1
		ended := make(chan struct{})
		go func() {
			h.ServeHTTP(w, asking(t.Context(), "GET", "", "Accept", "text/event-stream", conn, id))
			close(ended)
		}()
		<-ended
		require.Equal(t, 2*time.Second, time.Since(w.began), "its client is gone")
		require.Equal(t, 2, strings.Count(w.take(), `":\n\n"`))
		require.NoError(t, h.Close())
	})
}

// A stream has one reader. Another one waits a second for it to leave, and one that goes on after a message ends it at once.
func TestStreamIsHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		say := make(chan string)
		h := handler(t, acphttp.Config{Serve: helloAgent(say)})
		const conn = acphttp.HeaderConnection
		id := ask(t, h, "POST", initialize).Header().Get(conn)
		say <- `{"method":"_a"}` + "\n"
		synctest.Wait()
		first := newResponse()
		leave := open(t, h, first, conn, id)
		began := time.Now()
		refused := ask(t, h, "GET", "", "Accept", "text/event-stream", conn, id)
		require.Equal(t, time.Second, time.Since(began))
		require.Equal(t, 409, refused.Code)
		require.Equal(t, "the stream is open already\n", refused.Body.String())

		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		w := httptest.NewRecorder()
		began = time.Now()
		h.ServeHTTP(w, asking(ctx, "GET", "", "Accept", "text/event-stream", conn, id))
		cancel()
		require.Equal(t, 409, w.Code, "its client has left while it waited")
		require.Equal(t, time.Second/2, time.Since(began))

		second := newResponse()
		leaveSecond := open(t, h, second, conn, id)
		require.Empty(t, second.take())
		time.Sleep(time.Second - time.Nanosecond)
		leave()
		synctest.Wait()
		require.Contains(t, second.take(), "status 200", "the first one has left in time")
		first.take()

		third := newResponse()
		leaveThird := open(t, h, third, conn, id, "Last-Event-ID", "0")
		require.Contains(t, second.take(), "deadline over")
		require.Contains(t, third.take(), `write "id: 1\n`)
		leaveSecond()
		leaveThird()

		blocked := newResponse()
		blocked.blocked = true
		say <- `{"method":"_b"}` + "\n"
		synctest.Wait()
		leaveBlocked := open(t, h, blocked, conn, id)
		require.Contains(t, blocked.take(), `write "id: 2\n`)
		fourth := newResponse()
		leaveFourth := open(t, h, fourth, conn, id, "Last-Event-ID", "1")
		require.Contains(t, blocked.take(), "deadline over", "a client that does not read holds nobody up")
		require.Contains(t, fourth.take(), `write "id: 2\n`)
		leaveBlocked()
		leaveFourth()
		require.NoError(t, h.Close())
	})
}

// A response that is blocked ends with its connection.
func TestBlockedResponseEndsWithItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		say := make(chan string)
		h := handler(t, acphttp.Config{Serve: helloAgent(say)})
		const conn = acphttp.HeaderConnection
		id := ask(t, h, "POST", initialize).Header().Get(conn)
		w := newResponse()
		w.blocked = true
		leave := open(t, h, w, conn, id)
		say <- `{"method":"_a"}` + "\n"
		synctest.Wait()
		require.Equal(t, 202, ask(t, h, "DELETE", "", conn, id).Code)
		synctest.Wait()
		require.Contains(t, w.take(), "deadline over")
		leave()
		require.NoError(t, h.Close())
	})
}

// An agent that does not end holds a new connection up for five seconds, and a load of its session as well.
func TestAgentThatDoesNotEndHoldsNobodyUpForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		h := handler(t, acphttp.Config{MaxConnections: 1, Serve: func(_ context.Context, in io.Reader, out io.Writer) error {
			_, _ = io.WriteString(out, `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n")
			_, _ = io.Copy(io.Discard, in)
			<-release
			return nil
		}})
		require.Equal(t, 200, ask(t, h, "POST", initialize).Code)
		time.Sleep(time.Second)
		began := time.Now()
		refused := ask(t, h, "POST", initialize)
		require.Equal(t, 5*time.Second, time.Since(began))
		require.Equal(t, 503, refused.Code)
		began = time.Now()
		require.Equal(t, 503, ask(t, h, "POST", initialize).Code)
		require.Equal(t, 5*time.Second, time.Since(began), "one that is ending is waited for, too")
		time.AfterFunc(2*time.Second, func() { close(release) })
		began = time.Now()
		require.Equal(t, 200, ask(t, h, "POST", initialize).Code)
		require.Equal(t, 2*time.Second, time.Since(began))
		require.NoError(t, h.Close())
	})
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		h := handler(t, acphttp.Config{Serve: func(_ context.Context, in io.Reader, out io.Writer) error {
			_, _ = io.WriteString(out, `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n"+`{"method":"_x","params":{"sessionId":"s"}}`+"\n")
			_, _ = io.Copy(io.Discard, in)
			<-release
			return nil
		}})
		const conn = acphttp.HeaderConnection
		first, second := ask(t, h, "POST", initialize).Header().Get(conn), ask(t, h, "POST", initialize).Header().Get(conn)
		synctest.Wait()
		began := time.Now()
		require.Equal(t, 202, ask(t, h, "POST", `{"jsonrpc":"2.0","id":2,"method":"session/load","params":{"sessionId":"s"}}`, conn, second).Code)
		require.Equal(t, 5*time.Second, time.Since(began))
		require.Equal(t, 410, ask(t, h, "POST", `{}`, conn, first).Code)
		require.Equal(t, "the connection has ended\n", ask(t, h, "POST", `{}`, conn, first).Body.String())
		close(release)
		require.NoError(t, h.Close())
	})
}

// What is logged of a connection names it by the first six characters of its id, which nobody can use.
func TestConnectionsAreLoggedByPartsOfTheirNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
		fail := make(chan string)
		h := handler(t, acphttp.Config{Logger: logger, MaxBuffered: 50, Stall: time.Second, Serve: func(ctx context.Context, in io.Reader, out io.Writer) error {
			_, _ = io.WriteString(out, `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n")
			go func() { _, _ = io.Copy(io.Discard, in) }()
			for line := range fail {
				_, _ = io.WriteString(out, line)
			}
			return errors.New("it has failed")
		}})
		id := ask(t, h, "POST", initialize).Header().Get(acphttp.HeaderConnection)[:6]
		for range 3 {
			fail <- `{"method":"_x","params":{"sessionId":"s"}}` + "\n"
		}
		close(fail)
		synctest.Wait()
		require.NoError(t, h.Close())
		require.Equal(t, lines(
			`level=INFO msg="acphttp: connection begins" connection=`+id,
			`level=WARN msg="acphttp: a session's messages were dropped, because its client does not read them" connection=`+id,
			`level=WARN msg="acphttp: the agent ended with an error" connection=`+id,
			`level=INFO msg="acphttp: connection ends" connection=`+id, ""), log.String())
	})
}

// A client has ten seconds for the head of a request.
func TestHeadOfARequestHasItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		h := handler(t, acphttp.Config{Serve: helloAgent(nil)})
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- acphttp.Serve(ctx, p, h) }()
		client, server := net.Pipe()
		p.conns <- server
		began := time.Now()
		_, err := io.WriteString(client, "POST / HTTP/1.1\r\n")
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, client)
		require.Equal(t, 10*time.Second, time.Since(began))
		stop()
		require.NoError(t, <-served)
	})
}

// The head of a request may have 64 KiB, to which the server of net/http adds 4 KiB.
func TestHeadOfARequestIsBounded(t *testing.T) {
	for size, want := range map[int]string{68<<10 - 1: "401", 68<<10 + 1: "431"} {
		synctest.Test(t, func(t *testing.T) {
			p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
			ctx, stop := context.WithCancel(t.Context())
			served := make(chan error, 1)
			go func() { served <- acphttp.Serve(ctx, p, handler(t, acphttp.Config{Serve: helloAgent(nil)})) }()
			client, server := net.Pipe()
			p.conns <- server
			head := "GET / HTTP/1.1\r\nHost: localhost\r\nX: "
			head += strings.Repeat("x", size-len(head)-len("\r\n\r\n")) + "\r\n\r\n"
			go func() { _, _ = io.WriteString(client, head) }()
			answer := make([]byte, 12)
			_, err := io.ReadFull(client, answer)
			require.NoError(t, err)
			require.Equal(t, "HTTP/1.1 "+want, string(answer))
			require.NoError(t, client.Close())
			time.Sleep(time.Second) // the server closes with care
			stop()
			require.NoError(t, <-served)
		})
	}
}

// A message of 64 MiB is taken by default, and no longer one.
func TestMessagesHaveAMostLength(t *testing.T) {
	h := handler(t, acphttp.Config{Serve: helloAgent(nil)})
	for more, want := range map[int64]int{0: 400, 1: 413} { // it is not JSON
		w := httptest.NewRecorder()
		r := asking(t.Context(), "POST", "")
		r.Body = io.NopCloser(io.LimitReader(letters{}, 64<<20+more))
		h.ServeHTTP(w, r)
		require.Equal(t, want, w.Code)
	}
}

type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// The answer to initialize is the one with its id, once. What the agent says before and again goes on the connection's stream.
func TestAnswerToInitializeIsTheOneWithItsID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := handler(t, acphttp.Config{Serve: func(_ context.Context, in io.Reader, out io.Writer) error {
			_, _ = io.WriteString(out, `{"method":"_early"}`+"\n"+`{"jsonrpc":"2.0","id":7,"result":{}}`+"\n"+`{"jsonrpc":"2.0","id":1,"result":{"first":1}}`+"\n"+`{"jsonrpc":"2.0","id":1,"result":{"again":1}}`+"\n")
			_, _ = io.Copy(io.Discard, in)
			return nil
		}})
		const conn = acphttp.HeaderConnection
		first := ask(t, h, "POST", initialize)
		require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"first":1}}`, first.Body.String())
		w := newResponse()
		leave := open(t, h, w, conn, first.Header().Get(conn))
		got := w.take()
		leave()
		for i, want := range []string{"_early", `id\":7`, `again`} {
			require.Contains(t, got, fmt.Sprintf(`"id: %d\n`, i+1))
			require.Contains(t, got, want)
		}
		require.NotContains(t, got, "first")
		require.NoError(t, h.Close())
	})
}
