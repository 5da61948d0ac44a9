// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/acpview"
	"github.com/ponte-go/ponte/toolset/workspace"
)

func TestAgentThatNeverAnswersInitialize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := connect(t, acpclient.Config{}, func(a *raw) { a.wait() })
		require.ErrorIs(t, err, acpclient.ErrNoAnswer)
		require.EqualError(t, err, "acpclient: initialize: the agent broke the protocol: the agent has not answered initialize in 30s; is it an ACP agent?")
	})
}

func TestAgentThatNeverAnswersNewSession(t *testing.T) {
	c, err := connect(t, acpclient.Config{}, func(a *raw) { a.hello(`{}`); a.wait() })
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no more patience"))
	_, err = c.NewSession(ctx, acpclient.SessionConfig{Cwd: "/repo"})
	require.EqualError(t, err, "acpclient: session/new: no more patience")
}

func TestAgentThatNeverAnswersAPrompt(t *testing.T) {
	cancelled := make(chan struct{})
	s := begin(t, acpclient.Config{}, func(a *raw) {
		a.open()
		a.await("session/prompt")
		a.say("so far")
		a.await("session/cancel")
		close(cancelled)
		a.wait()
	})
	ctx, cancel := context.WithCancel(t.Context())
	sub := s.Cursor(nil)
	go func() {
		for u, err := range sub.All(t.Context()) {
			if e := u.Snapshot.Last(view.Message); err == nil && e != nil && e.Text() == "so far" {
				cancel()
				return
			}
		}
	}()
	_, err := s.Say(ctx, "hello")
	require.ErrorIs(t, err, context.Canceled)
	<-cancelled
}

func TestAgentThatIgnoresCancelLeavesTheSessionBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, acpclient.Config{}, func(a *raw) { a.open(); a.wait() })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := s.Say(ctx, "hello")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = s.Say(t.Context(), "again")
		require.ErrorIs(t, err, acpclient.ErrBusy)
		require.ErrorContains(t, err, "the agent has not ended the turn that was cancelled")
	})
}

func TestAgentThatDoesNotReadIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		s := begin(t, acpclient.Config{}, func(a *raw) { a.open(); <-stop })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := s.Say(ctx, strings.Repeat("x", 4<<20))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		go s.Client().Close()
		synctest.Wait()
		close(stop)
	})
}

func TestAgentThatAnswersWithAWrongID(t *testing.T) {
	s := begin(t, acpclient.Config{}, func(a *raw) {
		a.open()
		a.await("session/prompt")
		a.write(`{"jsonrpc":"2.0","id":4711,"result":%s}`, endTurn)
		a.wait()
	})
	_, err := s.Say(t.Context(), "hello")
	var broken *acpclient.ProtocolError
	require.ErrorAs(t, err, &broken)
	require.EqualError(t, err, "acpclient: session/prompt: the agent broke the protocol: the peer sent a malformed answer: it does not say which call it answers (no request had the id 4711)")
	requireProblem(t, s.Client(), "no call waits for this answer")
}

func TestAgentThatAnswersTwice(t *testing.T) {
	s := begin(t, acpclient.Config{}, func(a *raw) {
		a.open()
		for range 2 {
			p := a.await("session/prompt")
			a.answer(p, endTurn)
			a.answer(p, `{"stopReason":"refusal"}`)
		}
		a.wait()
	})
	for range 2 {
		turn, err := s.Say(t.Context(), "hello")
		require.NoError(t, err)
		require.Equal(t, acp.StopReasonEndTurn, turn.StopReason)
	}
	requireProblem(t, s.Client(), "no call waits for this answer")
}

func TestAgentWithAnswersThatAreNone(t *testing.T) {
	for answer, want := range map[string]string{
		`{"jsonrpc":"2.0","id":%s}`:                                      "malformed answer",
		`{"jsonrpc":"2.0","id":%s,"result":{},"error":{}}`:               "required, but missing",
		`{"jsonrpc":"2.0","id":%s,"result":null}`:                        "session/prompt: the agent broke the protocol",
		`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":7}}`:            "session/prompt: the agent broke the protocol",
		`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"`:     "not valid JSON",
		`[{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}]`: "batches",
		`{"jsonrpc":"2.0","id":%s,"error":"broken"}`:                     "is a string, want an object",
	} {
		s := begin(t, acpclient.Config{}, func(a *raw) {
			a.open()
			a.write(answer, a.await("session/prompt").ID)
			a.turn(func() {})
			a.wait()
		})
		_, err := s.Say(t.Context(), "hello")
		var broken *acpclient.ProtocolError
		require.ErrorAs(t, err, &broken, answer)
		require.ErrorContains(t, err, want, answer)
		_, err = s.Say(t.Context(), "again")
		require.NoError(t, err, "the connection goes on")
	}
}

