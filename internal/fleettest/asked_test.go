// SPDX-License-Identifier: Apache-2.0

package fleettest

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/view"
)

// event is what a page is told of a session.
func event(changes, more string) string {
	return `event: sessions` + "\n" + `data: {"sessions":[{"changes":[` + changes + `],"position":"p"` + more + `}]}` + "\n\n"
}

// message is a change with a message.
func message(id, role, status, text string) string {
	return fmt.Sprintf(`{"op":"upsert","id":%q,"entity":{"id":%q,"kind":"message","role":%q,"status":%q,"content":[{"kind":"text","text":%q}]}}`, id, id, role, status, text)
}

const question = `{"op":"upsert","id":"q/1","entity":{"id":"q/1","kind":"question","status":"pending","digest":"d"}}`

// fleet are servers that are not there.
func fleet(t *testing.T) *servers {
	return &servers{t: t, dir: t.TempDir(), addrs: [2]string{"first", "second"}}
}

// Clients ask again as long as nothing is answered, in turn at both servers, and give up after two minutes.
func TestWhenClientsGiveUp(t *testing.T) {
	const path = "/api/sessions"
	always := func(status int, answer string) func(*http.Request, string) (int, string) {
		return func(*http.Request, string) (int, string) { return status, answer }
	}
	// session is a server with a session in which a page shows something.
	session := func(shows string, answers int) func(*http.Request, string) (int, string) {
		return func(r *http.Request, _ string) (int, string) {
			switch {
			case r.URL.Path == path:
				return 200, `{"id":"s"}`
			case r.Method == "GET":
				return 200, shows
			}
			return answers, "an answer"
		}
	}
	call := func(method, path string, body any) func(*servers) error {
		return func(s *servers) error {
			status, answer := s.call(method, path, body)
			return fmt.Errorf("%d %q", status, answer)
		}
	}
	chat := func(do func(*servers, string) error) func(*servers) error {
		return func(s *servers) error { return do(s, "n") }
	}
	var flaky atomic.Int64
	var b strings.Builder
	for _, c := range []struct {
		name  string
		takes time.Duration
		say   func(*http.Request, string) (int, string)
		do    func(*servers) error
	}{
		{"nobody is there", time.Second, always(0, ""), call("POST", path, 1)},
		{"nobody is there to read", time.Second, always(0, ""), call("GET", path, 1)},
		{"one is there to read", time.Second, func(r *http.Request, _ string) (int, string) {
			return []int{0, 0, 0, 0, 200}[(flaky.Add(1)-1)%5], "there"
		}, call("GET", path, 1)},
		{"it takes too long", time.Hour, always(200, ""), call("POST", path, 1)},
		{"it takes just not too long", 30*time.Second - 1, always(200, "x"), call("POST", path, nil)},
		{"no body", time.Second, always(200, ""), call("POST", path, func() {})},
		{"no method", time.Second, always(200, ""), call(" ", path, 1)},
		{"create", 20 * time.Second, always(0, ""), func(s *servers) error {
			_, err := s.create()
			return err
		}},
		{"create refused", 20 * time.Second, always(400, `{"id":""}`), func(s *servers) error {
			_, err := s.create()
			return err
		}},
		{"/v1", 20 * time.Second, always(503, "away"), chat((*servers).openAI)},
		{"/v1 is not there", 20 * time.Second, always(0, ""), chat((*servers).openAI)},
		{"/v1 says something else", time.Second, always(201, whole("n")), chat((*servers).openAI)},
		{"AG-UI", 20 * time.Second, always(503, "away"), chat((*servers).agui)},
		{"AG-UI says all", 20 * time.Second, always(200, "n 9."), chat((*servers).agui)},
		{"AG-UI says other things", 20 * time.Second, always(200, "event: n 9\ndata: {\"delta\":\"n 9\"}\n"), chat((*servers).agui)},
		{"useChat", 20 * time.Second, always(503, "away"), chat((*servers).useChat)},
		{"useChat waits", 20 * time.Second, always(200, `[{"parts":[{"type":"text"}]}]`), chat((*servers).useChat)},
		{"useChat asks in an earlier message", 20 * time.Second, always(200, `[{"parts":[{"state":"approval-requested","approval":{}}]},{"parts":[]}]`), chat((*servers).useChat)},
		{"useChat asks for ever", 20 * time.Second, always(200, `[{"parts":[{"state":"approval-requested","approval":{}},{"state":"approval-responded","approval":{}}]}]`), chat((*servers).useChat)},
		{"page without a session", 20 * time.Second, always(503, "away"), chat((*servers).chatOnPage)},
		{"page", 0, session(event("", ""), 200), chat((*servers).chatOnPage)},
		{"page that runs", 0, session(event(message("a", "user", "", "n")+","+message("b", "assistant", "", "n 9."), `,"running":true`), 200), chat((*servers).chatOnPage)},
		{"page that shows too little", 0, session(event(message("a", "user", "", "n")+","+message("b", "assistant", "", "n 9")+","+question, ""), 409), chat((*servers).chatOnPage)},
		{"page that is refused", 0, func(r *http.Request, _ string) (int, string) {
			if r.URL.Path == path {
				return 200, `{"id":"s"}`
			}
			return 403, "not yours"
		}, chat((*servers).chatOnPage)},
		{"page without a prompt", 0, session(event(message("b", "assistant", "", "n 9."), ""), 200), chat((*servers).chatOnPage)},
	} {
		out := inWorld(t, c.say, func(t *testing.T, w *world) {
			if w.takes = c.takes; c.takes == 0 {
				// Two minutes of looks are many.
				n := 0
				w.say = func(r *http.Request, body string) (int, string) {
					n++
					time.Sleep(19 * time.Second)
					return c.say(r, body)
				}
			}
			w.printf("says %v", c.do(fleet(t)))
		})
		fmt.Fprintf(&b, "# %s\n%s\n", c.name, out)
	}
	golden(t, "giveup", b.String())
}

