// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
)

// shortened are turns that go on with a pending call of a history from which a processor has taken
// what was before the call, or before the request that waits for it.
func shortened() (names []string, all []written) {
	add := func(name string, w written) { names, all = append(names, name), append(all, w) }
	const pay = `"pending_calls":[{"id":"a","tool":"pay","args":{},` + asked + `}]`
	base := written{}.prompted("t").said("t", 1, threeCalls).message("t", "end/2", `"kind":"request","parts":[{"kind":"tool_return","call_id":"c","tool":"look","text":"seen"}],"run_id":"t","pending":true,`+pay)
	for _, c := range []struct{ name, left string }{{"one message", `3`}, {"two messages", `2,3`}, {"two, without the response", `1,3`}} {
		w := base.add(session.KindEnd, "t", "", `{"v":1,"reason":"pending","keep":0,"messages":[`+c.left+`]}`)
		add(c.name, w)
		answered := w.add(session.KindDecision, "t", "pending/a", `{"call":"a","tool":"pay","conversation":"s",`+allowed+`}`)
		given := w.add(session.KindValue, "t2", "given", `{"given":{"answers":{"decisions":{"a":{"verdict":"allow","by":"user"}}},"pending":{"v":1,"kind":"request","parts":[],"run_id":"t","pending":true,`+pay+`}}}`)
		add(c.name+", answered", answered)
		add(c.name+", answered and begun", answered.record("t2", "start", "", ""))
		add(c.name+", answered and returned", answered.record("t2", "start", "", "").record("t2", "tool", "a", result))
		add(c.name+", answered and prompted", answered.prompted("t2").record("t2", "start", "", ""))
		add(c.name+", given and begun", given.record("t2", "start", "", ""))
		add(c.name+", given and said", given.message("t2", "2/request/0", `"kind":"request","parts":[{"kind":"tool_return","call_id":"a","tool":"pay","text":"paid"}],"run_id":"t2"`).said("t2", 2, `{"kind":"text","text":"So."}`))
		add(c.name+", prompted", w.prompted("t2"))
	}
	cut := written{}.prompted("t").said("t", 1, threeCalls)
	add("cut off at its calls", cut)
	forgot := cut.message("t", "end/2", `"kind":"request","parts":[{"kind":"tool_return","call_id":"c","tool":"look","text":"seen"}],"run_id":"t"`)
	for _, left := range []string{``, `1`, `2`, `3`, `2,3`} {
		w := forgot.add(session.KindEnd, "t", "", `{"v":1,"reason":"done","keep":0,"messages":[`+left+`]}`)
		add("only ["+left+"] is left", w)
		add("only ["+left+"] is left, and a turn was cut off", w.prompted("t2"))
		add("only ["+left+"] is left, and a turn was cut off in its calls", w.prompted("t2").said("t2", 1, threeCalls).does("t2", "ask", "a", asked, "approve", "a", allowed))
	}
	return names, all
}

// What becomes of turns whose history begins late.
func TestTurnsOfShortHistories(t *testing.T) {
	names, all := shortened()
	testHand(t, "testdata/short.txt", names, all)
}

// doubtful are the calls that wait, and whether they may have run.
func doubtful(c *transcript.Conversation) map[string]bool {
	all := map[string]bool{}
	for _, p := range agent.PendingCalls(c.Messages()) {
		all[p.Key()] = p.MayHaveRun
	}
	return all
}

// An agent inside a call may run there more than once. Only what its first run has done with calls
// that waited answers them.
func TestOnlyTheFirstRunInACallAnswersItsCalls(t *testing.T) {
	const waits = `"pending_calls":[{"id":"x","tool":"dig","path":["b","x"],"agent":"clerk","args":{},` + asked + `},{"id":"a","tool":"pay","args":{},` + asked + `}],"suspended_calls":[{"id":"b","tool":"ask","args":{}}]`
	const deep = `"pending_calls":[{"id":"x","tool":"dig","path":["b","c/d","~","x"],"agent":"clerk","args":{},` + asked + `},{"id":"a","tool":"pay","args":{},` + asked + `}],"suspended_calls":[{"id":"b","tool":"ask","args":{}}]`
	for _, c := range []struct {
		pending, run string
		answered     bool
	}{
		{waits, "t2/1/b", true}, {waits, "t2/12/b", true}, {waits, "t2/1/b/~2", false}, {waits, "t2/1/b/~10", false}, {waits, "t2/1/b/~19", false},
		{waits, "t2/1/b/3/c", false}, {waits, "t2/1/c", false}, {waits, "t2/1/b/~2/4/c", false},
		{deep, "t2/1/b/2/c~1d/3/~0", true}, {deep, "t2/1/b/2/c~1d/3/~0/~2", false}, {deep, "t2/1/b/2/c~1d/~2/3/~0", false},
		{deep, "t2/1/b/~3/2/c~1d/3/~0", false}, {deep, "t2/1/b/2/c~1d", false}, {deep, "t2/1/b", false}, {deep, "t2/1/b/2/c/3/~0", false},
	} {
		w := written{}.prompted("t").said("t", 1, threeCalls).message("t", "end/2", `"kind":"request","parts":[],"run_id":"t","pending":true,`+c.pending)
		w = w.add(session.KindEnd, "t", "", `{"v":1,"reason":"pending","keep":0,"messages":[1,2,3]}`)
		key := map[string]string{waits: "/b/x", deep: "/b/c~1d/~0/x"}[c.pending]
		w = w.add(session.KindDecision, "t", "pending/"+key, fmt.Sprintf(`{"call":%q,"tool":"dig","conversation":"s",%s}`, key, allowed))
		w = w.record("t2", "start", "", "").does(c.run, "tool", "x", result)
		store := (&recorder{Memory: new(session.Memory), batches: [][]session.Entry{w}}).cut(t, 1)
		found, writer := open(t, store)
		answers := found.Answers()
		if !c.answered {
			require.Empty(t, answers.Results, c.run)
			require.Equal(t, map[string]bool{"a": false, key: true}, doubtful(found), c.run)
		} else {
			require.Equal(t, "paid", answers.Results[key].Text, c.run)
			require.Equal(t, map[string]bool{"a": false, key: false}, doubtful(found), c.run)
		}
		require.NoError(t, writer.Close(t.Context()))
	}
}
