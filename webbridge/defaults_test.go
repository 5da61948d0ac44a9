// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
)

// TestWrongOptionsAreNamed has each option that makes no sense, and the nearest ones that do.
func TestWrongOptionsAreNamed(t *testing.T) {
	origin := func(s string) webbridge.Options { return webbridge.Options{Token: token, Origins: []string{s}} }
	name := func(s string) webbridge.Options { return webbridge.Options{Token: token, Hosts: []string{s}} }
	accepts := func(s string) webbridge.Options { return webbridge.Options{Token: token, Accepts: []string{s}} }
	on := newHandler(t, options{}).Host()
	t.Cleanup(func() { require.NoError(t, on.Close(context.Background())) })
	user := func(*http.Request) (string, error) { return "ada", nil }
	for _, c := range []struct {
		o    webbridge.Options
		want string
	}{
		{webbridge.Options{}, "webbridge: config: set Token (see NewToken) or User: anyone who can reach the server could use the agent"},
		{webbridge.Options{User: user}, ""},
		{webbridge.Options{Token: "123456789012345"}, "webbridge: config: Token has 15 bytes: use at least 16, see NewToken"},
		{webbridge.Options{Token: "1234567890123456"}, ""},
		{webbridge.Options{Token: token + " "}, "webbridge: config: Token begins or ends with white space, or has control characters: no request can have it"},
		{webbridge.Options{Token: "a" + token + "\x7fb"}, "webbridge: config: Token begins or ends with white space, or has control characters: no request can have it"},
		{webbridge.Options{Token: token, Protocols: []webbridge.Protocol{webbridge.UIStream(webbridge.UIStreamOptions{}), nil}}, "webbridge: config: a Protocol is nil"},
		{origin("https://app.example.com"), ""},
		{origin("http://localhost:3000"), ""},
		{origin("https://app.example.com/"), `webbridge: config: Origins has "https://app.example.com/": use a scheme and a host, such as https://app.example.com`},
		{origin("app.example.com"), `webbridge: config: Origins has "app.example.com": use a scheme and a host, such as https://app.example.com`},
		{origin("https://"), `webbridge: config: Origins has "https://": use a scheme and a host, such as https://app.example.com`},
		{origin("https://a:b"), `webbridge: config: Origins has "https://a:b": use a scheme and a host, such as https://app.example.com`},
		{origin("*"), `webbridge: config: Origins has "*": use a scheme and a host, such as https://app.example.com`},
		{name("chat.example.com:8443"), ""},
		{name(""), `webbridge: config: Hosts has "": use names such as chat.example.com, with a port or without`},
		{name("a/b"), `webbridge: config: Hosts has "a/b": use names such as chat.example.com, with a port or without`},
		{name("a b"), `webbridge: config: Hosts has "a b": use names such as chat.example.com, with a port or without`},
		{name("*.a"), `webbridge: config: Hosts has "*.a": use names such as chat.example.com, with a port or without`},
		{webbridge.Options{Token: token, Dirs: []string{"/a", ""}}, "webbridge: config: Dirs has an empty directory"},
		{accepts("image/png"), ""},
		{accepts("png"), `webbridge: config: Accepts has "png": use media types such as image/png`},
		{accepts("image/"), `webbridge: config: Accepts has "image/": use media types such as image/png`},
		{webbridge.Options{Token: token, Commands: []view.SlashCommand{{Name: "a"}, {Hint: "b"}}}, "webbridge: config: Commands[1] has no name"},
		{webbridge.Options{Token: token, Limits: webbridge.Limits{UserCost: math.NaN()}}, "webbridge: config: Limits.UserCost is not a number"},
		{webbridge.Options{Token: token, Leave: -1}, "webbridge: config: Leave and Linger must not be negative"},
		{webbridge.Options{Token: token, Linger: -1}, "webbridge: config: Leave and Linger must not be negative"},
		{webbridge.Options{Token: "a\tb", Dirs: []string{""}}, "webbridge: config: Token has 3 bytes: use at least 16, see NewToken\n" +
			"webbridge: config: Token begins or ends with white space, or has control characters: no request can have it\nwebbridge: config: Dirs has an empty directory"},
	} {
		h, err := webbridge.On(on, c.o)
		if c.want != "" {
			require.EqualError(t, err, c.want)
			_, err = webbridge.New(webbridge.Config[none, string]{Options: c.o})
			require.EqualError(t, err, c.want)
			continue
		}
		require.NoError(t, err)
		require.NoError(t, h.Shutdown(t.Context()))
	}
	_, err := webbridge.New(webbridge.Config[none, string]{Options: webbridge.Options{Token: token}})
	require.ErrorContains(t, err, "Agent")
	_, err = webbridge.On(nil, webbridge.Options{Token: token})
	require.EqualError(t, err, "webbridge: the host is nil: make one with host.New")
}

