// SPDX-License-Identifier: Apache-2.0

//go:build unix

package chat_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/app/chat"
	"github.com/ponte-go/ponte/app/internal/term/tty"
)

// resizable is a terminal whose size changes.
type resizable struct {
	*teletype
	width, height atomic.Int32
}

func (r *resizable) Size() (width, height int) { return int(r.width.Load()), int(r.height.Load()) }

// patience is how long something may take on a machine that has much else to do.
const patience = 60 * time.Second

var (
	starting = regexp.MustCompile(`^.*\r\x1b\[K`)
	controls = regexp.MustCompile(`\x1b\[[0-9;?]*[a-zA-Z]`)
)

// What stays in the terminal of conversations on a screen: all that was said, in order.
func TestWhatStaysOfConversationsOnAScreen(t *testing.T) {
	var b strings.Builder
	when := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC).Local().Format("2006-01-02 15:04")
	for _, c := range []struct {
		name  string
		steps []string // what is typed, and in ‹› what is waited for
		with  func(*chat.Config)
	}{
		{"commands of the person", []string{"!echo a$((1+1))z", "\r", "‹a2z›", "!exit 3", "\r", "‹exit code 3›"}, nil},
		{"copies", []string{
			"/copy", "\r", "‹no answer yet›", "say one", "\r", "‹[one]›", "/copy", "\r", "‹The last answer is copied›", "/copy code", "\r", "‹no block of code›",
		}, nil},
		{"settings", []string{"/set", "\r", "‹nothing that can be set›", "/set mode fast", "\r", "‹! ›"}, nil},
		{"sessions", []string{"/sessions 1", "\r", "/sessions", "\r", "‹an old›", "/sessions 1", "\r", "‹what was said›", "say on", "\r", "‹[on]›", "/new", "\r", "‹A new conversation.›", "say again", "\r", "‹[again]›"}, nil},
		{"ends of turns", []string{"stop refusal", "\r", "‹refuses›", "stop max_tokens", "\r", "‹limit of tokens›", "stop odd", "\r", "‹does not know: odd›", "error broken", "\r", "‹broken›", "say bye", "\r", "‹[bye]›"}, nil},
		{"a prompt", []string{}, func(c *chat.Config) { c.Prompt = "say one; stop refusal" }},
		{"a prompt that fails", []string{}, func(c *chat.Config) { c.Prompt = "error broken" }},
		{"a prompt that is done", []string{}, func(c *chat.Config) { c.Prompt = "say one" }},
		{"a prompt that is cancelled", []string{}, func(c *chat.Config) { c.Prompt = "stop cancelled" }},
		{"all is allowed", []string{}, func(c *chat.Config) { c.Prompt, c.AllowAll = "permission a; say done", true }},
		{"an editor that fails", []string{"draft", "\x07", "‹editor›"}, func(c *chat.Config) { c.Editor = "'" }},
		{"an editor that is not there", []string{"draft", "\x07", "‹editor›"}, func(c *chat.Config) { c.Editor = "/nowhere/editor -x" }},
		{"what the agent takes nothing of", []string{"say first; hang", "\r", "‹[first]›", "say more", "\x13", "‹takes nothing while it works›", "\x03", "‹Not sent›"}, nil},
		{"a session that goes on", []string{"‹what was said›", "say on", "\r", "‹[on]›"}, func(c *chat.Config) { c.Resume = "old" }},
	} {
		p := newPerson(t)
		p.Connect = inProcess
		if c.with != nil {
			c.with(&p.Config)
		}
		screen := p.sitDown()
		wait := p.start(t)
		if p.Prompt == "" {
			screen.waitFor(t, "Talking to fake.")
		}
		mark := 0
		for _, step := range c.steps {
			if text, ok := strings.CutPrefix(step, "‹"); ok {
				text = strings.TrimSuffix(text, "›")
				for begin := time.Now(); !strings.Contains(screen.String()[mark:], text); time.Sleep(2 * time.Millisecond) {
					require.Less(t, time.Since(begin), patience, "%s: waiting for %q in %q", c.name, text, screen.String()[mark:])
				}
				mark = screen.mark()
				continue
			}
			screen.types(step)
		}
		if p.Prompt == "" {
			screen.types("\x15")
			time.Sleep(30 * time.Millisecond)
			screen.leaves(t, func() int { return chat.ExitOK })
		}
		fmt.Fprintf(&b, "=== %s: %d\n", c.name, wait())
		left := controls.ReplaceAllString(starting.ReplaceAllString(p.out.String(), ""), "")
		for l := range strings.Lines(strings.NewReplacer(when, "WHEN", p.Dir, "DIR").Replace(left)) {
			b.WriteString(strings.TrimRight(l, " \n") + "\n")
		}
		b.WriteString(p.errors.String())
	}
	if *update {
		require.NoError(t, os.WriteFile("testdata/left.txt", []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile("testdata/left.txt")
	require.NoError(t, err)
	require.Equal(t, string(want), b.String(), "go test -update writes it anew")
}

// A screen has the size of its terminal from the beginning, and follows it.
func TestScreensHaveTheSizeOfTheirTerminal(t *testing.T) {
	p := newPerson(t)
	p.Connect = inProcess
	r := &resizable{teletype: newTeletype()}
	r.width.Store(30)
	r.height.Store(8)
	p.Terminal = func() (tty.Terminal, error) { return r, nil }
	wait := p.start(t)
	r.waitFor(t, strings.Repeat("─", 30))
	require.NotContains(t, r.String(), strings.Repeat("─", 31))
	r.waitFor(t, "\x1b[8;")
	require.NotContains(t, r.String(), "\x1b[9;")
	r.width.Store(50)
	r.height.Store(12)
	mark := r.mark()
	r.resized <- struct{}{}
	r.waitAfter(t, mark, strings.Repeat("─", 50))
	r.waitAfter(t, mark, "\x1b[12;1H")
	r.leaves(t, wait)
}

// What cannot be begun is told, with or without a screen.
func TestConversationsThatCannotBegin(t *testing.T) {
	for _, screen := range []bool{false, true} {
		p := newPerson(t)
		p.Connect = inProcess
		p.Dir += "/none"
		if screen {
			p.sitDown()
		}
		require.Equal(t, chat.ExitError, p.start(t)())
		require.Regexp(t, `^chat: .*none.*no such file or directory\n$`, p.errors.String())
		require.Empty(t, p.out.String())

		p = newPerson(t)
		p.Connect = func(context.Context, acpclient.Config) (*acpclient.Client, error) {
			return nil, errors.New("acp: no agent")
		}
		if screen {
			p.sitDown()
		}
		require.Equal(t, chat.ExitError, p.start(t)())
		require.Equal(t, "chat: no agent\n", p.errors.String())
	}
	p := newPerson(t)
	p.Connect = inProcess
	p.Terminal = func() (tty.Terminal, error) { return nil, errors.New("no terminal") }
	require.Equal(t, chat.ExitError, p.start(t)())
	require.Equal(t, "chat: no terminal\n", p.errors.String())
}

// What is left of an input that cannot be read is told, once.
func TestAnInputThatBreaks(t *testing.T) {
	p := newPerson(t)
	p.Connect, p.Person = inProcess, false
	p.In = io.MultiReader(strings.NewReader("say one\nsay half"), iotest.ErrReader(errors.New("on fire")))
	require.Equal(t, chat.ExitError, p.start(t)())
	require.Equal(t, "[one]\n\n[half]\nerror: the input cannot be read: on fire\n", p.out.String())
	require.Equal(t, "chat: the input cannot be read: on fire\n", p.errors.String())
}

// door is an agent that wants a login in a terminal.
type door struct {
	fakeAgent
	methods []acp.AuthMethod
	open    *atomic.Bool
}

func (d *door) Initialize(ctx context.Context, r *acp.InitializeRequest) (*acp.InitializeResponse, error) {
	hello, err := d.fakeAgent.Initialize(ctx, r)
	if err == nil {
		hello.AuthMethods = d.methods
	}
	return hello, err
}

func (d *door) NewSession(ctx context.Context, r *acp.NewSessionRequest) (*acp.NewSessionResponse, error) {
	if !d.open.Load() {
		return nil, acp.Errorf(acp.CodeAuthRequired, "log in first")
	}
	return d.fakeAgent.NewSession(ctx, r)
}

// The program asks for a key itself, if its own agent needs one.
func TestLoginsOfTheProgram(t *testing.T) {
	about := "asks for a key"
	for name, c := range map[string]struct {
		logIn func(open *atomic.Bool) error
		code  int
		says  string
	}{
		"a key":          {func(open *atomic.Bool) error { open.Store(true); return nil }, chat.ExitOK, "[hello]"},
		"none":           {func(*atomic.Bool) error { return errors.New("no key") }, chat.ExitError, "chat: no key\n"},
		"not by program": {nil, chat.ExitError, "chat: this client does not know how to log in that way\n"},
	} {
		var open atomic.Bool
		var connected atomic.Int32
		p := newPerson(t)
		p.Prompt, p.In = "say hello", strings.NewReader("1\n")
		p.Connect = func(ctx context.Context, config acpclient.Config) (*acpclient.Client, error) {
			config.TerminalLogin = true
			connected.Add(1)
			agentIn, clientOut := acp.Pipe()
			clientIn, agentOut := acp.Pipe()
			conn := acp.NewAgentConn(agentIn, agentOut, func(c *acp.AgentConn) acp.Agent {
				return &door{fakeAgent{client: c}, []acp.AuthMethod{{Terminal: &acp.AuthMethodTerminal{ID: "key", Name: "Key", Description: &about}}}, &open}
			}, nil)
			go func() { _ = conn.Serve(context.WithoutCancel(ctx)) }()
			return acpclient.Connect(ctx, clientIn, clientOut, config)
		}
		if c.logIn != nil {
			p.LogIn = func(context.Context) error { return c.logIn(&open) }
		}
		require.Equal(t, c.code, p.start(t)(), name)
		require.EqualValues(t, 1, connected.Load(), "the agent stays")
		require.True(t, strings.HasPrefix(p.out.String(), "The agent wants you to log in:\n  1  Key\n     asks for a key\nNumber of the method to use, or nothing to quit: "), p.out.String())
		require.Contains(t, p.out.String()+p.errors.String(), c.says, name)
	}
}
