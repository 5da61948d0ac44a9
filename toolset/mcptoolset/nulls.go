// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"bytes"
	"encoding/json"
	"slices"
)

// The SDK panics, and so ends the program, at requests of a server that are null or whose
// parameters are, and at requests to the model with null in the place of a message. It must not get
// them.

// sampling is the method that a server calls to use the run's model.
const sampling = "sampling/createMessage"

// mayPanic reports whether the SDK may panic at a message. A server can write names with escapes,
// but null only in one way.
func mayPanic(message []byte) bool { return bytes.Contains(message, []byte("null")) }

// sound returns the parameters of a request in a form that the SDK takes.
func sound(method string, params json.RawMessage) json.RawMessage {
	if string(bytes.TrimSpace(params)) == "null" {
		return json.RawMessage("{}")
	}
	var members map[string]json.RawMessage
	var messages []json.RawMessage
	if method != sampling || !mayPanic(params) || json.Unmarshal(params, &members) != nil || json.Unmarshal(members["messages"], &messages) != nil {
		return params
	}
	messages = slices.DeleteFunc(messages, func(m json.RawMessage) bool { return string(m) == "null" })
	return with(members, "messages", messages)
}

// answerable returns a result in which the requests that it has are sound.
func answerable(result json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	var requests map[string]map[string]json.RawMessage
	if !mayPanic(result) || json.Unmarshal(result, &members) != nil || json.Unmarshal(members["inputRequests"], &requests) != nil || requests == nil {
		return result
	}
	for id, r := range requests {
		var method string
		if r == nil {
			delete(requests, id)
		} else if params := r["params"]; params != nil && json.Unmarshal(r["method"], &method) == nil {
			r["params"] = sound(method, params)
		}
	}
	return with(members, "inputRequests", requests)
}

// with returns an object with another value of a member. All of them were decoded from JSON.
func with(members map[string]json.RawMessage, name string, value any) json.RawMessage {
	members[name], _ = json.Marshal(value)
	data, _ := json.Marshal(members)
	return data
}
