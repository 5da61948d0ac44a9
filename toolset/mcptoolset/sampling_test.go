// SPDX-License-Identifier: Apache-2.0

//lint:file-ignore SA1019 Servers still use what the newest version of the protocol deprecates.

package mcptoolset_test

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
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

// sampled asks the model of a run, and returns what the server got, what the model got, and what the person was shown.
func sampled(t *testing.T, params *mcp.CreateMessageParams, m model.Model) (string, string) {
	t.Helper()
	p := &person{reply: toolset.Reply{Action: toolset.ActionAccept}}
	res, err := call(t, serve(t, inquiring(params)), &toolsettest.Host{Asker: p, Model: m}, "r", "s_ask", `{}`)
	if err != nil || res.Outcome == model.OutcomeFailed {
		return failed(t, res, err), ""
	}
	return res.Text, p.asked()[0].Message
}

func message(role mcp.Role, c mcp.Content) *mcp.SamplingMessage {
	return &mcp.SamplingMessage{Role: role, Content: c}
}

func TestSamplingTakesEveryKindOfContent(t *testing.T) {
	m := modeltest.Script(modeltest.SayText("4"))
	_, shown := sampled(t, &mcp.CreateMessageParams{
		MaxTokens: 5, SystemPrompt: "Be brief.", StopSequences: []string{"END"},
		Messages: []*mcp.SamplingMessage{
			message("user", &mcp.TextContent{Text: "one"}), message("assistant", &mcp.TextContent{Text: "two"}),
			message("user", &mcp.ImageContent{MIMEType: "image/png", Data: []byte("i")}), message("user", &mcp.AudioContent{MIMEType: "audio/wav", Data: []byte("a")}),
		},
	}, m)
	req := m.Requests()[0]
	require.Equal(t, []string{"END"}, req.Settings.Stop)
	require.Nil(t, req.Settings.Temperature)
	require.Len(t, req.Messages, 4)
	for i, m := range req.Messages {
		require.Equal(t, i == 1, m.Kind == model.KindResponse)
	}
	require.Equal(t, model.User("one"), req.Messages[0].Parts[0])
	require.Equal(t, model.Text("two"), req.Messages[1].Parts[0])
	require.Equal(t, model.Media("image/png", []byte("i")), req.Messages[2].Parts[0])
	require.Equal(t, model.Media("audio/wav", []byte("a")), req.Messages[3].Parts[0])
	require.True(t, strings.HasSuffix(shown, "[instructions] Be brief.\n[user] one\n[assistant] two\n[user] (an image)\n[user] (audio)"), shown)
}

func TestSamplingThatCannotBeSentIsRefused(t *testing.T) {
	user := message("user", &mcp.TextContent{Text: "x"})
	for want, messages := range map[string][]*mcp.SamplingMessage{
		"the last message must be the user's":   {user, message("assistant", &mcp.TextContent{Text: "y"})},
		"this kind of content is not supported": {user, message("user", &mcp.ToolUseContent{ID: "1", Name: "x"})},
	} {
		m := modeltest.Script(modeltest.SayText("4"))
		text, _ := sampled(t, &mcp.CreateMessageParams{MaxTokens: 5, Messages: messages}, m)
		require.Contains(t, text, want)
		require.Empty(t, m.Requests())
	}
	text, _ := sampled(t, &mcp.CreateMessageParams{MaxTokens: 5, Messages: []*mcp.SamplingMessage{user}}, nil)
	require.Contains(t, text, "refused: ")
}

func TestServerIsToldThatAnAnswerIsCutOff(t *testing.T) {
	for finish, want := range map[model.FinishReason]string{model.FinishLength: `"stopReason":"maxTokens"`, model.FinishStop: `"stopReason":"endTurn"`} {
		text, _ := sampled(t, sampling, modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
			resp := model.Response(model.Text("4"))
			resp.Finish = finish
			return resp, nil
		}))
		require.Contains(t, text, want)
	}
}

