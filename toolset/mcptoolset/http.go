// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ponte-go/ponte/internal/header"
)

// HTTP connects to a server at an address, with the protocol's transport "streamable HTTP".
// Requests, with their headers and tokens, go to the address's host only: a redirect to another
// host, or from https to http, is an error.
type HTTP struct {
	// URL is the server's address.
	URL string
	// Headers are added to each request. They may hold keys.
	Headers map[string]string
	// OAuth signs in where the server asks for it. Nil means that the server is used as it is.
	OAuth *OAuth
	// Client makes the requests. If nil, it is one with the defaults of net/http. Its CheckRedirect
	// is not used.
	Client *http.Client
}

// SSE connects to a server at an address, with the transport of protocol version 2024-11-05, which
// newer servers do not have. It has the same fields as [HTTP].
type SSE struct {
	URL     string            // the address of the stream
	Headers map[string]string // added to each request
	Client  *http.Client      // makes the requests
}

func (h HTTP) check() error {
	if h.OAuth != nil {
		if err := h.OAuth.check(); err != nil {
			return err
		}
	}
	return checkAddress(h.URL, h.Headers)
}
func (s SSE) check() error { return checkAddress(s.URL, s.Headers) }

// checkAddress checks what net/http would report as an error of the network. Its errors have no
// secrets.
func checkAddress(address string, headers map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if !header.Valid(name, headers[name]) {
			return fmt.Errorf("the header %q is not valid; does its value end in a newline?", name)
		}
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return errors.New("the URL is not valid") // the error would show it
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("the URL must begin with http:// or https://")
	case u.User != nil:
		return errors.New("the URL must not have a user: set a header")
	}
	return nil
}

func (h HTTP) secrets() []string { return secretsOf(h.URL, h.Headers) }
func (s SSE) secrets() []string  { return secretsOf(s.URL, s.Headers) }

// secretsOf returns the values of headers, with and without a scheme such as Bearer, and the query
// of an address.
func secretsOf(address string, headers map[string]string) []string {
	var values []string
	for _, v := range headers {
		values = append(values, v)
		if _, token, ok := strings.Cut(v, " "); ok {
			values = append(values, token)
		}
	}
	if u, err := url.Parse(address); err == nil && u.RawQuery != "" {
		values = append(values, u.RawQuery)
		for _, vs := range u.Query() {
			values = append(values, vs...)
		}
	}
	return values
}

// String returns the address without its query. Headers are left out.
func (h HTTP) String() string { return shownURL(h.URL) }

// String returns the address without its query. Headers are left out.
func (s SSE) String() string { return shownURL(s.URL) }

func shownURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "invalid address"
	}
	u.RawQuery, u.User, u.Fragment = "", nil, ""
	return visible(u.String(), 200)
}

// GoString implements [fmt.GoStringer].
func (h HTTP) GoString() string { return fmt.Sprintf("mcptoolset.HTTP{URL: %q, …}", h.String()) }

// GoString implements [fmt.GoStringer].
func (s SSE) GoString() string { return fmt.Sprintf("mcptoolset.SSE{URL: %q, …}", s.String()) }

// LogValue implements [slog.LogValuer].
func (h HTTP) LogValue() slog.Value { return slog.StringValue(h.String()) }

// LogValue implements [slog.LogValuer].
func (s SSE) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText lets encoders write what a log shows, without the headers.
func (h HTTP) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// MarshalText lets encoders write what a log shows, without the headers.
func (s SSE) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Format implements [fmt.Formatter]. No verb prints the headers.
func (h HTTP) Format(f fmt.State, verb rune) { format(f, verb, h) }

// Format implements [fmt.Formatter]. No verb prints the headers.
func (s SSE) Format(f fmt.State, verb rune) { format(f, verb, s) }

func (h HTTP) open(ctx context.Context, limits *Limits) (*opened, error) {
	home := &place{}
	t := &mcp.StreamableClientTransport{
		Endpoint: h.URL, HTTPClient: client(ctx, h.Client, h.URL, h.Headers, limits, home),
		MaxEventSize: limits.Message,
	}
	if h.OAuth != nil {
		handler, err := h.OAuth.handler(ctx, h.URL, home)
		if err != nil {
			return nil, err
		}
		t.OAuthHandler = handler
	}
	return &opened{Transport: t}, nil
}

