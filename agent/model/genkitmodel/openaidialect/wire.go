package openaidialect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// wire is an answer as the provider wrote it, streamed or not.
type wire struct {
	id, model        string
	text, thinking   strings.Builder
	refused          bool
	calls            []*wireCall
	finish           string
	usage            *wireUsage
	reported         json.RawMessage // an error with status 200
	hasChoice, ended bool
}

type wireCall struct {
	index    int
	id, name string
	args     []byte
}

type wireObject struct {
	ID      string `json:"id"`
	Model   string `json:"model"`
	Choices []struct {
		Index        int          `json:"index"`
		Delta        *wireMessage `json:"delta"`
		Message      *wireMessage `json:"message"`
		FinishReason string       `json:"finish_reason"`
	} `json:"choices"`
	Usage *wireUsage      `json:"usage"`
	Error json.RawMessage `json:"error"`
}

type wireMessage struct {
	Content          string `json:"content"`
	Refusal          string `json:"refusal"`
	Reasoning        string `json:"reasoning"`
	ReasoningContent string `json:"reasoning_content"`
	ToolCalls        []struct {
		Index    int    `json:"index"`
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

type wireUsage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
	PromptDetails    struct {
		CachedTokens     int64 `json:"cached_tokens"`
		CacheWriteTokens int64 `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		ReasoningTokens int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// read decodes what the tap has kept.
func (t *tap) read() (*wire, error) {
	w := &wire{}
	if !t.streamed() {
		var o wireObject
		if err := json.Unmarshal(t.body.Bytes(), &o); err != nil {
			return nil, err
		}
		w.add(&o, false)
		return w, nil
	}
	for line := range bytes.Lines(t.body.Bytes()) {
		data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:"))
		data = bytes.TrimSpace(data)
		w.ended = w.ended || ok && string(data) == "[DONE]"
		if !ok || len(data) == 0 || data[0] != '{' {
			continue
		}
		var o wireObject
		if err := json.Unmarshal(data, &o); err != nil {
			return nil, err
		}
		w.add(&o, true)
	}
	if !w.ended {
		return nil, fmt.Errorf("the stream has no end: %w", io.ErrUnexpectedEOF)
	}
	return w, nil
}

// add takes an answer, or a chunk of one.
func (w *wire) add(o *wireObject, chunk bool) {
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
		w.reported = o.Error
	}
	for i := range o.Choices {
		c := &o.Choices[i]
		if c.Index != 0 { // not asked for
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
			w.addMessage(msg, chunk)
		}
	}
}

func (w *wire) addMessage(msg *wireMessage, chunk bool) {
	w.text.WriteString(msg.Content)
	w.text.WriteString(msg.Refusal)
	w.refused = w.refused || msg.Refusal != ""
	if msg.ReasoningContent != "" {
		w.thinking.WriteString(msg.ReasoningContent)
	} else {
		w.thinking.WriteString(msg.Reasoning)
	}
	for i := range msg.ToolCalls {
		f := &msg.ToolCalls[i]
		var c *wireCall
		for _, known := range w.calls {
			if chunk && known.index == f.Index {
				c = known
			}
		}
		// A new id and name begin a call, also where a server gives all calls the same index.
		if c == nil || f.ID != "" && f.ID != c.id && c.id != "" && f.Function.Name != "" {
			c = &wireCall{index: f.Index}
			w.calls = append(w.calls, c)
		}
		if c.id == "" {
			c.id = f.ID
		}
		if c.name == "" {
			c.name = f.Function.Name
		}
		c.args = append(c.args, f.Function.Arguments...)
	}
}

// into makes msg say what the provider wrote.
func (w *wire) into(msg *model.Message, provider string) {
	msg.ResponseID, msg.Parts = w.id, nil
	if w.model != "" {
		msg.Model = w.model
	}
	if w.thinking.Len() > 0 {
		msg.Parts = append(msg.Parts, model.Part{Kind: model.PartThinking, Text: w.thinking.String(), Provider: provider})
	}
	if w.text.Len() > 0 {
		msg.Parts = append(msg.Parts, model.Text(w.text.String()))
	}
	for _, c := range w.calls {
		if c.name != "" {
			msg.Parts = append(msg.Parts, model.Part{Kind: model.PartToolCall, CallID: c.id, Tool: c.name, Args: c.args})
		}
	}
	switch w.finish {
	case "", "stop", "tool_calls", "function_call":
		msg.Finish = model.FinishStop // FinishToolCalls if there are calls
	case "length":
		msg.Finish = model.FinishLength
	case "content_filter":
		msg.Finish = model.FinishContentFilter
	default:
		msg.Finish = model.FinishOther
	}
	if w.refused && msg.Finish != model.FinishLength {
		msg.Finish = model.FinishContentFilter
	}
	if u := w.usage; u != nil {
		msg.Usage = model.Usage{
			InputTokens: u.PromptTokens, OutputTokens: u.CompletionTokens, CacheReadTokens: u.PromptDetails.CachedTokens,
			CacheWriteTokens: u.PromptDetails.CacheWriteTokens, ReasoningTokens: u.CompletionDetails.ReasoningTokens,
		}
	}
}
