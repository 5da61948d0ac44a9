// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// TestAlwaysForAnAgentCoversTheSameCallOnly: a policy that the program's own tools share lets an agent do nothing that it was not shown.
func TestAlwaysForAnAgentCoversTheSameCallOnly(t *testing.T) {
	policy := new(approval.Policy)
	policy.Remember("bash", "", toolset.VerdictAllow) // a tool of the program
	asked := 0
	ask := acpclient.AskWith(approval.Remember(policy, toolset.AskerFuncs{OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
		asked++
		require.NotEmpty(t, r.Approval.Source)
		require.NotEmpty(t, r.Approval.Scope)
		return toolset.Decision{Verdict: toolset.VerdictAllow, Always: true}, nil
	}}))
	s := begin(t, acpclient.Config{Workspace: newWorkspace(t, workspace.MemoryPrint("", 0)), Permission: ask}, func(a *raw) {
		a.open()
		a.turn(func() {
			for _, call := range []string{
				`{"toolCallId":"1","title":"ls","kind":"execute","rawInput":{"command":"ls"},"name":"bash"}`,
				`{"toolCallId":"2","title":"ls","kind":"execute","rawInput":{"command":"ls"},"name":"bash"}`,
				`{"toolCallId":"3","title":"ls","kind":"execute","rawInput":{"command":"rm -r ."}}`,
				`{"toolCallId":"4","title":"Delete","kind":"delete"}`,
			} {
				a.say(a.ask(call) + "\n")
			}
		})
		a.wait()
	})
	_, err := s.Say(t.Context(), "hello")
	require.NoError(t, err)
	require.Equal(t, 3, asked)
}