func TestAgentOfAnotherVersion(t *testing.T) {
	_, err := connect(t, acpclient.Config{}, func(a *raw) {
		a.answer(a.await("initialize"), `{"protocolVersion":2,"agentCapabilities":{},"authMethods":[]}`)
		a.wait()
	})
	require.ErrorContains(t, err, "it speaks version 2 of the protocol, and this client version 1")
}

func TestAgentThatHangsUp(t *testing.T) {
	s := begin(t, acpclient.Config{}, func(a *raw) { a.open(); a.await("session/prompt") })
	_, err := s.Say(t.Context(), "hello")
	require.EqualError(t, err, "acpclient: session/prompt: the agent broke the protocol: the connection has ended")
	<-s.Client().Done()
	_, err = s.Cursor(s.Snapshot()).Update(t.Context())
	require.ErrorIs(t, err, io.EOF)
	_, err = s.Say(t.Context(), "again")
	require.Error(t, err)
}

// A call that is slow to wait finds the end of the connection and that of the client's ctx at once.
func TestAgentThatHangsUpBeforeTheCallWaits(t *testing.T) {
	for range 20 {
		var c atomic.Pointer[acpclient.Client]
		config := acpclient.Config{Conn: acp.ConnOptions{Trace: func(e acp.Event) {
			if e.Direction == acp.Sent && e.Kind == acp.KindRequest && e.Method == acp.MethodPrompt {
				<-c.Load().Done()
			}
		}}}
		s := begin(t, config, func(a *raw) { a.open(); a.await("session/prompt") })
		c.Store(s.Client())
		_, err := s.Say(t.Context(), "hello")
		require.EqualError(t, err, "acpclient: session/prompt: the agent broke the protocol: the connection has ended")
	}
}

func TestGarbageBetweenMessagesIsOverlooked(t *testing.T) {
	s := begin(t, acpclient.Config{}, func(a *raw) {
		a.write("npm WARN deprecated something@1.0.0")
		a.open()
		a.turn(func() {
			a.write("debug: thinking")
			a.say("hello")
			a.write("")
			a.write("\xff\xfe")
		})
		a.wait()
	})
	turn, err := s.Say(t.Context(), "hello")
	require.NoError(t, err)
	require.Equal(t, "hello", turn.Text())
	requireProblem(t, s.Client(), "parse error: the line is not valid JSON")
}

