// SPDX-License-Identifier: Apache-2.0

package model

import "encoding/json"

// HandOver is set on messages of a conversation that was handed over to another agent.
type HandOver struct {
	// Agent is the name of the agent that answered. A response with HandOver has what that agent
	// told the user, without its tool calls and its usage. On a request it is the agent that the
	// user's words went to while it waited.
	Agent string `json:"agent,omitempty"`
	// Stays reports that the agent has the conversation from here on, Ended that it has handed the
	// conversation back.
	Stays bool `json:"stays,omitempty"`
	Ended bool `json:"ended,omitempty"`

	// The other fields go with Stays. ID is the id of the tool call that handed over, Tool the name
	// of the tool, Args its arguments.
	ID   string          `json:"id,omitempty"`
	Tool string          `json:"tool,omitempty"`
	Args json.RawMessage `json:"args,omitempty"`
	// State is the state that the agent needs to continue: the messages that it has added to its
	// own history, or the id under which they are stored.
	State json.RawMessage `json:"state,omitempty"`
	// Earlier are the states of messages that came before and were removed from the history, as by
	// a summary: see [Carry].
	Earlier []json.RawMessage `json:"earlier,omitempty"`
}
