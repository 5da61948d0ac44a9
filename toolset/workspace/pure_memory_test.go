// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The output of a script in memory is kept up to its bound, the end of it; positions count from the
// beginning. What is more is dropped when it is twice as much, or a mebibyte, and before it is read.
func TestOutputOfScriptsIsKept(t *testing.T) {
	p := &process{ref: "term_1", keep: 4, ended: make(chan struct{}), kill: func() {}}
	read := func(from int64, limit int) string {
		c, err := p.Output(t.Context(), from, limit)
		require.NoError(t, err)
		return fmt.Sprintf("%s %d-%d %t", c.Data, c.From, c.End, c.Lost)
	}
	held := func() string { return fmt.Sprintf("%s %d", p.kept, p.start) }
	p.write([]byte("abc"))
	require.Equal(t, "abc 0", held())
	require.Equal(t, "abc 0-3 false", read(0, 0))
	p.write([]byte("defgh"))
	require.Equal(t, "abcdefgh 0", held(), "twice as much is not too much")
	p.write([]byte("i"))
	require.Equal(t, "fghi 5", held())
	p.write([]byte("j"))
	require.Equal(t, "fghij 5", held())
	for _, c := range []struct {
		from  int64
		limit int
		want  string
	}{
		{0, 0, "ghij 6-10 true"}, {5, 0, "ghij 6-10 true"}, {6, 0, "ghij 6-10 false"}, {7, 2, "hi 7-10 false"}, {9, 5, "j 9-10 false"}, {10, 0, " 10-10 false"}, {11, 0, " 10-10 false"}, {-1, 0, "j 9-10 false"}, {-4, 1, "g 6-10 false"}, {-5, 0, "ghij 6-10 true"}, {-99, 0, "ghij 6-10 true"},
	} {
		require.Equal(t, c.want, read(c.from, c.limit), c)
	}
	require.Equal(t, "ghij 6", held(), "what is too much goes when it is read")
	large := &process{keep: 4 << 20}
	large.write(make([]byte, 5<<20))
	require.Len(t, large.kept, 5<<20, "a mebibyte more is not too much")
	large.write([]byte("x"))
	require.Len(t, large.kept, 4<<20)
	require.EqualValues(t, 1<<20+1, large.start)

	because := errors.New("because")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(because)
	_, err := p.Output(ended, 0, 0)
	require.Equal(t, because, err)
	_, err = p.Wait(ended)
	require.Equal(t, because, err)
	require.Equal(t, because, p.Kill(ended))
	p.end(t.Context(), 3)
	exit, err := p.Wait(ended)
	require.NoError(t, err)
	require.Equal(t, Exit{Code: 3}, exit)
	p.write([]byte("late"))
	c, err := p.Output(t.Context(), 6, 0)
	require.NoError(t, err)
	require.Equal(t, Chunk{Data: []byte("ghij"), From: 6, End: 10, Exit: &Exit{Code: 3}}, c)
	require.NoError(t, p.Close(t.Context()))
	require.NoError(t, p.Close(t.Context()))
	_, err = p.Output(t.Context(), 0, 0)
	require.EqualError(t, err, "workspace: output of term_1: closed")
	killed := &process{keep: 4, ended: make(chan struct{})}
	killed.end(ended, 0)
	require.Equal(t, &Exit{Code: -1, Signal: "killed"}, killed.exit)
	killed = &process{keep: 4, closed: true}
	killed.write([]byte("x"))
	require.Empty(t, killed.kept)
	sh := &MemoryShell{Command: Command{Env: []string{"A=1", "B=x=y", "A=2", "C"}}}
	require.Equal(t, []string{"2", "x=y", "", ""}, []string{sh.Getenv("A"), sh.Getenv("B"), sh.Getenv("C"), sh.Getenv("D")})
}

// How many bytes of a sequence that is not complete are replaced at once, as the standards say.
func TestSequencesThatAreNotComplete(t *testing.T) {
	for in, want := range map[string]int{
		"\x80": 1, "\xbf\x80": 1, "\xc0\x80": 1, "\xc1\xbf": 1, "\xc2": 1, "\xc2a": 1, "\xdf": 1, "\xe0\x9f\x80": 1, "\xe0\xa0": 2, "\xe0\xbf": 2, "\xe0\xa0a": 2, "\xe0\xc0": 1, "\xe1\x80": 2, "\xe1\x7f": 1, "\xe1\xbf": 2, "\xe1\xc0": 1,
		"\xed\x9f": 2, "\xed\xa0\x80": 1, "\xee\x80": 2, "\xef\xbf": 2, "\xf0\x8f\x80": 1, "\xf0\x90": 2, "\xf0\x90\x80": 3, "\xf0\x90\x80a": 3, "\xf0\xbf\xbf": 3, "\xf1\x80\x80": 3, "\xf1\x80\xc0": 2, "\xf4\x8f\xbf": 3, "\xf4\x90\x80": 1, "\xf5\x80": 1, "\xff": 1,
	} {
		require.Equal(t, want, truncated([]byte(in)), "%q", in)
	}
	for in, want := range map[string][3]string{ // per sequence, per byte, per run
		"a\xe1\x80b\xffc": {"a?b?c", "a??b?c", "a?b?c"}, "\xff\xfe": {"??", "??", "?"}, "\xe1\x80\xe1\x80": {"??", "????", "?"}, "ok": {"ok", "ok", "ok"}, "": {"", "", ""}, "\ufffd\xff": {"\ufffd?", "\ufffd?", "\ufffd?"},
	} {
		for each, want := range want {
			require.Equal(t, want, string(invalidBytes{'?', granularity(each)}.replace([]byte(in))), "%q %d", in, each)
		}
		require.Equal(t, strings.ToValidUTF8(in, ""), string(invalidBytes{-1, perByte}.replace([]byte(in))))
	}
	for _, c := range []struct {
		a, b string
		want bool
	}{{"", "", true}, {"a", "a\n", true}, {"a\n", "a", true}, {"a", "a\r\n", true}, {"a", "a\n\n", false}, {"a", "ab", false}, {"a", "b", false}, {"a\r", "a", false}, {"", "\n", true}} {
		require.Equal(t, c.want, sameButEnd([]byte(c.a), []byte(c.b)), c)
	}
	for _, c := range []struct {
		data, text string
		want       bool
	}{
		{"a\r\nb", "a\nb\n", true}, {"a\rb", "a\nb", true}, {"a\nb", "a\r\nb", false}, {"\ufeffa", "a", true}, {"\ufeffa", "\ufeffa", true}, {"a", "\ufeffa", false}, {"a\r\nb\rc", "a\nb\rc", true}, {"a\r\nb\rc", "a\nb\nc", true}, {"a\xffb", "a\ufffdb", true}, {"a\xffb", "ab", true}, {"a\xffb", "aÿb", true}, {"a\xffb", "acb", false},
	} {
		require.Equal(t, c.want, IsLossyView([]byte(c.data), []byte(c.text)), "%q %q", c.data, c.text)
	}
}
