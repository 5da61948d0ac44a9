// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"

	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
)

var waitingRuns = flag.Int("waiting", 60, "how many runs wait for approval")

const (
	waitingEnv = "PONTE_TEMPORALENGINE_WAITING"
	cached     = 10
)

// waitingChild is a worker that keeps few workflows in memory, and prints how many goroutines it has, and how many bytes are in use.
func waitingChild(spec string) {
	var w task
	err := json.Unmarshal([]byte(spec), &w)
	if err == nil {
		blobs := temporalengine.DirBlobs{Dir: w.Blobs}
		c, dialErr := connect(w.Address, blobs)
		if err = dialErr; err == nil {
			worker.SetStickyWorkflowCacheSize(cached)
			wk := worker.New(c, w.Queue, worker.Options{})
			a := storyteller(said(model.Response(model.ToolCall("a", "guarded", `{"n":1}`)), model.Response(final("done"))), researcher(insideModel(), new(keys)), new(keys), nil)
			cfg := config(a, blobs)
			cfg.Idle = time.Second
			if _, err = temporalengine.Register(wk, cfg); err == nil {
				err = wk.Start()
			}
			for err == nil {
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				_, err = fmt.Println(runtime.NumGoroutine(), m.HeapAlloc)
				time.Sleep(500 * time.Millisecond)
			}
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// TestWaitingRunsHoldNothing in a worker that cannot be evicted: what it has does not grow with the number of runs that wait. Then all of them
// are answered, and end. Repeat the proof with -waiting 1000.
func TestWaitingRunsHoldNothing(t *testing.T) {
	blobs := temporalengine.DirBlobs{Dir: filepath.Join(t.TempDir(), "blobs")}
	c := dial(t, blobs)
	queue := rand.Text()
	spec, err := json.Marshal(task{Address: shared.server.address, Queue: queue, Blobs: blobs.Dir})
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), waitingEnv+"="+string(spec), "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	lines := bufio.NewScanner(out)
	measure := func() (goroutines, bytes int) { // what the worker has once it has nothing to do: the least of many
		for i := range 8 {
			var g, b int
			require.True(t, lines.Scan())
			_, err := fmt.Sscan(lines.Text(), &g, &b)
			require.NoError(t, err)
			if i == 0 || g < goroutines {
				goroutines, bytes = g, b
			}
		}
		return goroutines, bytes
	}
	runs := clientOf(t, c, queue)
	all := make([]*temporalengine.Run[report], *waitingRuns)
	each := func(f func(i int)) {
		var done sync.WaitGroup
		limit := make(chan struct{}, 16)
		for i := range all {
			done.Go(func() {
				limit <- struct{}{}
				defer func() { <-limit }()
				f(i)
			})
		}
		done.Wait()
	}
	begin := func(i int) {
		run, err := runs.Start(t.Context(), temporalengine.Input{ID: fmt.Sprint(queue, "-", i), Prompt: "Go.", Metadata: ada})
		if err == nil {
			all[i] = run
			for {
				state, err := run.State(t.Context())
				if err == nil && len(state.Pending) > 0 {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
		}
		t.Error(err)
	}
	rest := all
	all = all[:2*cached] // as many as the cache takes, and more
	each(begin)
	fewGoroutines, fewBytes := measure()
	all = rest
	each(func(i int) {
		if i >= 2*cached {
			begin(i)
		}
	})
	goroutines, bytes := measure()
	t.Logf("%d runs wait: %d goroutines, %.1f MB; %d runs: %d goroutines, %.1f MB", 2*cached, fewGoroutines, float64(fewBytes)/1e6, *waitingRuns, goroutines, float64(bytes)/1e6)
	require.LessOrEqual(t, goroutines, fewGoroutines+60, "they grow with the runs that wait")
	each(func(i int) {
		state, err := all[i].State(t.Context())
		if err == nil {
			_, err = all[i].Answer(t.Context(), both(state.Pending))
		}
		if err == nil {
			_, err = all[i].Result(t.Context())
		}
		if err != nil {
			t.Error(err)
		}
	})
}
