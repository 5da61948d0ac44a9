// SPDX-License-Identifier: Apache-2.0

package webfetch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/webfetch"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/fetch/fetchtest"
	"github.com/ponte-go/ponte/toolset"
)

var (
	marks = regexp.MustCompile(`page-[0-9a-f]{20}`)
	// unreached begins what the system says of an address that it cannot reach.
	unreached = regexp.MustCompile(`(dial tcp).*`)
)

// told returns everything that a call came to, without the port and the mark, which differ.
func told(s *site, p model.Part) string {
	text := marks.ReplaceAllString(p.Text, "MARK") + "\n" + string(p.Meta)
	text = unreached.ReplaceAllString(text, "$1")
	if s != nil {
		text = strings.ReplaceAll(text, ":"+s.port, ":PORT")
	}
	if len(text) > 1500 {
		text = fmt.Sprintf("%s… (%d bytes) …%s", text[:700], len(text), text[len(text)-500:])
	}
	return fmt.Sprintf("%s %q %s", p.Kind, p.Outcome, text)
}

func asJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// TestContentsMatchTheGoldenFile serves contents of many types, and records what the model is told of them.
func TestContentsMatchTheGoldenFile(t *testing.T) {
	const png, pdf, zip = "\x89PNG\r\n\x1a\n.", "%PDF-1.7 x", "PK\x03\x04"
	type served struct {
		contentType, content string
		media                []string
	}
	cases := []served{
		{"text/html", "<title>t</title><p>a", nil}, {"text/html", "<title> a \n b </title>c", nil}, {"TEXT/HTML;charset=UTF-8", "<p>ä", nil}, {"text/html", "<title>" + strings.Repeat("t", 300) + "</title>a", nil}, {"text/html", "<title>" + strings.Repeat("t", 301) + "</title>a", nil},
		{"text/html", "<p>", nil}, {"application/xhtml+xml", "<p>a</p>", nil}, {"text/plain", "a\n\n\n\nb  \n\tc\n", nil}, {"text/plain", "\n\n a\n", nil}, {"text/plain", "a\x1bb\u200bc", nil}, {"", "hello", nil}, {"", "<html><p>a", nil}, {"", png, nil}, {"application/octet-stream", "hello", nil},
		{"application/octet-stream", "\x00\x01", nil}, {"nonsense", "hello", nil}, {"; x", "hello", nil}, {"text/plain; charset=x; charset=y", "hello", nil}, {"a/" + strings.Repeat("b", 98), "x", nil}, {"a/" + strings.Repeat("b", 99), "x", nil},
		{"text/html", png, []string{"image"}}, {"text/plain", pdf, []string{"application/pdf"}}, {"text/plain", "RIFF\x00\x00\x00\x00WAVE", nil}, {"text/plain", "\x1aE\xdf\xa3", nil}, {"application/json", png, nil}, {"application/json", `{"a": 1}`, nil},
		{"image/png", png, []string{"image"}}, {"image/png", png, []string{"image/png"}}, {"image/png", png, []string{"image/jpeg", "application/pdf"}}, {"image/png", png, nil}, {"application/pdf", pdf, []string{"application/pdf"}}, {"application/pdf", pdf, []string{"application"}}, {"application/pdf", pdf, []string{"image"}}, {"application/zip", zip, []string{"application/zip"}}, {"audio/wav", "x", []string{"audio"}},
		{"text/plain", "a\x00b", nil}, {"text/plain; charset=utf-16le", "a\x00b\x00", nil}, {"text/plain", "\xef\xbb\xbfa", nil}, {"text/plain", "\xfe\xff\x00a", nil}, {"text/plain; charset=iso-8859-1", "\xe4", nil}, {"text/html", "<meta charset=iso-8859-1>\xe4", nil},
		{"text/html", strings.Repeat(" ", 990) + "<meta charset=koi8-r>\xc1", nil}, {"text/html", strings.Repeat(" ", 1024) + "<meta charset=koi8-r>\xc1", nil}, {"text/plain; charset=iso-2022-kr", "a\x0e\x1b", nil}, {"text/plain; charset=replacement", "a", nil},
	}
	for _, kind := range []string{
		"text/markdown", "text/x-own", "text/", "application/json", "application/xml", "application/javascript", "application/x-javascript", "application/yaml", "application/x-yaml", "application/toml", "application/x-ndjson", "application/ndjson", "application/json5",
		"application/graphql", "application/sql", "application/x-sh", "application/x-tex", "application/rtf", "image/svg+xml", "application/a+json", "application/a+xml", "application/a+yaml", "application/a+zip", "application/x-other", "font/woff", "video/mp4",
	} {
		cases = append(cases, served{kind, "x", []string{"image"}})
	}
	var all strings.Builder
	for _, c := range cases {
		s := pageSite(t, c.contentType, c.content)
		model := calls(s.url("page.test", "/a/b.c?d=e"))
		model.media = c.media
		model.run(t, s.options(), nil)
		shown := c.content
		if len(shown) > 100 {
			shown = fmt.Sprintf("%s… (%d bytes)", shown[:50], len(shown))
		}
		fmt.Fprintf(&all, "# %q %q %v\n%s\n", c.contentType, shown, c.media, told(s, model.results[0]))
		for _, p := range model.content {
			fmt.Fprintf(&all, "shown: %q %q %q %q\n", p.MediaType, p.Name, strings.ReplaceAll(p.URL, s.port, "PORT"), p.Data)
		}
	}
	golden(t, "contents.txt", all.String())
}

