// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"fmt"
	"hash/crc32"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
)

// views adds records of what was shown and is in no message: a sequence of op, id, the id of what was
// shown before it, and the rest of the record.
func (w written) views(run string, all ...string) written {
	for n := 0; n < len(all); n += 4 {
		after, rest := "", ""
		if all[n+2] != "" {
			after = fmt.Sprintf(`,"after":%q`, all[n+2])
		}
		if all[n+3] != "" {
			rest = "," + all[n+3]
		}
		w = w.add(session.KindView, run, "view", fmt.Sprintf(`{"v":1,"op":%q,"id":%q%s%s}`, all[n], all[n+1], after, rest))
	}
	return w
}

// ends ends a turn with its first messages.
func (w written) ends(run, reason string, messages string) written {
	return w.add(session.KindEnd, run, "", fmt.Sprintf(`{"v":1,"reason":%q,"keep":0,"messages":[%s]}`, reason, messages))
}

// testHandInShort is like testHand, for many sessions: of each, the file has the first entities that are
// shown, and a checksum of all that is told.
func testHandInShort(t *testing.T, path string, names []string, all []written) {
	synctest.Test(t, func(t *testing.T) {
		rest, got := tellHand(t, names, all), ""
		for n := range names {
			told := rest
			if n+1 < len(names) {
				told, rest, _ = strings.Cut(rest, "\n"+names[n+1]+":\n")
			}
			told = strings.TrimPrefix(told, names[n]+":\n")
			short := ""
			for line := range strings.Lines(told) {
				if strings.HasPrefix(line, "settled:") || strings.Count(short, "\n") == 5 {
					break
				}
				if strings.HasPrefix(line, "+ shown") {
					short += "  " + line[8:min(len(line)-1, 160)] + "\n"
				}
			}
			got += fmt.Sprintf("%s: %08x\n%s", names[n], crc32.ChecksumIEEE([]byte(told)), short)
		}
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(want), got)
	})
}

const (
	call   = "call:t/1/a"
	clerkA = "agent:t%2F1%2Fa"
)

// entity is the rest of the record of an entity.
func entity(kind, rest string) string { return fmt.Sprintf(`"entity":{"kind":%q,%s}`, kind, rest) }

// notice is the rest of the record of a notice.
func notice(title string) string {
	return entity("notice", fmt.Sprintf(`"title":%q,"class":"info"`, title))
}

