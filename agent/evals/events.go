// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"context"

	"github.com/ponte-go/ponte/agent"
)

// Stream is like [Agent], but the model streams its responses, and the events of the run are in
// [Trace.Events]. Reports do not keep them.
func Stream[D, O any](a *agent.Agent[D, O], deps D, opts ...agent.RunOption) Task[string, O] {
	return func(ctx context.Context, prompt string) (output O, err error) {
		run := a.Stream(ctx, deps, prompt, opts...)
		for e := range run.Events() {
			if p := placeOf(ctx); p != nil {
				p.add(e)
			}
		}
		res, err := run.Result()
		if err != nil {
			return output, err
		}
		return res.Output, nil
	}
}

func (r *recorder) add(e agent.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}
