// SPDX-License-Identifier: Apache-2.0

package genkitmodel

import (
	"context"
	"time"

	"github.com/firebase/genkit/go/ai"

	"github.com/ponte-go/ponte/agent/model"
)

// grace is how long a plugin may take to end when it has been told to.
const grace = 250 * time.Millisecond

// exchange is one request and its answer.
type exchange struct {
	m      *Model
	c      *Call
	sink   model.Sink
	deltas deltas
}

// outcome is how a plugin's function ended.
type outcome struct {
	resp *ai.ModelResponse
	err  error
}

// run asks the plugin. The goroutine that it starts has ended when run returns, unless the plugin does not heed its
// context.
func (e *exchange) run(ctx context.Context) (*model.Message, error) {
	pluginCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	pieces := make(chan Piece)
	done := make(chan outcome, 1)
	e.c.emit = func(p Piece) error {
		if e.sink == nil {
			return nil
		}
		select {
		case pieces <- p:
			return nil
		case <-pluginCtx.Done(): // also after run has returned
			return context.Cause(pluginCtx)
		}
	}
	pluginCtx, err := e.m.prepare(pluginCtx, e.c)
	if err != nil {
		return nil, err
	}
	var callback ai.ModelStreamCallback
	if e.c.Stream {
		callback = func(_ context.Context, chunk *ai.ModelResponseChunk) error { return e.chunk(chunk) }
	}
	go func() {
		out := outcome{err: &PanicError{}} // stands if the plugin ends the goroutine
		defer func() { done <- out }()
		out = e.m.ask(pluginCtx, e.c.Genkit, callback)
	}()

	for {
		// The end of ctx wins over what else is ready: select would choose at random.
		select {
		case p := <-pieces:
			if ctx.Err() != nil {
				break
			}
			if err := e.deltas.grow(e.sink, p); err != nil {
				cancel()
				leave(done)
				return nil, err
			}
		case out := <-done:
			return e.finish(ctx, out)
		case <-ctx.Done():
			cancel()
			leave(done)
			return nil, e.m.cancelled(ctx, nil)
		}
	}
}

// leave waits for a plugin that has been told to end.
func leave(done <-chan outcome) {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// ask calls the plugin.
func (m *Model) ask(ctx context.Context, req *ai.ModelRequest, callback ai.ModelStreamCallback) (out outcome) {
	defer func() {
		if value := recover(); value != nil {
			out = outcome{err: panicked(value)}
		}
	}()
	resp, err := m.genkit.Generate(ctx, req, callback)
	if err == nil && resp == nil {
		err = errNoResponse
	}
	return outcome{resp, err}
}

// chunk takes a chunk from the plugin, on the plugin's goroutine.
func (e *exchange) chunk(chunk *ai.ModelResponseChunk) error {
	switch {
	case chunk == nil:
		return nil
	case e.c.OnChunk != nil:
		return e.c.OnChunk(chunk)
	}
	return e.c.EmitChunk(chunk)
}

// finish makes a message of the outcome and tells the sink what it has not seen of it.
func (e *exchange) finish(ctx context.Context, out outcome) (*model.Message, error) {
	if ctx.Err() != nil { // some plugins complete the response all the same
		return nil, e.m.cancelled(ctx, nil)
	}
	var msg *model.Message
	err := out.err
	if err == nil {
		msg, err = e.m.message(out.resp)
	}
	if err != nil && e.c.Recover != nil {
		if again, better := e.c.Recover(err); again != nil {
			msg, err, out.resp = again, nil, nil
		} else if better != nil {
			err = better
		}
	}
	if err == nil && e.c.Finish != nil {
		err = e.c.Finish(out.resp, msg)
	}
	if err != nil && ctx.Err() == nil {
		return nil, e.m.failure(err)
	}
	if err == nil {
		e.m.complete(msg)
		if e.sink != nil {
			if err := e.deltas.rest(e.sink, msg); err != nil {
				return nil, err
			}
		}
	}
	if ctx.Err() != nil { // Recover asks again, and the sink may have ended ctx
		return nil, e.m.cancelled(ctx, nil)
	}
	e.m.settle(msg)
	return msg, nil
}
