// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
)

// asked returns the statements about leases, by what they do.
func (f *fakeServer) asked() (all []string) {
	for _, s := range f.statements("") {
		for _, kind := range []string{".acquire(", "AND instance = $2", "AND token = $2", ".append("} {
			if strings.Contains(s.sql, kind) {
				all = append(all, map[string]string{".acquire(": "acquire", "AND instance = $2": "unacquire", "AND token = $2": "release", ".append(": "append"}[kind])
			}
		}
	}
	return all
}

// answers has a server give these answers to statements about leases, in order, and then the usual
// ones: leases are given and taken back.
func (f *fakeServer) answers(all ...*reply) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var n atomic.Int64
	f.answer = func(_ *fakeConn, sql string) *reply {
		usual := &reply{}
		switch {
		case strings.Contains(sql, ".acquire("):
			usual.row = []any{5, 3, "", 0}
		case strings.Contains(sql, ".append("):
			usual.row = []any{"done", 4, nil, nil}
		case !strings.Contains(sql, "AND instance = $2") && !strings.Contains(sql, "AND token = $2"):
			return nil
		}
		if i := int(n.Add(1)) - 1; i < len(all) && all[i] != nil {
			return all[i]
		}
		return usual
	}
}

// A session that may have been acquired on a connection that is lost is given back before it is
// acquired again. If that cannot be done now, it is done later, and the caller is told.
func TestLostAcquireIsUndone(t *testing.T) {
	drop := &reply{drop: true}
	for _, c := range []struct {
		answers []*reply
		want    error
		asked   []string
	}{
		{nil, nil, []string{"acquire"}},
		{[]*reply{drop}, nil, []string{"acquire", "unacquire", "acquire"}},
		{[]*reply{{code: "22000"}}, errAny, []string{"acquire"}},
		{[]*reply{drop, {code: "22000"}}, session.ErrUnavailable, []string{"acquire", "unacquire"}},
		{[]*reply{drop, nil, drop}, session.ErrUnavailable, []string{"acquire", "unacquire", "acquire"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fakeServer{}
			s, end := f.open(t, Options{})
			defer end()
			f.answers(c.answers...)
			l, err := s.Acquire(t.Context(), "a", session.Claim{Holder: "me"})
			switch c.want {
			case nil:
				require.NoError(t, err)
				require.Equal(t, session.Lease{Session: "a", Token: 5, Holder: "me", Head: 3}, l)
			case errAny:
				require.Error(t, err)
			default:
				require.ErrorIs(t, err, c.want)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Equal(t, c.asked, f.asked())
		})
	}
}

var errAny = errors.New("any error")

// Who gives up while a session is acquired does not hold it.
func TestAcquireThatIsGivenUpIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, gate := &fakeServer{}, make(chan struct{})
		s, end := f.open(t, Options{})
		defer end()
		f.mu.Lock()
		f.answer = func(_ *fakeConn, sql string) *reply {
			if strings.Contains(sql, ".acquire(") {
				<-gate
				return &reply{row: []any{5, 3, "", 0}}
			}
			return nil
		}
		f.mu.Unlock()
		gone := errors.New("the caller has gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(gone) })
		begin := time.Now()
		_, err := s.Acquire(ctx, "a", session.Claim{})
		require.ErrorIs(t, err, gone)
		require.Equal(t, time.Second, time.Since(begin), "it does not wait for the server")
		require.Equal(t, []string{"acquire"}, f.asked())
		close(gate)
		synctest.Wait()
		require.Equal(t, []string{"acquire", "release"}, f.asked())
		require.Equal(t, []string{"a", "5"}, f.statements("AND token = $2")[0].args)
	})
}

// A session that could not be given back is given back as soon as the server answers. Until then
// who tries again is told that it could not be done, and then once that it was.
func TestLostReleaseIsMadeUpFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{}
		s, end := f.open(t, Options{})
		defer end()
		drop, lost := &reply{drop: true}, &reply{row: []any{"lost", 4, nil, nil}}
		f.answers(drop, drop, drop)
		begin := time.Now()
		l := session.Lease{Session: "a", Token: 5}
		require.ErrorIs(t, s.Release(t.Context(), l), session.ErrUnavailable)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, ms(0, 0, 100, 200), f.since(begin, "AND token = $2"), "at once, and every tenth of a second")
		f.mu.Lock()
		f.answer = func(_ *fakeConn, sql string) *reply {
			switch {
			case strings.Contains(sql, "AND token = $2"):
				return &reply{none: true}
			case strings.Contains(sql, ".append("):
				return lost
			}
			return nil
		}
		f.mu.Unlock()
		require.NoError(t, s.Release(t.Context(), l), "it was given back meanwhile")
		require.ErrorIs(t, s.Release(t.Context(), l), session.ErrLeaseLost)
	})
}

