// SPDX-License-Identifier: Apache-2.0

package adapter_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// The wordings of providers are tested with the adapters, see TestContextLengthIsRecognised in openaimodel.
func TestContextLengthIsToldFromTheStatusWhereThereIsNoText(t *testing.T) {
	for _, test := range []struct {
		e    model.APIError
		want bool
	}{
		{model.APIError{Status: 413}, true},
		{model.APIError{Status: 413, Message: "Request Entity Too Large"}, true},
		{model.APIError{Status: 413, Message: "image too large"}, false},
		{model.APIError{Status: 413, Message: "tokens per minute"}, false},
		{model.APIError{Status: 413, Code: "rate_limit_exceeded"}, false},
		{model.APIError{Status: 400, Provider: "cerebras"}, true},
		{model.APIError{Status: 400, Provider: "mistral", Message: adapter.EmptyBody}, true},
		{model.APIError{Status: 400, Provider: "openai"}, false},
		{model.APIError{Status: 400, Provider: "cerebras", Message: "no such model"}, false},
		{model.APIError{Status: 400, Message: "The prompt is too long for the cache."}, false},
		{model.APIError{Status: 500}, false},
	} {
		adapter.Classify(&test.e)
		require.Equal(t, test.want, errors.Is(&test.e, model.ErrContextLength), "%+v", test.e)
		require.False(t, test.want && test.e.Retryable, "the same request fails again: %+v", test.e)
	}
}
