// SPDX-License-Identifier: Apache-2.0

package anthropicmodel

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// maxResponse limits the total size of one response, in bytes; tests lower it.
var maxResponse = 64 << 20

const maxBlocks = 10_000 // of one response

var errResponseTooLong = fmt.Errorf("the response is longer than %d MiB, or has more than %d blocks", maxResponse>>20, maxBlocks)

// assembly builds one message from the events of a stream or from an unstreamed response, and calls
// the sink on the way. Both use the same code, so both give the same message: a part for each
// block, in the order the model wrote them. A paused turn consists of several responses.
type assembly struct {
	provider string
	sink     model.Sink // may be nil
	// emitted reports that the sink has been called.
	emitted bool

	// parts and spent belong to the completed responses.
	parts    []model.Part
	spent    model.Usage
	ids      adapter.CallIDs
	nextPart int

	answer
	// container identifies where the provider runs code, if it does.
	container string
}

// answer is one response under construction.
type answer struct {
	began     bool
	repeated  bool // the start came again
	id        string
	modelName string
	stop      string
	hasStop   bool // the stop reason came after the blocks
	blocks    []*block
	usage     wireUsage
	size      int
}

func newAssembly(provider string, sink model.Sink) *assembly {
	return &assembly{provider: provider, sink: sink}
}

// begin discards an incomplete response.
func (a *assembly) begin() {
	a.answer, a.ids = answer{}, adapter.CallIDs{}
	for i := range a.parts {
		if id := a.parts[i].CallID; id != "" {
			a.ids.Unique(id)
		}
	}
}

// whole processes an unstreamed response.
func (a *assembly) whole(w *wireMessage) error {
	a.head(w)
	for i, content := range w.Content {
		if err := a.start(i, content); err != nil {
			return err
		}
	}
	return a.end()
}

var errSecondMessage = errors.New("the stream starts a second message within the first")

// head processes the beginning of a response.
func (a *assembly) head(w *wireMessage) {
	a.began = true
	a.id, a.modelName, a.stop = w.ID, w.Model, w.StopReason
	a.usage.merge(w.Usage)
	if w.Container != nil {
		a.container = w.Container.ID
	}
}

// event processes an event of a stream and reports whether it is the last one.
func (a *assembly) event(w *wireEvent) (bool, error) {
	switch w.Type {
	case "message_start":
		switch {
		case w.Message == nil:
		case len(a.blocks) > 0 && w.Message.ID != a.id:
			return false, errSecondMessage
		case a.began: // repeated by a proxy that has sent its own before the provider's
			a.repeated = true
			a.usage.merge(w.Message.Usage)
		default:
			a.head(w.Message)
		}
	case "content_block_stop":
		return false, a.stopped(w.Index)
	case "content_block_start":
		return false, a.start(w.Index, w.ContentBlock)
	case "content_block_delta":
		var d wireDelta
		if err := json.Unmarshal(w.Delta, &d); err != nil {
			return false, fmt.Errorf("a delta of the stream is invalid: %w", err)
		}
		return false, a.delta(w.Index, &d, w.Delta)
	case "message_delta":
		var d wireMessage
		if len(w.Delta) > 0 {
			if err := json.Unmarshal(w.Delta, &d); err != nil {
				return false, fmt.Errorf("a delta of the stream is invalid: %w", err)
			}
		}
		a.stop = cmp.Or(d.StopReason, a.stop)
		a.hasStop = a.hasStop || d.StopReason != ""
		if d.Container != nil {
			a.container = d.Container.ID
		}
		a.usage.merge(w.Usage)
	case "message_stop":
		return true, a.end()
	}
	return false, nil
}

// end checks the response and tells the sink what it has not been told yet.
func (a *assembly) end() error {
	if !a.began {
		return errNoMessage
	}
	if a.stop == windowExceeded && len(a.blocks)+len(a.parts) == 0 {
		return &model.APIError{Provider: a.provider, Model: a.modelName, Message: "the response is empty: " + windowExceeded, Err: model.ErrContextLength}
	}
	for _, b := range a.blocks {
		if err := a.tellRest(b); err != nil {
			return err
		}
	}
	if a.sink == nil {
		return nil
	}
	usage := a.total()
	return a.emit(model.Delta{Usage: &usage})
}

