// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
)

// TestTurnsAreTakenUpWithinTheHeartbeat kills the worker that runs a turn. The other one continues
// it within the heartbeat, plus what a turn takes to begin on this machine. The log has the times.
func TestTurnsAreTakenUpWithinTheHeartbeat(t *testing.T) {
	c := dial(t, new(temporalengine.MemoryBlobs))
	dir := t.TempDir()
	w := sessionWorker{
		Address: shared.server.address, Queue: t.Name() + fmt.Sprint(time.Now().UnixNano()),
		Dir: filepath.Join(dir, "store"), Log: filepath.Join(dir, "log"),
		Heartbeat: 3 * time.Second,
	}
	h, store, _, err := sessions(c, w)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, h.Close(context.Background()))
		require.NoError(t, store.Close())
	})
	calls := func() int {
		data, _ := os.ReadFile(w.Log)
		return strings.Count(string(data), "\n")
	}
	workers := []*exec.Cmd{startSessionWorker(t, w), startSessionWorker(t, w)}
	var times, begins []time.Duration
	for range *kills {
		s, err := h.Create(t.Context(), session.New{}, nil)
		require.NoError(t, err)
		before := calls()
		ended := make(chan *host.Outcome, 1)
		prompted := time.Now()
		go func() {
			o, _ := s.Prompt(t.Context(), host.Prompt{Parts: []model.Part{model.User("act")}})
			ended <- o
		}()
		require.Eventually(t, func() bool { return calls() > before }, time.Minute, time.Millisecond)
		begins = append(begins, time.Since(prompted))
		info, err := store.Get(t.Context(), s.ID())
		require.NoError(t, err)
		for i, worker := range workers {
			if strings.Contains(info.Holder, fmt.Sprintf("process %d ", worker.Process.Pid)) {
				require.NoError(t, worker.Process.Kill())
				_ = worker.Wait()
				before = calls()
				killed := time.Now()
				require.Eventually(t, func() bool { return calls() > before || len(ended) > 0 }, time.Minute, time.Millisecond)
				times = append(times, time.Since(killed))
				workers[i] = startSessionWorker(t, w)
			}
		}
		require.Equal(t, transcript.Done, (<-ended).Reason)
		require.NoError(t, s.Close(t.Context()))
	}
	t.Logf("heartbeat %v: continued after %v; turns began after %v", w.Heartbeat, times, begins)
	require.NotEmpty(t, times)
	slices.Sort(times)
	require.Less(t, times[len(times)/2], w.Heartbeat+slices.Max(begins))
}
