// SPDX-License-Identifier: Apache-2.0

package acpview

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"reflect"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
)

// Options are the optional updates that a client takes. The zero value fits every client.
type Options struct {
	// Notices, Compactions, Plans and Subagents are set for clients that have announced that they
	// take them. Plans and Subagents are not stable parts of the protocol.
	Notices, Compactions, Plans, Subagents bool
	// Prompts shows what the user has said, to clients that have not sent it.
	Prompts bool
	// Terminal is set for clients that append the output of commands to a terminal. It names the
	// metadata for what is new: "terminal_output" or "terminal_output_delta".
	Terminal string
	// Late announces a call when it needs approval, when it or another call starts or ends, or when
	// its arguments take long to write, and not before.
	Late bool
}

// table shows deltas to a client.
type table struct {
	options Options
	fold    *view.Fold
	client  acp.Client
	session acp.SessionID
	ctx     context.Context // of the delta in hand

	message, thought chunk
	sent, got        int                     // updates of the delta in hand, and of it when it failed
	late             []string                // calls that have not been announced
	agents           map[string]*view.Entity // inside calls, by the calls, for Subagents
	outputs          map[string]*running     // of commands, by their calls
}

// chunk is an update with text, which is made once: the client has written it down when
// SessionUpdate returns.
type chunk struct {
	of   string // the entity
	note acp.SessionNotification
	body acp.ContentChunk
	text acp.TextContent
}

func (v *table) init() {
	v.agents = map[string]*view.Entity{}
	v.message.note.SessionID, v.message.body.Content.Text = v.session, &v.message.text
	v.message.note.Update.AgentMessageChunk = &v.message.body
	v.thought.note.SessionID, v.thought.body.Content.Text = v.session, &v.thought.text
	v.thought.note.Update.AgentThoughtChunk = &v.thought.body
}

// show sends the updates of a delta. Changes that this version of the protocol cannot express are
// left out.
func (v *table) show(d *view.Delta) error {
	if d.Op == view.Remove {
		return v.removed(d)
	}
	switch d.Kind {
	case view.Message, view.Thought:
		return v.said(d)
	case view.ToolCall:
		return v.call(d)
	case view.Question:
		return v.announce(d.Parent)
	case view.SubAgent:
		return v.agent(d)
	}
	if d.Op != view.Upsert {
		return nil
	}
	switch d.Kind {
	case view.Usage:
		return v.usage(d.Entity.Usage)
	case view.Plan:
		return v.plan(d.Entity, d.Known)
	case view.Session:
		return v.update(Info(d.Entity))
	case view.Notice:
		return v.notice(d)
	case view.Compaction:
		return v.compaction(d.Entity, d.Known)
	}
	return nil
}

func (v *table) removed(d *view.Delta) error {
	if d.Kind == view.ToolCall {
		v.forget(d.ID)
		v.forgetOutput(d.ID)
		delete(v.agents, d.ID)
	}
	return nil
}

func (v *table) update(all ...acp.SessionUpdate) error {
	for i := range all {
		if err := v.send(&acp.SessionNotification{SessionID: v.session, Update: all[i]}); err != nil {
			return err
		}
	}
	return nil
}

// send sends an update, unless the client has got it before the delta failed.
func (v *table) send(n *acp.SessionNotification) error {
	if v.sent >= v.got {
		if err := v.client.SessionUpdate(v.ctx, n); err != nil {
			return err
		}
	}
	v.sent++
	return nil
}

// MessageID returns the id that clients know a message by. It is the same whenever the message is
// shown.
func MessageID(entity string) acp.MessageID {
	of, suffix := entity, ""
	if rest, ok := strings.CutPrefix(entity, "thought:"); ok { // what the model thinks beside a message
		of, suffix = "message:"+rest, "-thought"
	}
	sum := sha256.Sum256([]byte(of))
	return acp.MessageID(base32.StdEncoding.EncodeToString(sum[:])[:26] + suffix)
}

// said shows what a message or thought has more. It cannot take anything back.
func (v *table) said(d *view.Delta) error {
	switch {
	case d.Role == view.User && !v.options.Prompts:
		return nil
	case d.Role == view.User:
		return v.prompt(d)
	}
	c := &v.message
	if d.Kind == view.Thought {
		c = &v.thought
	}
	if c.of != d.ID {
		c.of, c.body.MessageID = d.ID, MessageID(d.ID)
	}
	content := d.Content
	if d.Entity != nil && d.Known == nil {
		content = d.Entity.Content
	}
	if err := v.say(c, d.Text); err != nil {
		return err
	}
	for i := range content {
		if err := v.block(d.Kind, c, &content[i]); err != nil {
			return err
		}
	}
	return v.ended(d)
}

func (v *table) say(c *chunk, text string) error {
	if text == "" {
		return nil
	}
	c.text.Text = text
	return v.send(&c.note)
}

