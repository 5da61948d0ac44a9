// SPDX-License-Identifier: Apache-2.0

package otelagent_test

import (
	"context"
	"fmt"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/otelagent"
	"github.com/ponte-go/ponte/toolset"
)

func ExampleInstall() {
	spans := tracetest.NewInMemoryExporter() // a real program exports its spans
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))

	otelagent.Install(otelagent.Config{TracerProvider: provider}) // once, in main
	defer agent.SetInstrumentation()                              // a real program leaves it installed

	type Deps struct{}
	a, err := agent.New(agent.Config[Deps, string]{
		Name: "greeter",
		Model: modeltest.Script( // a real program has a real model here
			modeltest.Say(model.ToolCall("1", "whoami", `{}`)),
			modeltest.SayText("Hello, Ada!"),
		),
		Toolsets: []toolset.Toolset[Deps]{toolset.Of(
			toolset.Plain[Deps]("whoami", "Tells who is asking.", func(context.Context, struct{}) (string, error) { return "Ada", nil }),
		)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := a.Run(context.Background(), Deps{}, "Hi!"); err != nil {
		fmt.Println(err)
		return
	}
	for _, span := range spans.GetSpans() {
		fmt.Println(span.SpanKind, span.Name)
	}
	// Output:
	// client chat script
	// internal execute_tool whoami
	// client chat script
	// internal invoke_agent greeter
}
