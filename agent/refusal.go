// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"sync"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Refusal tells of something that a policy has refused, without the content. Streams and
// [WithRefusals] report it even if a hook or a tool hides the error. It is reported where a task is
// executed. A run that takes the result of a task from a journal, or from the history of a
// workflow, does not report it again.
type Refusal = engine.Refusal

// WithRefusals returns a context whose runs, requests and calls tell f what policies refuse in
// them: for the context of a run, or for the one that a hook passes on. f must be quick and safe
// for concurrent use. It gets the context of what was refused. Functions of a context around are
// told afterwards. On engines that execute tasks in other processes, only contexts of hooks get
// there.
func WithRefusals(ctx context.Context, f func(ctx context.Context, r Refusal)) context.Context {
	around := refusalsOf(ctx)
	return context.WithValue(ctx, refusalsKey{}, func(ctx context.Context, r Refusal) {
		if f(ctx, r); around != nil {
			around(ctx, r)
		}
	})
}

type refusalsKey struct{}

func refusalsOf(ctx context.Context) func(context.Context, Refusal) {
	f, _ := ctx.Value(refusalsKey{}).(func(context.Context, Refusal))
	return f
}

// witness keeps what is refused in a task.
type witness struct {
	call    *engine.Call
	mu      sync.Mutex
	refused []Refusal
}

type witnessKey struct{}

// watch implements [governor]. A listener belongs to the goroutine of the task, and checks may be
// in others, so it is told at the end.
func (r *rules) watch(
	ctx context.Context, t *engine.Task, l engine.Listener,
) (context.Context, func()) {
	w := &witness{call: t.Call}
	return context.WithValue(ctx, witnessKey{}, w), func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for i := 0; l != nil && i < len(w.refused); i++ {
			_ = l.Custom(w.call, w.refused[i]) // the task ends in any case
		}
	}
}

// tell tells that the policy has refused something.
func (p *policyRules) tell(ctx context.Context, at Stage) {
	refusal := Refusal{Policy: p.name, Stage: at}
	if w, _ := ctx.Value(witnessKey{}).(*witness); w != nil {
		if w.call != nil {
			refusal.Tool, refusal.CallID = w.call.Tool, w.call.ID
		}
		w.mu.Lock()
		w.refused = append(w.refused, refusal)
		w.mu.Unlock()
	}
	if f := refusalsOf(ctx); f != nil {
		f(ctx, refusal)
	}
}

// limited is a Request hook around the doors of policies. It tells which of their limits has
// refused a request, and notes what has passed.
func (r *rules) limited(
	ctx context.Context, run *toolset.RunContext[any], req *model.Request, next RequestFunc,
) (*model.Message, error) {
	resp, err := next(ctx, req)
	if p := r.limit(err, run.Meter); p != nil {
		p.tell(ctx, StageModel)
	}
	pass(ctx, resp)
	return resp, err
}
