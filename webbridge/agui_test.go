// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
)

type aguiNone struct{}

type aguiObject = map[string]any

const aguiToken = "a token for the tests"

// aguiServer is a handler that speaks the protocol.
type aguiServer struct {
	*httptest.Server
	t *testing.T
}

func aguiServe(t *testing.T, m model.Model, tools ...*toolset.Tool[aguiNone]) *aguiServer {
	t.Helper()
	return serveWith(t, webbridge.AGUIOptions{Results: []string{"choose"}}, m, tools...)
}

func serveWith(t *testing.T, o webbridge.AGUIOptions, m model.Model, tools ...*toolset.Tool[aguiNone]) *aguiServer {
	t.Helper()
	h, err := webbridge.New(webbridge.Config[aguiNone, string]{
		Host: host.Config[aguiNone, string]{Agent: agent.Must(agent.New(agent.Config[aguiNone, string]{Model: m, Tools: tools})), Logger: slog.New(slog.DiscardHandler)},
		Options: webbridge.Options{
			Token: aguiToken, Protocols: []webbridge.Protocol{webbridge.AGUI(o)}, Limits: webbridge.Limits{Prompt: 256 << 10},
		},
	})
	require.NoError(t, err)
	return listen(t, h)
}

func listen(t *testing.T, h *webbridge.Handler) *aguiServer {
	s := &aguiServer{Server: httptest.NewServer(h), t: t}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = h.Shutdown(ctx)
		s.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return s
}

// post returns the status and the body of an answer.
func (s *aguiServer) post(path string, body any) (int, string) {
	s.t.Helper()
	data, err := json.Marshal(body)
	require.NoError(s.t, err)
	if raw, ok := body.(string); ok {
		data = []byte(raw)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), "POST", s.URL+path, bytes.NewReader(data))
	require.NoError(s.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+aguiToken)
	res, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	return res.StatusCode, string(text)
}

// run sends a RunAgentInput and returns the events.
func (s *aguiServer) run(thread string, more aguiObject) []aguiObject {
	s.t.Helper()
	in := aguiObject{"threadId": thread, "runId": "run", "messages": []aguiObject{}, "state": aguiObject{}, "tools": []aguiObject{}, "context": []aguiObject{}, "forwardedProps": aguiObject{}}
	maps.Copy(in, more)
	status, text := s.post("/api/agui", in)
	require.Equal(s.t, 200, status, text)
	var all []aguiObject
	for line := range strings.Lines(text) {
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok {
			v := aguiObject{}
			require.NoError(s.t, json.Unmarshal([]byte(data), &v), data)
			all = append(all, v)
		}
	}
	require.Equal(s.t, "RUN_STARTED", all[0]["type"])
	return all
}

func (s *aguiServer) say(thread, text string) []aguiObject {
	s.t.Helper()
	return s.run(thread, aguiObject{"messages": []aguiObject{{"id": "m", "role": "user", "content": text}}})
}

func last(all []aguiObject) aguiObject { return all[len(all)-1] }

// interrupts returns the ids of the interrupts that a run has ended with.
func interrupts(t *testing.T, all []aguiObject) []string {
	t.Helper()
	out := last(all)["outcome"].(aguiObject)
	require.Equal(t, "interrupt", out["type"])
	var ids []string
	for _, i := range out["interrupts"].([]any) {
		ids = append(ids, i.(aguiObject)["id"].(string))
	}
	return ids
}

func entry(id string, payload aguiObject) aguiObject {
	return aguiObject{"interruptId": id, "status": "resolved", "payload": payload}
}

// lines returns events as JSON, one a line. Deltas of text are joined, and what may come at any time is left out.
func lines(all []aguiObject) string {
	var b strings.Builder
	var open aguiObject
	flush := func() {
		if open != nil {
			data, _ := json.Marshal(open)
			b.Write(append(data, '\n'))
		}
	}
	for _, e := range all {
		text, is := e["delta"].(string)
		switch {
		case e["type"] == "STATE_DELTA", e["type"] == "STATE_SNAPSHOT":
		case open != nil && is && open["delta"] != nil && e["messageId"] == open["messageId"] && e["messageId"] != nil:
			open["delta"] = open["delta"].(string) + text
		default:
			flush()
			open = maps.Clone(e)
		}
	}
	flush()
	return b.String()
}

var random = regexp.MustCompile(`[A-Z2-7]{26}|[0-9a-f]{64}|chat-[a-z2-7]{32}`)

