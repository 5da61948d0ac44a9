// SPDX-License-Identifier: Apache-2.0

package acpproxy_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/acpbridge/acpproxy"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// writer is an agent that writes a file.
type writer struct {
	acp.UnimplementedAgent
	client *acp.AgentConn
}

func (*writer) Initialize(context.Context, *acp.InitializeRequest) (*acp.InitializeResponse, error) {
	return &acp.InitializeResponse{ProtocolVersion: acp.Version}, nil
}

func (*writer) NewSession(context.Context, *acp.NewSessionRequest) (*acp.NewSessionResponse, error) {
	return &acp.NewSessionResponse{SessionID: "s"}, nil
}

func (w *writer) Prompt(ctx context.Context, r *acp.PromptRequest) (*acp.PromptResponse, error) {
	acp.Async(ctx)
	text := "I have written it."
	if _, err := w.client.WriteTextFile(ctx, &acp.WriteTextFileRequest{SessionID: "s", Path: "/repo/.env", Content: "A=1\n"}); err != nil {
		text = fmt.Sprint("I could not write it: ", err)
	}
	err := w.client.SessionUpdate(ctx, &acp.SessionNotification{SessionID: "s", Update: acp.TextChunk(text)})
	return &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, err
}

// A policy between a client and an agent denies what the client would allow.
func Example() {
	toAgent, fromProxy := acp.Pipe()
	toProxy, fromAgent := acp.Pipe()
	go acp.NewAgentConn(toAgent, fromAgent, func(c *acp.AgentConn) acp.Agent { return &writer{client: c} }, nil).Serve(context.Background())

	config, err := approval.ParseConfig([]byte(`{"rules": [{"decision": "deny", "path": "**/.env", "reason": "it has secrets"}]}`))
	if err != nil {
		log.Fatal(err)
	}
	layer, err := config.Layer("/repo")
	if err != nil {
		log.Fatal(err)
	}
	var recording bytes.Buffer
	toClient, proxyWrites := acp.Pipe()
	proxyReads, fromClient := acp.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- acpproxy.Serve(context.Background(), proxyReads, proxyWrites, toProxy, fromProxy, acpproxy.Config{
			Policy: acpproxy.Layers(layer), Record: &recording,
		})
	}()

	files, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{"/repo"}})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	client, err := acpclient.Connect(ctx, toClient, fromClient, acpclient.Config{Workspace: files, Permission: acpclient.AllowAll})
	if err != nil {
		log.Fatal(err)
	}
	session, err := client.NewSession(ctx, acpclient.SessionConfig{})
	if err != nil {
		log.Fatal(err)
	}
	turn, err := session.Say(ctx, "Write .env.")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(turn.Text())
	_ = client.Close()
	if err := <-served; err != nil {
		log.Fatal(err)
	}
	entries, err := acpproxy.ReadRecording(&recording)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(entries), "messages, the first one from the", entries[0].From)
	// Output:
	// I could not write it: acp: fs/write_text_file: a policy denies this: Not permitted by the user's configuration: it has secrets (-32600)
	// 9 messages, the first one from the client
}
