// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// What an entity and an entry of its lists count for, besides their texts.
const anEntity, anEntry = 512, 64

// Each byte that an agent makes a session keep counts towards the limit once: a session of exactly
// that size goes on, and one that may be a byte smaller ends its turn.
func TestEveryByteOfASessionCounts(t *testing.T) {
	update := func(all ...string) func(*raw) {
		return func(a *raw) {
			for _, u := range all {
				a.update(u)
			}
		}
	}
	content := func(kind, block string) string {
		return fmt.Sprintf(`{"sessionUpdate":%q,"content":%s}`, kind, block)
	}
	said := func(block string) func(*raw) { return update(content("agent_message_chunk", block)) }
	text := func(s string) string { return `{"type":"text","text":"` + s + `"}` }
	ask := func(a *raw) {
		a.call("session/request_permission", `{"sessionId":"s","toolCall":{"toolCallId":"c","title":"Do it"},"options":[{"optionId":"n","name":"No","kind":"reject_once"},{"optionId":"yes","name":"Yes!","kind":"allow_once"}]}`)
	}
	call := anEntity + len("call:c")
	for name, c := range map[string]struct {
		script func(*raw)
		size   int
	}{
		"nothing":                 {func(*raw) {}, 0},
		"a message":               {said(text("hello")), anEntity + len("message-2") + 5},
		"a thought":               {update(content("agent_thought_chunk", text("hello"))), anEntity + len("thought-2") + 5},
		"two pieces of a message": {update(content("agent_message_chunk", text("hel")), content("agent_message_chunk", text("lo"))), anEntity + len("message-2") + 5},
		"two messages with ids":   {update(chunk("agent_message_chunk", "abc", "x"), chunk("agent_message_chunk", "d", "yz"), chunk("agent_message_chunk", "abc", "!")), 2*(anEntity+len("message-2")) + 4 + 4},
		"a picture":               {said(`{"type":"image","data":"AAAA","mimeType":"image/png","uri":"file:///a"}`), anEntity + len("message-2") + 4 + len("file:///a")},
		"a link":                  {said(`{"type":"resource_link","name":"N","uri":"https://a"}`), anEntity + len("message-2") + 1 + len("https://a")},
		"a block of another kind": {said(`{"type":"odd","a":1}`), anEntity + len("message-2") + len(`{"type":"odd","a":1}`)},
		"a call":                  {update(`{"sessionUpdate":"tool_call","toolCallId":"c","title":"Title","name":"nm","kind":"edit","rawInput":{"a":1},"rawOutput":"out"}`), call + 5 + 2 + 4 + len(`{"a":1}`) + len(`"out"`)},
		"a call without a title":  {update(`{"sessionUpdate":"tool_call_update","toolCallId":"c"}`), call + len("c")},
		"a call that grows":       {update(`{"sessionUpdate":"tool_call","toolCallId":"c","title":"T"}`, `{"sessionUpdate":"tool_call_update","toolCallId":"c","title":"Title"}`), call + 5},
		"metadata of a call":      {update(`{"sessionUpdate":"tool_call","toolCallId":"c","title":"T","_meta":{"a":1}}`), call + 1 + len(`{"a":1}`)},
		"places of a call":        {update(`{"sessionUpdate":"tool_call","toolCallId":"c","title":"T","locations":[{"path":"/ab"},{"path":"/c","line":3}]}`), call + 1 + 2*anEntry + 3 + 2},
		"texts of a call":         {update(`{"sessionUpdate":"tool_call","toolCallId":"c","title":"T","content":[{"type":"content","content":` + text("abc") + `},{"type":"content","content":` + text("d") + `}]}`), call + 1 + 4},
		"a change of a file":      {update(`{"sessionUpdate":"tool_call","toolCallId":"c","title":"T","content":[{"type":"diff","path":"/abc","oldText":"old","newText":"new!"}]}`), call + 1 + 4 + 3 + 4},
		"a new file":              {update(`{"sessionUpdate":"tool_call","toolCallId":"c","title":"T","content":[{"type":"diff","path":"/abc","newText":"new!"}]}`), call + 1 + 4 + 4},
		"a question":              {ask, call + len("Do it") + anEntity + len("question-1") + len("Do it") + 2*anEntry + len("n"+"No"+"reject_once"+"yes"+"Yes!"+"allow_once")},
		"a notice":                {update(`{"sessionUpdate":"notice","severity":"warning","title":"Careful","description":"slow"}`), anEntity + len("notice-2") + len("Careful") + len("warning") + len("slow")},
		"a compaction":            {update(`{"sessionUpdate":"compaction_update","compactionId":"k","status":"failed","error":"no room","summary":[` + text("short") + `]}`), anEntity + len("compaction:k") + len("no room") + len("short")},
		"a compaction twice":      {update(`{"sessionUpdate":"compaction_update","compactionId":"k","status":"in_progress"}`, `{"sessionUpdate":"compaction_update","compactionId":"k","status":"completed"}`), anEntity + len("compaction:k")},
		"pieces of a summary":     {update(`{"sessionUpdate":"compaction_summary_chunk","compactionId":"k","content":`+text("in ")+`}`, `{"sessionUpdate":"compaction_summary_chunk","compactionId":"k","content":`+text("short")+`}`), anEntity + len("compaction:k") + 8},
		"what there is one of":    {update(`{"sessionUpdate":"plan","entries":[{"content":"one","priority":"high","status":"pending"}]}`, `{"sessionUpdate":"current_mode_update","currentModeId":"m"}`, `{"sessionUpdate":"session_info_update","title":"T"}`), 0},
	} {
		size := anEntity + len("message-1") + len("go") + c.size
		for _, limit := range []int{size, size - 1} {
			s := begin(t, acpclient.Config{MaxState: limit}, func(a *raw) {
				a.open()
				a.turn(func() {
					c.script(a)
					a.update(`{"sessionUpdate":"usage_update","used":1,"size":2}`) // which notices it
				})
				a.wait()
			})
			_, err := s.Say(t.Context(), "go")
			if limit == size {
				require.NoError(t, err, "%s: %d", name, limit)
				continue
			}
			require.EqualError(t, err, fmt.Sprintf("acpclient: the session is too large: more than %d bytes", limit), name)
			require.ErrorIs(t, err, acpclient.ErrLimit)
			require.Nil(t, s.Snapshot().Get(acpclient.UsageID), "%s: nothing is shown beyond the limit", name)
			_, err = s.Say(t.Context(), "more")
			require.ErrorIs(t, err, acpclient.ErrLimit, name)
		}
	}
}

