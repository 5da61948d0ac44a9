// SPDX-License-Identifier: Apache-2.0

package modelwrap

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/ponte-go/ponte/internal/fetch"
)

// Reasons why [FetchMedia] does not download something. A [*FetchError] wraps one of them.
var (
	// ErrPrivateAddress means that a URL leads to an address that is not public.
	ErrPrivateAddress = fetch.ErrPrivateAddress
	// ErrHostNotAllowed means that a URL, or a redirect, leads to a host that is not listed in the
	// policy.
	ErrHostNotAllowed = fetch.ErrHostNotAllowed
	// ErrMediaTooLarge means that the size exceeds a limit of the policy.
	ErrMediaTooLarge = fetch.ErrTooLarge
)

// FetchError reports that media could not be downloaded.
type FetchError struct {
	// URL is the location, without user and query, which may contain secrets.
	URL string
	// Status is the HTTP status, or 0 if there was no answer.
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

// download is the content of a URL.
type download struct {
	data      []byte
	mediaType string
}

// fetch returns the wanted media.
func (f *fetcher) fetch(ctx context.Context, w want) (download, error) {
	if isDataURL(w.url) {
		d, err := readDataURL(w.url, f.policy.MaxBytes)
		if err != nil {
			return d, &FetchError{URL: "data:", Err: err}
		}
		return agreed(d, w.mediaType, "data:", 0)
	}
	d, ok := f.cache.get(w.url)
	if !ok {
		var err error
		if d, err = f.get(ctx, w.url); err != nil {
			return d, err
		}
		f.cache.put(w.url, d, int64(len(d.data)))
	}
	return agreed(d, w.mediaType, fetch.Shown(w.url), http.StatusOK)
}

// agreed determines the media type: that of the message if it has one and the data can be of that
// type, otherwise the server's. For images it is determined from the data, because providers do the
// same. A web page, such as a login page, is not media.
func agreed(d download, wanted, from string, status int) (download, error) {
	sniffed := plainType(http.DetectContentType(d.data))
	if d.mediaType == "" || d.mediaType == "application/octet-stream" || d.mediaType == "binary/octet-stream" {
		d.mediaType = sniffed
	}
	settled := cmp.Or(wanted, d.mediaType)
	switch {
	case topType(settled) != topType(d.mediaType) && d.mediaType != "application/octet-stream":
		return download{}, &FetchError{URL: from, Status: status, Err: fmt.Errorf("it is %s, not %s", d.mediaType, wanted)}
	case sniffed == "text/html" && topType(settled) != "text":
		return download{}, &FetchError{URL: from, Status: status, Err: fmt.Errorf("it is a page, not %s", settled)}
	case topType(settled) == "image" && topType(sniffed) == "image":
		settled = sniffed
	}
	d.mediaType = settled
	return d, nil
}

// get downloads a URL.
func (f *fetcher) get(ctx context.Context, from string) (download, error) {
	c, err := f.client.Get(ctx, from)
	if failed := (*fetch.Error)(nil); errors.As(err, &failed) {
		return download{}, &FetchError{URL: failed.URL, Status: failed.Status, Err: failed.Err}
	}
	if err != nil {
		return download{}, err
	}
	return download{c.Data, plainType(c.Type)}, nil
}

// plainType returns a media type without parameters, in lower case.
func plainType(mediaType string) string {
	t, _, _ := strings.Cut(mediaType, ";")
	return strings.ToLower(strings.TrimSpace(t))
}

// topType returns the top-level part of a media type.
func topType(mediaType string) string {
	top, _, _ := strings.Cut(plainType(mediaType), "/")
	return top
}

func isDataURL(from string) bool { return len(from) >= 5 && strings.EqualFold(from[:5], "data:") }

// readDataURL decodes a data URL (RFC 2397) as browsers do: base64 may be percent-encoded, contain
// white space and lack padding.
func readDataURL(from string, limit int64) (download, error) {
	head, content, ok := strings.Cut(from[len("data:"):], ",")
	if !ok {
		return download{}, errors.New("data URL has no data")
	}
	tooLarge := fmt.Errorf("%w: limit %d bytes", ErrMediaTooLarge, limit)
	if int64(len(content)) > 4*limit+100 { // in any encoding
		return download{}, tooLarge
	}
	at := max(0, len(head)-len(";base64"))
	inBase64 := strings.EqualFold(head[at:], ";base64")
	if inBase64 {
		head = head[:at]
	}
	mediaType, _, err := mime.ParseMediaType(head)
	if err != nil {
		mediaType = ""
	}
	if content, err = url.PathUnescape(content); err != nil {
		return download{}, errors.New("cannot decode the data: % without two hexadecimal digits")
	}
	data := []byte(content)
	if inBase64 {
		content = strings.TrimRight(strings.Join(strings.Fields(content), ""), "=")
		if data, err = base64.RawStdEncoding.DecodeString(content); err != nil {
			return download{}, fmt.Errorf("cannot decode the data: %w", err)
		}
	}
	switch {
	case len(data) == 0:
		return download{}, errors.New("response is empty")
	case int64(len(data)) > limit:
		return download{}, tooLarge
	}
	return download{data, mediaType}, nil
}
