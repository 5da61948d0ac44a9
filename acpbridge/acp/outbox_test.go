// SPDX-License-Identifier: Apache-2.0

package acp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// lineOf returns an encoder that holds a line of a size, its end included.
func lineOf(c string, size int) *encoder {
	e := newEncoder()
	e.b = append(e.b, strings.Repeat(c, size-1)+"\n"...)
	return e
}

// writes notes what is written, and fails at the n-th write.
type writes struct {
	all   []string
	fails int
}

func (w *writes) Write(b []byte) (int, error) {
	w.all = append(w.all, string(b))
	if len(w.all) == w.fails {
		return 0, errors.New("because")
	}
	return len(b), nil
}

// written closes an outbox and returns what it writes.
func written(t *testing.T, o *outbox) (text string) {
	t.Helper()
	var w writes
	o.close(ErrClosed)
	require.NoError(t, o.write(&w))
	return strings.Join(w.all, "")
}

// Messages that fit are taken in order, up to the limit and not beyond it; one that does not fit waits
// until there is room, and those behind it wait, too.
func TestMessagesWaitForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tapped []string
		o := newOutbox(10, func(line []byte) { tapped = append(tapped, string(line)) })
		ctx := t.Context()
		require.NoError(t, o.send(ctx, lineOf("a", 4)))
		require.NoError(t, o.send(ctx, lineOf("b", 6)))
		require.Equal(t, 10, o.queued)
		errs := map[string]chan error{}
		send := func(c string, size int, ctx context.Context) {
			errs[c] = make(chan error, 1)
			go func() { errs[c] <- o.send(ctx, lineOf(c, size)) }()
			synctest.Wait()
		}
		because := errors.New("because")
		leaving, leave := context.WithCancelCause(ctx)
		send("c", 8, leaving)
		send("d", 2, ctx)
		send("e", 3, ctx)
		require.Len(t, o.waiters, 3)
		require.NoError(t, o.answer(nil, lineOf("!", 5)), "an answer never waits")
		o.offer(lineOf("?", 5), 14)
		o.offer(lineOf("o", 5), 15)
		require.Equal(t, 20, o.queued)
		require.Equal(t, []string{"aaa", "bbbbb", "!!!!", "oooo"}, tapped)

		o.written(make([]byte, 10))
		synctest.Wait()
		require.Equal(t, 10, o.queued)
		require.Len(t, o.waiters, 3, "the first one does not fit")
		leave(because)
		require.ErrorIs(t, <-errs["c"], because)
		require.Len(t, o.waiters, 2, "nor does the next one")
		o.written(make([]byte, 1))
		require.Len(t, o.waiters, 2)
		o.written(make([]byte, 1))
		require.NoError(t, <-errs["d"])
		require.Len(t, o.waiters, 1)
		o.written(make([]byte, 10))
		require.NoError(t, <-errs["e"])
		require.Empty(t, o.waiters)
		require.Equal(t, 3, o.queued)
		require.Equal(t, []string{"aaa", "bbbbb", "!!!!", "oooo", "d", "ee"}, tapped)
		require.NoError(t, o.send(ctx, lineOf("f", 7)))
		require.Equal(t, "aaa\nbbbbb\n!!!!\noooo\nd\nee\nffffff\n", written(t, o))
	})
}

// The one that leaves lets those behind it in, if they fit.
func TestThoseBehindComeIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutbox(10, nil)
		require.NoError(t, o.send(t.Context(), lineOf("a", 8)))
		leaving, leave := context.WithCancel(t.Context())
		left, second, third := make(chan error, 1), make(chan error, 1), make(chan error, 1)
		go func() { left <- o.send(leaving, lineOf("b", 9)) }()
		synctest.Wait()
		go func() { second <- o.send(t.Context(), lineOf("c", 2)) }()
		synctest.Wait()
		go func() { third <- o.send(t.Context(), lineOf("d", 2)) }()
		synctest.Wait()
		leave()
		require.ErrorIs(t, <-left, context.Canceled)
		require.NoError(t, <-second)
		require.Len(t, o.waiters, 1)
		o.end(errors.New("the end"))
		require.EqualError(t, <-third, "the end")
		require.Equal(t, "aaaaaaa\nc\n", written(t, o))
	})
}

