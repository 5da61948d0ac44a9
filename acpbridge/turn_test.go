// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
)

// said returns what the user and the model have said in a request, without tool calls.
func said(req *model.Request) string {
	var texts []string
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			if p.Kind == model.PartUser || p.Kind == model.PartText {
				texts = append(texts, p.Text)
			}
		}
	}
	return strings.Join(texts, "|")
}

// echo is a model that answers with what has been said.
func echo() model.Model {
	return modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		return model.Response(model.Text("(" + said(req) + ")")), nil
	})
}

func TestTurnsContinueTheHistory(t *testing.T) {
	e, id := start(t, config(t, echo()))
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "a"))
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "b"))
	assert.Equal(t, "(a)(a|(a)|b)", e.text(id))
}

func TestFailedAndCancelledTurnsStayInTheHistory(t *testing.T) {
	called := make(chan struct{}, 1)
	m := modeltest.Script(
		modeltest.Fail(errors.New("out of order")),
		modeltest.Say(model.ToolCall("1", "wait", "{}")),
		func(_ context.Context, req *model.Request) (*model.Message, error) {
			return model.Response(model.Text(said(req))), nil
		})
	e, id := start(t, config(t, m, waits("wait", called)))
	requireError(t, acp.CodeInternal, acpbridge.KindModel, e.prompt(id, "a"))
	n := e.sendPrompt(id, "b")
	<-called
	e.write(cancelLine(id))
	requireStop(t, acp.StopReasonCancelled, e.answer(n))
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "c"))
	assert.Equal(t, "a|b|c", e.text(id))
}

// TestStoppedAnswerIsKept stops a turn in the middle of a sentence that the user has read.
func TestStoppedAnswerIsKept(t *testing.T) {
	half := make(chan struct{})
	turns := 0
	m := model.Func(model.Info{}, func(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
		if turns++; turns > 1 {
			return model.Response(model.Text(said(req))), nil
		}
		for _, text := range []string{"The first ", "three words"} {
			if err := sink(model.Delta{Kind: model.PartText, Text: text}); err != nil {
				return nil, err
			}
		}
		close(half)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	e, id := start(t, config(t, m))
	n := e.sendPrompt(id, "a")
	<-half
	e.write(cancelLine(id))
	requireStop(t, acp.StopReasonCancelled, e.answer(n))
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "go on"))
	assert.Equal(t, "The first three words"+"a|The first three words|go on", e.text(id))
}

func TestInvalidPromptsAndRefusalsLeaveTheHistoryAlone(t *testing.T) {
	m := modeltest.Script(
		modeltest.SayText("one"),
		modeltest.Finish(model.FinishContentFilter),
		func(_ context.Context, req *model.Request) (*model.Message, error) {
			return model.Response(model.Text(said(req))), nil
		})
	e, id := start(t, config(t, m))
	e.prompt(id, "a")
	answer := e.call(acp.MethodPrompt, fmt.Sprintf(`{"sessionId":%q,"prompt":[]}`, id))
	requireError(t, acp.CodeInvalidParams, acpbridge.KindPrompt, answer)
	requireStop(t, acp.StopReasonRefusal, e.prompt(id, "something bad"))
	e.prompt(id, "b")
	assert.Contains(t, e.text(id), "a|one|b")
}

func TestPendingCallsDoNotBlockTheConversation(t *testing.T) {
	m := modeltest.Script(
		modeltest.Say(model.ToolCall("1", "elsewhere", "{}")),
		modeltest.SayText("without it then"))
	external := toolset.Func("elsewhere", "", func(context.Context, *toolset.RunContext[bare], none) (string, error) { panic("called") },
		func(o *toolset.Options) { o.External = true })
	e, id := start(t, config(t, m, external))
	requireError(t, acp.CodeInternal, acpbridge.KindApproval, e.prompt(id, "a"))
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "b"))
	assert.Equal(t, "without it then", e.text(id))
}

