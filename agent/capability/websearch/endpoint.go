// SPDX-License-Identifier: Apache-2.0

package websearch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ponte-go/ponte/internal/clean"
	"github.com/ponte-go/ponte/internal/header"
)

// Endpoint describes a search service with a JSON interface. It is a [Searcher]. Printing or
// logging it does not show its headers.
type Endpoint struct {
	// Name names the service in errors.
	Name string
	// URL is the address, without a query. Post sends the parameters as a JSON body instead of a
	// query.
	URL  string
	Post bool
	// Header is sent with each request. It holds the key.
	Header http.Header
	// Params are sent with each request.
	Params map[string]string
	// Query and Max are the names of parameters. Max may be empty. MaxMax is the largest value of
	// Max that the service takes, or 0.
	Query, Max string
	MaxMax     int
	// Allowed and Blocked are the names of parameters that take lists of hosts. If they are empty,
	// "site:" and "-site:" are added to the query instead.
	Allowed, Blocked string
	// Results is the path of the list of results in the answer. Link, Title, Snippet and Date are
	// the names of their members. Date may be empty.
	Results                    []string
	Link, Title, Snippet, Date string
	// Timeout limits the duration of a search. 0 means 20 seconds.
	Timeout time.Duration
	// HTTPClient sends the requests. If nil, a default client is used. Redirects are not followed.
	HTTPClient *http.Client
}

// SearXNG returns a searcher for an instance of SearXNG, which must have the format json enabled.
func SearXNG(baseURL string) *Endpoint {
	return &Endpoint{
		Name: "SearXNG", URL: strings.TrimRight(baseURL, "/") + "/search", Params: map[string]string{"format": "json"}, Query: "q",
		Results: []string{"results"}, Link: "url", Title: "title", Snippet: "content", Date: "publishedDate",
	}
}

// Brave returns a searcher for the Brave Search API.
func Brave(key string) *Endpoint {
	return &Endpoint{
		Name: "Brave Search", URL: "https://api.search.brave.com/res/v1/web/search", Header: http.Header{"X-Subscription-Token": {key}},
		Params: map[string]string{"text_decorations": "false", "result_filter": "web"}, Query: "q", Max: "count", MaxMax: 20,
		Results: []string{"web", "results"}, Link: "url", Title: "title", Snippet: "description", Date: "age",
	}
}

// Tavily returns a searcher for the Tavily API.
func Tavily(key string) *Endpoint {
	return &Endpoint{
		Name: "Tavily", URL: "https://api.tavily.com/search", Post: true, Header: http.Header{"Authorization": {"Bearer " + key}},
		Query: "query", Max: "max_results", MaxMax: 20, Allowed: "include_domains", Blocked: "exclude_domains",
		Results: []string{"results"}, Link: "url", Title: "title", Snippet: "content", Date: "published_date",
	}
}

// check reports what no search could work with. Its errors have no values, which may be keys.
func (e *Endpoint) check() error {
	u, err := url.Parse(e.URL)
	switch name, found := header.Invalid(e.Header); {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("the URL must begin with http:// or https:// and have a host")
	case found:
		return fmt.Errorf("the header %q is not valid; does the key end in a newline?", name)
	}
	for name := range e.Header {
		if value := e.Header.Get(name); value == "" || value == "Bearer " {
			return fmt.Errorf("the header %q is empty; set the key", name)
		}
	}
	return nil
}

// maxAnswer limits an answer, in bytes.
const maxAnswer = 4 << 20

// Search implements [Searcher].
func (e *Endpoint) Search(ctx context.Context, q Query) ([]Result, error) {
	found, err := e.search(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cmp.Or(e.Name, "search"), err)
	}
	return found, nil
}

