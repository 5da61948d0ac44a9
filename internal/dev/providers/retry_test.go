// SPDX-License-Identifier: Apache-2.0

package providers_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modelwrap"
)

func TestRetriesNeverMultiply(t *testing.T) {
	var sent atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		sent.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()
	quick := func(attempts int) model.RetryPolicy {
		return model.RetryPolicy{Attempts: attempts, Base: time.Microsecond}
	}
	inner := quick(3)
	observed := 0
	inner.Observe = func(context.Context, error, time.Duration) { observed++ }
	for name, m := range openAll(t, model.OpenOptions{BaseURL: server.URL, APIKey: "k", Retry: inner}) {
		t.Run(name, func(t *testing.T) {
			count := func(m model.Model, want int) {
				t.Helper()
				sent.Store(0)
				_, err := m.Generate(t.Context(), &model.Request{Messages: []*model.Message{model.UserText("hi")}}, nil)
				require.Error(t, err)
				require.EqualValues(t, want, sent.Load())
			}
			observed = 0
			count(m, 3)
			require.Equal(t, 2, observed, "an adapter observes the whole policy")
			count(modelwrap.Retry(m, quick(4)), 4)
			count(modelwrap.Retry(modelwrap.Limit(m, 1), quick(2)), 2)
			count(modelwrap.Retry(modelwrap.Retry(m, quick(5)), quick(2)), 2)
			count(modelwrap.Retry(m, quick(1)), 1)
			count(modelwrap.Fallback([]model.Model{m, modelwrap.Retry(m, quick(2))}, modelwrap.FallbackPolicy{}), 5)
			require.Equal(t, 4, observed)
		})
	}
}
