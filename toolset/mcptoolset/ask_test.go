// SPDX-License-Identifier: Apache-2.0

//lint:file-ignore SA1019 Servers still use what the newest version of the protocol deprecates.

package mcptoolset_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

// versions are protocol versions with and without a handshake.
var versions = []string{"2024-11-05", "2025-11-25", "2026-07-28"}

func eachVersion(t *testing.T, test func(t *testing.T, change func(*mcptoolset.Config))) {
	for _, v := range versions {
		t.Run(v, func(t *testing.T) { test(t, func(c *mcptoolset.Config) { c.ProtocolVersion = v }) })
	}
}

// inquiring has tools that need something of the run. The SDK asks in the way of the protocol version.
func inquiring(params ...mcp.InputRequest) *fake {
	f := newFake(nil)
	f.tool("ask", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if len(r.Params.InputResponses) == 0 {
			res := &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{}}
			for i, p := range params {
				res.InputRequests[string(rune('a'+i))] = p
			}
			return res, nil
		}
		data, err := json.Marshal(r.Params.InputResponses["a"])
		return say(string(data)), err
	})
	return f
}

var form = &mcp.ElicitParams{Message: "How many?\u202e", RequestedSchema: json.RawMessage(
	`{"type":"object","properties":{"n":{"type":"integer","title":"Num\u200bber"},"how":{"type":"string","enum":["x\u200b"]}},"required":["n"]}`)}

func TestElicitationAsksThePersonOfTheRun(t *testing.T) {
	eachVersion(t, func(t *testing.T, change func(*mcptoolset.Config)) {
		p := &person{reply: toolset.Reply{Action: toolset.ActionAccept, Content: json.RawMessage(`{"n":3}`)}}
		res, err := call(t, serve(t, inquiring(form), change), &toolsettest.Host{Asker: p}, "r", "s_ask", `{}`)
		require.NoError(t, err)
		require.JSONEq(t, `{"action":"accept","content":{"n":3}}`, res.Text)
		q := p.asked()[0]
		require.Equal(t, "The MCP server \"s\" asks:\nHow many?\\u202e", q.Message)
		require.JSONEq(t, `{"type":"object","properties":{"n":{"type":"integer","title":"Num\\u200bber"},"how":{"type":"string","enum":["x\u200b"]}},"required":["n"]}`, string(q.Schema))
	})
}

func TestDeclinedElicitationReachesTheServer(t *testing.T) {
	eachVersion(t, func(t *testing.T, change func(*mcptoolset.Config)) {
		p := &person{reply: toolset.Reply{Action: toolset.ActionDecline}}
		res, err := call(t, serve(t, inquiring(form), change), &toolsettest.Host{Asker: p}, "r", "s_ask", `{}`)
		require.NoError(t, err)
		require.JSONEq(t, `{"action":"decline"}`, res.Text)
	})
}

func TestAnswerToAnElicitationIsAnObject(t *testing.T) {
	for answer, want := range map[string]string{"1": "", `"n"`: "", "[]": "", "null": "", `{"n":2}`: `{"action":"accept","content":{"n":2}}`} {
		p := &person{reply: toolset.Reply{Action: toolset.ActionAccept, Content: json.RawMessage(answer)}}
		res, err := call(t, serve(t, inquiring(form)), &toolsettest.Host{Asker: p}, "r", "s_ask", `{}`)
		if want == "" {
			require.NoError(t, err)
			require.Contains(t, res.Text, "not a JSON object", answer)
			continue
		}
		require.NoError(t, err)
		require.JSONEq(t, want, res.Text)
	}
}

