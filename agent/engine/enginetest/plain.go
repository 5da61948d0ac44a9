// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"time"

	"github.com/ponte-go/ponte/agent/engine"
)

// plain is the reference: it executes one task after another.
type plain struct {
	worker engine.Worker
}

type plainFuture struct {
	ctx  context.Context
	task *engine.Task
	done *engine.Done
}

func (f *plainFuture) Done() *engine.Done { return f.done }

func newPlain(w engine.Worker) *plain { return &plain{worker: w} }

// Start implements [engine.Engine].
func (p *plain) Start(ctx context.Context, t *engine.Task) engine.Future {
	return &plainFuture{ctx: ctx, task: t}
}

// WaitAny implements [engine.Engine].
func (p *plain) WaitAny(futures []engine.Future, l engine.Listener) int {
	f := futures[0].(*plainFuture)
	f.done = new(engine.Done)
	p.worker.Do(f.ctx, f.task, l, f.done)
	f.done.At = now()
	return 0
}

// Begin implements [engine.Engine].
func (p *plain) Begin(context.Context) (engine.Beginning, error) {
	return engine.Beginning{At: now(), RunID: "run", ConversationID: "conversation"}, nil
}

func now() engine.Time { return engine.TimeOf(time.Now()) }
