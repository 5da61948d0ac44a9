// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
)

const askedOptions = `"options":[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]`

func diffOf(text string) string {
	return `"content":[{"type":"diff","path":"/repo/new.txt","newText":` + strconv.Quote(text) + `}]`
}

// With one id for "yes" and "no", the agent could take a person's "no" for what it likes, and the client too.
func TestNoThatLooksLikeYesIsRefused(t *testing.T) {
	ws := newWorkspace(t, nil)
	asked := 0
	var answer, wrote *acp.Error
	s := begin(t, acpclient.Config{Workspace: ws, Permission: func(ctx context.Context, r *acpclient.PermissionRequest) (acp.PermissionOptionID, error) {
		asked++
		return acpclient.RejectAll(ctx, r)
	}}, func(a *raw) {
		a.open()
		a.turn(func() {
			m := a.call("session/request_permission", `{"sessionId":"s","toolCall":{"toolCallId":"c",`+diffOf("x")+`},"options":[{"optionId":"1","name":"Yes","kind":"allow_once"},{"optionId":"1","name":"No","kind":"reject_once"}]}`)
			answer, wrote = m.Error, a.call("fs/write_text_file", `{"sessionId":"s","path":"/repo/new.txt","content":"x"}`).Error
		})
		a.wait()
	})
	_, err := s.Say(t.Context(), "hello")
	require.NoError(t, err)
	require.NotNil(t, answer)
	require.Equal(t, "two options have the same id", answer.Message)
	require.NotNil(t, wrote)
	require.Equal(t, 1, asked, "about the write")
	_, err = ws.Disk().ReadFile("/repo/new.txt")
	require.Error(t, err)
	requireProblem(t, s.Client(), `two options have the id "1"`)
}

// What a person was shown counts, not what the agent says of the call while they think.
func TestCallThatChangesWhileItIsAskedAboutIsNotAllowed(t *testing.T) {
	for content, questions := range map[string]int{"shown": 1, "changed": 2} {
		t.Run(content, func(t *testing.T) {
			ws := newWorkspace(t, nil)
			asking, changed := make(chan struct{}), make(chan struct{})
			var shown []string
			s := begin(t, acpclient.Config{Workspace: ws, Permission: func(ctx context.Context, r *acpclient.PermissionRequest) (acp.PermissionOptionID, error) {
				shown = append(shown, *r.Approval.Preview[0].Diff.New)
				if len(shown) > 1 {
					return acpclient.RejectAll(ctx, r)
				}
				close(asking)
				<-changed
				return r.Option(acp.PermissionOptionKindAllowOnce), nil
			}}, func(a *raw) {
				a.open()
				a.turn(func() {
					a.write(`{"jsonrpc":"2.0","id":"q","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c",%s},%s}}`, diffOf("shown"), askedOptions)
					<-asking
					a.update(`{"sessionUpdate":"tool_call_update","toolCallId":"c",` + diffOf("changed") + `}`)
					a.write(`{"jsonrpc":"2.0","id":"r","method":"fs/read_text_file","params":{"sessionId":"s","path":"/repo/a.txt"}}`)
					a.await("") // the update has been folded
					close(changed)
					a.await("")
					a.call("fs/write_text_file", `{"sessionId":"s","path":"/repo/new.txt","content":"`+content+`"}`)
				})
				a.wait()
			})
			_, err := s.Say(t.Context(), "hello")
			require.NoError(t, err)
			require.Len(t, shown, questions)
			require.Equal(t, "shown", shown[0])
			require.Equal(t, content, shown[questions-1])
			_, err = ws.Disk().ReadFile("/repo/new.txt")
			require.Equal(t, questions == 1, err == nil)
		})
	}
}

// Each request would hold memory and a goroutine while the person thinks.
func TestRequestsThatWaitForAPersonAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const sent = 300
		answer := make(chan struct{})
		s := begin(t, acpclient.Config{Workspace: newWorkspace(t, nil), Permission: func(ctx context.Context, r *acpclient.PermissionRequest) (acp.PermissionOptionID, error) {
			<-answer
			return acpclient.RejectAll(ctx, r)
		}}, func(a *raw) {
			a.open()
			a.turn(func() {
				for i := range sent {
					if i%2 == 0 {
						a.write(`{"jsonrpc":"2.0","id":%d,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c"},%s}}`, i, askedOptions)
					} else {
						a.write(`{"jsonrpc":"2.0","id":%d,"method":"fs/write_text_file","params":{"sessionId":"s","path":"/repo/%d","content":""}}`, i, i)
					}
				}
				refused := 0
				for range sent {
					m := a.await("")
					if m.Error != nil && strings.Contains(m.Error.Message, "requests wait for the user already") {
						if refused++; refused == sent-100 {
							close(answer)
						}
					}
				}
				require.Equal(t, sent-100, refused)
			})
			a.wait()
		})
		_, err := s.Say(t.Context(), "hello")
		require.NoError(t, err)
		require.NoError(t, s.Client().Close())
	})
}

