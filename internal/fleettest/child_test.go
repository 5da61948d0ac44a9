// SPDX-License-Identifier: Apache-2.0

package fleettest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
)

func openStore(spec string) (session.Store, error) {
	return sqlitestore.Open(spec, sqlitestore.Options{})
}

// fake is a process that only says its role, in place of its address. It has marked what the
// environment names.
func fake(spec []string) {
	for mark := range strings.FieldsSeq(os.Getenv("FAKE_MARKS")) {
		what, key, _ := strings.Cut(mark, "=")
		if err := markFile(spec[1], what, key); err != nil {
			os.Exit(3)
		}
	}
	fmt.Println(spec[0])
	time.Sleep(time.Minute) // it is killed before
	os.Exit(2)
}

var markFile = mark

// Processes of each role: they say what they are, work on one store, and end with their reason.
func TestPeopleWithProcesses(t *testing.T) {
	p := &people{servers: &servers{t: t, role: rolePage, dir: t.TempDir(), spec: t.TempDir()}, quiet: quietHere, gone: time.Minute}
	p.start(0)
	p.start(1)
	defer p.stop()
	require.NotEqual(t, p.addrs[0], p.addrs[1])
	for _, addr := range p.addrs {
		require.Regexp(t, `^127\.0\.0\.1:\d+$`, addr)
	}
	var all sync.WaitGroup
	var ids [2]string
	var errs [2]error
	all.Go(func() { ids[0], errs[0] = p.page("p0", 2) })
	all.Go(func() { ids[1], errs[1] = p.editor("p1", 1) })
	all.Wait()
	require.NoError(t, errors.Join(errs[:]...))
	p.same(ids[:], false)
	require.EqualValues(t, 3, p.whole.Load()+p.cut.Load())
	for i, want := range []string{`"p0.1b done"`, ` user  "" "p1.0"`} {
		page := p.look(ids[i])
		for ; !page.loaded(); page = p.look(ids[i]) { // a busy machine may not load it in a moment
		}
		require.Contains(t, page.text(), want)
	}
	servers := p.cmds
	marks := p.end()
	for _, cmd := range servers {
		require.False(t, cmd.ProcessState.Success())
	}
	for _, what := range []string{"p0.0-approved", "p0.0-help-mark", "p0.1b-approved", "p0.1b-help-mark", "p0.1b-behind-mark", "p0.1b-behind-approved"} {
		require.Contains(t, marks, what)
	}
	var known []string
	for what := range marks {
		known = append(known, regexp.MustCompile(`^p[01]\.[01]b?-`).ReplaceAllString(what, ""))
	}
	require.Subset(t, []string{"approved", "help-mark", "behind-mark", "behind-approved"}, known)
}

// What a process says when it has ended goes to its standard error.
func TestWhyProcessesEnd(t *testing.T) {
	s := &servers{t: t, role: roleEditor, dir: t.TempDir(), spec: t.TempDir()}
	cmd := s.command(roleEditor)
	require.Equal(t, []string{os.Args[0], "-test.run=^$"}, cmd.Args)
	require.Equal(t, os.Stderr, cmd.Stderr)
	require.Equal(t, []string{"PONTE_TEST_FLEET=editor|" + s.marks() + "|" + s.spec, "GORACE=atexit_sleep_ms=0"}, cmd.Env[len(cmd.Env)-2:])
	require.Equal(t, os.Environ(), cmd.Env[:len(cmd.Env)-2])
	cmd.Stderr = nil
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 1, exit.ExitCode())
	require.Equal(t, "editor <nil>\n", string(out))
	require.False(t, Child(nil))
}

// An agent that does not start, or speaks no protocol, is an error, and no process is left.
func TestAgentsThatDoNotStart(t *testing.T) {
	program := os.Args[0]
	defer func() { os.Args[0] = program }()
	s := &servers{t: t, dir: t.TempDir(), spec: t.TempDir()}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.agent(ctx)
	require.ErrorIs(t, err, context.Canceled)
	ok, out := told(t, func(t *testing.T) {
		os.Args[0] = "/nowhere/at/all"
		s := &servers{t: t, role: roleChat, dir: t.TempDir()}
		s.start(0)
		s.stop()
		_, err := s.agent(t.Context())
		t.Log(err != nil, s.cmds[0] == nil, s.addrs[0])
	})
	require.False(t, ok)
	require.Regexp(t, `^a server does not start: .*/nowhere/at/all.*\n\s*true true \n`, out)
}

