// SPDX-License-Identifier: Apache-2.0

package model

import (
	"bytes"
	"slices"
)

// Kept returns what a tool keeps in a history: its returns with a [Part.Keep], wherever they are. Of several with the same Keep it
// returns the last one. If tool is empty, it returns those of all tools.
func Kept(history []*Message, tool string) []*Part {
	var parts []*Part
	for _, k := range latest(keptIn(history)) {
		if tool == "" || k.part.Tool == tool {
			parts = append(parts, k.part)
		}
	}
	return parts
}

// Carry returns a shortened history with what tools keep of the whole one. What is missing in after moves to the [Message.Kept] of the
// message at its place: the first one that follows those which before and after have in common. Messages are replaced and never changed.
// If nothing is missing, Carry returns after.
//
// The history processors of an agent need not call it, because runs do. It is for histories that are shortened between runs.
func Carry(before, after []*Message) []*Message {
	all := keptIn(before)
	if len(all) == 0 || len(after) == 0 {
		return after
	}
	out, have := after, latest(keptIn(after))
	for _, k := range latest(all) {
		at := min(behindCommon(before[:k.at], after), len(after)-1)
		if i := slices.IndexFunc(have, k.same); i >= 0 {
			h := have[i]
			if h.equal(k) || h.at >= at && !slices.ContainsFunc(all, h.equal) { // the processor may have changed it
				continue
			}
			at = max(at, h.at) // h is an earlier one
		}
		if &out[0] == &after[0] {
			out = slices.Clone(after)
		}
		m := *out[at]
		m.Kept = append(slices.Clip(m.Kept), Part{Kind: k.part.Kind, CallID: k.part.CallID, Tool: k.part.Tool, Meta: k.part.Meta, Keep: k.part.Keep})
		out[at] = &m
	}
	return out
}

// kept is a part with a Keep, and the index of its message.
type kept struct {
	part *Part
	at   int
}

// same reports whether the later one of two parts takes the place of the other.
func (k kept) same(o kept) bool { return k.part.Tool == o.part.Tool && k.part.Keep == o.part.Keep }

func (k kept) equal(o kept) bool { return k.same(o) && bytes.Equal(k.part.Meta, o.part.Meta) }

// keptIn returns all parts with a Keep, the earlier ones first: what a message has of others is later than what it says itself.
func keptIn(history []*Message) (all []kept) {
	for i, m := range history {
		for _, parts := range [2][]Part{m.Parts, m.Kept} {
			for j := range parts {
				if p := &parts[j]; p.Keep != "" && p.Kind == PartToolReturn {
					all = append(all, kept{p, i})
				}
			}
		}
	}
	return all
}

// latest leaves out the parts whose place a later one takes.
func latest(all []kept) (last []kept) {
	for _, k := range all {
		if i := slices.IndexFunc(last, k.same); i >= 0 {
			last[i] = k
		} else {
			last = append(last, k)
		}
	}
	return last
}

// behindCommon returns the index in after that follows the last message which both have; 0 if there is none.
func behindCommon(before, after []*Message) int {
	for _, m := range slices.Backward(before) {
		if i := slices.Index(after, m); i >= 0 {
			return i + 1
		}
	}
	return 0
}
