// SPDX-License-Identifier: Apache-2.0

package lsp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/lsp"
)

func framed(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }

// What a server sends is a message, or ends the connection with what is wrong.
func TestMessagesAreReadOrEndTheConnection(t *testing.T) {
	notice := framed(`{"method":"hello"}`)
	long := strings.Repeat("x", 100)
	for _, c := range []struct {
		sent string
		told int
		want string
	}{
		{"", 0, "EOF"},
		{notice + notice, 2, "EOF"},
		{"content-length : 18\n\n" + `{"method":"hello"}`, 1, "EOF"},
		{"Content-Type: x\r\nCONTENT-LENGTH:18\r\n\r\n" + `{"method":"hello"}`, 1, "EOF"},
		{"Content-Length: 1\r\nContent-Length: 18\r\n\r\n" + `{"method":"hello"}`, 1, "EOF"},
		{"\r\n", 0, "it has sent a message without Content-Length"},
		{"Content-Type: x\r\n\r\n", 0, "it has sent a message without Content-Length"},
		{"Content-Length: x\r\n\r\n", 0, `it has sent a malformed Content-Length " x"`},
		{"Content-Length: -1\r\n\r\n", 0, `it has sent a malformed Content-Length " -1"`},
		{"Content-Length: 99999999999999999999\r\n\r\n", 0, `it has sent a malformed Content-Length " 99999999999999999999"`},
		{"Welcome\r\n", 0, `it has sent "Welcome" where the header of a message belongs`},
		{long + "\n", 0, `it has sent "` + long[:80] + `" where the header of a message belongs`},
		{notice + "Content-Le", 1, `it has ended with "Content-Le"`},
		{notice + "Content-Length: 18\r\n", 1, "unexpected EOF"},
		{"Content-Length: 18\r\n\r\n{", 0, "unexpected EOF"},
		{"Content-Length: 0\r\n\r\n", 0, "it has sent a message that is not JSON-RPC: unexpected end of JSON input"},
		{framed("hello"), 0, "it has sent a message that is not JSON-RPC: invalid character 'h' looking for beginning of value"},
		{framed(`{"method":"hello"` + strings.Repeat(" ", 82) + "}"), 1, "EOF"},
		{framed(`{"method":"hello"` + strings.Repeat(" ", 83) + "}"), 0, "it has sent a message of 101 bytes; at most 100 are accepted"},
		{"A: " + strings.Repeat("x", 4066) + "\r\nContent-Length: 2\r\n\r\n{}", 0, "EOF"},
		{"A: " + strings.Repeat("x", 4070) + "\r\nContent-Length: 2\r\n\r\n{}", 0, "EOF"},
		{"A: " + strings.Repeat("x", 4071) + "\r\nContent-Length: 2\r\n\r\n{}", 0, "it has sent a header that is too long"},
		{"A: " + strings.Repeat("x", 4072) + "\r\nContent-Length: 2\r\n\r\n{}", 0, "it has sent a header that is too long"},
		{strings.Repeat("x", 100_000), 0, "it has sent a header that is too long"},
		{strings.Repeat(notice, 5), 5, "EOF"},
		{strings.Repeat(notice, 6), 5, "it has sent 6 messages with 108 bytes within 10s"},
		{strings.Repeat(framed(`{"method":"hello"`+strings.Repeat(" ", 62)+"}"), 3), 2, "it has sent 3 messages with 240 bytes within 10s"},
		{strings.Repeat(framed(`{"method":"hello"`+strings.Repeat(" ", 49)+"}"), 3), 3, "EOF"},
	} {
		told := make(chan string, 10)
		stream := &script{Reader: strings.NewReader(c.sent), closed: make(chan struct{})}
		conn := lsp.NewConn(stream, &handler{told}, lsp.Limits{Message: 100, Messages: 5, Bytes: 201})
		<-conn.Done()
		require.EqualError(t, conn.Err(), "the connection to the language server has ended: "+c.want, "%.40q", c.sent)
		conn.Close()
		require.Len(t, told, c.told, "%.40q", c.sent)
	}
}

// The bounds of what is sent hold for ten seconds. By default they are 50,000 messages of 64 MiB.
func TestBoundsBeginAnew(t *testing.T) {
	bubble(t, func(t *testing.T) {
		here, there := net.Pipe()
		conn := lsp.NewConn(here, &handler{make(chan string, 100)}, lsp.Limits{Messages: 3})
		defer conn.Close()
		send := func(n int) {
			for range n {
				_, _ = io.WriteString(there, framed(`{"method":"hello"}`))
			}
			synctest.Wait()
		}
		send(3)
		time.Sleep(10*time.Second + 1)
		send(3)
		require.NoError(t, conn.Err())
		time.Sleep(10 * time.Second)
		send(1)
		require.ErrorContains(t, conn.Err(), "it has sent 4 messages with 72 bytes within 10s")
	})
	for sent, want := range map[string]string{
		strings.Repeat(framed(`{"method":"x"}`), 50_000): "EOF", strings.Repeat(framed(`{"method":"x"}`), 50_001): "it has sent 50001 messages with 700014 bytes within 10s",
		fmt.Sprintf("Content-Length: %d\r\n\r\n", 64<<20): "unexpected EOF", fmt.Sprintf("Content-Length: %d\r\n\r\n", 64<<20+1): "it has sent a message of 67108865 bytes; at most 67108864 are accepted",
	} {
		conn := lsp.NewConn(&script{Reader: strings.NewReader(sent)}, &handler{make(chan string, 60_000)}, lsp.Limits{})
		<-conn.Done()
		require.EqualError(t, conn.Err(), "the connection to the language server has ended: "+want)
		conn.Close()
	}
}

