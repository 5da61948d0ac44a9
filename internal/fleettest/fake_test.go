// SPDX-License-Identifier: Apache-2.0

package fleettest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/view"
)

// reply is what a server says to a request.
type reply struct {
	status int
	body   string
}

// scripted are servers that say one thing after another, the last one for ever, and what they were asked.
func scripted(t *testing.T, replies ...reply) (s *servers, asked func() []string) {
	t.Helper()
	var mu sync.Mutex
	var all []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		mu.Lock()
		r.Body.Close()
		line := r.Method + " " + r.URL.String()
		if r.Method != "GET" {
			line += " " + string(data)
		}
		if r.Header.Get("Authorization") != "Bearer "+token || r.Header.Get("Content-Type") != "application/json" {
			line += " without a token"
		}
		all = append(all, line)
		say := replies[0]
		if len(replies) > 1 {
			replies = replies[1:]
		}
		mu.Unlock()
		w.WriteHeader(say.status)
		_, _ = io.WriteString(w, say.body)
	}))
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		srv.Close()
	})
	addr := strings.TrimPrefix(srv.URL, "http://")
	return &servers{t: t, dir: t.TempDir(), addrs: [2]string{addr, addr}}, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// Each client asks again while servers are away, answers what it is asked, and gives up after an error.
func TestClientsOfChats(t *testing.T) {
	done := whole("n")
	event := func(v string) string { return "data: " + v + "\n\n" }
	events := func(session string) string { return "event: sessions\ndata: {\"sessions\":[" + session + "]}\n\n" }
	say := func(role, text string) string {
		return fmt.Sprintf(`{"op":"upsert","id":"%s","entity":{"id":"%s","kind":"message","role":%q,"content":[{"kind":"text","text":%q}]}}`, role, role, role, text)
	}
	const question = `{"op":"upsert","id":"q/1","entity":{"id":"q/1","kind":"question","status":"pending","digest":"d","choices":[{"id":"x"}]}}`
	chat := `GET /api/chat/n/messages`
	for name, c := range map[string]struct {
		do      func(*servers, string) error
		replies []reply
		asked   []string
		want    string
	}{
		"/v1": {(*servers).openAI, []reply{{503, "busy"}, {200, done}}, []string{
			`POST /v1/chat/completions {"messages":[{"content":"n","role":"user"}],"model":"agent"}`, `POST /v1/chat/completions {"messages":[{"content":"n","role":"user"}],"model":"agent"}`}, ""},
		"/v1, half":   {(*servers).openAI, []reply{{200, "half"}}, []string{`POST /v1/chat/completions {"messages":[{"content":"n","role":"user"}],"model":"agent"}`}, "200 half"},
		"/v1 refused": {(*servers).openAI, []reply{{409, "no"}}, []string{`POST /v1/chat/completions {"messages":[{"content":"n","role":"user"}],"model":"agent"}`}, "409 no"},
		"useChat": {(*servers).useChat, []reply{{404, ""}, {200, ""}, {200, `[{"parts":[{"state":"other"}]}]`}, {200, ""}, {200, `[{"parts":[{"state":"approval-requested","approval":{"id":"a"}}]}]`}, {409, ""}, {503, ""}, {200, `[{"parts":[{"text":"` + done + `"}]}]`}}, []string{
			chat, `POST /api/chat {"id":"n","messages":[{"id":"m-n","parts":[{"text":"n","type":"text"}],"role":"user"}],"trigger":"submit-message"}`, chat, `GET /api/chat/n/stream`, chat,
			`POST /api/chat {"id":"n","messages":[{"parts":[{"approval":{"approved":true,"id":"a"},"state":"approval-responded"}]}],"trigger":"submit-message"}`, chat, chat}, ""},
		"useChat refused":     {(*servers).useChat, []reply{{400, "no"}}, []string{chat}, "messages: 400 no"},
		"useChat, no message": {(*servers).useChat, []reply{{404, ""}, {500, "no"}}, []string{chat, `POST /api/chat {"id":"n","messages":[{"id":"m-n","parts":[{"text":"n","type":"text"}],"role":"user"}],"trigger":"submit-message"}`}, "the message: 500 no"},
		"useChat, no JSON":    {(*servers).useChat, []reply{{200, "{"}}, []string{chat}, "unexpected end of JSON input"},
		"AG-UI": {(*servers).agui, []reply{{503, ""}, {200, event(`{"outcome":{"interrupts":[{"id":"i"}]}}`)}, {409, "interrupts_open"}, {200, "data: [\n" + event(`{"delta":"`+done[:3]+`"}`) + event(`{"delta":{}}`) + event(`{"delta":"`+done[3:]+`"}`)}}, []string{
			`POST /api/agui {"context":[],"forwardedProps":{},"messages":[{"content":"n","id":"m","role":"user"}],"runId":"run","state":{},"threadId":"n","tools":[]}`,
			`POST /api/agui {"context":[],"forwardedProps":{},"messages":[{"content":"n","id":"m","role":"user"}],"runId":"run","state":{},"threadId":"n","tools":[]}`,
			`POST /api/agui {"context":[],"forwardedProps":{},"messages":[{"content":"n","id":"m","role":"user"}],"resume":[{"interruptId":"i","payload":{"approved":true},"status":"resolved"}],"runId":"run","state":{},"threadId":"n","tools":[]}`,
			`POST /api/agui {"context":[],"forwardedProps":{},"messages":[],"runId":"run","state":{},"threadId":"n","tools":[]}`}, ""},
		"AG-UI refused": {(*servers).agui, []reply{{404, "no"}}, []string{`POST /api/agui {"context":[],"forwardedProps":{},"messages":[{"content":"n","id":"m","role":"user"}],"runId":"run","state":{},"threadId":"n","tools":[]}`}, "the run: 404 no"},
		"page": {(*servers).chatOnPage, []reply{
			{503, ""}, {200, `{"id":"a/b"}`}, {404, "not yet"}, {200, events(`{"changes":[],"position":"1"}`)}, {200, ""}, {200, events(`{"changes":[` + say("user", "n") + `,` + question + `],"position":"2","running":true}`)}, {200, ""},
			{200, events(`{"changes":[` + say("assistant", done) + `],"position":"3"}`)}}, []string{
			`POST /api/sessions {}`, `POST /api/sessions {}`, `GET /api/events?follow=a%2Fb&from=`, `GET /api/events?follow=a%2Fb&from=`, `POST /api/sessions/a%2Fb/prompts {"parts":[{"text":"n"}]}`, `GET /api/events?follow=a%2Fb&from=1`,
			`POST /api/sessions/a%2Fb/questions/q%2F1 {"choice":"allow_once","digest":"d"}`, `GET /api/events?follow=a%2Fb&from=2`}, ""},
		"page, no prompt": {(*servers).chatOnPage, []reply{{200, `{"id":"s"}`}, {200, events(`{"changes":[],"position":"1"}`)}, {400, "no"}}, []string{
			`POST /api/sessions {}`, `GET /api/events?follow=s&from=`, `POST /api/sessions/s/prompts {"parts":[{"text":"n"}]}`}, "the prompt: 400 no"},
		"page, no answer": {(*servers).chatOnPage, []reply{{200, `{"id":"s"}`}, {200, events(`{"changes":[` + say("user", "n") + `,` + question + `],"position":"1"}`)}, {404, "no"}}, []string{
			`POST /api/sessions {}`, `GET /api/events?follow=s&from=`, `POST /api/sessions/s/questions/q%2F1 {"choice":"allow_once","digest":"d"}`}, "the answer: 404 no"},
		"page, two prompts": {(*servers).chatOnPage, []reply{{200, `{"id":"s"}`}, {200, events(`{"changes":[` + say("user", "n user n") + `,` + say("assistant", done) + `],"position":"1"}`)}}, []string{
			`POST /api/sessions {}`, `GET /api/events?follow=s&from=`}, "2 prompts: message user user  \"\" \"n user n\"\nmessage assistant assistant  \"\" \"" + done + "\"\n"},
	} {
		s, asked := scripted(t, c.replies...)
		err := c.do(s, "n")
		if c.want == "" {
			require.NoError(t, err, name)
		} else {
			require.EqualError(t, err, c.want, name)
		}
		require.Equal(t, c.asked, asked(), name)
	}
}

