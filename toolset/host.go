// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"context"

	"github.com/ponte-go/ponte/agent/model"
)

// Host connects a tool to the run it is called in. Tools do not use it directly, but through the methods of [RunContext].
// Unit tests set [RunContext.Host] to observe a tool. Package toolsettest has an implementation.
//
// Each method gets the call of the RunContext it was called through. A Host is safe for concurrent use until the call has
// ended.
type Host interface {
	// Emit sends an event from the tool.
	Emit(call Call, value any)
	// Ask asks the person the run belongs to. It fills in the question's Origin.
	Ask(ctx context.Context, call Call, q Question) (Reply, error)
	// Generate sends a request to the run's model.
	Generate(ctx context.Context, call Call, req *model.Request) (*model.Message, error)
}

// Emit sends an event to the observer of the run, who receives it as a custom event that carries
// value. It blocks until the observer is ready, and does nothing if the run is not observed.
//
// It may be called from any goroutine until the tool returns.
func (r *RunContext[D]) Emit(value any) {
	if r.Host != nil {
		r.Host.Emit(r.Call, value)
	}
}

// Ask asks the person the run belongs to. The call waits for the reply. Ask returns the reply,
// whatever the person did, or [ErrNobody] if there is no one to ask. A run asks one question at a
// time. Other questions wait for their turn until their ctx is done.
//
// A question cannot be deferred to a later run. If it can wait, use an external tool instead (see [ExternalTool]).
//
// Ask may be called from any goroutine until the tool returns.
func (r *RunContext[D]) Ask(ctx context.Context, q Question) (Reply, error) {
	if r.Host == nil {
		return Reply{}, ErrNobody
	}
	return r.Host.Ask(ctx, r.Call, q)
}

// Generate sends a request to the run's model. The request counts toward the run's limits and cost, and passes through
// the Request hooks. Settings that req leaves out are taken from the run. The response is not streamed and not added to
// the history. Outside a run, Generate returns [ErrNobody].
//
// It may be called from any goroutine until the tool returns.
func (r *RunContext[D]) Generate(ctx context.Context, req *model.Request) (*model.Message, error) {
	if r.Host == nil {
		return nil, ErrNobody
	}
	return r.Host.Generate(ctx, r.Call, req)
}
