package openaimodel

import (
	"net/http"
	"strings"
)

// secret is the API key, in closures: printing or reflecting on a struct that holds one shows an address.
type secret struct {
	authorize func(http.Header)
	redact    func(string) string
	isSet     bool
}

// newSecret wraps key. Keys of fewer than eight characters are placeholders ("ollama", "none") and words that an
// error needs, so redact leaves them alone.
func newSecret(key string) secret {
	s := secret{
		authorize: func(http.Header) {},
		redact:    func(text string) string { return text },
		isSet:     key != "",
	}
	if key != "" {
		s.authorize = func(h http.Header) { h.Set("Authorization", "Bearer "+key) }
	}
	if len(key) >= 8 {
		s.redact = func(text string) string { return strings.ReplaceAll(text, key, "[redacted]") }
	}
	return s
}
