// SPDX-License-Identifier: Apache-2.0

package mcptoolset_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

// What models read of lists of resources and prompts has bounds: of each text, and of the entries.
func TestListsAreBounded(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	resources, templates, prompts := 1, 1, 1
	f := library()
	f.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			switch method {
			case "resources/list":
				res := &mcp.ListResourcesResult{}
				for range resources {
					res.Resources = append(res.Resources, &mcp.Resource{URI: "file:" + long(1996), Name: long(201), MIMEType: "a/b; c", Description: long(301)})
				}
				return res, nil
			case "resources/templates/list":
				if templates < 0 {
					return nil, fmt.Errorf("there are none")
				}
				res := &mcp.ListResourceTemplatesResult{}
				for range templates {
					res.ResourceTemplates = append(res.ResourceTemplates, &mcp.ResourceTemplate{URITemplate: "file:" + long(1996), Name: long(201), Description: long(301)})
				}
				return res, nil
			case "prompts/list":
				res := &mcp.ListPromptsResult{}
				for i := range prompts {
					res.Prompts = append(res.Prompts, &mcp.Prompt{Name: fmt.Sprintf("%03d", i) + long(198), Description: long(301), Arguments: []*mcp.PromptArgument{{Name: long(101), Description: long(201), Required: true}}})
				}
				return res, nil
			case "prompts/get":
				return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
					{Role: mcp.Role(long(21)), Content: &mcp.TextContent{Text: "one"}}, {Role: "assistant", Content: &mcp.TextContent{Text: "two"}}, {Role: "user", Content: &mcp.ImageContent{MIMEType: "image/png", Data: []byte("i")}},
				}}, nil
			}
			return next(ctx, method, req)
		}
	})
	s := serve(t, f, func(c *mcptoolset.Config) { c.Limits.Result = 1 << 20 })
	options := mcptoolset.Options[none]{Resources: true, Prompts: true}
	get := func(tool, args string) string {
		run := &toolset.RunContext[none]{}
		run.Call.Approved = true
		res, err := toolsettest.Call(t.Context(), mcptoolset.Tools(s, options), run, tool, args)
		require.NoError(t, err)
		return res.Text
	}
	resource := "- file:" + long(1995) + " " + long(200) + " (a/b) " + long(300)
	template := "- template file:" + long(1995) + " " + long(200) + " " + long(300)
	require.Equal(t, resource+"\n"+template, get("s_list_resources", "{}"))
	resources, templates = 200, 200
	all := strings.Repeat(resource+"\n", 200) + strings.Repeat(template+"\n", 200)
	require.Equal(t, strings.TrimSuffix(all, "\n"), get("s_list_resources", "{}"))
	resources = 201
	require.Equal(t, all+"[There are more.]", get("s_list_resources", "{}"))
	resources, templates = 200, 201
	require.Equal(t, all+"[There are more.]", get("s_list_resources", "{}"))
	resources, templates = 0, -1
	require.Equal(t, "There are no resources.", get("s_list_resources", "{}"))

	prompt := func(i int) string {
		return fmt.Sprintf("- %03d", i) + long(197) + " " + long(300) + "\n  - argument " + long(100) + " (required) " + long(200)
	}
	require.Equal(t, prompt(0), get("s_list_prompts", "{}"))
	require.Equal(t, "["+long(20)+"…]\none\n[assistant]\ntwo\n[user]\n[image (image/png, 1 bytes) follows]", get("s_get_prompt", `{"name":"x"}`))
	prompts = 201
	require.Equal(t, 200, strings.Count(get("s_list_prompts", "{}"), "- argument"))
	commands, err := mcptoolset.Commands[none](t.Context(), s)
	require.NoError(t, err)
	require.Len(t, commands, 200)
	require.Equal(t, long(200)+"…", commands[0].Description)
	require.Equal(t, long(50)+"…", commands[0].Hint)
	_, err = commands[0].Run(t.Context(), agent.CommandCall[none]{})
	require.EqualError(t, err, `the argument "`+long(50)+`…" is missing`)
	res, err := commands[0].Run(t.Context(), agent.CommandCall[none]{Args: " a "})
	require.NoError(t, err)
	require.Empty(t, res.Prompt)
	require.Equal(t, []model.Part{model.Media("image/png", []byte("i")), model.User("one\n[assistant]\ntwo\n[image (image/png, 1 bytes) follows]")}, res.Parts)
	prompts = 0
	require.Equal(t, "There are no prompts.", get("s_list_prompts", "{}"))
}