// Answers to requests that nobody has made are ignored, a thousand of them.
func TestStrayAnswersAreBounded(t *testing.T) {
	for n, want := range map[int]string{1000: "EOF", 1001: "it keeps answering requests that nobody has made"} {
		for _, id := range []string{"7", `"x"`, "null", "1.5"} {
			stray := strings.Repeat(framed(`{"id":`+id+`,"result":1}`), n)
			conn := lsp.NewConn(&script{Reader: strings.NewReader(stray)}, &handler{}, lsp.Limits{})
			<-conn.Done()
			require.EqualError(t, conn.Err(), "the connection to the language server has ended: "+want, id)
			conn.Close()
		}
	}
}

// Answers have results, errors, or neither. A call that has its answer is not told that it has ended.
func TestAnswers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		here, there := net.Pipe()
		conn := lsp.NewConn(here, &handler{}, lsp.Limits{})
		defer conn.Close()
		r := bufio.NewReader(there)
		read := func() string {
			var n int
			_, err := fmt.Fscanf(r, "Content-Length: %d\r\n\r\n", &n)
			require.NoError(t, err)
			body := make([]byte, n)
			_, err = io.ReadFull(r, body)
			require.NoError(t, err)
			return string(body)
		}
		var value any
		for i, c := range []struct {
			answer string
			result any
			want   any
			err    string
		}{
			{`"result":{"a":1}`, &value, map[string]any{"a": 1.0}, ""}, {`"result":null`, &value, nil, ""}, {`"x":1`, &value, nil, ""}, {`"result":1`, nil, nil, ""},
			{`"error":{"code":7,"message":"no"},"result":1`, &value, nil, "no (code 7)"}, {`"result":"x"`, new(int), nil, "the answer to ask is malformed: json: cannot unmarshal string into Go value of type int"},
		} {
			value = nil
			done := make(chan error, 1)
			go func() { done <- conn.Call(t.Context(), "ask", map[string]int{"n": i}, c.result) }()
			require.Equal(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ask","params":{"n":%d}}`, i+1, i), read())
			_, err := io.WriteString(there, framed(fmt.Sprintf(`{"id":%d,%s}`, i+1, c.answer)))
			require.NoError(t, err)
			if err := <-done; c.err != "" {
				require.EqualError(t, err, c.err)
			} else {
				require.NoError(t, err)
				require.Equal(t, c.want, value, c.answer)
			}
		}
		require.NoError(t, conn.Notify(t.Context(), "tell", nil))
		require.Equal(t, `{"jsonrpc":"2.0","method":"tell"}`, read())
		for _, c := range [][2]string{
			{`{"id":"a","method":"echo","params":[1]}`, `{"jsonrpc":"2.0","id":"a","result":[1]}`}, {`{"id":2,"method":"modified"}`, `{"jsonrpc":"2.0","id":2,"result":null}`},
			{`{"id":3,"method":"fail"}`, `{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"because"}}`}, {`{"id":4,"method":"none"}`, `{"jsonrpc":"2.0","id":4,"error":{"code":-32601,"message":"method not found"}}`},
		} {
			_, err := io.WriteString(there, framed(c[0]))
			require.NoError(t, err)
			require.Equal(t, c[1], read())
		}
		// A call whose context ends is forgotten, and its late answer is ignored.
		because := errors.New("because")
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error, 1)
		go func() { done <- conn.Call(ctx, "slow", nil, nil) }()
		require.Contains(t, read(), `"id":7,"method":"slow"`)
		cancel(because)
		require.ErrorIs(t, <-done, because)
		require.Equal(t, `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":7}}`, read())
		// Calls in progress end with the connection.
		go func() { done <- conn.Call(t.Context(), "slow", nil, nil) }()
		read()
		conn.End(because)
		conn.End(errors.New("another"))
		err := <-done
		require.ErrorIs(t, err, lsp.ErrClosed)
		require.ErrorIs(t, err, because)
		require.Equal(t, err, conn.Err(), "the first reason counts")
		require.Equal(t, err, conn.Call(t.Context(), "x", nil, nil))
	})
}

// A server that does not read what it is sent loses its connection, and callers wait no longer than
// their contexts.
func TestServersThatDoNotRead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		here, there := net.Pipe()
		conn := lsp.NewConn(here, &handler{}, lsp.Limits{})
		defer conn.Close()
		for range 512 + 1 { // one of them is being written
			require.NoError(t, conn.Notify(t.Context(), "tell", nil))
			synctest.Wait()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, conn.Notify(ctx, "tell", nil), context.DeadlineExceeded)
		require.ErrorIs(t, conn.Call(ctx, "ask", nil, nil), context.DeadlineExceeded)
		_, err := io.WriteString(there, framed(`{"id":1,"method":"echo"}`))
		require.NoError(t, err)
		<-conn.Done()
		require.ErrorContains(t, conn.Err(), "it does not read what it is sent")
	})
	bubble(t, func(t *testing.T) {
		here, there := net.Pipe()
		conn := lsp.NewConn(here, &handler{}, lsp.Limits{})
		defer conn.Close()
		require.NoError(t, there.Close())
		_ = conn.Notify(t.Context(), "tell", json.RawMessage("1"))
		<-conn.Done()
		require.ErrorIs(t, conn.Err(), lsp.ErrClosed)
	})
}
