// SPDX-License-Identifier: Apache-2.0

package view

import (
	"reflect"
	"strings"
)

// Delta is the difference between an entity and the state of it that a client has seen.
type Delta struct {
	// Op is Upsert for an entity that is new or has changed, Append for one that has more content
	// at its end and is otherwise as it was, and Remove for one that is gone.
	Op Op
	// ID, Kind, Role and Parent are the entity's.
	ID     string
	Kind   Kind
	Role   Role
	Parent string
	// Entity is the entity as it is now, and Known what the client has been shown of it, which is nil
	// if the entity is new to it. An Append has neither: see [Fold.Get]. A Remove has Known alone.
	Entity, Known *Entity
	// Text and Content are what an Append adds: Text goes to the end of the last content if that is text,
	// and is otherwise new content. Content follows it. An Upsert of a known entity has them, too, if its content has
	// only grown.
	Text    string
	Content []Content
}

// shorten makes an Append of a change that only adds content. It reports false if nothing has changed.
func (d *Delta) shorten() bool {
	now, known := *d.Entity, *d.Known
	now.Content, known.Content = nil, nil
	text, more, ok := added(d.Known.Content, d.Entity.Content)
	switch {
	case !ok:
		return true
	case !reflect.DeepEqual(&now, &known):
		d.Text, d.Content = text, more
		return true
	case text == "" && len(more) == 0:
		return false
	}
	if len(more) == 0 {
		more = nil
	}
	d.Op, d.Text, d.Content, d.Entity, d.Known = Append, text, more, nil, nil
	return true
}

// added returns what was added to content: text at the end of the last content, and content after it. It
// reports false if the content has changed in another way.
func added(before, now []Content) (text string, more []Content, ok bool) {
	n := len(before)
	if len(now) < n {
		return "", nil, false
	}
	more = now[n:]
	if n == 0 || before[n-1].Kind != Text {
		if len(more) > 0 && reflect.DeepEqual(more[0], Content{Kind: Text, Text: more[0].Text}) {
			text, more = more[0].Text, more[1:]
		}
		return text, more, same(now[:n], before)
	}
	last := now[n-1]
	text, ok = strings.CutPrefix(last.Text, before[n-1].Text)
	last.Text = before[n-1].Text
	return text, more, ok && reflect.DeepEqual(last, before[n-1]) && same(now[:n-1], before[:n-1])
}

// same compares contents of one length: nil is the same as none.
func same(a, b []Content) bool { return len(a) == 0 || reflect.DeepEqual(a, b) }