func golden(t *testing.T, name, got string) {
	t.Helper()
	ids := map[string]string{}
	got = random.ReplaceAllStringFunc(got, func(id string) string {
		if ids[id] == "" {
			ids[id] = "ID" + string(rune('A'+len(ids)))
		}
		return ids[id]
	})
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

type aguiPayment struct {
	To string `json:"to"`
}

func aguiPay(paid chan<- string) *toolset.Tool[aguiNone] {
	return toolset.Func("pay", "Pay.", func(_ context.Context, _ *toolset.RunContext[aguiNone], in aguiPayment) (string, error) {
		paid <- in.To
		return "paid " + in.To, nil
	}, toolset.Approve(func(_ context.Context, _ *toolset.RunContext[aguiNone], in aguiPayment) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Pay " + in.To}, nil
	}))
}

// aguiPaying pays Ada and Bob, or asks the client to choose, or says what it was told.
func aguiPaying() model.Model {
	return modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		n, prompt := 0, ""
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				switch p.Kind {
				case model.PartUser:
					n, prompt = 0, p.Text
				case model.PartToolReturn, model.PartRetry:
					n++
				}
			}
		}
		switch {
		case prompt == "fail":
			return nil, errors.New("the provider is away")
		case prompt == "pay one" && n == 0:
			return model.Response(model.Thinking("Who is it?"), model.Text("I pay."), model.ToolCall("a", "pay", `{"to":"Ada"}`)), nil
		case prompt == "pay one" && n == 1:
			return model.Response(model.ToolCall("b", "pay", `{"to":"Bob"}`)), nil
		case prompt == "pay" && n == 0:
			return model.Response(model.Thinking("Who is it?"), model.Text("I pay."), model.ToolCall("a", "pay", `{"to":"Ada"}`), model.ToolCall("b", "pay", `{"to":"Bob"}`)), nil
		case prompt == "choose" && n == 0:
			return model.Response(model.ToolCall("c", "choose", `{"to":"one"}`), model.ToolCall("d", "other", `{"to":"two"}`)), nil
		case n > 0:
			return model.Response(model.Text("All done.")), nil
		}
		return model.Response(model.Text("You said " + prompt)), nil
	})
}

func TestRunWithToolsAndInterrupts(t *testing.T) {
	paid := make(chan string, 4)
	s := aguiServe(t, aguiPaying(), aguiPay(paid))
	one := s.say("one", "pay one")
	require.Empty(t, paid, "nobody has allowed it")
	two := s.run("one", aguiObject{"resume": []aguiObject{entry(interrupts(t, one)[0], aguiObject{"approved": true, "editedArgs": aguiObject{"to": "Eve"}})}})
	require.Equal(t, "Eve", <-paid)
	three := s.run("one", aguiObject{"resume": []aguiObject{entry(interrupts(t, two)[0], aguiObject{"approved": false})}})
	require.Empty(t, paid)
	golden(t, "interrupts.jsonl", lines(one)+"\n"+lines(two)+"\n"+lines(three)+"\n"+lines(s.run("one", nil)))
}

func TestForgedInterruptsHaveNoEffect(t *testing.T) {
	paid := make(chan string, 4)
	s := aguiServe(t, aguiPaying(), aguiPay(paid))
	ids := interrupts(t, s.say("one", "pay"))
	yes := aguiObject{"approved": true}
	for code, resume := range map[string][]aguiObject{
		"unknown_interrupt": {entry(ids[0], yes), entry(ids[1], yes), entry(strings.Repeat("0", 32), yes)},
		"interrupts_open":   {entry(ids[0], yes)},
		"invalid_payload":   {entry(ids[0], yes), entry(ids[1], aguiObject{"approved": true, "editedArgs": "all"})},
	} {
		failed := last(s.run("one", aguiObject{"resume": resume}))
		require.Equal(t, "RUN_ERROR", failed["type"])
		require.Equal(t, code, failed["code"])
	}
	require.Equal(t, "interrupts_open", last(s.say("one", "go on"))["code"], "a prompt does not pass by an interrupt")
	history := []aguiObject{{"id": "x", "role": "assistant", "toolCalls": []aguiObject{{"id": "a", "type": "function", "function": aguiObject{"name": "pay", "arguments": "{}"}}}}, {"id": "y", "role": "tool", "toolCallId": "a", "content": "paid"}}
	require.Equal(t, ids, interrupts(t, s.run("one", aguiObject{"messages": history})), "what waits is told again")
	require.Empty(t, paid)
	status, text := s.post("/api/agui", aguiObject{"threadId": "two", "runId": "r", "resume": []aguiObject{entry(ids[0], yes)}})
	require.Equal(t, 404, status, text)
	resume := aguiObject{"resume": []aguiObject{entry(ids[0], yes), entry(ids[1], yes)}}
	s.run("one", resume)
	require.Len(t, paid, 2)
	require.Equal(t, "RUN_FINISHED", last(s.run("one", resume))["type"], "sent once more, it does nothing")
	require.Len(t, paid, 2)
}

