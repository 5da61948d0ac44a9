// SPDX-License-Identifier: Apache-2.0

package fleettest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// patience is how long a turn may take.
const patience = 2 * time.Minute

// fleet has two servers of pages, which are killed now and then, and editors with one agent each.
type fleet struct {
	t     *testing.T
	dir   string
	spec  string
	next  atomic.Int64
	kills atomic.Int64
	whole atomic.Int64 // turns that were answered
	cut   atomic.Int64 // turns that have ended otherwise

	mu    sync.Mutex
	cmds  [2]*exec.Cmd
	addrs [2]string
}

// Run has people take so many turns, half of them on a page and half in an editor. Meanwhile servers
// and agents are killed, and disturb is called again and again. spec tells processes how to open the store.
func Run(t *testing.T, spec string, turns int, disturb func()) {
	f := &fleet{t: t, dir: t.TempDir(), spec: spec}
	f.start(0)
	f.start(1)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i = 1 - i {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(1000+rand.IntN(2000)) * time.Millisecond):
			}
			if disturb != nil && rand.IntN(3) == 0 {
				disturb()
				continue
			}
			f.kill(i)
			f.start(i)
		}
	}()
	const each = 5
	people := max(2, turns/each)
	ids := make([]string, people)
	var all sync.WaitGroup
	slots := make(chan struct{}, 6)
	for i := range people {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			do := f.page
			if i%2 == 1 {
				do = f.editor
			}
			id, err := do(fmt.Sprintf("p%d", i), each)
			if err != nil {
				t.Errorf("person %d, session %s: %v", i, id, err)
			}
			ids[i] = id
		})
	}
	all.Wait()
	close(stop)
	<-stopped
	f.same(ids)
	f.kill(0)
	f.kill(1)
	http.DefaultClient.CloseIdleConnections()
	marks, err := readMarks(f.marks())
	require.NoError(t, err)
	for what, keys := range marks {
		require.Len(t, keys, 1, "%s was marked under several keys", what)
	}
	t.Logf("%d turns answered, %d ended otherwise, %d processes killed, %d marks",
		f.whole.Load(), f.cut.Load(), f.kills.Load(), len(marks))
	require.Greater(t, f.whole.Load(), f.cut.Load())
}

func (f *fleet) marks() string { return filepath.Join(f.dir, "marks") }

func (f *fleet) env(role string) string {
	return env + "=" + role + "|" + f.marks() + "|" + f.spec
}

func (f *fleet) start(i int) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), f.env("page"), "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	line := ""
	if err == nil {
		line, err = bufio.NewReader(out).ReadString('\n')
	}
	if err != nil {
		f.t.Errorf("a server does not start: %v", err)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cmds[i], f.addrs[i] = cmd, strings.TrimSpace(line)
}

func (f *fleet) kill(i int) {
	f.kills.Add(1)
	_ = f.cmds[i].Process.Kill()
	_ = f.cmds[i].Wait()
}

// open sends a request to the next server.
func (f *fleet) open(ctx context.Context, method, path string, body any) (*http.Response, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	addr := f.addrs[f.next.Add(1)%2]
	f.mu.Unlock()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+addr+path, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	return http.DefaultClient.Do(req)
}

// call sends a request. The status is 0 if the server was killed meanwhile.
func (f *fleet) call(method, path string, body any) (status int, answer []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	res, err := f.open(ctx, method, path, body)
	if err != nil {
		time.Sleep(20 * time.Millisecond)
		return 0, nil
	}
	defer res.Body.Close()
	if answer, err = io.ReadAll(res.Body); err != nil {
		return 0, nil
	}
	return res.StatusCode, answer
}

// shown holds the part of a session that a page shows.
type shown struct {
	fold    *view.Fold
	running bool
	whole   bool   // something was loaded
	refused string // why nothing was
}

func (s *shown) has(text string) bool {
	for e := range s.fold.Snapshot().All() {
		if strings.Contains(e.Text(), text) {
			return true
		}
	}
	return false
}

// look loads a session, as a page that is reloaded, and follows it for a moment.
func (f *fleet) look(id string) *shown {
	s := &shown{fold: new(view.Fold)}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(200+rand.IntN(300))*time.Millisecond)
	defer cancel()
	res, err := f.open(ctx, "GET", "/api/sessions/"+url.PathEscape(id)+"/events", nil)
	if err != nil {
		time.Sleep(20 * time.Millisecond)
		return s
	}
	defer res.Body.Close()
	kind, lines := "", bufio.NewReader(res.Body)
	if res.StatusCode != 200 {
		data, _ := io.ReadAll(res.Body)
		s.refused = fmt.Sprint(res.StatusCode, " ", string(data))
		return s
	}
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), ": "); name {
		case "event":
			kind = value
		case "data":
			if err := s.take(kind, value); err != nil {
				f.t.Errorf("%s: %v: %s", kind, err, value)
			}
		}
	}
	return s
}

