// SPDX-License-Identifier: Apache-2.0

package otelagent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/otelagent"
	"github.com/ponte-go/ponte/agent/session/host"
	ide "github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
)

const (
	traceID = "0af7651916cd43dd8448eb211c80319c"
	parent  = `"00-` + traceID + `-b7ad6b7169203331-01"`
)

func TestTraceContextIsReadAndWritten(t *testing.T) {
	ctx := otelagent.JoinTrace(t.Context(), map[string]json.RawMessage{"traceparent": json.RawMessage(parent), "tracestate": json.RawMessage(`"a=b"`)})
	span := trace.SpanContextFromContext(ctx)
	require.Equal(t, traceID, span.TraceID().String())
	require.True(t, span.IsRemote())
	require.Equal(t, map[string]json.RawMessage{"traceparent": json.RawMessage(parent), "tracestate": json.RawMessage(`"a=b"`)}, otelagent.TraceMeta(ctx))
	require.Nil(t, otelagent.TraceMeta(t.Context()))
	for _, bad := range []string{`7`, `null`, `{}`, `""`, `"00-0-0-01"`, `"00-00000000000000000000000000000000-b7ad6b7169203331-01"`, `["` + traceID + `"]`} {
		require.Equal(t, t.Context(), otelagent.JoinTrace(t.Context(), map[string]json.RawMessage{"traceparent": json.RawMessage(bad)}), bad)
	}
}

// lines keeps what goes over a connection.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) tap(_ acp.Direction, line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, string(line))
}

// traceOf returns the traceparents of the requests of a method.
func (l *lines) tracesOf(method string) (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.all {
		var m struct {
			Method string
			Params struct {
				Meta struct{ Traceparent string } `json:"_meta"`
			}
		}
		if json.Unmarshal([]byte(line), &m) == nil && m.Method == method {
			all = append(all, m.Params.Meta.Traceparent)
		}
	}
	return all
}

// A prompt of a traced client leads to spans of the agent in the same trace, and to a question that belongs to the span of the tool.
func TestSpansOfBothSidesAreOneTrace(t *testing.T) {
	type none struct{}
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	ask := toolset.Func("ask", "", func(ctx context.Context, run *toolset.RunContext[ide.ACPDeps], _ none) (string, error) {
		_, err := run.Ask(ctx, toolset.Question{Message: "Secret?"})
		return "asked", err
	})
	a, err := agent.New(agent.Config[ide.ACPDeps, string]{
		Name: "agent", Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "ask", "{}")), modeltest.SayText("done")), Tools: []*toolset.Tool[ide.ACPDeps]{ask},
	})
	require.NoError(t, err)
	toAgent, fromClient := acp.Pipe()
	toClient, fromAgent := acp.Pipe()
	config := acpbridge.Config[ide.ACPDeps, string]{Host: host.Config[ide.ACPDeps, string]{Agent: a, Logger: slog.New(slog.DiscardHandler)}, Options: acpbridge.Options{In: toAgent, Out: fromAgent}}
	config.Conn.IncomingMeta, config.Conn.OutgoingMeta = otelagent.JoinTrace, otelagent.TraceMeta
	served := make(chan error, 1)
	go func() {
		served <- acpbridge.Serve(agent.WithInstrumentation(context.Background(), otelagent.New(otelagent.Config{TracerProvider: provider})), config)
	}()

	var wire lines
	var inside trace.SpanContext
	own := acpclient.Config{Elicitation: func(context.Context, *acpclient.Elicitation) (acpclient.Answer, error) {
		return acpclient.Answer{Action: toolset.ActionAccept}, nil
	}, Conn: acp.ConnOptions{Tap: wire.tap, OutgoingMeta: otelagent.TraceMeta, IncomingMeta: func(ctx context.Context, meta map[string]json.RawMessage) context.Context {
		ctx = otelagent.JoinTrace(ctx, meta)
		inside = trace.SpanContextFromContext(ctx)
		return ctx
	}}}
	c, err := acpclient.Connect(t.Context(), toClient, fromClient, own)
	require.NoError(t, err)
	s, err := c.NewSession(t.Context(), acpclient.SessionConfig{Cwd: "/repo"})
	require.NoError(t, err)
	ctx, editor := provider.Tracer("editor").Start(t.Context(), "editor")
	_, err = s.Say(ctx, "go")
	require.NoError(t, err)
	editor.End()
	require.NoError(t, c.Close())
	require.NoError(t, <-served)

	byName := map[string]tracetest.SpanStub{}
	for _, span := range spans.GetSpans() {
		byName[span.Name] = span
		require.Equal(t, editor.SpanContext().TraceID(), span.SpanContext.TraceID(), span.Name)
		require.NotContains(t, fmt.Sprint(span.Attributes), "Secret")
	}
	require.Equal(t, editor.SpanContext().SpanID(), byName["invoke_agent agent"].Parent.SpanID())
	require.Equal(t, []string{"00-" + editor.SpanContext().TraceID().String() + "-" + editor.SpanContext().SpanID().String() + "-01"}, wire.tracesOf(acp.MethodPrompt))
	tool := byName["execute_tool ask"].SpanContext
	require.Equal(t, []string{"00-" + tool.TraceID().String() + "-" + tool.SpanID().String() + "-01"}, wire.tracesOf(acp.MethodCreateElicitation))
	require.Equal(t, tool.SpanID(), inside.SpanID(), "the client's own code sees the agent's span")
	require.Equal(t, []string{""}, wire.tracesOf(acp.MethodNewSession), "outside of a trace there is nothing to tell")
}
