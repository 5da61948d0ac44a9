// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// NativeSource is a source of a response.
type NativeSource struct {
	// URL is where it is, Title its name. Either may be empty.
	URL, Title string
	// Quote is the first passage that the provider quotes, if any.
	Quote string
	// Spans are the places in the text that it is named for, in order, or nil if the provider does
	// not tell.
	Spans []NativeSpan
}

// NativeSpan is a place in [Message.Text], in bytes: Text[Start:End].
type NativeSpan struct {
	// Start is where it begins, End where it ends.
	Start int `json:"start"`
	End   int `json:"end"`
}

// NativeSources returns the sources of a response in the order in which they are first named.
// Citations of the same URL are one source.
func NativeSources(m *Message) []NativeSource {
	var sources []NativeSource
	text := m.Text()
	google, chunks := metadataOf(m)
	start, end := 0, 0 // of the text part that citations follow
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Kind == PartText {
			start, end = end, end+len(p.Text)
		}
		if p.Kind != PartCitation || p.URL == "" && p.Name == "" {
			continue
		}
		at := slices.IndexFunc(sources, func(s NativeSource) bool { return s.URL == p.URL && (p.URL != "" || s.Title == p.Name) })
		if at < 0 {
			at = len(sources)
			sources = append(sources, NativeSource{URL: p.URL, Title: p.Name})
		}
		s := &sources[at]
		if s.Title == "" {
			s.Title = p.Name
		}
		if s.Quote == "" {
			s.Quote = p.Text
		}
		spans := spansOf(p, text[start:end])
		for k := range spans {
			spans[k].Start, spans[k].End = spans[k].Start+start, spans[k].End+start
		}
		if chunk := slices.IndexFunc(chunks, func(c json.RawMessage) bool { return string(c) == string(p.Data) }); chunk >= 0 {
			spans = append(spans, google.spans(chunk, text)...)
		}
		for _, span := range spans {
			if !slices.Contains(s.Spans, span) {
				s.Spans = append(s.Spans, span)
			}
		}
	}
	for i := range sources {
		slices.SortFunc(sources[i].Spans, func(a, b NativeSpan) int { return cmp.Or(a.Start-b.Start, a.End-b.End) })
	}
	return sources
}

// spansOf returns the places in the text before a citation that it is about.
func spansOf(p *Part, text string) []NativeSpan {
	type place struct {
		Type  string `json:"type"`
		Start *int   `json:"start_index"`
		End   *int   `json:"end_index"`
	}
	var w struct {
		place
		Nested *place `json:"url_citation"`
	}
	if json.Unmarshal(p.Data, &w) != nil {
		return nil
	}
	if w.Nested != nil {
		w.place = *w.Nested
	}
	switch {
	case w.Start != nil && w.End != nil: // OpenAI, in characters
		start, end := byteOffset(text, *w.Start), byteOffset(text, *w.End)
		if start >= 0 && end > start {
			return []NativeSpan{{start, end}}
		}
	case strings.HasSuffix(w.Type, "_location") && text != "": // Anthropic: a block of text of its own
		return []NativeSpan{{0, len(text)}}
	}
	return nil
}

// byteOffset returns the offset in bytes of the n-th character, or -1 if the text is shorter.
func byteOffset(text string, n int) int {
	if n < 0 || n > len(text) {
		return -1
	}
	at := 0
	for ; n > 0; n-- {
		if at == len(text) {
			return -1
		}
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at
}

// metadataOf returns what Google says of the response, and the sources as it wrote them.
func metadataOf(m *Message) (*googleMetadata, []json.RawMessage) {
	for i := len(m.Parts) - 1; i >= 0; i-- {
		p := &m.Parts[i]
		if p.Kind != PartOpaque || !strings.HasPrefix(string(p.Data[:min(len(p.Data), 12)]), `{"metadata":`) {
			continue
		}
		var w nativePart
		if json.Unmarshal(p.Data, &w) == nil && w.Metadata != nil {
			return w.Metadata, w.Metadata.Grounding.Chunks
		}
	}
	return nil, nil
}

// spans returns the places that name a source. Google counts bytes within a part of the content,
// which may be another one than ours, so the text that it repeats decides.
func (g *googleMetadata) spans(chunk int, text string) []NativeSpan {
	var spans []NativeSpan
	for i := range g.Grounding.Supports {
		s := &g.Grounding.Supports[i]
		if !slices.Contains(s.Chunks, chunk) || s.Segment.Text == "" {
			continue
		}
		start, end := s.Segment.Start, s.Segment.End
		if start < 0 || end > len(text) || start >= end || text[start:end] != s.Segment.Text {
			if start = strings.Index(text, s.Segment.Text); start < 0 {
				continue
			}
			end = start + len(s.Segment.Text)
		}
		spans = append(spans, NativeSpan{start, end})
	}
	return spans
}
