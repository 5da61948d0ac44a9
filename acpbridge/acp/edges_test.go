// SPDX-License-Identifier: Apache-2.0

package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// answeredBy returns a connection whose peer has sent an answer to the first call, and then ends.
func answeredBy(t *testing.T, answer string, opts *ConnOptions) (conn *ClientConn, sent *bytes.Buffer, serve func() error) {
	t.Helper()
	sent = new(bytes.Buffer)
	r, w := Pipe()
	conn = NewClientConn(r, sent, func(*ClientConn) Client { return UnimplementedClient{} }, opts)
	done := make(chan error, 1)
	go func() { done <- conn.Serve(context.Background()) }()
	go func() {
		synctest.Wait() // the call waits
		_, _ = io.WriteString(w, answer+"\n")
	}()
	return conn, sent, func() error {
		_ = conn.Close()
		<-conn.Done()
		return <-done
	}
}

// A call fails with its method and the reason: parameters that have no JSON, or an answer that has
// another form.
func TestCallsThatCannotBeMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, sent, end := answeredBy(t, `{"jsonrpc":"2.0","id":1,"result":{"a":1}}`, nil)
		var n int
		err := conn.Call(t.Context(), "_x", nil, &n)
		require.EqualError(t, err, "acp: _x: decode the result: json: cannot unmarshal object into Go value of type int")
		require.Equal(t, `{"jsonrpc":"2.0","id":1,"method":"_x","params":{}}`+"\n", sent.String())
		none := make(chan int)
		require.EqualError(t, conn.Call(t.Context(), "_y", none, nil), "acp: _y: json: unsupported type: chan int")
		require.EqualError(t, conn.Notify(t.Context(), "_z", none), "acp: _z: json: unsupported type: chan int")
		require.EqualError(t, conn.Notify(t.Context(), "_z", json.RawMessage("{")), "acp: _z: a raw value is not valid JSON")
		ended, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("because"))
		require.EqualError(t, conn.Call(ended, "_w", nil, nil), "acp: _w: because")
		require.NoError(t, end())
		require.ErrorIs(t, conn.Call(t.Context(), "_v", nil, nil), ErrClosed)
		require.ErrorIs(t, conn.Notify(t.Context(), "_v", nil), ErrClosed)
		require.NotContains(t, sent.String(), "_y")
		require.NotContains(t, sent.String(), "_z")
	})
}

// A connection that has been closed is not served, and none is served twice.
func TestConnectionsAreServedOnce(t *testing.T) {
	conn := NewClientConn(strings.NewReader(""), io.Discard, func(*ClientConn) Client { return UnimplementedClient{} }, nil)
	require.NoError(t, conn.Close())
	require.NoError(t, conn.Close())
	require.EqualError(t, conn.Notify(t.Context(), "_x", nil), "acp: _x: connection closed")
	require.EqualError(t, conn.Call(t.Context(), "_x", nil, nil), "acp: _x: connection closed")
	require.EqualError(t, conn.Serve(t.Context()), "acp: Serve may be called once")
	<-conn.Done()
	conn = NewClientConn(strings.NewReader(""), io.Discard, func(*ClientConn) Client { return UnimplementedClient{} }, nil)
	conn.end(errors.New("because"), false)
	require.EqualError(t, conn.Serve(t.Context()), "acp: connection closed: because")
	conn = NewClientConn(strings.NewReader(""), io.Discard, func(*ClientConn) Client { return UnimplementedClient{} }, nil)
	require.NoError(t, conn.Serve(t.Context()))
	require.EqualError(t, conn.Serve(t.Context()), "acp: Serve may be called once")
	require.ErrorIs(t, conn.Err(), io.EOF)
}

