// SPDX-License-Identifier: Apache-2.0

package geminimodel

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/genai"
)

// Profile says what a model can do, as data. To change one switch, change the profile that [ProfileFor] returns and set it
// as [Config.Profile].
type Profile struct {
	// ContextWindow is the default of [Config.ContextWindow].
	ContextWindow int
	// NativeOutput is [model.Info.NativeOutput]: the model can bind its text to a JSON schema.
	NativeOutput bool
	// OutputWithTools says that it can do so in a request that also offers tools.
	OutputWithTools bool
	// StrictTools says that the model knows the mode VALIDATED, in which calls keep the tools' schemas. It is used when
	// every tool of a request is strict and the choice is left to the model.
	StrictTools bool
	// RequireSignatures says that the model refuses a history in which a response's first call has no signature, as calls of
	// other providers have none. They are sent with the mark that Google's documentation gives for that.
	RequireSignatures bool
	// Thinking has the thinkingConfig of each level of [model.Settings.Thinking]. Other levels are refused.
	Thinking map[string]genai.ThinkingConfig
	// Media is [model.Info.Media], MediaURLs is [model.Info.MediaURLs]. The URLs of YouTube videos and of the Files API can
	// always be sent.
	Media, MediaURLs []string
}

// ProfileFor returns the profile of a model by its name. What is not known as an older model is taken for one of the
// newest. The result shares nothing with other results.
func ProfileFor(backend Backend, name string) Profile {
	name = strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
	p := Profile{
		NativeOutput: true,
		Media:        []string{"image", "audio", "video", "application/pdf", "text/plain"},
	}
	p.ContextWindow = contextWindow(name)
	old := strings.HasPrefix(name, "gemini-1") || strings.HasPrefix(name, "gemini-2.0") || strings.HasPrefix(name, "gemma") ||
		strings.HasPrefix(name, "learnlm")
	switch {
	case old:
	case strings.HasPrefix(name, "gemini-2"):
		p.StrictTools = true
		p.Thinking = thinkingBudgets(!strings.Contains(name, "pro"))
		p.NativeOutput = !strings.Contains(name, "image")
	default:
		p.OutputWithTools, p.StrictTools, p.RequireSignatures = true, true, true
		p.Thinking = thinkingLevels()
		if !knowsMinimal(name) {
			delete(p.Thinking, "minimal")
		}
		if strings.HasPrefix(name, "gemini-3-pro") {
			delete(p.Thinking, "medium")
		}
	}
	switch {
	case backend == VertexAI:
		p.MediaURLs = slices.Clone(p.Media)
	case !old: // https://ai.google.dev/gemini-api/docs/file-input-methods
		p.MediaURLs = []string{"image", "application/pdf", "text/plain"}
	}
	return p
}

// contextWindow returns the documented one of a model for text, or 0. Those for images, speech and sound have others.
func contextWindow(name string) int {
	for _, other := range []string{"image", "tts", "audio", "live"} {
		if strings.Contains(name, other) {
			return 0
		}
	}
	for _, known := range []string{"gemini-3", "gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.0-flash", "gemini-1.5-flash"} {
		if strings.HasPrefix(name, known) {
			return 1 << 20
		}
	}
	if strings.HasPrefix(name, "gemini-1.5-pro") {
		return 2 << 20
	}
	return 0
}

// knowsMinimal reports whether the documented levels of a model of Gemini 3 or later begin at "minimal" rather than at "low", as
// those of Pro do, and since 3.7 those of Flash, but not of Flash-Lite.
func knowsMinimal(name string) bool {
	switch version := flashVersion.FindStringSubmatch(name); {
	case strings.Contains(name, "-lite"):
		return true
	case strings.Contains(name, "-pro"), name == "gemini-flash-latest":
		return false
	case version == nil:
		return true
	default:
		major, _ := strconv.Atoi(version[1])
		minor, _ := strconv.Atoi(version[2])
		return major == 3 && minor < 7
	}
}

var flashVersion = regexp.MustCompile(`^gemini-(\d{1,3})(?:\.(\d{1,3}))?-flash`)

// thinkingLevels are those of Gemini 3 and later, which cannot be told not to think.
func thinkingLevels() map[string]genai.ThinkingConfig {
	return map[string]genai.ThinkingConfig{
		"minimal": {IncludeThoughts: true, ThinkingLevel: genai.ThinkingLevelMinimal},
		"low":     {IncludeThoughts: true, ThinkingLevel: genai.ThinkingLevelLow},
		"medium":  {IncludeThoughts: true, ThinkingLevel: genai.ThinkingLevelMedium},
		"high":    {IncludeThoughts: true, ThinkingLevel: genai.ThinkingLevelHigh},
	}
}

// thinkingBudgets are the tokens of Gemini 2.5 by which Google's own OpenAI-compatible endpoint translates levels.
func thinkingBudgets(canTurnOff bool) map[string]genai.ThinkingConfig {
	levels := map[string]genai.ThinkingConfig{}
	for level, tokens := range map[string]int32{"minimal": 1024, "low": 1024, "medium": 8192, "high": 24_576} {
		levels[level] = genai.ThinkingConfig{IncludeThoughts: true, ThinkingBudget: &tokens}
	}
	if canTurnOff {
		levels["off"] = genai.ThinkingConfig{ThinkingBudget: new(int32)}
	}
	return levels
}

func (p *Profile) clone() Profile {
	c := *p
	c.Thinking = maps.Clone(p.Thinking)
	c.Media, c.MediaURLs = slices.Clone(p.Media), slices.Clone(p.MediaURLs)
	return c
}
