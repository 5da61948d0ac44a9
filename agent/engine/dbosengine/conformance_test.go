// SPDX-License-Identifier: Apache-2.0

package dbosengine

import (
	"context"
	"log/slog"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/engine/enginetest"
)

// launch starts what a process has of DBOS, with a workflow.
func launch(t *testing.T, url string, work func(dbos.Context, string) (string, error)) dbos.Context {
	t.Helper()
	c, err := dbos.NewContext(context.Background(), dbos.Config{
		AppName: "ponte-test", DatabaseURL: url, Logger: slog.New(slog.DiscardHandler), ApplicationVersion: "1", ExecutorID: "one",
	})
	require.NoError(t, err)
	dbos.RegisterWorkflow(c, work, dbos.WithWorkflowName("work"))
	require.NoError(t, dbos.Launch(c))
	return c
}

// TestConformance has each life of a run in a process of DBOS of its own. The workflow never
// ends, so the next process takes it up, as if this one had been killed.
func TestConformance(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "dbos.db")
	begun := map[string]bool{}
	enginetest.Conformance(t, enginetest.Harness{Durable: true, Play: func(life context.Context, t *testing.T, l *enginetest.Life, play enginetest.Play) {
		over := make(chan struct{})
		work := func(ctx dbos.Context, id string) (string, error) {
			if id == l.RunID {
				eng := newEngine(ctx, l.Worker)
				_ = play(life, eng)
				eng.Close()
				close(over)
			}
			<-ctx.Done()
			runtime.Goexit()
			return "", nil
		}
		c := launch(t, url, work)
		if !begun[l.RunID] {
			begun[l.RunID] = true
			_, err := dbos.RunWorkflow(c, work, l.RunID, dbos.WithWorkflowID(l.RunID))
			require.NoError(t, err)
		}
		<-over
		require.NoError(t, dbos.Shutdown(c, 10*time.Second))
	}})
}