// A session at its limit takes no question: it is refused, and the turn is cancelled.
func TestNothingIsAskedBeyondTheLimit(t *testing.T) {
	var answers []message
	s := begin(t, acpclient.Config{MaxState: anEntity + len("message-1") + len("go") + anEntity + len("message-2") + 4, Permission: acpclient.AllowAll}, func(a *raw) {
		a.open()
		p := a.await("session/prompt")
		a.say("four")
		a.say("!")
		a.write(`{"jsonrpc":"2.0","id":"q","method":"session/request_permission","params":%s}`, `{"sessionId":"s","toolCall":{"toolCallId":"c","title":"Do it"},`+askedOptions+`}`)
		answers = append(answers, a.answerAndCancel())
		a.answer(p, `{"stopReason":"cancelled"}`)
		a.wait()
	})
	_, err := s.Say(t.Context(), "go")
	require.ErrorIs(t, err, acpclient.ErrLimit)
	require.Len(t, answers, 1)
	require.NotNil(t, answers[0].Error)
	require.Equal(t, acp.CodeInvalidRequest, answers[0].Error.Code)
	require.Equal(t, "the session is too large", answers[0].Error.Message)
}

// Updates of sessions whose ids are not known yet are kept up to a number and a size, over all of them.
func TestEarlyUpdatesAreKeptUpToANumberAndASize(t *testing.T) {
	opened := func(config acpclient.Config, early func(i int) string, n int) (*acpclient.Session, *acpclient.Client) {
		c, err := connect(t, config, func(a *raw) {
			a.hello(`{}`)
			m := a.await("session/new")
			for i := range n {
				a.write(`{"jsonrpc":"2.0","method":"session/update","params":%s}`, early(i))
			}
			for _, id := range []string{"s", "o"} {
				a.call("fs/read_text_file", `{"sessionId":"`+id+`","path":"/a"}`) // which comes behind those of the session
			}
			a.answer(m, `{"sessionId":"s"}`)
			a.wait()
		})
		require.NoError(t, err)
		s, err := c.NewSession(t.Context(), acpclient.SessionConfig{Cwd: "/repo"})
		require.NoError(t, err)
		return s, c
	}
	one := func(int) string {
		return `{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}}`
	}
	s, c := opened(acpclient.Config{}, one, 10_000)
	require.Empty(t, problems(c))
	require.Equal(t, 10_000, len(s.Snapshot().Get("message-1").Text()))
	s, c = opened(acpclient.Config{}, one, 10_001)
	require.Equal(t, "acpclient: session/update: the agent broke the protocol: an update of an unknown session", problems(c))
	require.Equal(t, 10_000, len(s.Snapshot().Get("message-1").Text()))

	var n acp.SessionNotification
	require.NoError(t, json.Unmarshal([]byte(one(0)), &n))
	data, err := acp.Marshal(&n)
	require.NoError(t, err)
	s, c = opened(acpclient.Config{MaxState: 10 * len(data)}, one, 10)
	require.Empty(t, problems(c))
	require.Len(t, s.Snapshot().Get("message-1").Text(), 10)
	s, c = opened(acpclient.Config{MaxState: 10*len(data) - 1}, one, 10)
	require.Equal(t, "acpclient: session/update: the agent broke the protocol: an update of an unknown session", problems(c))
	require.Len(t, s.Snapshot().Get("message-1").Text(), 9)

	// Those of a session that does not come are dropped, told of once, and leave their room.
	s, c = opened(acpclient.Config{MaxState: 10 * len(data)}, func(i int) string {
		return strings.Replace(one(i), `"s"`, `"o"`, 1)
	}, 10)
	require.Equal(t, "acpclient: session/update: the agent broke the protocol: updates of an unknown session", problems(c))
	require.Nil(t, s.Snapshot().Get("message-1"))
}

