// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"github.com/ponte-go/ponte/internal/hide"
)

// OpenOptions adds options to a model string. The zero value takes everything from the environment.
// The key is not shown when OpenOptions is printed or logged.
type OpenOptions struct {
	// APIKey overrides the key from the environment.
	APIKey string
	// BaseURL overrides the endpoint of the provider or the environment. The key from the
	// environment is sent to it. An endpoint other than the provider's own may not need a key.
	BaseURL string
	// HTTPClient sends the requests. If nil, the adapter's own client is used. Its Timeout would
	// also cut off streams.
	HTTPClient *http.Client
	// Settings holds defaults that the settings of a request override one by one. It may be nil.
	Settings *Settings
	// Timeouts and Retry have usable zero values.
	Timeouts Timeouts
	Retry    RetryPolicy
	// Getenv looks up environment variables. If nil, [os.Getenv] is used.
	Getenv func(name string) string
}

// Format implements [fmt.Formatter] for every verb, so the key is never shown.
func (o OpenOptions) Format(f fmt.State, _ rune) { io.WriteString(f, o.describe()) }

// LogValue implements [slog.LogValuer] without the key.
func (o OpenOptions) LogValue() slog.Value { return slog.StringValue(o.describe()) }

// MarshalText lets encoders write what a log shows, without the key.
func (o OpenOptions) MarshalText() ([]byte, error) { return []byte(o.describe()), nil }

func (o OpenOptions) describe() string {
	key, base := "no key", "the provider's URL"
	if o.APIKey != "" {
		key = "key set"
	}
	if o.BaseURL != "" {
		if base = hide.URL(o.BaseURL); base == hide.Mark { // proxies accept keys in the other parts
			base = "invalid base URL"
		}
	}
	return fmt.Sprintf("model.OpenOptions(%s, %s)", base, key)
}
