// SPDX-License-Identifier: Apache-2.0

package otelagent

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// eventEvaluation is the event of a score.
const eventEvaluation = "gen_ai.evaluation.result"

// Attributes of scores.
const (
	keyEvaluation       = attribute.Key("gen_ai.evaluation.name")
	keyEvaluationValue  = attribute.Key("gen_ai.evaluation.score.value")
	keyEvaluationLabel  = attribute.Key("gen_ai.evaluation.score.label")
	keyEvaluationReason = attribute.Key("gen_ai.evaluation.explanation")
)

// EvaluationResult is the score of an evaluation.
type EvaluationResult struct {
	// Name is the metric. It is required.
	Name string
	// Value is the score, or nil if there is only a label. Label is what it means, such as "pass".
	Value *float64
	Label string
	// Reason explains the score. It is content: it is recorded only with [Config].Content.
	Reason string
	// Conversation, Run and Response are the ids of the conversation, of the run that was
	// evaluated, and of its response, as the provider has it.
	Conversation, Run, Response string
	// Error is the class of the error of an evaluation that failed, of few possible values.
	Error string
}

// Evaluation returns a function that reports scores, by the conventions as the event
// gen_ai.evaluation.result. The event is on the span of its context if that is recorded, and
// otherwise on a span of its own. The function is safe for concurrent use.
func Evaluation(config Config) func(ctx context.Context, r EvaluationResult) {
	if config.TracerProvider == nil {
		config.TracerProvider = otel.GetTracerProvider()
	}
	if config.MaxContent == 0 {
		config.MaxContent = DefaultMaxContent
	}
	tracer := config.TracerProvider.Tracer(scope, trace.WithSchemaURL(schemaURL))
	content := content{on: config.Content, limit: config.MaxContent}
	return func(ctx context.Context, r EvaluationResult) {
		span := trace.SpanFromContext(ctx)
		if !span.IsRecording() {
			_, span = tracer.Start(ctx, "evaluate "+r.Name)
			defer span.End()
		}
		attrs := append(make([]attribute.KeyValue, 0, 8), keyEvaluation.String(r.Name))
		if r.Value != nil {
			attrs = append(attrs, keyEvaluationValue.Float64(*r.Value))
		}
		attrs = appendString(attrs, keyEvaluationLabel, r.Label)
		if content.on && r.Reason != "" {
			attrs = append(attrs, keyEvaluationReason.String(content.text(r.Reason)))
		}
		attrs = appendString(attrs, keyConversation, r.Conversation)
		attrs = appendString(attrs, keyRun, r.Run)
		attrs = appendString(attrs, keyResponseID, r.Response)
		attrs = appendString(attrs, keyErrorType, r.Error)
		span.AddEvent(eventEvaluation, trace.WithAttributes(attrs...))
	}
}
