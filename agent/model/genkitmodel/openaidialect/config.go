// SPDX-License-Identifier: Apache-2.0

package openaidialect

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/core/api"
	plugin "github.com/firebase/genkit/go/plugins/compat_oai/openai"
	"github.com/openai/openai-go/option"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel"
	"github.com/ponte-go/ponte/internal/adapter"
)

// defaultBaseURL is used if Config.BaseURL is empty.
const defaultBaseURL = "https://api.openai.com/v1/"

// Config describes a model and its endpoint. Name is required, and for OpenAI itself APIKey.
// Printing or logging a Config does not show the key. Nothing is read from the environment.
type Config struct {
	// Name is the provider's name for the model.
	Name string
	// APIKey is sent as a bearer token.
	APIKey string
	// BaseURL is the URL before "chat/completions". The default is OpenAI's. A URL without a path
	// gets "/v1".
	BaseURL string
	// Provider is [model.Info.Provider]. The default is "openai". Other providers are sent
	// max_tokens instead of max_completion_tokens.
	Provider string
	// ContextWindow is [model.Info.ContextWindow], in tokens, or 0 if unknown.
	ContextWindow int
	// Settings holds defaults that the settings of a request override one by one. It may be nil.
	Settings *model.Settings
	// HTTPClient sends the requests. If nil, all models of the process share a client. Unless it
	// has a CheckRedirect, redirects are followed to the same scheme, host and port only.
	HTTPClient *http.Client
	// Options are added to the plugin's.
	Options []option.RequestOption
}

// New makes a plugin, and returns the model described by config. It makes no request. If the key is
// missing, the error wraps [model.ErrAuth].
func New(config Config) (*genkitmodel.Model, error) {
	m, err := open(config)
	if err != nil {
		return nil, fmt.Errorf("openaidialect: %w", err)
	}
	return m, nil
}

func open(config Config) (*genkitmodel.Model, error) {
	if err := adapter.CheckEndpoint(config.Name, config.APIKey); err != nil {
		return nil, err
	}
	key := config.APIKey
	if key == "" {
		if config.BaseURL == "" {
			return nil, fmt.Errorf("Config.APIKey is empty: %w", model.ErrAuth)
		}
		key = "none" // a self-hosted server needs no key, but the plugin does
	}
	base, err := baseURL(config.BaseURL)
	if err != nil {
		return nil, err
	}
	options := append([]option.RequestOption{
		option.WithBaseURL(base), option.WithMaxRetries(0), option.WithHTTPClient(adapter.Client(config.HTTPClient)),
		// The SDK reads these from the environment for every provider.
		option.WithHeaderDel("OpenAI-Organization"), option.WithHeaderDel("OpenAI-Project"),
	}, Options()...)

	p := &plugin.OpenAI{APIKey: key, Opts: append(options, config.Options...)}
	p.Init(context.Background()) // panics only without a key
	resolved, _ := p.ResolveAction(api.ActionTypeModel, config.Name).(ai.Model)
	return genkitmodel.New(resolved, genkitmodel.Config{
		Provider: config.Provider, Name: config.Name, Dialect: Dialect(), ContextWindow: config.ContextWindow,
		Settings: config.Settings, Redact: adapter.NewSecret(config.APIKey, nil).Redact,
	})
}

// baseURL returns the URL that the SDK resolves "chat/completions" against. It must end in a slash.
func baseURL(s string) (string, error) {
	if s == "" {
		return defaultBaseURL, nil
	}
	u, err := adapter.BaseURL(s, "/chat/completions")
	if err != nil {
		return "", err
	}
	if u.Path == "" {
		u.Path = "/v1"
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
	return adapter.DescribeConfig("openaidialect", c.Name, base, c.APIKey)
}
