// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"flag"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const testKey = "sk-test-0123456789abcdef"

// Shorthands for what the tests of all adapters share.
type (
	answer    = adaptertest.Answer
	recorder  = adaptertest.Recorder
	transport = adaptertest.Transport
)

var (
	serve   = adaptertest.Serve
	stream  = adaptertest.Stream
	hello   = adaptertest.Hello
	request = adaptertest.Request
)

func apiError(t testing.TB, err error) *model.APIError {
	t.Helper()
	return adaptertest.APIError(t, err, testKey)
}

// newModel returns a model that does not retry, unless change says otherwise.
func newModel(t testing.TB, baseURL, provider string, change ...func(*openaimodel.Config)) *openaimodel.Model {
	t.Helper()
	config := openaimodel.Config{
		Name: "test-model", BaseURL: baseURL, Provider: provider, APIKey: testKey,
		Retry: model.RetryPolicy{Attempts: 1},
	}
	for _, f := range change {
		f(&config)
	}
	m, err := openaimodel.New(config)
	require.NoError(t, err)
	return m
}

// events makes a complete stream of chunks, each in its own event.
func events(chunks ...string) string {
	return openEvents(chunks...) + "data: [DONE]\n\n"
}

func openEvents(chunks ...string) string {
	var b strings.Builder
	for _, c := range chunks {
		b.WriteString("data: " + c + "\n\n")
	}
	return b.String()
}

// delta returns a chunk whose first choice has this delta.
func delta(d string) string {
	return `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":` + d + `,"finish_reason":null}]}`
}

// finish returns the chunk that ends a response.
func finish(reason string) string {
	return `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
}
