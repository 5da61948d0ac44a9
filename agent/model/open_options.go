// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
)

// OpenOptions say what a model string does not. The zero value takes all from the environment. Printing or logging them
// does not show the key.
type OpenOptions struct {
	// APIKey is the key to use in place of the environment's.
	APIKey string
	// BaseURL is the endpoint to use in place of the provider's, or of the environment's. The key of the environment is
	// sent there too. At an endpoint that is not the provider's own, a key may not be needed.
	BaseURL string
	// HTTPClient sends the requests; nil means the adapter's own. Its Timeout would also cut off streams.
	HTTPClient *http.Client
	// Settings are defaults that the settings of a request override one by one. May be nil.
	Settings *Settings
	// Timeouts and Retry have useful zero values.
	Timeouts Timeouts
	Retry    RetryPolicy
	// Getenv looks up environment variables; nil means [os.Getenv].
	Getenv func(name string) string
}

// Format implements [fmt.Formatter] for every verb, so that no format shows the key.
func (o OpenOptions) Format(f fmt.State, _ rune) { io.WriteString(f, o.describe()) }

// LogValue implements [slog.LogValuer] without the key.
func (o OpenOptions) LogValue() slog.Value { return slog.StringValue(o.describe()) }

// MarshalText makes encoders show what a log does: without the key.
func (o OpenOptions) MarshalText() ([]byte, error) { return []byte(o.describe()), nil }

func (o OpenOptions) describe() string {
	key, base := "no key", "the provider's URL"
	if o.APIKey != "" {
		key = "key set"
	}
	if o.BaseURL != "" {
		base = "invalid base URL"
		if u, err := url.Parse(o.BaseURL); err == nil {
			base = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String() // proxies take keys in the rest
		}
	}
	return fmt.Sprintf("model.OpenOptions(%s, %s)", base, key)
}
