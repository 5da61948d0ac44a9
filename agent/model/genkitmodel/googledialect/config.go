// SPDX-License-Identifier: Apache-2.0

package googledialect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/core/api"
	plugin "github.com/firebase/genkit/go/plugins/googlegenai"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/geminimodel"
	"github.com/ponte-go/ponte/agent/model/genkitmodel"
	"github.com/ponte-go/ponte/internal/adapter"
)

// Config describes a model. Name is required, and either APIKey or Project. Printing or logging a
// Config does not show the key.
type Config struct {
	// Name is Google's name for the model, such as "gemini-2.5-flash".
	Name string
	// APIKey is the key for the Gemini API.
	APIKey string
	// Project and Location identify a project of Google Cloud, to use Vertex AI instead of the
	// Gemini API. The plugin looks for credentials where Google's libraries do. Both or neither
	// must be set.
	Project, Location string
	// BaseURL is the endpoint without the API version. The default is Google's, or what the SDK
	// finds in the environment. The plugin has its own HTTP client, which follows redirects: use a
	// URL whose server is trusted with the key.
	BaseURL string
	// Provider is [model.Info.Provider]. The default is "google" or "vertex".
	Provider string
	// ContextWindow is [model.Info.ContextWindow], in tokens, or 0 if unknown.
	ContextWindow int
	// Settings holds defaults that the settings of a request override one by one. It may be nil.
	Settings *model.Settings
}

// New makes a plugin, and returns the model described by config. It makes no request to the model.
// For Vertex AI, the plugin looks for credentials, which ctx does not limit. If the key or
// credentials are missing, the error wraps [model.ErrAuth].
func New(ctx context.Context, config Config) (*genkitmodel.Model, error) {
	m, err := open(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("googledialect: %w", err)
	}
	return m, nil
}

func open(ctx context.Context, config Config) (*genkitmodel.Model, error) {
	if err := adapter.CheckEndpoint(config.Name, config.APIKey); err != nil {
		return nil, err
	}
	base, err := baseURL(config.BaseURL)
	if err != nil {
		return nil, err
	}
	backend, provider := geminimodel.GeminiAPI, "google"
	var p interface {
		api.Plugin
		ResolveAction(api.ActionType, string) api.Action
	}
	switch isVertex := config.Project != "" || config.Location != ""; {
	case isVertex && config.APIKey != "":
		return nil, errors.New("Config has an APIKey, for the Gemini API, and a Project, for Vertex AI; set only one of them")
	case isVertex && (config.Project == "" || config.Location == ""):
		return nil, errors.New("Config.Project and Config.Location are both needed for Vertex AI")
	case isVertex:
		backend, provider = geminimodel.VertexAI, "vertex"
		p = &plugin.VertexAI{ProjectID: config.Project, Location: config.Location}
	case config.APIKey == "":
		return nil, fmt.Errorf("Config.APIKey is empty: %w", model.ErrAuth)
	default:
		p = &plugin.GoogleAI{APIKey: config.APIKey}
	}
	redact := adapter.NewSecret(config.APIKey, nil).Redact
	if err := initialise(ctx, p); err != nil {
		return nil, fmt.Errorf("%w: %s", model.ErrAuth, redact(err.Error()))
	}
	resolved, _ := p.ResolveAction(api.ActionTypeModel, config.Name).(ai.Model)
	d := dialect(backend, config.Name)
	d.baseURL = base
	return genkitmodel.New(resolved, genkitmodel.Config{
		Provider: cmp.Or(config.Provider, provider), Name: config.Name, Dialect: d.genkit(), ContextWindow: config.ContextWindow,
		Settings: config.Settings, Redact: redact,
	})
}

// baseURL returns the URL to which the SDK appends the API's version.
func baseURL(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	u, err := adapter.BaseURL(s, "")
	if err != nil {
		return "", err
	}
	return u.String(), nil
}

// initialise converts a panic of the plugin to an error: it panics if credentials are missing.
func initialise(ctx context.Context, p api.Plugin) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%v", cause)
		}
	}()
	p.Init(ctx)
	return nil
}

// Format implements [fmt.Formatter] for every verb, so the key is never shown.
func (c Config) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.describe()) }

// LogValue implements [slog.LogValuer] without the key.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.describe()) }

// MarshalText lets encoders write what a log shows, without the key.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.describe()), nil }

func (c Config) describe() string {
	base, err := baseURL(c.BaseURL)
	switch {
	case base != "" || err != nil:
	case c.Project != "":
		base = fmt.Sprintf("Vertex AI, project %s in %s", c.Project, c.Location)
	default:
		base = "the Gemini API"
	}
	return adapter.DescribeConfig("googledialect", c.Name, base, c.APIKey)
}
