// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/webbridge"
)

// noticesOf returns the notices and the last message of a session.
func noticesOf(t *testing.T, h *webbridge.Handler, id string) (all []string) {
	t.Helper()
	s, done, err := h.Use(t.Context(), id)
	require.NoError(t, err)
	defer done()
	snapshot, _, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	for e := range snapshot.Of(view.Notice) {
		all = append(all, e.Class+": "+e.Title)
	}
	return all
}

// TestEndingsOfTurnsAreExplained has turns that end in each way, and what the user is told of that.
func TestEndingsOfTurnsAreExplained(t *testing.T) {
	m := modeltest.Func(func(ctx context.Context, req *model.Request) (*model.Message, error) {
		_, prompt := returns(req)
		r := model.Response(model.Text("Well."))
		r.Usage = model.Usage{InputTokens: 5, OutputTokens: 5}
		switch prompt {
		case "long":
			r.Finish = model.FinishLength
		case "long call":
			r = model.Response(model.ToolCall("a", "pay", `{"to":`))
			r.Finish = model.FinishLength
		case "nothing but long":
			r = model.Response()
			r.Finish = model.FinishLength
		case "filtered":
			r.Finish = model.FinishContentFilter
		case "refused":
			r.Finish = model.FinishRefusal
		case "fail":
			return nil, &model.APIError{Status: 529}
		case "stop":
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return r, nil
	})
	for prompt, want := range map[string]string{
		"done": "done", "long": "done [warning: Stopped: the model hit its token limit before finishing.]",
		"long call":        "failed [error: The model hit its token limit before finishing. Ask for less at a time.]",
		"nothing but long": "failed [error: The model hit its token limit before finishing. Ask for less at a time.]",
		"filtered":         "refused [warning: The model's provider withheld the answer. Rephrase your message.]",
		"refused":          "refused [warning: The model refused to answer. Rephrase your message.]",
		"fail":             "failed [error: The model provider is overloaded. Try again in a minute.]", "stop": "cancelled",
	} {
		bubble(t, func(t *testing.T) {
			h := newHandler(t, options{model: m, host: host.Config[none, string]{Logger: slog.New(slog.DiscardHandler)}, Options: webbridge.Options{Linger: time.Hour}})
			call := recorded(t, h)
			id := call("POST", "/api/sessions", "{}", 201)["id"].(string)
			call("POST", "/api/sessions/"+id+"/prompts", `{"parts":[{"text":"`+prompt+`"}]}`, 202)
			synctest.Wait()
			if prompt == "stop" {
				call("POST", "/api/sessions/"+id+"/cancel", "", 204)
				synctest.Wait()
			}
			_, reason, _ := strings.Cut(metrics(h), `ponte_web_turns_total{reason="`)
			reason, _, _ = strings.Cut(reason, `"`)
			got := reason
			if all := noticesOf(t, h, id); len(all) > 0 {
				got += fmt.Sprint(" ", all)
			}
			require.Equal(t, want, got, prompt)
			require.NoError(t, h.Shutdown(t.Context()))
		})
	}
}

// TestTurnsThatAreStoppedByTheServerSaySo has turns that are stopped because a quota is used up, and because the server ends.
func TestTurnsThatAreStoppedByTheServerSaySo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		m := modeltest.Func(func(ctx context.Context, _ *model.Request) (*model.Message, error) {
			calls++
			r := model.Response(model.ToolCall(fmt.Sprint("c", calls), "none", `{}`))
			r.Usage = model.Usage{InputTokens: 5, OutputTokens: 5}
			return r, ctx.Err()
		})
		h := newHandler(t, options{model: m, host: host.Config[none, string]{Logger: slog.New(slog.DiscardHandler)}, Options: webbridge.Options{Limits: webbridge.Limits{UserTokens: 20}, Linger: time.Hour}})
		call := recorded(t, h)
		id := call("POST", "/api/sessions", "{}", 201)["id"].(string)
		call("POST", "/api/sessions/"+id+"/prompts", `{"parts":[{"text":"x"}]}`, 202)
		synctest.Wait()
		require.Equal(t, 2, calls, "the turn ends with the response that reaches the bound")
		require.Equal(t, []string{"warning: Stopped: your quota is used up."}, noticesOf(t, h, id))
		require.Contains(t, metrics(h), `ponte_web_turns_total{reason="cancelled"} 1`)
		require.Contains(t, metrics(h), "ponte_web_tokens_total 20\n")
		require.NoError(t, h.Shutdown(t.Context()))
	})
}

