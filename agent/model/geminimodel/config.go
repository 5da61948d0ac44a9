// SPDX-License-Identifier: Apache-2.0

package geminimodel

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"cloud.google.com/go/auth"
	"google.golang.org/genai"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// DefaultBaseURL is the endpoint of the Gemini API, used if [Config.BaseURL] is empty. On Vertex
// AI, the endpoint depends on the location.
const DefaultBaseURL = "https://generativelanguage.googleapis.com"

// Backend is one of Google's two services.
type Backend string

const (
	// GeminiAPI is the Gemini API of Google AI Studio, which uses an API key. It is the empty
	// string.
	GeminiAPI Backend = ""
	// VertexAI is Vertex AI on Google Cloud, which uses credentials, or an API key in express mode.
	VertexAI Backend = "vertex"
)

// Config describes a model and its endpoint. Name and authentication are required. Apart from
// Credentials, nothing is read from the environment. Printing or logging a Config does not show the
// key.
type Config struct {
	// Name is Google's name for the model, such as "gemini-3.8-flash". On Vertex AI it may include
	// another publisher ("publisher/model") or be a resource ("projects/…/endpoints/…").
	Name string
	// Backend is the service to use.
	Backend Backend
	// APIKey is sent in a header, never in a URL. It never appears in an error, log or string made
	// by this package. Keys of eight or more characters are also removed from quoted responses. The
	// Gemini API needs one, unless BaseURL is set.
	APIKey string
	// Project and Location determine where Vertex AI runs. The default Location is "global". With
	// an APIKey, both may be empty.
	Project, Location string
	// Credentials authenticate at Vertex AI instead of a key. If Credentials, APIKey and HTTPClient
	// are all unset, Application Default Credentials are used: the file named by
	// GOOGLE_APPLICATION_CREDENTIALS, the file written by "gcloud auth application-default login",
	// or the machine's service account. If only HTTPClient is set, it must authenticate its
	// requests itself.
	Credentials *auth.Credentials
	// BaseURL overrides Google's endpoint. If it does not end in an API version ("/v1beta"), the
	// version is "v1beta", or "v1beta1" on Vertex AI.
	BaseURL string
	// Provider is [model.Info.Provider]. The default is "google", or "vertex" on Vertex AI.
	// Signatures are sent back only to a model with the same name.
	Provider string
	// Profile describes what the model supports. If nil, it is [ProfileFor] of Backend and Name.
	Profile *Profile
	// ContextWindow is [model.Info.ContextWindow], in tokens. 0 means the profile's.
	ContextWindow int
	// Settings holds defaults that the settings of a request override one by one. It may be nil.
	Settings *model.Settings
	// Timeouts and Retry have usable zero values.
	Timeouts model.Timeouts
	Retry    model.RetryPolicy
	// HTTPClient sends the requests. If nil, all models of the process share a client. A client's
	// own Timeout would also cut off active streams. Use Timeouts instead. Unless it has a
	// CheckRedirect, redirects are followed to the same scheme, host and port only.
	HTTPClient *http.Client
}

// New returns the model described by config. The error joins all problems with config. New makes no
// request, but it looks for credentials as described at [Config.Credentials]. If there are none,
// the error wraps [model.ErrAuth].
func New(config Config) (*Model, error) {
	c, base, errs := config.checked()
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	secret := adapter.NewSecret(c.APIKey, base.base)
	if err := authenticate(&c); err != nil {
		return nil, err
	}
	send, err := newSender(&c, base)
	if err != nil {
		// The SDK's errors quote the whole configuration, including the key.
		return nil, fmt.Errorf("geminimodel: the SDK does not accept the configuration: %s", firstLine(secret.Redact(err.Error())))
	}
	return &Model{
		info: model.Info{
			Provider:      c.Provider,
			Name:          c.Name,
			NativeOutput:  c.Profile.NativeOutput,
			NativeSearch:  c.Profile.NativeTools && c.Profile.NativeWithTools,
			NativeFetch:   c.Profile.NativeTools && c.Profile.NativeWithTools,
			Media:         c.Profile.Media,
			MediaURLs:     c.Profile.MediaURLs,
			ContextWindow: cmp.Or(c.ContextWindow, c.Profile.ContextWindow),
		},
		where:    secret.Redact(base.where()),
		place:    [...]string{base.version, c.Project, c.Location},
		backend:  c.Backend,
		profile:  *c.Profile,
		settings: c.Settings.Clone(),
		timeouts: adapter.Timeouts(c.Timeouts),
		retry:    adapter.RetryPolicy(c.Retry),
		send:     send,
		secret:   secret,
	}, nil
}

