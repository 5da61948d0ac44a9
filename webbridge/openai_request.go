// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
)

const (
	// openaiMaxMessages bounds the messages of a request.
	openaiMaxMessages = 4096
	// openaiMaxWarnings bounds what a client is told of what was left out.
	openaiMaxWarnings = 20
	// openaiMaxStops bounds the texts at which an answer ends, as OpenAI does.
	openaiMaxStops = 4
)

// openaiInput is a request, whichever of the two.
type openaiInput struct {
	model     string
	claims    []host.Claim
	prompt    []model.Part
	maxTokens int
	stop      []string
	stream    bool
	usage     bool // a stream has the usage
	warnings  []string
}

// openaiParams are the members of a request.
type openaiParams map[string]json.RawMessage

// openaiRule says of a parameter what values it may have; what has another one is refused.
type openaiRule struct {
	name string
	fits func(json.RawMessage) bool
	why  string
}

func openaiIs(values ...string) func(json.RawMessage) bool {
	return func(v json.RawMessage) bool { return slices.Contains(values, string(v)) }
}

// openaiIsEmpty accepts lists and objects without elements.
func openaiIsEmpty(v json.RawMessage) bool { return string(v) == "[]" || string(v) == "{}" }

// openaiHasType accepts an object whose member, or which itself if name is empty, has a type.
func openaiHasType(name, want string) func(json.RawMessage) bool {
	return func(v json.RawMessage) bool {
		var members map[string]json.RawMessage
		var at struct{ Type string }
		if name != "" {
			if json.Unmarshal(v, &members) != nil {
				return false
			}
			if v = members[name]; v == nil {
				return true
			}
		}
		return json.Unmarshal(v, &at) == nil && at.Type == want
	}
}

// decode reads the members of a request.
func (p *openaiProtocol) decode(w http.ResponseWriter, r *http.Request) (openaiParams, error) {
	data, err := p.h.body(w, r, p.h.o.Limits.Prompt)
	if err != nil {
		return nil, err
	}
	var all openaiParams
	if err := json.Unmarshal(data, &all); err != nil || all == nil {
		return nil, openaiInvalid("", "The body of the request is not a JSON object.")
	}
	for name, v := range all {
		if string(v) == "null" {
			delete(all, name)
		}
	}
	return all, nil
}

// check refuses parameters that would make the answer another one, and warns of those that are left out.
func (all openaiParams) check(in *openaiInput, rules []openaiRule, known []string) error {
	for _, rule := range rules {
		if v, ok := all[rule.name]; ok && !rule.fits(v) {
			return openaiUnsupported(rule.name, "%s: %s", rule.name, rule.why)
		}
	}
	for _, name := range openaiSorted(all) {
		if !slices.Contains(known, name) && !slices.ContainsFunc(rules, func(r openaiRule) bool { return r.name == name }) {
			in.warn("the parameter %.40q is left out", name)
		}
	}
	return nil
}

// openaiTake reads a parameter, if it is there.
func openaiTake[T any](all openaiParams, name string, into *T, want string) error {
	if v, ok := all[name]; ok {
		if err := json.Unmarshal(v, into); err != nil {
			return openaiInvalid(name, "%s must be %s.", name, want)
		}
	}
	return nil
}

func (in *openaiInput) warn(format string, args ...any) {
	if len(in.warnings) < openaiMaxWarnings {
		in.warnings = append(in.warnings, fmt.Sprintf(format, args...))
	}
}

// begin reads what both kinds of requests have, and returns the settings of the session.
func (p *openaiProtocol) begin(all openaiParams, in *openaiInput, maxTokens ...string) (map[string]string, error) {
	if err := openaiTake(all, "model", &in.model, "a string"); err != nil {
		return nil, err
	}
	settings, err := p.settings(in.model)
	if err != nil {
		return nil, err
	}
	if err := openaiTake(all, "stream", &in.stream, "true or false"); err != nil {
		return nil, err
	}
	for _, name := range maxTokens {
		n := 0
		if err := openaiTake(all, name, &n, "a number of tokens"); err != nil {
			return nil, err
		}
		if _, given := all[name]; given && n < 1 {
			return nil, openaiInvalid(name, "%s is %d: it must be at least 1.", name, n)
		}
		if n > 0 {
			in.maxTokens = min(n, p.o.MaxTokens)
		}
	}
	return settings, nil
}

