// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
)

// choosing has the client choose, and says what came back.
func choosing() model.Model {
	return modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				if p.Kind == model.PartToolReturn {
					return model.Response(model.Text(fmt.Sprintf("It was %s: %s.", cmp.Or(p.Outcome, "success"), p.Text))), nil
				}
			}
		}
		return model.Response(model.ToolCall("c", "choose", `{"to":"one"}`)), nil
	})
}

// TestResultsOfClientsReachTheModel has results of frontend tools that are texts, values and errors, by both protocols for browsers.
func TestResultsOfClientsReachTheModel(t *testing.T) {
	tool := toolset.ExternalTool[aguiNone, aguiPayment]("choose", "Choose.")
	s := aguiServe(t, choosing(), tool)
	for content, want := range map[string]string{
		`"content":"plain \"text\""`:                `It was success: plain \"text\".`,
		`"content":{"a":[1]}`:                       `It was success: {\"a\":[1]}.`,
		`"content":""`:                              "It was success: .",
		`"content":"left out","error":"it is dark"`: "It was failed: it is dark.",
	} {
		call := last(s.say(content, "choose"))["outcome"].(aguiObject)["pendingToolCallIds"].([]any)[0].(string)
		var result aguiObject
		require.NoError(t, json.Unmarshal([]byte(`{"id":"r","role":"tool","toolCallId":"`+call+`",`+content+`}`), &result))
		other := aguiObject{"id": "q", "role": "tool", "toolCallId": "another", "content": "not asked for"}
		require.Contains(t, lines(s.run(content, aguiObject{"messages": []aguiObject{other, result}})), want)
		again := s.run(content, aguiObject{"messages": []aguiObject{result}})
		require.Equal(t, aguiObject{"type": "success"}, last(again)["outcome"])
		require.Equal(t, 1, strings.Count(fmt.Sprint(again), "It was"), "sent once more, it does nothing")
	}
	ui := uiServe(t, choosing(), webbridge.UIStreamOptions{Results: []string{"choose"}}, toolset.ExternalTool[uiNone, uiPayment]("choose", "Choose."))
	for part, want := range map[string]string{
		`"state":"output-available","output":"plain \"text\""`: `It was success: plain \"text\".`,
		`"state":"output-available","output":{"a":[1]}`:        `It was success: {\"a\":[1]}.`,
		`"state":"output-error","errorText":"it is dark"`:      "It was failed: it is dark.",
	} {
		c := ui.chat(part)
		c.id = fmt.Sprint("chat", len(part))
		c.say("choose")
		c.messages = c.list()
		parts := c.messages[len(c.messages)-1]["parts"].([]any)
		for i := range parts {
			if p := parts[i].(uiObject); p["toolCallId"] != nil {
				require.NoError(t, json.Unmarshal([]byte("{"+part+"}"), &p))
			}
		}
		require.Contains(t, uiLines(c.send(nil)), want)
	}
}

// away is a store that cannot be read after a while.
type away struct {
	session.Memory
	gone  bool
	fails int // so many times more
}

func (a *away) Get(ctx context.Context, id string) (session.Info, error) {
	if a.fails--; a.gone || a.fails >= 0 {
		return session.Info{}, &session.Error{Op: "get", Session: id, Err: session.ErrUnavailable}
	}
	return a.Memory.Get(ctx, id)
}

