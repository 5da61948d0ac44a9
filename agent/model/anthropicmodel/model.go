// SPDX-License-Identifier: Apache-2.0

package anthropicmodel

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"slices"

	"github.com/anthropics/anthropic-sdk-go"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// Model is a model behind Anthropic's Messages API, or an endpoint that speaks it. Make one with [New]. It is safe for
// concurrent use and has no state beside its configuration.
type Model struct {
	info        model.Info
	base        *url.URL
	client      anthropic.Client
	profile     Profile
	settings    *model.Settings
	cache       Cache
	cacheTTL    anthropic.CacheControlEphemeralTTL
	betas       []string
	serverTools []json.RawMessage
	timeouts    model.Timeouts
	retry       model.RetryPolicy
	// redact cuts the keys out of a text.
	redact func(string) string
	hasKey bool
}

var _ model.Model = (*Model)(nil)

// Info implements [model.Model].
func (m *Model) Info() model.Info {
	info := m.info
	info.Media, info.MediaURLs = slices.Clone(info.Media), slices.Clone(info.MediaURLs)
	return info
}

// String names the model and where it is, without the keys.
func (m *Model) String() string {
	return fmt.Sprintf("%s %s at %s", m.info.Provider, m.info.Name, adapter.CleanURL(m.base))
}

// Format implements [fmt.Formatter]: every verb prints what String returns.
func (m *Model) Format(f fmt.State, _ rune) { io.WriteString(f, m.String()) }

// LogValue implements [slog.LogValuer].
func (m *Model) LogValue() slog.Value { return slog.StringValue(m.String()) }

// maxContinuations bounds how often a turn that the provider has paused is continued.
const maxContinuations = 10

// Generate implements [model.Model]. What fails before the first delta is retried as [Config.Retry] says. With a nil sink
// it asks for an unstreamed answer, unless the answer may be so long that the provider answers in a stream only.
//
// A turn that the provider pauses (stop reason "pause_turn", which long-running server tools cause) is continued at once, up
// to ten times; the message holds all of it and the usage of all requests.
//
// An error is an [*model.APIError] if the endpoint or the way to it failed. It wraps [model.ErrUnsupported], or describes
// what is wrong with the request, if the request was not sent; it wraps the context's cause if the context ended; and it
// is the sink's own if the sink failed.
func (m *Model) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	if err := model.CheckRequests(m.info); err != nil {
		return nil, err
	}
	settings := m.settings.Merge(req.Settings)
	if settings == nil {
		settings = &model.Settings{}
	}
	if err := check(m.info, req, settings); err != nil {
		return nil, fmt.Errorf("anthropicmodel: %w", err)
	}
	e := &exchange{m: m, settings: settings, assembly: newAssembly(m.info.Provider, sink)}
	return e.run(ctx, req)
}

// check returns what is wrong with a request for whatever model.
func check(info model.Info, req *model.Request, settings *model.Settings) error {
	if err := adapter.CheckSettings(settings); err != nil {
		return err
	}
	if err := adapter.CheckTools(req); err != nil {
		return err
	}
	if req.Output != nil && !info.NativeOutput {
		return adapter.Unsupported(info, "output bound to a JSON schema")
	}
	return nil
}
