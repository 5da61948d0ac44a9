// SPDX-License-Identifier: Apache-2.0

package dbosengine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine/dbosengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

const childEnv = "PONTE_DBOSENGINE_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		child(dir)
		return
	}
	os.Exit(m.Run())
}

func open(url string) (dbos.Context, error) {
	return dbos.NewContext(context.Background(), dbos.Config{
		AppName: "ponte-test", DatabaseURL: url, Logger: slog.New(slog.DiscardHandler),
		ApplicationVersion: "1", ExecutorID: "one",
	})
}

// launch starts DBOS with a workflow until the test is over.
func launch(t *testing.T, work dbos.Workflow[string, string]) dbos.Context {
	t.Helper()
	c, err := open("sqlite:" + filepath.Join(t.TempDir(), "dbos.db"))
	require.NoError(t, err)
	dbos.RegisterWorkflow(c, work, dbos.WithWorkflowName("work"))
	require.NoError(t, dbos.Launch(c))
	t.Cleanup(func() { require.NoError(t, dbos.Shutdown(c, 10*time.Second)) })
	return c
}

type place struct {
	City string `json:"city"`
}

// traveller says what to do by the number of messages, so that a repeated request gets the same.
func traveller(visit func(ctx context.Context, city, key string) (string, error)) *agent.Agent[string, string] {
	say := func(_ context.Context, req *model.Request) (*model.Message, error) {
		switch len(req.Messages) {
		case 1:
			lima, oslo := model.ToolCall("a", "visit", `{"city":"Lima"}`), model.ToolCall("b", "visit", `{"city":"Oslo"}`)
			return model.Response(lima, oslo), nil
		case 3:
			return model.Response(model.ToolCall("c", "visit", `{"city":"Rome"}`)), nil
		}
		return model.Response(model.Text("Seen.")), nil
	}
	tool := func(ctx context.Context, run *toolset.RunContext[string], p place) (string, error) {
		return visit(ctx, run.Deps+" sees "+p.City, run.IdempotencyKey())
	}
	return agent.Must(agent.New(agent.Config[string, string]{
		Name: "traveller", Model: modeltest.Func(say),
		Tools: []*toolset.Tool[string]{toolset.Func("visit", "Visit a city.", tool)},
	}))
}

func TestRunIsThatOfTheNativeEngine(t *testing.T) {
	a := traveller(func(_ context.Context, what, _ string) (string, error) { return what, nil })
	want, err := a.Run(t.Context(), "Ada", "Go.")
	require.NoError(t, err)
	var got []*agent.Result[string]
	work := func(ctx dbos.Context, who string) (string, error) {
		for range 2 { // a workflow may run several
			res, err := dbosengine.Run(ctx, a, who, "Go.")
			if err != nil {
				return "", err
			}
			got = append(got, res)
		}
		return got[1].Output, nil
	}
	c := launch(t, work)
	h, err := dbos.RunWorkflow(c, work, "Ada")
	require.NoError(t, err)
	out, err := h.GetResult()
	require.NoError(t, err)
	require.Equal(t, "Seen.", out)
	require.NotEqual(t, got[0].RunID, got[1].RunID)
	for _, res := range got {
		require.Equal(t, want.Usage, res.Usage)
		require.Len(t, res.Messages, len(want.Messages))
		for i, m := range res.Messages {
			require.Equal(t, want.Messages[i].Parts, m.Parts)
		}
	}
}

// TestCancelledWorkflowGoesOnWhenItIsResumed: cancellation reaches the tool, and is recorded nowhere.
func TestCancelledWorkflowGoesOnWhenItIsResumed(t *testing.T) {
	var visits atomic.Int32
	working := make(chan struct{})
	a := traveller(func(ctx context.Context, what, _ string) (string, error) {
		if visits.Add(1) == 3 {
			close(working)
			<-ctx.Done()
			return "", ctx.Err()
		}
		return what, nil
	})
	work := func(ctx dbos.Context, who string) (string, error) {
		res, err := dbosengine.Run(ctx, a, who, "Go.")
		if err != nil {
			return "", err
		}
		return fmt.Sprint(res.Output, " ", res.Usage.Requests), nil
	}
	c := launch(t, work)
	ctx, cancel := dbos.WithCancel(c)
	defer cancel()
	h, err := dbos.RunWorkflow(ctx, work, "Ada", dbos.WithWorkflowID("trip"))
	require.NoError(t, err)
	<-working
	cancel()
	_, err = h.GetResult()
	require.ErrorIs(t, err, context.Canceled)
	resumed, err := dbos.ResumeWorkflow[string](c, "trip")
	require.NoError(t, err)
	out, err := resumed.GetResult()
	require.NoError(t, err)
	require.Equal(t, "Seen. 3", out)
	require.EqualValues(t, 4, visits.Load(), "Lima and Oslo are seen once, Rome again")
}

