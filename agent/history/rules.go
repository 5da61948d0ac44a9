package history

import "regexp"

// Rule says what is to be replaced.
type Rule struct {
	// Name says what the rule looks for, in errors and in the default replacement.
	Name string
	// Pattern finds it. It must not match the replacement.
	Pattern *regexp.Regexp
	// Replacement is what is put in its place, with $1 for what the first group matched, as in
	// [regexp.Regexp.ReplaceAllString]; empty is "[redacted NAME]".
	Replacement string
}

// secrets are patterns of keys that can be told by their form alone. The issuers chose the prefixes for that purpose.
var secrets = []struct{ name, pattern, replacement string }{
	{"private key", `(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----.*?(-----END [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----|\z)`, ""},
	{"AWS key id", `\b(AKIA|ASIA)[0-9A-Z]{16}\b`, ""},
	{"GitHub token", `\b(gh[opsur]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})`, ""},
	{"GitLab token", `\bglpat-[A-Za-z0-9_-]{20,}`, ""},
	{"Slack token", `\bxox[abeoprs]-[A-Za-z0-9-]{10,}`, ""},
	{"Stripe key", `\b[rs]k_(live|test)_[A-Za-z0-9]{16,}`, ""},
	{"API key", `\bsk-[A-Za-z0-9_-]{20,}`, ""},
	{"Google API key", `\bAIza[0-9A-Za-z_-]{35}`, ""},
	{"npm token", `\bnpm_[A-Za-z0-9]{36}`, ""},
	{"Hugging Face token", `\bhf_[A-Za-z0-9]{30,}`, ""},
	{"JWT", `\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`, ""},
	{"authorization", `(?i)\b(authorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+)[A-Za-z0-9._~+/=-]{8,}`, "${1}[redacted authorization]"},
	{"password in a URL", `(?i)\b([a-z][a-z0-9+.-]*://[^\s/:@"']*):[^\s/@"']+@`, "${1}:[redacted password]@"},
}

// Secrets returns rules for what can be told by its form to be a secret: private keys, the keys and tokens of well-known
// services, JSON web tokens, authorization headers, passwords in URLs. A password that stands by itself has no form.
func Secrets() []Rule {
	rules := make([]Rule, len(secrets))
	for i, s := range secrets {
		rules[i] = Rule{Name: s.name, Pattern: regexp.MustCompile(s.pattern), Replacement: s.replacement}
	}
	return rules
}

// Emails returns a rule for e-mail addresses.
func Emails() Rule {
	return Rule{Name: "e-mail address", Pattern: regexp.MustCompile(`\b[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b`)}
}
