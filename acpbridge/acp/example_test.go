// SPDX-License-Identifier: Apache-2.0

package acp_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// echoAgent repeats what it is told.
type echoAgent struct {
	acp.UnimplementedAgent
	client acp.Client
}

func (a *echoAgent) Initialize(context.Context, *acp.InitializeRequest) (*acp.InitializeResponse, error) {
	return &acp.InitializeResponse{ProtocolVersion: acp.Version}, nil
}

func (a *echoAgent) NewSession(context.Context, *acp.NewSessionRequest) (*acp.NewSessionResponse, error) {
	return &acp.NewSessionResponse{SessionID: "session-1"}, nil
}

func (a *echoAgent) Prompt(ctx context.Context, p *acp.PromptRequest) (*acp.PromptResponse, error) {
	acp.Async(ctx) // a turn may take long: let the session's next messages be handled
	for _, block := range p.Prompt {
		if block.Text == nil {
			return nil, acp.Errorf(acp.CodeInvalidParams, "only text is supported")
		}
		update := &acp.SessionNotification{SessionID: p.SessionID, Update: acp.TextChunk(block.Text.Text)}
		if err := a.client.SessionUpdate(ctx, update); err != nil {
			return nil, err
		}
	}
	return &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
}

// printingClient prints what the agent says.
type printingClient struct{ acp.UnimplementedClient }

func (printingClient) SessionUpdate(_ context.Context, n *acp.SessionNotification) error {
	if c := n.Update.AgentMessageChunk; c != nil && c.Content.Text != nil {
		fmt.Println("agent:", c.Content.Text.Text)
	}
	return nil
}

// A process would pass os.Stdin and os.Stdout to NewAgentConn; here both ends are in one process.
func Example() {
	agent, client := acp.Pair(
		func(client *acp.AgentConn) acp.Agent { return &echoAgent{client: client} },
		func(*acp.ClientConn) acp.Client { return printingClient{} },
		nil, nil)
	ctx := context.Background()
	go agent.Serve(ctx)
	go client.Serve(ctx)

	if _, err := client.Initialize(ctx, &acp.InitializeRequest{ProtocolVersion: acp.Version}); err != nil {
		fmt.Println(err)
	}
	session, err := client.NewSession(ctx, &acp.NewSessionRequest{Cwd: "/repo"})
	if err != nil {
		fmt.Println(err)
	}
	turn, err := client.Prompt(ctx, &acp.PromptRequest{
		SessionID: session.SessionID,
		Prompt:    []acp.ContentBlock{acp.TextBlock("hello")},
	})
	fmt.Println(turn.StopReason, err)

	client.Close()
	<-client.Done()
	<-agent.Done() // the end of its input ends the agent
	// Output:
	// agent: hello
	// end_turn <nil>
}

// An agent needs no connection to be tested: any Client will do.
func ExampleClient() {
	agent := &echoAgent{client: printingClient{}}
	turn, err := agent.Prompt(context.Background(), &acp.PromptRequest{Prompt: []acp.ContentBlock{acp.TextBlock("hello")}})
	fmt.Println(turn.StopReason, err)
	// Output:
	// agent: hello
	// end_turn <nil>
}

func ExampleAfterResponse() {
	handler := func(ctx context.Context, client acp.Client) *acp.NewSessionResponse {
		acp.AfterResponse(ctx, func(ctx context.Context) {
			// The client knows the session by now.
			_ = client.SessionUpdate(ctx, &acp.SessionNotification{SessionID: "s", Update: acp.SessionUpdate{
				AvailableCommandsUpdate: &acp.AvailableCommandsUpdate{
					AvailableCommands: []acp.AvailableCommand{{Name: "compact", Description: "Shorten the history"}},
				},
			}})
		})
		return &acp.NewSessionResponse{SessionID: "s"}
	}
	fmt.Println(handler(context.Background(), printingClient{}).SessionID)
	// Output: s
}

func ExampleErrorf() {
	err := fmt.Errorf("open settings: %w", acp.Errorf(acp.CodeResourceNotFound, "no file %q", "/etc/agent.toml"))
	fmt.Println(errors.Is(err, acp.ErrResourceNotFound))
	fmt.Println(acp.ToError(err).Code, acp.ToError(err).Message)
	// Output:
	// true
	// -32002 no file "/etc/agent.toml"
}
