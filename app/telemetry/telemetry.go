// SPDX-License-Identifier: Apache-2.0

// Package telemetry has programs of package app export traces and metrics with OpenTelemetry, by
// the standard variables of the environment. Import it for that effect:
//
//	import _ "github.com/ponte-go/ponte/app/telemetry"
//
// Traces are exported if OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or
// OTEL_TRACES_EXPORTER is set, and metrics if the first, OTEL_EXPORTER_OTLP_METRICS_ENDPOINT or
// OTEL_METRICS_EXPORTER is. All other variables of the exporters apply, such as
// OTEL_EXPORTER_OTLP_PROTOCOL, OTEL_EXPORTER_OTLP_HEADERS and OTEL_TRACES_SAMPLER.
// OTEL_SDK_DISABLED turns everything off. The service is named like the program, unless
// OTEL_SERVICE_NAME says otherwise. What was said is recorded only if
// OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT is true: see package otelagent.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/ponte-go/ponte/agent/otelagent"
	"github.com/ponte-go/ponte/app"
)

func init() { app.RegisterTelemetry(start) }

// start begins to export what the agents of the process do, as the environment says. It sets the
// global providers of OpenTelemetry. stop is nil if the environment names nothing to export to.
func start(ctx context.Context, e *app.Env) (stop func(context.Context) error, err error) {
	traces, metrics := wanted(e.Getenv, "TRACES"), wanted(e.Getenv, "METRICS")
	refused := errors.Join(console(e.Getenv, "TRACES"), console(e.Getenv, "METRICS"))
	if !traces && !metrics {
		return nil, refused
	}
	of, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", e.Name), attribute.String("service.version", e.Version),
	), resource.WithFromEnv())
	if err != nil && of == nil {
		return nil, err
	}
	var stops []func(context.Context) error
	stop = func(ctx context.Context) error {
		var errs []error
		for _, s := range stops {
			errs = append(errs, s(ctx))
		}
		return errors.Join(errs...)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		e.Logger.Warn("telemetry", "error", err)
	}))
	otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator(
		propagation.TraceContext{}, propagation.Baggage{},
	))
	if traces {
		exporter, err := autoexport.NewSpanExporter(ctx)
		if err != nil {
			return nil, unusable(e, "TRACES", err)
		}
		p := trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(of))
		otel.SetTracerProvider(p)
		stops = append(stops, p.Shutdown)
	}
	if metrics {
		reader, err := autoexport.NewMetricReader(ctx)
		if err != nil {
			return stop, unusable(e, "METRICS", err)
		}
		p := metric.NewMeterProvider(metric.WithReader(reader), metric.WithResource(of))
		otel.SetMeterProvider(p)
		stops = append(stops, p.Shutdown)
	}
	content := e.Getenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT")
	otelagent.Install(otelagent.Config{Content: strings.EqualFold(content, "true")})
	return stop, refused
}

// console returns an error if a signal is to be written to the standard output, which belongs to
// protocols and answers.
func console(getenv func(string) string, signal string) error {
	if getenv("OTEL_"+signal+"_EXPORTER") != "console" {
		return nil
	}
	return fmt.Errorf("OTEL_%s_EXPORTER is console, which would write into the output: use otlp", signal)
}

// wanted reports whether the environment has a signal exported.
func wanted(getenv func(string) string, signal string) bool {
	exporter := getenv("OTEL_" + signal + "_EXPORTER")
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || exporter == "none" || exporter == "console" {
		return false
	}
	return exporter != "" || getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" ||
		getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != ""
}

// unusable names the variables that select an exporter.
func unusable(e *app.Env, signal string, err error) error {
	name := "OTEL_" + signal + "_EXPORTER"
	return fmt.Errorf("%s is %q, OTEL_EXPORTER_OTLP_PROTOCOL is %q: %w",
		name, e.Getenv(name), e.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"), err)
}
