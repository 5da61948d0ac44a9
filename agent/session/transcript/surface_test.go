// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// What a user is shown of a prompt: text as it is, pictures and sounds by their data, text files by their text, and a link for what has only
// an address.
func TestContentsOfPrompts(t *testing.T) {
	media := func(kind, data, url, name string) model.Part {
		return model.Part{Kind: model.PartMedia, MediaType: kind, Data: []byte(data), URL: url, Name: name}
	}
	got := transcript.Contents([]model.Part{
		model.User("hello"), model.Text("not of a user"), media("image/png", "x", "", ""), media("audio/wav", "x", "http://h", "a"), media("text/plain", "t", "", ""),
		media("text/plain", "t", "http://h", "a"), media("text/plain", "\xff", "", "a"), media("application/pdf", "x", "", "a"), media("application/pdf", "x", "http://h", "a"), media("", "x", "", ""),
		media("image/png", "", "http://h", ""), media("", "", "http://h", ""), media("video", "", "http://h", "b"),
	})
	data, err := json.Marshal(got)
	require.NoError(t, err)
	require.Equal(t, strings.Join([]string{
		`[{"kind":"text","text":"hello"}`, `{"kind":"image","mime_type":"image/png","data":"eA=="}`, `{"kind":"audio","mime_type":"audio/wav","data":"eA=="}`,
		`{"kind":"resource","text":"t","mime_type":"text/plain","uri":"text/plain"}`, `{"kind":"resource","text":"t","mime_type":"text/plain","uri":"http://h"}`,
		`{"kind":"resource","mime_type":"text/plain","data":"/w==","uri":"a"}`, `{"kind":"resource","mime_type":"application/pdf","data":"eA==","uri":"a"}`,
		`{"kind":"resource","mime_type":"application/pdf","data":"eA==","uri":"http://h"}`, `{"kind":"resource","data":"eA==","uri":"media"}`,
		`{"kind":"link","mime_type":"image/png","uri":"http://h","name":"image/png"}`, `{"kind":"link","uri":"http://h","name":"media"}`, `{"kind":"link","mime_type":"video","uri":"http://h","name":"b"}]`,
	}, ","), string(data))
	require.Empty(t, transcript.Contents(nil))
	for args, want := range map[string]string{``: `{}`, `{"a":1}`: `{"a":1}`, `7`: `7`, `{oops`: `"{oops"`} {
		require.Equal(t, want, string(transcript.Input(model.RawArgs(args))))
	}
}

// Of a long text the middle is left out, at whole characters, and the note says how much that is.
func TestLongTextsAreClipped(t *testing.T) {
	const half = 32 << 10
	x := func(n int) string { return strings.Repeat("x", n) }
	for text, want := range map[string]string{
		"":                                   "",
		x(2 * half):                          x(2 * half),
		x(2*half + 1):                        x(half) + "\n[1 bytes (0 lines) are not shown]\n" + x(half),
		x(half) + "a\nb\n" + x(half):         x(half) + "\n[4 bytes (2 lines) are not shown]\n" + x(half),
		x(half-1) + "é" + x(half):            x(half-1) + "\n[2 bytes (0 lines) are not shown]\n" + x(half),
		x(half) + "é" + x(half-1):            x(half) + "\n[2 bytes (0 lines) are not shown]\n" + x(half-1),
		x(half-3) + "𝄞-𝄞" + x(half-3):        x(half-3) + "\n[9 bytes (0 lines) are not shown]\n" + x(half-3),
		x(half-1) + "\U0001d11e" + x(half-2): x(half-1) + "\n[4 bytes (0 lines) are not shown]\n" + x(half-2),
		strings.Repeat("\xb1", 2*half+1):     "\n[65537 bytes (0 lines) are not shown]\n", // no text
	} {
		require.Equal(t, want, transcript.Clip(text))
	}
}

func TestIDsKeepRunsApart(t *testing.T) {
	for id, want := range map[string]string{
		transcript.PromptID("r"): "prompt:r", transcript.MessageID("r", 1): "message:r/1", transcript.ThoughtID("a/1/b", 12): "thought:a%2F1%2Fb/12", transcript.OutputID("r%", 2): "output:r%25/2",
		transcript.CallID("r", 1, "c/d"): "call:r/1/c/d", transcript.QuestionID("r", 1, "c"): "question:r/1/c", transcript.PendingID("a/b", "k"): "question:a%2Fb/pending/k",
		transcript.AgentID("a/%"): "agent:a%2F%25", transcript.WaitingID("p/1"): "waiting:p%2F1",
	} {
		require.Equal(t, want, id)
	}
}

