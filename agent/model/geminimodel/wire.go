// SPDX-License-Identifier: Apache-2.0

package geminimodel

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"google.golang.org/genai"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// wireResponse is a response or a chunk of a streamed one. Unlike the SDK's type, it keeps parts
// and arguments as they were written.
type wireResponse struct {
	Candidates     []wireCandidate `json:"candidates"`
	PromptFeedback *struct {
		BlockReason        genai.BlockedReason `json:"blockReason"`
		BlockReasonMessage string              `json:"blockReasonMessage"`
	} `json:"promptFeedback"`
	Usage        *wireUsage      `json:"usageMetadata"`
	ModelVersion string          `json:"modelVersion"`
	ResponseID   string          `json:"responseId"`
	Error        json.RawMessage `json:"error"`
}

type wireCandidate struct {
	Index   int `json:"index"`
	Content struct {
		Parts []wirePart `json:"parts"`
	} `json:"content"`
	FinishReason  genai.FinishReason `json:"finishReason"`
	FinishMessage string             `json:"finishMessage"`

	GroundingMetadata  json.RawMessage `json:"groundingMetadata"`
	CitationMetadata   json.RawMessage `json:"citationMetadata"`
	URLContextMetadata json.RawMessage `json:"urlContextMetadata"`
}

type wirePart struct {
	Text         *string           `json:"text"`
	Thought      bool              `json:"thought"`
	Signature    []byte            `json:"thoughtSignature"`
	FunctionCall *wireFunctionCall `json:"functionCall"`
	InlineData   *genai.Blob       `json:"inlineData"`

	// raw is the part as it was written, if it must be sent back.
	raw json.RawMessage
}

// isOpaque reports whether a part must be sent back as it was written: it is unknown to this
// package, or is a signature without text.
func (p *wirePart) isOpaque() bool {
	switch {
	case p.FunctionCall != nil:
		return false
	case p.Text != nil:
		return *p.Text == "" && len(p.Signature) > 0 && !p.Thought
	}
	return p.InlineData == nil || p.Thought
}

type wireFunctionCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
	// Only sent if ExtraBody asks for arguments in pieces.
	PartialArgs  json.RawMessage `json:"partialArgs"`
	WillContinue bool            `json:"willContinue"`
}

type wireUsage struct {
	Prompt        adapter.Tokens `json:"promptTokenCount"`
	ToolUsePrompt adapter.Tokens `json:"toolUsePromptTokenCount"`
	Candidates    adapter.Tokens `json:"candidatesTokenCount"`
	Thoughts      adapter.Tokens `json:"thoughtsTokenCount"`
	Cached        adapter.Tokens `json:"cachedContentTokenCount"`
	Total         adapter.Tokens `json:"totalTokenCount"`
}

// usage counts thoughts as output. The API counts them beside it, but some proxies count them as
// part of it: the total tells.
func (u *wireUsage) usage() model.Usage {
	in, out := u.Prompt+u.ToolUsePrompt, u.Candidates
	if u.Thoughts > u.Candidates || u.Total != in+out {
		out += u.Thoughts
	}
	return adapter.Count(0, model.Usage{
		InputTokens: int64(in), OutputTokens: int64(out), CacheReadTokens: int64(u.Cached), ReasoningTokens: int64(u.Thoughts),
	})
}

// decode parses a response, or an array of the chunks of one.
func decode(data []byte) ([]wireResponse, error) {
	data = bytes.TrimSpace(data)
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	chunks := make([]wireResponse, 1)
	if len(data) > 0 && data[0] == '[' {
		if err := json.Unmarshal(data, &chunks); err != nil {
			return nil, err
		}
	} else if err := json.Unmarshal(data, &chunks[0]); err != nil {
		return nil, err
	}
	for i := range chunks {
		for j := range chunks[i].Candidates {
			if slices.ContainsFunc(chunks[i].Candidates[j].Content.Parts, func(p wirePart) bool { return p.isOpaque() }) {
				return chunks, keepRaw(data, chunks)
			}
		}
	}
	return chunks, nil
}

// keepRaw decodes data again, to get the parts as they were written. Few responses need that.
func keepRaw(data []byte, chunks []wireResponse) error {
	type rawResponse struct {
		Candidates []struct {
			Content struct {
				Parts []json.RawMessage `json:"parts"`
			} `json:"content"`
		} `json:"candidates"`
	}
	raw := make([]rawResponse, 1)
	var err error
	if data[0] == '[' {
		err = json.Unmarshal(data, &raw)
	} else {
		err = json.Unmarshal(data, &raw[0])
	}
	if err != nil {
		return err
	}
	for i := range chunks {
		for j := range chunks[i].Candidates {
			parts := chunks[i].Candidates[j].Content.Parts
			for k := range parts {
				parts[k].raw = raw[i].Candidates[j].Content.Parts[k]
			}
		}
	}
	return nil
}

// cutShort reports whether data is truncated JSON.
func cutShort(data []byte, err error) bool {
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return syntax.Offset >= int64(len(bytes.TrimSpace(data)))
	}
	return false
}

// metadata is the information about a candidate besides its parts. A stream sends it once, in any
// chunk.
type metadata struct{ grounding, citations, urls json.RawMessage }

func (m *metadata) take(c *wireCandidate) {
	for _, of := range []struct {
		kept  *json.RawMessage
		given json.RawMessage
	}{{&m.grounding, c.GroundingMetadata}, {&m.citations, c.CitationMetadata}, {&m.urls, c.URLContextMetadata}} {
		switch string(bytes.TrimSpace(of.given)) {
		case "", "null", "{}":
		default:
			*of.kept = of.given
		}
	}
}

// data returns the data of an opaque part that is not sent back, or nil.
func (m *metadata) data() []byte {
	members := []adapter.Member{
		{Name: "groundingMetadata", Value: m.grounding}, {Name: "citationMetadata", Value: m.citations}, {Name: "urlContextMetadata", Value: m.urls},
	}
	members = slices.DeleteFunc(members, func(m adapter.Member) bool { return m.Value == nil })
	if len(members) == 0 {
		return nil
	}
	return slices.Concat(metadataPrefix, adapter.Object(members), []byte{'}'})
}

// finishReason maps the finish reason of the protocol. If there are calls, they override a normal
// or unknown end, because the caller must answer them. They do not override a response that was cut
// off or withheld.
func finishReason(wire genai.FinishReason, hasCalls bool) model.FinishReason {
	switch wire {
	case "", genai.FinishReasonStop:
		if hasCalls {
			return model.FinishToolCalls
		}
		return model.FinishStop
	case genai.FinishReasonMaxTokens, genai.FinishReasonContinuation:
		return model.FinishLength
	case genai.FinishReasonSafety, genai.FinishReasonRecitation, genai.FinishReasonBlocklist,
		genai.FinishReasonProhibitedContent, genai.FinishReasonSPII, genai.FinishReasonLanguage, "MODEL_ARMOR",
		genai.FinishReasonImageSafety, genai.FinishReasonImageProhibitedContent, genai.FinishReasonImageRecitation:
		return model.FinishContentFilter
	case genai.FinishReasonMalformedFunctionCall, genai.FinishReasonUnexpectedToolCall,
		genai.FinishReasonTooManyToolCalls, "MALFORMED_RESPONSE", "MISSING_THOUGHT_SIGNATURE":
		return model.FinishError
	}
	if hasCalls {
		return model.FinishToolCalls
	}
	return model.FinishOther
}
