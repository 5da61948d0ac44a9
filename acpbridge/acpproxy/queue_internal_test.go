// SPDX-License-Identifier: Apache-2.0

package acpproxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// slowWriter writes when a test lets it.
type slowWriter struct {
	mu     sync.Mutex
	sizes  []int
	next   chan error // lets a write return
	closed int
}

func (w *slowWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	w.sizes = append(w.sizes, len(p))
	w.mu.Unlock()
	err := <-w.next
	return len(p), err
}

func (w *slowWriter) Close() error {
	w.closed++
	return nil
}

func (w *slowWriter) take() []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.sizes
	w.sizes = nil
	return all
}

// Small lines are joined into writes, and large ones are written alone. What is written makes room again.
func TestLinesAreJoinedIntoWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{next: make(chan error)}
		q := newQueue(w)
		const most = 64 << 10
		line := func(n int) []byte { return bytes.Repeat([]byte("x"), n) }
		require.NoError(t, q.send(line(1)))
		synctest.Wait()
		require.Equal(t, []int{2}, w.take())
		for _, n := range []int{1, 2, most - 6, 1, most - 1, most, 10, most - 11, most - 12} {
			require.NoError(t, q.send(line(n)))
		}
		w.next <- nil
		var got []int
		for range 8 {
			synctest.Wait()
			got = append(got, w.take()...)
			w.next <- nil
		}
		synctest.Wait()
		require.Equal(t, []int{5 + most - 5, 2, most, most, 1, 11, most - 10, most - 11}, got)
		require.Zero(t, q.size)
		require.Zero(t, q.injected)
		q.finish()
		<-q.done
		require.Equal(t, 1, w.closed)
		require.NoError(t, q.failure())
	})
}

// A queue takes a mebibyte, with the ends of the lines, and one line of any length if it is empty. Who sends more waits for room.
func TestQueuesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{next: make(chan error)}
		q := newQueue(w)
		line := func(n int) []byte { return bytes.Repeat([]byte("x"), n) }
		require.NoError(t, q.send(line(2<<20)), "an empty queue takes everything")
		waits := func(n int) (sent chan error) {
			t.Helper()
			sent = make(chan error, 1)
			go func() { sent <- q.send(line(n)) }()
			synctest.Wait()
			require.Empty(t, sent)
			return sent
		}
		sent := waits(1)
		w.next <- nil // the line
		synctest.Wait()
		require.Empty(t, sent, "its end is not written")
		w.next <- nil
		require.NoError(t, <-sent)
		synctest.Wait()
		require.Equal(t, 2, q.size)
		require.NoError(t, q.send(line(1<<20-2)), "exactly as much as fits")
		sent = waits(1)
		q.abort()
		require.Equal(t, errEnded, <-sent)
		require.EqualError(t, errEnded, "the other side has ended")
		w.next <- nil
		<-q.done
		require.Equal(t, errEnded, q.failure())
		require.Equal(t, errEnded, q.send(line(1)))
		require.Equal(t, errEnded, q.inject(line(1)))
		require.Equal(t, 2, w.closed)
	})
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{next: make(chan error)}
		q := newQueue(w)
		require.NoError(t, q.send([]byte("a")))
		synctest.Wait()
		line := bytes.Repeat([]byte("x"), 1<<19)
		require.NoError(t, q.inject(line))
		require.NoError(t, q.inject(line), "a mebibyte of own answers")
		require.Equal(t, errUnread, q.inject([]byte("x")))
		require.EqualError(t, errUnread, "too many answers have not been read")
		require.NoError(t, q.inject(nil))
		for range 5 {
			w.next <- nil
			synctest.Wait()
		}
		require.Zero(t, q.injected)
		require.NoError(t, q.inject([]byte("x")), "they have been read")
		broken := errors.New("broken")
		w.next <- broken
		<-q.done
		require.Equal(t, broken, q.failure())
		require.Equal(t, broken, q.send(nil))
		q.abort()
		require.Equal(t, broken, q.failure(), "the first error counts")
	})
}

// Even an empty line has to be written before a line that is too long for the queue.
func TestALongLineWaitsForAnEmptyOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{next: make(chan error)}
		q := newQueue(w)
		require.NoError(t, q.send(nil))
		sent := make(chan error, 1)
		go func() { sent <- q.send(make([]byte, 1<<20)) }()
		synctest.Wait()
		require.Empty(t, sent)
		w.next <- nil
		require.NoError(t, <-sent)
		synctest.Wait()
		require.Equal(t, []int{1, 1 << 20}, w.take())
		w.next <- nil
		w.next <- nil
		q.finish()
		<-q.done
	})
}

