// SPDX-License-Identifier: Apache-2.0

package markdown_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/app/internal/term/markdown"
	"github.com/ponte-go/ponte/app/internal/term/text"
)

var update = flag.Bool("update", false, "write the golden files")

var sgr = regexp.MustCompile(`\x1b\[([0-9;]*)m`)

// styled returns lines with the codes of their styles in ‹›.
func styled(lines []text.Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.ReplaceAll(sgr.ReplaceAllString(l.ANSI(true), "‹$1›"), "‹0›", "‹›") + "⏎\n")
	}
	return b.String()
}

// plain returns lines without their styles.
func plain(lines []text.Line) (all string) {
	for _, l := range lines {
		all += l.Plain() + "⏎\n"
	}
	return all
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	file = "testdata/" + file
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, strings.ReplaceAll(string(want), "\r\n", "\n"), got, "%s: go test -update writes it anew", file)
}

// How each piece of Markdown looks.
func TestLooks(t *testing.T) {
	var b strings.Builder
	for _, source := range []string{
		"", "\n\n", "plain", "one\ntwo  \nthree\\\nfour", "# One\n## Two *em* `code`\n### Three\nSetext\n===", "*em* **strong** ***both*** ~~gone~~ _**x**_",
		"`code` ``a ` b`` `two\nlines`", "[a](http://a.test) [http://b.test](http://b.test) <http://c.test> [`d`](d) [](e) [**f**\\\nf](f)",
		"![picture](p.png) ![](q.png)", "a &amp; b &lt; &#27;[1m \\* \\\\ &nosuch; `&amp; \\*`", "<b>html</b> and <br\n/> more", "<div>\n  block\n</div>\n\nafter", "<!-- a\n\nb -->",
		"- a\n- b\n  - c\n    - d\n- e", "- a\n\n- b\n\n  more", "1. a\n2. b", "7. a\n8. b\n9. c\n10. d", "0. a", "- [ ] open\n- [x] done", "-\n- a", "1. > quote\n2. ```\n   code\n   ```",
		"> a\n> b\n>\n> c\n\n> > nested", "---\n***\n", "    indented\n\n    code\n", "```\nno language\n\twith a tab\n```", "~~~go\nfunc f() { return nil }\n~~~", "```go\n```", "```nonsense\nif x\n```",
		"| a | b | c |\n|---|:-:|--:|\n| 1 | `22` | 漢字 |\n| long cell | | x |", "| a |\n|---|\n| b |", "| a | b |\n|---|---|\n| cell that is much too long | for the width of a narrow screen |\n| x | y |",
		"para\n# heading\npara\n- list\n\npara", "a very long word: " + strings.Repeat("x", 50), "term\n: definition", "a[^1]\n\n[^1]: note",
	} {
		fmt.Fprintf(&b, "=== %q\n%s", source, styled(markdown.Render(source, 60)))
		if narrow := styled(markdown.Render(source, 20)); narrow != styled(markdown.Render(source, 60)) {
			b.WriteString("--- narrow\n" + narrow)
		}
	}
	golden(t, "looks.golden", b.String())
	require.Equal(t, styled(markdown.Render("- one two three", 8)), styled(markdown.Render("- one two three", 0)), "nothing is narrower than 8 columns")
	require.NotEqual(t, styled(markdown.Render("- one two three", 8)), styled(markdown.Render("- one two three", 9)))
	require.Equal(t, styled(markdown.Printed("- one two three", 8)), styled(markdown.Printed("- one two three", 0)))
	for width := range 10 {
		lines := 1 + 8/max(width, 8)
		require.Len(t, markdown.Render("abcdefghi", width), lines)
		require.Len(t, markdown.Render("abcdefgh", width), 1)
		require.Len(t, markdown.Printed("abcdefghi", width), lines)
		require.Len(t, markdown.Printed("abcdefgh", width), 1)
	}
	require.Equal(t, "│ aaaa bbbb⏎\n", plain(markdown.Render("> aaaa bbbb", 11)))
	require.Equal(t, "│ aaaa⏎\n│ bbbb⏎\n", plain(markdown.Render("> aaaa bbbb", 10)))
	table := "| aaaa | bbbbbb |\n|---|---|\n| c | d |"
	require.Len(t, markdown.Render(table, 13), 3, "in columns if it fits")
	require.Len(t, markdown.Render(table, 12), 5)
	require.Equal(t, "a │ ", markdown.Render("| a | |\n|---|---|\n| b | |", 40)[0].Plain())
	require.Len(t, markdown.Render("| a | |\n|---|---|\n| b | |", 40)[1].Plain(), 4*len("─"))
	require.Len(t, markdown.Render("---", 100)[0].Plain(), 40*len("─"))
}

// How code of each language looks.
func TestLooksOfCode(t *testing.T) {
	samples := []string{
		"if x == 10 { return f(\"a\\\"b\", 'c') } // x", "/* a\nb */ x /* open", "# a\nx#b #c\n\t# d", "-- a --[[ b\nc ]] d", "`a\nb` \"\"\"a\nb\"\"\" '''c\nd''' \"\"", "\"a\nb\" 'it's' don't 'x",
		"SELECT a From b", "<a href=\"x\">y</a> < b </ c> <!-- d\ne --> <d/>", "-a\n+b\n@@ c\n d\n\n", "{\"a\": [1.5, true, null]}", "#include <x>\n#define Y 1", "x1 1x 0x1F é1( ünder_score2( f (a) if(b)",
		"\"\\", "'\\'", "\"a\\\nb\"", "λ(x) func", "let x: &'a str = \"b\";", "RUN make # x", "; a\n(def b)", "{ a: \"b\" !important }", "\n\n", "", "a\"b\"c", "\"a\"\"b\"", "/**/ if", "/*/ if */ if", "<!---> <a> --> <b>", "<!----> <a>", "--[[]] if", "if#x if#", "1#2 f#(x) f(", "``if", "\"\"\"\"\"\"if", "if9 if0 ifz ifZ if_ f9(x) f0(x) fz(x) fZ(x)",
	}
	var b strings.Builder
	for _, language := range []string{
		"go", "c", "javascript", "rust", "php", "zig", "css", "proto", "python", "ruby", "sh", "makefile", "yaml", "json", "perl", "sql", "lua", "clojure", "html", "diff", "text",
	} {
		for _, s := range samples {
			if got := styled(markdown.Highlight(s, language)); got != styled(markdown.Highlight(s, "")) || language == "text" {
				fmt.Fprintf(&b, "=== %s: %q\n%s", language, s, got)
			}
		}
	}
	golden(t, "code.golden", b.String())
	for name, of := range map[string]string{"GO": "go", "a/b/main.go": "go", "go.mod": "go", "Makefile": "makefile", "/x/Dockerfile": "makefile", "a.unknown": "", "unknown": "", "x.tar.py": "python", "": "", "c++": "c"} {
		code := "if x: // y # z"
		require.Equal(t, styled(markdown.Highlight(code, of)), styled(markdown.Highlight(code, name)), name)
	}
	colored := func(n int) bool {
		return strings.Contains(styled(markdown.Highlight("if "+strings.Repeat("x", n-3), "go")), "‹")
	}
	require.True(t, colored(64<<10))
	require.False(t, colored(64<<10+1))
}

func TestCodeBlocks(t *testing.T) {
	require.Equal(t, []string{"a\n\nb", "c", "", "  d"}, markdown.Code("```\na\n\nb\n```\n\n- x\n\n  ~~~go\n  c\n  ~~~\n\n```\n```\n\n      d\n"))
}
