// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// noted is a client that writes down what it is sent, and with which contexts.
type noted struct {
	acp.UnimplementedClient
	got  []string
	ctxs []context.Context
	err  error
	on   func()
}

func (n *noted) note(ctx context.Context, what string) error {
	n.got, n.ctxs = append(n.got, what), append(n.ctxs, ctx)
	if n.on != nil {
		n.on()
	}
	return n.err
}

func (n *noted) SessionUpdate(ctx context.Context, u *acp.SessionNotification) error {
	what := "mode"
	if c := u.Update.AgentMessageChunk; c != nil {
		what = c.Content.Text.Text
	} else if u.Update.CurrentModeUpdate != nil {
		what = string(u.Update.CurrentModeUpdate.CurrentModeID)
	}
	return n.note(ctx, what)
}

func (n *noted) CompleteElicitation(ctx context.Context, p *acp.CompleteElicitationNotification) error {
	return n.note(ctx, "complete "+string(p.ElicitationID))
}

func (n *noted) CreateElicitation(ctx context.Context, p *acp.CreateElicitationRequest) (*acp.CreateElicitationResponse, error) {
	resp := &acp.CreateElicitationResponse{}
	switch p.Message {
	case "accept":
		resp.Accept = &acp.ElicitationAcceptAction{}
	case "decline":
		resp.Decline = &acp.CreateElicitationResponseDecline{}
	}
	return resp, n.note(ctx, p.Message)
}

type gateKey struct{}

func modeUpdate(id string) *acp.SessionNotification {
	return &acp.SessionNotification{SessionID: "s", Update: acp.SessionUpdate{CurrentModeUpdate: &acp.CurrentModeUpdate{CurrentModeID: acp.SessionModeID(id)}}}
}

func textUpdate(text string) *acp.SessionNotification {
	return &acp.SessionNotification{SessionID: "s", Update: acp.TextChunk(text)}
}

// Before the client knows a session it is sent nothing: that is kept, in order. What belongs to a turn goes out in a turn alone, and nothing
// after the end of the session.
func TestUpdatesKeepTheOrderOfTheProtocol(t *testing.T) {
	client := &noted{}
	g := &gate{Client: client, announcing: make(chan struct{}, 1)}
	ctx := t.Context()
	first := modeUpdate("one")
	require.NoError(t, g.SessionUpdate(ctx, first))
	*first = *modeUpdate("changed later")
	require.NoError(t, g.SessionUpdate(ctx, modeUpdate("two")))
	require.Empty(t, client.got)
	require.Equal(t, errNoTurn, g.SessionUpdate(ctx, textUpdate("early")))
	require.EqualError(t, errNoTurn, "acpbridge: no turn of the session is running")
	require.ErrorIs(t, errNoTurn, acp.ErrAnswered)
	require.False(t, errors.Is(errNoTurn, acp.ErrClosed))

	ended, cancel := context.WithCancel(ctx)
	client.on, client.err = cancel, errors.New("the client is gone")
	g.announce(ended)
	require.Equal(t, []string{"one"}, client.got, "what was not sent is kept if the request has ended")
	client.got = nil
	client.on = func() {
		if len(client.got) == 1 {
			require.NoError(t, g.SessionUpdate(ctx, modeUpdate("three")))
		}
	}
	g.announce(ctx)
	require.Equal(t, []string{"one", "two", "three"}, client.got, "also what comes in between, and errors of the client are its own")
	client.on, client.got = nil, nil
	require.EqualError(t, g.SessionUpdate(ctx, modeUpdate("four")), "the client is gone")
	client.err = nil
	g.announce(ctx)
	require.Equal(t, []string{"four"}, client.got, "nothing is sent twice")

	turn := context.WithValue(ctx, gateKey{}, "the turn's")
	require.False(t, g.isIn(turn))
	g.enter(turn)
	require.True(t, g.isIn(turn))
	require.False(t, g.isIn(ctx))
	require.NoError(t, g.SessionUpdate(turn, textUpdate("in the turn")))
	require.Equal(t, turn, client.ctxs[len(client.ctxs)-1])
	type ownKey struct{}
	own := context.WithValue(ctx, ownKey{}, "mine")
	require.NoError(t, g.SessionUpdate(own, textUpdate("of a tool")))
	last := client.ctxs[len(client.ctxs)-1]
	require.Equal(t, []any{"the turn's", "mine", nil},
		[]any{last.Value(gateKey{}), last.Value(ownKey{}), last.Value("none")})
	g.leave()
	require.False(t, g.isIn(turn))
	require.Equal(t, errNoTurn, g.SessionUpdate(turn, textUpdate("late")))
	require.NoError(t, g.aside(ctx, textUpdate("aside")))
	require.NoError(t, g.SessionUpdate(ctx, modeUpdate("five")))
	require.Equal(t, ctx, client.ctxs[len(client.ctxs)-1])
	require.Equal(t, []string{"four", "in the turn", "of a tool", "aside", "five"}, client.got)
	g.close()
	require.Equal(t, errSessionGone, g.SessionUpdate(ctx, modeUpdate("six")))
	require.Equal(t, errSessionGone, g.SessionUpdate(ctx, textUpdate("six")))
	require.Equal(t, errSessionGone, g.aside(ctx, textUpdate("six")))
	require.EqualError(t, errSessionGone, "acpbridge: the session has been closed")
	require.Len(t, client.got, 5)
}