// Servers are killed in turn, after a time between the least one and twice that, until the work has ended.
func TestServersAreKilledInTurn(t *testing.T) {
	t.Setenv("FAKE_MARKS", "a=1")
	var log []string
	ok, out := told(t, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &servers{t: t, role: "fake-role", dir: t.TempDir(), spec: "fake"}
			begin := time.Now()
			var first [2]*exec.Cmd
			var disturbed atomic.Int64
			s.while(time.Minute, func() { disturbed.Add(1) }, func() {
				s.mu.Lock()
				first = s.cmds
				s.mu.Unlock()
				for s.kills.Load() < 3 {
					time.Sleep(time.Minute)
					s.whole.Add(1)
				}
				events := int(s.kills.Load() + disturbed.Load())
				took := time.Since(begin)
				if took < time.Duration(events)*time.Minute || took > time.Duration(2*events+3)*time.Minute {
					t.Errorf("%d events in %v", events, took)
				}
			})
			if s.addrs != [2]string{"fake-role", "fake-role"} || s.cmds[0] == first[0] || s.cmds[1] == first[1] {
				t.Errorf("they are %q", s.addrs)
			}
			for _, cmd := range first {
				log = append(log, fmt.Sprint(cmd.ProcessState.Success()))
			}
			t.Log(s.end(), s.cmds[0].ProcessState != nil, s.cmds[1].ProcessState != nil)
		})
	})
	require.True(t, ok, out)
	require.Equal(t, "map[a:map[1:true]] true true\n", out)
	require.Equal(t, []string{"false", "false"}, log)
}

// Where nothing ends between two kills, the time between them doubles.
func TestServersThatDoNothingAreKilledLessOften(t *testing.T) {
	t.Setenv("FAKE_MARKS", "a=1")
	ok, out := told(t, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &servers{t: t, role: "fake-role", dir: t.TempDir(), spec: "fake"}
			begin := time.Now()
			s.while(time.Minute, nil, func() {
				for n := range int64(5) {
					for s.kills.Load() <= n {
						time.Sleep(time.Second)
					}
					least := (1<<(n+1) - 1) * time.Minute // 1, 1+2, 1+2+4 ...
					if took := time.Since(begin); took < least || took > 2*least+time.Minute {
						t.Errorf("%d kills after %v", n+1, took)
					}
				}
				s.whole.Add(1)
				for s.kills.Load() < 6 {
					time.Sleep(time.Second)
				}
				begin = time.Now()
				for s.kills.Load() < 7 {
					time.Sleep(time.Second)
				}
				if took := time.Since(begin); took > 3*time.Minute {
					t.Errorf("after an end, %v", took)
				}
			})
			s.end()
		})
	})
	require.True(t, ok, out)
}

// A mark under two keys is an error, and so are no marks.
func TestMarksUnderSeveralKeys(t *testing.T) {
	for _, c := range [][2]string{
		{"", "no such file or directory"}, {"a=1 b=1 a=1", ""}, {"a=1 a=2", "a was marked under several keys"},
	} {
		t.Setenv("FAKE_MARKS", c[0])
		ok, out := told(t, func(t *testing.T) {
			s := &servers{t: t, dir: t.TempDir(), spec: "fake"}
			s.start(0)
			s.end()
		})
		require.Equal(t, c[1] == "", ok)
		require.Contains(t, out, c[1])
	}
}

