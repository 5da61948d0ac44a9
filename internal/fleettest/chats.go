// SPDX-License-Identifier: Apache-2.0

package fleettest

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/view"
)

type object = map[string]any

// kinds are the clients that chat. Nobody is asked at /v1.
var kinds = []struct {
	name string
	asks bool
	chat func(*servers, string) error
}{
	{"/v1", false, (*servers).openAI},
	{"page", true, (*servers).chatOnPage},
	{"useChat", true, (*servers).useChat},
	{"AG-UI", true, (*servers).agui},
}

// Chats has so many chats by four kinds of clients, each with an approval. A round robin sends
// their requests to two servers. The servers are killed meanwhile, and disturb is called again and
// again unless it is nil. spec tells servers how to open the store. No chat fails.
func Chats(t *testing.T, spec string, chats int, disturb func()) {
	s := &servers{t: t, role: roleChat, dir: t.TempDir(), spec: spec}
	name := func(i int) string { return fmt.Sprintf("chat%d", i) }
	s.while(300*time.Millisecond, disturb, func() {
		inParallel(chats, 20, func(i int) {
			kind := kinds[i%len(kinds)]
			if err := kind.chat(s, name(i)); err != nil {
				t.Errorf("chat %d by %s: %v", i, kind.name, err)
			}
			s.whole.Add(1)
		})
	})
	marks := s.end()
	for i := range chats {
		require.Equal(t, kinds[i%len(kinds)].asks, marks[name(i)] != nil, name(i))
	}
	t.Logf("%d chats, %d servers killed", chats, s.kills.Load())
}

// chatOnPage uses the JSON API like the page: it follows with reloads, and answers what is asked.
func (s *servers) chatOnPage(name string) error {
	id, err := s.create()
	if err != nil {
		return err
	}
	path, o := "/api/sessions/"+url.PathEscape(id), &shown{fold: new(view.Fold)}
	for end := time.Now().Add(patience); !o.says(whole(name)) || o.running; s.follow(id, o) {
		if time.Now().After(end) {
			return fmt.Errorf("it never ended: running %v, %s\n%s\nafter a reload: %s",
				o.running, o.refused, o.text(), s.look(id).text())
		}
		if o.loaded() && !o.says(name) {
			status, answer := s.call("POST", path+"/prompts", object{"parts": []object{{"text": name}}})
			if err := refusal("the prompt", status, answer); err != nil {
				return err
			}
		}
		for _, q := range o.questions() {
			a := object{"digest": q.Digest, "choice": "allow_once"}
			status, answer := s.call("POST", path+"/questions/"+url.PathEscape(q.ID), a)
			if err := refusal("the answer", status, answer); err != nil {
				return err
			}
		}
	}
	if n := strings.Count(o.text(), " user "); n != 1 {
		return fmt.Errorf("%d prompts: %s", n, o.text())
	}
	return nil
}

// useChat uses the UI message stream. After a lost connection it loads the messages, as a page that
// is reloaded.
func (s *servers) useChat(name string) error {
	var text []byte
	prompt := object{
		"id": "m-" + name, "role": "user", "parts": []object{{"type": "text", "text": name}},
	}
	for end := time.Now().Add(patience); time.Now().Before(end); {
		status, answer := s.call("GET", "/api/chat/"+name+"/messages", nil)
		var all []object
		switch status {
		case 200:
			if err := json.Unmarshal(answer, &all); err != nil {
				return err
			}
		case 404:
		default:
			if err := refusal("messages", status, answer); err != nil {
				return err
			}
			continue
		}
		asked := approve(all)
		text, _ = json.Marshal(all)
		switch {
		case strings.Contains(string(text), whole(name)):
			// A message that was sent again, because nothing was shown of it, may be there twice.
			return nil
		case len(all) == 0:
			all = []object{prompt}
		case !asked: // it goes on
			s.call("GET", "/api/chat/"+name+"/stream", nil)
			time.Sleep(20 * time.Millisecond)
			continue
		}
		in := object{"id": name, "messages": all, "trigger": "submit-message"}
		status, answer = s.call("POST", "/api/chat", in)
		if err := refusal("the message", status, answer); err != nil {
			return err
		}
	}
	return fmt.Errorf("it never ended: %s", text)
}

// approve answers what the last message of useChat asks. It reports whether that asks anything.
func approve(all []object) (asked bool) {
	if len(all) == 0 {
		return false
	}
	for _, p := range all[len(all)-1]["parts"].([]any) {
		p := p.(object)
		if p["state"] == "approval-requested" {
			p["state"] = "approval-responded"
			p["approval"].(object)["approved"] = true
			asked = true
		}
	}
	return asked
}

// agui uses AG-UI. After a lost connection it begins a run without a new message.
func (s *servers) agui(name string) error {
	in := object{
		"threadId": name, "runId": "run", "state": object{}, "tools": []object{},
		"context": []object{}, "forwardedProps": object{},
	}
	text, resume := "", []object(nil)
	for end := time.Now().Add(patience); time.Now().Before(end); {
		in["messages"] = []object{{"id": "m", "role": "user", "content": name}}
		if strings.Contains(text, "interrupts_open") { // a page that is loading asks which
			in["messages"] = []object{}
		}
		if delete(in, "resume"); resume != nil {
			in["resume"] = resume
		}
		status, answer := s.call("POST", "/api/agui", in)
		if err := refusal("the run", status, answer); err != nil {
			return err
		}
		said := ""
		text, resume = string(answer), nil
		for line := range strings.Lines(text) {
			var v struct {
				Type    string
				Delta   any
				Outcome struct{ Interrupts []struct{ ID string } }
			}
			data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
			if !ok || json.Unmarshal([]byte(data), &v) != nil {
				continue
			}
			if piece, ok := v.Delta.(string); ok {
				said += piece
			}
			if open := v.Outcome.Interrupts; len(open) > 0 {
				resume = []object{{
					"interruptId": open[0].ID, "status": "resolved", "payload": object{"approved": true},
				}}
			}
		}
		if strings.Contains(said+text, whole(name)) { // in pieces, or in a snapshot
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("it never ended: %s", text)
}

// openAI uses /v1, whose clients send the request again.
func (s *servers) openAI(name string) error {
	in := object{"model": "agent", "messages": []object{{"role": "user", "content": name}}}
	for end := time.Now().Add(patience); time.Now().Before(end); {
		status, answer := s.call("POST", "/v1/chat/completions", in)
		switch {
		case status == 200 && strings.Contains(string(answer), whole(name)):
			return nil
		case status != 0 && status != 503:
			return fmt.Errorf("%d %s", status, answer)
		}
	}
	return fmt.Errorf("it never ended")
}
