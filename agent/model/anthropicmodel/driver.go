// SPDX-License-Identifier: Apache-2.0

package anthropicmodel

import (
	"cmp"
	"context"
	"fmt"

	"github.com/ponte-go/ponte/agent/model"
)

// Environment variables that the driver reads.
const (
	envKey   = "ANTHROPIC_API_KEY"
	envToken = "ANTHROPIC_AUTH_TOKEN"
	envURL   = "ANTHROPIC_BASE_URL"
)

func init() {
	model.Register("anthropic", model.Driver{Opener: opener{}, Env: []string{envKey, envToken, envURL}})
}

type opener struct{}

func (opener) OpenModel(_ context.Context, name string, o model.OpenOptions) (model.Model, error) {
	config := Config{
		Name:       name,
		APIKey:     o.APIKey,
		BaseURL:    cmp.Or(o.BaseURL, o.Getenv(envURL)),
		Settings:   o.Settings,
		HTTPClient: o.HTTPClient,
		Timeouts:   o.Timeouts,
		Retry:      o.Retry,
	}
	if config.APIKey == "" {
		config.APIKey = o.Getenv(envKey)
	}
	if config.APIKey == "" {
		config.AuthToken = o.Getenv(envToken)
	}
	// A proxy or a self-hosted server may not need a key.
	if config.APIKey == "" && config.AuthToken == "" && config.BaseURL == "" {
		return nil, fmt.Errorf("anthropicmodel: no API key: set %s, or OpenOptions.APIKey: %w", envKey, model.ErrAuth)
	}
	m, err := New(config)
	if err != nil {
		return nil, err
	}
	return m, nil
}
