// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

type place struct {
	City string `json:"city"`
}

// shown is one conversation on one store.
type shown struct {
	t       *testing.T
	store   *session.Memory
	c       *transcript.Conversation
	w       *session.Writer
	fold    *view.Fold
	journal bool
	turn    *transcript.Turn
}

func openShown(t *testing.T, store *session.Memory, journal bool) *shown {
	t.Helper()
	if _, err := store.Create(t.Context(), session.New{ID: "s"}); err != nil {
		require.ErrorIs(t, err, session.ErrExists)
	}
	w, err := session.Open(t.Context(), store, "s", session.Claim{Force: true})
	require.NoError(t, err)
	s := &shown{t: t, store: store, w: w, journal: journal}
	s.c, err = transcript.Open(t.Context(), w, options)
	require.NoError(t, err)
	s.fold = s.c.Fold()
	return s
}

var options = transcript.Options{Render: render, Window: 1000, Prices: perRequest(0.1), Currency: "EUR"}

func render(v any) (string, error) {
	data, err := json.Marshal(v)
	return string(data), err
}

// prompt runs a turn. each, if not nil, is called for each event, and ends the process if it returns false.
func promptShown[O any](s *shown, a *agent.Agent[none, O], text string, each func(*agent.Event) bool, opts ...agent.RunOption) error {
	s.t.Helper()
	ctx := s.t.Context()
	parts := []model.Part{model.User(text)}
	if text == "" { // resumes
		parts = nil
	}
	now, err := s.c.Begin(ctx, parts...)
	require.NoError(s.t, err)
	s.turn = now
	opts = append(opts, agent.WithRunID(now.ID()), agent.WithHistory(s.c.Messages()))
	if s.journal {
		opts = append(opts, now.Options()...)
	}
	stream := a.Stream(ctx, none{}, text, opts...)
	for ev := range stream.Events() {
		now.Observe(&ev)
		if each != nil && !each(&ev) {
			return nil
		}
	}
	res, err := stream.Result()
	require.NoError(s.t, transcript.End(ctx, now, res, err))
	return err
}

// text returns what a fold shows, an entity a line.
func textOf(f *view.Fold) string {
	var b strings.Builder
	for e := range f.Snapshot().All() {
		data, err := json.Marshal(e)
		if err != nil {
			panic(err)
		}
		b.Write(append(data, '\n'))
	}
	return b.String()
}

// requireSame compares what was shown live with what another process shows.
func requireSame(t *testing.T, s *shown) {
	t.Helper()
	live := textOf(s.fold)
	require.Equal(t, live, textOf(readShown(t, s.store)))
}

// read returns what a process shows that only reads.
func readShown(t *testing.T, store session.Store) *view.Fold {
	t.Helper()
	all, err := transcript.Read(t.Context(), store, "s", options)
	require.NoError(t, err)
	return all.Fold()
}

func travel(steps ...modeltest.Step) *agent.Agent[none, string] {
	inner := agent.Must(agent.New(agent.Config[none, string]{Name: "guide", Model: modeltest.Script(
		modeltest.Say(model.ToolCall("i1", "deep", `{}`)), modeltest.SayText("inner")),
		Tools: []*toolset.Tool[none]{toolset.Func("deep", "Dig.", func(context.Context, *toolset.RunContext[none], none) (string, error) { return "dug", nil })}}))
	return agent.Must(agent.New(agent.Config[none, string]{Model: modeltest.Script(steps...), MaxParallelCalls: 1, Tools: []*toolset.Tool[none]{
		toolset.Func("forecast", "Forecast.", func(_ context.Context, _ *toolset.RunContext[none], in place) (string, error) {
			if in.City == "Atlantis" {
				return "", toolset.Failed("no such city")
			}
			return "21 degrees in " + in.City, nil
		}, toolset.OfKind(toolset.KindFetch, "Ask the weather service")),
		toolset.Func("edit", "Edit.", func(_ context.Context, run *toolset.RunContext[none], _ none) (string, error) {
			old := "a"
			run.Emit(view.Entity{Title: "Edit /a", Content: []view.Content{{Kind: view.Diff, Diff: &view.FileChange{Path: "/a", Old: &old, New: "b"}}}, Locations: []view.Location{{Path: "/a", Line: 3}}})
			run.Emit(view.Change{Op: view.Upsert, ID: "plan", Entity: &view.Entity{ID: "plan", Kind: view.Plan, Steps: []view.Step{{Text: "one"}}}})
			run.Emit((*view.Entity)(nil)) // shows nothing, and harms nobody
			run.Emit(view.Change{Op: view.Upsert, ID: "n", Entity: &view.Entity{ID: "n", Kind: view.Notice, Title: "Nearly full"}})
			run.Emit(view.Change{Op: view.Upsert, ID: "m", Entity: &view.Entity{ID: "m", Kind: view.Message, Role: view.User, Content: []view.Content{{Kind: view.Text, Text: "forged"}}}})
			return "edited", nil
		}),
		toolset.Func("fail", "Fail.", func(context.Context, *toolset.RunContext[none], none) (string, error) {
			return "", errors.New("broken")
		}),
		agent.AsTool("ask", "Ask.", inner, func(none) none { return none{} }),
	}}))
}

