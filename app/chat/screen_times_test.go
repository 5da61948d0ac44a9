// SPDX-License-Identifier: Apache-2.0

package chat_test

import (
	"context"
	"errors"
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

// talksTo has the person talk to an agent in this process.
func (p *person) talksTo(made func(*acp.AgentConn) acp.Agent) {
	p.Connect = func(ctx context.Context, c acpclient.Config) (*acpclient.Client, error) {
		agentIn, clientOut := acp.Pipe()
		clientIn, agentOut := acp.Pipe()
		conn := acp.NewAgentConn(agentIn, agentOut, made, nil)
		go func() { _ = conn.Serve(context.WithoutCancel(ctx)) }()
		return acpclient.Connect(ctx, clientIn, clientOut, c)
	}
}

// watched is a terminal that knows when each frame was drawn, since it was turned on.
type watched struct {
	*teletype
	stop error // of Suspend

	mu     sync.Mutex
	on     time.Time
	frames []time.Duration
}

func (w *watched) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "\x1b[?2026h") {
		w.mu.Lock()
		w.frames = append(w.frames, time.Since(w.on))
		w.mu.Unlock()
	}
	return w.teletype.Write(p)
}

func (w *watched) Suspend() error { return errors.Join(w.teletype.Suspend(), w.stop) }

// drew returns when frames were drawn after the last call, in milliseconds after it.
func (w *watched) drew() (at []int64) {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.frames {
		at = append(at, f.Milliseconds())
	}
	w.frames, w.on = nil, time.Now()
	return at
}

// watches has a person in front of a terminal in a bubble of time, with an agent that has answered.
func watches(
	t *testing.T, with func(p *person), then func(t *testing.T, p *person, w *watched, wait func() int),
) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := newPerson(t)
		p.talksTo(func(c *acp.AgentConn) acp.Agent { return &fakeAgent{client: c} })
		w := &watched{teletype: newTeletype(), on: time.Now()}
		p.Terminal = func() (tty.Terminal, error) { return w, nil }
		if with != nil {
			with(p)
		}
		wait := p.start(t)
		synctest.Wait()
		then(t, p, w, wait)
	})
}

// What a person does is seen in the same moment, each time with one frame. Nothing is drawn while
// nothing moves.
func TestWhatAPersonDoesIsSeenAtOnce(t *testing.T) {
	watches(t, nil, func(t *testing.T, p *person, w *watched, wait func() int) {
		require.Equal(t, []int64{0}, w.drew())
		time.Sleep(time.Minute)
		require.Empty(t, w.drew())
		for i, key := range []string{"h", "i", "\x7f"} {
			w.types(key)
			require.Equal(t, []int64{0}, w.drew())
			require.Contains(t, w.now(), []string{"› h\n", "› hi\n", "› h\n"}[i])
		}
		mark := w.mark()
		w.resized <- struct{}{}
		require.Equal(t, []int64{0}, w.drew())
		require.Contains(t, w.String()[mark:], "\x1b[2J", "all of it")
		mark = w.mark()
		w.types("\x1a")
		require.Equal(t, []int64{0}, w.drew())
		require.EqualValues(t, 1, w.suspended.Load())
		require.Contains(t, w.String()[mark:], "\x1b[2J", "all of it, as a shell has written there")
		require.Contains(t, w.now(), "Welcome back")
		w.types("\x15", "\x04")
		require.Equal(t, chat.ExitOK, wait())
	})
}

// A remark stays for five seconds, and while it is there the screen is drawn ten times in a second.
func TestRemarksGoAfterFiveSeconds(t *testing.T) {
	watches(t, nil, func(t *testing.T, p *person, w *watched, wait func() int) {
		w.drew()
		time.Sleep(50 * time.Millisecond)
		w.drew()
		p.interrupt <- struct{}{}
		require.Equal(t, []int64{0}, w.drew())
		require.Contains(t, w.now(), "Press Ctrl-C again to leave")
		time.Sleep(5 * time.Second)
		all := w.drew()
		require.Len(t, all, 50)
		require.Equal(t, []int64{50, 150, 250}, all[:3])
		require.Contains(t, w.now(), "Press Ctrl-C again to leave")
		time.Sleep(50 * time.Millisecond)
		require.Equal(t, []int64{50}, w.drew())
		require.NotContains(t, w.now(), "Press Ctrl-C again to leave")
		time.Sleep(time.Second)
		require.Empty(t, w.drew())
		w.types("\x04")
		require.Equal(t, chat.ExitOK, wait())
	})
}

// An Esc is a key of its own if nothing follows it for 40 ms.
func TestEscAloneIsAKeyAfterAMoment(t *testing.T) {
	watches(t, nil, func(t *testing.T, p *person, w *watched, wait func() int) {
		w.types("@x\x1b")
		w.drew()
		time.Sleep(39 * time.Millisecond)
		require.NotContains(t, w.now(), "That key does nothing here")
		w.drew()
		time.Sleep(time.Millisecond)
		require.Equal(t, []int64{1}, w.drew())
		require.Contains(t, w.now(), "That key does nothing here")
		time.Sleep(10 * time.Second)
		w.types("\x1b")
		synctest.Wait()
		time.Sleep(39 * time.Millisecond)
		w.types("[D", "y")
		synctest.Wait()
		require.Contains(t, w.now(), "› @yx\n", "it was an arrow key")
		time.Sleep(time.Second)
		synctest.Wait()
		require.NotContains(t, w.now(), "That key does nothing here")
		w.types("\x05\x15", "\x04")
		require.Equal(t, chat.ExitOK, wait())
	})
}

