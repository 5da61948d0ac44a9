// SPDX-License-Identifier: Apache-2.0

package otelagent_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/ponte-go/ponte/agent/otelagent"
)

func TestScoresAreEventsOfTheConventions(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	value := 0.5
	result := otelagent.EvaluationResult{
		Name: "polite", Value: &value, Label: "pass", Reason: "It says please.", Conversation: "s1", Run: "t1", Response: "r1",
	}
	otelagent.Evaluation(otelagent.Config{TracerProvider: provider})(context.Background(), result)
	ctx, outer := provider.Tracer("test").Start(context.Background(), "outer")
	otelagent.Evaluation(otelagent.Config{TracerProvider: provider, Content: true})(ctx, result)
	otelagent.Evaluation(otelagent.Config{TracerProvider: provider})(ctx, otelagent.EvaluationResult{Name: "x", Error: "timeout"})
	outer.End()
	ended := spans.Ended()
	require.Len(t, ended, 2)
	require.Equal(t, "evaluate polite", ended[0].Name())
	require.Equal(t, "gen_ai.evaluation.result", ended[0].Events()[0].Name)
	require.Equal(t, []attribute.KeyValue{
		attribute.String("gen_ai.evaluation.name", "polite"), attribute.Float64("gen_ai.evaluation.score.value", 0.5),
		attribute.String("gen_ai.evaluation.score.label", "pass"), attribute.String("gen_ai.conversation.id", "s1"),
		attribute.String("ponte.run.id", "t1"), attribute.String("gen_ai.response.id", "r1"),
	}, ended[0].Events()[0].Attributes, "without content, there is no explanation")
	require.Len(t, ended[1].Events(), 2)
	require.Contains(t, ended[1].Events()[0].Attributes, attribute.String("gen_ai.evaluation.explanation", "It says please."))
	require.Contains(t, ended[1].Events()[1].Attributes, attribute.String("error.type", "timeout"))
}
