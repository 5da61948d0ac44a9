// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ponte-go/ponte/agent/model"
)

// sentRequest is the part of a request that reaches a model, in the form in which recordings store
// and compare it. It has no times, run ids, metadata or other application data, no header values,
// and digests instead of media.
type sentRequest struct {
	Frame    *sentFrame
	Messages []sentMessage
}

// sentFrame is the part that is the same in most steps of a run.
type sentFrame struct {
	Instructions string              `json:"instructions,omitempty"`
	Tools        []model.ToolDef     `json:"tools,omitempty"`
	ToolChoice   *model.ToolChoice   `json:"tool_choice,omitempty"`
	Output       *model.OutputSchema `json:"output,omitempty"`
	Settings     *sentOptions        `json:"settings,omitempty"`
}

type sentOptions struct {
	MaxTokens         int                        `json:"max_tokens,omitempty"`
	Temperature       *float64                   `json:"temperature,omitempty"`
	TopP              *float64                   `json:"top_p,omitempty"`
	Stop              []string                   `json:"stop,omitempty"`
	Seed              *int64                     `json:"seed,omitempty"`
	ParallelToolCalls *bool                      `json:"parallel_tool_calls,omitempty"`
	Thinking          string                     `json:"thinking,omitempty"`
	ServiceTier       string                     `json:"service_tier,omitempty"`
	NativeTools       []model.NativeTool         `json:"native_tools,omitempty"`
	CompactAt         int                        `json:"compact_at,omitempty"`
	ExtraHeaders      []string                   `json:"extra_headers,omitempty"` // names only
	ExtraBody         map[string]json.RawMessage `json:"extra_body,omitempty"`
}

type sentMessage struct {
	Kind  model.Kind `json:"kind"`
	Parts []sentPart `json:"parts,omitempty"`
}

type sentPart struct {
	Kind      model.PartKind `json:"kind"`
	Text      string         `json:"text,omitempty"`
	CallID    string         `json:"call_id,omitempty"`
	Tool      string         `json:"tool,omitempty"`
	Args      string         `json:"args,omitempty"`
	Outcome   model.Outcome  `json:"outcome,omitempty"`
	MediaType string         `json:"media_type,omitempty"`
	URL       string         `json:"url,omitempty"`
	Name      string         `json:"name,omitempty"`
	Provider  string         `json:"provider,omitempty"`
	ID        string         `json:"id,omitempty"`
	Digest    string         `json:"digest,omitempty"` // for media and opaque data
	Signature []byte         `json:"signature,omitempty"`
}

// sent returns the recorded form of a request.
func sent(req *model.Request) (*sentRequest, error) {
	s := &sentRequest{Frame: frameOf(req)}
	for _, m := range req.Messages {
		s.Messages = append(s.Messages, sentMessageOf(m))
	}
	// Encode and decode it, so that it compares equal to one read from a file: invalid UTF-8 is
	// replaced, and JSON within JSON is normalised.
	return s.normal()
}

func frameOf(req *model.Request) *sentFrame {
	f := &sentFrame{Instructions: req.Instructions}
	for _, t := range req.Tools {
		t.Schema = embedded(t.Schema)
		f.Tools = append(f.Tools, t)
	}
	if req.ToolChoice != (model.ToolChoice{}) {
		f.ToolChoice = &req.ToolChoice
	}
	if o := req.Output; o != nil {
		output := *o
		output.Schema = embedded(o.Schema)
		f.Output = &output
	}
	if s := req.Settings; s != nil {
		f.Settings = &sentOptions{
			MaxTokens: s.MaxTokens, Temperature: s.Temperature, TopP: s.TopP, Stop: s.Stop, Seed: s.Seed,
			ParallelToolCalls: s.ParallelToolCalls, Thinking: s.Thinking, ServiceTier: s.ServiceTier,
			NativeTools: s.NativeTools, CompactAt: s.CompactAt,
		}
		for name := range s.ExtraHeaders {
			f.Settings.ExtraHeaders = append(f.Settings.ExtraHeaders, name)
		}
		slices.Sort(f.Settings.ExtraHeaders)
		for name, value := range s.ExtraBody {
			if f.Settings.ExtraBody == nil {
				f.Settings.ExtraBody = map[string]json.RawMessage{}
			}
			f.Settings.ExtraBody[name] = embedded(value)
		}
	}
	return f
}

func sentMessageOf(m *model.Message) sentMessage {
	s := sentMessage{Kind: m.Kind}
	for i := range m.Parts {
		p := &m.Parts[i]
		sent := sentPart{
			Kind: p.Kind, Text: p.Text, CallID: p.CallID, Tool: p.Tool, Args: string(p.Args), Outcome: p.Outcome,
			MediaType: p.MediaType, URL: p.URL, Name: p.Name, Provider: p.Provider, ID: p.ID, Signature: p.Signature,
		}
		if len(p.Data) > 0 {
			sent.Digest = fmt.Sprintf("sha256:%x, %d bytes", sha256.Sum256(p.Data), len(p.Data))
		}
		s.Parts = append(s.Parts, sent)
	}
	return s
}

// embedded prepares JSON to be embedded in other JSON. Invalid JSON becomes a string.
func embedded(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	if !json.Valid(raw) {
		return appendJSON(nil, string(raw))
	}
	return raw
}

// normal returns s as it would be read from the file.
func (s *sentRequest) normal() (*sentRequest, error) {
	n := &sentRequest{}
	text, err := marshalJSON(s)
	if err == nil {
		err = json.Unmarshal(text, n)
	}
	if err != nil {
		return nil, fmt.Errorf("the request cannot be encoded as JSON: %w", err)
	}
	n.eachJSON(func(raw json.RawMessage) json.RawMessage {
		var compact bytes.Buffer
		if json.Compact(&compact, raw) != nil {
			return raw
		}
		return unescapeHTML(compact.Bytes())
	})
	return n, nil
}

// eachJSON replaces every piece of JSON within s.
func (s *sentRequest) eachJSON(f func(json.RawMessage) json.RawMessage) {
	if s.Frame == nil {
		return
	}
	for i := range s.Frame.Tools {
		s.Frame.Tools[i].Schema = f(s.Frame.Tools[i].Schema)
	}
	if s.Frame.Output != nil {
		s.Frame.Output.Schema = f(s.Frame.Output.Schema)
	}
	if s.Frame.Settings != nil {
		for name, value := range s.Frame.Settings.ExtraBody {
			s.Frame.Settings.ExtraBody[name] = f(value)
		}
	}
}

// key returns a string that is the same for equal requests.
func (s *sentRequest) key() string { return string(appendJSON(nil, s)) }
