// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestTheBeginningIsCutAtACharacter(t *testing.T) {
	for _, c := range []struct {
		limit     int
		write     string
		want      string
		truncated bool
	}{
		{10, "hello", "hello", false},
		{5, "hello", "hello", false},
		{4, "hello", "ello", true},
		{3, "aäb", "äb", true},
		{2, "aäb", "b", true},
		{4, "a€€", "€", true},
		{0, "a", "", true},
		{0, "", "", false},
		{5, "12345\xff6", "5\uFFFD6", true},
		{1, "\xff", "", false},
	} {
		b := buffer{limit: c.limit}
		for i := range len(c.write) {
			b.write([]byte{c.write[i]})
		}
		text, truncated := b.text(true)
		require.Equal(t, c.want, text, "%+v", c)
		require.Equal(t, c.truncated, truncated, "%+v", c)
	}
}

func TestHalfACharacterIsHeldBackWhileTheCommandRuns(t *testing.T) {
	b := buffer{limit: 100}
	b.write([]byte("a\xe2\x82"))
	text, _ := b.text(false)
	require.Equal(t, "a", text)
	text, _ = b.text(true)
	require.Equal(t, "a\uFFFD", text)
	b.write([]byte("\xac"))
	text, _ = b.text(false)
	require.Equal(t, "a€", text)
}

func TestMemoryIsBounded(t *testing.T) {
	b := buffer{limit: 1000}
	for range 10_000 {
		b.write([]byte(strings.Repeat("x", 99)))
	}
	require.LessOrEqual(t, cap(b.kept), 4000)
}

func FuzzBuffer(f *testing.F) {
	f.Add("aäb€\xff", 3, 2, true)
	f.Fuzz(func(t *testing.T, s string, limit, step int, ended bool) {
		limit, step = max(limit, 0)%1000, max(step, 1)%1000+1
		b := buffer{limit: limit}
		for rest := s; rest != ""; {
			n := min(step, len(rest))
			b.write([]byte(rest[:n]))
			rest = rest[n:]
		}
		text, truncated := b.text(ended)
		require.True(t, utf8.ValidString(text))
		require.LessOrEqual(t, len(text), limit)
		require.Equal(t, len(s) > limit, truncated)
		if utf8.ValidString(s) {
			require.True(t, strings.HasSuffix(s, text))
			require.Greater(t, len(text)+utf8.UTFMax, min(len(s), limit))
		}
	})
}