// TestStoreThatCannotBeReadIsNoMissingSession asks each kind of route for a session while the store is away: it may be there.
func TestStoreThatCannotBeReadIsNoMissingSession(t *testing.T) {
	store := new(away)
	h := newHandler(t, options{host: host.Config[none, string]{Store: store}, Options: webbridge.Options{
		Logger: slog.New(slog.DiscardHandler), Scores: &board{},
		Protocols: []webbridge.Protocol{webbridge.UIStream(webbridge.UIStreamOptions{}), webbridge.AGUI(webbridge.AGUIOptions{})},
	}})
	t.Cleanup(func() { _ = h.Shutdown(context.Background()) })
	store.gone = true
	call := recorded(t, h)
	for at, body := range map[string]string{
		"GET /api/sessions/one": "", "DELETE /api/sessions/one": "", "PATCH /api/sessions/one": `{"title":"x"}`, "POST /api/sessions/one/fork": "", "POST /api/sessions/one/rewind": `{"before":"x"}`,
		"GET /api/sessions/one/events": "", "POST /api/sessions/one/prompts": `{"parts":[{"text":"x"}]}`, "POST /api/sessions/one/cancel": "", "GET /api/sessions/one/waiting": "",
		"GET /api/sessions/one/permissions": "", "DELETE /api/sessions/one/permissions/p": "", "GET /api/sessions/one/scores": "", "PUT /api/sessions/one/scores/p": `{"good":true}`,
		"PUT /api/sessions/one/settings/mode": `{"value":"x"}`, "POST /api/sessions/one/questions/q": `{"digest":"d","choice":"c"}`,
		"PUT /api/sessions/one/waiting/p": `{"parts":[{"text":"x"}]}`, "DELETE /api/sessions/one/waiting/p": `{}`,
		"GET /api/chat/one/stream": "", "GET /api/chat/one/messages": "", "POST /api/chat/one/stop": "", "POST /api/agui/one/stop": "",
		"POST /api/chat": `{"id":"one","messages":[{"role":"user","parts":[{"type":"text","text":"x"}]}]}`, "POST /api/agui": `{"threadId":"one","runId":"r","messages":[{"role":"user","content":"x"}]}`,
	} {
		method, path, _ := strings.Cut(at, " ")
		e := call(method, path, body, 503)["error"].(object)
		require.Equal(t, webbridge.KindUnavailable, e["kind"], at)
		require.Equal(t, host.ErrorText(session.ErrUnavailable), e["message"], at)
	}
	_, open, _ := h.Open()
	require.Zero(t, open, "nothing is kept of a session that could not be read")
	for _, path := range []string{"/api/chat/one/messages", "/api/chat/one/stream"} {
		store.gone, store.fails = false, 1
		require.Equal(t, webbridge.KindUnavailable, call("GET", path, "", 503)["error"].(object)["kind"], "for a moment")
	}
}

// failingAt is a protocol with a route that fails, below any path.
type failingAt struct {
	path string
	err  error
}

func (p failingAt) Register(h *webbridge.Handler) {
	h.Handle(p.path, func(http.ResponseWriter, *http.Request) error { return p.err })
}

// TestKindsOfErrorsInTheWordsOfOpenAI has each kind of error below /v1/.
func TestKindsOfErrorsInTheWordsOfOpenAI(t *testing.T) {
	for kind, want := range map[string]string{
		webbridge.KindInvalid:      `400 invalid invalid_request_error`,
		webbridge.KindUnauthorized: `401 invalid_api_key authentication_error`,
		webbridge.KindForbidden:    `403 forbidden permission_error`,
		webbridge.KindNotFound:     `404 not_found invalid_request_error`,
		webbridge.KindBusy:         `409 busy invalid_request_error`,
		webbridge.KindHeld:         `409 held invalid_request_error`,
		webbridge.KindAnswered:     `409 answered invalid_request_error`,
		webbridge.KindChanged:      `409 changed invalid_request_error`,
		webbridge.KindFilesStay:    `409 files_stay invalid_request_error`,
		webbridge.KindTooLarge:     `413 too_large invalid_request_error`,
		webbridge.KindMediaType:    `415 media_type invalid_request_error`,
		webbridge.KindHost:         `421 host invalid_request_error`,
		webbridge.KindLimit:        `429 rate_limit_exceeded rate_limit_error`,
		webbridge.KindInternal:     `500 internal server_error`,
		webbridge.KindUnavailable:  `503 unavailable server_error`,
	} {
		err := &webbridge.Error{Kind: kind, Message: "It is so."}
		require.Equal(t, "webbridge: "+kind+": It is so.", err.Error())
		h := newHandler(t, options{Options: webbridge.Options{Protocols: []webbridge.Protocol{webbridge.OpenAI(webbridge.OpenAIOptions{}), failingAt{"GET /v1/fails", err}, failingAt{"GET /api/fails", err}}}})
		w := httptest.NewRecorder()
		h.ServeHTTP(w, request(t.Context(), "GET", "/v1/fails", ""))
		code, rest, _ := strings.Cut(want, " ")
		code2, kind2, _ := strings.Cut(rest, " ")
		require.Equal(t, code, fmt.Sprint(w.Code))
		require.JSONEq(t, fmt.Sprintf(`{"error":{"message":"It is so.","type":%q,"param":null,"code":%q}}`, kind2, code2), w.Body.String())
		require.Equal(t, "application/json", w.Header().Get("Content-Type"))
		require.Equal(t, kind == webbridge.KindUnauthorized, w.Header().Get("WWW-Authenticate") == "Bearer")
		w = httptest.NewRecorder()
		h.ServeHTTP(w, request(t.Context(), "GET", "/api/fails", ""))
		require.Equal(t, code, fmt.Sprint(w.Code), "the status belongs to the kind")
		require.JSONEq(t, fmt.Sprintf(`{"error":{"kind":%q,"message":"It is so."}}`, kind), w.Body.String())
		require.NoError(t, h.Shutdown(t.Context()))
	}
}

