// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"fmt"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
)

// BenchmarkOpen opens a session of 2,000 messages: history and what is shown.
func BenchmarkOpen(b *testing.B) {
	store, err := sqlitestore.Open(b.TempDir(), sqlitestore.Options{})
	require.NoError(b, err)
	defer store.Close()
	h, err := host.New(host.Config[none, string]{Agent: newAgent(echo()), Store: store, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	s, err := h.Create(b.Context(), session.New{ID: "s"}, nil)
	require.NoError(b, err)
	for n := range 1000 {
		_, err := s.Prompt(b.Context(), say(fmt.Sprint("prompt ", n)))
		require.NoError(b, err)
	}
	require.NoError(b, s.Close(b.Context()))
	b.ReportAllocs()
	for b.Loop() {
		s, err := h.Open(b.Context(), "s", nil)
		require.NoError(b, err)
		require.NoError(b, s.Close(b.Context()))
	}
	require.NoError(b, h.Close(b.Context()))
}

// BenchmarkIdle reports what an idle session of 10 prompts takes.
func BenchmarkIdle(b *testing.B) {
	store, err := sqlitestore.Open(b.TempDir(), sqlitestore.Options{})
	require.NoError(b, err)
	defer store.Close()
	h, err := host.New(host.Config[none, string]{Agent: newAgent(echo()), Store: store, Idle: time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	const sessions = 200
	heap := func() uint64 {
		var m runtime.MemStats
		for range 3 {
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	for b.Loop() {
		before := heap()
		for range sessions {
			s, err := h.Create(b.Context(), session.New{}, nil)
			require.NoError(b, err)
			for n := range 10 {
				_, err := s.Prompt(b.Context(), say(fmt.Sprint("prompt ", n)))
				require.NoError(b, err)
			}
		}
		time.Sleep(500 * time.Millisecond) // all are idle
		b.ReportMetric((float64(heap())-float64(before))/sessions, "B/session")
	}
	require.NoError(b, h.Close(b.Context()))
}
