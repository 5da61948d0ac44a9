// SPDX-License-Identifier: Apache-2.0

package mcptoolset_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

type deps struct{ user string }

type in struct {
	Name string `json:"name" validate:"required"`
}

// tools are tools of all kinds.
func tools() toolset.Toolset[deps] {
	type fn = func(context.Context, *toolset.RunContext[deps], in) (toolset.Result, error)
	tool := func(name string, f fn, opts ...toolset.Option) *toolset.Tool[deps] {
		return toolset.Func(name, "The tool "+name+".", f, opts...)
	}
	approve := toolset.Approve(func(_ context.Context, _ *toolset.RunContext[deps], i in) (*toolset.Approval, error) {
		return &toolset.Approval{Scope: i.Name}, nil
	})
	return toolset.Instructed(toolset.Of(
		tool("greet", func(_ context.Context, run *toolset.RunContext[deps], i in) (toolset.Result, error) {
			run.Emit(mcptoolset.Progress{Progress: 1, Total: 2, Message: "half"})
			run.Emit("dropped")
			return toolset.Result{Text: "Hello " + i.Name + " from " + run.Deps.user, Content: []model.Part{model.Media("image/png", []byte("png"))}}, nil
		}, toolset.OfKind(toolset.KindRead, "Greet")),
		tool("fail", func(context.Context, *toolset.RunContext[deps], in) (toolset.Result, error) {
			return toolset.Result{}, toolset.Failed("no luck")
		}),
		tool("retry", func(context.Context, *toolset.RunContext[deps], in) (toolset.Result, error) {
			return toolset.Result{}, toolset.Retry("another name")
		}),
		tool("break", func(context.Context, *toolset.RunContext[deps], in) (toolset.Result, error) {
			return toolset.Result{}, errors.New("password=hunter2")
		}),
		tool("panic", func(context.Context, *toolset.RunContext[deps], in) (toolset.Result, error) {
			panic("password=hunter2")
		}),
		tool("remove", func(_ context.Context, run *toolset.RunContext[deps], i in) (toolset.Result, error) {
			return toolset.Result{Text: fmt.Sprint("removed ", i.Name, run.Call.Approved)}, nil
		}, approve),
		tool("late", func(_ context.Context, run *toolset.RunContext[deps], i in) (toolset.Result, error) {
			if !run.Call.Approved {
				return toolset.Result{}, toolset.ApprovalRequired(toolset.Approval{Scope: i.Name})
			}
			return toolset.Result{Text: "late " + i.Name}, nil
		}),
		tool("ask", func(ctx context.Context, run *toolset.RunContext[deps], _ in) (toolset.Result, error) {
			_, err := run.Ask(ctx, toolset.Question{Message: "?"})
			if errors.Is(err, toolset.ErrNobody) {
				return toolset.Result{Text: "nobody"}, nil
			}
			return toolset.Result{}, err
		}),
		tool("slow", func(ctx context.Context, _ *toolset.RunContext[deps], _ in) (toolset.Result, error) {
			<-ctx.Done()
			return toolset.Result{}, ctx.Err()
		}, toolset.Timeout(time.Millisecond)),
		toolset.ExternalTool[deps, in]("outside", "Elsewhere."),
	), "Be kind.")
}

// logged is a log that servers may still write to while a test reads it.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func config(policy func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error), log *logged) mcptoolset.ExportConfig[deps] {
	return mcptoolset.ExportConfig[deps]{
		Name: "shop", Version: "2", Instructions: "A shop.", Approve: policy,
		Deps:   func(context.Context) (deps, error) { return deps{"ada"}, nil },
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	}
}

