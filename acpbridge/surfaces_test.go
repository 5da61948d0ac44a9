// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
)

// serveHost is serve for a host that a test shares.
func serveHost(t testing.TB, h *host.Host, o acpbridge.Options) *editor {
	t.Helper()
	in, w := acp.Pipe()
	r, out := acp.Pipe()
	o.In, o.Out = in, out
	ctx, cancel := context.WithCancel(context.Background())
	e := &editor{t: t, w: w, r: r, cancel: cancel, served: make(chan error, 1), answers: map[string]wireLine{}}
	e.more.L = &e.mu
	go func() { e.served <- acpbridge.ServeHost(ctx, h, o) }()
	go e.read()
	t.Cleanup(func() {
		e.stop()
		e.cancel()
		e.r.Close()
	})
	return e
}

// TestWhatHappenedElsewhereIsShownOnce has a session of an editor in which another surface runs turns, also one that was forgotten
// meanwhile. The editor is shown with its next prompt what it has not seen, and nothing twice. Each step is an actor and a prompt.
func TestWhatHappenedElsewhereIsShownOnce(t *testing.T) {
	for steps, want := range map[string]string{
		"new, editor a, other b, editor c":                            "(a) | user b; (b); (c)",
		"new, editor a, other b, other c, editor d":                   "(a) | user b; (b); user c; (c); (d)",
		"new, editor a, other b, idle, editor c":                      "(a) | user b; (b); (c)",
		"new, editor a, idle, other b, idle, editor c":                "(a) | user b; (b); (c)",
		"new, editor a, other b, idle, other c, editor d":             "(a) | user b; (b); user c; (c); (d)",
		"new, editor a, editor b, idle, editor c, idle, editor d":     "(a) | (b) | (c) | (d)",
		"new, editor a, other b, editor c, idle, other d, editor e":   "(a) | user b; (b); (c) | user d; (d); (e)",
		"new, other a, editor b":                                      "user a; (a); (b)",
		"new, other a, idle, editor b, other c, editor d":             "user a; (a); (b) | user c; (c); (d)",
		"old x, resume, editor a":                                     "(a)",
		"old x, resume, other b, editor c":                            "user b; (b); (c)",
		"old x, resume, idle, other b, idle, editor c":                "user b; (b); (c)",
		"old x, load, editor a, other b, editor c":                    "user x; (x) | (a) | user b; (b); (c)",
		"old x, load, idle, other b, idle, editor c, idle, editor d":  "user x; (x) | user b; (b); (c) | (d)",
		"old x, load, idle, editor a":                                 "user x; (x) | (a)",
		"old x, resume, other b, load, other c, editor d":             "user x; (x); user b; (b) | user c; (c); (d)",
		"new, editor a, other b, resume, editor c":                    "(a) | (c)",
		"new, editor a, resume, idle, other b, editor c":              "(a) | user b; (b); (c)",
		"new, editor /say hi, other b, editor c":                      "said hi | user b; (b); (c)",
		"new, editor a, editor /say hi, other b, idle, editor c":      "(a) | said hi | user b; (b); (c)",
		"new, editor a, other /say hi, idle, other c, editor d":       "(a) | user /say hi; said hi; user c; (c); (d)",
		"new, editor /say hi, idle, other b, idle, editor c, idle":    "said hi | user b; (b); (c)",
		"none, resume, other b, idle, editor c":                       "user b; (b); (c)",
		"none, resume, idle, other b, other c, idle, editor d":        "user b; (b); user c; (c); (d)",
		"none, load, editor a, idle, other b, idle, editor c, resume": "(a) | user b; (b); (c)",
	} {
		synctest.Test(t, func(t *testing.T) {
			c := stored(t, newStore(), modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
				last := req.Messages[len(req.Messages)-1]
				return model.Response(model.Text("(" + last.Parts[len(last.Parts)-1].Text + ")")), nil
			}))
			c.Host.Commands = []host.Command{{Name: "say", Hint: "text", Run: func(_ context.Context, call *host.CommandCall) (agent.CommandResult, error) {
				return agent.CommandResult{Notice: "said " + call.Args}, nil
			}}}
			c.Host.Deps = func(_ context.Context, s *host.Session) (bare, error) {
				return acpbridge.DepsOf(s, acpbridge.LocalFallback{})
			}
			c.Host.Idle = 5 * time.Second
			h, err := host.New(c.Host)
			require.NoError(t, err)
			var id acp.SessionID
			var e *editor
			elsewhere := func(text string) {
				other, err := h.Open(t.Context(), string(id), host.Local)
				require.NoError(t, err)
				turn, err := other.AdmitWith(t.Context(), host.BusyQueue)
				require.NoError(t, err)
				require.NoError(t, turn.Run(host.Prompt{Parts: []model.Part{model.User(text)}}).Err)
			}
			var told []string
			seen := 0
			look := func() {
				var said []string
				all := e.updates(id)
				for _, u := range all[seen:] {
					switch {
					case u.UserMessageChunk != nil:
						said = append(said, "user "+u.UserMessageChunk.Content.Text.Text)
					case u.AgentMessageChunk != nil && u.AgentMessageChunk.Content.Text.Text != "":
						said = append(said, u.AgentMessageChunk.Content.Text.Text)
					}
				}
				if seen = len(all); len(said) > 0 {
					told = append(told, strings.Join(said, "; "))
				}
			}
			for step := range strings.SplitSeq(steps, ", ") {
				what, text, _ := strings.Cut(step, " ")
				switch what {
				case "new":
					e = serveHost(t, h, acpbridge.Options{})
					e.initialize(`{}`)
					id = e.newSession()
				case "old", "none": // a session of before
					e = serveHost(t, h, acpbridge.Options{})
					e.initialize(`{}`)
					id = e.newSession()
					if what == "none" {
						_, err := h.Open(t.Context(), string(id), host.Local) // so that it is kept
						require.NoError(t, err)
					} else {
						requireStop(t, acp.StopReasonEndTurn, e.prompt(id, text))
					}
					require.NoError(t, e.stop())
					e = serveHost(t, h, acpbridge.Options{})
					e.initialize(`{}`)
				case "load":
					require.Nil(t, e.load(acp.MethodLoadSession, id).Error)
				case "resume":
					require.Nil(t, e.load(acp.MethodResumeSession, id).Error)
				case "editor":
					requireStop(t, acp.StopReasonEndTurn, e.prompt(id, text))
				case "other":
					elsewhere(text)
				case "idle":
					time.Sleep(10 * time.Second)
				}
				synctest.Wait()
				look()
			}
			assert.Equal(t, want, strings.Join(told, " | "), steps)
			require.NoError(t, e.stop())
			require.NoError(t, h.Close(context.Background()))
		})
	}
}

