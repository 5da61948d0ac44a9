// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
)

// gate is a model whose answers come from the test.
type gate struct {
	asked  chan string
	answer chan string
}

func newGate() *gate { return &gate{make(chan string, 100), make(chan string, 100)} }

func (g *gate) model() model.Model {
	return modeltest.Func(func(ctx context.Context, req *model.Request) (*model.Message, error) {
		last := req.Messages[len(req.Messages)-1]
		g.asked <- last.Parts[len(last.Parts)-1].Text
		select {
		case text := <-g.answer:
			if text == "fail" {
				return nil, errors.New("the provider is away")
			}
			return model.Response(model.Text(text)), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
}

type payment struct {
	To string `json:"to"`
}

// pay is a tool that needs approval.
func pay(paid chan<- string) *toolset.Tool[none] {
	return toolset.Func("pay", "Pay.", func(_ context.Context, _ *toolset.RunContext[none], in payment) (string, error) {
		paid <- in.To
		return "paid " + in.To, nil
	}, toolset.Approve(func(_ context.Context, _ *toolset.RunContext[none], in payment) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Pay " + in.To}, nil
	}))
}

// paying is a model that pays Ada, then Bob, and then answers.
func paying() model.Model {
	return modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		done := 0
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				if p.Kind == model.PartToolReturn {
					done++
				}
			}
		}
		switch done {
		case 0:
			return model.Response(model.ToolCall("a", "pay", `{"to":"Ada"}`)), nil
		case 1:
			return model.Response(model.ToolCall("b", "pay", `{"to":"Bob"}`)), nil
		}
		return model.Response(model.Text("All done.")), nil
	})
}

func TestConfigWithoutTokenAndUserIsRefused(t *testing.T) {
	for want, o := range map[string]webbridge.Options{
		"set Token":           {},
		"at least 16":         {Token: "short"},
		"ends with white s":   {Token: token + "\n"},
		"a Protocol is nil":   {Token: token, Protocols: []webbridge.Protocol{nil}},
		"a scheme and a ho":   {Token: token, Origins: []string{"https://a.example/x"}},
		"use names such as":   {Token: token, Hosts: []string{"*.example.com"}},
		"not be negative":     {Token: token, Linger: -1},
		"Dirs has an empty":   {Token: token, Dirs: []string{"/a", ""}},
		"Accepts has \"png\"": {Token: token, Accepts: []string{"image/png", "png"}},
		"Commands[1] has n":   {Token: token, Commands: []view.SlashCommand{{Name: "a"}, {}}},
		"UserCost is not a":   {Token: token, Limits: webbridge.Limits{UserCost: math.NaN()}},
	} {
		_, err := webbridge.New(webbridge.Config[none, string]{Options: o})
		require.ErrorContains(t, err, want)
	}
	_, err := webbridge.On(nil, webbridge.Options{Token: token})
	require.ErrorContains(t, err, "the host is nil")
	require.Len(t, webbridge.NewToken(), 26)
}

// What is as long as it may be is taken; one more is refused.
func TestRequestsAreBoundedExactly(t *testing.T) {
	text, short := func(n int) string { return strings.Repeat("x", n) }, webbridge.NewToken()[:16]
	s := serve(t, options{Options: webbridge.Options{Token: short, Limits: webbridge.Limits{UserPrompts: -1, UserTurns: -1}}})
	s.token = short
	_, err := webbridge.New(webbridge.Config[none, string]{Options: webbridge.Options{Token: short[1:]}})
	require.ErrorContains(t, err, "at least 16")
	path := s.create()
	file := func(name string) object {
		return object{"parts": []object{{"name": name, "media_type": "text/plain", "data": "eA=="}}, "busy": "wait"}
	}
	parts := func(n int) object {
		return object{"parts": slices.Repeat([]object{{"text": "x"}}, n), "busy": "wait"}
	}
	for _, c := range []struct {
		method, path, more string
		body, long         any
		fits, refused      int
	}{
		{"POST", "/api/sessions", "", object{"title": text(500)}, object{"title": text(501)}, 201, 413},
		{"PATCH", path, "", object{"title": text(500)}, object{"title": text(501)}, 200, 413},
		{"GET", "/api/sessions?q=" + text(200), "x", nil, nil, 200, 413},
		{"GET", "/api/sessions?limit=1", "x", nil, nil, 200, 400},
		{"POST", path + "/prompts", "", parts(64), parts(65), 202, 400},
		{"POST", path + "/prompts", "", parts(1), parts(0), 202, 400},
		{"POST", path + "/prompts", "", file(text(255)), file(text(256)), 202, 400},
		{"POST", path + "/prompts", "", file("a~b"), file("a\x7fb"), 202, 400},
		{"POST", path + "/prompts", "", file(" b"), file("\x1fb"), 202, 400},
	} {
		s.do(c.method, c.path, c.body, c.fits)
		s.do(c.method, c.path+c.more, c.long, c.refused)
	}
	few := serve(t, options{Options: webbridge.Options{Limits: webbridge.Limits{UserPrompts: 1, UserSessions: 1}}})
	path = few.create()
	require.Equal(t, "limit", few.refused("POST", "/api/sessions", object{}, 429))
	few.do("POST", path+"/prompts", parts(1), 202)
	require.Equal(t, "limit", few.refused("POST", path+"/prompts", parts(1), 429))
}

