// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
)

// These tests fork sessions of agents that others wrote, and pass messages to their turns.

// forkers are the agents that announce session/fork, steerers those that announce _session/steering. The others must not be asked.
var (
	forkers  = map[string]bool{"claude-agent-acp": true, "codex-acp": true, "opencode": true}
	steerers = map[string]bool{"claude-agent-acp": true, "codex-acp": true}
)

// listening is a provider that keeps the requests it is sent. The first one that contains a text waits until it is released.
type listening struct {
	next func(w http.ResponseWriter, path string, body []byte)
	hold string

	mu      sync.Mutex
	bodies  []string
	holding bool
	waiting chan struct{}
	release context.Context
	free    context.CancelFunc
}

func listen(t *testing.T, f *foreign, hold string) (*foreign, *listening) {
	l := &listening{next: f.provider, hold: hold, waiting: make(chan struct{})}
	l.release, l.free = context.WithCancel(t.Context())
	g := *f
	if f.provider != nil {
		g.provider = l.answer
	}
	return &g, l
}

func (l *listening) answer(w http.ResponseWriter, path string, body []byte) {
	l.mu.Lock()
	l.bodies = append(l.bodies, string(body))
	wait := l.hold != "" && !l.holding && strings.Contains(string(body), l.hold) && strings.Contains(string(body), `"tools"`)
	l.holding = l.holding || wait
	l.mu.Unlock()
	if wait {
		close(l.waiting)
		<-l.release.Done()
	}
	l.next(w, path, body)
}

// with returns the requests that contain a text.
func (l *listening) with(text string) (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range l.bodies {
		if strings.Contains(b, text) {
			all = append(all, b)
		}
	}
	return all
}

// start starts an agent and opens a session.
func start(ctx context.Context, t *testing.T, command acpclient.Command, dir string) (*acpclient.Client, *acpclient.Session) {
	t.Helper()
	p := &person{kind: acp.PermissionOptionKindAllowOnce}
	client, err := acpclient.Start(ctx, command, acpclient.Config{Permission: p.answer, StartTimeout: slow, OnStderr: func(line string) { t.Log(line) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	session, err := client.NewSession(ctx, acpclient.SessionConfig{Cwd: dir})
	if err != nil {
		t.Fatal(err)
	}
	return client, session
}

func ask(ctx context.Context, t *testing.T, s *acpclient.Session, text string) *acpclient.Turn {
	t.Helper()
	turn, err := s.Say(ctx, text)
	if err != nil {
		t.Fatal(err)
	}
	if turn.StopReason != acp.StopReasonEndTurn {
		t.Errorf("the turn ended with %s", turn.StopReason)
	}
	return turn
}

func TestForeignAgentsForkSessions(t *testing.T) {
	for name, f := range foreigners {
		t.Run(name, func(t *testing.T) {
			f, heard := listen(t, f, "")
			command, place := f.at(t)
			ctx, cancel := context.WithTimeout(t.Context(), slow)
			defer cancel()
			client, session := start(ctx, t, command, place.repo)
			if !forkers[name] {
				_, err := client.ForkSession(ctx, session.ID(), acpclient.SessionConfig{Cwd: place.repo})
				if unsupported := (*acpclient.UnsupportedError)(nil); !errors.As(err, &unsupported) {
					t.Errorf("the agent does not announce it, and the error is %v", err)
				}
				return
			}
			ask(ctx, t, session, f.prompt)
			fork, err := client.ForkSession(ctx, session.ID(), acpclient.SessionConfig{Cwd: place.repo})
			if err != nil {
				t.Fatal(err)
			}
			if fork.ID() == session.ID() {
				t.Error("the fork is the session itself")
			}
			if turn := ask(ctx, t, fork, "zebra zebra"); !strings.Contains(turn.Text(), "All done.") {
				t.Errorf("the fork said %q", turn.Text())
			}
			said := heard.with("zebra zebra")
			if len(said) == 0 || !strings.Contains(said[len(said)-1], f.prompt) {
				t.Errorf("the fork does not know what was said before: %q", said)
			}
			ask(ctx, t, session, "giraffe")
			for _, body := range heard.with("giraffe") {
				if strings.Contains(body, "zebra zebra") {
					t.Error("the session knows what was said in the fork")
				}
			}
		})
	}
}

func TestForeignAgentsAreSteered(t *testing.T) {
	for name, f := range foreigners {
		t.Run(name, func(t *testing.T) {
			f, heard := listen(t, f, f.prompt)
			command, place := f.at(t)
			ctx, cancel := context.WithTimeout(t.Context(), slow)
			defer cancel()
			_, session := start(ctx, t, command, place.repo)
			if !steerers[name] {
				_, err := session.Steer(ctx, acp.TextBlock("zebra"))
				if unsupported := (*acpclient.UnsupportedError)(nil); !errors.As(err, &unsupported) {
					t.Errorf("the agent does not announce it, and the error is %v", err)
				}
				return
			}
			if passed, err := session.Steer(ctx, acp.TextBlock("too early")); err != nil || passed {
				t.Errorf("without a turn: %v, %v", passed, err)
			}
			type result struct {
				turn *acpclient.Turn
				err  error
			}
			ended := make(chan result, 1)
			go func() {
				turn, err := session.Say(ctx, f.prompt)
				ended <- result{turn, err}
			}()
			select {
			case <-heard.waiting:
			case r := <-ended:
				t.Fatalf("the turn ended: %v", r.err)
			}
			passed, err := session.Steer(ctx, acp.TextBlock("zebra zebra"))
			heard.free()
			if err != nil || !passed {
				t.Fatalf("passed %v, %v", passed, err)
			}
			r := <-ended
			if r.err != nil {
				t.Fatal(r.err)
			}
			if r.turn.StopReason != acp.StopReasonEndTurn || !ran(t, place) {
				t.Errorf("the turn ended with %s, the command ran %v", r.turn.StopReason, ran(t, place))
			}
			if len(heard.with("zebra zebra")) == 0 {
				t.Error("the model was not told")
			}
			shown := 0
			for e := range session.Snapshot().Of(view.Message) {
				if e.Role == view.User && strings.Contains(e.Text(), "zebra zebra") {
					shown++
				}
				t.Logf("%s: %s", e.Role, e.Text())
			}
			if shown != 1 {
				t.Errorf("the message is shown %d times", shown)
			}
		})
	}
}
