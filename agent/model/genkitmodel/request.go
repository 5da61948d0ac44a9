// SPDX-License-Identifier: Apache-2.0

package genkitmodel

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/firebase/genkit/go/ai"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// prepare checks and translates a request. If it fails, nothing has been sent.
func (m *Model) prepare(ctx context.Context, c *Call) (context.Context, error) {
	ctx, err := m.translate(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("genkitmodel: %w", err)
	}
	return ctx, nil
}

func (m *Model) translate(ctx context.Context, c *Call) (context.Context, error) {
	if err := c.Settings.Check(); err != nil {
		return nil, err
	}
	if err := adapter.CheckTools(c.Request); err != nil {
		return nil, err
	}
	if err := adapter.CheckNative(&m.info, c.Request, c.Settings); err != nil {
		return nil, err
	}
	if c.Request.Output != nil && !m.dialect.NativeOutput {
		return nil, c.Unsupported("output bound to a JSON schema")
	}
	c.Genkit = &ai.ModelRequest{}
	if err := m.messages(c); err != nil {
		return nil, err
	}
	if err := m.tools(c); err != nil {
		return nil, err
	}
	if m.dialect.Prepare == nil {
		return ctx, nil
	}
	return m.dialect.Prepare(ctx, c)
}

func (m *Model) tools(c *Call) error {
	for i := range c.Request.Tools {
		t := &c.Request.Tools[i]
		schema := map[string]any{"type": "object", "properties": map[string]any{}}
		if len(t.Schema) > 0 {
			decoded, _ := Decode(t.Schema) // which has been checked
			object, ok := decoded.(map[string]any)
			if !ok {
				return fmt.Errorf("the schema of tool %q is not a JSON object", t.Name)
			}
			schema = object
		}
		if m.dialect.Schema != nil {
			var err error
			if schema, err = m.dialect.Schema(c, schema); err != nil {
				return fmt.Errorf("the schema of tool %q: %w", t.Name, err)
			}
		}
		c.Genkit.Tools = append(c.Genkit.Tools, &ai.ToolDefinition{Name: t.Name, Description: t.Description, InputSchema: schema})
	}
	return nil
}

