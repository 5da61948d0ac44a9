// SPDX-License-Identifier: Apache-2.0

package acpview

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
)

// CallID returns the id of the entity of a tool call.
func CallID(id acp.ToolCallID) string { return "call:" + string(id) }

func toolCallID(entity string) acp.ToolCallID {
	return acp.ToolCallID(strings.TrimPrefix(entity, "call:"))
}

// CommandID returns the id of the entity of the command in a terminal, which content of the kind
// view.Output refers to.
func CommandID(id acp.TerminalID) string { return "command:" + string(id) }

// Update returns what announces a call as an update of it.
func Update(c *acp.ToolCall) acp.ToolCallUpdate {
	return acp.ToolCallUpdate{
		ToolCallID: c.ToolCallID, Title: &c.Title, Name: c.Name, Kind: c.Kind, Status: c.Status, Content: c.Content,
		Locations: c.Locations, RawInput: c.RawInput, RawOutput: c.RawOutput, Meta: c.Meta,
	}
}

// CallOf returns what an update says of a tool call. Fields of which it says nothing are empty.
func CallOf(u *acp.ToolCallUpdate) *view.Entity {
	e := &view.Entity{
		ID: CallID(u.ToolCallID), Kind: view.ToolCall, Class: string(u.Kind), Status: view.Status(u.Status),
		Title: text(u.Title), Name: text(u.Name), Input: u.RawInput, Output: u.RawOutput,
	}
	if u.Content != nil {
		e.Content = make([]view.Content, len(u.Content))
		for i := range u.Content {
			e.Content[i] = callContentOf(&u.Content[i])
		}
	}
	if u.Locations != nil {
		e.Locations = make([]view.Location, len(u.Locations))
		for i, l := range u.Locations {
			e.Locations[i].Path = l.Path
			if l.Line != nil {
				e.Locations[i].Line = int(*l.Line)
			}
		}
	}
	if len(u.Meta) > 0 {
		e.Meta, _ = json.Marshal(u.Meta) // it is made of JSON
	}
	return e
}

func callContentOf(c *acp.ToolCallContent) view.Content {
	switch {
	case c.Content != nil:
		return ContentOf(&c.Content.Content)
	case c.Diff != nil:
		d := c.Diff
		return view.Content{Kind: view.Diff, Diff: &view.FileChange{Path: d.Path, Old: d.OldText, New: d.NewText}}
	case c.Terminal != nil:
		return view.Content{Kind: view.Output, Ref: CommandID(c.Terminal.TerminalID)}
	}
	return view.Content{Kind: view.Other, Raw: c.Unknown}
}

// Call returns all of a tool call as an update, in the form that a request for permission has.
// agent is the name of the agent inside another call whose call it is, and empty for others.
func Call(e *view.Entity, agent string) acp.ToolCallUpdate {
	u := acp.ToolCallUpdate{
		ToolCallID: toolCallID(e.ID), Title: new(titleOf(e, agent)), Name: opt(e.Name), Kind: acp.ToolKind(e.Class),
		Status: statusOf(e), Content: callContents(e), Locations: locations(e.Locations), RawInput: e.Input, RawOutput: e.Output,
	}
	_ = json.Unmarshal(e.Meta, &u.Meta) // what is not an object has no place
	return u
}

// titleOf returns the title of a call with the name of its agent.
func titleOf(e *view.Entity, agent string) string {
	if agent == "" || strings.HasPrefix(e.Title, agent+": ") {
		return e.Title
	}
	return agent + ": " + e.Title
}

// statusOf returns the status of a call. The protocol has none for one that was cancelled.
func statusOf(e *view.Entity) acp.ToolCallStatus {
	if e.Status == view.Cancelled {
		return acp.ToolCallStatusFailed
	}
	return acp.ToolCallStatus(e.Status)
}

// callContents returns what a call shows. Of a terminal that was released, it is the output.
func callContents(e *view.Entity) []acp.ToolCallContent {
	if e.Content == nil {
		return nil
	}
	all := make([]acp.ToolCallContent, 0, len(e.Content))
	for i := range e.Content {
		switch c := &e.Content[i]; c.Kind {
		case view.Diff:
			all = append(all, Diff(c.Diff.Path, c.Diff.Old, c.Diff.New)...)
		case view.Output:
			id := acp.TerminalID(strings.TrimPrefix(c.Ref, "command:"))
			all = append(all, acp.ToolCallContent{Terminal: &acp.Terminal{TerminalID: id}})
		case view.Other:
			all = append(all, unknown(c))
		default:
			all = append(all, acp.ToolCallContent{Content: &acp.Content{Content: Block(ended(e, c))}})
		}
	}
	return all
}

func unknown(c *view.Content) (t acp.ToolCallContent) {
	if json.Unmarshal(c.Raw, &t) != nil {
		t = acp.ToolCallContent{Content: &acp.Content{Content: Block(c)}}
	}
	return t
}

func locations(all []view.Location) []acp.ToolCallLocation {
	if all == nil {
		return nil
	}
	out := make([]acp.ToolCallLocation, len(all))
	for i, l := range all {
		out[i].Path = l.Path
		if l.Line > 0 {
			out[i].Line = new(uint32(l.Line))
		}
	}
	return out
}

// announced returns what announces a call.
func announced(e *view.Entity, agent string) *acp.ToolCall {
	u := Call(e, agent)
	return &acp.ToolCall{
		ToolCallID: u.ToolCallID, Title: *u.Title, Name: u.Name, Kind: u.Kind, Status: u.Status, Content: u.Content,
		Locations: u.Locations, RawInput: u.RawInput, RawOutput: u.RawOutput, Meta: u.Meta,
	}
}

// changed returns the fields of a call that differ from what is known of it.
func changed(e, known *view.Entity, agent string) *acp.ToolCallUpdate {
	u := &acp.ToolCallUpdate{ToolCallID: toolCallID(e.ID)}
	if e.Class != known.Class {
		u.Kind = acp.ToolKind(e.Class)
	}
	if now := statusOf(e); now != statusOf(known) {
		u.Status = now
	}
	if e.Title != known.Title {
		u.Title = new(titleOf(e, agent))
	}
	if e.Name != known.Name {
		u.Name = &e.Name
	}
	if !bytes.Equal(e.Input, known.Input) {
		u.RawInput = e.Input
	}
	if !bytes.Equal(e.Output, known.Output) {
		u.RawOutput = e.Output
	}
	if !bytes.Equal(e.Meta, known.Meta) {
		_ = json.Unmarshal(e.Meta, &u.Meta) // what is not an object has no place
	}
	if differ(e.Locations, known.Locations) {
		u.Locations = empty(locations(e.Locations))
	}
	if differ(e.Content, known.Content) {
		u.Content = empty(callContents(e))
	}
	return u
}

func differ[E any](a, b []E) bool {
	return len(a)+len(b) > 0 && !reflect.DeepEqual(a, b)
}

// empty makes a nil list an empty one, which is sent.
func empty[E any](list []E) []E {
	if list == nil {
		return []E{}
	}
	return list
}
