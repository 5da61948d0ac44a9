// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"encoding/json"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/acpview"
)

// sizeOf is how many bytes of content there are.
func sizeOf(c *view.Content) int {
	size := len(c.Text) + len(c.Data) + len(c.URI) + len(c.Name) + len(c.Raw)
	if c.Diff != nil {
		size += len(c.Diff.Path) + len(opt(c.Diff.Old)) + len(c.Diff.New)
	}
	return size
}

// entityCost is the approximate size of an entity without its content, and entryCost the size of an
// entry of one of its lists.
const (
	entityCost = 512
	entryCost  = 64
)

// entitySize is how much of the limit an entity takes.
func entitySize(e *view.Entity) int {
	size := entityCost + len(e.ID) + len(e.Input) + len(e.Output) + len(e.Title) + len(e.Name) + len(e.Class) + len(e.Meta)
	for i := range e.Content {
		size += sizeOf(&e.Content[i])
	}
	for i := range e.Locations {
		size += entryCost + len(e.Locations[i].Path)
	}
	for i := range e.Choices {
		size += entryCost + len(e.Choices[i].ID) + len(e.Choices[i].Title) + len(e.Choices[i].Class)
	}
	return size
}

func commandsOf(all []acp.AvailableCommand) []view.SlashCommand {
	out := make([]view.SlashCommand, len(all))
	for i, c := range all {
		out[i] = view.SlashCommand{Name: c.Name, Description: c.Description}
		out[i].AtOnce = string(c.Meta[acpview.MetaAtOnce]) == "true"
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
