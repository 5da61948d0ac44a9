// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

func TestResponsesAreOpenedByName(t *testing.T) {
	server := serve(t, answer{Body: responseCases["text"].plain})
	environment := map[string]string{"OPENAI_API_KEY": testKey, "OPENAI_BASE_URL": server.URL}
	m, err := model.OpenWith(t.Context(), "openai-responses:gpt-5", model.OpenOptions{Getenv: func(name string) string { return environment[name] }})
	require.NoError(t, err)
	require.Equal(t, "openai", m.Info().Provider)
	msg, err := m.Generate(t.Context(), hello(), nil)
	require.NoError(t, err)
	require.Equal(t, "Hello, wörld", msg.Text())
	require.Equal(t, "/v1/responses", server.Requests[0].URL.Path)
	require.Equal(t, "Bearer "+testKey, server.Requests[0].Header.Get("Authorization"))

	_, err = model.OpenWith(t.Context(), "openai-responses:gpt-5", model.OpenOptions{Getenv: func(string) string { return "" }})
	require.ErrorIs(t, err, model.ErrAuth)
	require.ErrorContains(t, err, "OPENAI_API_KEY")
	_, err = model.OpenWith(t.Context(), "openai-responses:gpt-5", model.OpenOptions{BaseURL: "ftp://x"})
	require.ErrorContains(t, err, "BaseURL")
}
