// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"encoding/base64"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
)

// maxParts bounds the parts of a prompt.
const maxParts = 64

// upload is a part of a prompt: a text, or a file with a name, a media type and data in base64. It
// comes from JSON, so its texts are UTF-8.
type upload struct {
	// Text is the text. Without it, Name, MediaType and Data describe the file; Data is in base64.
	Text      string `json:"text,omitempty"`
	Name      string `json:"name,omitempty"`
	MediaType string `json:"media_type,omitempty"`
	Data      string `json:"data,omitempty"`
}

// parts returns what the model is given of the parts of a prompt, and what is shown of them.
func (h *Handler) parts(in []upload) (parts []model.Part, shown []view.Content, err error) {
	if len(in) == 0 || len(in) > maxParts {
		return nil, nil, refuse(KindInvalid, "the prompt has %d parts: use 1 to %d", len(in), maxParts)
	}
	for i := range in {
		p := &in[i]
		file := p.Name != "" || p.MediaType != "" || p.Data != ""
		switch {
		case p.Text != "" && file:
			return nil, nil, refuse(KindInvalid, "part %d has a text and a file: make two parts of them", i)
		case p.Text != "":
			parts = append(parts, model.User(p.Text))
			shown = append(shown, transcript.Contents(parts[len(parts)-1:])...)
		case file:
			given, seen, err := h.file(p)
			if err != nil {
				return nil, nil, err
			}
			parts = append(parts, given)
			shown = append(shown, transcript.Contents([]model.Part{seen})...)
		default:
			return nil, nil, refuse(KindInvalid, "part %d is empty", i)
		}
	}
	return parts, shown, nil
}

// file returns a file as the model is given it, and as it is shown. Its name is a label: nothing is written to the disk.
func (h *Handler) file(p *upload) (given, seen model.Part, err error) {
	if err := checkName(p.Name); err != nil {
		return given, seen, err
	}
	data, err := base64.StdEncoding.DecodeString(p.Data)
	if err != nil || len(data) == 0 {
		return given, seen, refuse(KindInvalid, "the data of %q is not base64, or empty", p.Name)
	}
	kind, _, err := mime.ParseMediaType(p.MediaType)
	if err != nil {
		return given, seen, refuse(KindInvalid, "media_type %q is not a media type", p.MediaType)
	}
	seen = model.Media(kind, data)
	seen.Name = p.Name
	if strings.HasPrefix(kind, "text/") || kind == "application/json" {
		if !utf8.Valid(data) {
			return given, seen, refuse(KindInvalid, "%q is not UTF-8 text", p.Name)
		}
		seen.MediaType = "text/plain" // shown as text, whatever it is called
		fence := strings.Repeat("`", 3)
		for strings.Contains(string(data), fence) {
			fence += "`"
		}
		return model.User("File " + p.Name + ":\n" + fence + "\n" + string(data) + "\n" + fence), seen, nil
	}
	if !slices.Contains(h.o.Accepts, kind) {
		return given, seen, refuse(KindInvalid, "files of the type %s are not accepted: see accepts in api/config", kind)
	}
	if found := http.DetectContentType(data); found != kind {
		return given, seen, refuse(KindInvalid, "%q is not of the type %s", p.Name, kind)
	}
	return seen, seen, nil
}

// checkName refuses names of files that could be taken for paths.
func checkName(name string) error {
	if name == "" || len(name) > 255 || name == "." || name == ".." ||
		strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '/' || r == '\\' || r == ':' }) {
		return refuse(KindInvalid, "the file name %q is not valid: use 1 to 255 bytes, without a path", name)
	}
	return nil
}
