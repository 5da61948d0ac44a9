package googledialect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/core/api"
	plugin "github.com/firebase/genkit/go/plugins/googlegenai"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/geminimodel"
	"github.com/ponte-go/ponte/agent/model/genkitmodel"
	"github.com/ponte-go/ponte/internal/adapter"
)

// Config says which model to ask. Name is required, and APIKey or Project. Printing or logging a Config does not show the
// key.
type Config struct {
	// Name is Google's name of the model, such as "gemini-2.5-flash".
	Name string
	// APIKey is the key of the Gemini API.
	APIKey string
	// Project and Location name a project of Google Cloud, whose Vertex AI is asked in place of the Gemini API. The
	// plugin looks for the credentials where Google's libraries do. Both or none must be set.
	Project, Location string
	// BaseURL is the endpoint: Google's, or what the SDK finds in the environment, if empty.
	BaseURL string
	// Provider is [model.Info.Provider]: "google" or "vertex" if empty.
	Provider string
	// ContextWindow is [model.Info.ContextWindow], in tokens; 0 if unknown.
	ContextWindow int
	// Settings are defaults that the settings of a request override one by one. May be nil.
	Settings *model.Settings
}

// New makes a plugin, and of the plugin the model that config describes. It makes no request to the model; for Vertex AI
// the plugin looks for credentials. A missing key is an error that wraps [model.ErrAuth].
func New(ctx context.Context, config Config) (m *genkitmodel.Model, err error) {
	defer func() {
		if err != nil {
			m, err = nil, fmt.Errorf("googledialect: %w", err)
		}
	}()
	if config.Name == "" {
		return nil, errors.New("the name is empty: it must name a model")
	}
	if config.BaseURL != "" {
		if u, err := url.Parse(config.BaseURL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, errors.New("the base URL must begin with http:// or https:// and name a host")
		}
	}
	backend, provider := geminimodel.GeminiAPI, "google"
	var resolve func(api.ActionType, string) api.Action
	switch vertex := config.Project != "" || config.Location != ""; {
	case vertex && config.APIKey != "":
		return nil, errors.New("there is a key, which is the Gemini API's, and a project, which is Vertex AI's: set one of them")
	case vertex && (config.Project == "" || config.Location == ""):
		return nil, errors.New("a project and a location are both needed for Vertex AI")
	case vertex:
		backend, provider = geminimodel.VertexAI, "vertex"
		p := &plugin.VertexAI{ProjectID: config.Project, Location: config.Location}
		if err := initialise(ctx, p); err != nil {
			return nil, err
		}
		resolve = p.ResolveAction
	case config.APIKey == "":
		return nil, fmt.Errorf("the API key is empty: %w", model.ErrAuth)
	default:
		p := &plugin.GoogleAI{APIKey: config.APIKey}
		if err := initialise(ctx, p); err != nil {
			return nil, err
		}
		resolve = p.ResolveAction
	}
	if config.Provider != "" {
		provider = config.Provider
	}
	resolved, _ := resolve(api.ActionTypeModel, config.Name).(ai.Model)
	d := dialect(backend, config.Name)
	d.baseURL = config.BaseURL
	return genkitmodel.New(resolved, genkitmodel.Config{
		Provider: provider, Name: config.Name, Dialect: d.genkit(), ContextWindow: config.ContextWindow,
		Settings: config.Settings, Redact: adapter.NewSecret(config.APIKey).Redact,
	})
}

// initialise makes an error of what a plugin panics over: its way to say that credentials are missing.
func initialise(ctx context.Context, p api.Plugin) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %v", model.ErrAuth, cause)
		}
	}()
	p.Init(ctx)
	return nil
}

// Format implements [fmt.Formatter] for every verb, so that no format shows the key.
func (c Config) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.describe()) }

// LogValue implements [slog.LogValuer] without the key.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.describe()) }

// MarshalText makes encoders show what a log does: without the key.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.describe()), nil }

func (c Config) describe() string {
	where := "the Gemini API, no key"
	switch {
	case c.APIKey != "":
		where = "the Gemini API, key set"
	case c.Project != "":
		where = fmt.Sprintf("Vertex AI, project %s in %s", c.Project, c.Location)
	}
	return fmt.Sprintf("googledialect.Config(%s at %s)", c.Name, where)
}
