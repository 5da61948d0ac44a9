// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
)

// numbers is JSON of a size that has no long string.
func numbers(size int) json.RawMessage { return json.RawMessage(strings.Repeat("1", size)) }

// Entries and items are read in pages, so that a long session is never in memory as a whole: of 256
// each, and up to the one with which a page has more than four megabytes.
func TestPagesAreBounded(t *testing.T) {
	const page = 4 << 20
	for name, c := range map[string]struct {
		sizes []int
		pages int
	}{
		"nothing":             {nil, 0},
		"255":                 {make([]int, 255), 1},
		"256":                 {make([]int, 256), 2},
		"257":                 {make([]int, 257), 2},
		"512":                 {make([]int, 512), 3},
		"four megabytes":      {[]int{page / 2, page / 2, 1}, 1},
		"a byte more":         {[]int{page / 2, page/2 + 1, 1}, 2},
		"a byte more, alone":  {[]int{page / 2, page/2 + 1}, 1},
		"the page begins new": {[]int{page / 2, page/2 + 1, page / 2, page / 2, 1}, 2},
	} {
		bubble(t, sqlitestore.Options{}, func(t *testing.T, s *sqlitestore.Store, tr *trouble) {
			_, err := s.Create(t.Context(), session.New{ID: "s"})
			require.NoError(t, err)
			w, err := session.Open(t.Context(), s, "s", session.Claim{})
			require.NoError(t, err)
			var entries []session.Entry
			for n, size := range c.sizes {
				data := numbers(max(size, 1))
				entries = append(entries, session.Entry{Kind: session.KindValue, Data: data})
				if size > 0 || n%64 != 63 {
					continue
				}
				_, err = w.Append(t.Context(), entries...)
				require.NoError(t, err)
				entries = nil
			}
			_, err = w.Append(t.Context(), entries...)
			require.NoError(t, err)
			require.NoError(t, w.Close(t.Context()))
			pages := 0
			tr.ask(func(call string) error {
				if strings.HasPrefix(call, "query SELECT seq, time,") {
					pages++
				}
				return nil
			})
			good, damaged, _ := count(t, s, "s")
			tr.ask(nil)
			require.Equal(t, []int{len(c.sizes), 0}, []int{good, damaged}, name)
			require.Equal(t, c.pages, pages, name)
		})
	}
}

// A fork reads the entries that it shares with its parent from there, and no others.
func TestForksReadOnlyWhatTheyNeed(t *testing.T) {
	bubble(t, sqlitestore.Options{}, func(t *testing.T, s *sqlitestore.Store, tr *trouble) {
		add := func(id string, n int) {
			w, err := session.Open(t.Context(), s, id, session.Claim{})
			require.NoError(t, err)
			for i := range n {
				_, err := w.Append(t.Context(), value(fmt.Sprint(id, i)))
				require.NoError(t, err)
			}
			require.NoError(t, w.Close(t.Context()))
		}
		_, err := s.Create(t.Context(), session.New{ID: "a"})
		require.NoError(t, err)
		add("a", 4)
		_, err = s.Fork(t.Context(), "a", 3, session.New{ID: "b"})
		require.NoError(t, err)
		add("b", 2)
		_, err = s.Fork(t.Context(), "b", 2, session.New{ID: "c"})
		require.NoError(t, err)
		add("c", 1)
		type cost struct{ parents, pages int }
		for id, want := range map[string][]cost{
			"a": {{0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 0}, {0, 0}},
			"b": {{1, 2}, {1, 2}, {1, 2}, {0, 1}, {0, 1}, {0, 0}},
			"c": {{2, 2}, {2, 2}, {0, 1}, {0, 0}, {0, 0}, {0, 0}},
		} {
			for after, want := range want {
				var got cost
				tr.ask(func(call string) error {
					switch {
					case strings.HasPrefix(call, "query SELECT parent"):
						got.parents++
					case strings.HasPrefix(call, "query SELECT seq, time,"):
						got.pages++
					}
					return nil
				})
				var all []string
				for e, err := range s.Load(t.Context(), id, int64(after)) {
					require.NoError(t, err)
					all = append(all, string(e.Data))
				}
				tr.ask(nil)
				said := map[string][]string{
					"a": {`"a0"`, `"a1"`, `"a2"`, `"a3"`}, "b": {`"a0"`, `"a1"`, `"a2"`, `"b0"`, `"b1"`},
					"c": {`"a0"`, `"a1"`, `"c0"`},
				}[id]
				require.ElementsMatch(t, said[min(after, len(said)):], all)
				require.Equal(t, want, got, "%s after %d", id, after)
			}
		}
	})
}
