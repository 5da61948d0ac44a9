// SPDX-License-Identifier: Apache-2.0

package acp

import (
	"bytes"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A pipe holds 64 KiB. A writer of more waits for a reader, and goes on as soon as there is room for
// a byte.
func TestPipesHoldAsMuchAsThoseOfASystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := Pipe()
		const most = 64 << 10
		data := make([]byte, most+2)
		for i := range data {
			data[i] = byte(i % 251)
		}
		n, err := w.Write(data[:most])
		require.NoError(t, err)
		require.Equal(t, most, n)
		n, err = w.Write(nil)
		require.NoError(t, err, "nothing always fits")
		require.Zero(t, n)
		written := make(chan int, 2)
		for i := range 2 {
			go func() {
				n, _ := w.Write(data[most+i : most+i+1])
				written <- n
			}()
			synctest.Wait()
			require.Empty(t, written)
		}
		var got []byte
		buf := make([]byte, 1)
		for i := range 2 {
			n, err = r.Read(buf)
			require.NoError(t, err)
			require.Equal(t, 1, n)
			got = append(got, buf...)
			synctest.Wait()
			require.Len(t, written, i+1, "a byte fits")
		}
		require.NoError(t, w.Close())
		rest, err := io.ReadAll(r)
		require.NoError(t, err)
		got = append(got, rest...)
		require.Equal(t, data[:most], got[:most])
		require.ElementsMatch(t, data[most:], got[most:])
	})
}

// A read of nothing returns at once, whether there is something or not.
func TestReadsOfNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := Pipe()
		n, err := r.Read(nil)
		require.NoError(t, err)
		require.Zero(t, n)
		read := make(chan byte, 1)
		go func() {
			var one [1]byte
			_, _ = r.Read(one[:])
			read <- one[0]
		}()
		synctest.Wait()
		require.Empty(t, read, "a read of a byte waits for it")
		_, err = w.Write([]byte("x"))
		require.NoError(t, err)
		require.Equal(t, byte('x'), <-read)
		require.NoError(t, w.Close())
		n, err = r.Read(make([]byte, 1))
		require.Equal(t, io.EOF, err)
		require.Zero(t, n)
		require.NoError(t, r.Close())
		n, err = r.Read(make([]byte, 1))
		require.Equal(t, io.ErrClosedPipe, err)
		require.Zero(t, n)
		n, err = w.Write([]byte("x"))
		require.Equal(t, io.ErrClosedPipe, err)
		require.Zero(t, n)
	})
}

// The array of a pipe is used again: it does not grow while a reader keeps up.
func TestPipesKeepTheirArray(t *testing.T) {
	r, w := Pipe()
	p := (*pipe)(r.(*pipeReader))
	var want, got []byte
	buf := make([]byte, 7)
	for i := range 1000 {
		piece := bytes.Repeat([]byte{byte(i)}, 1+i%13)
		want = append(want, piece...)
		_, err := w.Write(piece)
		require.NoError(t, err)
		for len(p.data)-p.start > 8 {
			n, err := r.Read(buf)
			require.NoError(t, err)
			got = append(got, buf[:n]...)
		}
		require.Less(t, cap(p.data), 128)
	}
	require.NoError(t, w.Close())
	rest, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, want, append(got, rest...))
}

// What is left out of the options has its default, and so has what makes no sense.
func TestOptionsHaveDefaults(t *testing.T) {
	logger := slog.New(slog.DiscardHandler)
	defaults := ConnOptions{MaxLine: 64 << 20, MaxQueue: 1 << 20, MaxBacklog: 64 << 20, FlushTimeout: 2 * time.Second, Logger: logger}
	for _, c := range []struct{ given, want ConnOptions }{
		{ConnOptions{}, defaults},
		{ConnOptions{MaxLine: -1, MaxQueue: -1, MaxBacklog: -1, FlushTimeout: -1}, defaults},
		{
			ConnOptions{MaxLine: 1, MaxQueue: 1, MaxBacklog: 1, FlushTimeout: 1},
			ConnOptions{MaxLine: 1, MaxQueue: 1, MaxBacklog: 1, FlushTimeout: 1, Logger: logger},
		},
	} {
		got := c.given.withDefaults()
		require.NotNil(t, got.Logger)
		got.Logger = logger
		require.Equal(t, c.want, got)
	}
	got := (*ConnOptions)(nil).withDefaults()
	got.Logger = logger
	require.Equal(t, defaults, got)
}
