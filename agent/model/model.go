// SPDX-License-Identifier: Apache-2.0

package model

import "context"

// Model is a language model. Implementations must be safe for concurrent use.
type Model interface {
	// Info describes the model. It does no I/O and always returns the same value.
	Info() Info

	// Generate sends one request and returns the complete response, a message of [KindResponse].
	//
	// If sink is nil, the implementation may ask the provider for an unstreamed response. Otherwise
	// it streams: it calls sink on the goroutine that called Generate, in the order the provider
	// sent the deltas, and never after Generate has returned. If sink returns an error, the request
	// ends at once and Generate returns that error unwrapped. The returned message is
	// authoritative. It contains everything the deltas did, so callers need not join them.
	//
	// Generate returns when ctx is done, with an error that wraps ctx's cause. It must not modify
	// or retain req. If the provider does not serve the request, the error is an [*APIError].
	// Generate must not retry once a delta has been passed to sink. It returns exactly one of a
	// message or an error.
	//
	// The message states why it ended ([Message.Finish]) and who answered. Its tool calls have ids,
	// each different from the others, whatever the provider sent.
	Generate(ctx context.Context, req *Request, sink Sink) (*Message, error)
}

// Info describes a model.
type Info struct {
	// Provider names the provider that serves the model, in lower case: "openai", "ollama",
	// "anthropic". Signatures are sent back only to the provider that made them.
	Provider string `json:"provider,omitempty"`
	// Name is the provider's name for the model.
	Name string `json:"name,omitempty"`
	// NativeOutput reports whether the provider can constrain a response to a JSON schema
	// ([Request.Output]).
	NativeOutput bool `json:"native_output,omitempty"`
	// NoForcedCalls reports that tool calls cannot be required: requests with [ToolChoiceRequired]
	// or [ToolChoiceTool] are errors. An agent without tools then prefers NativeOutput to an output
	// tool.
	NoForcedCalls bool `json:"no_forced_calls,omitempty"`
	// NativeSearch and NativeFetch report that the provider searches the web and reads its pages
	// itself, also in requests with tools ([NativeWebSearch], [NativeWebFetch]). NativeDomains
	// reports that it can be restricted to certain hosts then.
	NativeSearch  bool `json:"native_search,omitempty"`
	NativeFetch   bool `json:"native_fetch,omitempty"`
	NativeDomains bool `json:"native_domains,omitempty"`
	// NativeCompaction reports that the provider can compact conversations itself
	// ([Settings.CompactAt]).
	NativeCompaction bool `json:"native_compaction,omitempty"`
	// Media lists the kinds of input that the model accepts besides text, as the top-level part of
	// a media type ("image", "audio") or a complete media type ("application/pdf").
	Media []string `json:"media,omitempty"`
	// MediaURLs lists the kinds in Media that the provider can fetch itself, for a part with a URL
	// and no data. Other URLs are errors.
	MediaURLs []string `json:"media_urls,omitempty"`
	// ContextWindow is the number of tokens the model accepts, or 0 if unknown.
	ContextWindow int `json:"context_window,omitempty"`
}

// Sink receives the deltas of a streamed response. See [Model.Generate] for when it is called.
type Sink func(Delta) error

// Delta is one increment of a streamed response.
type Delta struct {
	// Part is the index of the part that grows. Indexes start at 0 and are assigned in order. Parts
	// may grow interleaved. The indexes may differ from those in the final message.
	Part int `json:"part,omitempty"`
	// Kind is the part's kind: [PartText], [PartThinking] or [PartToolCall].
	Kind PartKind `json:"kind,omitempty"`
	// Text is the added text, thinking, or fragment of the tool call's arguments.
	Text string `json:"text,omitempty"`
	// CallID and Tool identify a tool call. They are set in the first delta of its part.
	CallID string `json:"call_id,omitempty"`
	Tool   string `json:"tool,omitempty"`
	// Usage, if not nil, is the usage of this response so far. A delta may carry only usage. Its
	// Kind is then empty.
	Usage *Usage `json:"usage,omitempty"`
	// Whole, if not nil, is the completed part as it will be in the message. If the response is cut
	// off later, the run keeps the part. Models set Whole for parts that deltas cannot express,
	// such as signed thinking. If Kind is empty, the part had no earlier deltas, like an opaque
	// part.
	Whole *Part `json:"whole,omitempty"`
}

// Func returns a Model that calls generate. Use it for tests, wrappers and models that run in the
// process.
func Func(info Info, generate func(ctx context.Context, req *Request, sink Sink) (*Message, error)) Model {
	return funcModel{info, generate}
}

type funcModel struct {
	info     Info
	generate func(ctx context.Context, req *Request, sink Sink) (*Message, error)
}

func (m funcModel) Info() Info { return m.info }

func (m funcModel) Generate(ctx context.Context, req *Request, sink Sink) (*Message, error) {
	return m.generate(ctx, req, sink)
}
