// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/webbridge"
)

// endless is a store that takes no end of a turn.
type endless struct {
	session.Memory
	cause error
}

func (e *endless) Append(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
	for _, entry := range b.Entries {
		if entry.Kind == session.KindEnd {
			return 0, &session.Error{Op: "append", Session: l.Session, Err: e.cause}
		}
	}
	return e.Memory.Append(ctx, l, head, b)
}

// TestTurnsWhoseEndIsNotRecordedHaveFailed has a turn of which all is recorded but the end: by each protocol, the client is told.
func TestTurnsWhoseEndIsNotRecordedHaveFailed(t *testing.T) {
	want := host.ErrorText(session.ErrFull)
	ui := serveOn(t, echo(), webbridge.UIStreamOptions{}, &endless{cause: session.ErrFull})
	told := find(ui.chat("one").say("hello"), "error")
	require.Equal(t, want, told["errorText"])

	h, err := webbridge.New(webbridge.Config[aguiNone, string]{
		Host:    host.Config[aguiNone, string]{Agent: agent.Must(agent.New(agent.Config[aguiNone, string]{Model: echo()})), Store: &endless{cause: session.ErrFull}, Logger: slog.New(slog.DiscardHandler)},
		Options: webbridge.Options{Token: aguiToken, Protocols: []webbridge.Protocol{webbridge.AGUI(webbridge.AGUIOptions{})}},
	})
	require.NoError(t, err)
	require.Equal(t, aguiObject{"type": "RUN_ERROR", "message": want, "code": "failed"}, withoutTime(last(listen(t, h).say("one", "hello"))))
}

func withoutTime(e aguiObject) aguiObject {
	delete(e, "timestamp")
	return e
}

// TestTurnsThatAreLeftAreErrors has a store that stays out of reach at the end of a turn: the turn is left without an end, and the client is told.
func TestTurnsThatAreLeftAreErrors(t *testing.T) {
	for path, body := range map[string]string{
		"/api/agui": `{"threadId":"one","runId":"r","messages":[{"id":"m","role":"user","content":"x"}]}`,
		"/api/chat": `{"id":"one","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"x"}]}]}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHandler(t, options{host: host.Config[none, string]{Store: &endless{cause: session.ErrUnavailable}, Logger: slog.New(slog.DiscardHandler)}, Options: webbridge.Options{
				Protocols: []webbridge.Protocol{webbridge.UIStream(webbridge.UIStreamOptions{}), webbridge.AGUI(webbridge.AGUIOptions{})},
			}})
			w := httptest.NewRecorder()
			h.ServeHTTP(w, request(t.Context(), "POST", path, body))
			require.Equal(t, 200, w.Code, w.Body.String())
			require.Regexp(t, `data: \{[^\n]*"(RUN_ERROR|error)"[^\n]*the store cannot be reached: the turn goes on when it can be`, w.Body.String())
			require.NoError(t, h.Shutdown(t.Context()))
		})
	}
}
