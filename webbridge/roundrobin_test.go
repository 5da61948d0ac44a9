// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
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

	"github.com/ponte-go/ponte/agent/view"
)

var fleetChats = flag.Int("fleet", 40, "how many chats go on behind a round robin whose servers are killed")

// roundRobin sends each request to the next of two processes, which are killed now and then.
type roundRobin struct {
	t     *testing.T
	dir   string
	next  atomic.Int64
	kills atomic.Int64

	mu    sync.Mutex
	cmds  [2]*exec.Cmd
	addrs [2]string
}

func (r *roundRobin) start(i int) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), fleetEnv+"="+r.dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(r.t, err)
	require.NoError(r.t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(r.t, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cmds[i], r.addrs[i] = cmd, strings.TrimSpace(line)
}

func (r *roundRobin) kill(i int) {
	_ = r.cmds[i].Process.Kill()
	_ = r.cmds[i].Wait()
}

// open sends a request to the next server. A server that is not there is passed over, as load balancers do.
func (r *roundRobin) open(ctx context.Context, method, path string, body any) (*http.Response, error) {
	data, err := json.Marshal(body)
	require.NoError(r.t, err)
	for try := 0; ; try++ {
		r.mu.Lock()
		addr := r.addrs[r.next.Add(1)%2]
		r.mu.Unlock()
		req, err := http.NewRequestWithContext(ctx, method, "http://"+addr+path, bytes.NewReader(data))
		require.NoError(r.t, err)
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err == nil || try > 0 && method != "GET" || try > 3 {
			return res, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// call sends a request. The status is 0 if the server was killed meanwhile.
func (r *roundRobin) call(method, path string, body any) (status int, answer []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	res, err := r.open(ctx, method, path, body)
	if err != nil {
		return 0, nil
	}
	defer func() { _ = res.Body.Close() }()
	answer, err = io.ReadAll(res.Body)
	if err != nil {
		return 0, nil
	}
	return res.StatusCode, answer
}

// answer9 is the end of a whole answer.
func answer9(name string) string { return name + " 9." }

// TestNoChatFailsBehindARoundRobin has chats of each kind, with an approval each, while servers are killed.
func TestNoChatFailsBehindARoundRobin(t *testing.T) {
	r := &roundRobin{t: t, dir: t.TempDir()}
	r.start(0)
	r.start(1)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i = 1 - i {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(300+rand.IntN(500)) * time.Millisecond):
			}
			r.kill(i)
			r.kills.Add(1)
			r.start(i)
		}
	}()
	kinds := []func(*roundRobin, string) error{
		(*roundRobin).openAI, (*roundRobin).page, (*roundRobin).useChat, (*roundRobin).agui,
	}
	var all sync.WaitGroup
	slots := make(chan struct{}, 20)
	for i := range *fleetChats {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if err := kinds[i%len(kinds)](r, fmt.Sprintf("chat%d", i)); err != nil {
				t.Errorf("chat %d: %v", i, err)
			}
		})
	}
	all.Wait()
	close(stop)
	<-stopped
	r.kill(0)
	r.kill(1)
	http.DefaultClient.CloseIdleConnections()
	marks, err := os.ReadFile(filepath.Join(r.dir, "marks"))
	require.NoError(t, err)
	keys := map[string]string{}
	for line := range strings.Lines(string(marks)) {
		name, key, _ := strings.Cut(strings.TrimSpace(line), " ")
		if keys[name] != "" {
			require.Equal(t, keys[name], key, "%s was marked twice under two keys", name)
		}
		keys[name] = key
	}
	for i := range *fleetChats {
		name := fmt.Sprintf("chat%d", i)
		require.Equal(t, i%len(kinds) > 0, keys[name] != "", name)
	}
	t.Logf("%d chats, %d servers killed", *fleetChats, r.kills.Load())
}

// patience is how long a chat may take.
const patience = 30 * time.Second

// page uses the JSON API like the page: it follows with reloads, and answers what is asked.
func (r *roundRobin) page(name string) error {
	var info struct{ ID string }
	for end := time.Now().Add(patience); info.ID == ""; {
		if status, answer := r.call("POST", "/api/sessions", object{}); status == 201 {
			_ = json.Unmarshal(answer, &info)
		} else if time.Now().After(end) {
			return fmt.Errorf("no session: %d %s", status, answer)
		}
	}
	path, o := "/api/sessions/"+url.PathEscape(info.ID), &one{fold: new(view.Fold)}
	for end := time.Now().Add(patience); ; {
		if time.Now().After(end) {
			return fmt.Errorf("it never ended: %s", o.text())
		}
		if o.position != "" && !strings.Contains(o.text(), "message user") {
			status, answer := r.call("POST", path+"/prompts", say(name))
			if status != 202 && status != 409 && status != 0 && status != 503 {
				return fmt.Errorf("the prompt: %d %s", status, answer)
			}
		}
		if q := (&stream{fold: o.fold}).question(); q != nil {
			status, answer := r.call("POST", path+"/questions/"+url.PathEscape(q.ID), answering(q, object{"choice": "allow_once"}))
			if status != 204 && status != 409 && status != 0 && status != 503 {
				return fmt.Errorf("the answer: %d %s", status, answer)
			}
		}
		r.look(info.ID, o)
		if strings.Contains(o.text(), answer9(name)) && !o.running {
			break
		}
	}
	if n := strings.Count(o.text(), "message user"); n != 1 {
		return fmt.Errorf("%d prompts: %s", n, o.text())
	}
	return nil
}

