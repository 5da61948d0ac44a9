// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
)

func TestStopReasonsSayWhatEndedTheTurnAndTheUserSeesIt(t *testing.T) {
	loop := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		resp := model.Response(model.ToolCall("1", "forecast", `{"city":"Oslo"}`))
		resp.Usage = model.Usage{InputTokens: 10, OutputTokens: 10}
		return resp, nil
	})
	for name, test := range map[string]struct {
		model  model.Model
		limits agent.Limits
		stop   acp.StopReason
		seen   string
	}{
		"an output":      {modeltest.Script(modeltest.SayText("fine")), agent.Limits{}, "end_turn", "fine"},
		"cut off":        {modeltest.Script(modeltest.Finish(model.FinishLength, model.Text("half"))), agent.Limits{}, "max_tokens", "halfThe answer was cut off: the model hit its token limit."},
		"nothing said":   {modeltest.Script(modeltest.Finish(model.FinishLength)), agent.Limits{}, "max_tokens", "Stopped: the model hit its token limit before finishing."},
		"half a call":    {modeltest.Script(modeltest.Finish(model.FinishLength, model.ToolCall("1", "forecast", `{"ci`))), agent.Limits{}, "max_tokens", "Stopped: the model hit its token limit before finishing."},
		"content filter": {modeltest.Script(modeltest.Finish(model.FinishContentFilter)), agent.Limits{}, "refusal", "The answer was withheld by the provider's content filter. This prompt was removed from the conversation."},
		"filtered text":  {modeltest.Script(modeltest.Finish(model.FinishContentFilter, model.Text("half"))), agent.Limits{}, "refusal", "halfThe answer was withheld by the provider's content filter. This prompt was removed from the conversation."},
		"refused":        {modeltest.Script(modeltest.Finish(model.FinishRefusal, model.Text("No."))), agent.Limits{}, "refusal", "No.The model refused to answer. This prompt was removed from the conversation."},
		"filtered call":  {modeltest.Script(modeltest.Finish(model.FinishContentFilter, model.ToolCall("1", "forecast", `{"city":"Oslo"}`))), agent.Limits{}, "refusal", "The answer was withheld by the provider's content filter. This prompt was removed from the conversation."},
		"requests":       {loop, agent.Limits{Requests: 2}, "max_turn_requests", "Stopped: this turn has reached its limit of 2 requests. Send another message to continue."},
		"tool calls":     {loop, agent.Limits{ToolCalls: 1}, "max_turn_requests", "Stopped: this turn has reached its limit of 1 tool calls. Send another message to continue."},
		"tokens":         {loop, agent.Limits{TotalTokens: 30}, "max_tokens", "Stopped: this turn has reached its limit of 30 total tokens. Send another message to continue."},
		"cost":           {loop, agent.Limits{Cost: 1.5}, "max_tokens", "Stopped: this turn has reached its cost limit of 1.5. Send another message to continue."},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := agent.New(agent.Config[bare, string]{Model: test.model, Limits: test.limits, Prices: model.Prices{"modeltest/*": {Input: 100_000}}, Toolsets: []toolset.Toolset[bare]{toolset.Of(forecast())}})
			require.NoError(t, err)
			c := config(t, test.model)
			c.Host.Agent = a
			e, id := start(t, c)
			requireStop(t, test.stop, e.prompt(id, "go"))
			assert.Equal(t, test.seen, e.text(id))
		})
	}
}

func TestClientsWithNoticesAreToldInANotice(t *testing.T) {
	e := serve(t, config(t, modeltest.Script(modeltest.Finish(model.FinishLength, model.Text("half")))))
	e.initialize(`{"session":{"notices":{}}}`)
	id := e.newSession()
	requireStop(t, acp.StopReasonMaxTokens, e.prompt(id, "go"))
	assert.Equal(t, "half", e.text(id))
	updates := e.updates(id)
	notice := updates[len(updates)-1].Notice
	require.NotNil(t, notice)
	assert.Equal(t, acp.NoticeSeverityWarning, notice.Severity)
	assert.Equal(t, "The answer was cut off: the model hit its token limit.", notice.Title)
}

