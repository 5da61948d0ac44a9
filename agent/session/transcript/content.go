// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/view"
)

// Contents returns what a user is shown of the parts of a prompt.
func Contents(parts []model.Part) []view.Content {
	var all []view.Content
	for i := range parts {
		switch part := &parts[i]; part.Kind {
		case model.PartUser:
			all = append(all, view.Content{Kind: view.Text, Text: part.Text})
		case model.PartMedia:
			all = append(all, mediaContent(part))
		}
	}
	return all
}

// mediaContent returns a media part: what is known by URL alone is a link, text is text.
func mediaContent(p *model.Part) view.Content {
	name := cmp.Or(p.Name, p.MediaType, "media")
	if len(p.Data) == 0 {
		return view.Content{Kind: view.Link, URI: p.URL, Name: name, MIMEType: p.MediaType}
	}
	c := view.Content{MIMEType: p.MediaType}
	switch kind, _, _ := strings.Cut(p.MediaType, "/"); {
	case kind == "image":
		c.Kind = view.Image
	case kind == "audio":
		c.Kind = view.Audio
	case kind == "text" && utf8.Valid(p.Data):
		return view.Content{
			Kind: view.Resource, URI: cmp.Or(p.URL, name), MIMEType: p.MediaType,
			Text: string(p.Data),
		}
	default:
		c.Kind, c.URI = view.Resource, cmp.Or(p.URL, name)
	}
	c.Data = base64.StdEncoding.EncodeToString(p.Data)
	return c
}

// Input returns arguments as JSON: verbatim if they are, and as a string if the model did not get
// that right.
func Input(args model.RawArgs) json.RawMessage {
	switch {
	case len(args) == 0:
		return json.RawMessage("{}")
	case json.Valid(args):
		return json.RawMessage(args)
	}
	quoted, _ := json.Marshal(string(args)) // a string always has a JSON form
	return quoted
}

// maxText bounds the text of a result that is shown with its tool call, in bytes. The model gets
// all of it.
const maxText = 64 << 10

// Clip cuts the middle out of a text that is too long to be shown, and notes the length of the cut:
// see maxText.
func Clip(text string) string {
	if len(text) <= maxText {
		return text
	}
	head, tail := maxText/2, len(text)-maxText/2
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	left := text[head:tail]
	return text[:head] + "\n[" + strconv.Itoa(len(left)) + " bytes (" + strconv.Itoa(
		strings.Count(left, "\n"),
	) + " lines) are not shown]\n" + text[tail:]
}

func textContent(text string) view.Content { return view.Content{Kind: view.Text, Text: text} }
