package modelwrap

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strings"
)

const userAgent = "ponte-fetch"

// FetchError says which media could not be had, and why.
type FetchError struct {
	// URL is where it was to be found, without the query, which may hold a secret.
	URL string
	// Status is the HTTP status if there was an answer, or 0.
	Status int
	// Err is the cause.
	Err error
}

// Error implements error.
func (e *FetchError) Error() string {
	return fmt.Sprintf("modelwrap: cannot fetch %s: %v", e.URL, e.Err)
}

// Unwrap returns the cause.
func (e *FetchError) Unwrap() error { return e.Err }

// download is what was found at a URL.
type download struct {
	data      []byte
	mediaType string
}

// fetch returns what is at a URL, which should be of a media type if that is not empty.
func (f *fetcher) fetch(ctx context.Context, from, mediaType string) (download, error) {
	if isDataURL(from) {
		d, err := readDataURL(from, f.policy.MaxBytes)
		if err != nil {
			return d, &FetchError{URL: "data:", Err: err}
		}
		return f.agreed(d, mediaType, "data:")
	}
	d, ok := f.cache.get(from)
	if !ok {
		var err error
		if d, err = f.get(ctx, from); err != nil {
			return d, err
		}
		f.cache.put(from, d, int64(len(d.data)))
	}
	return f.agreed(d, mediaType, shown(from))
}

// agreed settles the media type: the message's if it has one and what came can be that.
func (f *fetcher) agreed(d download, wanted, from string) (download, error) {
	top := func(mediaType string) string {
		t, _, _ := strings.Cut(plainType(mediaType), "/")
		return t
	}
	sniffed := plainType(http.DetectContentType(d.data))
	if d.mediaType == "" || d.mediaType == "application/octet-stream" || d.mediaType == "binary/octet-stream" {
		d.mediaType = sniffed
	}
	switch {
	case wanted == "":
	case top(wanted) != top(d.mediaType) && d.mediaType != "application/octet-stream", sniffed == "text/html" && plainType(wanted) != "text/html":
		return d, &FetchError{URL: from, Status: http.StatusOK, Err: fmt.Errorf("it is %s, not %s", d.mediaType, wanted)}
	default:
		d.mediaType = wanted
	}
	return d, nil
}

// get downloads what is at a URL.
func (f *fetcher) get(ctx context.Context, from string) (download, error) {
	ctx, stop := context.WithTimeoutCause(ctx, f.policy.Timeout,
		fmt.Errorf("it took longer than %s: %w", f.policy.Timeout, os.ErrDeadlineExceeded))
	defer stop()
	failed := func(status int, err error) (download, error) {
		if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
			err = wrapped.Err // which would name the URL again, with its query
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return download{}, &FetchError{URL: shown(from), Status: status, Err: err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return failed(0, err)
	}
	if err := f.policy.checkURL(req.URL); err != nil {
		return failed(0, err)
	}
	req.Header.Set("User-Agent", userAgent)
	for name, values := range f.policy.Header {
		req.Header[name] = values
	}
	resp, err := f.client.Do(req)
	if err != nil {
		return failed(0, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return failed(resp.StatusCode, fmt.Errorf("HTTP %s", resp.Status))
	}
	if resp.ContentLength > f.policy.MaxBytes {
		return failed(resp.StatusCode, fmt.Errorf("%w: %d bytes, %d are allowed", ErrMediaTooLarge, resp.ContentLength, f.policy.MaxBytes))
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, f.policy.MaxBytes+1))
	switch {
	case err != nil:
		return failed(resp.StatusCode, err)
	case int64(len(data)) > f.policy.MaxBytes:
		return failed(resp.StatusCode, fmt.Errorf("%w: %d bytes are allowed", ErrMediaTooLarge, f.policy.MaxBytes))
	case len(data) == 0:
		return failed(resp.StatusCode, errors.New("it is empty"))
	}
	return download{data, plainType(resp.Header.Get("Content-Type"))}, nil
}

// shown returns a URL as errors may quote it.
func shown(from string) string {
	u, err := url.Parse(from)
	if err != nil {
		return "a URL that cannot be parsed"
	}
	if u.RawQuery != "" {
		u.RawQuery = "…"
	}
	u.Fragment, u.RawFragment = "", ""
	return u.Redacted()
}

// plainType returns a media type without parameters, in lower case.
func plainType(mediaType string) string {
	t, _, _ := strings.Cut(mediaType, ";")
	return strings.ToLower(strings.TrimSpace(t))
}

func isDataURL(from string) bool { return len(from) >= 5 && strings.EqualFold(from[:5], "data:") }

// readDataURL takes a data URL apart (RFC 2397).
func readDataURL(from string, limit int64) (download, error) {
	head, content, ok := strings.Cut(from[5:], ",")
	if !ok {
		return download{}, errors.New("it has no data")
	}
	if int64(len(content)) > limit/3*4+4 {
		return download{}, fmt.Errorf("%w: %d bytes are allowed", ErrMediaTooLarge, limit)
	}
	mediaType, _, err := mime.ParseMediaType(strings.TrimSuffix(head, ";base64"))
	if err != nil {
		mediaType = ""
	}
	var data []byte
	if strings.HasSuffix(head, ";base64") {
		data, err = base64.StdEncoding.DecodeString(content)
	} else {
		content, err = url.PathUnescape(content)
		data = []byte(content)
	}
	if err != nil {
		return download{}, fmt.Errorf("its data cannot be decoded: %w", err)
	}
	if len(data) == 0 {
		return download{}, errors.New("it is empty")
	}
	return download{data, mediaType}, nil
}
