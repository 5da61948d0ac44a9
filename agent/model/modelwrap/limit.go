// SPDX-License-Identifier: Apache-2.0

package modelwrap

import (
	"context"
	"fmt"

	"github.com/ponte-go/ponte/agent/model"
)

// Limit returns a model that passes on n requests at a time; others wait, the first to come being the first to go, or
// until their context ends. The limit belongs to the value: all agents that use it share it. It is held while a response
// is streamed, and so while the caller's sink works; it is not held while an agent executes tools.
//
// It panics if m is nil or n is less than 1.
func Limit(m model.Model, n int) model.Model {
	mustWrap("Limit", m)
	if n < 1 {
		panic(fmt.Sprintf("modelwrap: Limit: %d requests at a time would let nothing through", n))
	}
	return &limit{m, make(chan struct{}, n)}
}

type limit struct {
	model.Model

	// places has an element for each request. Those who wait for room in a channel are served in order.
	places chan struct{}
}

func (l *limit) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	select {
	case l.places <- struct{}{}:
	case <-ctx.Done():
		return nil, ended(ctx, nil)
	}
	defer func() { <-l.places }()
	return l.Model.Generate(ctx, req, sink)
}
