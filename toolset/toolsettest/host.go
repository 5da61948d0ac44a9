// SPDX-License-Identifier: Apache-2.0

package toolsettest

import (
	"context"
	"sync"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Host is a [toolset.Host] for unit tests of tools. Set it as the Host of a RunContext. The zero value records events and
// answers no questions. It is safe for concurrent use and must not be copied.
type Host struct {
	// Asker answers the questions of tools. If nil, no one is asked.
	Asker toolset.Asker
	// Model answers Generate. If nil, there is none.
	Model model.Model

	mu     sync.Mutex
	events []any
}

// Events returns the emitted events, in order.
func (h *Host) Events() []any {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]any(nil), h.events...)
}

// Emit implements [toolset.Host].
func (h *Host) Emit(_ toolset.Call, value any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, value)
}

// Ask implements [toolset.Host].
func (h *Host) Ask(ctx context.Context, call toolset.Call, q toolset.Question) (toolset.Reply, error) {
	if h.Asker == nil {
		return toolset.Reply{}, toolset.ErrNobody
	}
	q.Origin = toolset.Origin{Path: []string{call.ID}, Tool: call.Tool}
	return h.Asker.Answer(ctx, q)
}

// Generate implements [toolset.Host].
func (h *Host) Generate(ctx context.Context, _ toolset.Call, req *model.Request) (*model.Message, error) {
	if h.Model == nil {
		return nil, toolset.ErrNobody
	}
	return h.Model.Generate(ctx, req, nil)
}