// A page follows for a random time of 200 to 499 milliseconds.
func TestPagesFollowForAMoment(t *testing.T) {
	least, most := time.Hour, time.Duration(0)
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.takes = 0
		w.say = func(r *http.Request, _ string) (int, string) {
			end, _ := r.Context().Deadline()
			least, most = min(least, time.Until(end)), max(most, time.Until(end))
			return 500, "no"
		}
		s, o := fleet(t), &shown{fold: new(view.Fold)}
		for range 6000 {
			s.follow("s", o)
		}
		require.Equal(t, "500 no", o.refused)
		require.False(t, o.loaded())
	})
	require.Equal(t, 200*time.Millisecond, least)
	require.Equal(t, 499*time.Millisecond, most)
}

// What a page cannot take is an error of the test. What was not sent to the end is forgotten when it follows again.
func TestWhatAPageCannotTake(t *testing.T) {
	ok, out := told(t, func(t *testing.T) {
		inWorld(t, func(*http.Request, string) (int, string) {
			return 200, "data: {\n\nevent: other\ndata: {\n\nevent: sessions\ndata: {\n\n" +
				event(`{"op":"append","id":"z","text":"x"},{"op":"remove","id":"z"}`, "") + event(message("a", "user", "", "x"), `,"more":true`)
		}, func(t *testing.T, w *world) {
			w.takes = 0
			o := fleet(t).look("s")
			t.Logf("%q %d", o.text(), len(o.partial))
			fleet(t).follow("s", o)
			t.Logf("%q %d %q", o.text(), len(o.partial), o.refused)
		})
	})
	require.False(t, ok)
	golden(t, "cannot", out)
}

// broken ends in the middle.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
func (broken) Close() error             { return nil }

type broke struct{}

