// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// busy is a toolset of two tools that take a second. It records the highest number of concurrent calls.
func busy() (set, *atomic.Int32) {
	var now, most atomic.Int32
	work := func(ctx context.Context, _ *runContext, _ noArgs) (string, error) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		select {
		case <-time.After(time.Second):
			return "ok", nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
	return toolset.Of(toolset.Func("a", "", work), toolset.Func("b", "", work)), &most
}

// runs makes n concurrent runs, each of which calls a and b twice in one step. It returns how long they took.
func runs(t *testing.T, n int, s set) time.Duration {
	t.Helper()
	m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		if len(req.Messages) > 1 {
			return model.Response(model.Text("done")), nil
		}
		return model.Response(model.ToolCall("1", "a", ""), model.ToolCall("2", "b", ""), model.ToolCall("3", "a", ""), model.ToolCall("4", "b", "")), nil
	})
	a := newAgent(t, m, s)
	begin := time.Now()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			_, err := a.Run(t.Context(), deps{}, "go")
			require.NoError(t, err)
		})
	}
	wg.Wait()
	return time.Since(begin)
}

func TestLimitedCoversAllRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner, most := busy()
		require.Equal(t, 4*time.Second, runs(t, 3, toolset.Limited(inner, 3)), "12 calls, 3 at a time")
		require.EqualValues(t, 3, most.Load())
	})
}

func TestLimitedPerRunCoversOneRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner, most := busy()
		require.Equal(t, 4*time.Second, runs(t, 3, toolset.LimitedPerRun(inner, 1)))
		require.EqualValues(t, 3, most.Load(), "one for each run")
	})
}

func TestCallsRunInParallelWithoutALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner, most := busy()
		require.Equal(t, time.Second, runs(t, 3, inner))
		require.EqualValues(t, 12, most.Load())
	})
}

func TestWaitForLimitEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner, _ := busy()
		a := newAgent(t, modeltest.Script(say("a", "b")), toolset.Limited(inner, 1))
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second/2, func() { cancel(errBoom) })
		begin := time.Now()
		_, err := a.Run(ctx, deps{}, "go")
		require.ErrorIs(t, err, errBoom)
		require.Equal(t, time.Second/2, time.Since(begin))
	})
}

func TestWaitForLimitCountsTowardTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner, _ := busy()
		s := toolset.Defaults(toolset.Limited(inner, 1), toolset.Timeout(1500*time.Millisecond))
		a := newAgent(t, modeltest.Script(say("a", "b"), done), s)
		res, err := a.Run(t.Context(), deps{}, "go")
		require.NoError(t, err)
		texts := []string{res.Messages[2].Parts[0].Text, res.Messages[2].Parts[1].Text}
		require.ElementsMatch(t, []string{"ok", "Timed out after 1.5s."}, texts)
	})
}

func TestLimitIsReleasedHoweverACallEnds(t *testing.T) {
	calls := 0
	s := toolset.Limited(toolset.Of(toolset.Func("f", "", func(context.Context, *runContext, noArgs) (string, error) {
		calls++
		switch calls {
		case 1:
			panic("oops")
		case 2:
			return "", errBoom
		}
		return "ok", nil
	})), 1)
	require.ErrorContains(t, run(t, []set{s}, say("f")).err, "oops")
	require.ErrorIs(t, run(t, []set{s}, say("f")).err, errBoom)
	require.Equal(t, []string{"ok"}, run(t, []set{s}, say("f"), done).answers)
}

func ExampleLimited() {
	var now, most atomic.Int32
	query := toolset.Plain[int]("query", "", func(context.Context, struct{}) (string, error) {
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		time.Sleep(time.Millisecond)
		return "", nil
	})
	s := toolset.Limited(toolset.Of(query), 1) // the database has one connection
	in, err := s.Open(context.Background(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := in.Tools(context.Background(), nil)
	var wg sync.WaitGroup
	errs := make([]error, 5)
	for i := range errs {
		wg.Go(func() {
			_, callErr := l.Tools[0].Call(context.Background(), nil, &struct{}{})
			errs[i] = callErr
		})
	}
	wg.Wait()
	fmt.Println(most.Load(), errors.Join(append(errs, err)...))
	// Output: 1 <nil>
}

// Each run makes one call at a time, however many the model asks for. Other runs are not affected.
func ExampleLimitedPerRun() {
	step := toolset.Plain[int]("step", "", func(context.Context, struct{}) (string, error) { return "", nil })
	show(toolset.LimitedPerRun(toolset.Of(step), 1), 0)
	// Output: [step]
}
