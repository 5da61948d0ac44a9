// SPDX-License-Identifier: Apache-2.0

//lint:file-ignore SA1019 Servers still use what the newest version of the protocol deprecates.

package mcptoolset_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

// A server that uses the model is told the whole answer, or that there is none: a model that was
// refused, or that failed, has not answered, whatever text it left.
func TestServersAreToldOnlyUsableAnswers(t *testing.T) {
	answer := func(stop string) string {
		return `{"content":{"type":"text","text":"4"},"model":"test-model","role":"assistant","stopReason":"` +
			stop + `"}`
	}
	for finish, want := range map[model.FinishReason]string{
		model.FinishStop: answer("endTurn"), model.FinishLength: answer("maxTokens"),
		model.FinishToolCalls: answer("endTurn"), "": answer("endTurn"),
		model.FinishContentFilter: "", model.FinishRefusal: "", model.FinishError: "",
	} {
		text, _ := sampled(t, sampling, modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
			resp := model.Response(model.Text("4"))
			resp.Finish = finish
			return resp, nil
		}))
		if want != "" {
			require.JSONEq(t, want, text, finish)
			continue
		}
		require.Contains(t, text, "refused: the model gave no usable answer", finish)
		require.NotContains(t, text, `"4"`)
	}
}

// A run without a model, or whose model has no name, says so.
func TestServersAreToldOfRunsWithoutAModel(t *testing.T) {
	ask := func(m model.Model) (toolset.Result, error) {
		s := serve(t, inquiring(sampling), func(c *mcptoolset.Config) { c.Sampling = mcptoolset.SamplingAllow })
		host := &toolsettest.Host{}
		if m != nil {
			host.Model = m
		}
		run := &toolset.RunContext[none]{Host: host}
		run.Call.Approved = true
		set := mcptoolset.Tools(s, mcptoolset.Options[none]{})
		return toolsettest.Call(t.Context(), set, run, "s_ask", `{}`)
	}
	res, err := ask(modeltest.Script(modeltest.SayText("4")))
	require.NoError(t, err)
	require.JSONEq(t, `{"content":{"type":"text","text":"4"},"model":"unknown","role":"assistant","stopReason":"endTurn"}`, res.Text)
	res, err = ask(nil)
	require.Contains(t, failed(t, res, err), "refused: there is no model")
}

// Without a person to ask, and if asking fails, the model is not used.
func TestServersAreToldThatNobodyAllowsThem(t *testing.T) {
	m := modeltest.Script(modeltest.SayText("4"))
	for want, asker := range map[string]toolset.Asker{
		"refused: " + toolset.ErrNobody.Error(): nil,
		"refused: gone home": toolset.AskerFuncs{OnAnswer: func(context.Context, toolset.Question) (toolset.Reply, error) {
			return toolset.Reply{}, errors.New("gone home")
		}},
	} {
		host := &toolsettest.Host{Model: m, Asker: asker}
		res, err := call(t, serve(t, inquiring(sampling)), host, "r", "s_ask", `{}`)
		require.Contains(t, failed(t, res, err), want)
	}
	require.Empty(t, m.Requests())
}

// The person sees who wants to use the model and for what, up to 4000 bytes, and answers without a
// form.
func TestPeopleSeeRequestsToTheModel(t *testing.T) {
	const before = "The MCP server \"s\" wants to use your model. Accept to send this request:\n"
	ask := func(text string) toolset.Question {
		params := &mcp.CreateMessageParams{MaxTokens: 5, Messages: []*mcp.SamplingMessage{
			message("user", &mcp.TextContent{Text: text}),
		}}
		p := &person{reply: toolset.Reply{Action: toolset.ActionAccept}}
		host := &toolsettest.Host{Asker: p, Model: modeltest.Script(modeltest.SayText("4"))}
		_, err := call(t, serve(t, inquiring(params)), host, "r", "s_ask", `{}`)
		require.NoError(t, err)
		require.Len(t, p.asked(), 1)
		return p.asked()[0]
	}
	whole := strings.Repeat("x", 4000-len("\n[user] "))
	for text, want := range map[string]string{"a\nb": "\n[user] a\nb", whole: "\n[user] " + whole, whole + "y": "\n[user] " + whole + "…"} {
		q := ask(text)
		require.Equal(t, before+want, q.Message)
		require.JSONEq(t, `{"type":"object","properties":{}}`, string(q.Schema))
	}
}

