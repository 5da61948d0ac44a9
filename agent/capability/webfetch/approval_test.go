// SPDX-License-Identifier: Apache-2.0

package webfetch_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/capability/webfetch"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// person answers always, and keeps what was shown.
type person struct {
	decide func(*toolset.Approval) toolset.Decision
	shown  []string
}

func (p *person) Approve(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
	p.shown = append(p.shown, approval.Text(&r.Approval))
	return p.decide(&r.Approval), nil
}

func (p *person) Answer(context.Context, toolset.Question) (toolset.Reply, error) {
	return toolset.Reply{}, toolset.ErrNobody
}

func always(*toolset.Approval) toolset.Decision {
	return toolset.Decision{Verdict: toolset.VerdictAllow, Always: true}
}

func TestAlwaysCoversExactlyThisHost(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "hello") })
	other := newSite(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "hello") })
	o := s.options()
	o.AllowAll = false
	p := &person{decide: always}
	urls := []string{s.url("a.test", "/"), s.url("a.test", "/other?q=1"), s.url("A.TEST.", "/third")}
	c := calls(urls...).run(t, o, approval.Remember(new(approval.Policy), p))
	require.Len(t, p.shown, 1)
	for _, r := range c.results {
		require.Contains(t, r.Text, "hello")
	}

	p = &person{decide: always}
	urls = append(urls, s.url("b.test", "/"), s.url("www.a.test", "/"), s.url("a.test.evil.test", "/"), other.url("a.test", "/"), "https://a.test:"+s.port+"/", s.url("127.0.0.1", "/"))
	calls(urls...).run(t, o, approval.Remember(new(approval.Policy), p))
	require.Len(t, p.shown, 7, "each other host, port and scheme is asked about")
}

func TestApprovalShowsTheWholeURL(t *testing.T) {
	p := &person{decide: func(*toolset.Approval) toolset.Decision { return toolset.Deny("no") }}
	c := calls("https://Пример.test/a?key=SECRET&to=evil.test#frag", "http://a.test/%e2%80%aex?q=\u202ey").run(t, webfetch.Options{}, p)
	require.Contains(t, p.shown[0], "https://xn--e1afmkfd.test/a?key=SECRET&to=evil.test")
	require.NotContains(t, p.shown[0], "frag")
	require.NotContains(t, p.shown[1], "\u202e")
	for _, r := range c.results {
		require.Equal(t, model.OutcomeDenied, r.Outcome)
	}
}

func TestListedHostsNeedNoApproval(t *testing.T) {
	o := webfetch.Options{Allow: []string{"go.dev", ".Пример.test"}}
	for url, free := range map[string]bool{
		"https://go.dev/x": true, "https://GO.dev./x": true, "https://go.dev:443/": true, "https://a.xn--e1afmkfd.test/": true,
		"http://go.dev/": false, "https://go.dev:8443/": false, "https://pkg.go.dev/": false, "https://go.dev.evil.test/": false, "https://xgo.dev/": false, "https://go.dev@evil.test/": false,
	} {
		asked := false
		p := &person{decide: func(*toolset.Approval) toolset.Decision { asked = true; return toolset.Deny("no") }}
		o.Resolver = nobody
		c := calls(url)
		next := c.next
		c.next = func(last string) string {
			if last != "" {
				return ""
			}
			return next(last)
		}
		c.run(t, o, p)
		if url == "https://go.dev@evil.test/" {
			require.Contains(t, c.results[0].Text, "user name or password")
			continue
		}
		require.Equal(t, !free, asked, url)
	}
}

func TestDeniedHostsAreNotAskedAbout(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/to" {
			http.Redirect(w, r, "http://bad.test:"+r.URL.Query().Get("port"), http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, "hello")
	})
	o := s.options()
	o.AllowAll, o.Deny = false, []string{".bad.test"}
	p := &person{decide: always}
	c := calls(s.url("bad.test", "/"), s.url("www.bad.test", "/")).run(t, o, p)
	require.Empty(t, p.shown)
	for _, r := range c.results {
		require.Contains(t, r.Text, "is not allowed by the configuration of web_fetch")
	}
	o.AllowAll = true
	require.Contains(t, fetched(t, o, s.url("a.test", "/to?port="+s.port)).Text, "is not allowed")

	o = s.options()
	o.Only = []string{"good.test"}
	require.Contains(t, fetched(t, o, s.url("good.test", "/")).Text, "hello")
	require.Contains(t, fetched(t, o, s.url("other.test", "/")).Text, "is not allowed")
}

func TestRedirectToAnotherHostIsNotFollowed(t *testing.T) {
	reached := map[string]int{}
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		reached[r.Host[:1]]++
		if r.Host[0] == 'a' && r.URL.Path == "/" {
			http.Redirect(w, r, "http://b.test"+r.Host[len("a.test"):]+"/landing?x=1", http.StatusFound)
			return
		}
		if r.URL.Path == "/here" {
			http.Redirect(w, r, "/there", http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, "hello")
	})
	o := s.options()
	o.AllowAll = false
	p := &person{decide: always}
	c := calls(s.url("a.test", "/"), s.url("a.test", "/here")).run(t, o, p)
	require.Equal(t, model.OutcomeFailed, c.results[0].Outcome)
	require.Contains(t, c.results[0].Text, "redirects to another host. To continue, call web_fetch with this URL: "+s.url("b.test", "/landing?x=1"))
	require.Zero(t, reached["b"])
	require.Contains(t, c.results[1].Text, "hello", "within the host it is followed")
	require.Contains(t, c.results[1].Text, "Page: "+s.url("a.test", "/there"))

	require.Contains(t, fetched(t, s.options(), s.url("a.test", "/")).Text, "hello", "if that host needs no approval")
}
