// SPDX-License-Identifier: Apache-2.0

package durable_test

import (
	"context"
	"flag"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
	"github.com/ponte-go/ponte/internal/fleettest"
	"github.com/ponte-go/ponte/internal/proxytest"
)

var turns = flag.Int("turns", 0,
	"how many turns people take on pages and in editors, while workers and the server are killed and stalled")

// heartbeat is how long a worker may be silent.
const heartbeat = time.Second

func TestMain(m *testing.M) {
	if !fleettest.Child(openFleet) {
		os.Exit(m.Run())
	}
}

// running is a store whose sessions Temporal runs.
type running struct {
	*sqlitestore.Store
	runner host.Runner
}

func (r running) Runner() host.Runner { return r.runner }

// patient serves again when the server was away at the beginning.
type patient struct{ *temporalengine.Runner }

// Serve implements [host.Runner].
func (p patient) Serve(ctx context.Context, t host.Turns) error {
	for {
		if err := p.Runner.Serve(ctx, t); ctx.Err() != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// openFleet opens the store of a fleet. The directory has the address of the server in front.
func openFleet(spec string) (session.Store, error) {
	address, dir, _ := strings.Cut(spec, " ")
	c, err := client.Dial(client.Options{
		HostPort: address, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		return nil, err
	}
	store, err := sqlitestore.Open(dir, sqlitestore.Options{})
	if err != nil {
		return nil, err
	}
	r, err := temporalengine.NewRunner(temporalengine.RunnerConfig{
		Client: c, TaskQueue: "fleet", Store: store, Heartbeat: heartbeat,
	})
	return running{store, patient{r}}, err
}

// TestTurnsOnTemporalEndWhateverIsKilled has people talk through pages and editors, whose servers are
// the workers. Besides them, Temporal's server is killed, and a proxy in front of it stalls.
func TestTurnsOnTemporalEndWhateverIsKilled(t *testing.T) {
	if *turns == 0 {
		t.Skip("takes minutes: use -turns")
	}
	program, dir := temporal(t), t.TempDir()
	port := free(t)
	start := func() *exec.Cmd {
		cmd := exec.Command(program, "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", port,
			"--log-level", "never", "--db-filename", filepath.Join(dir, "temporal.db"),
			"--dynamic-config-value", "history.transferProcessorMaxPollRPS=2000")
		require.NoError(t, cmd.Start())
		return cmd
	}
	server := start()
	stop := func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}
	defer func() { stop() }()
	p := proxytest.New(t, "tcp", "127.0.0.1:"+port)
	killed, stalled := 0, 0
	fleettest.Pages(t, p.Address()+" "+filepath.Join(dir, "store"), *turns, func() {
		if rand.IntN(2) == 0 {
			stalled++
			end := p.Stall()
			time.Sleep(rand.N(3 * heartbeat))
			end()
			return
		}
		killed++
		stop()
		server = start()
	})
	t.Logf("Temporal's server was killed %d times, and stalled %d times", killed, stalled)
}

// free returns a port that is free.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return port
}
