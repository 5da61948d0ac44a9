// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"encoding/json"
	"path"
	"slices"
)

// modelFact describes what models do not support although other models of their provider do. The
// first fact that matches a name is used.
type modelFact struct {
	provider string
	// pattern is a pattern for [path.Match].
	pattern string
	// unsupported lists fields in addition to the provider's.
	unsupported []string
	// thinking lists the supported levels. Other levels are errors, which is better than a setting
	// that a server ignores.
	thinking []string
	// never reports that the model cannot think. To turn thinking off, nothing is sent.
	never bool
}

// modelFacts holds what providers document, or report in errors, about common models. Sources:
// OpenAI's guides "Reasoning" and "Using GPT-5" and its reference "Create chat completion";
// pydantic-ai, profiles/openai.py, a matrix of measurements; LiteLLM, which lists stop for GPT-5;
// @ai-sdk/openai for GPT-6; xAI's "Reasoning" and @ai-sdk/xai. Limitations that depend on other
// settings are left to the server: since GPT-5.1, temperature and top_p are accepted only if the
// model does not think.
var modelFacts = []modelFact{
	{provider: "openai", pattern: "gpt-5-chat*", never: true},
	{provider: "openai", pattern: "gpt-5.*-chat*", unsupported: []string{"temperature", "top_p", "stop"}, thinking: []string{"medium"}},
	{provider: "openai", pattern: "gpt-5.*", thinking: []string{"off", "low", "medium", "high"}},
	{provider: "openai", pattern: "gpt-5*", unsupported: []string{"temperature", "top_p", "stop"}, thinking: []string{"minimal", "low", "medium", "high"}},
	{provider: "openai", pattern: "gpt-6-[sl]*", unsupported: []string{"temperature", "top_p"}, thinking: []string{"off", "low", "medium", "high"}},
	{provider: "openai", pattern: "gpt-6*", unsupported: []string{"temperature", "top_p"}, thinking: []string{"low", "medium", "high"}},
	{provider: "openai", pattern: "o[134]*", unsupported: []string{"temperature", "top_p", "stop"}, thinking: []string{"low", "medium", "high"}},
	{provider: "openai", pattern: "gpt-4*", never: true},
	{provider: "openai", pattern: "gpt-3*", never: true},
	{provider: "openai", pattern: "chatgpt-4o*", never: true},

	{provider: "xai", pattern: "*non-reasoning*", never: true},
	{provider: "xai", pattern: "grok-3-mini*", unsupported: []string{"stop"}, thinking: []string{"low", "high"}},
	{provider: "xai", pattern: "grok-3*", never: true},
	{provider: "xai", pattern: "grok-4.20-multi-agent*", unsupported: []string{"stop"}, thinking: []string{"low", "medium", "high"}},
	{provider: "xai", pattern: "grok-4.20*", unsupported: []string{"stop"}, thinking: []string{}},
	{provider: "xai", pattern: "grok-4.*", unsupported: []string{"stop"}},
	{provider: "xai", pattern: "grok-4*", unsupported: []string{"stop"}, thinking: []string{}},
	{provider: "xai", pattern: "grok-code*", unsupported: []string{"stop"}, thinking: []string{}},
	{provider: "xai", pattern: "grok-build*", unsupported: []string{"stop"}, thinking: []string{}},
}

// ForModel returns the profile with the known limitations of a model of OpenAI or xAI. For example,
// OpenAI's reasoning models do not accept a temperature. For other models and providers it returns
// the profile unchanged. [New] calls it for a profile that it selected itself. A [Config.Profile]
// is used as is.
func (p Profile) ForModel(name string) Profile {
	p = p.clone()
	for _, fact := range modelFacts {
		if matches, _ := path.Match(fact.pattern, name); !matches || fact.provider != p.Provider {
			continue
		}
		p.Unsupported = append(p.Unsupported, fact.unsupported...)
		if fact.thinking != nil {
			for level := range p.Thinking {
				if !slices.Contains(fact.thinking, level) {
					delete(p.Thinking, level)
				}
			}
		}
		if fact.never {
			p.Thinking = map[string]json.RawMessage{"off": json.RawMessage("{}")}
		}
		break
	}
	return p
}

// isOpenAIs reports whether the name is one that only OpenAI's models have.
func isOpenAIs(name string) bool {
	return slices.ContainsFunc(modelFacts, func(fact modelFact) bool {
		matches, _ := path.Match(fact.pattern, name)
		return matches && fact.provider == "openai"
	})
}
