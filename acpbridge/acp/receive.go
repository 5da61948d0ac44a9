// SPDX-License-Identifier: Apache-2.0

package acp

import (
	"bytes"
	"context"
	"fmt"
	"slices"
)

// read is the reader. It never waits for a handler, except for room in the backlog.
func (c *conn) read() {
	lines := newLineReader(c.r, c.opts.MaxLine)
	for {
		line, long, err := lines.next()
		switch {
		case err != nil:
			c.end(err, true)
			return
		case long != nil:
			c.receiveLong(long)
		case len(bytes.TrimSpace(line)) > 0:
			c.receive(line)
		}
	}
}

// receive handles one line: answers and cancellations at once, everything else on the lane of its
// session.
func (c *conn) receive(line []byte) {
	if c.opts.Tap != nil {
		c.opts.Tap(Received, line)
	}
	env, object, ok := parseEnvelope(line)
	ev := Event{Direction: Received, Size: len(line)}
	switch {
	case !ok:
		c.receiveBroken(line, ev)
		return
	case !object:
		c.receiveBatch(line, ev)
		return
	case c.isAnswer(&env):
		c.deliver(&env, ev)
		return
	}
	if problem := env.invalid(); problem != "" {
		c.refuseObject(&env, ev, problem)
		return
	}
	ev.Method = env.method
	if env.hasID {
		ev.Kind, ev.ID = KindRequest, env.id.String()
		c.receiveRequest(&env, ev)
	} else {
		ev.Kind = KindNotification
		c.receiveNotification(&env, ev)
	}
}

// receiveLong handles what is known of a line that was too long to be read.
func (c *conn) receiveLong(long *longLine) {
	ev := Event{Direction: Received, Size: c.opts.MaxLine + 1}
	if long.response && !long.method {
		ev.Kind, ev.Problem = KindResponse, "longer than MaxLine"
		if long.hasID {
			ev.ID = long.id.String()
		}
		if !long.hasID || c.resolve(long.id, answer{err: &TooLongError{Limit: c.opts.MaxLine}}) == strange {
			c.failCalls(ev.Problem)
		}
		c.trace(ev)
		return
	}
	c.refuse(long.id, ev, CodeInvalidRequest, fmt.Sprintf("invalid request: the message is longer than %d bytes", c.opts.MaxLine))
}

// refuse answers a message that will not be handled.
func (c *conn) refuse(id RequestID, ev Event, code int, problem string) {
	ev.Problem = problem
	c.trace(ev)
	e := encodeResponse(id, nil, &Error{Code: code, Message: problem})
	c.trace(Event{Direction: Sent, Kind: KindError, ID: id.String(), Size: len(e.b)})
	bound := c.opts.MaxQueue
	if !id.IsNull() {
		bound += c.opts.MaxBacklog // somebody waits for it, but a peer that does not read gets no more memory than that
	}
	c.out.offer(e, bound)
}

func (c *conn) receiveRequest(env *envelope, ev Event) {
	in := &incoming{
		conn: c, id: env.id, request: true, method: env.method, session: env.session, params: env.params, size: ev.Size,
		turn: c.role.isAgent() && env.method == MethodPrompt,
	}
	c.mu.Lock()
	if c.closed != nil && !c.drain {
		c.mu.Unlock()
		return
	}
	if code, problem := c.admissible(in); code != 0 {
		c.mu.Unlock()
		c.refuse(env.id, ev, code, problem)
		return
	}
	ctx, cancel := context.WithCancelCause(c.base)
	in.ctx, in.cancel = &handlerCtx{ctx, in}, cancel
	if !in.id.IsNull() {
		c.inflight[in.id.canonical()] = in
	}
	if in.turn {
		in.done = make(chan struct{})
		if turns := c.turns[in.session]; len(turns) > 0 {
			in.before = turns[len(turns)-1]
		}
		c.turns[in.session] = append(c.turns[in.session], in)
	}
	if in.method == MethodInitialize && c.gate == gateShut {
		c.gate = gateWaiting
		c.enqueue(in)
	} else {
		c.admit(in)
	}
	c.mu.Unlock()
	c.trace(ev)
}