// client uses the server as an agent would, with our own toolset.
func client(t *testing.T, s *mcp.Server) *mcptoolset.Server {
	t.Helper()
	c := mcptoolset.Must(mcptoolset.New(mcptoolset.Config{Name: "c", Unprefixed: true, Transport: mcptoolset.Func(func(ctx context.Context) (mcp.Transport, error) {
		ours, theirs := mcp.NewInMemoryTransports()
		_, err := s.Connect(context.WithoutCancel(ctx), theirs, nil)
		return ours, err
	})}))
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func callExported(t *testing.T, c *mcptoolset.Server, host toolset.Host, tool, args string) (toolset.Result, error) {
	t.Helper()
	run := &toolset.RunContext[struct{}]{Host: host}
	run.Call.Approved = true
	return toolsettest.Call(t.Context(), mcptoolset.Tools(c, mcptoolset.Options[struct{}]{Instructions: true}), run, tool, args)
}

func TestToolsetIsServed(t *testing.T) {
	var log logged
	s, err := mcptoolset.Export(t.Context(), tools(), config(nil, &log))
	require.NoError(t, err)
	c := client(t, s)
	host := &toolsettest.Host{}
	res, err := callExported(t, c, host, "greet", `{"name":"Bob"}`)
	require.NoError(t, err)
	require.Contains(t, res.Text, "Hello Bob from ada")
	require.Equal(t, []byte("png"), res.Content[0].Data)
	require.Equal(t, []any{mcptoolset.Progress{Server: "c", Tool: "greet", Progress: 1, Total: 2, Message: "half"}}, host.Events())

	for _, x := range []struct{ tool, args, want string }{
		{"greet", `{}`, "name: required field is missing"},
		{"fail", `{"name":"x"}`, "no luck"},
		{"retry", `{"name":"x"}`, "another name"},
		{"break", `{"name":"x"}`, `The tool "break" failed.`},
		{"panic", `{"name":"x"}`, `The tool "panic" failed.`},
		{"slow", `{"name":"x"}`, "took longer than 1ms"},
	} {
		res, err := callExported(t, c, nil, x.tool, x.args)
		require.NoError(t, err)
		require.Equal(t, model.OutcomeFailed, res.Outcome, x.tool)
		require.Contains(t, res.Text, x.want)
		require.NotContains(t, res.Text, "hunter2", "what went wrong inside is none of the client's business")
	}
	require.Contains(t, log.String(), "hunter2")
	res, err = callExported(t, c, nil, "ask", `{"name":"x"}`)
	require.NoError(t, err)
	require.Equal(t, "nobody", res.Text)
	require.NotContains(t, fmt.Sprint(c.Status()), "outside")
	_, err = callExported(t, c, nil, "outside", `{"name":"x"}`)
	require.ErrorContains(t, err, "has no tool")
}

func TestApprovalIsDeniedUnlessPolicyAllows(t *testing.T) {
	var log logged
	s, err := mcptoolset.Export(t.Context(), tools(), config(nil, &log))
	require.NoError(t, err)
	c := client(t, s)
	for _, tool := range []string{"remove", "late"} {
		res, err := callExported(t, c, nil, tool, `{"name":"x"}`)
		require.NoError(t, err)
		require.Contains(t, res.Text, "needs approval, and the server's policy does not give it")
	}
	s, err = mcptoolset.Export(t.Context(), tools(), config(func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
		switch r.Approval.Scope {
		case "a":
			return toolset.Allow(), nil
		case "b":
			return toolset.AllowWith(json.RawMessage(`{"name":"c"}`)), nil
		case "d":
			return toolset.Deny("not d"), nil
		}
		return toolset.Defer(), nil
	}, &log))
	require.NoError(t, err)
	c = client(t, s)
	for args, want := range map[string]string{`{"name":"a"}`: "removed atrue", `{"name":"b"}`: "removed ctrue", `{"name":"d"}`: "not d", `{"name":"e"}`: "policy does not give it"} {
		res, err := callExported(t, c, nil, "remove", args)
		require.NoError(t, err)
		require.Contains(t, res.Text, want)
	}
	res, err := callExported(t, c, nil, "late", `{"name":"a"}`)
	require.NoError(t, err)
	require.Equal(t, "late a", res.Text)
}

