// SPDX-License-Identifier: Apache-2.0

package anthropicmodel

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Profile describes what a model takes, as data. To change one switch, change the profile that [ProfileFor] returns and
// set it as [Config.Profile].
type Profile struct {
	// MaxTokens is sent as max_tokens, which the API requires, where the settings do not say.
	MaxTokens int
	// ContextWindow is the default of [Config.ContextWindow].
	ContextWindow int
	// NativeOutput is [model.Info.NativeOutput]: output_config.format takes a JSON schema.
	NativeOutput bool
	// Strict sends the strict flag of tools where it is set. Without it the flag is left out.
	Strict bool
	// Thinking has what is sent for each level of [model.Settings.Thinking]; other levels are refused. The level "" is
	// what is sent where the settings do not say; without it nothing is.
	Thinking map[string]Thinking
	// DropStaleThinking asks the provider to leave out thinking whose conversation was changed since, such as by other
	// instructions or a shortened history, where it would refuse the request.
	DropStaleThinking bool
	// Sampling says which of temperature and top_p the model takes.
	Sampling Sampling
	// ForcedTools says when a tool choice may demand a call.
	ForcedTools ForcedTools
	// SystemMessages says that a system prompt may stand within the conversation.
	SystemMessages bool
	// Media is [model.Info.Media]. This package can send "image" (PNG, JPEG, GIF, WebP), "application/pdf" and
	// "text/plain". MediaURLs is [model.Info.MediaURLs].
	Media, MediaURLs []string
}

// Thinking is how a model is asked to think. The zero value sends nothing.
type Thinking struct {
	// Type is thinking.type: "adaptive", "enabled", "disabled" or "between_tools"; nothing is sent if it is empty.
	Type string
	// Budget is thinking.budget_tokens for the type "enabled": at least 1024. It must be lower than max_tokens: one that
	// is not is lowered to half of that, and the request is refused if that is below 1024.
	Budget int
	// Display is thinking.display: "summarized" or "omitted".
	Display string
	// Effort is output_config.effort.
	Effort string
}

// thinks reports whether the model does.
func (t Thinking) thinks() bool { return t.Type == "adaptive" || t.Type == "enabled" }

// minBudget is the lowest thinking.budget_tokens that the API takes.
const minBudget = 1024

// thinkingBindingBeta is the beta that [Profile.DropStaleThinking] needs.
const thinkingBindingBeta = "thinking-binding-controls-2026-08-01"

// Sampling says which settings of sampling a model takes. While it thinks with a budget or adaptively, a model that takes
// them takes only top_p from 0.95 to 1.
type Sampling string

const (
	// SamplingNone refuses both. It is the empty string.
	SamplingNone Sampling = ""
	// SamplingOne takes one of them.
	SamplingOne Sampling = "one"
	// SamplingBoth takes both.
	SamplingBoth Sampling = "both"
)

// ForcedTools says when a tool choice may demand a call.
type ForcedTools string

const (
	// ForcedToolsNever refuses it. It is the empty string.
	ForcedToolsNever ForcedTools = ""
	// ForcedToolsUnthinking takes it while the model does not think.
	ForcedToolsUnthinking ForcedTools = "unthinking"
	// ForcedToolsAlways takes it.
	ForcedToolsAlways ForcedTools = "always"
)

func (p *Profile) check() error {
	var errs []error
	problem := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("anthropicmodel: Profile."+format, args...))
	}
	if p.MaxTokens <= 0 {
		problem("MaxTokens is %d, must be positive: the API requires it", p.MaxTokens)
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
			problem("Thinking[%q].Type is %q, which is none", level, t.Type)
		case (t.Type == "enabled") != (t.Budget != 0) || t.Budget != 0 && t.Budget < minBudget:
			problem("Thinking[%q].Budget is %d: the type \"enabled\" needs at least %d, others have none", level, t.Budget, minBudget)
		}
	}
	for _, kind := range slices.Concat(p.Media, p.MediaURLs) {
		if !slices.Contains([]string{"image", "application/pdf", "text/plain"}, kind) {
			problem("Media or MediaURLs has %q, which this package cannot send", kind)
		}
	}
	if slices.Contains(p.MediaURLs, "text/plain") {
		problem("MediaURLs has text/plain, which the API does not fetch")
	}
	return errors.Join(errs...)
}

func (p Profile) clone() Profile {
	p.Thinking = maps.Clone(p.Thinking)
	p.Media, p.MediaURLs = slices.Clone(p.Media), slices.Clone(p.MediaURLs)
	return p
}
