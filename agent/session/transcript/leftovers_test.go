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

	"github.com/ponte-go/ponte/agent/session"
)

// written makes entries of a session by hand. Each has a time of its own.
type written []session.Entry

func (w written) add(kind session.Kind, run, key, data string) written {
	return append(w[:len(w):len(w)], session.Entry{Kind: kind, Run: run, Key: key, Data: json.RawMessage(data)})
}

func (w written) at() string { return fmt.Sprintf(`"at":"2000-01-01T00:01:%02dZ"`, len(w)) }

// record adds the record of a step: what comes behind its time.
func (w written) record(run, op, call, rest string) written {
	if rest != "" {
		rest = "," + rest
	}
	return w.add(session.KindStep, run, "1/"+op+"/"+call, fmt.Sprintf(`{"op":%q,"step":1,"call":%q,"tool":"pay",%s%s}`, op, call, w.at(), rest))
}

// said adds a response.
func (w written) said(run string, step int, parts string) written {
	return w.add(session.KindMessage, run, fmt.Sprintf("%d/response", step), fmt.Sprintf(`{"message":{"v":1,"kind":"response","parts":[%s]},"conversation":"s","record":{"op":"model","step":%d,%s}}`, parts, step, w.at()))
}

func (w written) message(run, key, message string) written {
	return w.add(session.KindMessage, run, key, `{"message":{"v":1,`+message+`}}`)
}

func (w written) prompted(run string) written {
	return w.message(run, "prompt", `"kind":"request","parts":[{"kind":"user","text":"Go."}],"run_id":"`+run+`","conversation_id":"s"`)
}

const (
	threeCalls = `{"kind":"tool_call","call_id":"a","tool":"pay","args":"{}"},{"kind":"tool_call","call_id":"b","tool":"ask","args":"{oops"},{"kind":"tool_call","call_id":"c","tool":"look"}`
	asked      = `"approval":{"title":"Pay","basis":"one"}`
	allowed    = `"decision":{"verdict":"allow","by":"user"}`
	changed    = `"decision":{"verdict":"allow","by":"user","args":{"x":2}}`
	recorded   = `"decision":{"verdict":"allow","by":"user","args":"{\"x\":2}"}` // in the records of a run
	denied     = `"decision":{"verdict":"deny","reason":"no","by":"user"}`
	silent     = `"decision":{"verdict":"deny"}`
	deferred   = `"decision":{"verdict":"defer"}`
	result     = `"return":{"text":"paid","content":[{"kind":"user","text":"more"}]}`
	inside     = `"return":{"pending":{"calls":[{"id":"x","tool":"dig","args":{}},{"id":"y","tool":"dig","path":["z","y"],"args":{}}],"state":{"n":1}}}`
)

// does is what a run has recorded: a sequence of op, call and rest.
func (w written) does(run string, all ...string) written {
	for n := 0; n < len(all); n += 3 {
		w = w.record(run, all[n], all[n+1], all[n+2])
	}
	return w
}

