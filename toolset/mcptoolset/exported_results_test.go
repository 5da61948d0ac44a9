// SPDX-License-Identifier: Apache-2.0

package mcptoolset_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

// connect is a client of the SDK, which shows what is sent.
func connect(t *testing.T, s *mcp.Server, progress chan<- string) *mcp.ClientSession {
	t.Helper()
	ours, theirs := mcp.NewInMemoryTransports()
	_, err := s.Connect(t.Context(), theirs, nil)
	require.NoError(t, err)
	o := &mcp.ClientOptions{}
	if progress != nil {
		o.ProgressNotificationHandler = func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			progress <- r.Params.Message
		}
	}
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(), ours, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// textOf returns the first text of a result.
func textOf(t *testing.T, c *mcp.ClientSession, tool string, args any) (string, *mcp.CallToolResult) {
	t.Helper()
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	require.NoError(t, err)
	require.NotEmpty(t, res.Content)
	return res.Content[0].(*mcp.TextContent).Text, res
}

func plain(name string, f func(context.Context, *toolset.RunContext[deps]) (toolset.Result, error), opts ...toolset.Option) *toolset.Tool[deps] {
	return toolset.Func(name, "A tool.", func(ctx context.Context, run *toolset.RunContext[deps], _ struct{}) (toolset.Result, error) {
		return f(ctx, run)
	}, opts...)
}

func done(context.Context, *toolset.RunContext[deps]) (toolset.Result, error) {
	return toolset.Result{Text: "done"}, nil
}

func serveExported(t *testing.T, c mcptoolset.ExportConfig[deps], tools ...*toolset.Tool[deps]) *mcp.ClientSession {
	t.Helper()
	c.Name = "x"
	s, err := mcptoolset.Export(t.Context(), toolset.Of(tools...), c)
	require.NoError(t, err)
	return connect(t, s, nil)
}

func TestClientsAreToldWhichToolsOnlyRead(t *testing.T) {
	kinds := map[toolset.Kind]bool{
		toolset.KindRead: true, toolset.KindSearch: true, toolset.KindThink: true, toolset.KindFetch: true,
		toolset.KindEdit: false, toolset.KindDelete: false, toolset.KindExecute: false, toolset.KindOther: false, "": false,
	}
	var tools []*toolset.Tool[deps]
	for kind := range kinds {
		tools = append(tools, plain("tool_"+string(kind), done, toolset.OfKind(kind, "Title")))
	}
	res, err := serveExported(t, mcptoolset.ExportConfig[deps]{}, tools...).ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, res.Tools, len(kinds))
	for _, tool := range res.Tools {
		reads := kinds[toolset.Kind(strings.TrimPrefix(tool.Name, "tool_"))]
		require.Equal(t, reads, tool.Annotations != nil, tool.Name)
		if reads {
			require.True(t, tool.Annotations.ReadOnlyHint)
			require.False(t, *tool.Annotations.DestructiveHint)
		}
		require.Equal(t, "Title", tool.Title)
	}
}

func TestContentOfResultsIsSent(t *testing.T) {
	for _, outcome := range []model.Outcome{model.OutcomeSuccess, model.OutcomeFailed} {
		c := serveExported(t, mcptoolset.ExportConfig[deps]{}, plain("get", func(context.Context, *toolset.RunContext[deps]) (toolset.Result, error) {
			return toolset.Result{Text: "text", Outcome: outcome, Content: []model.Part{
				model.Media("image/png", []byte("i")), model.Media("audio/wav", []byte("a")), {Kind: model.PartMedia, MediaType: "application/pdf", Name: "x.pdf", Data: []byte("p")},
				{Kind: model.PartMedia, MediaType: "image/png", URL: "https://example.com/x.png", Name: "x"}, model.User("more"), model.User(""),
			}}, nil
		}))
		_, res := textOf(t, c, "get", nil)
		require.Equal(t, outcome == model.OutcomeFailed, res.IsError)
		require.Equal(t, []mcp.Content{
			&mcp.TextContent{Text: "text"}, &mcp.ImageContent{MIMEType: "image/png", Data: []byte("i")}, &mcp.AudioContent{MIMEType: "audio/wav", Data: []byte("a")},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "attachment:x.pdf", MIMEType: "application/pdf", Blob: []byte("p")}},
			&mcp.ResourceLink{URI: "https://example.com/x.png", Name: "x", MIMEType: "image/png"}, &mcp.TextContent{Text: "more"},
		}, res.Content)
	}
}

