// SPDX-License-Identifier: Apache-2.0

package anthropicdialect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"
	"github.com/firebase/genkit/go/ai"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel"
)

// defaultMaxTokens is used if the settings do not set a limit, because the API requires one. All
// current models support it.
const defaultMaxTokens = 8192

// minBudget is the API's minimum budget for thinking, in tokens.
const minBudget = 1024

// budgets maps levels of thinking to tokens.
var budgets = map[string]int64{"minimal": minBudget, "low": 4096, "medium": 10_000, "high": 24_000}

// noText is used where the API requires user text and there is none.
const noText = "(no text)"

// Dialect returns the dialect of the plugin anthropic.
func Dialect() *genkitmodel.Dialect {
	return &genkitmodel.Dialect{
		CallIDMax:         64,
		Media:             []string{"image"},
		Thinking:          true,
		RawArguments:      true,
		ContentRequired:   true,
		EmptyTextEndsPart: true, // it represents a fragment of arguments, or a signature
		Prepare:           prepare,
		Result:            genkitmodel.JSONResult,
		Schema:            schema,
		Error:             readError,
	}
}

// prepare sets in the plugin's typed configuration what the plugin does not read from the request.
func prepare(ctx context.Context, c *genkitmodel.Call) (context.Context, error) {
	s := c.Settings
	if err := c.Accept(genkitmodel.MaxTokens, genkitmodel.Temperature, genkitmodel.TopP, genkitmodel.Stop,
		genkitmodel.ParallelToolCalls, genkitmodel.Thinking, genkitmodel.ServiceTier, genkitmodel.ExtraBody); err != nil {
		return nil, err
	}
	config := &anthropic.MessageNewParams{
		MaxTokens:   int64(s.MaxTokens),
		ServiceTier: anthropic.MessageNewParamsServiceTier(s.ServiceTier),
	}
	if len(s.Stop) > 0 {
		config.StopSequences = s.Stop
	}
	if s.Temperature != nil {
		config.Temperature = param.NewOpt(*s.Temperature)
	}
	if s.TopP != nil {
		config.TopP = param.NewOpt(*s.TopP)
	}
	if err := thinking(c, config); err != nil {
		return nil, err
	}
	toolChoice(c, config)
	extra, err := c.ExtraFields()
	if err != nil {
		return nil, err
	}
	if extra != nil {
		config.SetExtraFields(extra)
	}
	c.Genkit.Config = config
	c.Genkit.Messages = conversation(c.Genkit.Messages)
	c.Stream, c.Finish = true, finish
	return ctx, nil
}

// finish takes an end that the plugin does not know for a failure: it is a refusal, a pause, or
// something new, so the response is not whole.
func finish(resp *ai.ModelResponse, msg *model.Message) error {
	if resp != nil && resp.FinishReason == ai.FinishReasonUnknown {
		msg.Finish = model.FinishError
	}
	return nil
}

// thinking sets the level and the token limit, which includes thinking.
func thinking(c *genkitmodel.Call, config *anthropic.MessageNewParams) error {
	level := c.Settings.Thinking
	budget, known := budgets[level]
	switch {
	case level == "":
	case level == "off":
		config.Thinking.OfDisabled = &anthropic.ThinkingConfigDisabledParam{}
	case !known:
		return c.Unsupported(fmt.Sprintf("thinking %q", level))
	case c.Request.ToolChoice.Mode == model.ToolChoiceRequired, c.Request.ToolChoice.Mode == model.ToolChoiceTool:
		return c.Unsupported("thinking together with a required tool call")
	case c.Settings.Temperature != nil:
		return c.Unsupported("thinking together with the setting temperature")
	default:
		if config.MaxTokens > 0 {
			budget = min(budget, config.MaxTokens-1)
		}
		if budget < minBudget {
			return c.Unsupported(fmt.Sprintf("thinking with a limit of %d tokens", config.MaxTokens))
		}
		config.Thinking.OfEnabled = &anthropic.ThinkingConfigEnabledParam{BudgetTokens: budget}
	}
	if config.MaxTokens == 0 {
		config.MaxTokens = defaultMaxTokens
		if config.Thinking.OfEnabled != nil {
			config.MaxTokens += budget
		}
	}
	return nil
}

func toolChoice(c *genkitmodel.Call, config *anthropic.MessageNewParams) {
	if len(c.Request.Tools) == 0 {
		return
	}
	var one param.Opt[bool]
	if p := c.Settings.ParallelToolCalls; p != nil {
		one = param.NewOpt(!*p)
	}
	switch choice := c.Request.ToolChoice; choice.Mode {
	case model.ToolChoiceAuto:
		if c.Settings.ParallelToolCalls != nil {
			config.ToolChoice.OfAuto = &anthropic.ToolChoiceAutoParam{DisableParallelToolUse: one}
		}
	case model.ToolChoiceNone:
		config.ToolChoice.OfNone = &anthropic.ToolChoiceNoneParam{}
	case model.ToolChoiceRequired:
		config.ToolChoice.OfAny = &anthropic.ToolChoiceAnyParam{DisableParallelToolUse: one}
	case model.ToolChoiceTool:
		config.ToolChoice.OfTool = &anthropic.ToolChoiceToolParam{Name: choice.Tool, DisableParallelToolUse: one}
	}
}

// conversation makes sure that the first and the last message are the user's, as the API requires.
func conversation(messages []*ai.Message) []*ai.Message {
	said := ai.NewUserTextMessage(noText)
	var all []*ai.Message
	began := false
	for _, msg := range messages {
		if !began && msg.Role == ai.RoleModel {
			all = append(all, said)
		}
		began = began || msg.Role != ai.RoleSystem
		all = append(all, msg)
	}
	if !began || all[len(all)-1].Role == ai.RoleModel {
		all = append(all, said)
	}
	return all
}

// readError reads the errors of the SDK.
func readError(err error, e *model.APIError) bool {
	var refused *anthropic.Error
	if !errors.As(err, &refused) {
		if strings.Contains(err.Error(), "converting content block to JSON") {
			e.Message = "the arguments of a call are not valid JSON, which the SDK does not accept: " + err.Error()
			e.Retryable = true
			return true
		}
		return false
	}
	var body struct {
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	raw := refused.RawJSON()
	if json.Unmarshal([]byte(raw), &body) != nil || body.Error.Message == "" {
		body.Error.Message = raw
	}
	e.Type, e.Message = body.Error.Type, body.Error.Message
	if refused.Response != nil {
		genkitmodel.FromHTTP(e, refused.StatusCode, refused.Response.Header)
	}
	if refused.RequestID != "" {
		e.RequestID = refused.RequestID
	}
	if e.Type == "billing_error" {
		e.Code = "insufficient_quota" // the usual name
	}
	if e.Status < 400 { // it occurred in the middle of a stream
		e.Status = 0
	}
	return true
}
