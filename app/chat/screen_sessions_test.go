// SPDX-License-Identifier: Apache-2.0

package chat_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/app/chat"
)

// shelf is an agent with sessions that can be closed and settings, some of which fail. It notes
// what it is asked for.
type shelf struct {
	fakeAgent
	nameless bool
	empty    bool // it fails to list
	asked    []string
}

func (a *shelf) Initialize(ctx context.Context, r *acp.InitializeRequest) (*acp.InitializeResponse, error) {
	hello, err := a.fakeAgent.Initialize(ctx, r)
	hello.AgentCapabilities.SessionCapabilities.Close = &acp.SessionCloseCapabilities{}
	if a.nameless {
		hello.AgentInfo = nil
	}
	return hello, err
}

func (a *shelf) NewSession(ctx context.Context, r *acp.NewSessionRequest) (*acp.NewSessionResponse, error) {
	made, err := a.fakeAgent.NewSession(ctx, r)
	a.asked = append(a.asked, fmt.Sprint("new ", made.SessionID))
	made.Modes = &acp.SessionModeState{
		CurrentModeID: "fast", AvailableModes: []acp.SessionMode{{ID: "fast", Name: "Fast"}, {ID: "slow", Name: "Slow"}},
	}
	made.ConfigOptions = []acp.SessionConfigOption{
		{ID: "loud", Name: "Loud", Boolean: &acp.SessionConfigBoolean{}},
	}
	return made, err
}

func (a *shelf) ListSessions(ctx context.Context, r *acp.ListSessionsRequest) (*acp.ListSessionsResponse, error) {
	if a.empty {
		return nil, acp.Errorf(acp.CodeInternal, "the shelf is empty")
	}
	list, err := a.fakeAgent.ListSessions(ctx, r)
	list.Sessions = append(list.Sessions, acp.SessionInfo{SessionID: "lost", Cwd: *r.Cwd})
	return list, err
}

func (a *shelf) LoadSession(ctx context.Context, r *acp.LoadSessionRequest) (*acp.LoadSessionResponse, error) {
	a.asked = append(a.asked, fmt.Sprint("load ", r.SessionID))
	if r.SessionID == "lost" {
		return nil, acp.Errorf(acp.CodeInternal, "it is lost")
	}
	return a.fakeAgent.LoadSession(ctx, r)
}

func (a *shelf) CloseSession(_ context.Context, r *acp.CloseSessionRequest) (*acp.CloseSessionResponse, error) {
	a.asked = append(a.asked, fmt.Sprint("close ", r.SessionID))
	return &acp.CloseSessionResponse{}, nil
}

func (a *shelf) SetSessionMode(_ context.Context, r *acp.SetSessionModeRequest) (*acp.SetSessionModeResponse, error) {
	a.asked = append(a.asked, fmt.Sprint("mode ", r.ModeID))
	return &acp.SetSessionModeResponse{}, nil
}

func (a *shelf) SetSessionConfigOption(
	_ context.Context, r *acp.SetSessionConfigOptionRequest,
) (*acp.SetSessionConfigOptionResponse, error) {
	a.asked = append(a.asked, fmt.Sprint(r.ConfigID, " ", r.Boolean.Value))
	return nil, acp.Errorf(acp.CodeInternal, "it is stuck")
}

func (a *shelf) Prompt(ctx context.Context, r *acp.PromptRequest) (*acp.PromptResponse, error) {
	a.asked = append(a.asked, fmt.Sprint("prompt ", r.SessionID))
	return a.fakeAgent.Prompt(ctx, r)
}

func (a *shelf) took() (asked []string) {
	synctest.Wait()
	asked, a.asked = a.asked, nil
	return asked
}

