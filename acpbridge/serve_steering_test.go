// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
)

// holding makes a tool that says when it was called, and returns when it is released.
func holding() (hold *toolset.Tool[bare], called, release chan struct{}) {
	called, release = make(chan struct{}), make(chan struct{})
	return tool("hold", func(ctx context.Context, _ *toolset.RunContext[bare]) (string, error) {
		close(called)
		select {
		case <-release:
			return "ok", nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}), called, release
}

// heldOnce is a model that calls the tool hold, and then answers with what has been said.
func heldOnce() model.Model {
	return modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		if len(req.Messages) == 1 {
			return model.Response(model.ToolCall("1", "hold", "{}")), nil
		}
		return model.Response(model.Text("(" + said(req) + ")")), nil
	})
}

func steerParams(id acp.SessionID, text string) string {
	return fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":%q}],"_meta":{"steering":{"idleBehavior":"promptRequired"}}}`, id, text)
}

func TestSteeringIsAnnounced(t *testing.T) {
	e := serve(t, config(t, echo()))
	assert.Contains(t, e.initialize(`{}`).Text, `"_meta":{"steering":{"supported":true}}`)
}

func TestSteeringReachesTheRunningTurn(t *testing.T) {
	hold, called, release := holding()
	e, id := start(t, config(t, heldOnce(), hold))
	first := e.sendPrompt(id, "a")
	<-called
	require.JSONEq(t, `{"outcome":"injected"}`, string(e.call(acpbridge.MethodSteering, steerParams(id, "b")).Result))
	close(release)
	requireStop(t, acp.StopReasonEndTurn, e.answer(first))
	assert.Equal(t, "(a|b)", e.text(id))
}

// A client may write the message right behind the prompt, before the turn has begun.
func TestSteeringBehindThePromptReachesItsTurn(t *testing.T) {
	hold, _, release := holding()
	e, id := start(t, config(t, heldOnce(), hold))
	prompt, promptLine := e.promptLine(id, "a")
	steer, steerLine := e.request(acpbridge.MethodSteering, steerParams(id, "b"))
	e.write(promptLine, steerLine)
	require.JSONEq(t, `{"outcome":"injected"}`, string(e.answer(steer).Result))
	close(release)
	requireStop(t, acp.StopReasonEndTurn, e.answer(prompt))
	assert.Contains(t, e.text(id), "b)")
}

func TestSteeringWithoutATurnWantsAPrompt(t *testing.T) {
	e, id := start(t, config(t, echo()))
	require.JSONEq(t, `{"outcome":"promptRequired","reason":"noRunningTurn"}`, string(e.call(acpbridge.MethodSteering, steerParams(id, "b")).Result))
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "a"))
	require.JSONEq(t, `{"outcome":"promptRequired","reason":"noRunningTurn"}`, string(e.call(acpbridge.MethodSteering, steerParams(id, "b")).Result))
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "c"))
	assert.Equal(t, "(a)(a|(a)|c)", e.text(id), "what was not taken is not read")
}

func TestSteeringIsChecked(t *testing.T) {
	e, id := start(t, config(t, echo()))
	requireError(t, acp.CodeResourceNotFound, acpbridge.KindSession, e.call(acpbridge.MethodSteering, steerParams("other", "b")))
	requireError(t, acp.CodeInvalidParams, acpbridge.KindPrompt, e.call(acpbridge.MethodSteering, fmt.Sprintf(`{"sessionId":%q,"prompt":[]}`, id)))
	require.Equal(t, acp.CodeInvalidParams, e.call(acpbridge.MethodSteering, `{"sessionId":5}`).Error.Code)
	require.Equal(t, acp.CodeMethodNotFound, e.call("_other", `{}`).Error.Code)
}

