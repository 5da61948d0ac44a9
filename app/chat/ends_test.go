// SPDX-License-Identifier: Apache-2.0

package chat_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/app/chat"
	"github.com/ponte-go/ponte/app/internal/term/tty"
)

// asker is an agent that asks two questions at once.
type asker struct {
	fakeAgent
	answers [2]string
}

func (a *asker) Prompt(ctx context.Context, r *acp.PromptRequest) (*acp.PromptResponse, error) {
	acp.Async(ctx)
	var all sync.WaitGroup
	for i := range a.answers {
		time.Sleep(time.Millisecond) // in this order
		all.Go(func() {
			title := fmt.Sprint("Question ", i+1)
			got, err := a.client.RequestPermission(ctx, &acp.RequestPermissionRequest{
				SessionID: r.SessionID, ToolCall: acp.ToolCallUpdate{ToolCallID: acp.ToolCallID(title), Title: &title},
				Options: []acp.PermissionOption{
					{OptionID: "yes", Name: "Allow", Kind: acp.PermissionOptionKindAllowOnce},
					{OptionID: "no", Name: "Reject", Kind: acp.PermissionOptionKindRejectOnce},
				}})
			if err == nil && got.Outcome.Selected != nil {
				a.answers[i] = string(got.Outcome.Selected.OptionID)
			}
		})
	}
	all.Wait()
	return &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
}

// Each of two questions gets its own answer.
func TestTwoQuestionsAtOnceOnAScreen(t *testing.T) {
	var a *asker
	watches(t, func(p *person) {
		p.Prompt = "x"
		p.talksTo(func(c *acp.AgentConn) acp.Agent { a = &asker{fakeAgent: fakeAgent{client: c}}; return a })
	}, func(t *testing.T, p *person, w *watched, wait func() int) {
		for i, key := range []string{"n", "y"} {
			time.Sleep(time.Second)
			synctest.Wait()
			require.Contains(t, w.now(), fmt.Sprint("Question ", i+1))
			w.types(key)
		}
		require.Equal(t, chat.ExitRefused, wait(), "the first was not allowed")
		require.Equal(t, [2]string{"no", "yes"}, a.answers)
	})
}

// While an agent starts, that is shown, and not afterwards.
func TestWhatIsShownWhileAnAgentIsConnectedTo(t *testing.T) {
	watches(t, func(p *person) {
		connect := p.Connect
		p.Connect = func(ctx context.Context, c acpclient.Config) (*acpclient.Client, error) {
			time.Sleep(450 * time.Millisecond)
			return connect(ctx, c)
		}
		p.Agent = acpclient.Command{Path: "slow\nagent"}
	}, func(t *testing.T, p *person, w *watched, wait func() int) {
		time.Sleep(time.Minute)
		synctest.Wait()
		out := p.out.String()
		require.Equal(t, 2, strings.Count(out, " 0s Starting 'slow agent'\x1b[?7h"), out)
		require.True(t, strings.HasSuffix(out, "\r\x1b[K"), out)
		w.types("\x04")
		require.Equal(t, chat.ExitOK, wait())
	})
}

// A program that is told to end does so at once, with a turn and without one.
func TestTheEndOfTheProgram(t *testing.T) {
	for _, prompt := range []string{"", "hang"} {
		for _, onScreen := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				p := newPerson(t)
				p.talksTo(func(c *acp.AgentConn) acp.Agent { return &fakeAgent{client: c} })
				p.Prompt = prompt
				if onScreen {
					p.sitDown()
				}
				ctx, cancel := context.WithCancel(t.Context())
				code := make(chan int, 1)
				go func() { code <- chat.Run(ctx, p.Config) }()
				time.Sleep(time.Second)
				synctest.Wait()
				require.Empty(t, code)
				begin := time.Now()
				cancel()
				require.Equal(t, chat.ExitInterrupted, <-code)
				require.Zero(t, time.Since(begin))
				require.Empty(t, p.errors.String())
			})
		}
	}
}

// stubborn is an agent that goes on when it is told to stop.
type stubborn struct {
	fakeAgent
	cancelled int
}

func (a *stubborn) Cancel(context.Context, *acp.CancelNotification) error { a.cancelled++; return nil }

func (a *stubborn) Prompt(ctx context.Context, _ *acp.PromptRequest) (*acp.PromptResponse, error) {
	acp.Async(ctx)
	time.Sleep(time.Hour)
	return &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
}

// The first Ctrl-C asks the agent to stop, the second one waits for nothing.
func TestTheSecondInterruptWaitsForNothing(t *testing.T) {
	for _, onScreen := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			p := newPerson(t)
			var a *stubborn
			p.talksTo(func(c *acp.AgentConn) acp.Agent { a = &stubborn{fakeAgent: fakeAgent{client: c}}; return a })
			p.Prompt = "x"
			var screen *teletype
			if onScreen {
				screen = p.sitDown()
			}
			wait := p.start(t)
			time.Sleep(time.Second)
			p.interrupt <- struct{}{}
			time.Sleep(time.Second)
			synctest.Wait()
			require.Equal(t, 1, a.cancelled)
			begin := time.Now()
			p.interrupt <- struct{}{}
			if onScreen { // there it asks first
				synctest.Wait()
				require.Contains(t, screen.now(), "Press Ctrl-C again to leave")
				p.interrupt <- struct{}{}
			}
			require.Equal(t, chat.ExitInterrupted, wait())
			require.Zero(t, time.Since(begin))
			require.Equal(t, 1, a.cancelled)
			time.Sleep(time.Hour) // the agent ends
		})
	}
}

