package geminimodel

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"google.golang.org/genai"

	"github.com/ponte-go/ponte/agent/model"
)

// wireResponse is an answer or a chunk of a streamed one. It differs from the SDK's in what that would lose: parts and
// arguments stay as they were written.
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
		Parts []json.RawMessage `json:"parts"`
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
}

type wireFunctionCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
	// These come only if ExtraBody asks for arguments in pieces.
	PartialArgs  json.RawMessage `json:"partialArgs"`
	WillContinue bool            `json:"willContinue"`
}

type wireUsage struct {
	Prompt        int64 `json:"promptTokenCount"`
	ToolUsePrompt int64 `json:"toolUsePromptTokenCount"`
	Candidates    int64 `json:"candidatesTokenCount"`
	Thoughts      int64 `json:"thoughtsTokenCount"`
	Cached        int64 `json:"cachedContentTokenCount"`
}

func (u *wireUsage) usage() model.Usage {
	return model.Usage{
		InputTokens:     u.Prompt + u.ToolUsePrompt,
		OutputTokens:    u.Candidates + u.Thoughts,
		CacheReadTokens: u.Cached,
		ReasoningTokens: u.Thoughts,
	}
}

// decode parses an answer, or an array of the chunks of one.
func decode(data []byte) ([]wireResponse, error) {
	data = bytes.TrimSpace(data)
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(data) > 0 && data[0] == '[' {
		var chunks []wireResponse
		err := json.Unmarshal(data, &chunks)
		return chunks, err
	}
	var one wireResponse
	err := json.Unmarshal(data, &one)
	return []wireResponse{one}, err
}

// cutShort reports whether data is the beginning of JSON.
func cutShort(data []byte, err error) bool {
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return syntax.Offset >= int64(len(bytes.TrimSpace(data)))
	}
	return false
}

// metadata returns what a candidate says about itself beside its parts, as the data of an opaque part that is not sent
// back, or nil.
func (c *wireCandidate) metadata() []byte {
	var members []member
	for _, m := range []member{
		{"groundingMetadata", c.GroundingMetadata},
		{"citationMetadata", c.CitationMetadata},
		{"urlContextMetadata", c.URLContextMetadata},
	} {
		switch string(bytes.TrimSpace(m.value)) {
		case "", "null", "{}":
		default:
			members = append(members, m)
		}
	}
	if len(members) == 0 {
		return nil
	}
	return slices.Concat(metadataPrefix, objectOf(members), []byte{'}'})
}

// finishReason maps what the wire says. Calls win over an end that is natural or unknown, because a caller has to answer
// them; a response that was cut off or held back is not complete, whatever it holds.
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
		genai.FinishReasonTooManyToolCalls:
		return model.FinishError
	}
	if hasCalls {
		return model.FinishToolCalls
	}
	return model.FinishOther
}
