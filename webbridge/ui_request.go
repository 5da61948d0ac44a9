// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"strings"

	"github.com/ponte-go/ponte/agent/view"
)

// uiRequest is the body of a request. Unknown fields are ignored.
type uiRequest struct {
	ID        string       `json:"id"`
	Messages  []uiIncoming `json:"messages"`
	Message   *uiIncoming  `json:"message"` // in place of Messages: some pages send the last one only
	Trigger   string       `json:"trigger"`
	MessageID string       `json:"messageId"`
}

// uiIncoming is a message of the client. Only the parts of the last one are read.
type uiIncoming struct {
	ID    string          `json:"id"`
	Role  string          `json:"role"`
	Parts json.RawMessage `json:"parts"`
}

// uiClaimed is a part of the last message, as the client has it.
type uiClaimed struct {
	Type     string          `json:"type"`
	ID       string          `json:"id"`
	Text     string          `json:"text"`
	State    string          `json:"state"`
	Provider json.RawMessage `json:"providerMetadata"`

	CallID    string          `json:"toolCallId"`
	Input     json.RawMessage `json:"input"`
	Output    json.RawMessage `json:"output"`
	ErrorText string          `json:"errorText"`
	Approval  *struct {
		ID       string `json:"id"`
		Approved *bool  `json:"approved"`
		Reason   string `json:"reason"`
	} `json:"approval"`

	URL       string          `json:"url"`
	MediaType string          `json:"mediaType"`
	Filename  string          `json:"filename"`
	Data      json.RawMessage `json:"data"`
}

func uiParse(body []byte) (*uiRequest, error) {
	r := new(uiRequest)
	if err := json.Unmarshal(body, r); err != nil {
		return nil, refuse(KindInvalid, "the request body is not a valid chat: %v", err)
	}
	if len(r.Messages) == 0 && r.Message != nil {
		r.Messages = []uiIncoming{*r.Message}
	}
	if len(r.Messages) == 0 {
		return nil, refuse(KindInvalid, "messages is empty: send the messages of the chat")
	}
	switch r.Trigger {
	case "", "submit-message", "regenerate-message":
	default:
		return nil, refuse(KindInvalid, "trigger is %q: use submit-message or regenerate-message", r.Trigger)
	}
	return r, nil
}

func (r *uiRequest) last() *uiIncoming { return &r.Messages[len(r.Messages)-1] }

// isFirst reports whether the client has no other message, and so has not seen a question.
func (r *uiRequest) isFirst() bool { return len(r.Messages) == 1 && r.Message == nil }

// parts returns the parts of the last message.
func (r *uiRequest) parts() ([]uiClaimed, error) {
	var all []uiClaimed
	if err := json.Unmarshal(r.last().Parts, &all); err != nil {
		return nil, refuse(KindInvalid, "the parts of the last message cannot be read: %v", err)
	}
	return all, nil
}

// prompt returns what the user says: the text and the files of the last message.
func (r *uiRequest) prompt() ([]upload, error) {
	parts, err := r.parts()
	if err != nil {
		return nil, err
	}
	var all []upload
	for i := range parts {
		switch p := &parts[i]; p.Type {
		case "text":
			if p.Text != "" {
				all = append(all, upload{Text: p.Text})
			}
		case "file":
			data, err := uiDataOf(p.URL)
			if err != nil {
				return nil, refuse(KindInvalid, "part %d of the last message is a file that cannot be taken: %v", i, err)
			}
			all = append(all, upload{Name: cmp.Or(p.Filename, "file"), MediaType: p.MediaType, Data: data})
		default:
			return nil, refuse(KindInvalid, "part %d of the last message has the type %q: use text and file", i, p.Type)
		}
	}
	return all, nil
}

// uiDataOf returns the data of a data URL in base64.
func uiDataOf(text string) (string, error) {
	rest, ok := strings.CutPrefix(text, "data:")
	if !ok {
		scheme, _, _ := strings.Cut(text, ":")
		if len(scheme) > 20 {
			scheme = ""
		}
		return "", fmt.Errorf("its URL begins with %q: send the file itself, as a data URL", scheme)
	}
	kind, data, ok := strings.Cut(rest, ",")
	if !ok {
		return "", errors.New("its data URL has no comma")
	}
	if strings.HasSuffix(kind, ";base64") {
		return data, nil
	}
	if _, _, err := mime.ParseMediaType(kind); kind != "" && err != nil {
		return "", errors.New("its data URL has no valid media type")
	}
	plain, err := url.PathUnescape(data)
	if err != nil {
		return "", errors.New("its data URL is not percent-encoded")
	}
	return base64.StdEncoding.EncodeToString([]byte(plain)), nil
}

// target returns the user's prompt for the last message: the one with its id, or the one after the
// last answer that the client has before it. It is empty if there is none: then the message was
// never accepted.
func (r *uiRequest) target(s *view.Snapshot) (string, error) {
	if r.Trigger == "regenerate-message" {
		if prompt, ok := uiPromptOf(r.MessageID); ok && prompt != "" && s.Get(prompt) != nil {
			return prompt, nil
		}
	}
	if e := s.Get(r.last().ID); e != nil && isPrompt(e) {
		return e.ID, nil
	}
	after, answers := "", 0
	for i := len(r.Messages) - 2; i >= 0 && after == ""; i-- {
		m := &r.Messages[i]
		if m.Role != "assistant" {
			continue
		}
		answers++
		if prompt, ok := uiPromptOf(m.ID); ok && s.Get(prompt) != nil {
			after = prompt
		}
	}
	if after == "" && answers > 0 {
		return "", refuse(KindInvalid,
			"the message %q cannot be found: begin with the messages that the chat has, "+
				"see …/messages", r.last().ID)
	}
	found := after == ""
	for e := range s.Of(view.Message) {
		if !isPrompt(e) {
			continue
		}
		if found {
			return e.ID, nil
		}
		found = e.ID == after
	}
	return "", nil
}
