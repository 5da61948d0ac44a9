// SPDX-License-Identifier: Apache-2.0

package fleettest

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
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

// How long a turn that is not answered is looked at before it counts as ended: with the native
// runner, and with one that may have to find out that a session has something to do.
const (
	quietHere = 5 * time.Second
	quietAway = 30 * time.Second
)

// people talk with the agent through servers of pages, and editors with one agent each.
type people struct {
	*servers
	quiet time.Duration
	gone  time.Duration
	over  atomic.Int64 // answers to questions that were over
	cut   atomic.Int64 // turns that have ended because an agent inside may not begin again
}

// Turns has people take so many turns, half of them on a page and half in an editor. Meanwhile
// servers and agents are killed, and disturb is called again and again unless it is nil. spec tells
// processes how to open the store.
//
// Each turn is answered without a new prompt. Its calls need approvals, ask questions, and have
// agents inside, one of them in the background. Only if such an agent was in the middle of a call
// when its process was killed, the turn may end as interrupted.
func Turns(t *testing.T, spec string, turns int, disturb func()) {
	take(t, spec, turns, disturb, false)
}

// Pages is like Turns, without editors: their sessions have no runner but the native one.
func Pages(t *testing.T, spec string, turns int, disturb func()) {
	take(t, spec, turns, disturb, true)
}

func take(t *testing.T, spec string, turns int, disturb func(), pages bool) {
	p := &people{servers: &servers{t: t, role: rolePage, dir: t.TempDir(), spec: spec}}
	p.quiet, p.gone = quietHere, gone
	if pages {
		p.quiet = quietAway
	}
	const each = 5
	ids := make([]string, max(2, turns/each))
	p.while(time.Second, disturb, func() {
		inParallel(len(ids), 6, func(i int) {
			do := p.page
			if i%2 == 1 && !pages {
				do = p.editor
			}
			id, err := do(fmt.Sprintf("p%d", i), each)
			if err != nil {
				t.Errorf("person %d, session %s: %v", i, id, err)
			}
			ids[i] = id
		})
	})
	p.same(ids, pages)
	marks := p.end()
	t.Logf("%d turns answered, %d interrupted, %d processes killed, %d marks",
		p.whole.Load(), p.cut.Load(), p.kills.Load(), len(marks))
	t.Logf("%d answers to questions that were over", p.over.Load())
	require.Greater(t, p.whole.Load(), p.cut.Load())
}

// inParallel calls do with 0 to n-1, most at a time.
func inParallel(n, most int, do func(int)) {
	var all sync.WaitGroup
	slots := make(chan struct{}, most)
	for i := range n {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			do(i)
		})
	}
	all.Wait()
}

// nameOf is the prompt of the n-th turn of a person. In every other one, an agent works in the
// background.
func nameOf(person string, n int) string {
	return fmt.Sprintf("%s.%d%s", person, n, []string{"", background}[n%2])
}

// ended waits until a turn has ended, and answers what is asked. It reports false if the prompt is
// not there.
func (p *people) ended(id, name string) (there bool, err error) {
	since, s := time.Now(), &shown{fold: new(view.Fold)}
	for end := time.Now().Add(patience); time.Now().Before(end); {
		s = p.look(id)
		if !s.loaded() || s.running {
			since = time.Now()
		}
		for _, q := range s.questions() {
			if err := p.answer(id, q); err != nil {
				return true, err
			}
			since = time.Now()
		}
		switch {
		case !s.loaded() || s.running:
		case s.says(name + " done"):
			p.whole.Add(1)
			return true, nil
		case time.Since(since) > p.quiet && !s.says(name):
			return false, nil
		case time.Since(since) > p.quiet:
			p.cut.Add(1)
			return true, interrupted(s, name)
		}
	}
	return true, fmt.Errorf("%s never ended: %s\n%s", name, s.refused, s.text())
}