func TestErrorsHaveACodeAMessageOnOneLineAndAKind(t *testing.T) {
	api := func(status int, code string, after time.Duration) modeltest.Step {
		return modeltest.Fail(&model.APIError{Provider: "acme", Model: "m1", Status: status, Code: code, Message: "no\nway", RetryAfter: after, Retryable: after > 0})
	}
	call := modeltest.Say(model.ToolCall("1", "bad", "{}"))
	for name, test := range map[string]struct {
		step    modeltest.Step
		tool    error
		code    int
		kind    acpbridge.ErrorKind
		message string
		data    map[string]any
	}{
		"auth":       {step: api(401, "", 0), code: acp.CodeAuthRequired, kind: acpbridge.KindAuth, message: "model: acme m1: HTTP 401 Unauthorized: no way"},
		"rate limit": {step: api(429, "", 1500*time.Millisecond), code: acp.CodeInternal, kind: acpbridge.KindRateLimited, message: "model: acme m1: HTTP 429 Too Many Requests: no way", data: map[string]any{"retryAfter": 1.5, "retryable": true}},
		"context":    {step: api(400, "context_length_exceeded", 0), code: acp.CodeInternal, kind: acpbridge.KindContextLength, message: "model: acme m1: HTTP 400 Bad Request (context_length_exceeded): no way"},
		"model":      {step: modeltest.Fail(errors.New("broken\npipe")), code: acp.CodeInternal, kind: acpbridge.KindModel, message: "broken pipe"},
		"failed":     {step: modeltest.Finish(model.FinishError, model.Text("half")), code: acp.CodeInternal, kind: acpbridge.KindModel, message: "the provider failed in the middle of the response", data: map[string]any{"retryable": true}},
		"tool":       {step: call, tool: errors.New("disk\nfull"), code: acp.CodeInternal, kind: acpbridge.KindTool, message: `tool "bad": disk full`, data: map[string]any{"tool": "bad"}},
		"long":       {step: modeltest.Fail(errors.New(strings.Repeat("é", 1000))), code: acp.CodeInternal, kind: acpbridge.KindModel, message: strings.Repeat("é", 500) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			var log logBuffer
			bad := tool("bad", func(context.Context, *toolset.RunContext[bare]) (string, error) { return "", test.tool })
			c := config(t, modeltest.Script(test.step), bad)
			c.Host.Logger = log.logger()
			e, id := start(t, c)
			answer := e.prompt(id, "go")
			requireError(t, test.code, test.kind, answer)
			assert.Equal(t, test.message, answer.Error.Message)
			for key, want := range test.data {
				assert.Equal(t, want, answer.Error.Data[key])
			}
			assert.Contains(t, log.String(), "a turn has failed")
			assert.Contains(t, log.String(), "session="+string(id))
			assert.NotContains(t, log.String(), "no\nway", "one line")
		})
	}
}

// remote is the output of a connection over a network.
type remote struct{ io.WriteCloser }

func (*remote) Remote() bool { return true }

func TestRemoteClientsAreToldAClassOfError(t *testing.T) {
	secret := errors.New("dial 10.9.8.7:4711: sk-planted")
	for name, test := range map[string]struct {
		change  func(c *acpbridge.Config[bare, string])
		message string
	}{
		"over a network": {func(c *acpbridge.Config[bare, string]) { c.Out = new(remote) }, "The model provider cannot be reached. Try again in a minute."},
		"own text":       {func(c *acpbridge.Config[bare, string]) { c.Host.ErrorText = func(error) string { return "Ask Ada." } }, "Ask Ada."},
	} {
		t.Run(name, func(t *testing.T) {
			c := config(t, modeltest.Script(modeltest.Fail(&model.APIError{Provider: "acme", Err: secret})))
			test.change(&c)
			e, id := start(t, c)
			answer := e.prompt(id, "go")
			requireError(t, acp.CodeInternal, acpbridge.KindModel, answer)
			assert.Equal(t, test.message, answer.Error.Message)
		})
	}
}

func TestOutputAndPrepareFailuresAreTold(t *testing.T) {
	m := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		return model.Response(model.Text(" ")), nil
	})
	e, id := start(t, config(t, m))
	requireError(t, acp.CodeInternal, acpbridge.KindOutput, e.prompt(id, "go"))

	a, err := agent.New(agent.Config[bare, string]{Model: m, Dynamic: []agent.InstructionFunc[bare]{
		func(context.Context, *toolset.RunContext[bare]) (string, error) { return "", errors.New("no clock") },
	}})
	require.NoError(t, err)
	c := config(t, m)
	c.Host.Agent = a
	e, id = start(t, c)
	answer := e.prompt(id, "go")
	requireError(t, acp.CodeInternal, acpbridge.KindPrepare, answer)
	assert.Contains(t, answer.Error.Message, "no clock")
}

