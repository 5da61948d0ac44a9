// SPDX-License-Identifier: Apache-2.0

package acp_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

var update = flag.Bool("update", false, "rewrite the golden transcripts")

// transcript collects the lines that an agent's connection reads and writes.
type transcript struct {
	mu    sync.Mutex
	lines strings.Builder
}

func (tr *transcript) tap(dir acp.Direction, line []byte) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	arrow := "-> " // to the agent
	if dir == acp.Sent {
		arrow = "<- "
	}
	tr.lines.WriteString(arrow + string(line) + "\n")
}

func (tr *transcript) compare(t *testing.T, file string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(tr.lines.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), tr.lines.String())
}

// editingAgent reads a file, asks for permission to change it, and changes it.
type editingAgent struct {
	acp.UnimplementedAgent
	client acp.Client
}

func (a *editingAgent) Initialize(context.Context, *acp.InitializeRequest) (*acp.InitializeResponse, error) {
	return &acp.InitializeResponse{
		ProtocolVersion:   acp.Version,
		AgentInfo:         &acp.Implementation{Name: "editor", Version: "1.0"},
		AgentCapabilities: acp.AgentCapabilities{SessionCapabilities: acp.SessionCapabilities{Close: &acp.SessionCloseCapabilities{}}},
	}, nil
}

func (a *editingAgent) NewSession(ctx context.Context, _ *acp.NewSessionRequest) (*acp.NewSessionResponse, error) {
	acp.AfterResponse(ctx, func(ctx context.Context) {
		_ = a.update(ctx, acp.SessionUpdate{AvailableCommandsUpdate: &acp.AvailableCommandsUpdate{
			AvailableCommands: []acp.AvailableCommand{{Name: "compact", Description: "Shorten the history"}},
		}})
	})
	return &acp.NewSessionResponse{
		SessionID: "s1",
		Modes:     &acp.SessionModeState{CurrentModeID: "code", AvailableModes: []acp.SessionMode{{ID: "code", Name: "Code"}}},
	}, nil
}

func (a *editingAgent) update(ctx context.Context, u acp.SessionUpdate) error {
	return a.client.SessionUpdate(ctx, &acp.SessionNotification{SessionID: "s1", Update: u})
}

func (a *editingAgent) Prompt(ctx context.Context, p *acp.PromptRequest) (*acp.PromptResponse, error) {
	acp.Async(ctx)
	if p.Prompt[0].Text.Text == "wait" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	const path = "/home/ada/greeting.txt"
	_ = a.update(ctx, acp.ThoughtChunk("Let me see."))
	_ = a.update(ctx, acp.SessionUpdate{ToolCall: &acp.ToolCall{
		ToolCallID: "call-1", Title: "Edit greeting.txt", Kind: acp.ToolKindEdit, Status: acp.ToolCallStatusPending,
		Locations: []acp.ToolCallLocation{{Path: path, Line: new(uint32(1))}}, RawInput: json.RawMessage(`{"offset":9007199254740993}`),
	}})
	file, err := a.client.ReadTextFile(ctx, &acp.ReadTextFileRequest{SessionID: p.SessionID, Path: path})
	if err != nil {
		return nil, err
	}
	answer, err := a.client.RequestPermission(ctx, &acp.RequestPermissionRequest{
		SessionID: p.SessionID, ToolCall: acp.ToolCallUpdate{ToolCallID: "call-1"},
		Options: []acp.PermissionOption{{OptionID: "yes", Name: "Allow", Kind: acp.PermissionOptionKindAllowOnce}},
	})
	if err != nil || answer.Outcome.Selected == nil {
		return nil, err
	}
	_ = a.update(ctx, acp.SessionUpdate{ToolCallUpdate: &acp.ToolCallUpdate{
		ToolCallID: "call-1", Status: acp.ToolCallStatusCompleted,
		Content: []acp.ToolCallContent{{Diff: &acp.Diff{Path: path, OldText: &file.Content, NewText: "bye\n"}}},
	}})
	_ = a.update(ctx, acp.TextChunk("Done."))
	return &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
}

func (a *editingAgent) CloseSession(context.Context, *acp.CloseSessionRequest) (*acp.CloseSessionResponse, error) {
	return nil, nil
}

