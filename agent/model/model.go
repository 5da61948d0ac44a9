// SPDX-License-Identifier: Apache-2.0

package model

import "context"

// Model is a language model as the run loop sees it. Implementations are safe for concurrent use.
type Model interface {
	// Info describes the model. It does no I/O and always answers the same.
	Info() Info

	// Generate sends one request and returns the model's whole response, a message of [KindResponse].
	//
	// With a nil sink the implementation may ask the provider for an unstreamed answer. With a sink it streams:
	// the sink is called on the goroutine that called Generate, in the order in which the provider sent, and never
	// after Generate has returned. An error of the sink ends the request at once and is returned unwrapped. The
	// returned message is authoritative: it says all that the deltas said, so a caller needs no joining of its own.
	//
	// Generate ends when ctx does, with an error that wraps ctx's cause. It must not change req or keep it. A
	// provider's refusal to serve the request is an [*APIError]. An implementation must not retry once a delta has
	// been passed to the sink. It returns either a message or an error, never neither.
	//
	// The message says why it ended ([Message.Finish]) and who answered. The ids of its tool calls are set and differ
	// from each other, whatever the provider sent.
	Generate(ctx context.Context, req *Request, sink Sink) (*Message, error)
}

// Info describes a model.
type Info struct {
	// Provider names who serves the model, in lower case: "openai", "ollama", "anthropic". Signatures are sent
	// back only to the provider that made them.
	Provider string
	// Name is the provider's name of the model.
	Name string
	// NativeOutput says that the provider can bind a response to a JSON schema ([Request.Output]).
	NativeOutput bool
	// NoForcedCalls says that no tool call can be demanded: requests with [ToolChoiceRequired] or [ToolChoiceTool] are
	// refused. An agent without tools then prefers NativeOutput to an output tool.
	NoForcedCalls bool
	// Media lists the kinds of input that the model takes beside text, as the top-level part of a media type
	// ("image", "audio") or a whole media type ("application/pdf").
	Media []string
	// MediaURLs lists what of Media the provider fetches itself when a part has a URL and no data. Other URLs are refused.
	MediaURLs []string
	// ContextWindow is the number of tokens that the model can take in, or 0 if unknown.
	ContextWindow int
}

// Sink takes the deltas of a streamed response. See [Model.Generate] for when it is called.
type Sink func(Delta) error

// Delta is one increment of a streamed response.
type Delta struct {
	// Part is the index of the part that grows. Indexes begin at 0 and a new part has the next higher one; parts
	// may grow interleaved. They need not be the indexes of the final message.
	Part int
	// Kind is the part's kind: [PartText], [PartThinking] or [PartToolCall].
	Kind PartKind
	// Text is what is added: text, thinking, or a fragment of the tool call's arguments.
	Text string
	// CallID and Tool identify a tool call; they are set in the first delta of its part.
	CallID, Tool string
	// Usage, if not nil, is the usage of this response so far. A delta may carry nothing else (Kind is empty then).
	Usage *Usage
	// Whole, if not nil, is the part as it will be in the message, because the provider has completed it. If the response is
	// cut off later, the run keeps the part as it is. A model says so of what deltas cannot express, such as signed thinking.
	// With an empty Kind it is a part that no delta began, such as an opaque one.
	Whole *Part
}

// Func makes a Model of a function, for tests, wrappers and models that run in the process.
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
