// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"

	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
)

// TestWaitingRunsAreIndexed: they are found by user while no worker is there, and no longer once
// they have been answered.
func TestWaitingRunsAreIndexed(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	for range 2 { // it may be repeated
		require.NoError(t, temporalengine.AddSearchAttributes(t.Context(), c, "default"))
	}
	queue := rand.Text()
	cfg := config(newAgent(t, said(model.Response(model.ToolCall("a", "guarded", `{"n":1}`)), model.Response(final("done")))), blobs)
	cfg.Name = "o'clock " + queue
	stop := work(t, c, queue, worker.Options{}, cfg)
	for name, index := range map[string]*temporalengine.Index{"plain": {}, "hashed": temporalengine.HashedIndex([]byte("key"))} {
		t.Run(name, func(t *testing.T) {
			runs, err := temporalengine.NewClient[report](c, temporalengine.ClientOptions{Name: cfg.Name, TaskQueue: queue, Index: index})
			require.NoError(t, err)
			var started []*temporalengine.Run[report]
			for i := range 6 {
				in := temporalengine.Input{Prompt: "Go.", Metadata: ada, User: fmt.Sprint(name, "-", i%2)}
				run, err := runs.Start(t.Context(), in)
				require.NoError(t, err)
				started = append(started, run)
			}
			list := func(user string) (ids []string) {
				for w, err := range runs.Waiting(t.Context(), user) {
					require.NoError(t, err)
					require.Equal(t, 1, w.Answers)
					require.Equal(t, name == "plain", w.User == name+"-0" || w.User == name+"-1", w.User)
					ids = append(ids, w.ID)
				}
				return ids
			}
			want := []string{started[0].ID(), started[2].ID(), started[4].ID()}
			found := func() bool { return len(list(name+"-0")) == 3 }
			require.Eventually(t, found, time.Minute, 50*time.Millisecond)
			require.ElementsMatch(t, want, list(name+"-0"))
			_, err = started[0].Answer(t.Context(), both(waiting(t, started[0])))
			require.NoError(t, err)
			_, err = started[0].Result(t.Context())
			require.NoError(t, err)
			require.Eventually(t, func() bool { return len(list(name+"-0")) == 2 }, time.Minute, 50*time.Millisecond)
			require.Empty(t, list("nobody"))
			require.Empty(t, list("' OR '1' = '1"))
		})
	}
	stop()
	runs, err := temporalengine.NewClient[report](c, temporalengine.ClientOptions{Name: cfg.Name, TaskQueue: queue, Index: new(temporalengine.Index)})
	require.NoError(t, err)
	all := 0
	for _, err := range runs.Waiting(t.Context(), "") {
		require.NoError(t, err)
		all++
	}
	require.Equal(t, 10, all, "no worker is there")
	for _, err := range clientOf(t, c, queue).Waiting(t.Context(), "") {
		require.ErrorContains(t, err, "set ClientOptions.Index")
	}
}