func TestSessionFromPromptToDelete(t *testing.T) {
	s := serve(t, options{Options: webbridge.Options{Title: "Test", Version: "1.2", Dirs: []string{"/repo", "/other"}}})
	config := s.do("GET", "/api/config", nil, 200)
	require.Equal(t, "Test", config["title"])
	require.Equal(t, false, config["store"])
	s.do("GET", "/api/openapi.json", nil, 200)

	made := s.do("POST", "/api/sessions", object{"title": "First", "dir": "/repo"}, 201)
	path := "/api/sessions/" + made["id"].(string)
	require.Equal(t, "/repo", made["dir"])
	require.Equal(t, "forbidden", s.refused("POST", "/api/sessions", object{"dir": "/etc"}, 403))
	require.NotEmpty(t, s.do("POST", path+"/prompts", say("hello"), 202)["turn"])
	f := s.follow(path, "")
	f.until(f.has("message assistant : You said hello"))
	f.until(func() bool { return !f.running })

	require.Equal(t, "Renamed", s.do("PATCH", path, object{"title": "Renamed"}, 200)["title"])
	require.Equal(t, "Renamed", s.do("GET", path, nil, 200)["title"])
	require.Len(t, s.do("GET", "/api/sessions?q=rENa&dir=/repo", nil, 200)["sessions"], 1)
	require.Empty(t, s.do("GET", "/api/sessions?q=nothing", nil, 200)["sessions"])

	prompt := ""
	for e := range f.fold.Snapshot().Of(view.Message) {
		if e.Role == view.User {
			prompt = e.ID
		}
	}
	fork := s.do("POST", path+"/fork", object{"before": prompt}, 201)
	require.Equal(t, made["id"], fork["parent"])
	whole := s.do("POST", path+"/fork", nil, 201)
	other := s.follow("/api/sessions/"+whole["id"].(string), "")
	other.until(other.has("You said hello"))
	s.do("POST", path+"/rewind", object{"before": prompt}, 204)
	f.until(func() bool { return !f.has("hello")() })
	require.Equal(t, "invalid", s.refused("POST", path+"/rewind", object{"before": "prompt:x"}, 400))
	require.Equal(t, "invalid", s.refused("POST", path+"/rewind", object{}, 400))

	s.do("DELETE", path, nil, 204)
	for f.next() {
		continue
	}
	require.Contains(t, f.ended, "unavailable")
	require.Equal(t, "not_found", s.refused("GET", path, nil, 404))
	require.Equal(t, "not_found", s.refused("DELETE", path, nil, 404))
	require.Equal(t, "not_found", s.refused("GET", path+"/events", nil, 404))
}

func TestListGoesThroughPages(t *testing.T) {
	s := serve(t, options{})
	for range 7 {
		s.create()
	}
	seen := map[string]bool{}
	cursor := ""
	for {
		page := s.do("GET", "/api/sessions?limit=3&cursor="+url.QueryEscape(cursor), nil, 200)
		for _, info := range page["sessions"].([]any) {
			seen[info.(object)["id"].(string)] = true
		}
		if cursor = page["next"].(string); cursor == "" {
			break
		}
	}
	require.Len(t, seen, 7)
	require.Equal(t, "invalid", s.refused("GET", "/api/sessions?limit=x", nil, 400))
	require.Equal(t, "invalid", s.refused("GET", "/api/sessions?cursor=x", nil, 400))
	require.Equal(t, "too_large", s.refused("GET", "/api/sessions?q="+strings.Repeat("x", 201), nil, 413))
}

