// SPDX-License-Identifier: Apache-2.0

package approval_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// recorded is how many questions the sessions of testdata/sessions.txt had on 2026-11-24, before calls were effects, and how many more they have
// because they write protected paths.
var recorded = []struct{ before, protected int }{
	{21, 0}, {20, 0}, {23, 0}, {20, 0}, {28, 0}, {16, 0}, {19, 0}, {27, 0}, {13, 7}, {0, 0},
}

// Everyday sessions are asked no more than they were, except about protected paths.
func TestEverydaySessionsAskNoMoreThanBefore(t *testing.T) {
	data, err := os.ReadFile("testdata/sessions.txt")
	require.NoError(t, err)
	sessions := strings.Split(strings.TrimPrefix(string(data), "== "), "\n== ")
	require.Len(t, sessions, 10)
	for i, text := range sessions {
		head, rest, _ := strings.Cut(text, "\n")
		steps := strings.Split(strings.TrimSpace(rest), "\n")
		require.Len(t, steps, 40, head)
		asked := questions(t, strings.Split(head, " | "), steps)
		require.Len(t, asked, recorded[i].before+recorded[i].protected, "%s: %q", head, asked)
	}
}

// questions plays a session whose user answers everything with "always", where that is offered, and returns what the user was asked.
func questions(t *testing.T, head, steps []string) (asked []string) {
	t.Helper()
	files := map[string]string{}
	var said []modeltest.Step
	for i, step := range steps {
		verb, what, _ := strings.Cut(step, " ")
		tool, args := "", map[string]any{}
		switch verb {
		case "$":
			tool, args["command"] = "run_command", what
		case "read":
			tool, args["path"] = "read_file", what
			files[what] = "text\n"
		case "write":
			tool, args["path"], args["content"] = "write_file", what, fmt.Sprint("text ", i)
		case "edit":
			tool, args["path"], args["content"] = "write_file", what, fmt.Sprint("edited ", i)
			files[what] = "text\n"
		case "list":
			tool, args["path"] = "list_files", "."
		case "search":
			tool, args["pattern"] = "search_files", strings.Trim(what, `"`)
		}
		raw, err := json.Marshal(args)
		require.NoError(t, err)
		said = append(said, modeltest.Say(model.ToolCall(fmt.Sprint(i), tool, string(raw))))
	}
	ws, err := workspace.NewMemory(workspace.MemoryConfig{Files: files, Command: func(workspace.Command) workspace.MemoryScript {
		return func(context.Context, *workspace.MemoryShell) int { return 0 }
	}})
	require.NoError(t, err)
	session := workspace.NewSession(ws)
	defer func() { require.NoError(t, session.Close(t.Context())) }()
	person := toolset.Asker(toolset.AskerFuncs{OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
		asked = append(asked, r.Approval.Title)
		return toolset.Decision{Verdict: toolset.VerdictAllow, Always: true}, nil
	}})
	if head[1] == "code" {
		person = host.ModeCode().Policy(nil, person)
	}
	c, err := approval.ParseConfig([]byte(head[2]))
	require.NoError(t, err)
	layer, err := c.Layer("/project")
	require.NoError(t, err)
	a := agent.Must(agent.New(agent.Config[struct{}, string]{
		Model:    modeltest.Script(append(said, modeltest.SayText("Done."))...),
		Toolsets: []toolset.Toolset[struct{}]{workspace.Tools(func(struct{}) *workspace.Session { return session })},
		Limits:   agent.Limits{Requests: 50},
	}))
	_, err = a.Run(t.Context(), struct{}{}, "go", agent.WithAsker(approval.Layered(approval.Remember(new(approval.Policy), person), layer)))
	require.NoError(t, err)
	return asked
}