// messages translates instructions and conversation. Adjacent responses become one message. For
// adjacent requests, the tool results come first, in one message, because they must directly follow
// the message with the calls. Each run of text and media from the user becomes one message.
func (m *Model) messages(c *Call) error {
	b := conversation{m: m, c: c, ids: adapter.WireIDs{
		Rule: adapter.IDRule{Max: m.dialect.CallIDMax}, Provider: c.Info.Provider, Messages: c.Request.Messages,
	}}
	if c.Request.Instructions != "" {
		b.add(ai.RoleSystem, ai.NewTextPart(c.Request.Instructions))
	}
	for turn := range adapter.Turns(adapter.Without(c.Request.Messages, func(msg *model.Message) bool { return said(msg) >= 0 })) {
		var err error
		switch {
		case turn[0].Kind == model.KindResponse:
			err = b.response(turn)
		case turn[0].Kind == model.KindRequest:
			err = b.request(turn)
		default:
			err = fmt.Errorf("a message is of kind %q", turn[0].Kind)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

type conversation struct {
	m   *Model
	c   *Call
	ids adapter.WireIDs
}

// add appends a separate message, unless it is empty.
func (b *conversation) add(role ai.Role, parts ...*ai.Part) {
	if b.m.dialect.ContentRequired && role != ai.RoleTool {
		kept := parts[:0]
		for _, p := range parts {
			if !p.IsText() || strings.TrimSpace(p.Text) != "" {
				kept = append(kept, p)
			}
		}
		parts = kept
	}
	if len(parts) > 0 { // plugins access the last part of every message
		b.c.Genkit.Messages = append(b.c.Genkit.Messages, &ai.Message{Role: role, Content: parts})
	}
}

// part lets the dialect change a part.
func (b *conversation) part(parts []*ai.Part, in *model.Part, out *ai.Part) ([]*ai.Part, error) {
	if b.m.dialect.Part != nil {
		var err error
		if out, err = b.m.dialect.Part(b.c, in, out); err != nil {
			return nil, err
		}
	}
	if out == nil {
		return parts, nil
	}
	return append(parts, out), nil
}

func (b *conversation) request(turn []*model.Message) (err error) {
	var results, said []*ai.Part
	for _, msg := range turn {
		for i := range msg.Parts {
			if p := &msg.Parts[i]; adapter.AnswersCall(p) {
				if results, err = b.part(results, p, b.result(p)); err != nil {
					return err
				}
			}
		}
	}
	b.add(ai.RoleTool, results...)
	for _, msg := range turn {
		for i := range msg.Parts {
			p := &msg.Parts[i]
			switch {
			case adapter.AnswersCall(p):
				continue
			case p.Kind == model.PartSystem:
				b.add(ai.RoleUser, said...)
				said = nil
				system, err := b.part(nil, p, ai.NewTextPart(p.Text))
				if err != nil {
					return err
				}
				b.add(ai.RoleSystem, system...)
				continue
			case !adapter.IsUserContent(p):
				return fmt.Errorf("a request cannot hold a part of kind %q", p.Kind)
			}
			out := ai.NewTextPart(adapter.Text(p))
			if p.Kind == model.PartMedia {
				if err := adapter.CheckMedia(b.c.Info, p); err != nil {
					return err
				}
				out = mediaPart(p)
			}
			if said, err = b.part(said, p, out); err != nil {
				return err
			}
		}
	}
	b.add(ai.RoleUser, said...)
	return nil
}

func (b *conversation) result(p *model.Part) *ai.Part {
	var output any = adapter.Text(p)
	if b.m.dialect.Result != nil {
		output = b.m.dialect.Result(adapter.Text(p))
	}
	return ai.NewToolResponsePart(&ai.ToolResponse{Name: adapter.ToolName(p.Tool), Ref: b.ids.Result(p.CallID), Output: output})
}

// said returns the index of the last part of a response that may stand at its end, or -1. Providers
// refuse messages that are empty or end with thinking.
func said(msg *model.Message) int {
	for i := len(msg.Parts) - 1; i >= 0; i-- {
		if adapter.Says(&msg.Parts[i]) {
			return i
		}
	}
	return -1
}

func (b *conversation) response(turn []*model.Message) (err error) {
	var parts []*ai.Part
	b.ids.Turn()
	for _, msg := range turn {
		for i := range msg.Parts[:said(msg)+1] {
			p := &msg.Parts[i]
			var out *ai.Part
			switch p.Kind {
			case model.PartText:
				out = ai.NewTextPart(p.Text)
			case model.PartThinking:
				if b.m.dialect.Thinking && len(p.Signature) > 0 && p.Provider == b.c.Info.Provider {
					out = ai.NewReasoningPart(p.Text, p.Signature)
				}
			case model.PartToolCall:
				var input any = json.RawMessage(adapter.Arguments(p.Args))
				if !b.m.dialect.RawArguments {
					input, _ = Decode(adapter.Arguments(p.Args)) // an object
				}
				out = ai.NewToolRequestPart(&ai.ToolRequest{Name: adapter.ToolName(p.Tool), Ref: b.ids.Call(p.CallID, msg.Provider), Input: input})
			case model.PartMedia:
				out = ai.NewTextPart(adapter.MediaNote(p))
			case model.PartOpaque, model.PartCitation:
			default:
				return fmt.Errorf("a response cannot hold a part of kind %q", p.Kind)
			}
			if parts, err = b.part(parts, p, out); err != nil {
				return err
			}
		}
	}
	b.add(ai.RoleModel, parts...)
	return nil
}

// mediaPart returns media in Genkit's form: as a URL, which may contain the data.
func mediaPart(p *model.Part) *ai.Part {
	mediaType, _ := adapter.MediaType(p)
	if len(p.Data) == 0 {
		return ai.NewMediaPart(mediaType, p.URL)
	}
	return ai.NewMediaPart(mediaType, "data:"+mediaType+";base64,"+base64.StdEncoding.EncodeToString(p.Data))
}

// Decode decodes JSON for a plugin: whole numbers become int64 if they fit, all others float64.
// Plugins encode values again, some with encoders that treat a [json.Number] as a string.
func Decode(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, errors.New("unexpected data after the JSON value")
	}
	return numbers(v), nil
}

func numbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return n
		}
		if n, err := strconv.ParseUint(string(v), 10, 64); err == nil {
			return n
		}
		f, _ := v.Float64() // out of range: the largest number, or 0
		return f
	case map[string]any:
		for name, member := range v {
			v[name] = numbers(member)
		}
	case []any:
		for i, element := range v {
			v[i] = numbers(element)
		}
	}
	return v
}