func TestStoreShowsWhatWasShown(t *testing.T) {
	for _, journal := range []bool{true, false} {
		t.Run(fmt.Sprint("journal ", journal), func(t *testing.T) {
			s := openShown(t, new(session.Memory), journal)
			require.NoError(t, promptShown(s, travel(
				modeltest.Say(model.Thinking("Two cities."), model.Text("Let me look."), model.ToolCall("a", "forecast", `{"city":"Oslo"}`), model.ToolCall("b", "forecast", `{"city":"Atlantis"}`)),
				modeltest.Say(model.ToolCall("a", "edit", `{}`), model.ToolCall("b", "ask", `{"prompt":"How?"}`), model.ToolCall("c", "unknown", `{oops`)),
				modeltest.SayText("It is warm."),
			), "Weather?", nil))
			requireSame(t, s)
			require.NoError(t, promptShown(s, travel(modeltest.SayText("Again.")), "And again?", nil))
			requireSame(t, s)
			require.Error(t, promptShown(s, travel(modeltest.Say(model.ToolCall("a", "fail", `{}`))), "Fail.", nil))
			requireSame(t, s)

			all := textOf(s.fold)
			require.NotContains(t, all, "forged", "a tool speaks for nobody but itself")
			for _, part := range []string{
				`"id":"prompt:`, `"kind":"thought","content":[{"kind":"text","text":"Two cities."}]`, `"title":"Ask the weather service"`,
				`"class":"fetch","status":"completed"`, `"text":"no such city"`, `"kind":"diff"`, `"line":3`, `"kind":"plan"`, `"name":"guide"`, `"name":"deep"`, `"text":"dug"`,
				`The tool \"fail\" has failed.`, `"title":"Nearly full"`, `"usage":{`,
			} {
				require.Contains(t, all, part)
			}
			require.Equal(t, 1, strings.Count(exported(t, s.store), "21 degrees in Oslo"), "a result is kept once")
		})
	}
}

func exported(t *testing.T, s session.Store) string {
	var b strings.Builder
	require.NoError(t, session.Export(t.Context(), s, &b))
	return b.String()
}

func TestOutputIsShownAsMessage(t *testing.T) {
	s := openShown(t, new(session.Memory), true)
	a := agent.Must(agent.New(agent.Config[none, place]{Model: modeltest.Script(modeltest.Say(model.ToolCall("o", "final_result", `{"city":"Oslo"}`)))}))
	require.NoError(t, promptShown(s, a, "Where?", nil))
	all := textOf(s.fold)
	require.Contains(t, all, `"id":"output:`)
	require.NotContains(t, all, "tool_call", "its call is no call of a tool")
	requireSame(t, s)
}

func TestHandOverShowsOtherAgent(t *testing.T) {
	expert := agent.Must(agent.New(agent.Config[none, string]{Name: "expert", Model: modeltest.Script(
		modeltest.Say(model.Thinking("Hm."), model.Text("I look."), model.ToolCall("x", "deep", `{}`)), modeltest.SayText("It is so.")),
		Tools: []*toolset.Tool[none]{toolset.Func("deep", "Dig.", func(context.Context, *toolset.RunContext[none], none) (string, error) { return "dug", nil })}}))
	a := agent.Must(agent.New(agent.Config[none, string]{Model: modeltest.Script(modeltest.Say(model.ToolCall("h", "transfer", `{"prompt":"Help."}`))),
		Alternatives: []agent.Alternative[none, string]{agent.HandOver("transfer", "Transfer.", expert, func(none) none { return none{} })}}))
	s := openShown(t, new(session.Memory), true)
	require.NoError(t, promptShown(s, a, "Help.", nil))
	all := textOf(s.fold)
	require.Contains(t, all, "It is so.")
	require.Contains(t, all, "I look.")
	requireSame(t, s)
}