// After its end a queue writes what it has, and takes nothing more.
func TestFinishedQueuesWriteTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{next: make(chan error)}
		q := newQueue(w)
		require.NoError(t, q.send([]byte("a")))
		synctest.Wait()
		require.NoError(t, q.send([]byte("b")))
		q.finish()
		require.Equal(t, errEnded, q.send([]byte("c")))
		require.Equal(t, errEnded, q.inject([]byte("c")))
		w.next <- nil
		w.next <- nil
		<-q.done
		require.Equal(t, []int{2, 2}, w.take())
		require.NoError(t, q.failure())
	})
}

// Secrets are taken out of messages wherever they stand.
func TestSecretsAreTakenOut(t *testing.T) {
	r := &redactor{strings.NewReplacer("sk-planted", redacted)}
	for message, want := range map[string]string{
		`{"a": 1.50, "b" : [true, false, null, "x", -0, 1e9]}`: `{"a":1.50,"b":[true,false,null,"x",-0,1e9]}`,
		`{"apiKey":"x","api_key":"x","API-KEY":"x","accessToken":"x","Authorization":"x","AUTHORIZATION":"","author":"x","token":"x","secret":["x",1,{"a":"x"}],"HTTPSecretKey":"x"}`: `{"apiKey":"[secret]","api_key":"[secret]","API-KEY":"[secret]","accessToken":"[secret]","Authorization":"[secret]","AUTHORIZATION":"","author":"x","token":"[secret]","secret":["[secret]",1,{"a":"[secret]"}],"HTTPSecretKey":"[secret]"}`,
		`{"env":[{"name":"A","value":"x"},{"name":"B","value":"","more":{"name":"x"}}],"headers":[{"name":"H","value":"x"}]}`:                                                         `{"env":[{"name":"A","value":"[secret]"},{"name":"B","value":"","more":{"name":"[secret]"}}],"headers":[{"name":"H","value":"[secret]"}]}`,
		`{"env":{"A":"x","name":"x"},"headers":"x","other":[{"name":"n","value":"v"}]}`:                                                                                               `{"env":{"A":"[secret]","name":"[secret]"},"headers":"[secret]","other":[{"name":"n","value":"v"}]}`,
		`{"env":[["x"],"x",1]}`:                            `{"env":[["[secret]"],"[secret]",1]}`,
		`["a sk-planted b",{"sk-planted":"<sk-planted>"}]`: `["a [secret] b",{"[secret]":"<[secret]>"}]`,
		`"plain"`: `"plain"`, `7`: `7`, `[]`: `[]`, `{}`: `{}`, `[[],{}]`: `[[],{}]`,
		strings.Repeat("[", 20000) + strings.Repeat("]", 20000): `"[secret]"`,
	} {
		got := strings.ReplaceAll(string(r.json([]byte(message))), "\n", "")
		if len(message) > 10000 {
			continue
		}
		require.Equal(t, want, got, message)
	}
	for name, want := range map[string]bool{"apiKey": true, "monkey": false, "keyboard": false, "userName": false, "dbPassword": true, "OPENAI_API_KEY": true, "authorization": true, "authorize": false, "": false} {
		require.Equal(t, want, secretName(name), name)
	}
}

// An option is chosen if its id means nothing else.
func TestOptionsAreChosenByTheirKinds(t *testing.T) {
	option1 := func(id, kind string) acp.PermissionOption {
		return acp.PermissionOption{OptionID: acp.PermissionOptionID(id), Kind: acp.PermissionOptionKind(kind)}
	}
	for _, c := range []struct {
		options []acp.PermissionOption
		want    string
	}{
		{nil, "- false"}, {[]acp.PermissionOption{option1("a", "allow_always")}, "- false"}, {[]acp.PermissionOption{option1("a", "allow_once")}, "a- true"},
		{[]acp.PermissionOption{option1("r", "reject_once"), option1("a", "allow_once"), option1("b", "allow_once")}, "a- true"},
		{[]acp.PermissionOption{option1("a", "allow_once"), option1("a", "allow_always")}, "- false"}, {[]acp.PermissionOption{option1("a", "allow_always"), option1("a", "allow_once")}, "- false"},
		{[]acp.PermissionOption{option1("a", "allow_once"), option1("a", "allow_once")}, "a- true"}, {[]acp.PermissionOption{option1("", "allow_once")}, "- true"}, {[]acp.PermissionOption{option1("", "reject_once")}, "- false"},
	} {
		id, ok := option(&acp.RequestPermissionRequest{Options: c.options}, acp.PermissionOptionKindAllowOnce)
		require.Equal(t, c.want, fmt.Sprintf("%s- %v", id, ok), "%v", c.options)
	}
}

