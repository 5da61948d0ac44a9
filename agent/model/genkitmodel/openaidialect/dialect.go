// SPDX-License-Identifier: Apache-2.0

package openaidialect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/openai/openai-go"
	"github.com/openai/openai-go/packages/param"
	"github.com/openai/openai-go/shared"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel"
)

// Dialect returns the dialect of the plugins compat_oai and openai. The plugin should have been
// made with [Options].
func Dialect() *genkitmodel.Dialect {
	return &genkitmodel.Dialect{
		NativeOutput: true,
		CallIDMax:    40,
		Media:        []string{"image"},
		MediaURLs:    []string{"image"},
		RawArguments: true,
		Prepare:      prepare,
		Result:       genkitmodel.JSONResult,
		Error:        readError,
	}
}

// prepare sets in the plugin's typed configuration what the plugin does not read from the request.
func prepare(ctx context.Context, c *genkitmodel.Call) (context.Context, error) {
	s := c.Settings
	if err := c.Accept(genkitmodel.MaxTokens, genkitmodel.Temperature, genkitmodel.TopP, genkitmodel.Stop, genkitmodel.Seed,
		genkitmodel.ParallelToolCalls, genkitmodel.Thinking, genkitmodel.ServiceTier, genkitmodel.ExtraHeaders, genkitmodel.ExtraBody); err != nil {
		return nil, err
	}
	config := &openai.ChatCompletionNewParams{ServiceTier: openai.ChatCompletionNewParamsServiceTier(s.ServiceTier)}
	if s.MaxTokens > 0 {
		if c.Info.Provider == "openai" {
			config.MaxCompletionTokens = param.NewOpt(int64(s.MaxTokens))
		} else {
			config.MaxTokens = param.NewOpt(int64(s.MaxTokens))
		}
	}
	if s.Temperature != nil {
		config.Temperature = param.NewOpt(*s.Temperature)
	}
	if s.TopP != nil {
		config.TopP = param.NewOpt(*s.TopP)
	}
	if len(s.Stop) > 0 {
		config.Stop.OfStringArray = s.Stop
	}
	if s.Seed != nil {
		config.Seed = param.NewOpt(*s.Seed)
	}
	if s.ParallelToolCalls != nil && len(c.Request.Tools) > 0 {
		config.ParallelToolCalls = param.NewOpt(*s.ParallelToolCalls)
	}
	switch s.Thinking {
	case "":
	case "off":
		config.ReasoningEffort = "none"
	case "minimal", "low", "medium", "high":
		config.ReasoningEffort = shared.ReasoningEffort(s.Thinking)
	default:
		return nil, c.Unsupported(fmt.Sprintf("thinking %q", s.Thinking))
	}
	if c.Stream {
		config.StreamOptions.IncludeUsage = param.NewOpt(true)
	}
	toolChoice(c, config)
	if out := c.Request.Output; out != nil {
		config.ResponseFormat.OfJSONSchema = outputFormat(out)
	}
	extra, err := c.ExtraFields()
	if err != nil {
		return nil, err
	}
	if extra != nil {
		config.SetExtraFields(extra)
	}
	c.Genkit.Config = config

	t := &tap{call: c, header: s.ExtraHeaders}
	c.OnChunk, c.Finish, c.Recover = t.chunk, t.finish, t.recover
	return context.WithValue(ctx, tapKey{}, t), nil
}

func toolChoice(c *genkitmodel.Call, config *openai.ChatCompletionNewParams) {
	if len(c.Request.Tools) == 0 {
		return
	}
	switch choice := c.Request.ToolChoice; choice.Mode {
	case model.ToolChoiceNone, model.ToolChoiceRequired:
		config.ToolChoice.OfAuto = param.NewOpt(string(choice.Mode))
	case model.ToolChoiceTool:
		config.ToolChoice.OfChatCompletionNamedToolChoice = &openai.ChatCompletionNamedToolChoiceParam{
			Function: openai.ChatCompletionNamedToolChoiceFunctionParam{Name: choice.Tool},
		}
	}
}

func outputFormat(out *model.OutputSchema) *shared.ResponseFormatJSONSchemaParam {
	format := shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: out.Name, Schema: out.Schema}
	if out.Name == "" {
		format.Name = "output"
	}
	if out.Description != "" {
		format.Description = param.NewOpt(out.Description)
	}
	if out.Strict {
		format.Strict = param.NewOpt(true)
	}
	return &shared.ResponseFormatJSONSchemaParam{JSONSchema: format}
}

// streamError is the prefix of the SDK's errors for an error in the middle of a stream.
const streamError = "received error while streaming: "

// readError reads the errors of the SDK.
func readError(err error, e *model.APIError) bool {
	var refused *openai.Error
	if errors.As(err, &refused) {
		e.Status, e.Code, e.Type, e.Message = refused.StatusCode, refused.Code, refused.Type, refused.Message
		if refused.Response != nil {
			genkitmodel.FromHTTP(e, refused.StatusCode, refused.Response.Header)
		}
		if raw := refused.RawJSON(); e.Message == "" && raw != "" || strings.Contains(raw, `"metadata"`) {
			readReported([]byte(raw), e)
		}
		return true
	}
	if _, reported, ok := strings.Cut(err.Error(), streamError); ok {
		readReported([]byte(reported), e)
		return true
	}
	return false
}

// readReported reads an error object, or the text that some servers send instead.
func readReported(data []byte, e *model.APIError) {
	var object struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    any    `json:"code"`
		// Metadata contains the error of the provider that OpenRouter used.
		Metadata struct {
			Raw string `json:"raw"`
		} `json:"metadata"`
	}
	if json.Unmarshal(data, &object) != nil || object.Message == "" {
		if json.Unmarshal(data, &e.Message) != nil {
			e.Message = string(data)
		}
		return
	}
	e.Message, e.Type = object.Message, object.Type
	if object.Metadata.Raw != "" {
		e.Message += ": " + object.Metadata.Raw
	}
	switch code := object.Code.(type) {
	case string:
		e.Code = code
	case float64:
		e.Status = int(code)
	}
}