// permissiveClient has one file and allows everything.
type permissiveClient struct{ acp.UnimplementedClient }

func (permissiveClient) SessionUpdate(context.Context, *acp.SessionNotification) error { return nil }

func (permissiveClient) ReadTextFile(context.Context, *acp.ReadTextFileRequest) (*acp.ReadTextFileResponse, error) {
	return &acp.ReadTextFileResponse{Content: "hello\n"}, nil
}

func (permissiveClient) RequestPermission(
	_ context.Context, p *acp.RequestPermissionRequest,
) (*acp.RequestPermissionResponse, error) {
	return &acp.RequestPermissionResponse{Outcome: acp.RequestPermissionOutcome{
		Selected: &acp.SelectedPermissionOutcome{OptionID: p.Options[0].OptionID},
	}}, nil
}

func TestTranscriptOfASession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var tr transcript
		agent, client := acp.Pair(
			func(c *acp.AgentConn) acp.Agent { return &editingAgent{client: c} },
			func(*acp.ClientConn) acp.Client { return permissiveClient{} },
			&acp.ConnOptions{Tap: tr.tap}, nil)
		serveBoth(t, agent, client)
		ctx := t.Context()

		_, err := client.Initialize(ctx, &acp.InitializeRequest{
			ProtocolVersion:    acp.Version,
			ClientInfo:         &acp.Implementation{Name: "test", Version: "0"},
			ClientCapabilities: acp.ClientCapabilities{FS: acp.FileSystemCapabilities{ReadTextFile: true}},
		})
		require.NoError(t, err)
		session, err := client.NewSession(ctx, &acp.NewSessionRequest{Cwd: "/repo"})
		require.NoError(t, err)
		synctest.Wait()
		prompt := func(text string) *acp.PromptRequest {
			return &acp.PromptRequest{SessionID: session.SessionID, Prompt: []acp.ContentBlock{acp.TextBlock(text)}}
		}
		turn, err := client.Prompt(ctx, prompt("Say bye instead"))
		require.NoError(t, err)
		assert.Equal(t, acp.StopReasonEndTurn, turn.StopReason)

		go func() {
			synctest.Wait()
			_ = client.Cancel(ctx, &acp.CancelNotification{SessionID: session.SessionID})
		}()
		turn, err = client.Prompt(ctx, prompt("wait"))
		require.NoError(t, err)
		assert.Equal(t, acp.StopReasonCancelled, turn.StopReason)

		_, err = client.SetSessionMode(ctx, &acp.SetSessionModeRequest{SessionID: session.SessionID, ModeID: "ask"})
		assert.ErrorIs(t, err, acp.ErrMethodNotFound)
		_, err = client.CloseSession(ctx, &acp.CloseSessionRequest{SessionID: session.SessionID})
		require.NoError(t, err)
		tr.compare(t, "testdata/session.golden")
	})
}

func TestTraceTellsKindsAndSizesButNoPayload(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var mu sync.Mutex
		var events []acp.Event
		p := initializedAgent(t, &fakeAgent{}, &acp.ConnOptions{Trace: func(ev acp.Event) {
			mu.Lock()
			defer mu.Unlock()
			events = append(events, ev)
		}})
		list := request(7, "session/list", "{}")
		p.send(list, cancelLine("s"))
		synctest.Wait()
		p.send("{")
		answer := p.line()
		refusal := p.line()
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		assert.Equal(t, "received request", fmt.Sprint(acp.Received, " ", acp.KindRequest))
		assert.Subset(t, events, []acp.Event{
			{Direction: acp.Received, Kind: acp.KindRequest, Method: "session/list", ID: "7", Size: len(list)},
			{Direction: acp.Sent, Kind: acp.KindResponse, Method: "session/list", ID: "7", Size: len(answer) + 1},
			{Direction: acp.Received, Kind: acp.KindNotification, Method: "session/cancel", Size: len(cancelLine("s"))},
			{Direction: acp.Received, Kind: acp.KindInvalid, Size: 1, Problem: "parse error: the line is not valid JSON"},
			{Direction: acp.Sent, Kind: acp.KindError, ID: "null", Size: len(refusal) + 1},
		})
	})
}
