// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
)

func TestConfigOfAModelString(t *testing.T) {
	config, err := openaimodel.ConfigOf("groq", "fast", model.OpenOptions{Getenv: func(name string) string { return map[string]string{"GROQ_API_KEY": testKey}[name] }})
	require.NoError(t, err)
	require.Equal(t, "fast", config.Name)
	require.Equal(t, testKey, config.APIKey)
	require.Equal(t, "https://api.groq.com/openai/v1", config.BaseURL)
	_, err = openaimodel.ConfigOf("groq", "fast", model.OpenOptions{Getenv: func(string) string { return "" }})
	require.ErrorIs(t, err, model.ErrAuth)
	_, err = openaimodel.ConfigOf("grok", "fast", model.OpenOptions{})
	require.ErrorIs(t, err, model.ErrUnknownProvider)
}