func TestArchivedSessionsAreNotListed(t *testing.T) {
	store := new(session.Memory)
	s := serve(t, options{host: host.Config[none, string]{Store: store}})
	archived := strings.TrimPrefix(s.create(), "/api/sessions/")
	s.create()
	require.Len(t, s.do("GET", "/api/sessions", nil, 200)["sessions"], 2)
	_, err := store.Update(t.Context(), archived, session.Change{Values: map[string]json.RawMessage{"archived": json.RawMessage("true")}})
	require.NoError(t, err)
	require.Len(t, s.do("GET", "/api/sessions", nil, 200)["sessions"], 1)
	s.do("GET", "/api/sessions/"+archived, nil, 200)
}

func TestPromptWhileATurnRuns(t *testing.T) {
	g := newGate()
	s := serve(t, options{model: g.model()})
	path := s.create()
	f := s.follow(path, "")
	f.until(func() bool { return !f.running })
	s.do("POST", path+"/prompts", say("one"), 202)
	require.Equal(t, "one", <-g.asked)
	f.until(func() bool { return f.running })
	require.Equal(t, "busy", s.refused("POST", path+"/prompts", say("two"), 409))
	require.Equal(t, "busy", s.refused("POST", path+"/fork", object{}, 409))
	waits := say("three")
	waits["busy"] = "wait"
	require.Empty(t, s.do("POST", path+"/prompts", waits, 202))
	g.answer <- "first"
	require.Equal(t, "three", <-g.asked)
	s.do("POST", path+"/cancel", object{}, 204)
	f.until(func() bool { return !f.running })
	s.do("POST", path+"/prompts", say("four"), 202)
	require.Equal(t, "four", <-g.asked)
	g.answer <- "fail"
	f.until(f.has("notice  : The model has failed."))
	waits["busy"] = "maybe"
	require.Equal(t, "invalid", s.refused("POST", path+"/prompts", waits, 400))
}

func TestStreamGoesOnFromAPosition(t *testing.T) {
	s := serve(t, options{})
	path := s.create()
	s.do("POST", path+"/prompts", say("one"), 202)
	f := s.follow(path, "")
	f.until(f.has("You said one"))
	f.until(func() bool { return !f.running })
	position := f.position
	require.NotEmpty(t, position)
	_ = f.res.Body.Close() // the connection is lost

	s.do("POST", path+"/prompts", say("two"), 202)
	again := s.follow(path, position)
	again.fold = f.fold
	again.until(again.has("You said two"))
	require.Equal(t, 1, strings.Count(again.text(), "You said one"))
	whole := s.follow(path, "")
	whole.until(whole.has("You said two"))
	require.Equal(t, whole.text(), again.text())

	void := s.follow(path, "of-another-process.5")
	void.fold = f.fold
	void.until(func() bool { return void.position != "" })
	require.Equal(t, whole.text(), void.text(), "what was there is replaced")
}

func TestLargeUpdatesAreSplit(t *testing.T) {
	s := serve(t, options{model: modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		return model.Response(model.Text(strings.Repeat("x", 50<<10))), nil
	})})
	path := s.create()
	for range 5 {
		s.do("POST", path+"/prompts", say("more"), 202)
		f := s.follow(path, "")
		f.until(func() bool { return !f.running && f.position != "" })
		_ = f.res.Body.Close()
	}
	f := s.follow(path, "")
	f.until(func() bool { return f.position != "" })
	require.GreaterOrEqual(t, f.events, 4, "the state, and three updates")
	require.Equal(t, 5, strings.Count(f.text(), "message assistant"))
}

func TestApprovalInAnotherTab(t *testing.T) {
	paid := make(chan string, 2)
	s := serve(t, options{model: paying(), tools: []*toolset.Tool[none]{pay(paid)}})
	path := s.create()
	one, two := s.follow(path, ""), s.follow(path, "")
	s.do("POST", path+"/prompts", say("pay"), 202)
	one.until(func() bool { return one.question() != nil })
	two.until(func() bool { return two.question() != nil })
	q := two.question()
	require.Equal(t, "Pay Ada", q.Title)
	require.NotEmpty(t, q.Parent)
	at := path + "/questions/" + url.PathEscape(q.ID)
	for _, wrong := range []object{
		{}, {"choice": "allow_once", "decision": object{"allow": true}}, {"choice": "maybe"}, {"decision": object{}}, {"reply": object{"action": "accept"}},
		{"reply": object{"action": "run"}}, {"decision": object{"allow": true, "args": nil}}, {"decision": object{"allow": true, "args": []int{1}}},
	} {
		require.Equal(t, "invalid", s.refused("POST", at, answering(q, wrong), 400))
	}
	s.do("POST", at, answering(q, object{"decision": object{"allow": true, "args": object{"to": "Eve"}}}), 204)
	require.Equal(t, "Eve", <-paid, "the arguments were edited")
	one.until(func() bool { return one.question() != nil && one.question().ID != q.ID })
	require.Equal(t, "answered", s.refused("POST", at, answering(q, object{"choice": "allow_once"}), 409))
	require.Equal(t, "not_found", s.refused("POST", path+"/questions/none", answering(q, object{"choice": "allow_once"}), 404))
	require.Contains(t, one.question().ID, "/")
	s.do("POST", path+"/questions/"+one.question().ID, answering(one.question(), object{"choice": host.RejectOnce}), 204) // clients need not escape it
	two.until(two.has("All done."))
	require.Empty(t, paid)
	require.Equal(t, 1, strings.Count(two.text(), "question  completed: Pay Ada"))
}

