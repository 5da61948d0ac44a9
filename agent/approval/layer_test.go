// SPDX-License-Identifier: Apache-2.0

package approval_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/toolset"
)

// says is a layer that always says the same.
func says(name string, v toolset.Verdict) approval.Layer {
	return approval.Layer{Name: name, Decide: func(context.Context, *toolset.ApprovalRequest) (approval.Ruling, error) {
		return approval.Ruling{Verdict: v, Rule: "rule of " + name}, nil
	}}
}

func TestLayersDecideInTheirOrder(t *testing.T) {
	const allow, deny, ask, pass = toolset.VerdictAllow, toolset.VerdictDeny, approval.VerdictAsk, toolset.VerdictDefer
	for _, c := range []struct {
		program, configuration, session toolset.Verdict
		by                              string
		verdict                         toolset.Verdict
		once                            bool
	}{
		{pass, pass, pass, "person", allow, false},
		{pass, pass, allow, approval.By, allow, false},
		{pass, pass, deny, approval.By, deny, false},
		{pass, allow, pass, "configuration", allow, false},
		{pass, allow, deny, approval.By, deny, false},
		{pass, ask, allow, "person", allow, true},
		{pass, ask, deny, approval.By, deny, false},
		{pass, deny, allow, "configuration", deny, false},
		{allow, deny, allow, "configuration", deny, false},
		{allow, ask, pass, "program", allow, false},
		{ask, allow, allow, "person", allow, true},
		{deny, allow, allow, "program", deny, false},
		{"", "", "", "person", allow, false},
	} {
		var policy approval.Policy
		policy.Remember("run", "s", c.session)
		once := false
		person := toolset.AskerFuncs{OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
			once = r.Once
			return toolset.Decision{Verdict: allow, By: "person", Always: true}, nil
		}}
		rules := policy.Rules()
		asker := approval.Layered(approval.Remember(&policy, person), says("program", c.program), says("configuration", c.configuration))
		for range 2 {
			d, err := asker.Approve(t.Context(), request("s"))
			require.NoError(t, err)
			require.Equal(t, c.verdict, d.Verdict, c)
			require.Equal(t, c.by, d.By, c)
			require.Equal(t, c.once, once, c)
			if d.By == "program" || d.By == "configuration" {
				require.Equal(t, "rule of "+d.By, approval.RuleOf(d))
			}
			if d.Verdict == deny && d.By != approval.By {
				require.Contains(t, d.Reason, d.By)
			}
			if c.once {
				require.Equal(t, rules, policy.Rules(), "who wants to be asked every time is")
			} else if c.by == "person" {
				break // remembered from now on
			}
		}
	}
}

func TestLayeredPassesErrorsAndQuestionsOn(t *testing.T) {
	boom := errors.New("boom")
	fails := approval.Layer{Name: "program", Decide: func(context.Context, *toolset.ApprovalRequest) (approval.Ruling, error) {
		return approval.Ruling{Verdict: toolset.VerdictAllow}, boom
	}}
	_, err := approval.Layered(nil, fails).Approve(t.Context(), request(""))
	require.ErrorIs(t, err, boom)
	require.EqualError(t, err, "approval: program: boom")
	_, err = approval.Layered(nil, says("x", "maybe")).Approve(t.Context(), request(""))
	require.EqualError(t, err, `approval: x: unknown verdict "maybe": use allow, deny, ask or defer`)
	inner := approval.Layered(nil, fails)
	_, err = approval.Layered(inner, says("x", toolset.VerdictAllow)).Approve(t.Context(), request(""))
	require.ErrorIs(t, err, boom, "an allowance does not hide that a denial could not be found out")
	_, err = approval.Layered(nil).Answer(t.Context(), toolset.Question{})
	require.ErrorIs(t, err, toolset.ErrNobody)
	d, err := approval.Layered(nil).Approve(t.Context(), request(""))
	require.NoError(t, err)
	require.Equal(t, toolset.Defer(), d)
}

// Layers may be put around askers that have layers: a denial wins wherever it is.
func TestDenialsOfInnerLayersWin(t *testing.T) {
	var log bytes.Buffer
	inner := approval.Logged(approval.Layered(nil, says("inner", toolset.VerdictDeny)), slog.New(slog.NewTextHandler(&log, nil)))
	d, err := approval.Layered(inner, says("outer", toolset.VerdictAllow)).Approve(t.Context(), request(""))
	require.NoError(t, err)
	require.Equal(t, toolset.VerdictDeny, d.Verdict)
	require.Equal(t, "inner", d.By)
}

func TestModesAreLayers(t *testing.T) {
	for kind, want := range map[toolset.Kind]toolset.Verdict{
		toolset.KindRead: toolset.VerdictDefer, toolset.KindSearch: toolset.VerdictDefer, toolset.KindEdit: toolset.VerdictDeny,
		toolset.KindExecute: toolset.VerdictDeny, toolset.KindDelete: toolset.VerdictDeny, toolset.KindOther: toolset.VerdictDeny, "": toolset.VerdictDeny,
	} {
		r := request("")
		r.Kind = kind
		d, err := approval.Layered(nil, approval.ReadOnly()).Approve(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, want, d.Verdict, kind)
		d, err = approval.Layered(nil, approval.Auto()).Approve(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, toolset.VerdictAllow, d.Verdict)
		d, err = approval.Layered(nil, approval.Auto(), says("program", toolset.VerdictDeny)).Approve(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, toolset.VerdictDeny, d.Verdict)
	}
}

func TestDecisionsAreLogged(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	r := request("a secret scope")
	r.Args = []byte(`{"a":"secret"}`)
	_, err := approval.Logged(approval.Layered(nil, says("program", toolset.VerdictDeny)), logger).Approve(t.Context(), r)
	require.NoError(t, err)
	for _, want := range []string{"tool=run", "verdict=deny", "by=program", `rule="rule of program"`} {
		require.Contains(t, log.String(), want)
	}
	require.NotContains(t, log.String(), "secret")
	log.Reset()
	_, err = approval.Logged(approval.Layered(nil, says("program", "maybe")), logger).Approve(t.Context(), r)
	require.Error(t, err)
	require.Contains(t, log.String(), "no decision")
	require.Empty(t, approval.RuleOf(toolset.Decision{Meta: []byte(`[]`)}))
}
