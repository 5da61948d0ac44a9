// SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	traces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/chat"
	"github.com/ponte-go/ponte/app/offline"
	_ "github.com/ponte-go/ponte/app/telemetry"
)

// collector keeps what is exported to it.
type collector struct {
	mu       sync.Mutex
	spans    []string
	metrics  []string
	services []string
	content  bool
}

func (c *collector) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	data, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.content = c.content || bytes.Contains(data, []byte("a very secret word"))
	switch r.URL.Path {
	case "/v1/traces":
		var m traces.ExportTraceServiceRequest
		if proto.Unmarshal(data, &m) != nil {
			return
		}
		for _, rs := range m.ResourceSpans {
			for _, a := range rs.Resource.Attributes {
				if a.Key == "service.name" {
					c.services = append(c.services, a.Value.GetStringValue())
				}
			}
			for _, ss := range rs.ScopeSpans {
				for _, s := range ss.Spans {
					c.spans = append(c.spans, s.Name)
				}
			}
		}
	case "/v1/metrics":
		var m metrics.ExportMetricsServiceRequest
		if proto.Unmarshal(data, &m) != nil {
			return
		}
		for _, rm := range m.ResourceMetrics {
			for _, sm := range rm.ScopeMetrics {
				for _, one := range sm.Metrics {
					c.metrics = append(c.metrics, one.Name)
				}
			}
		}
	}
}

// ask runs a program that answers one question.
func ask(t *testing.T) (stdout, stderr string) {
	t.Helper()
	for _, name := range []string{"XDG_STATE_HOME", "XDG_CONFIG_HOME"} {
		t.Setenv(name, t.TempDir())
	}
	var out, errs bytes.Buffer
	code := app.Run(t.Context(), app.Config[any, string]{
		Name: "desk", Agent: agent.Must(agent.New(agent.Config[any, string]{Name: "desk"})),
		Demo:     func(time.Duration) model.Model { return offline.New(offline.Config{}) },
		Surfaces: []app.Surface{chat.New(chat.Options{})},
	}, app.Process{Args: []string{"-model", "offline", "a very secret word"}, In: strings.NewReader(""), Out: &out, Err: &errs})
	require.Zero(t, code, errs.String())
	return out.String(), errs.String()
}

// TestExportByTheStandardVariables has a program export to a collector, before it ends.
func TestExportByTheStandardVariables(t *testing.T) {
	c := &collector{}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	_, stderr := ask(t)
	require.Empty(t, stderr)
	require.Contains(t, c.spans, "invoke_agent desk")
	require.Contains(t, c.spans, "chat offline-demo")
	require.Contains(t, c.metrics, "gen_ai.client.operation.duration")
	require.Contains(t, c.services, "desk")
	require.False(t, c.content, "what was said stays here")

	c.spans = nil
	t.Setenv("OTEL_SERVICE_NAME", "orders")
	t.Setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
	ask(t)
	require.Contains(t, c.services, "orders")
	require.True(t, c.content)

	c.spans, c.metrics = nil, nil
	t.Setenv("OTEL_TRACES_EXPORTER", "none")
	ask(t)
	require.Empty(t, c.spans)
	require.NotEmpty(t, c.metrics)

	c.metrics = nil
	t.Setenv("OTEL_SDK_DISABLED", "true")
	ask(t)
	require.Empty(t, c.metrics)
}

// TestMistakesDoNotStopTheProgram names what cannot be used, and answers.
func TestMistakesDoNotStopTheProgram(t *testing.T) {
	t.Setenv("OTEL_TRACES_EXPORTER", "tea")
	_, stderr := ask(t)
	require.Contains(t, stderr, `desk: telemetry: OTEL_TRACES_EXPORTER is "tea"`)
	t.Setenv("OTEL_TRACES_EXPORTER", "console")
	t.Setenv("OTEL_METRICS_EXPORTER", "none")
	stdout, stderr := ask(t)
	require.NotContains(t, stdout, "SpanContext", "the output is the answer")
	require.Contains(t, stderr, "OTEL_TRACES_EXPORTER is console, which would write into the output: use otlp")

	t.Setenv("OTEL_TRACES_EXPORTER", "otlp")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1") // nobody is there
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "200")
	_, stderr = ask(t)
	require.NotContains(t, stderr, "wrong")
}
