// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Result is what a run that ended well gives back. It can be stored as JSON.
type Result[O any] struct {
	// Output is valid: decoded, checked against its schema and tags, and passed by all validators.
	Output O `json:"output"`
	// Cut is set if the output is text that was cut off: [model.FinishLength], or [model.FinishContentFilter] if the agent allows it.
	Cut model.FinishReason `json:"cut,omitempty"`
	// Agent is the name of the agent that gave the output: the run's own, or one that the run was handed over to.
	Agent string `json:"agent,omitempty"`
	// RunID and ConversationID are the run's.
	RunID          string `json:"run_id,omitempty"`
	ConversationID string `json:"conversation_id,omitempty"`
	// Messages is the whole history: what was passed in and what the run added. It can be passed to the next run.
	Messages []*model.Message `json:"messages,omitempty"`
	// Usage is what the run has used, with the runs inside it.
	Usage toolset.Usage `json:"usage,omitzero"`
}

// NewMessages returns the messages that the run added, in order.
func (r *Result[O]) NewMessages() []*model.Message { return newMessages(r.Messages, r.RunID) }
