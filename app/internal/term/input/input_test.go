// SPDX-License-Identifier: Apache-2.0

package input_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/app/internal/term/input"
)

func TestKeys(t *testing.T) {
	for in, want := range map[string][]input.Event{
		"a":                                {{Kind: input.Text, Text: "a", Alone: true}},
		"漢é":                               {{Kind: input.Text, Text: "漢é", Alone: true}},
		"ab\r":                             {{Kind: input.Text, Text: "ab"}, {Kind: input.Enter}},
		"\n":                               {{Kind: input.Enter, Shift: true, Alone: true}},
		"\x1b\r":                           {{Kind: input.Enter, Alt: true, Alone: true}},
		"\x1b[13;2u":                       {{Kind: input.Enter, Shift: true, Alone: true}},
		"\x1b[27;2;13~":                    {{Kind: input.Enter, Shift: true, Alone: true}},
		"\x1b[99;5u":                       {{Kind: input.Ctrl, Text: "c", Alone: true}},
		"\x1b[27u":                         {{Kind: input.Escape, Alone: true}},
		"\x03":                             {{Kind: input.Ctrl, Text: "c", Alone: true}},
		"\x1f":                             {{Kind: input.Ctrl, Text: "_", Alone: true}},
		"\x7f\x08":                         {{Kind: input.Backspace}, {Kind: input.Backspace}},
		"\x1b[A\x1bOB":                     {{Kind: input.Up}, {Kind: input.Down}},
		"\x1b[1;5C":                        {{Kind: input.Right, Held: true, Alone: true}},
		"\x1b[1;3D":                        {{Kind: input.Left, Alt: true, Alone: true}},
		"\x1b[3~\x1b[5~":                   {{Kind: input.Delete}, {Kind: input.PageUp}},
		"\x1b[H\x1b[4~":                    {{Kind: input.Home}, {Kind: input.End}},
		"\x1b[Z":                           {{Kind: input.Tab, Shift: true, Alone: true}},
		"\x1bb":                            {{Kind: input.Text, Text: "b", Alt: true, Alone: true}},
		"\x1bbc":                           {{Kind: input.Text, Text: "b", Alt: true}, {Kind: input.Text, Text: "c"}},
		"\x1b[12;40R":                      {{Kind: input.Report, Row: 12, Column: 40, Alone: true}},
		"\x1b[<64;1;1M":                    {{Kind: input.WheelUp, Alone: true}},
		"\x1b[<0;1;1Ma":                    {{Kind: input.Text, Text: "a", Alone: true}},
		"\x1b]11;rgb\x07":                  nil,
		"\x1b]\x07a":                       {{Kind: input.Text, Text: "a", Alone: true}},
		"\x1bP\x1b\\":                      {{Kind: input.Text, Text: "\\", Alone: true}},
		"\x1b[I":                           nil,
		"\t\x00\x01\x1a":                   {{Kind: input.Tab}, {Kind: input.Unknown}, {Kind: input.Ctrl, Text: "a"}, {Kind: input.Ctrl, Text: "z"}},
		"\x1c\x1d\x1e":                     {{Kind: input.Ctrl, Text: "\\"}, {Kind: input.Ctrl, Text: "]"}, {Kind: input.Ctrl, Text: "^"}},
		"\x1bOA\x1bOC\x1bOD":               {{Kind: input.Up}, {Kind: input.Right}, {Kind: input.Left}},
		"\x1bOH\x1bOF\x1bOM\x1bOq":         {{Kind: input.Home}, {Kind: input.End}, {Kind: input.Enter}, {Kind: input.Unknown}},
		"\x1b[F\x1b[E":                     {{Kind: input.End}, {Kind: input.Unknown}},
		"\x1b[1~\x1b[6~\x1b[7~\x1b[8~":     {{Kind: input.Home}, {Kind: input.PageDown}, {Kind: input.Home}, {Kind: input.End}},
		"\x1b[2~\x1b[9~":                   {{Kind: input.Unknown}, {Kind: input.Unknown}},
		"\x1b[<65;1;1M":                    {{Kind: input.WheelDown, Alone: true}},
		"\x1b[O\x1b[<63;1;1M":              nil,
		"\x1b[40R":                         {{Kind: input.Unknown, Alone: true}},
		"\x1b[9u\x1b[57414u":               {{Kind: input.Tab}, {Kind: input.Enter}},
		"\x1b[8u\x1b[127u":                 {{Kind: input.Backspace}, {Kind: input.Backspace}},
		"\x1b[32u\x1b[31u":                 {{Kind: input.Text, Text: " "}, {Kind: input.Unknown}},
		"\x1b[55295u\x1b[57344u":           {{Kind: input.Text, Text: "\ud7ff"}, {Kind: input.Unknown}},
		"\x1b[55296u":                      {{Kind: input.Unknown, Alone: true}},
		"\x1b[97:65;1u":                    {{Kind: input.Text, Text: "a", Alone: true}},
		"\x1b[97;3u":                       {{Kind: input.Text, Text: "a", Alt: true, Alone: true}},
		"\x1b[97;8u":                       {{Kind: input.Ctrl, Text: "a", Shift: true, Alt: true, Alone: true}},
		"\x1b[1;8A":                        {{Kind: input.Up, Shift: true, Alt: true, Held: true, Alone: true}},
		"\x1b[1;1A":                        {{Kind: input.Up, Alone: true}},
		"\x1b[\x03":                        {{Kind: input.Unknown}, {Kind: input.Ctrl, Text: "c"}},
		"\x1bP1\x1b\\":                     {{Kind: input.Text, Text: "\\", Alone: true}},
		"a\xff":                            {{Kind: input.Text, Text: "a\uFFFD", Alone: true}},
		"\x1b[200~a\rb\x1b[A\x03\x1b[201~": {{Kind: input.Paste, Text: "a\nb\x1b[A\x03", Alone: true}},
		"x\x1b[200~\x1b[201~y":             {{Kind: input.Text, Text: "x"}, {Kind: input.Paste}, {Kind: input.Text, Text: "y"}},
	} {
		var p input.Parser
		require.Equal(t, want, p.Feed([]byte(in)), "%q", in)
		require.False(t, p.Waiting(), "%q", in)
	}
}