// A prompt for a session that somebody else has deleted or closed is told so.
func TestPromptsOfSessionsThatAreGoneAreRefused(t *testing.T) {
	c := stored(t, newStore(), echo())
	c.Host.Deps = func(_ context.Context, s *host.Session) (bare, error) {
		return acpbridge.DepsOf(s, acpbridge.LocalFallback{})
	}
	h, err := host.New(c.Host)
	require.NoError(t, err)
	e := serveHost(t, h, acpbridge.Options{})
	e.initialize(`{}`)
	id := e.newSession()
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "a"))
	require.NoError(t, h.Delete(t.Context(), string(id)))
	answer := e.prompt(id, "b")
	requireError(t, acp.CodeResourceNotFound, acpbridge.KindSession, answer)
	require.Equal(t, "resource not found: session \""+string(id)+"\"", answer.Error.Message)
	require.Equal(t, map[string]any{"kind": "session", "sessionId": string(id)}, answer.Error.Data)
	require.NoError(t, e.stop())
	require.NoError(t, h.Close(context.Background()))
}

// The prompt of a turn that a client has not asked for is shown once, also that of a command, which is in no message.
func TestPromptsOfOwnTurnsAreShownOnce(t *testing.T) {
	for prompt, want := range map[string][]string{
		"/say hi":   {"[", "user: /say hi", "said hi", "] end_turn"},
		"/say\tho":  {"[", "user: /say\tho", "said ho", "] end_turn"},
		"/say":      {"[", "user: /say", "said ", "] end_turn"},
		"say hi":    {"[", "user: say hi", "(say hi)", "] end_turn"},
		"a /say hi": {"[", "user: a /say hi", "(a /say hi)", "] end_turn"},
	} {
		c := stored(t, newStore(), echo())
		c.Host.Commands = []host.Command{{Name: "say", Hint: "text", Run: func(_ context.Context, call *host.CommandCall) (agent.CommandResult, error) {
			return agent.CommandResult{Notice: "said " + call.Args}, nil
		}}}
		e := serve(t, c)
		e.initialize(takesTurns)
		id := e.newSession()
		require.JSONEq(t, `{}`, string(e.queued(id, prompt).Result))
		e.turnsEnded(1)
		require.Equal(t, strings.Join(want, ""), strings.Join(e.turns(id), ""), prompt)
		require.NoError(t, e.stop())
	}
}

// The agent of a host need not know of editors: its user is asked there all the same, and may answer for the session.
func TestAgentsThatKnowNothingOfEditorsAskThere(t *testing.T) {
	type plain struct{}
	calls := 0
	pay := toolset.Func("pay", "", func(context.Context, *toolset.RunContext[plain], none) (string, error) { calls++; return "paid", nil },
		toolset.Approve(func(context.Context, *toolset.RunContext[plain], none) (*toolset.Approval, error) {
			return &toolset.Approval{Title: "Pay"}, nil
		}))
	a, err := agent.New(agent.Config[plain, string]{
		Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "pay", "{}")), modeltest.Say(model.ToolCall("2", "pay", "{}")), modeltest.SayText("done")), Toolsets: []toolset.Toolset[plain]{toolset.Of(pay)},
	})
	require.NoError(t, err)
	h, err := host.New(host.Config[plain, string]{Agent: a, Store: newStore(), Logger: slog.New(slog.DiscardHandler), Deps: func(context.Context, *host.Session) (plain, error) { return plain{}, nil }})
	require.NoError(t, err)
	e := serveHost(t, h, acpbridge.Options{})
	e.initialize(`{}`)
	id := e.newSession()
	turn := e.sendPrompt(id, "go")
	asked := e.await(func(l wireLine) bool { return l.Method == acp.MethodRequestPermission })
	for _, kind := range []string{"allow_once", "allow_always", "reject_once", "reject_always"} {
		require.Contains(t, asked.Text, `"kind":"`+kind+`"`)
	}
	e.write(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":{"outcome":{"outcome":"selected","optionId":"allow_always"}}}` + "\n")
	requireStop(t, acp.StopReasonEndTurn, e.answer(turn))
	require.Equal(t, 2, calls, "the second one is not asked about")
	require.NoError(t, e.stop())
	require.NoError(t, h.Close(context.Background()))
}
