// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
)

// uiFileOf returns the chunk of a file or a source, nil if there is nothing to send.
func uiFileOf(c *view.Content, entity string, n int) *uiChunk {
	switch {
	case c.Data != "" && c.MIMEType != "":
		return &uiChunk{Type: "file", MediaType: c.MIMEType, URL: "data:" + c.MIMEType + ";base64," + c.Data, Provider: uiShows(entity)}
	case c.Kind == view.Link && c.MIMEType != "" && c.URI != "":
		return &uiChunk{Type: "file", MediaType: c.MIMEType, URL: c.URI, Provider: uiShows(entity)}
	case c.Kind == view.Link && c.URI != "":
		return &uiChunk{Type: "source-url", SourceID: entity + "#" + strconv.Itoa(n), URL: c.URI, Title: c.Name, Provider: uiShows(entity)}
	}
	return nil
}

// uiOutputOf returns what a call has returned: what the tool has said of it, or text, or what is shown.
func uiOutputOf(e *view.Entity) any {
	if len(e.Output) > 0 && json.Valid(e.Output) {
		return e.Output
	}
	for i := range e.Content {
		if e.Content[i].Kind != view.Text {
			return map[string]any{"content": e.Content}
		}
	}
	return uiTextOf(e)
}

// uiTextOf returns the text of a call, without who has allowed it.
func uiTextOf(e *view.Entity) string {
	var all strings.Builder
	for i := range e.Content {
		if c := &e.Content[i]; c.Kind == view.Text && !strings.HasPrefix(c.Text, view.AllowedBy) {
			all.WriteString(c.Text)
		}
	}
	return all.String()
}

func uiJsonOf(data json.RawMessage) json.RawMessage {
	if len(data) == 0 {
		return json.RawMessage("{}")
	}
	var b bytes.Buffer
	if json.Compact(&b, data) != nil {
		return transcript.Input(model.RawArgs(data))
	}
	return b.Bytes()
}

// data shows state that is not part of the conversation. The client replaces the part with the same
// id.
func (r *uiTable) data(p *part, e *view.Entity, name string) {
	var d any
	switch e.Kind {
	case view.Usage:
		d = e.Usage
	case view.Session:
		if e.Title == "" {
			return
		}
		d = UIData{Title: e.Title}
	case view.Command:
		d = UIData{Title: e.Title, Dir: e.Dir, Status: e.Status, Output: tail(e.Text()), Exit: e.Exit, Parent: e.Parent}
	case view.ToolCall:
		d = UIData{Title: e.Title, Name: e.Name, Class: e.Class, Status: e.Status, Parent: e.Parent, Input: uiJsonOf(e.Input), Content: e.Content}
	default:
		d = UIData{
			Title: e.Title, Name: e.Name, Class: e.Class, Status: e.Status, Parent: e.Parent, Steps: e.Steps, Input: uiValid(e.Input),
			Choices: e.Choices, Value: e.Value, Digest: e.Digest, Content: e.Content,
		}
	}
	r.state(p, name, d, e.Kind == view.Session)
}

// state sends a data part, if it is not what was sent last.
func (r *uiTable) state(p *part, name string, d any, transient bool) {
	data, err := json.Marshal(d)
	if err != nil || bytes.Equal(data, p.data) {
		return
	}
	p.data = data
	r.send(&uiChunk{Type: name, ID: p.id, Data: json.RawMessage(data), Transient: transient})
}

func uiValid(data json.RawMessage) json.RawMessage {
	if !json.Valid(data) {
		return nil
	}
	return data
}

// uiDataName returns the name of the data part for entities of a kind, or "" if they have other
// parts or none.
func uiDataName(k view.Kind) string {
	switch k {
	case view.Message, view.Thought, view.ToolCall, view.Question, view.Options, view.Commands:
		return ""
	}
	return "data-" + string(k)
}

func uiUserParts(e *view.Entity) []uiUserPart {
	all := []uiUserPart{}
	for i := range e.Content {
		switch c := &e.Content[i]; {
		case c.Kind == view.Text:
			all = append(all, uiUserPart{Type: "text", Text: c.Text})
		case c.Data != "":
			all = append(all, uiUserPart{Type: "file", MediaType: c.MIMEType, URL: "data:" + c.MIMEType + ";base64," + c.Data, Filename: uiNameOf(c)})
		case c.Kind == view.Resource:
			all = append(all, uiUserPart{Type: "file", MediaType: cmp.Or(c.MIMEType, "text/plain"), URL: uiTextURL(c.Text), Filename: uiNameOf(c)})
		case c.URI != "":
			all = append(all, uiUserPart{Type: "file", MediaType: cmp.Or(c.MIMEType, "application/octet-stream"), URL: c.URI, Filename: uiNameOf(c)})
		}
	}
	return all
}

func uiNameOf(c *view.Content) string {
	name := cmp.Or(c.Name, c.URI)
	if strings.ContainsAny(name, "/\\") {
		return ""
	}
	return name
}

// uiTextURL returns the URL of a file of text.
func uiTextURL(text string) string {
	return "data:text/plain;base64," + base64.StdEncoding.EncodeToString([]byte(text))
}
