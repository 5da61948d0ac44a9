// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
	"github.com/ponte-go/ponte/internal/errs"
	"github.com/ponte-go/ponte/internal/header"
)

// DefaultBaseURL is the endpoint used if [Config.BaseURL] is empty.
const DefaultBaseURL = "https://api.openai.com/v1"

// Config describes a model and its endpoint. Only Name is required. Printing or logging a Config
// does not show the key, or the user and query of the URL.
type Config struct {
	// Name is the endpoint's name for the model, such as "gpt-5" or "qwen3:8b".
	Name string
	// BaseURL is the URL of the endpoint, without "/chat/completions". If empty, it is
	// [DefaultBaseURL]. A URL without a path gets "/v1"; any other path is used as is. A trailing
	// slash and "/chat/completions" itself are removed. A query is kept.
	BaseURL string
	// APIKey is sent as a bearer token, or in the header [Profile.KeyHeader]. Local servers need
	// none. It never appears in an error, log or string made by this package. Keys of eight or more
	// characters are also removed from quoted responses.
	APIKey string
	// Organization and Project are sent in the corresponding OpenAI headers if set.
	Organization, Project string
	// Provider is [model.Info.Provider]. The default is the profile's, or else the host of BaseURL.
	Provider string
	// Profile describes the endpoint's variety of the protocol. If nil, it is [ProfileFor] of
	// Provider and BaseURL, narrowed by [Profile.ForModel] of Name.
	Profile *Profile
	// ContextWindow is [model.Info.ContextWindow], in tokens, or 0 if unknown.
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

// New returns the model described by config. The error joins all problems with config. New does no
// I/O.
func New(config Config) (*Model, error) {
	e, err := newEndpoint(config, "chat completion")
	if err != nil {
		return nil, err
	}
	return &Model{endpoint: e, thinking: thinkingMembers(e.profile.Thinking)}, nil
}

// problems collects errors. Not inlined, add keeps programs smaller.
type problems []error

//go:noinline
func (p *problems) add(format string, args ...any) {
	*p = append(*p, errs.Errorf("openaimodel: "+format, args...))
}

func newEndpoint(config Config, answers string) (*endpoint, error) {
	var errs problems

	if config.Name == "" {
		errs.add("Config.Name is empty; set the name of a model")
	}
	base, err := parseBaseURL(config.BaseURL)
	if err != nil {
		errs = append(errs, err)
		base = &url.URL{}
	}
	if strings.ContainsFunc(config.APIKey, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		errs.add("Config.APIKey contains white space or other invalid characters; does it end in a newline?")
	}
	if field := adapter.NegativeRetry(&config.Retry); field != "" {
		errs.add("Config.Retry.%s is negative", field)
	}
	if config.ContextWindow < 0 {
		errs.add("Config.ContextWindow is negative")
	}
	if !header.Valid("OpenAI-Organization", config.Organization) || !header.Valid("OpenAI-Project", config.Project) {
		errs.add("Config.Organization or Config.Project contains a character that is invalid in a header")
	}
	if err := config.Settings.Check(); err != nil {
		errs.add("Config.Settings: %w", err)
	}
	profile := config.Profile
	if profile == nil {
		p := ProfileFor(config.Provider, config.BaseURL).ForModel(config.Name)
		profile = &p
	}
	if err := profile.check(); err != nil {
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}

	p := profile.clone()
	m := &endpoint{
		answers: answers,
		info: model.Info{
			Provider:      cmp.Or(config.Provider, p.Provider, strings.ToLower(base.Host)),
			Name:          config.Name,
			NativeOutput:  p.NativeOutput,
			NoForcedCalls: p.RequiredToolChoice == "",
			Media:         p.Media,
			MediaURLs:     p.MediaURLs,
			ContextWindow: config.ContextWindow,
		},
		base:     base,
		profile:  p,
		settings: config.Settings.Clone(),
		timeouts: adapter.Timeouts(config.Timeouts),
		retry:    adapter.RetryPolicy(config.Retry),
		client:   adapter.Client(config.HTTPClient),
		secret:   adapter.NewSecret(config.APIKey, base),
	}
	if p.KeyHeader != "" && config.APIKey != "" {
		m.secret.Authorize = func(h http.Header) { h.Set(p.KeyHeader, config.APIKey) }
	}
	m.header = http.Header{"Content-Type": {"application/json"}, "User-Agent": {"ponte-openaimodel"}}
	if config.Organization != "" {
		m.header.Set("OpenAI-Organization", config.Organization)
	}
	if config.Project != "" {
		m.header.Set("OpenAI-Project", config.Project)
	}
	return m, nil
}

// parseBaseURL returns the URL without "/chat/completions" or "/responses".
func parseBaseURL(s string) (*url.URL, error) {
	if s == "" {
		s = DefaultBaseURL
	}
	u, err := adapter.ParseBaseURL(s)
	if err != nil {
		return nil, errs.Errorf("openaimodel: %w", err)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/chat/completions"), "/responses")
	if u.Path == "" {
		u.Path = "/v1"
	}
	u.RawPath, u.Fragment, u.RawFragment = "", "", ""
	return u, nil
}

// Format implements [fmt.Formatter] for every verb, so the key is never shown.
func (c Config) Format(f fmt.State, _ rune) { io.WriteString(f, c.describe()) }

// LogValue implements [slog.LogValuer] without the key.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.describe()) }

// MarshalText lets encoders write what a log shows, without the key.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.describe()), nil }

func (c Config) describe() string {
	key := "no key"
	if c.APIKey != "" {
		key = "key set"
	}
	base := "invalid base URL"
	if u, err := parseBaseURL(c.BaseURL); err == nil {
		base = adapter.CleanURL(u)
	}
	return fmt.Sprintf("openaimodel.Config(%s at %s, %s)", c.Name, base, key)
}
