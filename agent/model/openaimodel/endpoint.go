// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
	"github.com/ponte-go/ponte/internal/errs"
)

// endpoint is a model at an address, for either protocol.
type endpoint struct {
	info     model.Info
	base     *url.URL
	header   http.Header
	profile  Profile
	settings *model.Settings
	timeouts model.Timeouts
	retry    model.RetryPolicy
	client   *http.Client
	secret   adapter.Secret
	// answers is the term that errors use for a response.
	answers string
}

// Info implements [model.Model].
func (m *endpoint) Info() model.Info {
	info := m.info
	info.Media, info.MediaURLs = slices.Clone(info.Media), slices.Clone(info.MediaURLs)
	return info
}

// Identity implements [model.Identifier].
func (m *endpoint) Identity() string {
	address := *m.base
	address.User = nil
	return adapter.Identity(m.info, address.String(), m.settings, m.answers, m.header, m.profile)
}

// String returns the model and its address, without the key and possible secrets in the URL.
func (m *endpoint) String() string {
	return fmt.Sprintf("%s %s at %s", m.info.Provider, m.info.Name, adapter.CleanURL(m.base))
}

// Format implements [fmt.Formatter]. Every verb prints the result of String.
func (m *endpoint) Format(f fmt.State, _ rune) { io.WriteString(f, m.String()) }

// LogValue implements [slog.LogValuer].
func (m *endpoint) LogValue() slog.Value { return slog.StringValue(m.String()) }

// unsupported returns an error that wraps [model.ErrUnsupported].
func (m *endpoint) unsupported(what string) error {
	return errs.Errorf("openaimodel: %w", adapter.Unsupported(m.info, what))
}

// supports returns an error that wraps [model.ErrUnsupported] if the endpoint does not support the
// field.
func (m *endpoint) supports(field string) error {
	if slices.Contains(m.profile.Unsupported, field) {
		return m.unsupported("the setting " + field)
	}
	return nil
}

// send sends a request with the model's headers. The extra headers, which have been checked,
// override them.
func (m *endpoint) send(ctx context.Context, method, path string, body []byte, extra map[string]string) (*http.Response, error) {
	u := *m.base
	u.Path += path
	var r io.Reader
	if body != nil {
		r = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), r)
	if err != nil {
		return nil, errs.Errorf("openaimodel: %w", adapter.Cleaned(err, m.secret.Redact))
	}
	for name, values := range m.header {
		req.Header[name] = values
	}
	m.secret.Authorize(req.Header)
	for name, value := range extra {
		req.Header.Set(name, value)
	}
	resp, err := m.client.Do(req)
	if err != nil {
		return nil, m.transportError(err)
	}
	return resp, nil
}
