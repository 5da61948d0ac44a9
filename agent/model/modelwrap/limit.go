// SPDX-License-Identifier: Apache-2.0

package modelwrap

import (
	"context"
	"fmt"

	"github.com/ponte-go/ponte/agent/model"
)

// Limit returns a model that passes on at most n requests at a time. Others wait, first come first
// served, until their context ends. The limit belongs to the returned value and is shared by all
// agents that use it. It is held while a response is streamed, including the time spent in the
// caller's sink. It is not held while an agent executes tools.
//
// Limit panics if m is nil or n is less than 1.
func Limit(m model.Model, n int) model.Model {
	mustWrap("Limit", m)
	if n < 1 {
		panic(fmt.Sprintf("modelwrap: Limit: n is %d, must be at least 1", n))
	}
	return &limit{m, make(chan struct{}, n)}
}

type limit struct {
	model.Model

	// places has an element for each request in progress. Goroutines that wait to send on a channel
	// are served in order.
	places chan struct{}
}

func (l *limit) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	select {
	case l.places <- struct{}{}:
	case <-ctx.Done():
		model.Unsent(ctx)
		return nil, ended(ctx, nil)
	}
	defer func() { <-l.places }()
	return model.Ask(ctx, l.Model, req, sink)
}
