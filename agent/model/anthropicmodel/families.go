// SPDX-License-Identifier: Apache-2.0

package anthropicmodel

import (
	"strings"
)

// ProfileFor returns the profile of a model by its name. It understands the names of all platforms:
// "claude-opus-4-5-20251101", "anthropic/claude-opus-4.5",
// "us.anthropic.claude-opus-4-5-20251101-v1:0". A Claude model newer than this package gets the
// profile of the newest, but with everything that some of them support. Any other model gets a
// profile that supports everything except native output. The result shares no memory with other
// results.
func ProfileFor(name string) Profile {
	name = strings.ReplaceAll(strings.ToLower(name), ".", "-")
	at := strings.LastIndex(name, "claude-")
	if at < 0 {
		return Profile{
			MaxTokens: 32_000, Thinking: budgets(), Sampling: SamplingBoth, ForcedTools: ForcedToolsAlways,
			Media: allMedia(), MediaURLs: mediaURLs(),
		}
	}
	name = name[at+len("claude-"):]
	best := -1
	for i := range families {
		if f := &families[i]; isOf(name, f.prefix) && (best < 0 || len(f.prefix) > len(families[best].prefix)) {
			best = i
		}
	}
	if best < 0 {
		p := newest()
		p.NativeTools, p.NativeCompaction, p.BasicNativeTools = at == 0, at == 0, at > 0
		return p
	}
	p := families[best].profile()
	if at > 0 || strings.Contains(name, "@") { // another platform, which may not have them
		p.NativeTools, p.NativeCompaction, p.BasicNativeTools = false, false, true
	}
	p.Media, p.MediaURLs = allMedia(), mediaURLs()
	return p
}

// isOf reports whether name is prefix or starts with it.
func isOf(name, prefix string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	return ok && (rest == "" || strings.ContainsAny(rest[:1], "-@:["))
}

func allMedia() []string  { return []string{"image", "application/pdf", "text/plain"} }
func mediaURLs() []string { return []string{"image", "application/pdf"} }

// newest returns the profile of unknown Claude models.
func newest() Profile {
	p := generation5()
	p.Thinking = adaptive(&Thinking{Type: "disabled"}, true)
	p.DropStaleThinking = true
	p.Media, p.MediaURLs = allMedia(), mediaURLs()
	return p
}

// families lists the generations by the part of the name after "claude-". The longest matching
// prefix is used. The facts are from Anthropic's model pages and migration guides of November 2026.
var families = []struct {
	prefix  string
	profile func() Profile
}{
	{"3", func() Profile { return generation3(4096, nil) }},
	{"3-5", func() Profile { return generation3(8192, nil) }},
	{"3-7", func() Profile { return generation3(64_000, budgets()) }},
	{"sonnet-4", func() Profile { return generation4(64_000, SamplingBoth, false) }},
	{"opus-4", func() Profile { return generation4(32_000, SamplingBoth, false) }},
	{"opus-4-1", func() Profile { return generation4(32_000, SamplingOne, false) }},
	{"sonnet-4-5", func() Profile { return generation4(64_000, SamplingOne, true) }},
	{"haiku-4-5", func() Profile { return generation4(64_000, SamplingOne, true) }},
	{"opus-4-5", func() Profile { return generation4(64_000, SamplingOne, true) }},
	{"sonnet-4-6", generation46},
	{"opus-4-6", generation46},
	{"opus-4-7", generation47},
	{"opus-4-8", func() Profile {
		p := generation47()
		p.SystemMessages, p.ForcedTools = true, ForcedToolsAlways
		return p
	}},
	{"mythos-preview", func() Profile {
		p := generation47()
		p.Thinking = adaptive(nil, true)
		return p
	}},
	{"sonnet-5", func() Profile {
		p := generation5()
		p.Thinking = adaptive(&Thinking{Type: "disabled"}, true)
		p.SystemMessages = false // sources disagree; text of the user is better than an error
		return p
	}},
	{"opus-5", func() Profile {
		p := generation5()
		p.Thinking = adaptive(&Thinking{Type: "disabled"}, true)
		return p
	}},
	{"fable-5", generation5},
	{"mythos-5", generation5},
	{"fable-5-1", generation51},
	{"mythos-5-1", generation51},
	{"fable-5-2", generation51},
	{"mythos-5-2", generation51},
	{"opus-5-5", generation51},
	{"sonnet-5-5", func() Profile {
		p := generation51()
		p.Thinking = adaptive(&Thinking{Type: "between_tools"}, true)
		return p
	}},
	{"haiku-5-5", func() Profile {
		p := generation51()
		p.Thinking = adaptive(&Thinking{Type: "disabled"}, true)
		p.ForcedTools = ForcedToolsAlways
		return p
	}},
}