// deadlines is a client whose connection notes the time that it is given.
type deadlines struct {
	*httptest.ResponseRecorder
	mu          sync.Mutex
	read, write []time.Duration
}

func (d *deadlines) note(all *[]time.Duration, at time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at.IsZero() {
		*all = append(*all, -1)
	} else {
		*all = append(*all, time.Until(at))
	}
	return nil
}

func (d *deadlines) SetReadDeadline(at time.Time) error  { return d.note(&d.read, at) }
func (d *deadlines) SetWriteDeadline(at time.Time) error { return d.note(&d.write, at) }

func (d *deadlines) Write(data []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ResponseRecorder.Write(data)
}

func (d *deadlines) text() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.Body.String()
}

// TestTimesOfClientsAreBounded sees how long a client may take to send a body and to take an event, by default and as configured, and
// that a silent stream has a comment every 15 seconds.
func TestTimesOfClientsAreBounded(t *testing.T) {
	for _, c := range []struct {
		l           webbridge.Limits
		read, write []time.Duration
	}{
		{webbridge.Limits{}, []time.Duration{30 * time.Second, -1}, []time.Duration{30 * time.Second}},
		{webbridge.Limits{BodyTime: time.Second, WriteTime: time.Minute}, []time.Duration{time.Second, -1}, []time.Duration{time.Minute}},
		{webbridge.Limits{BodyTime: -1, WriteTime: -1}, []time.Duration{-1}, nil},
	} {
		bubble(t, func(t *testing.T) {
			h := newHandler(t, options{Options: webbridge.Options{Limits: c.l}})
			w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
			h.ServeHTTP(w, request(t.Context(), "POST", "/api/sessions", "{}"))
			require.Equal(t, 201, w.Code)
			require.Equal(t, c.read, w.read)
			require.Empty(t, w.write)
			for _, at := range []string{"/api/events", "/api/sessions/one/events"} {
				_, err := h.Host().Store().Create(t.Context(), session.New{ID: "one"})
				if at == "/api/events" {
					require.NoError(t, err)
				}
				ctx, leave := context.WithCancel(t.Context())
				w = &deadlines{ResponseRecorder: httptest.NewRecorder()}
				ended := make(chan struct{})
				go func() { h.ServeHTTP(w, request(ctx, "GET", at, "")); close(ended) }()
				synctest.Wait()
				require.Empty(t, w.read, "there is no body")
				begin := strings.Count(w.text(), ":\n\n")
				time.Sleep(15*time.Second - time.Nanosecond)
				synctest.Wait()
				require.Equal(t, begin, strings.Count(w.text(), ":\n\n"))
				for i := range 3 {
					time.Sleep(time.Nanosecond)
					synctest.Wait()
					require.Equal(t, begin+i+1, strings.Count(w.text(), ":\n\n"), "a comment keeps the stream alive")
					time.Sleep(15*time.Second - time.Nanosecond)
				}
				leave()
				<-ended
				if c.write == nil {
					require.Empty(t, w.write)
				} else {
					require.Equal(t, c.write[0], w.write[len(w.write)-1])
				}
			}
			require.NoError(t, h.Shutdown(t.Context()))
		})
	}
}

