// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"slices"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/errs"
	"github.com/ponte-go/ponte/toolset"
)

// settleAnswers gives calls, and the calls inside them, their answers. known is set if the history lists the pending calls.
func settleAnswers(r *run, answers []Answer, calls []call, known bool) error {
	inside := r.inside(calls)
	for i := range answers {
		a := &answers[i]
		if in := slices.IndexFunc(inside, func(in insideCall) bool { return in.key == a.CallID }); in >= 0 {
			inside[in].given = a
			continue
		}
		at := callIndex(calls, func(c *call) bool {
			return c.part.CallID == a.CallID || model.PendingCall{ID: c.part.CallID}.Key() == a.CallID
		})
		switch {
		case at < 0:
			return unfit("there is no pending call %q", a.CallID)
		case calls[at].answered && calls[at].executed:
			return unfit("call %q has been executed already", a.CallID)
		case known && calls[at].was == nil:
			return unfit("call %q is not pending: a call before it has to be settled first", a.CallID)
		}
		calls[at].given, calls[at].waits = a, nothing
	}
	if err := r.answerInside(inside, calls); err != nil {
		return err
	}
	for i := range calls {
		c := &calls[i]
		switch {
		case c.answered || c.tool == nil || known && c.was == nil || c.suspended != nil:
		case c.given == nil && r.instead: // it will be denied
		case c.given == nil:
			return unfit("call %q of %q has none", c.part.CallID, c.part.Tool)
		case c.given.Result == nil && c.tool.External && c.given.Decision.Verdict == toolset.VerdictAllow && (c.was == nil || c.was.Approval == nil):
			return unfit("call %q of %q needs a result, it cannot be run here", c.part.CallID, c.part.Tool)
		}
	}
	return nil
}

// unfit returns an [engine.ErrResults]. It is not inlined, because it is called in many places.
//
//go:noinline
func unfit(format string, names ...string) error {
	args := []any{engine.ErrResults}
	for _, name := range names {
		args = append(args, name)
	}
	return errs.Errorf("%w: "+format, args...)
}