// The first process is shut down while a run waits for approval. The second one answers, and is asked the next question.
func TestApprovalInAnotherProcess(t *testing.T) {
	paid := make(chan string, 2)
	store := durable{new(session.Memory)}
	first := serve(t, options{model: paying(), tools: []*toolset.Tool[none]{pay(paid)}, host: host.Config[none, string]{Store: store}})
	path := first.create()
	first.do("POST", path+"/prompts", say("pay"), 202)
	f := first.follow(path, "")
	f.until(func() bool { return f.question() != nil })
	require.NoError(t, first.handler.Shutdown(t.Context()))
	for f.next() {
		continue
	}
	require.Contains(t, f.ended, "shutting down")

	second := serve(t, options{model: paying(), tools: []*toolset.Tool[none]{pay(paid)}, host: host.Config[none, string]{Store: store}})
	f = second.follow(path, "")
	f.until(func() bool { return f.question() != nil })
	require.Equal(t, "Pay Ada", f.question().Title)
	old := f.question().ID
	second.do("POST", path+"/questions/"+url.PathEscape(old), answering(f.question(), object{"choice": host.AllowOnce}), 204)
	require.Equal(t, "Ada", <-paid)
	f.until(func() bool { return f.question() != nil && f.question().ID != old && f.running }) // the state may come after the question
	second.do("POST", path+"/questions/"+url.PathEscape(f.question().ID), answering(f.question(), object{"choice": host.AllowOnce}), 204)
	f.until(f.has("All done."))
	require.Equal(t, "Bob", <-paid)
}

func TestApprovalBecomesPendingWhenPatienceEnds(t *testing.T) {
	paid := make(chan string, 2)
	s := serve(t, options{model: paying(), tools: []*toolset.Tool[none]{pay(paid)}, Options: webbridge.Options{Patience: -1}})
	path := s.create()
	s.do("POST", path+"/prompts", say("pay"), 202)
	f := s.follow(path, "")
	f.until(func() bool { return f.question() != nil && !f.running })
	s.do("POST", path+"/questions/"+url.PathEscape(f.question().ID), answering(f.question(), object{"choice": host.AllowOnce}), 204)
	require.Equal(t, "Ada", <-paid)
	f.until(func() bool { return f.question() != nil && f.question().Title == "Pay Bob" && !f.running })
}

func TestFilesInPrompts(t *testing.T) {
	seen := make(chan []model.Part, 1)
	s := serve(t, options{Options: webbridge.Options{Accepts: []string{"image/png"}}, model: modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		seen <- req.Messages[0].Parts
		return model.Response(model.Text("ok")), nil
	})})
	path := s.create()
	png := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n"))
	text := base64.StdEncoding.EncodeToString([]byte("a ``` b"))
	s.do("POST", path+"/prompts", object{"parts": []object{
		{"text": "Look."}, {"name": "a.png", "media_type": "image/png", "data": png}, {"name": "a.txt", "media_type": "text/plain; charset=utf-8", "data": text},
	}}, 202)
	parts := <-seen
	require.Equal(t, model.PartMedia, parts[1].Kind)
	require.Equal(t, "File a.txt:\n````\na ``` b\n````", parts[2].Text)
	f := s.follow(path, "")
	f.until(func() bool { return f.position != "" })
	for e := range f.fold.Snapshot().Of(view.Message) {
		require.Equal(t, view.Image, e.Content[1].Kind)
		require.Equal(t, png, e.Content[1].Data)
		require.Equal(t, "a ``` b", e.Content[2].Text)
		break
	}
}

// setting returns the value of a setting as the stream shows it.
func (s *stream) setting(id string) string {
	for e := range s.fold.Snapshot().Of(view.Options) {
		for i := range e.Settings {
			if e.Settings[i].ID == id {
				return e.Settings[i].Value
			}
		}
	}
	return ""
}

