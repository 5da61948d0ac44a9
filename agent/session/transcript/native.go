// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset"
)

// Limits of what is shown of the tools that a provider ran.
const (
	maxSources    = 50
	maxNative     = 50
	maxNativeText = 300
)

// native shows the provider's own work during an answer: summaries of the conversation, calls of
// its own tools, and the sources that it names. The message has them, so nothing is recorded.
func (p *Transcript) native(step int, m *model.Message) {
	beyond := false
	for i := range m.Parts {
		beyond = beyond || m.Parts[i].Kind == model.PartOpaque || m.Parts[i].Kind == model.PartCitation
	}
	if !beyond {
		return
	}
	for i := range m.Parts {
		if summary, ok := model.NativeCompaction(&m.Parts[i]); ok {
			e := &view.Entity{
				ID: "compaction:" + stepOf(p.run, step) + "/native", Kind: view.Compaction,
				Status: view.Completed,
			}
			if summary != "" {
				e.Content = []view.Content{textContent(Clip(summary))}
			}
			p.upsert(e)
		}
	}
	for i, c := range model.NativeCalls(m) {
		if i == maxNative {
			break
		}
		p.upsert(nativeCall(CallID(p.run, step, "native/"+strconv.Itoa(i)), &c))
	}
	if c := sources(m); len(c) > 0 && p.message.id != "" {
		p.open(&p.message)
		if p.message.added {
			p.record(record{Op: view.Append, ID: p.message.id, Content: c})
		}
		p.apply(view.Change{Op: view.Append, ID: p.message.id, Content: c})
	}
}

// nativeCall returns a call that the provider made and answered itself.
func nativeCall(id string, c *model.NativeCall) *view.Entity {
	e := &view.Entity{
		ID: id, Kind: view.ToolCall, Name: c.Tool, Title: c.Tool, Class: string(toolset.KindOther),
		Status: view.Completed,
	}
	if c.Failed {
		e.Status = view.Failed
	}
	switch model.NativeKind(c.Tool) {
	case model.NativeWebSearch:
		e.Title, e.Class = "Search the web", string(toolset.KindSearch)
	case model.NativeWebFetch:
		e.Title, e.Class = "Fetch page", string(toolset.KindFetch)
	}
	if c.Input != "" {
		short := clipLine(c.Input)
		e.Title += ": " + short
		e.Input, _ = json.Marshal(map[string]string{"input": short}) // a string always has a JSON form
	}
	return e
}

// sources returns the sources of a response as links. Only addresses of the web are links.
func sources(m *model.Message) []view.Content {
	var all []view.Content
	for _, s := range model.NativeSources(m) {
		u, err := url.Parse(s.URL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || len(all) == maxSources {
			continue
		}
		c := view.Content{Kind: view.Link, URI: u.String(), Name: clipLine(s.Title)}
		if c.Name == "" {
			c.Name = c.URI
		}
		for _, span := range s.Spans {
			c.Cites = append(c.Cites, view.Span(span))
		}
		all = append(all, c)
	}
	return all
}

// clipLine returns a text of the web on one line on which nothing is hidden.
func clipLine(text string) string {
	if len(text) > maxNativeText {
		text = strings.ToValidUTF8(text[:maxNativeText], "")
	}
	return show.Line(oneLine(text))
}
