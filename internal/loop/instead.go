// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"errors"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

const textInstead = "Not executed: the user wrote a message instead of answering."

// settleInstead settles the calls that a history leaves pending, before a prompt that replaces some
// of the answers. Given answers are carried out first. All other calls are denied, and calls that
// would be pending again too. A call that waits for calls inside it is resumed if one of them has
// an answer: the others inside it are denied. The prompt follows in any case, unless the answers do
// not fit. If an agent that the run was handed over to waits, the prompt is for that agent. It
// reports whether the run is over.
func (r *run) settleInstead(ctx context.Context, resp *model.Message) (bool, error) {
	prompt := r.cfg.Prompt
	if resp == nil || !resp.HasToolCalls() { // a pending request that answers nothing
		r.resumed, r.instead = nil, false
		r.append(&model.Message{Kind: model.KindRequest, Parts: prompt})
		return false, nil
	}
	r.info.Step++
	if err := r.nextOffer(ctx, false); err != nil {
		return false, err
	}
	r.held = free
	calls, err := r.check(ctx, resp)
	if errors.Is(err, engine.ErrResults) {
		return false, &engine.RunError{Stage: engine.StagePrepare, Err: err} // nothing has happened
	}
	over := waitingHandOver(calls)
	if err == nil {
		denyRest(calls, over, false)
		err = r.checkCalls(calls)
	}
	if err == nil {
		err = r.functions(ctx, calls)
	}
	if err == nil && over != nil {
		over.args.Resume.Prompt = prompt
		err = r.tryOutput(ctx, over)
	}
	if err == nil {
		denyRest(calls, over, true)
	}
	r.instead, r.budgets = false, nil                  // these are the user's last words
	if over == nil || over.told == nil && err != nil { // nobody has taken the prompt
		r.answer(calls, err != nil)
		if err != nil {
			r.unstarted(resp.Parts, calls)
		}
		r.append(&model.Message{Kind: model.KindRequest, Parts: prompt})
		return false, err
	}
	return r.cfg.Over.instead(ctx, r, calls, over, err)
}

// denyRest denies the calls that are not allowed to run, or all that have no answer, but for one.
func denyRest(calls []call, but *call, all bool) {
	for i := range calls {
		c := &calls[i]
		if c == but || c.answered || (c.given != nil || c.results != nil) && !all {
			continue
		}
		c.denied(textInstead, &toolset.Decision{Verdict: toolset.VerdictDeny})
	}
}
