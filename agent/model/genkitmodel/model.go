// SPDX-License-Identifier: Apache-2.0

package genkitmodel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/firebase/genkit/go/ai"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// Config adds what Genkit does not know about a model. The zero value is valid.
type Config struct {
	// Provider and Name are as in [model.Info]. By default they are the parts of the Genkit model's
	// name before and after the first slash: "openai/gpt-5" is the model "gpt-5" of "openai".
	// Thinking is sent back only to models with the same Provider, so it should be the same for all
	// models of a provider.
	Provider, Name string
	// Dialect describes how to use the plugin. If nil, it is [Generic].
	Dialect *Dialect
	// ContextWindow is [model.Info.ContextWindow], in tokens, or 0 if unknown.
	ContextWindow int
	// Settings holds defaults that the settings of a request override one by one. It may be nil.
	Settings *model.Settings
	// Redact, if not nil, removes secrets from error messages. Plugins quote servers, and servers
	// quote keys.
	Redact func(string) string
}

// Model is a Genkit model as a [model.Model]. [New] returns one. It is safe for concurrent use if
// the Genkit model is, as those of Genkit's own plugins are.
type Model struct {
	genkit   ai.Model
	info     model.Info
	dialect  Dialect
	settings *model.Settings
	redact   func(string) string
}

var _ model.Model = (*Model)(nil)

// New returns a model that uses m, which comes from a plugin or from [ai.NewModel]. No
// [genkit.Genkit] is needed. The error joins all problems with config.
func New(m ai.Model, config Config) (*Model, error) {
	if m == nil {
		return nil, errors.New("genkitmodel: the Genkit model is nil; does the plugin know the name?")
	}
	var errs []error
	provider, name, found := strings.Cut(m.Name(), "/")
	if !found {
		provider, name = "", m.Name()
	}
	if config.Provider != "" {
		provider = config.Provider
	}
	if config.Name != "" {
		name = config.Name
	}
	if provider == "" {
		errs = append(errs, fmt.Errorf("genkitmodel: Config.Provider is empty, and the name %q of the Genkit model has no provider", m.Name()))
	}
	if provider != strings.ToLower(provider) {
		errs = append(errs, fmt.Errorf("genkitmodel: provider %q is not in lower case; set Config.Provider", provider))
	}
	if config.ContextWindow < 0 {
		errs = append(errs, errors.New("genkitmodel: Config.ContextWindow is negative"))
	}
	if err := config.Settings.Check(); err != nil {
		errs = append(errs, fmt.Errorf("genkitmodel: Config.Settings: %w", err))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	d := Generic()
	if config.Dialect != nil {
		d = *config.Dialect
	}
	redact := config.Redact
	if redact == nil {
		redact = func(s string) string { return s }
	}
	clean := func(s string) string { return redact(adapter.CleanText(s)) }
	return &Model{
		genkit: m, dialect: d, settings: config.Settings.Clone(), redact: clean,
		info: model.Info{
			Provider: provider, Name: name, NativeOutput: d.NativeOutput, NoForcedCalls: d.NoForcedCalls,
			Media: slices.Clone(d.Media), MediaURLs: slices.Clone(d.MediaURLs), ContextWindow: config.ContextWindow,
		},
	}, nil
}

// Info implements [model.Model].
func (m *Model) Info() model.Info {
	info := m.info
	info.Media, info.MediaURLs = slices.Clone(info.Media), slices.Clone(info.MediaURLs)
	return info
}

// String names the model.
func (m *Model) String() string { return m.info.Provider + " " + m.info.Name + " through Genkit" }

// Format implements [fmt.Formatter]. Every verb prints the result of String, because the plugin
// contains a key.
func (m Model) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, m.String()) }

// LogValue implements [slog.LogValuer].
func (m *Model) LogValue() slog.Value { return slog.StringValue(m.String()) }

// Generate implements [model.Model]. The plugin runs on a separate goroutine, so Generate returns
// when its context ends, and after an error of the sink, even if the plugin does not. If the plugin
// does not return within a quarter of a second, its goroutine is left behind.
//
// What the plugin streams is passed to the sink as it arrives, except for fragments of calls:
// plugins do not tell which call they belong to, so calls are sent when the response is complete,
// unless the dialect knows better.
//
// If the plugin failed or panicked, the error is an [*model.APIError], whose Err is what the plugin
// returned: errors.As finds the error types of the provider's SDK. If nothing was sent, the error
// wraps [model.ErrUnsupported] or describes what is wrong with the request. If the context ended,
// it wraps the context's cause. If the sink failed, it is the sink's error.
func (m *Model) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	if err := model.CheckRequests(m.info); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, m.cancelled(ctx, nil)
	}
	c := &Call{Info: m.Info(), Request: req, Settings: m.settings.Merge(req.Settings), Stream: sink != nil, model: m}
	if c.Settings == nil {
		c.Settings = &model.Settings{}
	}
	return (&exchange{m: m, c: c, sink: sink}).run(ctx)
}

func (m *Model) cancelled(ctx context.Context, last error) error {
	return fmt.Errorf("genkitmodel: %w", adapter.Cancelled(ctx, m.info, last))
}