// show returns what a transcript shows, an entity a line, without what is empty.
func show(p *transcript.Transcript) string { return textOf(p.Fold()) }

// What a tool emits in the words of a surface is shown as its own, under ids that collide with nobody else's.
func TestToolsEmitEntities(t *testing.T) {
	p := transcript.New("s", transcript.Options{First: []*view.Entity{{ID: "options", Kind: view.Options}}})
	p.Start("r")
	p.Prompt([]model.Part{model.User("go")}, nil)
	e := &agent.Event{Step: 1, CallID: "c", Tool: "edit"}
	emit := func(c view.Change) bool { return p.Emit(e, &c) }
	upsert := func(id string, e view.Entity) view.Change { return view.Change{Op: view.Upsert, ID: id, Entity: &e} }
	text := []view.Content{{Kind: view.Text, Text: "x"}}
	for name, c := range map[string]view.Change{
		"nothing": {}, "no entity": {Op: view.Upsert, ID: "a"}, "another operation": {Op: "else", ID: "a", Entity: &view.Entity{Kind: view.Plan}},
		"more of nothing": {Op: view.Append, ID: "m", Text: "x"}, "removal of a notice": {Op: view.Remove, ID: "n", Entity: &view.Entity{Kind: view.Notice}},
		"something with an id": upsert("other", view.Entity{Kind: view.Command}),
	} {
		require.False(t, emit(c), name)
	}
	require.False(t, p.Emit(&agent.Event{Step: 1}, &view.Change{Op: view.Upsert, Entity: &view.Entity{Title: "x"}}), "no call")
	for _, c := range []view.Change{
		upsert("", view.Entity{Kind: view.Plan, Steps: []view.Step{{Text: "one"}}}), upsert("plan", view.Entity{Kind: view.Plan, Steps: []view.Step{{Text: "two"}}}),
		upsert("b", view.Entity{Kind: view.Plan, Steps: []view.Step{{Text: "three"}}}), upsert("x", view.Entity{ID: "c", Kind: view.Plan, Steps: []view.Step{{Text: "four"}}}),
		{Op: view.Remove, ID: "b", Entity: &view.Entity{Kind: view.Plan, Steps: []view.Step{{Text: "gone"}}}},
		upsert("k", view.Entity{Kind: view.Compaction, Status: view.Running}), upsert("n", view.Entity{Kind: view.Notice, Title: "one"}), upsert("n", view.Entity{Kind: view.Notice, Title: "two"}),
		upsert("m", view.Entity{Kind: view.Message, Role: view.User, Content: text}), {Op: view.Append, ID: "m", Text: "y"}, upsert("h", view.Entity{Kind: view.Thought, Role: view.User, Content: text}),
		upsert("", view.Entity{Title: "Edit a", Locations: []view.Location{{Path: "/a"}}}), upsert("", view.Entity{Status: view.Running}),
	} {
		require.True(t, emit(c), "%v", c)
	}
	require.Equal(t, `{"id":"options","kind":"options"}
{"id":"prompt:r","kind":"message","role":"user","content":[{"kind":"text","text":"go"}]}
{"id":"plan","kind":"plan","steps":[{"text":"two"}]}
{"id":"plan:b","kind":"plan"}
{"id":"plan:c","kind":"plan","steps":[{"text":"four"}]}
{"id":"compaction:k","kind":"compaction","status":"in_progress"}
{"id":"note:r/1","kind":"notice","title":"one"}
{"id":"note:r/2","kind":"notice","title":"two"}
{"id":"emitted:r/m","kind":"message","role":"assistant","content":[{"kind":"text","text":"xy"}]}
{"id":"emitted:r/h","kind":"thought","content":[{"kind":"text","text":"x"}]}
{"id":"call:r/1/c","kind":"tool_call","title":"Edit a","status":"in_progress","locations":[{"path":"/a"}]}
`, show(p))
	call, agent := p.Call("call:r/1/c")
	require.Equal(t, "Edit a", call.Title)
	require.Empty(t, agent)
	call, _ = p.Call("call:r/1/other")
	require.Nil(t, call)
}

