// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"net/url"
	"strings"
)

// isURI reports whether a name is meant as a file URI.
func isURI(name string) bool {
	return len(name) >= 5 && strings.EqualFold(name[:5], "file:")
}

// fromURI returns the path that a file URI names (RFC 8089).
func (s Style) fromURI(uri string) (string, error) {
	rest := uri[len("file:"):]
	if strings.ContainsAny(rest, "?#") {
		return "", malformed("the file URI has a query or a fragment, which is not part of the path: leave it out; in a name, ? is written %%3F and # is %%23")
	}
	host := ""
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		i := strings.IndexByte(after, '/')
		if i < 0 {
			return "", malformed("the file URI has no path; use file:///path")
		}
		host, rest = after[:i], after[i:]
	}
	if !strings.HasPrefix(rest, "/") {
		return "", malformed("the file URI is not absolute; use file:///path")
	}
	if strings.Contains(strings.ToLower(rest), "%2f") || s == Windows && strings.Contains(strings.ToLower(rest), "%5c") {
		return "", malformed("the file URI has an encoded separator")
	}
	decoded, err := url.PathUnescape(rest)
	if err != nil {
		return "", malformed("the file URI is not percent-encoded correctly")
	}
	if strings.EqualFold(host, "localhost") {
		host = ""
	}
	switch {
	case s == Slash && host != "":
		return "", malformed("the file URI names the host %q; use file:///path", host)
	case s == Slash:
		return decoded, nil
	case host != "":
		return `\\` + host + decoded, nil
	case len(decoded) > 2 && hasDrive(decoded[1:]):
		return decoded[1:], nil
	case strings.HasPrefix(decoded, "//"): // file:////server/share
		return decoded, nil
	}
	return "", malformed("the file URI has no drive; use file:///C:/path")
}