// complete adds the response to the turn.
func (a *assembly) complete() {
	for _, b := range a.blocks {
		a.parts = b.appendParts(a.parts, a.provider)
	}
	a.spent, a.blocks, a.usage = a.total(), nil, wireUsage{}
}

// total returns the usage of the turn so far.
func (a *assembly) total() model.Usage {
	u := a.spent
	u.Add(a.usage.usage())
	return u
}

func (a *assembly) paused() bool { return a.stop == "pause_turn" }

// message returns the turn so far as a message.
func (a *assembly) message(name string) *model.Message {
	msg := &model.Message{
		Kind: model.KindResponse, Parts: slices.Clone(a.parts), Provider: a.provider, Model: cmp.Or(a.modelName, name),
		ResponseID: a.id, Usage: a.spent,
	}
	msg.Finish = finishReason(a.stop, msg.HasToolCalls())
	return msg
}

// windowExceeded is the stop reason for a conversation that fills the context window.
const windowExceeded = "model_context_window_exceeded"

func finishReason(stop string, hasCalls bool) model.FinishReason {
	switch stop {
	case "", "end_turn", "stop_sequence":
		if hasCalls {
			return model.FinishToolCalls
		}
		return model.FinishStop
	case "tool_use":
		return model.FinishToolCalls
	case "max_tokens", windowExceeded:
		return model.FinishLength
	case "refusal":
		return model.FinishRefusal
	}
	if hasCalls { // the caller must answer them, whatever the stop reason
		return model.FinishToolCalls
	}
	return model.FinishOther
}

func (a *assembly) emit(d model.Delta) error {
	if a.sink == nil {
		return nil
	}
	if !a.emitted && d.Usage == nil { // the input is charged in any case
		if usage := a.total(); usage != (model.Usage{}) {
			d.Usage = &usage
		}
	}
	a.emitted = true
	if err := a.sink(d); err != nil {
		return adapter.FromSink(err)
	}
	return nil
}

func (a *assembly) reserve(n int) error {
	if a.size += n; a.size > maxResponse || len(a.blocks) > maxBlocks {
		return errResponseTooLong
	}
	return nil
}

// wireUsage counts tokens. Missing fields keep their value, because later counts in a stream
// include earlier ones. So do zeros, which proxies send for what they do not know.
type wireUsage struct {
	wireTokens
	Details struct {
		Thinking adapter.Tokens `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
	// Iterations has an entry for each pass of the request. The other counts are the sum over
	// entries of type "message". Passes that compact the conversation or ask an advisor are
	// additional ("Compaction" in the API's documentation).
	Iterations []struct {
		Type string `json:"type"`
		wireTokens
	} `json:"iterations"`
}

type wireTokens struct {
	Input      adapter.Tokens `json:"input_tokens"`
	Output     adapter.Tokens `json:"output_tokens"`
	CacheRead  adapter.Tokens `json:"cache_read_input_tokens"`
	CacheWrite adapter.Tokens `json:"cache_creation_input_tokens"`
}

func (u *wireUsage) merge(later *wireUsage) {
	if later == nil {
		return
	}
	u.Input, u.Output = cmp.Or(later.Input, u.Input), cmp.Or(later.Output, u.Output)
	u.CacheRead, u.CacheWrite = cmp.Or(later.CacheRead, u.CacheRead), cmp.Or(later.CacheWrite, u.CacheWrite)
	u.Details = cmp.Or(later.Details, u.Details)
	if later.Iterations != nil {
		u.Iterations = later.Iterations
	}
}

func (u *wireUsage) usage() model.Usage {
	usage := u.wireTokens.usage()
	usage.ReasoningTokens = int64(u.Details.Thinking)
	for i := range u.Iterations {
		if pass := &u.Iterations[i]; pass.Type != "message" {
			usage.Add(pass.wireTokens.usage())
		}
	}
	return adapter.Count(0, usage)
}

// usage counts all input. The provider's own count leaves out cached input.
func (t *wireTokens) usage() model.Usage {
	return model.Usage{
		InputTokens:      int64(t.Input + t.CacheRead + t.CacheWrite),
		OutputTokens:     int64(t.Output),
		CacheReadTokens:  int64(t.CacheRead),
		CacheWriteTokens: int64(t.CacheWrite),
	}
}