// settings returns the settings of a session for a model.
func (p *openaiProtocol) settings(name string) (map[string]string, error) {
	all := map[string]string{}
	for id, value := range p.o.Settings {
		all[id] = value
	}
	if value, ok := p.o.Models[name]; ok {
		all[host.SettingModel] = value
		return all, nil
	}
	if name == p.o.Name {
		return all, nil
	}
	names := strings.Join(p.names(), ", ")
	if name == "" {
		return nil, openaiInvalid("model", "model is missing. The models are: %s.", names)
	}
	return nil, &openaiAPIError{status: http.StatusNotFound, param: "model", code: "model_not_found", message: fmt.Sprintf("There is no model %.100q. The models are: %s.", name, names)}
}

// add adds a message of a role. Parts are nil if there is nothing to take of it.
func (in *openaiInput) add(role view.Role, parts []model.Part) {
	if len(parts) > 0 {
		in.claims = append(in.claims, host.Claim{Role: role, Parts: parts})
	}
}

// end makes the prompt of the last messages, which must be the user's.
func (in *openaiInput) end(param string, strict bool) error {
	first := len(in.claims)
	for first > 0 && in.claims[first-1].Role == view.User {
		first--
	}
	for i := range in.claims[first:] {
		in.prompt = append(in.prompt, in.claims[first+i].Parts...)
	}
	in.claims = in.claims[:first]
	if len(in.prompt) == 0 {
		return openaiInvalid(param, "The last message must be from the user, and have a text or a file.")
	}
	if strict && len(in.warnings) > 0 {
		return openaiUnsupported(param, "This would be left out: %s.", strings.Join(in.warnings, "; "))
	}
	return nil
}

// openaiPart is a part of a message, of either kind of request.
type openaiPart struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Refusal  string          `json:"refusal"`
	ImageURL json.RawMessage `json:"image_url"` // an object in messages of chats, a string in items
	File     *openaiFile     `json:"file"`
	openaiFile
}

type openaiFile struct {
	FileName string `json:"filename"`
	FileData string `json:"file_data"`
	FileID   string `json:"file_id"`
	FileURL  string `json:"file_url"`
}

// content reads the content of a message: a text, or a list of parts.
func (p *openaiProtocol) content(role view.Role, raw json.RawMessage, at string) ([]model.Part, error) {
	var text string
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if json.Unmarshal(raw, &text) == nil {
		return openaiText(role, text), nil
	}
	var list []openaiPart
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, openaiInvalid(at, "%s must be a string or a list of parts.", at)
	}
	var all []model.Part
	for i := range list {
		at := fmt.Sprintf("%s[%d]", at, i)
		var parts []model.Part
		var err error
		switch t := &list[i]; {
		case t.Type == "text" || t.Type == "input_text" || t.Type == "output_text":
			parts = openaiText(role, t.Text)
		case t.Type == "refusal" && role == view.Assistant:
			parts = openaiText(role, t.Refusal)
		case role == view.Assistant:
			return nil, openaiUnsupported(at, "%s: parts of the type %.40q are not taken from the assistant.", at, t.Type)
		case t.Type == "image_url" || t.Type == "input_image":
			parts, err = p.file(t.image(), "image", t.FileID, at)
		case t.Type == "file" && t.File != nil:
			parts, err = p.file(t.File.FileData+t.File.FileURL, t.File.FileName, t.File.FileID, at)
		case t.Type == "input_file":
			parts, err = p.file(t.FileData+t.FileURL, t.FileName, t.FileID, at)
		default:
			return nil, openaiUnsupported(at, "%s: parts of the type %.40q are not taken.", at, t.Type)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, parts...)
	}
	return all, nil
}

func (t *openaiPart) image() string {
	var url string
	var object struct {
		URL string `json:"url"`
	}
	if json.Unmarshal(t.ImageURL, &url) != nil && json.Unmarshal(t.ImageURL, &object) == nil {
		url = object.URL
	}
	return url
}

func openaiText(role view.Role, text string) []model.Part {
	switch {
	case text == "":
		return nil
	case role == view.Assistant:
		return []model.Part{model.Text(text)}
	}
	return []model.Part{model.User(text)}
}

// file reads a file in a data URL. Nothing is loaded from anywhere, because that would let a client use the server's network.
func (p *openaiProtocol) file(url, name, id, at string) ([]model.Part, error) {
	head, data, ok := strings.Cut(url, ",")
	kind, isData := strings.CutPrefix(head, "data:")
	kind, isBase64 := strings.CutSuffix(kind, ";base64")
	if id != "" || !ok || !isData || !isBase64 {
		return nil, openaiUnsupported(at, "%s: send files as data URLs in base64. Other URLs are not loaded, and files are not stored.", at)
	}
	if name == "" {
		name = "file"
	}
	parts, _, err := p.h.parts([]upload{{Name: name, MediaType: kind, Data: data}})
	var told *Error
	if errors.As(err, &told) {
		return nil, openaiInvalid(at, "%s: %s.", at, told.Message)
	}
	return parts, err
}
