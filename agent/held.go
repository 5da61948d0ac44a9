// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"sync"

	"github.com/ponte-go/ponte/toolset"
)

// HoldEvents holds back what a tool emits, for a Call hook that must see the result first. The
// function that it returns ends that: it passes on what was emitted, in order, or drops it. It must
// be called before the hook returns, and HoldEvents before the hook calls the tool. If several
// hooks hold events back, what one of them drops stays dropped, and the outermost one passes on the
// rest. Outside of a call, nothing is held.
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

// count returns how many values there are.
func (h *held) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.values)
}

// drop drops all values but the first n.
func (h *held) drop(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.values = h.values[:min(n, len(h.values))]
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
	if around := h.held; around != nil { // a hook further outside passes on what this one leaves
		before := around.count()
		return func(pass bool) {
			if !pass {
				around.drop(before)
			}
		}
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

// IsCalled reports whether calls of a tool pass the Call hooks of the run, for Request hooks. Calls
// of external tools, and those that give the output or hand the run over, do not.
func IsCalled[D any](run *toolset.RunContext[D], tool string) bool {
	h, ok := run.Host.(outputHost)
	return !ok || h.isCalled(tool)
}

// outputHost is implemented by the hosts of runs.
type outputHost interface {
	isOutput(tool string) bool
	isCalled(tool string) bool
}

// isCalled implements [outputHost].
func (h *stepHost[D, O]) isCalled(tool string) bool {
	r := (*agentRun[D, O])(h)
	if r.agent.output.alternative(tool) != nil {
		return false
	}
	t := r.tool(tool)
	return t == nil || !t.External
}

// isOutput implements [outputHost].
func (h *stepHost[D, O]) isOutput(tool string) bool {
	a := (*agentRun[D, O])(h).agent.output.alternative(tool)
	return a != nil && a.over == nil
}

// Arguments decodes the arguments of a call in progress again, for Call hooks. The tool gets a
// value like this, unless hooks have changed the arguments. ok is false outside of a call, and if
// the arguments are not valid.
func Arguments[D any](run *toolset.RunContext[D]) (args any, ok bool) {
	h, inside := run.Host.(argumentsHost)
	if !inside {
		return nil, false
	}
	return h.arguments()
}

// argumentsHost is implemented by the hosts of calls.
type argumentsHost interface{ arguments() (any, bool) }

// arguments implements [argumentsHost].
func (h *callHost[D, O]) arguments() (any, bool) {
	if h.call == nil {
		return nil, false
	}
	decoded, _, wrong := h.run.decode(h.call, false)
	return decoded, wrong == nil
}
