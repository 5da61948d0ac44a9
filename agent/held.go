// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"sync"

	"github.com/ponte-go/ponte/agent/model"
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
	output, _ := use(run.Host, tool)
	return output
}

// IsCalled reports whether calls of a tool pass the Call hooks of the run, for Request hooks. Calls
// of external tools, and those that give the output or hand the run over, do not.
func IsCalled[D any](run *toolset.RunContext[D], tool string) bool {
	_, called := use(run.Host, tool)
	return called
}

// use asks the host of a run what a tool is for.
func use(host toolset.Host, tool string) (output, called bool) {
	h, ok := host.(interface {
		use(tool string) (bool, bool)
	})
	if !ok {
		return false, true
	}
	return h.use(tool)
}

func (h *stepHost[D, O]) use(tool string) (output, called bool) {
	r := (*agentRun[D, O])(h)
	if a := r.agent.output.alternative(tool); a != nil {
		return a.over == nil, false
	}
	t := r.tool(tool)
	return false, t == nil || !t.External
}

// Identity implements [model.Identifier]. It is that of the run's model, for Request hooks that
// keep answers.
func (h *stepHost[D, O]) Identity() string { return model.Identity(h.options.model) }

// Identity implements [model.Identifier], for requests of tools.
func (h *callHost[D, O]) Identity() string { return model.Identity(h.run.options.model) }

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
