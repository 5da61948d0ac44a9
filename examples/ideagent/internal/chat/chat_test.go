// SPDX-License-Identifier: Apache-2.0

package chat_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/examples/ideagent/internal/chat"
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
	require.Eventually(t, func() bool { return strings.Contains(p.String(), text) }, 20*time.Second, 2*time.Millisecond, "waiting for %q", text)
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
		Agent: []string{os.Args[0], "agent"}, Dir: t.TempDir(), Version: "test", In: in, Interactive: true, Interrupts: interrupts,
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
		case <-time.After(20 * time.Second):
			t.Fatalf("the conversation does not end; so far:\n%s%s", p.out.String(), p.errors.String())
			return 0
		}
	}
}

func (p *person) enter(t *testing.T, line string) {
	t.Helper()
	_, err := io.WriteString(p.types, line+"\n")
	require.NoError(t, err)
}

func TestOnePromptAndOut(t *testing.T) {
	p := newPerson(t)
	p.Prompt = "say hello; write new.txt; read new.txt; run echo $GREETING; exit 4; say bye"
	p.Prompt = strings.Replace(p.Prompt, "$GREETING; exit 4", "$GREETING && exit 4", 1)
	require.Equal(t, chat.ExitOK, p.start(t)(), p.errors.String())
	require.Contains(t, p.out.String(), "[hello]\n[written\n]\n")
	require.Contains(t, p.out.String(), "  │ hi\n  └ exit code 4\n")
	require.Contains(t, p.out.String(), "[exit 4: hi]\n[bye]\n")
	require.Empty(t, p.errors.String())
	data, err := os.ReadFile(filepath.Join(p.Dir, "new.txt"))
	require.NoError(t, err)
	require.Equal(t, "written\n", string(data))
}

func TestAllUpdatesAreShownBeforeTheEnd(t *testing.T) {
	p := newPerson(t)
	p.Prompt = "flood"
	require.Equal(t, chat.ExitOK, p.start(t)(), p.errors.String())
	require.Equal(t, 3000, strings.Count(p.out.String(), "\n"))
	require.True(t, strings.HasSuffix(p.out.String(), "\n2999\n"))
}

func TestFilesOutsideAreRefused(t *testing.T) {
	p := newPerson(t)
	secret := filepath.Join(t.TempDir(), "secret.txt")
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o600))
	p.Prompt = "read " + secret + "; write " + secret + "; read missing.txt"
	require.Equal(t, chat.ExitOK, p.start(t)())
	require.Equal(t, 2, strings.Count(p.out.String(), "outside of the workspace"))
	require.Contains(t, p.out.String(), "does not exist")
	require.NotContains(t, p.out.String(), "[secret]")
}

func TestPermissions(t *testing.T) {
	t.Run("asked", func(t *testing.T) {
		p := newPerson(t)
		p.Prompt = "permission a.txt"
		wait := p.start(t)
		p.out.waitFor(t, "1-3, then Enter: ")
		require.Contains(t, p.out.String(), "○ Write a.txt (pending)\n  1  Always allow\n  2  Allow once\n  3  Reject\n")
		p.enter(t, "7")
		p.enter(t, "what?")
		p.enter(t, " 3 ")
		require.Equal(t, chat.ExitOK, wait())
		require.Contains(t, p.out.String(), "[chosen: no]")
		require.Equal(t, 3, strings.Count(p.out.String(), "then Enter"))
	})
	t.Run("-yes", func(t *testing.T) {
		p := newPerson(t)
		p.Prompt, p.AllowAll, p.Interactive = "permission a.txt", true, false
		require.Equal(t, chat.ExitOK, p.start(t)())
		require.Contains(t, p.out.String(), "-yes: Allow once")
		require.Contains(t, p.out.String(), "[chosen: once]")
	})
	t.Run("nobody there", func(t *testing.T) {
		p := newPerson(t)
		p.Prompt, p.Interactive = "permission a.txt", false
		require.Equal(t, chat.ExitOK, p.start(t)())
		require.Contains(t, p.out.String(), "Rejected: there is nobody to ask, since the standard input is no terminal. Use -yes to allow everything.")
		require.Contains(t, p.out.String(), "[chosen: no]")
	})
	t.Run("input ends", func(t *testing.T) {
		p := newPerson(t)
		p.Prompt = "permission a.txt"
		wait := p.start(t)
		p.out.waitFor(t, "then Enter: ")
		p.types.Close()
		require.Equal(t, chat.ExitOK, wait())
		require.Contains(t, p.out.String(), "[no choice]")
	})
	t.Run("turn cancelled", func(t *testing.T) {
		p := newPerson(t)
		p.Prompt = "permission a.txt; hang"
		wait := p.start(t)
		p.out.waitFor(t, "then Enter: ")
		p.interrupt <- struct{}{}
		require.Equal(t, chat.ExitInterrupted, wait())
	})
}

func TestInterruptsCancelAndQuit(t *testing.T) {
	t.Run("one cancels the turn", func(t *testing.T) {
		p := newPerson(t)
		wait := p.start(t)
		p.out.waitFor(t, "› ")
		p.enter(t, "say begun; run sleep 300")
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
		p.Prompt = "say begun; leave sleep 300; deaf"
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
		p.Agent = append(p.Agent, "mute")
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
		"agent dies":      {nil, "die the disk is on fire", "ideagent: the agent has died (exit code 3); its last words: the disk is on fire\n"},
		"no agent":        {[]string{"no-such-agent-here"}, "say x", "ideagent: cannot start no-such-agent-here: there is no such program in PATH (agent command: no-such-agent-here)\n"},
		"no ACP agent":    {[]string{"true"}, "say x", "ideagent: the agent has died (exit code 0) without a word\n"},
		"turn fails":      {nil, "error the model is down", "the model is down"},
		"limit of tokens": {nil, "stop max_tokens", "limit of tokens"},
		"refusal":         {nil, "stop refusal", "refuses"},
		"unknown reason":  {nil, "stop tea_time", "tea_time"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPerson(t)
			p.Prompt = c.prompt
			if c.agent != nil {
				p.Agent = c.agent
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
