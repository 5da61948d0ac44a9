// SPDX-License-Identifier: Apache-2.0

package acp

// envelope is a message as far as the reader has to understand it. Slices share memory with the line.
type envelope struct {
	id      RequestID
	hasID   bool
	badID   bool // there is an id, of a type that JSON-RPC does not have
	version bool // "jsonrpc" is "2.0"

	method    string
	hasMethod bool // there is a method, which may be of the wrong type
	session   string
	params    []byte
	result    []byte
	errorBody []byte
}

// parseEnvelope validates the line and finds the parts of the message in one pass. ok is false if the line is not JSON; object is
// false if it is JSON, but not an object.
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
		env.id, ok = parseID(value)
		env.hasID, env.badID = true, !ok
	case `"method"`:
		env.hasMethod = true
		if value[0] == '"' {
			d := decoder{data: value}
			env.method = d.string()
		}
	case `"params"`:
		env.params = value
	case `"result"`:
		env.result = value
	case `"error"`:
		if string(value) != "null" { // some peers write both members
			env.errorBody = value
		}
	}
}

// isResponse reports whether the message answers a request. It is never answered itself.
func (env *envelope) isResponse() bool {
	return !env.hasMethod && (env.result != nil || env.errorBody != nil)
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
