// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"encoding/json"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/projection"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/deps"
)

// metaCites is the member of _meta with the places in the message that a link is the source of.
const metaCites = "ponte-go.dev/cites"

// blockOf returns content as the protocol has it.
func blockOf(c *view.Content) acp.ContentBlock {
	var mediaType *string
	if c.MIMEType != "" {
		mediaType = &c.MIMEType
	}
	switch c.Kind {
	case view.Image:
		return acp.ContentBlock{Image: &acp.ImageContent{Data: c.Data, MIMEType: c.MIMEType}}
	case view.Audio:
		return acp.ContentBlock{Audio: &acp.AudioContent{Data: c.Data, MIMEType: c.MIMEType}}
	case view.Link:
		l := &acp.ResourceLink{Name: c.Name, URI: c.URI, MIMEType: mediaType}
		if c.Cites != nil {
			if cites, err := json.Marshal(c.Cites); err == nil {
				l.Meta = map[string]json.RawMessage{metaCites: cites}
			}
		}
		return acp.ContentBlock{ResourceLink: l}
	case view.Resource:
		var r acp.EmbeddedResourceResource
		if c.Data != "" {
			r.Blob = &acp.BlobResourceContents{URI: c.URI, Blob: c.Data, MIMEType: mediaType}
		} else {
			r.Text = &acp.TextResourceContents{URI: c.URI, Text: c.Text, MIMEType: mediaType}
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

// contentOf returns a block of the protocol as content.
func contentOf(b *acp.ContentBlock) view.Content {
	str := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	switch {
	case b.Text != nil:
		return view.Content{Kind: view.Text, Text: b.Text.Text}
	case b.Image != nil:
		return view.Content{Kind: view.Image, MIMEType: b.Image.MIMEType, Data: b.Image.Data}
	case b.Audio != nil:
		return view.Content{Kind: view.Audio, MIMEType: b.Audio.MIMEType, Data: b.Audio.Data}
	case b.ResourceLink != nil:
		return view.Content{Kind: view.Link, URI: b.ResourceLink.URI, Name: b.ResourceLink.Name, MIMEType: str(b.ResourceLink.MIMEType)}
	case b.Resource != nil && b.Resource.Resource.Text != nil:
		r := b.Resource.Resource.Text
		return view.Content{Kind: view.Resource, URI: r.URI, MIMEType: str(r.MIMEType), Text: r.Text}
	case b.Resource != nil && b.Resource.Resource.Blob != nil:
		r := b.Resource.Resource.Blob
		return view.Content{Kind: view.Resource, URI: r.URI, MIMEType: str(r.MIMEType), Data: r.Blob}
	}
	raw, _ := json.Marshal(b)
	return view.Content{Kind: view.Other, Raw: raw}
}

// promptContent is what the user sees of a prompt.
func promptContent(blocks []acp.ContentBlock) []view.Content {
	all := make([]view.Content, len(blocks))
	for i := range blocks {
		all[i] = contentOf(&blocks[i])
	}
	return all
}

// toolContent returns what a tool call shows as the protocol has it. Of a terminal that is no more it is the output.
func toolContent(e *view.Entity) []acp.ToolCallContent {
	if e.Content == nil {
		return nil
	}
	all := make([]acp.ToolCallContent, 0, len(e.Content))
	for i := range e.Content {
		switch c := &e.Content[i]; c.Kind {
		case view.Text:
			all = append(all, deps.TextContent(c.Text))
		case view.Diff:
			all = append(all, diffContent(c.Diff.Path, c.Diff.Old, c.Diff.New)...)
		case view.Output:
			var end commandEnd
			if json.Unmarshal(e.Output, &end) == nil && end.Output != "" {
				all = append(all, verbatim(shown(end.Output)))
			}
		default:
			all = append(all, acp.ToolCallContent{Content: &acp.Content{Content: blockOf(c)}})
		}
	}
	return all
}

func locationsOf(locations []view.Location) []acp.ToolCallLocation {
	var all []acp.ToolCallLocation
	for _, l := range locations {
		at := acp.ToolCallLocation{Path: l.Path}
		if l.Line > 0 {
			at.Line = new(uint32(l.Line))
		}
		all = append(all, at)
	}
	return all
}

// callOf returns what an update says of a tool call. It returns nil for an update of another kind.
func callOf(u *acp.SessionUpdate) *view.Entity {
	c := u.ToolCallUpdate
	if a := u.ToolCall; a != nil {
		c = &acp.ToolCallUpdate{
			ToolCallID: a.ToolCallID, Title: &a.Title, Name: a.Name, Kind: a.Kind, Status: a.Status, Content: a.Content,
			Locations: a.Locations, RawInput: a.RawInput, RawOutput: a.RawOutput,
		}
	}
	if c == nil {
		return nil
	}
	e := &view.Entity{
		ID: "call:" + string(c.ToolCallID), Kind: view.ToolCall, Class: string(c.Kind), Status: view.Status(c.Status), Input: c.RawInput, Output: c.RawOutput,
	}
	if c.Title != nil {
		e.Title = *c.Title
	}
	if c.Name != nil {
		e.Name = *c.Name
	}
	for i := range c.Content {
		switch t := &c.Content[i]; {
		case t.Content != nil:
			e.Content = append(e.Content, contentOf(&t.Content.Content))
		case t.Diff != nil:
			e.Content = append(e.Content, view.Content{Kind: view.Diff, Diff: &view.FileChange{Path: t.Diff.Path, Old: t.Diff.OldText, New: t.Diff.NewText}})
		case t.Terminal != nil:
			e.Content = append(e.Content, view.Content{Kind: view.Output, Ref: string(t.Terminal.TerminalID)})
		}
	}
	for _, l := range c.Locations {
		at := view.Location{Path: l.Path}
		if l.Line != nil {
			at.Line = int(*l.Line)
		}
		e.Locations = append(e.Locations, at)
	}
	return e
}

// What package projection knows of calls is needed by tools, too.
const (
	byUser          = projection.ByUser
	allowedByPrefix = projection.AllowedByPrefix
)

func rawInput(args model.RawArgs) json.RawMessage { return projection.Input(args) }

func shown(text string) string { return projection.Clip(text) }