// A page takes what it is told when all of a change is there, and starts over when it is told to.
func TestPagesTakeWhatTheyAreTold(t *testing.T) {
	o := &shown{fold: new(view.Fold)}
	notice := func(id string) string {
		return `{"op":"upsert","id":"` + id + `","entity":{"id":"` + id + `","kind":"notice","title":"t"}}`
	}
	take := func(kind, session string) error { return o.take(kind, `{"sessions":[`+session+`]}`) }
	require.NoError(t, take("other", `{`))
	require.Error(t, take("sessions", `{`))
	require.False(t, o.loaded())
	require.NoError(t, take("sessions", `{"changes":[`+notice("a")+`],"position":"1","more":true,"running":true}`))
	require.False(t, o.loaded())
	require.Empty(t, o.text())
	require.NoError(t, take("sessions", `{"changes":[`+notice("b")+`],"position":"2","running":true}`))
	require.Equal(t, "notice a   \"t\" \"\"\nnotice b   \"t\" \"\"\n", o.text())
	require.True(t, o.loaded() && o.running)
	require.NoError(t, take("sessions", `{"changes":[{"op":"remove","id":"z"}],"position":"3"}`))
	require.Error(t, take("sessions", `{"changes":[{"op":"append","id":"z","text":"x"}],"position":"4"}`))
	require.Equal(t, "4", o.position)
	require.False(t, o.running)
	require.NoError(t, take("sessions", `{"end":{"code":"gone"}},{"reset":true,"changes":[`+notice("c")+`],"position":"5"}`))
	require.Equal(t, `{"code":"gone"}`, o.refused)
	require.Equal(t, "notice c   \"t\" \"\"\n", o.text())
	require.Empty(t, o.lines())
	require.NoError(t, o.fold.Apply(view.Change{Op: view.Upsert, ID: "q", Entity: &view.Entity{ID: "q", Kind: view.Question, Status: view.Pending, Digest: "d", Title: "?"}}))
	require.Len(t, o.questions(), 1)
	require.True(t, o.asks(&view.Entity{ID: "q", Digest: "d"}))
	require.False(t, o.asks(&view.Entity{ID: "q", Digest: "e"}))
	require.False(t, o.asks(&view.Entity{ID: "p", Digest: "d"}))
	require.Equal(t, "question q  pending \"\"\n", o.lines())
	require.NoError(t, o.fold.Apply(view.Change{Op: view.Upsert, ID: "q", Entity: &view.Entity{ID: "q", Kind: view.Question, Status: view.Completed, Digest: "d"}}))
	require.Empty(t, o.questions())
	require.False(t, o.asks(&view.Entity{ID: "q", Digest: "d"}))
}

