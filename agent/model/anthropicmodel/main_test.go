// SPDX-License-Identifier: Apache-2.0

package anthropicmodel_test

import (
	"context"
	"encoding/json"
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/anthropicmodel"
	"github.com/ponte-go/ponte/internal/adaptertest"
	"github.com/ponte-go/ponte/internal/leaktest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { leaktest.Main(m) }

const testKey = "sk-ant-test-0123456789abcdef"

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
func newModel(t testing.TB, baseURL string, change ...func(*anthropicmodel.Config)) *anthropicmodel.Model {
	t.Helper()
	config := anthropicmodel.Config{
		Name: "claude-haiku-4-5", BaseURL: baseURL, APIKey: testKey, Retry: model.RetryPolicy{Attempts: 1},
	}
	for _, f := range change {
		f(&config)
	}
	m, err := anthropicmodel.New(config)
	require.NoError(t, err)
	return m
}

func named(name string) func(*anthropicmodel.Config) {
	return func(c *anthropicmodel.Config) { c.Name = name }
}

func uncached(c *anthropicmodel.Config) { c.Cache = anthropicmodel.CacheOff }

// again returns a message as read back from a stored history.
func again(t testing.TB, msg *model.Message) *model.Message {
	t.Helper()
	data, err := json.Marshal(msg)
	require.NoError(t, err)
	read := &model.Message{}
	require.NoError(t, json.Unmarshal(data, read))
	require.Equal(t, msg.Parts, read.Parts)
	return read
}

// sent returns what m sends for a request, as JSON.
func sent(t testing.TB, change func(*anthropicmodel.Config), req *model.Request) map[string]json.RawMessage {
	t.Helper()
	e := serve(t, answer{Body: events(say("ok")...)})
	_, err := newModel(t, e.URL, change).Generate(context.Background(), req, nil)
	require.NoError(t, err)
	var body map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(e.Bodies[0]), &body))
	return body
}
