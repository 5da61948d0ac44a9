// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"fmt"
	"time"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
)

// plain is the reference: it executes one task after another.
type plain struct {
	worker engine.Worker
	ids    int
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
	return 0
}

// Stamp implements [engine.Engine].
func (p *plain) Stamp(m *model.Message) { m.Time = time.Now().UTC() }

// NewID implements [engine.Engine].
func (p *plain) NewID() string {
	p.ids++
	return fmt.Sprint("id-", p.ids)
}
