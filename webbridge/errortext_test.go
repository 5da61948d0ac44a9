// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
)

// planted is in every error below. Users must not see any of it.
var planted = []string{"10.9.8.7", "4711", "sk-planted", "db.internal", "planted body", "/srv/secret"}

const plantedText = "planted body of 10.9.8.7:4711 for sk-planted at db.internal in /srv/secret"

// failures are errors of runs, with a part of what users are told.
func failures() map[string]struct {
	err  error
	want string
} {
	api := func(status int, code string, after time.Duration, err error) error {
		return &model.APIError{Provider: "acme", Model: "m", Status: status, Code: code, Message: plantedText, RetryAfter: after, Err: err}
	}
	dial := &url.Error{Op: "Post", URL: "http://10.9.8.7:4711/sk-planted", Err: &net.OpError{Op: "dial", Net: "tcp", Err: errors.New(plantedText)}}
	type failure = struct {
		err  error
		want string
	}
	return map[string]failure{
		"overloaded":     {api(529, "", 0, nil), "The model provider is overloaded. Try again in a minute."},
		"unavailable":    {api(503, "", 30*time.Second, nil), "The model provider is overloaded. Try again in 30 seconds."},
		"failed":         {api(500, "", 0, nil), "The model provider has failed. Try again in a minute."},
		"key":            {api(401, "", 0, nil), "rejected the agent's API key"},
		"rate":           {api(429, "", 90*time.Second, nil), "too many requests, or a quota is used up. Try again in 2 minutes."},
		"length":         {api(400, "context_length_exceeded", 0, nil), "too long for the model"},
		"refused":        {api(400, "bad", 0, nil), "rejected the request"},
		"no model":       {api(404, "", 0, nil), "does not have this model"},
		"unreachable":    {api(0, "", 0, dial), "cannot be reached"},
		"broken answer":  {api(0, "x", 0, nil), "cannot be used"},
		"network":        {&model.APIError{Provider: "acme", Err: dial}, "The model provider cannot be reached. Try again in a minute."},
		"deadline":       {&model.APIError{Provider: "acme", Err: fmt.Errorf("%s: %w", plantedText, context.DeadlineExceeded)}, "took too long"},
		"own error":      {errors.New(plantedText), "The model has failed."},
		"wrapped in own": {fmt.Errorf("%s: %w", plantedText, dial), "The model has failed."},
		"unsupported":    {fmt.Errorf("%w: %s", model.ErrUnsupported, plantedText), "does not support"},
	}
}

// surfaces lets a prompt fail on each surface, and returns what clients were sent.
func surfaces(t *testing.T, s *server) (path string, sent map[string]string) {
	t.Helper()
	path, sent = s.create(), map[string]string{}
	s.do("POST", path+"/prompts", say("go"), 202)
	f := s.follow(path, "")
	f.until(func() bool { // the notice comes first, then that the answer has failed
		return !f.running && strings.Contains(f.text(), "notice") && strings.Contains(f.text(), "message assistant")
	})
	sent["events"] = f.text()
	for name, at := range map[string]struct{ path, body string }{
		"useChat":     {"/api/chat", `{"id":"one","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"go"}]}]}`},
		"AG-UI":       {"/api/agui", `{"threadId":"two","runId":"r","messages":[{"id":"m","role":"user","content":"go"}]}`},
		"completions": {"/v1/chat/completions", `{"model":"agent","messages":[{"role":"user","content":"go"}]}`},
		"stream":      {"/v1/chat/completions", `{"model":"agent","stream":true,"messages":[{"role":"user","content":"go"}]}`},
		"responses":   {"/v1/responses", `{"model":"agent","input":"go"}`},
	} {
		res, err := http.DefaultClient.Do(s.request("POST", at.path, at.body))
		require.NoError(t, err)
		data, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		_ = res.Body.Close()
		sent[name] = string(data)
	}
	return path, sent
}

