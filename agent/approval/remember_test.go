// SPDX-License-Identifier: Apache-2.0

package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/toolset"
)

// answering is an asker that counts how often it is asked.
func answering(d toolset.Decision, asked *int) toolset.Asker {
	return toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
		*asked++
		return d, nil
	}}
}

func request(scope string, covers ...string) toolset.ApprovalRequest {
	return toolset.ApprovalRequest{Origin: toolset.Origin{Tool: "run"}, Approval: toolset.Approval{Scope: scope, Covers: covers}}
}

func TestRememberAsksOnceForAScope(t *testing.T) {
	asked := 0
	a := approval.Remember(new(approval.Policy), answering(toolset.Decision{Verdict: toolset.VerdictAllow, Always: true, By: "ada"}, &asked))
	for i, want := range []toolset.Decision{{Verdict: toolset.VerdictAllow, Always: true, By: "ada"}, {Verdict: toolset.VerdictAllow, By: approval.By}} {
		got, err := a.Approve(t.Context(), request("go test"))
		require.NoError(t, err)
		require.Equal(t, want, got, i)
	}
	_, err := a.Approve(t.Context(), request("go run"))
	require.NoError(t, err)
	require.Equal(t, 2, asked)
}

func TestRememberHonoursRulesAboutWhatACallCovers(t *testing.T) {
	asked := 0
	var policy approval.Policy
	policy.Remember("run", "/gen", toolset.VerdictAllow)
	policy.Remember("run", "/gen/keep", toolset.VerdictDeny)
	a := approval.Remember(&policy, answering(toolset.Allow(), &asked))
	got, err := a.Approve(t.Context(), request("/gen/a", "/gen"))
	require.NoError(t, err)
	require.Equal(t, toolset.VerdictAllow, got.Verdict)
	got, err = a.Approve(t.Context(), request("/gen/keep/a", "/gen/keep", "/gen"))
	require.NoError(t, err)
	require.Equal(t, toolset.VerdictDeny, got.Verdict, "a denial wins")
	require.Equal(t, "The user denied this and asked not to be asked again.", got.Reason)
	require.Zero(t, asked)
}

// The scope of a question is that of the arguments that were asked about, not of those that a person put in their place.
func TestRememberKeepsNoRuleForChangedArguments(t *testing.T) {
	asked := 0
	var policy approval.Policy
	d := toolset.Decision{Verdict: toolset.VerdictAllow, Always: true, Args: json.RawMessage(`{"path":"b"}`)}
	a := approval.Remember(&policy, answering(d, &asked))
	for range 2 {
		got, err := a.Approve(t.Context(), request("a"))
		require.NoError(t, err)
		require.Equal(t, d, got)
	}
	require.Equal(t, 2, asked)
	require.Empty(t, policy.Rules())
}

func TestRememberKeepsNoDecisionOfAnEndedContext(t *testing.T) {
	var policy approval.Policy
	ctx, cancel := context.WithCancel(t.Context())
	a := approval.Remember(&policy, toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
		cancel()
		return toolset.Decision{Verdict: toolset.VerdictDeny, Always: true}, nil
	}})
	_, err := a.Approve(ctx, request("a"))
	require.NoError(t, err)
	require.Empty(t, policy.Rules())
}

func TestRememberWithoutAnAskerDefers(t *testing.T) {
	var policy approval.Policy
	policy.Remember("run", "a", toolset.VerdictAllow)
	a := approval.Remember(&policy, nil)
	got, err := a.Approve(t.Context(), request("a"))
	require.NoError(t, err)
	require.Equal(t, toolset.VerdictAllow, got.Verdict)
	got, err = a.Approve(t.Context(), request("b"))
	require.NoError(t, err)
	require.Equal(t, toolset.Defer(), got)
	_, err = a.Answer(t.Context(), toolset.Question{})
	require.ErrorIs(t, err, toolset.ErrNobody)
}

func TestRememberPassesErrorsAndQuestionsOn(t *testing.T) {
	boom := errors.New("boom")
	a := approval.Remember(nil, toolset.AskerFuncs{
		OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
			return toolset.Decision{}, boom
		},
		OnAnswer: func(_ context.Context, q toolset.Question) (toolset.Reply, error) {
			return toolset.Reply{Action: toolset.ActionAccept, Content: json.RawMessage(`"` + q.Message + `"`)}, nil
		},
	})
	_, err := a.Approve(t.Context(), request(""))
	require.ErrorIs(t, err, boom)
	reply, err := a.Answer(t.Context(), toolset.Question{Message: "why"})
	require.NoError(t, err)
	require.Equal(t, `"why"`, string(reply.Content))
}

func TestPolicyOfANewerVersionIsRefused(t *testing.T) {
	var p approval.Policy
	p.Remember("x", "", toolset.VerdictDeny)
	err := json.Unmarshal([]byte(`{"version":2,"rules":[{"tool":"x","verdict":"allow"}]}`), &p)
	require.ErrorContains(t, err, "version 2 is not supported, this program reads version 1")
	require.Equal(t, toolset.VerdictDeny, p.Decide("x"), "the rules stay as they were")
}
