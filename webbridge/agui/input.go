// SPDX-License-Identifier: Apache-2.0

package agui

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/ponte-go/ponte/webbridge"
)

// input is a RunAgentInput. Other fields are ignored.
type input struct {
	ThreadID string     `json:"threadId"`
	RunID    string     `json:"runId"`
	Messages []incoming `json:"messages"`
	Resume   []resumed  `json:"resume"`
}

type incoming struct {
	ID      string          `json:"id"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	CallID  string          `json:"toolCallId"`
	Error   string          `json:"error"`
}

type resumed struct {
	ID      string          `json:"interruptId"`
	Status  string          `json:"status"`
	Payload json.RawMessage `json:"payload"`
}

func invalid(format string, args ...any) error {
	return &webbridge.Error{Status: 400, Kind: webbridge.KindInvalid, Message: fmt.Sprintf(format, args...)}
}

func parse(body []byte) (*input, error) {
	in := new(input)
	if err := json.Unmarshal(body, in); err != nil {
		return nil, invalid("the body of the request is not a RunAgentInput: %v", err)
	}
	if in.RunID == "" || len(in.RunID) > 256 {
		return nil, invalid("runId has %d bytes: use 1 to 256", len(in.RunID))
	}
	return in, nil
}

// last returns the last message if it has a role.
func (in *input) last(role string) *incoming {
	if n := len(in.Messages); n > 0 && in.Messages[n-1].Role == role {
		return &in.Messages[n-1]
	}
	return nil
}

// results returns the results of tools that the messages end with, in order.
func (in *input) results() []incoming {
	n := len(in.Messages)
	for n > 0 && in.Messages[n-1].Role == "tool" {
		n--
	}
	return in.Messages[n:]
}

// prompt returns what the user says.
func (m *incoming) prompt() ([]webbridge.Upload, error) {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		if text == "" {
			return nil, nil
		}
		return []webbridge.Upload{{Text: text}}, nil
	}
	var parts []struct {
		contentPart
		ID       string `json:"id"`
		Metadata struct {
			Filename string `json:"filename"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(m.Content, &parts); err != nil {
		return nil, invalid("the content of the last message cannot be read: use a text, or text and media parts")
	}
	var all []webbridge.Upload
	for i := range parts {
		switch p := &parts[i]; p.Type {
		case "text":
			if p.Text != "" {
				all = append(all, webbridge.Upload{Text: p.Text})
			}
		case "image", "audio", "video", "document":
			if p.Source == nil || p.Source.Type != "data" {
				return nil, invalid("part %d of the last message has no data: send the file itself, with a source of the type data", i)
			}
			name := p.Metadata.Filename
			if name == "" {
				name = p.Type
			}
			all = append(all, webbridge.Upload{Name: name, MediaType: p.Source.MIMEType, Data: p.Source.Value})
		default:
			return nil, invalid("part %d of the last message has the type %q: use text, image, audio, video and document", i, p.Type)
		}
	}
	return all, nil
}

// text returns the content of a result as text.
func (m *incoming) text() string {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return text
	}
	return string(m.Content)
}

func textSource(text string) *source {
	return &source{Type: "data", Value: base64.StdEncoding.EncodeToString([]byte(text)), MIMEType: "text/plain"}
}
