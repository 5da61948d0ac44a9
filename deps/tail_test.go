// SPDX-License-Identifier: Apache-2.0

package deps

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/view"
)

// taking is a transcript that takes all reports.
type taking struct{ Transcript }

func (taking) Report(*view.Entity, bool) error { return nil }

// A timer that was stopped, and runs all the same, sends nothing in the place of the next one.
func TestLateTimersSendNothing(t *testing.T) {
	tracker := NewTracker(nil, "s", &TrackerOptions{Transcript: taking{}})
	s := &stream{}
	tracker.later(t.Context(), "c", s, time.Hour)
	first := s.timer
	tracker.later(t.Context(), "c", s, time.Hour)
	require.Same(t, first, s.timer, "one timer at a time")
	s.stop()
	require.False(t, tracker.due(t.Context(), "c", s, 1))
	tracker.later(t.Context(), "c", s, time.Hour)
	require.False(t, tracker.due(t.Context(), "c", s, 1))
	require.NotNil(t, s.timer)
	require.True(t, tracker.due(t.Context(), "c", s, 2))
	require.Nil(t, s.timer)
	require.False(t, tracker.due(t.Context(), "c", s, 2))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	tracker.later(ended, "c", s, time.Hour)
	require.False(t, tracker.due(ended, "c", s, 3))
	require.Nil(t, s.timer)
}

// The end of a text is the same in whatever pieces it comes, and no more than twice the limit is
// kept of it.
func TestEndsOfTextsDoNotDependOnPieces(t *testing.T) {
	text := "aé😀b" + strings.Repeat("x", 5) + "ß\n" + strings.Repeat("€", 7) + "end"
	want := func(text string, limit int) string {
		if len(text) <= limit {
			return text
		}
		cut := len(text) - limit
		for cut < len(text) && !utf8.RuneStart(text[cut]) {
			cut++
		}
		return fmt.Sprintf("[%d bytes omitted]\n%s", cut, text[cut:])
	}
	for limit := 1; limit <= len(text)+1; limit++ {
		for size := 1; size <= len(text); size++ {
			var end tail
			for at := 0; at < len(text); at += size {
				piece := text[at:min(at+size, len(text))]
				end.fresh = false
				end.write(piece, limit)
				require.True(t, end.fresh)
				require.LessOrEqual(t, len(end.data), 2*limit)
				require.Equal(t, want(text[:at+len(piece)], limit), end.String(), "limit %d, pieces of %d, at %d", limit, size, at)
			}
		}
	}
}

// Memory is moved only after twice as many bytes as are kept: no sooner, and no later.
func TestTextsAreMovedSeldom(t *testing.T) {
	var end tail
	end.write("1234", 4)
	end.write("5678", 4)
	require.Equal(t, "12345678", string(end.data))
	require.Zero(t, end.dropped)
	end.write("9", 4)
	require.Equal(t, "6789", string(end.data))
	require.Equal(t, 5, end.dropped)
	end.write("abcde", 4)
	require.Equal(t, "bcde", string(end.data))
	require.Equal(t, 10, end.dropped)
}

// A text that is longer than the limit takes the place of what was there, if only by a byte.
func TestLongTextsReplaceOthers(t *testing.T) {
	for text, want := range map[string]string{"abcd": "xabcd", "abcde": "bcde", "abcdef": "cdef"} {
		var end tail
		end.write("x", 4)
		end.write(text, 4)
		require.Equal(t, want, string(end.data))
		require.Equal(t, 1+len(text)-len(want), end.dropped)
	}
}
