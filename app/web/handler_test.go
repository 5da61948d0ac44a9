// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/web"
	"github.com/ponte-go/ponte/webbridge"
)

// oneScore has one score, whatever it is asked.
type oneScore struct{ webbridge.Scores }

func (oneScore) Summary(context.Context, string) (string, error) { return "own", nil }

// onlyChat is a protocol of the program.
type onlyChat struct{}

func (onlyChat) Register(h *webbridge.Handler) {
	h.Handle("GET /api/own", func(w http.ResponseWriter, _ *http.Request) error { w.WriteHeader(202); return nil })
}

// TestHandlersHaveWhatTheProgramLeavesEmpty makes handlers with options of the program, and with its defaults.
func TestHandlersHaveWhatTheProgramLeavesEmpty(t *testing.T) {
	defaults := webbridge.Options{Token: token, Dirs: []string{"/orders"}, Hosts: []string{"desk.example"}}
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201) })
	own := webbridge.Options{
		Token: "another-secret-of-words", Dirs: []string{"/other"}, Hosts: []string{"other.example"}, Title: "Orders", Version: "7", Page: page, Scores: oneScore{},
		Protocols: []webbridge.Protocol{onlyChat{}},
	}
	byUser := own
	byUser.Token, byUser.User = "", func(*http.Request) (string, error) { return "ada", nil }
	for name, c := range map[string]struct {
		o          web.Options
		secret     string
		host       string
		config     string
		dir        string
		codes      map[string]int
		summarized string
	}{
		"nothing": {web.Options{}, token, "desk.example", `{"title":"Desk","version":"1.2.3","scores":true}`, "/orders",
			map[string]int{"/": 200, "/v1/models": 200, "/api/chat/none/messages": 404, "/api/chat/none/stream": 204, "/api/own": 404}, ""},
		"empty": {web.Options{Bridge: func() webbridge.Options { return webbridge.Options{} }}, token, "desk.example", `{"title":"Desk","version":"1.2.3","scores":true}`, "/orders",
			map[string]int{"/": 200, "/v1/models": 200, "/api/chat/none/stream": 204, "/api/own": 404}, ""},
		"own": {web.Options{Bridge: func() webbridge.Options { return own }}, own.Token, "other.example", `{"title":"Orders","version":"7","scores":true}`, "/other",
			map[string]int{"/": 201, "/v1/models": 404, "/api/chat/none/stream": 404, "/api/own": 202}, "own"},
		"users": {web.Options{Bridge: func() webbridge.Options { return byUser }}, "", "other.example", `{"title":"Orders","version":"7","scores":true}`, "/other",
			map[string]int{"/": 201, "/api/own": 202}, "own"},
	} {
		t.Run(name, func(t *testing.T) {
			played(t, c.o, defaults, func(handler http.Handler) {
				ask := func(method, path, body string) *httptest.ResponseRecorder {
					r := httptest.NewRequestWithContext(t.Context(), method, "http://"+c.host+path, strings.NewReader(body))
					if c.secret != "" {
						r.Header.Set("Authorization", "Bearer "+c.secret)
					}
					if method != http.MethodGet {
						r.Header.Set("Content-Type", "application/json")
					}
					w := httptest.NewRecorder()
					handler.ServeHTTP(w, r)
					return w
				}
				for path, want := range c.codes {
					require.Equal(t, want, ask("GET", path, "").Code, path)
				}
				var config struct {
					Title, Version string
					Scores         bool
				}
				require.NoError(t, json.Unmarshal(ask("GET", "/api/config", "").Body.Bytes(), &config))
				data, err := json.Marshal(map[string]any{"title": config.Title, "version": config.Version, "scores": config.Scores})
				require.NoError(t, err)
				require.JSONEq(t, c.config, string(data))
				var made struct{ ID, Dir string }
				w := ask("POST", "/api/sessions", "{}")
				require.Equal(t, 201, w.Code)
				require.NoError(t, json.Unmarshal(w.Body.Bytes(), &made))
				require.Equal(t, c.dir, made.Dir)
				var list struct{ Scores map[string]string }
				require.NoError(t, json.Unmarshal(ask("GET", "/api/sessions", "").Body.Bytes(), &list))
				require.Equal(t, c.summarized, list.Scores[made.ID])
			})
		})
	}
}

// played makes a handler in a program, and shuts it down after f.
func played(t *testing.T, o web.Options, defaults webbridge.Options, f func(http.Handler)) {
	t.Helper()
	var said strings.Builder
	code := app.Run(t.Context(), app.Config[any, string]{
		Name: "desk", Title: "Desk", Version: "1.2.3", Agent: agent.Must(agent.New(agent.Config[any, string]{Model: modeltest.Script()})),
		Commands: []func(*app.Env) *cobra.Command{func(e *app.Env) *cobra.Command {
			return &cobra.Command{Use: "serve", RunE: func(c *cobra.Command, _ []string) error {
				h, err := e.Open(c.Context())
				if err != nil {
					return err
				}
				handler, err := web.Handler(e, h, o, defaults)
				if err != nil {
					return err
				}
				f(handler)
				return handler.Shutdown(c.Context())
			}}
		}},
	}, app.Process{Args: []string{"serve", "-no-store"}, In: strings.NewReader(""), Out: &said, Err: &said})
	require.Equal(t, 0, code, said.String())
}
