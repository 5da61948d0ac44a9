// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
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

// TestRunsAreTakenUpAfterTheHeartbeat kills the worker that executes a step of a workflow. The
// server has another one execute it when it has missed a heartbeat, and when its next timer is due.
func TestRunsAreTakenUpAfterTheHeartbeat(t *testing.T) {
	c := dial(t, new(temporalengine.MemoryBlobs))
	w := sessionWorker{
		Address: shared.server.address, Queue: t.Name() + fmt.Sprint(time.Now().UnixNano()),
		Log: filepath.Join(t.TempDir(), "log"),
	}
	number, err := strconv.Atoi(slowCrew)
	require.NoError(t, err)
	run := crewOfWorkflows(t, w)
	workers := []*exec.Cmd{startWorker(t, crewEnv, w), startWorker(t, crewEnv, w)}
	ended := make(chan error, 1)
	go func() { ended <- run(number) }()
	asked := func() int {
		data, _ := os.ReadFile(w.Log)
		return strings.Count(string(data), "asked ")
	}
	require.Eventually(t, func() bool { return asked() == 1 }, time.Minute, time.Millisecond)
	d, err := c.DescribeWorkflowExecution(t.Context(), fmt.Sprint(w.Queue, number), "")
	require.NoError(t, err)
	require.Len(t, d.GetPendingActivities(), 1)
	for i, worker := range workers {
		pid := fmt.Sprint(worker.Process.Pid, "@")
		if strings.HasPrefix(d.GetPendingActivities()[0].GetLastWorkerIdentity(), pid) {
			require.NoError(t, worker.Process.Kill())
			_ = worker.Wait()
			workers[i] = startWorker(t, crewEnv, w)
		}
	}
	killed := time.Now()
	require.Eventually(t, func() bool { return asked() == 2 }, time.Minute, time.Millisecond)
	took := time.Since(killed)
	t.Logf("heartbeat %v: the step was executed again after %v", heartbeat, took)
	require.Less(t, took, 4*heartbeat)
	require.NoError(t, <-ended)
}