// broken is a toolset of which one step fails.
type broken struct {
	toolset.Toolset[deps]
	at  *string
	err error
}

func (b broken) Open(ctx context.Context, run *toolset.RunContext[deps]) (toolset.Instance[deps], error) {
	in, err := b.Toolset.Open(ctx, run)
	if *b.at == "open" {
		return nil, b.err
	}
	return brokenInstance{in, b}, err
}

type brokenInstance struct {
	toolset.Instance[deps]
	broken
}

func (b brokenInstance) Tools(ctx context.Context, run *toolset.RunContext[deps]) (toolset.Listing[deps], error) {
	switch *b.at {
	case "tools":
		return toolset.Listing[deps]{}, b.err
	case "gone":
		return toolset.Listing[deps]{}, nil
	}
	return b.Instance.Tools(ctx, run)
}

func (b brokenInstance) Close(ctx context.Context) error {
	if err := b.Instance.Close(ctx); err != nil || *b.at != "close" {
		return err
	}
	return b.err
}

// What goes wrong around a tool is none of the client's business, either, and New reports it.
func TestErrorsAroundAToolAreNotTold(t *testing.T) {
	boom := errors.New("password=hunter2")
	for at, want := range map[string]string{"open": `The tool "get" failed.`, "tools": `The tool "get" failed.`, "close": `The tool "get" failed.`, "gone": `The tool "get" is not available now.`} {
		now := ""
		set := broken{toolset.Of(plain("get", done)), &now, boom}
		var log logged
		s, err := mcptoolset.Export(t.Context(), set, config(nil, &log))
		require.NoError(t, err)
		c := connect(t, s, nil)
		now = at
		text, res := textOf(t, c, "get", nil)
		require.True(t, res.IsError)
		require.Equal(t, want, text)
		if at == "gone" {
			continue
		}
		require.Contains(t, log.String(), "hunter2")
		_, err = mcptoolset.Export(t.Context(), set, config(nil, &log))
		require.ErrorIs(t, err, boom, at)
		require.ErrorContains(t, err, "mcptoolset: ")
	}
	for name, deps := range map[string]func(context.Context) (deps, error){
		"error": func(context.Context) (deps, error) { return deps{}, boom }, "panic": func(context.Context) (deps, error) { panic("password=hunter2") },
	} {
		var log logged
		c := config(nil, &log)
		c.Deps = deps
		_, err := mcptoolset.Export(t.Context(), tools(), c)
		require.ErrorContains(t, err, "mcptoolset: export: dependencies: ", name)

		first := true
		c.Deps = func(ctx context.Context) (d depsOf, err error) {
			if first {
				first = false
				return d, nil
			}
			return deps(ctx)
		}
		s, err := mcptoolset.Export(t.Context(), toolset.Of(plain("get", done)), c)
		require.NoError(t, err)
		text, _ := textOf(t, connect(t, s, nil), "get", nil)
		require.Equal(t, `The tool "get" failed.`, text)
		require.Contains(t, log.String(), "hunter2")
	}
}

type depsOf = deps

func TestPolicyThatFailsDenies(t *testing.T) {
	asks := plain("get", done, toolset.Approve(func(context.Context, *toolset.RunContext[deps], struct{}) (*toolset.Approval, error) {
		return &toolset.Approval{}, nil
	}))
	for name, policy := range map[string]func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error){
		"error": func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
			return toolset.Allow(), errors.New("boom")
		},
		"panic": func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) { panic("boom") },
	} {
		var log logged
		s, err := mcptoolset.Export(t.Context(), toolset.Of(asks), config(policy, &log))
		require.NoError(t, err)
		text, res := textOf(t, connect(t, s, nil), "get", nil)
		require.True(t, res.IsError)
		require.Equal(t, `The tool "get" failed.`, text, name)
		require.Contains(t, log.String(), "boom")
	}
	wrong := plain("get", done, toolset.Approve(func(context.Context, *toolset.RunContext[deps], struct{}) (*toolset.Approval, error) {
		return nil, toolset.Failed("no such thing")
	}))
	text, _ := textOf(t, serveExported(t, mcptoolset.ExportConfig[deps]{}, wrong), "get", nil)
	require.Equal(t, "no such thing", text)
}

