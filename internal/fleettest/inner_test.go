// SPDX-License-Identifier: Apache-2.0

package fleettest

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
)

var update = flag.Bool("update", false, "write the files in testdata anew")

// golden compares a text with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, strings.Split(string(want), "\n"), strings.Split(got, "\n"), "run with -update if it should be so")
}

// told runs a test inside another one. It returns whether it passed, and what it logged.
func told(t *testing.T, f func(*testing.T)) (ok bool, out string) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	stdout := os.Stdout
	os.Stdout = file
	defer func() { os.Stdout = stdout }()
	all := func(string, string) (bool, error) { return true, nil }
	ran := false
	testing.RunTests(all, []testing.InternalTest{{Name: "inner", F: func(t *testing.T) {
		if ran {
			return // with -count
		}
		ran = true
		defer func() {
			ok = !t.Failed()
			t.Fail() // so that logs are printed
		}()
		f(t)
	}}})
	require.NoError(t, file.Close())
	data, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	var b strings.Builder
	for line := range strings.Lines(string(data)) {
		if line = where.ReplaceAllString(line, ""); !notTold.MatchString(line) {
			b.WriteString(line)
		}
	}
	return ok, b.String()
}

var (
	where   = regexp.MustCompile(`^\s+\w+\.go:\d+: `) // the place that a log begins with
	notTold = regexp.MustCompile(`^\s*(=== |--- |\w+ Trace:|\S+\.go:\d+\n|Test:|\n)`)
)

// A world answers all requests of the default client, in the time of a bubble.
type world struct {
	mu    sync.Mutex
	begin time.Time
	log   strings.Builder
	say   func(r *http.Request, body string) (status int, answer string) // 0: it cannot be reached
	takes time.Duration
}

func (w *world) printf(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintf(&w.log, "%v "+format+"\n", append([]any{time.Since(w.begin)}, args...)...)
}

// RoundTrip implements [http.RoundTripper].
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	_ = r.Body.Close()
	headers := ""
	if r.Header.Get("Authorization") != "Bearer "+token || r.Header.Get("Content-Type") != "application/json" || len(r.Header) != 2 {
		headers = fmt.Sprint(" ", r.Header)
	}
	status, answer := w.say(r, string(body))
	w.printf("%s %s %s%s: %d %.60q", r.Method, r.URL, body, headers, status, answer)
	if w.takes > 0 {
		select {
		case <-time.After(w.takes):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	if status == 0 {
		return nil, io.ErrClosedPipe
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(answer))}, nil
}

// inWorld runs f in a bubble, in a world whose requests take one second each. It returns what was asked, and when.
func inWorld(t *testing.T, say func(r *http.Request, body string) (int, string), f func(*testing.T, *world)) string {
	t.Helper()
	w := &world{say: say, takes: time.Second}
	before := *http.DefaultClient
	http.DefaultClient.Transport = w
	defer func() { *http.DefaultClient = before }()
	synctest.Test(t, func(t *testing.T) {
		w.begin = time.Now()
		f(t, w)
		w.printf("ended")
	})
	return w.log.String()
}

type sessionStore = session.Store