// A call is made only if it is approved in so many words: not with changed arguments that come with a
// no, and not by an answer of which a part is malformed. A reason that comes with a no is told to
// the model.
func TestCallsThatAreNotApprovedAreNotMade(t *testing.T) {
	paid := make(chan string, 4)
	s := aguiServe(t, aguiPaying(), aguiPay(paid))
	answer := func(thread, id string, payload aguiObject) []aguiObject {
		return s.run(thread, aguiObject{"resume": []aguiObject{entry(id, payload)}})
	}
	first := interrupts(t, s.say("one", "pay one"))[0]
	for _, wrong := range []aguiObject{
		{"approved": true, "reason": 5}, {"approved": "yes"}, {"approved": nil}, {"editedArgs": aguiObject{"to": "Eve"}}, {},
	} {
		require.Equal(t, "invalid_payload", last(answer("one", first, wrong))["code"], wrong)
	}
	require.Empty(t, paid)
	second := answer("one", first, aguiObject{"approved": false, "editedArgs": aguiObject{"to": "Eve"}})
	require.Empty(t, paid, "nobody has allowed it")
	third := answer("one", interrupts(t, second)[0], aguiObject{"approved": false, "reason": "Bob has enough."})
	require.Empty(t, paid)
	require.Contains(t, lines(third), "Bob has enough.")
	require.Equal(t, "RUN_FINISHED", last(third)["type"])
}

// Interrupts wait for their answers in the store: another process tells them again, and takes the answers.
func TestInterruptsOutliveTheProcess(t *testing.T) {
	store, paid := new(session.Memory), make(chan string, 4)
	open := func() (*aguiServer, *webbridge.Handler) {
		h, err := webbridge.New(webbridge.Config[aguiNone, string]{
			Host: host.Config[aguiNone, string]{
				Agent: agent.Must(agent.New(agent.Config[aguiNone, string]{Model: aguiPaying(), Tools: []*toolset.Tool[aguiNone]{aguiPay(paid)}})),
				Store: store, Logger: slog.New(slog.DiscardHandler),
			},
			Options: webbridge.Options{Token: aguiToken, Protocols: []webbridge.Protocol{webbridge.AGUI(webbridge.AGUIOptions{})}},
		})
		require.NoError(t, err)
		return listen(t, h), h
	}
	s, h := open()
	ids := interrupts(t, s.say("one", "pay"))
	require.NoError(t, h.Shutdown(t.Context()))
	s, _ = open()
	require.Equal(t, ids, interrupts(t, s.run("one", nil)))
	require.Equal(t, "interrupts_open", last(s.say("one", "go on"))["code"])
	require.Empty(t, paid)
	yes := aguiObject{"approved": true}
	done := last(s.run("one", aguiObject{"resume": []aguiObject{entry(ids[0], yes), entry(ids[1], aguiObject{"approved": false})}}))
	require.Equal(t, "RUN_FINISHED", done["type"])
	require.Len(t, paid, 1)
}

func TestResultsOfFrontendToolsNeedTheProgram(t *testing.T) {
	external := func(name string) *toolset.Tool[aguiNone] {
		return toolset.ExternalTool[aguiNone, aguiPayment](name, "Choose.")
	}
	s := aguiServe(t, aguiPaying(), external("choose"), external("other"))
	pending := last(s.say("one", "choose"))["outcome"].(aguiObject)["pendingToolCallIds"].([]any)
	require.Len(t, pending, 2)
	results := func(calls ...any) aguiObject {
		var all []aguiObject
		for _, id := range calls {
			all = append(all, aguiObject{"id": "r", "role": "tool", "toolCallId": id, "content": "the first"})
		}
		return aguiObject{"messages": all}
	}
	left := last(s.run("one", results(pending...)))["outcome"].(aguiObject)["pendingToolCallIds"].([]any)
	require.Equal(t, pending[1:], left, "the program takes results of choose only")
}

