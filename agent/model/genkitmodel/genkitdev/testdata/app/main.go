// SPDX-License-Identifier: Apache-2.0

// Command app is a program as one that uses genkitdev: an agent with a tool, in Genkit's developer
// tools, with a model that needs no network. The interop tests run it with Genkit's own command
// line.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/firebase/genkit/go/core/tracing"
	"github.com/firebase/genkit/go/genkit"
	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel/genkitdev"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/otelagent"
	"github.com/ponte-go/ponte/toolset"
)

type deps struct{ user string }

type place struct {
	City string `json:"city"`
}

type forecast struct {
	City    string   `json:"city"`
	Summary string   `json:"summary"`
	Hours   []string `json:"hours"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if os.Getenv("APP_PROVIDER") != "" { // a tracer provider of the program's own; a real one would export its spans as well
		otel.SetTracerProvider(sdktrace.NewTracerProvider())
		if url := os.Getenv("GENKIT_TELEMETRY_SERVER"); url != "" {
			tracing.WriteTelemetryImmediate(tracing.NewHTTPTelemetryClient(url))
		}
	}
	g := genkit.Init(ctx)
	if err := register(g); err != nil {
		log.Fatal(err)
	}
	<-ctx.Done()
}

func register(g *genkit.Genkit) error {
	if os.Getenv("APP_OTELAGENT") != "" {
		otelagent.Install(otelagent.Config{})
	}
	weather := toolset.Func("weather", "Tells the weather.", func(_ context.Context, run *toolset.RunContext[deps], in place) (string, error) {
		return fmt.Sprintf("%s asks for %s: clouds", run.Deps.user, in.City), nil
	})
	a, err := agent.New(agent.Config[deps, forecast]{
		Name: "forecaster", Instructions: "Give a forecast.", Model: modeltest.Func(answer), Hooks: []agent.Hooks[deps]{genkitdev.Hooks[deps]()},
		Toolsets: []toolset.Toolset[deps]{toolset.Of(weather)},
	})
	if err != nil {
		return err
	}
	_, err = genkitdev.Register(g, "forecaster", a, genkitdev.Options[deps]{
		Deps:   func(context.Context) (deps, error) { return deps{"ada"}, nil },
		Prompt: "Oslo?",
	})
	return err
}

// answer asks for the weather first. What the user calls trouble is an error.
func answer(_ context.Context, req *model.Request) (*model.Message, error) {
	last := req.Messages[len(req.Messages)-1].Parts[0]
	switch {
	case last.Text == "trouble":
		return nil, &model.APIError{Provider: "offline", Model: "offline", Status: 500, Message: "out of paper"}
	case last.Kind == model.PartToolReturn:
		return model.Response(model.ToolCall("2", "final_result", fmt.Sprintf(`{"city":"Oslo","summary":%q,"hours":[]}`, last.Text))), nil
	}
	return model.Response(model.Text("Let me look."), model.ToolCall("1", "weather", `{"city":"Oslo"}`)), nil
}