// cutOff are turns that were cut off in the middle of three calls.
func cutOff() (names []string, all []written) {
	base := written{}.prompted("t").said("t", 1, threeCalls)
	add := func(name string, w written) { names, all = append(names, name), append(all, w) }
	own := func(name string, does ...string) { add(name, base.does("t", does...)) }
	own("nothing")
	own("asked", "ask", "a", asked)
	own("asked without a question", "ask", "a", `"none":true`)
	own("allowed", "ask", "a", asked, "approve", "a", allowed)
	own("answered", "ask", "a", asked, "answer", "a", allowed)
	own("allowed with other arguments", "ask", "a", asked, "approve", "a", recorded)
	own("denied", "ask", "a", asked, "approve", "a", denied)
	own("denied without a reason", "ask", "a", asked, "approve", "a", silent)
	own("deferred", "ask", "a", asked, "approve", "a", deferred)
	own("denied, then allowed", "ask", "a", asked, "answer", "a", denied, "approve", "a", allowed)
	own("allowed with others, then deferred", "ask", "a", asked, "answer", "a", recorded, "approve", "a", deferred)
	own("no decision", "ask", "a", asked, "approve", "a", "")
	own("returned", "tool", "a", result)
	own("returned nothing", "tool", "a", "")
	own("retried", "tool", "a", `"return":{"text":"again","retry":true}`)
	own("refused", "check", "a", `"return":{"text":"wrong","outcome":"failed","meta":{"n":1},"keep":"k"}`)
	own("allowed and returned", "ask", "a", asked, "approve", "a", allowed, "tool", "a", result)
	own("allowed with others and returned", "ask", "a", asked, "approve", "a", recorded, "tool", "a", result)
	own("asked again about the same", "ask", "a", asked, "approve", "a", allowed, "ask", "a", asked)
	own("asked again about another", "ask", "a", asked, "approve", "a", allowed, "ask", "a", `"approval":{"title":"Pay","basis":"two"}`)
	own("asks itself", "ask", "a", asked, "approve", "a", allowed, "tool", "a", `"return":{"approval":{"title":"Pay more","basis":"one"}}`)
	const itself = `"return":{"approval":{"title":"Pay"}}`
	own("asks itself at once", "tool", "a", itself)
	own("asks itself at once, one returned", "tool", "a", itself, "tool", "b", result)
	own("asks itself at once, and was deferred", "tool", "a", itself, "approve", "a", deferred)
	const leaves = `"return":{"deferred":true}`
	own("asks itself at once, beside others that were left and wait, and was deferred", "tool", "a", itself, "tool", "b", inside, "tool", "c", leaves, "approve", "a", deferred)
	own("asked, then no longer", "ask", "a", asked, "ask", "a", `"n":1,"none":true`)
	own("asked, then no longer, and asks itself", "ask", "a", asked, "ask", "a", `"n":1,"none":true`, "tool", "a", itself)
	own("allowed, and no longer asked", "ask", "a", asked, "approve", "a", allowed, "ask", "a", `"n":1,"none":true`)
	own("asks itself at once, was allowed, and asks again", "tool", "a", itself, "approve", "a", allowed, "tool", "a", `"return":{"approval":{"title":"Pay","basis":"two"}}`)
	own("waits for others, one allowed", "tool", "a", inside, "ask", "c", asked, "approve", "c", allowed)
	own("was allowed and waits for others, one allowed", "ask", "a", asked, "approve", "a", allowed, "tool", "a", inside, "ask", "c", asked, "approve", "c", allowed)
	own("left", "tool", "a", `"return":{"deferred":true,"meta":{"job":1}}`)
	own("left after it was allowed", "ask", "a", asked, "approve", "a", recorded, "tool", "a", `"return":{"deferred":true}`)
	own("waits for others", "tool", "b", inside)
	own("waits for others and was allowed", "ask", "b", asked, "approve", "b", recorded, "tool", "b", inside)
	own("one returned, one asked", "tool", "a", result, "ask", "b", asked)
	own("one allowed, one asked", "ask", "a", asked, "approve", "a", allowed, "ask", "b", asked)
	own("one asked, one allowed", "ask", "a", asked, "ask", "b", asked, "approve", "b", allowed)
	own("two allowed", "ask", "a", asked, "approve", "a", allowed, "ask", "c", asked, "approve", "c", allowed)
	own("one allowed, one waits", "ask", "a", asked, "approve", "a", allowed, "tool", "b", inside)
	own("one left, one allowed", "tool", "a", `"return":{"deferred":true}`, "ask", "c", asked, "approve", "c", allowed)
	own("all returned", "tool", "a", result, "tool", "b", result, "tool", "c", result)
	own("returned twice", "tool", "a", result, "tool", "a", `"return":{"text":"later"}`)
	for _, run := range []string{"t/1/b", "t/1/b/~2", "t/1/b/~10", "t/1/b/~1", "t/1/b/~0", "t/1/b/2/x", "t/1/b/~2/2/x", "t/1/b/~", "t/1/z", "t/1"} {
		add("an agent in "+run+" has asked its model", base.does(run, "start", "", "", "model", "", `"response":{"v":1,"kind":"response","parts":[`+threeCalls+`]}`))
		add("an agent in "+run+" has begun", base.does(run, "start", "", "").does("t", "ask", "b", asked, "approve", "b", allowed))
		add("an agent in "+run+" has asked its model and was allowed", base.does("t", "ask", "b", asked, "approve", "b", allowed).does(run, "model", "", `"response":{"v":1,"kind":"response","parts":[`+threeCalls+`]}`))
	}
	for name, does := range [][]string{
		{}, {"ask", "a", asked}, {"tool", "a", result}, {"tool", "a", result, "tool", "b", result, "tool", "c", result}, {"tool", "b", inside},
		{"tool", "a", `"return":{"deferred":true}`, "tool", "b", inside, "ask", "c", asked}, {"tool", "z", result},
	} {
		left := base.does("t", "tool", "a", `"return":{"text":"begun"},"left":["t/1/a"]`)
		for _, run := range []string{"t/1/a", "t/1/a/1/q", "t/1/ab"} {
			add(fmt.Sprint("in the background ", run, " ", name), left.does(run, "model", "", `"response":{"v":1,"kind":"response","parts":[`+threeCalls+`]}`).does(run, does...))
		}
		add(fmt.Sprint("taken over ", name), left.does("t/1/a", "model", "", `"response":{"v":1,"kind":"response","parts":[`+threeCalls+`]}`).does("t/1/a", does...).does("t", "tool", "b", `"return":{"text":"ended"},"adopted":{"t/1/a":{"requests":1}}`))
	}
	piece := func(w written, key string, part int, kind, text string) written {
		return w.add(session.KindView, "t", key, fmt.Sprintf(`{"part":%d,"kind":%q,"text":%q}`, part, kind, text))
	}
	begun := written{}.prompted("t")
	half := piece(piece(piece(piece(begun, "1/response", 0, "thinking", "Hm."), "1/response", 1, "text", "One "), "1/response", 1, "text", "two"), "1/response", 2, "text", "three")
	add("half a response", half)
	add("half a response, asked for again", half.add(session.KindValue, "t", "attempt", ""))
	add("half a response, asked for again, and half of it", piece(half.add(session.KindValue, "t", "attempt", ""), "1/response", 0, "text", "Other"))
	add("another value", half.add(session.KindValue, "t", "other", ""))
	add("half a response of another step", piece(half, "2/response", 0, "text", "more"))
	add("thoughts only", piece(begun, "1/response", 0, "thinking", "Hm."))
	add("nothing said", piece(begun, "1/response", 0, "text", ""))
	add("half of the next response", piece(base.does("t", "tool", "a", result), "2/response", 0, "text", "So"))
	add("half of the response that is there", piece(base, "1/response", 0, "text", "So"))
	add("messages came", base.does("t", "inbox", "", `"inbox":[[{"kind":"user","text":"one"}],[{"kind":"user","text":"two"}]]`))
	add("an answer without calls", begun.said("t", 1, `{"kind":"text","text":"So."}`))
	add("an answer without calls and an agent", begun.said("t", 1, `{"kind":"text","text":"So."}`).does("t/1/h", "model", "", `"response":{"v":1,"kind":"response","parts":[`+threeCalls+`]}`, "ask", "a", asked, "tool", "b", result))
	for name, does := range [][]string{
		{"ask", "a", asked}, {"ask", "a", asked, "approve", "a", allowed}, {"ask", "a", asked, "approve", "a", denied}, {"tool", "a", result}, {"model", "", ""}, {"model", "", `"response":{"v":1,"kind":"response","parts":[{"kind":"text","text":"x"}]}`},
		{"ask", "a", asked, "approve", "a", recorded},
	} {
		add(fmt.Sprint("an agent has the conversation ", name), begun.does("t/1/h", "model", "", `"response":{"v":1,"kind":"response","parts":[`+threeCalls+`]}`).does("t/1/h", does...))
	}
	return names, all
}