// chatWorld answers each chat at once, as name says.
func chatWorld(fails string) func(r *http.Request, body string) (int, string) {
	named := regexp.MustCompile(`chat\d+`)
	return func(r *http.Request, body string) (int, string) {
		name := named.FindString(r.URL.Path + body + r.URL.RawQuery)
		if fails != "" && name == fails {
			return 400, "no"
		}
		switch {
		case r.URL.Path == "/api/sessions":
			return 200, `{"id":"s"}`
		case r.URL.Path == "/api/events":
			return 200, event(message("a", "user", "", "chat1")+","+message("b", "assistant", "", "chat1 9.")+","+message("c", "assistant", "", "chat5 9."), "")
		case r.Method == "GET":
			return 200, `[{"parts":[{"text":"` + whole(name) + `"}]}]`
		}
		return 200, whole(name)
	}
}

// Chats are shared out among the kinds of clients, and those that ask must have marked something.
func TestChatsOfAllKinds(t *testing.T) {
	var b strings.Builder
	for _, c := range []struct{ name, marks, fails string }{
		{"right", "chat1=k chat2=k chat3=k chat5=k", ""},
		{"a mark is missing", "chat1=k chat3=k chat5=k", ""},
		{"a mark too many", "chat0=k chat1=k chat2=k chat3=k chat5=k", ""},
		{"one fails", "chat1=k chat2=k chat3=k chat5=k", "chat2"},
	} {
		t.Setenv("FAKE_MARKS", c.marks)
		ok, out := told(t, func(t *testing.T) {
			inWorld(t, chatWorld(c.fails), func(t *testing.T, w *world) {
				w.takes = 100 * time.Millisecond // before a server is killed
				Chats(t, "fake", 6, nil)
			})
		})
		fmt.Fprintf(&b, "# %s %v\n%s\n", c.name, ok, out)
	}
	golden(t, "chats", b.String())
}

// People on pages take five turns each, two of them at least.
func TestPeopleTakeTurns(t *testing.T) {
	t.Setenv("FAKE_MARKS", "a=1")
	var b strings.Builder
	for _, c := range []struct {
		name  string
		turns int
		shows string
	}{
		{"two", 1, "done"}, {"three", 19, "done"}, {"cut", 10, "cut"},
	} {
		var log string
		ok, out := told(t, func(t *testing.T) {
			n := 0
			last := map[string]string{}
			prompt := regexp.MustCompile(`p\d\.\db?`)
			log = inWorld(t, func(r *http.Request, body string) (int, string) {
				switch id := r.URL.Query().Get("follow"); {
				case id != "":
					called := `{"op":"upsert","id":"t","entity":{"id":"t","kind":"tool_call","title":"Delegate"}}`
					said, status := last[id]+" "+c.shows, ""
					if c.shows == "cut" {
						said, status = "half", "interrupted"
					}
					return 200, event(message("a", "user", "", last[id])+","+called+","+message("b", "assistant", status, said), "")
				case strings.HasSuffix(r.URL.Path, "/prompts"):
					last[strings.Split(r.URL.Path, "/")[3]] = prompt.FindString(body)
					return 200, ""
				}
				n++
				return 200, fmt.Sprintf(`{"id":"s%d"}`, n)
			}, func(t *testing.T, w *world) {
				w.takes = 0
				answer := w.say
				w.say = func(r *http.Request, body string) (int, string) {
					w.mu.Lock()
					defer w.mu.Unlock()
					return answer(r, body)
				}
				if c.shows == "cut" {
					w.say = func(r *http.Request, body string) (int, string) {
						time.Sleep(5 * time.Second)
						w.mu.Lock()
						defer w.mu.Unlock()
						return answer(r, body)
					}
					p := &people{servers: fleet(t), quiet: quietAway}
					id, err := p.page("p0", 1)
					w.printf("says %q %v", id, err)
					return
				}
				Pages(t, "fake", c.turns, nil)
			})
		})
		var prompts []string
		for line := range strings.Lines(log) {
			if strings.Contains(line, "/prompts") || strings.Contains(line, "says") {
				prompts = append(prompts, line)
			}
		}
		if c.shows == "done" {
			require.Len(t, prompts, 5*max(2, c.turns/5))
			prompts = nil
		}
		fmt.Fprintf(&b, "# %s %v\n%s%s\n", c.name, ok, out, strings.Join(prompts, ""))
	}
	golden(t, "turns", b.String())
}
