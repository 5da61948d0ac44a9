// SPDX-License-Identifier: Apache-2.0

package geminimodel

import (
	"cmp"
	"context"
	"fmt"

	"github.com/ponte-go/ponte/agent/model"
)

// Registers the providers "google" and "vertex" for [model.Open].
func init() {
	model.Register("google", model.Driver{
		Opener: google{},
		Env:    []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL"},
	})
	model.Register("vertex", model.Driver{
		Opener: vertex{},
		Env: []string{
			"GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_VERTEX_BASE_URL",
		},
	})
}

type google struct{}

func (google) OpenModel(_ context.Context, name string, o model.OpenOptions) (model.Model, error) {
	config := Config{
		Name:       name,
		APIKey:     cmp.Or(o.APIKey, o.Getenv("GEMINI_API_KEY"), o.Getenv("GOOGLE_API_KEY")),
		BaseURL:    cmp.Or(o.BaseURL, o.Getenv("GOOGLE_GEMINI_BASE_URL")),
		HTTPClient: o.HTTPClient,
		Settings:   o.Settings,
		Timeouts:   o.Timeouts,
		Retry:      o.Retry,
	}
	if config.APIKey == "" && config.BaseURL == "" {
		return nil, fmt.Errorf("geminimodel: no API key: set GEMINI_API_KEY, or OpenOptions.APIKey: %w", model.ErrAuth)
	}
	return open(config)
}

type vertex struct{}

// OpenModel uses a key only if it is in the options. Keys in the environment are for the Gemini
// API.
func (vertex) OpenModel(_ context.Context, name string, o model.OpenOptions) (model.Model, error) {
	config := Config{
		Name: name, Backend: VertexAI, APIKey: o.APIKey,
		Project: o.Getenv("GOOGLE_CLOUD_PROJECT"), Location: o.Getenv("GOOGLE_CLOUD_LOCATION"),
		BaseURL:    cmp.Or(o.BaseURL, o.Getenv("GOOGLE_VERTEX_BASE_URL")),
		HTTPClient: o.HTTPClient, Settings: o.Settings, Timeouts: o.Timeouts, Retry: o.Retry,
	}
	if config.APIKey == "" {
		if config.Project == "" {
			return nil, fmt.Errorf("geminimodel: no project: set GOOGLE_CLOUD_PROJECT, or OpenOptions.APIKey: %w", model.ErrAuth)
		}
		var err error
		if config.Credentials, err = detectCredentials(o.Getenv("GOOGLE_APPLICATION_CREDENTIALS")); err != nil {
			return nil, err
		}
	}
	return open(config)
}

func open(config Config) (model.Model, error) {
	m, err := New(config)
	if err != nil {
		return nil, err
	}
	return m, nil
}