// TestQuotasOfMoneyHold has a bound in the currency of the prices. A negative one is none.
func TestQuotasOfMoneyHold(t *testing.T) {
	cheap := model.Func(model.Info{Provider: "test", Name: "test"}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
		m := model.Response(model.Text("cheap"))
		m.Usage = model.Usage{InputTokens: 1}
		return m, nil
	})
	for cost, turns := range map[float64]int{0.5: 2, 0.75: 3, 0.6: 3, -1: 9, 0: 9, math.Inf(1): 9} {
		bubble(t, func(t *testing.T) {
			h := newHandler(t, options{host: host.Config[none, string]{
				Agent: agent.Must(agent.New(agent.Config[none, string]{Model: cheap, Prices: prices{Request: 0.25}})),
			}, Options: webbridge.Options{Limits: webbridge.Limits{UserCost: cost}, Linger: time.Hour}})
			call := recorded(t, h)
			id := call("POST", "/api/sessions", "{}", 201)["id"].(string)
			for range turns {
				call("POST", "/api/sessions/"+id+"/prompts", `{"parts":[{"text":"x"}]}`, 202)
				synctest.Wait()
			}
			if turns < 9 {
				call("POST", "/api/sessions/"+id+"/prompts", `{"parts":[{"text":"x"}]}`, 429)
			}
			require.NoError(t, h.Shutdown(t.Context()))
		})
	}
}

// TestPromptsThatWaitForAServerThatEnds has a prompt behind a running turn when the server ends.
func TestPromptsThatWaitForAServerThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		h := newHandler(t, options{model: g.model(), Options: webbridge.Options{Linger: time.Hour, Protocols: []webbridge.Protocol{
			webbridge.UIStream(webbridge.UIStreamOptions{}), webbridge.OpenAI(webbridge.OpenAIOptions{}),
		}}})
		call := recorded(t, h)
		id := call("POST", "/api/sessions", "{}", 201)["id"].(string)
		require.NotEmpty(t, call("POST", "/api/sessions/"+id+"/prompts", `{"parts":[{"text":"one"}]}`, 202)["turn"])
		require.Equal(t, object{}, call("POST", "/api/sessions/"+id+"/prompts", `{"parts":[{"text":"two"}],"busy":"wait"}`, 202), "its turn has not begun")
		require.Equal(t, object{"kind": "busy", "message": "a turn of the session is running: wait for its end, or cancel it"},
			call("POST", "/api/sessions/"+id+"/prompts", `{"parts":[{"text":"three"}]}`, 409)["error"])
		ended := make(chan error)
		go func() { ended <- h.Shutdown(t.Context()) }()
		synctest.Wait()
		closing := object{"kind": "unavailable", "message": "the server is shutting down: try again"}
		for _, r := range [][3]string{
			{"POST", "/api/sessions", "{}"}, {"POST", "/api/sessions/" + id + "/prompts", `{"parts":[{"text":"x"}]}`}, {"GET", "/api/sessions/" + id + "/events", ""}, {"GET", "/api/events", ""},
			{"POST", "/api/chat", `{"id":"new","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"x"}]}]}`},
			{"POST", "/api/chat", `{"id":"` + id + `","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"x"}]}]}`},
		} {
			require.Equal(t, closing, call(r[0], r[1], r[2], 503)["error"], r)
		}
		require.Equal(t, object{"message": "the server is shutting down: try again", "type": "server_error", "param": nil, "code": "unavailable"},
			call("POST", "/v1/chat/completions", chatOf("x"), 503)["error"])
		g.answer <- "done"
		g.answer <- "done"
		require.NoError(t, <-ended)
	})
}

// TestOptionsAreNotPrinted prints a handler and its options. The token is in neither.
func TestOptionsAreNotPrinted(t *testing.T) {
	o := webbridge.Options{Token: token, Title: "My agent", Hosts: []string{"Chat.Example"}}
	h := newHandler(t, options{Options: o})
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d"} {
		require.Equal(t, "webbridge.Handler", fmt.Sprintf(verb, h))
		require.NotContains(t, fmt.Sprintf(verb, o), token, verb)
	}
	require.Contains(t, fmt.Sprintf("%+v", o), "Title:My agent")
	require.Equal(t, token, o.Token, "printing changes nothing")
	for name, status := range map[string]int{"chat.example": 200, "CHAT.example:8080": 200, "localhost": 421, "127.0.0.1": 421, "other.example": 421} {
		r := request(t.Context(), "GET", "/api/config", "")
		r.Host = name
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.Equal(t, status, w.Code, name)
	}
	require.Equal(t, "Chat.Example", o.Hosts[0], "the program's options stay as they are")
	require.NoError(t, h.Shutdown(t.Context()))
}

// unreadable is a body that does not come whole.
type unreadable struct{}

func (unreadable) Read([]byte) (int, error) { return 0, errors.New("the connection has ended") }