// TestServeLeavesOtherDirectoriesAlone has prompts that wait in sessions that nobody has open. Only those in directories that are
// served begin.
func TestServeLeavesOtherDirectoriesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(session.Memory)
		data, err := json.Marshal(map[string]any{"parts": []model.Part{model.User("go")}})
		require.NoError(t, err)
		for _, dir := range []string{"/repo", "/other", "/elsewhere", ""} {
			id := "in" + strings.ReplaceAll(dir, "/", "-")
			_, err := store.Create(t.Context(), session.New{ID: id, Dir: dir})
			require.NoError(t, err)
			_, err = store.Put(t.Context(), id, session.Item{ID: "p", Kind: session.ItemPrompt, Data: data, By: "a process that was killed"})
			require.NoError(t, err)
		}
		h := newHandler(t, options{host: host.Config[none, string]{Store: shared{store}}, Options: webbridge.Options{Dirs: []string{"/repo", "/other"}}})
		ctx, stop := context.WithCancelCause(t.Context())
		served := make(chan error)
		h.WillServe()
		go func() { served <- h.Serve(ctx) }()
		synctest.Wait()
		for id, waiting := range map[string]int64{"in-repo": 0, "in-other": 0, "in-elsewhere": 1, "in": 0} {
			info, err := store.Get(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, waiting, info.Waiting, id)
		}
		over := errors.New("over")
		stop(over)
		require.ErrorIs(t, <-served, over)
		require.NoError(t, h.Shutdown(t.Context()))
	})
}

// TestStreamsEndWithWords has streams of a session, of several, and of the list, that end with the server: with a host of its own and
// with one of the program's.
func TestStreamsEndWithWords(t *testing.T) {
	for _, own := range []bool{true, false} {
		bubble(t, func(t *testing.T) {
			h := newHandler(t, options{})
			closeHost := func() {}
			if !own {
				on := h
				var err error
				h, err = webbridge.On(on.Host(), webbridge.Options{Token: token})
				require.NoError(t, err)
				closeHost = func() { require.NoError(t, on.Shutdown(t.Context())) }
			}
			call := recorded(t, h)
			id := call("POST", "/api/sessions", "{}", 201)["id"].(string)
			told := map[string]*deadlines{}
			ended := make(chan string, 10)
			for _, at := range []string{"/api/sessions/" + id + "/events", "/api/events?follow=" + id, "/api/events?list=true", "/api/events?follow=none"} {
				w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
				told[at] = w
				go func() { h.ServeHTTP(w, request(t.Context(), "GET", at, "")); ended <- at }()
			}
			synctest.Wait()
			call("PATCH", "/api/sessions/"+id, `{"title":"Rivers"}`, 200)
			synctest.Wait() // after what they show, the streams pause
			call("POST", "/api/sessions/"+id+"/prompts", `{"parts":[{"text":"one"}]}`, 202)
			require.NoError(t, h.Shutdown(t.Context()))
			for range told {
				<-ended
			}
			const end = `{"error":{"kind":"unavailable","message":"the server is shutting down: try again"}}`
			for at, w := range told {
				require.True(t, strings.HasSuffix(w.text(), "event: end\ndata: "+end+"\n\n"), "%s: %s", at, w.text())
				require.Equal(t, "text/event-stream", w.Header().Get("Content-Type"))
				require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
				require.Equal(t, "no", w.Header().Get("X-Accel-Buffering"))
				if strings.Contains(at, id) {
					require.Contains(t, w.text(), "You said one", "%v %s", own, at)
				}
			}
			if own {
				require.Contains(t, told["/api/events?follow="+id].text(), `{"follow":0,"end":`+end+`}`, "a session that is followed ends before the stream")
			}
			require.Contains(t, told["/api/events?follow=none"].text(), `{"follow":0,"end":{"error":{"kind":"not_found","message":"there is no session \"none\""}}}`)
			closeHost()
		})
	}
}

