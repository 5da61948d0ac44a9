// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

// worker returns the configuration of an agent with the bridge's tools, and its model. Each group of calls is a prompt.
func worker(t *testing.T, more []*toolset.Tool[bare], prompts ...[]model.Part) (acpbridge.Config[bare, string], *modeltest.Scripted) {
	t.Helper()
	var steps []modeltest.Step
	for _, calls := range prompts {
		for _, c := range calls {
			steps = append(steps, modeltest.Say(c))
		}
		steps = append(steps, modeltest.SayText("done"))
	}
	m := modeltest.Script(steps...)
	a, err := agent.New(agent.Config[bare, string]{Model: m, Toolsets: []toolset.Toolset[bare]{
		acpbridge.Toolset[bare](acpbridge.WithPermissions(acpbridge.AllowAll)), toolset.Of(more...),
	}})
	require.NoError(t, err)
	return acpbridge.Config[bare, string]{Host: host.Config[bare, string]{Agent: a, Logger: slog.New(slog.DiscardHandler)}}, m
}

// served connects an editor to an agent that is served. stop ends Serve's context and returns its result.
func served(t *testing.T, editor *acptest.Client, c acpbridge.Config[bare, string]) (conn *acptest.Conn, stop func() error) {
	t.Helper()
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(t.Context()))
	t.Cleanup(func() { cancel(nil) })
	conn = acptest.Connect(t, editor, func(_ context.Context, r io.Reader, w io.Writer) error {
		c.In, c.Out = r, w
		err := acpbridge.Serve(ctx, c)
		ended <- err
		if errors.Is(err, errStopped) {
			err = nil
		}
		return err
	})
	return conn, func() error {
		cancel(errStopped)
		return <-ended
	}
}

var errStopped = errors.New("stopped")

// told returns what the model has been told of its calls.
func told(m *modeltest.Scripted) []string {
	var texts []string
	requests := m.Requests()
	for _, message := range requests[len(requests)-1].Messages {
		for _, p := range message.Parts {
			if p.Kind == model.PartToolReturn || p.Kind == model.PartRetry {
				texts = append(texts, p.Text)
			}
		}
	}
	return texts
}

func background(program string) model.Part {
	return call("b", "run_command", args{"command": program, "background": true})
}

// A server that is started for one prompt is there for the next. It ends with the session.
func TestBackgroundCommandsBelongToSession(t *testing.T) {
	editor := acptest.New(acptest.Options{Programs: server})
	c, m := worker(t, nil, []model.Part{background("serve")}, []model.Part{terminalCall("get_terminal_output", "terminal-1")})
	conn, _ := served(t, editor, c)
	id, err := conn.Start(t.Context(), "/repo")
	require.NoError(t, err)
	for range 2 {
		_, err := conn.Say(t.Context(), id, "Go.")
		require.NoError(t, err)
		require.Equal(t, []string{"sh -c serve"}, editor.Open())
	}
	require.Equal(t, "listening\n[still running]", told(m)[1])
	_, err = conn.CloseSession(t.Context(), &acp.CloseSessionRequest{SessionID: id})
	require.NoError(t, err)
	require.Empty(t, editor.Open())
	require.Empty(t, editor.Violations())
}

func TestTerminalsAreReleasedWhenServeEnds(t *testing.T) {
	editor := acptest.New(acptest.Options{Programs: server})
	c, _ := worker(t, nil, []model.Part{background("serve"), background("serve")})
	conn, stop := served(t, editor, c)
	id, err := conn.Start(t.Context(), "/repo")
	require.NoError(t, err)
	_, err = conn.Say(t.Context(), id, "Go.")
	require.NoError(t, err)
	require.Len(t, editor.Open(), 2)
	require.ErrorIs(t, stop(), errStopped)
	require.Empty(t, editor.Open())
}

// A tool that ignores its context does not keep the commands of its session.
func TestStuckToolKeepsNoTerminals(t *testing.T) {
	called, release := make(chan struct{}, 1), make(chan struct{})
	defer close(release)
	editor := acptest.New(acptest.Options{Programs: server})
	c, _ := worker(t, []*toolset.Tool[bare]{stubborn(called, release)}, []model.Part{background("serve"), model.ToolCall("s", "stubborn", "{}")})
	conn, stop := served(t, editor, c)
	id, err := conn.Start(t.Context(), "/repo")
	require.NoError(t, err)
	go func() { _, _ = conn.Say(t.Context(), id, "Go.") }()
	<-called
	err = stop()
	require.ErrorAs(t, err, new(*acpbridge.StuckError))
	require.Empty(t, editor.Open())
}

