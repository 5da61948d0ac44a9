// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// errGoexit is the error of a trial that called runtime.Goexit.
var errGoexit = errors.New("evals: the task or an evaluator called runtime.Goexit, " +
	"like a failed assertion of a test")

// run calls the task and records what it does. outer is the context of the trial.
func (r *Runner) run(outer context.Context, t *trial, i int, space workspace.Workspace) {
	ctx := outer
	if space != nil {
		ctx = context.WithValue(ctx, workspaceKey{}, space)
	}
	if d := r.options.Timeout; d > 0 {
		var cancel context.CancelFunc
		late := fmt.Errorf("evals: it took longer than %v: %w", d, context.DeadlineExceeded)
		ctx, cancel = context.WithTimeoutCause(ctx, d, late)
		defer cancel()
	}
	t.places[0] = place{Context: ctx, recorder: &t.recorder}
	ctx = &t.places[0]
	begin := time.Now()
	r.call(ctx, t, i)
	took := time.Since(begin)
	if t.err == nil && ctx.Err() != nil && outer.Err() == nil {
		t.output, t.err = nil, context.Cause(ctx)
	}
	t.timedOut = t.err != nil && ctx.Err() != nil
	t.trace = t.recorder.trace()
	t.trace.Duration, t.trace.Workspace = took, space
}

// call calls the task. A panic becomes its error.
func (r *Runner) call(ctx context.Context, t *trial, i int) {
	defer func() {
		if p := recover(); p != nil {
			t.output, t.err = nil, fmt.Errorf("evals: the task panicked: %v", p)
		}
	}()
	output, err := r.task(ctx, i)
	if t.err = err; err == nil {
		t.output = output
	}
}

// workspaceKey is the key of the workspace in a task's context.
type workspaceKey struct{}

// WorkspaceOf returns the workspace of the case that a task works on; nil without one, and outside
// of a task. The context is the task's, or one derived from it. See [Options.Workspace].
func WorkspaceOf(ctx context.Context) workspace.Workspace {
	space, _ := ctx.Value(workspaceKey{}).(workspace.Workspace)
	return space
}

// workspace makes the workspace for a trial, if there is to be one.
func (r *Runner) workspace(ctx context.Context, s *subject) (space workspace.Workspace, err error) {
	open := r.options.Workspace
	switch {
	case open != nil:
		space, err = open(ctx, s.name)
	case s.files != nil:
		space, err = workspace.NewMemory(workspace.MemoryConfig{})
	default:
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("evals: the workspace of case %q: %w", s.name, err)
	}
	for _, path := range slices.Sorted(maps.Keys(s.files)) {
		data := []byte(s.files[path])
		if _, err := space.Write(ctx, path, data, workspace.AnyVersion); err != nil {
			closeWorkspace(space)
			return nil, fmt.Errorf("evals: the workspace of case %q: %w", s.name, err)
		}
	}
	return space, nil
}

func closeWorkspace(space workspace.Workspace) {
	if c, ok := space.(io.Closer); ok {
		_ = c.Close()
	}
}
