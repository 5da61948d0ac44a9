// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/schema"
	"github.com/ponte-go/ponte/toolset"
)

// AgentTool describes an agent as a tool.
type AgentTool struct {
	// Name is the tool's name, and Description tells models when to use the agent. Both are
	// required.
	Name, Description string
	// Options are the options of each run. Its approvals are decided by [ExportConfig.Approve].
	Options []agent.RunOption
}

// maxProgress bounds the text of a progress message.
const maxProgress = 200

// ExportAgent returns a server with one tool, which runs an agent with a prompt and returns its
// output: text as it is, anything else as JSON and as structured content if it is an object. Each
// call is a new conversation. The client is told about the agent's text and tool calls as progress,
// if it asks for that.
func ExportAgent[D, O any](a *agent.Agent[D, O], tool AgentTool, config ExportConfig[D]) (*mcp.Server, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	if a == nil || tool.Description == "" {
		return nil, errors.New("mcptoolset: export: the agent and its description are required")
	}
	check := toolset.Raw[D](tool.Name, tool.Description, promptSchema, func(context.Context, *toolset.RunContext[D], json.RawMessage) (toolset.Result, error) {
		return toolset.Result{}, nil
	})
	if err := check.Err(); err != nil {
		return nil, fmt.Errorf("mcptoolset: export: %w", err)
	}
	s := &exported[D]{config: config}
	served := config.server(config.Instructions)
	served.AddTool(&mcp.Tool{Name: tool.Name, Description: tool.Description, InputSchema: promptSchema},
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var in struct {
				Prompt string `json:"prompt"`
			}
			if err := json.Unmarshal(r.Params.Arguments, &in); err != nil || in.Prompt == "" {
				return s.failed(tool.Name, toolset.Retry("prompt: a text is required")), nil
			}
			out, err := runAgent(ctx, a, tool, &config, r, in.Prompt)
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if err != nil {
				return s.failed(tool.Name, err), nil
			}
			return outputOf(out)
		})
	return served, nil
}

var promptSchema = json.RawMessage(`{"type":"object","properties":{"prompt":{"type":"string","description":"The task for the agent, with all the context it needs"}},"required":["prompt"],"additionalProperties":false}`)

// runAgent runs the agent once.
func runAgent[D, O any](
	ctx context.Context, a *agent.Agent[D, O], tool AgentTool, config *ExportConfig[D],
	r *mcp.CallToolRequest, prompt string,
) (out O, err error) {
	defer recovered(&err)
	d, err := config.deps(ctx)
	if err != nil {
		return out, err
	}
	if config.Timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, config.Timeout)
		defer cancel()
		ctx = limited
	}
	asker := toolset.AskerFuncs{OnApprove: func(ctx context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
		return decide(ctx, config.Approve, r)
	}}
	options := append(append([]agent.RunOption{}, tool.Options...), agent.WithAsker(asker))
	stream := a.Stream(ctx, d, prompt, options...)
	n := 0.0
	tell := func(message string) {
		n++
		report(ctx, r, Progress{Progress: n, Message: message})
	}
	watched := r.Params.GetProgressToken() != nil
	for e := range stream.Events() {
		switch {
		case !watched:
		case e.Kind == agent.EventToolStart:
			tell("Tool: " + e.Tool)
		case e.Kind == agent.EventPartDelta && e.PartKind == model.PartText && e.Text != "":
			tell(strings.ToValidUTF8(e.Text[:min(len(e.Text), maxProgress)], "")) // a character may be cut
		}
	}
	res, err := stream.Result()
	if err != nil {
		return out, err
	}
	return res.Output, nil
}

// outputOf returns an output to the client.
func outputOf(out any) (*mcp.CallToolResult, error) {
	if v := reflect.ValueOf(out); v.Kind() == reflect.String {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: v.String()}}}, nil
	}
	data, err := schema.Marshal(out)
	if err != nil {
		return nil, errors.New("the output has no JSON form")
	}
	res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(data)}}}
	if bytes.HasPrefix(data, []byte("{")) {
		res.StructuredContent = json.RawMessage(data)
	}
	return res, nil
}
