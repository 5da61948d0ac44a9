// SPDX-License-Identifier: Apache-2.0

package webfetch_test

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/capability/webfetch"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares a text with a file, which the flag -update rewrites.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "run the test with -update")
	require.Equal(t, strings.ReplaceAll(string(want), "\r\n", "\n"), got)
}

func converted(t *testing.T, page string) string {
	t.Helper()
	text, title, cut, err := webfetch.Markdown(t.Context(), page, somewhere)
	require.NoError(t, err)
	require.False(t, cut)
	if title != "" {
		text += "\n(title: " + title + ")"
	}
	return text
}

// surroundings are where an element may be.
var surroundings = []string{
	"%s", "<p>x %s y</p>z", "<ul><li>x%sy<li>z</ul>", "<ol start=9><li>x%sy<li>z</ol>", "<table><tr><td>x%sy<td>z<tr><td>u<td>v</table>w", "<table><tr><th>x%sy<td>z<tr><td>u<td>v</table>w", "<table>x%sy<tr><td>u<td>v</table>w", "<table><tr>x%sy<td>u<td>v</table>w",
	"<b>x%sy</b>z", "<a href=/h>x%sy</a>z", "<h2>x%sy</h2>z", "<pre>x%sy</pre>z", "<code>x%sy</code>z", "<blockquote>x%sy</blockquote>z", "<dl><dt>x%sy<dd>x%sy<dt>z</dl>",
	"<svg>x%sy</svg>z", "<math>x%sy</math>z", "<svg><foreignObject>x%sy</svg>z", "<button>x%sy</button>z", "<div hidden>x%sy</div>z", "<main>x%sy</main>z", "<table><caption>x%sy</caption><tr><td>u<td>v</table>w",
}

// TestElementsEverywhereMatchTheGoldenFile puts each element everywhere, closed or not. Elements of one result share its line.
func TestElementsEverywhereMatchTheGoldenFile(t *testing.T) {
	var told strings.Builder
	for _, around := range surroundings {
		for _, form := range []string{"<E>i</E>", "<E>i", "<E/>i", "</E>i", "<E>i<E>j</E>k</E>", "<E href=/r src=/s alt=l class=lang-go value=7 colspan=2>i"} {
			page := strings.ReplaceAll(around, "%s", form)
			fmt.Fprintf(&told, "# %s\n", page)
			by := map[string][]string{}
			for _, e := range elements {
				text := converted(t, strings.ReplaceAll(page, "E", e))
				by[text] = append(by[text], e)
			}
			texts := slices.SortedFunc(maps.Keys(by), func(a, b string) int { return slices.Index(elements, by[a][0]) - slices.Index(elements, by[b][0]) })
			for _, text := range texts {
				fmt.Fprintf(&told, "%q: %s\n", text, strings.Join(by[text], " "))
			}
		}
	}
	golden(t, "elements.txt", told.String())
}

// TestPairsOfElementsMatchTheGoldenFile opens each of the elements that close others within each.
func TestPairsOfElementsMatchTheGoldenFile(t *testing.T) {
	structural := strings.Fields("a blockquote button caption dd div dl dt foreignObject h1 h2 li math ol p pre section span svg table tbody td tfoot th thead title tr ul x-own")
	var told strings.Builder
	for _, outer := range structural {
		for _, page := range []string{"<table><tr><td>u<O>v<I>w</O>x</I>y</table>z", "<O>v<I>w<O>x</I>y</O>z", "<O>v<b><I>w</O>x</b>y</I>z"} {
			by := map[string][]string{}
			for _, inner := range structural {
				text := converted(t, strings.NewReplacer("O", outer, "I", inner).Replace(page))
				by[text] = append(by[text], inner)
			}
			fmt.Fprintf(&told, "# %s\n", strings.ReplaceAll(page, "O", outer))
			for _, text := range slices.SortedFunc(maps.Keys(by), func(a, b string) int { return strings.Compare(by[a][0], by[b][0]) }) {
				fmt.Fprintf(&told, "%q: %s\n", text, strings.Join(by[text], " "))
			}
		}
	}
	golden(t, "pairs.txt", told.String())
}