// A message that is larger than the limit goes out when there is no other one.
func TestLargeMessagesGoOutAlone(t *testing.T) {
	o := newOutbox(10, nil)
	require.NoError(t, o.send(t.Context(), lineOf("a", 100)))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, o.send(ended, lineOf("b", 1)), context.Canceled)
	require.Empty(t, o.waiters)
	require.Equal(t, strings.Repeat("a", 99)+"\n", written(t, o))
}

// While a connection ends, messages that fit are taken, and nobody waits. After that nothing is taken.
func TestTheEndOfAnOutbox(t *testing.T) {
	o := newOutbox(10, nil)
	o.end(ErrClosed)
	require.NoError(t, o.send(t.Context(), lineOf("a", 6)))
	require.Equal(t, ErrClosed, o.send(t.Context(), lineOf("b", 5)))
	require.NoError(t, o.send(t.Context(), lineOf("c", 4)))
	in := &incoming{}
	ctx := &handlerCtx{t.Context(), in}
	require.NoError(t, o.answer(in, lineOf("!", 2)))
	require.Equal(t, ErrAnswered, o.send(ctx, lineOf("d", 1)), "no update goes out behind the answer")
	because := errors.New("because")
	o.close(because)
	o.close(errors.New("another"))
	require.Equal(t, because, o.send(t.Context(), lineOf("e", 1)))
	require.Equal(t, because, o.answer(nil, lineOf("f", 1)))
	require.Equal(t, because, o.send(ctx, lineOf("g", 1)))
	o.offer(lineOf("h", 1), 100)
	broken := newEncoder()
	broken.err = errors.New("broken")
	require.EqualError(t, o.send(t.Context(), broken), "broken")
	require.Equal(t, "aaaaa\nccc\n!\n", written(t, o))
}

// Small messages are written together, large ones as they are, and all in order. A write that fails
// closes the outbox.
func TestMessagesAreWrittenInOrder(t *testing.T) {
	fill := func() *outbox {
		o := newOutbox(1<<20, nil)
		for i, size := range []int{10, maxPooled, 20, maxPooled + 1, 30, chunkSize - 29, 40} {
			require.NoError(t, o.send(t.Context(), lineOf(fmt.Sprint(i), size)))
		}
		return o
	}
	o := fill()
	total := o.queued
	var w writes
	o.close(ErrClosed)
	require.NoError(t, o.write(&w))
	var sizes []int
	for _, b := range w.all {
		sizes = append(sizes, len(b))
	}
	require.Equal(t, []int{10, maxPooled, 20, maxPooled + 1, 30, chunkSize - 29, 40}, sizes, "none of them fit together")
	require.Zero(t, o.queued)
	var next strings.Builder
	for i, size := range []int{10, maxPooled, 20, maxPooled + 1, 30, chunkSize - 29, 40} {
		next.WriteString(strings.Repeat(fmt.Sprint(i), size-1) + "\n")
	}
	require.Equal(t, next.String(), strings.Join(w.all, ""))
	require.Equal(t, total, next.Len())

	o = fill()
	w = writes{fails: 3}
	err := o.write(&w)
	require.EqualError(t, err, "acp: write: because")
	require.Equal(t, err, o.send(t.Context(), lineOf("x", 1)))
	require.Len(t, w.all, 3)

	o = newOutbox(100, nil)
	for range 10 {
		require.NoError(t, o.send(t.Context(), lineOf("s", 3)))
	}
	w = writes{}
	o.close(ErrClosed)
	require.NoError(t, o.write(&w))
	require.Equal(t, []string{strings.Repeat("ss\n", 10)}, w.all, "one write")
}