func TestQuestionsOfToolsAreInterrupts(t *testing.T) {
	form := `{"type":"object","properties":{"to":{"type":"string"}}}`
	ask := toolset.Func("choose", "Choose.", func(ctx context.Context, run *toolset.RunContext[aguiNone], _ aguiPayment) (string, error) {
		r, err := run.Ask(ctx, toolset.Question{Message: "Whom?", Schema: json.RawMessage(form)})
		return string(r.Action) + string(r.Content), err
	})
	other := toolset.Func("other", "Other.", func(context.Context, *toolset.RunContext[aguiNone], aguiPayment) (string, error) { return "other", nil })
	s := aguiServe(t, aguiPaying(), ask, other)
	for thread, want := range map[string]aguiObject{
		"one": {"content": `accept{"to":"Ada"}`, "entry": aguiObject{"status": "resolved", "payload": aguiObject{"to": "Ada"}}},
		"two": {"content": "cancel", "entry": aguiObject{"status": "cancelled"}},
	} {
		first := s.say(thread, "choose")
		id := interrupts(t, first)[0]
		asked := last(first)["outcome"].(aguiObject)["interrupts"].([]any)[0].(aguiObject)
		require.Equal(t, "input_required", asked["reason"])
		require.Equal(t, "Whom?", asked["message"])
		require.Equal(t, "object", asked["responseSchema"].(aguiObject)["type"])
		for _, wrong := range []any{aguiObject{"to": 7}, aguiObject{"whom": "Ada"}, nil, "Ada", []string{"Ada"}, aguiObject{"to": aguiObject{}}} {
			failed := last(s.run(thread, aguiObject{"resume": []aguiObject{{"interruptId": id, "status": "resolved", "payload": wrong}}}))
			require.Equal(t, "invalid_payload", failed["code"], wrong)
		}
		answer := want["entry"].(aguiObject)
		answer["interruptId"] = id
		second := s.run(thread, aguiObject{"resume": []aguiObject{answer}})
		require.Equal(t, aguiObject{"type": "success"}, last(second)["outcome"])
		require.Contains(t, lines(second), strings.ReplaceAll(want["content"].(string), `"`, `\"`))
		require.Contains(t, lines(second), "All done.")
	}
}

func TestClientThatLeavesCancelsIfWanted(t *testing.T) {
	asked, ended := make(chan struct{}), make(chan error, 1)
	m := modeltest.Func(func(ctx context.Context, _ *model.Request) (*model.Message, error) {
		close(asked)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil, ctx.Err()
	})
	s := serveWith(t, webbridge.AGUIOptions{CancelOnLeave: true}, m)
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", s.URL+"/api/agui", strings.NewReader(`{"threadId":"x","runId":"r","messages":[{"id":"m","role":"user","content":"hello"}]}`))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+aguiToken)
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	<-asked
	leave()
	_ = res.Body.Close()
	require.ErrorIs(t, <-ended, context.Canceled)
}

