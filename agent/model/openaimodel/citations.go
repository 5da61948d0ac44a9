// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"bytes"
	"cmp"
	"encoding/json"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// wireSource describes a source, with the names of all endpoints: an annotation of Chat
// Completions, which uses url_citation, an annotation of Responses, or a search result of
// Perplexity or Groq.
type wireSource struct {
	URL         text        `json:"url"`
	Title       text        `json:"title"`
	Filename    text        `json:"filename"`
	Content     text        `json:"content"`
	Snippet     text        `json:"snippet"`
	URLCitation *wireSource `json:"url_citation"`
}

// citation makes a part from a source, which may be just a URL.
func citation(provider string, raw json.RawMessage) model.Part {
	p := model.Part{Kind: model.PartCitation, Provider: provider, Data: compacted(raw)}
	if raw[0] == '"' {
		p.URL, _ = unquote(raw)
		return p
	}
	var w wireSource
	_ = lenient(raw, &w) // it was part of a document that is valid
	if w.URLCitation != nil {
		w = *w.URLCitation
	}
	p.URL, p.Name, p.Text = string(w.URL), string(cmp.Or(w.Title, w.Filename)), string(cmp.Or(w.Content, w.Snippet))
	return p
}

// sources collects the sources in a response of Chat Completions.
type sources struct {
	annotations []json.RawMessage
	// results and urls are sent by Perplexity, the same in every chunk. The URLs are those of the
	// results.
	results, urls []json.RawMessage
	// executed holds the tools that Groq ran, by index.
	executed []*detail
	// extra is what Google wants back with the message.
	extra rawValue
}

// annotate adds annotations, each only once, because lists are repeated.
func (s *sources) annotate(list []json.RawMessage) {
	for _, raw := range list {
		known := false
		for i := range s.annotations {
			known = known || bytes.Equal(s.annotations[i], raw)
		}
		if !known {
			s.annotations = append(s.annotations, raw)
		}
	}
}

// execute adds a list of executed tools. A stream repeats an index to add to the same tool.
func (s *sources) execute(list []json.RawMessage) {
	for _, raw := range list {
		d := parseDetail(raw)
		if d == nil {
			continue
		}
		continued := false
		for _, earlier := range s.executed {
			if index := earlier.value("index"); index != "" && index == d.value("index") {
				earlier.join(d)
				continued = true
			}
		}
		if !continued {
			s.executed = append(s.executed, d)
		}
	}
}

func (s *sources) appendParts(parts []model.Part, provider string) []model.Part {
	found := s.results
	if len(found) == 0 {
		found = s.urls
	}
	found = append(s.annotations, found...)
	ran := []byte(`{"executed_tools":[`)
	for i, d := range s.executed {
		var searched struct {
			Results []json.RawMessage `json:"results"`
		}
		if m := d.member("search_results"); m != nil && lenient(m.Value, &searched) == nil {
			found = append(found, searched.Results...)
		}
		if i > 0 {
			ran = append(ran, ',')
		}
		ran = append(ran, adapter.Object(d.members)...)
	}
	for _, raw := range found {
		parts = append(parts, citation(provider, raw))
	}
	if len(s.executed) > 0 {
		parts = appendPart(parts, model.PartOpaque, nil, append(ran, "]}"...), provider, "")
	}
	if len(s.extra) > 0 {
		parts = appendPart(parts, model.PartOpaque, nil, append(append([]byte(extraPrefix), s.extra...), '}'), provider, "")
	}
	return parts
}

const (
	// extraPrefix starts an opaque part that holds what Google wants back with the message, or the
	// signature of a call that holds what LiteLLM wants back.
	extraPrefix    = `{"extra_content":`
	specificPrefix = `{"provider_specific_fields":`
)

// isSignature reports whether JSON contains a Gemini signature at any level.
func isSignature(data []byte) bool { return bytes.Contains(data, []byte(`"thought_signature"`)) }

// inside returns the members of an object that starts with one of the prefixes, or nil.
func inside(data []byte, prefixes ...string) []byte {
	for _, prefix := range prefixes {
		if bytes.HasPrefix(data, []byte(prefix)) && isObject(data) {
			return data[1 : len(data)-1]
		}
	}
	return nil
}

// namespaced returns, as an object, what must be sent back with a call in the Responses protocol,
// or nil.
func namespaced(w *outputItem) []byte {
	var members []adapter.Member
	for _, m := range []adapter.Member{{Name: "namespace", Value: json.RawMessage(w.Namespace)}, {Name: "caller", Value: json.RawMessage(w.Caller)}} {
		if len(m.Value) > 0 {
			members = append(members, m)
		}
	}
	if members == nil {
		return nil
	}
	return adapter.Object(members)
}

const (
	namespacePrefix = `{"namespace":`
	callerPrefix    = `{"caller":`
)
