// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/textproto"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/lsp"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// newLink returns a link to a server that answers nothing, of a project in /repo.
func newLink(t *testing.T, s Server) *link {
	t.Helper()
	here, there := net.Pipe()
	pool := &Servers{config: Config{CallTimeout: time.Minute}, ctx: t.Context()}
	l := &link{
		guest:    &guest{server: &s, view: &project{pool: pool, roots: []string{"/repo", "/more"}, real: []string{"/real/repo", "/more"}}},
		docs:     map[string]*document{},
		event:    make(chan struct{}),
		tasks:    map[string]time.Time{},
		gone:     make(chan struct{}),
		used:     time.Now(),
		syncing:  make(chan struct{}, 1),
		problems: map[string]*published{},
	}
	l.conn = lsp.NewConn(here, l, lsp.Limits{})
	peer := lsp.NewConn(there, deaf{}, lsp.Limits{})
	t.Cleanup(l.conn.Close)
	t.Cleanup(peer.Close)
	return l
}

// deaf is a server that knows no method.
type deaf struct{}

func (deaf) Request(string, json.RawMessage) (any, error) { return nil, lsp.ErrNotSupported }
func (deaf) Notify(string, json.RawMessage)               {}

// What servers ask is answered, with the settings of their sections, and nothing else is known.
func TestRequestsOfServersAreAnswered(t *testing.T) {
	l := newLink(t, Server{Name: "fake", Settings: map[string]any{"a": map[string]any{"b": 1}, "c": true}})
	long := make([]string, 1001)
	for i := range long {
		long[i] = `{"section":"c"}`
	}
	for _, c := range []struct{ method, params, want string }{
		{"workspace/configuration", `{"items":[{"section":"a"},{"section":"none"},{"section":"c"}]}`, `[{"b":1},null,true]`},
		{"workspace/configuration", `{"items":[]}`, `[]`},
		{"workspace/configuration", `[`, "malformed parameters"},
		{"workspace/configuration", `{"items":[` + strings.Join(long, ",") + `]}`, "malformed parameters"},
		{"workspace/configuration", `{"items":[` + strings.Join(long[1:], ",") + `]}`, `[` + strings.TrimSuffix(strings.Repeat("true,", 1000), ",") + `]`},
		{"workspace/workspaceFolders", `null`, `[{"uri":"file:///real/repo","name":"repo"},{"uri":"file:///more","name":"more"}]`},
		{"workspace/applyEdit", `{"edit":{}}`, `{"applied":false,"failedChange":0,"failureReason":"edits are only made when the user has approved them"}`},
		{"workspace/applyEdit", `[`, `{"applied":false,"failedChange":0,"failureReason":"malformed parameters"}`},
		{"window/showDocument", `{}`, `{"success":false}`},
		{"client/registerCapability", `{}`, `null`},
		{"client/unregisterCapability", `{}`, `null`},
		{"window/workDoneProgress/create", `{}`, `null`},
		{"window/showMessageRequest", `{}`, `null`},
		{"workspace/diagnostic/refresh", `{}`, `null`},
		{"workspace/other", `{}`, "method not found"},
	} {
		answer, err := l.Request(c.method, json.RawMessage(c.params))
		if err != nil {
			require.Equal(t, c.want, err.Error(), c.method)
			continue
		}
		text, err := json.Marshal(answer)
		require.NoError(t, err)
		require.JSONEq(t, c.want, string(text), c.method)
	}
}

// A command of a server may ask for a hundred edits.
func TestEditsOfCommandsAreBounded(t *testing.T) {
	l := newLink(t, Server{Name: "fake"})
	l.capture = &capture{}
	for i := range 101 {
		answer, err := l.Request("workspace/applyEdit", json.RawMessage(`{"edit":{"changes":{"file:///repo/a":[]}}}`))
		require.NoError(t, err)
		want := lsp.ApplyWorkspaceEditResult{Applied: true}
		if i == 100 {
			want = lsp.ApplyWorkspaceEditResult{FailureReason: "too many edits"}
		}
		require.Equal(t, want, answer, i)
	}
	require.Len(t, l.capture.edits, 100)
}

