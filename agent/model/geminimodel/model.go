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

// Model is a model of Google's Gemini API or Vertex AI. Make one with [New]. It is safe for concurrent use and has no state
// beside its configuration.
type Model struct {
	info     model.Info
	where    string
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

// String names the model and where it is, without the key.
func (m *Model) String() string {
	return fmt.Sprintf("%s %s at %s", m.info.Provider, m.info.Name, m.where)
}

// Format implements [fmt.Formatter]: every verb prints what String returns.
func (m *Model) Format(f fmt.State, _ rune) { io.WriteString(f, m.String()) }

// LogValue implements [slog.LogValuer].
func (m *Model) LogValue() slog.Value { return slog.StringValue(m.String()) }

// Generate implements [model.Model]. With a nil sink it asks for an unstreamed answer. What fails before the first
// delta is retried as [Config.Retry] says.
//
// An error is an [*model.APIError] if the endpoint or the way to it failed. It wraps [model.ErrUnsupported], or
// describes what is wrong with the request, if the request was not sent; it wraps the context's cause if the context
// ended; and it is the sink's own if the sink failed.
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
	return e.run(ctx)
}

// extraHeaders returns the headers of all settings, of which the later ones win, however their names are written.
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
