package adapter

import (
	"net/http"
	"strings"
)

// Secret is the API key, in closures: printing or reflecting on a struct that holds one shows an address.
type Secret struct {
	// Authorize sets the key as a bearer token.
	Authorize func(http.Header)
	// Redact cuts the key out of a text.
	Redact func(string) string
	// IsSet says that there is a key.
	IsSet bool
}

// NewSecret wraps key. Keys of fewer than eight characters are placeholders ("ollama", "none") and words that an
// error needs, so Redact leaves them alone.
func NewSecret(key string) Secret {
	s := Secret{
		Authorize: func(http.Header) {},
		Redact:    func(text string) string { return text },
		IsSet:     key != "",
	}
	if key != "" {
		s.Authorize = func(h http.Header) { h.Set("Authorization", "Bearer "+key) }
	}
	if len(key) >= 8 {
		s.Redact = func(text string) string { return strings.ReplaceAll(text, key, "[redacted]") }
	}
	return s
}
