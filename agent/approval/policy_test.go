// SPDX-License-Identifier: Apache-2.0

package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/toolset"
)

var errCancelled = errors.New("cancelled")

func TestRuleAppliesToToolAndScope(t *testing.T) {
	var p approval.Policy
	assert.Equal(t, toolset.VerdictDefer, p.Decide("run", "go test"))
	p.Remember("run", "go test", toolset.VerdictAllow)
	p.Remember("run", "nothing", toolset.VerdictDefer)
	assert.Equal(t, toolset.VerdictAllow, p.Decide("run", "go test"))
	assert.Equal(t, toolset.VerdictAllow, p.Decide("run", "exactly", "go test"))
	assert.Equal(t, toolset.VerdictDefer, p.Decide("run", "go"))
	assert.Equal(t, toolset.VerdictDefer, p.Decide("write", "go test"))
	assert.Equal(t, []approval.Rule{{Tool: "run", Scope: "go test", Verdict: toolset.VerdictAllow}}, p.Rules())
}

func TestDenialWinsOverPermissions(t *testing.T) {
	var p approval.Policy
	p.Remember("run", "a", toolset.VerdictDeny)
	p.Remember("run", "a", toolset.VerdictAllow)
	p.Remember("run", "", toolset.VerdictAllow)
	p.Remember("run", "b", toolset.VerdictAllow)
	assert.Equal(t, toolset.VerdictDeny, p.Decide("run", "b", "a"))
	assert.Equal(t, toolset.VerdictAllow, p.Decide("run", "c"), "the empty scope covers everything")
	p.Forget("run", "a")
	assert.Equal(t, toolset.VerdictAllow, p.Decide("run", "b", "a"))
}

func TestDenialWinsInAnyScope(t *testing.T) {
	var p approval.Policy
	p.Remember("run", "a", toolset.VerdictDeny)
	p.Remember("run", "b", toolset.VerdictAllow)
	for _, scopes := range [][]string{{"a", "b"}, {"b", "a"}, {"a", "c"}, {"c", "a"}} {
		require.Equal(t, toolset.VerdictDeny, p.Decide("run", scopes...), scopes)
	}
	p.Remember("run", "", toolset.VerdictDeny)
	require.Equal(t, toolset.VerdictDeny, p.Decide("run", "b"))
}

func TestNilPolicyHasNoRules(t *testing.T) {
	var p *approval.Policy
	p.Remember("run", "", toolset.VerdictAllow)
	p.Forget("run", "")
	assert.Equal(t, toolset.VerdictDefer, p.Decide("run"))
	assert.Empty(t, p.Rules())
	v, err := p.AskOnce(t.Context(), "run", nil, func(context.Context) (toolset.Verdict, error) { return toolset.VerdictAllow, nil })
	require.NoError(t, err)
	assert.Equal(t, toolset.VerdictAllow, v)
}

func TestPolicyRoundTripsJSON(t *testing.T) {
	var p, q approval.Policy
	p.Remember("write", "/a b", toolset.VerdictDeny)
	p.Remember("run", "go test", toolset.VerdictAllow)
	p.Remember("run", "", toolset.VerdictAllow)
	data, err := json.Marshal(&p)
	require.NoError(t, err)
	assert.Equal(t, `{"version":1,"rules":[{"tool":"run","verdict":"allow"},{"tool":"run","scope":"go test","verdict":"allow"},{"tool":"write","scope":"/a b","verdict":"deny"}]}`, string(data))
	q.Remember("old", "", toolset.VerdictAllow)
	require.NoError(t, json.Unmarshal(data, &q))
	assert.Equal(t, p.Rules(), q.Rules())

	empty, err := json.Marshal(new(approval.Policy))
	require.NoError(t, err)
	assert.Equal(t, `{"version":1,"rules":[]}`, string(empty))
	for _, bad := range []string{`{}`, `{"version":2}`, `[]`, `{"version":1,"rules":[{"tool":"x","verdict":"maybe"}]}`} {
		require.Error(t, json.Unmarshal([]byte(bad), &q), bad)
		assert.Len(t, q.Rules(), 3, "a policy that cannot be read changes nothing")
	}
}

func TestOneQuestionIsAskedAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p approval.Policy
		asked := 0
		ask := func(context.Context) (toolset.Verdict, error) {
			asked++
			time.Sleep(time.Second)
			p.Remember("run", "go test", toolset.VerdictAllow)
			return toolset.VerdictAllow, nil
		}
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				v, err := p.AskOnce(t.Context(), "run", []string{"go test"}, ask)
				assert.NoError(t, err)
				assert.Equal(t, toolset.VerdictAllow, v)
			})
		}
		synctest.Wait()
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errCancelled)
		_, err := p.AskOnce(ctx, "run", []string{"other"}, ask)
		require.ErrorIs(t, err, errCancelled)
		all.Wait()
		assert.Equal(t, 1, asked)
	})
}

func TestPanicReleasesTheQuestion(t *testing.T) {
	var p approval.Policy
	assert.Panics(t, func() {
		_, _ = p.AskOnce(t.Context(), "run", nil, func(context.Context) (toolset.Verdict, error) { panic("boom") })
	})
	v, err := p.AskOnce(t.Context(), "run", nil, func(context.Context) (toolset.Verdict, error) { return toolset.VerdictDeny, nil })
	require.NoError(t, err)
	assert.Equal(t, toolset.VerdictDeny, v)
}

func TestPartsAreDecidedTogether(t *testing.T) {
	a := &toolset.Approval{Scope: "a && b", Parts: []string{"a", "b"}}
	var p approval.Policy
	require.Equal(t, toolset.VerdictDefer, p.DecideApproval("run", a))
	p.Remember("run", "a", toolset.VerdictAllow)
	require.Equal(t, toolset.VerdictDefer, p.DecideApproval("run", a), "one is not enough")
	p.Remember("run", "b", toolset.VerdictAllow)
	require.Equal(t, toolset.VerdictAllow, p.DecideApproval("run", a))
	p.Remember("run", "b", toolset.VerdictDeny)
	require.Equal(t, toolset.VerdictDeny, p.DecideApproval("run", a))

	var q approval.Policy
	q.RememberApproval("run", a, toolset.VerdictAllow)
	require.Equal(t, toolset.VerdictAllow, q.Decide("run", "b"), "each part was allowed")
	require.Equal(t, toolset.VerdictDefer, q.Decide("run", "c"))
	q.RememberApproval("run", a, toolset.VerdictDeny)
	require.Equal(t, toolset.VerdictDeny, q.DecideApproval("run", a))
	require.Equal(t, toolset.VerdictAllow, q.Decide("run", "b"), "only the whole was denied")
	require.Equal(t, toolset.VerdictDefer, q.DecideApproval("run", &toolset.Approval{Scope: "c", Parts: nil}))
}

// An answer about a call that may write a protected path makes no rule, which others could fall under.
func TestAnswersAboutProtectedPathsMakeNoRules(t *testing.T) {
	for _, a := range []toolset.Approval{
		{Preview: []toolset.Preview{{Diff: &toolset.Diff{Path: "/repo/.envrc", New: new("x")}}}},
		{Once: true}, {Scope: "a", Parts: []string{"b", "c"}, Once: true},
	} {
		var p approval.Policy
		p.RememberApproval("write", &a, toolset.VerdictAllow)
		require.Empty(t, p.Rules())
		p.RememberApproval("write", &a, toolset.VerdictDeny)
		require.Len(t, p.Rules(), 1, "it may be denied")
	}
}