// Wherever the bytes are cut, the events are the same, besides that none of several pieces comes alone.
func TestKeysInPieces(t *testing.T) {
	const all = "a漢\x1b[A\x1b[200~paste y\r\n\x1b[20 \x1b[201~\x1b[13;2u\x1bOA\x1b[12;40R\x1b[<64;1;1My\r"
	join := func(events []input.Event) (out []input.Event) {
		for _, e := range events {
			e.Alone = false
			if n := len(out); n > 0 && e.Kind == input.Text && !e.Alt && out[n-1].Kind == input.Text && !out[n-1].Alt {
				out[n-1].Text += e.Text
				continue
			}
			out = append(out, e)
		}
		return out
	}
	var whole input.Parser
	want := join(whole.Feed([]byte(all)))
	for size := 1; size < 20; size++ {
		var p input.Parser
		var got []input.Event
		for rest := all; rest != ""; {
			n := min(size, len(rest))
			got = append(got, p.Feed([]byte(rest[:n]))...)
			rest = rest[n:]
		}
		require.Equal(t, want, join(got), "pieces of %d", size)
	}
}

func TestAKeyThatBeganEarlierIsNotAlone(t *testing.T) {
	var p input.Parser
	require.Empty(t, p.Feed([]byte("\x1b")))
	require.True(t, p.Waiting())
	require.Equal(t, []input.Event{{Kind: input.Text, Text: "y", Alt: true}}, p.Feed([]byte("y")))
	require.Empty(t, p.Feed([]byte("\x1b[200~")))
	require.False(t, p.Waiting(), "a paste may take long")
	require.Equal(t, []input.Event{{Kind: input.Paste, Text: "y"}}, p.Feed([]byte("y\x1b[201~")))
	require.Equal(t, []input.Event{{Kind: input.Text, Text: "y", Alone: true}}, p.Feed([]byte("y")))
}

func TestFlush(t *testing.T) {
	var p input.Parser
	require.Empty(t, p.Flush())
	p.Feed([]byte("\x1b"))
	require.Equal(t, []input.Event{{Kind: input.Escape, Alone: true}}, p.Flush())
	p.Feed([]byte("\x1b[1;"))
	require.Equal(t, []input.Event{{Kind: input.Unknown}}, p.Flush())
	p.Feed([]byte("\xe6\xbc"))
	require.Equal(t, []input.Event{{Kind: input.Unknown}}, p.Flush())
}

func TestLargePaste(t *testing.T) {
	var p input.Parser
	p.Feed([]byte("\x1b[200~"))
	for range 100 {
		require.Empty(t, p.Feed([]byte(strings.Repeat("x", 100_000))))
	}
	got := p.Feed([]byte("\x1b[201~"))
	require.Len(t, got, 1)
	require.Len(t, got[0].Text, 4<<20)
}

// Terminals send several arrow keys for a step of the wheel on a separate screen.
func TestWheelAsArrowKeys(t *testing.T) {
	var p input.Parser
	kinds := func(data string) (all []input.Kind) {
		for _, e := range p.Feed([]byte(data)) {
			all = append(all, e.Kind)
		}
		return all
	}
	require.Equal(t, []input.Kind{input.WheelUp}, kinds("\x1bOA\x1bOA\x1bOA"))
	require.Equal(t, []input.Kind{input.WheelDown, input.WheelDown}, kinds(strings.Repeat("\x1b[B", 4)))
	require.Equal(t, []input.Kind{input.Up}, kinds("\x1b[A"), "a key")
	require.Equal(t, []input.Kind{input.Up, input.Down}, kinds("\x1b[A\x1b[B"), "keys")
	require.Equal(t, []input.Kind{input.Up, input.Up}, kinds("\x1b[1;2A\x1b[1;2A"), "with Shift")
}
