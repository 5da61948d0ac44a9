// SPDX-License-Identifier: Apache-2.0

package geminimodel

import (
	"encoding/json"

	"github.com/ponte-go/ponte/agent/model"
)

// wireSource is a source. A chunk of groundingMetadata has it in a member that names its kind.
type wireSource struct {
	URI   string `json:"uri"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// appendCitations appends a part for each source on which the response is grounded or which it
// quotes. The metadata, which is kept complete, relates them to the text.
func (m *metadata) appendCitations(parts []model.Part, provider string) []model.Part {
	var grounding struct {
		Chunks []json.RawMessage `json:"groundingChunks"`
	}
	_ = json.Unmarshal(m.grounding, &grounding) // other types are not sources
	for _, raw := range grounding.Chunks {
		var chunk map[string]json.RawMessage
		_ = json.Unmarshal(raw, &chunk)
		for _, kind := range []string{"web", "retrievedContext", "maps"} {
			if source, ok := chunk[kind]; ok {
				parts = append(parts, citation(provider, source, raw))
			}
		}
	}
	var quoted struct {
		Sources   []json.RawMessage `json:"citationSources"`
		Citations []json.RawMessage `json:"citations"` // the name on Vertex AI
	}
	_ = json.Unmarshal(m.citations, &quoted)
	for _, raw := range append(quoted.Sources, quoted.Citations...) {
		parts = append(parts, citation(provider, raw, raw))
	}
	return parts
}

func citation(provider string, source, raw json.RawMessage) model.Part {
	var w wireSource
	_ = json.Unmarshal(source, &w)
	return model.Part{
		Kind: model.PartCitation, Provider: provider, URL: w.URI, Name: w.Title, Text: w.Text, Data: raw,
	}
}
