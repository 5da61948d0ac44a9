// SPDX-License-Identifier: Apache-2.0

//lint:file-ignore SA1019 Servers still use what the newest version of the protocol deprecates.

package mcptoolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// What a server's request to the model has is sent, and shown to people.
func TestRequestsToTheModel(t *testing.T) {
	text := func(role mcp.Role, text string) *mcp.SamplingMessage {
		return &mcp.SamplingMessage{Role: role, Content: &mcp.TextContent{Text: text}}
	}
	req, shown, err := sampleRequest(&mcp.CreateMessageParams{
		SystemPrompt: "be brief", MaxTokens: 1 << 40, StopSequences: []string{"x"}, Temperature: 0.5,
		Messages: []*mcp.SamplingMessage{
			text("user", "hello"), text("assistant", "hi"),
			{Role: "assistant", Content: &mcp.ImageContent{MIMEType: "image/PNG", Data: []byte("i")}}, {Role: "user", Content: &mcp.AudioContent{MIMEType: "audio/wav", Data: []byte("a")}},
		},
	})
	require.NoError(t, err)
	require.Equal(t, "[instructions] be brief\n[user] hello\n[assistant] hi\n[assistant] (an image)\n[user] (audio)", shown)
	half := 0.5
	require.Equal(t, &model.Request{
		Instructions: "be brief", Settings: &model.Settings{MaxTokens: 1 << 30, Stop: []string{"x"}, Temperature: &half},
		Messages: []*model.Message{
			{Kind: model.KindRequest, Parts: []model.Part{model.User("hello")}}, {Kind: model.KindResponse, Parts: []model.Part{model.Text("hi")}},
			{Kind: model.KindResponse, Parts: []model.Part{model.Media("image/png", []byte("i"))}}, {Kind: model.KindRequest, Parts: []model.Part{model.Media("audio/wav", []byte("a"))}},
		},
	}, req)
	req, shown, err = sampleRequest(&mcp.CreateMessageParams{MaxTokens: 5, Messages: []*mcp.SamplingMessage{text("user", "hello")}})
	require.NoError(t, err)
	require.Equal(t, "\n[user] hello", shown)
	require.Equal(t, &model.Settings{MaxTokens: 5}, req.Settings)
	for want, p := range map[string]*mcp.CreateMessageParams{
		"the last message must be the user's":   {Messages: []*mcp.SamplingMessage{text("user", "hello"), text("assistant", "hi")}},
		"this kind of content is not supported": {Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.ResourceLink{}}}},
	} {
		_, _, err := sampleRequest(p)
		require.EqualError(t, err, want)
	}
	_, _, err = sampleRequest(&mcp.CreateMessageParams{})
	require.EqualError(t, err, "the last message must be the user's")
}

// Questions of servers say who asks. Forms and addresses are bounded, and shown as they are.
func TestQuestionsOfServers(t *testing.T) {
	s := &Server{config: &Config{Name: "s", Limits: Limits{Schema: 120}}}
	said := func(text string) string { return "The MCP server \"s\" asks:\n" + text }
	for i, c := range []struct {
		params mcp.ElicitParams
		want   toolset.Question
		err    string
	}{
		{mcp.ElicitParams{Message: "a\n\u202eb"}, toolset.Question{Message: said("a\n\\u202eb"), Schema: json.RawMessage(`{"properties":{},"type":"object"}`)}, ""},
		{mcp.ElicitParams{Message: strings.Repeat("m", 4001)}, toolset.Question{Message: said(strings.Repeat("m", 4000) + "…"), Schema: json.RawMessage(`{"properties":{},"type":"object"}`)}, ""},
		{mcp.ElicitParams{URL: "https://a.test/x", ElicitationID: strings.Repeat("i", 201)}, toolset.Question{Message: said(""), URL: "https://a.test/x", ID: strings.Repeat("i", 200)}, ""},
		{mcp.ElicitParams{URL: "http://a.test/x", ElicitationID: "i"}, toolset.Question{Message: said(""), URL: "http://a.test/x", ID: "i"}, ""},
		{mcp.ElicitParams{URL: "ftp://a.test/x"}, toolset.Question{}, "the address is not a plain web address"},
		{mcp.ElicitParams{URL: "https:///x"}, toolset.Question{}, "the address is not a plain web address"},
		{mcp.ElicitParams{URL: "https://u@a.test/x"}, toolset.Question{}, "the address is not a plain web address"},
		{mcp.ElicitParams{URL: "https://a.test/\u202e"}, toolset.Question{}, "the address is not a plain web address"},
		{mcp.ElicitParams{URL: "https://a.test:x"}, toolset.Question{}, "the address is not a plain web address"},
		{mcp.ElicitParams{RequestedSchema: map[string]any{"title": "a\n", "x": "a\n", "enumNames": []any{"b\n"}, "enum": []any{"b\n"}}}, toolset.Question{Message: said(""), Schema: json.RawMessage(`{"enum":["b\n"],"enumNames":["b\\n"],"title":"a\\n","x":"a\n"}`)}, ""},
		{mcp.ElicitParams{RequestedSchema: map[string]any{"p": map[string]any{"description": "\x01", "title": map[string]any{"title": "\x02"}}}}, toolset.Question{Message: said(""), Schema: json.RawMessage(`{"p":{"description":"\\u0001","title":{"title":"\\u0002"}}}`)}, ""},
		{mcp.ElicitParams{RequestedSchema: map[string]any{"x": strings.Repeat("x", 112)}}, toolset.Question{Message: said(""), Schema: json.RawMessage(`{"x":"` + strings.Repeat("x", 112) + `"}`)}, ""},
		{mcp.ElicitParams{RequestedSchema: map[string]any{"x": strings.Repeat("x", 113)}}, toolset.Question{}, "the form is too large"},
		{mcp.ElicitParams{RequestedSchema: nested(8)}, toolset.Question{Message: said(""), Schema: json.RawMessage(`{"a":{"a":{"a":{"a":{"a":{"a":{"a":{}}}}}}}}`)}, ""},
		{mcp.ElicitParams{RequestedSchema: nested(9)}, toolset.Question{}, "the form is too deep"},
	} {
		q, err := s.question(&c.params)
		if c.err != "" {
			require.EqualError(t, err, c.err, i)
			continue
		}
		require.NoError(t, err, i)
		require.Equal(t, c.want, q, i)
	}
}

