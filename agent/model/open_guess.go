// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/internal/nearest"
)

// homes maps Ponte's own providers to their packages. A test in internal/dev/providers compares it
// with what the packages register.
var homes = map[string]string{
	"anthropic": "anthropicmodel",
	"google":    "geminimodel", "vertex": "geminimodel",
	"azure": "openaimodel", "bedrock": "openaimodel", "cerebras": "openaimodel", "deepseek": "openaimodel", "fireworks": "openaimodel",
	"groq": "openaimodel", "huggingface": "openaimodel", "llamacpp": "openaimodel", "lmstudio": "openaimodel", "mistral": "openaimodel",
	"nvidia": "openaimodel", "ollama": "openaimodel", "openai": "openaimodel", "openai-responses": "openaimodel",
	"openrouter": "openaimodel", "together": "openaimodel", "vllm": "openaimodel", "xai": "openaimodel",
}

// aliases maps other common names to providers: names of models, and names used by other libraries.
var aliases = map[string]string{
	"claude": "anthropic", "gemini": "google", "googleai": "google", "gpt": "openai", "chatgpt": "openai", "grok": "xai",
	"vertexai": "vertex", "aws": "bedrock", "azureopenai": "azure", "hf": "huggingface", "togetherai": "together",
}

// families maps prefixes of model names to providers.
var families = []struct{ prefix, provider string }{
	{"gpt-oss", "ollama"}, // not served by OpenAI itself
	{"gpt-", "openai"}, {"chatgpt-", "openai"}, {"o1", "openai"}, {"o3", "openai"}, {"o4", "openai"},
	{"claude-", "anthropic"}, {"gemini-", "google"}, {"deepseek-", "deepseek"}, {"grok-", "xai"},
	{"mistral-", "mistral"}, {"magistral-", "mistral"}, {"codestral-", "mistral"}, {"devstral-", "mistral"},
}

// unknownProvider returns the error for a string whose provider is not registered.
func unknownProvider(ref, provider, name string) error {
	if home := homes[provider]; home != "" && name != "" {
		return fmt.Errorf("model: %q: %w in this program: import _ \"github.com/ponte-go/ponte/agent/model/%s\"", ref, ErrUnknownProvider, home)
	}
	if hint := meant(ref, provider, name); hint != "" {
		return fmt.Errorf("model: %q: %w; did you mean %s?", ref, ErrUnknownProvider, hint)
	}
	hint := "import the package of one, such as _ \"github.com/ponte-go/ponte/agent/model/openaimodel\""
	if known := registered(); len(known) > 0 {
		hint = "known providers: " + strings.Join(known, ", ")
	}
	return fmt.Errorf("model: %q: %w; use provider:name; %s", ref, ErrUnknownProvider, hint)
}

// meant guesses the intended string. It returns "" if it has no guess.
func meant(ref, provider, name string) string {
	known := registered()
	for home := range homes {
		if !slices.Contains(known, home) {
			known = append(known, home)
		}
	}
	slices.Sort(known)
	if name == "" { // only a model or a provider
		if of := familyOf(provider); of != "" {
			return of + ":" + provider
		}
		// Other libraries write "openai/gpt-5". Some model names contain a slash themselves.
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
	case isTag(name) && (of == "" || strings.ContainsAny(provider, "0123456789")): // no provider's name contains digits
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

// providerLike returns the known provider most similar to the given name.
func providerLike(name string, known []string) string {
	plain := strings.NewReplacer("-", "", "_", "", " ", "", ".", "").Replace(strings.ToLower(name))
	if of := aliases[plain]; of != "" {
		return of
	}
	return nearest.Of(name, slices.Values(known))
}

// isTag reports whether name looks like the tag after the colon in Ollama's names: "latest", "8b",
// "30b-a3b-q4_K_M".
func isTag(name string) bool {
	digits := strings.TrimLeft(name, "0123456789.")
	return name == "latest" || digits != name && (strings.HasPrefix(digits, "b") || strings.HasPrefix(digits, "m"))
}
