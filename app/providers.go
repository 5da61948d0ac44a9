// SPDX-License-Identifier: Apache-2.0

package app

import (
	"iter"

	"github.com/ponte-go/ponte/agent/model"
)

// defaultModels are asked if there is a key for their provider, and no -model. Names without a date
// stay the longest.
var defaultModels = map[string]string{
	"openai":     "gpt-5-mini",
	"anthropic":  "claude-sonnet-4-5",
	"google":     "gemini-2.5-flash",
	"openrouter": "openrouter/auto",
	"mistral":    "mistral-medium-latest",
	"deepseek":   "deepseek-chat",
	"groq":       "openai/gpt-oss-120b",
}

// keyVariables iterates over the providers of this program that have a default model, openai first,
// and the variables of their keys.
func keyVariables() iter.Seq2[string, string] {
	return func(yield func(provider, variable string) bool) {
		for provider, driver := range model.Providers() {
			if provider == "openai" && !yield(provider, driver.Env[0]) {
				return
			}
		}
		for provider, driver := range model.Providers() {
			if provider != "openai" && defaultModels[provider] != "" && !yield(provider, driver.Env[0]) {
				return
			}
		}
	}
}