// tellHand tells what processes make of sessions written by hand: first all, then what differs from the first one.
func tellHand(t *testing.T, names []string, all []written) string {
	var b strings.Builder
	first := ""
	for n, w := range all {
		fmt.Fprintf(&b, "%s:\n", names[n])
		store := &recorder{Memory: new(session.Memory)}
		for _, e := range w {
			store.batches = append(store.batches, []session.Entry{e})
		}
		tell := func(s session.Store) string {
			c, _ := open(t, s)
			return state(t, c) + past(t, s)
		}
		found := tell(store.cut(t, len(w)))
		b.WriteString(changes(first, found))
		if n == 0 {
			first = found
		}
		for _, doubts := range []bool{false, true} {
			m := store.cut(t, len(w))
			c, w := open(t, m)
			if doubts {
				if tools, _ := c.Unknown(); len(tools) == 0 {
					continue
				}
				b.WriteString("doubted:\n")
				c.Doubt()
			} else {
				b.WriteString("settled:\n")
			}
			head := w.Head()
			require.NoError(t, c.Settle(t.Context()))
			b.WriteString(changes(found, tell(m)) + entriesOf(t, m, head, true))
			if run := c.Messages(); !doubts && len(run) > 0 {
				c, _ := open(t, m)
				gone, err := c.Rewind(t.Context(), "t")
				if err != nil {
					require.ErrorIs(t, err, session.ErrInvalid)
					continue
				}
				fmt.Fprintf(&b, "taken back %q:\n%s", gone, changes(found, tell(m)))
			}
		}
	}
	return b.String()
}

