// SPDX-License-Identifier: Apache-2.0

package chat_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/chat"
	"github.com/ponte-go/ponte/app/internal/term/events"
)

// paper is an output that can be read while it is written.
type paper struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (p *paper) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.buf.Write(b)
}

func (p *paper) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.buf.String()
}

func (p *paper) waitFor(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(p.String(), text) }, time.Minute, 2*time.Millisecond, "waiting for %q", text)
}

// person is somebody who holds a conversation.
type person struct {
	chat.Config
	out, errors paper
	types       io.WriteCloser
	interrupt   chan<- struct{}
}

func newPerson(t *testing.T) *person {
	t.Helper()
	in, types := io.Pipe()
	interrupts := make(chan struct{}, 2)
	p := &person{types: types, interrupt: interrupts}
	p.Config = chat.Config{
		Agent: acpclient.Command{Path: os.Args[0], Args: []string{"agent"}}, Dir: t.TempDir(), Version: "test", In: in, Person: true, Interrupts: interrupts,
		Out: &p.out, Err: &p.errors,
	}
	t.Cleanup(func() { types.Close() })
	return p
}

// start begins the conversation; wait waits for its end.
func (p *person) start(t *testing.T) (wait func() int) {
	t.Helper()
	code := make(chan int, 1)
	go func() { code <- chat.Run(t.Context(), p.Config) }()
	return func() int {
		t.Helper()
		select {
		case c := <-code:
			return c
		case <-time.After(time.Minute):
			t.Fatalf("the conversation does not end; so far:\n%s%s", p.out.String(), p.errors.String())
			return 0
		}
	}
}

// code waits for a question, and returns its code.
func (p *person) code(t *testing.T) string {
	t.Helper()
	p.out.waitFor(t, "”: ")
	return regexp.MustCompile(`a number and (\w+), such`).FindStringSubmatch(p.out.String())[1]
}

func (p *person) enter(t *testing.T, line string) {
	t.Helper()
	_, err := io.WriteString(p.types, line+"\n")
	require.NoError(t, err)
}

func TestOnePromptAndOut(t *testing.T) {
	p := newPerson(t)
	p.AllowAll = true
	p.Prompt = "say hello; write new.txt; read new.txt; run echo $GREETING && exit 4; say bye"
	require.Equal(t, chat.ExitOK, p.start(t)(), p.errors.String())
	require.Contains(t, p.out.String(), "[hello]\n\n    The agent has not asked about this.\n    Create "+filepath.Join(p.Dir, "new.txt")+"\n    @@ -0,0 +1,1 @@\n    +written\n  -yes: Allow once\n\n[written\n]\n")
	require.Contains(t, p.out.String(), "  $ echo $GREETING && exit 4\n  │ hi\n  └ exit code 4\n")
	require.Contains(t, p.out.String(), "[exit 4: hi]\n[bye]\n")
	require.Empty(t, p.errors.String())
	data, err := os.ReadFile(filepath.Join(p.Dir, "new.txt"))
	require.NoError(t, err)
	require.Equal(t, "written\n", string(data))
}

