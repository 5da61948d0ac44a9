// SPDX-License-Identifier: Apache-2.0

package geminimodel

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// appendContents appends the conversation as an array. Adjacent messages of the same kind become
// one content. In user content, the results of calls come first. Arguments and opaque parts are
// copied byte for byte.
func (m *Model) appendContents(dst []byte, req *model.Request) ([]byte, error) {
	e := contentEncoder{m: m, req: req, dst: append(dst, '['), ids: adapter.WireIDs{Provider: m.info.Provider, Messages: req.Messages}}
	first := true
	for turn := range adapter.Turns(adapter.Without(req.Messages, m.says)) {
		var err error
		switch {
		case turn[0].Kind == model.KindResponse && first:
			e.user(nil) // a conversation must start with the user
			fallthrough
		case turn[0].Kind == model.KindResponse:
			err = e.responses(turn)
		default:
			err = e.requests(turn)
		}
		if err != nil {
			return nil, err
		}
		first = false
	}
	if e.dst[len(e.dst)-1] == '[' {
		e.user(nil)
	}
	return append(e.dst, ']'), nil
}

// says reports whether a response has anything to send beside thoughts and white space.
func (m *Model) says(msg *model.Message) bool {
	return slices.ContainsFunc(msg.Parts, func(p model.Part) bool {
		return adapter.Says(&p) || p.Kind == model.PartOpaque && p.Provider == m.info.Provider
	})
}

type contentEncoder struct {
	m     *Model
	req   *model.Request
	dst   []byte
	parts int // number of parts in the current content
	ids   adapter.WireIDs
}

// begin starts a content. part starts a part of it.
func (e *contentEncoder) begin(role string) {
	if e.dst[len(e.dst)-1] != '[' {
		e.dst = append(e.dst, ',')
	}
	e.parts = 0
	e.dst = append(e.dst, `{"role":"`...)
	e.dst = append(e.dst, role...)
	e.dst = append(e.dst, `","parts":[`...)
}

func (e *contentEncoder) part() {
	if e.parts++; e.parts > 1 {
		e.dst = append(e.dst, ',')
	}
}

func (e *contentEncoder) text(text string) {
	e.part()
	e.dst = append(e.dst, `{"text":`...)
	e.dst = append(adapter.AppendJSONString(e.dst, text), '}')
}

// user writes a user content with at least one non-empty part, as the API requires.
func (e *contentEncoder) user(write func() error) error {
	e.begin("user")
	if write != nil {
		if err := write(); err != nil {
			return err
		}
	}
	if e.parts == 0 {
		e.text(adapter.NoText)
	}
	e.dst = append(e.dst, "]}"...)
	return nil
}

func (e *contentEncoder) requests(turn []*model.Message) error {
	return e.user(func() error {
		for _, msg := range turn {
			for i := range msg.Parts {
				if p := &msg.Parts[i]; adapter.AnswersCall(p) {
					e.functionResponse(p)
				}
			}
		}
		for _, msg := range turn {
			for i := range msg.Parts {
				p := &msg.Parts[i]
				switch {
				case adapter.AnswersCall(p), p.Kind == model.PartSystem: // see above; system prompts are in systemInstruction
				case p.Kind == model.PartMedia:
					if err := e.media(p); err != nil {
						return err
					}
				case adapter.IsUserContent(p):
					if text := adapter.Text(p); text != "" { // the API does not accept empty text
						e.text(text)
					}
				default:
					return fmt.Errorf("a request cannot hold a part of kind %q", p.Kind)
				}
			}
		}
		return nil
	})
}

// functionResponse writes the text of a result as a string, because the API's objects cannot hold
// 64-bit integers.
func (e *contentEncoder) functionResponse(p *model.Part) {
	e.part()
	e.dst = append(e.dst, `{"functionResponse":{`...)
	if p.CallID != "" {
		e.dst = append(e.dst, `"id":`...)
		e.dst = append(adapter.AppendJSONString(e.dst, e.ids.Result(p.CallID)), ',')
	}
	e.dst = append(e.dst, `"name":`...)
	e.dst = adapter.AppendJSONString(e.dst, functionName(e.toolOf(p)))
	key := `"output"`
	if adapter.Failed(p) {
		key = `"error"`
	}
	e.dst = append(append(e.dst, `,"response":{`...), key...)
	e.dst = append(e.dst, ':')
	e.dst = append(adapter.AppendJSONString(e.dst, adapter.Text(p)), "}}}"...)
}

