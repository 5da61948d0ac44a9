// SPDX-License-Identifier: Apache-2.0

package websearch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/capability/websearch"
	"github.com/ponte-go/ponte/agent/model"
)

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answering(body io.Reader) *http.Client {
	return &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(body), Request: r}, nil
	})}
}

type failing struct{ error }

func (f failing) Read([]byte) (int, error) { return 0, f.error }

// TestRequestsOfAnEndpoint checks everything that is sent, by the client of the endpoint, for each kind of query.
func TestRequestsOfAnEndpoint(t *testing.T) {
	var sent string
	var had string
	client := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		deadline, _ := r.Context().Deadline()
		had = time.Until(deadline).Round(time.Second).String()
		sent = fmt.Sprintf("%s %s %s %v", r.Method, r.URL, body, r.Header)
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("[]")), Request: r}, nil
	})}
	get := websearch.Endpoint{URL: "https://s.test/q?a=1", Query: "q", HTTPClient: client, Header: http.Header{"x-key": {"k"}}}
	full := get
	full.Max, full.MaxMax, full.Params = "n", 1, map[string]string{"b": "2", "a": "3"}
	named := get
	named.Allowed, named.Blocked = "in", "out"
	post := named
	post.Post, post.Max, post.Params = true, "n", map[string]string{"b": "2"}
	for name, test := range map[string]struct {
		e    websearch.Endpoint
		q    websearch.Query
		want string
	}{
		"text":             {get, websearch.Query{Text: "x", Max: 9}, "GET https://s.test/q?a=1&q=x  map[Accept:[application/json] X-Key:[k]]"},
		"one":              {full, websearch.Query{Text: "x", Max: 1}, "GET https://s.test/q?a=3&b=2&n=1&q=x  map[Accept:[application/json] X-Key:[k]]"},
		"two, of one":      {full, websearch.Query{Text: "x", Max: 2}, "GET https://s.test/q?a=3&b=2&n=1&q=x  map[Accept:[application/json] X-Key:[k]]"},
		"any number":       {full, websearch.Query{Text: "x"}, "GET https://s.test/q?a=3&b=2&q=x  map[Accept:[application/json] X-Key:[k]]"},
		"one allowed host": {get, websearch.Query{Text: "x", Allowed: []string{"h"}}, "GET https://s.test/q?a=1&q=x+%28site%3Ah%29  map[Accept:[application/json] X-Key:[k]]"},
		"one blocked host": {get, websearch.Query{Text: "x", Blocked: []string{"h"}}, "GET https://s.test/q?a=1&q=x+-site%3Ah  map[Accept:[application/json] X-Key:[k]]"},
		"named hosts":      {named, websearch.Query{Text: "x", Allowed: []string{"h"}, Blocked: []string{"i"}}, "GET https://s.test/q?a=1&in=h&out=i&q=x  map[Accept:[application/json] X-Key:[k]]"},
		"no named hosts":   {named, websearch.Query{Text: "x"}, "GET https://s.test/q?a=1&q=x  map[Accept:[application/json] X-Key:[k]]"},
		"post":             {post, websearch.Query{Text: "x", Max: 2, Blocked: []string{"i"}}, `POST https://s.test/q?a=1 {"b":"2","n":2,"out":["i"],"q":"x"} map[Accept:[application/json] Content-Type:[application/json] X-Key:[k]]`},
	} {
		found, err := test.e.Search(t.Context(), test.q)
		require.NoError(t, err, name)
		require.Empty(t, found)
		require.Equal(t, test.want, sent, name)
		require.Equal(t, "20s", had, name)
	}
	get.Timeout = 7 * time.Second
	_, err := get.Search(t.Context(), websearch.Query{})
	require.NoError(t, err)
	require.Equal(t, "7s", had)
}

func TestFailuresOfAnEndpoint(t *testing.T) {
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		e    websearch.Endpoint
		want string
	}{
		"no connection":  {websearch.Endpoint{Name: "N", URL: "https://s.test", HTTPClient: &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) { return nil, broken })}}, "N: broken"},
		"a broken body":  {websearch.Endpoint{URL: "https://s.test", HTTPClient: answering(io.MultiReader(strings.NewReader("[]"), failing{broken}))}, "search: broken"},
		"no URL":         {websearch.Endpoint{URL: "https://%zz"}, "search: Endpoint.URL is not an http or https URL"},
		"another scheme": {websearch.Endpoint{URL: "ftp://s.test"}, "search: Endpoint.URL is not an http or https URL"},
		"no host":        {websearch.Endpoint{URL: "http:///x"}, "search: Endpoint.URL is not an http or https URL"},
		"no list":        {websearch.Endpoint{URL: "http://s.test", HTTPClient: answering(strings.NewReader("{}"))}, "search: the answer has no list of results"},
	} {
		found, err := test.e.Search(t.Context(), websearch.Query{Text: "secret"})
		require.EqualError(t, err, test.want, name)
		require.Nil(t, found)
	}
	_, err := (&websearch.Endpoint{URL: "https://s.test", HTTPClient: answering(failing{broken})}).Search(t.Context(), websearch.Query{})
	require.ErrorIs(t, err, broken)
}

func TestTextOfAnAnswerIsPlain(t *testing.T) {
	e := websearch.Endpoint{URL: "https://s.test", Title: "t", Snippet: "s", Link: "u"}
	for text, want := range map[string]string{
		"<b>a</b>": "a", "a < b > c": "a < b > c", "<1>": "<1>", "</>": "</>", "<a href='x'>y</a>": "y", "&lt;b&gt;": "<b>", "<b" + strings.Repeat("x", 200) + ">": "", "<b" + strings.Repeat("x", 201) + ">": "<b" + strings.Repeat("x", 201) + ">",
		strings.Repeat("x", 10_000): strings.Repeat("x", 10_000), strings.Repeat("x", 16<<10) + "y": strings.Repeat("x", 16<<10), strings.Repeat("x", 16<<10-1) + "é": strings.Repeat("x", 16<<10-1),
	} {
		e.HTTPClient = answering(strings.NewReader(`[{"t":"` + text + `","s":"` + text + `","":"hidden","u":"v"}]`))
		found, err := e.Search(t.Context(), websearch.Query{})
		require.NoError(t, err)
		require.Equal(t, []websearch.Result{{URL: "v", Title: want, Snippet: want}}, found)
	}
}

// TestRunsThatEndSayWhy checks that a search that ends with its run is no failed search.
func TestRunsThatEndSayWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine := errors.New("the user left")
		ctx, cancel := context.WithCancelCause(t.Context())
		a := &asked{call: `{"query":"tea"}`}
		err := a.runWith(ctx, websearch.Options{Searcher: websearch.Func(func(ctx context.Context, _ websearch.Query) ([]websearch.Result, error) {
			cancel(mine)
			<-ctx.Done()
			return nil, errors.New("ended")
		})})
		require.ErrorIs(t, err, mine)
		require.Len(t, a.requests, 1)
	})
}

func TestErrorsOfSearchesAreShortened(t *testing.T) {
	for n, want := range map[int]string{500: strings.Repeat("e", 500), 501: strings.Repeat("e", 497) + "…"} {
		a := &asked{call: `{"query":"tea"}`}
		require.NoError(t, a.run(t, websearch.Options{Searcher: websearch.Func(func(context.Context, websearch.Query) ([]websearch.Result, error) {
			return nil, errors.New(strings.Repeat("e", n))
		})}))
		require.Equal(t, model.OutcomeFailed, a.result(t).Outcome)
		require.Equal(t, "The search failed: "+want, a.result(t).Text)
	}
}
