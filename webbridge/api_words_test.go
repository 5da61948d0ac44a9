// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
)

// apiChance finds what is different each time, and the words of package json.
var apiChance = regexp.MustCompile(`[A-Z2-7]{26}|\d{4}-\d\d-\d\dT[0-9:.]+Z|ponte-[0-9a-f]{12}=[0-9a-f]{64}|"holder":"[^"]*"|not valid: [^;\n]*json: [^\n]*; see|json: cannot [^"\n]*`)

// sent is a request of TestAPIInItsWords. Header fields are names and values.
type sent struct {
	method, path, body string
	header             []string
}

// played sends requests to a handler, and returns them with their answers. Headers that every answer has are left out.
func playedAPI(t *testing.T, h *webbridge.Handler, all []sent) string {
	t.Helper()
	var b strings.Builder
	usual := http.Header{}
	for i, s := range all {
		w, r := httptest.NewRecorder(), request(t.Context(), s.method, s.path, s.body)
		for j := 0; j < len(s.header); j += 2 {
			switch name, value := s.header[j], s.header[j+1]; {
			case name == "Host":
				r.Host = value
			case value == "":
				r.Header.Del(name)
			default:
				r.Header.Set(name, value)
			}
		}
		h.ServeHTTP(w, r)
		if i == 0 {
			usual = w.Header().Clone()
		}
		if len(s.body) > 300 {
			s.body = s.body[:300] + "…"
		}
		fmt.Fprintf(&b, "%s %s %q %s\n%d\n", s.method, s.path, s.header, s.body, w.Code)
		for _, name := range slices.Sorted(maps.Keys(w.Header())) {
			if i == 0 || !slices.Equal(usual[name], w.Header()[name]) {
				fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(w.Header()[name], " | "))
			}
		}
		if text := w.Body.String(); len(text) < 5000 {
			b.WriteString(strings.TrimSpace(text) + "\n\n")
		}
	}
	return b.String()
}

