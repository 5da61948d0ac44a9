// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"reflect"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/view"
)

// A surface without a place for questions shows them with their call: a preview of the call's
// effect, or the question of a tool. The call's result replaces that. A diff stays, because it
// shows the change.

// askedAbout notes that a person is asked about a call, or has answered.
func (p *Transcript) askedAbout(q *view.Entity) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.calls[q.Parent]; c != nil {
		c.asking = !q.Status.Ended()
	}
}

// noteAsked notes which content came while a person is asked. mu is held.
func (c *call) noteAsked(before []view.Content) {
	if !c.asking {
		c.asked = slices.DeleteFunc(slices.Clone(c.asked), func(one view.Content) bool { return !contains(c.entity.Content, &one) })
		return
	}
	for i := range c.entity.Content {
		if one := &c.entity.Content[i]; !contains(before, one) {
			c.asked = append(slices.Clip(c.asked), *one)
		}
	}
}

// withoutAsked returns content without what was shown for a question. With a diff all of it stays.
func withoutAsked(all, asked []view.Content) []view.Content {
	if len(asked) == 0 || slices.ContainsFunc(all, func(c view.Content) bool { return c.Kind == view.Diff }) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(c view.Content) bool { return c.Kind == view.Text && contains(asked, &c) })
}

// countNotes counts the content that names who allowed a call.
func countNotes(all []view.Content) (n int) {
	for i := range all {
		if all[i].Kind == view.Text && strings.HasPrefix(all[i].Text, view.AllowedBy) {
			n++
		}
	}
	return n
}

func contains(all []view.Content, one *view.Content) bool {
	return slices.ContainsFunc(all, func(c view.Content) bool { return reflect.DeepEqual(&c, one) })
}
