// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
)

// spot is a place that notes the prompts that it is asked to run.
type spot struct {
	name  string
	runs  bool
	asked *[]string
}

func (p *spot) Key() string { return "editor:" + p.name }

func (p *spot) TakeWaiting(w *host.Waiting, admit func(context.Context) (*host.Turn, error)) bool {
	*p.asked = append(*p.asked, p.name+" "+w.Parts[0].Text)
	if !p.runs {
		return false
	}
	if turn, err := admit(context.Background()); err == nil {
		go turn.Run(host.Prompt{Parts: w.Parts, Shown: w.Shown, Plain: w.Plain})
	}
	return true
}

// left puts a prompt into the inbox that nobody here has sent, and waits until somebody has run it.
func left(t *testing.T, s *host.Session, text string) {
	t.Helper()
	_, err := s.Host().Store().Put(t.Context(), s.ID(), session.Item{
		Kind: session.ItemPrompt, Time: time.Now(),
		Data: []byte(`{"parts":[{"kind":"user","text":"` + text + `"}]}`),
	})
	require.NoError(t, err)
	time.Sleep(3 * time.Second)
	synctest.Wait()
	require.Contains(t, shown(t, s), "I "+text+`"`)
}

// Of several places that may run a prompt of the inbox, the one that came last is asked first, and
// the next one if it does not. Those that have left, and those that could not open the session, are
// not asked. If no place runs it, the session does.
func TestPlacesRunThePromptsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		first := &spot{"first", true, &asked}
		second := &spot{"second", false, &asked}
		third := &spot{"third", true, &asked}
		made := make(chan struct{})
		store := new(session.Memory)
		h := newHost(t, host.Config[none, string]{
			Agent: newAgent(echo()), Store: shared{store},
			Deps: func(context.Context, *host.Session) (none, error) { <-made; return none{}, nil },
		})
		info, err := store.Create(t.Context(), session.New{})
		require.NoError(t, err)
		opened := make(chan *host.Session, 1)
		go func() {
			s, err := h.Open(t.Context(), info.ID, first)
			require.NoError(t, err)
			opened <- s
		}()
		synctest.Wait()
		late, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = h.Open(late, info.ID, third)
		require.ErrorIs(t, err, context.DeadlineExceeded, "the session is still being opened")
		close(made)
		s := <-opened
		_, err = h.Open(t.Context(), info.ID, second)
		require.NoError(t, err)
		require.Same(t, first, s.Place())

		left(t, s, "One")
		require.Equal(t, []string{"second One", "first One"}, asked)
		asked = nil
		require.NoError(t, s.Leave(t.Context(), second))
		left(t, s, "Two")
		require.Equal(t, []string{"first Two"}, asked)
		asked = nil
		_, err = h.Open(t.Context(), info.ID, nil)
		require.NoError(t, err)
		require.NoError(t, s.Leave(t.Context(), first))
		require.Equal(t, host.Local, s.Place())
		left(t, s, "Three")
		require.Empty(t, asked)
		require.NoError(t, h.Close(t.Context()))
	})
}

// A place that runs a prompt later, because a turn is running, is not asked about it again meanwhile.
func TestPlacesAreAskedOnceAboutAPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		g := newGate()
		store := shared{new(session.Memory)}
		h := newHost(t, host.Config[none, string]{Agent: newAgent(g.model()), Store: store})
		it := &spot{"it", true, &asked}
		for name, place := range map[string]host.Place{"with a place": it, "without": nil} {
			s, err := h.Create(t.Context(), session.New{}, place)
			require.NoError(t, err)
			ended := runs(t, s, "First.")
			<-g.asked
			_, err = h.Store().Put(t.Context(), s.ID(), session.Item{
				Kind: session.ItemPrompt, Time: time.Now(),
				Data: []byte(`{"parts":[{"kind":"user","text":"Later."}]}`),
			})
			require.NoError(t, err)
			time.Sleep(5 * time.Second)
			synctest.Wait()
			if place != nil {
				require.Equal(t, []string{"it Later."}, asked)
			}
			first, err := s.AdmitWith(t.Context(), host.BusyRefuse)
			require.ErrorIs(t, err, host.ErrBusy)
			require.Nil(t, first)
			g.answer <- "One."
			require.NoError(t, (<-ended).Err)
			require.Equal(t, "Later.", <-g.asked)
			s.Cancel()
			synctest.Wait()
			require.Contains(t, shown(t, s), "Later.", name)
			require.Nil(t, s.Turn())
			working, _ := s.Working()
			require.False(t, working, name)
		}
		require.NoError(t, h.Close(t.Context()))
	})
}

