// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

const (
	letterDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	// idChars are the characters that every provider accepts in tool names and call ids.
	idChars = letterDigits + "_-"
	// MaxCallID is the lowest maximum among providers that accept call ids of several lengths.
	MaxCallID = 40
	// MaxToolName is how long the name of a tool may be.
	MaxToolName = 64
)

// IDRule describes the call ids a provider accepts: letters, digits, underscores and hyphens, and how many.
type IDRule struct {
	// Max is how many characters at most. 0 means that no bound is known: the provider gets its own ids back as they are,
	// and others as MaxCallID allows.
	Max int
	// Exact says that it must be Max letters and digits.
	Exact bool
}

// WireIDs replaces the call ids of a conversation that a provider would refuse. An id that fits stays as it is. Any other
// becomes a hash, the same for a call and for its result, and for the same conversation each time; different ids stay
// different. The conversation is only looked through if an id does not fit.
type WireIDs struct {
	Rule     IDRule
	Provider string
	Messages []*model.Message

	wire map[string]string // of the ids that do not fit; nil if none was met
}

// Of returns the id to send for an id of the conversation.
func (w *WireIDs) Of(id string) string {
	if w.Rule.fits(id) {
		return id
	}
	if w.wire == nil {
		w.look()
	}
	if fitted, ok := w.wire[id]; ok {
		return fitted
	}
	return id
}

func (w *WireIDs) look() {
	w.wire = map[string]string{}
	taken := map[string]bool{}
	own := map[string]bool{}
	each := func(f func(id string)) {
		for _, msg := range w.Messages {
			for i := range msg.Parts {
				if p := &msg.Parts[i]; p.Kind == model.PartToolCall || AnswersCall(p) {
					f(p.CallID)
				}
			}
		}
	}
	if w.Rule.Max == 0 && w.Provider != "" {
		for _, msg := range w.Messages {
			for i := range msg.Parts {
				if p := &msg.Parts[i]; p.Kind == model.PartToolCall && msg.Provider == w.Provider && p.CallID != "" {
					own[p.CallID] = true
				}
			}
		}
	}
	each(func(id string) {
		if w.Rule.fits(id) || own[id] {
			taken[id] = true
		}
	})
	each(func(id string) {
		if _, done := w.wire[id]; done || w.Rule.fits(id) || own[id] {
			return
		}
		fitted := w.Rule.hash(id)
		for n := 2; taken[fitted]; n++ {
			fitted = w.Rule.hash(id + "\x00" + strconv.Itoa(n))
		}
		w.wire[id], taken[fitted] = fitted, true
	})
}

func (r IDRule) fits(id string) bool {
	switch {
	case r.Exact:
		return len(id) == r.Max && strings.Trim(id, letterDigits) == ""
	case r.Max == 0:
		return id != "" && len(id) <= MaxCallID && strings.Trim(id, idChars) == ""
	}
	return id != "" && len(id) <= r.Max && strings.Trim(id, idChars) == ""
}

// hash returns letters and digits: as many as the rule demands, or else as many as a hash is good for.
func (r IDRule) hash(id string) string {
	n := sha256.Size
	if r.Max > 0 {
		n = min(n, r.Max)
	}
	hash := sha256.Sum256([]byte(id))
	for i := range hash {
		hash[i] = letterDigits[int(hash[i])%len(letterDigits)]
	}
	return string(hash[:n])
}

// CheckToolName returns why a tool of that name cannot be offered, or nil. The rule is what all providers take, so that a
// tool works with each of them.
func CheckToolName(name string) error {
	if name == "" || len(name) > MaxToolName || strings.Trim(name, idChars) != "" {
		return fmt.Errorf("the tool name %q: use 1 to %d letters (a-z, A-Z), digits, _ and -; toolset.Renamed changes names: %w",
			Truncate(name, 2*MaxToolName), MaxToolName, model.ErrUnsupported)
	}
	return nil
}

// ToolName returns the name of a tool in the history as every provider takes it. Calls of tools that were never there have
// any name: what does not fit becomes an underscore, and what is too long is cut.
func ToolName(name string) string {
	switch {
	case name == "":
		return "unknown"
	case len(name) <= MaxToolName && strings.Trim(name, idChars) == "":
		return name
	}
	name = strings.Map(func(r rune) rune {
		if r < 0x80 && strings.IndexByte(idChars, byte(r)) >= 0 {
			return r
		}
		return '_'
	}, name)
	return name[:min(len(name), MaxToolName)]
}