// TestAPIInItsWords compares all answers of the API that are refusals, and most others, with a file: their statuses, headers and
// texts. To write it anew, set UPDATE, and read what has changed.
func TestAPIInItsWords(t *testing.T) {
	failing := modelThat(func(string) error { return errors.New("the provider is away") })
	h := newHandler(t, options{
		model: failing,
		host: host.Config[none, string]{
			Modes: host.Modes(), Settings: []host.Setting{{Setting: view.Setting{ID: "fast", Switch: true, Value: "false"}}},
			Agent: agent.Must(agent.New(agent.Config[none, string]{
				Model: model.Func(model.Info{Media: []string{"image/png", "application/pdf", "audio/wav"}}, failing.Generate), Tools: []*toolset.Tool[none]{pay(nil)},
				Commands: []agent.Command[none]{{Name: "undo", Description: "Undo.", Hint: "how much", Prompt: "Undo."}},
			})),
		},
		Options: webbridge.Options{Title: "Test", Version: "1.2", Dirs: []string{"/repo", "/other"}, Origins: []string{"https://app.example"}},
	})
	t.Cleanup(func() { require.NoError(t, h.Shutdown(context.Background())) })
	info, err := h.Host().Store().Create(t.Context(), session.New{ID: "one", Title: "First", Dir: "/repo"})
	require.NoError(t, err)
	require.Equal(t, "one", info.ID)
	_, err = h.Host().Store().Create(t.Context(), session.New{ID: "bobs", Owner: "bob"})
	require.NoError(t, err)
	for i, dir := range []string{"/elsewhere", ""} {
		_, err = h.Host().Store().Create(t.Context(), session.New{ID: fmt.Sprint("dir", i), Dir: dir, Title: "Of a directory"})
		require.NoError(t, err)
	}
	const at = "/api/sessions/one"
	get := func(path string, header ...string) sent { return sent{"GET", path, "", header} }
	post := func(path, body string, header ...string) sent { return sent{"POST", path, body, header} }
	all := []sent{
		get("/api/config"), get("/"), get("/nothing"), get("/api/"), get("/v1/x"), post("/api/config", "{}"), {"HEAD", at + "/events", "", nil}, {"HEAD", "/api/events", "", nil},
		// who may ask
		get("/api/config", "Authorization", ""), get("/api/config", "Authorization", "Bearer wrong"), get("/api/config", "Authorization", "bearer  "+token+" "),
		get("/api/config", "Authorization", "Basic "+token), get("/api/config", "Authorization", token), get("/api/config", "Authorization", "", "Cookie", "ponte-0123456789ab=x"),
		get("/?token="+strings.ReplaceAll(token, " ", "+"), "Authorization", ""), get("/x?token="+strings.ReplaceAll(token, " ", "+")+"&a=b", "Authorization", "", "X-Forwarded-Proto", "https"),
		get("/?token="+strings.ReplaceAll(token, " ", "+"), "Authorization", "", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"),
		get("/?token="+strings.ReplaceAll(token, " ", "+"), "Authorization", "", "Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "navigate"),
		get("/?token="+strings.ReplaceAll(token, " ", "+"), "Authorization", "", "Sec-Fetch-Site", "none"),
		get("/?token=wrong", "Authorization", ""), post("/?token="+strings.ReplaceAll(token, " ", "+"), "{}", "Authorization", ""), get("/v1/x?token="+strings.ReplaceAll(token, " ", "+"), "Authorization", ""),
		get("/?token="),
		// from where
		get("/api/config", "Host", "evil.example"), get("/api/config", "Host", "127.0.0.2:80"), get("/api/config", "Host", "[::1]"), get("/api/config", "Host", "10.0.0.1"),
		get("/api/config", "Upgrade", "websocket"),
		get("/api/config", "Origin", "http://localhost"), get("/api/config", "Origin", "https://localhost"), get("/api/config", "Origin", "ftp://localhost"), get("/api/config", "Origin", "http://"),
		get("/api/config", "Origin", "https://app.example"), get("/api/config", "Origin", "https://app.example:1"), get("/api/config", "Origin", ":"),
		get("/api/config", "Sec-Fetch-Site", "same-origin"), get("/api/config", "Sec-Fetch-Site", "none"), get("/api/config", "Sec-Fetch-Site", "cross-site"), get("/api/config", "Sec-Fetch-Site", "same-site"),
		get("/", "Sec-Fetch-Site", "cross-site"), get("/", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"), get("/api/config", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"),
		post("/", "{}", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"),
		{"OPTIONS", "/api/config", "", []string{"Origin", "https://app.example"}}, {"OPTIONS", "/v1/x", "", []string{"Origin", "https://app.example"}},
		{"OPTIONS", "/", "", []string{"Origin", "https://app.example"}}, {"OPTIONS", "/api/config", "", []string{"Origin", "https://other.example"}},
		{"OPTIONS", "/api/config", "", []string{"Origin", "https://app.example", "Host", "evil.example"}}, {"OPTIONS", "/api/config", "", nil},
		post(at+"/cancel", "{}", "Content-Type", "text/plain"), post(at+"/cancel", "{}", "Content-Type", "application/json; charset=utf-8"), post(at+"/cancel", "{}", "Content-Type", ";"),
		{"DELETE", at + "/permissions/x", "", []string{"Content-Type", ""}}, {"HEAD", "/api/config", "", []string{"Content-Type", ""}},
		// bodies
		post("/api/sessions", `{"title":7}`), post("/api/sessions", `{"titel":"x"}`), post("/api/sessions", `{} {}`), post("/api/sessions", `{`), post("/api/sessions", `[]`),
		post("/api/sessions", `{"title":"`+strings.Repeat("x", 501)+`"}`), post("/api/sessions", `{"title":"a\nb"}`), post("/api/sessions", `{"title":"a\u007fb"}`), post("/api/sessions", `{"dir":"/etc"}`),
		post("/api/sessions", `{"title":"`+strings.Repeat("x", 1<<20)+`"}`), post("/api/sessions", ""), post("/api/sessions", `{"title":"Made","dir":"/other"}`),
		// sessions
		get(at), get("/api/sessions/none"), get("/api/sessions/bobs"), get("/api/sessions/dir0"), get("/api/sessions/dir1"), get("/api/sessions?q=first&dir=/repo"), get("/api/sessions?q=first"), get("/api/sessions?q=FIRST&dir=/other"),
		get("/api/sessions?limit=0"), get("/api/sessions?limit=x"), get("/api/sessions?limit=1000&q=made"), get("/api/sessions?cursor=x"), get("/api/sessions?q=" + strings.Repeat("x", 201)),
		{"PATCH", at, `{}`, nil}, {"PATCH", at, `{"title":"a\tb"}`, nil}, {"PATCH", at, `{"title":"` + strings.Repeat("x", 501) + `"}`, nil}, {"PATCH", at, `{"title":7}`, nil},
		{"PATCH", at, `{"title":"Second"}`, nil}, {"PATCH", "/api/sessions/none", `{"title":"x"}`, nil}, {"PATCH", "/api/sessions/bobs", `{"title":"x"}`, nil},
		{"DELETE", "/api/sessions/none", "", nil}, {"DELETE", "/api/sessions/bobs", "", nil}, {"DELETE", "/api/sessions/dir1", "", nil}, get("/api/sessions/dir1"),
		post(at+"/rewind", `{}`), post(at+"/rewind", `{"before":"prompt:x"}`), post(at+"/rewind", `{"after":1}`), post("/api/sessions/none/rewind", `{"before":"prompt:x"}`),
		post(at+"/fork", `{"before":"prompt:x"}`), post(at+"/fork", `7`), post("/api/sessions/bobs/fork", ``), post(at+"/fork", ``),
		post(at+"/cancel", ``), post(at+"/cancel", `{"a":1}`), post("/api/sessions/none/cancel", ``),
		{"PUT", at + "/settings/mode", `{}`, nil}, {"PUT", at + "/settings/mode", `{"value":"fly"}`, nil}, {"PUT", at + "/settings/fast", `{"value":"maybe"}`, nil}, {"PUT", at + "/settings/fast", `{"value":7}`, nil},
		{"PUT", at + "/settings/speed", `{"value":"1"}`, nil}, {"PUT", at + "/settings/fast", `{"value":"true"}`, nil}, {"PUT", "/api/sessions/none/settings/fast", `{"value":"true"}`, nil},
		get(at + "/permissions"), {"DELETE", at + "/permissions/x", "", nil}, get("/api/sessions/none/permissions"), {"DELETE", "/api/sessions/none/permissions/x", "", nil},
		get(at + "/waiting"), get("/api/sessions/none/waiting"), {"PUT", at + "/waiting/p", `{"version":1,"parts":[{"text":"x"}]}`, nil}, {"PUT", at + "/waiting/p", `{"version":1}`, nil}, {"PUT", at + "/waiting/p", `{"version":"x"}`, nil},
		{"PUT", "/api/sessions/none/waiting/p", `{"version":1,"parts":[{"text":"x"}]}`, nil}, {"DELETE", at + "/waiting/p", `{"version":1}`, nil}, {"DELETE", at + "/waiting/p", `{"version":"x"}`, nil}, {"DELETE", "/api/sessions/none/waiting/p", `{"version":1}`, nil},
		get(at + "/scores"), {"PUT", at + "/scores/p", `{"good":true}`, nil}, get("/api/sessions/none/scores"), {"PUT", at + "/scores/p", `{"good":7}`, nil}, {"PUT", "/api/sessions/none/scores/p", `{"good":true}`, nil},
		get("/api/sessions/none/events"), get("/api/events?follow=a&from=b&from=c"), get("/api/events?from=b"), get("/api/events?list=perhaps"), get("/api/events?list="), get("/api/events?" + strings.Repeat("follow=a&", 101)),
		// answers
		post(at+"/questions/q", `{}`), post(at+"/questions/q", `{"choice":"a"}`), post(at+"/questions/q", `{"digest":"d","choice":"a","reply":{}}`), post(at+"/questions/q", `{"digest":"d","decision":{}}`),
		post(at+"/questions/q", `{"digest":"d","choice":"allow_once"}`), post(at+"/questions/q", `{"digest":7}`), post("/api/sessions/none/questions/q", `{"digest":"d","choice":"allow_once"}`),
		post(at+"/questions/q", `{"digest":"d","decision":{"allow":true}}`), post(at+"/questions/q", `{"digest":"d","reply":{"action":"accept"}}`),
	}
	// prompts
	data := base64.StdEncoding.EncodeToString
	for _, parts := range []string{
		``, `{"text":"x","name":"y"}`, `{"text":"x","media_type":"text/plain"}`, `{"text":"x","data":"eA=="}`, `{}`, `{"text":"x"},{}`, `{"name":"a"}`, `{"media_type":"text/plain"}`, `{"data":"eA=="}`,
		`{"name":"a","data":"!"}`, `{"name":"a","data":"eA=="}`, `{"name":"a","data":"eA==","media_type":"/"}`, `{"name":"a","data":"` + data([]byte("\xff")) + `","media_type":"text/plain"}`,
		`{"name":"a","data":"` + data([]byte("\xff")) + `","media_type":"application/json"}`, `{"name":"a","data":"eA==","media_type":"image/svg+xml"}`, `{"name":"a","data":"eA==","media_type":"image/png"}`,
		`{"name":"","data":"eA==","media_type":"text/plain"}`, `{"name":".","data":"eA==","media_type":"text/plain"}`, `{"name":"..","data":"eA==","media_type":"text/plain"}`, `{"name":"a/b","data":"eA==","media_type":"text/plain"}`,
		`{"name":"a\\b","data":"eA==","media_type":"text/plain"}`, `{"name":"a:b","data":"eA==","media_type":"text/plain"}`, `{"name":"a\nb","data":"eA==","media_type":"text/plain"}`,
		`{"name":"` + strings.Repeat("x", 256) + `","data":"eA==","media_type":"text/plain"}`, strings.Repeat(`{"text":"x"},`, 64) + `{"text":"x"}`,
	} {
		all = append(all, post(at+"/prompts", `{"parts":[`+parts+`]}`))
	}
	all = append(all, post(at+"/prompts", `{"parts":[{"text":"x"}],"busy":"maybe"}`), post(at+"/prompts", `{"parts":7}`), post("/api/sessions/none/prompts", `{"parts":[{"text":"x"}]}`))
	got := apiChance.ReplaceAllStringFunc(playedAPI(t, h, all), func(found string) string {
		switch {
		case strings.HasPrefix(found, "ponte-"):
			return "ponte-NAME=VALUE"
		case strings.HasPrefix(found, `"holder"`):
			return `"holder":"…"`
		case strings.HasPrefix(found, "not valid"):
			return "not valid: …; see"
		case strings.Contains(found, ":"):
			return "TIME"
		}
		return "ID"
	})
	const path = "testdata/api.want"
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// modelThat is a model that fails as a function of the prompt says, and else repeats the prompt.
func modelThat(fails func(prompt string) error) model.Model {
	inner := echo()
	return model.Func(model.Info{}, func(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
		_, prompt := returns(req)
		if err := fails(prompt); err != nil {
			return nil, err
		}
		return inner.Generate(ctx, req, sink)
	})
}
