// SPDX-License-Identifier: Apache-2.0

package markdown_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/app/internal/term/markdown"
	"github.com/ponte-go/ponte/app/internal/term/text"
)

func shown(source string, width int) string {
	var b strings.Builder
	for _, l := range markdown.Render(source, width) {
		b.WriteString(strings.TrimRight(l.Plain(), " ") + "\n")
	}
	return b.String()
}

const document = `# Title *em*

A paragraph with **bold**, ` + "`code  x`" + `, [a link](http://x.example), <http://y.example> and ~~no~~
soft break.  
Hard break &amp; \*escape\* &#27;[31m.

- one
- [x] two
  more

3. three

   para
4. four 漢字かな交じり文の長い行は正しく折り返される

> quote

` + "```go\nfunc main() {\n\tprintln(\"漢字\") // ok\n}\n```" + `

| a | long |
|---|---|
| 日本 | x |

<b>html</b>

---
`

func TestMarkdown(t *testing.T) {
	require.Equal(t, `Title em

A paragraph with bold, code  x, a link
(http://x.example), http://y.example and
no soft break.
Hard break & *escape* ⟨ESC⟩[31m.

• one
• ☑ two more

3. three

   para

4. four
   漢字かな交じり文の長い行は正しく折り
   返される

│ quote

func main() {
    println("漢字") // ok
}

a    │ long
───────────
日本 │ x

<b>html</b>

────────────────────────────────────────
`, shown(document, 40))
}

func TestMarkdownFitsEveryWidth(t *testing.T) {
	for width := 20; width < 120; width++ {
		for _, l := range markdown.Render(document, width) {
			require.LessOrEqual(t, l.Width(), width, "%d: %s", width, l.Plain())
			for _, s := range l {
				require.NotContains(t, s.Text, "\n")
			}
		}
	}
}

func TestHighlightKeepsTheText(t *testing.T) {
	for _, language := range []string{"", "go", "python", "nonsense", "main.rs", "diff", "json", "bash"} {
		source := "package x // a\n\n\tfoo(\"b\", 1)\n# c\n- d\n\n"
		var got []string
		for _, l := range markdown.Highlight(source, language) {
			got = append(got, l.Plain())
		}
		require.Equal(t, strings.Split(strings.ReplaceAll(strings.TrimSuffix(source, "\n"), "\t", "    "), "\n"), got, language)
	}
	require.Equal(t, text.Style{Color: text.Magenta}, markdown.Highlight("func f() {}", "go")[0][0].Style)
}

func TestHighlightColors(t *testing.T) {
	comment, keyword, quoted, number, function := text.Style{Color: text.Gray, Italic: true}, text.Style{Color: text.Magenta}, text.Style{Color: text.Green}, text.Style{Color: text.Cyan}, text.Style{Color: text.Blue}
	for _, c := range []struct {
		language, code string
		want           map[string]text.Style
	}{
		{"go", "return f(\"a//b\", 0x1F) // c 'd'", map[string]text.Style{"return": keyword, "f": function, `"a//b"`: quoted, "0x1F": number, "// c 'd'": comment}},
		{"/repo/a.py", "def f(): # it's\n  x = '''a\nb''' + y1", map[string]text.Style{"def": keyword, "f": function, "# it's": comment, "'''a": quoted, "b'''": quoted}},
		{"SQL", "SELECT a FROM b -- c", map[string]text.Style{"SELECT": keyword, "FROM": keyword, "-- c": comment}},
		{"rust", "fn f<'a>(x: &'a str) /* x", map[string]text.Style{"fn": keyword, "/* x": comment}},
		{"bash", "echo $# 'x' # y", map[string]text.Style{"'x'": quoted, "# y": comment}},
		{"html", "<p class=\"x\"></p><!-- y -->", map[string]text.Style{"<p": function, `"x"`: quoted, "</p": function, "<!-- y -->": comment}},
		{"diff", "-a\n+b\n c", map[string]text.Style{"-a": {Color: text.Red}, "+b": quoted}},
		{"json", `{"a": [1, true]}`, map[string]text.Style{`"a"`: quoted, "1": number, "true": keyword}},
	} {
		got := map[string]text.Style{}
		for _, line := range markdown.Highlight(c.code, c.language) {
			for _, span := range line {
				if span.Style != (text.Style{}) {
					got[span.Text] = span.Style
				}
			}
		}
		require.Equal(t, c.want, got, c.language)
	}
}

// Each of these texts takes long if what follows is looked through again and again.
func TestHighlightOfHostileCode(t *testing.T) {
	for _, piece := range []string{`\"`, `"\`, "'", "/*", "<", "`", `"""`, "a1", "#", "é"} {
		source := strings.Repeat(piece, 60_000/len(piece))
		for _, language := range []string{"go", "python", "html", "rust"} {
			got := ""
			for _, l := range markdown.Highlight(source, language) {
				got += l.Plain()
			}
			require.Equal(t, source, got)
		}
	}
}

func TestMarkdownOfAnyText(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a ", "\n", "\n\n", "- ", "1. ", "```", "`", "**", "_", "|", "|-|-|\n", "> ", "    ", "# ", "&#10;", "&#27;", "\\", "[x](y)", "![", "<b>", "漢字", "👩‍👩‍👧", "\x1b[31m", "~~", "\t"}
	for range 500 {
		var source strings.Builder
		for range r.IntN(40) {
			source.WriteString(pieces[r.IntN(len(pieces))])
		}
		for _, l := range markdown.Render(text.Clean(source.String()), 20+r.IntN(80)) {
			require.NotContains(t, l.Plain(), "\n", source.String())
			require.NotContains(t, l.Plain(), "\x1b", source.String())
		}
	}
}

// Code that is copied from the terminal, or with /copy code, is the code.
func TestCodeCanBeCopied(t *testing.T) {
	long := "x := \"" + strings.Repeat("long ", 40) + "\""
	source := "Look:\n\n```go\n" + long + "\n\ty()\n```\n\n- a list\n\n      indented code\n"
	require.Equal(t, []string{long + "\n\ty()", "indented code"}, markdown.Code(source))
	var printed []string
	for _, l := range markdown.Printed(source, 40) {
		printed = append(printed, l.Plain())
	}
	require.Contains(t, printed, long, "no break, no indent")
	require.Empty(t, markdown.Code("no `code`"))
}
