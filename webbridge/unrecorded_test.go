// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/webbridge"
)

// endless is a store that takes no end of a turn.
type endless struct{ session.Memory }

func (e *endless) Append(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
	for _, entry := range b.Entries {
		if entry.Kind == session.KindEnd {
			return 0, &session.Error{Op: "append", Session: l.Session, Err: session.ErrFull}
		}
	}
	return e.Memory.Append(ctx, l, head, b)
}

// TestTurnsWhoseEndIsNotRecordedHaveFailed has a turn of which all is recorded but the end: by each protocol, the client is told.
func TestTurnsWhoseEndIsNotRecordedHaveFailed(t *testing.T) {
	want := host.ErrorText(session.ErrFull)
	ui := serveOn(t, echo(), webbridge.UIStreamOptions{}, new(endless))
	told := find(ui.chat("one").say("hello"), "error")
	require.Equal(t, want, told["errorText"])

	h, err := webbridge.New(webbridge.Config[aguiNone, string]{
		Host:    host.Config[aguiNone, string]{Agent: agent.Must(agent.New(agent.Config[aguiNone, string]{Model: echo()})), Store: new(endless), Logger: slog.New(slog.DiscardHandler)},
		Options: webbridge.Options{Token: aguiToken, Protocols: []webbridge.Protocol{webbridge.AGUI(webbridge.AGUIOptions{})}},
	})
	require.NoError(t, err)
	require.Equal(t, aguiObject{"type": "RUN_ERROR", "message": want, "code": "failed"}, withoutTime(last(listen(t, h).say("one", "hello"))))
}

func withoutTime(e aguiObject) aguiObject {
	delete(e, "timestamp")
	return e
}
