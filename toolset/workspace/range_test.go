// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
)

func TestRangeReadsLines(t *testing.T) {
	const text = "one\ntwo\r\nthree\n\nfive"
	for _, c := range []struct {
		r     workspace.Range
		want  string
		more  bool
		lines int
	}{
		{workspace.Range{}, text, false, 0},
		{workspace.Range{Line: 1}, text, false, 5},
		{workspace.Range{Line: 2, Lines: 2}, "two\r\nthree\n", false, 0},
		{workspace.Range{Lines: 1}, "one\n", false, 0},
		{workspace.Range{Line: 5, Lines: 9}, "five", false, 0},
		{workspace.Range{Line: 6}, "", false, 5},
		{workspace.Range{Line: 2, Limit: 6}, "two\r\nt", true, 5},
		{workspace.Range{Line: 2, Lines: 2, Limit: 6}, "two\r\nt", true, 0},
		{workspace.Range{Line: 2, Lines: 1, Limit: 5}, "two\r\n", false, 0},
		{workspace.Range{Offset: 4, Limit: 3}, "two", true, 0},
		{workspace.Range{Offset: 4, Limit: 16}, text[4:], false, 0},
		{workspace.Range{Offset: 99, Limit: 3}, "", false, 0},
	} {
		for name, src := range map[string]io.Reader{
			"seek": strings.NewReader(text), "bytes": iotest.OneByteReader(strings.NewReader(text)), "eof": iotest.DataErrReader(strings.NewReader(text)),
		} {
			got, err := c.r.Read(t.Context(), src)
			require.NoError(t, err)
			require.Equal(t, c.want, string(got.Data), "%+v %s", c.r, name)
			require.Equal(t, c.more, got.More, "%+v %s", c.r, name)
			require.Equal(t, c.lines, got.Lines, "%+v %s", c.r, name)
		}
	}
}

func TestRangeReadFails(t *testing.T) {
	for _, r := range []workspace.Range{{Line: -1}, {Lines: -1}, {Offset: -1}, {Limit: -1}, {Offset: 1, Line: 1}, {Offset: 1, Lines: 1}} {
		_, err := r.Read(t.Context(), strings.NewReader("x"))
		require.ErrorContains(t, err, "range", "%+v", r)
	}
	huge := func() io.Reader { return io.LimitReader(zeros{}, workspace.MaxRead+1) }
	for _, r := range []workspace.Range{{}, {Line: 1}} {
		_, err := r.Read(t.Context(), huge())
		require.ErrorIs(t, err, workspace.ErrTooLarge)
	}
	broken := errors.New("broken")
	for _, r := range []workspace.Range{{}, {Line: 1}, {Offset: 3}, {Lines: 7}, {Limit: 2}} {
		_, err := r.Read(t.Context(), io.MultiReader(strings.NewReader("ab"), iotest.ErrReader(broken)))
		require.ErrorIs(t, err, broken, "%+v", r)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(broken)
	for _, r := range []workspace.Range{{}, {Line: 1}} {
		_, err := r.Read(ctx, huge())
		require.ErrorIs(t, err, broken)
	}
}

func TestRangeUsesBuffer(t *testing.T) {
	buf := make([]byte, 1<<10)
	src := bytes.NewReader(make([]byte, 1<<20))
	r := workspace.Range{Offset: 5, Limit: len(buf), Buf: buf}
	got, err := r.Read(t.Context(), src)
	require.NoError(t, err)
	require.Same(t, &buf[0], &got.Data[0])
	require.True(t, got.More)
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { _, _ = r.Read(t.Context(), src) }), 1.0)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// FuzzRange compares ranges of lines with what splitting the whole text gives.
func FuzzRange(f *testing.F) {
	f.Add("a\nb\nc", 2, 1, 0)
	f.Add("a\n\n", 1, 0, 2)
	f.Fuzz(func(t *testing.T, text string, line, lines, limit int) {
		if line < 0 || lines < 0 || limit < 0 {
			t.Skip("not a range")
		}
		line, lines, limit = line%100, lines%100, limit%1000
		if line+lines == 0 {
			t.Skip("the whole text is not read by range")
		}
		all := strings.SplitAfter(text, "\n")
		if all[len(all)-1] == "" {
			all = all[:len(all)-1]
		}
		from := min(max(line-1, 0), len(all))
		to := len(all)
		if lines > 0 {
			to = min(from+lines, to)
		}
		want := strings.Join(all[from:to], "")
		got, err := workspace.Range{Line: line, Lines: lines, Limit: limit}.Read(t.Context(), iotest.HalfReader(strings.NewReader(text)))
		require.NoError(t, err)
		if limit > 0 && len(want) > limit {
			want = want[:limit]
			require.True(t, got.More)
		} else {
			require.False(t, got.More)
		}
		require.Equal(t, want, string(got.Data))
		if lines == 0 {
			require.Equal(t, len(all), got.Lines)
		}
	})
}