// Updates of sessions that are being opened are kept until the last of them has been answered. Then there is room again.
func TestEarlyUpdatesWaitForEverySession(t *testing.T) {
	say := func(id string) string {
		return `{"sessionId":"` + id + `","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + strings.Repeat(id, 300) + `"}}}`
	}
	first := make(chan struct{})
	c, err := connect(t, acpclient.Config{MaxState: 3 * len(say("a"))}, func(a *raw) {
		a.hello(`{}`)
		told := func(ids ...string) {
			for _, id := range ids {
				a.write(`{"jsonrpc":"2.0","method":"session/update","params":%s}`, say(id))
				a.call("fs/read_text_file", `{"sessionId":"`+id+`","path":"/a"}`) // which comes behind it
			}
		}
		one, two := a.await("session/new"), a.await("session/new")
		told("a", "b", "x")
		a.answer(one, `{"sessionId":"a"}`)
		<-first
		a.answer(two, `{"sessionId":"b"}`)
		three := a.await("session/new")
		told("c", "c", "c")
		a.answer(three, `{"sessionId":"c"}`)
		a.wait()
	})
	require.NoError(t, err)
	opened := make(chan *acpclient.Session)
	open := func() {
		s, err := c.NewSession(t.Context(), acpclient.SessionConfig{Cwd: "/repo"})
		if err != nil {
			t.Error(err)
		}
		opened <- s
	}
	go open()
	go open()
	a := <-opened
	require.Empty(t, problems(c))
	close(first)
	b := <-opened
	go open()
	for id, s := range map[string]*acpclient.Session{"a": a, "b": b, "ccc": <-opened} {
		require.Equal(t, acp.SessionID(id[:1]), s.ID())
		require.Equal(t, strings.Repeat(id, 300), s.Snapshot().Get("message-1").Text())
	}
	require.Equal(t, "acpclient: session/update: the agent broke the protocol: updates of an unknown session", problems(c))
}

// Files are read for an agent 32 at a time. The next one is begun when one of them is done.
func TestFilesAreReadThirtyTwoAtATime(t *testing.T) {
	slow := &slowReads{Memory: newWorkspace(t, nil), begun: make(chan struct{}, 100), goOn: make(chan struct{})}
	s := begin(t, acpclient.Config{Workspace: slow}, func(a *raw) {
		a.open()
		a.turn(func() {
			for i := range 40 {
				a.write(`{"jsonrpc":"2.0","id":"r%d","method":"fs/read_text_file","params":{"sessionId":"s","path":"/repo/a.txt"}}`, i)
			}
			for range 32 {
				<-slow.begun
			}
			select {
			case <-slow.begun:
				t.Error("a file more is read")
			default:
			}
			slow.goOn <- struct{}{}
			<-slow.begun
			close(slow.goOn)
			for range 40 {
				if m := a.await(""); m.Error != nil {
					t.Error(m.Error)
				}
			}
		})
		a.wait()
	})
	_, err := s.Say(t.Context(), "go")
	require.NoError(t, err)
}

// slowReads is a workspace whose reads wait.
type slowReads struct {
	*workspace.Memory
	begun, goOn chan struct{}
}

func (w *slowReads) Read(ctx context.Context, path string, r workspace.Range) (workspace.File, error) {
	w.begun <- struct{}{}
	<-w.goOn
	return w.Memory.Read(ctx, path, r)
}
