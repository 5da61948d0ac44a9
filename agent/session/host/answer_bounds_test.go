// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// What is wrong with an answer is told exactly, and the question stays open.
func TestWrongAnswersAreToldExactly(t *testing.T) {
	var paid []string
	m := modeltest.Script(modeltest.Say(model.ToolCall("c", "pay", `{"to":"Ada"}`)), modeltest.SayText("done"))
	s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(m, pay(&paid)), Store: durable{new(session.Memory)}}))
	o := prompt(t, s, "Pay.")
	require.Equal(t, "pending", o.Reason)
	snapshot, _, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	q := snapshot.Last(view.Question)
	d := func(v toolset.Verdict, args string) *toolset.Decision {
		return &toolset.Decision{Verdict: v, Args: []byte(args)}
	}
	var choices []string
	for _, c := range q.Choices {
		choices = append(choices, c.ID)
	}
	for _, c := range []struct {
		answer host.Answer
		want   string
	}{
		{host.Answer{}, "it has 0 of Choice, Decision, Reply and Result: set exactly one"},
		{host.Answer{Choice: "x", Reply: &toolset.Reply{}}, "it has 2 of Choice, Decision, Reply and Result: set exactly one"},
		{host.Answer{Choice: "x", Decision: d("allow", ""), Reply: &toolset.Reply{}, Result: &toolset.Result{}}, "it has 4 of Choice, Decision, Reply and Result: set exactly one"},
		{host.Answer{Choice: "x"}, fmt.Sprintf(`unknown choice "x": use one of %q`, choices)},
		{host.Answer{Decision: d("", "")}, `the verdict is "": use "allow" or "deny"`},
		{host.Answer{Decision: d("defer", "")}, `the verdict is "defer": use "allow" or "deny"`},
		{host.Answer{Decision: d("allow", "7")}, "the changed arguments are not a JSON object"},
		{host.Answer{Decision: d("allow", "{")}, "the changed arguments are not a JSON object"},
		{host.Answer{Decision: d("allow", "null")}, "the changed arguments are not a JSON object"},
		{host.Answer{Reply: &toolset.Reply{}}, "the question does not ask for input: use a choice or a decision"},
		{host.Answer{Result: &toolset.Result{}}, "the call does not wait for a result: use a choice or a decision"},
	} {
		c.answer.Digest = q.Digest
		err := s.Decide(t.Context(), q.ID, "", c.answer)
		require.EqualError(t, err, fmt.Sprintf("host: the answer to the question %q is not valid: %s", q.ID, c.want))
		var wrong *host.AnswerError
		require.ErrorAs(t, err, &wrong)
		require.Equal(t, host.AnswerError{Question: q.ID, Problem: c.want}, *wrong)
	}
	require.EqualError(t, s.Decide(t.Context(), q.ID, "", host.Answer{Choice: host.AllowOnce}),
		fmt.Sprintf("host: the answer to the question %q is not valid: the digest is missing: send the digest of the question as it was shown", q.ID))
	require.EqualError(t, s.Decide(t.Context(), q.ID, "", host.Answer{Choice: host.AllowOnce, Digest: "x"}), fmt.Sprintf("%v: %q", host.ErrChanged, q.ID))
	require.EqualError(t, s.Decide(t.Context(), "other", "", host.Answer{Choice: host.AllowOnce, Digest: q.Digest}), fmt.Sprintf("%v: %q", host.ErrNoQuestion, "other"))
	require.Empty(t, paid)
	require.NoError(t, s.Decide(t.Context(), q.ID, "", host.Answer{Digest: q.Digest, Choice: choices[0]}), "the first choice")
	eventually(t, "the turn goes on", func() bool { return strings.Contains(shown(t, s), `"text":"done"`) })
}

// Outputs that are no text are shown in fences of three characters, or one more than they have.
func TestFencesOfOutputsAreAsLongAsNeeded(t *testing.T) {
	type page struct {
		Text string `json:"text"`
	}
	for n, fence := range map[int]int{0: 3, 1: 3, 2: 3, 3: 4, 7: 8} {
		ticks, marks := strings.Repeat("`", n), strings.Repeat("`", fence)
		all := strings.Split(outputOf[page](t, fmt.Sprintf(`{"text":%q}`, ticks)), "\n")
		require.Equal(t, []string{marks + "json", "{", fmt.Sprintf("  \"text\": %q", ticks), "}", marks}, all[len(all)-5:], n)
	}
}
