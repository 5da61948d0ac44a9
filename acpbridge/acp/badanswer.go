// SPDX-License-Identifier: Apache-2.0

package acp

import (
	"bytes"
	"slices"

	"github.com/ponte-go/ponte/internal/show"
)

// AnswerError reports that the peer sent an answer that is not a JSON-RPC response. It comes
// wrapped in a [CallError].
//
// If the answer names its request, that call fails. Otherwise every waiting call fails, because the
// answer may belong to any of them. So no call waits for an answer that will not come.
type AnswerError struct {
	Problem string // what is wrong, in English
}

func (e *AnswerError) Error() string {
	return show.Received("acp: the peer sent a malformed answer: " + e.Problem)
}

// fate is the outcome of an answer.
type fate uint8

const (
	settled fate = iota // a call waited for it
	late                // the call had ended before, as after a cancellation, or the answer came twice
	strange             // no request has had this id
)

// resolve ends the call with the id. Answers do not wait for handlers, with one exception: when the
// caller sees the end of a turn or of a replay, the updates before it have been handled.
func (c *conn) resolve(id RequestID, a answer) fate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call, ok := c.calls[id]; ok {
		delete(c.calls, id)
		c.finishCall(&call, a)
		return settled
	}
	if n, ok := id.integer(); ok && 1 <= n && n <= c.nextID {
		return late
	}
	return strange
}

// finishCall gives a call its answer. The caller holds c.mu.
func (c *conn) finishCall(call *pendingCall, a answer) {
	done := call.done
	if l := c.lanes[call.session]; call.ordered && l != nil {
		l.queue = append(l.queue, &incoming{conn: c, deliver: func() { done <- a }})
		return
	}
	done <- a
}

// failCalls ends all waiting calls with an error. It reports whether there were any.
func (c *conn) failCalls(problem string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.calls) == 0 {
		return false
	}
	err := &AnswerError{Problem: "it does not say which call it answers (" + problem + ")"}
	for id, call := range c.calls {
		delete(c.calls, id)
		c.finishCall(&call, answer{err: err})
	}
	return true
}

func (c *conn) waitsFor(id RequestID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.calls[id]
	return ok
}

// receiveBroken handles a line that is not valid JSON. If the line is clearly an answer, it is not
// answered itself.
func (c *conn) receiveBroken(line []byte, ev Event) {
	const problem = "the line is not valid JSON"
	found := new(longLine)
	found.feed(bytes.TrimPrefix(bytes.TrimSpace(line), []byte("["))) // of a batch, the first message
	found.cutOff()
	if !found.method {
		if found.hasID && c.resolve(found.id, answer{err: &AnswerError{Problem: problem}}) == settled {
			ev.Kind, ev.ID, ev.Problem = KindResponse, found.id.String(), problem
			c.trace(ev)
			return
		}
		if c.role.isAgent() || !found.foreign {
			c.failCalls(problem)
		}
		if found.response {
			ev.Kind, ev.Problem = KindResponse, problem
			c.trace(ev)
			return
		}
	}
	c.refuse(RequestID{}, ev, CodeParseError, "parse error: "+problem)
}

// receiveBatch handles a line that is JSON but not an object. Batches are not supported, but
// answers in one end their calls.
func (c *conn) receiveBatch(line []byte, ev Event) {
	const problem = "answers do not come in batches"
	answers, others := 0, 0
	each := func(element []byte) {
		env, object, _ := parseEnvelope(element)
		if !object || !c.isAnswer(&env) {
			others++
			return
		}
		answers++
		env.problem = problem
		c.deliver(&env, ev)
	}
	s := scanner{data: line}
	s.elements(each)
	if answers == 0 && c.role.isAgent() {
		c.failCalls("the line is not a JSON object")
	}
	if answers == 0 || others > 0 {
		c.refuse(RequestID{}, ev, CodeInvalidRequest, "invalid request: a message must be one JSON object; batches are not supported")
	}
}

// isAnswer reports whether a message is an answer to one of our calls, well-formed or not.
func (c *conn) isAnswer(env *envelope) bool {
	if env.isResponse() {
		return true
	}
	id, ok := env.answerTo()
	answered := env.result != nil && string(env.result) != "null" || env.errorBody != nil
	return ok && (env.method == "" || answered) && c.waitsFor(id)
}

// refuseObject refuses an object that is neither an answer nor a valid request. Without a method it
// may have been meant as an answer. Its id is then one of ours and must not be sent back to the
// peer.
func (c *conn) refuseObject(env *envelope, ev Event, problem string) {
	id := env.id
	if env.method == "" {
		if answered, ok := env.answerTo(); ok && c.resolve(answered, answer{}) == late {
			id = RequestID{}
		}
		if (c.role.isAgent() || !env.foreign) && c.failCalls("it has neither a method nor a result nor an error") {
			id = RequestID{}
		}
	}
	c.refuse(id, ev, CodeInvalidRequest, problem)
}

// ofAnswer reports whether a quoted name, which may be cut off, is the name of a member of an
// answer.
func ofAnswer(name []byte) bool {
	return slices.ContainsFunc([]string{`"jsonrpc"`, `"id"`, `"result"`, `"error"`}, func(member string) bool {
		return len(name) <= len(member) && member[:len(name)] == string(name)
	})
}