// The agent of this test asks for nothing: it writes and runs.
func TestUnaskedChangesAreShownAndRefused(t *testing.T) {
	for _, person := range []bool{false, true} {
		p := newPerson(t)
		p.Person = person
		p.Prompt = "write new.txt; run touch here && echo " + strings.Repeat("x", 300) + "; say bye"
		p.types.Close() // a person who leaves
		require.Equal(t, chat.ExitRefused, p.start(t)())
		flat := strings.ReplaceAll(p.out.String(), "\n", "")
		require.Contains(t, p.out.String(), "Create "+filepath.Join(p.Dir, "new.txt")+"\n    @@ -0,0 +1,1 @@\n    +written\n")
		require.Contains(t, flat, "touch here && echo "+strings.Repeat("x", 300)+"'", "the whole command")
		require.Contains(t, p.out.String(), "Directory:\n      "+p.Dir)
		require.Contains(t, p.out.String(), "Environment:\n      GREETING=hi")
		require.Contains(t, p.out.String(), "The agent has not asked about this.")
		require.Contains(t, p.out.String(), "[bye]")
		left, err := os.ReadDir(p.Dir)
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

func TestAllUpdatesAreShownBeforeTheEnd(t *testing.T) {
	p := newPerson(t)
	p.Prompt = "flood"
	require.Equal(t, chat.ExitOK, p.start(t)(), p.errors.String())
	require.Equal(t, 3000, strings.Count(p.out.String(), "\n"))
	require.True(t, strings.HasSuffix(p.out.String(), "\n2999\n"))
}

func TestFilesOfTheSessionOnly(t *testing.T) {
	p := newPerson(t)
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret.txt")
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "binary"), []byte("\xff\xfe\x00"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "a.txt"), []byte("inside"), 0o600))
	links := 0
	if err := os.Symlink(secret, filepath.Join(p.Dir, "link")); err == nil { // Windows may not allow it
		links = 2
	}
	p.AllowAll = true
	p.Prompt = "read " + secret + "; write " + secret + "; read ../secret.txt; read missing.txt; read binary; read a.txt; read link; write link"
	require.Equal(t, chat.ExitOK, p.start(t)())
	require.Equal(t, 3+links, strings.Count(p.out.String(), "outside of the session's directories"), p.out.String())
	require.Contains(t, p.out.String(), "does not exist")
	require.Contains(t, p.out.String(), "not text")
	require.Contains(t, p.out.String(), "[inside]")
	require.NotContains(t, p.out.String(), "[secret]")
	data, err := os.ReadFile(secret)
	require.NoError(t, err)
	require.Equal(t, "secret", string(data))
}

func TestPermissions(t *testing.T) {
	t.Run("asked", func(t *testing.T) {
		p := newPerson(t)
		p.Prompt = "permission a.txt"
		wait := p.start(t)
		code := p.code(t)
		require.Contains(t, p.out.String(), "○ Write a.txt (pending)\n    Arguments:\n    {\"path\":\"a.txt\"}\n  1  Always allow\n  2  Allow once\n  3  Reject\n")
		for _, wrong := range []string{"7 " + code, "what?", "3", "3 bcdfg", code} {
			p.enter(t, wrong)
		}
		p.enter(t, " 2  "+code+" ")
		require.Equal(t, chat.ExitOK, wait())
		require.Contains(t, p.out.String(), "[chosen: once]")
		require.Equal(t, 6, strings.Count(p.out.String(), "Answer with"))
	})
	t.Run("rejected", func(t *testing.T) {
		p := newPerson(t)
		p.Prompt = "permission a.txt"
		wait := p.start(t)
		p.enter(t, "3 "+p.code(t))
		require.Equal(t, chat.ExitRefused, wait())
		require.Contains(t, p.out.String(), "[chosen: no]")
	})
	t.Run("typed before", func(t *testing.T) {
		p := newPerson(t)
		wait := p.start(t)
		p.out.waitFor(t, "› ")
		go func() { _, _ = io.WriteString(p.types, "permission a.txt\n1\n1\n1\ny\nalways\n1 always\n") }()
		code := p.code(t)
		for range 6 {
			p.out.waitFor(t, "That is not an answer.")
		}
		require.NotContains(t, p.out.String(), "[chosen")
		p.enter(t, "2 "+code)
		p.out.waitFor(t, "[chosen: once]")
		p.types.Close()
		require.Equal(t, chat.ExitOK, wait())
	})
	t.Run("-yes", func(t *testing.T) {
		p := newPerson(t)
		p.Prompt, p.AllowAll, p.Person = "permission a.txt", true, false
		require.Equal(t, chat.ExitOK, p.start(t)())
		require.Contains(t, p.out.String(), "-yes: Allow once")
		require.Contains(t, p.out.String(), "[chosen: once]")
	})
	t.Run("nobody there", func(t *testing.T) {
		p := newPerson(t)
		p.Prompt, p.Person = "permission a.txt", false
		require.Equal(t, chat.ExitRefused, p.start(t)())
		require.Contains(t, p.out.String(), "Rejected: no one can be asked because standard input is not a terminal. Use -yes to allow everything.")
		require.Contains(t, p.out.String(), "[chosen: no]")
	})
	t.Run("input ends", func(t *testing.T) {
		p := newPerson(t)
		p.Prompt = "permission a.txt"
		wait := p.start(t)
		p.code(t)
		p.types.Close()
		require.Equal(t, chat.ExitRefused, wait())
		require.Contains(t, p.out.String(), "Not allowed: the input has ended.")
		require.Contains(t, p.out.String(), "[no choice]")
	})
	t.Run("turn cancelled", func(t *testing.T) {
		p := newPerson(t)
		p.Prompt = "permission a.txt; hang"
		wait := p.start(t)
		p.code(t)
		p.interrupt <- struct{}{}
		require.Equal(t, chat.ExitInterrupted, wait())
	})
}