// A form has bounds: what is deeper or larger is not shown to anybody.
func TestFormsAreBounded(t *testing.T) {
	for want, schema := range map[string]any{
		"the form is too large": map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string", "description": strings.Repeat("x", 900)}, "b": map[string]any{"type": "string", "default": strings.Repeat("x", 100<<10)}}},
	} {
		p := &person{reply: toolset.Reply{Action: toolset.ActionAccept}}
		res, err := call(t, serve(t, inquiring(&mcp.ElicitParams{Message: "?", RequestedSchema: schema})), &toolsettest.Host{Asker: p}, "r", "s_ask", `{}`)
		require.Contains(t, failed(t, res, err), want)
		require.Empty(t, p.asked())
	}
}

// Whoever listens on this machine for the user's return answers nothing else, and one at a time.
func TestLoopbackWaitsForTheUser(t *testing.T) {
	get := func(ctx context.Context, address string) (int, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return 0, err
		}
		res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			return 0, err
		}
		return res.StatusCode, res.Body.Close()
	}
	var l *mcptoolset.Loopback
	var statuses []int
	l, err := mcptoolset.NewLoopback(func(ctx context.Context, _ string) error {
		for _, path := range []string{"/", "/callback/x", "", "?code=c&state=s&iss=i"} {
			address := l.RedirectURL() + path
			if path == "/" {
				address = strings.TrimSuffix(l.RedirectURL(), "/callback") + "/?code=stolen"
			}
			if path == "" {
				continue
			}
			status, err := get(ctx, address)
			if err != nil {
				return err
			}
			statuses = append(statuses, status)
		}
		return nil
	})
	require.NoError(t, err)
	defer l.Close()
	for range 2 { // it is used again
		statuses = nil
		a, err := l.Authorize(t.Context(), "https://example.com/")
		require.NoError(t, err)
		require.Equal(t, mcptoolset.Authorization{Code: "c", State: "s", Issuer: "i"}, a)
		require.Equal(t, []int{404, 404, 200}, statuses)
	}

	boom := errors.New("no browser")
	broken, err := mcptoolset.NewLoopback(func(context.Context, string) error { return boom })
	require.NoError(t, err)
	defer broken.Close()
	_, err = broken.Authorize(t.Context(), "https://example.com/")
	require.ErrorIs(t, err, boom)
	require.ErrorContains(t, err, "sign in: ")

	entered, stop := make(chan struct{}), errors.New("stop")
	slow, err := mcptoolset.NewLoopback(func(context.Context, string) error { close(entered); return nil })
	require.NoError(t, err)
	defer slow.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := slow.Authorize(ctx, "https://example.com/")
		first <- err
	}()
	<-entered
	second, give := context.WithCancelCause(t.Context())
	give(stop)
	_, err = slow.Authorize(second, "https://example.com/")
	require.ErrorIs(t, err, stop, "somebody else signs in")
	cancel(stop)
	require.ErrorIs(t, <-first, stop)
}

func TestFileTokensCannotBeReadByOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	store := mcptoolset.FileTokens{Dir: dir}
	require.NoError(t, store.Save(t.Context(), "k", []byte("one")))
	require.NoError(t, store.Save(t.Context(), "k", []byte("two")))
	require.NoError(t, store.Save(t.Context(), "other", []byte("three")))
	data, err := store.Load(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, "two", string(data))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2, "nothing temporary stays")
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o700), info.Mode().Perm())
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	}
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.Error(t, mcptoolset.FileTokens{Dir: filepath.Join(file, "x")}.Save(t.Context(), "k", []byte("x")))
	_, err = mcptoolset.FileTokens{Dir: filepath.Join(file, "x")}.Load(t.Context(), "k")
	require.Error(t, err)
	require.Error(t, mcptoolset.FileTokens{Dir: filepath.Join(file, "x")}.Save(t.Context(), "k", nil))
}

func TestAddressesOfQuestionsAreBoundedExactly(t *testing.T) {
	for length, asked := range map[int]int{2000: 1, 2001: 0} {
		p := &person{reply: toolset.Reply{Action: toolset.ActionAccept}}
		address := "https://example.com/" + strings.Repeat("a", length-len("https://example.com/"))
		_, _ = call(t, serve(t, inquiring(&mcp.ElicitParams{Mode: "url", Message: "Sign in.", URL: address})), &toolsettest.Host{Asker: p}, "r", "s_ask", `{}`)
		require.Len(t, p.asked(), asked, length)
	}
}
