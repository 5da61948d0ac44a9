// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"encoding/base64"
	"encoding/json"
)

// aguiInput is a RunAgentInput. Other fields are ignored.
type aguiInput struct {
	ThreadID string         `json:"threadId"`
	RunID    string         `json:"runId"`
	Messages []aguiIncoming `json:"messages"`
	Resume   []aguiResumed  `json:"resume"`
}

type aguiIncoming struct {
	ID      string          `json:"id"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	CallID  string          `json:"toolCallId"`
	Error   string          `json:"error"`
}

type aguiResumed struct {
	ID      string          `json:"interruptId"`
	Status  string          `json:"status"`
	Payload json.RawMessage `json:"payload"`
}

// aguiOpen refuses a message while interrupts are open.
const aguiOpen = "the thread waits for answers: resume with an entry for each interrupt"

func aguiParse(body []byte) (*aguiInput, error) {
	in := new(aguiInput)
	if err := json.Unmarshal(body, in); err != nil {
		return nil, refuse(KindInvalid, "the body of the request is not a RunAgentInput: %v", err)
	}
	if in.RunID == "" || len(in.RunID) > 256 {
		return nil, refuse(KindInvalid, "runId has %d bytes: use 1 to 256", len(in.RunID))
	}
	return in, nil
}

// last returns the last message if it has a role.
func (in *aguiInput) last(role string) *aguiIncoming {
	if n := len(in.Messages); n > 0 && in.Messages[n-1].Role == role {
		return &in.Messages[n-1]
	}
	return nil
}

// results returns the results of tools that the messages end with, in order.
func (in *aguiInput) results() []aguiIncoming {
	n := len(in.Messages)
	for n > 0 && in.Messages[n-1].Role == "tool" {
		n--
	}
	return in.Messages[n:]
}

// prompt returns what the user says.
func (m *aguiIncoming) prompt() ([]upload, error) {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		if text == "" {
			return nil, nil
		}
		return []upload{{Text: text}}, nil
	}
	var parts []struct {
		aguiContentPart
		ID       string `json:"id"`
		Metadata struct {
			Filename string `json:"filename"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(m.Content, &parts); err != nil {
		return nil, refuse(KindInvalid, "the content of the last message cannot be read: use a text, or text and media parts")
	}
	var all []upload
	for i := range parts {
		switch p := &parts[i]; p.Type {
		case "text":
			if p.Text != "" {
				all = append(all, upload{Text: p.Text})
			}
		case "image", "audio", "video", "document":
			if p.Source == nil || p.Source.Type != "data" {
				return nil, refuse(KindInvalid, "part %d of the last message has no data: send the file itself, with a source of the type data", i)
			}
			name := p.Metadata.Filename
			if name == "" {
				name = p.Type
			}
			all = append(all, upload{Name: name, MediaType: p.Source.MIMEType, Data: p.Source.Value})
		default:
			return nil, refuse(KindInvalid, "part %d of the last message has the type %q: use text, image, audio, video and document", i, p.Type)
		}
	}
	return all, nil
}

// text returns the content of a result as text.
func (m *aguiIncoming) text() string {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return text
	}
	return string(m.Content)
}

func aguiTextSource(text string) *aguiSource {
	return &aguiSource{Type: "data", Value: base64.StdEncoding.EncodeToString([]byte(text)), MIMEType: "text/plain"}
}
