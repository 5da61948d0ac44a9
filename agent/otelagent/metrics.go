// SPDX-License-Identifier: Apache-2.0

package otelagent

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/ponte-go/ponte/agent/model"
)

// metrics are the instruments. Their attributes are of low cardinality: no ids, and none of the
// user's.
type metrics struct {
	run, chat, call metric.Float64Histogram
	tokens          metric.Int64Histogram
}

// newMetrics makes the instruments. If a meter cannot make one, the error goes to the SDK, and the
// instrument does nothing.
func newMetrics(meter metric.Meter) metrics {
	seconds := func(name, description string, buckets []float64) metric.Float64Histogram {
		h, err := meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description),
			metric.WithExplicitBucketBoundaries(buckets...))
		if err != nil {
			otel.Handle(err)
		}
		return h
	}
	tokens, err := meter.Int64Histogram(metricTokens, metric.WithUnit("{token}"),
		metric.WithDescription("Number of input and output tokens used."),
		metric.WithExplicitBucketBoundaries(bucketsTokens...))
	if err != nil {
		otel.Handle(err)
	}
	return metrics{
		run:    seconds(metricRun, "Duration of a run of an agent.", bucketsRun),
		chat:   seconds(metricChat, "Duration of a request to a model.", bucketsOperation),
		call:   seconds(metricCall, "Duration of a tool call.", bucketsOperation),
		tokens: tokens,
	}
}

// enabled reports whether any of the metrics is enabled.
func (m *metrics) enabled(ctx context.Context) bool {
	return m.run.Enabled(ctx) || m.chat.Enabled(ctx) || m.call.Enabled(ctx) || m.tokens.Enabled(ctx)
}

func (m *metrics) endRun(ctx context.Context, agent, class string, took time.Duration) {
	if !m.run.Enabled(ctx) {
		return
	}
	attrs := make([]attribute.KeyValue, 0, 2)
	attrs = appendString(attrs, keyAgent, agent)
	attrs = appendString(attrs, keyErrorType, class)
	m.run.Record(ctx, took.Seconds(), metric.WithAttributes(attrs...))
}

func (m *metrics) endCall(ctx context.Context, tool, class string, took time.Duration) {
	if !m.call.Enabled(ctx) {
		return
	}
	attrs := append(make([]attribute.KeyValue, 0, 3), keyTool.String(tool), keyToolType.String("function"))
	attrs = appendString(attrs, keyErrorType, class)
	m.call.Record(ctx, took.Seconds(), metric.WithAttributes(attrs...))
}

func (m *metrics) endRequest(ctx context.Context, names modelNames, resp *model.Message, class string, took time.Duration) {
	duration, tokens := m.chat.Enabled(ctx), m.tokens.Enabled(ctx)
	if !duration && !tokens {
		return
	}
	attrs := append(make([]attribute.KeyValue, 0, 5), keyOperation.String(opChat))
	attrs = appendString(attrs, keyProvider, names.provider)
	attrs = appendString(attrs, keyRequestModel, names.requested)
	attrs = appendString(attrs, keyResponseModel, names.answered)
	if duration {
		m.chat.Record(ctx, took.Seconds(), metric.WithAttributes(appendString(attrs, keyErrorType, class)...))
	}
	if tokens && resp != nil && resp.Usage != (model.Usage{}) {
		m.tokens.Record(ctx, resp.Usage.InputTokens, metric.WithAttributes(append(attrs, keyTokenType.String("input"))...))
		m.tokens.Record(ctx, resp.Usage.OutputTokens, metric.WithAttributes(append(attrs, keyTokenType.String("output"))...))
	}
}
