// SPDX-License-Identifier: Apache-2.0

//go:build unix

package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/app/chat"
	"github.com/ponte-go/ponte/app/internal/term/tty"
)

// guarded is an agent that is told who its client is, and may want a login that it never accepts.
type guarded struct {
	fakeAgent
	methods []acp.AuthMethod
	client  *acp.Implementation
	logins  int
}

func (a *guarded) Initialize(ctx context.Context, r *acp.InitializeRequest) (*acp.InitializeResponse, error) {
	hello, err := a.fakeAgent.Initialize(ctx, r)
	a.client = r.ClientInfo
	hello.AuthMethods = a.methods
	return hello, err
}

func (a *guarded) Authenticate(context.Context, *acp.AuthenticateRequest) (*acp.AuthenticateResponse, error) {
	if a.logins++; a.logins == 2 {
		return nil, acp.Errorf(acp.CodeInternal, "that is enough")
	}
	return &acp.AuthenticateResponse{}, nil
}

func (a *guarded) NewSession(context.Context, *acp.NewSessionRequest) (*acp.NewSessionResponse, error) {
	return nil, acp.Errorf(acp.CodeAuthRequired, "log in first")
}

// No connection is left of a conversation that does not begin, and the agent knows who asked.
func TestNothingIsLeftOfAConversationThatDoesNotBegin(t *testing.T) {
	key := []acp.AuthMethod{{Agent: &acp.AuthMethodAgent{ID: "key", Name: "Key"}}}
	for _, c := range []struct {
		methods []acp.AuthMethod
		person  bool
		types   string
		says    string
		logins  int
	}{
		{key, false, "", "chat: session/new: log in first (-32000); authenticate with one of: key\n", 0},
		{nil, true, "", "chat: session/new: log in first (-32000)\n", 0},
		{key, true, "2\n", "chat: not logged in\n", 0},
		{key, true, "1\n1\n", "chat: authenticate: that is enough (-32603)\n", 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPerson(t)
			p.Person = c.person
			var a *guarded
			p.talksTo(func(conn *acp.AgentConn) acp.Agent {
				a = &guarded{fakeAgent: fakeAgent{client: conn}, methods: c.methods}
				return a
			})
			wait := p.start(t)
			if c.types != "" {
				_, err := p.types.Write([]byte(c.types))
				require.NoError(t, err)
			}
			require.Equal(t, chat.ExitError, wait())
			require.Equal(t, c.says, p.errors.String())
			require.Equal(t, c.logins, a.logins)
			require.Equal(t, &acp.Implementation{Name: "chat", Version: "test"}, a.client)
		}) // which fails if the agent still waits for its client
	}
}

// A message for the running turn that the agent does not take is sent after it, and why is told.
func TestMessagesThatARunningTurnDoesNotTake(t *testing.T) {
	for _, c := range []struct{ outcome, told string }{
		{`{"outcome":"promptRequired"}`, "The turn has ended: it is sent as a prompt"},
		{"", "It is sent when the turn has ended: _session/steering: not now (-32603)"},
		{`{"outcome":"injected"}`, "The running turn has it"},
	} {
		watches(t, func(p *person) {
			p.Connect = func(ctx context.Context, config acpclient.Config) (*acpclient.Client, error) {
				agentIn, clientOut := acp.Pipe()
				clientIn, agentOut := acp.Pipe()
				take := func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
					if c.outcome == "" {
						return nil, acp.Errorf(acp.CodeInternal, "not now")
					}
					return json.RawMessage(c.outcome), nil
				}
				conn := acp.NewAgentConn(agentIn, agentOut, func(c *acp.AgentConn) acp.Agent {
					return &steerable{paced{fakeAgent{client: c}, 0, time.Minute, 1}}
				}, &acp.ConnOptions{ExtMethod: take})
				go func() { _ = conn.Serve(context.WithoutCancel(ctx)) }()
				return acpclient.Connect(ctx, clientIn, clientOut, config)
			}
		}, func(t *testing.T, p *person, w *watched, wait func() int) {
			w.types("first", "\r")
			synctest.Wait()
			w.types("second", "\x13")
			synctest.Wait()
			require.Contains(t, w.now(), c.told)
			time.Sleep(5 * time.Minute)
			w.types("\x04")
			require.Equal(t, chat.ExitOK, wait())
			if c.told == "The running turn has it" {
				require.Regexp(t, `(?s)› first.*word.*› second\n+$`, inPlain(p))
			} else {
				require.Regexp(t, `(?s)› first.*word.*› second.*word`, inPlain(p))
			}
		})
	}
}