// of returns a request of a user.
func of(ctx context.Context, user, method, path, body string) *http.Request {
	r := request(ctx, method, path, body)
	r.Header.Set("X-User", user)
	return r
}

// TestStreamsAreBoundedByDefault opens as many streams as a user may have, and as many as there may be.
func TestStreamsAreBoundedByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t, options{Options: webbridge.Options{User: byHeader}})
		ctx, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		open := func(user string) (int, string) {
			w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
			all.Go(func() { h.ServeHTTP(w, of(ctx, user, "GET", "/api/events", "")) })
			synctest.Wait()
			return w.Code, w.text()
		}
		for i := range 4096 {
			code, text := open(fmt.Sprint("user", i/256))
			require.Equal(t, 200, code, text)
			if i == 255 {
				code, text = open("user0")
				require.Equal(t, 429, code)
				require.Contains(t, text, `{"kind":"limit","message":"you have 256 open streams, which is the limit: close some"}`)
			}
		}
		code, text := open("another")
		require.Equal(t, 503, code)
		require.Contains(t, text, `{"kind":"unavailable","message":"too many streams are open on this server: try again later"}`)
		leave()
		all.Wait()
		streams, _, users := h.Open()
		require.Zero(t, streams)
		require.Equal(t, 17, users)
		require.NoError(t, h.Shutdown(t.Context()))
	})
}

// TestAccountsAreForgotten has 10,000 users who leave. They are remembered for the window in which their usage counts.
func TestAccountsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t, options{Options: webbridge.Options{User: byHeader, Limits: webbridge.Limits{Window: time.Hour}}})
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		visit := func(user string) int {
			h.ServeHTTP(discard{http.Header{}}, of(gone, user, "GET", "/api/events", ""))
			_, _, users := h.Open()
			return users
		}
		stays, leave := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			h.ServeHTTP(discard{http.Header{}}, of(stays, "stays", "GET", "/api/events", ""))
			close(ended)
		}()
		synctest.Wait()
		for i := range 9998 {
			visit(fmt.Sprint("user", i))
		}
		time.Sleep(time.Hour + time.Nanosecond)
		require.Equal(t, 10_000, visit("one"), "so many are remembered")
		require.Equal(t, 3, visit("two"), "then who is not here and was not a moment ago is forgotten")
		for i := range 9997 {
			visit(fmt.Sprint("user", i))
		}
		time.Sleep(time.Hour)
		require.Equal(t, 10_001, visit("three"), "their window has not ended")
		time.Sleep(time.Nanosecond)
		require.Equal(t, 3, visit("four"))
		leave()
		<-ended
		require.NoError(t, h.Shutdown(t.Context()))
	})
}

// limited is a store that tells the limits of the sessions that are made.
type limited struct {
	session.Memory
	limits []int
}

func (l *limited) Create(ctx context.Context, n session.New) (session.Info, error) {
	l.limits = append(l.limits, n.Limit)
	return l.Memory.Create(ctx, n)
}

func TestSessionsOfAUserAreBoundedByDefault(t *testing.T) {
	for given, want := range map[int]int{0: 10_000, 7: 7, -1: 0} {
		store := new(limited)
		h := newHandler(t, options{host: host.Config[none, string]{Store: store}, Options: webbridge.Options{Limits: webbridge.Limits{UserSessions: given}}})
		id := recorded(t, h)("POST", "/api/sessions", "{}", 201)["id"].(string)
		recorded(t, h)("POST", "/api/sessions/"+id+"/fork", "{}", 201)
		require.NotEmpty(t, store.limits)
		require.Equal(t, want, store.limits[0], given)
		require.NoError(t, h.Shutdown(t.Context()))
	}
}

