// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

func TestFloodEndsAStream(t *testing.T) {
	newModel := func(f transport) model.Model {
		return inProcess(t, f, func(c *openaimodel.Config) { c.Retry = model.RetryPolicy{Base: time.Microsecond} })
	}
	adaptertest.CheckFloods(t, newModel, openEvents(delta(`{"role":"assistant","content":""}`)))
}

func TestKeepAlivesHaveABound(t *testing.T) {
	newModel := func(f transport) model.Model { return inProcess(t, f, once) }
	for _, keepAlive := range adaptertest.KeepAlives {
		adaptertest.CheckKeepAlives(t, newModel, keepAlive, openEvents(delta(`{"content":"a"}`)), openEvents(finish("stop")))
	}
}

func TestKeepAliveEventsOfResponsesHaveABound(t *testing.T) {
	newModel := func(f transport) model.Model {
		m, err := openaimodel.NewResponses(openaimodel.Config{
			Name: "test-model", BaseURL: "http://endpoint.test", APIKey: testKey,
			HTTPClient: f.Client(), Retry: model.RetryPolicy{Attempts: 1},
		})
		require.NoError(t, err)
		return m
	}
	for _, keepAlive := range adaptertest.KeepAlives {
		adaptertest.CheckKeepAlives(t, newModel, keepAlive,
			openEvents(`{"type":"response.created","response":{"id":"r","status":"in_progress"}}`),
			openEvents(`{"type":"response.completed","response":{"id":"r","status":"completed","output":[`+
				`{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"a","annotations":[]}]}]}}`))
	}
}
