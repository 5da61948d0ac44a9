// SPDX-License-Identifier: Apache-2.0

package geminimodel_test

import (
	"context"
	"flag"
	"strings"
	"testing"

	"cloud.google.com/go/auth"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/geminimodel"
	"github.com/ponte-go/ponte/internal/adaptertest"
	"github.com/ponte-go/ponte/internal/leaktest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { leaktest.Main(m) }

const (
	testKey   = "AIza-test-0123456789abcdef"
	testToken = "ya29.test-0123456789"
)

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

// newModel returns a model of the Gemini API that does not retry, unless change says otherwise.
func newModel(t testing.TB, baseURL string, change ...func(*geminimodel.Config)) *geminimodel.Model {
	t.Helper()
	config := geminimodel.Config{
		Name: "test-model", BaseURL: baseURL, APIKey: testKey, Retry: model.RetryPolicy{Attempts: 1},
	}
	for _, f := range change {
		f(&config)
	}
	m, err := geminimodel.New(config)
	require.NoError(t, err)
	return m
}

// onVertex changes a configuration to Vertex AI, with credentials that need no network.
func onVertex(c *geminimodel.Config) {
	c.Backend, c.APIKey, c.Project, c.Location = geminimodel.VertexAI, "", "acme", "europe-west4"
	c.Credentials = auth.NewCredentials(&auth.CredentialsOptions{TokenProvider: tokens{}})
}

type tokens struct{ err error }

func (s tokens) Token(context.Context) (*auth.Token, error) {
	if s.err != nil {
		return nil, s.err
	}
	return &auth.Token{Value: testToken}, nil
}

func named(name string) func(*geminimodel.Config) {
	return func(c *geminimodel.Config) { c.Name = name }
}

// events returns a stream of chunks, each in its own event, with the line ends of Google's servers.
func events(chunks ...string) string {
	var b strings.Builder
	for _, c := range chunks {
		b.WriteString("data: " + strings.ReplaceAll(c, "\n", "\ndata: ") + "\r\n\r\n")
	}
	return b.String()
}

// chunk returns a chunk, or an unstreamed response, with these parts. Finish may be empty.
func chunk(finish string, parts ...string) string {
	if finish != "" {
		finish = `,"finishReason":"` + finish + `"`
	}
	return `{"candidates":[{"content":{"role":"model","parts":[` + strings.Join(parts, ",") + `]}` + finish +
		`,"index":0}],"modelVersion":"m-001","responseId":"r1"}`
}

// slowCredentials returns credentials that wait for their context.
func slowCredentials() *auth.Credentials {
	return auth.NewCredentials(&auth.CredentialsOptions{TokenProvider: slowTokens{}})
}

type slowTokens struct{}

func (slowTokens) Token(ctx context.Context) (*auth.Token, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