func TestElicitationOfAnAddress(t *testing.T) {
	p := &person{reply: toolset.Reply{Action: toolset.ActionAccept}}
	s := serve(t, inquiring(&mcp.ElicitParams{Mode: "url", Message: "Sign in.", URL: "https://example.com/in?x=1", ElicitationID: "7"}))
	_, err := call(t, s, &toolsettest.Host{Asker: p}, "r", "s_ask", `{}`)
	require.NoError(t, err)
	require.Equal(t, "https://example.com/in?x=1", p.asked()[0].URL)
	require.Equal(t, "7", p.asked()[0].ID)
	require.Nil(t, p.asked()[0].Schema)

	for _, url := range []string{"javascript:alert(1)", "file:///etc/passwd", "https://good.example@evil.example/", "https://e\u0301vil\u200b.example/"} {
		p := &person{reply: toolset.Reply{Action: toolset.ActionAccept}}
		s := serve(t, inquiring(&mcp.ElicitParams{Mode: "url", Message: "Sign in.", URL: url}))
		res, err := call(t, s, &toolsettest.Host{Asker: p}, "r", "s_ask", `{}`)
		require.Contains(t, failed(t, res, err), "not a plain web address", url)
		require.Empty(t, p.asked())
	}
}

func TestNobodyToAskIsSaidClearly(t *testing.T) {
	eachVersion(t, func(t *testing.T, change func(*mcptoolset.Config)) {
		for _, host := range []toolset.Host{nil, &toolsettest.Host{}} {
			res, err := call(t, serve(t, inquiring(form), change), host, "r", "s_ask", `{}`)
			require.Contains(t, failed(t, res, err), "there is no one to ask")
		}
	})
}

var sampling = &mcp.CreateMessageParams{
	MaxTokens: 50, SystemPrompt: "Be brief.", Temperature: 0.5,
	Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "What is \u200b2+2?"}}},
}

func TestSamplingUsesTheModelOfTheRun(t *testing.T) {
	eachVersion(t, func(t *testing.T, change func(*mcptoolset.Config)) {
		m := modeltest.Script(modeltest.SayText("4"))
		p := &person{reply: toolset.Reply{Action: toolset.ActionAccept}}
		res, err := call(t, serve(t, inquiring(sampling), change), &toolsettest.Host{Asker: p, Model: m}, "r", "s_ask", `{}`)
		require.NoError(t, err)
		require.Contains(t, res.Text, `"text":"4"`)
		require.Contains(t, res.Text, `"model":"test-model"`)
		req := m.Requests()[0]
		require.Equal(t, "Be brief.", req.Instructions)
		require.Equal(t, 50, req.Settings.MaxTokens)
		require.Equal(t, "What is \u200b2+2?", req.Messages[0].Parts[0].Text)
		require.Contains(t, p.asked()[0].Message, "[user] What is \\u200b2+2?", "the person sees the request")
	})
}

func TestSamplingIsRefused(t *testing.T) {
	for _, c := range []struct {
		name     string
		sampling mcptoolset.Sampling
		action   toolset.Action
		want     string
	}{
		{"by the person", mcptoolset.SamplingAsk, toolset.ActionDecline, "the user did not allow it"},
		{"by the configuration", mcptoolset.SamplingNever, toolset.ActionAccept, "does not support CreateMessage"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := modeltest.Script(modeltest.SayText("4"))
			p := &person{reply: toolset.Reply{Action: c.action}}
			s := serve(t, inquiring(sampling), func(config *mcptoolset.Config) { config.Sampling = c.sampling })
			res, err := call(t, s, &toolsettest.Host{Asker: p, Model: m}, "r", "s_ask", `{}`)
			require.Contains(t, failed(t, res, err), c.want)
			require.Empty(t, m.Requests())
		})
	}
	s := serve(t, inquiring(sampling), func(config *mcptoolset.Config) { config.Sampling = mcptoolset.SamplingAllow })
	res, err := call(t, s, &toolsettest.Host{Model: modeltest.Script(modeltest.SayText("4"))}, "r", "s_ask", `{}`)
	require.NoError(t, err)
	require.Contains(t, res.Text, `"text":"4"`)
	refusing := model.Func(model.Info{}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
		return nil, errors.New("limit of 3 requests reached")
	})
	res, err = call(t, s, &toolsettest.Host{Model: refusing}, "r", "s_ask", `{}`)
	require.Contains(t, failed(t, res, err), "the model did not answer")
}