// Tools for resources and prompts give way to tools of the server that have their names.
func TestOwnToolsGiveWay(t *testing.T) {
	f := library()
	f.tool("list_resources", echo)
	f.tool("get_prompt", echo)
	s := serve(t, f, func(c *mcptoolset.Config) { c.CallTimeout = 1234 })
	tools := list(t, s, mcptoolset.Options[none]{Resources: true, Prompts: true})
	got := names(tools)
	require.Len(t, got, 6)
	require.Equal(t, []string{"s_get_prompt", "s_list_resources"}, got[:2])
	require.Regexp(t, `^s_list_resources_[0-9a-f]{8}$`, got[2])
	require.Equal(t, []string{"s_read_resource", "s_list_prompts"}, got[3:5])
	require.Regexp(t, `^s_get_prompt_[0-9a-f]{8}$`, got[5])
	var about []string
	for _, tool := range tools[2:] {
		require.EqualValues(t, 1234, tool.Timeout)
		require.Equal(t, toolset.KindOther, tool.Kind)
		about = append(about, tool.Def.Description+" | "+tool.Title)
	}
	require.Equal(t, []string{
		`List the resources of the MCP server "s", with their URIs. | ` + strings.TrimPrefix(got[2], "s_") + " (s)", `Read a resource of the MCP server "s". | read_resource (s)`,
		`List the prompts of the MCP server "s", with their arguments. | list_prompts (s)`, `Get a prompt of the MCP server "s". | get_prompt (s)`,
	}, about)
	set := mcptoolset.Tools(s, mcptoolset.Options[none]{Resources: true, Policy: func(_ context.Context, _ *toolset.RunContext[none], c mcptoolset.Call) (toolset.Verdict, error) {
		require.Equal(t, "read_resource", c.Name)
		require.Equal(t, "ponte", c.Digest)
		if strings.Contains(string(c.Args), "deny") {
			return toolset.VerdictDeny, nil
		}
		require.JSONEq(t, `{"uri":"file:///a"}`, string(c.Args))
		return toolset.VerdictAllow, nil
	}})
	_, err := toolsettest.Call(t.Context(), set, nil, "s_read_resource", `{"uri":"deny"}`)
	require.EqualError(t, err, `denied: A policy denies this tool of the MCP server "s".`)
	res, err := toolsettest.Call(t.Context(), set, nil, "s_read_resource", `{"uri":"file:///a"}`)
	require.NoError(t, err)
	require.Equal(t, "[resource file:///a (text/plain)]\nalpha", res.Text)
}

// heard is a host that tells of events.
type heard struct {
	toolsettest.Host
	event chan struct{}
}

func (h *heard) Emit(c toolset.Call, value any) {
	h.Host.Emit(c, value)
	h.event <- struct{}{}
}

// Each report of progress is emitted once, on every transport.
func TestProgressIsEmittedOnce(t *testing.T) {
	for _, over := range []string{"memory", "HTTP", "SSE"} {
		f := newFake(nil)
		host := &heard{event: make(chan struct{}, 10)}
		f.tool("work", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Total: 2, Message: "m"})
			select { // otherwise the answer may come first
			case <-host.event:
			case <-time.After(patience):
			}
			return say("done"), err
		})
		s := serve(t, f, func(c *mcptoolset.Config) {
			switch over {
			case "HTTP":
				c.Transport = mcptoolset.HTTP{URL: listen(t, f, nil).URL}
			case "SSE":
				c.Transport = mcptoolset.SSE{URL: web(t, mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return f.Server }, nil)).URL}
				c.ProtocolVersion = "2024-11-05"
			}
		})
		for range 3 {
			_, err := call(t, s, host, "r", "s_work", `{}`)
			require.NoError(t, err)
		}
		want := mcptoolset.Progress{Server: "s", Tool: "work", Progress: 1, Total: 2, Message: "m"}
		require.Equal(t, []any{want, want, want}, host.Events(), over)
	}
}

// Arguments of exported tools are an object, also if the client sends none, and nothing else.
func TestArgumentsOfExportedTools(t *testing.T) {
	type args struct {
		A int `json:"a,omitempty"`
	}
	set := toolset.Of(toolset.Func("add", "Adds.", func(_ context.Context, _ *toolset.RunContext[none], in args) (string, error) {
		return fmt.Sprint("a is ", in.A), nil
	}))
	server, err := mcptoolset.Export(t.Context(), set, mcptoolset.ExportConfig[none]{Name: "x"})
	require.NoError(t, err)
	s := serve(t, &fake{Server: server})
	for raw, want := range map[string]string{"": "a is 0", "{}": "a is 0", `{"a":5}`: "a is 5"} {
		res, err := call(t, s, nil, "r", "s_add", raw)
		require.NoError(t, err)
		require.Equal(t, want, res.Text, raw)
	}
}