func TestUnknownUpdatesAndContentAreOverlooked(t *testing.T) {
	s := begin(t, acpclient.Config{}, func(a *raw) {
		a.open()
		a.turn(func() {
			a.update(`{"sessionUpdate":"telepathy","content":7}`)
			a.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"hologram","data":"x"}}`)
			a.update(`{"sessionUpdate":"tool_call","toolCallId":"c","title":"Beam","kind":"beam","status":"glowing","content":[{"type":"aura"}]}`)
			a.update(`{"sessionUpdate":"agent_message_chunk"}`)
			a.say("hello")
		})
		p := a.await("session/prompt")
		a.answer(p, `{"stopReason":"tea_time"}`)
		a.wait()
	})
	turn, err := s.Say(t.Context(), "hello")
	require.NoError(t, err)
	require.Equal(t, "hello", turn.Text()[len(turn.Text())-5:])
	call := turn.Snapshot.Get(acpview.CallID("c"))
	require.Equal(t, "beam", call.Class)
	require.Equal(t, view.Status("glowing"), call.Status)
	require.Equal(t, view.Other, call.Content[0].Kind)
	require.JSONEq(t, `{"type":"aura"}`, string(call.Content[0].Raw))
	requireProblem(t, s.Client(), "an update of an unknown kind")
	turn, err = s.Say(t.Context(), "again")
	require.NoError(t, err)
	require.Equal(t, acp.StopReason("tea_time"), turn.StopReason)
}

func TestLateUpdatesAreReported(t *testing.T) {
	s := begin(t, acpclient.Config{}, func(a *raw) {
		a.hello(`{"sessionCapabilities":{"list":{}}}`)
		a.answer(a.await("session/new"), `{"sessionId":"s"}`)
		a.turn(func() { a.say("in time") })
		m := a.await("session/list") // so the client has seen the end of the turn
		a.say("too late")
		a.answer(m, `{"sessions":[]}`)
		a.turn(func() { a.say("next") })
		a.wait()
	})
	turn, err := s.Say(t.Context(), "hello")
	require.NoError(t, err)
	require.Equal(t, "in time", turn.Text())
	for _, err := range s.Client().Sessions(t.Context(), "") {
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { return s.Snapshot().Last(view.Message).Text() == "too late" }, time.Minute, time.Millisecond)
	next, err := s.Say(t.Context(), "hello")
	require.NoError(t, err)
	require.Equal(t, "next", next.Text())
	requireProblem(t, s.Client(), "an update of a turn after its end")
	var said []string
	for e := range next.Snapshot.Of(view.Message) {
		said = append(said, string(e.Role)+" "+e.Text())
	}
	require.Equal(t, []string{"user hello", "assistant in time", "assistant too late", "user hello", "assistant next"}, said)
}

func TestUpdatesOfUnknownSessionsAreReported(t *testing.T) {
	s := begin(t, acpclient.Config{}, func(a *raw) {
		a.open()
		a.turn(func() {
			a.write(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"other","update":{"sessionUpdate":"plan","entries":[]}}}`)
			m := a.call("fs/read_text_file", `{"sessionId":"other","path":"/x"}`)
			a.say(m.Error.Message)
		})
		a.wait()
	})
	turn, err := s.Say(t.Context(), "hello")
	require.NoError(t, err)
	require.Equal(t, `there is no session "other"`, turn.Text())
	require.Nil(t, turn.Snapshot.Get(acpclient.PlanID))
	requireProblem(t, s.Client(), "unknown session")
}

func TestUpdatesBeforeTheSessionIsKnownAreKept(t *testing.T) {
	for range 20 {
		s := begin(t, acpclient.Config{}, func(a *raw) {
			a.hello(`{}`)
			m := a.await("session/new")
			a.update(`{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"early","description":"x"}]}`)
			a.answer(m, `{"sessionId":"s"}`)
			a.update(`{"sessionUpdate":"current_mode_update","currentModeId":"plan"}`)
			a.turn(func() {})
			a.wait()
		})
		turn, err := s.Say(t.Context(), "hello")
		require.NoError(t, err)
		require.Equal(t, "early", turn.Snapshot.Get(acpclient.CommandsID).Slash[0].Name)
		require.Equal(t, "plan", turn.Snapshot.Get(acpclient.OptionsID).Settings[0].Value)
		require.Empty(t, problems(s.Client()))
	}
}

func TestAgentThatFloods(t *testing.T) {
	const n = 20_000
	s := begin(t, acpclient.Config{}, func(a *raw) {
		a.open()
		a.turn(func() {
			for range n {
				a.say("x")
			}
		})
		a.wait()
	})
	sub := s.Cursor(nil) // nobody reads it
	turn, err := s.Say(t.Context(), "hello")
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("x", n), turn.Text())
	u, err := sub.Update(t.Context())
	require.NoError(t, err)
	require.Len(t, u.Changes, 2)
	require.Equal(t, turn.Text(), u.Changes[1].Entity.Text())
}

func TestAgentThatFloodsBeyondTheLimit(t *testing.T) {
	s := begin(t, acpclient.Config{MaxState: 1 << 20}, func(a *raw) {
		a.open()
		a.turn(func() {
			for range 2000 {
				a.say(strings.Repeat("x", 1000))
			}
			a.await("session/cancel")
		})
		a.wait()
	})
	_, err := s.Say(t.Context(), "hello")
	require.ErrorIs(t, err, acpclient.ErrLimit)
	require.EqualError(t, err, "acpclient: the session is too large: more than 1048576 bytes")
	require.Less(t, len(s.Snapshot().Last(view.Message).Text()), 1<<20+2000)
	_, err = s.Say(t.Context(), "again")
	require.ErrorIs(t, err, acpclient.ErrLimit)
}