func TestServerAsksNoMoreThanItMay(t *testing.T) {
	asked := 0
	f := newFake(nil)
	f.tool("nag", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for range 10 {
			if _, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "again?", RequestedSchema: json.RawMessage(`{"type":"object"}`)}); err != nil {
				return nil, err
			}
			asked++
		}
		return say("enough"), nil
	})
	s := serve(t, f, legacy, func(c *mcptoolset.Config) { c.Limits.Questions = 3 })
	p := &person{reply: toolset.Reply{Action: toolset.ActionAccept}}
	res, err := call(t, s, &toolsettest.Host{Asker: p}, "r", "s_nag", `{}`)
	require.Contains(t, failed(t, res, err), "more than 3 requests in one call")
	require.Equal(t, 3, asked)
	require.Len(t, p.asked(), 3)
}

// TestQuestionOfASharedConnectionNeverReachesAnotherPerson is about versions in which a question does not name its call.
func TestQuestionOfASharedConnectionNeverReachesAnotherPerson(t *testing.T) {
	f := newFake(nil)
	waiting, release := make(chan struct{}), make(chan struct{})
	f.tool("wait", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		close(waiting)
		select {
		case <-release:
		case <-ctx.Done():
		}
		return say("waited"), nil
	})
	f.tool("ask", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "?", RequestedSchema: json.RawMessage(`{"type":"object"}`)})
		return say("asked"), err
	})
	s := serve(t, f, legacy)
	ada := &person{reply: toolset.Reply{Action: toolset.ActionAccept}}
	bob := &person{reply: toolset.Reply{Action: toolset.ActionAccept}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := callIn(ctx, s, &toolsettest.Host{Asker: ada}, "ada", "s_wait", `{}`)
		ended <- err
	}()
	<-waiting
	res, err := call(t, s, &toolsettest.Host{Asker: bob}, "bob", "s_ask", `{}`)
	require.Contains(t, failed(t, res, err), "several runs use this connection")

	// A cancelled call may still ask.
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	res, err = call(t, s, &toolsettest.Host{Asker: bob}, "bob", "s_ask", `{}`)
	require.Contains(t, failed(t, res, err), "a call of another run was cancelled before")
	require.Empty(t, ada.asked())
	require.Empty(t, bob.asked())

	// The same person may be asked, and a new connection knows nothing of the old one's calls.
	res, err = call(t, s, &toolsettest.Host{Asker: ada}, "ada", "s_ask", `{}`)
	require.NoError(t, err)
	require.Equal(t, "asked", res.Text)
	require.Len(t, ada.asked(), 1)
	close(release)
}

func TestParallelRunsAreAskedApart(t *testing.T) {
	s := serve(t, inquiring(form)) // the newest version, where a question belongs to a call
	const runs = 8
	people := make([]*person, runs)
	done := make(chan error, runs)
	for i := range runs {
		content, _ := json.Marshal(map[string]int{"n": i})
		people[i] = &person{reply: toolset.Reply{Action: toolset.ActionAccept, Content: content}}
		go func() {
			res, err := callIn(t.Context(), s, &toolsettest.Host{Asker: people[i]}, string(rune('a'+i)), "s_ask", `{}`)
			if err == nil && !strings.Contains(res.Text, string(content)) {
				err = errors.New("got the answer of somebody else: " + res.Text)
			}
			done <- err
		}()
	}
	for range runs {
		require.NoError(t, <-done)
	}
	for _, p := range people {
		require.Len(t, p.asked(), 1)
	}
}

func TestUnaskedQuestionIsRefused(t *testing.T) {
	f := newFake(nil)
	f.tool("echo", echo)
	s := serve(t, f, legacy)
	_, err := call(t, s, nil, "r", "s_echo", `{}`)
	require.NoError(t, err)
	_, err = f.sessions[0].Elicit(t.Context(), &mcp.ElicitParams{Message: "?", RequestedSchema: json.RawMessage(`{"type":"object"}`)})
	require.ErrorContains(t, err, "no tool call is in progress")
}