// Tools of the program use the session's workspace too, and a program may put another one in its place.
func TestWorkspaceOfSessionIsInDeps(t *testing.T) {
	disk, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{"/repo"}, Files: map[string]string{"a": "in memory\n"}, Commands: map[string]workspace.MemoryScript{
		"serve": func(ctx context.Context, sh *workspace.MemoryShell) int {
			_, _ = sh.Write([]byte("listening\n"))
			<-ctx.Done()
			return 0
		},
		"make": workspace.MemoryPrint("made\n", 2),
	}})
	require.NoError(t, err)
	var given, mine *workspace.Session
	editor := acptest.New(acptest.Options{Files: map[string]string{"/repo/a": "in the editor\n"}})
	c, m := worker(t, nil, []model.Part{
		call("1", "read_file", args{"path": "a"}), call("2", "edit_file", editArgs("a", "memory", "mind")), call("3", "run_command", args{"command": "make"}), background("serve"),
	})
	c.Deps = func(_ context.Context, d deps.ACPDeps) (bare, error) {
		given, mine = d.Workspace, workspace.NewSession(disk)
		d.Workspace = mine
		return d, nil
	}
	conn, _ := served(t, editor, c)
	id, err := conn.Start(t.Context(), "/repo")
	require.NoError(t, err)
	_, err = conn.Say(t.Context(), id, "Go.")
	require.NoError(t, err)
	require.NotNil(t, given)
	require.Equal(t, "in memory\n", told(m)[0])
	shown := editor.State().ToolCalls
	require.Equal(t, "in mind\n", shown[1].Content[0].Diff.NewText)
	require.Equal(t, "```text\nmade\n[exit code 2]\n```", shownText(shown[2]))
	require.Equal(t, acp.ToolCallStatusFailed, shown[2].Status)
	require.Len(t, mine.Terminals(), 1)
	_, err = conn.CloseSession(t.Context(), &acp.CloseSessionRequest{SessionID: id})
	require.NoError(t, err)
	require.Empty(t, mine.Terminals())
	require.Empty(t, editor.Calls())
}

// A program may record what is done in the editor; what the user sees is the same.
func TestRecordedWorkIsShownLikeOther(t *testing.T) {
	var recorder *checkpoint.Recorder
	editor := acptest.New(acptest.Options{Files: map[string]string{"/repo/a": "old\n"}, Programs: makeProgram})
	c, m := worker(t, nil, []model.Part{call("1", "edit_file", editArgs("a", "old", "new")), call("2", "run_command", args{"command": "make"}), background("make")})
	c.Deps = func(_ context.Context, d deps.ACPDeps) (bare, error) {
		recorder = checkpoint.New(d.Workspace.Workspace(), checkpoint.Options{})
		recorder.Mark("begin")
		d.Workspace = workspace.NewSession(recorder)
		return d, nil
	}
	conn, _ := served(t, editor, c)
	id, err := conn.Start(t.Context(), "/repo")
	require.NoError(t, err)
	_, err = conn.Say(t.Context(), id, "Go.")
	require.NoError(t, err)
	require.Contains(t, m.Requests()[0].Instructions, "including unsaved changes")
	shown := editor.State().ToolCalls
	require.Equal(t, "new\n", shown[0].Content[0].Diff.NewText)
	require.Equal(t, acp.TerminalID("terminal-1"), shown[1].Content[0].Terminal.TerminalID)
	require.Equal(t, []string{"sh -c make"}, editor.Open())
	_, err = conn.CloseSession(t.Context(), &acp.CloseSessionRequest{SessionID: id})
	require.NoError(t, err)
	require.Empty(t, editor.Open())
	require.Len(t, recorder.Checkpoints(), 1)
}

// A program that replaces the client has the tools use its own.
func TestReplacedClientIsUsed(t *testing.T) {
	other := acptest.New(acptest.Options{Files: map[string]string{"/repo/a": "other\n"}})
	t.Cleanup(other.Close)
	editor := acptest.New(acptest.Options{Files: map[string]string{"/repo/a": "text\n"}})
	c, m := worker(t, nil, []model.Part{call("1", "read_file", args{"path": "a"})})
	c.Deps = func(_ context.Context, d deps.ACPDeps) (bare, error) {
		d.Client = other
		return d, nil
	}
	conn, _ := served(t, editor, c)
	id, err := conn.Start(t.Context(), "/repo")
	require.NoError(t, err)
	_, err = conn.Say(t.Context(), id, "Go.")
	require.NoError(t, err)
	require.Equal(t, []string{"other\n"}, told(m))
}
