// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/errs"
)

func init() {
	for i := range providers {
		p := &providers[i]
		model.Register(p.name, model.Driver{Opener: opener{p}, Env: p.env()})
	}
}

// opener opens models with chat completions. Programs that open no model by name do not link it.
type opener struct{ *provider }

func (p opener) OpenModel(_ context.Context, of string, o model.OpenOptions) (model.Model, error) {
	config, err := p.config(of, o)
	if err != nil {
		return nil, err
	}
	m, err := New(config)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// env lists the variables that config reads, starting with that of the key.
func (p *provider) env() []string {
	env := slices.Concat(p.keyEnv, p.moreEnv)
	if p.baseEnv != "" {
		env = append(env, p.baseEnv)
	}
	return env
}

// config returns the configuration for a model name, from the options and the environment.
func (p *provider) config(of string, o model.OpenOptions) (Config, error) {
	name := p.name
	config := Config{
		Name: of, Provider: name, APIKey: o.APIKey, BaseURL: o.BaseURL, Settings: o.Settings, HTTPClient: o.HTTPClient,
		Timeouts: o.Timeouts, Retry: o.Retry,
	}
	for _, variable := range p.keyEnv {
		config.APIKey = cmp.Or(config.APIKey, o.Getenv(variable))
	}
	if config.BaseURL == "" && p.baseEnv != "" {
		config.BaseURL = o.Getenv(p.baseEnv)
	}
	// A proxy or a self-hosted server may not need a key even if the provider does.
	if config.APIKey == "" && config.BaseURL == "" && p.needsKey {
		return Config{}, errs.Errorf("openaimodel: %s: no API key: set %s, or OpenOptions.APIKey: %w", name, p.keyEnv[0], model.ErrAuth)
	}
	if config.BaseURL != "" && name == "openai" && !isOpenAIs(of) {
		// OPENAI_BASE_URL is often set to other compatible servers, so the address decides the
		// provider, unless the model does.
		config.Provider = ""
	}
	if config.BaseURL == "" {
		var err error
		if config.BaseURL, err = p.address(o.Getenv); err != nil {
			return Config{}, errs.Errorf("openaimodel: %s: %w", name, err)
		}
	}
	return config, nil
}

// address returns the base URL of a provider, which for some depends on the environment.
func (p *provider) address(getenv func(string) string) (string, error) {
	switch p.name {
	case "azure":
		return azureAddress(getenv)
	case "bedrock":
		return bedrockAddress(getenv)
	case "ollama":
		return ollamaAddress(getenv)
	}
	return p.base, nil
}

// azureAddress adds the path of the v1 API to a resource's endpoint as shown in the portal.
func azureAddress(getenv func(string) string) (string, error) {
	endpoint := strings.TrimRight(getenv("AZURE_OPENAI_ENDPOINT"), "/")
	if endpoint == "" {
		return "", errors.New("no endpoint: set AZURE_OPENAI_ENDPOINT to https://RESOURCE.openai.azure.com, or OpenOptions.BaseURL")
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return "", errors.New("AZURE_OPENAI_ENDPOINT is not a URL; set it to https://RESOURCE.openai.azure.com")
	}
	if u.Path == "" {
		u.Path = "/openai/v1"
	}
	return u.String(), nil
}

func bedrockAddress(getenv func(string) string) (string, error) {
	region := cmp.Or(getenv("AWS_REGION"), getenv("AWS_DEFAULT_REGION"))
	switch {
	case region == "":
		return "", errors.New("no region: set AWS_REGION, such as us-west-2, or OpenOptions.BaseURL")
	case strings.ContainsFunc(region, func(r rune) bool { return r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9') }):
		return "", errs.Errorf("AWS_REGION %q is not a region", region)
	}
	return "https://bedrock-runtime." + region + ".amazonaws.com/openai/v1", nil
}

// ollamaAddress interprets OLLAMA_HOST as Ollama does: scheme and port are optional. An address for
// listening on all interfaces is replaced by one to connect to.
func ollamaAddress(getenv func(string) string) (string, error) {
	host := strings.TrimSpace(getenv("OLLAMA_HOST"))
	if host == "" {
		host = "127.0.0.1"
	}
	address := host
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		if strings.ContainsAny(host, "@?") { // it may contain a secret
			return "", errors.New("OLLAMA_HOST is not an address")
		}
		return "", errs.Errorf("OLLAMA_HOST %q is not an address", host)
	}
	name, port := u.Hostname(), u.Port()
	if ip := net.ParseIP(name); name == "" || ip != nil && ip.IsUnspecified() {
		name = "127.0.0.1"
	}
	if port == "" {
		port = "11434"
		if u.Scheme == "https" {
			port = "443"
		}
	}
	return u.Scheme + "://" + net.JoinHostPort(name, port) + strings.TrimRight(u.Path, "/"), nil
}