// paced is an agent that says a word after each step, so many of them, and then waits.
type paced struct {
	fakeAgent
	step, wait time.Duration
	words      int
}

func (a *paced) Prompt(ctx context.Context, r *acp.PromptRequest) (*acp.PromptResponse, error) {
	acp.Async(ctx)
	for range a.words {
		time.Sleep(a.step)
		chunk := acp.TextChunk("word ")
		_ = a.client.SessionUpdate(ctx, &acp.SessionNotification{SessionID: r.SessionID, Update: chunk})
	}
	time.Sleep(a.wait)
	return &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
}

// What the agent says is drawn at most every 33 ms, and what was held back with the next tenth of a
// second.
func TestFramesOfWhatTheAgentSays(t *testing.T) {
	watches(t, func(p *person) {
		p.talksTo(func(c *acp.AgentConn) acp.Agent {
			return &paced{fakeAgent{client: c}, 11 * time.Millisecond, 100 * time.Millisecond, 12}
		})
	}, func(t *testing.T, p *person, w *watched, wait func() int) {
		w.types("x", "\r")
		w.drew()
		time.Sleep(199 * time.Millisecond)
		require.Equal(t, []int64{33, 66, 99, 100}, w.drew())
		require.Equal(t, 9, strings.Count(w.now(), "word"))
		time.Sleep(31 * time.Millisecond)
		require.Equal(t, []int64{1}, w.drew())
		require.Equal(t, 12, strings.Count(w.now(), "word"))
		time.Sleep(50 * time.Millisecond)
		require.Equal(t, []int64{2}, w.drew(), "the end of the turn")
		time.Sleep(time.Minute)
		require.Empty(t, w.drew())
		w.types("\x04")
		require.Equal(t, chat.ExitOK, wait())
	})
}

// The bell rings, once, for a question and for the end of a turn of ten seconds or more.
func TestTheBellRings(t *testing.T) {
	for last, rings := range map[time.Duration]int{10*time.Second - 1: 0, 10 * time.Second: 1} {
		watches(t, func(p *person) {
			p.talksTo(func(c *acp.AgentConn) acp.Agent { return &paced{fakeAgent{client: c}, 0, last, 1} })
		}, func(t *testing.T, p *person, w *watched, wait func() int) {
			w.types("x", "\r")
			time.Sleep(last - 1)
			synctest.Wait()
			require.Zero(t, strings.Count(w.String(), "\a"))
			time.Sleep(time.Minute)
			require.Equal(t, rings, strings.Count(w.String(), "\a"), last)
			w.types("\x04")
			require.Equal(t, chat.ExitOK, wait())
		})
	}
	watches(t, nil, func(t *testing.T, p *person, w *watched, wait func() int) {
		w.types("permission a.txt", "\r")
		time.Sleep(time.Second)
		require.Contains(t, w.now(), "Allow once")
		w.types("\x03")
		time.Sleep(time.Minute)
		require.Equal(t, 1, strings.Count(w.String(), "\a"))
		require.NotContains(t, w.now(), "Allow once", "it went with its turn")
		w.types("\x04")
		require.Equal(t, chat.ExitOK, wait())
	})
}

// A terminal that cannot be left to the shell, or got back from it, is gone.
func TestATerminalThatIsGoneAfterTheShell(t *testing.T) {
	watches(t, nil, func(t *testing.T, p *person, w *watched, wait func() int) {
		w.stop = errors.New("no such device")
		w.types("\x1a")
		require.Equal(t, chat.ExitError, wait())
		require.Equal(t, "chat: the terminal is gone: no such device\n", p.errors.String())
	})
}

// Lines of the program, and what the agent writes to its standard error if it is wanted, are
// remarks: those from before the screen is there, and later ones. Afterwards they are nobody's.
func TestLinesForThePersonOnAScreen(t *testing.T) {
	for _, verbose := range []bool{false, true} {
		var say, stderr func(string)
		watches(t, func(p *person) {
			p.Verbose, p.Heed = verbose, func(line string) bool { return line == "heed this" }
			p.Said = func(show func(string)) { say = show }
			connect := p.Connect
			p.Connect = func(ctx context.Context, c acpclient.Config) (*acpclient.Client, error) {
				stderr = c.OnStderr
				say("early")
				stderr("heed this")
				return connect(ctx, c)
			}
		}, func(t *testing.T, p *person, w *watched, wait func() int) {
			require.Contains(t, w.now(), "early\nagent: heed this\n")
			w.drew()
			say("late")
			require.Equal(t, []int64{0}, w.drew())
			stderr("debug")
			synctest.Wait()
			require.Contains(t, w.now(), "late\n")
			require.Equal(t, verbose, strings.Contains(w.now(), "agent: debug\n"))
			w.types("\x04")
			require.Equal(t, chat.ExitOK, wait())
			for range 100 {
				say("too late") // it does not wait for anybody
			}
		})
	}
}
