// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/internal/nearest"
)

// homes are the packages that bring Ponte's own providers. A test in internal/providers compares it with what they register.
var homes = map[string]string{
	"anthropic": "anthropicmodel",
	"google":    "geminimodel", "vertex": "geminimodel",
	"azure": "openaimodel", "bedrock": "openaimodel", "cerebras": "openaimodel", "deepseek": "openaimodel", "fireworks": "openaimodel",
	"groq": "openaimodel", "huggingface": "openaimodel", "llamacpp": "openaimodel", "lmstudio": "openaimodel", "mistral": "openaimodel",
	"nvidia": "openaimodel", "ollama": "openaimodel", "openai": "openaimodel", "openai-responses": "openaimodel",
	"openrouter": "openaimodel", "together": "openaimodel", "vllm": "openaimodel", "xai": "openaimodel",
}

// aliases are what people call a provider who think of its models, or who come from another library.
var aliases = map[string]string{
	"claude": "anthropic", "gemini": "google", "googleai": "google", "gpt": "openai", "chatgpt": "openai", "grok": "xai",
	"vertexai": "vertex", "aws": "bedrock", "azureopenai": "azure", "hf": "huggingface", "togetherai": "together",
}

// families tell by its beginning whose a model is.
var families = []struct{ prefix, provider string }{
	{"gpt-oss", "ollama"}, // which OpenAI does not serve itself
	{"gpt-", "openai"}, {"chatgpt-", "openai"}, {"o1", "openai"}, {"o3", "openai"}, {"o4", "openai"},
	{"claude-", "anthropic"}, {"gemini-", "google"}, {"deepseek-", "deepseek"}, {"grok-", "xai"},
	{"mistral-", "mistral"}, {"magistral-", "mistral"}, {"codestral-", "mistral"}, {"devstral-", "mistral"},
}

// unknownProvider explains a string whose provider is not registered.
func unknownProvider(ref, provider, name string) error {
	if home := homes[provider]; home != "" && name != "" {
		return fmt.Errorf("model: %q: %w in this program: import _ \"github.com/ponte-go/ponte/agent/model/%s\"", ref, ErrUnknownProvider, home)
	}
	if hint := meant(ref, provider, name); hint != "" {
		return fmt.Errorf("model: %q: %w; did you mean %s?", ref, ErrUnknownProvider, hint)
	}
	hint := "import the package of one, such as _ \"github.com/ponte-go/ponte/agent/model/openaimodel\""
	if known := registered(); len(known) > 0 {
		hint = "known are " + strings.Join(known, ", ")
	}
	return fmt.Errorf("model: %q: %w; write provider:name; %s", ref, ErrUnknownProvider, hint)
}

// meant guesses the string that was meant, or returns nothing.
func meant(ref, provider, name string) string {
	known := registered()
	for home := range homes {
		if !slices.Contains(known, home) {
			known = append(known, home)
		}
	}
	slices.Sort(known)
	if name == "" { // a model, or a provider, alone
		if of := familyOf(provider); of != "" {
			return of + ":" + provider
		}
		// Other libraries write "openai/gpt-5". The names of some models have a slash themselves.
		if vendor, rest, slash := strings.Cut(provider, "/"); slash && slices.Contains(known, vendor) && rest != "" {
			return vendor + ":" + rest
		}
		if of := providerLike(provider, known); of != "" {
			return of + ":name"
		}
		return ""
	}
	of := providerLike(provider, known)
	switch {
	case isTag(name) && (of == "" || strings.ContainsAny(provider, "0123456789")): // no provider's name has digits
		return "ollama:" + ref
	case of != "":
		return of + ":" + name
	}
	return ""
}

// familyOf suggests the provider of a model.
func familyOf(name string) string {
	for _, f := range families {
		if strings.HasPrefix(strings.ToLower(name), f.prefix) {
			return f.provider
		}
	}
	return ""
}

// providerLike suggests the known provider that was meant.
func providerLike(name string, known []string) string {
	plain := strings.NewReplacer("-", "", "_", "", " ", "", ".", "").Replace(strings.ToLower(name))
	if of := aliases[plain]; of != "" {
		return of
	}
	return nearest.Of(name, slices.Values(known))
}

// isTag reports whether name looks like what comes after the colon in Ollama's names: "latest", "8b", "30b-a3b-q4_K_M".
func isTag(name string) bool {
	digits := strings.TrimLeft(name, "0123456789.")
	return name == "latest" || digits != name && (strings.HasPrefix(digits, "b") || strings.HasPrefix(digits, "m"))
}