// The next prompt denies the pending call. Whoever watched the run keeps what it ended with.
func TestPendingRunsMessagesStayAsTheyWere(t *testing.T) {
	ended := make(chan []*model.Message, 2)
	external := toolset.Func("elsewhere", "", func(context.Context, *toolset.RunContext[bare], none) (string, error) { panic("called") },
		func(o *toolset.Options) { o.External = true })
	a, err := agent.New(agent.Config[bare, string]{
		Model:    callsOnce("elsewhere"),
		Toolsets: []toolset.Toolset[bare]{toolset.Of(external)},
		Observer: &agent.Observer{End: func(e agent.Event) {
			var run *agent.RunError
			if errors.As(e.Err, &run) {
				ended <- run.Messages
			}
		}},
	})
	require.NoError(t, err)
	c := config(t, echo())
	c.Host.Agent = a
	e, id := start(t, c)
	requireError(t, acp.CodeInternal, acpbridge.KindApproval, e.prompt(id, "a"))
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "b"))
	messages := <-ended
	require.True(t, messages[len(messages)-1].Pending)
}

func TestPromptWhileATurnRunsIsRejectedAndTheTurnUndisturbed(t *testing.T) {
	called, release := make(chan struct{}), make(chan struct{})
	hold := tool("hold", func(ctx context.Context, _ *toolset.RunContext[bare]) (string, error) {
		close(called)
		<-release
		return "ok", ctx.Err()
	})
	e, id := start(t, config(t, modeltest.Script(modeltest.Say(model.ToolCall("1", "hold", "{}")), modeltest.SayText("done")), hold))
	first := e.sendPrompt(id, "a")
	<-called
	answer := e.prompt(id, "b")
	requireError(t, acp.CodeInvalidRequest, acpbridge.KindBusy, answer)
	close(release)
	requireStop(t, acp.StopReasonEndTurn, e.answer(first))
	assert.Equal(t, "done", e.text(id))
}

func TestQueuedPromptsRunInOrder(t *testing.T) {
	c := config(t, echo())
	c.Host.Busy = host.BusyQueue
	e, id := start(t, c)
	var lines []string
	var ids []int
	for _, text := range []string{"a", "b", "c"} {
		n, line := e.promptLine(id, text)
		ids, lines = append(ids, n), append(lines, line)
	}
	e.write(lines...)
	for _, n := range ids {
		requireStop(t, acp.StopReasonEndTurn, e.answer(n))
	}
	assert.Equal(t, "(a)(a|(a)|b)(a|(a)|b|(a|(a)|b)|c)", e.text(id))
	requireSegregated(t, e.all(), ids)
}

// requireSegregated asserts that the prompts were answered in order, and that every update between two answers is of one message.
func requireSegregated(t *testing.T, lines []wireLine, ids []int) {
	t.Helper()
	next, message := 0, acp.MessageID("")
	for _, l := range lines {
		if c := l.Params.Update.AgentMessageChunk; c != nil {
			require.True(t, message == "" || message == c.MessageID, "an update is on the wrong side of an answer: %s", l.Text)
			message = c.MessageID
		}
		if next < len(ids) && l.Is(ids[next]) {
			next++
			message = ""
		}
	}
	require.Equal(t, len(ids), next, "answers are out of order")
}

func TestCancelEndsTheRunningTurnAndThoseThatWait(t *testing.T) {
	called := make(chan struct{}, 1)
	c := config(t, modeltest.Script(modeltest.Say(model.ToolCall("1", "wait", "{}")), modeltest.SayText("next")), waits("wait", called))
	c.Host.Busy = host.BusyQueue
	e, id := start(t, c)
	first := e.sendPrompt(id, "a")
	<-called
	second, line := e.promptLine(id, "b")
	third, after := e.promptLine(id, "c")
	e.write(line, cancelLine(id), after)
	requireStop(t, acp.StopReasonCancelled, e.answer(first))
	requireStop(t, acp.StopReasonCancelled, e.answer(second))
	requireStop(t, acp.StopReasonEndTurn, e.answer(third))
}

