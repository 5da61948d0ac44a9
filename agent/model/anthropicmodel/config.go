// SPDX-License-Identifier: Apache-2.0

package anthropicmodel

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
	"github.com/ponte-go/ponte/internal/header"
)

// DefaultBaseURL is the endpoint used if [Config.BaseURL] is empty.
const DefaultBaseURL = "https://api.anthropic.com"

// Config describes a model and its endpoint. Only Name is required. Printing or logging a Config
// does not show the keys. New reads nothing from the environment.
type Config struct {
	// Name is the endpoint's name for the model, such as "claude-sonnet-5-5".
	Name string
	// APIKey is sent as X-Api-Key, AuthToken as a bearer token. One of them is enough. They never
	// appear in an error, log or string made by this package. Keys of eight or more characters are
	// also removed from quoted responses.
	APIKey, AuthToken string
	// BaseURL is the URL of the endpoint. If empty, it is [DefaultBaseURL]. It may end in "/v1" or
	// "/v1/messages".
	BaseURL string
	// Provider is [model.Info.Provider]. The default is "anthropic". Use a different name for
	// another endpoint with this protocol, because signatures are sent back only to the provider
	// that made them.
	Provider string
	// Profile describes what the model supports. If nil, it is [ProfileFor] of Name.
	Profile *Profile
	// ContextWindow is [model.Info.ContextWindow], in tokens. 0 means the profile's.
	ContextWindow int
	// Settings holds defaults that the settings of a request override one by one. It may be nil.
	Settings *model.Settings
	// Cache determines what is written to the prompt cache. CacheTTL is how long it is kept: "5m",
	// the default, or "1h".
	Cache    Cache
	CacheTTL string
	// Betas are sent in the header anthropic-beta, together with values from extra headers of that
	// name.
	Betas []string
	// ServerTools are tools that the provider runs itself, each an object as described in its API,
	// such as {"type":"code_execution_20250825","name":"code_execution"}. They are offered in every
	// request, before its own tools. Their calls and results are opaque parts of the response. For
	// web search and web fetch, use [model.Settings.NativeTools]. A server tool takes the place of
	// a native tool of the same name.
	ServerTools []json.RawMessage
	// Timeouts and Retry have usable zero values.
	Timeouts model.Timeouts
	Retry    model.RetryPolicy
	// HTTPClient sends the requests. If nil, a client shared by many models of the process is used.
	// A client's own Timeout would also cut off active streams. Use Timeouts instead. Unless it has
	// a CheckRedirect, redirects are followed to the same scheme, host and port only.
	HTTPClient *http.Client
}

