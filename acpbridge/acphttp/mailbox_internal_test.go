// SPDX-License-Identifier: Apache-2.0

package acphttp

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// state is a mailbox in words.
func (b *mailbox) state() string {
	return fmt.Sprintf("%s sent %d last %d waiting %d kept %d lost %v held %d", b.lines, b.sent, b.last, b.waiting, b.kept, b.lost, len(b.held))
}

// A mailbox keeps what waits, and the latest of what was sent as far as it fits.
func TestMailboxKeepsWhatWaits(t *testing.T) {
	b := &mailbox{}
	require.Zero(t, b.unsent())
	for _, line := range []string{"a", "bb", "ccc", "dddd"} {
		b.add([]byte(line))
	}
	require.Equal(t, "[a bb ccc dddd] sent 0 last 4 waiting 10 kept 0 lost false held 0", b.state())
	for i, want := range []string{
		"[a bb ccc dddd] sent 1 last 4 waiting 9 kept 1 lost false held 0",
		"[a bb ccc dddd] sent 2 last 4 waiting 7 kept 3 lost false held 0",
		"[bb ccc dddd] sent 2 last 4 waiting 4 kept 5 lost false held 0",
		"[dddd] sent 1 last 4 waiting 0 kept 4 lost false held 0",
	} {
		require.Equal(t, 4-i, b.unsent())
		line, number := b.next()
		require.Len(t, line, i+1)
		require.EqualValues(t, i+1, number)
		b.advance(5)
		require.Equal(t, want, b.state())
	}
	require.False(t, b.rewind(2))
	require.False(t, b.rewind(5))
	require.Equal(t, "[dddd] sent 1 last 4 waiting 0 kept 4 lost false held 0", b.state(), "nothing has changed")
	require.True(t, b.rewind(4))
	require.Equal(t, "[dddd] sent 1 last 4 waiting 0 kept 4 lost false held 0", b.state())
	b.add([]byte("ee"))
	require.True(t, b.rewind(3))
	require.Equal(t, "[dddd ee] sent 0 last 5 waiting 6 kept 0 lost false held 0", b.state())
	require.True(t, b.rewind(4))
	require.Equal(t, "[dddd ee] sent 1 last 5 waiting 2 kept 4 lost false held 0", b.state())
	unsent := b.lose()
	require.Equal(t, "[ee]", fmt.Sprintf("%s", unsent))
	require.Equal(t, "[] sent 0 last 5 waiting 0 kept 0 lost true held 0", b.state())

	b = &mailbox{}
	b.add([]byte("too long to be kept"))
	b.advance(3)
	require.Equal(t, "[] sent 0 last 1 waiting 0 kept 0 lost false held 0", b.state())
	require.True(t, b.rewind(1))
	require.False(t, b.rewind(0))
	require.True(t, (&mailbox{}).rewind(0), "a client that has seen nothing")
}

// Whatever is done with a mailbox, the messages that it gives are numbered one after the other from where a client goes on.
func TestMailboxCountsRight(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		b, all, next := &mailbox{}, []string{}, 0
		for range 50 {
			switch r.IntN(4) {
			case 0, 1:
				all = append(all, fmt.Sprint("m", len(all)+1))
				b.add([]byte(all[len(all)-1]))
			case 2:
				if b.unsent() > 0 {
					line, number := b.next()
					require.Equal(t, all[next], string(line))
					require.EqualValues(t, next+1, number)
					b.advance(10)
					next++
				}
			case 3:
				after := r.IntN(len(all) + 2)
				kept := len(all) - len(b.lines)
				ok := b.rewind(uint64(after))
				require.Equal(t, after >= kept && after <= len(all), ok)
				if ok {
					next = after
				}
			}
			require.Equal(t, len(all)-next, b.unsent())
			waiting, kept := 0, 0
			for i, line := range b.lines {
				if i < b.sent {
					kept += len(line)
				} else {
					waiting += len(line)
				}
			}
			require.Equal(t, []int{waiting, kept}, []int{b.waiting, b.kept})
		}
	}
}

