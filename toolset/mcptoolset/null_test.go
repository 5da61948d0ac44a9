// SPDX-License-Identifier: Apache-2.0

//lint:file-ignore SA1019 Servers still use what the newest version of the protocol deprecates.

package mcptoolset_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

// answers makes a server answer a method with a result.
func (f *fake) answers(method string, res mcp.Result) {
	f.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, m string, req mcp.Request) (mcp.Result, error) {
			if m == method {
				return res, nil
			}
			return next(ctx, m, req)
		}
	})
}

// The lists of a server may have null in the place of anything. The other entries are what they are.
func TestNullsInListsAreLeftOut(t *testing.T) {
	f := library()
	f.tool("echo", echo)
	f.answers("tools/list", &mcp.ListToolsResult{Tools: []*mcp.Tool{nil, {Name: "echo", InputSchema: jsonOf(`{"type":"object"}`)}, nil}})
	f.answers("resources/list", &mcp.ListResourcesResult{Resources: []*mcp.Resource{nil, {URI: "file:///a", Name: "a"}, nil, {URI: "file:///b", Name: "b"}}})
	f.answers("resources/templates/list", &mcp.ListResourceTemplatesResult{ResourceTemplates: []*mcp.ResourceTemplate{nil, {URITemplate: "file:///{x}", Name: "x"}}})
	f.answers("prompts/list", &mcp.ListPromptsResult{Prompts: []*mcp.Prompt{nil, {Name: "greet", Arguments: []*mcp.PromptArgument{nil, {Name: "who", Required: true}, nil, {Name: "how"}}}}})
	f.answers("resources/read", &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{nil, {URI: "file:///a", Text: "text of a"}}})
	f.answers("prompts/get", &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{nil, {Role: "user", Content: &mcp.TextContent{Text: "Greet."}}}})
	s := serve(t, f)
	options := mcptoolset.Options[none]{Resources: true, Prompts: true}
	require.Equal(t, []string{"s_echo", "s_list_resources", "s_read_resource", "s_list_prompts", "s_get_prompt"}, names(list(t, s, options)))
	run := &toolset.RunContext[none]{}
	run.Call.Approved = true
	for _, c := range []struct{ tool, args, want string }{
		{"s_list_resources", `{}`, "- file:///a a\n- file:///b b\n- template file:///{x} x"},
		{"s_list_prompts", `{}`, "- greet\n  - argument who (required)\n  - argument how"},
		{"s_read_resource", `{"uri":"file:///a"}`, "[resource file:///a]\ntext of a"},
		{"s_get_prompt", `{"name":"greet"}`, "[user]\nGreet."},
	} {
		res, err := toolsettest.Call(t.Context(), mcptoolset.Tools(s, options), run, c.tool, c.args)
		require.NoError(t, err, c.tool)
		require.Equal(t, c.want, res.Text)
	}
	commands, err := mcptoolset.Commands[none](t.Context(), s)
	require.NoError(t, err)
	require.Len(t, commands, 1)
	require.Equal(t, "who [how]", commands[0].Hint)
}

// A server may ask with null in the place of a message, at which the SDK would end the program.
func TestNullInARequestToTheModelIsLeftOut(t *testing.T) {
	f := newFake(nil)
	f.tool("old", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res, err := r.Session.CreateMessageWithTools(ctx, &mcp.CreateMessageWithToolsParams{MaxTokens: 5, Messages: []*mcp.SamplingMessageV2{
			nil, {Role: "user", Content: []mcp.Content{&mcp.TextContent{Text: "What is 2+2?"}}}, nil,
		}})
		if err != nil {
			return nil, err
		}
		data, err := json.Marshal(res)
		return say(string(data)), err
	})
	f.tool("new", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		data, err := json.Marshal(r.Params.InputResponses)
		return say(string(data)), err
	})
	f.tool("only", echo)
	message := &mcp.SamplingMessage{Role: "user", Content: &mcp.TextContent{Text: "What is 2+2?"}}
	f.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler { // the SDK's servers would panic themselves
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if r, ok := req.(*mcp.CallToolRequest); ok && r.Params.Name != "old" && len(r.Params.InputResponses) == 0 {
				params := &mcp.CreateMessageParams{MaxTokens: 5, Messages: []*mcp.SamplingMessage{nil, message, nil}}
				if r.Params.Name == "only" {
					params.Messages = params.Messages[:1]
				}
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"a": params}}, nil
			}
			return next(ctx, method, req)
		}
	})
	allow := func(c *mcptoolset.Config) { c.Sampling = mcptoolset.SamplingAllow }
	for name, transport := range connections(t, f) {
		for _, tool := range []string{"old", "new", "only"} {
			version := func(c *mcptoolset.Config) {
				if c.ProtocolVersion = "2025-11-25"; name == "SSE" {
					c.ProtocolVersion = "2024-11-05"
				}
			}
			t.Run(name+" "+tool, func(t *testing.T) {
				m := modeltest.Script(modeltest.SayText("4"))
				res, err := call(t, serve(t, f, over(transport), version, allow), &toolsettest.Host{Model: m}, "r", "s_"+tool, `{}`)
				if tool == "only" {
					require.Contains(t, failed(t, res, err), "the last message must be the user's")
					require.Empty(t, m.Requests())
					return
				}
				require.NoError(t, err)
				require.Contains(t, res.Text, `"text":"4"`)
				require.Len(t, m.Requests()[0].Messages, 1)
				require.Equal(t, "What is 2+2?", m.Requests()[0].Messages[0].Parts[0].Text)
			})
		}
	}
}