// child is a process that is killed while it sees Rome for the first time.
func child(dir string) {
	a := traveller(func(_ context.Context, what, key string) (string, error) {
		f, err := os.OpenFile(filepath.Join(dir, "visits"), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
		if err != nil {
			return "", err
		}
		defer f.Close()
		before, err := io.ReadAll(f)
		if err == nil {
			_, err = fmt.Fprintln(f, what, key)
		}
		if strings.HasSuffix(what, "Rome") && !strings.Contains(string(before), "Rome") {
			fmt.Println("kill me")
			select {}
		}
		return what, err
	})
	work := func(ctx dbos.Context, who string) (string, error) {
		res, err := dbosengine.Run(ctx, a, who, "Go.")
		if err != nil {
			return "", err
		}
		return res.Output, nil
	}
	c, err := open("sqlite:" + filepath.Join(dir, "dbos.db"))
	if err == nil {
		dbos.RegisterWorkflow(c, work, dbos.WithWorkflowName("work"))
		err = dbos.Launch(c)
	}
	var h dbos.WorkflowHandle[string]
	if err == nil {
		if h, err = dbos.RetrieveWorkflow[string](c, "trip"); err != nil {
			h, err = dbos.RunWorkflow(c, work, "Ada", dbos.WithWorkflowID("trip"))
		}
	}
	if err == nil {
		var out string
		out, err = h.GetResult()
		fmt.Println(out)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func TestRunSurvivesAKilledProcess(t *testing.T) {
	dir := t.TempDir()
	start := func() (*exec.Cmd, io.Reader) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+dir, "GOCOVERDIR="+t.TempDir())
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		return cmd, out
	}
	first, out := start()
	var said string
	_, err := fmt.Fscanf(out, "%7s me\n", &said)
	require.NoError(t, err)
	require.Equal(t, "kill", said)
	require.NoError(t, first.Process.Kill())
	require.Error(t, first.Wait())
	second, out := start()
	rest, err := io.ReadAll(out)
	require.NoError(t, err)
	require.NoError(t, second.Wait(), string(rest))
	require.Equal(t, "Seen.\n", string(rest))
	visits, err := os.ReadFile(filepath.Join(dir, "visits"))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(visits)), "\n")
	require.Len(t, lines, 4, "Lima and Oslo are seen once, Rome again")
	require.Equal(t, lines[2], lines[3], "under the same key")
}

// TestFailedStepsCountWhenAWorkflowGoesOn: what steps have used that failed, or were cancelled beside one that failed, counts once in the run
// that goes on, in whichever process.
func TestFailedStepsCountWhenAWorkflowGoesOn(t *testing.T) {
	const lives = 4
	var asked, now atomic.Int32
	say := func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
		asked.Add(1)
		resp := model.Response(model.Text("Seen."))
		if text := req.Messages[0].Parts[0].Text; len(req.Messages) == 1 && text == "Go." {
			resp = model.Response(model.ToolCall("a", "visit", `{"city":"Lima"}`), model.ToolCall("b", "visit", `{"city":"Oslo"}`), model.ToolCall("c", "visit", `{"city":"Rome"}`))
		}
		resp.Usage = model.Usage{InputTokens: 3, OutputTokens: 4}
		return resp, nil
	}
	waiting := make(chan struct{}, lives)
	visit := func(ctx context.Context, run *toolset.RunContext[string], p place) (string, error) {
		if _, err := run.Generate(ctx, &model.Request{Messages: []*model.Message{model.UserText(p.City)}}); err != nil {
			return "", err
		}
		switch {
		case p.City == "Oslo" && now.Load() < lives-1:
			<-waiting
			return "", errors.New("boom")
		case p.City == "Rome" && now.Load() < lives-1:
			waiting <- struct{}{}
			<-ctx.Done()
			return "", ctx.Err()
		}
		return p.City, nil
	}
	a := agent.Must(agent.New(agent.Config[string, string]{
		Model: model.Func(model.Info{Name: "m"}, say), Tools: []*toolset.Tool[string]{toolset.Func("visit", "Visit a city.", visit)},
	}))
	used := make(chan toolset.Usage, 1)
	work := func(ctx dbos.Context, who string) (string, error) {
		meter := toolset.NewMeter(toolset.Limits{})
		res, err := dbosengine.Run(ctx, a, who, "Go.", agent.WithMeter(meter))
		used <- meter.Usage()
		if err == nil {
			return res.Output, nil
		}
		<-ctx.Done() // as if the process had been killed now
		runtime.Goexit()
		return "", nil
	}
	url := "sqlite:" + filepath.Join(t.TempDir(), "dbos.db")
	for life := range lives {
		now.Store(int32(life))
		c, err := open(url)
		require.NoError(t, err)
		dbos.RegisterWorkflow(c, work, dbos.WithWorkflowName("work"))
		require.NoError(t, dbos.Launch(c))
		if life == 0 {
			_, err = dbos.RunWorkflow(c, work, "Ada", dbos.WithWorkflowID("trip"))
			require.NoError(t, err)
		}
		got := <-used
		require.EqualValues(t, asked.Load(), got.Requests, "life %d", life)
		require.EqualValues(t, 7*asked.Load(), got.TotalTokens(), "life %d", life)
		require.NoError(t, dbos.Shutdown(c, 10*time.Second))
	}
}