func (s *shown) take(kind, data string) error {
	var u struct {
		Changes []view.Change
		Reset   bool
		Running *bool
	}
	if kind != "update" && kind != "state" {
		return nil
	}
	if err := json.Unmarshal([]byte(data), &u); err != nil {
		return err
	}
	if u.Running != nil {
		s.running = *u.Running
	}
	if u.Reset {
		s.fold = new(view.Fold)
	}
	s.whole = s.whole || kind == "update" // the first one has everything
	var errs []error
	for _, c := range u.Changes {
		errs = append(errs, s.fold.Apply(c))
	}
	return errors.Join(errs...)
}

// ended waits until a turn has ended, and answers what is asked. It reports false if the prompt is
// not there. A turn that is not answered has ended when it has been quiet for a while.
func (f *fleet) ended(id, name string) (there bool, err error) {
	quiet := time.Now()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		s := f.look(id)
		if !s.whole {
			quiet = time.Now()
			continue
		}
		for e := range s.fold.Snapshot().Of(view.Question) {
			if e.Status != view.Pending {
				continue
			}
			quiet = time.Now()
			a := map[string]any{"digest": e.Digest, "choice": "allow_once"}
			if len(e.Choices) == 0 {
				a = map[string]any{"digest": e.Digest, "reply": map[string]any{
					"action": toolset.ActionAccept, "content": map[string]any{"to": "Ada"},
				}}
			}
			status, answer := f.call("POST", "/api/sessions/"+url.PathEscape(id)+"/questions/"+url.PathEscape(e.ID), a)
			if status != 204 && status != 409 && status != 0 && status < 500 {
				return true, fmt.Errorf("the answer: %d %s", status, answer)
			}
		}
		switch {
		case s.running:
			quiet = time.Now()
		case s.has(name + " done"):
			f.whole.Add(1)
			return true, nil
		case time.Since(quiet) > 5*time.Second:
			if !s.has(name) {
				return false, nil
			}
			f.cut.Add(1)
			return true, nil
		}
	}
	return true, fmt.Errorf("%s never ended: %s", name, f.look(id).refused)
}

// page uses the API like the page.
func (f *fleet) page(name string, turns int) (id string, err error) {
	for end := time.Now().Add(patience); id == ""; {
		var info struct{ ID string }
		status, answer := f.call("POST", "/api/sessions", map[string]any{})
		_ = json.Unmarshal(answer, &info)
		if id = info.ID; id == "" && time.Now().After(end) {
			return "", fmt.Errorf("no session: %d %s", status, answer)
		}
	}
	for n := range turns {
		turn := fmt.Sprintf("%s.%d", name, n)
		for there := false; !there; {
			prompt := map[string]any{"parts": []any{map[string]any{"text": turn}}}
			status, answer := f.call("POST", "/api/sessions/"+url.PathEscape(id)+"/prompts", prompt)
			if status != 202 && status != 409 && status != 0 && status < 500 {
				return id, fmt.Errorf("the prompt: %d %s", status, answer)
			}
			if there, err = f.ended(id, turn); err != nil {
				return id, err
			}
		}
	}
	return id, nil
}

// lines are what a page shows of a conversation.
func (s *shown) lines() string {
	var b strings.Builder
	for e := range s.fold.Snapshot().All() {
		switch e.Kind {
		case view.Message, view.ToolCall, view.Question, view.SubAgent:
			fmt.Fprintf(&b, "%s %s %s %s %q\n", e.Kind, e.ID, e.Role, e.Status, e.Text())
		}
	}
	return b.String()
}

// same compares what both servers, and the agent of an editor, show of sessions.
func (f *fleet) same(ids []string) {
	c, err := f.agent(f.t.Context())
	require.NoError(f.t, err)
	defer c.end()
	for _, id := range ids {
		require.Eventually(f.t, func() bool {
			first, second := f.look(id), f.look(id) // of the next server
			return first.whole && second.whole && first.lines() == second.lines() && first.lines() != ""
		}, patience, 10*time.Millisecond, "both pages show the same of %s", id)
		var page *shown
		for page = f.look(id); !page.whole; page = f.look(id) {
		}
		s, err := c.LoadSession(f.t.Context(), acp.SessionID(id), acpclient.SessionConfig{Cwd: f.dir})
		require.NoError(f.t, err)
		said := func(s *view.Snapshot) (all string) {
			for e := range s.Of(view.Message) {
				all += e.Text()
			}
			return all
		}
		require.Equal(f.t, said(page.fold.Snapshot()), said(s.Snapshot()), "an editor shows the same of %s", id)
		require.NoError(f.t, s.Close(f.t.Context()))
	}
}