// A server is busy from the beginning of its work to the end, for a minute at most.
func TestServersAreBusyWhileTheyReportWork(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := newLink(t, Server{Name: "fake"})
		report := func(token, kind string) bool {
			before := l.event
			l.Notify("$/progress", json.RawMessage(`{"token":`+token+`,"value":{"kind":"`+kind+`"}}`))
			return l.event != before
		}
		require.False(t, l.busy())
		require.True(t, report(`1`, "begin"), "those who wait are woken")
		require.True(t, l.busy())
		require.False(t, report(`1`, "report"))
		require.True(t, report(`"1"`, "end"))
		require.True(t, l.busy(), "another token")
		time.Sleep(time.Minute - 1)
		require.True(t, l.busy())
		time.Sleep(time.Nanosecond)
		require.False(t, l.busy(), "after a minute it has forgotten it")
		report(`1`, "end")
		l.Notify("$/progress", json.RawMessage(`{`))
		l.Notify("window/logMessage", json.RawMessage(`{"token":1,"value":{"kind":"begin"}}`))
		require.False(t, report(`"`+strings.Repeat("t", 198)+`"`, "begin"), "a token has less than 200 bytes")
		require.False(t, l.busy())
		require.True(t, report(`"`+strings.Repeat("t", 197)+`"`, "begin"))
		for i := range 1000 {
			require.Equal(t, i < 999, report(fmt.Sprint(i), "begin"), "a thousand tasks are kept")
		}
	})
}

// Problems are kept for files of the project, with what servers must not exceed.
func TestPublishedProblemsAreBounded(t *testing.T) {
	l := newLink(t, Server{Name: "fake"})
	problem := func(severity int, message string) string {
		return fmt.Sprintf(`{"severity":%d,"message":%q}`, severity, message)
	}
	publish := func(uri, items string) {
		l.Notify("textDocument/publishDiagnostics", json.RawMessage(`{"uri":"`+uri+`","version":7,"diagnostics":[`+items+`]}`))
	}
	before := l.event
	publish("file:///repo/a", strings.Join([]string{
		problem(0, "none"), problem(1, "error"), problem(4, "hint"), problem(5, "beyond"), `{"message":1}`,
		problem(1, strings.Repeat("m", 4000)), problem(1, strings.Repeat("m", 4001)),
	}, ","))
	require.NotEqual(t, before, l.event, "those who wait are woken")
	p := l.problems["/repo/a"]
	require.EqualValues(t, 7, p.version)
	require.Equal(t, "/repo/a", p.path)
	require.WithinDuration(t, time.Now(), l.heard, time.Minute)
	var got []string
	for _, d := range p.items {
		got = append(got, fmt.Sprintf("%d %d", d.Severity, len(d.Message)))
	}
	require.Equal(t, []string{"1 4", "1 5", "4 4", "1 6", "1 4000", "1 4000"}, got)
	require.True(t, strings.HasSuffix(p.items[5].Message, "m…"))

	publish("file:///elsewhere/a", problem(1, "x"))
	publish("untitled:1", problem(1, "x"))
	l.Notify("textDocument/publishDiagnostics", json.RawMessage(`[`))
	require.Len(t, l.problems, 1)
	publish("file:///real/repo/b", problem(1, "x"))
	require.Contains(t, l.problems, "/repo/b", "what its real directory is")
	require.Len(t, l.known(), 2)
	publish("file:///repo/b", "")
	require.Len(t, l.known(), 1, "files without problems are not known for any")

	publish("file:///repo/a", strings.TrimSuffix(strings.Repeat(problem(1, "x")+",", 1001), ","))
	require.Len(t, l.problems["/repo/a"].items, 1000)
	for i := range 10_001 {
		publish(fmt.Sprintf("file:///repo/f%d", i), "")
	}
	require.Len(t, l.problems, 10_000)
	publish("file:///repo/a", problem(1, "x"))
	require.Len(t, l.problems["/repo/a"].items, 1, "files that are known are kept up to date")
}

