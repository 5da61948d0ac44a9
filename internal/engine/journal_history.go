// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"reflect"

	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
)

// span is a piece of a history: the messages [From, To) of another history, or a new message.
type span struct {
	From    int            `json:"from,omitempty"`
	To      int            `json:"to,omitempty"`
	Message *model.Message `json:"message,omitempty"`
}

// spans describes a history by reference to the one that it was made from. Equal messages count as the same, because a
// processor may have copied them. It reports whether nothing has changed.
func spans(from, made []*model.Message) (all []span, same bool) {
	if len(from) == len(made) && len(made) > 0 && &from[0] == &made[0] {
		return []span{{From: 0, To: len(from)}}, true
	}
	next := 0 // messages usually keep their order
	for _, m := range made {
		at := find(from, next, m)
		if at < 0 {
			all = append(all, span{Message: m})
			continue
		}
		if n := len(all); n > 0 && all[n-1].Message == nil && all[n-1].To == at {
			all[n-1].To++
		} else {
			all = append(all, span{From: at, To: at + 1})
		}
		next = at + 1
	}
	return all, len(all) == 1 && all[0].Message == nil && len(made) == len(from)
}

// find returns the index of a message, looking from next on first, or -1. A copy of the message
// counts only where it is expected; elsewhere only the message itself does, which keeps the search
// cheap.
func find(from []*model.Message, next int, m *model.Message) int {
	if next < len(from) && (from[next] == m || reflect.DeepEqual(from[next], m)) {
		return next
	}
	for i := range from {
		if at := (next + i) % len(from); from[at] == m {
			return at
		}
	}
	return -1
}

// build builds a history from its spans.
func (j *Journal) build(all []span, from []*model.Message) ([]*model.Message, error) {
	var made []*model.Message
	for _, s := range all {
		switch {
		case s.Message != nil:
			made = append(made, s.Message)
		case s.From < 0 || s.To < s.From || s.To > len(from):
			return nil, j.failed("replay", fmt.Errorf("%w: messages %d to %d of %d", journal.ErrCorrupt, s.From, s.To, len(from)))
		default:
			made = append(made, from[s.From:s.To]...)
		}
	}
	return made, nil
}
