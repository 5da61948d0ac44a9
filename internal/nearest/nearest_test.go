// SPDX-License-Identifier: Apache-2.0

package nearest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/nearest"
)

func TestSwappedLettersAreOneMistake(t *testing.T) {
	names := []string{"idle", "models", "model"}
	require.Equal(t, "model", nearest.Of("modle", slices.Values(names)))
	require.Equal(t, "model", nearest.Of("omdel", slices.Values(names)))
}

func TestTheNameThatWasProbablyMeantIsFound(t *testing.T) {
	names := []string{"openai", "openai-responses", "openrouter", "user_name", "groq"}
	for typed, want := range map[string]string{
		"opnai": "openai", "open-ai": "openai", "OpenAI": "openai", "openai_response": "openai-responses", "userName": "user_name",
		"grok": "groq", "xyz": "", "": "", strings.Repeat("openai", 20): "",
	} {
		require.Equal(t, want, nearest.Of(typed, slices.Values(names)), typed)
	}
}
