// SPDX-License-Identifier: Apache-2.0

package genkitmodel

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/firebase/genkit/go/ai"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// message makes a message from a plugin's response.
func (m *Model) message(resp *ai.ModelResponse) (*model.Message, error) {
	if resp.Message == nil {
		return nil, errNoMessage
	}
	msg := &model.Message{Kind: model.KindResponse, Provider: m.info.Provider, Model: m.info.Name, Usage: usage(resp.Usage)}
	for _, p := range resp.Message.Content {
		if p == nil {
			continue
		}
		if err := m.addPart(msg, p); err != nil {
			return nil, err
		}
	}
	msg.Finish = finishReason(resp.FinishReason)
	if msg.Finish == model.FinishContentFilter && len(msg.Parts) == 0 && resp.FinishMessage != "" {
		msg.Parts = []model.Part{model.Text(resp.FinishMessage)}
	}
	return msg, nil
}

// addPart appends a part. Adjacent text is merged, and so is adjacent thinking unless there is a
// signature in between.
func (m *Model) addPart(msg *model.Message, p *ai.Part) error {
	var last *model.Part
	if n := len(msg.Parts); n > 0 {
		last = &msg.Parts[n-1]
	}
	switch p.Kind {
	case ai.PartText:
		switch {
		case p.Text == "":
		case last != nil && last.Kind == model.PartText:
			last.Text += p.Text
		default:
			msg.Parts = append(msg.Parts, model.Text(p.Text))
		}
	case ai.PartReasoning:
		signature := Signature(p)
		switch {
		case p.Text == "" && len(signature) == 0:
		case last != nil && last.Kind == model.PartThinking && len(last.Signature) == 0:
			last.Text += p.Text
			last.Signature = signature
		default:
			msg.Parts = append(msg.Parts, model.Part{
				Kind: model.PartThinking, Text: p.Text, Provider: m.info.Provider, Signature: signature,
			})
		}
	case ai.PartToolRequest:
		if p.ToolRequest == nil || p.ToolRequest.Name == "" {
			return errNamelessCall
		}
		args, err := arguments(p.ToolRequest.Input)
		if err != nil {
			return fmt.Errorf("cannot encode the arguments of a call of %q: %w", p.ToolRequest.Name, err)
		}
		call := model.Part{Kind: model.PartToolCall, CallID: p.ToolRequest.Ref, Tool: p.ToolRequest.Name, Args: args}
		if signature := Signature(p); len(signature) > 0 {
			call.Provider, call.Signature = m.info.Provider, signature
		}
		msg.Parts = append(msg.Parts, call)
	case ai.PartMedia:
		drawn := media(p)
		drawn.Provider = m.info.Provider
		msg.Parts = append(msg.Parts, drawn)
	default:
		data, err := json.Marshal(p)
		if err != nil {
			return fmt.Errorf("a part of the response: %w", err)
		}
		msg.Parts = append(msg.Parts, model.Part{Kind: model.PartOpaque, Provider: m.info.Provider, Data: data})
	}
	return nil
}

// complete sets the fields that every message must have, if the plugin and the dialect did not.
func (m *Model) complete(msg *model.Message) {
	msg.Kind, msg.Provider = model.KindResponse, m.info.Provider
	if msg.Model == "" {
		msg.Model = m.info.Name
	}
	for i := range msg.Parts {
		if p := &msg.Parts[i]; p.Kind == model.PartToolCall && len(p.Args) == 0 {
			p.Args = model.RawArgs("{}")
		}
	}
}

// settle sets the fields that depend on all calls.
func (m *Model) settle(msg *model.Message) {
	var ids adapter.CallIDs
	for i := range msg.Parts {
		if p := &msg.Parts[i]; p.Kind == model.PartToolCall {
			p.CallID = ids.Unique(p.CallID)
		}
	}
	switch {
	case msg.Finish == "":
		msg.Finish = model.FinishOther
	case msg.Finish == model.FinishStop && msg.HasToolCalls():
		msg.Finish = model.FinishToolCalls
	}
}

// Signature returns the signature in the metadata of a part, or nil. Plugins set bytes, which
// become a string if the response is converted to JSON.
func Signature(p *ai.Part) []byte {
	for _, name := range []string{"signature", "thoughtSignature"} {
		switch signature := p.Metadata[name].(type) {
		case []byte:
			if len(signature) > 0 {
				return bytes.Clone(signature)
			}
		case string:
			if data, err := base64.StdEncoding.DecodeString(signature); err == nil && len(data) > 0 {
				return data
			}
		}
	}
	return nil
}

// arguments returns the arguments of a call, decoded by the plugin or not, as JSON.
func arguments(input any) (model.RawArgs, error) {
	switch input := input.(type) {
	case nil:
		return model.RawArgs("{}"), nil
	case json.RawMessage:
		return orEmpty(bytes.Clone(input)), nil
	case []byte:
		return orEmpty(bytes.Clone(input)), nil
	case string:
		return orEmpty([]byte(input)), nil
	case map[string]any:
		if input == nil {
			return model.RawArgs("{}"), nil
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(input); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func orEmpty(args []byte) model.RawArgs {
	if len(bytes.TrimSpace(args)) == 0 {
		return model.RawArgs("{}")
	}
	return args
}

func media(p *ai.Part) model.Part {
	out := model.Part{Kind: model.PartMedia, MediaType: p.ContentType}
	contents, isData := strings.CutPrefix(p.Text, "data:")
	head, data, comma := strings.Cut(contents, ",")
	mediaType, inBase64 := strings.CutSuffix(head, ";base64")
	if isData && comma && inBase64 {
		if decoded, err := base64.StdEncoding.DecodeString(data); err == nil {
			out.Data = decoded
			if out.MediaType == "" {
				out.MediaType = mediaType
			}
			return out
		}
	}
	out.URL = p.Text
	return out
}

func finishReason(reason ai.FinishReason) model.FinishReason {
	switch reason {
	case ai.FinishReasonStop:
		return model.FinishStop
	case ai.FinishReasonLength:
		return model.FinishLength
	case ai.FinishReasonBlocked:
		return model.FinishContentFilter
	}
	return model.FinishOther
}

func usage(u *ai.GenerationUsage) model.Usage {
	if u == nil {
		return model.Usage{}
	}
	return model.Usage{
		InputTokens: int64(u.InputTokens), OutputTokens: int64(u.OutputTokens),
		CacheReadTokens: int64(u.CachedContentTokens), ReasoningTokens: int64(u.ThoughtsTokens),
	}
}
