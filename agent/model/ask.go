// SPDX-License-Identifier: Apache-2.0

package model

import "context"

// Ask sends a request to a model on behalf of another model, such as a fallback, a cache or a
// retry. Wrappers call it instead of [Model.Generate], with the context that they got or one
// derived from it. Within a run, the request then counts as a request of the run, under its limits
// and at the price of the model that answers, and the wrapper's own request does not count.
// Elsewhere Ask only calls Generate.
func Ask(ctx context.Context, m Model, req *Request, sink Sink) (*Message, error) {
	if g, ok := ctx.Value(GateKey{}).(Gate); ok {
		return g.Ask(ctx, m, req, sink)
	}
	return m.Generate(ctx, req, sink)
}

// Unsent reports that a model answers a request, or fails, without sending it: from a cache, for
// example. Within a run, the request does not count then. ctx is the context of the model's
// Generate.
func Unsent(ctx context.Context) {
	if g, ok := ctx.Value(GateKey{}).(Gate); ok {
		g.Unsent()
	}
}

// Gate counts the requests that models send with [Ask]. The context of a request that is counted
// has one, under [GateKey].
type Gate interface {
	// Ask sends a request and counts it instead of the one that the gate belongs to.
	Ask(ctx context.Context, m Model, req *Request, sink Sink) (*Message, error)
	// Unsent takes back the request that the gate belongs to.
	Unsent()
}

// GateKey is the key of the [Gate] in a context.
type GateKey struct{}