func TestSettingsChange(t *testing.T) {
	s := serve(t, options{host: host.Config[none, string]{
		Modes: host.Modes(), Settings: []host.Setting{{Setting: view.Setting{ID: "fast", Switch: true, Value: "false"}}},
	}})
	path := s.create()
	f := s.follow(path, "")
	f.until(func() bool { return f.setting("mode") == "ask" })
	s.do("PUT", path+"/settings/mode", object{"value": "plan"}, 204)
	f.until(func() bool { return f.setting("mode") == "plan" })
	s.do("PUT", path+"/settings/fast", object{"value": "true"}, 204)
	f.until(func() bool { return f.setting("fast") == "true" })
	require.Equal(t, "plan", f.setting("mode"), "the entity has all settings")

	require.Equal(t, "not_found", s.refused("PUT", path+"/settings/speed", object{"value": "1"}, 404))
	require.Equal(t, "invalid", s.refused("PUT", path+"/settings/mode", object{"value": "fly"}, 400))
	require.Equal(t, "invalid", s.refused("PUT", path+"/settings/mode", object{}, 400))
	other := s.follow(path, "")
	other.until(func() bool { return other.setting("mode") != "" })
	require.Equal(t, "plan", other.setting("mode"), "what was refused has changed nothing")

	without := serve(t, options{})
	require.Equal(t, "not_found", without.refused("PUT", without.create()+"/settings/mode", object{"value": "plan"}, 404))
}

// A mode that is set while a turn runs holds for the turn's next question.
func TestModeChangesWhileATurnRuns(t *testing.T) {
	called, goOn := make(chan struct{}), make(chan struct{})
	edit := toolset.Func("edit", "Edit.", func(context.Context, *toolset.RunContext[none], none) (string, error) { return "ok", nil },
		toolset.OfKind(toolset.KindEdit, "Edit"), toolset.Approve(func(context.Context, *toolset.RunContext[none], none) (*toolset.Approval, error) {
			text := "new"
			return &toolset.Approval{Title: "Edit a.go", Preview: []toolset.Preview{{Diff: &toolset.Diff{Path: "a.go", New: &text}}}}, nil
		}))
	m := modeltest.Script(func(context.Context, *model.Request) (*model.Message, error) {
		close(called)
		<-goOn
		return model.Response(model.ToolCall("1", "edit", "{}")), nil
	}, modeltest.SayText("Edited."))
	s := serve(t, options{model: m, tools: []*toolset.Tool[none]{edit}, host: host.Config[none, string]{Modes: host.Modes()}})
	path := s.create()
	f := s.follow(path, "")
	s.do("POST", path+"/prompts", say("Edit."), 202)
	<-called
	s.do("PUT", path+"/settings/mode", object{"value": "code"}, 204)
	close(goOn)
	f.until(f.has("Edited."))
	require.Contains(t, f.text(), "mode code")
}

func TestHandlerOnAHost(t *testing.T) {
	own := newHandler(t, options{})
	h, err := webbridge.On(own.Host(), webbridge.Options{Token: token})
	require.NoError(t, err)
	call := recorded(t, h)
	id := call("POST", "/api/sessions", `{}`, 201)["id"].(string)
	call("POST", "/api/sessions/"+id+"/prompts", `{"parts":[{"text":"one"}]}`, 202)
	ours, err := own.Host().Open(t.Context(), id, host.Local)
	require.NoError(t, err)
	require.NoError(t, h.Shutdown(t.Context()))
	require.Same(t, ours, own.Host().Session(id), "others have the session open")
	require.NoError(t, ours.Leave(t.Context(), nil))
	if own.Host().Keeps() {
		require.Nil(t, own.Host().Session(id), "who leaves last closes it")
	}
	require.NoError(t, own.Shutdown(t.Context()))
}

func TestMetricsCount(t *testing.T) {
	s := serve(t, options{})
	path := s.create()
	f := s.follow(path, "")
	s.do("POST", path+"/prompts", say("one"), 202)
	f.until(f.has("You said one"))
	f.until(func() bool { return !f.running })
	s.refused("GET", "/api/nothing", nil, 404)
	text := metrics(s.handler)
	for _, line := range []string{
		`ponte_web_turns_total{reason="done"} 1`, `ponte_web_requests_total{code="4xx"} 1`, "ponte_web_streams 1", "ponte_web_sessions_open 1", "ponte_web_turns_running 0", "# TYPE ponte_web_sent_bytes_total counter",
	} {
		require.Contains(t, text, line+"\n")
	}
}
