// SPDX-License-Identifier: Apache-2.0

package geminimodel

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/genai"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// maxResponse bounds what one response may add up to, in bytes; maxParts bounds its parts.
const (
	maxResponse = 128 << 20
	maxParts    = 10_000
)

var (
	errResponseTooLong = fmt.Errorf("the response is longer than %d MiB, or has more than %d parts", maxResponse>>20, maxParts)
	errNoCandidate     = errors.New("the response holds no candidate")
)

// assembler makes one message of the chunks of a stream, or of one complete answer, and tells the sink on the way. Parts
// keep the order of the wire; chunks of text that follow one another are one part, and so are chunks of thinking.
type assembler struct {
	info    model.Info
	sink    model.Sink // may be nil
	emitted bool       // the sink has been called

	parts    []model.Part
	metadata metadata
	// growing is the text of the last part if that can still grow, and growingAt its index among the sink's parts.
	growing   []byte
	growingAt int
	open      bool
	announced int // parts that the sink knows
	ids       adapter.CallIDs
	size      int

	id, modelName string
	usage         model.Usage
	sawUsage      bool

	sawCandidate, finished, blocked bool
	finish                          genai.FinishReason
	finishMessage                   string
}

func (a *assembler) add(w *wireResponse) error {
	if w.ResponseID != "" {
		a.id = w.ResponseID
	}
	if w.ModelVersion != "" {
		a.modelName = w.ModelVersion
	}
	if f := w.PromptFeedback; f != nil && f.BlockReason != "" {
		a.blocked, a.finished = true, true
	}
	for i := range w.Candidates {
		c := &w.Candidates[i]
		if c.Index != 0 { // not asked for
			continue
		}
		a.sawCandidate = a.sawCandidate || len(c.Content.Parts) > 0 || c.FinishReason != ""
		for j := range c.Content.Parts {
			if err := a.part(&c.Content.Parts[j]); err != nil {
				return err
			}
		}
		a.metadata.take(c)
		if c.FinishReason != "" {
			a.finish, a.finishMessage, a.finished = c.FinishReason, c.FinishMessage, true
		}
	}
	if w.Usage != nil {
		if usage := w.Usage.usage(); !a.sawUsage || usage != a.usage {
			a.usage, a.sawUsage = usage, true
			return a.emit(model.Delta{Usage: &usage})
		}
	}
	return nil
}

func (a *assembler) part(p *wirePart) error {
	switch {
	case len(a.parts) > maxParts:
		return errResponseTooLong
	case p.isOpaque():
		return a.opaque(p.raw)
	case p.Text != nil && p.FunctionCall != nil: // two kinds in one part, which the API does not do but proxies may
		if err := a.text(*p.Text, p.Thought, nil); err != nil {
			return err
		}
		return a.call(p.FunctionCall, p.Signature)
	case p.FunctionCall != nil:
		return a.call(p.FunctionCall, p.Signature)
	case p.Text != nil:
		return a.text(*p.Text, p.Thought, p.Signature)
	}
	a.close()
	a.parts = append(a.parts, model.Part{
		Kind: model.PartMedia, Data: p.InlineData.Data, MediaType: p.InlineData.MIMEType,
		Name: p.InlineData.DisplayName, Provider: a.info.Provider,
	})
	a.signLast(p.Signature)
	return a.reserve(len(p.InlineData.Data))
}

func (a *assembler) reserve(n int) error {
	if a.size += n; a.size > maxResponse {
		return errResponseTooLong
	}
	return nil
}

// text adds a chunk. A signature belongs to the very part that it came with: thinking keeps it, and ends with it; text
// that has one is a part of its own, with the signature in an opaque part behind it.
func (a *assembler) text(text string, thought bool, signature []byte) error {
	kind := model.PartText
	if thought {
		kind = model.PartThinking
	}
	continues := a.open && a.parts[len(a.parts)-1].Kind == kind
	switch {
	case text == "" && len(signature) == 0:
		return nil
	case text == "" && !continues:
		a.close()
		a.parts = append(a.parts, model.Part{Kind: kind, Provider: a.info.Provider, Signature: signature})
		return nil
	case !continues || !thought && len(signature) > 0:
		a.close()
		p := model.Part{Kind: kind}
		if thought {
			p.Provider = a.info.Provider
		}
		a.parts = append(a.parts, p)
		a.open = true
		if text != "" {
			a.growingAt = a.announced
			a.announced++
		}
	}
	if err := a.reserve(len(text)); err != nil {
		return err
	}
	a.growing = append(a.growing, text...)
	if len(signature) > 0 {
		a.close()
		if thought {
			a.parts[len(a.parts)-1].Signature = signature
		} else {
			a.signLast(signature)
		}
	}
	if text == "" {
		return nil
	}
	return a.emit(model.Delta{Part: a.growingAt, Kind: kind, Text: text})
}

