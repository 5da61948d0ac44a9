// SPDX-License-Identifier: Apache-2.0

package openaidialect_test

import (
	"net/http/httptest"
	"testing"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

func TestDisturbedStreamIsTheSameAnswer(t *testing.T) {
	stream := events(
		delta(`{"role":"assistant","content":""}`), delta(`{"content":"Hello, "}`), delta(`{"content":"wörld"}`),
		delta(`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"time","arguments":""}}]}`),
		delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"at\":1}"}}]}`), finish("tool_calls"),
		`{"id":"c1","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4}}`)
	open := func(t testing.TB, url string) model.Model {
		return newModel(t, &endpoint{Server: &httptest.Server{URL: url}})
	}
	adaptertest.CheckDisturbed(t, open, stream, nil, nil)
}
