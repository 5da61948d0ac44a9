// SPDX-License-Identifier: Apache-2.0

package acp_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

func TestEndOfInputCancelsHandlersAndEndsCleanly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := initializedAgent(t, &fakeAgent{prompt: func(ctx context.Context, _ *acp.PromptRequest) (*acp.PromptResponse, error) {
			<-ctx.Done()
			assert.ErrorIs(t, context.Cause(ctx), acp.ErrClosed)
			assert.ErrorIs(t, context.Cause(ctx), io.EOF)
			time.Sleep(time.Second) // Serve waits for it
			return nil, ctx.Err()
		}}, nil)
		p.send(promptLine(1, "s"), promptLine(2, "s"))
		called := make(chan error, 1)
		go func() {
			_, err := p.conn.ReadTextFile(context.WithoutCancel(t.Context()), &acp.ReadTextFileRequest{})
			called <- err
		}()
		synctest.Wait()
		start := time.Now()
		p.w.Close()
		err := <-called
		assert.ErrorIs(t, err, acp.ErrClosed)
		assert.ErrorIs(t, err, io.EOF)
		assert.EqualError(t, err, "acp: fs/read_text_file: connection closed: EOF")
		assert.NoError(t, <-p.serve)
		assert.Equal(t, time.Second, time.Since(start))
		<-p.conn.Done()
		assert.ErrorIs(t, p.conn.Err(), io.EOF)

		p.line() // the call
		p.failure("1", acp.CodeInternal)
		p.failure("2", acp.CodeInternal)
		_, readErr := p.lines.ReadByte()
		assert.Equal(t, io.EOF, readErr, "the write side is closed")
		assert.ErrorIs(t, p.conn.SessionUpdate(t.Context(), text("x")), acp.ErrClosed)
		_, err = p.conn.ReadTextFile(t.Context(), &acp.ReadTextFileRequest{})
		assert.ErrorIs(t, err, acp.ErrClosed)
		assert.Error(t, p.conn.Serve(t.Context()), "Serve may be called once")
	})
}

func TestRequestsReadBeforeTheEndOfInputAreAnswered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := servedAgent(t, &fakeAgent{}, nil)
		_, err := io.WriteString(p.w, request(1, "initialize", `{"protocolVersion":1}`)+"\n"+request(2, "session/list", "{}")) // no last line end
		require.NoError(t, err)
		p.w.Close()
		assert.NoError(t, <-p.serve)
		assert.Contains(t, p.line(), `"id":1,"result"`)
		assert.Contains(t, p.line(), `"id":2,"result"`)
	})
}

func TestUpdatesReadBeforeTheEndOfInputAreHandled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		updates := 0
		agent := &fakeAgent{}
		a, c := acp.Pair(
			func(conn *acp.AgentConn) acp.Agent { agent.conn = conn; return agent },
			func(*acp.ClientConn) acp.Client {
				return &fakeClient{update: func(context.Context, *acp.SessionNotification) error {
					time.Sleep(time.Second)
					updates++
					return nil
				}}
			}, nil, nil)
		serveBoth(t, a, c)
		for range 10 {
			require.NoError(t, a.SessionUpdate(t.Context(), text("x")))
		}
		synctest.Wait()
		a.Close()
		<-c.Done()
		assert.Equal(t, 10, updates)
	})
}

func TestCtxEndsTheConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		in, hold := acp.Pipe()
		defer hold.Close()
		_, w := acp.Pipe()
		conn := acp.NewAgentConn(in, w, func(*acp.AgentConn) acp.Agent { return &fakeAgent{} }, nil)
		boom := errors.New("boom")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(boom) })
		assert.ErrorIs(t, conn.Serve(ctx), boom)
		assert.ErrorIs(t, conn.Err(), boom)
		assert.ErrorIs(t, conn.Err(), acp.ErrClosed)
		<-conn.Done()
	})
}