// look follows a session for a moment, from where the client is.
func (r *roundRobin) look(id string, o *one) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(50+rand.IntN(300))*time.Millisecond)
	defer cancel()
	res, err := r.open(ctx, "GET", "/api/events?"+url.Values{"follow": {id}, "from": {o.position}}.Encode(), nil)
	if err != nil {
		return
	}
	defer func() { _ = res.Body.Close() }()
	f := &feed{t: r.t, res: res, lines: bufio.NewReader(res.Body), ones: []*one{o}}
	o.partial = nil
	for f.next() {
	}
	o.ended = ""
}

// useChat uses the UI message stream. After a lost connection it loads the messages, as a page that is reloaded.
func (r *roundRobin) useChat(name string) error {
	var text []byte
	prompt := object{"id": "m-" + name, "role": "user", "parts": []object{{"type": "text", "text": name}}}
	for end := time.Now().Add(patience); time.Now().Before(end); {
		status, answer := r.call("GET", "/api/chat/"+name+"/messages", nil)
		var all []object
		switch status {
		case 200:
			if err := json.Unmarshal(answer, &all); err != nil {
				return err
			}
		case 404:
		case 0, 409, 503:
			continue
		default:
			return fmt.Errorf("messages: %d %s", status, answer)
		}
		asked := false
		if len(all) > 0 {
			for _, p := range all[len(all)-1]["parts"].([]any) {
				p := p.(object)
				if p["state"] == "approval-requested" {
					p["state"] = "approval-responded"
					p["approval"].(object)["approved"] = true
					asked = true
				}
			}
		}
		text, _ = json.Marshal(all)
		switch {
		case strings.Contains(string(text), answer9(name)):
			return nil // a message that was sent again, because nothing was shown of it, may be there twice
		case len(all) == 0:
			all = []object{prompt}
		case !asked: // it goes on
			r.call("GET", "/api/chat/"+name+"/stream", nil)
			time.Sleep(20 * time.Millisecond)
			continue
		}
		status, answer = r.call("POST", "/api/chat", object{"id": name, "messages": all, "trigger": "submit-message"})
		if status >= 400 && status != 409 && status != 503 {
			return fmt.Errorf("the message: %d %s", status, answer)
		}
	}
	return fmt.Errorf("it never ended: %s", text)
}

// agui uses AG-UI. After a lost connection it begins a run without a new message.
func (r *roundRobin) agui(name string) error {
	in := object{"threadId": name, "runId": "run", "messages": []object{{"id": "m", "role": "user", "content": name}}, "state": object{}, "tools": []object{}, "context": []object{}, "forwardedProps": object{}}
	text := ""
	for end := time.Now().Add(patience); time.Now().Before(end); {
		status, answer := r.call("POST", "/api/agui", in)
		if status >= 400 && status != 409 && status != 503 {
			return fmt.Errorf("the run: %d %s", status, answer)
		}
		text, in["messages"] = string(answer), []object{{"id": "m", "role": "user", "content": name}}
		delete(in, "resume")
		if strings.Contains(text, "interrupts_open") { // a page that is loading asks which
			in["messages"] = []object{}
		}
		for line := range strings.Lines(text) {
			var v struct {
				Type    string
				Outcome struct {
					Interrupts []struct{ ID string }
				}
			}
			if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok && json.Unmarshal([]byte(data), &v) == nil && len(v.Outcome.Interrupts) > 0 {
				in["resume"] = []object{entry(v.Outcome.Interrupts[0].ID, object{"approved": true})}
			}
		}
		if said(text, answer9(name)) {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("it never ended: %s", text)
}

// said reports whether the deltas or snapshots of a run have a text.
func said(run, text string) bool {
	all := ""
	for line := range strings.Lines(run) {
		var v struct{ Delta any }
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok && json.Unmarshal([]byte(data), &v) == nil {
			if s, ok := v.Delta.(string); ok {
				all += s
			}
		}
	}
	return strings.Contains(all, text) || strings.Contains(run, text)
}

// openAI uses /v1, whose clients send the request again. Nobody is asked there.
func (r *roundRobin) openAI(name string) error {
	in := object{"model": "agent", "messages": []object{{"role": "user", "content": name}}}
	for end := time.Now().Add(patience); time.Now().Before(end); {
		status, answer := r.call("POST", "/v1/chat/completions", in)
		switch {
		case status == 200 && strings.Contains(string(answer), answer9(name)):
			return nil
		case status != 0 && status != 503:
			return fmt.Errorf("%d %s", status, answer)
		}
	}
	return fmt.Errorf("it never ended")
}