// Problems are of a text if they are of its version or a later one, or, without a version, were
// published after it was sent.
func TestProblemsAreOfATextOrOfAnother(t *testing.T) {
	sent := time.Now()
	d := &document{version: 3, sent: sent}
	for _, c := range []struct {
		p    *published
		want bool
	}{
		{nil, false},
		{&published{version: 2, at: sent.Add(1)}, false},
		{&published{version: 3}, true},
		{&published{version: 4}, true},
		{&published{at: sent.Add(1)}, true},
		{&published{at: sent}, false},
		{&published{at: sent.Add(-1)}, false},
	} {
		require.Equal(t, c.want, c.p.of(d), "%+v", c.p)
	}
}

// Calls wait for problems of the present text until the server is quiet, unless it says when it is
// done, and for their limit at most.
func TestCallsWaitForProblems(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		server  string
		publish []time.Duration // when the server publishes the problems of version 2
		busy    time.Duration   // until when the server works
		done    bool
		after   time.Duration
	}{
		"a server that says when it is done":   {"gopls", []time.Duration{100 * ms}, 0, true, 100 * ms},
		"another one":                          {"fake", []time.Duration{100 * ms}, 0, true, 350 * ms},
		"another one that publishes twice":     {"fake", []time.Duration{100 * ms, 200 * ms}, 0, true, 450 * ms},
		"a server that works":                  {"gopls", []time.Duration{100 * ms}, 300 * ms, true, 300 * ms},
		"another one that works":               {"fake", []time.Duration{100 * ms}, 300 * ms, true, 350 * ms},
		"a server that works until the limit":  {"gopls", []time.Duration{100 * ms}, 2000 * ms, false, 1000 * ms},
		"a server that publishes nothing":      {"gopls", nil, 0, false, 1000 * ms},
		"a server that publishes just in time": {"gopls", []time.Duration{999 * ms}, 0, true, 999 * ms},
		"a server that publishes too late":     {"fake", []time.Duration{800 * ms}, 0, false, 1000 * ms},
	} {
		bubble(t, func(t *testing.T) {
			l := newLink(t, Server{Name: c.server})
			time.Sleep(time.Hour)
			l.problems["/repo/a"] = &published{version: 1}
			d := &document{at: workspace.Location{Path: "/repo/a"}, version: 2}
			if c.busy > 0 {
				l.progress("1", "begin")
				time.AfterFunc(c.busy, func() { l.progress("1", "end") })
			}
			for _, at := range c.publish {
				time.AfterFunc(at, func() { l.store("file:///repo/a", 2, nil) })
			}
			began := time.Now()
			done, err := l.checked(t.Context(), 1000*ms, d)
			require.NoError(t, err, name)
			require.Equal(t, c.done, done, name)
			require.Equal(t, c.after, time.Since(began), name)
			time.Sleep(time.Hour)
		})
	}
	bubble(t, func(t *testing.T) {
		l := newLink(t, Server{Name: "gopls"})
		because := errors.New("because")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(because) })
		_, err := l.checked(ctx, time.Hour, &document{version: 2})
		require.ErrorIs(t, err, because)
	})
}

// A call waits for a server that works, and for one that has just been started, which may not have
// said so.
func TestCallsAwaitTheProject(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		age, begin, end time.Duration
		done            bool
		after           time.Duration
	}{
		"an old server":                  {age: time.Hour, done: true},
		"a server that was just started": {done: true, after: 400 * ms},
		"a server that is a bit older":   {age: 399 * ms, done: true, after: ms},
		"a server that is old enough":    {age: 400 * ms, done: true},
		"a server that begins to work":   {begin: 100 * ms, end: 700 * ms, done: true, after: 700 * ms},
		"a server that works briefly":    {begin: 100 * ms, end: 200 * ms, done: true, after: 400 * ms},
		"a server that works for long":   {begin: 100 * ms, end: 2000 * ms, done: false, after: 1000 * ms},
	} {
		bubble(t, func(t *testing.T) {
			l := newLink(t, Server{Name: "fake"})
			l.stirred = time.Now()
			time.Sleep(c.age)
			if c.end > 0 {
				time.AfterFunc(c.begin, func() { l.progress("1", "begin") })
				time.AfterFunc(c.end, func() { l.progress("1", "end") })
			}
			began := time.Now()
			done, err := l.await(t.Context(), 1000*ms)
			require.NoError(t, err, name)
			require.Equal(t, c.done, done, name)
			require.Equal(t, c.after, time.Since(began), name)
			time.Sleep(time.Hour)
		})
	}
	bubble(t, func(t *testing.T) {
		l := newLink(t, Server{Name: "fake"})
		l.progress("1", "begin")
		because := errors.New("because")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(because) })
		_, err := l.await(ctx, time.Hour)
		require.ErrorIs(t, err, because)
	})
}

