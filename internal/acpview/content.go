// SPDX-License-Identifier: Apache-2.0

package acpview

import (
	"encoding/json"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
)

// metaCites is the member of _meta with the places in a message that a link is the source of.
// maxCites limits it, in bytes.
const (
	metaCites = "ponte-go.dev/cites"
	maxCites  = 16 << 10
)

// Block returns content as the protocol has it.
func Block(c *view.Content) acp.ContentBlock {
	switch c.Kind {
	case view.Image:
		return acp.ContentBlock{Image: &acp.ImageContent{Data: c.Data, MIMEType: c.MIMEType, URI: opt(c.URI)}}
	case view.Audio:
		return acp.ContentBlock{Audio: &acp.AudioContent{Data: c.Data, MIMEType: c.MIMEType}}
	case view.Link:
		l := &acp.ResourceLink{Name: c.Name, URI: c.URI, MIMEType: opt(c.MIMEType)}
		if c.Cites != nil {
			if cites, err := json.Marshal(c.Cites); err == nil {
				l.Meta = map[string]json.RawMessage{metaCites: cites}
			}
		}
		return acp.ContentBlock{ResourceLink: l}
	case view.Resource:
		var r acp.EmbeddedResourceResource
		if c.Data != "" {
			r.Blob = &acp.BlobResourceContents{URI: c.URI, Blob: c.Data, MIMEType: opt(c.MIMEType)}
		} else {
			r.Text = &acp.TextResourceContents{URI: c.URI, Text: c.Text, MIMEType: opt(c.MIMEType)}
		}
		return acp.ContentBlock{Resource: &acp.EmbeddedResource{Resource: r}}
	case view.Other:
		var b acp.ContentBlock
		if json.Unmarshal(c.Raw, &b) == nil {
			return b
		}
	}
	return acp.TextBlock(c.Text)
}

// ContentOf returns a block of the protocol as content. One of an unknown kind is kept as it is.
func ContentOf(b *acp.ContentBlock) view.Content {
	switch {
	case b.Text != nil:
		return view.Content{Kind: view.Text, Text: b.Text.Text}
	case b.Image != nil:
		return view.Content{Kind: view.Image, MIMEType: b.Image.MIMEType, Data: b.Image.Data, URI: text(b.Image.URI)}
	case b.Audio != nil:
		return view.Content{Kind: view.Audio, MIMEType: b.Audio.MIMEType, Data: b.Audio.Data}
	case b.ResourceLink != nil:
		l := b.ResourceLink
		return view.Content{
			Kind: view.Link, URI: l.URI, Name: l.Name, MIMEType: text(l.MIMEType), Cites: citesOf(l.Meta[metaCites]),
		}
	case b.Resource != nil && b.Resource.Resource.Text != nil:
		r := b.Resource.Resource.Text
		return view.Content{Kind: view.Resource, URI: r.URI, MIMEType: text(r.MIMEType), Text: r.Text}
	case b.Resource != nil && b.Resource.Resource.Blob != nil:
		r := b.Resource.Resource.Blob
		return view.Content{Kind: view.Resource, URI: r.URI, MIMEType: text(r.MIMEType), Data: r.Blob}
	case b.Resource != nil:
		return view.Content{Kind: view.Other, Raw: b.Resource.Resource.Unknown}
	}
	return view.Content{Kind: view.Other, Raw: b.Unknown}
}

// Contents returns blocks of the protocol as content.
func Contents(blocks []acp.ContentBlock) []view.Content {
	all := make([]view.Content, len(blocks))
	for i := range blocks {
		all[i] = ContentOf(&blocks[i])
	}
	return all
}

// citesOf returns the places that a link is the source of, or nil if the peer says something else.
func citesOf(data json.RawMessage) []view.Span {
	var cites []view.Span
	if len(data) > maxCites || json.Unmarshal(data, &cites) != nil {
		return nil
	}
	for _, c := range cites {
		if c.Start < 0 || c.End <= c.Start {
			return nil
		}
	}
	return cites
}

// StepsOf returns the entries of a plan as steps.
func StepsOf(p *acp.Plan) []view.Step {
	steps := make([]view.Step, len(p.Entries))
	for i, e := range p.Entries {
		steps[i] = view.Step{Text: e.Content, Status: view.Status(e.Status), Priority: string(e.Priority)}
	}
	return steps
}

// NoticeOf returns a notice as an entity, without an id.
func NoticeOf(n *acp.Notice) *view.Entity {
	e := &view.Entity{Kind: view.Notice, Class: string(n.Severity), Title: n.Title}
	if d := text(n.Description); d != "" {
		e.Content = []view.Content{{Kind: view.Text, Text: d}}
	}
	return e
}

func opt(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