// TestCutOffTurnIsShown ends the process at each event.
func TestCutOffTurnIsShown(t *testing.T) {
	steps := []modeltest.Step{
		modeltest.Say(model.Text("Let me look."), model.ToolCall("a", "forecast", `{"city":"Oslo"}`)),
		modeltest.Say(model.ToolCall("a", "edit", `{}`), model.ToolCall("b", "ask", `{"prompt":"How?"}`)),
		modeltest.SayText("It is warm."),
	}
	for n := 1; ; n++ {
		store := new(session.Memory)
		s := openShown(t, store, true)
		events := 0
		var last agent.EventKind
		require.NoError(t, promptShown(s, travel(steps...), "Weather?", func(e *agent.Event) bool {
			events++
			last = e.Kind
			return events < n
		}))
		if last == agent.EventRunEnd {
			break
		}
		again := openShown(t, store, true)
		require.NotEmpty(t, again.c.Interrupted())
		for e := range again.fold.Snapshot().All() {
			require.True(t, e.Status == "" || e.Status.Ended(), "event %d: %v", n, e)
		}
		before := textOf(again.fold)
		require.NoError(t, again.c.Settle(t.Context()))
		require.Equal(t, before, textOf(readShown(t, store)), "what is settled is shown the same")
		require.NoError(t, promptShown(again, travel(modeltest.SayText("Yes.")), "Well?", nil))
		require.True(t, strings.HasPrefix(textOf(again.fold), before[:strings.Index(before, "\n")]))
		requireSame(t, again)
	}
}

func TestStreamedTextOfCutOffTurnIsShown(t *testing.T) {
	store := new(session.Memory)
	s := openShown(t, store, true)
	now, err := s.c.Begin(t.Context(), model.User("Go"))
	require.NoError(t, err)
	_, err = s.w.Append(t.Context(),
		session.Entry{Kind: session.KindView, Run: now.ID(), Key: "1/response", Data: json.RawMessage(`{"part":0,"kind":"thinking","text":"Hm. "}`)},
		session.Entry{Kind: session.KindView, Run: now.ID(), Key: "1/response", Data: json.RawMessage(`{"part":1,"kind":"text","text":"It "}`)},
		session.Entry{Kind: session.KindView, Run: now.ID(), Key: "1/response", Data: json.RawMessage(`{"part":1,"kind":"text","text":"is"}`)})
	require.NoError(t, err)
	again := openShown(t, store, true)
	require.Contains(t, textOf(again.fold), `"text":"It is"`)
	require.Contains(t, textOf(again.fold), `"text":"Hm. "`)
	require.NoError(t, again.c.Settle(t.Context()))
	settled := textOf(readShown(t, store))
	require.Equal(t, 1, strings.Count(settled, "It is"))
}

func TestRewindShowsWhatWasBefore(t *testing.T) {
	store := new(session.Memory)
	s := openShown(t, store, true)
	require.NoError(t, promptShown(s, travel(modeltest.SayText("One.")), "First", nil))
	before := textOf(s.fold)
	require.NoError(t, promptShown(s, travel(modeltest.Say(model.ToolCall("a", "forecast", `{"city":"Oslo"}`)), modeltest.SayText("Two.")), "Second", nil))
	second := s.turn.ID()
	require.NoError(t, promptShown(s, travel(modeltest.SayText("Three.")), "Third", nil))
	third := s.turn.ID()
	gone, err := s.c.Rewind(t.Context(), second)
	require.NoError(t, err)
	require.Equal(t, []string{second, third}, gone)
	paid := strings.Replace(before, `"cost":0.1`, `"cost":0.4`, 1) // and is not given back
	require.Equal(t, paid, textOf(s.fold))
	requireSame(t, s)
	require.Len(t, s.c.Messages(), 2)
	require.NoError(t, promptShown(s, travel(modeltest.SayText("Other.")), "Another", nil))
	requireSame(t, s)
	_, err = s.c.Rewind(t.Context(), second)
	require.ErrorIs(t, err, session.ErrInvalid)
}

// What is recorded behind the end of a turn belongs to it, and nothing of it stays open.
func TestRecordsBehindTheEndOfATurnAreShown(t *testing.T) {
	store := new(session.Memory)
	s := openShown(t, store, true)
	require.NoError(t, promptShown(s, travel(modeltest.SayText("One.")), "First", nil))
	record := func(data string) session.Entry {
		return session.Entry{Kind: session.KindView, Run: s.turn.ID(), Key: "view", Data: json.RawMessage(data)}
	}
	_, err := s.w.Append(t.Context(),
		record(`{"v":1,"op":"upsert","id":"note:late","entity":{"kind":"message","role":"assistant","content":[{"kind":"text","text":"late"}]}}`),
		record(`{"v":1,"op":"upsert","id":"note:alone","after":"note:nowhere","entity":{"kind":"message","role":"assistant","content":[{"kind":"text","text":"alone"}]}}`),
		record(`{"v":2,"op":"upsert","id":"note:newer","entity":{"kind":"message","role":"assistant","content":[{"kind":"text","text":"newer"}]}}`),
		record(`{"v":1,"op":"upsert","entity":{"kind":"message","role":"assistant","content":[{"kind":"text","text":"nameless"}]}}`),
		record(`[]`))
	require.NoError(t, err)
	again := textOf(openShown(t, store, true).fold)
	require.Contains(t, again, `"text":"late"`)
	require.Contains(t, again, `"text":"alone"`, "also if what it comes after is not there")
	require.NotContains(t, again, "newer", "a later version of this package wrote it")
	require.NotContains(t, again, "nameless")
}