func (broke) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Body: broken{}}, nil
}

// An answer that was cut off is none.
func TestAnswersThatAreCutOff(t *testing.T) {
	before := *http.DefaultClient
	http.DefaultClient.Transport = broke{}
	defer func() { *http.DefaultClient = before }()
	status, answer := fleet(t).call("GET", "/x", nil)
	require.Zero(t, status)
	require.Nil(t, answer)
}

// A turn has ended when it was answered, or when nothing has happened in it for a time.
func TestWhenTurnsHaveEnded(t *testing.T) {
	asks := `{"op":"upsert","id":"q/1","entity":{"id":"q/1","kind":"question","status":"pending","digest":"d","choices":[{"id":"x"}]}}`
	called := `{"op":"upsert","id":"t","entity":{"id":"t","kind":"tool_call","status":"completed","content":[{"kind":"text","text":"\"Delegate\""}],"title":"Delegate"}}`
	mine, half := message("a", "user", "", "n"), message("b", "assistant", "interrupted", "half")
	var b strings.Builder
	for _, c := range []struct {
		name  string
		shows []string // the last one is shown for ever
		posts []int
	}{
		{"answered", []string{event(mine, `,"running":true`), event(message("b", "assistant", "", "n done"), "")}, nil},
		{"answered after a question", []string{event(mine+","+asks, ""), event(mine+","+message("b", "assistant", "", "n done"), "")}, []int{200}},
		{"answered, but it runs", []string{event(message("b", "assistant", "", "n done"), `,"running":true`)}, nil},
		{"not there", []string{event(message("a", "user", "", "m"), "")}, nil},
		{"not there, late", []string{"", event("", `,"running":true`), event("", "")}, nil},
		{"interrupted", []string{event(mine+","+called+","+half, "")}, nil},
		{"interrupted for no reason", []string{event(mine+","+half, "")}, nil},
		{"interrupted after a question", []string{event(mine+","+called+","+half+","+asks, ""), event(mine+","+called+","+half, "")}, []int{200}},
		{"refused", []string{event(mine+","+asks, "")}, []int{400}},
		{"asked for ever", []string{event(mine+","+asks, "")}, []int{200}},
		{"not loaded", []string{""}, nil},
	} {
		gets, posts := 0, 0
		out := inWorld(t, func(r *http.Request, _ string) (int, string) {
			time.Sleep(900 * time.Millisecond)
			if r.Method == "POST" {
				posts++
				return c.posts[min(posts, len(c.posts))-1], "an answer"
			}
			gets++
			return 200, c.shows[min(gets, len(c.shows))-1]
		}, func(t *testing.T, w *world) {
			w.takes = 0
			p := &people{servers: fleet(t), quiet: 9 * 900 * time.Millisecond}
			there, err := p.ended("s", "n")
			w.printf("says %v %v, %d answered, %d cut", there, err, p.whole.Load(), p.cut.Load())
		})
		lines := strings.Split(out, "\n")
		if len(lines) > 30 {
			lines = append(append(lines[:3:3], fmt.Sprint("... ", len(lines), " lines")), lines[len(lines)-8:]...)
		}
		fmt.Fprintf(&b, "# %s\n%s\n", c.name, strings.Join(lines, "\n"))
	}
	golden(t, "ended", b.String())
}

