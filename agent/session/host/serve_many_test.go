// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
)

// Serve runs sixteen turns at a time. The others begin when one of these has ended.
func TestServingRunsSixteenTurnsAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun atomic.Int64
		end := make(chan struct{})
		says := modeltest.Func(func(ctx context.Context, _ *model.Request) (*model.Message, error) {
			begun.Add(1)
			select {
			case <-end:
				return model.Response(model.Text("done")), nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		})
		store := new(session.Memory)
		for range 18 {
			info, err := store.Create(t.Context(), session.New{})
			require.NoError(t, err)
			_, err = store.Put(t.Context(), info.ID, session.Item{
				Kind: session.ItemPrompt, Time: time.Now(), Data: []byte(`{"parts":[{"kind":"user","text":"Go."}]}`),
			})
			require.NoError(t, err)
		}
		h := newHost(t, host.Config[none, string]{Agent: newAgent(says), Store: shared{store}})
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- h.Serve(ctx) }()
		for i, want := range []int64{16, 17, 18, 18} {
			synctest.Wait()
			require.Equal(t, want, begun.Load(), fmt.Sprint("after ", i, " turns have ended"))
			end <- struct{}{}
		}
		close(end)
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-served, context.Canceled)
	})
}
