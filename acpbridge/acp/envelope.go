// SPDX-License-Identifier: Apache-2.0

package acp

// envelope holds the parts of a message that the reader needs. Slices share memory with the line.
type envelope struct {
	id      RequestID
	hasID   bool
	badID   bool      // there is an id, of a type that JSON-RPC does not have, or there are two
	whole   RequestID // the integer that a bad id stands for, if it is one such as 5.0
	version bool      // "jsonrpc" is "2.0"

	method    string
	hasMethod bool // there is a method, which may be of the wrong type
	session   string
	params    []byte
	result    []byte
	errorBody []byte // nil if there is none, or if it is null
	hasError  bool

	problem string // what is wrong with an answer
	foreign bool   // there are members that no answer has
}

// parseEnvelope validates the line and finds the parts of the message in one pass. ok is false if
// the line is not JSON; object is false if it is JSON, but not an object.
func parseEnvelope(line []byte) (env envelope, object, ok bool) {
	s := scanner{data: line}
	s.space()
	if s.peek() != '{' {
		return env, false, s.value(0) && s.atEnd()
	}
	member := func(key []byte) bool {
		start := s.pos
		if string(key) == `"params"` && s.peek() == '{' {
			if !s.object(1, func(key []byte) bool { return s.paramsMember(key, &env) }) {
				return false
			}
		} else if !s.value(1) {
			return false
		}
		env.set(key, line[start:s.pos])
		return true
	}
	ok = s.object(0, member) && s.atEnd()
	return env, true, ok
}

func (s *scanner) paramsMember(key []byte, env *envelope) bool {
	start := s.pos
	if !s.value(2) {
		return false
	}
	if string(key) == `"sessionId"` && s.data[start] == '"' {
		d := decoder{data: s.data[start:s.pos]}
		env.session = d.string()
	}
	return true
}

func (env *envelope) set(quotedKey, value []byte) {
	switch string(quotedKey) {
	case `"jsonrpc"`:
		env.version = string(value) == `"2.0"`
	case `"id"`:
		var ok bool
		before, had := env.id, env.hasID
		env.id, ok = parseID(value)
		env.hasID, env.badID = true, !ok || had && env.id != before
		if env.whole = (RequestID{}); !ok && !had {
			env.whole = wholeID(value)
		}
	case `"method"`:
		env.hasMethod = true
		if value[0] == '"' {
			d := decoder{data: value}
			env.method = d.string()
		}
		env.foreign = true
	case `"params"`:
		env.params = value
		env.foreign = true
	case `"result"`:
		if env.result != nil {
			env.problem = "it has two results"
		}
		env.result = value
	case `"error"`:
		if env.errorBody != nil {
			env.problem = "it has two errors"
		}
		env.hasError = true
		if string(value) != "null" { // some peers write both members
			env.errorBody = value
		}
	default:
		env.foreign = true
	}
}

// isResponse reports whether the message answers a request. It is never answered itself.
func (env *envelope) isResponse() bool {
	return env.method == "" && (env.result != nil || env.hasError)
}

// answerTo returns the id of the request that a message answers; ok is false if it has none.
func (env *envelope) answerTo() (id RequestID, ok bool) {
	if env.badID {
		return env.whole, !env.whole.IsNull()
	}
	return env.id, env.hasID
}

// answer is the content of a response.
func (env *envelope) answer() answer {
	switch {
	case env.problem != "":
		return answer{err: &AnswerError{Problem: env.problem}}
	case env.method != "":
		return answer{err: &AnswerError{Problem: "it has a method"}}
	case env.errorBody != nil:
		failure := new(Error)
		if err := decodeValid(env.errorBody, failure); err != nil {
			return answer{err: err}
		}
		return answer{err: failure}
	case env.result == nil:
		return answer{err: &AnswerError{Problem: "it has neither a result nor an error"}}
	}
	return answer{result: env.result}
}

// invalid returns what is wrong with a request or notification, "" if nothing is.
func (env *envelope) invalid() string {
	switch {
	case env.badID:
		return "invalid request: id must be an integer, a string or null"
	case !env.version:
		return `invalid request: jsonrpc must be "2.0"`
	case env.method == "":
		return "invalid request: no method"
	}
	return ""
}