// The policy is told which call it is about.
func TestPolicyIsToldOfTheCall(t *testing.T) {
	var asked toolset.ApprovalRequest
	c := mcptoolset.ExportConfig[deps]{Approve: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
		asked = r
		return toolset.Allow(), nil
	}}
	tool := plain("get", func(_ context.Context, run *toolset.RunContext[deps]) (toolset.Result, error) {
		require.Equal(t, "yes", run.Call.Approval.Title)
		require.Equal(t, toolset.VerdictAllow, run.Call.Decision.Verdict)
		require.Equal(t, 1, run.Step)
		return toolset.Result{Text: run.RunID}, nil
	}, toolset.OfKind(toolset.KindEdit, "Title"), toolset.Approve(func(context.Context, *toolset.RunContext[deps], struct{}) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "yes"}, nil
	}))
	run, _ := textOf(t, serveExported(t, c, tool), "get", json.RawMessage(`{}`))
	require.Equal(t, toolset.Origin{Path: []string{"1"}, RunID: run, Step: 1, Tool: "get", Kind: toolset.KindEdit, Title: "Title"}, asked.Origin)
	require.JSONEq(t, `{}`, string(asked.Args))
}

// A tool that is never content with its approval ends.
func TestCallMayAskForApprovalFiveTimes(t *testing.T) {
	for needs, ends := range map[int]bool{4: true, 5: false} {
		calls := 0
		c := serveExported(t, mcptoolset.ExportConfig[deps]{Approve: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) { return toolset.Allow(), nil }},
			plain("get", func(context.Context, *toolset.RunContext[deps]) (toolset.Result, error) {
				if calls++; calls <= needs {
					return toolset.Result{}, toolset.ApprovalRequired(toolset.Approval{})
				}
				return toolset.Result{Text: "done"}, nil
			}))
		text, res := textOf(t, c, "get", nil)
		require.Equal(t, !ends, res.IsError)
		if !ends {
			require.Equal(t, "The call kept asking for approval.", text)
			require.Equal(t, 5, calls)
		}
	}
}

// Checks look at a call without a host: nobody can be asked before a call is allowed.
func TestChecksHaveNoHost(t *testing.T) {
	c := serveExported(t, mcptoolset.ExportConfig[deps]{}, plain("get", done, toolset.Check(func(_ context.Context, run *toolset.RunContext[deps], _ struct{}) error {
		require.Nil(t, run.Host)
		return toolset.Retry("not now")
	})), plain("generate", func(ctx context.Context, run *toolset.RunContext[deps]) (toolset.Result, error) {
		_, err := run.Generate(ctx, &model.Request{})
		require.ErrorIs(t, err, toolset.ErrNobody)
		return toolset.Result{Text: "nobody"}, nil
	}))
	text, res := textOf(t, c, "get", nil)
	require.True(t, res.IsError)
	require.Equal(t, "not now", text)
	text, _ = textOf(t, c, "generate", nil)
	require.Equal(t, "nobody", text)
}

func TestTimeoutHoldsForToolsWithoutOne(t *testing.T) {
	wait := func(ctx context.Context, _ *toolset.RunContext[deps]) (toolset.Result, error) {
		<-ctx.Done()
		return toolset.Result{}, ctx.Err()
	}
	c := serveExported(t, mcptoolset.ExportConfig[deps]{Timeout: 2 * time.Millisecond}, plain("own", wait, toolset.Timeout(time.Millisecond)), plain("servers", wait))
	for tool, want := range map[string]string{"own": "The tool took longer than 1ms.", "servers": "The tool took longer than 2ms."} {
		text, res := textOf(t, c, tool, nil)
		require.True(t, res.IsError)
		require.Equal(t, want, text)
	}
}

func serveAgent[O any](t *testing.T, m model.Model, c mcptoolset.ExportConfig[deps], progress chan<- string) *mcp.ClientSession {
	t.Helper()
	c.Name = "x"
	s, err := mcptoolset.ExportAgent(agent.Must(agent.New(agent.Config[deps, O]{Model: m})), mcptoolset.AgentTool{Name: "do", Description: "Do it."}, c)
	require.NoError(t, err)
	return connect(t, s, progress)
}

