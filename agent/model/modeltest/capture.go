// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"context"
	"slices"
	"sync"

	"github.com/ponte-go/ponte/agent/model"
)

// Captured is a model that records requests. See [Capture].
type Captured struct {
	model.Model

	mu       sync.Mutex
	requests []*model.Request
}

// Capture returns a model that records requests and passes them on to m. Use it to test what an
// agent sends.
func Capture(m model.Model) *Captured { return &Captured{Model: m} }

// Generate implements [model.Model].
func (c *Captured) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	c.keep(req)
	return c.Model.Generate(ctx, req, sink)
}

// keep records a request and returns the number of earlier ones.
func (c *Captured) keep(req *model.Request) int {
	kept := *req
	kept.Messages, kept.Tools = slices.Clone(req.Messages), slices.Clone(req.Tools)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, &kept)
	return len(c.requests) - 1
}

// Requests returns the requests so far, in order. Their messages are shared with the runs.
func (c *Captured) Requests() []*model.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.requests)
}

// Last returns the last request, or nil if there was none.
func (c *Captured) Last() *model.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.requests) == 0 {
		return nil
	}
	return c.requests[len(c.requests)-1]
}
