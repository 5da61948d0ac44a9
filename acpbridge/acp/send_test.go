// SPDX-License-Identifier: Apache-2.0

package acp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// countingWriter notes how often and how much is written.
type countingWriter struct {
	io.WriteCloser
	writes, bytes, largest int
}

func (w *countingWriter) Write(b []byte) (int, error) {
	w.writes++
	w.bytes += len(b)
	w.largest = max(w.largest, len(b))
	return w.WriteCloser.Write(b)
}

func TestASlowReaderLosesNothing(t *testing.T) {
	const n = 100_000
	r, w := acp.Pipe()
	in, hold := acp.Pipe()
	counted := &countingWriter{WriteCloser: w}
	conn := acp.NewAgentConn(in, counted, func(*acp.AgentConn) acp.Agent { return &fakeAgent{} }, nil)
	go conn.Serve(context.WithoutCancel(t.Context())) //nolint:errcheck
	sent := make(chan error, 1)
	go func() {
		for i := range n {
			if err := conn.SessionUpdate(t.Context(), text(fmt.Sprint(i))); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	lines := bufio.NewReaderSize(r, 4<<10)
	for i := range n {
		if i%20_000 == 0 {
			time.Sleep(time.Millisecond)
		}
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, line, fmt.Sprintf(`"text":"%d"`, i))
	}
	require.NoError(t, <-sent)
	hold.Close()
	<-conn.Done()
	assert.Less(t, counted.writes, n/20, "small messages are joined")
	assert.LessOrEqual(t, counted.largest, 64<<10)
}

func TestASendToAPeerThatDoesNotReadEndsWithItsCtx(t *testing.T) {
	for _, c := range []struct {
		queue, size int
		want        float64
	}{{10 << 10, 1000, 10}, {0, 50_000, 21}, {-1, 50_000, 21}} { // 1 MiB by default
		bubble(t, func(t *testing.T) {
			in, _ := acp.Pipe()
			w := blockedWriter{make(chan struct{})}
			conn := acp.NewAgentConn(in, w, func(*acp.AgentConn) acp.Agent { return &fakeAgent{} }, &acp.ConnOptions{MaxQueue: c.queue})
			go conn.Serve(context.WithoutCancel(t.Context())) //nolint:errcheck

			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("patience"))
			defer cancel()
			start := time.Now()
			queued := 0
			var err error
			for err == nil {
				if err = conn.SessionUpdate(ctx, text(strings.Repeat("x", c.size))); err == nil {
					queued++
				}
			}
			assert.EqualError(t, err, "acp: session/update: patience")
			assert.Equal(t, time.Second, time.Since(start))
			assert.InDelta(t, c.want, queued, 3, "the queue is bounded")

			blocked := make(chan error, 1)
			go func() { blocked <- conn.SessionUpdate(t.Context(), text(strings.Repeat("x", c.size))) }()
			synctest.Wait()
			conn.Close()
			assert.ErrorIs(t, <-blocked, acp.ErrClosed)
			<-conn.Done() // although the writer was blocked: its stream has been closed
		})
	}
}

// full serves an agent whose peer does not read, and fills half of its queue of 2 KiB.
func full(t *testing.T) *acp.AgentConn {
	in, _ := acp.Pipe()
	conn := acp.NewAgentConn(in, blockedWriter{make(chan struct{})}, func(*acp.AgentConn) acp.Agent { return &fakeAgent{} },
		&acp.ConnOptions{MaxQueue: 2 << 10})
	go conn.Serve(context.WithoutCancel(t.Context())) //nolint:errcheck
	t.Cleanup(func() {
		conn.Close()
		<-conn.Done()
	})
	require.NoError(t, conn.SessionUpdate(t.Context(), text(strings.Repeat("x", 1<<10))))
	return conn
}