// TestPromptsAreBoundedByDefault sends as many prompts as may be answered at the same time, and as many as may be sent in a minute.
func TestPromptsAreBoundedByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{make(chan string, 1000), make(chan string, 1000)}
		h := newHandler(t, options{model: g.model()})
		call := recorded(t, h)
		prompt := func(status int) string {
			t.Helper()
			id := call("POST", "/api/sessions", "{}", 201)["id"].(string)
			v := call("POST", "/api/sessions/"+id+"/prompts", `{"parts":[{"text":"x"}]}`, status)
			if status == 202 {
				return ""
			}
			e := v["error"].(object)
			require.Equal(t, webbridge.KindLimit, e["kind"])
			return e["message"].(string)
		}
		for range 64 {
			prompt(202)
		}
		require.Equal(t, "64 of your prompts are being answered, which is the limit: wait for one", prompt(429))
		for range 64 {
			g.answer <- "done"
		}
		synctest.Wait()
		for range 56 {
			g.answer <- "done"
			prompt(202)
			synctest.Wait()
		}
		require.Equal(t, "you may send 120 prompts a minute: try again later", prompt(429))
		time.Sleep(500*time.Millisecond - time.Nanosecond)
		prompt(429)
		time.Sleep(2 * time.Nanosecond)
		g.answer <- "done"
		prompt(202)
		prompt(429)
		time.Sleep(time.Hour)
		for range 120 {
			g.answer <- "done"
			prompt(202)
			synctest.Wait()
		}
		prompt(429)
		require.NoError(t, h.Shutdown(t.Context()))
	})
}

// TestSpendingCountsForADay uses up what a window has, and gets it again in the next one.
func TestSpendingCountsForADay(t *testing.T) {
	for window, l := range map[time.Duration]webbridge.Limits{24 * time.Hour: {UserTokens: 10}, time.Hour: {UserTokens: 10, Window: time.Hour}} {
		bubble(t, func(t *testing.T) {
			h := newHandler(t, options{Options: webbridge.Options{Limits: l, Linger: 48 * time.Hour}, model: modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
				m := model.Response(model.Text("cheap"))
				m.Usage = model.Usage{InputTokens: 4, OutputTokens: 1}
				return m, nil
			})})
			call := recorded(t, h)
			id := call("POST", "/api/sessions", "{}", 201)["id"].(string)
			prompt := func(status int) object {
				defer synctest.Wait()
				return call("POST", "/api/sessions/"+id+"/prompts", `{"parts":[{"text":"x"}]}`, status)
			}
			began := time.Now()
			prompt(202)
			time.Sleep(time.Minute)
			prompt(202)
			ends := began.Add(window).UTC().Format(time.RFC3339)
			want := fmt.Sprintf("your quota for %v is used up: try again at %s", window, ends)
			require.Equal(t, want, prompt(429)["error"].(object)["message"])
			require.Contains(t, metrics(h), "ponte_web_tokens_total 10\n")
			time.Sleep(window - time.Minute - time.Nanosecond)
			prompt(429)
			time.Sleep(time.Nanosecond)
			prompt(202)
			prompt(202)
			prompt(429)
			require.NoError(t, h.Shutdown(t.Context()))
		})
	}
}

// TestSessionsAndQuestionsWaitByDefault has a question that waits ten minutes, and a session that is open for half a minute after that.
func TestSessionsAndQuestionsWaitByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t, options{model: paying(), tools: []*toolset.Tool[none]{pay(nil)}})
		call := recorded(t, h)
		require.Equal(t, "Agent", call("GET", "/api/config", "", 200)["title"])
		id := call("POST", "/api/sessions", "{}", 201)["id"].(string)
		call("POST", "/api/sessions/"+id+"/prompts", `{"parts":[{"text":"x"}]}`, 202)
		time.Sleep(10*time.Minute - time.Nanosecond)
		synctest.Wait()
		require.Contains(t, metrics(h), "ponte_web_turns_running 1\n")
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Contains(t, metrics(h), "ponte_web_turns_running 0\n")
		require.Contains(t, metrics(h), `ponte_web_turns_total{reason="pending"} 1`)
		time.Sleep(30*time.Second - time.Nanosecond)
		synctest.Wait()
		_, sessions, _ := h.Open()
		require.Equal(t, 1, sessions)
		require.Contains(t, metrics(h), "ponte_web_sessions_open 1\n")
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		_, sessions, _ = h.Open()
		require.Zero(t, sessions)
		require.Contains(t, metrics(h), "ponte_web_sessions_open 0\n")
		require.NoError(t, h.Shutdown(t.Context()))
	})
}