// shownTurns are turns of which something was shown that is in no message, and what follows.
func shownTurns() (names []string, all []written) {
	base := written{}.prompted("t").said("t", 1, `{"kind":"thinking","text":"Hm."},{"kind":"text","text":"So."},`+threeCalls)
	agent := func(status string) string {
		return entity("agent", `"parent":"`+call+`","name":"clerk","status":"`+status+`"`)
	}
	question := func(status string) string {
		return entity("question", `"parent":"`+call+`","name":"pay","title":"Pay","status":"`+status+`","digest":"d"`)
	}
	inner := entity("tool_call", `"parent":"`+call+`","name":"dig","status":"in_progress"`)
	plan := entity("plan", `"steps":[{"title":"One","status":"pending"}]`)
	text := `"content":[{"kind":"text","text":"said"}]`
	for _, c := range []struct {
		name string
		all  []string
	}{
		{"an agent runs", []string{"upsert", clerkA, call, agent("in_progress")}},
		{"an agent waits", []string{"upsert", clerkA, call, agent("pending")}},
		{"an agent has ended", []string{"upsert", clerkA, call, agent("in_progress"), "upsert", clerkA, call, agent("completed")}},
		{"an agent has calls", []string{"upsert", clerkA, call, agent("in_progress"), "upsert", "call:t%2F1%2Fa/1/x", clerkA, inner}},
		{"an agent inside a call that is not there", []string{"upsert", "agent:t%2F1%2Fz", "", entity("agent", `"parent":"call:t/1/z","name":"clerk","status":"in_progress"`)}},
		{"a question", []string{"upsert", "question:t/1/a", call, question("pending")}},
		{"a question that was answered", []string{"upsert", "question:t/1/a", call, question("pending"), "upsert", "question:t/1/a", call, question("completed")}},
		{"a question of a run that waits", []string{"upsert", "question:t/pending/a", call, question("pending")}},
		{"two questions", []string{"upsert", "question:t/1/a", call, question("pending"), "upsert", "question:t/pending/a", call, question("pending")}},
		{"a title", []string{"merge", call, "", `"entity":{"title":"Pay Ada","class":"edit"}`}},
		{"the end of a call", []string{"merge", call, "", `"entity":{"status":"failed","content":[{"kind":"text","text":"no"}]}`}},
		{"content", []string{"merge", call, "", `"entity":{"content":[{"kind":"text","text":"half"}],"output":{"n":1},"locations":[{"path":"/a"}]}`}},
		{"no content", []string{"merge", call, "", `"entity":{"status":"completed"},"without_content":true`}},
		{"nothing any more", []string{"merge", call, "", `"entity":{"title":"Pay Ada"}`, "merge", call, "", `"entity":{}`}},
		{"a call that is not there", []string{"merge", "call:t/2/z", "", `"entity":{"title":"Pay Ada"}`}},
		{"a call of its own", []string{"upsert", "call:t/1/q", call, entity("tool_call", `"name":"pay","status":"in_progress"`)}},
		{"a notice", []string{"upsert", "notice:t/1", call, notice("one")}},
		{"notices", []string{"upsert", "notice:t/1", call, notice("one"), "upsert", "notice:t/2", "notice:t/1", notice("two")}},
		{"a notice behind what comes later", []string{"upsert", "notice:t/1", "message:t/2", notice("one")}},
		{"notices behind what comes later", []string{"upsert", "notice:t/1", "message:t/2", notice("one"), "upsert", "notice:t/2", "notice:t/1", notice("two"), "upsert", "notice:t/1", "message:t/2", notice("one more")}},
		{"a notice behind what never comes", []string{"upsert", "notice:t/1", "notice:t/9", notice("one")}},
		{"a notice behind the end", []string{"upsert", "notice:t/1", "ended:t", notice("one")}},
		{"notices behind the end", []string{"upsert", "notice:t/1", "ended:t", notice("one"), "upsert", "notice:t/2", "notice:t/1", notice("two"), "upsert", "notice:t/3", "message:t/2", notice("three")}},
		{"a notice that went", []string{"upsert", "notice:t/1", call, notice("one"), "remove", "notice:t/1", "", ""}},
		{"a notice behind one that went", []string{"upsert", "notice:t/1", call, notice("one"), "remove", "notice:t/1", "", "", "upsert", "notice:t/2", "notice:t/1", notice("two")}},
		{"a call that went", []string{"remove", call, "", ""}},
		{"a call that went and came", []string{"remove", call, "", "", "upsert", call, "", entity("tool_call", `"name":"pay","status":"completed"`)}},
		{"a message that grows", []string{"upsert", "emitted:t/1", call, entity("message", text), "append", "emitted:t/1", "", `"text":" more"`, "append", "emitted:t/1", "", text}},
		{"an entity that is not there grows", []string{"append", "emitted:t/1", "", `"text":" more"`}},
		{"what was typed", []string{"upsert", "prompt:t", "", entity("message", `"role":"user",`+text)}},
		{"what the user said", []string{"upsert", "said:t/1", call, entity("message", `"role":"user",`+text)}},
		{"what the user said later", []string{"upsert", "said:t/2", call, entity("message", `"role":"user",`+text)}},
		{"thoughts", []string{"upsert", "thought:t/1", "", entity("thought", `"content":[{"kind":"text","text":"Hm. Well."}]`)}},
		{"a cost inside", []string{"spent", "usage:t", "", `"entity":{"usage":{"cost":0.5,"currency":"USD"}}`}},
		{"a cost in another currency", []string{"spent", "usage:t", "", `"entity":{"usage":{"cost":0.5,"currency":"XXX"}}`}},
		{"no cost", []string{"spent", "usage:t", "", `"entity":{"usage":{"cost":0,"currency":"USD"}}`, "spent", "usage:t", "", ""}},
		{"a plan", []string{"upsert", "plan", call, plan}},
		{"half a summary", []string{"upsert", "compaction:1", call, entity("compaction", `"status":"in_progress"`)}},
		{"an entity without a kind", []string{"upsert", "other:1", "", `"entity":{}`, "upsert", "other:2", "", "", "merge", call, "", ""}},
		{"records of later versions", []string{"other", call, "", `"entity":{"title":"x"}`, "upsert", "notice:t/1", "", `"v":2,` + notice("one"), "upsert", "", "", notice("one")}},
	} {
		add := func(name string, w written) {
			names, all = append(names, c.name+name), append(all, w)
		}
		shown := base.views("t", c.all...)
		early := written{}.prompted("t").views("t", c.all...)
		add("", shown)
		add(", before the response", early.said("t", 1, threeCalls))
		add(", before the prompt", written{}.views("t", c.all...).prompted("t").said("t", 1, threeCalls))
		add(", without a prompt", written{}.views("t", c.all...).said("t", 1, threeCalls))
		add(", and the call has returned", shown.does("t", "tool", "a", result).said("t", 2, `{"kind":"text","text":"Well."}`))
		add(", and it was asked for again", shown.add(session.KindValue, "t", "attempt", "").views("t", "upsert", "notice:t/7", call, notice("again")))
		for _, reason := range []string{"done", "pending", "cancelled", "failed", "interrupted", "refused"} {
			add(", "+reason, shown.ends("t", reason, "1,2"))
		}
		add(", shown after the end", base.ends("t", "failed", "1,2").views("t", c.all...))
		add(", shown after the end, and a turn", base.ends("t", "cancelled", "1,2").views("t", c.all...).prompted("u").said("u", 1, `{"kind":"text","text":"Well."}`).views("u", "upsert", "notice:u/1", "ended:t", notice("late")))
		add(", and a turn", shown.prompted("u").said("u", 1, `{"kind":"text","text":"Well."}`))
		add(", and the turn went", shown.ends("t", "done", "1,2").prompted("u").ends("u", "done", "1").add(session.KindEnd, "x", "", `{"v":1,"reason":"rewound","keep":0,"messages":[],"to":"t"}`).prompted("v"))
	}
	return names, all
}