// Servers are told who connects: this library, unless a program has a name of its own.
func TestServersAreToldWhoConnects(t *testing.T) {
	for _, c := range []struct{ client, want mcptoolset.ClientInfo }{
		{mcptoolset.ClientInfo{}, mcptoolset.ClientInfo{Name: "ponte", Version: "unknown"}},
		{mcptoolset.ClientInfo{Name: "desk"}, mcptoolset.ClientInfo{Name: "desk", Version: "unknown"}},
		{mcptoolset.ClientInfo{Name: "desk", Version: "3"}, mcptoolset.ClientInfo{Name: "desk", Version: "3"}},
	} {
		f := newFake(nil)
		f.tool("echo", echo)
		s := serve(t, f, legacy, func(config *mcptoolset.Config) { config.Client = c.client })
		require.Len(t, list(t, s, mcptoolset.Options[none]{}), 1)
		told := f.sessions[0].InitializeParams().ClientInfo
		require.Equal(t, c.want, mcptoolset.ClientInfo{Name: told.Name, Version: told.Version})
	}
}

// Whatever prints a server, prints its name and where it is.
func TestServersArePrintedWithoutSecrets(t *testing.T) {
	s := mcptoolset.Must(mcptoolset.New(mcptoolset.Config{Name: "files", Transport: mcptoolset.HTTP{
		URL: "https://h.test/mcp?key=secret", Headers: map[string]string{"A": "secret"},
	}}))
	const want = "mcptoolset.Server(files at https://h.test/mcp)"
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
		require.Equal(t, want, fmt.Sprintf(verb, s), verb)
	}
	require.Equal(t, want, s.String())
	require.Equal(t, want, s.LogValue().String())
	require.Equal(t, "files", s.Name())
	require.NoError(t, s.Close())
}

// What a server logs during a call is emitted, also over HTTP, where it may come after the answer.
func TestLogsAreEmittedOverHTTP(t *testing.T) {
	f := newFake(nil)
	host := &heard{event: make(chan struct{}, 10)}
	f.tool("work", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		err := r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Logger: "db", Data: "working"})
		select {
		case <-host.event:
		case <-time.After(patience):
		}
		return say("done"), err
	})
	s := serve(t, f, legacy, func(c *mcptoolset.Config) {
		c.LogLevel = "debug"
		c.Transport = mcptoolset.HTTP{URL: listen(t, f, nil).URL}
	})
	_, err := call(t, s, host, "r", "s_work", `{}`)
	require.NoError(t, err)
	require.Equal(t, []any{mcptoolset.Log{Server: "s", Level: "info", Logger: "db", Message: "working"}}, host.Events())
}

// A call without a person or an observer goes on though the server logs and reports its progress.
func TestCallsWithoutAnObserverGoOn(t *testing.T) {
	f := newFake(nil)
	f.tool("work", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if r.Params.GetProgressToken() != nil {
			return nil, fmt.Errorf("nobody is told of progress")
		}
		for _, err := range []error{
			r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: "working"}),
			r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "1", Progress: 1}),
			r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: 1, Progress: 1}),
		} {
			if err != nil {
				return nil, err
			}
		}
		return say("done"), nil
	})
	s := serve(t, f, legacy, func(c *mcptoolset.Config) { c.LogLevel = "debug" })
	for range 2 {
		res, err := call(t, s, nil, "r", "s_work", `{}`)
		require.NoError(t, err)
		require.Equal(t, "done", res.Text)
	}
}
