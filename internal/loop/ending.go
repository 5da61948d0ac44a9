// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"encoding/json"
	"slices"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
)

// unusable returns why nothing of a response can be used, or nil: neither its text as an output nor its calls. A response that
// a token limit cut off is judged by its calls ([incomplete]), or as text that may be cut.
//
//go:noinline
func (c *Config) unusable(resp *model.Message) error {
	err := resp.Finish.Err()
	switch {
	case resp.HasToolCalls():
	case c.Filtered && resp.Finish == model.FinishContentFilter:
		return nil
	case c.NoCut && resp.Finish == model.FinishLength:
		return engine.ErrTokenLimit
	}
	return err
}

// cut returns why the text of a response is not whole, or nil. If it gives no output, a retry will not help.
//
//go:noinline
func cut(resp *model.Message) error {
	if resp.Finish == model.FinishLength {
		return engine.ErrTokenLimit
	}
	return resp.Finish.Err()
}

// incomplete returns a call that the token limit cut off. Missing arguments were cut off, too; they do
// not mean a call without arguments. Opaque parts and citations are about what is before them.
func incomplete(resp *model.Message) error {
	n := len(resp.Parts) - 1
	for n >= 0 && (resp.Parts[n].Kind == model.PartOpaque || resp.Parts[n].Kind == model.PartCitation) {
		n--
	}
	if resp.Finish != model.FinishLength || n < 0 {
		return nil
	}
	last := &resp.Parts[n]
	if last.Kind != model.PartToolCall || json.Valid(last.Args) {
		return nil
	}
	return &engine.RunError{
		Stage: engine.StageTool, Tool: last.Tool, CallID: last.CallID, Err: engine.ErrIncompleteToolCall,
	}
}

// interrupt marks the last response as interrupted. Others may have the message and the slice, so both are copied.
//
//go:noinline
func (r *run) interrupt(resp *model.Message) {
	if resp.Interrupted || r.last() != resp {
		return
	}
	m := *resp
	m.Interrupted = true
	r.messages = slices.Clone(r.messages)
	r.messages[len(r.messages)-1], r.own = &m, &m
}
