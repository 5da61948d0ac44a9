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

// Profile describes what a model supports. To change it, modify the profile that [ProfileFor]
// returns and set [Config.Profile].
type Profile struct {
	// ContextWindow is the default of [Config.ContextWindow].
	ContextWindow int
	// NativeOutput is [model.Info.NativeOutput]: the model can constrain its text to a JSON schema.
	NativeOutput bool
	// OutputWithTools reports that it can do so in a request that also offers tools.
	OutputWithTools bool
	// StrictTools reports that the model supports the mode VALIDATED, in which calls match the
	// tools' schemas. It is used if every tool of a request is strict and the tool choice is auto.
	StrictTools bool
	// NativeTools reports that the model has Google Search and reads URLs itself. NativeWithTools
	// reports that it does so in requests that also offer tools, which [model.Info.NativeSearch]
	// and [model.Info.NativeFetch] require.
	NativeTools, NativeWithTools bool
	// RequireSignatures reports that the model returns an error for a history in which the first
	// call of a response has no signature, as is the case for other providers' calls. They are sent
	// with the marker that Google's documentation recommends.
	RequireSignatures bool
	// Thinking maps each level of [model.Settings.Thinking] to a thinkingConfig. Other levels are
	// errors.
	Thinking map[string]genai.ThinkingConfig
	// Media is [model.Info.Media]. MediaURLs is [model.Info.MediaURLs]. URLs of YouTube videos and
	// of the Files API can always be sent.
	Media, MediaURLs []string
}

// ProfileFor returns the profile of a model by its name. An unknown name is treated as one of the
// newest models. The result shares no memory with other results.
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
		p.StrictTools, p.NativeTools = true, true
		p.Thinking = thinkingBudgets(!strings.Contains(name, "pro"))
		p.NativeOutput = !strings.Contains(name, "image")
	default:
		p.OutputWithTools, p.StrictTools, p.RequireSignatures = true, true, true
		p.NativeTools, p.NativeWithTools = true, backend != VertexAI // https://ai.google.dev/gemini-api/docs/tool-combination
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

// contextWindow returns the documented context window of a text model, or 0. Models for images,
// speech and audio have others.
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

// knowsMinimal reports whether the documented levels of a model of Gemini 3 or later start at
// "minimal" rather than "low". Those of Pro start at "low", and since 3.7 those of Flash, but not
// of Flash-Lite.
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

// thinkingLevels returns the levels of Gemini 3 and later, whose thinking cannot be turned off.
func thinkingLevels() map[string]genai.ThinkingConfig {
	return map[string]genai.ThinkingConfig{
		"minimal": {IncludeThoughts: true, ThinkingLevel: genai.ThinkingLevelMinimal},
		"low":     {IncludeThoughts: true, ThinkingLevel: genai.ThinkingLevelLow},
		"medium":  {IncludeThoughts: true, ThinkingLevel: genai.ThinkingLevelMedium},
		"high":    {IncludeThoughts: true, ThinkingLevel: genai.ThinkingLevelHigh},
	}
}

// thinkingBudgets returns the levels of Gemini 2.5, with the budgets in tokens that Google's own
// OpenAI-compatible endpoint uses.
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
