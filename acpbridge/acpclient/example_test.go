// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"context"
	"fmt"
	"log"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// greeter is an agent that writes a file.
type greeter struct {
	acp.UnimplementedAgent
	client *acp.AgentConn
}

func (*greeter) Initialize(context.Context, *acp.InitializeRequest) (*acp.InitializeResponse, error) {
	return &acp.InitializeResponse{ProtocolVersion: acp.Version}, nil
}

func (*greeter) NewSession(context.Context, *acp.NewSessionRequest) (*acp.NewSessionResponse, error) {
	return &acp.NewSessionResponse{SessionID: "s"}, nil
}

func (g *greeter) Prompt(ctx context.Context, r *acp.PromptRequest) (*acp.PromptResponse, error) {
	acp.Async(ctx)
	text := "I have written it."
	if _, err := g.client.WriteTextFile(ctx, &acp.WriteTextFileRequest{SessionID: "s", Path: "/repo/hello.txt", Content: "hello\n"}); err != nil {
		text = "I could not write it."
	}
	err := g.client.SessionUpdate(ctx, &acp.SessionNotification{SessionID: "s", Update: acp.TextChunk(text)})
	return &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, err
}

// A client connects to an agent, serves it a workspace, and decides what it may do. The agent here is in the same program; acpclient.Start
// starts one in a process of its own.
func Example() {
	toAgent, fromClient := acp.Pipe()
	toClient, fromAgent := acp.Pipe()
	go acp.NewAgentConn(toAgent, fromAgent, func(c *acp.AgentConn) acp.Agent { return &greeter{client: c} }, nil).Serve(context.Background())

	ws, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{"/repo"}})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	client, err := acpclient.Connect(ctx, toClient, fromClient, acpclient.Config{
		Workspace: ws,
		Permission: func(_ context.Context, r *acpclient.PermissionRequest) (acp.PermissionOptionID, error) {
			fmt.Println("May it?", r.Approval.Title)
			return r.Option(acp.PermissionOptionKindAllowOnce), nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	session, err := client.NewSession(ctx, acpclient.SessionConfig{})
	if err != nil {
		log.Fatal(err)
	}
	turn, err := session.Say(ctx, "Write hello.txt.")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(turn.StopReason, turn.Text())
	for e := range turn.Snapshot.All() {
		if e.Kind == view.Question {
			fmt.Println(e.Title, e.Status, e.Value)
		}
	}
	// Output:
	// May it? Create /repo/hello.txt
	// end_turn I have written it.
	// Create /repo/hello.txt completed allow_once
}
