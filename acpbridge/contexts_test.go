// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acp/unstable"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/deps"
	ws "github.com/ponte-go/ponte/toolset/workspace"
)

// writable is a distant editor that writes files, too.
type writable struct{ *distant }

func (e writable) WriteTextFile(
	ctx context.Context, r *acp.WriteTextFileRequest,
) (*acp.WriteTextFileResponse, error) {
	return asks[acp.WriteTextFileResponse](ctx, e.distant, "write", r)
}

// left is how much time a context has.
func left(t *testing.T, ctx context.Context) time.Duration {
	t.Helper()
	until, ok := ctx.Deadline()
	require.True(t, ok)
	return time.Until(until)
}

// What an editor is asked for has its time, and nobody waits for it behind the call.
func TestRequestsToTheEditorEndWithTheirCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, time := map[string]context.Context{}, map[string]time.Duration{}
		e := &distant{t: t, answer: func(ctx context.Context, method string) (string, error) {
			asked[method] = ctx
			if _, ok := ctx.Deadline(); ok {
				time[method] = left(t, ctx)
			}
			if method == "release" {
				require.Error(t, asked["kill"].Err())
				require.NoError(t, ctx.Err())
			}
			return map[string]string{"read": `{"content":"after"}`, "create": `{"terminalId":"t"}`}[method] +
				map[bool]string{true: "{}"}[method != "read" && method != "create"], nil
		}}
		s := &deps.Session{ID: "s", Cwd: "/no/such/machine"}
		can := &s.Capabilities
		can.FS.ReadTextFile, can.FS.WriteTextFile, can.Terminal = true, true, true
		d := deps.ACPDeps{Client: writable{e}, Session: s}
		w, err := acpbridge.NewWorkspace(d, acpbridge.LocalFallback{})
		require.NoError(t, err)

		_, err = w.Write(t.Context(), "a", []byte("after"), ws.AnyVersion)
		require.NoError(t, err)
		p, err := w.Start(t.Context(), ws.Command{Line: "make"})
		require.NoError(t, err)
		require.NoError(t, p.Close(t.Context()))
		for method, ctx := range asked {
			require.Error(t, ctx.Err(), method)
		}
		require.Len(t, asked, 5)
		require.Equal(t, map[string]int{"read": 30, "kill": 1, "release": 2}, map[string]int{
			"read": int(time["read"].Seconds()), "kill": int(time["kill"].Seconds()),
			"release": int(time["release"].Seconds()),
		})
		require.Len(t, time, 3)
	})
}

// noting is a store that notes the context of a change.
type noting struct {
	session.Store
	update *atomic.Value // the context
}

func (s noting) Update(
	ctx context.Context, id string, c session.Change,
) (session.Info, error) {
	s.update.Store(&ctx)
	return s.Store.Update(ctx, id, c)
}

// The end of a session has the time that the program allows for it, and not more.
func TestTheEndOfASessionHasItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var noted atomic.Value
		var released context.Context
		var time time.Duration
		c := stored(t, lasting{noting{new(session.Memory), &noted}}, echo())
		c.Unstable, c.ShutdownTimeout = true, 9e9
		c.Host.Release = func(ctx context.Context, _ *host.Session, _ bare) error {
			require.NoError(t, ctx.Err())
			released, time = ctx, left(t, ctx)
			return nil
		}
		e, id := start(t, c)
		requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "one"))
		require.Nil(t, e.about(acp.MethodCloseSession, id, "").Error)
		require.Error(t, released.Err(), "nothing of the request goes on")
		require.EqualValues(t, 9e9, time)

		require.Nil(t, e.about(unstable.MethodArchiveSession, id, "").Error)
		update := *noted.Load().(*context.Context)
		require.Error(t, update.Err())
		require.EqualValues(t, 9e9, left(t, update))

		released = nil
		e.newSession()
		require.NoError(t, e.stop())
		require.Error(t, released.Err())
		require.EqualValues(t, 9e9, time)
	})
}
