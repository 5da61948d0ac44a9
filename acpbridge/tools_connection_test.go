// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
)

// barePrompter is the least agent that has the tools: a run for each prompt, and nothing shown but what the tools report.
type barePrompter struct {
	acp.UnimplementedAgent
	client *acp.AgentConn
	model  model.Model
	can    acp.ClientCapabilities
}

func (b *barePrompter) Initialize(_ context.Context, req *acp.InitializeRequest) (*acp.InitializeResponse, error) {
	b.can = req.ClientCapabilities
	return &acp.InitializeResponse{ProtocolVersion: acp.Version}, nil
}

func (b *barePrompter) NewSession(context.Context, *acp.NewSessionRequest) (*acp.NewSessionResponse, error) {
	return &acp.NewSessionResponse{SessionID: "s"}, nil
}

func (b *barePrompter) Prompt(ctx context.Context, req *acp.PromptRequest) (*acp.PromptResponse, error) {
	acp.Async(ctx)
	a, err := agent.New(agent.Config[editorDeps, string]{
		Model: b.model, Toolsets: []toolset.Toolset[editorDeps]{acpbridge.Toolset[editorDeps](acpbridge.WithPermissions(acpbridge.AllowAll))},
	})
	if err != nil {
		return nil, err
	}
	d := deps.ACPDeps{
		Client: b.client, Session: &deps.Session{ID: req.SessionID, Cwd: "/project", Capabilities: b.can}, Tracker: deps.NewTracker(b.client, req.SessionID, nil),
	}
	_, err = a.Run(ctx, editorDeps{d}, "Go.")
	return &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, err
}

func connected(t testing.TB, editor *acptest.Client, calls ...model.Part) (*acptest.Conn, acp.SessionID) {
	t.Helper()
	m := modeltest.Script(append(say(calls...), say(calls...)...)...)
	conn := acptest.Connect(t, editor, acptest.ServeAgent(func(c *acp.AgentConn) acp.Agent { return &barePrompter{client: c, model: m} }, nil))
	session, err := conn.Start(t.Context(), "/project")
	require.NoError(t, err)
	return conn, session
}

func TestTheToolsWorkOverAConnection(t *testing.T) {
	editor := acptest.New(acptest.Options{
		Files: map[string]string{"/project/a": strings.Repeat("0123456789abcde\n", 1<<16)}, Programs: makeProgram,
	})
	conn, session := connected(t, editor,
		call("c1", "read_file", args{"path": "a"}), call("c2", "read_file", args{"path": "not-there"}),
		call("c3", "write_file", args{"path": "b", "content": "new"}), call("c4", "run_command", args{"command": "make"}))
	stop, err := conn.Say(t.Context(), session, "Go.")
	require.NoError(t, err)
	assert.Equal(t, acp.StopReasonEndTurn, stop)
	content, _ := editor.File("/project/b")
	assert.Equal(t, "new", content)
	var statuses []acp.ToolCallStatus
	for _, c := range editor.State().ToolCalls {
		statuses = append(statuses, c.Status)
	}
	assert.ElementsMatch(t, []acp.ToolCallStatus{"completed", "failed", "completed", "completed"}, statuses)
	assert.Empty(t, editor.Open())
	assert.Empty(t, editor.Violations())
}

func TestACancelledTurnReleasesItsTerminalsOverAConnection(t *testing.T) {
	editor := acptest.New(acptest.Options{Programs: map[string]acptest.Program{"make": acptest.Runs("working")}})
	conn, session := connected(t, editor,
		call("c1", "run_command", args{"command": "make", "background": true}), call("c2", "run_command", args{"command": "make"}))
	go func() {
		_ = editor.Await(t.Context(), func(s acptest.State) bool { return len(s.ToolCalls) == 2 && len(s.ToolCalls[1].Content) == 1 })
		_ = conn.Cancel(t.Context(), &acp.CancelNotification{SessionID: session})
	}()
	stop, err := conn.Say(t.Context(), session, "Go.")
	require.NoError(t, err)
	assert.Equal(t, acp.StopReasonCancelled, stop)
	assert.Empty(t, editor.Open())
	assert.Empty(t, editor.Violations())
	assert.Equal(t, acp.ToolCallStatusFailed, editor.State().ToolCalls[1].Status)
}

func TestAnEditorThatGoesAwayEndsTheTurn(t *testing.T) {
	editor := acptest.New(acptest.Options{Programs: map[string]acptest.Program{"make": acptest.Runs("")}})
	conn, session := connected(t, editor, call("c1", "run_command", args{"command": "make"}))
	go func() {
		_ = editor.Await(t.Context(), func(s acptest.State) bool { return len(s.ToolCalls) == 1 && len(s.ToolCalls[0].Content) == 1 })
		editor.Disconnect()
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	_, err := conn.Say(ctx, session, "Go.")
	require.Error(t, err)
	assert.True(t, errors.Is(err, acp.ErrClosed), "%v", err)
}

// BenchmarkReadFile is a run that reads a file of 1 MiB, with the editor in memory and behind a connection.
func BenchmarkReadFile(b *testing.B) {
	files := map[string]string{"/project/a": strings.Repeat("0123456789abcde\n", 1<<16)}
	one := []model.Part{call("c1", "read_file", args{"path": "a"})}
	forever := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		if last := req.Messages[len(req.Messages)-1]; last.Parts[0].Kind == model.PartToolReturn {
			return model.Response(model.Text("done")), nil
		}
		return model.Response(one...), nil
	})
	b.Run("memory", func(b *testing.B) {
		editor := acptest.New(acptest.Options{Files: files})
		defer editor.Close()
		a, err := agent.New(agent.Config[editorDeps, string]{Model: forever, Toolsets: []toolset.Toolset[editorDeps]{acpbridge.Toolset[editorDeps]()}})
		require.NoError(b, err)
		d := editorDeps{editor.Deps("/project")}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := a.Run(b.Context(), d, "Go."); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("connection", func(b *testing.B) {
		editor := acptest.New(acptest.Options{Files: files})
		conn := acptest.Connect(b, editor, acptest.ServeAgent(func(c *acp.AgentConn) acp.Agent { return &barePrompter{client: c, model: forever} }, nil))
		session, err := conn.Start(b.Context(), "/project")
		require.NoError(b, err)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := conn.Say(b.Context(), session, "Go."); err != nil {
				b.Fatal(err)
			}
		}
	})
}