// What is added to the _meta of requests stands beside their own, which stays as it is. Parameters that
// are no object have none, and what is not JSON is not sent.
func TestMetaOfRequests(t *testing.T) {
	more := map[string]json.RawMessage{"a": json.RawMessage("1"), "b": json.RawMessage(`{"c":2}`)}
	c := &conn{opts: ConnOptions{OutgoingMeta: func(context.Context) map[string]json.RawMessage { return more }}}
	out := func(params message) string {
		got, err := c.outgoing(t.Context(), params)
		if err != nil {
			return "error: " + err.Error()
		}
		data, err := marshalJSON(got)
		require.NoError(t, err)
		return string(data)
	}
	raw := func(text string) message { m := rawMessage(text); return &m }
	require.Equal(t, `{"_meta":{"a":1,"b":{"c":2,"d":4}},"x":1}`, out(raw(`{"x":1,"_meta":{"b":{"d":4}}}`)))
	require.Equal(t, `{"_meta":{"a":3,"b":{"c":2}}}`, out(raw(`{"_meta":{"a":3}}`)))
	require.Equal(t, `[1]`, out(raw(`[1]`)))
	require.Equal(t, "error: acp: a raw value is not valid JSON", out(raw(`{`)))
	more = map[string]json.RawMessage{"a": json.RawMessage("{")}
	require.True(t, strings.HasPrefix(out(raw(`{}`)), "error: json: "))
	more = nil
	require.Equal(t, `{"x":1}`, out(raw(`{"x":1}`)))
	c.opts.OutgoingMeta = nil
	require.Equal(t, `{"x":1}`, out(raw(`{"x":1}`)))

	type key struct{}
	in := &incoming{ctx: t.Context()}
	var seen []string
	c.opts.IncomingMeta = func(ctx context.Context, meta map[string]json.RawMessage) context.Context {
		data, _ := json.Marshal(meta)
		seen = append(seen, string(data))
		if meta["none"] != nil {
			return nil
		}
		return context.WithValue(ctx, key{}, "found")
	}
	for params, want := range map[string]any{`{"_meta":{"a":1}}`: "found", `{"_meta":{"none":1}}`: nil, `{"_meta":{}}`: nil, `{"_meta":7}`: nil, `{}`: nil, `[]`: nil, ``: nil} {
		in.params = json.RawMessage(params)
		require.Equal(t, want, c.contextOf(in).Value(key{}), params)
	}
	require.ElementsMatch(t, []string{`{"a":1}`, `{"none":1}`}, seen)
	c.opts.IncomingMeta = nil
	in.params = json.RawMessage(`{"_meta":{"a":1}}`)
	require.Nil(t, c.contextOf(in).Value(key{}))
}

// TestMerges has objects and lists that are joined, and what cannot be.
func TestMerges(t *testing.T) {
	for _, c := range []struct{ base, more, want string }{
		{`{"a":1,"b":{"c":2}}`, `{"b":{"d":3},"e":4}`, `{"a":1,"b":{"c":2,"d":3},"e":4}`}, {`{"a":[1,{"b":2}]}`, `{"a":[5,{"c":3}]}`, `{"a":[5,{"b":2,"c":3}]}`}, {`{"a":[1,2]}`, `{"a":[3]}`, `{"a":[3]}`}, {`{"a":[]}`, `{"a":[]}`, `{"a":[]}`},
		{`{"a":{"b":1}}`, `{"a":[1]}`, `{"a":[1]}`}, {`{"a":[1]}`, `{"a":{"b":1}}`, `{"a":{"b":1}}`}, {`{"a":1}`, `{"a":null}`, `{"a":null}`}, {`null`, `{"a":1}`, `{"a":1}`}, {`{"a":1}`, `null`, `{"a":1}`}, {`{"a": {"b": 1}}`, `{"a": {"b": 2}}`, `{"a":{"b":2}}`}, {`{}`, `{}`, `{}`},
		{`[]`, `{}`, "error"}, {`{}`, `[]`, "error"}, {`{`, `{}`, "error"}, {`{}`, ``, "error"},
	} {
		got, err := Merge(json.RawMessage(c.base), json.RawMessage(c.more))
		if c.want == "error" {
			require.ErrorContains(t, err, "acp: merge: ")
			require.Nil(t, got)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, string(got), "%s and %s", c.base, c.more)
	}
	// Fields of answers are joined with those that came before. What is no object changes nothing.
	ok, err := ExtendAnswer(t.Context(), map[string]int{"a": 1})
	require.False(t, ok)
	require.NoError(t, err)
	in := &incoming{request: true, conn: &conn{}}
	ctx := &handlerCtx{t.Context(), in}
	for _, fields := range []any{map[string]int{"a": 1}, map[string]int{"b": 2}} {
		ok, err = ExtendAnswer(ctx, fields)
		require.True(t, ok)
		require.NoError(t, err)
	}
	for _, fields := range []any{7, make(chan int)} {
		ok, err = ExtendAnswer(ctx, fields)
		require.False(t, ok)
		require.Error(t, err)
	}
	require.Equal(t, `{"a":1,"b":2}`, string(in.extra))
	in.request = false
	ok, _ = ExtendAnswer(ctx, map[string]int{"c": 1})
	require.False(t, ok)
	require.False(t, AfterResponse(ctx, func(context.Context) {}))
	joined := func(result string) string {
		m := rawMessage(result)
		got, err := in.conn.extended(in, &m)
		if err != nil {
			return err.Error()
		}
		data, err := marshalJSON(got)
		require.NoError(t, err)
		return string(data)
	}
	require.Equal(t, `{"a":1,"b":2,"x":3}`, joined(`{"x":3,"a":0}`))
	require.True(t, strings.HasPrefix(joined(`[]`), "acp: the answer cannot be extended: acp: merge: "))
	require.Equal(t, "acp: the answer cannot be extended: acp: a raw value is not valid JSON", joined(`{`))
	in.extra = nil
	require.Equal(t, `[]`, joined(`[]`))
	in.params = json.RawMessage(`{"p":1}`)
	require.Equal(t, `{"p":1}`, string(Params(ctx)))
	require.Nil(t, Params(t.Context()))
}