func TestErrorsOfAnAgentAreNotTold(t *testing.T) {
	var log logged
	c := config(nil, &log)
	text, res := textOf(t, serveAgent[string](t, modeltest.Script(modeltest.Fail(errors.New("hunter2"))), c, nil), "do", map[string]string{"prompt": "x"})
	require.True(t, res.IsError)
	require.Equal(t, `The tool "do" failed.`, text)
	require.Contains(t, log.String(), "hunter2")

	c.Deps = func(context.Context) (deps, error) { return deps{}, errors.New("no user") }
	text, _ = textOf(t, serveAgent[string](t, modeltest.Auto(), c, nil), "do", map[string]string{"prompt": "x"})
	require.Equal(t, `The tool "do" failed.`, text)

	c.Deps, c.Timeout = nil, time.Millisecond
	wait := modeltest.Func(func(ctx context.Context, _ *model.Request) (*model.Message, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	text, _ = textOf(t, serveAgent[string](t, wait, c, nil), "do", map[string]string{"prompt": "x"})
	require.Equal(t, `The tool "do" failed.`, text)
	_, err := mcptoolset.ExportAgent(agent.Must(agent.New(agent.Config[deps, string]{Model: wait})), mcptoolset.AgentTool{Name: "do", Description: "x"}, mcptoolset.ExportConfig[deps]{})
	require.ErrorContains(t, err, "Name is empty")
}

func TestOutputThatIsNoObjectIsText(t *testing.T) {
	text, res := textOf(t, serveAgent[[]int](t, modeltest.Auto(), mcptoolset.ExportConfig[deps]{}, nil), "do", map[string]string{"prompt": "x"})
	require.Regexp(t, `^\[.*\]$`, text)
	require.Nil(t, res.StructuredContent)
}

// The client is told of tools and text, a part of it if it is long, and with whole characters.
func TestProgressOfAnAgentIsBounded(t *testing.T) {
	long := strings.Repeat("😀", 100)
	m := modeltest.Script(modeltest.SayText(long))
	progress := make(chan string, 100)
	c := serveAgent[string](t, model.Func(model.Info{}, func(ctx context.Context, r *model.Request, sink model.Sink) (*model.Message, error) {
		if sink != nil {
			if err := sink(model.Delta{Kind: model.PartText, Text: long}); err != nil {
				return nil, err
			}
		}
		return m.Generate(ctx, r, nil)
	}), mcptoolset.ExportConfig[deps]{}, progress)
	params := &mcp.CallToolParams{Name: "do", Arguments: map[string]string{"prompt": "x"}}
	_, err := c.CallTool(t.Context(), params)
	require.NoError(t, err)
	require.Empty(t, progress, "nobody has asked for it")
	params.SetProgressToken("p")
	for before, fit := range []int{50, 49, 49, 49, 49} { // 200 bytes
		begin := strings.Repeat("x", before)
		long = begin + strings.Repeat("😀", 100)
		m = modeltest.Script(modeltest.SayText(long))
		_, err = c.CallTool(t.Context(), params)
		require.NoError(t, err)
		require.Equal(t, begin+strings.Repeat("😀", fit), <-progress)
		require.Empty(t, progress)
	}
}

// The model of a client reads outputs in the form that the schemas describe, and as they are written.
func TestOutputOfAnAgentIsWrittenAsItsSchemaSays(t *testing.T) {
	type plan struct {
		Wait time.Duration `json:"wait"`
		Do   string        `json:"do"`
	}
	m := modeltest.Script(modeltest.Say(model.ToolCall("1", "final_result", `{"wait":"1h30m0s","do":"a < b && c > d"}`)))
	text, res := textOf(t, serveAgent[plan](t, m, mcptoolset.ExportConfig[deps]{}, nil), "do", map[string]string{"prompt": "x"})
	require.False(t, res.IsError, text)
	require.Equal(t, `{"wait":"1h30m0s","do":"a < b && c > d"}`, text)
	require.Equal(t, map[string]any{"wait": "1h30m0s", "do": "a < b && c > d"}, res.StructuredContent)
}