// TestPunctuationMatchesTheGoldenFile writes each character of ASCII that is no letter in many places.
func TestPunctuationMatchesTheGoldenFile(t *testing.T) {
	places := []string{
		"C", "CC", "CCC", "CCCCCC", "CCCCCCC", "C C", "C x", "x C", "x C y", "xC", "Cx", "xCy", "xC y", "x Cy", "1C", "1C x", "123456789C x", "1234567890C", "12345678901C x", "]C", "[x]C y", "[x] Cy", "x]<b>C</b>y", "x]<br>Cy", "x<span>Cy</span>", "x<span>C</span> y", "x <span>C</span> y", "xCCy", "x CC y", "C/", "C!", "C?", "C9", "Cé", "éC", "C:x;", "\nC", "xC\ny",
		"<b>C</b>", "x<b>C</b>y", "<br>C x", "x<br>Cx", "<a href=/>C</a>", "<a href=/>xCy</a>C", "<img src=/ alt='xCy'>", "<code>C</code>", "<code>xC y</code>", "<pre>C</pre>", "<h1>C</h1>", "<ul><li>C x</ul>", "<table><tr><td>C<td>xCy</table>",
	}
	var told strings.Builder
	for c := byte(' '); c < 0x7f; c++ {
		if c >= 'a' && c <= 'z' || c >= 'B' && c <= 'Z' || c >= '1' && c <= '8' {
			continue
		}
		shown := map[byte]string{'<': "&lt;", '&': "&amp;", '\'': "&#39;"}[c]
		if shown == "" {
			shown = string(c)
		}
		fmt.Fprintf(&told, "# %q\n", c)
		for _, place := range places {
			fmt.Fprintf(&told, "%s → %q\n", place, converted(t, "<div>"+strings.ReplaceAll(place, "C", shown)+"</div>"))
		}
	}
	golden(t, "punctuation.txt", told.String())
}