// nulling is a connection on which one value, counted through all that the server says, is null.
type nulling struct {
	mcp.Transport
	left *int
}

func (n nulling) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := n.Transport.Connect(ctx)
	return nulled{c, n.left}, err
}

type nulled struct {
	mcp.Connection
	left *int
}

// Read implements [mcp.Connection].
func (n nulled) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := n.Connection.Read(ctx)
	switch m := msg.(type) {
	case *jsonrpc.Response:
		m.Result = n.change(m.Result)
	case *jsonrpc.Request:
		m.Params = n.change(m.Params)
	}
	return msg, err
}

func (n nulled) change(data json.RawMessage) json.RawMessage {
	var v any
	if *n.left < 0 || json.Unmarshal(data, &v) != nil {
		return data
	}
	v = n.walk(v)
	changed, err := json.Marshal(v)
	if err != nil {
		return data
	}
	return changed
}

func (n nulled) walk(v any) any {
	if *n.left--; *n.left == -1 {
		return nil
	}
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = n.walk(v[i])
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			v[k] = n.walk(v[k])
		}
	}
	return v
}

// Whatever is null in what a server says, the program goes on, and calls end.
func TestNullAnywhereHarmsNobody(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes hundreds of connections")
	}
	f := library()
	f.tool("echo", echo)
	f.tool("ask", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1})
		if _, err := r.Session.Elicit(ctx, form); err != nil {
			return nil, err
		}
		res, err := r.Session.CreateMessageWithTools(ctx, &mcp.CreateMessageWithToolsParams{MaxTokens: 5, SystemPrompt: "x", StopSequences: []string{"y"}, Messages: []*mcp.SamplingMessageV2{
			{Role: "user", Content: []mcp.Content{&mcp.TextContent{Text: "What?"}}},
		}})
		if err != nil {
			return nil, err
		}
		return &mcp.CallToolResult{Content: append(res.Content, &mcp.ImageContent{MIMEType: "image/png", Data: []byte("x")}), StructuredContent: jsonOf(`{"a":[1]}`)}, nil
	})
	f.tool("input", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		data, err := json.Marshal(r.Params.InputResponses)
		return say(string(data)), err
	})
	f.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if r, ok := req.(*mcp.CallToolRequest); ok && r.Params.Name == "input" && len(r.Params.InputResponses) == 0 {
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"a": sampling, "b": form}}, nil
			}
			return next(ctx, method, req)
		}
	})
	options := mcptoolset.Options[none]{Resources: true, Prompts: true}
	for n := range 10_000 {
		left := n
		dial := mcptoolset.Func(func(ctx context.Context) (mcp.Transport, error) {
			inner, err := f.dial(ctx)
			return nulling{inner, &left}, err
		})
		s, err := mcptoolset.New(mcptoolset.Config{Name: "s", Transport: dial, ProtocolVersion: "2025-11-25", Sampling: mcptoolset.SamplingAllow, CallTimeout: 10 * time.Second, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		host := &toolsettest.Host{Asker: &person{reply: toolset.Reply{Action: toolset.ActionAccept, Content: jsonOf(`{"n":3}`)}}, Model: modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
			return model.Response(model.Text("4")), nil
		})}
		run := &toolset.RunContext[none]{Host: host}
		run.Call.Approved = true
		set := mcptoolset.Tools(s, options)
		for _, c := range [][2]string{
			{"s_echo", `{}`}, {"s_ask", `{}`}, {"s_input", `{}`}, {"s_list_resources", `{}`}, {"s_read_resource", `{"uri":"file:///a"}`}, {"s_list_prompts", `{}`}, {"s_get_prompt", `{"name":"greet"}`},
		} {
			_, _ = toolsettest.Call(t.Context(), set, run, c[0], c[1])
		}
		_, _ = mcptoolset.Commands[none](t.Context(), s)
		require.NoError(t, s.Close())
		if left >= 0 {
			require.Greater(t, n, 100)
			return
		}
	}
}
