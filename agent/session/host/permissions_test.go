// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// kept keeps rules in memory.
type kept struct{ rules []approval.Rule }

func (k *kept) Kept() ([]approval.Rule, error) { return k.rules, nil }

func (k *kept) Keep(rules ...approval.Rule) error {
	for _, r := range rules {
		if !slices.Contains(k.rules, r) {
			k.rules = append(k.rules, r)
		}
	}
	return nil
}

func (k *kept) Drop(r approval.Rule) error {
	k.rules = slices.DeleteFunc(k.rules, func(o approval.Rule) bool { return o == r })
	return nil
}

func TestAlwaysInThisProjectHoldsInLaterSessionsAndIsTakenBack(t *testing.T) {
	var paid []string
	k := &kept{}
	call := modeltest.Say(model.ToolCall("c", "pay", `{"to":"Ada"}`))
	h := newHost(t, host.Config[none, string]{
		Agent:    newAgent(modeltest.Script(call, modeltest.SayText("1"), call, modeltest.SayText("2"), call, modeltest.SayText("3"), call, modeltest.SayText("4"), call), pay(&paid)),
		Commands: host.BuiltIns(nil),
		Kept: func(dir string) approval.Keeper {
			require.Equal(t, "/repo", dir)
			return k
		},
	})
	answer := func(s *host.Session, choice string) {
		snapshot, _, err := s.Snapshot(t.Context())
		require.NoError(t, err)
		q := snapshot.Last(view.Question)
		require.NotNil(t, q)
		var ids []string
		for _, c := range q.Choices {
			ids = append(ids, c.ID)
		}
		require.Equal(t, []string{"allow_once", "allow_always", "allow_always_project", "reject_once", "reject_always"}, ids)
		turn, err := s.Answer(t.Context(), q.ID, "", host.Answer{Digest: q.Digest, Choice: choice})
		require.NoError(t, err)
		require.NoError(t, turn.Resume(host.Prompt{}).Err)
	}
	first := create(t, h)
	prompt(t, first, "Pay.")
	answer(first, "allow_always_project")
	require.Len(t, paid, 1)
	require.Empty(t, first.Policy().Rules(), "the project has the rule")
	require.Equal(t, []approval.Rule{{Tool: "pay", Verdict: toolset.VerdictAllow}}, k.rules)

	second := create(t, h)
	prompt(t, second, "Pay.")
	require.Len(t, paid, 2, "nobody is asked in a later session")

	prompt(t, second, "/permissions")
	require.Contains(t, shown(t, second), "1. `` allow pay: every call `` (always in this project)")
	prompt(t, second, "/permissions remove 2")
	require.Contains(t, shown(t, second), "with a number of the list")
	prompt(t, second, "/permissions remove 1")
	require.Contains(t, shown(t, second), "Taken back: `` allow pay: every call ``.")
	require.Empty(t, k.rules)
	prompt(t, second, "Pay.")
	require.Len(t, paid, 2)
	answer(second, "allow_always")
	all, err := second.Permissions()
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, host.OriginSession, all[0].Origin)
	require.ErrorIs(t, second.DropPermission(t.Context(), "x"), host.ErrNoPermission)
	require.NoError(t, second.DropPermission(t.Context(), all[0].ID))
	require.Empty(t, second.Policy().Rules())
	prompt(t, second, "/permissions")
	require.True(t, strings.Contains(shown(t, second), "No rules decide about calls."))
}

// A rule that the store could not forget is not said to be taken back. It does not hold any longer,
// and the end of a turn records that. A rule that the project has forgotten is taken back.
func TestRuleThatStaysInTheStoreIsNotTakenBack(t *testing.T) {
	store := &broken{Memory: new(session.Memory)}
	k := &kept{[]approval.Rule{{Tool: "look", Verdict: toolset.VerdictAllow}}}
	s := create(t, newHost(t, host.Config[none, string]{
		Agent: newAgent(echo()), Store: store, Commands: host.BuiltIns(nil),
		Kept: func(string) approval.Keeper { return k },
	}))
	for _, tool := range []string{"pay", "rob"} {
		s.Policy().Remember(tool, "", toolset.VerdictAllow)
	}
	prompt(t, s, "Hello.")
	stored := func() string {
		info, err := store.Get(t.Context(), s.ID())
		require.NoError(t, err)
		return string(info.Values["approvals"])
	}
	require.Contains(t, stored(), "pay")
	all, err := s.Permissions()
	require.NoError(t, err)
	require.Len(t, all, 3)
	store.breaks("update")
	require.ErrorIs(t, s.DropPermission(t.Context(), all[1].ID), errFire)
	prompt(t, s, "/permissions remove 2")
	require.NotContains(t, shown(t, s), "Taken back")
	require.Empty(t, s.Policy().Rules())
	require.NoError(t, s.DropPermission(t.Context(), all[0].ID))
	require.Empty(t, k.rules)
	require.Contains(t, stored(), "pay")
	store.breaks("")
	prompt(t, s, "Hello again.")
	require.NotContains(t, stored(), "pay")
}