func TestCloseWritesWhatIsQueued(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := initializedAgent(t, &fakeAgent{}, nil)
		for range 3 {
			require.NoError(t, p.conn.SessionUpdate(t.Context(), text("x")))
		}
		p.conn.Close()
		p.conn.Close() // again does nothing
		assert.NoError(t, <-p.serve)
		for range 3 {
			assert.Contains(t, p.line(), "session/update")
		}
		_, err := p.lines.ReadByte()
		assert.Equal(t, io.EOF, err)
	})
}

func TestCloseMayBeCalledByAHandlerAndWithoutServe(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := &fakeAgent{}
		agent.list = func(ctx context.Context) error {
			agent.conn.Close()
			<-ctx.Done()
			return nil
		}
		p := initializedAgent(t, agent, nil)
		p.send(request(1, "session/list", "{}"))
		assert.NoError(t, <-p.serve)
		assert.Contains(t, p.line(), `"id":1,"result"`)

		r, w := acp.Pipe()
		unserved := acp.NewAgentConn(r, w, func(*acp.AgentConn) acp.Agent { return agent }, nil)
		assert.NoError(t, unserved.Err())
		unserved.Close()
		<-unserved.Done()
		assert.Error(t, unserved.Serve(t.Context()))
	})
}

func TestTheEndOfTheConnectionWaitsOnlySoLongForThePeerToRead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		in, _ := acp.Pipe()
		conn := acp.NewAgentConn(in, blockedWriter{make(chan struct{})}, func(*acp.AgentConn) acp.Agent { return &fakeAgent{} },
			&acp.ConnOptions{FlushTimeout: time.Second})
		require.NoError(t, conn.SessionUpdate(t.Context(), text("never read"))) // sending may begin before Serve
		time.AfterFunc(time.Second, func() { conn.Close() })
		start := time.Now()
		assert.NoError(t, conn.Serve(t.Context()))
		assert.Equal(t, 2*time.Second, time.Since(start))
	})
}

// Serve waits for handlers. A handler that sends whatever its context says must not wait for a peer that does not read.
func TestEndFailsHandlersThatWaitForRoom(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := &fakeAgent{}
		agent.list = func(ctx context.Context) error {
			ctx = context.WithoutCancel(ctx)
			send := func() error { return agent.conn.SessionUpdate(ctx, text(strings.Repeat("x", 1000))) }
			var waiting error
			for waiting == nil {
				waiting = send()
			}
			assert.ErrorIs(t, waiting, acp.ErrClosed)
			assert.ErrorIs(t, send(), acp.ErrClosed, "begun after the end")
			return nil
		}
		p := initializedAgent(t, agent, &acp.ConnOptions{MaxQueue: 10 << 10})
		p.send(request(1, "session/list", "{}"))
		synctest.Wait() // the pipe and the queue are full
		p.conn.Close()
		require.NoError(t, <-p.serve)
	})
}

func TestAStreamThatCannotBeInterruptedHoldsNothingUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		stuck := make(chan struct{})
		defer close(stuck)
		_, w := acp.Pipe()
		conn := acp.NewAgentConn(stuckReader{stuck}, w, func(*acp.AgentConn) acp.Agent { return &fakeAgent{} }, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		assert.ErrorIs(t, conn.Serve(ctx), context.DeadlineExceeded)
		assert.Equal(t, time.Second+100*time.Millisecond, time.Since(start))
	})
}

// stuckReader is like a process's standard input: there is no way to end a read.
type stuckReader struct{ end chan struct{} }

func (r stuckReader) Read([]byte) (int, error) {
	<-r.end
	return 0, io.EOF
}

func TestAFailedWriteEndsTheConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := initializedAgent(t, &fakeAgent{}, nil)
		p.r.Close()
		require.NoError(t, p.conn.SessionUpdate(t.Context(), text("x")))
		assert.ErrorIs(t, <-p.serve, io.ErrClosedPipe)
		assert.ErrorContains(t, p.conn.Err(), "acp: connection closed: acp: write: ")
	})
}
