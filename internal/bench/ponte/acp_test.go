// SPDX-License-Identifier: Apache-2.0

package ponte_test

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/internal/bench/work"
)

func BenchmarkACP(b *testing.B) {
	work.BenchmarkACP(b, work.ACP{
		SendChunk: func(tb testing.TB) func(context.Context) error {
			in, hold := acp.Pipe()
			agent := acp.NewAgentConn(in, io.Discard, func(*acp.AgentConn) acp.Agent { return acpAgent{} }, nil)
			serve(tb, agent)
			tb.Cleanup(func() { _ = hold.Close() })
			return func(ctx context.Context) error {
				return agent.SessionUpdate(ctx, &acp.SessionNotification{SessionID: work.Session, Update: acp.TextChunk(work.Chunk)})
			}
		},
		ReadFile: func(tb testing.TB, content string) func(context.Context) (string, error) {
			agent, client := connect(tb, acpClient{content: content})
			initialize(tb, client)
			return func(ctx context.Context) (string, error) {
				resp, err := agent.ReadTextFile(ctx, &acp.ReadTextFileRequest{SessionID: work.Session, Path: work.Path})
				if err != nil {
					return "", err
				}
				return resp.Content, nil
			}
		},
		Prompt: func(tb testing.TB) func(context.Context) error {
			_, client := connect(tb, acpClient{})
			initialize(tb, client)
			prompt := []acp.ContentBlock{acp.TextBlock(work.Prompt)}
			return func(ctx context.Context) error {
				_, err := client.Prompt(ctx, &acp.PromptRequest{SessionID: work.Session, Prompt: prompt})
				return err
			}
		},
	})
}

// connect returns both ends of a connection over the operating system's pipes.
func connect(tb testing.TB, c acpClient) (*acp.AgentConn, *acp.ClientConn) {
	toAgent, fromClient, err1 := os.Pipe()
	toClient, fromAgent, err2 := os.Pipe()
	if err1 != nil || err2 != nil {
		tb.Fatal(err1, err2)
	}
	agent := acp.NewAgentConn(toAgent, fromAgent, func(*acp.AgentConn) acp.Agent { return acpAgent{} }, nil)
	client := acp.NewClientConn(toClient, fromClient, func(*acp.ClientConn) acp.Client { return c }, nil)
	serve(tb, agent)
	serve(tb, client)
	tb.Cleanup(func() {
		_ = fromClient.Close()
		_ = fromAgent.Close()
	})
	return agent, client
}

// serve serves one end until the test is over. The cleanups that make it end have to be registered behind it.
func serve(tb testing.TB, conn interface {
	Serve(ctx context.Context) error
	Done() <-chan struct{}
},
) {
	go func() { _ = conn.Serve(context.Background()) }()
	tb.Cleanup(func() { <-conn.Done() })
}

func initialize(tb testing.TB, client *acp.ClientConn) {
	if _, err := client.Initialize(context.Background(), &acp.InitializeRequest{ProtocolVersion: acp.Version}); err != nil {
		tb.Fatal(err)
	}
}

// acpAgent ends every turn at once.
type acpAgent struct{ acp.UnimplementedAgent }

func (acpAgent) Initialize(context.Context, *acp.InitializeRequest) (*acp.InitializeResponse, error) {
	return &acp.InitializeResponse{ProtocolVersion: acp.Version}, nil
}

func (acpAgent) Prompt(context.Context, *acp.PromptRequest) (*acp.PromptResponse, error) {
	return &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
}

// acpClient has one file.
type acpClient struct {
	acp.UnimplementedClient
	content string
}

func (c acpClient) ReadTextFile(context.Context, *acp.ReadTextFileRequest) (*acp.ReadTextFileResponse, error) {
	return &acp.ReadTextFileResponse{Content: c.content}, nil
}
