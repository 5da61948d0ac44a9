// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// check keeps the first thing that went wrong.
func (w *nestedWorld) check(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keep(err)
}

func (w *nestedWorld) keep(err error) {
	if err != nil && w.problem == nil {
		w.problem = err
	}
}

// used counts on a run and all around it.
func (w *nestedWorld) used(n *nestedRun, u toolset.Usage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	addUsage(&n.own, u)
	for ; n != nil; n = n.parent {
		addUsage(&n.tree, u)
	}
}

func addUsage(u *toolset.Usage, more toolset.Usage) {
	u.Requests += more.Requests
	u.ToolCalls += more.ToolCalls
	u.Add(more.Usage)
}

// requested counts a request. No limit on requests is ever exceeded, and where nothing runs in parallel no request is made
// when a limit on tokens has been exceeded.
func (w *nestedWorld) requested(n *nestedRun) {
	w.used(n, toolset.Usage{Requests: 1})
	w.mu.Lock()
	defer w.mu.Unlock()
	for a := n; a != nil; a = a.parent {
		if a.limits.Requests > 0 && a.tree.Requests > a.limits.Requests {
			w.keep(fmt.Errorf("level %d: request %d under a limit of %d", a.level, a.tree.Requests, a.limits.Requests))
		}
		if w.sequential {
			w.keep(a.exceeded("a request begins", a.tree.Usage, 0))
		}
	}
}

// reported looks at a usage that a model has reported in mid-stream, and that did not stop it.
func (w *nestedWorld) reported(n *nestedRun, u model.Usage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	own := n.own.Usage
	own.Add(u)
	for a := n; a != nil; a = a.parent {
		w.keep(a.exceeded("a stream goes on", own, 0))
		if w.sequential {
			total := a.tree.Usage
			total.Add(u)
			w.keep(a.exceeded("a stream goes on", total, 0))
		}
	}
}

// exceeded reports a limit on tokens that is exceeded by more than it may.
func (n *nestedRun) exceeded(when string, u model.Usage, by int64) error {
	for _, l := range []struct {
		name         string
		value, bound int64
	}{
		{"input", u.InputTokens, n.limits.InputTokens}, {"output", u.OutputTokens, n.limits.OutputTokens}, {"total", u.TotalTokens(), n.limits.TotalTokens},
	} {
		if l.bound > 0 && l.value > l.bound+by {
			return fmt.Errorf("level %d: %s at %d %s tokens, limit %d", n.level, when, l.value, l.name, l.bound)
		}
	}
	return nil
}

// called looks at the limits on tool calls before the first call of a batch.
func (w *nestedWorld) called(n *nestedRun) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for a := n; a != nil && n.newBatch && w.sequential; a = a.parent {
		if a.limits.ToolCalls > 0 && a.tree.ToolCalls >= a.limits.ToolCalls {
			w.keep(fmt.Errorf("level %d: a call begins after %d tool calls, limit %d", a.level, a.tree.ToolCalls, a.limits.ToolCalls))
		}
	}
	n.newBatch = false
}

// verify checks a run that has ended, and those inside it.
func (w *nestedWorld) verify(t *testing.T, n *nestedRun) {
	t.Helper()
	require.NotNil(t, n.summary)
	id, u := n.summary.RunID, n.summary.Usage
	want := n.own
	for _, inner := range n.inner {
		w.verify(t, inner)
		addUsage(&want, inner.summary.Usage)
		if step, call, ok := w.spy.callOf(id, inner.summary.RunID); ok {
			require.NoError(t, w.spy.notRecorded(id, "tool", step, call))
			require.NoError(t, w.spy.notRecorded(id, "output", step, call))
		}
		var limit *agent.LimitError
		if inner.summary.Usage != (toolset.Usage{}) && errors.As(inner.err, &limit) && int(limit.Bound)%4 <= n.level {
			require.Error(t, n.err, "the limit of level %d has ended a run of level %d: %v", int(limit.Bound)%4, inner.level, limit)
			if w.sequential && !errors.Is(n.err, context.Canceled) && !errors.Is(n.err, agent.ErrStopped) {
				require.ErrorAs(t, n.err, new(*agent.LimitError))
			}
		}
	}
	var limit *agent.LimitError
	var failed *agent.RunError
	if errors.As(n.err, &limit) && errors.As(n.err, &failed) && failed.Stage != agent.StageOutput {
		require.LessOrEqual(t, int(limit.Bound)%4, n.level, "a limit of level %d has ended a run of level %d: %v", int(limit.Bound)%4, n.level, n.err)
	}
	// Inner runs that resume in parallel count what they had recorded when they come to it.
	late := toolset.Usage{}
	if !w.sequential {
		late = w.spy.inside(id)
	}
	if n.limits.Requests > 0 {
		require.LessOrEqual(t, u.Requests, n.limits.Requests+late.Requests)
	}
	if n.limits.ToolCalls > 0 {
		require.LessOrEqual(t, u.ToolCalls, n.limits.ToolCalls+4*w.parallel+w.supplied+late.ToolCalls)
	}
	require.NoError(t, n.exceeded("it ended", u.Usage, int64(mostTokens*w.parallel)+late.TotalTokens()))

	most := w.spy.before(id)
	addUsage(&most, want)
	// Results that come from elsewhere count when they are taken.
	most.ToolCalls += min(w.supplied, max(0, u.ToolCalls-most.ToolCalls))
	if n.own.Requests > 0 || n.err == nil || errors.As(n.err, new(*agent.PendingError)) {
		require.Equal(t, most, u, "level %d: what models and tools have counted", n.level)
		return
	}
	// What was recorded has been replayed in part.
	require.LessOrEqual(t, want.Requests, u.Requests)
	require.LessOrEqual(t, u.Requests, most.Requests)
	require.LessOrEqual(t, want.TotalTokens(), u.TotalTokens())
	require.LessOrEqual(t, u.TotalTokens(), most.TotalTokens())
	require.LessOrEqual(t, u.ToolCalls, most.ToolCalls)
}