// TestAddressesMatchTheGoldenFile records how URLs are read, shown, approved and refused, without a network.
func TestAddressesMatchTheGoldenFile(t *testing.T) {
	var all strings.Builder
	for _, address := range []string{
		"https://go.dev", "https://go.dev/", " https://go.dev/a ", "HTTPS://GO.dev:443/a?b#c", "http://go.dev:80/", "http://go.dev:443/", "https://go.dev:80/", "https://go.dev:8443/", "https://go.dev:/", "https://go.dev./", "https://www.go.dev/", "https://pkg.example.com/", "https://example.com/", "https://xexample.com",
		"https://bücher.test/ü", "https://xn--bcher-kva.test/", "https://BÜCHER.test/", "https://a_b.test/", "https://-a.test/", "https:///a", "https://", "https://:443/", "https://[::1]/", "https://[2606:4700::1111]/", "https://[2606:4700:0:0::1111]:443/", "https://1.1.1.1/", "https://[::ffff:1.1.1.1]/", "https://1.1/", "https://[fe80::1%25eth0]/",
		"ftp://go.dev/", "go.dev", "//go.dev/", "://go.dev", "https:/go.dev", "https:go.dev", "javascript:x", "https://user@go.dev/", "https://user:word@go.dev/", "https://go.dev/%zz", "https://go.dev:99999/", "https://go.dev:x/", "https://evil.test/", "https://sub.evil.test/", "https://" + strings.Repeat("a", 63) + ".test/", "https://" + strings.Repeat("a", 64) + ".test/",
		"https://10.0.0.1/", "https://go.dev/" + strings.Repeat("x", 3985), "https://go.dev/" + strings.Repeat("x", 3986), "", "https://other.test/\x1b[2J",
	} {
		asked := "not asked"
		asker := toolset.AskerFuncs{OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
			asked = fmt.Sprintf("asked %q, scope %q (%s), preview %s", r.Approval.Title, r.Approval.Scope, r.Approval.ScopeTitle, asJSON(r.Approval.Preview))
			return toolset.Deny("no"), nil
		}}
		once := argsOf(address, 0)
		c := &caller{next: func(string) string { defer func() { once = "" }(); return once }}
		c.run(t, webfetch.Options{Allow: []string{"go.dev", ".Example.com", "Bücher.test"}, Deny: []string{".evil.test"}, Resolver: nobody, Timeout: time.Minute}, asker)
		if len(address) > 100 {
			address = fmt.Sprintf("%s… (%d bytes)", address[:30], len(address))
		}
		if len(asked) > 300 {
			asked = asked[:300] + "…"
		}
		fmt.Fprintf(&all, "%q: %s\n\t%s\n", address, asked, told(nil, c.results[0]))
	}
	golden(t, "addresses.txt", all.String())
}

