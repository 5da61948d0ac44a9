// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// Secret is the API key, in closures: printing or reflecting on a struct that holds one shows an
// address.
type Secret struct {
	// Authorize sets the key as a bearer token.
	Authorize func(http.Header)
	// Redact removes the key from a text, and secrets in URLs: see [CleanText].
	Redact func(string) string
	// IsSet reports whether there is a key.
	IsSet bool
}

// shortestSecret is how long a text must be to be cut out wherever it stands. Shorter ones are
// placeholders ("ollama", "none") and words that an error needs.
const shortestSecret = 8

const redacted = "[redacted]"

// NewSecret wraps a key, and what can be secret of a base URL, which may be nil: its query and its
// user.
func NewSecret(key string, base *url.URL) Secret {
	s := Secret{Authorize: func(http.Header) {}, IsSet: key != ""}
	if key != "" {
		s.Authorize = func(h http.Header) { h.Set("Authorization", "Bearer "+key) }
	}
	secrets := append([]string{key}, secretsOf(base)...)
	secrets = slices.DeleteFunc(secrets, func(secret string) bool { return len(secret) < shortestSecret })
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // a prefix of another secret comes after it
	query := ""
	if base != nil && base.RawQuery != "" {
		query = "?" + base.RawQuery // as in "Cannot POST /v1/chat/completions?key=x"
	}
	s.Redact = func(text string) string {
		text = CleanText(text)
		if query != "" {
			text = strings.ReplaceAll(text, query, "")
		}
		for _, secret := range secrets {
			text = strings.ReplaceAll(text, secret, redacted)
		}
		return text
	}
	return s
}

// secretsOf returns the parts of a URL that may be secret, decoded and as written.
func secretsOf(u *url.URL) []string {
	if u == nil {
		return nil
	}
	var secrets []string
	for name, values := range u.Query() {
		if name == "api-version" { // Azure's, which its errors speak of
			continue
		}
		for _, value := range values {
			secrets = append(secrets, value, url.QueryEscape(value))
		}
	}
	if u.User != nil {
		password, _ := u.User.Password()
		secrets = append(secrets, u.User.Username(), password, u.User.String())
	}
	return secrets
}

// HideHeaders removes the values of extra headers from an [model.APIError] in err, because gateways
// take keys in them and quote what they refuse. Values that name a version or a beta stay: errors
// are about these.
func HideHeaders(err error, headers map[string]string) {
	failed, ok := errors.AsType[*model.APIError](err)
	if !ok {
		return
	}
	for name, value := range headers {
		if name = strings.ToLower(name); strings.Contains(name, "beta") || strings.Contains(name, "version") {
			continue
		}
		_, token, _ := strings.Cut(value, " ") // Bearer x
		redact := func(text string) string { return without(without(text, value), token) }
		failed.Message, failed.Code, failed.Type = redact(failed.Message), redact(failed.Code), redact(failed.Type)
		failed.RequestID, failed.Err = redact(failed.RequestID), Cleaned(failed.Err, redact)
	}
}

// without returns a text without a secret, and without the part of it that [Truncate] may have left
// at the end.
func without(text, secret string) string {
	if len(secret) < shortestSecret {
		return text
	}
	text = strings.ReplaceAll(text, secret, redacted)
	for n := len(secret) - 1; n >= shortestSecret/2; n-- {
		if rest, cut := strings.CutSuffix(text, secret[:n]+"…"); cut {
			return rest + redacted
		}
	}
	return text
}