// TestOddBodiesAndErrorsHaveAnswers has a body that breaks off, an error that cannot be written as JSON, and text that is not UTF-8.
func TestOddBodiesAndErrorsHaveAnswers(t *testing.T) {
	h := newHandler(t, options{Options: webbridge.Options{Protocols: []webbridge.Protocol{
		failingAt{"GET /api/odd", &webbridge.Error{Status: 409, Kind: "odd", Question: &view.Entity{Input: []byte("{")}}},
	}}})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", "http://localhost/api/sessions", unreadable{}))
	require.Equal(t, 401, w.Code)
	r := request(t.Context(), "POST", "/api/sessions", "")
	r.Body, r.ContentLength = struct {
		unreadable
		closer
	}{}, -1
	w = httptest.NewRecorder()
	h.ServeHTTP(w, r)
	require.Equal(t, 400, w.Code)
	require.JSONEq(t, `{"error":{"kind":"invalid","message":"the body of the request did not come whole"}}`, w.Body.String())
	call := recorded(t, h)
	require.Equal(t, object{"kind": "internal", "message": "the answer cannot be written as JSON"}, call("GET", "/api/odd", "", 500)["error"])
	id := call("POST", "/api/sessions", `{"title":"a b"}`, 201)["id"].(string)
	require.Equal(t, "a b", call("GET", "/api/sessions/"+id, "", 200)["title"])
	call("POST", "/api/sessions", `{"title":"`+strings.Repeat("x", 500)+`"}`, 201)
	require.NoError(t, h.Shutdown(t.Context()))
}

type closer struct{}

func (closer) Close() error { return nil }

// TestListsArePagedExactly lists sessions a few at a time, with words that are looked for and without.
func TestListsArePagedExactly(t *testing.T) {
	store := &pageCounter{Store: new(session.Memory)}
	h := newHandler(t, options{host: host.Config[none, string]{Store: durable{store}}, Options: webbridge.Options{Dirs: []string{"/repo"}}})
	call := recorded(t, h)
	for n := range 5 {
		if n > 0 {
			_, err := store.Create(t.Context(), session.New{ID: fmt.Sprint("plan", n), Title: fmt.Sprint("Plan ", n), Dir: "/repo"})
			require.NoError(t, err)
		}
		for _, query := range []string{"limit=2", "limit=2&q=plan", "limit=2&q=PLAN&dir=/repo"} {
			var sizes []int
			seen := map[string]bool{}
			for next, first := "", true; first || next != ""; first = false {
				page := call("GET", "/api/sessions?"+query+"&cursor="+next, "", 200)
				sizes = append(sizes, len(page["sessions"].([]any)))
				for _, one := range page["sessions"].([]any) {
					seen[one.(object)["id"].(string)] = true
				}
				next = page["next"].(string)
			}
			require.Len(t, seen, n, query)
			require.Equal(t, [][]int{{0}, {1}, {2}, {2, 1}, {2, 2}}[n], sizes, "%s: %d", query, n)
		}
	}
	require.Len(t, call("GET", "/api/sessions?limit=1", "", 200)["sessions"], 1)
	call("GET", "/api/sessions?q="+strings.Repeat("x", 200), "", 200)
	_, err := store.Create(t.Context(), session.New{ID: "elsewhere", Title: "Plan 9", Dir: "/elsewhere"})
	require.NoError(t, err)
	require.Len(t, call("GET", "/api/sessions", "", 200)["sessions"], 4)
	require.Empty(t, call("GET", "/api/sessions?dir=/elsewhere", "", 200)["sessions"], "it is not served")
	for i := range 120 {
		_, err := store.Create(t.Context(), session.New{ID: fmt.Sprint("more", i), Title: "More", Dir: "/repo"})
		require.NoError(t, err)
	}
	require.Len(t, call("GET", "/api/sessions?limit=100", "", 200)["sessions"], 100)
	require.Len(t, call("GET", "/api/sessions?limit=101", "", 200)["sessions"], 100, "no answer has more")
	require.Len(t, call("GET", "/api/sessions", "", 200)["sessions"], session.DefaultLimit)
	require.NoError(t, h.Shutdown(t.Context()))
}

// TestSearchesAreBounded looks for words that few of many sessions have. An answer says where to look on.
func TestSearchesAreBounded(t *testing.T) {
	store := &pageCounter{Store: new(session.Memory)}
	h := newHandler(t, options{host: host.Config[none, string]{Store: durable{store}}})
	for i := range 10_001 {
		title := "Other"
		if i == 0 {
			title = "The first plan"
		}
		_, err := store.Create(t.Context(), session.New{Title: title})
		require.NoError(t, err)
	}
	call := recorded(t, h)
	page := call("GET", "/api/sessions?q=plan", "", 200)
	require.Empty(t, page["sessions"])
	require.NotEmpty(t, page["next"])
	require.EqualValues(t, 10_000, store.listed.Load())
	page = call("GET", "/api/sessions?q=plan&cursor="+page["next"].(string), "", 200)
	require.Len(t, page["sessions"], 1)
	require.Empty(t, page["next"])
	require.NoError(t, h.Shutdown(t.Context()))
}