// A person on a page sends a prompt again if it is not there, and the next one when it was answered.
func TestPeopleOnPages(t *testing.T) {
	var b strings.Builder
	for _, c := range []struct {
		name  string
		say   func(n int, r *http.Request) (int, string)
		turns int
	}{
		{"no session", func(int, *http.Request) (int, string) { return 0, "" }, 1},
		{"prompt refused", func(_ int, r *http.Request) (int, string) {
			if r.URL.Path == "/api/sessions" {
				return 200, `{"id":"a/b"}`
			}
			return 400, "no"
		}, 1},
		{"answered", func(n int, r *http.Request) (int, string) {
			switch {
			case r.URL.Path == "/api/sessions":
				return 200, `{"id":"a/b"}`
			case r.Method == "POST":
				return 200, ""
			case n < 10: // the first prompt is lost
				return 200, event("", "")
			case n < 20:
				return 200, event(message("a", "user", "", "n.0")+","+message("b", "assistant", "", "n.0 done"), "")
			}
			return 200, event(message("a", "user", "", "n.1b")+","+message("b", "assistant", "", "n.1b done"), "")
		}, 2},
		{"refused", func(_ int, r *http.Request) (int, string) {
			switch {
			case r.URL.Path == "/api/sessions":
				return 200, `{"id":"a/b"}`
			case strings.Contains(r.URL.Path, "/questions/"):
				return 400, "no"
			case r.Method == "POST":
				return 200, ""
			}
			return 200, event(question, "")
		}, 1},
	} {
		n := 0
		out := inWorld(t, func(r *http.Request, _ string) (int, string) {
			n++
			return c.say(n, r)
		}, func(t *testing.T, w *world) {
			p := &people{servers: fleet(t), quiet: time.Second}
			w.takes = 300 * time.Millisecond
			if c.name == "answered" || c.name == "refused" {
				w.takes = 150 * time.Millisecond
			}
			id, err := p.page("n", c.turns)
			w.printf("says %q %v", id, err)
		})
		lines := strings.Split(out, "\n")
		if len(lines) > 60 {
			lines = append(append(lines[:3:3], fmt.Sprint("... ", len(lines), " lines")), lines[len(lines)-8:]...)
		}
		fmt.Fprintf(&b, "# %s\n%s\n", c.name, strings.Join(lines, "\n"))
	}
	golden(t, "page", b.String())
}

// Both servers must show the same of a session, and something, within two minutes.
func TestPagesShowTheSame(t *testing.T) {
	var b strings.Builder
	for _, c := range []struct {
		name          string
		first, second []string
	}{
		{"the same", []string{event(message("a", "user", "", "x"), "")}, []string{event(message("a", "user", "", "x"), "")}},
		{"later", []string{"", event(message("a", "user", "", "x"), "")}, []string{event(message("a", "user", "", "y"), ""), event("", ""), event(message("a", "user", "", "x"), "")}},
		{"nothing", []string{event("", "")}, []string{event("", "")}},
		{"different", []string{event(message("a", "user", "", "x"), "")}, []string{event(message("a", "user", "", "y"), "")}},
		{"not loaded", []string{""}, []string{""}},
	} {
		ok, out := told(t, func(t *testing.T) {
			n := map[string]int{}
			out := inWorld(t, func(r *http.Request, _ string) (int, string) {
				all := map[string][]string{"first": c.first, "second": c.second}[r.URL.Host]
				n[r.URL.Host]++
				return 200, all[min(n[r.URL.Host], len(all))-1]
			}, func(t *testing.T, w *world) {
				w.takes = 150 * time.Millisecond
				p := &people{servers: fleet(t)}
				if len(c.first) == len(c.second) && c.name != "the same" {
					w.printf("begin")
					defer func() { t.Logf("after %v", time.Since(w.begin)) }()
				}
				p.same([]string{"s", "t"}, true)
			})
			if strings.Count(out, "\n") < 20 {
				t.Log(out)
			}
		})
		fmt.Fprintf(&b, "# %s %v\n%s\n", c.name, ok, out)
	}
	golden(t, "same", b.String())
}

// A child that cannot open its store for half a minute gives up.
func TestAStoreThatCannotBeOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin, tries := time.Now(), 0
		err := serve(rolePage, "", func() (sessionStore, error) {
			tries++
			return nil, fmt.Errorf("try %d", tries)
		})
		require.EqualError(t, err, "try 301")
		require.Equal(t, 30*time.Second, time.Since(begin))
	})
}
