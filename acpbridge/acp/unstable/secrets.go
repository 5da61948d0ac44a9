// SPDX-License-Identifier: Apache-2.0

package unstable

import (
	"fmt"
	"log/slog"

	"github.com/ponte-go/ponte/internal/hide"
)

// Printing or logging a message shows no values of headers, and addresses without what may be
// secret in them. JSON has all of it, because it is what is sent.

type shownSetProviderRequest SetProviderRequest

// Format implements [fmt.Formatter]. It hides the values of Headers, and the query of BaseURL.
func (v SetProviderRequest) Format(f fmt.State, verb rune) {
	v.BaseURL, v.Headers = hide.URL(v.BaseURL), hide.Values(v.Headers)
	hide.Format(f, verb, shownSetProviderRequest(v))
}

// LogValue implements [slog.LogValuer], without secrets.
func (v SetProviderRequest) LogValue() slog.Value { return hide.Log(v) }

type shownProviderCurrentConfig ProviderCurrentConfig

// Format implements [fmt.Formatter]. It hides the query of BaseURL.
func (v ProviderCurrentConfig) Format(f fmt.State, verb rune) {
	v.BaseURL = hide.URL(v.BaseURL)
	hide.Format(f, verb, shownProviderCurrentConfig(v))
}

// LogValue implements [slog.LogValuer], without secrets.
func (v ProviderCurrentConfig) LogValue() slog.Value { return hide.Log(v) }

// LogValue implements [slog.LogValuer], without secrets.
func (v ProviderInfo) LogValue() slog.Value { return hide.Log(v) }

// LogValue implements [slog.LogValuer], without secrets.
func (v ListProvidersResponse) LogValue() slog.Value { return hide.Log(v) }

// LogValue implements [slog.LogValuer], without secrets.
func (v ForkSessionRequest) LogValue() slog.Value { return hide.Log(v) }