func TestACancelledPromptThatWaitsIsAnsweredBehindTheOneBeforeIt(t *testing.T) {
	called, release := make(chan struct{}, 1), make(chan struct{})
	e, id := start(t, config(t, modeltest.Script(modeltest.Say(model.ToolCall("1", "stubborn", "{}")), modeltest.SayText("next")), stubborn(called, release)))
	first := e.sendPrompt(id, "a")
	<-called
	second, line2 := e.promptLine(id, "b")
	third, line3 := e.promptLine(id, "c")
	e.write(cancelLine(id), line2)
	e.call(acp.MethodSetSessionMode, fmt.Sprintf(`{"sessionId":%q,"modeId":"m"}`, id)) // the second prompt has been registered
	e.write(cancelLine(id), line3)
	e.newSession() // all of that has been read
	close(release)
	requireStop(t, acp.StopReasonEndTurn, e.answer(third))
	requireStop(t, acp.StopReasonCancelled, e.answer(second))
	requireSegregated(t, e.all(), []int{first, second, third})
}

func TestPromptBehindACancelWaitsForTheTurnToEnd(t *testing.T) {
	called := make(chan struct{}, 1)
	slow := tool("slow", func(ctx context.Context, _ *toolset.RunContext[bare]) (string, error) {
		called <- struct{}{}
		<-ctx.Done()
		time.Sleep(20 * time.Millisecond)
		return "", ctx.Err()
	})
	e, id := start(t, config(t, modeltest.Script(modeltest.Say(model.ToolCall("1", "slow", "{}")), modeltest.SayText("next")), slow))
	first := e.sendPrompt(id, "a")
	<-called
	second, line := e.promptLine(id, "b")
	e.write(cancelLine(id), line)
	requireStop(t, acp.StopReasonEndTurn, e.answer(second))
	requireStop(t, acp.StopReasonCancelled, e.answer(first))
	requireSegregated(t, e.all(), []int{first, second})
}

func TestCancelInTheSameWriteAsItsPromptIsNeverLost(t *testing.T) {
	const trials = 2000
	m := modeltest.Func(func(ctx context.Context, _ *model.Request) (*model.Message, error) {
		<-ctx.Done()
		return nil, fmt.Errorf("provider: %w", context.Cause(ctx))
	})
	e, id := start(t, config(t, m))
	answered := make(map[string]bool, trials)
	for range trials {
		n, line := e.promptLine(id, "hi")
		e.write(line, cancelLine(id))
		requireStop(t, acp.StopReasonCancelled, e.answer(n))
		answered[fmt.Sprint(n)] = true
	}
	assert.Len(t, answered, trials)
	last := e.all()[len(e.all())-1]
	assert.Empty(t, last.Method, "no update behind the last answer")
}

func TestCancelInMidTurnAnswersCancelledAndNothingFollows(t *testing.T) {
	const trials = 200
	called := make(chan struct{}, 1)
	m := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		return model.Response(model.Text("on it"), model.ToolCall("1", "wait", "{}"), model.ToolCall("2", "wait", "{}")), nil
	})
	e, id := start(t, config(t, m, waits("wait", called)))
	for range trials {
		n := e.sendPrompt(id, "hi")
		<-called
		<-called
		e.write(cancelLine(id))
		requireStop(t, acp.StopReasonCancelled, e.answer(n))
	}
	open := map[acp.ToolCallID]bool{}
	for _, l := range e.all() {
		if c := l.Params.Update.ToolCall; c != nil {
			open[c.ToolCallID] = true
		}
		if u := l.Params.Update.ToolCallUpdate; u != nil && u.Status == acp.ToolCallStatusFailed {
			delete(open, u.ToolCallID)
		}
		if l.Method == "" {
			require.Empty(t, open, "a tool call is open when its turn is answered")
		}
	}
}

func TestTwoPipelinedPromptsAreNeverReordered(t *testing.T) {
	trials := 2000
	if testing.Short() {
		trials = 200
	}
	var calls atomic.Int64
	m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		calls.Add(1)
		last := req.Messages[len(req.Messages)-1]
		return model.Response(model.Text(last.Parts[len(last.Parts)-1].Text)), nil
	})
	c := config(t, m)
	c.Host.Busy = host.BusyQueue
	e := serve(t, c)
	e.initialize(`{}`)
	for trial := range trials {
		if trial%10 == 0 { // nobody looks at them again
			e.mu.Lock()
			e.lines = e.lines[:0:0]
			e.mu.Unlock()
		}
		id := e.newSession()
		first, line1 := e.promptLine(id, "first")
		second, line2 := e.promptLine(id, "second")
		e.write(line1, line2)
		requireStop(t, acp.StopReasonEndTurn, e.answer(second))
		requireSegregated(t, e.sessionLines(id, first, second), []int{first, second})
		require.Equal(t, "firstsecond", e.text(id))
	}
	assert.EqualValues(t, 2*trials, calls.Load())
}