// toolOf returns the tool of a result, which the API requires. If the result does not name it, the
// call does.
func (e *contentEncoder) toolOf(p *model.Part) string {
	if p.Tool != "" {
		return p.Tool
	}
	tool := "unknown"
	for _, msg := range e.req.Messages {
		for i := range msg.Parts {
			switch c := &msg.Parts[i]; {
			case c == p: // later calls may have the same id
				return tool
			case c.Kind == model.PartToolCall && c.CallID == p.CallID:
				tool = c.Tool
			}
		}
	}
	return tool
}

// functionName returns the name of a tool in the history in a form that the API accepts: it must
// start with a letter or an underscore.
func functionName(tool string) string {
	name := adapter.ToolName(tool)
	if !beginsName(name) {
		name = "_" + name
	}
	return name[:min(len(name), adapter.MaxToolName)]
}

func beginsName(name string) bool {
	b := name[0]
	return b == '_' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

func (e *contentEncoder) media(p *model.Part) error {
	mediaType, kind := adapter.MediaType(p)
	if kind == "" || len(p.Data) > 0 || !isGoogleFile(p.URL) {
		if err := adapter.CheckMedia(e.m.info, p); err != nil {
			return err
		}
	}
	e.part()
	if len(p.Data) > 0 {
		e.inlineData(mediaType, p.Data)
	} else {
		e.dst = append(e.dst, `{"fileData":{"mimeType":`...)
		e.dst = adapter.AppendJSONString(e.dst, mediaType)
		e.dst = append(e.dst, `,"fileUri":`...)
		e.dst = append(adapter.AppendJSONString(e.dst, p.URL), '}')
	}
	e.dst = append(e.dst, '}')
	return nil
}

// inlineData starts a part.
func (e *contentEncoder) inlineData(mediaType string, data []byte) {
	e.dst = append(e.dst, `{"inlineData":{"mimeType":`...)
	e.dst = adapter.AppendJSONString(e.dst, mediaType)
	e.dst = append(e.dst, `,"data":"`...)
	e.dst = base64.StdEncoding.AppendEncode(e.dst, data)
	e.dst = append(e.dst, `"}`...)
}

// isGoogleFile reports whether a URL is one that only Google can fetch, of any kind: a file of the
// Files API, or a YouTube video.
func isGoogleFile(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" {
		return false
	}
	switch strings.TrimPrefix(strings.ToLower(u.Host), "www.") {
	case "youtube.com", "youtu.be", "generativelanguage.googleapis.com":
		return true
	}
	return false
}

// responses writes adjacent responses as one model content. Provider-specific parts of other
// providers are left out. A content that is empty, or has thoughts alone, is not written.
func (e *contentEncoder) responses(turn []*model.Message) error {
	before := len(e.dst)
	e.ids.Turn()
	e.begin("model")
	thoughts := 0
	for _, msg := range turn {
		called := false
		for i := range msg.Parts {
			p := &msg.Parts[i]
			own := p.Provider == e.m.info.Provider
			switch p.Kind {
			case model.PartText:
				if p.Text != "" {
					e.text(p.Text)
					e.sign(msg.Parts[i+1:])
				}
			case model.PartThinking:
				if own && len(p.Signature) > 0 {
					e.part()
					e.dst = append(e.dst, `{"text":`...)
					thoughts++
					e.dst = append(adapter.AppendJSONString(e.dst, p.Text), `,"thought":true`...)
					e.signature(p.Signature)
					e.dst = append(e.dst, '}')
				}
			case model.PartToolCall:
				e.functionCall(p, msg.Provider, !called)
				called = true
			case model.PartMedia:
				if !own || len(p.Data) == 0 {
					e.text(adapter.MediaNote(p))
					continue
				}
				e.part()
				e.inlineData(p.MediaType, p.Data)
				e.dst = append(e.dst, '}')
				e.sign(msg.Parts[i+1:])
			case model.PartCitation: // the API does not accept these
			case model.PartOpaque:
				if own {
					e.opaque(p.Data, i == 0 || !e.signable(&msg.Parts[i-1]))
				}
			default:
				return fmt.Errorf("a response cannot hold a part of kind %q", p.Kind)
			}
		}
	}
	if e.parts == thoughts {
		e.dst = e.dst[:before]
		return nil
	}
	e.dst = append(e.dst, "]}"...)
	return nil
}