// A server that was told of new files gets half a second to look at them, unless it says when it is
// done.
func TestServersLookAtNewFiles(t *testing.T) {
	for _, c := range []struct {
		server     string
		ago, after time.Duration
	}{
		{"fake", 0, 500 * time.Millisecond},
		{"fake", 499 * time.Millisecond, time.Millisecond},
		{"fake", 500 * time.Millisecond, 0},
		{"gopls", 0, 0},
	} {
		bubble(t, func(t *testing.T) {
			l := newLink(t, Server{Name: c.server})
			l.grown = time.Now()
			time.Sleep(c.ago)
			began := time.Now()
			l.settle(t.Context())
			require.Equal(t, c.after, time.Since(began), "%+v", c)
		})
	}
	bubble(t, func(t *testing.T) {
		l := newLink(t, Server{Name: "fake"})
		l.grown = time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		began := time.Now()
		l.settle(ctx)
		require.Equal(t, time.Millisecond, time.Since(began))
	})
	l := newLink(t, Server{Name: "fake", Files: map[string]string{".toy": "toy"}})
	for _, c := range []struct {
		uri   string
		what  lsp.FileChangeType
		grows bool
	}{
		{"file:///a.toy", lsp.FileCreated, true}, {"file:///a.TOY", lsp.FileDeleted, true}, {"file:///a.toy", lsp.FileChanged, false}, {"file:///go.sum", lsp.FileCreated, false},
	} {
		require.Equal(t, c.grows, l.grows(lsp.FileEvent{URI: c.uri, Type: c.what}), "%+v", c)
	}
}

// A server that failed is started again later each time, and given up after five failures in a row.
// Calls wait up to three seconds for that.
func TestServersAreStartedAgainLater(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := newLink(t, Server{Name: "fake"})
		g, because := l.guest, errors.New("because")
		require.NoError(t, g.refusal())
		for i := range 8 {
			g.failed(because)
			require.Equal(t, firstDelay<<min(i, 5), time.Until(g.retryAt), i)
			require.Equal(t, i+1, g.failures)
		}
		g.failures = 4
		for rest, want := range map[time.Duration]string{
			0: "", 3 * time.Second: "", 3*time.Second + 1: "3s", 3600 * time.Millisecond: "4s",
		} {
			g.retryAt = time.Now().Add(rest)
			if want == "" {
				require.NoError(t, g.refusal(), rest)
				continue
			}
			err := g.refusal()
			require.ErrorIs(t, err, ErrUnavailable)
			require.ErrorIs(t, err, because)
			require.EqualError(t, err, "the language server is not available: because; it is started again in "+want)
		}
		g.retryAt, g.failures = time.Time{}, 5
		err := g.refusal()
		require.ErrorIs(t, err, ErrUnavailable)
		require.EqualError(t, err, "the language server is not available: fake has failed 5 times in a row and is not started again: because")
		_, err = g.ready(t.Context())
		require.EqualError(t, err, "the language server is not available: fake has failed 5 times in a row and is not started again: because")
		require.Equal(t, Status{Server: "fake", Dir: "/repo", State: StateFailed, Err: because}, g.status())
		g.restart()
		require.NoError(t, g.refusal())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		g.view.pool.ctx = ctx
		require.ErrorIs(t, g.refusal(), ErrClosed)
	})
}

