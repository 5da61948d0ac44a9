// SPDX-License-Identifier: Apache-2.0

package otelagent_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/otelagent"
	"github.com/ponte-go/ponte/toolset"
)

// dumpMetrics shows histograms without their sums of seconds.
func dumpMetrics(t *testing.T, r *recorder) string {
	t.Helper()
	var data metricdata.ResourceMetrics
	require.NoError(t, r.reader.Collect(t.Context(), &data))
	var lines []string
	for _, scope := range data.ScopeMetrics {
		require.Equal(t, "github.com/ponte-go/ponte/agent/otelagent", scope.Scope.Name)
		require.Equal(t, "https://opentelemetry.io/schemas/1.41.0", scope.Scope.SchemaURL)
		for _, m := range scope.Metrics {
			switch h := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range h.DataPoints {
					lines = append(lines, fmt.Sprintf("%s %s: %d recorded; %s; bounds %v", m.Name, m.Unit, p.Count, attributes(p.Attributes.ToSlice()), p.Bounds))
				}
			case metricdata.Histogram[int64]:
				for _, p := range h.DataPoints {
					lines = append(lines, fmt.Sprintf("%s %s: %d recorded, sum %d; %s; bounds %.0f", m.Name, m.Unit, p.Count, p.Sum, attributes(p.Attributes.ToSlice()), p.Bounds))
				}
			default:
				t.Fatalf("%s is a %T", m.Name, m.Data)
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

func TestMetricsFollowTheConventions(t *testing.T) {
	r := newRecorder()
	a := newAgent(t, agent.Config[deps, string]{
		Name: "helper", Hooks: r.hooks(), Model: answers(
			modeltest.Say(call("1", "look"), call("2", "broken"), call("3", "look")),
			modeltest.SayText("done"),
			modeltest.Fail(&model.APIError{Provider: "acme", Model: "acme-1", Status: 500}),
		),
	}, says("look", "nothing"), fails("broken", toolset.Failed("no")))
	_, err := a.Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	_, err = a.Run(t.Context(), deps{}, "go")
	require.Error(t, err)
	goldenText(t, dumpMetrics(t, r))
}

func TestMetricsNeedNoTracer(t *testing.T) {
	r := newRecorder()
	a := newAgent(t, agent.Config[deps, string]{
		Hooks: []agent.Hooks[deps]{hooksOf(otelagent.Config{TracerProvider: tracenoop.NewTracerProvider(), MeterProvider: r.meter})},
		Model: answers(modeltest.Say(call("1", "look")), modeltest.SayText("done")),
	}, says("look", "nothing"))
	_, err := a.Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	require.Contains(t, dumpMetrics(t, r), "gen_ai.client.token.usage {token}: 2 recorded, sum 20;")
}

func TestDisabledMetricsAreNotRecorded(t *testing.T) {
	r := newRecorder()
	r.reader = sdkmetric.NewManualReader()
	r.meter = sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.reader), sdkmetric.WithView(
		sdkmetric.NewView(sdkmetric.Instrument{Name: "*"}, sdkmetric.Stream{Aggregation: sdkmetric.AggregationDrop{}})))
	a := newAgent(t, agent.Config[deps, string]{
		Hooks: r.hooks(), Model: answers(modeltest.Say(call("1", "look")), modeltest.SayText("done")),
	}, says("look", "nothing"))
	_, err := a.Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	require.Len(t, r.spans.GetSpans(), 4)
	require.Equal(t, "\n", dumpMetrics(t, r))
}

// brokenMeter cannot make histograms.
type brokenMeter struct{ noop.MeterProvider }

func (brokenMeter) Meter(string, ...metric.MeterOption) metric.Meter { return brokenInstruments{} }

type brokenInstruments struct{ noop.Meter }

func (brokenInstruments) Float64Histogram(string, ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return noop.Float64Histogram{}, fmt.Errorf("broken")
}

func (brokenInstruments) Int64Histogram(string, ...metric.Int64HistogramOption) (metric.Int64Histogram, error) {
	return noop.Int64Histogram{}, fmt.Errorf("broken")
}

func TestFailingMeterIsReportedToTheSDK(t *testing.T) {
	var errs []error
	before := otel.GetErrorHandler()
	t.Cleanup(func() { otel.SetErrorHandler(before) })
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { errs = append(errs, err) }))
	r := newRecorder()
	config := r.config()
	config.MeterProvider = brokenMeter{}
	a := newAgent(t, agent.Config[deps, string]{Hooks: []agent.Hooks[deps]{hooksOf(config)}, Model: answers(modeltest.SayText("done"))})
	require.Len(t, errs, 4)
	_, err := a.Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	require.Len(t, r.spans.GetSpans(), 2)
}