func TestInterruptsCancelAndQuit(t *testing.T) {
	t.Run("one cancels the turn", func(t *testing.T) {
		p := newPerson(t)
		wait := p.start(t)
		p.out.waitFor(t, "› ")
		p.enter(t, "say begun; hang")
		p.out.waitFor(t, "[begun]")
		p.interrupt <- struct{}{}
		p.out.waitFor(t, "Cancelled.")
		p.enter(t, "say still here")
		p.out.waitFor(t, "[still here]")
		p.types.Close()
		require.Equal(t, chat.ExitOK, wait())
	})
	t.Run("the second quits", func(t *testing.T) {
		p := newPerson(t)
		p.AllowAll, p.Prompt = true, "say begun; leave sleep 300; deaf"
		wait := p.start(t)
		p.out.waitFor(t, "[begun]")
		p.interrupt <- struct{}{}
		p.out.waitFor(t, "Cancelling. Ctrl-C again quits.")
		p.interrupt <- struct{}{}
		require.Equal(t, chat.ExitInterrupted, wait())
	})
	t.Run("at the prompt", func(t *testing.T) {
		p := newPerson(t)
		wait := p.start(t)
		p.out.waitFor(t, "› ")
		p.interrupt <- struct{}{}
		require.Equal(t, chat.ExitInterrupted, wait())
	})
	t.Run("before the agent has answered", func(t *testing.T) {
		p := newPerson(t)
		p.Agent.Args = append(p.Agent.Args, "mute")
		wait := p.start(t)
		p.interrupt <- struct{}{}
		require.Equal(t, chat.ExitInterrupted, wait())
	})
	t.Run("the context", func(t *testing.T) {
		p := newPerson(t)
		p.Prompt = "say begun; hang"
		ctx, cancel := context.WithCancel(t.Context())
		code := make(chan int, 1)
		go func() { code <- chat.Run(ctx, p.Config) }()
		p.out.waitFor(t, "[begun]")
		cancel()
		require.Equal(t, chat.ExitInterrupted, <-code)
	})
}

func TestErrorsAreOneLineAndSayWhatToDo(t *testing.T) {
	for name, c := range map[string]struct {
		agent  []string
		prompt string
		want   string
	}{
		"agent dies":      {nil, "die the disk is on fire", "the process has ended (exit code 3); its last words: the disk is on fire\n"},
		"no agent":        {[]string{"no-such-agent-here"}, "say x", "chat: agent \"no-such-agent-here\": "},
		"no ACP agent":    {[]string{"true"}, "say x", "agent \"true\": the process has ended (exit code 0)\n"},
		"turn fails":      {nil, "error the model is down", "the model is down"},
		"limit of tokens": {nil, "stop max_tokens", "limit of tokens"},
		"refusal":         {nil, "stop refusal", "refuses"},
		"unknown reason":  {nil, "stop tea_time", "tea_time"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPerson(t)
			p.Prompt = c.prompt
			if c.agent != nil {
				p.Agent = acpclient.Command{Path: c.agent[0], Args: c.agent[1:]}
			}
			require.Equal(t, chat.ExitError, p.start(t)())
			require.Contains(t, p.errors.String(), c.want)
			require.Equal(t, 1, strings.Count(p.errors.String(), "\n"), p.errors.String())
		})
	}
}

func TestAFailedTurnDoesNotEndTheConversation(t *testing.T) {
	p := newPerson(t)
	wait := p.start(t)
	p.out.waitFor(t, "fake 1 in "+p.Dir)
	p.enter(t, "error the model is down")
	p.out.waitFor(t, "the model is down")
	p.enter(t, "say up again")
	p.out.waitFor(t, "[up again]")
	p.types.Close()
	require.Equal(t, chat.ExitOK, wait())
}

func TestPromptsWithoutAPerson(t *testing.T) {
	for input, want := range map[string]int{
		"say one\n\nsay two\n":                chat.ExitOK,
		"say one\npermission x\nsay two\n":    chat.ExitRefused,
		"say one\nstop refusal\nsay two\n":    chat.ExitError,
		"error down\npermission x\nsay two\n": chat.ExitError,
	} {
		p := newPerson(t)
		p.Person, p.In = false, strings.NewReader(input)
		require.Equal(t, want, p.start(t)(), input)
		require.Contains(t, p.out.String(), "[two]", input)
		require.NotContains(t, p.out.String(), "› ")
	}
}

