// SPDX-License-Identifier: Apache-2.0

package ollamadialect_test

import (
	"strings"
	"testing"

	"github.com/firebase/genkit/go/plugins/ollama"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel/ollamadialect"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

func TestContextLengthIsRecognised(t *testing.T) {
	idle(t)
	adaptertest.ContextLength(t, func(t testing.TB, url string) model.Model {
		plugin := &ollama.Ollama{ServerAddress: url}
		plugin.Init(t.Context())
		m, err := ollamadialect.New(kit(), plugin, ollamadialect.Config{Name: "length" + strings.TrimPrefix(url, "http://127.0.0.1:")})
		require.NoError(t, err)
		return m
	}, []string{"Ollama", "llama.cpp", "a server's"}, nil)
}