// What was said of a call before is kept for its question.
func TestQuestionsHaveWhatWasSaidBefore(t *testing.T) {
	var c calls
	note := func(update string) {
		h := acp.ParseHeader([]byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":` + update + `}}`))
		c.note(&h)
	}
	merged := func(session, update string) string {
		var u acp.ToolCallUpdate
		require.NoError(t, json.Unmarshal([]byte(update), &u))
		data, err := json.Marshal(c.merged(acp.SessionID(session), u))
		require.NoError(t, err)
		return string(data)
	}
	note(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a tool_call \\"}}`)
	note(`{"sessionUpdate":"plan","entries":[],"x":"tool_call"}`)
	require.Empty(t, c.open)
	note(`{"sessionUpdate":"tool_call","toolCallId":"c","title":"Edit","name":"edit","kind":"edit","status":"pending","content":[{"type":"diff","path":"/a","newText":"n"},{"type":"content","content":{"type":"text","text":"old"}},{"type":"terminal","terminalId":"t"}],"locations":[{"path":"/l"}],"rawInput":{"path":"/p"}}`)
	require.Len(t, c.open, 1)
	require.Positive(t, c.sum)
	for update, want := range map[string]string{
		`{"toolCallId":"other"}`: `{"toolCallId":"other"}`,
		`{"toolCallId":"c"}`:     `{"toolCallId":"c","kind":"edit","title":"Edit","name":"edit","content":[{"type":"diff","path":"/a","newText":"n"},{"type":"content","content":{"type":"text","text":"old"}},{"type":"terminal","terminalId":"t"}],"locations":[{"path":"/l"},{"path":"/p"}],"rawInput":{"path":"/p"}}`,
		`{"toolCallId":"c","kind":"read","title":"Look","name":"look","content":[{"type":"diff","path":"/a","newText":"m"},{"type":"diff","path":"/b","newText":"m"}],"locations":[{"path":"/q"}],"rawInput":{"path":"/p"}}`: `{"toolCallId":"c","kind":"edit","title":"Look","name":"look","content":[{"type":"diff","path":"/a","newText":"m"},{"type":"diff","path":"/b","newText":"m"},{"type":"terminal","terminalId":"t"}],"locations":[{"path":"/q"},{"path":"/l"}],"rawInput":{"path":"/p"}}`,
		`{"toolCallId":"c","content":[{"type":"terminal","terminalId":"u"}],"rawInput":{"path":"/z"}}`:                                                                                                                       `{"toolCallId":"c","kind":"edit","title":"Edit","name":"edit","content":[{"type":"terminal","terminalId":"u"},{"type":"diff","path":"/a","newText":"n"}],"locations":[{"path":"/l"},{"path":"/p"}],"rawInput":{"path":"/z"}}`,
		`{"toolCallId":"c","rawInput":{}}`:   `{"toolCallId":"c","kind":"edit","title":"Edit","name":"edit","content":[{"type":"diff","path":"/a","newText":"n"},{"type":"content","content":{"type":"text","text":"old"}},{"type":"terminal","terminalId":"t"}],"locations":[{"path":"/l"},{"path":"/p"}],"rawInput":{"path":"/p"}}`,
		`{"toolCallId":"c","rawInput":null}`: `{"toolCallId":"c","kind":"edit","title":"Edit","name":"edit","content":[{"type":"diff","path":"/a","newText":"n"},{"type":"content","content":{"type":"text","text":"old"}},{"type":"terminal","terminalId":"t"}],"locations":[{"path":"/l"},{"path":"/p"}],"rawInput":{"path":"/p"}}`,
	} {
		require.JSONEq(t, want, merged("s", update), update)
	}
	require.JSONEq(t, `{"toolCallId":"c"}`, merged("another", `{"toolCallId":"c"}`))
	note(`{"sessionUpdate":"tool_call_update","toolCallId":"c","kind":"read"}`)
	require.Contains(t, merged("s", `{"toolCallId":"c"}`), `"kind":"edit"`, "it does not become harmless")
	note(`{"sessionUpdate":"tool_call","toolCallId":"r","title":"Read","kind":"read"}`)
	for _, kind := range []string{"read", "search", "think", "fetch", "edit", "delete", "execute", "other"} {
		require.Contains(t, merged("s", `{"toolCallId":"r","kind":"`+kind+`"}`), `"kind":"`+kind+`"`)
		require.Equal(t, kind == "read" || kind == "search" || kind == "think" || kind == "fetch", harmless(acp.ToolKind(kind)))
	}
	for _, status := range []string{"completed", "failed"} {
		id := map[string]string{"completed": "c", "failed": "r"}[status]
		note(`{"sessionUpdate":"tool_call_update","toolCallId":"` + id + `","status":"` + status + `"}`)
		require.JSONEq(t, `{"toolCallId":"`+id+`"}`, merged("s", `{"toolCallId":"`+id+`"}`))
	}
	require.Zero(t, c.sum)
	require.Empty(t, c.size)
	require.Empty(t, c.open)
}