// A request of a server belongs to the only run whose calls are in progress.
func TestRequestsBelongToARun(t *testing.T) {
	run := func(token, id string) *flight {
		return &flight{caller: caller{info: &toolset.RunInfo{RunID: id}}, token: token}
	}
	for name, c := range map[string]struct {
		flights   []*flight
		abandoned []string
		want      string
	}{
		"none":                   {nil, nil, "no tool call is in progress that the request could belong to"},
		"one":                    {[]*flight{run("5", "a")}, nil, ""},
		"several of a run":       {[]*flight{run("7", "a"), run("5", "a"), run("6", "a")}, nil, ""},
		"several runs":           {[]*flight{run("5", "a"), run("6", "b")}, nil, "several runs use this connection, and it is not known which one the request belongs to"},
		"the same was cancelled": {[]*flight{run("5", "a")}, []string{"a"}, ""},
		"another was cancelled":  {[]*flight{run("5", "a")}, []string{"a", "b"}, "a call of another run was cancelled before, and it is not known which one the request belongs to"},
	} {
		l := &link{flights: map[string]*flight{}, abandoned: map[string]struct{}{}}
		for _, f := range c.flights {
			l.flights[f.token] = f
		}
		for _, id := range c.abandoned {
			l.abandoned[id] = struct{}{}
		}
		f, err := l.asking(context.Background())
		if c.want != "" {
			require.EqualError(t, err, c.want, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, "5", f.token, name)
		own := run("9", "z")
		f, err = l.asking(context.WithValue(context.Background(), flightKey{}, own))
		require.NoError(t, err)
		require.Same(t, own, f, "the context says it")
	}
	l := &link{flights: map[string]*flight{}, server: &Server{config: &Config{Limits: Limits{Questions: 2}}}}
	f := l.depart(t.Context(), caller{info: &toolset.RunInfo{RunID: "a"}})
	require.Equal(t, "1", f.token)
	require.Same(t, f, l.flights["1"])
	_, _, _, err := l.turn(t.Context())
	require.ErrorContains(t, err, "refused: ")
	for range 2 {
		require.NoError(t, f.enter())
		f.work.Done()
	}
	require.EqualError(t, f.enter(), "more than 2 requests in one call")
	f.arrive(true)
	require.EqualError(t, f.enter(), "the call has ended")
	require.Empty(t, l.flights)
	require.Nil(t, l.abandoned)
	require.Error(t, f.ctx.Err())
	f = l.depart(t.Context(), caller{info: &toolset.RunInfo{RunID: "a"}})
	require.Equal(t, "2", f.token)
	f.arrive(false)
	require.Contains(t, l.abandoned, "a")
}

// A server's state is what it is now, with an error of the last attempt.
func TestStatesOfServers(t *testing.T) {
	because := errors.New("because")
	config := &Config{Name: "s", Transport: Command{Path: "x"}}
	now := time.Now()
	for want, s := range map[State]*Server{
		StateIdle: {}, StateClosed: {closed: true, err: because}, StateConnecting: {attempt: &attempt{begun: now.Add(-time.Hour)}, err: because}, StateFailed: {attempt: &attempt{begun: now.Add(time.Hour)}, err: because},
		StateReady: {link: &link{gone: make(chan struct{})}, err: because},
	} {
		s.config = config
		st := s.Status()
		require.Equal(t, want, st.State)
		require.Equal(t, "s", st.Server)
		require.Equal(t, s.err != nil && want != StateReady, st.Err != nil, want)
		if st.Err != nil {
			require.EqualError(t, st.Err, "because")
			require.ErrorIs(t, st.Err, because)
		}
	}
	s := &Server{config: config, logger: slog.New(slog.DiscardHandler), known: &catalog{tools: make([]*Definition, 3), problems: []Problem{{Tool: "p"}}}}
	d := &Definition{Server: "s", Name: "t"}
	other := hashed("n", "s\x00t")
	for range 2 {
		require.Equal(t, other, s.yield(d, "n"))
	}
	st := s.Status()
	require.Equal(t, 3, st.Tools)
	require.Len(t, st.Problems, 2)
	require.Equal(t, fmt.Sprintf(`tool "t": the name "n" is taken or too long: it is offered as %q`, other), st.Problems[1].String())
	for i := range 101 {
		s.yield(d, fmt.Sprint(i))
	}
	require.Len(t, s.Status().Problems, 101, "a hundred are kept")
	require.Equal(t, "s_", (&Server{config: &Config{Name: "s"}}).prefix())
	require.Empty(t, (&Server{config: &Config{Name: "s", Unprefixed: true}}).prefix())
}
