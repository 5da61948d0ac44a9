// SPDX-License-Identifier: Apache-2.0

package acpsdk_test

import (
	"context"
	"io"
	"log/slog"
	"os"
	"testing"

	acp "github.com/coder/acp-go-sdk"

	"github.com/ponte-go/ponte/internal/bench/work"
)

// largest is the longest line that the SDK reads.
const largest = 10 << 20

func BenchmarkACP(b *testing.B) {
	work.BenchmarkACP(b, work.ACP{
		Largest: largest,
		SendChunk: func(tb testing.TB) func(context.Context) error {
			in, hold := io.Pipe()
			agent := acp.NewAgentSideConnection(sdkAgent{}, io.Discard, in)
			closing(tb, agent, hold)
			return func(ctx context.Context) error {
				return agent.SessionUpdate(ctx, acp.SessionNotification{SessionId: work.Session, Update: acp.UpdateAgentMessageText(work.Chunk)})
			}
		},
		ReadFile: func(tb testing.TB, content string) func(context.Context) (string, error) {
			agent, _ := connect(tb, sdkClient{content: content})
			return func(ctx context.Context) (string, error) {
				resp, err := agent.ReadTextFile(ctx, acp.ReadTextFileRequest{SessionId: work.Session, Path: work.Path})
				return resp.Content, err
			}
		},
		Prompt: func(tb testing.TB) func(context.Context) error {
			_, client := connect(tb, sdkClient{})
			prompt := []acp.ContentBlock{acp.TextBlock(work.Prompt)}
			return func(ctx context.Context) error {
				_, err := client.Prompt(ctx, acp.PromptRequest{SessionId: work.Session, Prompt: prompt})
				return err
			}
		},
	})
}

// connect returns both ends of a connection over the operating system's pipes. The SDK asks for no initialize.
func connect(tb testing.TB, c sdkClient) (*acp.AgentSideConnection, *acp.ClientSideConnection) {
	toAgent, fromClient, err1 := os.Pipe()
	toClient, fromAgent, err2 := os.Pipe()
	if err1 != nil || err2 != nil {
		tb.Fatal(err1, err2)
	}
	agent := acp.NewAgentSideConnection(sdkAgent{}, fromAgent, toAgent)
	client := acp.NewClientSideConnection(c, fromClient, toClient)
	closing(tb, agent, fromClient)
	closing(tb, client, fromAgent)
	return agent, client
}

// closing ends a connection when the test is over: by closing what it reads from.
func closing(tb testing.TB, conn interface {
	Done() <-chan struct{}
	SetLogger(l *slog.Logger)
}, w io.Closer,
) {
	conn.SetLogger(slog.New(slog.DiscardHandler))
	tb.Cleanup(func() {
		_ = w.Close()
		<-conn.Done()
	})
}

// sdkAgent ends every turn at once. The methods that it does not have are never called.
type sdkAgent struct{ acp.Agent }

func (sdkAgent) Prompt(context.Context, acp.PromptRequest) (acp.PromptResponse, error) {
	return acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
}

// sdkClient has one file.
type sdkClient struct {
	acp.Client

	content string
}

func (c sdkClient) ReadTextFile(context.Context, acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	return acp.ReadTextFileResponse{Content: c.content}, nil
}

// TestTheLargestFileDoesNotGetThrough keeps the table's gap true.
func TestTheLargestFileDoesNotGetThrough(t *testing.T) {
	agent, _ := connect(t, sdkClient{content: string(make([]byte, largest))})
	if _, err := agent.ReadTextFile(t.Context(), acp.ReadTextFileRequest{SessionId: work.Session, Path: work.Path}); err == nil {
		t.Fatal("a line of more than 10 MiB was read: Largest should be raised")
	}
}
