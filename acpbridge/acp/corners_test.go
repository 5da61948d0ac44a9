// SPDX-License-Identifier: Apache-2.0

package acp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

func TestBrokenJSONIsAParseErrorWhereverItBreaks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := initializedAgent(t, &fakeAgent{}, nil)
		for _, line := range []string{
			`{"jsonrpc":"2.0","id":}`, `{"jsonrpc":"2.0","id":1,"method":"x","params":}`, `{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":}}`,
			`{"jsonrpc":"2.0","id":1,"method":"x\u1`, `{"jsonrpc":"2.0","id":1,"method":"x\u12345`, `{"a":"\u00g0"}`, `{"a":"\`, `{"a":tru}`, `{"a":t`,
			`{"a":-}`, `{"a":01}`, `{"a":1.}`, `{"a":1e}`, `{"a":1,}`, `{"a"}`, `{a:1}`, `{"a":1}}`, `{"a":[1,]}`,
		} {
			p.send(line)
			assert.Contains(t, p.failure("null", acp.CodeParseError), "parse error", line[:min(len(line), 80)])
		}
		p.send(request(2, "session/list", `{}`))
		assert.Contains(t, p.line(), `"id":2,"result"`)
	})
}

func TestEscapeThatIsCutOffIsAParseError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := initializedAgent(t, &fakeAgent{}, nil)
		for pad := range 64 { // whatever room the line's memory has behind it
			for _, escape := range []string{`\u`, `\u0`, `\u00`, `\u004`, `\u0041`} {
				p.send(`{"` + strings.Repeat("x", pad) + escape)
				p.failure("null", acp.CodeParseError)
			}
		}
	})
}

func TestMessagesNestAsDeepAsEncodingJSONAllows(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := initializedAgent(t, &fakeAgent{}, nil)
		for depth := 9_990; depth < 10_010; depth++ {
			for _, inner := range []string{"", "1", "{}"} {
				line := `{"jsonrpc":"2.0","id":1,"method":"session/list","params":{"x":` + strings.Repeat("[", depth) + inner + strings.Repeat("]", depth) + `}}`
				p.send(line)
				if json.Valid([]byte(line)) {
					require.Contains(t, p.line(), `"id":1,"result"`, depth)
				} else {
					p.failure("null", acp.CodeParseError)
				}
			}
		}
	})
}

func TestFailedNotificationsAreLoggedAndOthersAreNot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var log bytes.Buffer
		opts := &acp.ConnOptions{
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
			ExtNotification: func(_ context.Context, method string, _ json.RawMessage) error {
				if method == "_bad" {
					return errors.New("secret")
				}
				return nil
			},
		}
		p := initializedAgent(t, &fakeAgent{}, opts)
		p.send(notification("_good", `{}`), notification("_bad", `{}`))
		synctest.Wait()
		assert.Contains(t, log.String(), "method=_bad")
		assert.NotContains(t, log.String(), "_good")
		assert.NotContains(t, log.String(), "secret")
	})
}

// A message that alone is larger than the backlog may be is handled when nothing else waits.
func TestNotificationLargerThanTheBacklogIsHandled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		handled := 0
		p := initializedAgent(t, &fakeAgent{}, &acp.ConnOptions{
			MaxBacklog:      100,
			ExtNotification: func(context.Context, string, json.RawMessage) error { handled++; return nil },
		})
		p.send(notification("_large", fmt.Sprintf(`{"pad":%q}`, strings.Repeat("x", 1000))))
		synctest.Wait()
		assert.Equal(t, 1, handled)
		p.send(request(1, "session/list", fmt.Sprintf(`{"pad":%q}`, strings.Repeat("x", 1000))))
		assert.Contains(t, p.line(), `"id":1,"result"`)
	})
}

func TestRequestsThatWaitForInitializeAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		agent := &fakeAgent{initialize: func(context.Context) (*acp.InitializeResponse, error) {
			<-release
			return &acp.InitializeResponse{ProtocolVersion: acp.Version}, nil
		}}
		p := servedAgent(t, agent, &acp.ConnOptions{MaxBacklog: 1 << 10})
		p.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":1}}`)
		synctest.Wait()
		for i := range 30 {
			p.send(modeLine(i, "s", "m"))
		}
		assert.Contains(t, p.line(), "too many requests")
		close(release)
	})
}

