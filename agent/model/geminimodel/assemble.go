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

// maxResponse limits the total size of one response, in bytes; tests lower it.
var maxResponse = 128 << 20

const maxParts = 10_000 // of one response

var (
	errResponseTooLong = fmt.Errorf("the response is longer than %d MiB, or has more than %d parts", maxResponse>>20, maxParts)
	errNoCandidate     = errors.New("the response contains no candidate")
)

// assembler builds one message from the chunks of a stream or from an unstreamed response, and
// calls the sink on the way. Parts keep their order. Consecutive chunks of text become one part,
// and so do chunks of thinking.
type assembler struct {
	info    model.Info
	sink    model.Sink // may be nil
	emitted bool       // the sink has been called

	parts    []model.Part
	metadata metadata
	// growing is the text of the last part if it can still grow. growingAt is its index for the
	// sink.
	growing   []byte
	growingAt int
	open      bool
	announced int // number of parts the sink knows
	ids       adapter.CallIDs
	size      int
	chunks    int // number of chunks that said anything

	id, modelName string
	usage         model.Usage
	sawUsage      bool

	sawCandidate, finished, blocked bool
	finish                          genai.FinishReason
	finishMessage                   string
}

func (a *assembler) add(w *wireResponse) error {
	if len(w.Candidates) > 0 || w.PromptFeedback != nil || w.Usage != nil || w.ResponseID != "" {
		a.chunks++
	}
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
		if c.Index != 0 { // not requested
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
		if usage := w.Usage.usage(); !a.sawUsage || usage != a.usage && usage != (model.Usage{}) {
			a.usage, a.sawUsage = usage, true
			return a.emit(model.Delta{Usage: &usage})
		}
	}
	return nil
}

func (a *assembler) part(p *wirePart) error {
	switch {
	case len(a.parts) >= maxParts:
		return errResponseTooLong
	case p.isOpaque():
		return a.opaque(p.raw)
	case p.Text != nil && p.FunctionCall != nil: // two kinds in one part: not sent by the API, but possible with proxies
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

// text adds a chunk. A signature belongs to the part that it was sent with. Thinking keeps it, and
// ends with it. Text with a signature is a separate part, followed by an opaque part with the
// signature.
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

// close ends the growing part.
func (a *assembler) close() {
	if a.open {
		a.parts[len(a.parts)-1].Text = string(a.growing)
		a.growing, a.open = a.growing[:0], false
	}
}

// signLast stores the signature of a part that cannot hold it itself.
func (a *assembler) signLast(signature []byte) {
	if len(signature) > 0 {
		data := slices.Concat(signaturePrefix, []byte(base64.StdEncoding.EncodeToString(signature)), []byte(`"}`))
		a.parts = append(a.parts, model.Part{Kind: model.PartOpaque, Provider: a.info.Provider, Data: data})
	}
}

// opaque stores a part unchanged, unless it is empty.
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
		return errors.New("a function call was sent in pieces, which was not requested")
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

// malformedCallError reports that the model tried to call a tool, but the provider could not parse
// the call.
type malformedCallError struct{ why string }

func (e *malformedCallError) Error() string {
	if e.why == "" {
		return "the model made a call that the provider could not parse"
	}
	return "the model made a call that the provider could not parse: " + e.why
}