// Answers go to questions that are open. One that is over is no error.
func TestAnswersOfPeople(t *testing.T) {
	events := func(status string) string {
		return "event: sessions\ndata: " + `{"sessions":[{"changes":[{"op":"upsert","id":"q","entity":{"id":"q","kind":"question","status":"` + status + `","digest":"d"}}],"position":"1"}]}` + "\n\n"
	}
	q := &view.Entity{ID: "q", Digest: "d"}
	chosen := &view.Entity{ID: "q", Digest: "d", Choices: []view.Choice{{ID: "x"}}}
	const path = "POST /api/sessions/s/questions/q "
	for name, c := range map[string]struct {
		q       *view.Entity
		replies []reply
		asked   []string
		want    string
		over    int64
	}{
		"choice":   {chosen, []reply{{204, ""}}, []string{path + `{"choice":"allow_once","digest":"d"}`}, "", 0},
		"reply":    {q, []reply{{204, ""}}, []string{path + `{"digest":"d","reply":{"action":"accept","content":{"to":"Ada"}}}`}, "", 0},
		"away":     {chosen, []reply{{503, ""}}, []string{path + `{"choice":"allow_once","digest":"d"}`}, "", 0},
		"changed":  {chosen, []reply{{409, ""}}, []string{path + `{"choice":"allow_once","digest":"d"}`}, "", 0},
		"refused":  {chosen, []reply{{400, "no"}}, []string{path + `{"choice":"allow_once","digest":"d"}`}, "the answer: 400 no", 0},
		"over":     {chosen, []reply{{404, ""}, {200, events("completed")}}, []string{path + `{"choice":"allow_once","digest":"d"}`, `GET /api/events?follow=s&from=`}, "", 1},
		"not open": {chosen, []reply{{404, "no"}, {200, events("pending")}}, []string{path + `{"choice":"allow_once","digest":"d"}`, `GET /api/events?follow=s&from=`}, "the answer: 404 no, but the question is open", 0},
	} {
		s, asked := scripted(t, c.replies...)
		p := &people{servers: s}
		err := p.answer("s", c.q)
		if c.want == "" {
			require.NoError(t, err, name)
		} else {
			require.EqualError(t, err, c.want, name)
		}
		require.Equal(t, c.asked, asked(), name)
		require.Equal(t, c.over, p.over.Load(), name)
	}
	for status, want := range map[int]bool{0: true, 200: true, 399: true, 400: false, 404: false, 409: true, 500: false, 503: true} {
		require.Equal(t, want, refusal("x", status, nil) == nil, status)
	}
}

