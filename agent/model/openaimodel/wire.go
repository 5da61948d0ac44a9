// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/ponte-go/ponte/internal/adapter"
	"github.com/ponte-go/ponte/internal/errs"
)

// wireResponse is a response or a chunk of a streamed one. Fields that servers often get wrong have
// lenient types.
type wireResponse struct {
	ID      text         `json:"id"`
	Model   text         `json:"model"`
	Choices []wireChoice `json:"choices"`
	Usage   *wireUsage   `json:"usage"`
	// XGroq contains the usage of Groq's streams.
	XGroq struct {
		Usage *wireUsage `json:"usage"`
	} `json:"x_groq"`
	Error    rawValue `json:"error"`
	BaseResp baseResp `json:"base_resp"`
	// Citations and SearchResults are used by Perplexity.
	Citations     []json.RawMessage `json:"citations"`
	SearchResults []json.RawMessage `json:"search_results"`
}

type wireChoice struct {
	Index        int          `json:"index"`
	Delta        *wireMessage `json:"delta"`
	Message      *wireMessage `json:"message"`
	FinishReason string       `json:"finish_reason"`
	Error        rawValue     `json:"error"`
	// Usage contains the usage of Moonshot's streams.
	Usage *wireUsage `json:"usage"`
}

type wireMessage struct {
	Content          content        `json:"content"`
	Refusal          text           `json:"refusal"`
	Reasoning        text           `json:"reasoning"`
	ReasoningContent text           `json:"reasoning_content"`
	ReasoningDetails rawValue       `json:"reasoning_details"`
	ToolCalls        []wireToolCall `json:"tool_calls"`
	Images           []wireImage    `json:"images"`
	Audio            *wireAudio     `json:"audio"`
	// Annotations holds sources, ExecutedTools the tools that Groq ran.
	Annotations   []json.RawMessage `json:"annotations"`
	ExecutedTools []json.RawMessage `json:"executed_tools"`
	// ExtraContent contains the signature of a text, from Google's endpoint.
	ExtraContent rawValue `json:"extra_content"`
}

type wireToolCall struct {
	Index    *int `json:"index"`
	ID       text `json:"id"`
	Function struct {
		Name      text      `json:"name"`
		Arguments arguments `json:"arguments"`
	} `json:"function"`
	// ExtraContent contains the signature that Google's endpoint wants back with a call.
	ExtraContent rawValue `json:"extra_content"`
	// SpecificFields contains the same from LiteLLM.
	SpecificFields rawValue `json:"provider_specific_fields"`
}

// decode parses data. Fields of a wrong type are left out, because the rest may be sufficient.
func (w *wireResponse) decode(data []byte) error {
	err := json.Unmarshal(data, w)
	if w.Usage == nil {
		w.Usage = w.XGroq.Usage
	}
	if w.Usage == nil && len(w.Choices) > 0 {
		w.Usage = w.Choices[0].Usage
	}
	if wrongType := (*json.UnmarshalTypeError)(nil); errs.As(err, &wrongType) {
		return nil
	}
	return err
}

// reported returns the part of data that reports an error, or nil. w was decoded from data.
func (w *wireResponse) reported(data []byte) []byte {
	switch {
	case len(w.Error) > 0, len(w.Choices) == 0 && w.BaseResp.failed():
		return data
	case len(w.Choices) > 0:
		return w.Choices[0].Error
	case w.Usage == nil: // errors may have an id
		if message, code, kind, _ := parseErrorBody(data); message != "" || w.ID == "" && (code != "" || strings.Contains(kind, "error")) {
			return data
		}
	}
	return nil
}

// text is a string. null is empty, and anything else is kept as JSON.
type text string

func (t *text) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] != '"' {
		if string(data) == "null" {
			data = nil
		}
		*t = text(data)
		return nil
	}
	s, err := unquote(data)
	*t = text(s)
	return err
}

// arguments is what the model wrote: usually a string that contains JSON, from some servers the
// JSON itself.
type arguments []byte

func (a *arguments) UnmarshalJSON(data []byte) error {
	var t text
	err := t.UnmarshalJSON(data)
	*a = arguments(t)
	return err
}

// rawValue is undecoded JSON. null and empty values are nil.
type rawValue []byte

func (r *rawValue) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case "null", `""`, "{}", "[]", "false":
		*r = nil
	default:
		*r = append(rawValue(nil), data...)
	}
	return nil
}

// content is a string or, from some servers, a list of text, thinking and images. Other elements,
// such as references, are left out.
type content struct {
	text     string
	thinking string
	images   []imageURL
}

func (c *content) UnmarshalJSON(data []byte) error {
	if data[0] != '[' {
		var t text
		err := t.UnmarshalJSON(data)
		c.text = string(t)
		return err
	}
	var parts []struct {
		Text     text     `json:"text"`
		Thinking content  `json:"thinking"`
		Image    imageURL `json:"image_url"`
	}
	_ = json.Unmarshal(data, &parts) // elements of another type add nothing
	var written, thought strings.Builder
	for i := range parts {
		written.WriteString(string(parts[i].Text))
		thought.WriteString(parts[i].Thinking.text)
		if parts[i].Image != "" {
			c.images = append(c.images, parts[i].Image)
		}
	}
	c.text, c.thinking = written.String(), thought.String()
	return nil
}

// unquote decodes a JSON string. It is fast if there are no escapes.
func unquote(data []byte) (string, error) {
	if len(data) >= 2 && bytes.IndexByte(data, '\\') < 0 && utf8.Valid(data) {
		return string(data[1 : len(data)-1]), nil
	}
	var s string
	err := json.Unmarshal(data, &s)
	return s, err
}

// windowExceeded is the finish reason of Z.ai for a conversation that fills the context window.
const windowExceeded = adapter.WindowExceeded
