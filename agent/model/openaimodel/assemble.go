// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
	"github.com/ponte-go/ponte/internal/errs"
)

// assembler builds one message from the chunks of a stream or from an unstreamed response, and
// calls the sink on the way. Both use the same code, so both give the same message: thinking,
// opaque reasoning details, text, then calls in the order they started.
type assembler struct {
	deltas
	provider string
	tools    []model.ToolDef
	// streamed reports that chunks are added, rather than one complete response.
	streamed bool

	said          []byte // what an error quotes: the response, if it is unstreamed
	id, modelName string
	text          growing
	thinking      growing
	details       reasoningDetails
	media         mediaOut
	sources       sources
	calls         callAssembler
	refused       bool
	scratch       scratch

	usage    model.Usage
	sawUsage bool
	// sawChoice reports that there was a choice, ended that it is complete.
	sawChoice, ended bool
	finish           string
}

func newAssembler(provider string, tools []model.ToolDef, sink model.Sink) *assembler {
	return &assembler{provider: provider, tools: tools, deltas: deltas{sink: sink}, said: noChoices}
}

// noChoices is what a stream without a message is quoted as.
var noChoices = []byte("no choices")

func (a *assembler) finished() bool { return a.ended }

func (a *assembler) object(data []byte) error {
	a.said = data
	return a.decode(data)
}

var done = []byte("[DONE]")

func (a *assembler) event(name string, data []byte) error {
	a.streamed = true
	switch {
	case bytes.Equal(data, done):
		return io.EOF
	case name == "error":
		return &reportedError{data}
	}
	if taken, err := a.addTextChunk(data); taken {
		return err
	}
	return a.decode(data)
}

func (a *assembler) decode(data []byte) error {
	var w wireResponse
	if err := w.decode(data); err != nil {
		return err
	}
	if failed := w.reported(data); failed != nil {
		return &reportedError{failed}
	}
	if a.streamed && w.Usage == nil && w.ID == "" && len(w.Choices) == 0 {
		return errKeepAlive
	}
	return a.add(&w)
}

// add adds the first choice of a response or chunk. Other choices were not requested.
func (a *assembler) add(w *wireResponse) error {
	if a.id == "" {
		a.id = string(w.ID)
	}
	if a.modelName == "" {
		a.modelName = string(w.Model)
	}
	if len(w.SearchResults) > 0 {
		a.sources.results = w.SearchResults
	}
	if len(w.Citations) > 0 {
		a.sources.urls = w.Citations
	}
	for i := range w.Choices {
		c := &w.Choices[i]
		if c.Index != 0 {
			continue
		}
		msg, again := c.Delta, false
		if msg == nil { // at the end of a stream, some repeat the message, as MiniMax does
			msg, again = c.Message, c.FinishReason != ""
		}
		if msg != nil {
			a.sawChoice = true
			if err := a.message(msg, again); err != nil {
				return err
			}
		}
		if c.FinishReason != "" {
			// A choice without a message is not a response, unless a filter withheld the message
			// (Azure).
			a.sawChoice = a.sawChoice || a.streamed || c.FinishReason == "content_filter"
			a.finish, a.ended = c.FinishReason, true
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

// message adds a message, or what was not said before if it says all of it again.
func (a *assembler) message(msg *wireMessage, again bool) error {
	// Some servers send the same thinking in both fields.
	thinking := cmp.Or(string(msg.ReasoningContent), string(msg.Reasoning), msg.Content.thinking)
	if again {
		thinking, msg.Content.text = a.thinking.rest(thinking), a.text.rest(msg.Content.text)
	}
	if err := a.grow(&a.thinking, model.PartThinking, thinking); err != nil {
		return err
	}
	if len(msg.ReasoningDetails) > 0 && (!again || a.details.lists == 0) {
		if err := a.reserve(len(msg.ReasoningDetails)); err != nil {
			return err
		}
		a.details.add(msg.ReasoningDetails)
	}
	if err := a.grow(&a.text, model.PartText, msg.Content.text); err != nil {
		return err
	}
	if msg.Refusal != "" {
		a.refused = true
		if err := a.grow(&a.text, model.PartText, string(msg.Refusal)); err != nil {
			return err
		}
	}
	if err := a.mediaOf(msg); err != nil {
		return err
	}
	for _, list := range [][]json.RawMessage{msg.Annotations, msg.ExecutedTools} {
		for _, raw := range list {
			if err := a.reserve(len(raw)); err != nil {
				return err
			}
		}
	}
	a.sources.annotate(msg.Annotations)
	a.sources.execute(msg.ExecutedTools)
	if isSignature(msg.ExtraContent) {
		a.sources.extra = compacted(msg.ExtraContent)
	}
	for i := range msg.ToolCalls {
		if err := a.toolCall(&msg.ToolCalls[i]); err != nil {
			return err
		}
	}
	return nil
}

// mediaOf adds images and audio. The transcript of the audio is text.
func (a *assembler) mediaOf(msg *wireMessage) error {
	images := msg.Content.images
	for i := range msg.Images {
		images = append(images, msg.Images[i].URL)
	}
	for _, url := range images {
		if err := a.reserve(len(url)); err != nil {
			return err
		}
		if err := a.media.addImage(url); err != nil {
			return err
		}
	}
	if msg.Audio == nil {
		return nil
	}
	if err := a.reserve(len(msg.Audio.Data)); err != nil {
		return err
	}
	if err := a.grow(&a.text, model.PartText, string(msg.Audio.Transcript)); err != nil {
		return err
	}
	return a.media.addAudio(msg.Audio)
}

// result returns the complete message. It announces calls that the sink has not been told about
// yet.
func (a *assembler) result() (*model.Message, error) {
	if !a.sawChoice {
		return nil, errs.Errorf("%w: %s", errNoResponse, quoted(a.said))
	}
	if err := a.announceAll(); err != nil {
		return nil, err
	}
	msg := &model.Message{
		Kind:       model.KindResponse,
		Provider:   a.provider,
		Model:      a.modelName,
		ResponseID: a.id,
		Usage:      a.usage,
	}
	if a.thinking.began {
		msg.Parts = appendPart(msg.Parts, model.PartThinking, a.thinking.content, nil, a.provider, "")
	}
	if data := a.details.encode(); data != nil {
		msg.Parts = appendPart(msg.Parts, model.PartOpaque, nil, data, a.provider, "")
	}
	if a.text.began {
		msg.Parts = appendPart(msg.Parts, model.PartText, a.text.content, nil, "", "")
	}
	msg.Parts = a.sources.appendParts(msg.Parts, a.provider)
	msg.Parts = a.media.appendParts(msg.Parts, a.provider)
	hasCalls := false
	for _, c := range a.calls.calls {
		if c.announced {
			hasCalls = true
			msg.Parts = append(msg.Parts, c.toPart(a.provider))
		}
	}
	if a.finish == windowExceeded && len(msg.Parts) == 0 {
		return nil, &reportedError{[]byte(`{"code":"context_length_exceeded","message":"the response is empty: ` + windowExceeded + `"}`)}
	}
	msg.Finish = adapter.OpenAIFinish(a.finish, hasCalls, a.refused)
	return msg, nil
}
