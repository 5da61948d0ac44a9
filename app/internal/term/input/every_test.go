// SPDX-License-Identifier: Apache-2.0

package input_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/app/internal/term/input"
)

var update = flag.Bool("update", false, "write the golden file")

// kinds are the names of the kinds of events.
var kinds = map[input.Kind]string{
	0: "nothing", input.Text: "text", input.Paste: "paste", input.Enter: "enter", input.Tab: "tab", input.Escape: "esc", input.Backspace: "backspace", input.Delete: "delete", input.Up: "up", input.Down: "down", input.Left: "left", input.Right: "right",
	input.Home: "home", input.End: "end", input.PageUp: "pageup", input.PageDown: "pagedown", input.WheelUp: "wheelup", input.WheelDown: "wheeldown", input.Ctrl: "ctrl", input.Report: "report", input.Unknown: "unknown",
}

func told(all []input.Event) string {
	var b strings.Builder
	for _, e := range all {
		b.WriteString(" " + kinds[e.Kind])
		for _, one := range []struct {
			is   bool
			name string
		}{{e.Shift, "+shift"}, {e.Alt, "+alt"}, {e.Held, "+held"}, {e.Alone, "+alone"}} {
			if one.is {
				b.WriteString(one.name)
			}
		}
		if e.Text != "" {
			fmt.Fprintf(&b, "%q", e.Text)
		}
		if e.Kind == input.Report {
			fmt.Fprintf(&b, "(%d,%d)", e.Row, e.Column)
		}
	}
	return b.String()
}

// TestEverySequence has what is made of everything that terminals send, at once and byte by byte.
func TestEverySequence(t *testing.T) {
	var all []string
	for c := range 256 {
		one := string([]byte{byte(c)})
		all = append(all, one, "\x1b"+one, "a"+one+"b", "\x1bO"+one)
	}
	for _, params := range []string{"", "1", "1;2", "1;3", "1;5", "1;8", "1;0", "12;40", "<64;1;1", "<65", "<66;1", "1;2;3;4", ":1;2", "x", "?1"} {
		for c := '@'; c <= '~'; c++ {
			all = append(all, fmt.Sprintf("\x1b[%s%c", params, c))
		}
	}
	for n := range 140 {
		all = append(all, fmt.Sprintf("\x1b[%d~", n), fmt.Sprintf("\x1b[%du", n), fmt.Sprintf("\x1b[27;5;%d~", n))
	}
	for _, code := range []int{0xd7ff, 0xd800, 0xdfff, 0xe000, 57343, 57344, 57413, 57414, 57415, 0x1f600, 1 << 30} {
		all = append(all, fmt.Sprintf("\x1b[%du", code), fmt.Sprintf("\x1b[27;1;%d~", code))
	}
	for n := 60; n < 68; n++ {
		all = append(all, "\x1b["+strings.Repeat("1", n)+"A", "\x1b["+strings.Repeat("1", n)+"\x1bA")
	}
	for _, n := range []int{4093, 4094, 4095, 4096} {
		all = append(all, "\x1b]"+strings.Repeat("x", n), "\x1b]"+strings.Repeat("x", n)+"\x07a")
	}
	for _, step := range []string{"\x1b[A", "\x1b[B", "\x1bOA", "\x1b[1;2A", "\x1b[1;3B", "\x1b[1;5A", "\x1b[1;8B", "\x1b[C"} {
		for n := 2; n < 9; n++ {
			all = append(all, strings.Repeat(step, n))
		}
	}
	all = append(
		all, "\x1b[A\x1b[B", "\x1b[A\x1b[Ax", "x\x1b[A\x1b[A", "\x1b[A\x1b[1;2A", "é", "\xc3", "\xc3\x1b", "\xff", "a\xffb", "e\u0301", "👩\u200d👧", "a\xc3", "ab\x1b", "\x1b\x1b", "\x1b\x1b[A", "\x1b\x1b\x1b", "\x1b[", "\x1bO", "\x1b[1;", "\x1b\xc3", "\x1b\xc3\xa9b", "\x1b\r", "\x1b\x7f", "\x1b\t",
		"\x1b[200~a\x1b[201~", "\x1b[200~\x1b[201~b", "\x1b[200~a\r\nb\rc\nd\x1b[201~", "\x1b[200~a\x1b[20", "\x1b[200~a\x1b[20x\x1b[201~", "\x1b[200~\x1b[200~\x1b[201~\x1b[201~", "\x1b[200~\xff\x1b[201~", "\x1b[200~", "\x1b[20", "x\x1b[200~a\x1b[201~y",
		"\x1b]0;t\x07a", "\x1bPq\x1b\\a", "\x1b_x\x07", "\x1b^x\x07", "\x1bXx\x07b", "\x1b]\x1b[A",
	)
	var b strings.Builder
	for _, in := range all {
		p := input.Parser{}
		atOnce := told(p.Feed([]byte(in)))
		if p.Waiting() {
			atOnce += " …" + told(p.Flush())
		}
		require.False(t, p.Waiting())
		require.Nil(t, p.Flush())
		shown := fmt.Sprintf("%q", in)
		if len(shown) > 400 {
			shown = fmt.Sprintf("%q…%q (%d)", in[:4], in[len(in)-2:], len(in))
		}
		fmt.Fprintf(&b, "%s%s\n", shown, atOnce)
		p = input.Parser{}
		slowly := ""
		for i := range len(in) {
			slowly += told(p.Feed([]byte{in[i]}))
		}
		if p.Waiting() {
			slowly += " …" + told(p.Flush())
		}
		if slowly != atOnce && len(in) < 400 {
			fmt.Fprintf(&b, "\tslowly:%s\n", slowly)
		}
	}
	const golden = "testdata/every.golden"
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(golden, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, strings.ReplaceAll(string(want), "\r\n", "\n"), b.String(), "go test -update writes it anew")
}

// A byte that is no character may follow Esc: Alt and a key of a terminal that does not send UTF-8.
func TestAltAndHalfACharacter(t *testing.T) {
	p := input.Parser{}
	require.Equal(t, []input.Event{{Kind: input.Text, Text: "\uFFFD", Alt: true, Alone: true}}, p.Feed([]byte("\x1b\xff")))
	require.Equal(t, []input.Event{{Kind: input.Text, Text: "\uFFFD", Alt: true}, {Kind: input.Text, Text: "b"}}, p.Feed([]byte("\x1b\xe4b")))
}

// Of a paste, four megabytes are kept, however it comes.
func TestLongPastes(t *testing.T) {
	const most = 4 << 20
	for _, first := range []int{0, 1, most - 2, most - 1, most, most + 1} {
		p := input.Parser{}
		require.Empty(t, p.Feed([]byte("\x1b[200~"+strings.Repeat("x", first))))
		all := p.Feed([]byte(strings.Repeat("y", most+2-first) + "\x1b[201~z"))
		want := strings.Repeat("x", min(first, most)) + strings.Repeat("y", max(most-first, 0))
		require.Len(t, all, 2)
		require.True(t, want == all[0].Text, "%d bytes at first", first)
		require.Equal(t, input.Event{Kind: input.Text, Text: "z"}, all[1])
	}
}
