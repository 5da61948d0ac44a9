// SPDX-License-Identifier: Apache-2.0

package webfetch_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html/atom"

	"github.com/ponte-go/ponte/agent/capability/webfetch"
)

var somewhere = &url.URL{Scheme: "https", Host: "page.test", Path: "/a/b"}

// clock is a context that counts how often it is looked at, which is once in 4,096 steps, and ends after so many looks.
type clock struct {
	context.Context
	looks, end int
}

var errEnded = errors.New("ended")

func (c *clock) Err() error {
	if c.looks++; c.end > 0 && c.looks >= c.end {
		return errEnded
	}
	return nil
}

// What a page may cost: bytes of memory and steps for each of its bytes, and bytes for the 64 KiB of text that any page may become.
const (
	bytesPerByte = 160
	bytesAtFirst = 1 << 20
	stepsPerByte = 60
)

// cost converts a page and checks what that took.
func cost(t testing.TB, page string) string {
	t.Helper()
	c := &clock{Context: context.Background()}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	text, _, _, err := webfetch.Markdown(c, page, somewhere)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, uint64(bytesPerByte*len(page)+bytesAtFirst), "memory for a page of %d bytes", len(page))
	require.LessOrEqual(t, c.looks, stepsPerByte*len(page)/4096+1, "steps/4096 for a page of %d bytes", len(page))
	require.LessOrEqual(t, len(text), 4*len(page)+64<<10, "length of the text of a page of %d bytes", len(page))
	return text
}

// elements are all that a page can consist of, and some that are none.
var elements = strings.Fields(`a abbr address applet area article aside audio b base bdi bdo big blink blockquote body br button canvas caption center cite code col
	colgroup data datalist dd del details dfn dialog dir div dl dt em embed fieldset figcaption figure font footer foreignObject form frame frameset h1 h2 h3 h4
	h5 h6 head header hgroup hr html i iframe img input ins kbd keygen label legend li link listing main map mark marquee math menu meta meter nav nobr noembed
	noframes noscript object ol optgroup option output p param picture plaintext pre progress q rb rp rt rtc ruby s samp script search section select slot small
	source span strike strong style sub summary sup svg table tbody td template textarea tfoot th thead time title tr track tt u ul var video wbr xmp x-own mi`)

// hostile returns pages of about n bytes that are made to be expensive.
func hostile(n int) map[string]string {
	fill := func(unit string) string { return strings.Repeat(unit, n/len(unit)+1) }
	half := func(a, b string) string { return strings.Repeat(a, n/2/len(a)+1) + strings.Repeat(b, n/2/len(b)+1) }
	numbered := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	return map[string]string{
		"wide table":             "<table><tr><td>" + strings.Repeat("x", n/2) + "</td><td>b" + strings.Repeat("<tr><td>a<td>b", n/2/14),
		"wide row":               "<table><tr>" + half("<td>x", "<tr><td>"),
		"rows without cells":     "<table>" + fill("<tr>"),
		"columns that span":      "<table>" + fill("<tr><td colspan=1000000000>x<td rowspan=1000000000>y"),
		"tables in cells":        fill("<table><tr><td>x<td>"),
		"tables unclosed":        fill("<table>"),
		"cells outside":          fill("<td>x"),
		"end tags of nothing":    half("<div><table><td>", "</div>"),
		"end tags far away":      "<div><table><td>" + half("<i>", "</div>"),
		"brackets":               fill("["),
		"links of brackets":      fill("<a href=x>[</a>"),
		"links":                  fill("<a href=x>y</a>"),
		"links unclosed":         fill("<a href=x>"),
		"links with a long base": "<base href=https://x.test/" + strings.Repeat("y", 1900) + "/z>" + fill("<a href=a>y</a>"),
		"links below blanks":     "<base href='https://x.test/" + strings.Repeat(" ", 1900) + "/'>" + fill("<a href=b>y</a>"),
		"links below characters": "<base href='https://x.test/" + strings.Repeat("é", 700) + "/'>" + fill("<a href=?>y</a>"),
		"links below escapes":    "<base href=https://x.test/" + strings.Repeat("%FF", 640) + "/>" + fill("<a href=b>y</a>"),
		"links with a long host": "<base href=https://" + strings.Repeat("y", 1980) + ".test/>" + fill("<a href=abcdef>y</a>"),
		"links with a long path": fill("<a href=" + strings.Repeat("../", 400) + ">y</a>"),
		"images":                 fill("<img src=a>"),
		"less than":              fill("<"),
		"less than text":         fill("&lt;"),
		"stars":                  fill("*"),
		"words of stars":         fill("* a*b "),
		"backticks":              fill("`"),
		"code of backticks":      "<code>" + fill("`") + "</code>",
		"code in code":           half("<code>`", "</code>"),
		"blocks of code":         half("<pre><code>`", "x"),
		"lines of code":          strings.Repeat("<blockquote><ol start=999999><li>", 100) + "<pre>x" + fill("\n"),
		"quotes":                 half("<blockquote>", "x<br>"),
		"lists":                  half("<ul><li>", "x<br>"),
		"lists of numbers":       half("<ol start=99999999999><li>", "x<br>"),
		"items":                  "<ul>" + fill("<li>"),
		"items that close":       "<ul>" + half("<div>", "<li></li>"),
		"definitions":            half("<dl><dt>a<dd>", "x<p>"),
		"terms":                  "<dl>" + fill("<dt><dd>"),
		"paragraphs":             fill("<p>"),
		"paragraphs of links":    numbered("<a href=%d><p>x"),
		"formats that differ":    numbered("<font color=%d>") + fill("<p>x"),
		"bold that is left open": half("<b><i>", "<p>x"),
		"attributes":             "<p " + fill("a ") + ">x",
		"attributes that differ": "<p " + numbered("a%d=b ") + ">x",
		"a long attribute":       "<a href='" + fill("a b(") + "'>x",
		"a long style":           "<p style='" + fill("a : ; ") + "'>x",
		"entities":               fill("&notin"),
		"entities that grow":     fill("&nGt;"),
		"an entity without end":  "&" + fill("a"),
		"a comment without end":  "<!--" + fill("--!"),
		"comments":               fill("<!-->"),
		"declarations":           fill("<!"),
		"scripts":                fill("<script><!--<script>"),
		"a script without end":   "<script>" + fill("</scrip"),
		"text without tags":      "<plaintext>" + fill("</plaintext>"),
		"titles":                 fill("<title>x</title>"),
		"drawings":               half("<svg>", "<p>x"),
		"formulas":               fill("<math><mi>x<p>"),
		"control characters":     "<p>" + fill("\x01\x1b"),
		"broken characters":      "<p>" + fill("\xff"),
		"blanks":                 "<p>x" + fill(" \n"),
		"rulers":                 fill("<hr>"),
		"breaks":                 fill("<br>"),
		"mains":                  fill("<main>x</main>"),
		"underscores":            fill("_a _"),
		"digits":                 "<p>" + fill("1"),
		"numbers":                "<p>" + fill("1. <br>"),
	}
}

