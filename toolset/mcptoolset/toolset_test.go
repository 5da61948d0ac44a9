// SPDX-License-Identifier: Apache-2.0

package mcptoolset_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

func TestConformance(t *testing.T) {
	f := newFake(nil)
	f.tool("echo", echo)
	f.tool("other", echo)
	s := serve(t, f)
	toolsettest.Conformance(t, func() toolset.Toolset[none] { return mcptoolset.Tools(s, mcptoolset.Options[none]{}) }, none{},
		toolsettest.Case{Tool: "s_echo", Args: `{"a":1}`})
	require.Equal(t, 1, f.dials, "one connection serves all runs")
}

func TestConformanceOfResourcesAndPrompts(t *testing.T) {
	f := library()
	s := serve(t, f)
	options := mcptoolset.Options[none]{Resources: true, Prompts: true, Instructions: true}
	toolsettest.Conformance(t, func() toolset.Toolset[none] { return mcptoolset.Tools(s, options) }, none{},
		toolsettest.Case{Tool: "s_read_resource", Args: `{"uri":"file:///a"}`}, toolsettest.Case{Tool: "s_list_prompts", Args: `{}`})
}

func TestCallReturnsText(t *testing.T) {
	f := newFake(nil)
	f.tool("echo", echo)
	res, err := call(t, serve(t, f), nil, "r", "s_echo", `{"n":12345678901234567890}`)
	require.NoError(t, err)
	require.Equal(t, `{"n":12345678901234567890}`, res.Text, "arguments reach the server as the model wrote them")
}

func TestErrorResultIsToldToTheModel(t *testing.T) {
	f := newFake(nil)
	f.tool("bad", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res := say("no such row")
		res.IsError = true
		return res, nil
	})
	f.tool("worse", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("boom")
	})
	s := serve(t, f)
	res, err := call(t, s, nil, "r", "s_bad", `{}`)
	require.Equal(t, "no such row", failed(t, res, err))
	res, err = call(t, s, nil, "r", "s_worse", `{}`)
	require.Contains(t, failed(t, res, err), "boom")
}

func TestNamesAreValidAndUnique(t *testing.T) {
	f := newFake(nil)
	long := strings.Repeat("x", 90)
	all := []string{"a.b", "a_b", "a/b", long, long + "y", "ok"}
	for _, name := range all {
		f.tool(name, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return say(name), nil })
	}
	s := serve(t, f)
	tools := list(t, s, mcptoolset.Options[none]{})
	require.Len(t, tools, len(all))
	seen := map[string]bool{}
	for _, tool := range tools {
		require.NoError(t, tool.Err())
		require.False(t, seen[tool.Def.Name])
		seen[tool.Def.Name] = true
	}
	require.True(t, seen["s_a_b"] && seen["s_ok"], "valid names stay")
	require.Len(t, s.Problems(), 2, "collisions are named")
	require.Contains(t, fmt.Sprint(s.Problems()), `its name would be "s_a_b", which another tool has`)
	for _, tool := range tools {
		res, err := call(t, s, nil, "r", tool.Def.Name, `{}`)
		require.NoError(t, err)
		require.Contains(t, tool.Title, res.Text[:2], "the name leads to the server's tool")
	}

	// The same names in another order, in another process.
	g := newFake(nil)
	for i := range all {
		g.tool(all[len(all)-1-i], echo)
	}
	require.ElementsMatch(t, names(tools), names(list(t, serve(t, g), mcptoolset.Options[none]{})))
}

func TestUnprefixedNames(t *testing.T) {
	f := newFake(nil)
	f.tool("echo", echo)
	s := serve(t, f, func(c *mcptoolset.Config) { c.Unprefixed = true })
	require.Equal(t, []string{"echo"}, names(list(t, s, mcptoolset.Options[none]{})))
}

func TestBadSchemaIsAProblemOfItsToolAlone(t *testing.T) {
	f := newFake(nil)
	f.tool("good", echo)
	f.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if l, ok := res.(*mcp.ListToolsResult); ok {
				deep := json.RawMessage(strings.Repeat(`{"type":"object","properties":{"p":`, 200) + `{}` + strings.Repeat(`}}`, 200))
				l.Tools = append(l.Tools,
					&mcp.Tool{Name: "string", InputSchema: json.RawMessage(`"x"`)},
					&mcp.Tool{Name: "array", InputSchema: json.RawMessage(`{"type":"array"}`)},
					&mcp.Tool{Name: "properties", InputSchema: json.RawMessage(`{"type":"object","properties":[]}`)},
					&mcp.Tool{Name: "deep", InputSchema: deep},
					&mcp.Tool{Name: "large", InputSchema: json.RawMessage(`{"type":"object","title":"` + strings.Repeat("x", 100_000) + `"}`)},
					&mcp.Tool{Name: "good", InputSchema: json.RawMessage(`{"type":"object"}`)},
					&mcp.Tool{Name: "untyped", InputSchema: json.RawMessage(`{"properties":{"a":{"type":"string"}}}`)},
				)
			}
			return res, err
		}
	})
	s := serve(t, f)
	tools := list(t, s, mcptoolset.Options[none]{})
	require.Equal(t, []string{"s_good", "s_untyped"}, names(tools))
	require.JSONEq(t, `{"type":"object","properties":{"a":{"type":"string"}}}`, string(tools[1].Def.Schema))
	text := fmt.Sprint(s.Problems())
	for _, want := range []string{
		`tool "string": its schema is not a JSON object`, `tool "array": its schema does not describe an object`,
		`tool "properties": the properties of its schema are not`, `tool "deep": its schema is nested deeper than 64`,
		`tool "large": its schema has`, `tool "good": the server lists it twice`,
	} {
		require.Contains(t, text, want)
	}
	res, err := call(t, s, nil, "r", "s_good", `{}`)
	require.NoError(t, err)
	require.Equal(t, "{}", res.Text)
}