// A connection that has just ended is waited for until nothing of it is left.
func TestCallsWaitForTheEndOfAConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := newLink(t, Server{Name: "fake"})
		g := l.guest
		g.link = l
		require.Equal(t, StateReady, g.status().State)
		got, err := g.ready(t.Context())
		require.NoError(t, err)
		require.Equal(t, l, got)
		require.Equal(t, l, g.current())
		time.Sleep(time.Minute)
		require.Equal(t, time.Minute, l.idle())
		_, _ = g.ready(t.Context())
		require.Zero(t, l.idle(), "it was used")
		l.conn.Close()
		require.Nil(t, g.current())
		because := errors.New("because")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(because) })
		_, err = g.ready(ctx)
		require.ErrorIs(t, err, because)
		g.failures, g.err = 5, because
		time.AfterFunc(time.Second, func() {
			g.mu.Lock()
			g.link = nil
			g.mu.Unlock()
			close(l.gone)
		})
		_, err = g.ready(t.Context())
		require.ErrorIs(t, err, because, "then it may be started again")
	})
}

// A request is answered within its time. It is made again while the text changes.
func TestRequestsEndInTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		here, there := net.Pipe()
		l := newLink(t, Server{Name: "fake"})
		l.conn.Close()
		l.conn = lsp.NewConn(here, l, lsp.Limits{})
		defer l.conn.Close()
		asked := 0
		go respond(there, func(method string) string {
			switch method {
			case "ask":
				if asked++; asked <= 3 {
					return `"error":{"code":-32801,"message":"modified"}`
				}
				return `"result":"answer"`
			case "fail":
				return `"error":{"code":1,"message":"because"}`
			}
			return ""
		})
		var answer string
		require.NoError(t, l.call(t.Context(), "ask", nil, &answer))
		require.Equal(t, "answer", answer)
		require.Equal(t, 4, asked)
		err := l.call(t.Context(), "fail", nil, nil)
		require.EqualError(t, err, "because (code 1)")
		began := time.Now()
		err = l.call(t.Context(), "hang", nil, nil)
		require.ErrorIs(t, err, ErrUnavailable)
		require.EqualError(t, err, "the language server is not available: fake has not answered hang within 1m0s")
		require.Equal(t, time.Minute, time.Since(began))
	})
}

// respond answers requests on a connection until it ends.
func respond(conn net.Conn, answer func(method string) string) {
	r := textproto.NewReader(bufio.NewReader(conn))
	for {
		header, err := r.ReadMIMEHeader()
		if err != nil {
			return
		}
		n, _ := strconv.Atoi(header.Get("Content-Length"))
		body := make([]byte, n)
		if _, err := io.ReadFull(r.R, body); err != nil {
			return
		}
		var asked struct {
			ID     int64
			Method string
		}
		_ = json.Unmarshal(body, &asked)
		if text := answer(asked.Method); text != "" {
			text = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, asked.ID, text)
			fmt.Fprintf(conn, "Content-Length: %d\r\n\r\n%s", len(text), text)
		}
	}
}

// Four plans are kept, the last of each call.
func TestPlansAreKept(t *testing.T) {
	var p plans
	key := func(i int) [sha256.Size]byte { return [sha256.Size]byte{byte(i)} }
	made := map[int]*prepared{}
	for i := range 5 {
		made[i] = &prepared{}
		p.put(key(i), made[i])
	}
	require.Nil(t, p.get(key(0)))
	for i := 1; i < 5; i++ {
		require.Same(t, made[i], p.get(key(i)), i)
	}
	again := &prepared{}
	p.put(key(2), again)
	require.Same(t, again, p.get(key(2)))
	require.Same(t, made[1], p.get(key(1)), "a plan that is replaced takes no place of another")
	p.put(key(2), nil)
	require.Nil(t, p.get(key(2)))
	require.Len(t, p.entries, 3)
}

// The zero configuration has defaults, and what is set is kept.
func TestConfigurationHasDefaults(t *testing.T) {
	var c Config
	c.defaults()
	require.Len(t, c.Servers, len(known))
	require.Equal(t, []any{int64(4 << 30), time.Minute, 30 * time.Second, 20 * time.Second, 30 * time.Minute, ClientInfo{Name: "ponte"}, slog.Default()},
		[]any{c.Memory, c.StartTimeout, c.CallTimeout, c.ReadyTimeout, c.Idle, c.Client, c.Logger})
	logger := slog.New(slog.NewTextHandler(io.Discard, nil))
	given := Config{Servers: []Server{}, Memory: -1, StartTimeout: 1, CallTimeout: 2, ReadyTimeout: 3, Idle: -1, Client: ClientInfo{Name: "x", Version: "1"}, Logger: logger}
	c = given
	c.defaults()
	require.Equal(t, given, c)
	o := Options{}
	require.Equal(t, 1500*time.Millisecond, o.budget())
	o.Budget = -1
	require.EqualValues(t, -1, o.budget())
}

