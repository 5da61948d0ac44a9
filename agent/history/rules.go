// SPDX-License-Identifier: Apache-2.0

package history

import "regexp"

// Rule describes text to replace.
type Rule struct {
	// Name identifies the rule in errors and in the default replacement.
	Name string
	// Pattern finds it. It must match no replacement, neither this rule's nor another's.
	Pattern *regexp.Regexp
	// Replacement replaces a match, with $1 for the text of the first group, as in
	// [regexp.Regexp.ReplaceAllString]; empty is "[redacted NAME]".
	Replacement string
	// Hint is a text that every match of Pattern contains, if there is one. Texts without it are
	// skipped, about a hundred times as fast as matching the pattern.
	Hint string
}

// secrets can be recognised by their form alone. Issuers chose the prefixes for that purpose.
var secrets = []struct{ name, hint, pattern, replacement string }{
	{"private key", "PRIVATE KEY", `(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----.*?(-----END [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----|\z)`, ""},
	{"AWS key id", "AKIA", `\bAKIA[0-9A-Z]{16}\b`, ""},
	{"AWS key id", "ASIA", `\bASIA[0-9A-Z]{16}\b`, ""},
	{"GitHub token", "ghp_", `\bghp_[A-Za-z0-9]{36,}`, ""},
	{"GitHub token", "gho_", `\bgho_[A-Za-z0-9]{36,}`, ""},
	{"GitHub token", "ghu_", `\bghu_[A-Za-z0-9]{36,}`, ""},
	{"GitHub token", "ghs_", `\bghs_[A-Za-z0-9]{36,}`, ""},
	{"GitHub token", "ghr_", `\bghr_[A-Za-z0-9]{36,}`, ""},
	{"GitHub token", "github_pat_", `\bgithub_pat_[A-Za-z0-9_]{22,}`, ""},
	{"GitLab token", "glpat-", `\bglpat-[A-Za-z0-9_-]{20,}`, ""},
	{"Slack token", "xox", `\bxox[abeoprs]-[A-Za-z0-9-]{10,}`, ""},
	{"Stripe key", "k_live_", `\b[rs]k_live_[A-Za-z0-9]{16,}`, ""},
	{"Stripe key", "k_test_", `\b[rs]k_test_[A-Za-z0-9]{16,}`, ""},
	{"API key", "sk-", `\bsk-[A-Za-z0-9_-]{20,}`, ""}, // OpenAI, Anthropic, OpenRouter, DeepSeek and others
	{"Google API key", "AIza", `\bAIza[0-9A-Za-z_-]{35}`, ""},
	{"npm token", "npm_", `\bnpm_[A-Za-z0-9]{36}`, ""},
	{"Hugging Face token", "hf_", `\bhf_[A-Za-z0-9]{30,}`, ""},
	{"JWT", "eyJ", `\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`, ""},
	{"authorization", "uthorization", `\b([Aa]uthorization["']?\s*[:=]\s*["']?(?i:bearer|basic|token)\s+)[A-Za-z0-9._~+/=-]{8,}`, "${1}[redacted authorization]"},
	{"password in a URL", "://", `(?i)\b([a-z][a-z0-9+.-]*://[^\s/:@"']*):[^\s/@"']+@`, "${1}:[redacted password]@"},
}

// Secrets returns rules for secrets that can be recognised by their form: private keys, the keys
// and tokens of well-known services, JSON web tokens, authorization headers, passwords in URLs. A
// password that stands by itself has no form.
func Secrets() []Rule {
	rules := make([]Rule, len(secrets))
	for i, s := range secrets {
		rules[i] = Rule{Name: s.name, Hint: s.hint, Pattern: regexp.MustCompile(s.pattern), Replacement: s.replacement}
	}
	return rules
}

// Emails returns a rule for e-mail addresses.
func Emails() Rule {
	return Rule{
		Name: "e-mail address", Hint: "@",
		Pattern: regexp.MustCompile(`\b[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b`),
	}
}
