// SPDX-License-Identifier: Apache-2.0

package otelagent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

type ownError struct{ class string }

func (ownError) Error() string       { return "secret" }
func (e ownError) ErrorType() string { return e.class }

func TestErrorsOfModelsHaveClasses(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&model.APIError{Provider: "acme", Status: 429}, "rate_limited"},
		{&model.APIError{Provider: "acme", Status: 401}, "auth"},
		{&model.APIError{Provider: "acme", Status: 400, Code: "context_length_exceeded"}, "context_length"},
		{&model.APIError{Provider: "acme", Status: 503}, "503"},
		{&model.APIError{Provider: "acme", Status: 200}, "invalid_answer"},
		{&model.APIError{Provider: "acme", Err: errors.New("connection refused")}, "no_answer"},
		{&model.APIError{Provider: "acme", Err: os.ErrDeadlineExceeded}, "timeout"},
		{fmt.Errorf("no images: %w", model.ErrUnsupported), "unsupported"},
		{fmt.Errorf("no: %w", model.ErrRequestsForbidden), "requests_forbidden"},
		{context.DeadlineExceeded, "timeout"},
		{context.Canceled, "canceled"},
		{fmt.Errorf("wrapped: %w", ownError{"disk_full"}), "disk_full"},
		{ownError{}, "_OTHER"},
		{errors.New("secret"), "_OTHER"},
	} {
		r := newRecorder()
		a := newAgent(t, agent.Config[deps, string]{Hooks: r.hooks(), Model: modeltest.Script(modeltest.Fail(c.err))})
		_, err := a.Run(t.Context(), deps{}, "go")
		require.Error(t, err)
		require.Equal(t, c.want, value(find(r, "chat")[0], "error.type"), "%v", c.err)
		require.Equal(t, c.want, value(find(r, "invoke_agent")[0], "error.type"), "%v", c.err)
	}
}

func TestErrorsOfRunsHaveClasses(t *testing.T) {
	loop := func(context.Context, *model.Request) (*model.Message, error) {
		resp := model.Response(call("1", "look"))
		resp.Usage = model.Usage{InputTokens: 10, OutputTokens: 5}
		return resp, nil
	}
	finish := func(reason model.FinishReason, parts ...model.Part) model.Model {
		return modeltest.Script(modeltest.Finish(reason, parts...))
	}
	for want, c := range map[string]struct {
		model  model.Model
		limits agent.Limits
		prompt string
		opts   []agent.RunOption
	}{
		"limit_requests":       {model: modeltest.Func(loop), limits: agent.Limits{Requests: 2}, prompt: "go"},
		"limit_tool_calls":     {model: modeltest.Func(loop), limits: agent.Limits{ToolCalls: 1}, prompt: "go"},
		"limit_input_tokens":   {model: modeltest.Func(loop), limits: agent.Limits{InputTokens: 15}, prompt: "go"},
		"limit_cost":           {model: modeltest.Func(loop), limits: agent.Limits{Cost: 1e-9}, prompt: "go"},
		"no_price":             {model: modeltest.Script(), limits: agent.Limits{Cost: 1}, prompt: "go"},
		"token_limit":          {model: finish(model.FinishLength), prompt: "go"},
		"content_filter":       {model: finish(model.FinishContentFilter), prompt: "go"},
		"refused":              {model: finish(model.FinishRefusal, model.Text("No.")), prompt: "go"},
		"response_failed":      {model: finish(model.FinishError, model.Text("Ha")), prompt: "go"},
		"incomplete_tool_call": {model: finish(model.FinishLength, model.ToolCall("1", "look", `{"a`)), prompt: "go"},
		"budget":               {model: modeltest.Script(modeltest.Say(call("1", "nope")), modeltest.Say(call("2", "nope"))), prompt: "go"},
		"no_prompt":            {model: modeltest.Func(loop)},
	} {
		r := newRecorder()
		a := newAgent(t, agent.Config[deps, string]{Hooks: r.hooks(), Model: c.model, Limits: c.limits, Prices: model.Prices{"modeltest/func": {Input: 1}}}, says("look", "nothing"))
		_, err := a.Run(t.Context(), deps{}, c.prompt, c.opts...)
		require.Error(t, err)
		require.Equal(t, want, value(find(r, "invoke_agent")[0], "error.type"), "%v", err)
	}
}
