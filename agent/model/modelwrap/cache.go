// SPDX-License-Identifier: Apache-2.0

package modelwrap

import (
	"context"
	"errors"
	"sync"

	"github.com/ponte-go/ponte/agent/model"
)

// Store keeps responses for [Cache]. [NewMemory] returns one.
type Store interface {
	// Get returns the response stored under key, or false. The caller does not modify it.
	Get(ctx context.Context, key Key) (*model.Message, bool)
	// Put stores a response under key and replaces any other. The store owns the message and may
	// drop it at any time. Stores outside of the process can use the JSON form of messages.
	//
	// Both methods are called on the goroutine of a request. They must be safe for concurrent use
	// and return when ctx is done. They return no error: a store that fails returns and stores
	// nothing, and reports the failure itself.
	Put(ctx context.Context, key Key, response *model.Message)
}

// CachePolicy determines what [Cache] keeps and shares. The zero value is usable.
type CachePolicy struct {
	// Keep reports whether a response may be kept. If nil, complete responses are kept: those that
	// were not interrupted and whose Finish is neither [model.FinishError] nor
	// [model.FinishLength].
	Keep func(*model.Message) bool
	// Coalesce merges identical requests that are in progress at the same time. The first is sent,
	// and streamed if its caller asked for it. The others wait for its complete response. If it
	// fails with a [*model.APIError], they fail too. If it ends for a reason of its own caller,
	// another one is sent.
	Coalesce bool
	// Name tells models apart that have the same Info. It is needed to share a store with other
	// processes and other [Cached] values if the model does not tell what its responses depend on
	// ([model.Identifier]), as those of [model.Func] and of wrappers of your own do not: without a
	// name, their responses are not shared.
	Name string
}

// CacheStats counts the requests of a [Cached] model.
type CacheStats struct {
	// Hits were answered from the store, Shared by another request in progress. Misses were sent.
	Hits, Shared, Misses int64
}

// Cached is a model that answers identical requests from a store. [Cache] makes one.
type Cached struct {
	inner  model.Model
	store  Store
	policy CachePolicy
	digest Key // of what tells inner from other models

	mu      sync.Mutex
	stats   CacheStats
	flights map[Key]*flight
}

var _ model.Model = (*Cached)(nil)

// flight is a request in progress that others may wait for.
type flight struct {
	done chan struct{}
	// Either resp or err is set when done is closed. Both are nil if the request ended for a reason
	// of its own caller.
	resp *model.Message
	err  error
}

// Cache returns a model that answers a request from the store if an identical one was answered
// before, by the same model: one with the same Info, address, profile, default settings and
// wrappers, and the same [CachePolicy.Name]. Keys do not matter. Requests are identical if the
// provider could not tell them apart. Ids of tool calls and messages, run ids, times, metadata and
// the recorded instructions of earlier requests are ignored. Everything else is compared:
// instructions, messages, tools and their order, tool choice, output schema and settings. See
// [Cached.Key].
//
// A stored response is the same message each time. It includes its usage, although no tokens were
// used again, so put [Cost] inside the cache. If a stream is requested, each part is sent as one
// delta, followed by the usage. Errors are never stored.
//
// Cache panics if m or store is nil.
func Cache(m model.Model, store Store, policy CachePolicy) *Cached {
	mustWrap("Cache", m)
	if store == nil {
		panic("modelwrap: Cache: store is nil")
	}
	if policy.Keep == nil {
		policy.Keep = complete
	}
	return &Cached{inner: m, store: store, policy: policy, digest: digestOf(m, policy.Name), flights: map[Key]*flight{}}
}

func complete(resp *model.Message) bool {
	return !resp.Interrupted && resp.Finish != model.FinishError && resp.Finish != model.FinishLength
}

// Info implements [model.Model].
func (c *Cached) Info() model.Info { return c.inner.Info() }

// Key returns the key of a request. Programs can use it to look into their store.
func (c *Cached) Key(req *model.Request) Key { return keyOf(&c.digest, req) }

