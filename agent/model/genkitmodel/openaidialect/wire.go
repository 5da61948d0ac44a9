// SPDX-License-Identifier: Apache-2.0

package openaidialect

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel"
	"github.com/ponte-go/ponte/internal/adapter"
)

// wire is a response as the provider wrote it, streamed or not.
type wire struct {
	id, model        string
	text, thinking   []byte
	refused          bool
	calls            []wireCall
	finish           string
	usage            *wireUsage
	reported         json.RawMessage // an error with status 200
	hasChoice, ended bool
}

type wireCall struct {
	index    wireIndex
	id, name string
	args     []byte
}

type wireObject struct {
	ID      string `json:"id"`
	Model   string `json:"model"`
	Choices []struct {
		Index        wireIndex    `json:"index"`
		Delta        *wireMessage `json:"delta"`
		Message      *wireMessage `json:"message"`
		FinishReason string       `json:"finish_reason"`
	} `json:"choices"`
	Usage *wireUsage      `json:"usage"`
	Error json.RawMessage `json:"error"`
	// Message is that of an error which is not in Error.
	Message json.RawMessage `json:"message"`
}

type wireMessage struct {
	Content          string `json:"content"`
	Refusal          string `json:"refusal"`
	Reasoning        string `json:"reasoning"`
	ReasoningContent string `json:"reasoning_content"`
	ToolCalls        []struct {
		Index    wireIndex `json:"index"`
		ID       string    `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// wireIndex is the index of a choice or a call. The SDK allocates as many as an index says, so it
// must not see unreasonable indexes.
type wireIndex int

const maxIndex = 1024

var errIndex = errors.New("the response has an unreasonable index")

func (i *wireIndex) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	n, err := strconv.Atoi(string(data))
	if err != nil || n < 0 || n >= maxIndex {
		return fmt.Errorf("%w: %.20s", errIndex, data)
	}
	*i = wireIndex(n)
	return nil
}

type wireUsage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
	TotalTokens      int64 `json:"total_tokens"`
	PromptDetails    struct {
		CachedTokens     int64 `json:"cached_tokens"`
		CacheWriteTokens int64 `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		ReasoningTokens int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// add adds a response or a chunk, and returns what it adds.
func (w *wire) add(o *wireObject, chunk bool) (pieces []genkitmodel.Piece) {
	if w.id == "" {
		w.id = o.ID
	}
	if w.model == "" {
		w.model = o.Model
	}
	if o.Usage != nil {
		w.usage = o.Usage
	}
	if len(o.Error) > 0 && string(o.Error) != "null" {
		w.reported, w.ended = o.Error, true
	}
	for i := range o.Choices {
		c := &o.Choices[i]
		if c.Index != 0 { // not requested
			continue
		}
		msg := c.Delta
		if msg == nil {
			msg = c.Message
		}
		w.hasChoice = w.hasChoice || chunk || msg != nil
		if c.FinishReason != "" {
			w.finish, w.ended = c.FinishReason, true
		}
		if msg != nil {
			pieces = append(pieces, w.addMessage(msg, chunk)...)
		}
	}
	return pieces
}

func (w *wire) addMessage(msg *wireMessage, chunk bool) (pieces []genkitmodel.Piece) {
	thinking := cmp.Or(msg.ReasoningContent, msg.Reasoning)
	w.thinking = append(w.thinking, thinking...)
	w.text = append(append(w.text, msg.Content...), msg.Refusal...)
	w.refused = w.refused || msg.Refusal != ""
	pieces = append(pieces, genkitmodel.Piece{Kind: model.PartThinking, Text: thinking},
		genkitmodel.Piece{Kind: model.PartText, Text: msg.Content + msg.Refusal})
	for i := range msg.ToolCalls {
		f := &msg.ToolCalls[i]
		n := -1
		for known := range w.calls {
			if chunk && w.calls[known].index == f.Index {
				n = known
			}
		}
		// A new id and name start a call, even if a server sends the same index for all calls.
		if n < 0 || f.ID != "" && f.ID != w.calls[n].id && w.calls[n].id != "" && f.Function.Name != "" {
			n = len(w.calls)
			w.calls = append(w.calls, wireCall{index: f.Index, id: f.ID, name: f.Function.Name})
		}
		w.calls[n].args = append(w.calls[n].args, f.Function.Arguments...)
		pieces = append(pieces, genkitmodel.Piece{
			Kind: model.PartToolCall, Call: n, CallID: w.calls[n].id, Tool: w.calls[n].name, Text: f.Function.Arguments,
		})
	}
	return pieces
}

// into changes msg to what the provider wrote.
func (w *wire) into(msg *model.Message, provider string) {
	msg.ResponseID, msg.Parts = w.id, nil
	if w.model != "" {
		msg.Model = w.model
	}
	if len(w.thinking) > 0 {
		msg.Parts = append(msg.Parts, model.Part{Kind: model.PartThinking, Text: string(w.thinking), Provider: provider})
	}
	if len(w.text) > 0 {
		msg.Parts = append(msg.Parts, model.Text(string(w.text)))
	}
	for _, c := range w.calls {
		if c.name != "" {
			msg.Parts = append(msg.Parts, model.Part{Kind: model.PartToolCall, CallID: c.id, Tool: c.name, Args: c.args})
		}
	}
	msg.Finish = adapter.OpenAIFinish(w.finish, msg.HasToolCalls(), w.refused)
	if u := w.usage; u != nil {
		msg.Usage = adapter.Count(u.TotalTokens, model.Usage{
			InputTokens: u.PromptTokens, OutputTokens: u.CompletionTokens, CacheReadTokens: u.PromptDetails.CachedTokens,
			CacheWriteTokens: u.PromptDetails.CacheWriteTokens, ReasoningTokens: u.CompletionDetails.ReasoningTokens,
		})
	}
}