func TestPanicsOfUserCodeAreAnsweredAndTheConnectionLives(t *testing.T) {
	call := modeltest.Say(model.ToolCall("1", "bad", "{}"))
	boom := func() { panic("boom") }
	for name, change := range map[string]func(*agent.Config[bare, string], *acpbridge.Config[bare, string]){
		"tool": func(a *agent.Config[bare, string], _ *acpbridge.Config[bare, string]) {
			a.Toolsets = []toolset.Toolset[bare]{toolset.Of(tool("bad", func(context.Context, *toolset.RunContext[bare]) (string, error) {
				boom()
				return "", nil
			}))}
		},
		"validator": func(a *agent.Config[bare, string], _ *acpbridge.Config[bare, string]) {
			a.Model = modeltest.Script(modeltest.SayText("hi"), modeltest.SayText("hi"))
			a.Validators = []agent.Validator[bare, string]{func(_ context.Context, _ *toolset.RunContext[bare], s string) (string, error) {
				boom()
				return s, nil
			}}
		},
		"instruction": func(a *agent.Config[bare, string], _ *acpbridge.Config[bare, string]) {
			a.Dynamic = []agent.InstructionFunc[bare]{func(context.Context, *toolset.RunContext[bare]) (string, error) {
				boom()
				return "", nil
			}}
		},
		"model": func(a *agent.Config[bare, string], _ *acpbridge.Config[bare, string]) {
			a.Model = modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
				boom()
				return nil, nil
			})
		},
		"run options": func(_ *agent.Config[bare, string], c *acpbridge.Config[bare, string]) {
			c.Host.RunOptions = func(context.Context, bare, *host.Prompt) ([]agent.RunOption, error) {
				boom()
				return nil, nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log logBuffer
			ac := agent.Config[bare, string]{Model: modeltest.Script(call, call)}
			c := acpbridge.Config[bare, string]{Host: host.Config[bare, string]{Logger: log.logger()}}
			change(&ac, &c)
			var err error
			c.Host.Agent, err = agent.New(ac)
			require.NoError(t, err)
			e, id := start(t, c)
			for range 2 {
				answer := e.prompt(id, "go")
				requireError(t, acp.CodeInternal, acpbridge.KindPanic, answer)
				assert.Contains(t, answer.Error.Message, "panic: boom")
			}
			assert.Contains(t, log.String(), "stack=")
			assert.NoError(t, e.stop())
		})
	}
}

func TestFailuresOfReleaseAreLogged(t *testing.T) {
	for name, release := range map[string]func(context.Context, *host.Session, bare) error{
		"panic": func(context.Context, *host.Session, bare) error { panic("boom") },
		"error": func(context.Context, *host.Session, bare) error { return errors.New("boom") },
	} {
		t.Run(name, func(t *testing.T) {
			var log logBuffer
			c := config(t, modeltest.Script())
			c.Host.Logger, c.Host.Release = log.logger(), release
			e, _ := start(t, c)
			require.NoError(t, e.stop())
			assert.Contains(t, log.String(), "session not released")
		})
	}
}

func TestRunOptionsMayRefuseAPromptAndSeeItsMeta(t *testing.T) {
	c := config(t, echo())
	c.Host.RunOptions = func(_ context.Context, d bare, prompt *host.Prompt) ([]agent.RunOption, error) {
		p := acpbridge.PromptOf(prompt)
		if d.Session.ID != p.SessionID {
			return nil, errors.New("wrong session")
		}
		if trace := string(p.Meta["traceparent"]); trace != `"00-1-2-01"` {
			return nil, fmt.Errorf("quota: %w", acp.Errorf(acp.CodeInternal, "not today").WithData(map[string]string{"kind": "quota"}))
		}
		return []agent.RunOption{agent.WithHistory(nil), agent.WithRunID("mine")}, nil // the bridge's own win
	}
	e, id := start(t, c)
	answer := e.prompt(id, "go")
	assert.Equal(t, "not today", answer.Error.Message)
	assert.Equal(t, "quota", answer.Error.Data["kind"])
	answer = e.call(acp.MethodPrompt, fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":"a"}],"_meta":{"traceparent":"00-1-2-01"}}`, id))
	requireStop(t, acp.StopReasonEndTurn, answer)
	assert.Equal(t, "(a)", e.text(id))
}

// endless is a store that takes no end of a turn.
type endless struct{ session.Memory }

func (e *endless) Append(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
	for _, entry := range b.Entries {
		if entry.Kind == session.KindEnd {
			return 0, &session.Error{Op: "append", Session: l.Session, Err: session.ErrFull}
		}
	}
	return e.Memory.Append(ctx, l, head, b)
}

// A client is not told that all is well with a turn whose end is not recorded.
func TestTurnWhoseEndIsNotRecordedHasFailed(t *testing.T) {
	c := config(t, modeltest.Script(modeltest.SayText("hi")))
	c.Host.Store = new(endless)
	e, id := start(t, c)
	answer := e.prompt(id, "go")
	requireError(t, acp.CodeInternal, acpbridge.KindStore, answer)
	assert.Contains(t, answer.Error.Message, "full")
}

// What a tool says of its own error is hidden from remote clients, also if an error of this client is inside.
func TestErrorsOfToolsAreHiddenWhateverIsInside(t *testing.T) {
	bad := tool("bad", func(context.Context, *toolset.RunContext[bare]) (string, error) {
		return "", fmt.Errorf("db at 10.9.8.7: %w", acp.Errorf(acp.CodeInternal, "sk-planted"))
	})
	c := config(t, modeltest.Script(modeltest.Say(model.ToolCall("1", "bad", "{}"))), bad)
	c.Out = new(remote)
	e, id := start(t, c)
	answer := e.prompt(id, "go")
	require.NotNil(t, answer.Error)
	assert.NotContains(t, answer.Error.Message, "10.9.8.7")
	assert.NotContains(t, answer.Error.Message, "sk-planted")
}