// A surface reports what it knows of a call. A status never goes back, and what has ended does not change.
func TestReportsOfCalls(t *testing.T) {
	p := transcript.New("s", transcript.Options{})
	p.Start("r")
	report := func(e view.Entity) { e.ID, e.Kind = "call:r/1/c", view.ToolCall; p.Report(&e) }
	status := func() view.Status { return p.Fold().Get("call:r/1/c").Status }
	report(view.Entity{Name: "edit", Parent: "agent:x"})
	require.Equal(t, view.Pending, status())
	require.Equal(t, "edit", p.Fold().Get("call:r/1/c").Title)
	report(view.Entity{Status: view.Running, Title: "Edit"})
	report(view.Entity{Status: view.Pending, Content: []view.Content{{Kind: view.Text, Text: "x"}}})
	require.Equal(t, view.Running, status())
	report(view.Entity{Status: view.Completed})
	require.Equal(t, view.Completed, status())
	before := show(p)
	report(view.Entity{Status: view.Failed, Title: "Other"})
	require.Equal(t, before, show(p))

	p.Report(&view.Entity{ID: "agent:x", Kind: view.ToolCall, Name: "helper"})
	_, name := p.Call("call:r/1/c")
	require.Equal(t, "helper", name)
	p.Report(&view.Entity{ID: "n", Kind: view.Notice, Title: "one"})
	p.Report(&view.Entity{ID: "n", Kind: view.Notice, Title: "two"})
	p.Show(&view.Entity{ID: "shown", Kind: view.Notice, Title: "three"})
	p.Record(&view.Entity{ID: "recorded", Kind: view.Notice, Title: "four"})
	require.Contains(t, show(p), `{"id":"n","kind":"notice","title":"two"}`+"\n"+`{"id":"shown","kind":"notice","title":"three"}`)
	require.NotContains(t, show(p), "recorded")
	p.Hide("shown")
	p.Remove("n")
	require.NotContains(t, show(p), "notice")
	p.Say("")
	p.Say("Well.")
	p.Notice("warning", "Careful.")
	p.Typed([]view.Content{{Kind: view.Text, Text: "/help"}})
	require.True(t, strings.HasSuffix(show(p), `{"id":"notice:r/1","kind":"message","role":"assistant","content":[{"kind":"text","text":"Well."}]}
{"id":"notice:r/2","kind":"notice","title":"Careful.","class":"warning"}
{"id":"prompt:r","kind":"message","role":"user","content":[{"kind":"text","text":"/help"}]}
`), show(p))
}

// A call that is open when its turn ends has failed, and says why; one that was left behind in a hurry is cancelled at once.
func TestOpenCallsEndWithTheirTurn(t *testing.T) {
	for reason, want := range map[string]string{
		transcript.Done: "failed Not finished: the turn ended before.", transcript.Failed: "failed Not finished: the turn ended before.", transcript.Interrupted: "failed Not finished: the turn ended before.",
		transcript.Cancelled: "failed Cancelled.", transcript.Pending: "in_progress ",
	} {
		p := transcript.New("s", transcript.Options{})
		p.Start("r")
		p.Prompt([]model.Part{model.User("go")}, nil)
		p.Event(&agent.Event{Kind: agent.EventRequestStart, Step: 1})
		p.Event(&agent.Event{Kind: agent.EventToolCall, Step: 1, CallID: "c", Tool: "edit", Args: model.RawArgs(`{}`)})
		p.Event(&agent.Event{Kind: agent.EventToolStart, Step: 1, CallID: "c", Tool: "edit"})
		p.Stop(reason)
		e := p.Fold().Get("call:r/1/c")
		require.Equal(t, want, string(e.Status)+" "+e.Text(), reason)
	}
	p := transcript.New("s", transcript.Options{})
	p.Start("r")
	p.Event(&agent.Event{Kind: agent.EventToolCall, Step: 1, CallID: "c", Tool: "edit"})
	p.Abandon()
	require.Equal(t, "Cancelled.", p.Fold().Get("call:r/1/c").Text())
}

