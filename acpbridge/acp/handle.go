// SPDX-License-Identifier: Apache-2.0

package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
)

// handle runs the handler of a message on its lane, and answers it if it is a request.
func (c *conn) handle(in *incoming) {
	switch {
	case in.deliver != nil:
		in.deliver()
		return
	case !in.request:
		c.handleNotification(in)
		return
	}
	result, err := c.invoke(in)
	if err == nil {
		result, err = c.extended(in, result)
	}
	ok := c.respond(in, result, err)
	if in.method == MethodInitialize {
		c.settleGate(ok)
	}
	if ok {
		c.runAfter(in)
	}
	in.cancel(ErrAnswered)
}

// settleGate opens or shuts the gate behind an answered initialize. A second initialize changes
// nothing.
func (c *conn) settleGate(ok bool) {
	c.mu.Lock()
	waiting := c.gate == gateWaiting
	c.mu.Unlock()
	if waiting {
		c.openGate(ok)
	}
}

// invoke calls the handler of a request, unless the request was cancelled before its turn came.
func (c *conn) invoke(in *incoming) (result message, err error) {
	switch cause := context.Cause(in.ctx); {
	case errors.Is(cause, ErrTurnCancelled):
		c.release(in)
		c.awaitTurnBefore(in)
		return nil, cause
	case errors.Is(cause, ErrRequestCancelled):
		return nil, cause
	case cause != nil && in.turn:
		return nil, cause // the connection ends: no use beginning a turn
	}
	defer func() {
		if v := recover(); v != nil {
			c.logPanic(in.method, v)
			result, err = nil, Errorf(CodeInternal, "internal error").WithData(map[string]string{"kind": "panic"})
		}
	}()
	ctx := c.contextOf(in)
	result, ok, err := c.role.serve(ctx, in.method, in.params)
	if ok {
		return result, err
	}
	if c.opts.ExtMethod == nil {
		return nil, methodNotFound(in.method)
	}
	raw, err := c.opts.ExtMethod(ctx, in.method, in.params)
	return (*rawMessage)(&raw), err
}

// awaitTurnBefore waits until the turn that was read before this one has been answered. Otherwise
// its updates could follow the answer to this one.
func (c *conn) awaitTurnBefore(in *incoming) {
	if in.before == nil {
		return
	}
	select {
	case <-in.before.done:
	case <-c.ending:
	}
}

// respond answers the request and reports whether the answer is a result that has its place in the
// order of the wire. From the moment that it takes the request off the books no cancellation
// reaches it any more.
func (c *conn) respond(in *incoming, result message, err error) (ok bool) {
	c.forget(in)
	cause := context.Cause(in.ctx)
	if err != nil && in.turn && cause == ErrTurnCancelled {
		result, err = &PromptResponse{StopReason: StopReasonCancelled}, nil
	}
	failure := failureOf(err, cause)
	e := encodeResponse(in.id, result, failure)
	if e.err != nil {
		if failure == nil {
			failure = ToError(fmt.Errorf("the result of %s cannot be encoded: %w", in.method, e.err))
		} else { // the error's data is not JSON
			failure = &Error{Code: failure.Code, Message: failure.Message}
		}
		e.release()
		e = encodeResponse(in.id, nil, failure)
	}
	ev := Event{Direction: Sent, Kind: KindResponse, Method: in.method, ID: in.id.String(), Size: len(e.b)}
	if failure != nil {
		ev.Kind = KindError
	}
	sent := c.out.answer(in, e)
	if in.done != nil {
		close(in.done)
	}
	in.before = nil
	if sent != nil {
		ev.Problem = sent.Error()
	}
	c.trace(ev)
	return failure == nil && sent == nil
}

// failureOf returns the error to answer with, nil if err is.
func failureOf(err, cause error) *Error {
	switch {
	case err == nil:
		return nil
	case cause == error(ErrRequestCancelled) && errors.Is(err, context.Canceled):
		return ErrRequestCancelled
	}
	return ToError(err)
}

// forget takes a request off the books.
func (c *conn) forget(in *incoming) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id := in.id.canonical(); c.inflight[id] == in {
		delete(c.inflight, id)
	}
	if !in.turn {
		return
	}
	turns := c.turns[in.session]
	if i := slices.Index(turns, in); i >= 0 {
		turns = slices.Delete(turns, i, i+1)
	}
	if len(turns) == 0 {
		delete(c.turns, in.session)
	} else {
		c.turns[in.session] = turns
	}
}

// runAfter calls what AfterResponse has registered.
func (c *conn) runAfter(in *incoming) {
	c.mu.Lock()
	after := in.after
	in.after = nil
	c.mu.Unlock()
	defer func() {
		if v := recover(); v != nil {
			c.logPanic(in.method, v)
		}
	}()
	for _, f := range after {
		f(c.base)
	}
}

func (c *conn) handleNotification(in *incoming) {
	defer func() {
		if v := recover(); v != nil {
			c.logPanic(in.method, v)
		}
	}()
	ok, err := c.role.notify(in.ctx, in.method, in.params)
	if !ok && c.opts.ExtNotification != nil {
		err = c.opts.ExtNotification(in.ctx, in.method, in.params)
	}
	if err != nil {
		c.opts.Logger.Warn("acp: notification not handled", "method", in.method, "error", describe(err))
	}
}

// describe returns what may be logged of an error: its type, and its text if it is known to hold no
// payload.
func describe(err error) string {
	if e, ok := errors.AsType[*DecodeError](err); ok {
		return e.Error()
	}
	return fmt.Sprintf("%T", err)
}

// logPanic logs where a handler panicked. The value may hold anything, so only the runtime's own
// are written out.
func (c *conn) logPanic(method string, v any) {
	what := fmt.Sprintf("%T", v)
	if e, ok := v.(runtime.Error); ok {
		what = e.Error()
	}
	c.opts.Logger.Error("acp: handler panicked", "method", method, "panic", what, "stack", string(debug.Stack()))
}

// decodeParams decodes parameters. None at all are like {}.
func decodeParams[T any](params json.RawMessage) (*T, error) {
	if len(params) == 0 || string(params) == "null" {
		params = json.RawMessage("{}")
	}
	v := new(T)
	if err := decodeValid(params, v); err != nil {
		return nil, err
	}
	return v, nil
}

// serve calls the handler of a request.
func serve[P, R any](ctx context.Context, params json.RawMessage, h func(context.Context, *P) (*R, error)) (message, error) {
	p, err := decodeParams[P](params)
	if err != nil {
		return nil, invalidParams(err)
	}
	result, err := h(ctx, p)
	if err != nil {
		return nil, err
	}
	if result == nil {
		return nil, errors.New("acp: the handler returned neither a result nor an error")
	}
	return result, nil
}

// serveOptional is serve for a method whose result needs no field: a handler may return nil for it.
func serveOptional[P, R any](ctx context.Context, params json.RawMessage, h func(context.Context, *P) (*R, error)) (message, error) {
	return serve(ctx, params, func(ctx context.Context, p *P) (*R, error) {
		result, err := h(ctx, p)
		if result == nil && err == nil {
			result = new(R)
		}
		return result, err
	})
}

// notice calls the handler of a notification.
func notice[P any](ctx context.Context, params json.RawMessage, h func(context.Context, *P) error) error {
	p, err := decodeParams[P](params)
	if err != nil {
		return err
	}
	return h(ctx, p)
}
