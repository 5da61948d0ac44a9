// SPDX-License-Identifier: Apache-2.0

package geminimodel

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// Model is a model of Google's Gemini API or Vertex AI. [New] returns one. It is safe for
// concurrent use and has no state besides its configuration.
type Model struct {
	info     model.Info
	where    string
	place    [3]string // what else is in the address: version, project, location
	backend  Backend
	profile  Profile
	settings *model.Settings
	timeouts model.Timeouts
	retry    model.RetryPolicy
	send     sender
	secret   adapter.Secret
}

var _ model.Model = (*Model)(nil)

// Info implements [model.Model].
func (m *Model) Info() model.Info {
	info := m.info
	info.Media, info.MediaURLs = slices.Clone(info.Media), slices.Clone(info.MediaURLs)
	return info
}

// Identity implements [model.Identifier].
func (m *Model) Identity() string {
	return adapter.Identity(m.info, m.where, m.settings, m.place, m.backend, m.profile)
}

// String returns the model and its address, without the key.
func (m *Model) String() string {
	return fmt.Sprintf("%s %s at %s", m.info.Provider, m.info.Name, m.where)
}

// Format implements [fmt.Formatter]. Every verb prints the result of String.
func (m Model) Format(f fmt.State, _ rune) { io.WriteString(f, m.String()) }

// LogValue implements [slog.LogValuer].
func (m *Model) LogValue() slog.Value { return slog.StringValue(m.String()) }

// Generate implements [model.Model]. If sink is nil, it asks for an unstreamed response. Failures
// before the first delta are retried according to [Config.Retry].
//
// If the endpoint or the connection failed, the error is an [*model.APIError]. If the request could
// not be sent, the error wraps [model.ErrUnsupported] or describes what is wrong with the request.
// If the context ended, it wraps the context's cause. If the sink failed, it is the sink's error.
func (m *Model) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	if err := model.CheckRequests(m.info); err != nil {
		return nil, err
	}
	settings := m.settings.Merge(req.Settings)
	body, err := m.appendRequest(req, settings)
	if err != nil {
		return nil, fmt.Errorf("geminimodel: %w", err)
	}
	e := &exchange{m: m, body: body, header: extraHeaders(m.settings, req.Settings), sink: sink}
	if settings != nil {
		e.extra = settings.ExtraHeaders
	}
	return e.run(ctx)
}

// extraHeaders returns the headers of all settings. Later ones override earlier ones, ignoring the
// case of names.
func extraHeaders(all ...*model.Settings) http.Header {
	header := http.Header{}
	for _, s := range all {
		if s == nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(s.ExtraHeaders)) {
			header.Set(name, s.ExtraHeaders[name])
		}
	}
	return header
}
