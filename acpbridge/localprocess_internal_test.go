// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	ws "github.com/ponte-go/ponte/toolset/workspace"
)

// written is a command that has written data, of which the beginning is dropped.
type written struct {
	ws.Process
	data    string
	dropped int
	asked   []string
}

func (w *written) Output(_ context.Context, from int64, limit int) (ws.Chunk, error) {
	w.asked = append(w.asked, fmt.Sprint(from, " ", limit))
	at := int(from)
	if at < 0 {
		at = max(0, len(w.data)+at)
	}
	at = min(max(at, w.dropped), len(w.data))
	data := w.data[at:]
	return ws.Chunk{Data: []byte(data[:min(limit, len(data))]), From: int64(at)}, nil
}

// TestOutputIsReadPieceByPiece has the output of a command as its user sees it: from its last 64 KiB on, without half characters, and with
// the number of bytes that are not shown.
func TestOutputIsReadPieceByPiece(t *testing.T) {
	p, o := &written{data: "one \xc3"}, &growingOutput{}
	require.True(t, o.read(t.Context(), p))
	require.Equal(t, []string{"-65536 16384"}, p.asked, "there may be a lot of it already")
	require.Equal(t, "```text\none ", o.shown(), "half a character is not shown")
	require.False(t, o.read(t.Context(), p), "nothing is new")
	p.data += "\xa9 \xf0\x9f\x98"
	require.True(t, o.read(t.Context(), p))
	require.Equal(t, "5 16384", p.asked[2])
	require.Equal(t, "```text\none é ", o.shown())
	p.data += "\x80\x80 \xff ```\n"
	require.True(t, o.read(t.Context(), p))
	require.Equal(t, "````text\none é 😀\ufffd \ufffd ```\n", o.shown())
	require.Equal(t, "````text\none é 😀\ufffd \ufffd ```\nexit code 0\n````", o.ended("exit code 0"))

	p.data += "\xe2\x82"
	require.False(t, o.read(t.Context(), p), "only a part of a character")
	require.Equal(t, "````text\none é 😀\ufffd \ufffd ```\n\ufffd\nexit code 0\n````", o.ended("exit code 0"), "at the end it is shown")

	p.data += "\x82\xc3"
	require.True(t, o.read(t.Context(), p))
	require.Equal(t, "````text\none é 😀\ufffd \ufffd ```\n\ufffd\ufffd\ufffd\nexit code 0\n````", o.ended("exit code 0"), "also a single byte of it")

	p, o = &written{data: "abc"}, &growingOutput{begun: true}
	require.True(t, o.read(t.Context(), p))
	require.Equal(t, []string{"0 16384"}, p.asked, "what has just begun is read from its beginning")
	p.data, p.dropped = "abcdefgh", 6
	require.True(t, o.read(t.Context(), p))
	require.Equal(t, "```text\n[6 bytes before]\ngh", o.shown())

	p.data += "i"
	require.True(t, o.read(t.Context(), p), "a single byte is new, too")
	require.Equal(t, "```text\n[6 bytes before]\nghi", o.shown())

	late := &growingOutput{}
	require.True(t, late.read(t.Context(), &written{data: strings.Repeat("x", 70_000)}))
	require.Equal(t, "```text\n[4464 bytes before]\n"+strings.Repeat("x", 16384), late.shown(), "the last 64 KiB, a piece at a time")
}

// TestLongOutputIsShownFromALine has as much output as is shown, and more of it.
func TestLongOutputIsShownFromALine(t *testing.T) {
	o := &growingOutput{begun: true}
	const half, limit = 32 << 10, 64 << 10
	require.True(t, o.add([]byte(strings.Repeat("x", limit))))
	require.Len(t, o.Text, limit)
	require.Zero(t, o.Before)
	require.True(t, o.add([]byte("y")))
	require.Equal(t, strings.Repeat("x", half-1)+"y", o.Text, "without lines, half of it is kept")
	require.EqualValues(t, half+1, o.Before)

	o = &growingOutput{begun: true}
	lines := strings.Repeat(strings.Repeat("x", 99)+"\n", limit/100+1)
	require.True(t, o.add([]byte(lines)))
	require.Less(t, len(o.Text), half)
	require.Greater(t, len(o.Text), half-200)
	require.Zero(t, len(o.Text)%100, "it begins with a line")
	require.EqualValues(t, len(lines)-len(o.Text), o.Before)

	o = &growingOutput{begun: true}
	require.True(t, o.add([]byte("a"+strings.Repeat("é", half))))
	require.True(t, strings.HasPrefix(o.Text, "é"), "it begins with a character")
	require.EqualValues(t, 1+2*half-len(o.Text), o.Before)

	for at, kept := range map[int]int{0: half - 1, limit/8 - 1: half - limit/8, limit / 8: half} {
		o = &growingOutput{begun: true}
		text := strings.Repeat("x", half+1+at) + "\n"
		require.True(t, o.add([]byte(text+strings.Repeat("x", limit+1-len(text)))))
		require.Len(t, o.Text, kept, "a line that begins far away is not waited for")
	}
}