// How an answer ended is its status: whole answers and turns that wait have none.
func TestAnswersSayHowTheyEnded(t *testing.T) {
	for _, c := range []struct {
		reason string
		finish model.FinishReason
		want   view.Status
	}{
		{transcript.Done, model.FinishStop, ""}, {transcript.Done, model.FinishLength, view.CutOff}, {transcript.Done, model.FinishContentFilter, view.CutOff},
		{transcript.Failed, model.FinishContentFilter, view.Failed}, {transcript.Failed, model.FinishLength, view.CutOff}, {transcript.Failed, model.FinishStop, view.Failed}, {transcript.Refused, "", view.Failed},
		{transcript.Cancelled, model.FinishLength, view.Stopped}, {transcript.Interrupted, model.FinishLength, view.Interrupted}, {transcript.Pending, model.FinishLength, ""},
	} {
		for _, says := range []bool{true, false} {
			p := transcript.New("s", transcript.Options{})
			p.Start("r")
			p.Prompt([]model.Part{model.User("go")}, nil)
			p.Event(&agent.Event{Kind: agent.EventRequestStart, Step: 1})
			if says {
				p.Event(&agent.Event{Kind: agent.EventPartDelta, Step: 1, PartKind: model.PartThinking, Text: "Hm."})
				p.Event(&agent.Event{Kind: agent.EventPartDelta, Step: 1, PartKind: model.PartText, Text: "Well."})
			}
			m := model.Response(model.Text("Well."))
			m.Finish = c.finish
			p.Event(&agent.Event{Kind: agent.EventResponse, Step: 1, Message: m})
			require.Equal(t, c.finish, p.Finish())
			p.Stop(c.reason)
			id := "message:r/1"
			if !says {
				id = "ended:r"
			}
			e := p.Fold().Get(id)
			if e == nil {
				require.Empty(t, c.want, "%v", c)
				require.False(t, says)
				continue
			}
			require.Equal(t, c.want, e.Status, "%v says %t", c, says)
		}
	}
}

// Usage is how full the window is, with the cost of the session to a billionth; nothing without a window or without tokens.
func TestUsageIsShownByWindowAndPrices(t *testing.T) {
	for _, c := range []struct {
		o    transcript.Options
		used int
		want string
	}{
		{transcript.Options{Window: 1000, Prices: perRequest(0.1), Currency: "EUR"}, 10, `{"id":"usage","kind":"usage","usage":{"used":10,"size":1000,"cost":0.3,"currency":"EUR"}}`},
		{transcript.Options{Window: 1}, 10, `{"id":"usage","kind":"usage","usage":{"used":10,"size":1}}`},
		{transcript.Options{Window: 1000, Currency: "EUR"}, 10, `{"id":"usage","kind":"usage","usage":{"used":10,"size":1000}}`},
		{transcript.Options{}, 10, ``}, {transcript.Options{Window: -1}, 10, ``}, {transcript.Options{Window: 1000}, 0, ``},
	} {
		p := transcript.New("s", c.o)
		p.Start("r")
		for step := range 3 {
			m := model.Response(model.Text("x"))
			m.Usage = model.Usage{InputTokens: int64(c.used)}
			p.Event(&agent.Event{Kind: agent.EventResponse, Step: step + 1, Message: m})
		}
		require.Equal(t, c.want, strings.TrimSpace(show(p)))
		p.SetWindow(77)
		m := model.Response(model.Text("x"))
		m.Usage = model.Usage{InputTokens: 1, OutputTokens: 2}
		p.Event(&agent.Event{Kind: agent.EventResponse, Step: 4, Message: m})
		require.Contains(t, show(p), `"used":3,"size":77`)
	}
}

// payer is an agent whose tool waits for approval.
func payer(paid *int, said ...modeltest.Step) *agent.Agent[none, string] {
	if said == nil {
		said = []modeltest.Step{modeltest.Say(model.ToolCall("c", "pay", `{}`)), modeltest.SayText("Paid.")}
	}
	return agent.Must(agent.New(agent.Config[none, string]{Model: modeltest.Script(said...), Tools: []*toolset.Tool[none]{
		toolset.Func("pay", "Pay.", func(context.Context, *toolset.RunContext[none], none) (string, error) {
			*paid++
			return "paid", nil
		}, toolset.Approve(func(context.Context, *toolset.RunContext[none], none) (*toolset.Approval, error) {
			return &toolset.Approval{Title: "Pay 5?", Source: "bank"}, nil
		})),
	}}))
}

