// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"encoding/json"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
)

// metaCites is the member of _meta with the places in a message that a link is the source of. maxCites limits it, in bytes.
const (
	metaCites = "ponte-go.dev/cites"
	maxCites  = 16 << 10
)

// contentOf returns a content block as it is shown.
func contentOf(b *acp.ContentBlock) view.Content {
	switch {
	case b.Text != nil:
		return view.Content{Kind: view.Text, Text: b.Text.Text}
	case b.Image != nil:
		return view.Content{Kind: view.Image, MIMEType: b.Image.MIMEType, Data: b.Image.Data, URI: opt(b.Image.URI)}
	case b.Audio != nil:
		return view.Content{Kind: view.Audio, MIMEType: b.Audio.MIMEType, Data: b.Audio.Data}
	case b.ResourceLink != nil:
		l := b.ResourceLink
		c := view.Content{Kind: view.Link, URI: l.URI, Name: l.Name, MIMEType: opt(l.MIMEType)}
		c.Cites = citesOf(l.Meta[metaCites])
		return c
	case b.Resource != nil && b.Resource.Resource.Text != nil:
		r := b.Resource.Resource.Text
		return view.Content{Kind: view.Resource, URI: r.URI, MIMEType: opt(r.MIMEType), Text: r.Text}
	case b.Resource != nil && b.Resource.Resource.Blob != nil:
		r := b.Resource.Resource.Blob
		return view.Content{Kind: view.Resource, URI: r.URI, MIMEType: opt(r.MIMEType), Data: r.Blob}
	case b.Resource != nil:
		return view.Content{Kind: view.Other, Raw: b.Resource.Resource.Unknown}
	}
	return view.Content{Kind: view.Other, Raw: b.Unknown}
}

// citesOf returns the places that a link is the source of, or nil if the agent says something else.
func citesOf(data json.RawMessage) []view.Span {
	var cites []view.Span
	if len(data) == 0 || len(data) > maxCites || json.Unmarshal(data, &cites) != nil {
		return nil
	}
	for _, c := range cites {
		if c.Start < 0 || c.End <= c.Start {
			return nil
		}
	}
	return cites
}

// sizeOf is how many bytes of content there are.
func sizeOf(c *view.Content) int {
	size := len(c.Text) + len(c.Data) + len(c.URI) + len(c.Name) + len(c.Raw)
	if c.Diff != nil {
		size += len(c.Diff.Path) + len(opt(c.Diff.Old)) + len(c.Diff.New)
	}
	return size
}

// toolContent returns what a tool call shows.
func toolContent(all []acp.ToolCallContent) []view.Content {
	out := make([]view.Content, len(all))
	for i := range all {
		switch c := &all[i]; {
		case c.Content != nil:
			out[i] = contentOf(&c.Content.Content)
		case c.Diff != nil:
			d := c.Diff
			out[i] = view.Content{Kind: view.Diff, Diff: &view.FileChange{Path: d.Path, Old: d.OldText, New: d.NewText}}
		case c.Terminal != nil:
			out[i] = view.Content{Kind: view.Output, Ref: commandID(c.Terminal.TerminalID)}
		default:
			out[i] = view.Content{Kind: view.Other, Raw: c.Unknown}
		}
	}
	return out
}

func locationsOf(all []acp.ToolCallLocation) []view.Location {
	out := make([]view.Location, len(all))
	for i, l := range all {
		out[i].Path = l.Path
		if l.Line != nil {
			out[i].Line = int(*l.Line)
		}
	}
	return out
}

func planOf(p *acp.Plan) []view.Step {
	out := make([]view.Step, len(p.Entries))
	for i, e := range p.Entries {
		out[i] = view.Step{Text: e.Content, Status: view.Status(e.Status), Priority: string(e.Priority)}
	}
	return out
}

func commandsOf(all []acp.AvailableCommand) []view.SlashCommand {
	out := make([]view.SlashCommand, len(all))
	for i, c := range all {
		out[i] = view.SlashCommand{Name: c.Name, Description: c.Description}
		if c.Input != nil && c.Input.Unstructured != nil {
			out[i].Hint = c.Input.Unstructured.Hint
		}
	}
	return out
}

func optionsOf(all []acp.SessionConfigOption) []view.Setting {
	out := make([]view.Setting, 0, len(all))
	for _, o := range all {
		s := view.Setting{ID: string(o.ID), Title: o.Name, Description: opt(o.Description), Category: string(o.Category)}
		switch {
		case o.Boolean != nil:
			s.Switch, s.Value = true, "false"
			if o.Boolean.CurrentValue {
				s.Value = "true"
			}
		case o.Select != nil:
			s.Value = string(o.Select.CurrentValue)
			add := func(group string, values []acp.SessionConfigSelectOption) {
				for _, v := range values {
					s.Choices = append(s.Choices, view.Choice{ID: string(v.Value), Title: v.Name, Group: group, Description: opt(v.Description)})
				}
			}
			add("", o.Select.Options.Ungrouped)
			for _, g := range o.Select.Options.Grouped {
				add(g.Name, g.Options)
			}
		default:
			continue // of an unknown kind: nobody here could set it
		}
		out = append(out, s)
	}
	return out
}

func modesOf(m *acp.SessionModeState) *values {
	v := &values{ID: modeOption, Title: "Mode", Category: string(acp.SessionConfigOptionCategoryMode), Value: string(m.CurrentModeID)}
	for _, mode := range m.AvailableModes {
		v.Choices = append(v.Choices, view.Choice{ID: string(mode.ID), Title: mode.Name, Description: opt(mode.Description)})
	}
	return v
}

func opt(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func metaOf(m map[string]json.RawMessage) json.RawMessage {
	if len(m) == 0 {
		return nil
	}
	data, _ := json.Marshal(m)
	return data
}
