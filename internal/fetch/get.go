// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/internal/adapter"
)

// Client downloads within a policy. It is safe for concurrent use.
type Client struct {
	policy *Policy // no verb of fmt follows two pointers, so its headers are not printed
	client *http.Client
}

// New returns a client for a policy.
func New(p Policy) *Client {
	c := &Client{policy: &p}
	c.policy.Hosts, c.policy.Denied, c.policy.AllowPrivate = slices.Clone(p.Hosts), slices.Clone(p.Denied), slices.Clone(p.AllowPrivate)
	header := p.Header
	c.policy.Header = http.Header{}
	for name, values := range header {
		for _, value := range values {
			c.policy.Header.Add(name, value) // under the name that is removed on redirects
		}
	}
	c.client = guardedClient(c.policy)
	return c
}

// CheckRedirect is the check of each redirect. Tests use it, because a redirect from HTTPS would
// need a server with a certificate that the system trusts.
func (c *Client) CheckRedirect(to *http.Request, via []*http.Request) error {
	return c.policy.checkRedirect(to, via)
}

// Content is the content of a URL.
type Content struct {
	// URL is the location after redirects.
	URL *url.URL
	// Type is the Content-Type that the server sent. Data is the content, decompressed.
	Type string
	Data []byte
	// More reports that the content is longer than Data.
	More bool
}

// Error reports that a download failed.
type Error struct {
	// URL is the location, without user and query, which may contain secrets.
	URL string
	// Status is the HTTP status, or 0 if there was no answer.
	Status int
	// Err is the cause. Its text has no queries of URLs.
	Err error
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("cannot fetch %s: %v", e.URL, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Get downloads a URL. The error is an [*Error].
func (c *Client) Get(ctx context.Context, from string) (*Content, error) {
	p := c.policy
	ctx, stop := context.WithTimeoutCause(ctx, p.Timeout, fmt.Errorf("timed out after %s: %w", p.Timeout, os.ErrDeadlineExceeded))
	defer stop()
	failed := func(status int, err error) (*Content, error) {
		if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
			err = wrapped.Err // the outer error contains the URL with its query
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, &Error{URL: Shown(from), Status: status, Err: adapter.Cleaned(err, adapter.CleanText)}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return failed(0, errors.New("invalid URL")) // the parse error quotes a part of the URL, perhaps a password
	}
	if err := p.CheckURL(req.URL); err != nil {
		return failed(0, err)
	}
	req.Header.Set("User-Agent", DefaultUserAgent)
	for name, values := range p.Header {
		req.Header[name] = slices.Clone(values)
	}
	if p.Gzip {
		req.Header.Set("Accept-Encoding", "gzip")
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return failed(0, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return failed(resp.StatusCode, fmt.Errorf("HTTP %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))) // not the server's words
	}
	body, err := p.decoded(resp)
	if err != nil {
		return failed(resp.StatusCode, err)
	}
	data, err := io.ReadAll(io.LimitReader(body, p.MaxBytes+1))
	more := int64(len(data)) > p.MaxBytes
	switch {
	case err != nil:
		return failed(resp.StatusCode, err)
	case more && !p.Partial:
		return failed(resp.StatusCode, fmt.Errorf("%w: limit %d bytes", ErrTooLarge, p.MaxBytes))
	case len(data) == 0:
		return failed(resp.StatusCode, errors.New("response is empty"))
	case more:
		data = data[:p.MaxBytes]
	}
	return &Content{URL: resp.Request.URL, Type: resp.Header.Get("Content-Type"), Data: data, More: more}, nil
}

// decoded returns the body of a response without its compression. The caller limits the decoded
// size, so a small response that unpacks to a huge one is harmless.
func (p *Policy) decoded(resp *http.Response) (io.Reader, error) {
	switch coding := strings.ToLower(resp.Header.Get("Content-Encoding")); {
	case coding == "" || coding == "identity":
		if resp.ContentLength > p.MaxBytes && !p.Partial {
			return nil, fmt.Errorf("%w: %d bytes, limit %d", ErrTooLarge, resp.ContentLength, p.MaxBytes)
		}
		return resp.Body, nil
	case p.Gzip && (coding == "gzip" || coding == "x-gzip"):
		unpacked, err := gzip.NewReader(resp.Body)
		if err != nil {
			return nil, fmt.Errorf("response is not valid gzip: %w", err)
		}
		return unpacked, nil
	default:
		return nil, fmt.Errorf("response is compressed (%s), although that was not requested", coding)
	}
}

// Shown returns a URL in a form that errors may contain.
func Shown(from string) string {
	u, err := url.Parse(from)
	if err != nil {
		return "(invalid URL)"
	}
	return adapter.CleanURL(u)
}
