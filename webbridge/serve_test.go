// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/webbridge"
)

// TestServeRunsWhatKilledServersHaveLeft has a server find a prompt that waits in the inbox of a session that nobody has open, and
// leave alone one in a directory that it does not serve.
func TestServeRunsWhatKilledServersHaveLeft(t *testing.T) {
	store := new(session.Memory)
	data, err := json.Marshal(map[string]any{"parts": []model.Part{model.User("go")}})
	require.NoError(t, err)
	var paths []string
	for _, dir := range []string{"/repo", "/elsewhere"} {
		info, err := store.Create(t.Context(), session.New{Dir: dir})
		require.NoError(t, err)
		_, err = store.Put(t.Context(), info.ID, session.Item{ID: "p", Kind: session.ItemPrompt, Data: data, By: "a process that was killed"})
		require.NoError(t, err)
		paths = append(paths, info.ID)
	}
	s := serve(t, options{host: host.Config[none, string]{Store: shared{store}}, Options: webbridge.Options{Dirs: []string{"/repo"}}})
	ctx, stop := context.WithCancelCause(t.Context())
	served := make(chan error)
	go func() { served <- s.handler.Serve(ctx) }()
	f := s.feed([]string{"/api/sessions/" + paths[0]}, nil, false)
	f.until(func() bool { return f.ones[0].has("You said go")() && !f.ones[0].running })
	time.Sleep(50 * time.Millisecond)
	info, err := store.Get(t.Context(), paths[1])
	require.NoError(t, err)
	require.Equal(t, int64(1), info.Waiting)
	over := errors.New("over")
	stop(over)
	require.ErrorIs(t, <-served, over)
}
