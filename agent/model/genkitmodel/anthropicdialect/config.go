// SPDX-License-Identifier: Apache-2.0

package anthropicdialect

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/core/api"
	plugin "github.com/firebase/genkit/go/plugins/anthropic"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel"
	"github.com/ponte-go/ponte/internal/adapter"
)

// defaultBaseURL is used if Config.BaseURL is empty, whatever the environment contains.
const defaultBaseURL = "https://api.anthropic.com/"

// Config describes a model. Name and APIKey are required. Printing or logging a Config does not
// show the key.
type Config struct {
	// Name is the provider's name for the model.
	Name string
	// APIKey is sent as X-Api-Key.
	APIKey string
	// BaseURL is the URL before "v1/messages". The default is Anthropic's. The plugin has its own
	// HTTP client, which follows redirects: use a URL whose server is trusted with the key.
	BaseURL string
	// Provider is [model.Info.Provider]. The default is "anthropic".
	Provider string
	// ContextWindow is [model.Info.ContextWindow], in tokens, or 0 if unknown.
	ContextWindow int
	// Settings holds defaults that the settings of a request override one by one. It may be nil.
	Settings *model.Settings
}

// New makes a plugin, and returns the model described by config. It makes no request. If the key is
// missing, the error wraps [model.ErrAuth].
func New(config Config) (*genkitmodel.Model, error) {
	m, err := open(config)
	if err != nil {
		return nil, fmt.Errorf("anthropicdialect: %w", err)
	}
	return m, nil
}

func open(config Config) (*genkitmodel.Model, error) {
	if err := adapter.CheckEndpoint(config.Name, config.APIKey); err != nil {
		return nil, err
	}
	if config.APIKey == "" {
		return nil, fmt.Errorf("Config.APIKey is empty: %w", model.ErrAuth)
	}
	base, err := baseURL(config.BaseURL)
	if err != nil {
		return nil, err
	}
	p := &plugin.Anthropic{APIKey: config.APIKey, BaseURL: base}
	p.Init(context.Background()) // panics only without a key
	resolved, _ := p.ResolveAction(api.ActionTypeModel, config.Name).(ai.Model)
	return genkitmodel.New(resolved, genkitmodel.Config{
		Provider: config.Provider, Name: config.Name, Dialect: Dialect(), ContextWindow: config.ContextWindow,
		Settings: config.Settings, Redact: adapter.NewSecret(config.APIKey, nil).Redact,
	})
}

// baseURL returns the URL that the SDK resolves "v1/messages" against. It must end in a slash.
func baseURL(s string) (string, error) {
	if s == "" {
		return defaultBaseURL, nil
	}
	u, err := adapter.BaseURL(s, "/v1")
	if err != nil {
		return "", err
	}
	u.Path += "/"
	return u.String(), nil
}

// Format implements [fmt.Formatter] for every verb, so the key is never shown.
func (c Config) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.describe()) }

// LogValue implements [slog.LogValuer] without the key.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.describe()) }

// MarshalText lets encoders write what a log shows, without the key.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.describe()), nil }

func (c Config) describe() string {
	base, _ := baseURL(c.BaseURL)
	return adapter.DescribeConfig("anthropicdialect", c.Name, base, c.APIKey)
}