// New returns the model described by config. The error joins all problems with config. New does no
// I/O.
func New(config Config) (*Model, error) {
	var errs []error
	problem := func(format string, args ...any) { errs = append(errs, fmt.Errorf("anthropicmodel: "+format, args...)) }

	if config.Name == "" {
		problem("Config.Name is empty; set the name of a model")
	}
	base, err := parseBaseURL(config.BaseURL)
	if err != nil {
		errs = append(errs, err)
	}
	for name, key := range map[string]string{"APIKey": config.APIKey, "AuthToken": config.AuthToken} {
		if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			problem("Config.%s contains white space or other invalid characters; does it end in a newline?", name)
		}
	}
	if field := adapter.NegativeRetry(&config.Retry); field != "" {
		problem("Config.Retry.%s is negative", field)
	}
	if err := config.Settings.Check(); err != nil {
		problem("Config.Settings: %w", err)
	}
	if config.ContextWindow < 0 {
		problem("Config.ContextWindow is negative")
	}
	if !slices.Contains([]Cache{CacheConversation, CachePrefix, CacheOff}, config.Cache) {
		problem("Config.Cache is %q, must be %q, %q or empty", config.Cache, CachePrefix, CacheOff)
	}
	if !slices.Contains([]string{"", "5m", "1h"}, config.CacheTTL) {
		problem("Config.CacheTTL is %q, must be \"5m\", \"1h\" or empty", config.CacheTTL)
	}
	for _, beta := range config.Betas {
		if beta == "" || !header.Valid(betaHeader, beta) {
			problem("Config.Betas contains %q, which is not a valid header value", beta)
		}
	}
	for i, tool := range config.ServerTools {
		if !isObject(tool) {
			problem("Config.ServerTools[%d] is not a JSON object", i)
		}
	}
	profile := config.Profile
	if profile == nil {
		p := ProfileFor(config.Name)
		profile = &p
	}
	if err := profile.check(); err != nil {
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}

	p := profile.clone()
	m := &Model{
		info: model.Info{
			Provider:      cmp.Or(config.Provider, "anthropic"),
			Name:          config.Name,
			NativeOutput:  p.NativeOutput,
			NoForcedCalls: p.ForcedTools == ForcedToolsNever,
			NativeSearch:  p.NativeTools, NativeFetch: p.NativeTools, NativeDomains: p.NativeTools,
			NativeCompaction: p.NativeCompaction,

			Media:         p.Media,
			MediaURLs:     p.MediaURLs,
			ContextWindow: cmp.Or(config.ContextWindow, p.ContextWindow),
		},
		base:        base,
		profile:     p,
		settings:    config.Settings.Clone(),
		cache:       config.Cache,
		cacheTTL:    anthropic.CacheControlEphemeralTTL(config.CacheTTL),
		betas:       slices.Clone(config.Betas),
		serverTools: slices.Clone(config.ServerTools),
		timeouts:    adapter.Timeouts(config.Timeouts),
		retry:       adapter.RetryPolicy(config.Retry),
		hasKey:      config.APIKey != "" || config.AuthToken != "",
	}
	if p.DropStaleThinking {
		m.betas = append(m.betas, thinkingBindingBeta)
	}
	apiKey, authToken := adapter.NewSecret(config.APIKey, base), adapter.NewSecret(config.AuthToken, nil)
	m.redact = func(text string) string { return authToken.Redact(apiKey.Redact(text)) }
	m.client = newClient(config, base)
	return m, nil
}

// newClient returns the SDK's client. It is a list of options in closures, so printing it does not
// show a key.
func newClient(config Config, base *url.URL) anthropic.Client {
	options := []option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithBaseURL(base.String() + "/"),
		option.WithHTTPClient(adapter.Client(config.HTTPClient)),
		option.WithMaxRetries(0),
	}
	if config.APIKey != "" {
		options = append(options, option.WithAPIKey(config.APIKey))
	}
	if config.AuthToken != "" {
		options = append(options, option.WithAuthToken(config.AuthToken))
	}
	return anthropic.NewClient(options...)
}

// parseBaseURL returns the URL without "/v1/messages".
func parseBaseURL(s string) (*url.URL, error) {
	u, err := adapter.ParseBaseURL(cmp.Or(s, DefaultBaseURL))
	if err != nil {
		return nil, fmt.Errorf("anthropicmodel: %w", err)
	}
	if u.RawQuery != "" || u.ForceQuery {
		return nil, fmt.Errorf("anthropicmodel: Config.BaseURL %q must not have a query", adapter.CleanURL(u))
	}
	path := strings.TrimRight(u.Path, "/")
	u.Path = strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(path, "/messages"), "/v1"), "/")
	u.RawPath, u.Fragment, u.RawFragment = "", "", ""
	return u, nil
}

// Format implements [fmt.Formatter] for every verb, so keys are never shown.
func (c Config) Format(f fmt.State, _ rune) { io.WriteString(f, c.describe()) }

// LogValue implements [slog.LogValuer] without the keys.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.describe()) }

// MarshalText lets encoders write what a log shows, without the keys.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.describe()), nil }

func (c Config) describe() string {
	key := "no key"
	if c.APIKey != "" || c.AuthToken != "" {
		key = "key set"
	}
	base := "invalid base URL"
	if u, err := parseBaseURL(c.BaseURL); err == nil {
		base = adapter.CleanURL(u)
	}
	return fmt.Sprintf("anthropicmodel.Config(%s at %s, %s)", c.Name, base, key)
}
