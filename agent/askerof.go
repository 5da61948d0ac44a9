// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"slices"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/toolset"
)

// AskerOf returns the asker of a run, for a tool that carries out something which asks for
// permission itself, such as another program's agent. Its questions wait for their turn with the
// run's other questions. Their Path is the tool's own, after the ids of the calls that led to the
// tool. If the run has no asker, the error is [toolset.ErrNobody]. A question cannot be deferred to
// a later run: a tool treats [toolset.VerdictDefer] like [toolset.ErrNobody].
//
// It may be used until the tool returns.
func AskerOf[D any](run *toolset.RunContext[D]) toolset.Asker {
	out := outside(run)
	return &outerAsker{seat: out.asking, behind: out.behind, path: out.path}
}

// outerAsker asks in the place of a call.
type outerAsker struct {
	seat   *seat // nil if there is nobody
	behind engine.Answerer
	path   []string
}

// Approve implements [toolset.Asker].
func (a *outerAsker) Approve(ctx context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
	if a.seat == nil {
		return toolset.Decision{}, toolset.ErrNobody
	}
	r.Path = slices.Concat(a.path, r.Path)
	return a.seat.approve(ctx, r)
}

// Answer implements [toolset.Asker].
func (a *outerAsker) Answer(ctx context.Context, q toolset.Question) (toolset.Reply, error) {
	q.Path = slices.Concat(a.path, q.Path)
	return a.seat.answer(ctx, a.behind, q)
}
