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

// Dialect says how one Genkit plugin must be spoken to. The zero value is right for no plugin in particular: use
// [Generic], or the dialect of the plugin's own package. All functions may be nil; they are called for many requests at
// the same time, those of one request one after the other.
type Dialect struct {
	// NativeOutput, NoForcedCalls, Media and MediaURLs are what [model.Info] says. Media that is not listed is refused
	// before the plugin sees it.
	NativeOutput     bool
	NoForcedCalls    bool
	Media, MediaURLs []string

	// CallIDMax is how many letters, digits, underscores and hyphens the id of a call may have. 0 means that no bound is
	// known: the provider's own ids go back to it as they are, and others are held to 40.
	CallIDMax int
	// Thinking says that the plugin sends reasoning back to its provider together with the signature. Otherwise thinking
	// of the history is left out, as is always what has no signature or was made by another provider.
	Thinking bool
	// RawArguments says that the plugin passes on a [json.RawMessage] as the arguments of a call. Otherwise it gets a
	// map[string]any, in which whole numbers are int64 as far as they fit.
	RawArguments bool
	// ContentRequired says that the provider refuses blank text and messages without content: they are left out.
	ContentRequired bool
	// EmptyTextEndsPart says that empty text in a stream stands for something that is no text. Otherwise it is nothing.
	EmptyTextEndsPart bool

	// Prepare completes what the plugin will be given: configuration, tool choice, output schema. It refuses what the
	// provider cannot keep, see [Call.Accept] and [Call.Unsupported], and returns the context for the plugin. It may set
	// the hooks of the call.
	Prepare func(ctx context.Context, c *Call) (context.Context, error)
	// Part has the last word on how a part of the history is shown to the plugin; out is nil if it would be left out. The
	// result nil leaves it out.
	Part func(c *Call, in *model.Part, out *ai.Part) (*ai.Part, error)
	// Result is what the plugin gets as the output of a tool, made of the text that the model is to see; the text itself
	// if nil. See [JSONResult].
	Result func(text string) any
	// Schema rewrites the JSON schema of a tool's arguments for a plugin that does not take all of JSON Schema. It may
	// change the map, which is its own.
	Schema func(c *Call, schema map[string]any) (map[string]any, error)

	// Error reads what the plugin returned as an error into e: Status, Code, Type, Message, RequestID and RetryAfter as
	// far as they are known, and Retryable if that is all there is to know. It reports false for errors that it does
	// not know.
	Error func(err error, e *model.APIError) bool
}

// Call is one request on its way through a plugin. A dialect may change Genkit and Stream in Prepare, and set the hooks.
// Finish and Recover are called when the plugin has ended.
type Call struct {
	// Info, Request and Settings are what was asked for; they are only read. Settings are those of the configuration and
	// of the request together, never nil, and have been checked as far as that is possible without knowing the provider.
	Info     model.Info
	Request  *model.Request
	Settings *model.Settings

	// Genkit is what the plugin will be given: the messages and tools are there when Prepare is called.
	Genkit *ai.ModelRequest
	// Stream says whether the plugin is asked to stream. Setting it makes it stream though nobody listens.
	Stream bool

	// OnChunk, if not nil, takes the chunks of a stream in place of [Call.EmitChunk]. It is called by the plugin, on the
	// plugin's goroutine; an error of it is returned to the plugin.
	OnChunk func(*ai.ModelResponseChunk) error
	// Finish, if not nil, has the last word on the message, and sees the response that it was made of. An error of it is
	// the error of the request; an [*model.APIError] needs no Provider and Model.
	Finish func(resp *ai.ModelResponse, msg *model.Message) error
	// Recover, if not nil, is asked when the plugin has failed and the context has not ended. It may return a message, which goes to Finish with a nil
	// response, or an error that says more; with neither, the plugin's own error stands.
	Recover func(err error) (*model.Message, error)

	emit  func(Piece) error
	model *Model
	calls int // that EmitChunk has seen
}

// Emit passes a piece of the response on to whom it is streamed to, if there is somebody, and waits until it is taken.
// It is for the goroutine on which the plugin runs, and fails when the request is over. The message is made of the
// plugin's response all the same; what it lacks of what was emitted is added to it.
func (c *Call) Emit(p Piece) error { return c.emit(p) }

// EmitChunk emits what a chunk says: text, reasoning, and calls that are whole. Fragments of calls are left to the
// response, because chunks do not say which call they belong to.
func (c *Call) EmitChunk(chunk *ai.ModelResponseChunk) error {
	if chunk.Aggregated { // it repeats what came before; the response has it anyway
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
				continue // the response has the same fault
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

// Message makes a message of a response of the plugin, as is done before Finish, for hooks that have another one.
func (c *Call) Message(resp *ai.ModelResponse) (*model.Message, error) {
	if resp == nil {
		return nil, errNoResponse
	}
	return c.model.message(resp)
}

// isWhole reports whether the arguments of a call are decoded, which fragments cannot be.
func isWhole(input any) bool {
	object, ok := input.(map[string]any)
	return ok && object != nil
}

// Unsupported is the error for what the provider, or the plugin, cannot do. It wraps [model.ErrUnsupported].
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

// Accept returns an error that wraps [model.ErrUnsupported] if a setting is set that is not among names. Whether several
// calls may be made says nothing without tools, so then it is always accepted.
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

// ExtraFields returns the extra body of the settings for an SDK that takes a name for a path, as OpenAI's and Anthropic's do: one
// that is a path is refused. It is nil if there is none.
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

// Generic returns a dialect for a plugin of which nothing is known, and which keeps to what Genkit defines: text, tools,
// [ai.GenerationCommonConfig] and [ai.ModelRequest.ToolChoice]. It takes no media, sends no thinking back, and refuses
// what these cannot say. Change the result where more is known.
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

// CommonToolChoice sets Genkit's own tool choice, for plugins that heed it. It has no way to name one of several tools.
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

// JSONResult keeps the result of a tool that is JSON what it is, for plugins that encode the output of tools: a string
// would be JSON in JSON. Other text arrives as a JSON string, in quotes.
func JSONResult(text string) any {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}
