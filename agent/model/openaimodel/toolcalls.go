// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// maxCalls bounds the calls of one response.
const maxCalls = 1024

var errTooManyCalls = fmt.Errorf("the response calls more than %d tools", maxCalls)

// callAssembler puts the calls of one response together from fragments.
type callAssembler struct {
	calls []*call
	ids   adapter.CallIDs
}

// call is one tool call that is being put together.
type call struct {
	index    int
	hasIndex bool
	wireID   string // as the server first gave it
	name     string
	args     []byte
	extra    rawValue
	object   objectScanner

	// announced says that part and id are fixed, because the sink may know them.
	announced bool
	part      int
	id        string
}

// toolCall takes a fragment. Which call a fragment belongs to is told by its index, without one by its id, and
// without that it is the last call. Whether it begins a new call instead is decided by [assembler.beginsCall].
func (a *assembler) toolCall(f *wireToolCall) error {
	if err := a.reserve(len(f.Function.Arguments) + len(f.Function.Name) + len(f.ID) + len(f.ExtraContent) + len(f.SpecificFields)); err != nil {
		return err
	}
	c := a.calls.find(f)
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
	// Nothing to begin a call with: an id made up for this fragment, or an index that the first one lacked.
	if last := s.calls[len(s.calls)-1]; f.Index == nil || !last.hasIndex {
		return last
	}
	return nil
}

// beginsCall reports whether f begins a new call rather than continuing c, to which its index or id points. A new id
// or a new name does; but some servers make up an id for every fragment, repeat the name in each, or split it.
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

// splitName reports whether rest continues the name that begins with first. The names of the offered tools decide;
// if they do not help, a name that is no tool's is taken for a piece.
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

// announce fixes what the sink learns about the call, and tells it.
func (a *assembler) announce(c *call) error {
	c.announced = true
	c.part = a.newPart()
	c.id = a.calls.ids.Unique(c.wireID)
	return a.emit(model.Delta{Part: c.part, Kind: model.PartToolCall, CallID: c.id, Tool: c.name, Text: string(c.args)})
}

// announceAll announces the calls without arguments, which were waiting for some. What has neither name nor arguments
// is no call.
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

// objectScanner tells whether bytes are one complete JSON object, looking at each byte once however often it is asked.
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
