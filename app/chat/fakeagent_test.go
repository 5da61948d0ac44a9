// SPDX-License-Identifier: Apache-2.0

package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// TestMain also makes the test binary the agent that the tests talk to.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "keeping" {
		if err := keep(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "agent" {
		conn := acp.NewAgentConn(os.Stdin, os.Stdout, func(c *acp.AgentConn) acp.Agent { return &fakeAgent{client: c} }, &acp.ConnOptions{ExtMethod: steer})
		if err := conn.Serve(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return
	}
	// With the race detector a process sleeps for a second before it ends.
	os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0")
	os.Exit(m.Run())
}

// links are the files that the prompt names.
var links string

// steered are the messages that were passed to the running turn.
var steered = make(chan string, 10)

// steer takes a message for the running turn.
func steer(_ context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
	var r acp.PromptRequest
	if err := json.Unmarshal(params, &r); err != nil {
		return nil, err
	}
	steered <- r.Prompt[0].Text.Text
	return json.RawMessage(`{"outcome":"injected"}`), nil
}

// fakeAgent does what the prompt says.
type fakeAgent struct {
	acp.UnimplementedAgent
	client *acp.AgentConn
	cwd    string
	locked bool // a login is needed
	made   int
	id     acp.SessionID // of the last prompt
}

func (a *fakeAgent) Initialize(context.Context, *acp.InitializeRequest) (*acp.InitializeResponse, error) {
	if len(os.Args) > 2 && os.Args[2] == "mute" {
		time.Sleep(time.Hour)
	}
	hello := &acp.InitializeResponse{ProtocolVersion: acp.Version, AgentInfo: &acp.Implementation{Name: "fake", Version: "1"}}
	hello.AgentCapabilities.LoadSession = true
	hello.AgentCapabilities.SessionCapabilities.List = &acp.SessionListCapabilities{}
	if len(os.Args) > 2 && os.Args[2] == "able" {
		hello.Meta = map[string]json.RawMessage{"steering": json.RawMessage(`{"supported":true}`)}
		hello.AgentCapabilities.PromptCapabilities.Image = true
	}
	if a.locked = len(os.Args) > 2 && os.Args[2] == "locked"; a.locked {
		about := "opens\x1b[2J a browser"
		hello.AuthMethods = []acp.AuthMethod{
			{Agent: &acp.AuthMethodAgent{ID: "key", Name: "API key"}}, {Agent: &acp.AuthMethodAgent{ID: "web", Name: "Web\x1b[31m", Description: &about}},
		}
	}
	return hello, nil
}

func (a *fakeAgent) Authenticate(_ context.Context, r *acp.AuthenticateRequest) (*acp.AuthenticateResponse, error) {
	if r.MethodID != "web" {
		return nil, acp.Errorf(acp.CodeInternal, "no key")
	}
	a.locked = false
	return &acp.AuthenticateResponse{}, nil
}

func (a *fakeAgent) NewSession(_ context.Context, r *acp.NewSessionRequest) (*acp.NewSessionResponse, error) {
	if a.locked {
		return nil, acp.Errorf(acp.CodeAuthRequired, "log in first")
	}
	a.cwd = r.Cwd
	a.made++
	return &acp.NewSessionResponse{SessionID: acp.SessionID(fmt.Sprint("s", a.made))}, nil
}

func (a *fakeAgent) ListSessions(_ context.Context, r *acp.ListSessionsRequest) (*acp.ListSessionsResponse, error) {
	return &acp.ListSessionsResponse{Sessions: []acp.SessionInfo{
		{SessionID: "old", Cwd: *r.Cwd, Title: new("an old\u202e one"), UpdatedAt: new("2026-01-02T12:00:00Z")},
	}}, nil
}

func (a *fakeAgent) LoadSession(ctx context.Context, r *acp.LoadSessionRequest) (*acp.LoadSessionResponse, error) {
	return &acp.LoadSessionResponse{}, a.client.SessionUpdate(ctx, &acp.SessionNotification{SessionID: r.SessionID, Update: acp.TextChunk("what was said")})
}

// elicit asks with a form or an address, and says what came of it.
func (a *fakeAgent) elicit(ctx context.Context, r *acp.CreateElicitationRequest) (string, acp.StopReason, error) {
	got, err := a.client.CreateElicitation(ctx, r)
	switch {
	case err != nil:
		return "", "", err
	case got.Decline != nil:
		return "declined", "", nil
	case got.Accept == nil:
		return "cancelled", "", nil
	case got.Accept.Content == nil:
		return "accepted", "", nil
	}
	data, err := json.Marshal(got.Accept.Content)
	return string(data), "", err
}

func (a *fakeAgent) Prompt(ctx context.Context, r *acp.PromptRequest) (*acp.PromptResponse, error) {
	acp.Async(ctx)
	a.id, links = r.SessionID, ""
	for _, b := range r.Prompt[1:] {
		if b.Image != nil {
			links += b.Image.MIMEType + " " + b.Image.Data
			continue
		}
		links += b.ResourceLink.Name + " " + b.ResourceLink.URI
	}
	for line := range strings.SplitSeq(r.Prompt[0].Text.Text, ";") {
		said, stop, err := a.do(ctx, strings.TrimSpace(line))
		if err != nil && ctx.Err() == nil {
			if _, ok := errors.AsType[*acp.CallError](err); !ok {
				return nil, err
			}
			said = err.Error()
		}
		if said != "" {
			_ = a.client.SessionUpdate(ctx, &acp.SessionNotification{SessionID: r.SessionID, Update: acp.TextChunk("[" + said + "]\n")})
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if stop != "" {
			return &acp.PromptResponse{StopReason: stop}, nil
		}
	}
	return &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
}

func (a *fakeAgent) do(ctx context.Context, line string) (said string, stop acp.StopReason, err error) {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "say":
		return rest, "", nil
	case "flood":
		for i := range 3000 {
			_ = a.client.SessionUpdate(ctx, &acp.SessionNotification{SessionID: a.id, Update: acp.TextChunk(fmt.Sprintf("%d\n", i))})
		}
		return "", "", nil
	case "gush":
		for range 1000 {
			_ = a.client.SessionUpdate(ctx, &acp.SessionNotification{SessionID: a.id, Update: acp.TextChunk(strings.Repeat("word ", 2000) + "\n\n")})
		}
		return "gushed", "", nil
	case "links":
		return links, "", nil
	case "read":
		got, err := a.client.ReadTextFile(ctx, &acp.ReadTextFileRequest{SessionID: a.id, Path: a.path(rest)})
		if err != nil {
			return "", "", err
		}
		return got.Content, "", nil
	case "write":
		_, err := a.client.WriteTextFile(ctx, &acp.WriteTextFileRequest{SessionID: a.id, Path: a.path(rest), Content: "written\n"})
		return "", "", err
	case "permission":
		title := "Write " + rest
		got, err := a.client.RequestPermission(ctx, &acp.RequestPermissionRequest{
			SessionID: a.id, ToolCall: acp.ToolCallUpdate{ToolCallID: "p", Title: &title, RawInput: []byte(`{"path":"` + rest + `"}`)},
			Options: []acp.PermissionOption{
				{OptionID: "always", Name: "Always allow", Kind: acp.PermissionOptionKindAllowAlways},
				{OptionID: "once", Name: "Allow once", Kind: acp.PermissionOptionKindAllowOnce},
				{OptionID: "no", Name: "Reject", Kind: acp.PermissionOptionKindRejectOnce},
			}})
		if err != nil {
			return "", "", err
		}
		if got.Outcome.Selected != nil {
			return "chosen: " + string(got.Outcome.Selected.OptionID), "", nil
		}
		return "no choice", "", nil
	case "run", "leave":
		t, err := a.client.CreateTerminal(ctx, &acp.CreateTerminalRequest{SessionID: a.id, Command: "sh", Args: []string{"-c", rest},
			Env: []acp.EnvVariable{{Name: "GREETING", Value: "hi"}}})
		if err != nil || verb == "leave" {
			return "", "", err
		}
		defer a.client.ReleaseTerminal(context.WithoutCancel(ctx), &acp.ReleaseTerminalRequest{SessionID: a.id, TerminalID: t.TerminalID})
		exit, err := a.client.WaitForTerminalExit(ctx, &acp.WaitForTerminalExitRequest{SessionID: a.id, TerminalID: t.TerminalID})
		if err != nil {
			return "", "", err
		}
		out, err := a.client.TerminalOutput(ctx, &acp.TerminalOutputRequest{SessionID: a.id, TerminalID: t.TerminalID})
		if err != nil {
			return "", "", err
		}
		return fmt.Sprintf("exit %d: %s", *exit.ExitCode, strings.TrimSpace(out.Output)), "", nil
	case "form":
		form := &acp.ElicitationFormMode{Session: &acp.ElicitationSessionScope{SessionID: a.id}}
		err := json.Unmarshal([]byte(`{"type":"object","required":["city"],"properties":{"city":{"type":"string","title":"City","pattern":"^[A-Z]"},"rain":{"type":"boolean","default":false}}}`), &form.RequestedSchema)
		if err != nil {
			return "", "", err
		}
		return a.elicit(ctx, &acp.CreateElicitationRequest{Message: "Where\u202e to?", Form: form})
	case "visit":
		return a.elicit(ctx, &acp.CreateElicitationRequest{Message: "Log in.", URL: &acp.ElicitationURLMode{
			Session: &acp.ElicitationSessionScope{SessionID: a.id}, ElicitationID: "v", URL: "https://example.com/login?a=b\u202e"}})
	case "await": // a message into the turn
		return "told: " + <-steered, "", nil
	case "hang":
		<-ctx.Done()
		return "", "", ctx.Err()
	case "deaf":
		time.Sleep(time.Hour)
	case "stop":
		return "", acp.StopReason(rest), nil
	case "error":
		return "", "", acp.Errorf(acp.CodeInternal, "%s", rest)
	case "die":
		fmt.Fprintln(os.Stderr, rest)
		os.Exit(3)
	}
	return "", "", fmt.Errorf("fake agent: %q", line)
}

func (a *fakeAgent) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(a.cwd, name)
}
