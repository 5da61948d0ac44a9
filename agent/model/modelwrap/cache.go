// SPDX-License-Identifier: Apache-2.0

package modelwrap

import (
	"context"
	"errors"
	"sync"

	"github.com/ponte-go/ponte/agent/model"
)

// Store keeps responses for [Cache]. [NewMemory] makes one.
type Store interface {
	// Get returns the response that is kept under key, or false. What it returns is only read.
	Get(ctx context.Context, key Key) (*model.Message, bool)
	// Put keeps a response under key, in place of any other. The message belongs to the store from then on, which may
	// forget it whenever it likes. Messages have a JSON form for stores outside of the process.
	//
	// Both methods are called on the goroutine of a request, by several at the same time, and end when ctx does. They
	// return no error: a store that fails has nothing, and keeps nothing. It is up to the store to report that.
	Put(ctx context.Context, key Key, response *model.Message)
}

// CachePolicy says what [Cache] keeps and shares. The zero value is useful.
type CachePolicy struct {
	// Keep says whether a response may be kept. Nil means every one that is complete: it was not interrupted, and
	// Finish is neither [model.FinishError] nor [model.FinishLength].
	Keep func(*model.Message) bool
	// Coalesce makes one request of identical ones that come at the same time: the first is sent, and streamed if its
	// caller wants that; the others wait for its whole answer. If it fails with a [*model.APIError], so do they; if it
	// ends for a reason of its own caller, another one of them is sent.
	Coalesce bool
}

// CacheStats counts the requests of a [Cached] model.
type CacheStats struct {
	// Hits were answered from the store, Shared by another request that was under way, Misses were sent.
	Hits, Shared, Misses int64
}

// Cached is a model that answers identical requests from a store. Make one with [Cache].
type Cached struct {
	inner  model.Model
	store  Store
	policy CachePolicy
	digest Key // of inner's Info

	mu      sync.Mutex
	stats   CacheStats
	flights map[Key]*flight
}

var _ model.Model = (*Cached)(nil)

// flight is a request that is under way, for which others may wait.
type flight struct {
	done chan struct{}
	// resp or err are set when done is closed. Neither is if the request ended for a reason that is its own.
	resp *model.Message
	err  error
}

// Cache returns a model that answers a request from the store if an identical one has been answered before, by a model
// with the same Info. Requests are identical when the provider could not tell them apart: the ids of tool calls and
// messages, run ids, times, metadata and the recorded instructions of earlier requests do not count. Everything else
// does: instructions, messages, tools and their order, tool choice, output schema and settings. See [KeyOf].
//
// A kept response is the same message each time, with its usage, although none was used again: put [Cost] within the
// cache. Asked for a stream, it gives each part as one delta, then the usage. Errors are never kept.
//
// It panics if m or store is nil.
func Cache(m model.Model, store Store, policy CachePolicy) *Cached {
	mustWrap("Cache", m)
	if store == nil {
		panic("modelwrap: Cache: the store is nil")
	}
	if policy.Keep == nil {
		policy.Keep = complete
	}
	return &Cached{inner: m, store: store, policy: policy, digest: digestOf(m.Info()), flights: map[Key]*flight{}}
}

func complete(resp *model.Message) bool {
	return !resp.Interrupted && resp.Finish != model.FinishError && resp.Finish != model.FinishLength
}

// Info implements [model.Model].
func (c *Cached) Info() model.Info { return c.inner.Info() }

// Stats returns how many requests there have been so far.
func (c *Cached) Stats() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

// Generate implements [model.Model].
func (c *Cached) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
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

// ask sends a request, and keeps the answer.
func (c *Cached) ask(ctx context.Context, key Key, req *model.Request, sink model.Sink) (*model.Message, error) {
	resp, err := c.inner.Generate(ctx, req, sink)
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

// lead sends the request of a flight and lets those who wait for it go, also if the model panics.
func (c *Cached) lead(ctx context.Context, key Key, f *flight, req *model.Request, sink model.Sink) (*model.Message, error) {
	defer func() {
		c.mu.Lock()
		delete(c.flights, key)
		c.mu.Unlock()
		close(f.done)
	}()
	if resp, ok := c.store.Get(ctx, key); ok { // another flight has landed since
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
		f.resp = resp.Clone() // resp belongs to the caller now
	case !sinkFailed && ctx.Err() == nil && errors.As(err, new(*model.APIError)):
		f.err = err
	}
	return resp, err
}

// replay gives a kept response, as a stream if there is a sink.
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
			continue // not a part that grows
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

// give passes a delta to a sink, between two looks at the context.
func give(ctx context.Context, sink model.Sink, d model.Delta) error {
	if err := sink(d); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ended(ctx, nil)
	}
	return nil
}
