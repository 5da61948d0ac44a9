// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"bytes"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// maxCalls limits the number of calls in one response.
const maxCalls = 1024

var errTooManyCalls = exceeds("the response has more than %d tool calls", maxCalls)

// callAssembler joins the calls of one response from fragments.
type callAssembler struct {
	calls []*call
	ids   adapter.CallIDs
}

// call is a tool call under construction.
type call struct {
	index    int
	hasIndex bool
	wireID   string // as first sent by the server
	name     string
	args     []byte
	extra    rawValue
	object   objectScanner

	// announced reports that part and id are fixed, because the sink may know them.
	announced bool
	part      int
	id        string
}

// toolCall adds a fragment. The fragment belongs to the call with its index, or else with its id,
// or else to the last call. [assembler.beginsCall] decides whether it starts a new call instead.
func (a *assembler) toolCall(f *wireToolCall) error {
	if err := a.reserve(len(f.Function.Arguments) + len(f.Function.Name) + len(f.ID) + len(f.ExtraContent) + len(f.SpecificFields)); err != nil {
		return err
	}
	c := a.calls.find(f)
	if c != nil && c.repeatedBy(f) {
		return nil
	}
	if c == nil || a.beginsCall(c, f) {
		if len(a.calls.calls) == maxCalls {
			return errTooManyCalls
		}
		c = &call{}
		if f.Index != nil {
			c.index, c.hasIndex = *f.Index, true
		}
		a.calls.calls = append(a.calls.calls, c)
	}
	if c.wireID == "" {
		c.wireID = string(f.ID)
	}
	if name := string(f.Function.Name); name != c.name && !c.announced {
		c.name += name
	}
	switch {
	case len(f.ExtraContent) > 0:
		c.extra = f.ExtraContent
	case len(c.extra) == 0 && isSignature(f.SpecificFields):
		c.extra = append(append([]byte(specificPrefix), f.SpecificFields...), '}')
	}
	c.args = append(c.args, f.Function.Arguments...)
	switch {
	case c.announced && len(f.Function.Arguments) > 0:
		return a.emit(model.Delta{Part: c.part, Kind: model.PartToolCall, Text: string(f.Function.Arguments)})
	case !c.announced && c.name != "" && len(c.args) > 0:
		return a.announce(c)
	}
	return nil
}

// repeatedBy reports whether f is the whole call again, with its id, as LiteLLM sends it at the end
// of a stream, where the arguments may be a string of JSON within a string.
func (c *call) repeatedBy(f *wireToolCall) bool {
	var args text
	_ = args.UnmarshalJSON(f.Function.Arguments)
	return f.ID != "" && c.wireID == string(f.ID) && c.name == string(f.Function.Name) && string(c.args) == string(args) &&
		c.object.complete(c.args)
}

func (s *callAssembler) find(f *wireToolCall) *call {
	for i := len(s.calls) - 1; i >= 0; i-- {
		c := s.calls[i]
		switch {
		case f.Index != nil:
			if c.hasIndex && c.index == *f.Index {
				return c
			}
		case f.ID == "" || c.wireID == string(f.ID):
			return c
		}
	}
	if len(s.calls) == 0 || f.Function.Name != "" {
		return nil
	}
	// Not enough to start a call: a generated id, or an index that the first fragment lacked.
	if last := s.calls[len(s.calls)-1]; f.Index == nil || !last.hasIndex {
		return last
	}
	return nil
}

// beginsCall reports whether f starts a new call, rather than continuing c, which has the same
// index or id. A new id or a new name starts a call. But some servers generate an id for every
// fragment, repeat the name in each, or split the name.
func (a *assembler) beginsCall(c *call, f *wireToolCall) bool {
	name := string(f.Function.Name)
	if name == "" || c.name == "" {
		return false
	}
	newID := f.ID != "" && c.wireID != "" && string(f.ID) != c.wireID
	complete := c.object.complete(c.args)
	switch {
	case name == c.name && newID:
		return len(c.args) == 0 || complete
	case name == c.name:
		return complete && len(bytes.TrimSpace(f.Function.Arguments)) > 0
	case newID || len(c.args) > 0:
		return true
	}
	return !a.splitName(c.name, name)
}

// splitName reports whether rest continues a name that starts with first. The names of the offered
// tools decide. If they do not help, a name that matches no tool is taken for a piece.
func (a *assembler) splitName(first, rest string) bool {
	known := false
	for i := range a.tools {
		name := a.tools[i].Name
		if strings.HasPrefix(name, first) && strings.HasPrefix(name[len(first):], rest) {
			return true
		}
		known = known || name == first || name == rest
	}
	return !known
}

// announce fixes the properties of a call and tells the sink about it.
func (a *assembler) announce(c *call) error {
	c.announced = true
	c.part = a.newPart()
	c.id = a.calls.ids.Unique(c.wireID)
	return a.emit(model.Delta{Part: c.part, Kind: model.PartToolCall, CallID: c.id, Tool: c.name, Text: string(c.args)})
}

// announceAll announces the calls without arguments. A call with neither name nor arguments is
// dropped.
func (a *assembler) announceAll() error {
	for _, c := range a.calls.calls {
		if !c.announced && (c.name != "" || len(c.args) > 0) {
			if err := a.announce(c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *call) toPart(provider string) model.Part {
	p := model.Part{Kind: model.PartToolCall, CallID: c.id, Tool: c.name, Args: c.args}
	if len(c.extra) > 0 {
		p.Signature, p.Provider = c.extra, provider
	}
	return p
}

// objectScanner detects whether bytes form one complete JSON object. It looks at each byte only
// once.
type objectScanner struct {
	scanned              int
	depth                int
	began, inString, esc bool
}

func (s *objectScanner) complete(args []byte) bool {
	for _, b := range args[s.scanned:] {
		switch {
		case s.esc:
			s.esc = false
		case s.inString:
			s.esc = b == '\\'
			s.inString = b != '"'
		case b == '"':
			s.inString = true
		case b == '{' || b == '[':
			s.depth++
			s.began = true
		case b == '}' || b == ']':
			s.depth--
		}
	}
	s.scanned = len(args)
	return s.began && s.depth <= 0 && !s.inString
}