// eachElement returns pages of about n bytes that repeat and nest one element.
func eachElement(n int) map[string]string {
	fill := func(unit string) string { return strings.Repeat(unit, n/len(unit)+1) }
	half := func(a, b string) string { return strings.Repeat(a, n/2/len(a)+1) + strings.Repeat(b, n/2/len(b)+1) }
	pages := map[string]string{}
	for _, name := range elements {
		pages["open "+name] = fill("<" + name + ">")
		pages["text in "+name] = fill("<" + name + ">x")
		pages["nested "+name] = half("<"+name+">", "x</"+name+">")
		pages["empty "+name] = fill("<" + name + "></" + name + ">")
		pages["quoted "+name] = strings.Repeat("<blockquote>", 50) + fill("<"+name+">x<p>")
		pages["hidden "+name] = fill("<" + name + " hidden>x")
		pages["within a table "+name] = "<table>" + fill("<"+name+">x<tr><td>")
	}
	return pages
}

// Each page has to cost no more than a multiple of its length, whatever it is made of.
func TestCostOfAPageIsProportionalToItsLength(t *testing.T) {
	for name, page := range hostile(64 << 10) {
		t.Run(name, func(t *testing.T) { cost(t, page) })
	}
	for name, page := range eachElement(8 << 10) {
		t.Run(name, func(t *testing.T) { cost(t, page) })
	}
}

// Pages are made of random parts, nested and repeated.
func TestCostOfRandomPagesIsBounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	texts := []string{"x", " ", "\n", "[", "](", "`", "*", "_", "<", "&lt;", "&amp;", "|", "\\", "#", "1.", "-", ">", "~", "\x00", "\u202e", strings.Repeat("word ", 50)}
	attrs := []string{"", "", "", " hidden", " href=x", " href='" + strings.Repeat("y", 500) + "'", " src=a", " alt='a]('", " colspan=99999", " start=99999", " class=language-go",
		" style='a:b;c:d'", " role=main", " aria-hidden=true"}
	pick := func(from []string) string { return from[rng.IntN(len(from))] }
	for range 60 {
		var page strings.Builder
		for page.Len() < 64<<10 {
			var unit strings.Builder
			for range 1 + rng.IntN(6) {
				name := pick(elements)
				switch rng.IntN(4) {
				case 0:
					unit.WriteString("</" + name + ">")
				case 1:
					unit.WriteString(pick(texts))
				default:
					unit.WriteString("<" + name + pick(attrs) + ">" + pick(texts))
				}
			}
			for range 1 << rng.IntN(13) {
				page.WriteString(unit.String())
				if page.Len() > 64<<10 {
					break
				}
			}
		}
		cost(t, page.String())
	}
}

