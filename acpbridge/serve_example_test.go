// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"time"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
)

// printer is an editor that prints what it is shown.
type printer struct{ acp.UnimplementedClient }

func (printer) SessionUpdate(_ context.Context, n *acp.SessionNotification) error {
	switch u := n.Update; {
	case u.AgentMessageChunk != nil:
		fmt.Println("message:", u.AgentMessageChunk.Content.Text.Text)
	case u.ToolCall != nil:
		fmt.Println("tool call:", u.ToolCall.Title)
	case u.ToolCallUpdate != nil && u.ToolCallUpdate.Status != "":
		fmt.Println("tool call:", u.ToolCallUpdate.Status)
	}
	return nil
}

// An agent whose tools know the editor's session. A program leaves In and Out empty: then it speaks on its standard streams, as
// editors expect.
func ExampleServe() {
	type Deps struct {
		deps.ACPDeps
		Clock func() time.Time
	}
	type Query struct {
		Zone string `json:"zone" validate:"required"`
	}
	now := toolset.Func("now", "The time in a zone.", func(_ context.Context, run *toolset.RunContext[Deps], q Query) (string, error) {
		zone, err := time.LoadLocation(q.Zone)
		if err != nil {
			return "", toolset.Retry("unknown zone %q", q.Zone)
		}
		return run.Deps.Clock().In(zone).Format(time.Kitchen), nil
	}, toolset.OfKind(toolset.KindFetch, "Look at the clock"))

	m := modeltest.Script( // stands in for a real model
		modeltest.Say(model.ToolCall("1", "now", `{"zone":"UTC"}`)),
		modeltest.SayText("Noon."))
	a, err := agent.New(agent.Config[Deps, string]{
		Model:    m,
		Toolsets: []toolset.Toolset[Deps]{toolset.Of(now), acpbridge.Toolset[Deps]()},
	})
	if err != nil {
		log.Fatal(err)
	}

	in, toAgent := acp.Pipe()
	fromAgent, out := acp.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- acpbridge.Serve(context.Background(), acpbridge.Config[Deps, string]{
			Host: host.Config[Deps, string]{
				Agent:  a,
				Logger: slog.New(slog.DiscardHandler),
			},
			Deps: func(_ context.Context, acp deps.ACPDeps) (Deps, error) {
				noon := func() time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC) }
				return Deps{ACPDeps: acp, Clock: noon}, nil
			},
			Options: acpbridge.Options{
				In:  in,
				Out: out,
			},
		})
	}()

	// The editor's side.
	ctx := context.Background()
	editor := acp.NewClientConn(fromAgent, toAgent, func(*acp.ClientConn) acp.Client { return printer{} }, nil)
	go editor.Serve(ctx)
	if _, err := editor.Initialize(ctx, &acp.InitializeRequest{ProtocolVersion: acp.Version}); err != nil {
		log.Fatal(err)
	}
	session, err := editor.NewSession(ctx, &acp.NewSessionRequest{Cwd: "/home/me/project"})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := editor.Prompt(ctx, &acp.PromptRequest{
		SessionID: session.SessionID, Prompt: []acp.ContentBlock{acp.TextBlock("What time is it?")},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("stop reason:", answer.StopReason)
	editor.Close()
	fmt.Println("served:", <-served)
	// Output:
	// tool call: Look at the clock
	// tool call: completed
	// message: Noon.
	// stop reason: end_turn
	// served: <nil>
}
