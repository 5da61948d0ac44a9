// SPDX-License-Identifier: Apache-2.0

package webfetch_test

import (
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A server may write a name in its own letters, and a list of hosts has it in ASCII.
func TestRedirectsToDeniedInternationalNamesAreRefused(t *testing.T) {
	for _, host := range []string{
		"bücher.test", "BÜCHER.test", "xn--bcher-kva.test", "shop.bücher.test", "bücher.test.",
		"bu\u0308cher.test", "ｂücher.test",
	} {
		reached := false
		var s *site
		s = newSite(t, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.Host, "a.test") {
				w.Header().Set("Location", s.url(host, "/"))
				w.WriteHeader(http.StatusFound)
				return
			}
			reached = true
			_, _ = io.WriteString(w, "hello")
		})
		o := s.options()
		o.Deny = []string{".bücher.test"}
		p := fetched(t, o, s.url("a.test", "/"))
		require.Contains(t, p.Text, "xn--bcher-kva.test is not allowed by the configuration", host)
		require.False(t, reached, host)
		o.Deny = []string{"other.test"}
		if !strings.HasPrefix(host, "bu") && !strings.HasPrefix(host, "ｂ") { // net/http does not know these
			require.Contains(t, fetched(t, o, s.url("a.test", "/")).Text, "hello", host)
			require.True(t, reached, host)
		}
	}
}

var sizeOfText = regexp.MustCompile(`Bytes 0 to \d+ of (\d+), `)

// What is written out is twelve times as long as it was, and more in a character set of its own.
func TestTextThatIsWrittenOutIsBounded(t *testing.T) {
	const size = 256 << 10
	for _, c := range []struct{ kind, unit string }{
		{"text/html; charset=utf-8", "\x01"}, {"text/html; charset=windows-1252", "\x81"},
		{"text/html; charset=utf-8", "\xff"}, {"text/html; charset=utf-8", "\x01 "},
		{"text/html; charset=utf-8", "\u00ad"}, {"text/plain; charset=utf-8", "\x01"},
	} {
		page := strings.Repeat("x", 10_000) + strings.Repeat(c.unit, size/len(c.unit))
		s := pageSite(t, c.kind, page)
		p := fetched(t, s.options(), s.url("a.test", "/"))
		found := sizeOfText.FindStringSubmatch(p.Text)
		require.Len(t, found, 2, p.Text)
		n, err := strconv.Atoi(found[1])
		require.NoError(t, err)
		require.LessOrEqual(t, n, 4*len(page)+64<<10, "%q", c.unit)

		o := s.options()
		o.PartBytes = 1 << 20
		reader := readAll(s.url("a.test", "/"))
		reader.run(t, o, nil)
		last := reader.results[len(reader.results)-1].Text
		require.Contains(t, last, "The rest is missing.", "%q", c.unit)
	}
}

// readAll reads a page to its end.
func readAll(url string) *caller {
	first := true
	return &caller{next: func(last string) string {
		if first {
			first = false
			return argsOf(url, 0)
		}
		_, after, more := strings.Cut(last, "call web_fetch with offset ")
		if !more {
			return ""
		}
		offset, _, _ := strings.Cut(after, " ")
		n, err := strconv.Atoi(offset)
		if err != nil {
			return ""
		}
		return argsOf(url, n)
	}}
}

func TestBaseWithoutAHostIsIgnored(t *testing.T) {
	for base, want := range map[string]string{
		"http:x": "/d/y", "https:x/y": "/d/y", "http:": "/d/y", "http://": "/d/y", "http:///x": "/d/y",
		"/z/": "/z/y", "?q": "/d/y", "data:x": "/d/y",
	} {
		s := pageSite(t, "text/html", `<base href="`+base+`"><p>x <a href="y">l</a>`)
		p := fetched(t, s.options(), s.url("a.test", "/d/"))
		require.Contains(t, p.Text, "[l]("+s.url("a.test", want)+")", base)
	}
}

func TestStylesHideText(t *testing.T) {
	for style, hidden := range map[string]bool{
		"display:none": true, "Display : None !important": true, "visibility:collapse": true,
		"opacity:0!important": true, "opacity:0.0": true, "opacity:.0;color:red": true, "opacity:0%": true,
		"font-size:0em": true, "font-size:0 !important": true, "font-size:0.00px": true,
		"opacity:0.5": false, "opacity:.05": false, "opacity:10%": false, "font-size:0.9em": false,
		"font-size:large": false, "font-size:10px": false, "visibility:visible": false, "opacity:": false,
	} {
		s := pageSite(t, "text/html", `<p>seen</p><p style="`+style+`">maybe</p>`)
		p := fetched(t, s.options(), s.url("a.test", "/"))
		require.Contains(t, p.Text, "seen")
		require.Equal(t, !hidden, strings.Contains(p.Text, "maybe"), style)
	}
}
