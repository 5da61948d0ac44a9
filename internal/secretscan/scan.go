// SPDX-License-Identifier: Apache-2.0

// Package secretscan finds secrets in texts: keys, tokens, passwords. It applies the rules of
// gitleaks, a scanner for repositories, and some of its own. It finds what looks like a secret, and
// cannot know that a text has none.
package secretscan

import (
	"encoding/base64"
	"math"
	"regexp"
	"strings"
)

// Finding is a secret in a text.
type Finding struct {
	// Rule is the kind of the secret, such as "github-pat".
	Rule string
	// Secret is the secret itself, as it stands in the text.
	Secret string
}

// Scan returns the secrets in a text, rule by rule, each once. A text in Base64 that has a secret
// is one itself, and comes behind the others.
func Scan(text string) []Finding {
	var found []Finding
	seen := map[string]bool{}
	scan(text, func(rule, secret string) {
		if !seen[secret] {
			seen[secret] = true
			found = append(found, Finding{rule, secret})
		}
	})
	for _, encoded := range inBase64.FindAllString(text, -1) {
		scan(decoded(encoded), func(rule, _ string) {
			if !seen[encoded] {
				seen[encoded] = true
				found = append(found, Finding{rule, encoded})
			}
		})
	}
	return found
}

// scan reports what rules find in a text.
func scan(text string, found func(rule, secret string)) {
	all, global := rules()
	lower := strings.ToLower(text)
	for _, r := range all {
		if !r.mayMatch(lower) {
			continue
		}
		for _, at := range r.compiled().FindAllStringSubmatchIndex(text, -1) {
			from, to := r.secret(at)
			secret := text[from:to]
			m := match{secret, text[at[0]:at[1]], lineAround(text, at[0], at[1])}
			if secret == "" || entropy(secret) <= r.entropy && r.entropy > 0 ||
				m.allowed(global) || m.allowed(r.allow) {
				continue
			}
			found(r.id, secret)
		}
	}
}

func (r *rule) mayMatch(lower string) bool {
	for _, word := range r.keywords {
		if strings.Contains(lower, word) {
			return true
		}
	}
	return len(r.keywords) == 0
}

// secret returns where the secret is in a match: in its group, or in the first one that matches, or
// all of it.
func (r *rule) secret(at []int) (from, to int) {
	if r.group > 0 && 2*r.group < len(at) && at[2*r.group] >= 0 {
		return at[2*r.group], at[2*r.group+1]
	}
	for i := 2; i < len(at); i += 2 {
		if at[i] >= 0 && at[i+1] > at[i] {
			return at[i], at[i+1]
		}
	}
	return at[0], at[1]
}

// match is what a rule matches.
type match struct{ secret, whole, line string }

// allowed reports whether a list says that it is not a secret.
func (m *match) allowed(lists []allowlist) bool {
	for i := range lists {
		a := &lists[i]
		about := m.secret
		switch a.target {
		case "match":
			about = m.whole
		case "line":
			about = m.line
		}
		matched, stopped := false, false
		for _, expression := range a.regexes {
			matched = matched || expression.MatchString(about)
		}
		lower := strings.ToLower(m.secret)
		for _, word := range a.stops {
			stopped = stopped || strings.Contains(lower, word)
		}
		if a.all {
			if !a.paths && (matched || len(a.regexes) == 0) && (stopped || len(a.stops) == 0) {
				return true
			}
			continue
		}
		if matched || stopped {
			return true
		}
	}
	return false
}

func lineAround(text string, from, to int) string {
	begin := strings.LastIndexByte(text[:from], '\n') + 1
	if end := strings.IndexByte(text[to:], '\n'); end >= 0 {
		return text[begin : to+end]
	}
	return text[begin:]
}

// entropy returns the entropy of a text in bits for each character, by Shannon.
func entropy(text string) float64 {
	counts := map[rune]float64{}
	n := 0.0
	for _, c := range text {
		counts[c]++
		n++
	}
	sum := 0.0
	for _, k := range counts {
		sum -= k / n * math.Log2(k/n)
	}
	return sum
}

// inBase64 finds what may be Base64.
var inBase64 = regexp.MustCompile(`[A-Za-z0-9+/_-]{24,}={0,2}`)

// decoded returns what a text in Base64 says, if that is text.
func decoded(encoded string) string {
	encoded = strings.TrimRight(encoded, "=")
	encoding := base64.RawStdEncoding
	if strings.ContainsAny(encoded, "-_") {
		encoding = base64.RawURLEncoding
	}
	data, err := encoding.DecodeString(encoded)
	if err != nil {
		return ""
	}
	for _, c := range data {
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' || c > '~' {
			return ""
		}
	}
	return string(data)
}