func TestInstructionsAreOptional(t *testing.T) {
	f := newFake(&mcp.ServerOptions{Instructions: "Use me well."})
	f.tool("echo", echo)
	s := serve(t, f)
	require.Empty(t, listing(t, s, mcptoolset.Options[none]{}).Instructions)
	require.Equal(t, "The MCP server \"s\" says about its tools:\nUse me well.", listing(t, s, mcptoolset.Options[none]{Instructions: true}).Instructions)
}

func TestThousandToolsCostOneList(t *testing.T) {
	f := newFake(&mcp.ServerOptions{PageSize: 2000})
	for i := range 1000 {
		f.AddTool(&mcp.Tool{Name: fmt.Sprintf("tool_%d", i), Description: fmt.Sprintf("Does thing number %d.", i), InputSchema: json.RawMessage(`{"type":"object"}`)}, echo)
	}
	f.AddTool(&mcp.Tool{Name: "weather", Description: "Forecast the weather of a city.", InputSchema: json.RawMessage(`{"type":"object"}`)}, echo)
	s := serve(t, f)
	set := mcptoolset.Tools(s, mcptoolset.Options[none]{})
	searchable := toolset.Searchable(set, toolset.Search[none]{})
	for range 3 { // runs
		res, err := toolsettest.Call(t.Context(), searchable, nil, "search_tools", `{"query":"weather forecast"}`)
		require.NoError(t, err)
		require.Contains(t, res.Text, "s_weather: Forecast the weather")
	}
	require.Equal(t, 1, f.count("tools/list"))
	require.Equal(t, 1001, s.Status().Tools)
}

// library has resources and prompts.
func library() *fake {
	f := newFake(&mcp.ServerOptions{Instructions: "A library."})
	f.AddResource(&mcp.Resource{URI: "file:///a", Name: "a", MIMEType: "text/plain", Description: "The letter a."}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "file:///a", MIMEType: "text/plain", Text: "alpha"}}}, nil
	})
	f.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "file:///{name}", Name: "any"}, func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: "image/png", Blob: []byte("png")}}}, nil
	})
	f.AddPrompt(&mcp.Prompt{Name: "greet", Description: "Greet somebody.", Arguments: []*mcp.PromptArgument{{Name: "who", Required: true}, {Name: "how"}}},
		func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "Greet " + r.Params.Arguments["who"] + r.Params.Arguments["how"]}}}}, nil
		})
	return f
}

func TestResourcesAndPromptsAreTools(t *testing.T) {
	s := serve(t, library())
	options := mcptoolset.Options[none]{Resources: true, Prompts: true}
	require.Equal(t, []string{"s_list_resources", "s_read_resource", "s_list_prompts", "s_get_prompt"}, names(list(t, s, options)))
	require.Empty(t, list(t, s, mcptoolset.Options[none]{}))
	set := mcptoolset.Tools(s, options)
	run := func() *toolset.RunContext[none] {
		r := &toolset.RunContext[none]{}
		r.Call.Approved = true
		return r
	}
	for _, c := range []struct{ tool, args, want string }{
		{"s_list_resources", `{}`, "- file:///a a (text/plain) The letter a.\n- template file:///{name} any"},
		{"s_read_resource", `{"uri":"file:///a"}`, "[resource file:///a (text/plain)]\nalpha"},
		{"s_list_prompts", `{}`, "- greet Greet somebody.\n  - argument who (required)\n  - argument how"},
		{"s_get_prompt", `{"name":"greet","arguments":{"who":"Ada"}}`, "[user]\nGreet Ada"},
	} {
		res, err := toolsettest.Call(t.Context(), set, run(), c.tool, c.args)
		require.NoError(t, err, c.tool)
		require.Equal(t, c.want, res.Text)
	}
	res, err := toolsettest.Call(t.Context(), set, run(), "s_read_resource", `{"uri":"file:///pic"}`)
	require.NoError(t, err)
	require.Len(t, res.Content, 1)
	require.Equal(t, []byte("png"), res.Content[0].Data)
	res, err = toolsettest.Call(t.Context(), set, run(), "s_get_prompt", `{"name":"none"}`)
	require.Contains(t, failed(t, res, err), "refused the call")

	_, err = toolsettest.Call(t.Context(), set, nil, "s_read_resource", `{"uri":"file:///a"}`)
	var ask *toolset.ApprovalRequiredError
	require.ErrorAs(t, err, &ask, "they need approval like all other tools")
	require.Contains(t, ask.Approval.Preview[0].Text, "file:///a")
}

// The program says what a server keeps in memory; its tools are then refused where that is lost.
func TestServerThatKeepsStateIsRefused(t *testing.T) {
	f := newFake(nil)
	f.tool("open", echo)
	s := serve(t, f)
	for what, refused := range map[string]bool{"": false, "the pages of a browser": true} {
		set := toolset.Stateless(mcptoolset.Tools(s, mcptoolset.Options[none]{InMemory: what}))
		in, err := set.Open(t.Context(), new(toolset.RunContext[none]))
		require.NoError(t, err)
		_, err = in.Tools(t.Context(), new(toolset.RunContext[none]))
		require.Equal(t, refused, err != nil)
		if refused {
			require.ErrorContains(t, err, `the tool "s_open" keeps state in memory (the pages of a browser)`)
		}
		require.NoError(t, in.Close(t.Context()))
	}
}