// sessionLines returns the updates of a session and the answers to the requests.
func (e *editor) sessionLines(id acp.SessionID, requests ...int) []wireLine {
	var lines []wireLine
	for _, l := range e.all() {
		if l.Params.SessionID == id || l.Is(requests[0]) || l.Is(requests[1]) {
			lines = append(lines, l)
		}
	}
	return lines
}

func TestCancelRequestEndsATurnToo(t *testing.T) {
	called := make(chan struct{}, 1)
	e, id := start(t, config(t, modeltest.Script(modeltest.Say(model.ToolCall("1", "wait", "{}"))), waits("wait", called)))
	n := e.sendPrompt(id, "a")
	<-called
	e.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%d}}`+"\n", n))
	requireStop(t, acp.StopReasonCancelled, e.answer(n))
}

func TestUpdatesBehindTheAnswerAreRefused(t *testing.T) {
	kept := make(chan *toolset.RunContext[bare], 1)
	keep := tool("keep", func(_ context.Context, run *toolset.RunContext[bare]) (string, error) {
		kept <- run
		return "ok", nil
	})
	e, id := start(t, config(t, modeltest.Script(modeltest.Say(model.ToolCall("1", "keep", "{}")), modeltest.SayText("done")), keep))
	e.prompt(id, "a")
	before := len(e.all())
	d := (<-kept).Deps
	for _, update := range []acp.SessionUpdate{
		acp.TextChunk("late"), acp.ThoughtChunk("late"), {Plan: &acp.Plan{Entries: []acp.PlanEntry{}}},
		{ToolCall: &acp.ToolCall{ToolCallID: "late"}}, {ToolCallUpdate: &acp.ToolCallUpdate{ToolCallID: "late"}},
	} {
		err := d.Client.SessionUpdate(context.Background(), &acp.SessionNotification{SessionID: id, Update: update})
		assert.ErrorIs(t, err, acp.ErrAnswered)
	}
	// What tells about the session may come at any time.
	title := acp.Replace("title")
	assert.NoError(t, d.Client.SessionUpdate(context.Background(), &acp.SessionNotification{
		SessionID: id, Update: acp.SessionUpdate{SessionInfoUpdate: &acp.SessionInfoUpdate{Title: title}}}))
	e.awaitUpdate(func(u *acp.SessionUpdate) bool { return u.SessionInfoUpdate != nil })
	assert.Len(t, e.all(), before+1)
}

func TestUpdatesOfAGoroutineThatOutlivesItsTurnNeverFollowTheAnswer(t *testing.T) {
	const trials = 200
	stop := make(chan struct{})
	done := make(chan struct{}, 1)
	spawn := tool("spawn", func(_ context.Context, run *toolset.RunContext[bare]) (string, error) {
		go func() {
			defer func() { done <- struct{}{} }()
			for {
				select {
				case <-stop:
					return
				default:
				}
				_ = run.Deps.Client.SessionUpdate(context.Background(), &acp.SessionNotification{SessionID: run.Deps.Session.ID, Update: acp.ThoughtChunk("x")})
				time.Sleep(time.Microsecond)
			}
		}()
		return "", nil
	})
	m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		if len(req.Messages) == 1 {
			return model.Response(model.ToolCall("1", "spawn", "{}")), nil
		}
		return model.Response(model.Text("done")), nil
	})
	e, id := start(t, config(t, m, spawn))
	answers := map[int]bool{}
	for range trials {
		n := e.sendPrompt(id, "a")
		answers[n] = true
		requireStop(t, acp.StopReasonEndTurn, e.answer(n))
		time.Sleep(100 * time.Microsecond)
		lines := e.all()
		require.Empty(t, lines[len(lines)-1].Method, "an update behind the answer")
	}
	close(stop)
	<-done
}
