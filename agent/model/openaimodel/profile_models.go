// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"encoding/json"
	"path"
	"slices"
)

// modelFact says what models refuse that other models of their provider take. The first that matches a name counts.
type modelFact struct {
	provider string
	// pattern is one of [path.Match].
	pattern string
	// unsupported fields, beside the provider's.
	unsupported []string
	// thinking levels that are left; others are refused, which is better than a setting that a server drops.
	thinking []string
	// never says that the model cannot think: to tell it not to, nothing is sent.
	never bool
}

// modelFacts hold what the providers document, or answer, of the models that are asked most. Sources: the guides "Reasoning"
// and "Using GPT-5" and the reference "Create chat completion" of OpenAI; pydantic-ai, profiles/openai.py, a matrix that was
// measured; LiteLLM, which lists stop for GPT-5; @ai-sdk/openai for GPT-6. "Reasoning" of xAI, and @ai-sdk/xai. What depends on
// another setting of the same request is left to the server: from GPT-5.1 on, temperature and top_p are taken only while the
// model does not think.
var modelFacts = []modelFact{
	{provider: "openai", pattern: "gpt-5-chat*", never: true},
	{provider: "openai", pattern: "gpt-5.*-chat*", unsupported: alwaysThinks, thinking: []string{"medium"}},
	{provider: "openai", pattern: "gpt-5.*", thinking: []string{"off", "low", "medium", "high"}},
	{provider: "openai", pattern: "gpt-5*", unsupported: alwaysThinks, thinking: []string{"minimal", "low", "medium", "high"}},
	{provider: "openai", pattern: "gpt-6-[sl]*", unsupported: []string{"temperature", "top_p"}, thinking: []string{"off", "low", "medium", "high"}},
	{provider: "openai", pattern: "gpt-6*", unsupported: []string{"temperature", "top_p"}, thinking: []string{"low", "medium", "high"}},
	{provider: "openai", pattern: "o[134]*", unsupported: alwaysThinks, thinking: []string{"low", "medium", "high"}},
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

// alwaysThinks are the fields that OpenAI's models refuse while they think, and that those refuse which always do.
var alwaysThinks = []string{"temperature", "top_p", "stop"}

// ForModel narrows the profile of OpenAI or xAI to what is known of one of their models: the reasoning models of OpenAI, for
// example, take no temperature. Of other models and providers nothing is known, and the profile is returned as it is. [New] does
// this with a profile that it chose itself; a [Config.Profile] is taken as it is.
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

// isOpenAIs reports whether a model has a name that only OpenAI gives.
func isOpenAIs(name string) bool {
	return slices.ContainsFunc(modelFacts, func(fact modelFact) bool {
		matches, _ := path.Match(fact.pattern, name)
		return matches && fact.provider == "openai"
	})
}
