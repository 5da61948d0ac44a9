// SPDX-License-Identifier: Apache-2.0

package acp

import (
	"context"
	"encoding/json"
	"fmt"
)

// answer is the outcome of a call.
type answer struct {
	result []byte
	err    error
}

// pendingCall is a call that waits for its answer.
type pendingCall struct {
	done    chan answer // capacity 1
	session string      // whose lane the answer takes, if ordered
	ordered bool
}

// Call sends a request of any name and waits for its answer, which it decodes into result as
// [Unmarshal] does; nil drops it. params is encoded as by [Marshal]; nil sends {}. A
// [json.RawMessage] passes through both ways.
//
// It ends at once when ctx does, with ctx's cause, and then tells the peer with $/cancel_request,
// unless the answer has arrived by then. Every error is a [CallError].
func (c *conn) Call(ctx context.Context, method string, params, result any) error {
	p, err := messageOf(params)
	if err != nil {
		return &CallError{method, err}
	}
	raw, err := c.roundTrip(ctx, method, p)
	if err != nil {
		return &CallError{method, err}
	}
	switch r := result.(type) {
	case nil:
		return nil
	case *json.RawMessage:
		*r = raw
		return nil
	}
	if err := Unmarshal(raw, result); err != nil {
		return &CallError{method, fmt.Errorf("decode the result: %w", err)}
	}
	return nil
}

// Notify sends a notification of any name. It blocks as the typed methods do, and encodes params as
// Call does.
func (c *conn) Notify(ctx context.Context, method string, params any) error {
	p, err := messageOf(params)
	if err != nil {
		return &CallError{method, err}
	}
	e := beginNotification(method)
	e.message(p)
	return c.notify(ctx, method, e)
}

func messageOf(params any) (message, error) {
	switch p := params.(type) {
	case nil:
		return new(rawMessage), nil
	case json.RawMessage:
		return (*rawMessage)(&p), nil
	}
	if ofProtocol(params) {
		return params, nil
	}
	data, err := Marshal(params)
	return (*rawMessage)(&data), err
}

// call is a typed call.
func call[R any](ctx context.Context, c *conn, method string, params message) (*R, error) {
	raw, err := c.roundTrip(ctx, method, params)
	if err != nil {
		return nil, &CallError{method, err}
	}
	result, err := decodeParams[R](raw)
	if err != nil {
		return nil, &CallError{method, err}
	}
	return result, nil
}

// notify sends the notification that the encoder holds but for its end.
func (c *conn) notify(ctx context.Context, method string, e *encoder) error {
	e.endLine()
	size := len(e.b)
	if err := c.out.send(ctx, e); err != nil {
		return &CallError{method, err}
	}
	if c.opts.Trace != nil {
		c.trace(Event{Direction: Sent, Kind: KindNotification, Method: method, Size: size})
	}
	return nil
}

// roundTrip sends a request and waits for its answer.
func (c *conn) roundTrip(ctx context.Context, method string, params message) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	call := pendingCall{done: make(chan answer, 1)}
	release, holds := c.holdLane(ctx)
	defer release()
	if !holds {
		call.session, call.ordered = streamedTo(params)
	}
	params, err := c.outgoing(ctx, params)
	if err != nil {
		return nil, err
	}
	id, err := c.register(call)
	if err != nil {
		return nil, err
	}
	e := beginRequest(id, method)
	e.message(params)
	e.endLine()
	size := len(e.b)
	if err := c.out.send(ctx, e); err != nil {
		c.unregister(id)
		return nil, err
	}
	c.trace(Event{Direction: Sent, Kind: KindRequest, Method: method, ID: id.String(), Size: size})
	select {
	case a := <-call.done:
		return a.result, a.err
	case <-ctx.Done():
		if c.unregister(id) {
			c.sendCancel(id)
		}
		select {
		case a := <-call.done: // both: a connection may end with an answer
			return a.result, a.err
		default:
			return nil, context.Cause(ctx)
		}
	}
}

// streamedTo returns the session that the peer sends updates to before it answers the request, and
// that these updates belong to the answer: the caller gets it when they have been handled.
func streamedTo(params message) (session string, ok bool) {
	switch p := params.(type) {
	case *PromptRequest:
		return string(p.SessionID), true
	case *LoadSessionRequest:
		return string(p.SessionID), true
	}
	return "", false
}

func (c *conn) register(call pendingCall) (RequestID, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed != nil {
		return RequestID{}, c.closed
	}
	c.nextID++
	id := IntID(c.nextID)
	c.calls[id] = call
	return id, nil
}

// unregister gives a call up, and reports whether it was still waiting.
func (c *conn) unregister(id RequestID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.calls[id]
	delete(c.calls, id)
	return ok
}

// holdLane notes that a handler which holds its lane waits for the peer, so the reader continues
// whatever its backlog. release undoes that; holds is false if the ctx does not belong to such a
// handler.
func (c *conn) holdLane(ctx context.Context) (release func(), holds bool) {
	in := incomingOf(ctx)
	if in == nil || in.conn != c {
		return func() {}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if in.released {
		return func() {}, false
	}
	c.waiting++
	c.signalRoom()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.waiting--
	}, true
}

// sendCancel tells the peer that the answer is no longer needed. It does not wait for room: the
// caller's ctx has ended.
func (c *conn) sendCancel(id RequestID) {
	e := beginNotification(MethodCancelRequest)
	e.message(&CancelRequestNotification{RequestID: id})
	e.endLine()
	c.trace(Event{Direction: Sent, Kind: KindNotification, Method: MethodCancelRequest, ID: id.String(), Size: len(e.b)})
	_ = c.out.answer(nil, e) // fails only if the connection has ended
}

// deliver gives an answer to the call that waits for it.
func (c *conn) deliver(env *envelope, ev Event) {
	ev.Kind, ev.ID = KindResponse, env.id.String()
	a := env.answer()
	if a.err != nil {
		ev.Kind = KindError
	}
	if malformed, ok := a.err.(*AnswerError); ok {
		ev.Problem = malformed.Problem
	}
	id, ok := env.answerTo()
	if !ok {
		ev.Problem = "an answer without an id"
		c.failCalls(ev.Problem)
		c.trace(ev)
		return
	}
	switch c.resolve(id, a) {
	case late:
		ev.Problem = noCallWaits
	case strange:
		ev.Problem = noCallWaits
		c.receiveStrange(id, a)
	}
	c.trace(ev)
}

const noCallWaits = "no call waits for this answer"

// receiveStrange handles an answer with an id that no request had. The id may be one of ours in
// quotes. An error without an id may be about a notification, unless its code says that the peer
// could not read a message.
func (c *conn) receiveStrange(id RequestID, a answer) {
	if number, ok := id.unquoted(); ok && c.waitsFor(number) {
		c.resolve(number, answer{err: &AnswerError{Problem: "its id is a string, want the number " + number.String()}})
		return
	}
	if failure, ok := a.err.(*Error); ok && id.IsNull() && failure.Code != CodeParseError && failure.Code != CodeInvalidRequest {
		return
	}
	c.failCalls("no request had the id " + id.shortened())
}