// A message that was taken, and that the turn has ended without reading, is not lost without a word.
func TestUnreadSteeringIsTold(t *testing.T) {
	for name, capabilities := range map[string]string{"notice": `{"session":{"notices":{}}}`, "message": `{}`} {
		t.Run(name, func(t *testing.T) {
			hold, called, _ := holding()
			e := serve(t, config(t, heldOnce(), hold))
			e.initialize(capabilities)
			id := e.newSession()
			first := e.sendPrompt(id, "a")
			<-called
			require.JSONEq(t, `{"outcome":"injected"}`, string(e.call(acpbridge.MethodSteering, steerParams(id, "b")).Result))
			e.write(cancelLine(id))
			requireStop(t, acp.StopReasonCancelled, e.answer(first))
			told := 0
			for _, u := range e.updates(id) {
				if u.Notice != nil {
					assert.Contains(t, u.Notice.Title, "Send it again")
					told++
				}
			}
			if name == "message" {
				assert.Contains(t, e.text(id), "Send it again")
				told++
			}
			assert.Equal(t, 1, told)
		})
	}
}

func TestExtensionMethodsOfTheProgramStay(t *testing.T) {
	c := config(t, echo())
	c.Conn.ExtMethod = func(_ context.Context, method string, _ json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`{"method":"` + method + `"}`), nil
	}
	e, id := start(t, c)
	require.JSONEq(t, `{"method":"_own"}`, string(e.call("_own", `{}`).Result))
	require.Contains(t, string(e.call(acpbridge.MethodSteering, steerParams(id, "b")).Result), "promptRequired")
}

func TestBusySteerPassesThePromptToTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold, called, release := holding()
		c := config(t, heldOnce(), hold)
		c.Host.Busy = host.BusySteer
		e, id := start(t, c)
		first := e.sendPrompt(id, "a")
		<-called
		second, third := e.sendPrompt(id, "b"), e.sendPrompt(id, "c")
		e.call(acpbridge.MethodSteering, steerParams(id, "d"))
		synctest.Wait() // the turn has them all
		close(release)
		requireStop(t, acp.StopReasonEndTurn, e.answer(third))
		requireStop(t, acp.StopReasonEndTurn, e.answer(second))
		requireStop(t, acp.StopReasonEndTurn, e.answer(first))
		for _, text := range []string{"a", "b", "c", "d"} {
			assert.Contains(t, e.text(id), text)
		}
		assert.Equal(t, 1, strings.Count(e.text(id), "("), "it is one turn")
		requireSegregated(t, e.all(), []int{first})
		requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "e"))
	})
}

// Prompts are answered in their order, whether the turn has read them or not.
func TestBusySteerAnswersInOrder(t *testing.T) {
	c := config(t, modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		return model.Response(model.Text("ok")), nil
	}))
	c.Host.Busy = host.BusySteer
	e, id := start(t, c)
	var sent []int
	for range 30 {
		var lines []string
		for _, text := range []string{"a", "b", "c"} {
			n, line := e.promptLine(id, text)
			sent, lines = append(sent, n), append(lines, line)
		}
		e.write(lines...)
		for _, n := range sent[len(sent)-3:] {
			requireStop(t, acp.StopReasonEndTurn, e.answer(n))
		}
	}
	for _, l := range e.all() {
		if l.StopReason() != "" {
			require.True(t, l.Is(sent[0]), "%s before the answer to %d", l.Text, sent[0])
			sent = sent[1:]
		}
	}
	require.Empty(t, sent)
}

func TestBusySteerPromptEndsAsTheTurnDoes(t *testing.T) {
	for name, end := range map[string]struct {
		how    modeltest.Step
		answer func(*testing.T, wireLine)
	}{
		"an error": {modeltest.Fail(errors.New("out of order")), func(t *testing.T, l wireLine) { requireError(t, acp.CodeInternal, acpbridge.KindModel, l) }},
		"a limit":  {modeltest.Finish(model.FinishLength, model.Text("cut")), func(t *testing.T, l wireLine) { requireStop(t, acp.StopReasonMaxTokens, l) }},
	} {
		t.Run(name, func(t *testing.T) {
			hold, called, release := holding()
			c := config(t, modeltest.Script(modeltest.Say(model.ToolCall("1", "hold", "{}")), end.how, end.how, end.how), hold)
			c.Host.Busy = host.BusySteer
			e, id := start(t, c)
			first := e.sendPrompt(id, "a")
			<-called
			second := e.sendPrompt(id, "b")
			e.call(acpbridge.MethodSteering, steerParams(id, "c"))
			close(release)
			end.answer(t, e.answer(first))
			end.answer(t, e.answer(second))
		})
	}
}

