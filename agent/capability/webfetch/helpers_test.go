// SPDX-License-Identifier: Apache-2.0

package webfetch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/webfetch"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/fetch/fetchtest"
	"github.com/ponte-go/ponte/toolset"
)

// site is a web server that every name leads to.
type site struct {
	port  string
	asked atomic.Int64
}

func newSite(t *testing.T, handle http.HandlerFunc) *site {
	t.Helper()
	s := &site{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		handle(w, r)
	}))
	t.Cleanup(server.Close)
	_, s.port, _ = strings.Cut(strings.TrimPrefix(server.URL, "http://"), ":")
	return s
}

// pageSite is a site with one page.
func pageSite(t *testing.T, contentType, content string) *site {
	return newSite(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		_, _ = io.WriteString(w, content)
	})
}

func (s *site) url(host, path string) string { return "http://" + host + ":" + s.port + path }

// options lets the tool reach the site, without approval.
func (s *site) options() webfetch.Options {
	return webfetch.Options{
		AllowAll: true, Timeout: 10 * time.Minute, AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Resolver: fetchtest.Resolver(func(string) []netip.Addr { return []netip.Addr{netip.MustParseAddr("127.0.0.1")} }),
	}
}

// caller is a model that calls web_fetch with arguments that next returns, until it returns "".
type caller struct {
	media   []string
	next    func(last string) string
	results []model.Part
	content []model.Part
}

func (c *caller) Info() model.Info {
	return model.Info{Provider: "test", Name: "caller", Media: c.media}
}

func (c *caller) Generate(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
	last := ""
	for _, p := range req.Messages[len(req.Messages)-1].Parts {
		switch p.Kind {
		case model.PartToolReturn, model.PartRetry:
			c.results = append(c.results, p)
			last = p.Text
		case model.PartMedia:
			c.content = append(c.content, p)
		}
	}
	args := c.next(last)
	if args == "" {
		return model.Response(model.Text("done")), nil
	}
	return model.Response(model.ToolCall(fmt.Sprint(len(c.results)), webfetch.ToolFetch, args)), nil
}

// calls makes the calls in one run.
func calls(urls ...string) *caller {
	n := 0
	return &caller{next: func(string) string {
		if n == len(urls) {
			return ""
		}
		n++
		return argsOf(urls[n-1], 0)
	}}
}

func argsOf(url string, offset int) string {
	data, _ := json.Marshal(map[string]any{"url": url, "offset": offset})
	return string(data)
}

// run runs an agent with the tool.
func (c *caller) run(t *testing.T, o webfetch.Options, asker toolset.Asker) *caller {
	t.Helper()
	a := agent.Must(agent.New(agent.Config[struct{}, string]{Model: c, Capabilities: []agent.Capability[struct{}]{webfetch.New[struct{}](o)}}))
	var options []agent.RunOption
	if asker != nil {
		options = append(options, agent.WithAsker(asker))
	}
	_, err := a.Run(t.Context(), struct{}{}, "go", options...)
	require.NoError(t, err)
	return c
}

// fetched returns the result of one call.
func fetched(t *testing.T, o webfetch.Options, url string) model.Part {
	t.Helper()
	c := calls(url).run(t, o, nil)
	require.Len(t, c.results, 1)
	return c.results[0]
}

// nobody resolves no name.
var nobody = fetchtest.Resolver(func(string) []netip.Addr { return nil })
