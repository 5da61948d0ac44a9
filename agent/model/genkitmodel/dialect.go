// SPDX-License-Identifier: Apache-2.0

package genkitmodel

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/firebase/genkit/go/ai"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// Dialect describes how to use a Genkit plugin. The zero value suits no plugin in particular: use
// [Generic], or the dialect from the plugin's package. All functions may be nil. They are called
// concurrently for different requests, but one after the other for a single request.
type Dialect struct {
	// NativeOutput, NoForcedCalls, Media and MediaURLs are as in [model.Info]. Media that is not
	// listed is an error before the plugin is called.
	NativeOutput     bool
	NoForcedCalls    bool
	Media, MediaURLs []string

	// CallIDMax is the maximum number of letters, digits, underscores and hyphens in a call id. 0
	// means that no limit is known: the provider's own ids are sent back unchanged, and others are
	// limited to 40.
	CallIDMax int
	// Thinking reports that the plugin sends reasoning back to its provider, with its signature.
	// Otherwise thinking in the history is left out. Thinking without a signature, or of another
	// provider, is always left out.
	Thinking bool
	// RawArguments reports that the plugin accepts a [json.RawMessage] as the arguments of a call.
	// Otherwise it gets a map[string]any, in which whole numbers are int64 if they fit.
	RawArguments bool
	// ContentRequired reports that the provider does not accept blank text and messages without
	// content. They are left out.
	ContentRequired bool
	// EmptyTextEndsPart reports that empty text in a stream represents something other than text.
	// Otherwise it is ignored.
	EmptyTextEndsPart bool

	// Prepare completes the request for the plugin: configuration, tool choice, output schema. It
	// returns an error for what the provider does not support, see [Call.Accept] and
	// [Call.Unsupported]. It returns the context for the plugin. It may set the hooks of the call.
	Prepare func(ctx context.Context, c *Call) (context.Context, error)
	// Part can change how a part of the history is passed to the plugin. Out is the default, or nil
	// to leave the part out. If Part returns nil, the part is left out.
	Part func(c *Call, in *model.Part, out *ai.Part) (*ai.Part, error)
	// Result converts the text of a tool result to the value that the plugin gets. If nil, it gets
	// the text. See [JSONResult].
	Result func(text string) any
	// Schema rewrites the JSON schema of a tool's arguments, for plugins that do not support all of
	// JSON Schema. It may modify the map.
	Schema func(c *Call, schema map[string]any) (map[string]any, error)

	// Error reads an error returned by the plugin into e: Status, Code, Type, Message, RequestID
	// and RetryAfter if known, and Retryable if nothing else is known. It returns false for unknown
	// errors.
	Error func(err error, e *model.APIError) bool
}

// Call is one request to a plugin. A dialect may change Genkit and Stream in Prepare, and set the
// hooks. Finish and Recover are called when the plugin has returned.
type Call struct {
	// Info, Request and Settings describe the request. They must not be modified. Settings combines
	// those of the configuration and the request. It is never nil, and has been checked as far as
	// possible without knowing the provider.
	Info     model.Info
	Request  *model.Request
	Settings *model.Settings

	// Genkit is the request for the plugin. When Prepare is called, it contains the messages and
	// tools.
	Genkit *ai.ModelRequest
	// Stream reports whether the plugin is asked to stream. Prepare may set it to make the plugin
	// stream although there is no sink.
	Stream bool

	// OnChunk, if not nil, is called for the chunks of a stream instead of [Call.EmitChunk], on the
	// plugin's goroutine. Its error is returned to the plugin.
	OnChunk func(*ai.ModelResponseChunk) error
	// Finish, if not nil, may change the message. Resp is the response it was made from. If Finish
	// returns an error, the request fails with it. An [*model.APIError] needs no Provider and
	// Model.
	Finish func(resp *ai.ModelResponse, msg *model.Message) error
	// Recover, if not nil, is called if the plugin failed and the context has not ended. It may
	// return a message, which is passed to Finish with a nil response, or a better error. If it
	// returns neither, the plugin's error is used.
	Recover func(err error) (*model.Message, error)

	emit  func(Piece) error
	model *Model
	calls int // seen by EmitChunk
}

// Emit passes a piece of the response to the sink, if there is one, and waits until it is accepted.
// It must be called on the plugin's goroutine, and fails when the request is over. The message is
// still made from the plugin's response. What was emitted but is missing there is added.
func (c *Call) Emit(p Piece) error { return c.emit(p) }

// EmitChunk emits the text, the reasoning, and the complete calls of a chunk. Fragments of calls
// are skipped, because chunks do not tell which call they belong to. The response contains them.
func (c *Call) EmitChunk(chunk *ai.ModelResponseChunk) error {
	if chunk.Aggregated { // repeats earlier chunks, and the response contains it
		return nil
	}
	for _, p := range chunk.Content {
		if p == nil {
			continue
		}
		var piece Piece
		switch {
		case p.IsText() && p.Text == "" && !c.model.dialect.EmptyTextEndsPart:
			continue
		case p.IsText() && p.Text != "":
			piece = Piece{Kind: model.PartText, Text: p.Text}
		case p.IsReasoning():
			piece = Piece{Kind: model.PartThinking, Text: p.Text}
		case p.IsToolRequest() && p.ToolRequest != nil && !p.ToolRequest.Partial && isWhole(p.ToolRequest.Input):
			args, err := arguments(p.ToolRequest.Input)
			if err != nil {
				continue // the response has the same error
			}
			piece = Piece{Kind: model.PartToolCall, Call: c.calls, CallID: p.ToolRequest.Ref, Tool: p.ToolRequest.Name, Text: string(args)}
			c.calls++
		}
		if err := c.Emit(piece); err != nil {
			return err
		}
	}
	return nil
}

