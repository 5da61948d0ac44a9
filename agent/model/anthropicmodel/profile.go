// SPDX-License-Identifier: Apache-2.0

package anthropicmodel

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Profile describes what a model supports. To change it, modify the profile that [ProfileFor]
// returns and set [Config.Profile].
type Profile struct {
	// MaxTokens is sent as max_tokens, which the API requires, if the settings do not set it.
	MaxTokens int
	// ContextWindow is the default of [Config.ContextWindow].
	ContextWindow int
	// NativeOutput is [model.Info.NativeOutput]: output_config.format accepts a JSON schema.
	NativeOutput bool
	// Strict sends the strict flag of tools. Otherwise it is left out.
	Strict bool
	// Thinking maps each level of [model.Settings.Thinking] to what is sent for it. Other levels
	// are errors. The level "" is used if the settings do not set one. If it is missing, nothing is
	// sent.
	Thinking map[string]Thinking
	// DropStaleThinking asks the provider to leave out thinking whose preceding conversation has
	// changed, for example because of other instructions or a shortened history, instead of
	// returning an error.
	DropStaleThinking bool
	// Sampling determines which of temperature and top_p the model supports.
	Sampling Sampling
	// ForcedTools determines when a tool choice may require a call.
	ForcedTools ForcedTools
	// SystemMessages reports that a system prompt may occur within the conversation.
	SystemMessages bool
	// NativeTools is [model.Info.NativeSearch] and [model.Info.NativeFetch]: the provider has its
	// own web search and fetches pages itself. NativeCompaction is [model.Info.NativeCompaction].
	NativeTools, NativeCompaction bool
	// BasicNativeTools uses the first versions of both tools, web_search_20250305 and
	// web_fetch_20250910. Models before Claude 4.5 and some platforms, such as Google Cloud, have
	// no others.
	BasicNativeTools bool
	// Media is [model.Info.Media]. This package supports "image" (PNG, JPEG, GIF, WebP),
	// "application/pdf" and "text/plain". MediaURLs is [model.Info.MediaURLs].
	Media, MediaURLs []string
}

// Thinking holds the request parameters for a level of thinking. The zero value sends nothing.
type Thinking struct {
	// Type is thinking.type: "adaptive", "enabled", "disabled" or "between_tools". If empty, it is
	// not sent.
	Type string
	// Budget is thinking.budget_tokens for the type "enabled". It must be at least 1024, and lower
	// than max_tokens. If it is not lower, half of max_tokens is used. If that is below 1024, the
	// request is an error.
	Budget int
	// Display is thinking.display: "summarized" or "omitted".
	Display string
	// Effort is output_config.effort.
	Effort string
}

// thinks reports whether the model thinks.
func (t Thinking) thinks() bool { return t.Type == "adaptive" || t.Type == "enabled" }

// minBudget is the minimum for thinking.budget_tokens.
const minBudget = 1024

// minCompactAt is the minimum of [model.Settings.CompactAt], and compactionBeta the beta that it
// needs.
const (
	minCompactAt   = 50_000
	compactionBeta = "compact-2026-01-12"
)

// thinkingBindingBeta is the beta that [Profile.DropStaleThinking] needs.
const thinkingBindingBeta = "thinking-binding-controls-2026-08-01"

// Sampling determines which sampling settings a model supports. While it thinks with a budget or
// adaptively, it supports at most top_p from 0.95 to 1.
type Sampling string

const (
	// SamplingNone supports neither. It is the empty string.
	SamplingNone Sampling = ""
	// SamplingOne supports one of them at a time.
	SamplingOne Sampling = "one"
	// SamplingBoth supports both.
	SamplingBoth Sampling = "both"
)

// ForcedTools determines when a tool choice may require a call.
type ForcedTools string

const (
	// ForcedToolsNever does not allow it. It is the empty string.
	ForcedToolsNever ForcedTools = ""
	// ForcedToolsUnthinking allows it while the model does not think.
	ForcedToolsUnthinking ForcedTools = "unthinking"
	// ForcedToolsAlways allows it.
	ForcedToolsAlways ForcedTools = "always"
)

func (p *Profile) check() error {
	var errs []error
	problem := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("anthropicmodel: Profile."+format, args...))
	}
	if p.MaxTokens <= 0 {
		problem("MaxTokens is %d, must be positive; the API requires it", p.MaxTokens)
	}
	if p.ContextWindow < 0 {
		problem("ContextWindow is negative")
	}
	if !slices.Contains([]Sampling{SamplingNone, SamplingOne, SamplingBoth}, p.Sampling) {
		problem("Sampling is %q, must be %q, %q or empty", p.Sampling, SamplingOne, SamplingBoth)
	}
	if !slices.Contains([]ForcedTools{ForcedToolsNever, ForcedToolsUnthinking, ForcedToolsAlways}, p.ForcedTools) {
		problem("ForcedTools is %q, must be %q, %q or empty", p.ForcedTools, ForcedToolsUnthinking, ForcedToolsAlways)
	}
	for _, level := range slices.Sorted(maps.Keys(p.Thinking)) {
		t := p.Thinking[level]
		switch {
		case !slices.Contains([]string{"", "adaptive", "enabled", "disabled", "between_tools"}, t.Type):
			problem("Thinking[%q].Type is %q, which is unknown", level, t.Type)
		case (t.Type == "enabled") != (t.Budget != 0) || t.Budget != 0 && t.Budget < minBudget:
			problem("Thinking[%q].Budget is %d; it must be at least %d for the type \"enabled\", and 0 for others", level, t.Budget, minBudget)
		}
	}
	for _, kind := range slices.Concat(p.Media, p.MediaURLs) {
		if !slices.Contains([]string{"image", "application/pdf", "text/plain"}, kind) {
			problem("Media or MediaURLs contains %q, which this package does not support", kind)
		}
	}
	if slices.Contains(p.MediaURLs, "text/plain") {
		problem("MediaURLs contains text/plain, which the API does not fetch")
	}
	return errors.Join(errs...)
}

func (p Profile) clone() Profile {
	p.Thinking = maps.Clone(p.Thinking)
	p.Media, p.MediaURLs = slices.Clone(p.Media), slices.Clone(p.MediaURLs)
	return p
}
