// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/journal"
)

// TestFailedWriteEndsTheLog: nobody knows what the file holds then. When it is opened again, what is whole counts.
func TestFailedWriteEndsTheLog(t *testing.T) {
	d := newDir(t, t.TempDir())
	l := open(t, d, "run")
	write(t, l, three...)
	mend := journal.Break(l)
	require.ErrorIs(t, l.Append(context.Background(), []byte(`{"lost":true}`)), os.ErrClosed)
	_, err := l.Load(context.Background())
	require.ErrorIs(t, err, os.ErrClosed)
	mend()
	require.ErrorIs(t, l.Append(context.Background(), []byte(`{"late":true}`)), os.ErrClosed)
	require.NoError(t, l.Close())
	l = open(t, d, "run")
	require.Equal(t, three, read(t, l))
}

func TestFailureReachesAllThatShareAWrite(t *testing.T) {
	l := open(t, newDir(t, t.TempDir()), "run")
	write(t, l, three...)
	journal.Break(l)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if err := l.Append(context.Background(), []byte(`{}`)); err == nil {
				t.Error("a record counts as written that is not")
			}
		})
	}
	wg.Wait()
}

// Records that wait while a batch is written are not written if that batch fails.
func TestFailedWriteFailsWaitingRecords(t *testing.T) {
	d := newDir(t, t.TempDir())
	l := open(t, d, "run")
	release := journal.Hold(l)
	var wg sync.WaitGroup
	var waiting error
	wg.Go(func() { waiting = l.Append(context.Background(), []byte(`{"waits":true}`)) })
	require.Eventually(t, func() bool { return journal.Waiting(l) == 1 }, time.Minute, time.Millisecond)
	failed := errors.New("disk full")
	journal.Fail(l, failed)
	release()
	wg.Wait()
	require.ErrorIs(t, waiting, failed)
	require.NoError(t, l.Close())
	require.Empty(t, read(t, open(t, d, "run")))
}

// TestConcurrentRecordsShareASync: what comes while a batch is written is in one batch, the next.
func TestConcurrentRecordsShareASync(t *testing.T) {
	d := newDir(t, t.TempDir())
	l := open(t, d, "run")
	release := journal.Hold(l)
	var wg sync.WaitGroup
	const n = 16
	for i := range n {
		wg.Go(func() {
			if err := l.Append(context.Background(), fmt.Appendf(nil, `{"i":%d}`, i)); err != nil {
				t.Error(err)
			}
		})
	}
	require.Eventually(t, func() bool { return journal.Waiting(l) == n }, time.Minute, time.Millisecond)
	release()
	wg.Wait()
	require.Len(t, read(t, l), n)
}

func BenchmarkAppend(b *testing.B) {
	record := fmt.Appendf(nil, `{"op":"tool","step":1,"call":"call_1","return":{"text":%q}}`, "what a tool may say in a line or two")
	for _, c := range []struct {
		name    string
		journal journal.Journal
	}{{"memory", new(journal.Memory)}, {"dir", newDir(b, b.TempDir())}} {
		for _, writers := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/%d", c.name, writers), func(b *testing.B) {
				l := open(b, c.journal, fmt.Sprint(writers, b.N))
				defer l.Close()
				b.ReportAllocs()
				b.ResetTimer()
				var wg sync.WaitGroup
				for range writers {
					wg.Go(func() {
						for range b.N / writers {
							if err := l.Append(context.Background(), record); err != nil {
								b.Error(err)
							}
						}
					})
				}
				wg.Wait()
			})
		}
	}
}