func TestAgentWithALineThatIsTooLong(t *testing.T) {
	long := strings.Repeat("x", 64<<20)
	s := begin(t, acpclient.Config{}, func(a *raw) {
		a.open()
		a.write(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn","x":"%s"}}`, a.await("session/prompt").ID, long)
		a.turn(func() {
			a.write(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"x":"%s"}}}`, long)
			a.say("short")
		})
		a.wait()
	})
	_, err := s.Say(t.Context(), "hello")
	require.ErrorContains(t, err, "session/prompt: the agent broke the protocol: the answer is longer than the limit of 67108864 bytes")
	turn, err := s.Say(t.Context(), "again")
	require.NoError(t, err)
	require.Equal(t, "short", turn.Text())
	requireProblem(t, s.Client(), "longer than")
}

func TestAgentThatCallsWhatIsNotOffered(t *testing.T) {
	s := begin(t, acpclient.Config{}, func(a *raw) {
		a.open()
		a.turn(func() {
			for method, params := range map[string]string{
				"fs/read_text_file":  `{"sessionId":"s","path":"/repo/x"}`,
				"fs/write_text_file": `{"sessionId":"s","path":"/repo/x","content":"x"}`,
				"terminal/create":    `{"sessionId":"s","command":"ls"}`,
				"terminal/output":    `{"sessionId":"s","terminalId":"t"}`,
				"_vendor/secret":     `{}`,
			} {
				if m := a.call(method, params); m.Error == nil || m.Error.Code != acp.CodeMethodNotFound {
					a.say("wrong answer to " + method)
				}
			}
		})
		a.wait()
	})
	turn, err := s.Say(t.Context(), "hello")
	require.NoError(t, err)
	require.Empty(t, turn.Text())
}

func TestAgentThatAsksForFilesOutside(t *testing.T) {
	ws := newWorkspace(t, nil)
	asked := 0
	s := begin(t, acpclient.Config{Workspace: ws, Permission: func(ctx context.Context, r *acpclient.PermissionRequest) (acp.PermissionOptionID, error) {
		asked++
		return acpclient.AllowAll(ctx, r)
	}}, func(a *raw) {
		a.open()
		a.turn(func() {
			for _, path := range []string{"/etc/passwd", "/repo/../etc/passwd", "/repo2/x", "file:///etc/passwd", "../x", "~/x\\u0000"} {
				m := a.call("fs/read_text_file", `{"sessionId":"s","path":"`+path+`"}`)
				a.say(m.Error.Message + "\n")
				if m := a.call("fs/write_text_file", `{"sessionId":"s","path":"`+path+`","content":"x"}`); m.Error == nil {
					a.say("written")
				}
				if m := a.call("terminal/create", `{"sessionId":"s","command":"ls","cwd":"`+path+`"}`); m.Error == nil {
					a.say("ran")
				}
			}
		})
		a.wait()
	})
	turn, err := s.Say(t.Context(), "hello")
	require.NoError(t, err)
	require.Equal(t, 5, strings.Count(turn.Text(), "the path lies outside of the session's directories"), turn.Text())
	require.NotContains(t, turn.Text(), "written")
	require.NotContains(t, turn.Text(), "ran")
	require.Zero(t, asked)
}

func TestAgentThatNeverReleasesTerminals(t *testing.T) {
	ws := newWorkspace(t, func(ctx context.Context, _ *workspace.MemoryShell) int {
		<-ctx.Done()
		return 1
	})
	s := begin(t, acpclient.Config{Workspace: ws, Permission: acpclient.AllowAll}, func(a *raw) {
		a.open()
		a.turn(func() {
			for range 70 {
				if m := a.call("terminal/create", `{"sessionId":"s","command":"serve"}`); m.Error != nil {
					a.say(m.Error.Message + "\n")
				}
			}
		})
		a.wait()
	})
	turn, err := s.Say(t.Context(), "hello")
	require.NoError(t, err)
	require.Equal(t, 6, strings.Count(turn.Text(), "there are 64 terminals already; release some"))
	require.NoError(t, s.Close(t.Context()))
	n := 0
	for e := range s.Snapshot().Of(view.Command) {
		require.True(t, e.Status.Ended())
		n++
	}
	require.Equal(t, 64, n)
}

// What commands write is content of the session: an agent that starts one after another, and says nothing, reaches the limit.
func TestOutputOfCommandsCountsAtTheLimit(t *testing.T) {
	ws := newWorkspace(t, func(_ context.Context, sh *workspace.MemoryShell) int {
		_, _ = io.WriteString(sh, strings.Repeat("x", 1000))
		return 0
	})
	started := 0
	s := begin(t, acpclient.Config{MaxState: 20_000, Workspace: ws, Permission: acpclient.AllowAll}, func(a *raw) {
		a.open()
		p := a.await("session/prompt")
		for range 100 {
			m := a.call("terminal/create", `{"sessionId":"s","command":"serve"}`)
			if m.Error != nil {
				break
			}
			var created struct{ TerminalID string }
			_ = json.Unmarshal(m.Result, &created)
			a.call("terminal/wait_for_exit", `{"sessionId":"s","terminalId":"`+created.TerminalID+`"}`)
			if m := a.call("terminal/release", `{"sessionId":"s","terminalId":"`+created.TerminalID+`"}`); m.Error != nil {
				break
			}
			started++
		}
		a.answer(p, `{"stopReason":"cancelled"}`)
		a.wait()
	})
	_, err := s.Say(t.Context(), "hello")
	require.ErrorIs(t, err, acpclient.ErrLimit)
	require.Less(t, started, 30)
}

func TestSessionsWithoutIDsAndWithTheSameID(t *testing.T) {
	c, err := connect(t, acpclient.Config{}, func(a *raw) {
		a.hello(`{}`)
		for _, id := range []string{"", "s", "s"} {
			a.answer(a.await("session/new"), `{"sessionId":"`+id+`"}`)
		}
		a.wait()
	})
	require.NoError(t, err)
	open := func() error { _, err := c.NewSession(t.Context(), acpclient.SessionConfig{Cwd: "/repo"}); return err }
	require.ErrorContains(t, open(), "the session has no id")
	require.NoError(t, open())
	require.ErrorContains(t, open(), "there is an open session with this id")
}

func TestSessionListThatNeverEnds(t *testing.T) {
	c, err := connect(t, acpclient.Config{}, func(a *raw) {
		a.hello(`{"sessionCapabilities":{"list":{}}}`)
		for range 2 {
			a.answer(a.await("session/list"), `{"sessions":[{"sessionId":"a","cwd":"/repo"}],"nextCursor":"again"}`)
		}
		a.wait()
	})
	require.NoError(t, err)
	n := 0
	for _, err = range c.Sessions(t.Context(), "") {
		n++
	}
	require.ErrorContains(t, err, "the same cursor came twice")
	require.Equal(t, 3, n)
}

func TestErrorsKeepTheirDetails(t *testing.T) {
	s := begin(t, acpclient.Config{}, func(a *raw) {
		a.open()
		for _, failure := range []string{
			`{"code":-32603,"message":"Internal error","data":{"details":"overloaded: try later"}}`,
			`{"code":-32603,"message":"Internal error","data":"as a string"}`,
			`{"code":-32603,"message":"Internal\nerror","data":{"error":{"type":"x"}}}`,
			`{"code":-32000,"message":"Authentication required"}`,
			`{"code":-32603,"message":"plain"}`,
		} {
			a.fail(a.await("session/prompt"), failure)
		}
		a.wait()
	})
	for _, want := range []string{
		"acpclient: session/prompt: Internal error: overloaded: try later (-32603)",
		"acpclient: session/prompt: Internal error: as a string (-32603)",
		`acpclient: session/prompt: Internal error: {"type":"x"} (-32603)`,
		"acpclient: session/prompt: Authentication required (-32000); authenticate with one of: key",
		"acpclient: session/prompt: plain (-32603)",
	} {
		_, err := s.Say(t.Context(), "hello")
		require.EqualError(t, err, want)
		var failed *acpclient.AgentError
		require.ErrorAs(t, err, &failed)
		require.Equal(t, failed.Code == acp.CodeAuthRequired, errors.Is(err, acp.ErrAuthRequired))
	}
}