// Who comes while another one sends what was early waits for it, or for the end of its request.
func TestOnlyOneSendsWhatWasEarly(t *testing.T) {
	client := &noted{}
	g := &gate{Client: client, announcing: make(chan struct{}, 1)}
	require.NoError(t, g.SessionUpdate(t.Context(), modeUpdate("one")))
	g.announcing <- struct{}{}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	g.announce(ended)
	require.Empty(t, client.got)
	<-g.announcing
	require.NoError(t, g.aside(t.Context(), textUpdate("aside")))
	require.Equal(t, []string{"one", "aside"}, client.got, "a client that prompts knows the session")
	require.Empty(t, g.announcing)
}

// The addresses that a user has agreed to open are done with at the end of the turn, unless a tool has said so before.
func TestVisitsAreCompletedOnce(t *testing.T) {
	client := &noted{}
	c := newSessionClient(client)
	ask := func(message, id string) {
		p := &acp.CreateElicitationRequest{Message: message}
		if id != "" {
			p.URL = &acp.ElicitationURLMode{ElicitationID: acp.ElicitationID(id)}
		}
		_, _ = c.CreateElicitation(t.Context(), p)
	}
	ask("accept", "a")
	ask("decline", "b")
	ask("accept", "")
	ask("accept", "c")
	ask("accept", "d")
	client.err = errors.New("broken")
	ask("accept", "e")
	client.err = nil
	client.got = nil
	require.NoError(t, c.CompleteElicitation(t.Context(), &acp.CompleteElicitationNotification{ElicitationID: "c"}))
	require.Equal(t, []string{"complete c"}, client.got)
	turn := context.WithValue(t.Context(), gateKey{}, 1)
	c.leave(turn)
	require.Len(t, client.got, 1, "no turn of it is running")
	c.gate.enter(turn)
	c.leave(turn)
	require.Equal(t, []string{"complete c", "complete a", "complete d"}, client.got)
	require.Equal(t, turn, client.ctxs[len(client.ctxs)-1])
	c.gate.enter(turn)
	c.leave(turn)
	require.Len(t, client.got, 3)
	require.False(t, c.gate.isIn(turn))
}

// stream is an end of a connection.
type stream struct {
	err    error
	n      int
	closed int
}

func (s *stream) Read([]byte) (int, error)  { return s.n, s.err }
func (s *stream) Write([]byte) (int, error) { return s.n, s.err }
func (s *stream) Close() error              { s.closed++; return s.err }

