// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
)

// endOf returns what the last end of a session says, and how many entries and messages came after
// one.
func endOf(t *testing.T, s session.Store, after int64) string {
	t.Helper()
	entries, messages, end := 0, 0, ""
	for e, err := range s.Load(t.Context(), "s", after) {
		require.NoError(t, err)
		entries++
		switch e.Kind {
		case session.KindMessage:
			messages++
		case session.KindEnd:
			end = string(e.Data)
		}
	}
	return fmt.Sprintf("%d entries, %d messages, %s", entries, messages, end)
}

// A turn whose history lost its first messages names the entries of those that stay, and records
// none of them again: after a turn that was cut off was settled, and when it is resumed.
func TestEndsNameTheEntriesOfMessagesThatStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		names, all := answeredTurns()
		more, short := shortened()
		names, all = append(names, more...), append(all, short...)
		more, short = cutOff()
		names, all = append(names, more...), append(all, short...)
		for n, w := range all {
			fmt.Fprintf(&b, "%s:\n", names[n])
			for _, resumed := range []bool{false, true} {
				m := (&recorder{Memory: new(session.Memory), batches: [][]session.Entry{w}}).cut(t, 1)
				c, writer := open(t, m)
				var now *transcript.Turn
				var err error
				if resumed {
					if c.Interrupted() == "" {
						continue
					}
					now, err = c.Resume(t.Context())
				} else {
					now, err = c.BeginAs(t.Context(), transcript.Prompt{Turn: "next"})
				}
				require.NoError(t, err)
				head := writer.Head()
				messages := c.Messages()
				given := exact(t, messages)
				for first := range messages[:min(len(messages), 2)] {
					require.NoError(t, now.Finish(t.Context(), c.Messages()[min(first, 1):], transcript.Pending))
					fmt.Fprintf(&b, "resumed %v, without %d: %s\n", resumed, first, endOf(t, m, head))
					head = writer.Head()
				}
				require.Equal(t, given, exact(t, messages), "%s: what was returned before stays as it was", names[n])
				require.NoError(t, writer.Close(t.Context()))
			}
		}
		const path = "testdata/shifted.txt"
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(want), b.String())
	})
}

// Messages that were returned do not change when calls are doubted.
func TestDoubtLeavesReturnedMessagesAsTheyWere(t *testing.T) {
	w := written{}.prompted("t").said("t", 1, threeCalls)
	c, writer := open(t, (&recorder{Memory: new(session.Memory), batches: [][]session.Entry{w}}).cut(t, 1))
	before := c.Messages()
	given := exact(t, before)
	tools, whole := c.Unknown()
	require.Equal(t, []string{"pay", "ask", "look"}, tools)
	require.True(t, whole)
	c.Doubt()
	require.Equal(t, given, exact(t, before))
	require.Len(t, agent.PendingCalls(c.Messages()), 3)
	require.Len(t, c.Messages(), len(before))
	require.NoError(t, writer.Close(t.Context()))
}

// A call that is asked about again waits with the arguments that it had when the turn before left it:
// what a person has changed meanwhile does not count.
func TestCallsThatAreAskedAboutAgainHaveTheirOwnArguments(t *testing.T) {
	for _, c := range []struct {
		pending string
		does    []string
		args    string
		changed bool
	}{
		{`"args":{"x":1}`, nil, `{"x":1}`, false},
		{`"args":{"x":1}`, []string{"approve", "a", deferred}, `{"x":1}`, false},
		{`"args":{"x":1}`, []string{"answer", "a", recorded}, `{"x":2}`, true},
		{`"args":{"x":1}`, []string{"answer", "a", recorded, "approve", "a", deferred}, `{"x":1}`, false},
		{`"args":{"x":3},"changed":true`, []string{"answer", "a", recorded, "approve", "a", deferred}, `{"x":3}`, true},
		{`"args":{"x":3},"changed":true`, []string{"answer", "a", allowed}, `{"x":3}`, true},
		{`"args":{"x":1}`, []string{"answer", "a", denied, "approve", "a", deferred}, `{"x":1}`, false},
		{`"args":{"x":1}`, []string{"answer", "a", denied, "approve", "a", recorded}, `{"x":2}`, true},
	} {
		w := written{}.prompted("t").said("t", 1, threeCalls).message("t", "end/2", `"kind":"request","parts":[],"run_id":"t","pending":true,"pending_calls":[{"id":"a","tool":"pay",`+asked+`,`+c.pending+`},{"id":"c","tool":"look",`+asked+`}]`)
		w = w.add(session.KindEnd, "t", "", `{"v":1,"reason":"pending","keep":0,"messages":[1,2,3]}`)
		w = w.record("t2", "start", "", "").does("t2", c.does...)
		found, writer := open(t, (&recorder{Memory: new(session.Memory), batches: [][]session.Entry{w}}).cut(t, 1))
		calls := agent.PendingCalls(found.Messages())
		require.Len(t, calls, 2, "%v", c)
		require.Equal(t, "a", calls[0].ID)
		require.JSONEq(t, c.args, string(json.RawMessage(calls[0].Args)), "%v", c)
		require.Equal(t, c.changed, calls[0].Changed, "%v", c)
		require.NoError(t, writer.Close(t.Context()))
	}
}