// An answer to a pending call survives the process until a run has carried it out, and the session says what the person saw.
func TestAnswersToPendingCallsSurvive(t *testing.T) {
	for name, give := range map[string]func(key string) agent.DeferredResults{
		"allowed":  func(key string) (a agent.DeferredResults) { a.Decide(key, toolset.Allow()); return a },
		"denied":   func(key string) (a agent.DeferredResults) { a.Decide(key, toolset.Deny("too much")); return a },
		"supplied": func(key string) (a agent.DeferredResults) { a.Supply(key, toolset.Result{Text: "by hand"}); return a },
	} {
		store := new(session.Memory)
		s := openShown(t, store, true)
		paid := 0
		require.Error(t, promptShown(s, payer(&paid, modeltest.Say(model.ToolCall("c", "pay", `{}`), model.ToolCall("d", "pay", `{}`))), "Pay.", nil))
		calls := agent.PendingCalls(s.c.Messages())
		require.Len(t, calls, 2)
		require.Empty(t, s.c.Answers().Decisions)
		require.EqualError(t, s.c.Answer(t.Context(), &calls[0], agent.DeferredResults{}), `transcript: answer: there is none for call "`+calls[0].Key()+`"`)
		answers := give(calls[0].Key())
		require.NoError(t, s.c.Answer(t.Context(), &calls[0], answers))
		entries := exported(t, store)
		require.Contains(t, entries, `"key":"pending/`+calls[0].Key()+`"`, name)
		require.Contains(t, entries, `"title":"Pay 5?"`, "what the person saw")

		again := openShown(t, store, true)
		require.Empty(t, again.c.Interrupted())
		got := again.c.Answers()
		require.Equal(t, len(answers.Decisions), len(got.Decisions), name)
		require.Equal(t, len(answers.Results), len(got.Results), name)
		for key, d := range answers.Decisions {
			require.Equal(t, d.Verdict, got.Decisions[key].Verdict)
			require.Equal(t, d.Reason, got.Decisions[key].Reason)
		}
		for key, r := range answers.Results {
			require.Equal(t, r.Text, got.Results[key].Text)
		}
		require.False(t, agent.PendingCalls(again.c.Messages())[0].MayHaveRun, "the run waits for the other call")
		got.Decide(calls[1].Key(), toolset.Deny("not that"))
		now, err := again.c.Begin(t.Context())
		require.NoError(t, err)
		res, err := payer(&paid, modeltest.SayText("Done.")).Run(t.Context(), none{}, "", append(now.Options(), agent.WithRunID(now.ID()), agent.WithHistory(again.c.Messages()), agent.WithResults(got))...)
		require.NoError(t, transcript.End(t.Context(), now, res, err))
		require.Equal(t, map[string]int{"allowed": 1}[name], paid, name)
		require.Empty(t, again.c.Answers().Decisions, "it was carried out")
		require.Empty(t, again.c.Answers().Results)
		all := textOf(readShown(t, store))
		require.Contains(t, all, map[string]string{"allowed": `"text":"paid"`, "denied": "too much", "supplied": `"text":"by hand"`}[name])
	}
}