// steerable is an agent that says that it takes messages for the running turn.
type steerable struct{ paced }

func (a *steerable) Initialize(ctx context.Context, r *acp.InitializeRequest) (*acp.InitializeResponse, error) {
	hello, err := a.paced.Initialize(ctx, r)
	hello.Meta = map[string]json.RawMessage{"steering": json.RawMessage(`{"supported":true}`)}
	return hello, err
}

// lending is a terminal that a program borrows in which Ctrl-C is pressed.
type lending struct {
	*watched
	p   *person
	err error
}

func (l *lending) Lend(f func() error) error {
	l.p.interrupt <- struct{}{}
	l.p.interrupt <- struct{}{}
	if l.err != nil {
		return l.err
	}
	return f()
}

// What is pressed in an editor is for the editor. Afterwards the whole screen is drawn, with what
// was written.
func TestTheScreenAfterAnEditor(t *testing.T) {
	for _, unsupported := range []bool{false, true} {
		watches(t, func(p *person) {
			p.Editor = "true"
			open := p.Terminal
			p.Terminal = func() (tty.Terminal, error) {
				w, err := open()
				l := &lending{watched: w.(*watched), p: p}
				if unsupported {
					l.err = errors.ErrUnsupported
				}
				return l, err
			}
		}, func(t *testing.T, p *person, w *watched, wait func() int) {
			mark := w.mark()
			w.types("a draft", "\x07")
			synctest.Wait()
			require.Contains(t, w.String()[mark:], "\x1b[2J")
			require.Contains(t, w.now(), "› a draft\n")
			require.NotContains(t, w.now(), "Press Ctrl-C again")
			require.NotContains(t, w.now(), "Cleared")
			if unsupported {
				require.Contains(t, w.now(), "! the editor: programs cannot share the terminal on this system\n")
			} else {
				require.Contains(t, w.now(), "Back from your editor")
			}
			w.types("\x15", "\x04")
			require.Equal(t, chat.ExitOK, wait())
		})
	}
}

// What is asked of a client depends on who is there, and what for.
func TestWhatAClientIsAskedFor(t *testing.T) {
	file, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer file.Close()
	type asked struct{ login, forms, turns, trusted, files bool }
	for _, c := range []struct {
		person, file, screen, json, own bool
		prompt                          string
		want                            asked
	}{
		{want: asked{files: true}},
		{person: true, want: asked{forms: true, turns: true, files: true}},
		{person: true, file: true, want: asked{login: true, forms: true, turns: true, files: true}},
		{file: true, own: true, want: asked{trusted: true, files: true}},
		{person: true, prompt: "x", want: asked{forms: true, files: true}},
		{person: true, file: true, json: true, want: asked{files: true}},
		{person: true, file: true, screen: true, json: true, want: asked{files: true}},
		{person: true, screen: true, own: true, want: asked{forms: true, turns: true, trusted: true, files: true}},
		{person: true, screen: true, file: true, prompt: "x", want: asked{login: true, forms: true, files: true}},
		{screen: true, file: true, want: asked{files: true}},
	} {
		p := newPerson(t)
		p.Person, p.JSON, p.Own, p.Prompt = c.person, c.json, c.own, c.prompt
		if c.file {
			p.In = file
		}
		if c.screen {
			p.sitDown()
		}
		var got asked
		p.Connect = func(_ context.Context, c acpclient.Config) (*acpclient.Client, error) {
			require.NotNil(t, c.Permission)
			got = asked{c.TerminalLogin, c.Elicitation != nil, c.Turns, c.Trusted, c.Workspace != nil}
			return nil, errors.New("nobody")
		}
		require.Equal(t, chat.ExitError, p.start(t)())
		require.Equal(t, c.want, got, "%+v", c)
	}
}
