// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"reflect"
	"slices"
	"sync"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// passed has the responses of a request that have passed the doors.
type passed struct {
	mu  sync.Mutex
	all [][]model.Part
}

type passedKey struct{}

// pass notes a response that has passed the doors, for the hooks around them.
func pass(ctx context.Context, resp *model.Message) {
	p, _ := ctx.Value(passedKey{}).(*passed)
	if p == nil || resp == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, slices.Clone(resp.Parts)) // a hook may change them
}

func (p *passed) has(resp *model.Message) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.all, func(parts []model.Part) bool {
		return reflect.DeepEqual(parts, resp.Parts)
	})
}

// checksMade reports whether a policy checks responses that hooks have made.
func (r *rules) checksMade() bool {
	return slices.ContainsFunc(r.policies, func(s *said) bool { return s.made != nil })
}

// made is a Request hook around those of the agent. It has the policies check a response that these
// have made or changed.
func (r *rules) made(
	ctx context.Context, run *toolset.RunContext[any], req *model.Request, next RequestFunc,
) (*model.Message, error) {
	p := new(passed)
	resp, err := next(context.WithValue(ctx, passedKey{}, p), req)
	if err != nil || resp == nil || p.has(resp) {
		return resp, err
	}
	for _, s := range slices.Backward(r.policies) {
		if s.made == nil {
			continue
		}
		own := toolset.WithDeps(run, s.dependencies())
		if resp, err = s.made(ctx, own, resp); err != nil {
			return nil, s.refusal(ctx, StageModel, err, nil)
		}
	}
	return resp, nil
}
