// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// played is a process that has ended, whose output comes in given chunks, and notes what is read.
type played struct {
	workspace.Process
	chunks []workspace.Chunk
	reads  []string
}

func (p *played) Wait(context.Context) (workspace.Exit, error) { return workspace.Exit{}, nil }

func (p *played) Output(_ context.Context, from int64, limit int) (workspace.Chunk, error) {
	p.reads = append(p.reads, fmt.Sprintf("%d %d", from, limit))
	if len(p.chunks) == 0 {
		return workspace.Chunk{}, errors.New("no more")
	}
	c := p.chunks[0]
	p.chunks = p.chunks[1:]
	return c, nil
}

// All output of a command that has ended is read, however it comes, until its end is known or nothing
// more comes.
func TestOutputOfEndedCommandsIsReadToItsEnd(t *testing.T) {
	chunk := func(from int64, data string, end int64, exit *workspace.Exit) workspace.Chunk {
		return workspace.Chunk{From: from, Data: []byte(data), End: end, Exit: exit}
	}
	three := &workspace.Exit{Code: 3}
	var many []workspace.Chunk
	for i := range int64(40) {
		many = append(many, chunk(i, "x", 40, nil))
	}
	for name, c := range map[string]struct {
		chunks []workspace.Chunk
		text   string
		status view.Status
		exit   *view.Exit
		reads  int
	}{
		"at once":               {[]workspace.Chunk{chunk(0, "x", 1, three)}, "x", view.Failed, &view.Exit{Code: 3}, 1},
		"without an error":      {[]workspace.Chunk{chunk(0, "", 0, &workspace.Exit{})}, "", view.Completed, &view.Exit{}, 1},
		"by a signal":           {[]workspace.Chunk{chunk(0, "", 0, &workspace.Exit{Code: -1, Signal: "killed"})}, "", view.Failed, &view.Exit{Code: -1, Signal: "killed"}, 1},
		"in two parts":          {[]workspace.Chunk{chunk(0, "x", 2, three), chunk(1, "y", 2, three)}, "xy", view.Failed, &view.Exit{Code: 3}, 2},
		"with a pause":          {[]workspace.Chunk{chunk(0, "x", 1, nil), chunk(1, "", 1, nil), chunk(1, "", 1, three)}, "x", view.Failed, &view.Exit{Code: 3}, 3},
		"with a pause at first": {[]workspace.Chunk{chunk(0, "", 0, nil), chunk(0, "x", 1, three)}, "x", view.Failed, &view.Exit{Code: 3}, 2},
		"with two pauses":       {[]workspace.Chunk{chunk(0, "", 0, nil), chunk(0, "", 0, nil), chunk(0, "x", 1, three)}, "", view.Cancelled, nil, 2},
		"broken":                {[]workspace.Chunk{chunk(0, "x", 2, nil)}, "x", view.Cancelled, nil, 2},
		"in many parts":         {append(many, chunk(40, "", 40, three)), strings.Repeat("x", 40), view.Failed, &view.Exit{Code: 3}, 41},
		"a byte is lost":        {[]workspace.Chunk{chunk(0, "x", 1, nil), chunk(2, "y\n", 4, three)}, "x\n[The end of the output is shown when the command has ended.]\n\n[1 bytes of the output are left out here.]\ny\n", view.Failed, &view.Exit{Code: 3}, 2},
		"half a character":      {[]workspace.Chunk{chunk(0, "a\xc3", 3, nil), chunk(2, "\xa9", 3, three)}, "aé", view.Failed, &view.Exit{Code: 3}, 2},
		"half a character left": {[]workspace.Chunk{chunk(0, "a\xc3", 2, three)}, "a\uFFFD", view.Failed, &view.Exit{Code: 3}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, new(strings.Builder), Config{}, nil)
				p := &played{chunks: c.chunks}
				d.s.terminals.watch(t.Context(), "t", "title", "/repo", p)
				e := d.s.Snapshot().Get("command:t")
				require.Equal(t, c.text, e.Text())
				require.Equal(t, c.status, e.Status)
				require.Equal(t, c.exit, e.Exit)
				require.Equal(t, "title", e.Title)
				require.Equal(t, "/repo", e.Dir)
				require.Len(t, p.reads, c.reads)
				require.Equal(t, "0 262144", p.reads[0])
				d.s.client.cancel(nil)
			})
		})
	}
	d := newDesk(t, new(strings.Builder), Config{}, nil)
	d.s.terminals.exited("none", nil) // nothing is shown of it
	require.Nil(t, d.s.Snapshot().Get("none"))
	code, signal := exitOf(&workspace.Exit{Code: 7})
	require.EqualValues(t, 7, *code)
	require.Nil(t, signal)
	code, signal = exitOf(&workspace.Exit{Code: 7, Signal: "killed"})
	require.Nil(t, code)
	require.Equal(t, "killed", *signal)
}

// A text that ends in the middle of a character is whole up to that.
func TestWholeCharacters(t *testing.T) {
	for text, want := range map[string]int{"": 0, "a": 1, "é": 2, "a\xc3": 1, "€": 3, "\xe2\x82": 0, "a\xe2\x82": 1, "😀": 4, "\xf0\x9f\x98": 0, "a\xf0\x9f\x98": 1, "a\xf0": 1, "\x80\x80\x80\x80": 4, "\xff": 1, "a\x80": 2} {
		require.Equal(t, want, whole([]byte(text)), "%q", text)
	}
}