// The limit holds for everything that an agent can make a session show.
func TestLimitCountsIDsPlacesAndQuestions(t *testing.T) {
	big := strings.Repeat("x", 10_000)
	for name, flood := range map[string]func(a *raw, i int){
		"ids of calls": func(a *raw, i int) {
			a.update(fmt.Sprintf(`{"sessionUpdate":"tool_call","toolCallId":"%d%s","title":""}`, i, big))
		},
		"places": func(a *raw, i int) {
			a.update(fmt.Sprintf(`{"sessionUpdate":"tool_call","toolCallId":"%d","title":"","locations":[{"path":"%s"}]}`, i, big))
		},
		"ids of messages": func(a *raw, i int) {
			a.update(fmt.Sprintf(`{"sessionUpdate":"agent_message_chunk","messageId":"%d%s","content":{"type":"text","text":""}}`, i, big))
		},
		"options of questions": func(a *raw, i int) {
			a.call("session/request_permission", fmt.Sprintf(`{"sessionId":"s","toolCall":{"toolCallId":"c"},"options":[{"optionId":"1","name":"%s","kind":"reject_once"}]}`, big))
		},
		"contents of questions": func(a *raw, i int) {
			a.call("session/request_permission", fmt.Sprintf(`{"sessionId":"s","toolCall":{"toolCallId":"%d","rawInput":"%s"},%s}`, i, big, askedOptions))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t, acpclient.Config{MaxState: 1 << 20}, func(a *raw) {
				a.open()
				a.turn(func() {
					for i := range 300 {
						flood(a, i)
					}
				})
				a.wait()
			})
			_, err := s.Say(t.Context(), "hello")
			require.ErrorIs(t, err, acpclient.ErrLimit)
		})
	}
}

func TestEarlyUpdatesAreBoundedOverAllSessions(t *testing.T) {
	big := strings.Repeat("x", 10_000)
	var problems atomic.Int32
	many := make(chan struct{})
	config := acpclient.Config{MaxState: 1 << 20, OnProblem: func(error) {
		if problems.Add(1) == 101 {
			close(many)
		}
	}}
	c, err := connect(t, config, func(a *raw) {
		a.hello(`{}`)
		m := a.await("session/new")
		for i := range 300 {
			a.write(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s%d","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}`, i, big)
		}
		select { // the answer overtakes updates of other sessions
		case <-many:
		case <-time.After(time.Minute):
			t.Error("the updates are not bounded")
		}
		a.answer(m, `{"sessionId":"s"}`)
		a.wait()
	})
	require.NoError(t, err)
	_, err = c.NewSession(t.Context(), acpclient.SessionConfig{Cwd: "/repo"})
	require.NoError(t, err)
	require.Len(t, c.Problems(), 101, "more than a hundred were not kept, and one error counts the rest")
}

// An error ends up in a terminal.
func TestErrorsShowWhatTheAgentSays(t *testing.T) {
	const nasty = `\u001b[2J\u202e\u0007`
	s := begin(t, acpclient.Config{}, func(a *raw) {
		a.answer(a.await("initialize"), `{"protocolVersion":1,"agentInfo":{"name":"raw`+nasty+`","version":"1"},"authMethods":[{"id":"k`+nasty+`","name":"Key"}],"agentCapabilities":{}}`)
		a.answer(a.await("session/new"), `{"sessionId":"s"}`)
		a.fail(a.await("session/prompt"), `{"code":-32000,"message":"log in`+nasty+`","data":{"details":"`+nasty+strings.Repeat("y", 10_000)+`"}}`)
		a.wait()
	})
	_, err := s.Say(t.Context(), "hello")
	require.ErrorIs(t, err, acp.ErrAuthRequired)
	require.Contains(t, err.Error(), "log in⟨ESC⟩[2J⟨U+202E⟩⟨BEL⟩")
	require.NotContains(t, err.Error(), "\x1b")
	require.Less(t, len(err.Error()), 5000)
	err = s.Client().Logout(t.Context())
	require.ErrorContains(t, err, "raw⟨ESC⟩[2J")
}

func TestAllowedChangeIsMadeOnce(t *testing.T) {
	ws := newWorkspace(t, nil)
	asked := 0
	var first, second *acp.Error
	s := begin(t, acpclient.Config{Workspace: ws, Permission: func(ctx context.Context, r *acpclient.PermissionRequest) (acp.PermissionOptionID, error) {
		if asked++; r.Unasked {
			return acpclient.RejectAll(ctx, r)
		}
		return acpclient.AllowAll(ctx, r)
	}}, func(a *raw) {
		a.open()
		a.turn(func() {
			const write = `{"sessionId":"s","path":"/repo/new.txt","content":"x"}`
			a.call("session/request_permission", `{"sessionId":"s","toolCall":{"toolCallId":"c",`+diffOf("x")+`},`+askedOptions+`}`)
			first = a.call("fs/write_text_file", write).Error
			_ = ws.Disk().Remove("/repo/new.txt")
			second = a.call("fs/write_text_file", write).Error
		})
		a.wait()
	})
	_, err := s.Say(t.Context(), "hello")
	require.NoError(t, err)
	require.Nil(t, first)
	require.NotNil(t, second)
	require.Equal(t, 2, asked)
}

func TestNothingIsAllowedAfterTheTurn(t *testing.T) {
	ws := newWorkspace(t, nil)
	over, wrote := make(chan struct{}), make(chan *acp.Error)
	s := begin(t, acpclient.Config{Workspace: ws, Permission: func(ctx context.Context, r *acpclient.PermissionRequest) (acp.PermissionOptionID, error) {
		if r.Unasked {
			return acpclient.RejectAll(ctx, r)
		}
		return acpclient.AllowAll(ctx, r)
	}}, func(a *raw) {
		a.open()
		a.turn(func() {
			a.call("session/request_permission", `{"sessionId":"s","toolCall":{"toolCallId":"c",`+diffOf("x")+`},`+askedOptions+`}`)
		})
		<-over
		wrote <- a.call("fs/write_text_file", `{"sessionId":"s","path":"/repo/new.txt","content":"x"}`).Error
		a.wait()
	})
	_, err := s.Say(t.Context(), "hello")
	require.NoError(t, err)
	close(over)
	require.NotNil(t, <-wrote)
}