// What was shown of a turn and is in no message is recorded, and shown again: where it was, whatever
// comes later, and however the turn ends.
func TestWhatWasShownIsShownAgain(t *testing.T) {
	names, all := shownTurns()
	testHandInShort(t, "testdata/shown.txt", names, all)
}

// decidedTurns are turns whose calls return after somebody has decided about them.
func decidedTurns() (names []string, all []written) {
	add := func(name string, w written) { names, all = append(names, name), append(all, w) }
	given := written{}.add(session.KindValue, "t", "given", `{"given":{"answers":{"decisions":{"a":{"verdict":"allow","by":"user"}}},"pending":{"v":1,"kind":"request","parts":[],"run_id":"s","pending":true}}}`)
	add("given to no calls", given)
	add("given to no calls, and begun", given.record("t", "start", "", ""))
	add("given to no calls, and prompted", given.prompted("t").said("t", 1, threeCalls).does("t", "tool", "a", result))
	rule := `"decision":{"verdict":"allow","by":"configuration","rule":"pay *"}`
	ruled := `"decision":{"verdict":"allow","by":"configuration","args":"{\"x\":3}"}`
	for _, pending := range []string{
		"",
		`"args":{"x":1}`,
		`"args":{"x":2},"changed":true`,
		`"args":{"x":1},"may_have_run":true,"decision":{"verdict":"allow","by":"configuration"}`,
		`"args":{"x":2},"changed":true,"may_have_run":true,"decision":{"verdict":"allow","by":"user"}`,
		`"args":{"x":2},"changed":true,"may_have_run":true,"decision":{"verdict":"allow","by":"user","args":{"x":4}}`,
	} {
		w, run := written{}.prompted("t").said("t", 1, threeCalls), "t"
		if pending != "" {
			w = w.message("t", "end/2", `"kind":"request","parts":[],"run_id":"t","conversation_id":"s","pending":true,"pending_calls":[{"id":"a","tool":"pay",`+asked+`,`+pending+`},{"id":"b","tool":"ask","args":{},`+asked+`}]`)
			w, run = w.ends("t", "pending", "1,2,3").record("t2", "start", "", ""), "t2"
		}
		for n, does := range [][]string{
			nil,
			{"approve", "a", rule},
			{"ask", "a", asked, "approve", "a", rule, "answer", "a", allowed},
			{"ask", "a", asked, "approve", "a", recorded},
			{"approve", "a", ruled},
			{"approve", "b", ruled},
		} {
			decided := w.does(run, does...)
			for what, does := range [][]string{
				nil,
				{"tool", "a", result},
				{"tool", "a", `"return":{"text":"no","outcome":"failed"}`},
				{"tool", "a", `"return":{"text":"again","retry":true}`},
				{"tool", "a", result, "tool", "b", result},
				{"tool", "a", result, "tool", "a", `"return":{"text":"later"}`},
			} {
				add(fmt.Sprintf("pending %q, decided %d, returned %d", pending, n, what), decided.does(run, does...))
			}
		}
	}
	return names, all
}

// The result of a call says who has allowed it and with which arguments, although only the decision
// is recorded, of this process or one before.
func TestResultsShowTheDecisionsBehindThem(t *testing.T) {
	names, all := decidedTurns()
	testHandInShort(t, "testdata/decided.txt", names, all)
}