func (v *table) block(kind view.Kind, c *chunk, content *view.Content) error {
	if content.Kind == view.Text {
		return v.say(c, content.Text)
	}
	part := &acp.ContentChunk{MessageID: c.body.MessageID, Content: Block(content)}
	if kind == view.Thought {
		return v.update(acp.SessionUpdate{AgentThoughtChunk: part})
	}
	return v.update(acp.SessionUpdate{AgentMessageChunk: part})
}

// prompt shows what the user has said.
func (v *table) prompt(d *view.Delta) error {
	var all []view.Content
	if d.Text != "" {
		all = append(all, view.Content{Kind: view.Text, Text: d.Text})
	}
	all = append(all, d.Content...)
	if d.Entity != nil && d.Known == nil {
		all = append(all, d.Entity.Content...)
	}
	for i := range all {
		c := &acp.ContentChunk{MessageID: MessageID(d.ID), Content: Block(&all[i])}
		if err := v.update(acp.SessionUpdate{UserMessageChunk: c}); err != nil {
			return err
		}
	}
	return nil
}

// call shows a tool call: all of it, or what has changed.
func (v *table) call(d *view.Delta) error {
	e := d.Entity
	if d.Op == view.Append {
		if e = v.fold.Get(d.ID); e == nil {
			return nil
		}
	}
	if (d.Known == nil && d.Op == view.Upsert || v.isLate(d.ID)) && v.waits(e) {
		if !v.isLate(d.ID) {
			v.late = append(v.late, d.ID)
		}
		return nil
	}
	if err := v.before(d); err != nil {
		return err
	}
	if err := v.one(d, e); err != nil {
		return err
	}
	return v.others()
}

// one shows a call, of which there is something to show.
func (v *table) one(d *view.Delta, e *view.Entity) error {
	switch {
	case d.Op == view.Upsert && d.Known == nil, v.isLate(d.ID):
		if err := v.announced(e); err != nil {
			return err
		}
	case d.Op == view.Append:
		u := &acp.ToolCallUpdate{ToolCallID: toolCallID(e.ID), Content: callContents(e)}
		return v.updated(u, e)
	default:
		if err := v.updated(changed(e, d.Known, v.agentOf(e)), e); err != nil {
			return err
		}
	}
	return v.reported(e, d.Known)
}

// updated sends an update of a call, with what is new of its output, unless it says nothing.
func (v *table) updated(u *acp.ToolCallUpdate, e *view.Entity) error {
	sent := func() {}
	if u.Content != nil || e.Status.Ended() {
		sent = v.withOutput(u, e)
	}
	if reflect.DeepEqual(u, &acp.ToolCallUpdate{ToolCallID: u.ToolCallID}) {
		return nil
	}
	err := v.update(acp.SessionUpdate{ToolCallUpdate: u})
	if err == nil {
		sent()
	}
	return err
}

// waits reports whether there is nothing about a call yet but that it will be made.
func (v *table) waits(e *view.Entity) bool {
	return v.options.Late && e.Input != nil && e.Content == nil && (e.Status == view.Pending || e.Status == "")
}

func (v *table) isLate(id string) bool { return slices.Contains(v.late, id) }

// before announces the calls that were made before one that is new or late, and others all that
// have not been announced.
func (v *table) before(d *view.Delta) error {
	for len(v.late) > 0 && v.late[0] != d.ID && (v.isLate(d.ID) || d.Op == view.Upsert && d.Known == nil) {
		if err := v.announce(v.late[0]); err != nil {
			return err
		}
	}
	return nil
}

func (v *table) others() error {
	for len(v.late) > 0 {
		if err := v.announce(v.late[0]); err != nil {
			return err
		}
	}
	return nil
}

// announce announces a call that has not been announced.
func (v *table) announce(id string) error {
	if !v.isLate(id) {
		return nil
	}
	if e := v.fold.Get(id); e != nil {
		return v.announced(e)
	}
	v.forget(id)
	return nil
}

func (v *table) forget(id string) {
	v.late = slices.DeleteFunc(v.late, func(late string) bool { return late == id })
}

func (v *table) announced(e *view.Entity) error {
	call := announced(released(e), v.agentOf(e))
	v.opened(call, e)
	if err := v.update(acp.SessionUpdate{ToolCall: call}); err != nil {
		return err
	}
	v.forget(e.ID)
	if at, _, _ := command(e); at < 0 || !v.hasTerminal(e) {
		return nil
	}
	return v.updated(&acp.ToolCallUpdate{ToolCallID: call.ToolCallID, Content: []acp.ToolCallContent{}}, e)
}

// agentOf returns the name of the agent whose call it is, if that is inside another call.
func (v *table) agentOf(call *view.Entity) string {
	if call.Parent == "" {
		return ""
	}
	if e := v.fold.Get(call.Parent); e != nil && e.Kind == view.SubAgent {
		return e.Name
	}
	return ""
}
