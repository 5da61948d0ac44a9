// SPDX-License-Identifier: Apache-2.0

package sessiontest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ponte-go/ponte/agent/session"
)

// Benchmark measures a store: durable appends of a message of 12.6 kB to 1, 8 and 64 sessions,
// loading 2,000 such messages, and listing a page of 10,000 conversations that have 10,000 internal
// sessions beside them. newStore returns a store without sessions.
func Benchmark(b *testing.B, newStore func(b *testing.B) session.Store) {
	for _, sessions := range []int{1, 8, 64} {
		b.Run(fmt.Sprint("Append/", sessions, "Sessions"), func(b *testing.B) {
			benchmarkAppend(b, newStore(b), sessions)
		})
	}
	b.Run("Load2000Messages", func(b *testing.B) { benchmarkLoad(b, newStore(b)) })
	b.Run("ListPageOf10000Sessions", func(b *testing.B) { benchmarkList(b, newStore(b)) })
}

func benchmarkMessage() session.Entry {
	data, _ := json.Marshal(strings.Repeat("x", 12_600))
	return session.Entry{Kind: session.KindMessage, Data: data}
}

// writer makes a session and opens it.
func writer(b *testing.B, s session.Store, id string) *session.Writer {
	if _, err := s.Create(b.Context(), session.New{ID: id}); err != nil {
		b.Fatal(err)
	}
	w, err := session.Open(b.Context(), s, id, session.Claim{})
	if err != nil {
		b.Fatal(err)
	}
	return w
}

func benchmarkAppend(b *testing.B, s session.Store, sessions int) {
	message := benchmarkMessage()
	var writers []*session.Writer
	for n := range sessions {
		writers = append(writers, writer(b, s, fmt.Sprint(n)))
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
}

func benchmarkLoad(b *testing.B, s session.Store) {
	w := writer(b, s, "s")
	for range 20 {
		batch := make([]session.Entry, 100)
		for i := range batch {
			batch[i] = benchmarkMessage()
		}
		if _, err := w.Append(b.Context(), batch...); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range s.Load(b.Context(), "s", 0) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 2000 {
			b.Fatalf("%d entries, want 2000", n)
		}
	}
}

func benchmarkList(b *testing.B, s session.Store) {
	// The ledgers were changed last, so a list of conversations must not walk past them.
	for _, dirs := range [][]string{{"/repo", "/other"}, {session.InternalDir + "ledgers"}} {
		var all sync.WaitGroup
		for w := range 100 {
			all.Go(func() {
				for i := range 100 {
					dir := dirs[i%len(dirs)]
					if _, err := s.Create(b.Context(), session.New{ID: fmt.Sprintf("%s %02d.%02d", dir, w, i), Title: "a title", Dir: dir}); err != nil {
						b.Error(err)
					}
				}
			})
		}
		all.Wait()
	}
	for name, q := range map[string]session.Query{"All": {}, "Conversations": {Conversations: true}, "Directory": {Dir: "/repo"}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				page, err := s.List(b.Context(), q)
				if err != nil || len(page.Sessions) != session.DefaultLimit {
					b.Fatal(len(page.Sessions), err)
				}
				q.Cursor = page.Next
			}
		})
	}
}