// A waiting message whose request is answered meanwhile is refused, and the next one comes in.
func TestAnsweredRequestsSendNothingMore(t *testing.T) {
	o := newOutbox(10, nil)
	require.NoError(t, o.send(t.Context(), lineOf("a", 9)))
	in := &incoming{}
	first := &waiter{e: lineOf("b", 5), in: in, done: make(chan struct{})}
	second := &waiter{e: lineOf("c", 5), done: make(chan struct{})}
	o.waiters = append(o.waiters, first, second)
	require.NoError(t, o.answer(in, lineOf("!", 2)))
	o.written(make([]byte, 6))
	<-first.done
	<-second.done
	require.Equal(t, ErrAnswered, first.err)
	require.NoError(t, second.err)
	require.Empty(t, o.waiters)
	require.Equal(t, "aaaaaaaa\n!\ncccc\n", written(t, o))
}

// Without a limit, lines of 64 MiB are read. The parameters of a message are changed only if it is
// whole.
func TestLimitsOfRawLines(t *testing.T) {
	require.Equal(t, 64<<20, NewLineReader(strings.NewReader(""), 0).lines.max)
	require.Equal(t, 64<<20, NewLineReader(strings.NewReader(""), -1).lines.max)
	require.Equal(t, 1, NewLineReader(strings.NewReader(""), 1).lines.max)
	set := func(json.RawMessage) (json.RawMessage, error) { return json.RawMessage("1"), nil }
	for line, want := range map[string]string{
		`{"params":{"x":}}`: "acp: the message has no parameters", `{"params":{"y":[1}}`: "acp: the message has no parameters", `{"params":7}`: "acp: the message has no parameters", ``: "acp: the message has no parameters", ` `: "acp: the message has no parameters",
		`{"params":{"x":1,"x":2}}`: `acp: the message cannot be changed: it has the member "x" twice`, `{"params":{"x":1}`: "acp: the message has no parameters",
	} {
		got, err := SetParam([]byte(line), "x", set)
		require.EqualError(t, err, want, line)
		require.Nil(t, got)
	}
	for line, want := range map[string]string{`{"params":{"x":2}}`: `{"params":{"x":1}}`, ` {"params": {} } `: ` {"params": {"x":1} } `, `{"a":{"x":2},"params":{"y":{"x":2}}}`: `{"a":{"x":2},"params":{"x":1,"y":{"x":2}}}`} {
		got, err := SetParam([]byte(line), "x", set)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	_, err := SetParam([]byte(`{"params":{}}`), "x", func(json.RawMessage) (json.RawMessage, error) { return nil, nil })
	require.Error(t, err)
}

// The turn that runs is cancelled last: if it ended first, the next one could begin, and do something, before it is cancelled too.
func TestWaitingTurnsAreCancelledBeforeTheOneThatRuns(t *testing.T) {
	var order []int
	c := &conn{turns: map[string][]*incoming{}}
	for i := range 3 {
		c.turns["s"] = append(c.turns["s"], &incoming{cancel: func(cause error) {
			require.Equal(t, ErrTurnCancelled, cause)
			order = append(order, i)
		}})
	}
	c.cancelTurns("s")
	require.Equal(t, []int{2, 1, 0}, order)
}
