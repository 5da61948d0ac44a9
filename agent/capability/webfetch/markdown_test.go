// SPDX-License-Identifier: Apache-2.0

package webfetch_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"golang.org/x/net/html"

	"github.com/ponte-go/ponte/agent/capability/webfetch"
)

func TestElementsBecomeMarkdown(t *testing.T) {
	for name, test := range map[string]struct{ page, want string }{
		"headings":               {"<h1>A</h1>x<h3>B <em>c</em></h3>y", "# A\n\nx\n\n### B *c*\n\ny"},
		"heading in bold":        {"<b><h2>A</h2>x</b>", "## A\n\n**x**"},
		"paragraphs":             {"<p>a<p>b<div>c</div>d", "a\n\nb\n\nc\n\nd"},
		"line breaks":            {"a<br>b<br/>c", "a\nb\nc"},
		"emphasis":               {"a<b> b </b>c <i>d</i><b></b> <b><b>e</b></b> <del>f</del>", "a **b** c *d* **e** ~~f~~"},
		"bold over paragraphs":   {"<b><p>a</p><p>b</p></b>c", "**a**\n\n**b**\n\nc"},
		"bold not closed well":   {"<p><b>a<p>b", "**a**\n\nb"},
		"links":                  {`<a href="/x y?z=(1)">a <b>b</b></a> <a href="#f">c</a> <a href="">d</a> <a>e</a>`, "[a **b**](https://page.test/x%20y?z=%281%29) [c](https://page.test/a/b#f) d e"},
		"links to nothing":       {`<a href="javascript:x()">a</a> <a href="data:,x">b</a> <a href="blob:x">c</a> <a href="JavaScript:x()">d</a> <a href="https://[">e</a>`, "a b c d e"},
		"links without text":     {`a <a href="x"><img src="data:,x"></a> b`, "a b"},
		"links over blocks":      {`<a href="x"><h3>a</h3><p>b</p></a>c`, "[a b](https://page.test/a/x) c"},
		"links side by side":     {`<a href="x">a<a href="y">b</a>`, "[a](https://page.test/a/x)[b](https://page.test/a/y)"},
		"images":                 {`<img src="x.png" alt="a [b]"> <img alt="c"> <a href="y"><img src=z></a>`, `![a \[b\]](https://page.test/a/x.png) c [![](https://page.test/a/z)](https://page.test/a/y)`},
		"base":                   {`<base href="//other.test/d/"><base href="//x/"><a href="e">a</a>`, "[a](https://other.test/d/e)"},
		"base of a script":       {`<base href="javascript:x"><a href="e">a</a>`, "[a](https://page.test/a/e)"},
		"code":                   {"<code>a  <b>b</b></code> <code>`</code> <kbd>c``d</kbd><code></code>", "`a b` `` ` `` ```c``d```"},
		"blocks of code":         {"<pre class='x lang-sh'>\na\n  b\n</pre><pre><code class=language-go>c</code></pre><pre>```</pre>", "```sh\na\n  b\n```\n\n```go\nc\n```\n\n````\n```\n````"},
		"lists":                  {"<ul><li>a<li>b<ol start=9><li>c<li>d</ol><li>e</ul>", "- a\n- b\n\n  9. c\n  10. d\n\n- e"},
		"lists of paragraphs":    {"<ul><li><p>a</p><p>b</p><li><p>c</p></ul>", "- a\n\n  b\n\n- c"},
		"lists of values":        {"<ol><li value=5>a<li>b</ol><menu><li>c</menu>", "5. a\n6. b\n\n- c"},
		"empty items":            {"<ul><li></li><li><ul><li>a</ul></ul>", "- - a"},
		"items without a list":   {"<li>a<li>b", "- a\n- b"},
		"code in lists":          {"<ul><li>a<pre>b\nc</pre></ul>", "- a\n\n  ```\n  b\n  c\n  ```"},
		"quotes":                 {"<blockquote><p>a<p>b<blockquote>c</blockquote></blockquote>d", "> a\n>\n> b\n>\n> > c\n\nd"},
		"definitions":            {"<dl><dt>a<dd>b<dd>c<dt>d<dd><p>e<p>f</dl>", "a\n: b\n: c\n\nd\n: e\n\n  f"},
		"tables":                 {"<table><caption>t</caption><tr><th>a<th>b|c<tbody><tr><td>d<br>e<td><code>|</code></table>", "t\n\n| a | b\\|c |\n|---|---|\n| d e | `\\|` |"},
		"tables of many widths":  {"<table><tr><td>" + strings.Repeat("x", 50) + "<td>a<tr><td>b<td>c", "| " + strings.Repeat("x", 50) + " | a |\n|---|---|\n| b | c |"},
		"cells that span":        {"<table><tr><th colspan=2>a<th>b<tr><td>c<td>d<td>e", "| a | | b |\n|---|---|---|\n| c | d | e |"},
		"empty cells":            {"<table><tr><td><td>a<tr><td>b<td></table>", "| | a |\n|---|---|\n| b | |"},
		"tables for the layout":  {"<table><tr><td>a<td><h2>b</h2><tr><td>c", "a\n\n## b\n\nc"},
		"tables in tables":       {"<table><tr><td>x<td><table><tr><td>a<td>b<tr><td>c<td>d</table></table>", "x\n\n| a | b |\n|---|---|\n| c | d |"},
		"one column":             {"<table><tr><td>a<tr><td>b</table>", "a\nb"},
		"cells without a table":  {"<td>a</td><tr>b", "ab"},
		"rows without cells":     {"<table><tr>\n</tr><tr>x</tr><tr><td>a<td>b<tr> <tr><td>c<td>d</table>", "| a | b |\n|---|---|\n| c | d |"},
		"rulers":                 {"a<hr>b", "a\n\n* * *\n\nb"},
		"what is left out":       {"<nav>x</nav>a<script>if (a<b) x</script><style>x</style><svg><title>x</title><p>b</p><noscript>x</noscript><select><option>x</select><button>x</button>c<textarea><b>x</textarea><template>x</template>", "a\n\nb\n\nc"},
		"drawings":               {"a<svg><style/><title/><g>x</g></svg>b<math><mi>c</mi></math>", "abc"},
		"comments":               {"a<!-- x --!>b<!x>c<?x?>d</ >e", "abcde"},
		"paragraphs in cells":    {"<table><tr><td><p>a<p>b<td>c<tr><td>d</div><td>e</table>", "| a b | c |\n|---|---|\n| d | e |"},
		"rows of paragraphs":     {"<table><tr><td>a<td><p>b<tr><td>c<td><p>d</table>", "| a | b |\n|---|---|\n| c | d |"},
		"cells without a row":    {"<table><td>a<td>b<tr><td>c<td>d</table>", "| a | b |\n|---|---|\n| c | d |"},
		"cells in paragraphs":    {"<table><p><td>a<td>b<tr><td>c<td>d</table>", "| a | b |\n|---|---|\n| c | d |"},
		"captions in buttons":    {"<table><tr><td>a<td>b<p>x<button>y<caption>t</caption><tr><td>c<td>d</table>", "t\n\n| a | b x |\n|---|---|\n| c | d |"},
		"buttons in buttons":     {"<button>x<button>y</button>a", "a"},
		"buttons in cells":       {"<button>x<table><tr><td><button>y</button>z</table></button>a", "a"},
		"end tags of nothing":    {"</p></div></table><p>a</b></p></td>b", "a\n\nb"},
		"blocks of lines":        {"<pre><div>a</div><div>b</div></pre>", "```\na\nb\n```"},
		"letters that are long":  {"<p>À_b_À x&Àb; a_\u0080", "À_b_À x&Àb; a_\u0080"},
		"what is no markup":      {"<p>1. a</p><p># b</p><p>- c</p><p>&gt; d</p><p>--- e ===</p><p>*f* _g_ h_i `j` 2 * 3</p><p>[k](l) [m]: n &amp;lt; &lt;o&gt; a&b;", "1\\. a\n\n\\# b\n\n\\- c\n\n\\> d\n\n\\--- e ===\n\n\\*f\\* \\_g\\_ h_i \\`j\\` 2 * 3\n\n[k]\\(l) [m]\\: n \\&lt; \\<o> a\\&b;"},
		"an exclamation mark":    {`a!<a href="x">b</a>`, `a\![b](https://page.test/a/x)`},
		"brackets in links":      {`<a href="x">a](b)[c</a>`, `[a\](b)\[c](https://page.test/a/x)`},
		"brackets around markup": {`[a]<b>(c)</b>`, `[a]**(c)**`},
	} {
		t.Run(name, func(t *testing.T) {
			text, _, cut, err := webfetch.Markdown(t.Context(), test.page, somewhere)
			require.NoError(t, err)
			require.Equal(t, test.want, text)
			require.False(t, cut)
		})
	}
}