func generation3(maxTokens int, thinking map[string]Thinking) Profile {
	if thinking == nil {
		thinking = map[string]Thinking{"off": {}}
	}
	return Profile{
		MaxTokens: maxTokens, ContextWindow: 200_000, Thinking: thinking, Sampling: SamplingBoth,
		ForcedTools: ForcedToolsUnthinking,
	}
}

// generation4 thinks with budgets. Native output is supported from 4.5 on.
func generation4(maxTokens int, sampling Sampling, structured bool) Profile {
	return Profile{
		MaxTokens: maxTokens, ContextWindow: 200_000, NativeOutput: structured, Strict: structured, Thinking: budgets(),
		Sampling: sampling, ForcedTools: ForcedToolsUnthinking, NativeTools: true, BasicNativeTools: !structured,
	}
}

// generation46 decides itself how much to think.
func generation46() Profile {
	return Profile{
		MaxTokens: 64_000, ContextWindow: 1_000_000, NativeOutput: true, Strict: true, Thinking: adaptive(&Thinking{}, false),
		Sampling: SamplingOne, ForcedTools: ForcedToolsUnthinking, NativeTools: true, NativeCompaction: true,
	}
}

// generation47 supports neither budgets nor sampling settings.
func generation47() Profile {
	p := generation46()
	p.Sampling = SamplingNone
	for _, level := range []string{"xhigh", "max"} {
		p.Thinking[level] = Thinking{Type: "adaptive", Display: "summarized", Effort: level}
	}
	return p
}

// generation5 thinks by default. For some models thinking cannot be turned off.
func generation5() Profile {
	p := generation47()
	p.Thinking = adaptive(nil, true)
	p.SystemMessages, p.ForcedTools = true, ForcedToolsAlways
	return p
}

// generation51 binds its thinking to the conversation and does not support forced tools.
func generation51() Profile {
	p := generation5()
	p.DropStaleThinking, p.ForcedTools = true, ForcedToolsNever
	return p
}

// budgets returns the levels of models with a token budget for thinking.
func budgets() map[string]Thinking {
	return map[string]Thinking{
		"off":     {},
		"minimal": {Type: "enabled", Budget: 1024},
		"low":     {Type: "enabled", Budget: 4096},
		"medium":  {Type: "enabled", Budget: 10_000},
		"high":    {Type: "enabled", Budget: 24_000},
	}
}

// adaptive returns the levels of models that decide themselves how much to think, for a given
// effort. The provider has no level below "low". off turns thinking off, or is nil if that is not
// possible. always reports that the model thinks by default.
func adaptive(off *Thinking, always bool) map[string]Thinking {
	levels := map[string]Thinking{
		"minimal": {Type: "adaptive", Display: "summarized", Effort: "low"},
		"low":     {Type: "adaptive", Display: "summarized", Effort: "low"},
		"medium":  {Type: "adaptive", Display: "summarized", Effort: "medium"},
		"high":    {Type: "adaptive", Display: "summarized", Effort: "high"},
		"max":     {Type: "adaptive", Display: "summarized", Effort: "max"},
	}
	if always { // the default display is "omitted"
		levels["xhigh"] = Thinking{Type: "adaptive", Display: "summarized", Effort: "xhigh"}
		levels[""] = Thinking{Type: "adaptive", Display: "summarized"}
	}
	if off != nil {
		levels["off"] = *off
	}
	return levels
}
