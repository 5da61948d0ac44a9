// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"context"

	"github.com/ponte-go/ponte/agent/model"
)

// Host is the run that a tool runs in, as far as a tool may turn to it. Tools use the methods of [RunContext] instead. A unit test
// sets [RunContext.Host] to see what a tool does with it; package toolsettest has one.
//
// Each method gets the call of the RunContext that it was called through. Hosts are safe for concurrent use until the call
// has ended.
type Host interface {
	// Emit passes on an event of the tool's own.
	Emit(call Call, value any)
	// Ask asks the person that the run belongs to. It fills in the question's Origin.
	Ask(ctx context.Context, call Call, q Question) (Reply, error)
	// Generate asks the model of the run.
	Generate(ctx context.Context, call Call, req *model.Request) (*model.Message, error)
}

// Emit sends an event of the tool's own to whoever observes the run: it arrives as a custom event that carries value.
// It blocks while the observer is behind, and does nothing if nobody observes. It may be called only until the tool
// returns, from any goroutine.
func (r *RunContext[D]) Emit(value any) {
	if r.Host != nil {
		r.Host.Emit(r.Call, value)
	}
}

// Ask asks the person that the run belongs to, while the call waits. It fails with [ErrNobody] where there is nobody, and
// otherwise returns the reply, whatever the person did. Of several questions in a run one is open at a time; the others wait, until
// their ctx ends. Such a question cannot be deferred to a later run: a tool whose question can wait is an external one (see
// [ExternalTool]).
//
// It may be called until the tool returns, from any goroutine.
func (r *RunContext[D]) Ask(ctx context.Context, q Question) (Reply, error) {
	if r.Host == nil {
		return Reply{}, ErrNobody
	}
	return r.Host.Ask(ctx, r.Call, q)
}

// Generate asks the model of the run, within the run's limits: the request counts as one of the run's, is priced, and passes
// through the Request hooks. Settings that req leaves out are those of the run. The response is not streamed and does not become
// part of the history. It fails with [ErrNobody] outside of a run.
//
// It may be called until the tool returns, from any goroutine.
func (r *RunContext[D]) Generate(ctx context.Context, req *model.Request) (*model.Message, error) {
	if r.Host == nil {
		return nil, ErrNobody
	}
	return r.Host.Generate(ctx, r.Call, req)
}
