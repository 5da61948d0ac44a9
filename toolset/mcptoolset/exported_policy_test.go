// SPDX-License-Identifier: Apache-2.0

package mcptoolset_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

// needsApproval is a tool that returns its arguments, after a question.
func needsApproval() *toolset.Tool[deps] {
	tool := toolset.Raw("put", "Puts.", json.RawMessage(`{"type":"object"}`),
		func(_ context.Context, _ *toolset.RunContext[deps], args json.RawMessage) (toolset.Result, error) {
			return toolset.Result{Text: string(args)}, nil
		})
	tool.Decode = func(raw []byte) (any, error) {
		if string(raw) == "0" {
			return nil, errors.New("it is no object")
		}
		return json.RawMessage(raw), nil
	}
	tool.Approval = func(context.Context, *toolset.RunContext[deps], any) (*toolset.Approval, error) {
		return &toolset.Approval{}, nil
	}
	return tool
}

// A policy may give a call other arguments, which are checked like those of the client.
func TestPolicyMayChangeTheArguments(t *testing.T) {
	for given, want := range map[string]string{"": `{"a":1}`, `{"a":2}`: `{"a":2}`, "{}": "{}", "0": "it is no object"} {
		c := serveExported(t, mcptoolset.ExportConfig[deps]{
			Approve: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
				require.JSONEq(t, `{"a":1}`, string(r.Args))
				return toolset.Decision{Verdict: toolset.VerdictAllow, Args: json.RawMessage(given)}, nil
			},
		}, needsApproval())
		text, res := textOf(t, c, "put", json.RawMessage(`{"a":1}`))
		require.Equal(t, want, text, given)
		require.Equal(t, given == "0", res.IsError, given)
	}
}

// The client is told the reason of a policy that denies a call, or that it needs one.
func TestClientsAreToldWhyCallsAreDenied(t *testing.T) {
	const none = "This call needs approval, and the server's policy does not give it."
	for _, c := range []struct {
		decision toolset.Decision
		want     string
	}{
		{toolset.Deny("Not on Sundays."), "Not on Sundays."}, {toolset.Deny(""), none}, {toolset.Decision{}, none},
		{toolset.Decision{Verdict: toolset.VerdictDefer, Reason: "Ask Ada."}, "Ask Ada."},
		{toolset.Decision{Verdict: toolset.VerdictAllow, Reason: "x"}, "{}"},
	} {
		session := serveExported(t, mcptoolset.ExportConfig[deps]{
			Approve: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) { return c.decision, nil },
		}, needsApproval())
		text, res := textOf(t, session, "put", nil)
		require.Equal(t, c.want, text)
		require.Equal(t, c.want != "{}", res.IsError)
	}
	text, _ := textOf(t, serveExported(t, mcptoolset.ExportConfig[deps]{}, needsApproval()), "put", nil)
	require.Equal(t, none, text, "without a policy")
}

// Each call is a run of its own, with one step.
func TestExportedCallsAreRuns(t *testing.T) {
	var runs []string
	c := serveExported(t, mcptoolset.ExportConfig[deps]{
		Deps: func(context.Context) (deps, error) { return deps{"ada"}, nil },
	}, plain("get", func(_ context.Context, run *toolset.RunContext[deps]) (toolset.Result, error) {
		runs = append(runs, run.RunID)
		require.Equal(t, "ada", run.Deps.user)
		require.Equal(t, 1, run.Step)
		require.Equal(t, toolset.Call{ID: "1", Tool: "get", Args: model.RawArgs(`{}`)}, run.Call)
		require.NotNil(t, run.Host)
		return toolset.Result{Text: "done"}, nil
	}))
	for range 2 {
		text, _ := textOf(t, c, "get", json.RawMessage(`{}`))
		require.Equal(t, "done", text)
	}
	require.Len(t, runs, 2)
	require.NotEmpty(t, runs[0])
	require.NotEqual(t, runs[0], runs[1])
}

// Clients are told who the server is, and how to use it: by the configuration, then by the tools.
func TestClientsAreToldWhoTheServerIs(t *testing.T) {
	for _, c := range []struct{ version, own, tools, wantVersion, want string }{
		{"", "", "", "unknown", ""}, {"2", "A shop.", "", "2", "A shop."}, {"2", "", "Be kind.", "2", "Be kind."},
		{"2", "A shop.", "Be kind.", "2", "A shop.\n\nBe kind."},
	} {
		set := toolset.Of(plain("get", done))
		if c.tools != "" {
			set = toolset.Instructed(set, c.tools)
		}
		config := mcptoolset.ExportConfig[deps]{Name: "shop", Version: c.version, Instructions: c.own}
		s, err := mcptoolset.Export(t.Context(), set, config)
		require.NoError(t, err)
		session := connect(t, s, nil)
		init := session.InitializeResult()
		require.Equal(t, c.want, init.Instructions)
		require.Equal(t, [2]string{"shop", c.wantVersion}, [2]string{init.ServerInfo.Name, init.ServerInfo.Version})
		tools, err := session.ListTools(t.Context(), &mcp.ListToolsParams{})
		require.NoError(t, err)
		require.Len(t, tools.Tools, 1)
	}
}