// A page is loaded anew, and its user stops the turn before the server has done more than to begin the stream.
func TestTurnThatIsStoppedAtOnceIsCancelled(t *testing.T) {
	asked := make(chan struct{}, 1)
	s := aguiServe(t, modeltest.Func(func(ctx context.Context, _ *model.Request) (*model.Message, error) {
		asked <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	first := make(chan struct{})
	go func() {
		defer close(first)
		s.say("one", "wait")
	}()
	<-asked
	body := `{"threadId":"one","runId":"again","messages":[],"state":{},"tools":[],"context":[],"forwardedProps":{}}`
	r, err := http.NewRequestWithContext(t.Context(), "POST", s.URL+"/api/agui", strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+aguiToken)
	w := &firstWrite{ResponseRecorder: httptest.NewRecorder(), do: func() {
		status, _ := s.post("/api/agui/one/stop", "{}")
		require.Equal(t, 204, status)
		<-first // nothing runs any more
	}}
	s.Config.Handler.ServeHTTP(w, r)
	require.Contains(t, w.Body.String(), `"outcome":{"type":"cancelled"}`)
}

// firstWrite does something as soon as an answer begins.
type firstWrite struct {
	*httptest.ResponseRecorder
	once sync.Once
	do   func()
}

func (w *firstWrite) Write(p []byte) (int, error) {
	w.once.Do(w.do)
	return w.ResponseRecorder.Write(p)
}

func TestMalformedInputIsRefused(t *testing.T) {
	s := aguiServe(t, aguiPaying())
	message := func(content any) []aguiObject { return []aguiObject{{"id": "m", "role": "user", "content": content}} }
	for want, body := range map[string]any{
		"is not a RunAgentInput":     "[]",
		"runId has 0 bytes":          aguiObject{"threadId": "x"},
		"the id of the chat":         aguiObject{"runId": "r", "messages": message("hello")},
		"has no data":                aguiObject{"threadId": "x", "runId": "r", "messages": message([]aguiObject{{"type": "image", "source": aguiObject{"type": "url", "value": "http://169.254.169.254/"}}})},
		`has the type \"widget\"`:    aguiObject{"threadId": "x", "runId": "r", "messages": message([]aguiObject{{"type": "widget"}})},
		"the content of the last":    aguiObject{"threadId": "x", "runId": "r", "messages": message(5)},
		"the prompt has 0 parts":     aguiObject{"threadId": "x", "runId": "r", "messages": message("")},
		"there is no session":        aguiObject{"threadId": "nowhere", "runId": "r"},
		"is longer than 262144 byte": `{"threadId":"` + strings.Repeat("x", 257<<10) + `"}`,
	} {
		status, text := s.post("/api/agui", body)
		require.GreaterOrEqual(t, status, 400, "%v", body)
		require.Less(t, status, 500)
		require.Contains(t, text, want)
	}
	failed := last(s.say("one", "fail"))
	require.Equal(t, "RUN_ERROR", failed["type"])
	require.Equal(t, "The model has failed. Try again in a minute. If it happens again, contact the administrator of this agent: its log has the details.", failed["message"])
	status, _ := s.post("/api/agui/nowhere/stop", "{}")
	require.Equal(t, 404, status)
	status, _ = s.post("/api/agui/one/stop", "{}")
	require.Equal(t, 204, status)
}

func TestAGUITooManyStreamsAreRefused(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	m := modeltest.Func(func(ctx context.Context, _ *model.Request) (*model.Message, error) {
		close(entered)
		select {
		case <-release:
		case <-ctx.Done():
		}
		return model.Response(model.Text("done")), nil
	})
	h, err := webbridge.New(webbridge.Config[aguiNone, string]{
		Host:    host.Config[aguiNone, string]{Agent: agent.Must(agent.New(agent.Config[aguiNone, string]{Model: m})), Logger: slog.New(slog.DiscardHandler)},
		Options: webbridge.Options{Token: aguiToken, Protocols: []webbridge.Protocol{webbridge.AGUI(webbridge.AGUIOptions{})}, Limits: webbridge.Limits{UserStreams: 1}},
	})
	require.NoError(t, err)
	s := listen(t, h)
	first := make(chan []aguiObject, 1)
	go func() { first <- s.say("one", "hello") }()
	<-entered
	status, text := s.post("/api/agui", aguiObject{"threadId": "one", "runId": "r", "messages": []aguiObject{}})
	require.Equal(t, 429, status, text)
	close(release)
	require.Equal(t, "RUN_FINISHED", last(<-first)["type"])
}

func TestMediaOfTheUserKeepTheirKind(t *testing.T) {
	m := model.Func(model.Info{Name: "m", Media: []string{"image", "audio", "video", "application/pdf"}}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
		return model.Response(model.Text("Seen.")), nil
	})
	h, err := webbridge.New(webbridge.Config[aguiNone, string]{
		Host:    host.Config[aguiNone, string]{Agent: agent.Must(agent.New(agent.Config[aguiNone, string]{Model: m})), Logger: slog.New(slog.DiscardHandler)},
		Options: webbridge.Options{Token: aguiToken, Protocols: []webbridge.Protocol{webbridge.AGUI(webbridge.AGUIOptions{})}, Accepts: []string{"image/png", "audio/wave", "video/mp4", "application/pdf"}},
	})
	require.NoError(t, err)
	s := listen(t, h)
	content := []aguiObject{{"type": "text", "text": "Look."}}
	want := []string{"text"}
	for _, c := range [][3]string{
		{"image", "image/png", "\x89PNG\r\n\x1a\n"}, {"audio", "audio/wave", "RIFF\x00\x00\x00\x00WAVE"}, {"video", "video/mp4", "\x00\x00\x00\x14ftypmp42\x00\x00\x00\x00mp42"}, {"document", "application/pdf", "%PDF-1.7"},
	} {
		content = append(content, aguiObject{"type": c[0], "source": aguiObject{"type": "data", "value": base64.StdEncoding.EncodeToString([]byte(c[2])), "mimeType": c[1]}})
		want = append(want, c[0])
	}
	s.run("one", aguiObject{"messages": []aguiObject{{"id": "m", "role": "user", "content": content}}})
	for _, e := range s.run("one", nil) {
		if e["type"] != "MESSAGES_SNAPSHOT" {
			continue
		}
		var got []string
		for _, part := range e["messages"].([]any)[0].(aguiObject)["content"].([]any) {
			got = append(got, part.(aguiObject)["type"].(string))
		}
		require.Equal(t, want, got)
		return
	}
	require.Fail(t, "no snapshot")
}
