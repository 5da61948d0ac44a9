// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"sync"

	"github.com/ponte-go/ponte/toolset"
)

// HoldEvents holds back what a tool emits, for a Call hook that must see the result first. The function that it returns ends that: it
// passes on what was emitted, in order, or drops it. It must be called before the hook returns, and HoldEvents before the hook calls the
// tool. Outside of a call, nothing is held.
func HoldEvents[D any](run *toolset.RunContext[D]) (release func(pass bool)) {
	h, ok := run.Host.(holder)
	if !ok {
		return func(bool) {}
	}
	return h.hold()
}

// holder is implemented by the hosts of calls.
type holder interface {
	hold() (release func(pass bool))
}

// held are events that are held back.
type held struct {
	mu     sync.Mutex
	values []any
	over   bool
}

// keep keeps a value, unless that is over.
func (h *held) keep(value any) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.over {
		h.values = append(h.values, value)
	}
	return !h.over
}

// hold implements [holder].
func (h *callHost[D, O]) hold() (release func(pass bool)) {
	if h.held != nil {
		return func(bool) {} // a hook further outside decides
	}
	own := new(held)
	h.held = own
	return func(pass bool) {
		own.mu.Lock()
		values := own.values
		own.values, own.over = nil, true
		own.mu.Unlock()
		if pass {
			for _, v := range values {
				_ = h.listener.Custom(h.call, v)
			}
		}
	}
}

// IsOutput reports whether a call of a tool gives the output of the run, for Request hooks. A tool that hands the run over does not.
func IsOutput[D any](run *toolset.RunContext[D], tool string) bool {
	h, ok := run.Host.(outputHost)
	return ok && h.isOutput(tool)
}

// outputHost is implemented by the hosts of runs.
type outputHost interface{ isOutput(tool string) bool }

// isOutput implements [outputHost].
func (h *stepHost[D, O]) isOutput(tool string) bool {
	a := (*agentRun[D, O])(h).agent.output.alternative(tool)
	return a != nil && a.over == nil
}