// TestNothingStaysInUse makes a request of each kind, taken and refused. After that no stream is open, and no session once it has
// lingered.
func TestNothingStaysInUse(t *testing.T) {
	const id, text = "/api/sessions/one", `"parts":[{"type":"text","text":"x"}]`
	for _, one := range []struct{ method, path, body string }{
		{"GET", id, ""}, {"PATCH", id, `{"title":"x"}`}, {"PATCH", id, `{"title":"a\tb"}`}, {"POST", id + "/prompts", `{"parts":[{"text":"x"}]}`}, {"POST", id + "/prompts", `{}`},
		{"POST", id + "/cancel", ""}, {"POST", id + "/rewind", `{"before":"prompt:x"}`}, {"POST", id + "/fork", ""}, {"PUT", id + "/settings/mode", `{"value":"plan"}`}, {"PUT", id + "/settings/x", `{"value":"plan"}`},
		{"GET", id + "/permissions", ""}, {"DELETE", id + "/permissions/x", ""}, {"GET", id + "/waiting", ""}, {"PUT", id + "/waiting/p", `{"parts":[{"text":"x"}]}`}, {"DELETE", id + "/waiting/p", `{}`},
		{"POST", id + "/questions/q", `{"digest":"d","choice":"c"}`}, {"GET", id + "/scores", ""}, {"PUT", id + "/scores/p", `{"good":true}`}, {"DELETE", id, ""},
		{"GET", id + "/events", ""}, {"GET", "/api/events?follow=one&follow=none&list=true", ""},
		{"POST", "/api/chat", `{"id":"one","messages":[{"id":"m","role":"user",` + text + `}]}`}, {"POST", "/api/chat", `{"id":"new","messages":[{"id":"m","role":"user",` + text + `}]}`},
		{"POST", "/api/chat", `{"id":"one","messages":[{"id":"m","role":"user","parts":[{"type":"x"}]}]}`}, {"POST", "/api/chat", `{"id":"one","messages":[{"id":"answer:","role":"assistant","parts":[]}]}`},
		{"POST", "/api/chat", `{"id":"one","messages":[{"id":"x","role":"assistant","parts":[]}]}`}, {"POST", "/api/chat", `{"id":"one","messageId":"m","messages":[{"id":"a","role":"assistant"},{"id":"m","role":"user",` + text + `}]}`},
		{"GET", "/api/chat/one/stream", ""}, {"GET", "/api/chat/one/messages", ""}, {"POST", "/api/chat/one/stop", ""},
		{"POST", "/api/agui", `{"threadId":"one","runId":"r","messages":[{"id":"m","role":"user","content":"x"}]}`}, {"POST", "/api/agui", `{"threadId":"one","runId":"r"}`},
		{"POST", "/api/agui", `{"threadId":"one","runId":"r","messages":[{"id":"m","role":"user","content":[{"type":"x"}]}]}`}, {"POST", "/api/agui", `{"threadId":"one","runId":"r","resume":[{"interruptId":"x"}]}`},
		{"POST", "/api/agui/one/stop", ""},
		{"POST", "/v1/chat/completions", chatOf("x")}, {"POST", "/v1/responses", `{"model":"agent","stream":true,"input":"x"}`}, {"POST", "/v1/responses", `{"model":"bad","input":"x"}`},
	} {
		bubble(t, func(t *testing.T) {
			store := durable{new(session.Memory)}
			_, err := store.Create(t.Context(), session.New{ID: "one"})
			require.NoError(t, err)
			h := newHandler(t, options{host: host.Config[none, string]{Store: store, Modes: host.Modes()}, Options: webbridge.Options{
				Linger: time.Minute, Scores: &board{},
				Protocols: []webbridge.Protocol{webbridge.UIStream(webbridge.UIStreamOptions{}), webbridge.AGUI(webbridge.AGUIOptions{}), webbridge.OpenAI(webbridge.OpenAIOptions{Models: map[string]string{"bad": "none"}})},
			}})
			ctx, leave := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				h.ServeHTTP(&deadlines{ResponseRecorder: httptest.NewRecorder()}, request(ctx, one.method, one.path, one.body))
				close(ended)
			}()
			time.Sleep(time.Second)
			leave()
			<-ended
			streams, _, _ := h.Open()
			require.Zero(t, streams, one)
			time.Sleep(time.Minute)
			synctest.Wait()
			_, sessions, _ := h.Open()
			require.Zero(t, sessions, one)
			require.Empty(t, h.Host().Sessions(), one)
			require.Contains(t, metrics(h), "ponte_web_sessions_open 0\n")
			require.Contains(t, metrics(h), "ponte_web_turns_running 0\n")
			require.NoError(t, h.Shutdown(t.Context()))
		})
	}
}

