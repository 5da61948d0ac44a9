// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// journalOf returns a journal with the given records of the run "r".
func journalOf(t testing.TB, records ...string) *journal.Memory {
	t.Helper()
	var j journal.Memory
	l, err := j.Open(context.Background(), "r")
	require.NoError(t, err)
	for _, r := range records {
		require.NoError(t, l.Append(context.Background(), []byte(r)))
	}
	require.NoError(t, l.Close())
	return &j
}

// twoSteps are the records of a run of two steps with a call of "one" and "two" in the first.
func twoSteps(t testing.TB) []string {
	t.Helper()
	var j journal.Memory
	_, err := run(t, &j, config{}, []modeltest.Step{calls("one", "two"), modeltest.SayText("ok")}, counted("one", new(int), says("1"), toolset.Sequential()), counted("two", new(int), says("2")))
	require.NoError(t, err)
	return raw(t, &j, "r")
}

func TestRunThatDoesNotFollowItsJournalIsRefused(t *testing.T) {
	records := twoSteps(t) // start, model, tool, tool, model, output
	require.Len(t, records, 6)
	one, two := counted("one", new(int), says("1")), counted("two", new(int), says("2"))
	for name, c := range map[string]struct {
		records []string
		config  config
		tools   []*toolset.Tool[none]
		want    string
	}{
		"a tool is gone":                  {records, config{}, []*toolset.Tool[none]{one}, "replay reached step 2, but 1 records of step 1 were not used"},
		"a tool is gone, before the end":  {records[:5], config{}, []*toolset.Tool[none]{one}, "replay reached step 2, but 1 records of step 1 were not used"},
		"a call is missing":               {slices.Delete(slices.Clone(records), 2, 3), config{}, []*toolset.Tool[none]{one, two}, "tool of step 1 is missing, and there are 2 records of what followed"},
		"a response is missing":           {slices.Delete(slices.Clone(records), 4, 5), config{}, []*toolset.Tool[none]{one, two}, "step 2"},
		"a call is of another tool":       {replaced(records, 2, `"tool":"one"`, `"tool":"other"`), config{}, []*toolset.Tool[none]{one, two}, `call "0" of step 1 was one of "other" and is one of "one"`},
		"a request has another length":    {replaced(records, 4, `"messages":3`, `"messages":5`), config{}, []*toolset.Tool[none]{one, two}, "the request of step 2 had 5 messages and has 3"},
		"the run has ended before":        {append(slices.Clone(records), records[5], records[4])[:6], config{}, []*toolset.Tool[none]{one, two}, ""},
		"there are results after the end": {append(slices.Clone(records), strings.Replace(records[2], `"step":1`, `"step":2`, 1)), config{}, []*toolset.Tool[none]{one, two}, "replay ended in step 2, but 1 records were not used"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := run(t, journalOf(t, c.records...), c.config, nil, c.tools...)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			if !strings.Contains(c.want, "step 2") || strings.Contains(c.want, "come to") {
				journalError(t, err, "replay")
				require.ErrorIs(t, err, journal.ErrDiverged)
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

func replaced(records []string, i int, old, with string) []string {
	records = slices.Clone(records)
	records[i] = strings.Replace(records[i], old, with, 1)
	return records
}

func TestRecordsThatSayNothingAreDamage(t *testing.T) {
	records := twoSteps(t)
	for name, c := range map[string]struct {
		records []string
		want    error
		text    string
	}{
		"no JSON":          {replaced(records, 3, "{", "["), journal.ErrCorrupt, "record 3: "},
		"no start":         {records[1:], journal.ErrCorrupt, `the first record is about "model"`},
		"empty start":      {[]string{`{"op":"start"}`}, journal.ErrCorrupt, `a record about "start" says nothing`},
		"start is no JSON": {[]string{`[]`}, journal.ErrCorrupt, ""},
		"two starts":       {append(slices.Clone(records), records[0]), journal.ErrCorrupt, `it is about "start" in step 0`},
		"unknown":          {replaced(records, 1, `"op":"model"`, `"op":"magic"`), journal.ErrCorrupt, `a record about "magic" says nothing`},
		"empty response":   {replaced(records, 1, `"response"`, `"other"`), journal.ErrCorrupt, `a record about "model" says nothing`},
		"empty return":     {replaced(records, 2, `"return"`, `"other"`), journal.ErrCorrupt, `a record about "tool" says nothing`},
		"empty output":     {replaced(records, 5, `"output":`, `"other":`), journal.ErrCorrupt, `a record about "output" says nothing`},
		"a step too many":  {replaced(records, 4, `"step":2`, `"step":3`), journal.ErrCorrupt, `it is about "model" in step 3`},
		"a step too few":   {replaced(records, 4, `"step":2`, `"step":-2`), journal.ErrCorrupt, `it is about "model" in step -2`},
		"twice":            {append(slices.Clone(records), records[3]), journal.ErrCorrupt, "two processes executed the run concurrently"},
		"newer":            {replaced(records, 0, `"v":1`, `"v":2`), journal.ErrVersion, "records of version 2, this program reads up to 1"},
		"newer message":    {replaced(records, 1, `"response":{"v":1`, `"response":{"v":9`), journal.ErrVersion, "record 1: "},
		"empty approval":   {append(slices.Clone(records), `{"op":"ask","step":1}`), journal.ErrCorrupt, `a record about "ask" says nothing`},
		"empty decision":   {append(slices.Clone(records), `{"op":"approve","step":1}`), journal.ErrCorrupt, `a record about "approve" says nothing`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := run(t, journalOf(t, c.records...), config{}, nil)
			require.ErrorIs(t, err, c.want)
			require.ErrorContains(t, err, c.text)
			journalError(t, err, "load")
		})
	}
}

func TestLogThatCannotBeReadEndsTheRun(t *testing.T) {
	j := journal.Func(func(context.Context, string) (journal.Log, error) { return unreadable{}, nil })
	_, err := run(t, j, config{}, nil)
	journalError(t, err, "load")
	require.ErrorIs(t, err, errBoom)
}

type unreadable struct{ nilLog }

func (unreadable) Load(context.Context) ([][]byte, error) { return nil, errBoom }

// events runs the scene and returns what its observer saw, without what a repetition does not show: how text was divided,
// and what tools emit themselves.
func events(t *testing.T, s *scene, j journal.Journal) []string {
	t.Helper()
	stream := s.agent.Stream(context.Background(), s, scenePrompt, s.options(j)...)
	var seen []string
	for e := range stream.Events() {
		if e.Kind == agent.EventCustom {
			continue
		}
		if e.Kind == agent.EventPartStart {
			e.CallID = "" // a model may say it later, or not at all
		}
		result := ""
		if e.Result != nil {
			data, err := json.Marshal(e.Result)
			require.NoError(t, err)
			result = string(data)
		}
		line := fmt.Sprint(e.Kind, e.Step, e.Part, e.PartKind, e.Text, e.CallID, e.Tool, string(e.Args), e.Valid, e.Attempt, result, e.Value, e.Err)
		if e.Usage != nil {
			line += fmt.Sprint(*e.Usage)
		}
		if n := len(seen); e.Kind == agent.EventPartDelta && n > 0 && strings.HasPrefix(seen[n-1], line[:len("part_delta1")]) {
			line = seen[n-1] + line
			seen = seen[:n-1]
		}
		seen = append(seen, line)
	}
	_, err := stream.Result()
	require.NoError(t, err)
	return seen
}

func TestObserverOfARepetitionSeesAllOfTheRun(t *testing.T) {
	var j journal.Memory
	live := events(t, newScene(t, fill(nil)), &j)
	s := newScene(t, new(agent.Inbox))
	again := events(t, s, &j)
	require.Empty(t, s.executed)
	require.Equal(t, len(live), len(again))
	// Calls that end at the same time may be recorded in another order than they are told in.
	slices.Sort(live)
	slices.Sort(again)
	require.Equal(t, live, again)
}

func TestCallsThatEndedInAnyOrderAreReplayedInThatOrder(t *testing.T) {
	synctest.Test(t, callsEndInAnyOrder)
}

func callsEndInAnyOrder(t *testing.T) {
	order := func(s *agent.Stream[string]) (ids []string) {
		for e := range s.Events() {
			if e.Kind == agent.EventToolResult {
				ids = append(ids, e.CallID)
			}
		}
		_, err := s.Result()
		require.NoError(t, err)
		return ids
	}
	var j journal.Memory
	sleeps := func(d time.Duration) func(context.Context, *runContext) (string, error) {
		return func(context.Context, *runContext) (string, error) { time.Sleep(d); return "", nil }
	}
	tools := []*toolset.Tool[none]{counted("slow", new(int), sleeps(40*time.Millisecond)), counted("fast", new(int), sleeps(0)), counted("medium", new(int), sleeps(20*time.Millisecond))}
	opts := []agent.RunOption{agent.WithJournal(&j), agent.WithRunID("r")}
	a := newAgent(t, config{}, modeltest.Script(calls("slow", "fast", "medium"), modeltest.SayText("ok")), tools...)
	require.Equal(t, []string{"1", "2", "0"}, order(a.Stream(context.Background(), none{}, "go", opts...)))
	a = newAgent(t, config{}, modeltest.Script(), tools...)
	require.Equal(t, []string{"1", "2", "0"}, order(a.Stream(context.Background(), none{}, "go", opts...)))
}

// TestOnlyCallsWithoutARecordAreMade: of calls in parallel some were recorded when the run was cut off.
func TestOnlyCallsWithoutARecordAreMade(t *testing.T) {
	var j journal.Memory
	made := map[string]int{}
	var tools []*toolset.Tool[none]
	var names []string
	for i := range 16 {
		name := fmt.Sprint("tool", i)
		names = append(names, name)
		tools = append(tools, counted(name, new(int), func(context.Context, *runContext) (string, error) {
			counting.Lock()
			defer counting.Unlock()
			made[name]++
			return name, nil
		}))
	}
	_, err := run(t, &mortal{Journal: &j, left: 2 + 9}, config{}, []modeltest.Step{calls(names...)}, tools...)
	journalError(t, err, "append")
	require.Len(t, raw(t, &j, "r"), 2+9)
	clear(made)
	res, err := run(t, &j, config{MaxParallelCalls: 3}, []modeltest.Step{modeltest.SayText("ok")}, tools...)
	require.NoError(t, err)
	require.Len(t, made, 7)
	for i, p := range res.Messages[2].Parts {
		require.Equal(t, fmt.Sprint("tool", i), p.Text)
	}
}

// Hooks around requests and calls wrap what is made, so recorded ones do not pass through them.
func TestHooksAreCalledForWhatIsMade(t *testing.T) {
	var j journal.Memory
	var seen []string
	hooks := agent.Hooks[none]{
		Run: func(ctx context.Context, _ *runContext, next agent.RunFunc) error {
			seen = append(seen, "run")
			_, err := next(ctx)
			return err
		},
		Request: func(ctx context.Context, _ *runContext, req *model.Request, next agent.RequestFunc) (*model.Message, error) {
			seen = append(seen, "request")
			return next(ctx, req)
		},
		Call: func(ctx context.Context, _ *runContext, args any, next toolset.CallFunc) (toolset.Result, error) {
			seen = append(seen, "call")
			return next(ctx, args)
		},
	}
	c := config{Hooks: []agent.Hooks[none]{hooks}}
	one := counted("one", new(int), says("1"))
	_, err := run(t, &j, c, []modeltest.Step{calls("one"), modeltest.Fail(errBoom)}, one)
	require.ErrorIs(t, err, errBoom)
	require.Equal(t, []string{"run", "request", "call", "request"}, seen)
	seen = nil
	_, err = run(t, &j, c, []modeltest.Step{modeltest.SayText("ok")}, one)
	require.NoError(t, err)
	require.Equal(t, []string{"run", "request"}, seen)
}

func TestInstructionsStayWhatTheyWere(t *testing.T) {
	var j journal.Memory
	process := "first"
	c := config{Dynamic: []agent.InstructionFunc[none]{func(_ context.Context, run *runContext) (string, error) {
		if run.Step == 2 {
			return "same in step 2", nil
		}
		return "in the " + process + " process", nil
	}}}
	one := counted("one", new(int), says("1"))
	_, err := run(t, &j, c, []modeltest.Step{calls("one"), calls("one"), calls("one"), modeltest.Fail(errBoom)}, one)
	require.ErrorIs(t, err, errBoom)
	process = "second"
	res, err := run(t, &j, c, []modeltest.Step{modeltest.SayText("ok")}, one)
	require.NoError(t, err)
	var said []string
	for _, m := range res.Messages {
		if m.Kind == model.KindRequest {
			said = append(said, m.Instructions)
		}
	}
	require.Equal(t, []string{"in the first process", "same in step 2", "in the first process", "in the second process"}, said)
}

// TestMessageThatComesInLaterIsReadLater: not in a step that is recorded, where the model had not read it.
func TestMessageThatComesInLaterIsReadLater(t *testing.T) {
	var j journal.Memory
	one := counted("one", new(int), says("1"))
	try := func(inbox *agent.Inbox, steps ...modeltest.Step) (*agent.Result[string], error) {
		return newAgent(t, config{}, modeltest.Script(steps...), one).Run(context.Background(), none{}, "go", agent.WithJournal(&j), agent.WithRunID("r"), agent.WithInbox(inbox))
	}
	_, err := try(new(agent.Inbox), calls("one"), calls("one"), modeltest.Fail(errBoom))
	require.ErrorIs(t, err, errBoom)
	var inbox agent.Inbox
	inbox.Send(model.User("are you still there?"))
	res, err := try(&inbox, modeltest.SayText("ok"))
	require.NoError(t, err)
	require.Len(t, res.Messages, 7)
	require.Equal(t, "are you still there?", res.Messages[5].Parts[0].Text)

	inbox.Send(model.User("and now?"))
	again, err := try(&inbox)
	require.NoError(t, err)
	require.Equal(t, res, again)
	require.Len(t, inbox.Left(), 1, "a run that has ended reads nothing any more")
	again, err = try(nil)
	require.NoError(t, err)
	require.Equal(t, res, again, "and needs no inbox any more")
}

func TestMessagesHaveTheTimeOfWhatTheyAreMadeOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		slow := func(context.Context, *model.Request) (*model.Message, error) {
			time.Sleep(time.Minute)
			return model.Response(model.ToolCall("1", "hour", "{}"), model.ToolCall("2", "two", "{}")), nil
		}
		var j journal.Memory
		var tools []*toolset.Tool[none]
		for name, d := range map[string]time.Duration{"hour": time.Hour, "two": 2 * time.Hour} {
			tools = append(tools, counted(name, new(int), func(context.Context, *runContext) (string, error) { time.Sleep(d); return "", nil }))
		}
		res, err := run(t, &j, config{}, []modeltest.Step{slow, modeltest.SayText("ok")}, tools...)
		require.NoError(t, err)
		var after []time.Duration
		for _, m := range res.Messages {
			after = append(after, m.Time.Sub(begin))
		}
		require.Equal(t, []time.Duration{0, time.Minute, 2*time.Hour + time.Minute, 2*time.Hour + time.Minute}, after)
		time.Sleep(time.Hour)
		again, err := run(t, &j, config{}, nil, tools...)
		require.NoError(t, err)
		require.Equal(t, res, again)
	})
}

func TestFailureToOfferToolsEndsARepetition(t *testing.T) {
	records := twoSteps(t)
	c := config{Dynamic: []agent.InstructionFunc[none]{func(context.Context, *runContext) (string, error) { return "", errBoom }}}
	_, err := run(t, journalOf(t, records...), c, nil)
	require.ErrorIs(t, err, errBoom)
}