func testHand(t *testing.T, path string, names []string, all []written) {
	synctest.Test(t, func(t *testing.T) {
		got := tellHand(t, names, all)
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(want), got)
	})
}

// What is known of a turn that was cut off: its calls by what was recorded of them, the agents inside them, and those that went on after them.
func TestWhatIsLeftOfATurn(t *testing.T) {
	names, all := cutOff()
	testHand(t, "testdata/leftovers.txt", names, all)
}

// answeredTurns are turns that go on with calls which a turn before them has left pending.
func answeredTurns() (names []string, all []written) {
	add := func(name string, w written) { names, all = append(names, name), append(all, w) }
	pending := map[string]string{
		"with a question":            `"pending_calls":[{"id":"a","tool":"pay","args":{},` + asked + `}]`,
		"that may have run":          `"pending_calls":[{"id":"a","tool":"pay","args":{},"may_have_run":true,"decision":{"verdict":"allow","by":"user"},` + asked + `}]`,
		"with other arguments":       `"pending_calls":[{"id":"a","tool":"pay","args":{"x":2},"changed":true,` + asked + `}]`,
		"from outside":               `"pending_calls":[{"id":"a","tool":"pay","args":{},"external":true}]`,
		"inside another":             `"pending_calls":[{"id":"x","tool":"dig","path":["b","x"],"agent":"clerk","args":{},` + asked + `},{"id":"a","tool":"pay","args":{},` + asked + `}],"suspended_calls":[{"id":"b","tool":"ask","args":{},"state":{"n":1}}]`,
		"inside another, and alone":  `"pending_calls":[{"id":"x","tool":"dig","path":["b","x"],"agent":"clerk","args":{},` + asked + `}],"suspended_calls":[{"id":"b","tool":"ask","args":{},"approved":true,"decision":{"verdict":"allow","by":"user"},"state":{"n":1}}]`,
		"inside, that may have run":  `"pending_calls":[{"id":"x","tool":"dig","path":["b","x"],"args":{},"may_have_run":true,` + asked + `}],"suspended_calls":[{"id":"b","tool":"ask","args":{}}]`,
		"of an agent without a call": `"hand_over":{},"pending_calls":[{"id":"x","tool":"dig","path":["h","x"],"agent":"expert","args":{},` + asked + `}],"suspended_calls":[{"id":"h","tool":"transfer","args":{}}]`,
	}
	for _, what := range []string{"with a question", "that may have run", "with other arguments", "from outside", "inside another", "inside another, and alone", "inside, that may have run", "of an agent without a call"} {
		w := written{}.prompted("t")
		if strings.Contains(what, "without a call") {
			w = w.said("t", 1, `{"kind":"text","text":"So."}`)
		} else {
			w = w.said("t", 1, threeCalls)
		}
		w = w.message("t", "end/2", `"kind":"request","parts":[{"kind":"tool_return","call_id":"c","tool":"look","text":"seen"},{"kind":"user","text":"beside"}],"run_id":"t","conversation_id":"s","pending":true,`+pending[what])
		w = w.add(session.KindEnd, "t", "", `{"v":1,"reason":"pending","keep":0,"messages":[1,2,3]}`)
		add(what, w)
		key := map[bool]string{true: "/b/x", false: "a"}[strings.HasPrefix(what, "inside another, and") || strings.HasPrefix(what, "inside,")]
		if strings.Contains(what, "without a call") {
			key = "/h/x"
		}
		answer := func(w written, conversation, rest string) written {
			return w.add(session.KindDecision, "t", "pending/"+key, fmt.Sprintf(`{"call":%q,"tool":"pay","conversation":%q,%s}`, key, conversation, rest))
		}
		for name, rest := range []string{allowed, changed, denied, silent, `"result":{"text":"from outside","content":[{"kind":"user","text":"more"}],"outcome":"failed"}`} {
			add(fmt.Sprint(what, ", answered ", name), answer(w, "s", rest))
			add(fmt.Sprint(what, ", answered elsewhere ", name), answer(w, "parent", rest))
			began := answer(w, "s", rest).record("t2", "start", "", "")
			add(fmt.Sprint(what, ", answered and begun ", name), began)
			add(fmt.Sprint(what, ", answered and begun in the calls ", name), began.does("t2", "ask", "a", asked, "tool", "b", result).does("t2/1/b", "tool", "x", result).does("t2/1/h", "tool", "x", result))
			add(fmt.Sprint(what, ", answered and asked inside ", name), began.does("t2/1/b", "model", "", "").does("t2/1/h", "model", "", ""))
			given := w.add(session.KindValue, "t2", "given", fmt.Sprintf(`{"given":{"answers":{"decisions":{%q:{"verdict":"allow","by":"user"}}},"pending":{"v":1,"kind":"request","parts":[],"run_id":"t","pending":true,%s}}}`, key, pending[what]))
			if name == 0 {
				add(what+", given", given)
				add(what+", given and begun", given.record("t2", "start", "", ""))
				add(what+", given and prompted", given.prompted("t2").record("t2", "start", "", ""))
				add(what+", given and returned", given.record("t2", "tool", "a", result))
				add(what+", prompted", w.prompted("t2"))
				add(what+", prompted and said", w.prompted("t2").said("t2", 1, `{"kind":"text","text":"Well."}`))
			}
			add(fmt.Sprint(what, ", answered and prompted ", name), answer(w, "s", rest).prompted("t2").record("t2", "start", "", ""))
			add(fmt.Sprint(what, ", answered twice ", name), answer(answer(w, "s", rest), "s", denied))
		}
	}
	return names, all
}

// What becomes of calls that wait: by what waits, how it was answered, and how far the turn that goes on with them has come.
func TestWhatBecomesOfCallsThatWait(t *testing.T) {
	names, all := answeredTurns()
	testHand(t, "testdata/waiting.txt", names, all)
}
