// SPDX-License-Identifier: Apache-2.0

package anthropicmodel

import (
	"cmp"
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

// Model is a model behind Anthropic's Messages API, or an endpoint with the same protocol. [New]
// returns one. It is safe for concurrent use and has no state besides its configuration.
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
	// redact removes the keys from a text.
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

// Identity implements [model.Identifier].
func (m *Model) Identity() string {
	return adapter.Identity(m.info, adapter.CleanURL(m.base), m.settings, m.profile, m.betas, m.serverTools)
}

// String returns the model and its address, without the keys.
func (m *Model) String() string {
	return fmt.Sprintf("%s %s at %s", m.info.Provider, m.info.Name, adapter.CleanURL(m.base))
}

// Format implements [fmt.Formatter]. Every verb prints the result of String.
func (m Model) Format(f fmt.State, _ rune) { io.WriteString(f, m.String()) }

// LogValue implements [slog.LogValuer].
func (m *Model) LogValue() slog.Value { return slog.StringValue(m.String()) }

// maxContinuations limits how often a paused turn is continued.
const maxContinuations = 10

// Generate implements [model.Model]. Failures before the first delta are retried according to
// [Config.Retry]. If sink is nil, it asks for an unstreamed response, unless the response may be so
// long that the provider requires a stream.
//
// A turn that the provider pauses (stop reason "pause_turn", caused by long-running server tools)
// is continued at once, up to ten times. The message contains the whole turn and the usage of all
// requests.
//
// If the endpoint or the connection failed, the error is an [*model.APIError]. If the request could
// not be sent, the error wraps [model.ErrUnsupported] or describes what is wrong with the request.
// If the context ended, it wraps the context's cause. If the sink failed, it is the sink's error.
func (m *Model) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	if err := model.CheckRequests(m.info); err != nil {
		return nil, err
	}
	settings := m.settings.Merge(req.Settings)
	if settings == nil {
		settings = &model.Settings{}
	}
	if err := cmp.Or(check(m.info, req, settings), m.checkNative(req, settings)); err != nil {
		return nil, fmt.Errorf("anthropicmodel: %w", err)
	}
	e := &exchange{m: m, settings: settings, assembly: newAssembly(m.info.Provider, sink)}
	return e.run(ctx, req)
}

// check makes the checks that do not depend on the profile.
func check(info model.Info, req *model.Request, settings *model.Settings) error {
	if err := settings.Check(); err != nil {
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
