// SPDX-License-Identifier: Apache-2.0

package openaimodel

import "bytes"

// textChunk is a chunk of a stream that only adds text, thinking, or arguments of one call, as
// nearly all chunks do. Its fields are string literals of the chunk, or nil.
type textChunk struct {
	id, model                           []byte
	content, reasoningContent, thinking []byte
	arguments                           []byte
	// call is the index of the call if hasIndex is set.
	call                        int
	hasDelta, hasCall, hasIndex bool
}

// scratch is reused memory for converting a textChunk.
type scratch struct {
	message wireMessage
	calls   [1]wireToolCall
	index   int
}

// addTextChunk processes a chunk that only adds text, thinking or arguments, much faster than
// encoding/json. For every other chunk, including invalid ones, it does nothing and returns false.
func (a *assembler) addTextChunk(data []byte) (taken bool, err error) {
	s := chunkScanner{data: data}
	if !s.object(inChunk) || !s.ended() || !s.chunk.hasDelta {
		return false, nil
	}
	c := &s.chunk
	var values [6]string
	for i, literal := range [...][]byte{c.id, c.model, c.content, c.reasoningContent, c.thinking, c.arguments} {
		if literal == nil || i == 0 && a.id != "" || i == 1 && a.modelName != "" {
			continue // id and model count only once
		}
		if values[i], err = unquote(literal); err != nil {
			return false, nil
		}
	}
	if a.id == "" {
		a.id = values[0]
	}
	if a.modelName == "" {
		a.modelName = values[1]
	}
	a.sawChoice = true
	msg := &a.scratch.message
	*msg = wireMessage{Content: content{text: values[2]}, ReasoningContent: text(values[3]), Reasoning: text(values[4])}
	if c.hasCall {
		call := &a.scratch.calls[0]
		*call = wireToolCall{}
		if c.hasIndex {
			a.scratch.index = c.call
			call.Index = &a.scratch.index
		}
		call.Function.Arguments = arguments(values[5])
		msg.ToolCalls = a.scratch.calls[:]
	}
	return true, a.message(msg, false)
}

// chunkScanner reads a chunk. It gives up at the first unknown thing, so that the general decoder
// can try.
type chunkScanner struct {
	data  []byte
	pos   int
	chunk textChunk
	// seen has a bit for each relevant member. Duplicate members are left to encoding/json.
	seen member
}

// place identifies an object within a chunk.
type place int

const (
	inChunk place = iota
	inChoice
	inDelta
	inCall
	inFunction
)

// member identifies a relevant member.
type member uint

const (
	memberID member = 1 << iota
	memberModel
	memberChoices
	memberIndex
	memberDelta
	memberContent
	memberReasoningContent
	memberReasoning
	memberCalls
	memberCallIndex
	memberFunction
	memberArguments
)

// memberOf returns the relevant member with the given key, or 0.
func memberOf(in place, key []byte) member {
	switch in {
	case inChunk:
		switch string(key) {
		case "id":
			return memberID
		case "model":
			return memberModel
		case "choices":
			return memberChoices
		}
	case inChoice:
		switch string(key) {
		case "index":
			return memberIndex
		case "delta":
			return memberDelta
		}
	case inDelta:
		switch string(key) {
		case "content":
			return memberContent
		case "reasoning_content":
			return memberReasoningContent
		case "reasoning":
			return memberReasoning
		case "tool_calls":
			return memberCalls
		}
	case inCall:
		switch string(key) {
		case "index":
			return memberCallIndex
		case "function":
			return memberFunction
		}
	case inFunction:
		if string(key) == "arguments" {
			return memberArguments
		}
	}
	return 0
}

// object reads an object.
func (s *chunkScanner) object(in place) bool {
	if !s.token('{') {
		return false
	}
	if s.token('}') {
		return true
	}
	for {
		key, ok := s.key()
		if !ok || !s.token(':') || !s.value(in, key) {
			return false
		}
		if !s.token(',') {
			return s.token('}')
		}
	}
}