// Stats returns the counts so far.
func (c *Cached) Stats() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

// Generate implements [model.Model].
func (c *Cached) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	model.Unsent(ctx) // unless the model is asked below
	key := keyOf(&c.digest, req)
	for {
		if ctx.Err() != nil {
			return nil, ended(ctx, nil)
		}
		if resp, ok := c.store.Get(ctx, key); ok {
			c.count(&c.stats.Hits)
			return replay(ctx, resp, sink)
		}
		if !c.policy.Coalesce {
			c.count(&c.stats.Misses)
			return c.ask(ctx, key, req, sink)
		}
		f, first := c.join(key)
		if first {
			return c.lead(ctx, key, f, req, sink)
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, ended(ctx, nil)
		}
		if f.resp != nil || f.err != nil {
			c.count(&c.stats.Shared)
			if f.err != nil {
				return nil, f.err
			}
			return replay(ctx, f.resp, sink)
		}
	}
}

func (c *Cached) count(n *int64) {
	c.mu.Lock()
	*n++
	c.mu.Unlock()
}

// ask sends a request and stores the response.
func (c *Cached) ask(ctx context.Context, key Key, req *model.Request, sink model.Sink) (*model.Message, error) {
	resp, err := model.Ask(ctx, c.inner, req, sink)
	if err == nil && c.policy.Keep(resp) {
		c.store.Put(ctx, key, resp.Clone())
	}
	return resp, err
}

// join returns the flight under a key, and whether the caller is the first in it.
func (c *Cached) join(key Key) (*flight, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.flights[key]; f != nil {
		return f, false
	}
	f := &flight{done: make(chan struct{})}
	c.flights[key] = f
	return f, true
}

// lead sends the request of a flight and releases those who wait for it, even if the model panics.
func (c *Cached) lead(ctx context.Context, key Key, f *flight, req *model.Request, sink model.Sink) (*model.Message, error) {
	defer func() {
		c.mu.Lock()
		delete(c.flights, key)
		c.mu.Unlock()
		close(f.done)
	}()
	if resp, ok := c.store.Get(ctx, key); ok { // stored by another flight in the meantime
		c.count(&c.stats.Hits)
		f.resp = resp
		return replay(ctx, resp, sink)
	}
	c.count(&c.stats.Misses)
	sinkFailed := false
	if sink != nil {
		take := sink
		sink = func(d model.Delta) error {
			err := take(d)
			sinkFailed = sinkFailed || err != nil
			return err
		}
	}
	resp, err := c.ask(ctx, key, req, sink)
	switch {
	case err == nil:
		f.resp = resp.Clone() // the caller owns resp now
	case !sinkFailed && ctx.Err() == nil && errors.As(err, new(*model.APIError)):
		f.err = err
	}
	return resp, err
}

// replay returns a stored response, as a stream if there is a sink.
func replay(ctx context.Context, kept *model.Message, sink model.Sink) (*model.Message, error) {
	resp := kept.Clone()
	if sink == nil {
		return resp, nil
	}
	part := 0
	for i := range resp.Parts {
		p := &resp.Parts[i]
		d := model.Delta{Part: part, Kind: p.Kind, Text: p.Text}
		switch {
		case p.Kind == model.PartToolCall:
			d.Text, d.CallID, d.Tool = string(p.Args), p.CallID, p.Tool
		case p.Kind == model.PartText, p.Kind == model.PartThinking && p.Text != "":
		default:
			continue // not a streamed part
		}
		part++
		if err := give(ctx, sink, d); err != nil {
			return nil, err
		}
	}
	if resp.Usage != (model.Usage{}) {
		if err := give(ctx, sink, model.Delta{Usage: new(resp.Usage)}); err != nil {
			return nil, err
		}
	}
	return resp, nil
}

// give passes a delta to a sink and checks the context before and after.
func give(ctx context.Context, sink model.Sink, d model.Delta) error {
	if err := sink(d); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ended(ctx, nil)
	}
	return nil
}
