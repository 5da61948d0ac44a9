// SPDX-License-Identifier: Apache-2.0

package enginetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/engine/enginetest"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// told notes what a listener is told.
type told struct{ said []any }

func (l *told) Sink() model.Sink {
	return func(d model.Delta) error { l.said = append(l.said, d); return nil }
}

func (l *told) Custom(c *engine.Call, value any) error {
	l.said = append(l.said, c.ID, value)
	return errors.New("heard")
}

type execute = enginetest.Execute

func toolTask() *engine.Task {
	c := new(engine.Call)
	c.ID, c.Tool = "c", "t"
	return &engine.Task{Op: engine.OpTool, Info: &toolset.RunInfo{Step: 1, Meter: new(toolset.Meter)}, Call: c}
}

// TestTasksThatFailElsewhere: what goes wrong between a run and where its tasks are executed is the error of the task.
func TestTasksThatFailElsewhere(t *testing.T) {
	result := func(d engine.Done) execute {
		return func(context.Context, []byte, func([]byte) error) ([]byte, error) {
			return engine.MarshalDone(toolTask(), &d)
		}
	}
	for name, c := range map[string]struct {
		execute execute
		task    *engine.Task
		want    string
	}{
		"the task cannot be written": {nil, &engine.Task{Op: engine.OpTool, Call: func() *engine.Call {
			c := new(engine.Call)
			c.Resume = &toolset.Resume{State: json.RawMessage("{")}
			return c
		}()}, "engine: task tool of step 0: json: error calling MarshalJSON for type json.RawMessage: unexpected end of JSON input"},
		"nobody executes it":     {func(context.Context, []byte, func([]byte) error) ([]byte, error) { return nil, errors.New("unplugged") }, toolTask(), "unplugged"},
		"the result is not JSON": {func(context.Context, []byte, func([]byte) error) ([]byte, error) { return []byte("{"), nil }, toolTask(), "engine: result: unexpected end of JSON input"},
		"the goroutine ends":     {func(context.Context, []byte, func([]byte) error) ([]byte, error) { runtime.Goexit(); return nil, nil }, toolTask(), engine.ErrGoexit.Error()},
		"the task itself fails":  {result(engine.Done{Err: errors.New("no")}), toolTask(), "no"},
		"the task does not fail": {result(engine.Done{At: 7}), toolTask(), ""},
	} {
		r := enginetest.NewRemote(nil, c.execute)
		l := new(told)
		f := r.Start(t.Context(), c.task)
		require.Zero(t, r.WaitAny([]engine.Future{f}, l), name)
		done := f.Done()
		if c.want == "" {
			require.NoError(t, done.Err)
			require.Equal(t, engine.Time(7), done.At)
		} else {
			require.EqualError(t, done.Err, c.want, name)
		}
		require.Empty(t, l.said)
		r.Close()
	}
}

// TestReportsOfRemoteTasks: reports are delivered while the run waits, their errors go back, and a task that is abandoned gets to know it.
func TestReportsOfRemoteTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		task := toolTask()
		var errs []error
		run := func(ctx context.Context, data []byte, report func([]byte) error) ([]byte, error) {
			l := engine.Reporter(report)
			errs = append(errs, l.Custom(task.Call, "one"))
			<-ctx.Done()
			time.Sleep(time.Second)
			errs = append(errs, l.Custom(task.Call, "two"))
			used := toolset.Usage{Requests: 2}
			return engine.MarshalDone(task, &engine.Done{Used: &used})
		}
		r := enginetest.NewRemote(nil, run)
		ctx, cancel := context.WithCancel(t.Context())
		f := r.Start(ctx, task)
		l := new(told)
		cancel()
		require.Zero(t, r.WaitAny([]engine.Future{f}, l))
		require.Equal(t, []any{"c", json.RawMessage(`"one"`), "c", json.RawMessage(`"two"`)}, l.said)
		require.EqualError(t, errors.Join(errs...), "heard\nheard")
		require.Equal(t, 2, task.Info.Meter.Usage().Requests, "usage counts when the run learns of it")
		r.Close()

		errs = nil
		r = enginetest.NewRemote(nil, run)
		ctx, cancel = context.WithCancel(t.Context())
		f = r.Start(ctx, task)
		synctest.Wait()
		cancel()
		begin := time.Now()
		r.Close()
		require.Equal(t, time.Second, time.Since(begin), "the task is waited for")
		require.Equal(t, []error{context.Canceled, context.Canceled}, errs)
		require.Nil(t, f.Done())
	})
}

// TestRemoteRunsBeginAnew: each beginning has new ids and the time, and says whether steps are fused.
func TestRemoteRunsBeginAnew(t *testing.T) {
	r := enginetest.NewRemote(nil, nil)
	a, err := r.Begin(t.Context())
	require.NoError(t, err)
	r.Fuse = true
	b, err := r.Begin(t.Context())
	require.NoError(t, err)
	require.False(t, a.Fuse)
	require.True(t, b.Fuse)
	require.Len(t, map[string]bool{a.RunID: true, a.ConversationID: true, b.RunID: true, b.ConversationID: true, "": true}, 5)
	require.WithinDuration(t, time.Now(), a.At.Time(), time.Minute)
	local := doer(func(_ context.Context, t *engine.Task, l engine.Listener, done *engine.Done) {
		done.Inbox, done.Used = [][]model.Part{{model.User("hi")}}, &toolset.Usage{Requests: 1}
	})
	r = enginetest.NewRemote(local, nil)
	f := r.Start(t.Context(), &engine.Task{Op: engine.OpInbox, Info: &toolset.RunInfo{}})
	require.Equal(t, [][]model.Part{{model.User("hi")}}, f.Done().Inbox, "the inbox is here")
	require.Nil(t, f.Done().Used)
	require.NotZero(t, f.Done().At)
	require.Zero(t, r.WaitAny([]engine.Future{f}, nil))
	r.Close()
}

// doer is a worker that does what a function does.
type doer func(ctx context.Context, t *engine.Task, l engine.Listener, done *engine.Done)

func (d doer) Do(ctx context.Context, t *engine.Task, l engine.Listener, done *engine.Done) {
	d(ctx, t, l, done)
}
