// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"bufio"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// A conversation begins in an editor, whose agent is killed in the middle of a turn or ended. It goes on in the browser's server, which is killed or
// ended in its turn, and then in the editor again. Both are the built programs, on one store.
func TestConversationMovesBetweenEditorAndBrowser(t *testing.T) {
	deepTier(t)
	program := filepath.Join(t.TempDir(), "webagent")
	build := exec.Command("go", "build", "-o", program, "./examples/webagent")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Run("killed", func(t *testing.T) { movesAbout(t, program, true) })
	t.Run("ended", func(t *testing.T) { movesAbout(t, program, false) })
}

func movesAbout(t *testing.T, program string, kill bool) {
	r := newResumable(t)
	files, err := local.Open(local.Config{Roots: []string{r.dir}})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()

	editor := startKillable(t, r.store, files, nil)
	s, err := editor.NewSession(t.Context(), acpclient.SessionConfig{Cwd: r.dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Say(t.Context(), "replace grey with blue in colour.txt"); err != nil {
		t.Fatal(err)
	}
	path := "/api/sessions/" + url.PathEscape(string(s.ID()))
	web := startWeb(t, program, r.dir, r.store)
	// Both have the session open: what is asked in one is seen in the other.
	if status, text := web.call("POST", path+"/prompts", `{"parts":[{"text":"read colour.txt"}]}`); status != http.StatusAccepted {
		t.Fatalf("while the editor has the session: %d %s", status, text)
	}
	web.until(path, regexp.MustCompile("the sky is blue"))
	web.until(path, regexp.MustCompile(`"running":false`))
	for updates := s.Cursor(nil); ; {
		if last := s.Snapshot().Last(view.Message); last != nil && strings.Contains(last.Text(), "the sky is blue") {
			break
		}
		if _, err := updates.Update(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if kill {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = s.Say(t.Context(), cutTurn)
		}()
		for updates := s.Cursor(nil); ; {
			if _, err := updates.Update(t.Context()); err != nil {
				t.Fatal(err)
			}
			if last := s.Snapshot().Last(view.Message); last != nil && strings.Contains(last.Text(), "Waiting") {
				break
			}
		}
		editor.kill()
		<-ended
	} else if err := editor.Close(); err != nil {
		t.Fatal(err)
	}
	editor.end()

	if status, text := web.call("GET", "/api/sessions", ""); status != 200 || !strings.Contains(text, string(s.ID())) || !strings.Contains(text, "replace grey") {
		t.Fatalf("the list: %d %s", status, text)
	}
	if kill { // the browser's server goes on with the turn that was cut off, and the user stops it
		web.until(path, regexp.MustCompile(`"running":true`))
		if status, text := web.call("POST", path+"/cancel", ""); status != http.StatusNoContent {
			t.Fatalf("%d %s", status, text)
		}
		web.until(path, regexp.MustCompile(`"running":false`))
	}
	if status, text := web.call("POST", path+"/prompts", `{"parts":[{"text":"replace blue with green in colour.txt"}]}`); status != http.StatusAccepted {
		t.Fatalf("%d %s", status, text)
	}
	seen := web.until(path, waiting)
	if !strings.Contains(seen, "replace grey with blue in colour.txt") || kill != strings.Contains(seen, "echo again") {
		t.Errorf("the browser does not show what was said in the editor:\n%s", seen)
	}
	question := waiting.FindStringSubmatch(seen)[1]
	if status, text := web.call("POST", path+"/questions/"+url.PathEscape(question), `{"digest":"`+digestOf(seen, question)+`","choice":"allow_once"}`); status != http.StatusNoContent {
		t.Fatalf("%d %s", status, text)
	}
	web.until(path, regexp.MustCompile("Replaced `blue` with `green`"))
	web.until(path, regexp.MustCompile(`"running":false`))
	web.end(kill)

	again := startKillable(t, r.store, files, nil)
	loaded, err := again.LoadSession(t.Context(), s.ID(), acpclient.SessionConfig{Cwd: r.dir})
	if err != nil {
		t.Fatal(err)
	}
	whole := strings.Join(foldedSession(loaded.Snapshot(), terminalText(loaded.Snapshot())), "\n")
	for _, said := range []string{"replace grey with blue", "replace blue with green", "Replaced `blue` with `green`"} {
		if !strings.Contains(whole, said) {
			t.Errorf("the editor does not show %q:\n%s", said, whole)
		}
	}
	turn, err := loaded.Say(t.Context(), "read colour.txt")
	if err != nil || !strings.Contains(turn.Text(), "the sky is green") {
		t.Errorf("the turn afterwards: %v, %+v", err, turn)
	}
}

// webProgram is webagent in a process of its own.
type webProgram struct {
	t           *testing.T
	cmd         *exec.Cmd
	base, token string
}

func startWeb(t *testing.T, program, dir, store string) *webProgram {
	t.Helper()
	cmd := exec.Command(program, "-dir", dir, "-store", store, "-open=false", "-model", "offline")
	cmd.Stderr, cmd.Env = os.Stderr, cleanEnv("HOME="+filepath.Dir(store))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := startGroup(t, cmd); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	w := &webProgram{t, cmd, "http://" + u.Host, u.Query().Get("token")}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			w.end(true)
		}
	})
	return w
}

// end ends the program with kill -9, or with SIGTERM.
func (w *webProgram) end(kill bool) {
	if kill {
		_ = w.cmd.Process.Kill()
	} else if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		w.t.Error(err)
	}
	if err := w.cmd.Wait(); err != nil && !kill {
		w.t.Error(err)
	}
}

func (w *webProgram) do(method, path, body string) *http.Response {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.base+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+w.token)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	return res
}

func (w *webProgram) call(method, path, body string) (int, string) {
	w.t.Helper()
	res := w.do(method, path, body)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// digestOf returns the digest of a question that an event shows.
func digestOf(seen, question string) string {
	_, rest, _ := strings.Cut(seen, `"id":"`+question+`"`)
	_, rest, _ = strings.Cut(rest, `"digest":"`)
	digest, _, _ := strings.Cut(rest, `"`)
	return digest
}

// waiting is a question that waits for an answer, in an event.
var waiting = regexp.MustCompile(`"id":"(question:[^"]+)"[^{}]*"kind":"question"[^{}]*"status":"pending"`)

// until reads the events of a session until one of them matches, and returns all of them.
func (w *webProgram) until(path string, want *regexp.Regexp) string {
	w.t.Helper()
	res := w.do("GET", path+"/events", "")
	defer func() { _ = res.Body.Close() }()
	var all strings.Builder
	for lines := bufio.NewReader(res.Body); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			w.t.Fatalf("%v: %q has not come:\n%s", err, want, all.String())
		}
		all.WriteString(line)
		if want.MatchString(line) {
			return all.String()
		}
	}
}