// Sessions take each other's place on a screen, and the one before is closed. One that cannot be
// opened changes nothing.
func TestSessionsTakeEachOthersPlaceOnAScreen(t *testing.T) {
	var a *shelf
	watches(t, func(p *person) {
		p.talksTo(func(c *acp.AgentConn) acp.Agent { a = &shelf{fakeAgent: fakeAgent{client: c}}; return a })
	}, func(t *testing.T, p *person, w *watched, wait func() int) {
		require.Equal(t, []string{"new s1"}, a.took())
		enters := func(line string) string {
			w.types("\x15"+line, "\r")
			asked := a.took()
			time.Sleep(6 * time.Second) // remarks go
			return strings.Join(asked, ", ")
		}
		require.Empty(t, enters("/sessions"))
		require.Equal(t, "load lost", enters("/sessions 2"))
		require.Contains(t, w.now(), "! session/load: it is lost (-32603)\n")
		require.Contains(t, w.now(), "an old⟨U+202E⟩ one")
		require.Equal(t, "prompt s1", enters("say one"), "the session is as it was")
		require.Contains(t, w.now(), "[one]")
		require.Equal(t, "load old, close s1", enters("/sessions 1"))
		require.Contains(t, "\n"+w.now(), "\n\nwhat was said\n\n\n")
		require.NotContains(t, w.now(), "[one]")
		require.NotContains(t, w.now(), "A new conversation.")
		require.Equal(t, "prompt old", enters("say two"))
		require.Equal(t, "new s2, close old", enters("/new"))
		require.Contains(t, w.now(), "\nA new conversation.\n")
		require.NotContains(t, w.now(), "[two]")
		require.Equal(t, "prompt s2", enters("say three; hang"))
		require.Contains(t, w.now(), "[three]", "while the turn runs")
		w.types("\x03")
		synctest.Wait()
		require.Contains(t, w.now(), "! Cancelled.")
		w.drew()
		late := &acp.SessionNotification{SessionID: "s1", Update: acp.TextChunk("too late")}
		_ = a.client.SessionUpdate(t.Context(), late)
		require.Empty(t, w.drew(), "the one before is not followed")
		a.empty = true
		require.Empty(t, enters("/sessions"))
		require.Contains(t, w.now(), "! session/list: the shelf is empty (-32603)\n")
		w.types("\x04")
		require.Equal(t, chat.ExitOK, wait())
	})
}

// Modes and switches of the session are set as they were typed, and what fails is told.
func TestSettingsOnAScreen(t *testing.T) {
	var a *shelf
	watches(t, func(p *person) {
		p.talksTo(func(c *acp.AgentConn) acp.Agent {
			a = &shelf{fakeAgent: fakeAgent{client: c}, nameless: true}
			return a
		})
	}, func(t *testing.T, p *person, w *watched, wait func() int) {
		require.Contains(t, w.now(), "Talking to agent. Enter sends")
		require.Equal(t, []string{"new s1"}, a.took())
		said := ""
		for _, c := range []struct{ line, asked, told string }{
			{"/set mode slow", "mode slow", "mode: slow"},
			{"/set mode   fast ", "mode fast", "mode: fast"},
			{"/set mode  slow", "mode slow", "mode: slow"},
			{"/set mode odd", "", `! the agent does not offer the mode "odd" (it has fast, slow)`},
			{"/set loud true", "loud true", "! session/set_config_option: it is stuck (-32603)"},
			{"/set odd x", "", `! the agent does not offer the option "odd"`},
		} {
			w.types("\x15"+c.line, "\r")
			require.Equal(t, c.asked, strings.Join(a.took(), ", "), c.line)
			said += c.told + "\n"
			require.Contains(t, w.now(), "Ctrl-D leaves.\n"+said+"\n")
		}
		time.Sleep(time.Second)
		require.Regexp(t, `agent in 001 +slow\n`, w.now())
		w.types("\x04")
		require.Equal(t, chat.ExitOK, wait())
	})
}

// Without a screen, too, a session that cannot be opened changes nothing.
func TestSessionsTakeEachOthersPlaceInPlainLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson(t)
		var a *shelf
		p.talksTo(func(c *acp.AgentConn) acp.Agent {
			a = &shelf{fakeAgent: fakeAgent{client: c}, nameless: true}
			return a
		})
		wait := p.start(t)
		synctest.Wait()
		require.Equal(t, "  the agent in "+p.Dir+". Ctrl-C cancels a turn, Ctrl-D ends.\n\n› ", p.out.String())
		var asked []string
		for _, line := range []string{"say one", "/sessions", "/sessions 2", "say two", "/sessions 1", "say three", "/new", "say four"} {
			p.enter(t, line)
			asked = append(asked, a.took()...)
		}
		require.Equal(t, []string{
			"new s1", "prompt s1", "load lost", "prompt s1", "load old", "close s1", "prompt old", "new s2", "close old", "prompt s2",
		}, asked)
		a.empty = true
		mark := len(p.out.String())
		p.enter(t, "/sessions")
		synctest.Wait()
		require.Equal(t, "error: session/list: the shelf is empty (-32603)\n\n› ", p.out.String()[mark:])
		require.Equal(t, 1, strings.Count(p.out.String(), "error: session/load: it is lost (-32603)\n"))
		require.NoError(t, p.types.Close())
		require.Equal(t, chat.ExitOK, wait())
	})
}