// A turn without an answer is right only if an agent had begun inside it.
func TestTurnsAreInterruptedForAReason(t *testing.T) {
	shows := func(all ...view.Entity) *shown {
		o := &shown{fold: new(view.Fold)}
		for i := range all {
			all[i].ID = fmt.Sprint(i)
			require.NoError(t, o.fold.Apply(view.Change{Op: view.Upsert, ID: all[i].ID, Entity: &all[i]}))
		}
		return o
	}
	user, answer := view.Entity{Kind: view.Message, Role: view.User}, view.Entity{Kind: view.Message, Role: view.Assistant, Status: view.Interrupted}
	help, delegate := view.Entity{Kind: view.ToolCall, Title: "help"}, view.Entity{Kind: view.ToolCall, Title: "Delegate"}
	require.NoError(t, interrupted(shows(user, help, answer), "n"))
	require.NoError(t, interrupted(shows(user, delegate, answer), "n"))
	for _, o := range []*shown{shows(user, answer), shows(user, help), shows(help, user, answer), shows(user, help, answer, user), shows(user, view.Entity{Kind: view.Notice, Title: "help"}, answer)} {
		require.ErrorContains(t, interrupted(o, "n"), "n has no answer:\nmessage ")
	}
}

func TestHelpersOfFleets(t *testing.T) {
	require.Equal(t, []string{"p.0", "p.1b", "p.2"}, []string{nameOf("p", 0), nameOf("p", 1), nameOf("p", 2)})
	var ran, now, most atomic.Int64
	inParallel(20, 3, func(int) {
		most.Store(max(most.Load(), now.Add(1)))
		ran.Add(1)
		now.Add(-1)
	})
	require.EqualValues(t, 20, ran.Load())
	require.LessOrEqual(t, most.Load(), int64(3))
	path := filepath.Join(t.TempDir(), "marks")
	_, err := readMarks(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	for _, one := range [][2]string{{"a", "1"}, {"a", "1"}, {"a", "2"}, {"b", "1"}} {
		require.NoError(t, mark(path, one[0], one[1]))
	}
	require.Error(t, mark(filepath.Join(path, "x"), "a", "1"))
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString("cut")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	marks, err := readMarks(path)
	require.NoError(t, err)
	require.Equal(t, map[string]map[string]bool{"a": {"1": true, "2": true}, "b": {"1": true}}, marks)
	require.False(t, approve(nil))

	// The model makes one call after another, and then says that it is done.
	says := func(said string, results int) string {
		m := model.UserText(said)
		for range results {
			m.Parts = append(m.Parts, model.ToolReturn("c", "t", "x"))
		}
		resp, err := steps("mark", "help").Generate(context.Background(), &model.Request{Messages: []*model.Message{m}}, nil)
		require.NoError(t, err)
		data, err := json.Marshal(resp.Parts)
		require.NoError(t, err)
		return string(data)
	}
	var all []string
	for n := range 3 {
		all = append(all, says("n", n))
	}
	for n := range 5 {
		all = append(all, says("nb", n))
	}
	call := func(n int, tool, args string) string {
		data, _ := json.Marshal(model.ToolCall(fmt.Sprint("c", n), tool, args))
		return "[" + string(data) + "]"
	}
	text := func(s string) string {
		data, _ := json.Marshal(model.Text(s))
		return "[" + string(data) + "]"
	}
	require.Equal(t, []string{
		call(0, "mark", `{"to":"n-mark"}`), call(1, "help", `{"prompt":"n-help"}`), text("n done"),
		call(0, "delegate", `{"agent":"behind","background":true,"task":"nb-behind"}`), call(1, "mark", `{"to":"nb-mark"}`), call(2, "help", `{"prompt":"nb-help"}`), call(3, "wait_for_agents", `{}`), text("nb done"),
	}, all)
}
