// SPDX-License-Identifier: Apache-2.0

package otelagent_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// TestDashboardNamesMetricsThatAreEmitted: each metric and label of this package that the dashboard for Grafana names is one that runs have
// recorded, in the form that OpenTelemetry gives it in Prometheus.
func TestDashboardNamesMetricsThatAreEmitted(t *testing.T) {
	r := newRecorder()
	a := newAgent(t, agent.Config[deps, string]{
		Name: "helper", Hooks: r.hooks(), Model: answers(
			modeltest.Say(call("1", "look"), call("2", "broken")),
			modeltest.SayText("done"),
			modeltest.Fail(&model.APIError{Provider: "acme", Model: "acme-1", Status: 500}),
		),
	}, says("look", "nothing"), fails("broken", toolset.Failed("no")))
	_, err := a.Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	_, err = a.Run(t.Context(), deps{}, "go")
	require.Error(t, err)

	var data metricdata.ResourceMetrics
	require.NoError(t, r.reader.Collect(t.Context(), &data))
	labels := map[string]map[string]bool{} // by metric
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			name := strings.ReplaceAll(m.Name, ".", "_")
			if m.Unit == "s" {
				name += "_seconds"
			}
			labels[name] = map[string]bool{"le": true}
			switch h := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range h.DataPoints {
					for _, kv := range p.Attributes.ToSlice() {
						labels[name][strings.ReplaceAll(string(kv.Key), ".", "_")] = true
					}
				}
			case metricdata.Histogram[int64]:
				for _, p := range h.DataPoints {
					for _, kv := range p.Attributes.ToSlice() {
						labels[name][strings.ReplaceAll(string(kv.Key), ".", "_")] = true
					}
				}
			}
		}
	}
	dashboard, err := os.ReadFile("../engine/temporalengine/dashboards/ponte.json")
	require.NoError(t, err)
	found := regexp.MustCompile(`by \(([^)]*)\) \(rate\((gen_ai_\w+?)_(?:count|sum|bucket)(\{\w+)?`).FindAllStringSubmatch(string(dashboard), -1)
	require.Equal(t, strings.Count(string(dashboard), "rate(gen_ai_"), len(found))
	require.Greater(t, len(found), 8)
	for _, m := range found {
		require.Contains(t, labels, m[2])
		for label := range strings.SplitSeq(m[1]+","+strings.TrimPrefix(m[3], "{"), ",") {
			if label = strings.TrimSpace(label); label != "" {
				require.True(t, labels[m[2]][label], "%s has no label %s", m[2], label)
			}
		}
	}
}