func TestSendThatGivesUpLetsTheNextOneIn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		conn := full(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		large, small := make(chan error, 1), make(chan error, 1)
		go func() { large <- conn.SessionUpdate(ctx, text(strings.Repeat("x", 1<<10))) }()
		synctest.Wait()
		go func() { small <- conn.SessionUpdate(t.Context(), text("x")) }()
		synctest.Wait()
		require.Empty(t, small, "first come, first served")
		patience := errors.New("patience")
		cancel(patience)
		require.ErrorIs(t, <-large, patience)
		require.NoError(t, <-small)
	})
}

// A context may end at the same moment as the connection. Whichever the sender notices, the message has not been taken.
func TestSendCutShortByTheEndFails(t *testing.T) {
	for range 200 {
		bubble(t, func(t *testing.T) {
			conn := full(t)
			ctx, cancel := context.WithCancel(t.Context())
			sent := make(chan error, 1)
			go func() { sent <- conn.SessionUpdate(ctx, text(strings.Repeat("x", 1<<10))) }()
			synctest.Wait()
			cancel()
			conn.Close()
			require.Error(t, <-sent)
		})
	}
}

func TestAMessageLargerThanTheQueueGoesOutAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := initializedAgent(t, &fakeAgent{}, &acp.ConnOptions{MaxQueue: 1 << 10})
		big := strings.Repeat("x", 200<<10)
		sent := make(chan error, 1)
		go func() {
			for _, s := range []string{"a", big, "b"} {
				if err := p.conn.SessionUpdate(t.Context(), text(s)); err != nil {
					sent <- err
				}
			}
			sent <- nil
		}()
		for _, want := range []string{"a", big, "b"} {
			assert.Contains(t, p.line(), `"text":"`+want+`"`)
		}
		assert.NoError(t, <-sent)
	})
}

func TestWithRoomACancelledTurnCanStillReport(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := initializedAgent(t, &fakeAgent{}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, p.conn.SessionUpdate(ctx, text("interrupted")))
		assert.Contains(t, p.line(), "interrupted")
	})
}

func TestAFloodOfBadLinesFromAPeerThatDoesNotReadTakesBoundedMemory(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const n = 50_000
		replies := 0
		opts := &acp.ConnOptions{
			MaxQueue: 10 << 10,
			Tap: func(dir acp.Direction, _ []byte) {
				if dir == acp.Sent {
					replies++
				}
			},
		}
		p := initializedAgent(t, &fakeAgent{}, opts)
		p.send(strings.Repeat("x\n", n))
		synctest.Wait()
		assert.Less(t, replies, n/10)
		p.send(request(1, "session/list", "{}"))
		for {
			if strings.Contains(p.line(), `"id":1,`) {
				return
			}
		}
	})
}

func TestThirtyTwoMiBGoThroughBothWays(t *testing.T) {
	size := 32 << 20
	if raceEnabled { // which makes it ten times as slow
		size = 8 << 20
	}
	content := strings.Repeat("0123456789abcde\n", size/16)
	var written string
	client := &fakeClient{readFile: func(context.Context, *acp.ReadTextFileRequest) (*acp.ReadTextFileResponse, error) {
		return &acp.ReadTextFileResponse{Content: content}, nil
	}}
	agent := &fakeAgent{}
	a, c := acp.Pair(
		func(*acp.AgentConn) acp.Agent { return agent },
		func(*acp.ClientConn) acp.Client { return writingClient{client, &written} }, nil, nil)
	serveBoth(t, a, c)
	got, err := a.ReadTextFile(t.Context(), &acp.ReadTextFileRequest{SessionID: "s", Path: "/f"})
	require.NoError(t, err)
	require.True(t, content == got.Content)
	_, err = a.WriteTextFile(t.Context(), &acp.WriteTextFileRequest{SessionID: "s", Path: "/f", Content: content})
	require.NoError(t, err)
	require.True(t, content == written)
}

type writingClient struct {
	*fakeClient
	written *string
}

func (c writingClient) WriteTextFile(_ context.Context, p *acp.WriteTextFileRequest) (*acp.WriteTextFileResponse, error) {
	*c.written = p.Content
	return nil, nil
}
