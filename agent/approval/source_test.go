// SPDX-License-Identifier: Apache-2.0

package approval_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/toolset"
)

func TestAlwaysCoversToolsOfItsSourceOnly(t *testing.T) {
	sources := []string{"", "mcp:files", "mcp:other", "agent:helper"}
	for _, allowed := range sources {
		for _, verdict := range []toolset.Verdict{toolset.VerdictAllow, toolset.VerdictDeny} {
			policy, asked := new(approval.Policy), 0
			asker := approval.Remember(policy, toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
				asked++
				return toolset.Decision{Verdict: verdict, Always: true}, nil
			}})
			ask := func(source, scope string, parts ...string) int {
				before := asked
				req := toolset.ApprovalRequest{Approval: toolset.Approval{Source: source, Scope: scope, Parts: parts}}
				req.Tool = "search"
				d, err := asker.Approve(t.Context(), req)
				require.NoError(t, err)
				require.Equal(t, verdict, d.Verdict)
				return asked - before
			}
			require.Equal(t, 1, ask(allowed, ""), "the first is asked about")
			require.Equal(t, 0, ask(allowed, "anything"), "an empty scope covers every call")
			for _, source := range sources {
				if source == allowed {
					continue
				}
				require.Equal(t, 1, ask(source, "a"), "%q inherits from %q", source, allowed)
				require.Equal(t, 0, ask(source, "a"))
				require.Equal(t, 1, ask(source, "", "b", "c"), "%q inherits from %q", source, allowed)
			}
		}
	}
}

func TestRulesWithSourceAreStored(t *testing.T) {
	var p, read approval.Policy
	p.RememberApproval("search", &toolset.Approval{Source: "mcp:files"}, toolset.VerdictAllow)
	p.Remember("search", "", toolset.VerdictDeny)
	data, err := json.Marshal(&p)
	require.NoError(t, err)
	require.JSONEq(t, `{"version":1,"rules":[{"tool":"search","verdict":"deny"},{"tool":"search","source":"mcp:files","verdict":"allow"}]}`, string(data))
	require.NoError(t, json.Unmarshal(data, &read))
	assert.Equal(t, p.Rules(), read.Rules())
	assert.Equal(t, toolset.VerdictAllow, read.DecideApproval("search", &toolset.Approval{Source: "mcp:files"}))
	assert.Equal(t, toolset.VerdictDeny, read.Decide("search"))

	read.Forget("search", "")
	assert.Empty(t, read.Rules())
}