func (e *Endpoint) search(ctx context.Context, q Query) ([]Result, error) {
	ctx, stop := context.WithTimeout(ctx, cmp.Or(e.Timeout, 20*time.Second))
	defer stop()
	req, err := e.request(ctx, q)
	if err != nil {
		return nil, err
	}
	client := http.Client{}
	if e.HTTPClient != nil {
		client = *e.HTTPClient
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // would take the key elsewhere
	resp, err := client.Do(req)
	if err != nil {
		if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
			err = wrapped.Err // the outer error contains the query
		}
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("HTTP %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	case len(body) > maxAnswer:
		return nil, fmt.Errorf("the answer has more than %d bytes", maxAnswer)
	}
	return e.read(body)
}

// request returns the request for a query.
func (e *Endpoint) request(ctx context.Context, q Query) (*http.Request, error) {
	text := q.Text
	if e.Allowed == "" && len(q.Allowed) > 0 {
		text += " (site:" + strings.Join(q.Allowed, " OR site:") + ")"
	}
	if e.Blocked == "" && len(q.Blocked) > 0 {
		text += " -site:" + strings.Join(q.Blocked, " -site:")
	}
	most := q.Max
	if e.MaxMax > 0 {
		most = min(most, e.MaxMax)
	}
	params := map[string]any{e.Query: text}
	for name, value := range e.Params {
		params[name] = value
	}
	if e.Max != "" && most > 0 {
		params[e.Max] = most
	}
	for name, hosts := range map[string][]string{e.Allowed: q.Allowed, e.Blocked: q.Blocked} {
		if name != "" && len(hosts) > 0 {
			params[name] = hosts
		}
	}
	u, err := url.Parse(e.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, errors.New("Endpoint.URL is not an http or https URL")
	}
	method, body := http.MethodGet, []byte(nil)
	if e.Post {
		method = http.MethodPost
		if body, err = json.Marshal(params); err != nil {
			return nil, err
		}
	} else {
		values := u.Query()
		for name, value := range params {
			switch value := value.(type) {
			case []string:
				values.Set(name, strings.Join(value, ","))
			case int:
				values.Set(name, strconv.Itoa(value))
			case string:
				values.Set(name, value)
			}
		}
		u.RawQuery = values.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the request cannot be made")
	}
	req.Header.Set("Accept", "application/json")
	if e.Post {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, values := range e.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	return req, nil
}

// read reads an answer.
func (e *Endpoint) read(body []byte) ([]Result, error) {
	for _, name := range e.Results {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(body, &object); err != nil {
			return nil, errors.New("the answer is not a JSON object with results")
		}
		if body = object[name]; body == nil {
			return nil, nil // some services leave an empty list out
		}
	}
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, errors.New("the answer has no list of results")
	}
	found := make([]Result, 0, min(len(list), MaxResults))
	for _, item := range list[:min(len(list), 4*MaxResults)] {
		field := func(name string) string {
			var text string
			if name != "" {
				_ = json.Unmarshal(item[name], &text) // another type says nothing
			}
			return text
		}
		found = append(found, Result{URL: field(e.Link), Title: plain(field(e.Title)), Snippet: plain(field(e.Snippet)), Date: clean.Short(field(e.Date), 60)})
	}
	return found, nil
}

var tags = regexp.MustCompile(`</?[a-zA-Z][^<>]{0,200}>`)

// plain removes the marks that services put around words of the query.
func plain(text string) string {
	if len(text) > 16<<10 {
		text = strings.ToValidUTF8(text[:16<<10], "")
	}
	return html.UnescapeString(tags.ReplaceAllString(text, ""))
}

// Format implements [fmt.Formatter] for every verb, so the key is never shown.
func (e Endpoint) Format(f fmt.State, _ rune) { io.WriteString(f, e.describe()) }

// LogValue implements [slog.LogValuer] without the key.
func (e Endpoint) LogValue() slog.Value { return slog.StringValue(e.describe()) }

// MarshalText lets encoders write what a log shows, without the key.
func (e Endpoint) MarshalText() ([]byte, error) { return []byte(e.describe()), nil }

func (e Endpoint) describe() string { return "websearch.Endpoint(" + e.Name + ")" }
