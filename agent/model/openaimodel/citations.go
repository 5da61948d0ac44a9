// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"bytes"
	"cmp"
	"encoding/json"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// wireSource is where something was found, with the names of all endpoints: an annotation of Chat Completions, which has it
// in url_citation, one of Responses, a result of a search by Perplexity or Groq.
type wireSource struct {
	URL         text        `json:"url"`
	Title       text        `json:"title"`
	Filename    text        `json:"filename"`
	Content     text        `json:"content"`
	Snippet     text        `json:"snippet"`
	URLCitation *wireSource `json:"url_citation"`
}

// citation makes a part of a source, which may be no more than a URL.
func citation(provider string, raw json.RawMessage) model.Part {
	p := model.Part{Kind: model.PartCitation, Provider: provider, Data: compacted(raw)}
	if len(raw) > 0 && raw[0] == '"' {
		p.URL, _ = unquote(raw)
		return p
	}
	var w wireSource
	if lenient(raw, &w) != nil {
		return p
	}
	if w.URLCitation != nil {
		w = *w.URLCitation
	}
	p.URL, p.Name, p.Text = string(w.URL), string(cmp.Or(w.Title, w.Filename)), string(cmp.Or(w.Content, w.Snippet))
	return p
}

// sources collects what a response of Chat Completions says about its sources.
type sources struct {
	annotations []json.RawMessage
	// results and urls are Perplexity's, the same in every chunk. The URLs are those of the results.
	results, urls []json.RawMessage
	// executed are the tools that Groq ran, by index.
	executed []*detail
	// extra is what Google wants back with the message.
	extra rawValue
}

// annotate takes a list of annotations, once each, for lists are repeated.
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

// execute takes a list of tools that were run. A stream repeats an index to say more of the same.
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
	for _, raw := range s.annotations {
		parts = append(parts, citation(provider, raw))
	}
	found := s.results
	if len(found) == 0 {
		found = s.urls
	}
	for _, raw := range found {
		parts = append(parts, citation(provider, raw))
	}
	ran := []byte(`{"executed_tools":[`)
	for i, d := range s.executed {
		var searched struct {
			Results []json.RawMessage `json:"results"`
		}
		if m := d.member("search_results"); m != nil && lenient(m.value, &searched) == nil {
			for _, raw := range searched.Results {
				parts = append(parts, citation(provider, raw))
			}
		}
		if i > 0 {
			ran = append(ran, ',')
		}
		ran = d.append(ran)
	}
	if len(s.executed) > 0 {
		parts = append(parts, model.Part{Kind: model.PartOpaque, Provider: provider, Data: append(ran, "]}"...)})
	}
	if len(s.extra) > 0 {
		parts = append(parts, model.Part{Kind: model.PartOpaque, Provider: provider, Data: append(append([]byte(extraPrefix), s.extra...), '}')})
	}
	return parts
}

const (
	// extraPrefix begins an opaque part with what Google wants back with the message, or the signature of a call with what
	// LiteLLM wants back with it.
	extraPrefix    = `{"extra_content":`
	specificPrefix = `{"provider_specific_fields":`
)

// isSignature reports whether JSON holds a signature of Gemini's, wherever in it.
func isSignature(data []byte) bool { return bytes.Contains(data, []byte(`"thought_signature"`)) }

// inside returns the members of the object that has a prefix, or nil.
func inside(data []byte, prefixes ...string) []byte {
	for _, prefix := range prefixes {
		if bytes.HasPrefix(data, []byte(prefix)) && isObject(data) {
			return data[1 : len(data)-1]
		}
	}
	return nil
}

// namespaced returns what a call of the Responses protocol has to go back with, as an object, or nil.
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
