// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// beside is a call that runs beside others.
func beside(m *toolset.Meter, n uint16) *engine.Task {
	return &engine.Task{Op: engine.OpTool, Info: &toolset.RunInfo{RunID: "r", Step: 1, Meter: m}, Call: &engine.Call{Call: toolset.Call{Tool: "look", ID: "c"}}, Beside: n}
}

// left returns how many requests the copy of a task may make.
func left(t *testing.T, task *engine.Task) (n int) {
	t.Helper()
	data, err := engine.MarshalTask(task)
	require.NoError(t, err)
	copied, err := engine.UnmarshalTask(data)
	require.NoError(t, err)
	for copied.Info.Meter.Request() == nil {
		n++
	}
	return n
}

// TestCallsShareWhatIsLeft: calls that run beside each other get equal shares of a limit, the last
// one too, and one that runs alone may use up all that is left.
func TestCallsShareWhatIsLeft(t *testing.T) {
	m := toolset.NewMeter(toolset.Limits{Requests: 10})
	require.NoError(t, m.Request())
	require.Equal(t, 9, left(t, beside(m, 0)))
	var tasks []*engine.Task
	for n := uint16(3); n > 0; n-- {
		task := beside(m, n)
		task.Lend()
		require.Equal(t, 3, left(t, task), n)
		tasks = append(tasks, task)
	}
	for _, task := range tasks {
		var done engine.Done
		task.Settle(&done)
		require.Zero(t, done)
	}
	alone := beside(m, 0)
	alone.Lend()
	require.Equal(t, 9, left(t, alone), "all shares have been given back")
	last := beside(m, 1)
	last.Lend()
	require.Equal(t, 9, left(t, last))
	var none engine.Done
	alone.Settle(&none)
	require.Zero(t, none)
}

// TestUsedUpSharesFailTheCall: a call that has used up its share has failed, and the run goes on.
// Other errors stay as they are, and so does one about the limit itself.
func TestUsedUpSharesFailTheCall(t *testing.T) {
	m := toolset.NewMeter(toolset.Limits{Requests: 2})
	boom := errors.New("boom")
	for _, c := range []struct {
		beside uint16
		err    error
		fails  bool
	}{{2, nil, true}, {1, nil, false}, {2, boom, false}} {
		task := beside(m, c.beside)
		task.Lend()
		data, err := engine.MarshalTask(task)
		require.NoError(t, err)
		copied, err := engine.UnmarshalTask(data)
		require.NoError(t, err)
		err = c.err
		for err == nil {
			err = copied.Info.Meter.Request()
		}
		sent, err := engine.MarshalDone(copied, &engine.Done{Err: fmt.Errorf("around: %w", err)})
		require.NoError(t, err)
		done, err := engine.UnmarshalDone(task, sent)
		require.NoError(t, err)
		task.Settle(done)
		if !c.fails {
			require.Error(t, done.Err)
			continue
		}
		require.Equal(t, engine.Done{Return: engine.Return{Result: toolset.Result{
			Outcome: model.OutcomeFailed, Text: "look failed: its share of the limit on requests is used up. Calls of one response that run at the same time share what is left.",
		}}}, *done)
	}
}

// TestFormOfPanics: the value of a panic and its stack.
func TestFormOfPanics(t *testing.T) {
	data, err := engine.MarshalDone(beside(toolset.NewMeter(toolset.Limits{}), 0), &engine.Done{Err: &engine.PanicError{Value: "out\nof stock", Stack: []byte("main()")}})
	require.NoError(t, err)
	var form struct {
		Error struct {
			Kind string
			Data json.RawMessage
		}
	}
	require.NoError(t, json.Unmarshal(data, &form))
	require.Equal(t, `panic ["out of stock","main()"]`, form.Error.Kind+" "+string(form.Error.Data))
}
