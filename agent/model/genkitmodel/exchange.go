// SPDX-License-Identifier: Apache-2.0

package genkitmodel

import (
	"context"
	"time"

	"github.com/firebase/genkit/go/ai"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// grace is how long a cancelled plugin may take to return.
const grace = 250 * time.Millisecond

// exchange is one request and its response.
type exchange struct {
	m      *Model
	c      *Call
	sink   model.Sink
	deltas deltas
}

// outcome is the result of a plugin's function.
type outcome struct {
	resp *ai.ModelResponse
	err  error
}

// run calls the plugin. The goroutine it starts ends before run returns, unless the plugin ignores
// its context.
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
		out := outcome{err: &PanicError{}} // used if the plugin ends the goroutine
		defer func() { done <- out }()
		out = e.m.ask(pluginCtx, e.c.Genkit, callback)
	}()

	for {
		// Check ctx first: select would choose at random.
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

// leave waits for a cancelled plugin to return.
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

// chunk receives a chunk from the plugin, on the plugin's goroutine.
func (e *exchange) chunk(chunk *ai.ModelResponseChunk) error {
	switch {
	case chunk == nil:
		return nil
	case e.c.OnChunk != nil:
		return e.c.OnChunk(chunk)
	}
	return e.c.EmitChunk(chunk)
}

// finish makes a message from the outcome and tells the sink what was not streamed.
func (e *exchange) finish(ctx context.Context, out outcome) (*model.Message, error) {
	if ctx.Err() != nil { // some plugins complete the response anyway
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
		err = e.m.failure(err)
		adapter.HideHeaders(err, e.c.Settings.ExtraHeaders)
		return nil, err
	}
	if err == nil {
		e.m.complete(msg)
		if e.sink != nil {
			if err := e.deltas.rest(e.sink, msg); err != nil {
				return nil, err
			}
		}
	}
	if ctx.Err() != nil { // Recover made another request, and the sink may have ended ctx
		return nil, e.m.cancelled(ctx, nil)
	}
	e.m.settle(msg)
	return msg, nil
}