// Answers that wait for messages of a stream go out behind them, or at once if nobody reads the stream.
func TestHeldMessagesAreFreed(t *testing.T) {
	box := func() *mailbox {
		b := &mailbox{reader: &reader{out: http.NewResponseController(httptest.NewRecorder()), quit: make(chan struct{})}}
		for range 3 {
			b.add([]byte("x"))
		}
		b.held = []held{{1, []byte("one")}, {2, []byte("two")}, {2, []byte("also")}, {3, []byte("three")}}
		return b
	}
	b := box()
	require.Empty(t, b.free())
	b.advance(9)
	require.Equal(t, "[one]", fmt.Sprintf("%s", b.free()))
	require.Empty(t, b.free())
	b.advance(9)
	require.Equal(t, "[two also]", fmt.Sprintf("%s", b.free()))
	b.advance(9)
	require.Equal(t, "[three]", fmt.Sprintf("%s", b.free()))
	require.Empty(t, b.held)
	b = box()
	b.reader = nil
	require.Equal(t, "[one two also three]", fmt.Sprintf("%s", b.free()))
	b = box()
	b.lose()
	require.Equal(t, "[one two also three]", fmt.Sprintf("%s", b.free()))
	<-b.reader.quit
}

// Each message of an agent has its stream.
func TestMessagesHaveTheirStreams(t *testing.T) {
	c := &connection{boxes: map[string]*mailbox{}, requests: map[string]route{}}
	of := func(line string) string {
		var m message
		require.NoError(t, json.Unmarshal([]byte(line), &m))
		session, after := c.route(&m)
		return fmt.Sprintf("%q %v", session, after != nil)
	}
	require.Equal(t, `"" false`, of(`{"method":"_x"}`))
	require.Equal(t, `"s" false`, of(`{"method":"session/update","params":{"sessionId":"s"}}`))
	require.Equal(t, `"" false`, of(`{"id":7,"result":{}}`), "of no request that is known")
	c.requests["1"] = route{"session/prompt", "s"}
	require.Equal(t, `"" false`, of(`{"id":1,"result":{}}`), "its client may never open a stream for a session of which it has seen nothing")
	require.Empty(t, c.requests)
	require.Empty(t, c.boxes)
	require.Equal(t, `"" false`, of(`{"id":2,"result":{"sessionId":"new"}}`))
	require.Len(t, c.boxes, 1)
	c.requests["3"] = route{"session/prompt", "new"}
	require.Equal(t, `"new" false`, of(`{"id":3,"result":{}}`))
	c.requests["4"] = route{"session/load", "s"}
	require.Equal(t, `"" false`, of(`{"id":4,"error":{"code":1}}`))
	require.Len(t, c.boxes, 1, "it was not loaded")
	for i, method := range []string{"session/load", "session/resume"} {
		session := fmt.Sprint("s", i)
		c.requests["5"] = route{method, session}
		require.Equal(t, `"" false`, of(`{"id":5,"result":{}}`), "the first time")
		require.NotNil(t, c.boxes[session], "it is known from now on")
	}
	c.requests["6"] = route{"session/load", "new"}
	require.Equal(t, `"" true`, of(`{"id":6,"result":{}}`), "behind what is on the session's stream")
	c.requests["7"] = route{"session/resume", "new"}
	require.Equal(t, `"new" false`, of(`{"id":7,"result":{}}`))
	require.Empty(t, c.requests)
}

// A request of the agent that its client does not see is refused. Answers and notifications are not.
func TestRequestsThatNobodySeesAreRefused(t *testing.T) {
	for line, want := range map[string]string{
		`{"id":"q","method":"ask"}`: `{"jsonrpc":"2.0","id":"q","error":{"code":-32603,"message":"the client does not read this session's stream"}}` + "\n",
		`{"method":"tell"}`:         "", `{"id":1,"result":{}}`: "", `{}`: "",
	} {
		var m message
		require.NoError(t, json.Unmarshal([]byte(line), &m))
		require.Equal(t, want, string(refusal(&m)))
	}
}

// A message of a WebSocket becomes one line.
func TestMessagesOfWebSocketsBecomeLines(t *testing.T) {
	for data, want := range map[string]string{
		"": "\n", "x": "x\n", `{"a": 1}`: `{"a": 1}` + "\n", "{\n\"a\": \"b\\n\"\n}": `{"a":"b\n"}` + "\n", "not\nJSON\n": "not JSON \n", "\n": " \n",
	} {
		require.Equal(t, want, string(lineOf([]byte(data))))
	}
	for header, want := range map[string]string{"": "", "acp": "", "acp, bearer.x": "x", "bearer.x,bearer.y": "x", " bearer.a.b ,acp": "a.b", "Bearer.x": "", "bearer.": ""} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		r.Header.Add("Sec-WebSocket-Protocol", "other")
		r.Header.Add("Sec-WebSocket-Protocol", header)
		require.Equal(t, want, tokenOf(r), header)
	}
}
