// SPDX-License-Identifier: Apache-2.0

package genkitdev

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
)

// Input is what a flow takes: a JSON object. All of it may be left out, as far as the agent can run without.
type Input struct {
	// Prompt is what the user says. It is empty to go on where the history stands.
	Prompt string `json:"prompt,omitempty"`
	// History continues a conversation: [Output.Messages] of an earlier run.
	History []*model.Message `json:"history,omitempty"`
	// Results settle the calls that the history ends with, and that an earlier run told of in [Output.Pending].
	Results *agent.DeferredResults `json:"results,omitempty"`
}

// options are those of a run: first what is always passed, then what the input says.
func (in *Input) options(always []agent.RunOption) []agent.RunOption {
	options := slices.Clip(always)
	if len(in.History) > 0 {
		options = append(options, agent.WithHistory(in.History))
	}
	if in.Results != nil {
		options = append(options, agent.WithResults(*in.Results))
	}
	return options
}

// Output is what a flow gives back.
type Output[O any] struct {
	// Output is the agent's. It is nil if the run waits.
	Output *O `json:"output,omitempty"`
	// Pending are the calls for which the run waits. To go on, give Messages back as [Input.History], with
	// [Input.Results] and no prompt.
	Pending []agent.PendingCall `json:"pending,omitempty"`
	// Usage is what the run has used.
	Usage Usage `json:"usage"`
	// RunID and ConversationID are the run's.
	RunID          string `json:"run_id"`
	ConversationID string `json:"conversation_id"`
	// Messages is the whole history, to be given back as [Input.History].
	Messages []*model.Message `json:"messages"`
}

// Usage is what a run has used.
type Usage struct {
	// Requests counts the requests to models, and ToolCalls the tool calls that returned a value.
	Requests  int `json:"requests"`
	ToolCalls int `json:"tool_calls"`
	model.Usage
	// Cost is in the currency of the agent's prices. It leaves out the responses without a price, which Unpriced counts.
	Cost     float64 `json:"cost,omitempty"`
	Unpriced int     `json:"unpriced,omitempty"`
}

// outputOf says how a run ended.
func outputOf[O any](res *agent.Result[O], err error) (Output[O], error) {
	if err == nil {
		return Output[O]{
			Output: &res.Output, Usage: Usage(res.Usage),
			RunID: res.RunID, ConversationID: res.ConversationID, Messages: res.Messages,
		}, nil
	}
	var pending *agent.PendingError
	var ended *agent.RunError
	if !errors.As(err, &ended) || !errors.As(err, &pending) {
		return Output[O]{}, err
	}
	return Output[O]{
		Pending: pending.Calls, Usage: Usage(ended.Usage),
		RunID: ended.RunID, ConversationID: ended.ConversationID, Messages: ended.Messages,
	}, nil
}

// Chunk is something that happens in a run, as a flow streams it. Its fields are those of the JSON object; which ones there
// are depends on Type.
type Chunk struct {
	// Type is one of the constants below.
	Type ChunkType `json:"type"`
	// Step is the request to the model that the chunk belongs to, beginning with 1.
	Step int `json:"step"`
	// Text is a piece of text or thinking, the result of a call, or why the model has to try again.
	Text string `json:"text,omitempty"`
	// CallID and Tool say which call is meant.
	CallID string `json:"call_id,omitempty"`
	Tool   string `json:"tool,omitempty"`
	// Args are the arguments of a call as the model wrote them, or a JSON string if that is no JSON.
	Args json.RawMessage `json:"args,omitempty"`
	// Outcome is how a call ended; it is left out for success.
	Outcome model.Outcome `json:"outcome,omitempty"`
	// Value is what a tool emitted.
	Value json.RawMessage `json:"value,omitempty"`
}

// ChunkType says what a [Chunk] is about.
type ChunkType string

// The types of chunks.
const (
	// ChunkText and ChunkThinking add Text to what the model says and thinks.
	ChunkText     ChunkType = "text"
	ChunkThinking ChunkType = "thinking"
	// ChunkToolCall is a call of a tool: CallID, Tool, Args. Calls by which the model gives its output are left out.
	ChunkToolCall ChunkType = "tool_call"
	// ChunkToolResult is what the model will be shown of a call that has ended: CallID, Tool, Text, Outcome. A call that
	// it has to repeat has no result, but a retry.
	ChunkToolResult ChunkType = "tool_result"
	// ChunkRetry says that the model has to try again, and why: Text, and CallID and Tool if one call is meant.
	ChunkRetry ChunkType = "retry"
	// ChunkCustom is what a tool emitted while it ran: CallID, Tool, Value. What is no JSON is left out.
	ChunkCustom ChunkType = "custom"
)

// chunkOf is the form of an event, if it has one.
func chunkOf(e *agent.Event) (c Chunk, ok bool) {
	c = Chunk{Step: e.Step, CallID: e.CallID, Tool: e.Tool}
	switch {
	case e.Kind == agent.EventPartDelta && e.Text != "" && e.PartKind == model.PartText:
		c.Type, c.Text = ChunkText, e.Text
	case e.Kind == agent.EventPartDelta && e.Text != "" && e.PartKind == model.PartThinking:
		c.Type, c.Text = ChunkThinking, e.Text
	case e.Kind == agent.EventToolCall && !e.Output:
		c.Type, c.Args = ChunkToolCall, arguments(e.Args)
	case e.Kind == agent.EventToolResult && !e.Output && e.Result != nil && e.Result.Kind == model.PartToolReturn:
		c.Type, c.Text, c.Outcome = ChunkToolResult, e.Result.Text, e.Result.Outcome
	case e.Kind == agent.EventRetry:
		c.Type, c.Text = ChunkRetry, e.Text
	case e.Kind == agent.EventCustom:
		value, err := json.Marshal(e.Value)
		if err != nil {
			return c, false
		}
		c.Type, c.Value = ChunkCustom, value
	default:
		return c, false
	}
	return c, true
}

// arguments are what the model wrote, if that is JSON. Otherwise they are a string.
func arguments(args model.RawArgs) json.RawMessage {
	switch {
	case len(args) == 0:
		return json.RawMessage(`{}`)
	case json.Valid(args):
		return json.RawMessage(args)
	}
	text, _ := json.Marshal(string(args))
	return text
}