// TestFailuresMatchTheGoldenFile records what the model is told if a server fails.
func TestFailuresMatchTheGoldenFile(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		switch to, _ := strings.CutPrefix(r.URL.Path, "/to/"); {
		case r.URL.Path == "/empty":
		case r.URL.Path == "/nocontent":
			w.WriteHeader(http.StatusNoContent)
		case r.URL.Path == "/cut":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "a")
		case r.URL.Path == "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, "a")
		case r.URL.Path == "/here":
			http.Redirect(w, r, "/fine#part", http.StatusFound)
		case to != r.URL.Path:
			w.Header().Set("Location", r.URL.Query().Get("u"))
			w.WriteHeader(http.StatusFound)
		case r.URL.Path == "/fine":
			_, _ = io.WriteString(w, "fine")
		default:
			http.Error(w, "no", http.StatusTeapot)
		}
	})
	o := s.options()
	o.AllowAll, o.Allow, o.Deny, o.Only = false, []string{"free.test"}, []string{"denied.test"}, []string{"page.test", "free.test", "other.test", "denied.test"}
	to := func(u string) string { return s.url("page.test", "/to/?u="+u) }
	var all strings.Builder
	for _, address := range []string{
		s.url("page.test", "/fine"), s.url("page.test", "/here"), s.url("page.test", "/empty"), s.url("page.test", "/nocontent"), s.url("page.test", "/cut"), s.url("page.test", "/gzip"), s.url("page.test", "/teapot"), s.url("denied.test", "/"), s.url("elsewhere.test", "/"),
		to("http://other.test/a"), to("https://page.test/x"), to("https://free.test/x"), to("https://denied.test/x"), to("https://elsewhere.test/"), to("ftp://page.test/"), to("http://user@page.test/"), to(""), to("http://other.test/" + strings.Repeat("x", 1982)), to("http://other.test/" + strings.Repeat("x", 1983)), to("http://page.test:1/"), to(strings.Repeat("f", 600) + "://x"),
	} {
		c := calls(address).run(t, o, toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) { return toolset.Allow(), nil }})
		if address = strings.ReplaceAll(address, s.port, "PORT"); len(address) > 120 {
			address = fmt.Sprintf("%s… (%d bytes)", address[:60], len(address))
		}
		fmt.Fprintf(&all, "%s\n\t%s\n", address, told(s, c.results[0]))
	}
	golden(t, "failures.txt", all.String())
}

// TestPartsMatchTheGoldenFile reads a page in parts, from offsets that lie within characters too.
func TestPartsMatchTheGoldenFile(t *testing.T) {
	page := strings.Repeat("abcdefghé日\U0001F600\n", 80)
	s := pageSite(t, "text/html; charset=utf-8", "<title>T</title><pre>"+page+"</pre>")
	var all strings.Builder
	for _, offset := range []int{0, 1, 11, 12, 13, 14, 15, 16, 17, 18, 700, 1000, 1024, 1400, 1447, 1448, 1449, 5000} {
		o := s.options()
		o.PartBytes = 1 << 10
		once := argsOf(s.url("page.test", "/"), offset)
		c := &caller{next: func(string) string { defer func() { once = "" }(); return once }}
		c.run(t, o, nil)
		fmt.Fprintf(&all, "# %d\n%s\n", offset, told(s, c.results[0]))
	}
	o := s.options()
	o.MaxBytes = 500
	fmt.Fprintf(&all, "# cut off\n%s\n", told(s, fetched(t, o, s.url("page.test", "/"))))
	// Cut off within a character: of valid UTF-8, of another character set, and of data that is neither.
	for _, content := range []string{"abc\U0001F600", "abcdé", "abc\xe4\xf6\xfc", "\xff\xff\xff\xff\xff\xff"} {
		s := pageSite(t, "text/plain", content+strings.Repeat("x", 100))
		for cut := int64(3); cut <= 7; cut++ {
			o := s.options()
			o.MaxBytes = cut
			fmt.Fprintf(&all, "# %q cut off at %d\n%s\n", content, cut, told(s, fetched(t, o, s.url("page.test", "/"))))
		}
	}
	golden(t, "parts.txt", all.String())
}

