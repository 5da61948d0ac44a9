// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
)

// message is a message of 12.6 kB.
var message = value(strings.Repeat("x", 12_600))

func BenchmarkAppend(b *testing.B) {
	for _, sessions := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(sessions, "Sessions"), func(b *testing.B) {
			s := store(b, b.TempDir())
			var writers []*session.Writer
			for n := range sessions {
				_, err := s.Create(b.Context(), session.New{ID: fmt.Sprint(n)})
				require.NoError(b, err)
				w, err := session.Open(b.Context(), s, fmt.Sprint(n), session.Claim{})
				require.NoError(b, err)
				writers = append(writers, w)
			}
			b.ReportAllocs()
			b.ResetTimer()
			begin := time.Now()
			var all sync.WaitGroup
			for n, w := range writers {
				all.Go(func() {
					for i := n; i < b.N; i += sessions {
						if _, err := w.Append(b.Context(), message); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/time.Since(begin).Seconds(), "appends/s")
		})
	}
}

func BenchmarkLoad2000Messages(b *testing.B) {
	s := store(b, b.TempDir())
	_, err := s.Create(b.Context(), session.New{ID: "s"})
	require.NoError(b, err)
	w, err := session.Open(b.Context(), s, "s", session.Claim{})
	require.NoError(b, err)
	for range 20 {
		batch := make([]session.Entry, 100)
		for i := range batch {
			batch[i] = message
		}
		_, err := w.Append(b.Context(), batch...)
		require.NoError(b, err)
	}
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range s.Load(b.Context(), "s", 0) {
			require.NoError(b, err)
			n++
		}
		require.Equal(b, 2000, n)
	}
}

func BenchmarkListPageOf10000Sessions(b *testing.B) {
	s := store(b, b.TempDir())
	var all sync.WaitGroup
	for w := range 100 {
		all.Go(func() {
			for i := range 100 {
				_, err := s.Create(b.Context(), session.New{ID: fmt.Sprintf("%02d.%02d", w, i), Title: "a title", Dir: []string{"/repo", "/other"}[i%2]})
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	for name, q := range map[string]session.Query{"All": {}, "Directory": {Dir: "/repo"}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				page, err := s.List(b.Context(), q)
				require.NoError(b, err)
				require.Len(b, page.Sessions, session.DefaultLimit)
				q.Cursor = page.Next
			}
		})
	}
}