func (s SSE) open(ctx context.Context, limits *Limits) (*opened, error) {
	return &opened{
		Transport: &mcp.SSEClientTransport{
			Endpoint: s.URL, HTTPClient: client(ctx, s.Client, s.URL, s.Headers, limits, nil),
			MaxEventSize: limits.Message,
		},
		ordered: true,
	}, nil
}

// client returns an HTTP client for one connection. With a place, which it notes, structured
// content stays as it is written, where nothing else does that.
func client(
	ctx context.Context, base *http.Client, address string, headers map[string]string,
	limits *Limits, place *place,
) *http.Client {
	c := &http.Client{}
	if base != nil {
		*c = *base
	}
	u, _ := url.Parse(address) // checked by New
	next := c.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	c.Transport = &homeTripper{
		ctx: ctx, next: next, home: u, headers: headers, limit: int64(limits.Message),
		place: place,
	}
	c.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if len(via) >= 5 {
			return errors.New("too many redirects")
		}
		return nil // the tripper refuses other hosts
	}
	return c
}

// homeTripper sends requests to one host, bounds answers, and ends all requests with the
// connection.
type homeTripper struct {
	ctx     context.Context
	next    http.RoundTripper
	home    *url.URL
	headers map[string]string
	limit   int64
	place   *place // may be nil
}

var errElsewhere = errors.New("the server refers to another host: set its address as the URL if it is meant")

// RoundTrip implements [http.RoundTripper].
func (t *homeTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	if !sameOrigin(r.URL, t.home) {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, fmt.Errorf("%w: %s", errElsewhere, visible(r.URL.Scheme+"://"+r.URL.Host, 200))
	}
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(t.ctx, cancel)
	end := func() { stop(); cancel() }
	r = r.Clone(ctx)
	for name, value := range t.headers {
		r.Header.Set(name, value)
	}
	if t.place != nil {
		r = r.WithContext(t.place.trace(ctx, t.next, r))
	}
	res, err := t.next.RoundTrip(r)
	if err != nil {
		end()
		return nil, err
	}
	body := &boundedBody{ReadCloser: res.Body, left: t.limit, end: end}
	if isEvents(res) {
		body.left = -1 // events are bounded one by one
	}
	res.Body = body
	if t.place != nil {
		rewrite(res, int(t.limit))
	}
	return res, nil
}

func kindOf(res *http.Response) string {
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

func isEvents(res *http.Response) bool { return kindOf(res) == "text/event-stream" }

// rewrite makes the messages of an answer such that the SDK takes them. See [verbatimMessage].
func rewrite(res *http.Response, limit int) {
	body := res.Body
	switch {
	case isEvents(res):
		res.Body = rewritten{verbatimEvents(body, limit), body}
	case kindOf(res) == "application/json":
		res.Body, res.ContentLength = rewritten{&verbatimBody{from: body}, body}, -1
	}
}

// rewriter is for the transport of a user, whose client does all else itself.
type rewriter struct {
	next  http.RoundTripper
	limit int
}

// rewritingClient returns a transport that does what t does, with rewritten answers.
func rewritingClient(t *mcp.StreamableClientTransport, limit int) *mcp.StreamableClientTransport {
	own, client := *t, *cmp.Or(t.HTTPClient, http.DefaultClient)
	if client.Transport == nil {
		client.Transport = http.DefaultTransport
	}
	client.Transport = rewriter{client.Transport, limit}
	own.HTTPClient = &client
	return &own
}

// RoundTrip implements [http.RoundTripper].
func (t rewriter) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if !isEvents(res) {
		res.Body = &boundedBody{ReadCloser: res.Body, left: int64(t.limit), end: func() {}}
	}
	rewrite(res, t.limit)
	return res, nil
}

// rewritten is a body that is read through something.
type rewritten struct {
	io.Reader
	io.Closer
}

// boundedBody is the body of an answer.
type boundedBody struct {
	io.ReadCloser
	left int64 // -1 is without limit
	end  func()
}

var errTooLarge = errors.New("the answer is too large")

// Read implements [io.Reader].
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errTooLarge
	}
	if b.left > 0 && int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left > 0 {
		b.left -= int64(n)
	}
	return n, err
}

// Close implements [io.Closer].
func (b *boundedBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