// TestClientThatHasLeftIsToldNoEnd has clients that leave while a turn runs: what they have of the answer is not its end.
func TestClientThatHasLeftIsToldNoEnd(t *testing.T) {
	for _, one := range []struct{ method, path, body, begins string }{
		{"POST", "/api/chat", `{"id":"one","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"x"}]}]}`, `"type":"start"`},
		{"GET", "/api/chat/one/stream", "", `"type":"start"`},
		{"POST", "/api/agui", `{"threadId":"one","runId":"r","messages":[{"id":"m","role":"user","content":"x"}]}`, "RUN_STARTED"},
		{"POST", "/api/agui", `{"threadId":"one","runId":"r"}`, "RUN_STARTED"},
		{"POST", "/v1/chat/completions", `{"model":"agent","stream":true,"messages":[{"role":"user","content":"x"}]}`, ""},
	} {
		bubble(t, func(t *testing.T) {
			g := newGate()
			h := newHandler(t, options{model: g.model(), Options: webbridge.Options{
				Protocols: []webbridge.Protocol{webbridge.UIStream(webbridge.UIStreamOptions{}), webbridge.AGUI(webbridge.AGUIOptions{}), webbridge.OpenAI(webbridge.OpenAIOptions{})},
			}})
			if one.method == "GET" || !strings.Contains(one.body, "messages") {
				_, err := h.Host().Store().Create(t.Context(), session.New{ID: "one"})
				require.NoError(t, err)
				recorded(t, h)("POST", "/api/sessions/one/prompts", `{"parts":[{"text":"x"}]}`, 202)
			}
			ctx, leave := context.WithCancel(t.Context())
			w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
			ended := make(chan struct{})
			go func() { h.ServeHTTP(w, request(ctx, one.method, one.path, one.body)); close(ended) }()
			time.Sleep(time.Second)
			leave()
			<-ended
			require.Contains(t, w.text(), one.begins)
			require.NotContains(t, w.text(), "finish", one)
			require.NotContains(t, w.text(), "[DONE]", one)
			require.NotContains(t, w.text(), "RUN_FINISHED", one)
			g.answer <- "done"
			require.NoError(t, h.Shutdown(t.Context()))
		})
	}
}

// TestSessionsThatAreNotClosedAreLogged has dependencies that cannot be released. The log has the kind of the error.
func TestSessionsThatAreNotClosedAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		h := newHandler(t, options{
			host: host.Config[none, string]{Store: durable{new(session.Memory)}, Logger: slog.New(slog.DiscardHandler), Release: func(context.Context, *host.Session, none) error {
				return errors.New("at /secret/path")
			}},
			Options: webbridge.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))},
		})
		call := recorded(t, h)
		id := call("POST", "/api/sessions", "{}", 201)["id"].(string)
		call("POST", "/api/sessions/"+id+"/prompts", `{"parts":[{"text":"one"}]}`, 202)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Contains(t, log.String(), `level=ERROR msg="webbridge: a session was not closed" session=`+id+" error=")
		require.NotContains(t, log.String(), "/secret/path")
		_ = h.Shutdown(t.Context())
	})
}