// Appends that share a transaction which fails because of one of them are made alone. What is not
// known to have failed is not made again.
func TestAppendsThatFailTogetherAreMadeAlone(t *testing.T) {
	for _, c := range []struct {
		first *reply
		asked int
		want  func(id string, err error)
	}{
		{&reply{code: "22000"}, 3 + 3, func(_ string, err error) { require.NoError(t, err) }},
		{&reply{drop: true}, 1, func(_ string, err error) { require.ErrorIs(t, translate(err), session.ErrUnavailable) }},
		{&reply{row: []any{"moved", 9, nil, nil}}, 3, func(id string, err error) {
			if id != "0" {
				require.NoError(t, err)
				return
			}
			var moved *session.Error
			require.ErrorAs(t, err, &moved)
			require.Equal(t, &session.Error{Err: session.ErrHeadMoved, Head: 9}, moved)
		}},
		{&reply{row: []any{"lost", 9, "other", 7}}, 3, func(id string, err error) {
			if id != "0" {
				require.NoError(t, err)
				return
			}
			var lost *session.Error
			require.ErrorAs(t, err, &lost)
			require.Equal(t, &session.Error{Err: session.ErrLeaseLost, Holder: "other", Since: time.Unix(0, 7).UTC()}, lost)
		}},
		{&reply{row: []any{"changed", 9, "item", nil}}, 3, func(id string, err error) {
			if id != "0" {
				require.NoError(t, err)
				return
			}
			var changed *session.Error
			require.ErrorAs(t, err, &changed)
			require.Equal(t, &session.Error{Err: session.ErrChanged, Item: "item"}, changed)
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fakeServer{}
			s, end := f.open(t, Options{})
			defer end()
			f.answers(c.first)
			var batch []*commit
			for _, id := range []string{"2", "0", "1"} {
				batch = append(batch, &commit{addition: newAddition(session.Lease{Session: id}, 0, nil, nil), done: make(chan struct{})})
			}
			s.transaction(batch)
			for i, one := range batch {
				<-one.done
				require.Equal(t, fmt.Sprint(i), one.session, "in the order of the ids")
				c.want(one.session, one.err)
				require.Equal(t, one.err == nil, one.last == 4)
			}
			require.Len(t, f.asked(), c.asked)
		})
	}
}

// Errors of the server have the identities that package session has for them. An error that has
// one, and one that is not known, is not changed.
func TestErrorsOfTheServerHaveIdentities(t *testing.T) {
	for code, want := range map[string]error{
		"53100": session.ErrFull, "53200": session.ErrUnavailable, "25006": session.ErrReadOnly, "25P02": nil, "26000": session.ErrInvalid, "42P05": session.ErrInvalid,
		"57014": session.ErrBusy, "57P01": session.ErrUnavailable, "57P03": session.ErrUnavailable, "42501": session.ErrReadOnly, "42P01": nil, "08006": session.ErrUnavailable,
		"08P01": session.ErrUnavailable, "28P01": session.ErrUnavailable, "3D000": session.ErrUnavailable, "40001": session.ErrBusy, "40P01": session.ErrBusy,
		"55P03": session.ErrBusy, "XX001": session.ErrCorrupt, "22000": nil, "23505": nil, "5": nil, "": nil,
	} {
		err := serverError(code)
		got := translate(fmt.Errorf("query: %w", err))
		for _, identity := range []error{session.ErrFull, session.ErrUnavailable, session.ErrReadOnly, session.ErrInvalid, session.ErrBusy, session.ErrCorrupt} {
			require.Equal(t, want != nil && identity == want, errors.Is(got, identity), "%s: %v", code, identity)
		}
		require.ErrorIs(t, got, err)
		require.True(t, answered(got), code)
		require.Equal(t, code == "57P01", terminated(got), code)
		require.Equal(t, code == "40001" || code == "40P01", isConflict(got), code)
		require.Equal(t, code == "23505", errors.Is(exists(err), session.ErrExists), code)
	}
	for _, known := range []error{
		session.ErrInvalid, session.ErrVersion, session.ErrClosed, session.ErrCorrupt, session.ErrNotFound, session.ErrExists, session.ErrTooMany, context.Canceled, context.DeadlineExceeded,
		&session.Error{Err: session.ErrHeld},
	} {
		require.Equal(t, known, translate(known))
		require.Equal(t, errors.As(known, new(*session.Error)), answered(known))
	}
	require.NoError(t, translate(nil))
	require.NoError(t, fail("get", "a", nil))
	require.ErrorIs(t, translate(io.EOF), session.ErrUnavailable)
	require.False(t, answered(io.EOF))
	fatal := &pgconn.PgError{Code: "22000", SeverityUnlocalized: "FATAL"}
	require.False(t, answered(fatal), "the server has ended the connection, before or after the commit")
	held := &session.Error{Err: session.ErrHeld, Holder: "me"}
	require.Equal(t, &session.Error{Op: "get", Session: "a", Err: session.ErrHeld, Holder: "me"}, fail("get", "a", fmt.Errorf("x: %w", held)))
	require.Equal(t, &session.Error{Err: session.ErrHeld, Holder: "me"}, held, "a copy is completed")
	require.Equal(t, &session.Error{Op: "get", Session: "a", Err: session.ErrNotFound}, fail("get", "a", session.ErrNotFound))
}