// close ends the part that grows.
func (a *assembler) close() {
	if a.open {
		a.parts[len(a.parts)-1].Text = string(a.growing)
		a.growing, a.open = a.growing[:0], false
	}
}

// signLast keeps the signature of a part that has no place for it.
func (a *assembler) signLast(signature []byte) {
	if len(signature) > 0 {
		data := slices.Concat(signaturePrefix, []byte(base64.StdEncoding.EncodeToString(signature)), []byte(`"}`))
		a.parts = append(a.parts, model.Part{Kind: model.PartOpaque, Provider: a.info.Provider, Data: data})
	}
}

// opaque keeps a part as it is, unless there is nothing in it.
func (a *assembler) opaque(raw json.RawMessage) error {
	if len(bytes.TrimSpace(raw)) <= len("{}") || string(raw) == "null" {
		return nil
	}
	a.close()
	a.parts = append(a.parts, model.Part{Kind: model.PartOpaque, Provider: a.info.Provider, Data: raw})
	return a.reserve(len(raw))
}

func (a *assembler) call(f *wireFunctionCall, signature []byte) error {
	switch {
	case f.Name == "":
		return errors.New("a function call has no name")
	case len(f.PartialArgs) > 0 || f.WillContinue:
		return errors.New("a function call came in pieces, which this package does not ask for")
	}
	a.close()
	p := model.Part{Kind: model.PartToolCall, CallID: a.ids.Unique(f.ID), Tool: f.Name, Args: model.RawArgs(f.Args)}
	if string(p.Args) == "null" {
		p.Args = nil
	}
	if len(signature) > 0 {
		p.Signature, p.Provider = signature, a.info.Provider
	}
	a.parts = append(a.parts, p)
	if err := a.reserve(len(p.Args)); err != nil {
		return err
	}
	a.announced++
	d := model.Delta{Part: a.announced - 1, Kind: p.Kind, CallID: p.CallID, Tool: p.Tool, Text: string(p.Args)}
	if p.Signature != nil {
		d.Whole = &p
	}
	return a.emit(d)
}

func (a *assembler) emit(d model.Delta) error {
	if a.sink == nil {
		return nil
	}
	a.emitted = true
	if err := a.sink(d); err != nil {
		return adapter.FromSink(err)
	}
	return nil
}

// result returns the complete message.
func (a *assembler) result() (*model.Message, error) {
	a.close()
	hasCalls := slices.ContainsFunc(a.parts, func(p model.Part) bool { return p.Kind == model.PartToolCall })
	finish := finishReason(a.finish, hasCalls)
	switch {
	case a.blocked:
		finish = model.FinishContentFilter
	case !a.sawCandidate:
		return nil, errNoCandidate
	case a.finish == genai.FinishReasonMalformedFunctionCall && len(a.parts) == 0:
		return nil, &malformedCallError{a.finishMessage}
	}
	a.parts = a.metadata.appendCitations(a.parts, a.info.Provider)
	if data := a.metadata.data(); data != nil {
		a.parts = append(a.parts, model.Part{Kind: model.PartOpaque, Provider: a.info.Provider, Data: data})
	}
	modelName := a.modelName
	if modelName == "" {
		modelName = a.info.Name
	}
	return &model.Message{
		Kind: model.KindResponse, Parts: a.parts, Provider: a.info.Provider, Model: modelName, ResponseID: a.id,
		Finish: finish, Usage: a.usage,
	}, nil
}

// malformedCallError means that the model tried to call a tool, and the provider could not read the call.
type malformedCallError struct{ why string }

func (e *malformedCallError) Error() string {
	if e.why == "" {
		return "the model made a call that the provider could not read"
	}
	return "the model made a call that the provider could not read: " + e.why
}