// Message makes a message from a response of the plugin, as is done before Finish. It is for hooks
// with another response.
func (c *Call) Message(resp *ai.ModelResponse) (*model.Message, error) {
	if resp == nil {
		return nil, errNoResponse
	}
	return c.model.message(resp)
}

// isWhole reports whether the arguments of a call are decoded. Fragments cannot be.
func isWhole(input any) bool {
	object, ok := input.(map[string]any)
	return ok && object != nil
}

// Unsupported returns an error that wraps [model.ErrUnsupported], for what the provider or the
// plugin does not support.
func (c *Call) Unsupported(what string) error { return adapter.Unsupported(c.Info, what) }

// Names of settings for [Call.Accept].
const (
	MaxTokens         = "max_tokens"
	Temperature       = "temperature"
	TopP              = "top_p"
	Stop              = "stop"
	Seed              = "seed"
	ParallelToolCalls = "parallel_tool_calls"
	Thinking          = "thinking"
	ServiceTier       = "service_tier"
	ExtraHeaders      = "extra_headers"
	ExtraBody         = "extra_body"
)

// Accept returns an error that wraps [model.ErrUnsupported] if a setting other than the named ones
// is set. ParallelToolCalls is always accepted if there are no tools.
func (c *Call) Accept(names ...string) error {
	s := c.Settings
	for _, setting := range []struct {
		name string
		set  bool
	}{
		{MaxTokens, s.MaxTokens != 0},
		{Temperature, s.Temperature != nil},
		{TopP, s.TopP != nil},
		{Stop, len(s.Stop) > 0},
		{Seed, s.Seed != nil},
		{ParallelToolCalls, s.ParallelToolCalls != nil && len(c.Request.Tools) > 0},
		{Thinking, s.Thinking != ""},
		{ServiceTier, s.ServiceTier != ""},
		{ExtraHeaders, len(s.ExtraHeaders) > 0},
		{ExtraBody, len(s.ExtraBody) > 0},
	} {
		if setting.set && !slices.Contains(names, setting.name) {
			return c.Unsupported("the setting " + setting.name)
		}
	}
	return nil
}

// ExtraFields returns the extra body of the settings, or nil, for an SDK that interprets names as
// paths, as those of OpenAI and Anthropic do. A name that would be a path is an error.
func (c *Call) ExtraFields() (map[string]any, error) {
	var extra map[string]any
	for name, value := range c.Settings.ExtraBody {
		if strings.ContainsFunc(name, isPathSyntax) {
			return nil, c.Unsupported(fmt.Sprintf("the name %q in Settings.ExtraBody", name))
		}
		if extra == nil {
			extra = map[string]any{}
		}
		extra[name] = value
	}
	return extra, nil
}

func isPathSyntax(r rune) bool {
	return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

// Generic returns a dialect for an unknown plugin. It is restricted to what Genkit defines: text,
// tools, [ai.GenerationCommonConfig] and [ai.ModelRequest.ToolChoice]. It accepts no media, sends
// no thinking back, and returns an error for what cannot be expressed. Change the result if you
// know more about the plugin.
func Generic() Dialect {
	return Dialect{Prepare: func(ctx context.Context, c *Call) (context.Context, error) {
		if err := c.Accept(MaxTokens, Temperature, TopP, Stop); err != nil {
			return nil, err
		}
		if s := c.Settings; s.MaxTokens != 0 || s.Temperature != nil || s.TopP != nil || len(s.Stop) > 0 {
			config := &ai.GenerationCommonConfig{MaxOutputTokens: s.MaxTokens, StopSequences: s.Stop}
			if s.Temperature != nil {
				config.Temperature = *s.Temperature
			}
			if s.TopP != nil {
				config.TopP = *s.TopP
			}
			if s.Temperature != nil && *s.Temperature == 0 || s.TopP != nil && *s.TopP == 0 {
				return nil, c.Unsupported("a temperature or top_p of 0, which Genkit's common configuration leaves out,")
			}
			c.Genkit.Config = config
		}
		return ctx, CommonToolChoice(c)
	}}
}

// CommonToolChoice sets Genkit's own tool choice, for plugins that support it. It cannot name one
// of several tools.
func CommonToolChoice(c *Call) error {
	switch choice := c.Request.ToolChoice; choice.Mode {
	case model.ToolChoiceAuto:
	case model.ToolChoiceNone:
		c.Genkit.ToolChoice = ai.ToolChoiceNone
	case model.ToolChoiceTool:
		if len(c.Request.Tools) > 1 {
			return c.Unsupported(fmt.Sprintf("a tool choice that names one of several tools (%q)", choice.Tool))
		}
		c.Genkit.ToolChoice = ai.ToolChoiceRequired
	default:
		c.Genkit.ToolChoice = ai.ToolChoiceRequired
	}
	return nil
}

// JSONResult keeps tool results that are JSON as JSON, for plugins that encode the output of tools:
// a string would become JSON in JSON. Other text becomes a JSON string.
func JSONResult(text string) any {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}
