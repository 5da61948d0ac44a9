// SPDX-License-Identifier: Apache-2.0

package model

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Kept returns what a tool keeps in a history: its returns with a [Part.Keep], wherever they are.
// Of several with the same Keep it returns the last one. If tool is empty, it returns the kept
// returns of all tools.
func Kept(history []*Message, tool string) []*Part {
	var parts []*Part
	for _, k := range keptIn(history) {
		if !k.replaced && (tool == "" || k.part.Tool == tool) {
			parts = append(parts, k.part)
		}
	}
	return parts
}

// Carry returns a shortened history with what [CarryKept] moves. If the conversation stays with
// another agent, what is missing of that agent's own history moves to [HandOver.Earlier]. Messages
// are replaced and never changed. If nothing is missing, Carry returns after.
//
// The history processors of an agent need not call it, because runs do. It is for histories that
// are shortened between runs.
func Carry(before, after []*Message) []*Message { return carryStays(before, CarryKept(before, after)) }

// carryStays returns a shortened history with the states that the agent which has the conversation
// has left in the whole one.
func carryStays(before, after []*Message) []*Message {
	var missing []json.RawMessage
	for _, m := range before {
		over := m.HandOver
		switch {
		case over == nil:
		case over.Ended:
			missing = nil
		case over.Stays:
			at := slices.IndexFunc(after, func(a *Message) bool {
				return a.HandOver != nil && a.HandOver.Stays && bytes.Equal(a.HandOver.State, over.State)
			})
			if at < 0 {
				missing = append(append(missing, over.Earlier...), over.State)
				continue
			}
			if missing != nil {
				stays := *over
				stays.Earlier = append(missing, over.Earlier...)
				after = slices.Clone(after)
				after[at] = after[at].Clone()
				after[at].HandOver = &stays
			}
			missing = nil
		}
	}
	return after
}

// CarryKept returns a shortened history with what tools keep of the whole one. What is missing in
// after moves to the [Message.Kept] of the message at its place: the first one that follows those
// which before and after have in common. Messages are replaced and never changed. If nothing is
// missing, CarryKept returns after.
func CarryKept(before, after []*Message) []*Message {
	all := keptIn(before)
	if len(all) == 0 || len(after) == 0 {
		return after
	}
	out, have := after, keptIn(after)
	for i := range all {
		k := &all[i]
		if k.replaced {
			continue
		}
		at := min(behindCommon(before[:k.at], after), len(after)-1)
		if h := find(have, k, false); h != nil {
			if h.equal(k) || h.at >= at && find(all, h, true) == nil { // the processor may have changed it
				continue
			}
			at = max(at, h.at) // h is an earlier one
		}
		if &out[0] == &after[0] {
			out = slices.Clone(after)
		}
		m := *out[at]
		p := *k.part
		p.Text = ""
		m.Kept = append(slices.Clip(m.Kept), p)
		out[at] = &m
	}
	return out
}

// kept is a part with a Keep, and the index of its message. A later part has replaced it if that
// has the same Tool and Keep.
type kept struct {
	part     *Part
	at       int
	replaced bool
}

func (k *kept) equal(o *kept) bool { return bytes.Equal(k.part.Meta, o.part.Meta) }

// find returns the part in all that is not replaced and takes the place of k, or any that is the
// same.
//
//go:noinline
func find(all []kept, k *kept, equal bool) *kept {
	for i := range all {
		a := &all[i]
		if a.part.Tool == k.part.Tool && a.part.Keep == k.part.Keep && (equal && a.equal(k) || !equal && !a.replaced) {
			return a
		}
	}
	return nil
}

// keptIn returns all parts with a Keep, the earlier ones first: what a message has of others is
// later than what it says itself.
func keptIn(history []*Message) (all []kept) {
	for i, m := range history {
		all = keptOf(m.Kept, i, keptOf(m.Parts, i, all))
	}
	return all
}

func keptOf(parts []Part, at int, all []kept) []kept {
	for j := range parts {
		p := &parts[j]
		if p.Keep == "" || p.Kind != PartToolReturn {
			continue
		}
		k := kept{part: p, at: at}
		if before := find(all, &k, false); before != nil {
			before.replaced = true
		}
		all = append(all, k)
	}
	return all
}

// behindCommon returns the index in after that follows the last message which both have; 0 if there
// is none.
func behindCommon(before, after []*Message) int {
	for n := len(before) - 1; n >= 0; n-- {
		for i, m := range after {
			if m == before[n] {
				return i + 1
			}
		}
	}
	return 0
}