func TestUsersAreToldAClassOfErrorAndTheLogAll(t *testing.T) {
	for name, failure := range failures() {
		t.Run(name, func(t *testing.T) {
			var log lockedBuffer
			store := durable{new(session.Memory)}
			options := options{
				model: modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) { return nil, failure.err }),
				host:  host.Config[none, string]{Store: store, Logger: slog.New(slog.NewTextHandler(&log, nil))},
				Options: webbridge.Options{Protocols: []webbridge.Protocol{
					webbridge.UIStream(webbridge.UIStreamOptions{}), webbridge.AGUI(webbridge.AGUIOptions{}), webbridge.OpenAI(webbridge.OpenAIOptions{}),
				}},
			}
			s := serve(t, options)
			path, sent := surfaces(t, s)
			for surface, text := range sent {
				require.Contains(t, text, failure.want, surface)
				for _, secret := range planted {
					require.NotContains(t, text, secret, surface)
				}
			}
			id := strings.TrimPrefix(path, "/api/sessions/")
			require.Regexp(t, `msg="host: a turn has failed" session=`+id+` turn=\w+ run=\w+ stage=model .*error=.*10\.9\.8\.7`, log.String())
			require.Equal(t, len(sent), strings.Count(log.String(), "a turn has failed"), "each is logged, once")
			require.NoError(t, s.handler.Shutdown(t.Context()))

			again := serve(t, options)
			f := again.follow(path, "")
			f.until(func() bool { return f.position != "" })
			require.Equal(t, sent["events"], f.text(), "who loads the session is told the same")
		})
	}
}

func TestErrorsOfToolsAndProgramsAreNotShown(t *testing.T) {
	for name, fail := range map[string]func() (string, error){
		"error": func() (string, error) { return "", errors.New(plantedText) },
		"panic": func() (string, error) { panic(plantedText) },
		"inner": func() (string, error) { return "", &model.APIError{Status: 503, Message: plantedText} },
	} {
		var log lockedBuffer
		s := serve(t, options{
			model: modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
				return model.Response(model.ToolCall("c", "act", `{}`)), nil
			}),
			tools: []*toolset.Tool[none]{toolset.Func("act", "Act.", func(context.Context, *toolset.RunContext[none], none) (string, error) { return fail() })},
			host:  host.Config[none, string]{Logger: slog.New(slog.NewTextHandler(&log, nil))},
			Options: webbridge.Options{Protocols: []webbridge.Protocol{
				webbridge.UIStream(webbridge.UIStreamOptions{}), webbridge.AGUI(webbridge.AGUIOptions{}), webbridge.OpenAI(webbridge.OpenAIOptions{}),
			}},
		})
		_, sent := surfaces(t, s)
		for surface, text := range sent {
			for _, secret := range planted {
				require.NotContains(t, text, secret, name+" "+surface)
			}
		}
		require.Contains(t, log.String(), "10.9.8.7", name)
	}
}

func TestProgramsChooseTheTextOfErrors(t *testing.T) {
	for name, test := range map[string]struct {
		text func(error) string
		want string
	}{
		"own":   {func(err error) string { return "Ask Ada. " + fmt.Sprint(errors.As(err, new(*agent.RunError))) }, "Ask Ada. true"},
		"empty": {func(error) string { return "" }, "The model has failed."},
		"panic": {func(error) string { panic("x") }, "The model has failed."},
		"long":  {func(error) string { return strings.Repeat("é", 5000) + "\n" }, "éé…"},
	} {
		s := serve(t, options{
			model: modeltest.Script(modeltest.Fail(errors.New(plantedText))), host: host.Config[none, string]{ErrorText: test.text, Logger: slog.New(slog.DiscardHandler)},
		})
		path := s.create()
		s.do("POST", path+"/prompts", say("go"), 202)
		f := s.follow(path, "")
		f.until(func() bool { return strings.Contains(f.text(), "notice") })
		require.Contains(t, f.text(), test.want, name)
		require.Less(t, len(f.text()), 3000, name)
	}
}

// lockedBuffer is a log of several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