func TestJSONEvents(t *testing.T) {
	p := newPerson(t)
	p.JSON, p.Prompt = true, "say hello; write a.txt; permission b.txt; stop max_tokens"
	require.Equal(t, chat.ExitError, p.start(t)())
	var types []string
	for line := range strings.Lines(p.out.String()) {
		var e events.Event
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		require.NoError(t, d.Decode(&e), line)
		switch e.Type {
		case "change":
			if e.Change.Op == view.Append {
				require.Nil(t, e.Change.Entity)
			}
			continue
		case "question":
			require.Equal(t, "Rejected: no one can be asked because standard input is not a terminal. Use -yes to allow everything.", e.Text)
			e.Type += " " + e.Title + " " + *e.Answer
		case "turn":
			e.Type += " " + e.StopReason
		case "exit":
			require.Equal(t, 1, e.Code)
		}
		types = append(types, e.Type)
	}
	require.Equal(t, []string{"question Create " + filepath.Join(p.Dir, "a.txt") + " reject_once", "question Write b.txt no", "turn max_tokens", "exit"}, types)
	require.Contains(t, p.out.String(), "hello")
	require.Contains(t, p.errors.String(), "limit of tokens")
}

func TestReadOnlyFilesAreNotReplaced(t *testing.T) {
	p := newPerson(t)
	fixed := filepath.Join(p.Dir, "fixed")
	require.NoError(t, os.WriteFile(fixed, []byte("fixed"), 0o444))
	p.AllowAll, p.Prompt = true, "write fixed"
	require.Equal(t, chat.ExitOK, p.start(t)())
	require.Contains(t, p.out.String(), "permission denied")
	data, err := os.ReadFile(fixed)
	require.NoError(t, err)
	require.Equal(t, "fixed", string(data))
}

func TestParseCommand(t *testing.T) {
	for line, want := range map[string][]string{
		`agent`:                         {"agent"},
		` npx  -y "@a/b c" 'd "e"' `:    {"npx", "-y", "@a/b c", `d "e"`},
		`a\ b "c\"d\\e" '' x\\y`:        {"a b", `c"d\e`, "", `x\y`},
		`C:\Tools\agent.exe --x="a b"c`: {`C:\Tools\agent.exe`, "--x=a bc"},
		`A=1 B_2='x y' agent C=3`:       {"agent", "C=3"},
		`agent $HOME ~ *`:               {"agent", "$HOME", "~", "*"},
		`AZ_az09=1 agent`:               {"agent"},
		`@=1 x`:                         {"@=1", "x"},
		`A[=1 x`:                        {"A[=1", "x"},
		"a`=1 x":                        {"a`=1", "x"},
		`a{=1 x`:                        {"a{=1", "x"},
		`/=1 x`:                         {"/=1", "x"},
		`a:=1 x`:                        {"a:=1", "x"},
		`=1 x`:                          {"=1", "x"},
	} {
		c, err := chat.ParseCommand(line)
		require.NoError(t, err, line)
		require.Equal(t, want, append([]string{c.Path}, c.Args...), line)
	}
	c, err := chat.ParseCommand(`A=1 B_2='x y' agent C=3`)
	require.NoError(t, err)
	require.Equal(t, []string{"A=1", "B_2=x y"}, c.Env)
	for line, want := range map[string]string{``: "no command", `A=1`: "no command", `a "b`: "not closed", `''`: "no command"} {
		_, err := chat.ParseCommand(line)
		require.ErrorContains(t, err, want, line)
	}
}

func TestCommandsDoNotGetModelKeys(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-0123456789")
	t.Setenv("MY_SECRET", "abcdefgh")
	p := newPerson(t)
	p.AllowAll, p.Prompt = true, "run echo keys=$OPENAI_API_KEY$MY_SECRET. $GREETING"
	require.Equal(t, chat.ExitOK, p.start(t)())
	require.Contains(t, p.out.String(), "[exit 0: keys=. hi]")
}

func TestScreensAreOnTerminals(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	_, err = chat.Screen(r, w)()
	require.Error(t, err, "a pipe is no terminal")
}