func TestCancelEndsSteeredPrompts(t *testing.T) {
	hold, called, _ := holding()
	c := config(t, heldOnce(), hold)
	c.Host.Busy = host.BusySteer
	e, id := start(t, c)
	first := e.sendPrompt(id, "a")
	<-called
	second, line := e.promptLine(id, "b")
	e.write(line, cancelLine(id))
	requireStop(t, acp.StopReasonCancelled, e.answer(second))
	requireStop(t, acp.StopReasonCancelled, e.answer(first))
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "c"))
	requireSegregated(t, e.all(), []int{first, second})
}

// A turn has read a prompt and is then given up: the prompt is, too.
func TestSteeredPromptEndsWithTheRequestOfItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold, called, release := holding()
		asked := make(chan string, 1)
		c := config(t, modeltest.Func(func(ctx context.Context, req *model.Request) (*model.Message, error) {
			if len(req.Messages) == 1 {
				return model.Response(model.ToolCall("1", "hold", "{}")), nil
			}
			asked <- said(req)
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}), hold)
		c.Host.Busy = host.BusySteer
		e, id := start(t, c)
		first := e.sendPrompt(id, "a")
		<-called
		second := e.sendPrompt(id, "b")
		synctest.Wait() // it is the turn's
		close(release)
		require.Equal(t, "a|b", <-asked)
		e.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%d}}`+"\n", first))
		requireStop(t, acp.StopReasonCancelled, e.answer(second))
		require.NoError(t, e.stop())
	})
}

// A slash command is no message to the model: it waits for its turn.
func TestBusySteerLeavesCommandsToTheirTurn(t *testing.T) {
	hold, called, release := holding()
	c := config(t, heldOnce(), hold)
	c.Host.Busy, c.Host.Modes, c.Host.Commands = host.BusySteer, host.Modes(), host.BuiltIns(nil)
	e, id := start(t, c)
	first := e.sendPrompt(id, "a")
	<-called
	second := e.sendPrompt(id, "/mode plan")
	e.call(acpbridge.MethodSteering, steerParams(id, "b"))
	close(release)
	requireStop(t, acp.StopReasonEndTurn, e.answer(first))
	requireStop(t, acp.StopReasonEndTurn, e.answer(second))
	assert.Equal(t, "(a|b)Mode: Plan", e.text(id))
}

// Messages that come at any time of a turn are read once, or given back once.
func TestSteeringIsNeitherLostNorRepeated(t *testing.T) {
	var read string // all that the model has been told; a turn has one request at a time
	asked, goOn := make(chan struct{}), make(chan struct{})
	c := config(t, modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		read = said(req)
		if strings.HasSuffix(read, "prompt") { // a turn begins
			asked <- struct{}{}
			<-goOn
		}
		return model.Response(model.Text("ok")), nil
	}))
	editor := acptest.New(acptest.Options{})
	conn, _ := served(t, editor, c)
	id, err := conn.Start(t.Context(), t.TempDir())
	require.NoError(t, err)
	var injected []string
	for n := range 100 {
		done := make(chan error, 1)
		go func() {
			_, err := conn.Say(t.Context(), id, "prompt")
			done <- err
		}()
		<-asked
		for i := range 3 {
			if i == 1 { // one message comes while the turn runs, the others about when it ends
				goOn <- struct{}{}
			}
			text := fmt.Sprintf("<%d.%d>", n, i)
			var answer struct{ Outcome string }
			require.NoError(t, conn.Call(t.Context(), acpbridge.MethodSteering, &acp.PromptRequest{SessionID: id, Prompt: []acp.ContentBlock{acp.TextBlock(text)}}, &answer))
			if answer.Outcome == "injected" {
				injected = append(injected, text)
			}
		}
		require.NoError(t, <-done)
	}
	_, err = conn.Say(t.Context(), id, "last")
	require.NoError(t, err)
	kept := 0
	for _, text := range injected {
		n := strings.Count(read, text)
		require.LessOrEqual(t, n, 1, "%s was read twice", text)
		kept += n
	}
	text := editor.State(id).Text
	one, several := strings.Count(text, "Send it again"), strings.Count(text, "Send them again")
	require.LessOrEqual(t, kept+one+2*several, len(injected))
	require.GreaterOrEqual(t, kept+one+3*several, len(injected))
	require.GreaterOrEqual(t, len(injected), 100)
}