// knot counts how often it is closed.
type knot struct {
	closed int
	err    error
}

func (k *knot) Busy() bool { return false }

func (k *knot) Close(context.Context) error {
	k.closed++
	return k.err
}

// Whoever leaves the session with its place is told that the dependencies there were not released.
// If a turn is running they stay until the next one begins. What is tied to them is closed with
// them, once.
func TestDependenciesEndWithTheirPlace(t *testing.T) {
	errRelease, errKnot := errors.New("the command runs on"), errors.New("the pipe is stuck")
	var log bytes.Buffer
	var made []*knot
	fails, released := true, 0
	g := newGate()
	h := newHost(t, host.Config[none, string]{
		Agent: newAgent(g.model()), Store: durable{new(session.Memory)},
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Deps: func(_ context.Context, s *host.Session) (none, error) {
			k := new(knot)
			if fails {
				k.err = errKnot
			}
			made = append(made, k)
			s.Tie(k)
			return none{}, nil
		},
		Release: func(context.Context, *host.Session, none) error {
			if released++; fails {
				return errRelease
			}
			return nil
		},
	})
	var asked []string
	one, two := &spot{"one", true, &asked}, &spot{"two", true, &asked}
	s, err := h.Create(t.Context(), session.New{}, one)
	require.NoError(t, err)
	require.NotNil(t, s.Deps())
	_, err = h.Open(t.Context(), s.ID(), two)
	require.NoError(t, err)
	require.NoError(t, s.Leave(t.Context(), two), "it is not the place of the session")
	require.Same(t, one, s.Place())
	require.Zero(t, released)
	_, err = h.Open(t.Context(), s.ID(), nil)
	require.NoError(t, err)

	err = s.Leave(t.Context(), one)
	require.ErrorIs(t, err, errRelease)
	require.ErrorIs(t, err, errKnot)
	require.Equal(t, host.Local, s.Place())
	require.Nil(t, s.Deps(), "they are made anew when they are needed")
	require.Equal(t, 1, made[0].closed)
	fails = false
	ended := runs(t, s, "Go.")
	<-g.asked
	require.NotNil(t, s.Deps())
	require.Len(t, made, 2)
	g.answer <- "Gone."
	require.NoError(t, (<-ended).Err)

	// Once more, from a place that is left while a turn runs there.
	require.NoError(t, s.Close(t.Context()))
	require.Equal(t, 2, released)
	require.Equal(t, 1, made[1].closed)
	made, fails = nil, true
	s, err = h.Open(t.Context(), s.ID(), one)
	require.NoError(t, err)
	_, err = h.Open(t.Context(), s.ID(), nil)
	require.NoError(t, err)
	ended = runs(t, s, "Run.")
	<-g.asked
	require.NoError(t, s.Leave(t.Context(), one), "nobody waits for the turn")
	require.Same(t, one, s.Place())
	require.Zero(t, made[0].closed)
	g.answer <- "Done."
	require.NoError(t, (<-ended).Err)
	ended = runs(t, s, "Again.")
	<-g.asked
	require.Equal(t, host.Local, s.Place())
	require.Equal(t, 1, made[0].closed)
	fails, made[1].err = false, nil
	require.Contains(t, log.String(), "host: the dependencies of a closed place were not released")
	g.answer <- "So."
	require.NoError(t, (<-ended).Err)
	require.Equal(t, 1, made[0].closed)
}