// A program that follows a session knows how far it has read, whether a turn goes on, and how often it was taken up.
func TestFollowersKnowHowFarTheyAre(t *testing.T) {
	store := new(session.Memory)
	s := openShown(t, store, true)
	require.NoError(t, promptShown(s, travel(modeltest.SayText("One.")), "First", nil))
	c, err := transcript.Follow(t.Context(), store, "s", transcript.Options{})
	require.NoError(t, err)
	require.Empty(t, c.Going())
	require.Positive(t, c.Taken())
	before := c.Taken()
	turn, err := s.c.Begin(t.Context(), model.User("Second"))
	require.NoError(t, err)
	reasons := map[string]bool{}
	feed := func() {
		for e, err := range store.Load(t.Context(), "s", c.Taken()) {
			require.NoError(t, err)
			require.NoError(t, c.Take(e))
			require.Equal(t, e.Seq, c.Taken())
			if r := transcript.ReasonOf(&e); r != "" {
				reasons[r] = true
			}
		}
	}
	feed()
	require.Greater(t, c.Taken(), before)
	require.NotEmpty(t, c.Going())
	require.Contains(t, textOf(c.Fold()), "Second")
	require.NoError(t, turn.Finish(t.Context(), s.c.Messages(), transcript.Cancelled))
	feed()
	require.Empty(t, c.Going())
	require.Equal(t, map[string]bool{transcript.Cancelled: true}, reasons)
	require.Empty(t, transcript.ReasonOf(&session.Entry{Kind: session.KindView, Data: json.RawMessage(`{"reason":"done"}`)}))
	require.Empty(t, transcript.ReasonOf(&session.Entry{Kind: session.KindEnd, Data: json.RawMessage(`[]`)}))
	_, err = transcript.Follow(t.Context(), nil, "s", transcript.Options{})
	require.ErrorIs(t, err, session.ErrInvalid)
	require.ErrorContains(t, err, "the store is nil")
	_, err = transcript.Read(t.Context(), nil, "s", transcript.Options{})
	require.ErrorIs(t, err, session.ErrInvalid)
	_, err = transcript.Past(t.Context(), nil, "s")
	require.ErrorIs(t, err, session.ErrInvalid)
	_, err = transcript.Follow(t.Context(), store, "other", transcript.Options{})
	require.ErrorIs(t, err, session.ErrNotFound)

	_, err = s.c.Begin(t.Context(), model.User("Third"))
	require.NoError(t, err)
	again := openShown(t, store, true)
	for n := range 3 {
		require.Equal(t, n, again.c.Attempts())
		require.NoError(t, again.c.Attempt(t.Context()))
		again = openShown(t, store, true)
	}
	require.NoError(t, again.c.Settle(t.Context()))
	require.Zero(t, again.c.Attempts())
}

// What was shown outside of a run is kept with the turn that was shown last, once.
func TestWhatIsShownOutsideOfRunsIsKept(t *testing.T) {
	store := new(session.Memory)
	s := openShown(t, store, true)
	require.NoError(t, promptShown(s, travel(modeltest.SayText("One.")), "First", nil))
	s.c.Say("By the way.")
	s.c.Notice("info", "Saved.")
	require.NoError(t, s.c.Keep(t.Context()))
	requireSame(t, s)
	entries := exported(t, store)
	require.NoError(t, s.c.Keep(t.Context()))
	require.Equal(t, entries, exported(t, store), "there is nothing more to keep")
	require.Equal(t, 1, strings.Count(entries, "By the way."))
}

// Turns one by one: what they began with, their prompts and messages, how they ended and what was decided.
func TestPastTurnsAreTold(t *testing.T) {
	store := new(session.Memory)
	s := openShown(t, store, true)
	paid := 0
	require.NoError(t, promptShown(s, travel(modeltest.SayText("One.")), "First", nil))
	allow := agent.WithAsker(toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) { return toolset.Allow(), nil }})
	require.NoError(t, promptShown(s, payer(&paid), "Pay.", nil, allow))
	require.Error(t, promptShown(s, payer(&paid, modeltest.Say(model.ToolCall("d", "pay", `{}`))), "Pay again.", nil))
	var answers agent.DeferredResults
	answers.Decide(agent.PendingCalls(s.c.Messages())[0].Key(), toolset.Deny("no"))
	require.NoError(t, s.c.Answer(t.Context(), &agent.PendingCalls(s.c.Messages())[0], answers))
	require.NoError(t, promptShown(s, payer(&paid, modeltest.SayText("Not paid.")), "", nil, agent.WithResults(answers)))
	_, err := s.c.Begin(t.Context(), model.User("Cut."))
	require.NoError(t, err)

	turns, err := transcript.Past(t.Context(), store, "s")
	require.NoError(t, err)
	require.Len(t, turns, 5)
	var reasons, prompts []string
	for i, turn := range turns {
		reasons = append(reasons, turn.Reason)
		text := "-"
		if turn.Prompt != nil {
			text = turn.Prompt[0].Text
		}
		prompts = append(prompts, text)
		if i > 0 {
			require.Len(t, turn.Before, len(turns[i-1].After), i)
		}
		for _, m := range turn.Messages {
			require.Equal(t, turn.ID, m.RunID)
		}
	}
	require.Equal(t, []string{transcript.Done, transcript.Done, transcript.Pending, transcript.Done, transcript.Interrupted}, reasons)
	require.Equal(t, []string{"First", "Pay.", "Pay again.", "-", "Cut."}, prompts)
	require.Empty(t, turns[0].Before)
	require.Len(t, turns[0].Messages, 2)
	require.Len(t, turns[1].Messages, 4)
	require.Equal(t, map[transcript.PastCall]model.Verdict{{Step: 1, ID: "c"}: model.VerdictAllow}, verdicts(turns[1].Decisions))
	require.Empty(t, turns[0].Decisions)
	require.Equal(t, model.VerdictDeny, turns[3].Answers.Decisions[agent.PendingCalls(turns[3].Before)[0].Key()].Verdict)
	require.Equal(t, "Not paid.", turns[3].After[len(turns[3].After)-1].Text())
	require.Empty(t, turns[1].Answers.Decisions)
}

