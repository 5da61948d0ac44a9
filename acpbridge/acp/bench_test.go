// SPDX-License-Identifier: Apache-2.0

package acp_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// discardingConn is an agent's connection to a client that reads everything at once.
func discardingConn(tb testing.TB) *acp.AgentConn {
	in, hold := acp.Pipe()
	conn := acp.NewAgentConn(in, io.Discard, func(*acp.AgentConn) acp.Agent { return &fakeAgent{} }, nil)
	go conn.Serve(context.WithoutCancel(tb.Context())) //nolint:errcheck
	tb.Cleanup(func() {
		hold.Close()
		<-conn.Done()
	})
	return conn
}

const chunk = "The quick brown fox jumps over the lazy dog. "

func TestSendingATextChunkAllocatesAtMostTwice(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes pools forget")
	}
	conn := discardingConn(t)
	ctx := t.Context()
	var client acp.Client = conn
	n := text(chunk)
	assert.LessOrEqual(t, testing.AllocsPerRun(1000, func() { _ = client.SessionUpdate(ctx, n) }), 1.0, "an update that exists")
	assert.LessOrEqual(t, testing.AllocsPerRun(1000, func() {
		_ = conn.SessionUpdate(ctx, &acp.SessionNotification{SessionID: "s", Update: acp.TextChunk(chunk)})
	}), 2.0, "building the update included")
}

// flat is what a program without unions would encode.
type flat struct {
	JSONRPC string     `json:"jsonrpc"`
	Method  string     `json:"method"`
	Params  flatParams `json:"params"`
}

type flatParams struct {
	SessionID string     `json:"sessionId"`
	Update    flatUpdate `json:"update"`
}

type flatUpdate struct {
	SessionUpdate string   `json:"sessionUpdate"`
	Content       flatText `json:"content"`
}

type flatText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// BenchmarkSendTextChunk reports the cost of building and sending an update, to the end of the write, and its ratio to encoding a
// flat struct of the same contents with encoding/json in the same run.
func BenchmarkSendTextChunk(b *testing.B) {
	const rounds = 20_000
	start := time.Now()
	for range rounds {
		v := flat{"2.0", "session/update", flatParams{"s", flatUpdate{"agent_message_chunk", flatText{"text", chunk}}}}
		if _, err := json.Marshal(&v); err != nil {
			b.Fatal(err)
		}
	}
	floor := float64(time.Since(start)) / rounds

	conn := discardingConn(b)
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if err := conn.SessionUpdate(ctx, &acp.SessionNotification{SessionID: "s", Update: acp.TextChunk(chunk)}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/floor, "x-json.Marshal")
}

// BenchmarkReadFile1MiB reads a file through the client, over the operating system's pipes.
func BenchmarkReadFile1MiB(b *testing.B) { benchmarkReadFile(b, 1<<20) }

// BenchmarkReadFile32MiB is the same with the largest file that has to work.
func BenchmarkReadFile32MiB(b *testing.B) { benchmarkReadFile(b, 32<<20) }

func benchmarkReadFile(b *testing.B, size int) {
	const line = "\tif err := conn.SessionUpdate(ctx, \"x\"); err != nil {\n"
	content := strings.Repeat(line, size/len(line))
	toAgent, fromClient, err := os.Pipe()
	require.NoError(b, err)
	toClient, fromAgent, err := os.Pipe()
	require.NoError(b, err)
	agent := acp.NewAgentConn(toAgent, fromAgent, func(*acp.AgentConn) acp.Agent { return &fakeAgent{} }, nil)
	client := acp.NewClientConn(toClient, fromClient, func(*acp.ClientConn) acp.Client {
		return &fakeClient{readFile: func(context.Context, *acp.ReadTextFileRequest) (*acp.ReadTextFileResponse, error) {
			return &acp.ReadTextFileResponse{Content: content}, nil
		}}
	}, nil)
	serveBoth(b, agent, client)
	b.SetBytes(int64(len(content)))
	for b.Loop() {
		got, err := agent.ReadTextFile(b.Context(), &acp.ReadTextFileRequest{SessionID: "s", Path: "/f"})
		if err != nil || len(got.Content) != len(content) {
			b.Fatal(err)
		}
	}
}

// BenchmarkPrompt is the round trip of a prompt that does nothing.
func BenchmarkPrompt(b *testing.B) {
	agent, client := acp.Pair(
		func(*acp.AgentConn) acp.Agent { return &fakeAgent{} },
		func(*acp.ClientConn) acp.Client { return &fakeClient{} }, nil, nil)
	serveBoth(b, agent, client)
	_, err := client.Initialize(b.Context(), &acp.InitializeRequest{ProtocolVersion: 1})
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := client.Prompt(b.Context(), &acp.PromptRequest{SessionID: "s", Prompt: []acp.ContentBlock{acp.TextBlock("hi")}}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReceiveUpdates is the cost of an update from the agent's send to the client's handler.
func BenchmarkReceiveUpdates(b *testing.B) {
	done := make(chan struct{})
	seen := 0
	agent, client := acp.Pair(
		func(*acp.AgentConn) acp.Agent { return &fakeAgent{} },
		func(*acp.ClientConn) acp.Client {
			return &fakeClient{update: func(_ context.Context, n *acp.SessionNotification) error {
				if seen++; n.Update.AgentMessageChunk.Content.Text.Text == "last" {
					close(done)
				}
				return nil
			}}
		}, nil, nil)
	serveBoth(b, agent, client)
	b.ReportAllocs()
	n := text(chunk)
	for b.Loop() {
		if err := agent.SessionUpdate(b.Context(), n); err != nil {
			b.Fatal(err)
		}
	}
	_ = agent.SessionUpdate(b.Context(), text("last"))
	<-done
}