func TestServedOverHTTP(t *testing.T) {
	var log logged
	s, err := mcptoolset.Export(t.Context(), tools(), config(nil, &log))
	require.NoError(t, err)
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	defer web.Close()
	c := mcptoolset.Must(mcptoolset.New(mcptoolset.Config{Name: "c", Transport: mcptoolset.HTTP{URL: web.URL}}))
	res, err := callExported(t, c, nil, "c_greet", `{"name":"Bob"}`)
	require.NoError(t, err)
	require.Contains(t, res.Text, "Hello Bob from ada")
	require.NoError(t, c.Close())
	for session := range s.Sessions() {
		require.NoError(t, session.Close())
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

func TestAgentIsServed(t *testing.T) {
	var log logged
	remove := toolset.Func("remove", "Remove.", func(_ context.Context, run *toolset.RunContext[deps], i in) (string, error) { return "removed", nil },
		toolset.Approve(func(context.Context, *toolset.RunContext[deps], in) (*toolset.Approval, error) {
			return &toolset.Approval{}, nil
		}))
	script := func() model.Model {
		return modeltest.Script(modeltest.Say(model.ToolCall("1", "remove", `{"name":"x"}`)), modeltest.SayText("All done."))
	}
	for _, allow := range []bool{false, true} {
		m := script()
		a := agent.Must(agent.New(agent.Config[deps, string]{Model: m, Tools: []*toolset.Tool[deps]{remove}}))
		s, err := mcptoolset.ExportAgent(a, mcptoolset.AgentTool{Name: "clean", Description: "Clean up."}, config(func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
			if allow {
				return toolset.Allow(), nil
			}
			return toolset.Defer(), nil
		}, &log))
		require.NoError(t, err)
		c := client(t, s)
		host := &toolsettest.Host{}
		res, err := callExported(t, c, host, "clean", `{"prompt":"Clean."}`)
		require.NoError(t, err)
		require.Equal(t, "All done.", res.Text)
		events := host.Events()
		require.NotEmpty(t, events, "progress of the stream")
		require.Equal(t, "done.", events[len(events)-1].(mcptoolset.Progress).Message)
		last := m.(interface{ Requests() []*model.Request }).Requests()[1]
		part := last.Messages[len(last.Messages)-1].Parts[0]
		require.Equal(t, allow, part.Text == "removed", part.Text)

		res, err = callExported(t, c, nil, "clean", `{}`)
		require.NoError(t, err)
		require.Contains(t, res.Text, "prompt: a text is required")
	}
}

func TestAgentWithStructuredOutput(t *testing.T) {
	type out struct {
		N int `json:"n"`
	}
	a := agent.Must(agent.New(agent.Config[deps, out]{Model: modeltest.Auto()}))
	s, err := mcptoolset.ExportAgent(a, mcptoolset.AgentTool{Name: "count", Description: "Count."}, mcptoolset.ExportConfig[deps]{Name: "x"})
	require.NoError(t, err)
	res, err := callExported(t, client(t, s), nil, "count", `{"prompt":"Count."}`)
	require.NoError(t, err)
	require.Contains(t, res.Text, `{"n":`)
	require.Contains(t, string(res.Meta), `"structured":{"n":`)
}

func TestWrongConfigurations(t *testing.T) {
	_, err := mcptoolset.Export(t.Context(), tools(), mcptoolset.ExportConfig[deps]{})
	require.ErrorContains(t, err, "Name is empty")
	_, err = mcptoolset.Export[deps](t.Context(), nil, mcptoolset.ExportConfig[deps]{Name: "x"})
	require.ErrorContains(t, err, "the toolset is nil")
	_, err = mcptoolset.Export(t.Context(), toolset.Of(toolset.Func("a b", "", func(context.Context, *toolset.RunContext[deps], in) (string, error) { return "", nil })), mcptoolset.ExportConfig[deps]{Name: "x"})
	require.ErrorContains(t, err, "a b")
	_, err = mcptoolset.ExportAgent[deps, string](nil, mcptoolset.AgentTool{}, mcptoolset.ExportConfig[deps]{Name: "x"})
	require.ErrorContains(t, err, "are required")
	a := agent.Must(agent.New(agent.Config[deps, string]{Model: modeltest.Auto()}))
	_, err = mcptoolset.ExportAgent(a, mcptoolset.AgentTool{Name: "a b", Description: "x"}, mcptoolset.ExportConfig[deps]{Name: "x"})
	require.ErrorContains(t, err, `"a b"`)
}