// A handler that has released its lane leaves the rest of the session to others. When it returns it must not take a message that
// is behind one still being handled.
func TestMessagesStayInOrderWhenAReleasedHandlerReturns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		prompt, first := make(chan struct{}), make(chan struct{})
		var modes []string
		p := initializedAgent(t, &fakeAgent{
			prompt: func(ctx context.Context, _ *acp.PromptRequest) (*acp.PromptResponse, error) {
				acp.Async(ctx)
				<-prompt
				return &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
			},
			setMode: func(_ context.Context, p *acp.SetSessionModeRequest) error {
				modes = append(modes, string(p.ModeID))
				if len(modes) == 1 {
					<-first
				}
				return nil
			},
		}, nil)
		p.send(promptLine(1, "s"), modeLine(2, "s", "a"), modeLine(3, "s", "b"))
		synctest.Wait()
		close(prompt)
		assert.Contains(t, p.line(), `"id":1,`)
		synctest.Wait()
		assert.Equal(t, []string{"a"}, modes)
		close(first)
		assert.Contains(t, p.line(), `"id":2,`)
		assert.Contains(t, p.line(), `"id":3,`)
		assert.Equal(t, []string{"a", "b"}, modes)
	})
}

func TestLongLineWhoseIDIsALongNumberIsAnsweredWithoutID(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := initializedAgent(t, &fakeAgent{}, &acp.ConnOptions{MaxLine: 1 << 10})
		for _, id := range []string{strings.Repeat("7", 300), strings.Repeat("7", 2000), `"` + strings.Repeat("x", 300) + `"`} {
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"session/list","params":{"x":%q}}`, id, strings.Repeat("x", 2<<10)))
			p.failure("null", acp.CodeInvalidRequest)
		}
		id := `"` + strings.Repeat("x", 254) + `"`
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"session/list","params":{"x":%q}}`, id, strings.Repeat("x", 2<<10)))
		p.failure(id, acp.CodeInvalidRequest)
	})
}

func TestPipeKeepsEveryByteInOrder(t *testing.T) {
	r, w := acp.Pipe()
	var want, got []byte
	next := byte(0)
	write := func(n int) {
		b := make([]byte, n)
		for i := range b {
			b[i] = next
			next = next*31 + 7
		}
		want = append(want, b...)
		k, err := w.Write(b)
		require.NoError(t, err)
		require.Equal(t, n, k)
	}
	read := func(n int) {
		b := make([]byte, n)
		_, err := io.ReadFull(r, b)
		require.NoError(t, err)
		got = append(got, b...)
	}
	write(60 << 10)
	read(50 << 10)
	write(50 << 10) // what is left has to be moved
	read(1)
	write(4 << 10)
	require.NoError(t, w.Close())
	rest, err := io.ReadAll(r)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, append(got, rest...)))
}

func TestClosedPipe(t *testing.T) {
	r, w := acp.Pipe()
	require.NoError(t, r.Close())
	n, err := r.Read(make([]byte, 1))
	require.Zero(t, n)
	require.ErrorIs(t, err, io.ErrClosedPipe)
	_, err = w.Write([]byte("x"))
	require.ErrorIs(t, err, io.ErrClosedPipe)

	r, w = acp.Pipe()
	n, err = r.Read(nil)
	require.Zero(t, n)
	require.NoError(t, err, "a read of nothing does not wait")
	require.NoError(t, w.Close())
	_, err = w.Write([]byte("x"))
	require.ErrorIs(t, err, io.ErrClosedPipe)
	_, err = r.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
}

// Who waits for room in the queue is told at once that the connection ends. Messages in the queue have until CloseTimeout.
func TestSendersThatWaitForRoomFailWhenTheConnectionEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := &fakeAgent{}
		p := initializedAgent(t, agent, &acp.ConnOptions{MaxQueue: 1 << 10})
		failed := make(chan time.Time, 1)
		go func() {
			for {
				if err := agent.conn.SessionUpdate(context.Background(), text(strings.Repeat("x", 500))); err != nil {
					failed <- time.Now()
					return
				}
			}
		}()
		synctest.Wait() // the pipe and the queue are full
		begin := time.Now()
		require.NoError(t, p.w.Close())
		require.Equal(t, begin, <-failed)
	})
}

func TestIntegersMayBeWrittenAsFloatsWhileTheyAreExact(t *testing.T) {
	for text, want := range map[string]int64{
		`5.0`: 5, `1e3`: 1000, `9007199254740992.0`: 1 << 53, `-9007199254740992.0`: -1 << 53, `9223372036854775807`: 1<<63 - 1,
	} {
		var v acp.ElicitationContentValue
		require.NoError(t, json.Unmarshal([]byte(text), &v))
		require.NotNil(t, v.Integer, text)
		require.Equal(t, want, *v.Integer)
	}
	for _, text := range []string{`9007199254740994.0`, `1e16`, `9223372036854775808`, `5.5`} {
		var v acp.ElicitationContentValue
		require.NoError(t, json.Unmarshal([]byte(text), &v))
		require.NotNil(t, v.Number, text)
	}
}