func TestSnippetsMatchTheGoldenFile(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	snippets := []string{
		// Entities and references.
		"&amp;lt; &amp;amp &amp;#10; &amp;#x0a; &amp;; &amp;a b; &amp;é; &amp;" + long(33) + ";", "&amp;" + long(32) + "; &amp;" + long(34) + ";", "&amp;a", "&amp;a;b",
		// Attributes.
		"<p hidden>x</p>y", "<p hidden=until-found>x</p>y", "<p aria-hidden=true>x</p>y", "<p aria-hidden=false>x</p>y", "<p aria-hidden=true aria-hidden=false>x</p>y", "<p style='display:none'>x</p>y", "<p style='color:red;DISPLAY : None'>x</p>y",
		"<p style='visibility:hidden'>x</p>y", "<p style='font-size:0'>x</p>y", "<p style='font-size:0px'>x</p>y", "<p style='font-size:0.5em'>x</p>y", "<p style='opacity:0'>x</p>y", "<p style='opacity:0.1'>x</p>y", "<p style='opacity:0;x'>x</p>y", "<p style=display:none style=x>x</p>y",
		"<img hidden src=a alt=b>c", "<br hidden>c", "<hr hidden>c", "<a href=a href=b>c</a>", "<a href='' href=b>c</a>", "<a href='  /a  '>c</a>", "<a src=/a>c</a>", "<img href=/a alt=b>", "<img src=/a alt=b alt=c>", "<img src=/a alt='' alt=c>", "<p alt=a>b", "<p class=lang-a>b",
		"<a href='/" + long(1999) + "'>c</a>", "<a href='/" + long(2000) + "'>c</a>", "<a href='/" + long(1980) + "'>c</a>", "<a href='/" + long(1981) + "'>c</a>", "<a href='" + strings.Repeat("é", 400) + "'>c</a>",
		"<ol start=3><li>a</ol>", "<ol start=5 start=9><li>a</ol>", "<ol start=0><li>a</ol>", "<ol start=-3><li>a</ol>", "<ol start=x><li>a</ol>", "<ol start=1000000><li>a</ol>", "<ol start=999999><li>a<li>b</ol>", "<ol><li>a<li value=0>b<li>c</ol>", "<ol><li value=1000000>a</ol>", "<ul><li value=4>a</ul>", "<ol class=x><li>a</ol>",
		"<ol>x<li>a<p>b</p></li>y<div>z</div><li>c</ol>", "<ul start=5><li>a</ul>", "<dir><li>a</dir>", "<ol><ol><li>a</ol></ol>",
		"<table><tr><td colspan=0>a<td>b</table>", "<table><tr><td colspan=1>a<td>b</table>", "<table><tr><td colspan=20>a<td>b</table>", "<table><tr><td colspan=21>a<td>b</table>", "<table><tr><td colspan=-1>a<td>b</table>", "<table><tr><td alt=x>a<td>b</table>",
		// Links and addresses.
		"<a href=http://h.test>a</a>", "<a href=HTTPS://H.test/A>a</a>", "<a href=mailto:a@b.test>a</a>", "<a href=tel:1>a</a>", "<a href=ftp://a.test>a</a>", "<a href=ftps://a.test>a</a>", "<a href=file:///a>a</a>", "<a href=javascript:a>a</a>", "<a href='//b.test'>a</a>", "<a href='?q=1#f'>a</a>", "<a href=..>a</a>",
		"<a href=%zz>a</a>", "<a href='/ ()<>|\\'>a</a>", "<a href='/?x= ()|\\'>a</a>", "<a href=/a>b<a href=/c>d</a></a>", "<a href=/a><code>b</code></a>", "<a href=/a><pre>b\nc</pre></a>", "<a href=/a><ul><li>b<li>c</ul></a>", "<a href=/a><table><tr><td>b<td>c</table></a>", "<a href=/a><hr>b</a>", "<a href=/a>b<br>c</a>",
		"<a href=/a> b </a>c", "x<a href=/a> b</a>", "!<a href=/a>b</a>", "x!<b><a href=/a>b</a></b>", "!<img src=/a alt=b>", "<a href=/a></a>b", "<a href=/a> </a>b", "<img alt='a [b] (c)' src=/a>", "<img alt='a [b](c)'>", "<a href=/a><img src=/b alt='[c]'>d]</a>", "<img>", "<img src=''>", "<img src=data:a alt=b>",
		"<base href=/d/><a href=e>a</a>", "<base href=https://b.test/d/><a href=e>a</a><base href=https://c.test/>", "<base href=mailto:x><base href=/f/><a href=e>a</a>", "<base><base href=/f/><a href=e>a</a>", "<base href=%zz><a href=e>a</a>", "<a href=e>a</a><base href=/f/>",
		// Code.
		"<code></code>a", "<code> </code>a", "a<code> b</code>c", "a<code>b </code>c", "a<code>\nb</code>c", "<code>`</code>", "<code>`a</code>", "<code>a`</code>", "<code>a`b</code>", "<code>a``b`c</code>", "<code>a<br>b</code>", "<code>a|b</code>", "<table><tr><td><code>a|b</code><td>c</table>",
		"<pre></pre>a", "<pre>\n\n</pre>a", "<pre>\na</pre>", "<pre>\n\na\n\n</pre>", "<pre>a\r\nb\rc</pre>", "<pre>  a  </pre>", "<pre>```</pre>", "<pre>a\n````\nb</pre>", "<pre class=lang-a>b</pre>", "<pre class='x language-c++ lang-d'>b</pre>", "<pre class=language->b</pre>", "<pre class=lang-" + long(30) + ">b</pre>", "<pre class=lang-" + long(31) + ">b</pre>",
		"<pre class='lang-a b'>c</pre>", "<pre class=lang-a/b>c</pre>", "<pre class=lang-Az09+#-_.>c</pre>", "<pre><code class=lang-a>b</code></pre>", "<pre>x<code class=lang-a>b</code></pre>", "<pre><b class=lang-a>b</b></pre>", "<pre class=x><code class=lang-a>b</code></pre>", "<pre class=lang-aZ>c</pre>", "<pre class=lang-0z9A>c</pre>", "<pre class=lang-{>c</pre>", "<pre class=lang-`>c</pre>", "<pre class=lang-@>c</pre>", "<pre class=lang-[>c</pre>", "<pre class=lang-/>c</pre>", "<pre class=lang-:>c</pre>",
		"<pre><div>a</div>b<p>c</p>\n<div>d</div></pre>", "<pre><script>x</script>a</pre>", "<listing>a\n b</listing>", "<xmp><b>a</b></xmp>", "a<plaintext><b>c</b>", "<ul><li><pre>a\n\nb</pre></ul>", "<blockquote><pre>a\n\nb</pre></blockquote>", "<p>a<pre>b</pre>c", "<h1><pre>a\nb</pre></h1>",
		// Lines and paragraphs.
		"a<br>b", "a<br><br>b", "<br>a<br>", "<p>a<br></p>b", "a<hr>b", "<hr>a<hr><hr>b", "<ul><li><hr>a</ul>", "<b>a<hr>b</b>", "<p>a</p> <p>b</p>", "a<p></p>b", "a<div></div>b", "a<div><br></div>b", "<p> a  b\n\tc \f\r d </p>", "a<span> </span>b", "a <b> b </b> c", "<b>a</b> <b>b</b>", "<b>a<i>b</i></b>c", "<i>a<b>b<i>c</i></b></i>",
		"<b></b>a", "<b> </b>a", "<b><p>a</p><p>b</p></b>c", "<b>a<ul><li>b</ul>c</b>", "<em>a<blockquote>b</blockquote>c</em>", "<s>a<s>b</s></s>", "<del>a</del><strike>b</strike>", "<h1>a<br>b</h1>", "<h1></h1>a", "<h1>a<p>b</p>c</h1>", "<h6>a</h6>", "<ul><li><h2>a</h2>b</ul>", "<blockquote><h2>a</h2>b</blockquote>",
		// Lists and quotes.
		"<ul><li>a<li><li>b</ul>", "<ul><li><p>a<p>b<li>c</ul>d", "<ul><li>a<ul><li>b<ul><li>c</ul></ul></ul>", "<ol><li>a<ul><li>b</ul><li>c</ol>", "<ul><li>a<blockquote>b<br>c</blockquote></ul>", "<blockquote>a<ul><li>b<li>c</ul>d</blockquote>", "<blockquote></blockquote>a", "<blockquote>a</blockquote><blockquote>b</blockquote>",
		strings.Repeat("<blockquote>", 19) + "a<br>b", strings.Repeat("<blockquote>", 20) + "a<br>b", strings.Repeat("<blockquote>", 21) + "a<br>b", strings.Repeat("<ul><li>", 20) + "a<br>b", strings.Repeat("<ul><li>", 21) + "a<br>b", strings.Repeat("<ol><li>", 13) + "a<br>b", strings.Repeat("<ol><li>", 14) + "a<br>b",
		"<dl><dt>a<dt>b<dd>c<dd>d<p>e<dt>f</dl>g", "<dd>a<dd>b", "<dl><div><dt>a<dd>b</div><div><dt>c<dd>d</div></dl>",
		// Tables.
		"<table><tr><th>a<th>b<tr><td>c</table>", "<table><tr></tr><tr><td>a<td>b</table>", "<table><tr>x</tr><tr><td>a<td>b</table>", "<table><thead><tr><td>a<td>b<tbody><tr><td>c<td>d<tfoot><tr><td>e<td>f</table>", "<table><caption>a</caption></table>", "<table><caption><b>a</b></caption><tr><td>b</table>", "<table></table>a", "<table><tr><td>a|b<td>c</table>",
		"<table><tr><td><p>a</p><p>b</p><td>c</table>", "<table><tr><td>a<ul><li>b</ul><td>c</table>", "<table><tr><td><table><tr><td>a<td>b</table><td>c</table>", "<ul><li><table><tr><td>a<td>b<tr><td>c<td>d</table></ul>", "<b><table><tr><td>a<td>b</table></b>", "<table><tr><td>" + strings.Repeat("<td>a", 3) + "</table>", "<table><tr><td>a\n b<td><br>c</table>", "<table><tr><td><b>a</b><td><a href=/x>b|c</a></table>",
		// What is over has no effect on what follows.
		strings.Repeat("<ul><li>a</ul>", 30) + "<blockquote>b", strings.Repeat("<blockquote>a</blockquote>", 30) + "<ul><li>b<br>c", strings.Repeat("<dl><dd>a</dl>", 30) + "<ul><li>b<br>c", "<table><tr><td>a<td>b</table><p>c|d", "<table><tr><td>a<td>b</table><p>c<br>d", "<h1>a</h1><p>b<br>c", "<a href=/a>b</a><p>c<br>d", "<a href=/a>b</a> [c] <a href=/d>e</a>",
		"<img src=/a alt=b> [c]<br>d", "<a href=/a>b<img src=/c alt=d> [e]</a>", "<b>a</b><b>b</b>", "<pre>a</pre><p>b<br>c", "<table><tr><td><pre>a</pre><td>b</table><pre>c</pre>", "<code>a</code>*b*", "<ul><li>a</ul>b<br>c", "<div hidden>a</div><p>b", "<svg>a</svg><style>b</style><p>c",
		// Titles, comments and mistakes.
		"<title>a &amp; b</title>c", "<title></title><title>a</title>b", "<title>a</title><title>b</title>c", "<title>a<b>c</b></title>d", "<svg><title>a</title></svg>b", "<!doctype html>a", "<!-- a -->b", "<!--a", "<![CDATA[a]]>b", "<?xml?>a", "a<", "a</", "<a", "<a href=", "a<>b", "</>a", "<é>a", "a\x00b", "<p\x00>a", "a\u00a0b", "a\u2028b",
		"<main>a</main>b", "<main>aaaaaaaa</main>b", "<main>a</main><main>b</main>", "<div role=main>a</div>bbb", "<div role=main>a</div>bbbb", "<article>a</article>bbb", "<article>a</article>bbbb", "<article>a</article><article>b</article>", "<main>a</main><div role=main>bbb</div>", "<main>a</main><div role=main>bbbb</div>", "<main hidden>a</main>b", "<article>a<main>b</main></article>", "<nav><main>a</main></nav>b", "<main>  a  </main>b    b",
		strings.Repeat("<div>", 199) + "<main>a", strings.Repeat("<div>", 200) + "<main>a", strings.Repeat("<b>", 199) + "<i>a", strings.Repeat("<div>", 199) + "<i>a", strings.Repeat("<div>", 200) + "<i>a</i>b", strings.Repeat("<div>", 201) + "<i>a",
		"<p>" + strings.Repeat("<span>", 98) + "a<p>b", "<p>" + strings.Repeat("<span>", 99) + "a<p>b", "<p>" + strings.Repeat("<span>", 100) + "a<p>b", "<b>" + strings.Repeat("<span>", 98) + "a</b>b", "<b>" + strings.Repeat("<span>", 99) + "a</b>b", "<b>" + strings.Repeat("<span>", 100) + "a</b>b",
	}
	var told strings.Builder
	for _, page := range snippets {
		shown := page
		if len(shown) > 300 {
			shown = fmt.Sprintf("%s… (%d bytes)", page[:100], len(page))
		}
		text := converted(t, page)
		if len(text) > 300 {
			text = fmt.Sprintf("%s… (%d bytes)", text[:100], len(text))
		}
		fmt.Fprintf(&told, "%q\n\t%q\n", shown, text)
	}
	golden(t, "snippets.txt", told.String())
}

// TestCostsMatchTheGoldenFile records for hostile pages how often the conversion looks at its context, and what becomes of them.
func TestCostsMatchTheGoldenFile(t *testing.T) {
	var told strings.Builder
	pages := hostile(40_000)
	pages["breaks in code"] = "<pre>" + strings.Repeat("<br>x", 8_000)
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		c := &clock{Context: context.Background()}
		text, title, cut, err := webfetch.Markdown(c, pages[name], somewhere)
		require.NoError(t, err)
		sum := sha256.Sum256([]byte(text))
		fmt.Fprintf(&told, "%s: %d looks, %d bytes %x, title of %d bytes, cut %t\n", name, c.looks, len(text), sum[:4], len(title), cut)
	}
	golden(t, "costs.txt", told.String())
}