// admissible returns why the request cannot be handled; code is 0 if it can. The caller holds c.mu.
func (c *conn) admissible(in *incoming) (code int, problem string) {
	switch {
	case c.gate == gateShut && in.method != MethodInitialize:
		return CodeInvalidRequest, "invalid request: the connection has not been initialized"
	case c.inflight[in.id.canonical()] != nil:
		return CodeInvalidRequest, "invalid request: a request with this id has not been answered yet"
	case c.backlog > 0 && c.backlog+in.size > c.opts.MaxBacklog:
		return CodeInternal, "too many requests wait to be handled"
	}
	return 0, ""
}

// admit queues a message on its lane, or holds it until initialize has been answered. The caller
// holds c.mu.
func (c *conn) admit(in *incoming) {
	if c.gate == gateWaiting {
		c.backlog += in.size
		c.held = append(c.held, in)
		return
	}
	c.enqueue(in)
}

func (c *conn) receiveNotification(env *envelope, ev Event) {
	switch {
	case env.method == MethodCancelRequest:
		c.cancelRequest(env.params)
		c.trace(ev)
		return
	case c.role.isAgent() && env.method == MethodCancel:
		c.cancelTurns(env.session)
	default:
		c.awaitRoom(ev.Size)
	}
	in := &incoming{conn: c, method: env.method, session: env.session, params: env.params, size: ev.Size}
	c.mu.Lock()
	if c.gate == gateShut || c.closed != nil && !c.drain {
		ev.Problem = "the connection is not open"
	} else {
		in.ctx = &handlerCtx{c.base, in}
		c.admit(in)
	}
	c.mu.Unlock()
	c.trace(ev)
}

// awaitRoom holds the reader up while the backlog is full, unless that could keep a handler from
// ending.
func (c *conn) awaitRoom(size int) {
	for {
		c.mu.Lock()
		ok := c.backlog == 0 || c.backlog+size <= c.opts.MaxBacklog || c.waiting > 0
		c.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-c.room:
		case <-c.ending:
			return
		}
	}
}

func (c *conn) signalRoom() {
	select {
	case c.room <- struct{}{}:
	default:
	}
}

// cancelTurns ends the ctx of every prompt of the session that has been read and not answered.
func (c *conn) cancelTurns(session string) {
	c.mu.Lock()
	turns := slices.Clone(c.turns[session])
	c.mu.Unlock()
	for _, in := range slices.Backward(turns) { // the end of one must not begin the next
		in.cancel(ErrTurnCancelled)
	}
}

func (c *conn) cancelRequest(params []byte) {
	n, err := decodeParams[CancelRequestNotification](params)
	if err != nil {
		return
	}
	c.mu.Lock()
	in := c.inflight[n.RequestID.canonical()]
	c.mu.Unlock()
	if in != nil {
		in.cancel(ErrRequestCancelled)
	}
}

// openGate is called when initialize has been answered: later requests are now let in, or refused
// with it.
func (c *conn) openGate(ok bool) {
	c.mu.Lock()
	held := c.held
	c.held = nil
	if ok {
		c.gate = gateOpen
	} else {
		c.gate = gateShut
	}
	var refused []*incoming
	for _, in := range held {
		c.backlog -= in.size
		if ok {
			c.enqueue(in)
		} else if in.request {
			refused = append(refused, in)
		}
	}
	c.mu.Unlock()
	c.signalRoom()
	for _, in := range refused {
		c.respond(in, nil, Errorf(CodeInvalidRequest, "invalid request: the connection could not be initialized"))
		in.cancel(ErrAnswered)
	}
}

func (c *conn) trace(ev Event) {
	if c.opts.Trace != nil {
		c.opts.Trace(ev)
	}
}