// Of a server that knows open files only, one is shown: of the project's own, and of TypeScript.
func TestAFileOfTheProjectIsChosen(t *testing.T) {
	files := map[string]string{".ts": "typescript", ".js": "javascript", ".jsx": "javascriptreact"}
	for list, want := range map[string]string{
		"":                                         "",
		"/repo/a.go":                               "",
		"/repo/b.ts /repo/a.ts":                    "/repo/a.ts",
		"/repo/a.js /repo/b.ts":                    "/repo/b.ts",
		"/repo/a.jsx /repo/b.js":                   "/repo/a.jsx",
		"/repo/dist/a.ts /repo/src/b.ts":           "/repo/src/b.ts",
		"/repo/dist/a.ts /repo/src/b.js":           "/repo/src/b.js",
		"/repo/dist/a.ts /repo/build/a.js":         "/repo/dist/a.ts",
		"/repo/node_modules/a.ts /repo/distant.js": "/repo/distant.js",
		`C:\repo\out\a.ts C:\repo\b.ts`:            `C:\repo\b.ts`,
		"/repo/target/a.ts":                        "/repo/target/a.ts",
	} {
		v := &project{scan: scanner{files: map[string]workspace.Version{}}}
		for _, path := range strings.Fields(list) {
			v.scan.files[path] = "1"
		}
		require.Equal(t, want, strings.Join(v.some(&Server{Files: files}), " "), list)
	}
	v := &project{scan: scanner{files: map[string]workspace.Version{"/r/b.ts": "", "/r/a.js": "", "/r/s/c.ts": "", "/r/c.go": ""}}}
	require.Equal(t, []string{"/r/a.js", "/r/b.ts", "/r/s/c.ts"}, v.filesOf(&Server{Files: files}, ""))
	require.Equal(t, []string{"/r/s/c.ts"}, v.filesOf(&Server{Files: files}, "/r/s"))
}

// Names of files are relative to the first directory of a project, if they are in it.
func TestNamesOfFilesAreShort(t *testing.T) {
	v := &project{roots: []string{"/repo", "/more"}, real: []string{"/real/repo", "/more"}}
	for path, want := range map[string]string{
		"/repo/a.go": "a.go", "/repo/b/c.go": "b/c.go", "/repo": ".", "/repo/..a": "..a", "/": "/", "/other/a.go": "/other/a.go", "/more/a.go": "/more/a.go", "relative": "relative",
	} {
		require.Equal(t, want, v.short(path), path)
	}
	require.Equal(t, strings.Repeat("a", 997)+"…", v.short("/repo/"+strings.Repeat("a", 1001)))
	for uri, want := range map[string]string{
		"file:///repo/a.go": "/repo/a.go", "file:///real/repo/b/c.go": "/repo/b/c.go", "file:///more/a.go": "/more/a.go",
	} {
		at, err := v.locate(uri)
		require.NoError(t, err)
		require.Equal(t, want, at.Path)
	}
	at, err := v.locate("file:///etc/passwd")
	require.EqualError(t, err, "outside of the project: /etc/passwd")
	require.ErrorIs(t, err, errOutside)
	require.Equal(t, "/etc/passwd", at.Path)
	_, err = v.locate("untitled:1")
	require.EqualError(t, err, `"untitled:1" is not the URI of a file`)
	require.Equal(t, "file:///real/repo", v.uri(workspace.Location{Name: "."}))
	require.Equal(t, "file:///real/repo/b/c.go", v.uri(workspace.Location{Name: "b/c.go"}))
	require.Equal(t, "file:///more/c.go", v.uri(workspace.Location{Root: 1, Name: "c.go"}))
}