// checked returns the configuration with its defaults, or all problems with it.
func (c Config) checked() (Config, endpoint, []error) {
	var errs []error
	problem := func(format string, args ...any) { errs = append(errs, fmt.Errorf("geminimodel: "+format, args...)) }
	switch {
	case c.Name == "":
		problem("Config.Name is empty; set the name of a model")
	case strings.ContainsAny(c.Name, "?&#%\\ ") || strings.Contains(c.Name, ".."):
		problem("Config.Name %q is not a model name", c.Name)
	}
	if strings.ContainsFunc(c.APIKey, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		problem("Config.APIKey contains white space or other invalid characters; does it end in a newline?")
	}
	switch c.Backend {
	case GeminiAPI:
		if c.APIKey == "" && c.BaseURL == "" {
			problem("Config.APIKey is empty; the Gemini API needs a key: %w", model.ErrAuth)
		}
		if c.Project != "" || c.Location != "" || c.Credentials != nil {
			problem("Config has a Project, Location or Credentials, which only Vertex AI uses; set Config.Backend")
		}
	case VertexAI:
		if c.APIKey == "" && c.Project == "" {
			problem("Config.Project is empty; Vertex AI needs a project or an API key")
		}
		if c.APIKey != "" && c.Credentials != nil {
			problem("Config has both APIKey and Credentials; set only one of them")
		}
		if c.Project != "" {
			c.Location = cmp.Or(c.Location, "global")
		}
		for _, name := range []string{c.Project, c.Location} {
			if strings.ContainsAny(name, "/?#%\\ ") {
				problem("%q is not a project or location", name)
			}
		}
	default:
		problem("Config.Backend is %q, must be %q or %q", c.Backend, GeminiAPI, VertexAI)
	}
	if field := adapter.NegativeRetry(&c.Retry); field != "" {
		problem("Config.Retry.%s is negative", field)
	}
	if err := c.Settings.Check(); err != nil {
		problem("Config.Settings: %w", err)
	}
	if c.ContextWindow < 0 {
		problem("Config.ContextWindow is negative")
	}
	base, err := parseEndpoint(&c)
	if err != nil {
		errs = append(errs, err)
	}
	profile := ProfileFor(c.Backend, c.Name)
	if c.Profile != nil {
		profile = c.Profile.clone()
	}
	c.Profile = &profile
	if c.Provider == "" {
		c.Provider = "google"
		if c.Backend == VertexAI {
			c.Provider = "vertex"
		}
	}
	return c, base, errs
}

// endpoint is the address of the service.
type endpoint struct {
	base    *url.URL
	version string
}

func (e endpoint) where() string { return adapter.CleanURL(e.base) }

var versionAtEnd = regexp.MustCompile(`/(v[0-9]+(?:(?:alpha|beta)[0-9]*)?)/*$`)

func parseEndpoint(c *Config) (endpoint, error) {
	base := c.BaseURL
	if base == "" {
		base = defaultEndpoint(c)
	}
	u, err := adapter.ParseBaseURL(base)
	if err != nil {
		return endpoint{}, fmt.Errorf("geminimodel: %w", err)
	}
	e := endpoint{base: u, version: "v1beta"}
	if c.Backend == VertexAI {
		e.version = "v1beta1"
	}
	if found := versionAtEnd.FindStringSubmatch(u.Path); found != nil {
		e.version = found[1]
		u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/"+e.version)
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return endpoint{}, errors.New("geminimodel: Config.BaseURL has a query or fragment, which the SDK does not support")
	}
	u.RawPath = ""
	return e, nil
}

// defaultEndpoint implements the SDK's rules. The SDK itself would look at the environment first.
func defaultEndpoint(c *Config) string {
	switch {
	case c.Backend != VertexAI:
		return DefaultBaseURL
	case c.APIKey != "", c.Location == "global", c.Location == "":
		return "https://aiplatform.googleapis.com"
	case c.Location == "us", c.Location == "eu":
		return "https://aiplatform." + c.Location + ".rep.googleapis.com"
	}
	return "https://" + c.Location + "-aiplatform.googleapis.com"
}

func (b Backend) sdk() genai.Backend {
	if b == VertexAI {
		return genai.BackendVertexAI
	}
	return genai.BackendGeminiAPI
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	line, _, _ = strings.Cut(line, " ClientConfig:")
	return line
}

// Format implements [fmt.Formatter] for every verb, so the key is never shown.
func (c Config) Format(f fmt.State, _ rune) { io.WriteString(f, c.describe()) }

// LogValue implements [slog.LogValuer] without the key.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.describe()) }

// MarshalText lets encoders write what a log shows, without the key.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.describe()), nil }

func (c Config) describe() string {
	key := "no key"
	switch {
	case c.APIKey != "":
		key = "key set"
	case c.Credentials != nil:
		key = "credentials set"
	}
	base := "invalid base URL"
	if e, err := parseEndpoint(&c); err == nil {
		base = adapter.NewSecret(c.APIKey, e.base).Redact(e.where())
	}
	return fmt.Sprintf("geminimodel.Config(%s at %s, %s)", c.Name, base, key)
}
