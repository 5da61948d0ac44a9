// SPDX-License-Identifier: Apache-2.0

package genkitdev

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Input is the input of a flow, a JSON object. All fields are optional, unless the agent needs
// them.
type Input struct {
	// Prompt is the user's message. If empty, the conversation is resumed where the history ends.
	Prompt string `json:"prompt,omitempty"`
	// History continues a conversation. It is [Output.Messages] of an earlier run.
	History []*model.Message `json:"history,omitempty"`
	// Results answers the pending calls at the end of the history, which an earlier run returned in
	// [Output.Pending].
	Results *agent.DeferredResults `json:"results,omitempty"`
}

// options returns the options of a run: first the fixed ones, then those of the input.
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

// Output is the output of a flow.
type Output[O any] struct {
	// Output is the agent's output. It is nil if the run is pending.
	Output *O `json:"output,omitempty"`
	// Pending lists the calls that the run waits for. To resume, pass Messages as [Input.History],
	// with [Input.Results] and no prompt.
	Pending []agent.PendingCall `json:"pending,omitempty"`
	// Usage is the usage of the run.
	Usage toolset.Usage `json:"usage"`
	// RunID and ConversationID identify the run.
	RunID          string `json:"run_id"`
	ConversationID string `json:"conversation_id"`
	// Messages is the whole history, for use as [Input.History].
	Messages []*model.Message `json:"messages"`
}

// outputOf returns the outcome of a run.
func outputOf[O any](res *agent.Result[O], err error) (Output[O], error) {
	if err == nil {
		return Output[O]{
			Output: &res.Output, Usage: res.Usage,
			RunID: res.RunID, ConversationID: res.ConversationID, Messages: res.Messages,
		}, nil
	}
	var pending *agent.PendingError
	var ended *agent.RunError
	if !errors.As(err, &ended) || !errors.As(err, &pending) {
		return Output[O]{}, err
	}
	return Output[O]{
		Pending: pending.Calls, Usage: ended.Usage,
		RunID: ended.RunID, ConversationID: ended.ConversationID, Messages: ended.Messages,
	}, nil
}

// Chunk is an event of a run, as streamed by a flow. Its fields are those of the JSON object. Type
// determines which are set.
type Chunk struct {
	// Type is one of the constants below.
	Type ChunkType `json:"type"`
	// Step is the model request that the chunk belongs to, starting at 1.
	Step int `json:"step"`
	// Text is a piece of text or thinking, the result of a call, or the reason for a retry.
	Text string `json:"text,omitempty"`
	// CallID and Tool identify a call.
	CallID string `json:"call_id,omitempty"`
	Tool   string `json:"tool,omitempty"`
	// Args holds the arguments of a call as the model wrote them, or a JSON string if they are not
	// valid JSON.
	Args json.RawMessage `json:"args,omitempty"`
	// Outcome tells how a call ended. It is omitted for success.
	Outcome model.Outcome `json:"outcome,omitempty"`
	// Value is the value emitted by a tool.
	Value json.RawMessage `json:"value,omitempty"`
}

// ChunkType is the type of a [Chunk].
type ChunkType string

// Types of chunks.
const (
	// ChunkText and ChunkThinking add Text to the model's text and thinking.
	ChunkText     ChunkType = "text"
	ChunkThinking ChunkType = "thinking"
	// ChunkToolCall is a tool call: CallID, Tool, Args. Calls of output tools are left out.
	ChunkToolCall ChunkType = "tool_call"
	// ChunkToolResult is the result of a call, as shown to the model: CallID, Tool, Text, Outcome.
	// A call that must be repeated has a retry instead.
	ChunkToolResult ChunkType = "tool_result"
	// ChunkRetry asks the model to try again: Text is the reason. CallID and Tool are set if it
	// refers to a call.
	ChunkRetry ChunkType = "retry"
	// ChunkCustom is a value emitted by a tool: CallID, Tool, Value. Values that cannot be encoded
	// as JSON are left out.
	ChunkCustom ChunkType = "custom"
)

// chunkOf returns the chunk for an event, if there is one.
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

// arguments returns the model's arguments if they are valid JSON, otherwise a JSON string.
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
