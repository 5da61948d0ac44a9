// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
)

// fused makes the request of the next step with one task, which also prepares it and checks the calls of the response. There is a
// message to send.
func (r *run) fused(ctx context.Context) (*model.Message, error) {
	if err := r.enterStep(ctx); err != nil {
		return nil, err
	}
	task := r.prepareTask(r.cfg.Processed)
	task.Op = engine.OpStep
	for i := range r.budgets {
		if b := &r.budgets[i]; b.failed > 0 {
			failed := new(engine.Call)
			failed.Tool, failed.Attempt = b.name, b.failed
			task.Checks = append(task.Checks, engine.Check{Call: failed})
		}
	}
	if err := r.mayAsk(); err != nil {
		return nil, err
	}
	done := r.do(ctx, task)
	if done.Offer == nil {
		return nil, r.offered(done)
	}
	if err := r.offered(&engine.Done{Offer: done.Offer}); err != nil {
		return nil, err
	}
	if last := r.last(); last == r.own {
		last.Instructions = r.offer.Instructions
	}
	r.ahead = done.Response != nil && done.Response.HasToolCalls()
	return r.received(done)
}

// ChecksOf returns the checks of the calls of a response that has just come, and how its arguments
// are to be read. failed names the tools whose last calls failed.
func ChecksOf(resp *model.Message, offer *engine.Offer, failed []engine.Check) []engine.Check {
	var checks []engine.Check
	for i := range resp.Parts {
		p := &resp.Parts[i]
		if p.Kind != model.PartToolCall {
			continue
		}
		tool := offer.Tool(p.Tool)
		if tool == nil {
			continue
		}
		c := new(engine.Call)
		c.ID, c.Tool, c.Args, c.MaxRetries = p.CallID, p.Tool, p.Args, tool.Retries
		for j := range failed {
			if failed[j].Call.Tool == p.Tool {
				c.Attempt = failed[j].Call.Attempt
			}
		}
		checks = append(checks, engine.Check{Call: c, Complete: complete(resp), Own: tool.Checks})
	}
	return checks
}

// complete reports whether a model had finished a response.
func complete(resp *model.Message) bool {
	return resp.Finish == model.FinishToolCalls || resp.Finish == model.FinishStop || resp.Finish == ""
}
