// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"net/url"
	"regexp"
	"strings"
)

// CleanURL returns a URL as people may see it, with neither user nor query nor fragment: proxies
// take keys in each of them.
func CleanURL(u *url.URL) string {
	clean := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return clean.String()
}

var (
	urlInText = regexp.MustCompile("[a-zA-Z][a-zA-Z0-9+.-]*://[^\\s\"'<>`]+")
	// ending is punctuation that belongs to the text around a URL.
	ending = ".,;:!)]}"
)

// CleanText returns a text in which every URL has neither user nor query nor fragment.
func CleanText(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	return urlInText.ReplaceAllStringFunc(text, func(found string) string {
		scheme, rest, _ := strings.Cut(found, "://")
		after := rest[len(strings.TrimRight(rest, ending)):]
		authority, path := rest, ""
		if i := strings.IndexAny(rest, "/?#\\"); i >= 0 {
			authority, path = rest[:i], rest[i:]
		}
		if i := strings.LastIndexByte(rest, '@'); i >= 0 { // a password may have any of the characters that end an authority
			if query := strings.IndexAny(rest, "?#"); query < 0 || i < query {
				authority, path = rest[i+1:], ""
				if j := strings.IndexAny(authority, "/?#\\"); j >= 0 {
					authority, path = authority[:j], authority[j:]
				}
			}
		}
		if i := strings.IndexAny(path, "?#"); i >= 0 {
			path = path[:i] + after
		}
		return scheme + "://" + authority + path
	})
}

// cleanedError is an error whose text shows no secret.
type cleanedError struct {
	text string
	err  error
}

func (e *cleanedError) Error() string { return e.text }
func (e *cleanedError) Unwrap() error { return e.err }

// Cleaned returns err with its text redacted.
func Cleaned(err error, redact func(string) string) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if clean := redact(text); clean != text {
		return &cleanedError{clean, err}
	}
	return err
}