func TestMainElementIsThePage(t *testing.T) {
	around := strings.Repeat("around ", 20)
	for page, want := range map[string]string{
		"<p>x</p><main>long enough</main>":                                     "long enough",
		"<p>" + around + "</p><main>short</main>":                              strings.TrimSpace(around) + "\n\nshort",
		"<div role=main>content</div><article>x</article>":                     "content",
		"<p>x</p><article>content</article>":                                   "content",
		"<article>one</article><article>two</article>":                         "one\n\ntwo",
		"<nav>" + around + "</nav><p hidden>" + around + "</p>x<main>y</main>": "y",
	} {
		text, _, _, err := webfetch.Markdown(t.Context(), page, somewhere)
		require.NoError(t, err)
		require.Equal(t, want, text, page)
	}
}

func TestLongPagesAreCut(t *testing.T) {
	text, _, cut, err := webfetch.Markdown(t.Context(), strings.Repeat("<blockquote>", 20)+"x"+strings.Repeat("<br>x", 100_000), somewhere)
	require.NoError(t, err)
	require.True(t, cut, "what is said of a page that would grow beyond the limit")
	require.Less(t, len(text), 4*600_000)
	_, _, cut, err = webfetch.Markdown(t.Context(), strings.Repeat("<b>x</b>", 600_000), somewhere)
	require.NoError(t, err)
	require.True(t, cut, "and of one with more elements than are read")
}

// Text that is no markup in the page is none in the Markdown either.
func TestTextOfPagesIsNoMarkup(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	parts := []string{"a", "b1", " ", " ", "*", "**", "_", "`", "``", "[", "]", "(", ")", "!", "#", "##", "-", "+", "=", "1", ".", ">", "<", "&", ";", "amp;", "|", "\\", "~", "~~", ":", "/", "x.test", "\"", "é"}
	for range 5_000 {
		var text strings.Builder
		for range 1 + rng.IntN(12) {
			text.WriteString(parts[rng.IntN(len(parts))])
		}
		want := strings.Join(strings.Fields(text.String()), " ")
		md, _, _, err := webfetch.Markdown(t.Context(), "<p>"+html.EscapeString(text.String())+"</p>", somewhere)
		require.NoError(t, err)
		var page bytes.Buffer
		require.NoError(t, goldmark.Convert([]byte(md), &page))
		doc, err := html.Parse(&page)
		require.NoError(t, err)
		var read strings.Builder
		for n := range doc.Descendants() {
			if n.Type == html.TextNode {
				read.WriteString(n.Data)
			}
		}
		require.Equal(t, want, strings.TrimSpace(read.String()), "Markdown: %s", md)
	}
}