// value reads the value of a member.
func (s *chunkScanner) value(in place, key []byte) bool {
	m := memberOf(in, key)
	if s.seen&m != 0 {
		return false
	}
	s.seen |= m
	s.space()
	if s.null() { // the same as absent
		return true
	}
	c := &s.chunk
	var ok bool
	switch m {
	case memberID:
		c.id, ok = s.plain()
	case memberModel:
		c.model, ok = s.plain()
	case memberChoices:
		return s.token('[') && s.object(inChoice) && s.token(']')
	case memberIndex:
		return s.token('0')
	case memberDelta:
		c.hasDelta = true
		return s.object(inDelta)
	case memberContent:
		c.content, ok = s.text()
	case memberReasoningContent:
		c.reasoningContent, ok = s.text()
	case memberReasoning:
		c.thinking, ok = s.text()
	case memberCalls:
		c.hasCall = true
		return s.token('[') && s.object(inCall) && s.token(']')
	case memberCallIndex:
		c.hasIndex = true
		c.call, ok = s.small()
	case memberFunction:
		return s.object(inFunction)
	case memberArguments:
		c.arguments, ok = s.text()
	default:
		return s.skip(in, key)
	}
	return ok
}

// skip skips a member that is irrelevant to this package. It returns false for unknown members,
// which may be relevant.
func (s *chunkScanner) skip(in place, key []byte) bool {
	switch {
	case in == inChunk && string(key) == "created":
		return s.positive()
	case in == inChunk:
		switch string(key) {
		case "object", "service_tier", "system_fingerprint", "obfuscation", "provider":
			_, ok := s.plain()
			return ok
		}
	case in == inDelta && string(key) == "role", in == inCall && string(key) == "type":
		_, ok := s.plain()
		return ok
	}
	return false
}

func (s *chunkScanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// token skips white space and then a byte, if it comes next.
func (s *chunkScanner) token(b byte) bool {
	s.space()
	if s.pos < len(s.data) && s.data[s.pos] == b {
		s.pos++
		return true
	}
	return false
}

func (s *chunkScanner) ended() bool {
	s.space()
	return s.pos == len(s.data)
}

func (s *chunkScanner) digit() bool {
	return s.pos < len(s.data) && '0' <= s.data[s.pos] && s.data[s.pos] <= '9'
}

// positive skips a whole number greater than 0.
func (s *chunkScanner) positive() bool {
	if !s.digit() || s.data[s.pos] == '0' {
		return false
	}
	for s.digit() {
		s.pos++
	}
	return true
}

// small reads a number with one or two digits.
func (s *chunkScanner) small() (n int, ok bool) {
	start := s.pos
	if !s.token('0') && !s.positive() || s.pos-start > 2 {
		return 0, false
	}
	for _, b := range s.data[start:s.pos] {
		n = 10*n + int(b-'0')
	}
	return n, true
}

func (s *chunkScanner) null() bool {
	if rest := s.data[s.pos:]; len(rest) >= 4 && string(rest[:4]) == "null" {
		s.pos += 4
		return true
	}
	return false
}

// key reads the name of a member. encoding/json ignores the case of names, so names with upper-case
// letters are left to it.
func (s *chunkScanner) key() ([]byte, bool) {
	if !s.token('"') {
		return nil, false
	}
	for i, b := range s.data[s.pos:] {
		if b == '"' {
			key := s.data[s.pos : s.pos+i]
			s.pos += i + 1
			return key, true
		}
		if (b < 'a' || b > 'z') && (b < '0' || b > '9') && b != '_' {
			break
		}
	}
	return nil, false
}

// plain reads a string without escapes and returns its literal.
func (s *chunkScanner) plain() ([]byte, bool) {
	literal, ok := s.text()
	return literal, ok && bytes.IndexByte(literal, '\\') < 0
}

// text reads a string and returns its literal. Escapes are checked when it is decoded.
func (s *chunkScanner) text() ([]byte, bool) {
	start := s.pos
	if !s.token('"') {
		return nil, false
	}
	for i := s.pos; i < len(s.data); i++ {
		switch b := s.data[i]; {
		case b == '"':
			s.pos = i + 1
			return s.data[start:s.pos], true
		case b == '\\':
			i++
		case b < ' ':
			return nil, false
		}
	}
	return nil, false
}