// interrupted returns an error unless a turn that was not answered has ended as interrupted, after
// an agent had begun inside it.
func interrupted(s *shown, name string) error {
	lines := strings.Split(s.text(), "\n")
	last := len(lines) - 1
	for ; last > 0 && !strings.Contains(lines[last], " user "); last-- {
	}
	turn := strings.Join(lines[last:], "\n")
	begun := slices.ContainsFunc(lines[last:], func(line string) bool {
		return strings.HasPrefix(line, "tool_call") && strings.Contains(line, `"help"`) ||
			strings.Contains(line, `"Delegate"`)
	})
	if !begun || !strings.Contains(turn, " assistant "+string(view.Interrupted)) {
		return fmt.Errorf("%s has no answer:\n%s", name, turn)
	}
	return nil
}

// answer answers a question.
func (p *people) answer(id string, q *view.Entity) error {
	a := object{"digest": q.Digest, "choice": "allow_once"}
	if len(q.Choices) == 0 {
		a = object{"digest": q.Digest, "reply": object{
			"action": toolset.ActionAccept, "content": object{"to": "Ada"},
		}}
	}
	path := "/api/sessions/" + url.PathEscape(id) + "/questions/" + url.PathEscape(q.ID)
	status, answer := p.call("POST", path, a)
	for end := time.Now().Add(p.gone); status == 404; status, answer = p.call("POST", path, a) {
		if s := p.look(id); s.loaded() && !s.asks(q) {
			p.over.Add(1)
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("the answer: %d %s, but the question is open", status, answer)
		}
	}
	return refusal("the answer", status, answer)
}

// gone is how long a question may be shown that the API says is over: the process that asked it may
// have been killed, and the next one asks it again.
const gone = 20 * time.Second

// refusal is the error of a request that will not succeed later.
func refusal(what string, status int, answer []byte) error {
	if status >= 400 && status != 409 && status != 503 {
		return fmt.Errorf("%s: %d %s", what, status, answer)
	}
	return nil
}

// create makes a session.
func (s *servers) create() (id string, err error) {
	for end := time.Now().Add(patience); id == ""; {
		var info struct{ ID string }
		status, answer := s.call("POST", "/api/sessions", object{})
		_ = json.Unmarshal(answer, &info)
		if id = info.ID; id == "" && time.Now().After(end) {
			return "", fmt.Errorf("no session: %d %s", status, answer)
		}
	}
	return id, nil
}

// page uses the API like the page.
func (p *people) page(name string, turns int) (id string, err error) {
	if id, err = p.create(); err != nil {
		return "", err
	}
	for n := range turns {
		turn := nameOf(name, n)
		for there := false; !there; {
			path := "/api/sessions/" + url.PathEscape(id) + "/prompts"
			status, answer := p.call("POST", path, object{"parts": []object{{"text": turn}}})
			if err := refusal("the prompt", status, answer); err != nil {
				return id, err
			}
			if there, err = p.ended(id, turn); err != nil {
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
func (p *people) same(ids []string, pages bool) {
	var c *killable
	if !pages {
		var err error
		c, err = p.agent(p.t.Context())
		require.NoError(p.t, err)
		defer c.end()
	}
	for _, id := range ids {
		for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
			first, second := p.look(id), p.look(id) // of the next server
			if first.loaded() && second.loaded() &&
				first.lines() == second.lines() && first.lines() != "" {
				break
			}
			if time.Since(begin) > patience {
				for _, s := range []*shown{first, second} {
					p.t.Logf("a page at %q, refused %q:\n%s", s.position, s.refused, s.lines())
				}
				require.Fail(p.t, "both pages show the same of "+id)
			}
		}
		if pages {
			continue
		}
		var page *shown
		for page = p.look(id); !page.loaded(); page = p.look(id) {
		}
		s, err := c.LoadSession(p.t.Context(), acp.SessionID(id), acpclient.SessionConfig{Cwd: p.dir})
		require.NoError(p.t, err)
		said := func(s *view.Snapshot) (all string) {
			for e := range s.Of(view.Message) {
				all += e.Text()
			}
			return all
		}
		require.Equal(p.t, said(page.fold.Snapshot()), said(s.Snapshot()), "an editor shows %s", id)
		require.NoError(p.t, s.Close(p.t.Context()))
	}
}