func FuzzCostOfAPageIsBounded(f *testing.F) {
	for _, pages := range []map[string]string{hostile(300), eachElement(30)} {
		for _, page := range pages {
			f.Add(page, uint8(3))
		}
	}
	f.Fuzz(func(t *testing.T, unit string, times uint8) {
		page := strings.Repeat(unit, 1<<(times%12))
		if len(page) > 1<<20 {
			t.Skip("the page is too long to tell much")
		}
		cost(t, page)
	})
}

// The conversion ends soon after its context, whatever it is doing.
func TestConversionEndsWithItsContext(t *testing.T) {
	for _, name := range []string{"paragraphs", "lists", "tables in cells", "end tags far away", "code in code", "lines of code", "brackets", "stars"} {
		page := hostile(128 << 10)[name]
		for end := 1; ; end *= 2 {
			c := &clock{Context: context.Background(), end: end}
			_, _, _, err := webfetch.Markdown(c, page, somewhere)
			require.LessOrEqual(t, c.looks, end, "%s: nothing is done after the end", name)
			if err == nil {
				break
			}
			require.ErrorIs(t, err, errEnded)
		}
	}
}

// The context is looked at every 4,096 steps, and a page takes at least a step for each of its tags.
func TestConversionLooksAtItsContextOften(t *testing.T) {
	const tags = 100 << 12
	c := &clock{Context: context.Background()}
	_, _, _, err := webfetch.Markdown(c, strings.Repeat("<b>", tags), somewhere)
	require.NoError(t, err)
	require.GreaterOrEqual(t, c.looks, tags/4096)
}

// markdownOf returns the Markdown of a page at https://page.test/.
func markdownOf(t *testing.T, page string) string {
	t.Helper()
	base, err := url.Parse("https://page.test/")
	require.NoError(t, err)
	text, _, _, err := webfetch.Markdown(t.Context(), page, base)
	require.NoError(t, err)
	return text
}

func TestBoundsOfMarkdownAreExact(t *testing.T) {
	for depth, want := range map[int]int{1: 1, 19: 19, 20: 20, 21: 20, 30: 20} {
		require.Equal(t, strings.Repeat("> ", want)+"x", markdownOf(t, strings.Repeat("<blockquote>", depth)+"x"), depth)
	}
	for length, link := range map[int]bool{1999: true, 2000: true, 2001: false} {
		address := "https://page.test/" + strings.Repeat("a", length-len("https://page.test/"))
		text := markdownOf(t, "<a href="+address+">x</a>"+strings.Repeat(" y", 2000))
		require.Equal(t, link, strings.HasPrefix(text, "[x]("+address+")"), length)
	}
	for length, named := range map[int]bool{1: true, 30: true, 31: false} {
		name := strings.Repeat("a", length)
		require.Equal(t, named, strings.HasPrefix(markdownOf(t, "<pre class=lang-"+name+">x</pre>"), "```"+name+"\n"))
	}
}

// A part begins with a whole character, wherever the model says that it should.
func TestPartsBeginWithAWholeCharacter(t *testing.T) {
	s := pageSite(t, "text/plain; charset=utf-8", "a€b")
	address := s.url("page.test", "/")
	offsets := []int{0, 1, 2, 3, 4, 5}
	n := -1
	c := (&caller{next: func(string) string {
		if n++; n == len(offsets) {
			return ""
		}
		return argsOf(address, offsets[n])
	}}).run(t, s.options(), nil)
	for i, want := range []string{"\na€b\n", "\n€b\n", "\n€b\n", "\n€b\n", "\nb\n"} {
		require.Contains(t, c.results[i].Text, want, i)
	}
	require.Contains(t, c.results[5].Text, "offset: the page has 5 bytes; use a smaller offset")
}

func TestMediaAreBoundedExactly(t *testing.T) {
	const png = "\x89PNG\r\n\x1a\n"
	for size, shown := range map[int]bool{5 << 20: true, 5<<20 + 1: false} {
		s := pageSite(t, "image/png", png+strings.Repeat("x", size-len(png)))
		c := calls(s.url("page.test", "/x.png"))
		c.media = []string{"image"}
		o := s.options()
		o.MaxBytes = 8 << 20
		c.run(t, o, nil)
		require.Equal(t, shown, len(c.content) == 1, c.results[0].Text)
		if !shown {
			require.Contains(t, c.results[0].Text, "too large to be shown to you")
		}
	}
}

// TestPageHasAsManyNodesAsTheLimit checks that the last node that fits is read, and that one more ends the page.
func TestPageHasAsManyNodesAsTheLimit(t *testing.T) {
	webfetch.LimitNodes(t, 100)
	for n, want := range map[int]bool{99: false, 100: true} {
		_, _, cut, err := webfetch.Markdown(t.Context(), strings.Repeat("<br>", n), somewhere)
		require.NoError(t, err)
		require.Equal(t, want, cut, n)
	}
}

func TestSetsOfElementsAreJoined(t *testing.T) {
	require.Equal(t, map[atom.Atom]bool{atom.A: true, atom.B: true, atom.I: true},
		webfetch.Union(webfetch.SetOf(atom.A, atom.B), webfetch.SetOf(), webfetch.SetOf(atom.B, atom.I)))
}
