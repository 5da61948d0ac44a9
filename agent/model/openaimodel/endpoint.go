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
)

// endpoint is a model at an address, whatever the protocol that is spoken there.
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
	// answers is what errors call an answer.
	answers string
}

// Info implements [model.Model].
func (m *endpoint) Info() model.Info {
	info := m.info
	info.Media, info.MediaURLs = slices.Clone(info.Media), slices.Clone(info.MediaURLs)
	return info
}

// String names the model and where it is, without the key and without what may be secret of the URL.
func (m *endpoint) String() string {
	return fmt.Sprintf("%s %s at %s", m.info.Provider, m.info.Name, adapter.CleanURL(m.base))
}

// Format implements [fmt.Formatter]: every verb prints what String returns.
func (m *endpoint) Format(f fmt.State, _ rune) { io.WriteString(f, m.String()) }

// LogValue implements [slog.LogValuer].
func (m *endpoint) LogValue() slog.Value { return slog.StringValue(m.String()) }

// unsupported returns an error that wraps [model.ErrUnsupported].
func (m *endpoint) unsupported(what string) error {
	return fmt.Errorf("openaimodel: %w", adapter.Unsupported(m.info, what))
}

// supports returns an error that wraps [model.ErrUnsupported] if the endpoint does not know the field.
func (m *endpoint) supports(field string) error {
	if slices.Contains(m.profile.Unsupported, field) {
		return m.unsupported("the setting " + field)
	}
	return nil
}

// send sends a request with the model's headers; extra, which has been checked, wins over them.
func (m *endpoint) send(ctx context.Context, method, path string, body []byte, extra map[string]string) (*http.Response, error) {
	u := *m.base
	u.Path += path
	var r io.Reader
	if body != nil {
		r = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), r)
	if err != nil {
		return nil, fmt.Errorf("openaimodel: %w", adapter.Cleaned(err, m.secret.Redact))
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