// It is noted when a stream ends, and what could not be written to a file.
func TestEndsOfStreamsAreNoted(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "out", Err: syscall.ENOSPC}
	for _, c := range []struct {
		err         error
		ended, lost bool
	}{
		{nil, false, false}, {io.EOF, true, false}, {errors.New("odd"), true, false}, {full, true, true}, {fmt.Errorf("around: %w", full), true, true},
		{&fs.PathError{Op: "write", Path: "out", Err: fs.ErrClosed}, true, false},
	} {
		for _, writes := range []bool{true, false} {
			watch := &endWatcher{ended: make(chan struct{})}
			s := &stream{err: c.err, n: 3}
			move := watchedReader{s, watch}.Read
			if writes {
				move = watchedWriter{s, watch}.Write
			}
			for range 2 { // it may fail again
				n, err := move(make([]byte, 9))
				require.Equal(t, 3, n)
				require.Equal(t, c.err, err)
			}
			require.Equal(t, c.ended, isClosed(watch.ended), "%v", c.err)
			require.Equal(t, c.lost && writes, watch.lost.Load() != nil, "%v", c.err)
			if lost := watch.lost.Load(); lost != nil {
				require.Equal(t, c.err, *lost)
			}
			require.Equal(t, c.err, watchedReader{s, watch}.Close())
			require.Equal(t, c.err, watchedWriter{s, watch}.Close())
			require.Equal(t, 2, s.closed)
		}
	}
	require.NoError(t, watchedReader{strings.NewReader(""), nil}.Close())
	require.NoError(t, watchedWriter{io.Discard, nil}.Close())
	for err, want := range map[error]string{
		nil: "", io.ErrClosedPipe: "", fmt.Errorf("write: %w", io.ErrClosedPipe): "", syscall.EPIPE: "", &fs.PathError{Err: syscall.ECONNRESET}: "", io.ErrUnexpectedEOF: "acpbridge: serve: unexpected EOF", full: "acpbridge: serve: write out: no space left on device",
	} {
		if got := connError(err); want == "" {
			require.NoError(t, got, "%v", err)
		} else {
			require.EqualError(t, got, want)
			require.ErrorIs(t, got, err)
		}
	}
}

// Writers of one file wait for each other, also in different sessions. Files of different clients on other machines have nothing in common.
func TestWritersOfAFileWaitForEachOther(t *testing.T) {
	one, two := &noted{}, &noted{}
	far := func(c acp.Client) *editor {
		e := &editor{style: 0, roots: []string{"/p"}, real: []string{"/p"}}
		e.Client = c
		return e
	}
	ended, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	cancel(stopped)
	unlock, err := far(one).lock(t.Context(), "/p/a")
	require.NoError(t, err)
	for _, c := range []struct {
		e     *editor
		path  string
		waits bool
	}{
		{far(one), "/p/a", true}, {far(one), "/p/./a", true}, {far(newSessionClient(one)), "/p/a", true}, {far(one), "/p/b", false}, {far(two), "/p/a", false}, {far(nil), "/p/a", false},
	} {
		ctx := t.Context()
		if c.waits {
			ctx = ended
		}
		release, err := c.e.lock(ctx, c.path)
		if !c.waits {
			require.NoError(t, err)
			release()
			continue
		}
		require.Equal(t, stopped, err, "%v", c)
		require.Nil(t, release)
	}
	require.Len(t, writing.files, 1, "nothing is kept of files that nobody writes")
	unlock()
	require.Empty(t, writing.files)
	unlock, err = far(one).lock(t.Context(), "/p/a")
	require.NoError(t, err)
	unlock()
	outside, err := far(one).lock(t.Context(), "/etc/a")
	require.NoError(t, err, "that it lies outside is found later")
	outside()
	require.Empty(t, writing.files)

	here := far(one)
	here.here = true
	unlock, err = here.lock(t.Context(), "/p/a")
	require.NoError(t, err)
	other := far(two)
	other.here = true
	_, err = other.lock(ended, "/p/a")
	require.Equal(t, stopped, err, "a file of this machine is one for all clients")
	unlock()
	require.Empty(t, writing.files)
	require.Equal(t, acp.Client(one), identityOf(newSessionClient(one)))
	require.Nil(t, identityOf(uncomparable{}), "clients that cannot be compared count as one")
	require.Nil(t, identityOf(nil))
}

// uncomparable is a client that cannot be compared.
type uncomparable struct {
	acp.UnimplementedClient
	_ []int
}