// What is copied is the agent's last answer as it is, or the last block of code in it.
func TestWhatIsCopied(t *testing.T) {
	watches(t, nil, func(t *testing.T, p *person, w *watched, wait func() int) {
		copies := func(line string) string {
			mark := w.mark()
			w.types(line, "\r")
			synctest.Wait()
			_, copied, _ := strings.Cut(w.String()[mark:], "\x1b]52;c;")
			copied, _, _ = strings.Cut(copied, "\a")
			data, err := base64.StdEncoding.DecodeString(copied)
			require.NoError(t, err)
			return string(data)
		}
		require.Empty(t, copies("/copy"))
		copies("say one")
		require.Equal(t, "[one]\n", copies("/copy"))
		require.Contains(t, w.now(), "\nThe last answer is copied, if the terminal allows it.\n")
		require.Empty(t, copies("/copy code"))
		require.Empty(t, copies("\x1b[200~say \n```\na\n```\n\n```\nb\n```\n.\x1b[201~"))
		require.Equal(t, "b", copies("/copy code"))
		require.Contains(t, w.now(), "\nThe last block of code is copied, if the terminal allows it.\n")
		w.types("\x04")
		require.Equal(t, chat.ExitOK, wait())
	})
}

// A question, and a field of a form, that went with its turn is said to be withdrawn.
func TestQuestionsThatGoWithTheirTurnInPlainLines(t *testing.T) {
	for _, prompt := range []string{"permission a.txt", "form"} {
		synctest.Test(t, func(t *testing.T) {
			p := newPerson(t)
			p.talksTo(func(c *acp.AgentConn) acp.Agent { return &fakeAgent{client: c} })
			wait := p.start(t)
			p.enter(t, prompt)
			synctest.Wait()
			if prompt == "form" {
				p.enter(t, "1 "+p.code(t))
				synctest.Wait()
			}
			p.out.take()
			p.interrupt <- struct{}{}
			said := p.out.take() // the end of the turn may be shown in between
			require.Contains(t, said, "  Cancelling. Ctrl-C again quits.\n")
			require.Contains(t, said, "  The question was withdrawn.\n")
			p.enter(t, "say on")
			require.Contains(t, p.out.take(), "[on]")
			require.NoError(t, p.types.Close())
			require.Equal(t, chat.ExitOK, wait())
		})
	}
}

// fragile is a terminal that breaks the program.
type fragile struct{ *teletype }

func (f *fragile) Resized() <-chan struct{} { panic("on fire") }

// A terminal is switched back also when the program breaks, and nothing of it goes on.
func TestTheTerminalOfAProgramThatBreaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson(t)
		p.talksTo(func(c *acp.AgentConn) acp.Agent { return &fakeAgent{client: c} })
		f := &fragile{newTeletype()}
		p.Terminal = func() (tty.Terminal, error) { return f, nil }
		require.PanicsWithValue(t, "on fire", func() { chat.Run(t.Context(), p.Config) })
		require.True(t, strings.HasSuffix(f.String(), tty.End))
	})
}

// An agent that is gone while nothing is asked of it ends the conversation, which is an error.
func TestAnAgentThatIsGoneBetweenTurns(t *testing.T) {
	for _, onScreen := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := newPerson(t)
			var hangUp func() error
			p.Connect = func(ctx context.Context, c acpclient.Config) (*acpclient.Client, error) {
				agentIn, clientOut := acp.Pipe()
				clientIn, agentOut := acp.Pipe()
				made := func(c *acp.AgentConn) acp.Agent { return &fakeAgent{client: c} }
				conn := acp.NewAgentConn(agentIn, agentOut, made, nil)
				go func() { _ = conn.Serve(context.WithoutCancel(ctx)) }()
				hangUp = agentOut.Close
				return acpclient.Connect(ctx, clientIn, clientOut, c)
			}
			if onScreen {
				p.sitDown()
			}
			wait := p.start(t)
			synctest.Wait()
			begin := time.Now()
			require.NoError(t, hangUp())
			require.Equal(t, chat.ExitError, wait())
			require.Less(t, time.Since(begin), time.Minute)
			require.Regexp(t, `^chat: .+\n$`, p.errors.String())
		})
	}
}

// A change that was allowed, and that the agent does not show, stays in the transcript. One that
// was not allowed does not.
func TestChangesThatWereAllowedStayOnTheScreen(t *testing.T) {
	for key, stays := range map[string]bool{"y": true, "n": false} {
		watches(t, nil, func(t *testing.T, p *person, w *watched, wait func() int) {
			w.types("write new.txt", "\r")
			time.Sleep(time.Second)
			require.Contains(t, w.now(), "+written")
			w.types(key)
			time.Sleep(time.Second)
			w.types("\x04")
			require.Equal(t, chat.ExitOK, wait())
			require.Equal(t, stays, strings.Contains(p.out.String(), "+written"))
		})
	}
}