func verdicts(all map[transcript.PastCall]model.Decision) map[transcript.PastCall]model.Verdict {
	made := map[transcript.PastCall]model.Verdict{}
	for call, d := range all {
		made[call] = d.Verdict
	}
	return made
}

// A call that the process died in may have run: its tool is named, and in doubt a person decides before it is made again.
func TestCallsThatMayHaveRunAreNamed(t *testing.T) {
	store := new(session.Memory)
	s := openShown(t, store, true)
	require.NoError(t, promptShown(s, travel(modeltest.Say(model.ToolCall("a", "forecast", `{"city":"Oslo"}`), model.ToolCall("b", "edit", `{}`)), modeltest.SayText("Warm.")), "Weather?", func(e *agent.Event) bool {
		return e.Kind != agent.EventToolStart || e.CallID != "b"
	}))
	again := openShown(t, store, true)
	tools, whole := again.c.Unknown()
	require.Contains(t, tools, "edit")
	require.True(t, whole)
	again.c.Doubt()
	calls := agent.PendingCalls(again.c.Messages())
	require.NotEmpty(t, calls)
	for _, c := range calls {
		require.True(t, c.MayHaveRun)
		require.Equal(t, "Call "+c.Tool+" again?", c.Approval.Title)
		require.True(t, c.Approval.Once)
	}
	require.NoError(t, again.c.Settle(t.Context()))
	after := openShown(t, store, true)
	require.Empty(t, after.c.Interrupted())
	require.Len(t, agent.PendingCalls(after.c.Messages()), len(calls))
	after.c.Doubt() // nothing was cut off
	require.Len(t, agent.PendingCalls(after.c.Messages()), len(calls))
}

// Text that is streamed is written after a quarter of a second, in one piece, and not once more with its response.
func TestStreamedTextIsWrittenAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(session.Memory)
		s := openShown(t, store, true)
		turn, err := s.c.Begin(t.Context(), model.User("Go"))
		require.NoError(t, err)
		delta := func(part int, kind model.PartKind, text string) {
			turn.Observe(&agent.Event{Kind: agent.EventPartDelta, Step: 1, Part: part, PartKind: kind, Text: text})
		}
		pieces := func() (all []string) {
			for e, err := range store.Load(t.Context(), "s", 0) {
				require.NoError(t, err)
				if e.Key == "1/response" {
					all = append(all, string(e.Data))
				}
			}
			return all
		}
		turn.Observe(&agent.Event{Kind: agent.EventRequestStart, Step: 1})
		delta(0, model.PartThinking, "Hm")
		delta(0, model.PartThinking, ".")
		delta(1, model.PartText, "It ")
		delta(2, model.PartToolCall, `{"a":`)
		time.Sleep(249 * time.Millisecond)
		synctest.Wait()
		require.Empty(t, pieces())
		time.Sleep(time.Millisecond)
		synctest.Wait()
		require.Equal(t, []string{`{"part":0,"kind":"thinking","text":"Hm."}`, `{"part":1,"kind":"text","text":"It "}`}, pieces())
		delta(1, model.PartText, "is")
		time.Sleep(250 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, `{"part":1,"kind":"text","text":"is"}`, pieces()[2])
		delta(1, model.PartText, " late")
		require.NoError(t, turn.Finish(t.Context(), s.c.Messages(), transcript.Cancelled))
		delta(1, model.PartText, " later")
		time.Sleep(time.Second)
		synctest.Wait()
		require.Len(t, pieces(), 3)
		require.NoError(t, s.w.Close(t.Context()))
	})
}