// TestProblemsWithOptionsMatchTheGoldenFile records everything that is said of wrong options, and how options are shown.
func TestProblemsWithOptionsMatchTheGoldenFile(t *testing.T) {
	var all strings.Builder
	for _, o := range []webfetch.Options{
		{}, {Allow: []string{"a.test", ".a.test", "1.2.3.4", "::1", "[::1]", "bücher.test", "A.test"}}, {Allow: []string{""}}, {Allow: []string{"."}}, {Allow: []string{"a/b"}}, {Allow: []string{"a:1"}}, {Allow: []string{"a@b"}}, {Allow: []string{"a b"}}, {Allow: []string{"*.a"}},
		{Deny: []string{"https://a"}}, {Only: []string{"-a"}}, {AllowPrivate: []netip.Prefix{{}, netip.MustParsePrefix("10.0.0.0/8"), {}}}, {MaxBytes: -1}, {MaxBytes: 64<<20 + 1}, {MaxBytes: 64 << 20}, {PartBytes: -1}, {PartBytes: 1023}, {PartBytes: 1024}, {PartBytes: 1<<20 + 1}, {Timeout: -1}, {Header: http.Header{"A\n": {"x"}}},
		{MaxBytes: -1, PartBytes: 1, Timeout: -1, Deny: []string{"*"}},
	} {
		_, err := agent.New(agent.Config[struct{}, string]{Model: calls(), Capabilities: []agent.Capability[struct{}]{webfetch.New[struct{}](o)}})
		shown, jsonErr := json.Marshal(o)
		require.NoError(t, jsonErr)
		fmt.Fprintf(&all, "%s\n\t%v\n", shown, err)
	}
	secret := webfetch.Options{Header: http.Header{"Authorization": {"secret"}}}
	shown, err := json.Marshal(secret)
	require.NoError(t, err)
	fmt.Fprintf(&all, "%s\n%v\n%+v\n", shown, secret, secret)
	require.NotContains(t, all.String(), "secret")
	golden(t, "options.txt", all.String())
}

// TestRequestsNameTheProgram checks the headers of downloads: those of the options win.
func TestRequestsNameTheProgram(t *testing.T) {
	var got http.Header
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) { got = r.Header; _, _ = io.WriteString(w, "x") })
	for _, test := range []struct{ sent, want http.Header }{
		{nil, http.Header{"User-Agent": {"ponte-web-fetch"}, "Accept": {"text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.5"}, "Accept-Encoding": {"gzip"}}},
		{http.Header{"X-A": {"b"}}, http.Header{"X-A": {"b"}, "User-Agent": {"ponte-web-fetch"}, "Accept": {"text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.5"}, "Accept-Encoding": {"gzip"}}},
		{http.Header{"User-Agent": {"me"}, "Accept": {"a/b"}}, http.Header{"User-Agent": {"me"}, "Accept": {"a/b"}, "Accept-Encoding": {"gzip"}}},
	} {
		o := s.options()
		o.Header = test.sent
		before := test.sent.Clone()
		fetched(t, o, s.url("page.test", "/"))
		got.Del("Connection")
		require.Equal(t, test.want, got)
		require.Equal(t, before, test.sent, "the caller's header stays")
	}
}

// TestNameHasAnAddress checks that the resolver of the options is asked.
func TestNameHasAnAddress(t *testing.T) {
	s := pageSite(t, "text/plain", "x")
	o := s.options()
	var mu sync.Mutex // both kinds of addresses are looked for at once
	var names []string
	o.Resolver = fetchtest.Resolver(func(name string) []netip.Addr {
		mu.Lock()
		defer mu.Unlock()
		names = append(names, name)
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	})
	require.Equal(t, model.OutcomeSuccess, fetched(t, o, s.url("page.test", "/")).Outcome)
	require.Contains(t, names, "page.test")
}