// signable reports whether the signature of p is in the opaque part after it, because p cannot hold
// it.
func (e *contentEncoder) signable(p *model.Part) bool {
	return p.Kind == model.PartText && p.Text != "" ||
		p.Kind == model.PartMedia && p.Provider == e.m.info.Provider && len(p.Data) > 0
}

// sign adds the signature that follows a part to that part.
func (e *contentEncoder) sign(following []model.Part) {
	if len(following) == 0 || following[0].Kind != model.PartOpaque || following[0].Provider != e.m.info.Provider {
		return
	}
	if member, ok := signatureMember(following[0].Data); ok {
		e.dst = append(e.dst[:len(e.dst)-1], ',') // replace the closing brace of the part
		e.dst = append(append(e.dst, member...), '}')
	}
}

// opaque writes what the provider sent, without metadata, and without a signature unless it stands
// alone.
func (e *contentEncoder) opaque(data []byte, alone bool) {
	data = bytes.TrimSpace(data)
	if len(data) < 3 || data[0] != '{' || bytes.HasPrefix(data, metadataPrefix) || !json.Valid(data) {
		return
	}
	if bytes.HasPrefix(data, genkitPrefix) {
		var wrapped struct {
			Custom json.RawMessage `json:"custom"`
		}
		if json.Unmarshal(data, &wrapped) != nil || len(wrapped.Custom) < 3 || wrapped.Custom[0] != '{' {
			return
		}
		data = wrapped.Custom
	}
	member, isSignature := signatureMember(data)
	switch {
	case isSignature && !alone:
	case isSignature:
		e.part()
		e.dst = append(append(append(e.dst, `{"text":"",`...), member...), '}')
	default:
		e.part()
		e.dst = append(e.dst, data...)
	}
}

// signatureMember returns the member of the object {"thoughtSignature":"…"}, if data is one.
func signatureMember(data []byte) ([]byte, bool) {
	if !bytes.HasPrefix(data, signaturePrefix) || !bytes.HasSuffix(data, []byte(`"}`)) {
		return nil, false
	}
	inside := data[len(signaturePrefix) : len(data)-2]
	if bytes.ContainsAny(inside, "\"\\") {
		return nil, false
	}
	return data[1 : len(data)-1], true
}

var (
	signaturePrefix = []byte(`{"thoughtSignature":"`)
	metadataPrefix  = []byte(`{"metadata":`)
	// genkitPrefix starts a part of unknown type in the form of Genkit's plugin.
	genkitPrefix = []byte(`{"custom":`)
)

// signature appends a member to a part.
func (e *contentEncoder) signature(signature []byte) {
	e.dst = append(e.dst, `,"thoughtSignature":"`...)
	e.dst = base64.StdEncoding.AppendEncode(e.dst, signature)
	e.dst = append(e.dst, '"')
}

// noSignature is what Google's documentation recommends for calls made by other models
// (https://ai.google.dev/gemini-api/docs/thought-signatures).
var noSignature = []byte("skip_thought_signature_validator")

func (e *contentEncoder) functionCall(p *model.Part, provider string, first bool) {
	e.part()
	e.dst = append(e.dst, `{"functionCall":{`...)
	if p.CallID != "" {
		e.dst = append(e.dst, `"id":`...)
		e.dst = append(adapter.AppendJSONString(e.dst, e.ids.Call(p.CallID, provider)), ',')
	}
	e.dst = append(e.dst, `"name":`...)
	e.dst = adapter.AppendJSONString(e.dst, functionName(p.Tool))
	e.dst = append(e.dst, `,"args":`...)
	e.dst = append(e.dst, adapter.Arguments(p.Args)...)
	e.dst = append(e.dst, '}')
	switch {
	case p.Provider == e.m.info.Provider && len(p.Signature) > 0:
		e.signature(p.Signature)
	case first && e.m.profile.RequireSignatures:
		e.signature(noSignature)
	}
	e.dst = append(e.dst, '}')
}
