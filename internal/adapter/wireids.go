// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"crypto/sha256"
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/errs"
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

// IDRule describes the call ids a provider accepts: letters, digits, underscores and hyphens, and
// how many.
type IDRule struct {
	// Max is how many characters at most. 0 means that no bound is known: the provider gets its own
	// ids back as they are, and others as MaxCallID allows.
	Max int
	// Exact means that it must be Max letters and digits.
	Exact bool
}

// WireIDs chooses the call ids to send. Each call of a request gets a unique id, which its result
// shares: models may use an id again in a later response, and foreign ids may not fit the
// provider's rule. An id that fits and is new stays as it is. Any other becomes a hash.
//
// Its methods are called in the order of the conversation. An id depends only on what precedes it,
// so it stays the same as the conversation grows.
type WireIDs struct {
	Rule IDRule
	// Provider keeps its own ids if the rule knows no bound.
	Provider string
	// Messages is the conversation. It determines the number of ids.
	Messages []*model.Message

	turn  int
	calls map[string]wireCall
	// waiting holds the further calls of the current responses that have the same id as another of
	// them.
	waiting map[string][]string
}

// wireCall is stored under an id of the conversation and under an id on the wire, which are often
// the same.
type wireCall struct {
	// wire is the id on the wire of the latest call with this id in the conversation.
	wire string
	turn int
	// taken reports that a call has this id on the wire.
	taken bool
}

// Turn begins adjacent responses.
func (w *WireIDs) Turn() { w.turn++ }

// Call returns the id to send for a call with this id, which a response of the given provider made.
func (w *WireIDs) Call(id, provider string) string {
	if w.calls == nil {
		n := 0
		for _, msg := range w.Messages {
			for i := range msg.Parts {
				if msg.Parts[i].Kind == model.PartToolCall {
					n++
				}
			}
		}
		w.calls = make(map[string]wireCall, n)
	}
	known, wire := w.calls[id], id
	keep := w.Rule.fits(id) || id != "" && w.Rule.Max == 0 && provider == w.Provider && provider != ""
	if !keep {
		wire = w.Rule.hash(id)
	}
	for n := 2; w.calls[wire].taken; n++ {
		wire = w.Rule.hash(id + "\x00" + strconv.Itoa(n))
	}
	if wire != id {
		w.calls[wire] = wireCall{wire: w.calls[wire].wire, turn: w.calls[wire].turn, taken: true}
	}
	if known.wire != "" && known.turn == w.turn {
		w.wait(id, wire)
		return wire
	}
	delete(w.waiting, id)
	w.calls[id] = wireCall{wire: wire, turn: w.turn, taken: known.taken || wire == id}
	return wire
}

func (w *WireIDs) wait(id, wire string) {
	if w.waiting == nil {
		w.waiting = map[string][]string{}
	}
	w.waiting[id] = append(w.waiting[id], wire)
}

// Result returns the id to send for the result of a call with this id: of the latest one, or if
// several calls of the latest responses have it, of the first that has no result yet.
func (w *WireIDs) Result(id string) string {
	c, known := w.calls[id]
	if !known || c.wire == "" { // the result of no call
		if w.Rule.fits(id) {
			return id
		}
		return w.Rule.hash(id)
	}
	if next := w.waiting[id]; len(next) > 0 {
		w.waiting[id] = next[1:]
		w.calls[id] = wireCall{wire: next[0], turn: c.turn, taken: c.taken}
	}
	return c.wire
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

// hash returns letters and digits: as many as the rule demands, or else as many as a hash is good
// for.
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

// CheckToolName returns why a tool of that name cannot be offered, or nil. All providers accept the
// names that pass, which makes tools portable.
func CheckToolName(name string) error {
	if name == "" || len(name) > MaxToolName || strings.Trim(name, idChars) != "" {
		return errs.Errorf("the tool name %q: use 1 to %d letters (a-z, A-Z), digits, _ and -; toolset.Renamed changes names: %w",
			Truncate(name, 2*MaxToolName), MaxToolName, model.ErrUnsupported)
	}
	return nil
}

// ToolName returns the name of a tool in the history as every provider takes it. Calls of tools
// that were never there have any name: what does not fit becomes an underscore, and what is too
// long is cut.
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