// TestMetricsAreWhole compares all of the metrics of a server.
func TestMetricsAreWhole(t *testing.T) {
	h := newHandler(t, options{Options: webbridge.Options{Logger: slog.New(slog.DiscardHandler), Protocols: []webbridge.Protocol{
		failingRoute{&webbridge.Error{Status: 600, Kind: "odd"}}}}})
	call := recorded(t, h)
	call("GET", "/api/config", "", 200)
	call("GET", "/api/nothing", "", 404)
	call("GET", "/api/nothing", "", 404)
	call("GET", "/api/fails", "", 600)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, request(t.Context(), "GET", "/?token="+strings.ReplaceAll(token, " ", "+"), ""))
	require.Equal(t, 303, w.Code)
	w = httptest.NewRecorder()
	h.Metrics().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	require.Equal(t, "text/plain; version=0.0.4; charset=utf-8", w.Header().Get("Content-Type"))
	require.Equal(t, `# HELP ponte_web_requests_total Requests that were answered, by class of status.
# TYPE ponte_web_requests_total counter
ponte_web_requests_total{code="2xx"} 1
ponte_web_requests_total{code="3xx"} 1
ponte_web_requests_total{code="4xx"} 2
ponte_web_requests_total{code="5xx"} 1
# HELP ponte_web_turns_total Turns that have ended, by how.
# TYPE ponte_web_turns_total counter
# HELP ponte_web_turns_running Turns that are running or wait to.
# TYPE ponte_web_turns_running gauge
ponte_web_turns_running 0
# HELP ponte_web_streams Streams of events that are open.
# TYPE ponte_web_streams gauge
ponte_web_streams 0
# HELP ponte_web_sessions_open Sessions that are open.
# TYPE ponte_web_sessions_open gauge
ponte_web_sessions_open 0
# HELP ponte_web_sent_bytes_total Bytes of events that were sent.
# TYPE ponte_web_sent_bytes_total counter
ponte_web_sent_bytes_total 0
# HELP ponte_web_tokens_total Tokens that runs have used.
# TYPE ponte_web_tokens_total counter
ponte_web_tokens_total 0
`, w.Body.String())
	for range 2 {
		w = httptest.NewRecorder()
		h.Health().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		require.Equal(t, "text/plain; charset=utf-8", w.Header().Get("Content-Type"))
		if w.Code == 200 {
			require.Equal(t, "ok\n", w.Body.String())
			require.NoError(t, h.Shutdown(t.Context()))
		}
	}
	require.Equal(t, 503, w.Code)
	require.Equal(t, "shutting down\n", w.Body.String())
}

// TestFilesOfThePageHaveTheirTypes asks for a file of each type, with and without compression.
func TestFilesOfThePageHaveTheirTypes(t *testing.T) {
	for path, want := range map[string]string{"/": "text/html; charset=utf-8", "": "text/html; charset=utf-8",
		"/index.html": "text/html; charset=utf-8", "/nothing": "text/plain; charset=utf-8"} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.Path = path
		w := httptest.NewRecorder()
		webbridge.Page().ServeHTTP(w, r)
		require.Equal(t, want, w.Header().Get("Content-Type"), path)
	}
	for _, path := range append(assets(t), "/licenses.md") {
		want := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".md": "text/plain; charset=utf-8"}
		require.Equal(t, want[path[strings.LastIndex(path, "."):]], get(t, "GET", path).Header.Get("Content-Type"), path)
	}
}
