// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"encoding/json"
	"strings"
)

// NativeCall is a call of a tool that the provider ran.
type NativeCall struct {
	// Tool is the name of the tool: "web_search", "web_fetch", or another name that the provider
	// uses.
	Tool string
	// Input is the query, the URL or the code, if the provider tells it.
	Input string
	// Failed reports that the provider said that the call failed.
	Failed bool
}

// NativeCalls returns the calls of native tools in a response, in order.
//
// It reads the provider's own JSON in parts of kind [PartOpaque] and [PartCitation], which must be
// sent back unchanged, in the forms of OpenAI, Anthropic and Google. Like [NativeSources] and
// [NativeCompaction] it is for user interfaces: nothing that it returns is needed to continue a
// conversation, and what it does not know it leaves out. All texts come from the provider and from
// the web. Escape them where they are shown.
func NativeCalls(m *Message) []NativeCall {
	var calls []NativeCall
	ids := map[string]int{} // by the provider's id of the call
	var metadata []NativeCall
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Kind != PartOpaque || len(p.Data) == 0 || p.Data[0] != '{' {
			continue
		}
		var w nativePart
		if json.Unmarshal(p.Data, &w) != nil {
			continue
		}
		switch {
		case w.Metadata != nil:
			metadata = append(metadata, w.Metadata.calls()...)
		case w.ToolCall != nil: // Google
			ids[w.ToolCall.ID] = len(calls)
			calls = append(calls, NativeCall{Tool: googleTool(w.ToolCall.Type), Input: w.ToolCall.Args.text()})
		case w.Type == "server_tool_use": // Anthropic
			ids[w.ID] = len(calls)
			calls = append(calls, NativeCall{Tool: w.Name, Input: w.Input.text()})
		case w.CallID != "" && strings.HasSuffix(w.Type, "_tool_result"):
			if at, ok := ids[w.CallID]; ok && strings.HasSuffix(w.failure(), "_error") {
				calls[at].Failed = true
			}
		case strings.HasSuffix(w.Type, "_call"): // OpenAI
			c := NativeCall{Tool: strings.TrimSuffix(w.Type, "_call"), Input: cmp.Or(w.Action.text(), w.Input.text()), Failed: w.Status == "failed"}
			if w.Action.Type == "open_page" || w.Action.Type == "find_in_page" {
				c.Tool = string(NativeWebFetch)
			}
			calls = append(calls, c)
		}
	}
	if len(calls) == 0 { // Google repeats in the metadata what it has said in parts
		return metadata
	}
	return calls
}

// wire has the members of all forms.
type nativePart struct {
	Type     string          `json:"type"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Status   string          `json:"status"`
	CallID   string          `json:"tool_use_id"`
	Input    nativeInput     `json:"input"`
	Action   nativeInput     `json:"action"`
	Content  json.RawMessage `json:"content"`
	ToolCall *struct {
		ID   string      `json:"id"`
		Type string      `json:"toolType"`
		Args nativeInput `json:"args"`
	} `json:"toolCall"`
	Metadata *googleMetadata `json:"metadata"`
}

// failure returns the type of the content of a result if it is an object.
func (w *nativePart) failure() string {
	var content struct {
		Type string `json:"type"`
	}
	if len(w.Content) > 0 && w.Content[0] == '{' {
		_ = json.Unmarshal(w.Content, &content) // another type is no failure
	}
	return content.Type
}

// input holds the arguments of a tool.
type nativeInput struct {
	Type    string
	Query   string
	Queries []string
	URL     string
	URLs    []string
	Code    string
}

// UnmarshalJSON reads members that have the expected type, and ignores all others.
func (in *nativeInput) UnmarshalJSON(data []byte) error {
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil {
		return nil
	}
	for name, to := range map[string]any{"type": &in.Type, "query": &in.Query, "queries": &in.Queries, "url": &in.URL, "urls": &in.URLs, "code": &in.Code} {
		_ = json.Unmarshal(members[name], to)
	}
	return nil
}

func (in *nativeInput) text() string {
	return cmp.Or(in.Query, strings.Join(in.Queries, ", "), in.URL, strings.Join(in.URLs, ", "), in.Code)
}

func googleTool(kind string) string {
	switch {
	case strings.HasPrefix(kind, "GOOGLE_SEARCH"):
		return string(NativeWebSearch)
	case kind == "URL_CONTEXT":
		return string(NativeWebFetch)
	}
	return strings.ToLower(kind)
}

// googleMetadata is the metadata of a response by Google.
type googleMetadata struct {
	Grounding struct {
		Queries  []string          `json:"webSearchQueries"`
		Chunks   []json.RawMessage `json:"groundingChunks"`
		Supports []struct {
			Segment struct {
				Start int    `json:"startIndex"`
				End   int    `json:"endIndex"`
				Text  string `json:"text"`
			} `json:"segment"`
			Chunks []int `json:"groundingChunkIndices"`
		} `json:"groundingSupports"`
	} `json:"groundingMetadata"`
	URLs struct {
		List []struct {
			URL    string `json:"retrievedUrl"`
			Status string `json:"urlRetrievalStatus"`
		} `json:"urlMetadata"`
	} `json:"urlContextMetadata"`
}

func (g *googleMetadata) calls() []NativeCall {
	var calls []NativeCall
	for _, query := range g.Grounding.Queries {
		calls = append(calls, NativeCall{Tool: string(NativeWebSearch), Input: query})
	}
	for _, u := range g.URLs.List {
		calls = append(calls, NativeCall{Tool: string(NativeWebFetch), Input: u.URL, Failed: u.Status != "" && u.Status != "URL_RETRIEVAL_STATUS_SUCCESS"})
	}
	return calls
}

// NativeCompaction returns the summary that a provider made of the conversation before it, and
// reports whether the part is one. The summary is empty if it is encrypted.
func NativeCompaction(p *Part) (summary string, ok bool) {
	if p.Kind != PartOpaque {
		return "", false
	}
	var w struct {
		Type    string          `json:"type"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(p.Data, &w) != nil || w.Type != "compaction" && w.Type != "compaction_summary" {
		return "", false
	}
	_ = json.Unmarshal(w.Content, &summary) // only Anthropic's can be read
	return summary, true
}
