// SPDX-License-Identifier: Apache-2.0

package local

import (
	"slices"
	"strings"
)

// secretNames are the names of variables that commands do not get. "*" matches any text.
var secretNames = []string{
	"*_API_KEY", "*_APIKEY", "*_ACCESS_KEY", "*_SECRET_KEY", "*_PRIVATE_KEY", "*_SIGNING_KEY", "*_ENCRYPTION_KEY", "*_KEY_ID",
	"*_TOKEN", "*_SECRET", "*_PASSWORD", "*_PASSWD", "*_PASSPHRASE", "*_CREDENTIALS", "*_API_KEYS", "*_TOKENS", "*_SECRETS",
	"*_KEY_BASE64", "*_SECRET_*", "*_CONNECTION_STRING", "*_DSN",
	"API_KEY", "APIKEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "DATABASE_URL", "PGPASSWORD", "MYSQL_PWD", "REDISCLI_AUTH",
	"OPENAI_*", "ANTHROPIC_*", "GEMINI_*", "GOOGLE_API_*", "GOOGLE_APPLICATION_CREDENTIALS", "AZURE_OPENAI_*", "MISTRAL_*", "GROQ_*",
	"DEEPSEEK_*", "OPENROUTER_*", "TOGETHER_*", "FIREWORKS_*", "CEREBRAS_*", "XAI_*", "NVIDIA_API_*", "COHERE_*", "PERPLEXITY_*",
	"OLLAMA_API_*", "VLLM_API_*", "LLAMA_API_*", "HF_TOKEN*", "HUGGING*_TOKEN*", "AWS_BEARER_*",
}

// Secret reports whether a variable of this name is kept from commands: its name ends like the
// names of keys, tokens and passwords (_API_KEY, _TOKEN, _SECRET, _PASSWORD and the like), or
// begins like the names of a model's provider (OPENAI_, ANTHROPIC_ and so on). Case makes no
// difference. A list of names cannot know every secret: what must stay secret is better not in the
// environment.
func Secret(name string) bool {
	return slices.ContainsFunc(secretNames, func(pattern string) bool { return matches(pattern, name) })
}

// withoutSecrets returns the environment without what looks like a secret and is not to be passed.
func withoutSecrets(env, pass []string) []string {
	kept := make([]string, 0, len(env))
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		if !Secret(name) || slices.ContainsFunc(pass, func(pattern string) bool { return matches(pattern, name) }) {
			kept = append(kept, e)
		}
	}
	return kept
}

// matches reports whether a name fits a pattern, in which "*" matches any text.
func matches(pattern, name string) bool {
	pattern, name = strings.ToUpper(pattern), strings.ToUpper(name)
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, first)
	if !ok {
		return false
	}
	for {
		part, more, star := strings.Cut(rest, "*")
		if !star {
			return strings.HasSuffix(name, part)
		}
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name, rest = name[i+len(part):], more
	}
}
