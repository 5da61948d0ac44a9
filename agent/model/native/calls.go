// SPDX-License-Identifier: Apache-2.0

package native

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// Call is a call of a tool that the provider ran.
type Call struct {
	// Tool is the name of the tool: "web_search", "web_fetch", or another name that the provider uses.
	Tool string
	// Input is the query, the URL or the code, if the provider tells it.
	Input string
	// Failed reports that the provider said that the call failed.
	Failed bool
}

// Calls returns the calls in a response, in order.
func Calls(m *model.Message) []Call {
	var calls []Call
	ids := map[string]int{} // by the provider's id of the call
	var metadata []Call
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Kind != model.PartOpaque || len(p.Data) == 0 || p.Data[0] != '{' {
			continue
		}
		var w wire
		if json.Unmarshal(p.Data, &w) != nil {
			continue
		}
		switch {
		case w.Metadata != nil:
			metadata = append(metadata, w.Metadata.calls()...)
		case w.ToolCall != nil: // Google
			ids[w.ToolCall.ID] = len(calls)
			calls = append(calls, Call{Tool: googleTool(w.ToolCall.Type), Input: w.ToolCall.Args.text()})
		case w.Type == "server_tool_use": // Anthropic
			ids[w.ID] = len(calls)
			calls = append(calls, Call{Tool: w.Name, Input: w.Input.text()})
		case w.CallID != "" && strings.HasSuffix(w.Type, "_tool_result"):
			if at, ok := ids[w.CallID]; ok && strings.HasSuffix(w.failure(), "_error") {
				calls[at].Failed = true
			}
		case strings.HasSuffix(w.Type, "_call"): // OpenAI
			c := Call{Tool: strings.TrimSuffix(w.Type, "_call"), Input: cmp.Or(w.Action.text(), w.Input.text()), Failed: w.Status == "failed"}
			if w.Action.Type == "open_page" || w.Action.Type == "find_in_page" {
				c.Tool = string(model.NativeWebFetch)
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
type wire struct {
	Type     string          `json:"type"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Status   string          `json:"status"`
	CallID   string          `json:"tool_use_id"`
	Input    input           `json:"input"`
	Action   input           `json:"action"`
	Content  json.RawMessage `json:"content"`
	ToolCall *struct {
		ID   string `json:"id"`
		Type string `json:"toolType"`
		Args input  `json:"args"`
	} `json:"toolCall"`
	Metadata *googleMetadata `json:"metadata"`
}

// failure returns the type of the content of a result if it is an object.
func (w *wire) failure() string {
	var content struct {
		Type string `json:"type"`
	}
	if len(w.Content) > 0 && w.Content[0] == '{' {
		_ = json.Unmarshal(w.Content, &content) // another type is no failure
	}
	return content.Type
}

// input is what a tool was called with.
type input struct {
	Type    string
	Query   string
	Queries []string
	URL     string
	URLs    []string
	Code    string
}

// UnmarshalJSON reads members that have the expected type, and ignores all others.
func (in *input) UnmarshalJSON(data []byte) error {
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil {
		return nil
	}
	for name, to := range map[string]any{"type": &in.Type, "query": &in.Query, "queries": &in.Queries, "url": &in.URL, "urls": &in.URLs, "code": &in.Code} {
		_ = json.Unmarshal(members[name], to)
	}
	return nil
}

func (in *input) text() string {
	return cmp.Or(in.Query, strings.Join(in.Queries, ", "), in.URL, strings.Join(in.URLs, ", "), in.Code)
}

func googleTool(kind string) string {
	switch {
	case strings.HasPrefix(kind, "GOOGLE_SEARCH"):
		return string(model.NativeWebSearch)
	case kind == "URL_CONTEXT":
		return string(model.NativeWebFetch)
	}
	return strings.ToLower(kind)
}

// googleMetadata is what Google says of a response.
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

func (g *googleMetadata) calls() []Call {
	var calls []Call
	for _, query := range g.Grounding.Queries {
		calls = append(calls, Call{Tool: string(model.NativeWebSearch), Input: query})
	}
	for _, u := range g.URLs.List {
		calls = append(calls, Call{Tool: string(model.NativeWebFetch), Input: u.URL, Failed: u.Status != "" && u.Status != "URL_RETRIEVAL_STATUS_SUCCESS"})
	}
	return calls
}

// Compaction returns the summary that a provider made of the conversation before it, and reports whether the part is one.
// The summary is empty if it is encrypted.
func Compaction(p *model.Part) (summary string, ok bool) {
	if p.Kind != model.PartOpaque {
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
