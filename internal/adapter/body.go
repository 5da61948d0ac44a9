// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

var htmlTitle = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)

// EmptyBody is how [UnknownBody] describes an empty body.
const EmptyBody = "an empty body"

// UnknownBody describes a body that is neither an error the adapter understands nor, with a
// successful status, an answer (a message, a completion).
func UnknownBody(status int, header http.Header, body []byte, answer, base string) string {
	quoted := string(bytes.TrimSpace(body))
	if strings.HasPrefix(quoted, "<") {
		quoted = "an HTML page"
		if title := htmlTitle.FindSubmatch(body); title != nil {
			quoted += ": " + strings.TrimSpace(string(title[1]))
		}
	}
	if quoted == "" {
		quoted = EmptyBody
	}
	switch {
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		return fmt.Sprintf("%s (is Config.BaseURL right? it is %s)", quoted, base)
	case status < 300:
		return fmt.Sprintf("the answer is no %s but %s (is Config.BaseURL right? it is %s)", answer, quoted, base)
	case status < 400:
		to, _, _ := strings.Cut(CleanText(header.Get("Location")), "?") // which may be relative
		return fmt.Sprintf("redirected to %q (Config.BaseURL is %s)", to, base)
	}
	return quoted
}

// FirstByte returns the first byte that is neither a byte order mark nor white space, which servers
// send to keep a connection alive, and leaves it unread: it tells an object, or a page, from a
// stream of events. After 1 MiB of nothing else it returns a [*FloodError].
func FirstByte(r *bufio.Reader) (byte, error) {
	if mark, _ := r.Peek(3); string(mark) == "\ufeff" {
		_, _ = r.Discard(3)
	}
	for range maxNoise {
		b, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		if b != ' ' && b != '\n' && b != '\r' && b != '\t' {
			return b, r.UnreadByte()
		}
	}
	return 0, &FloodError{maxNoise}
}

// Truncate returns at most the first n bytes of s, in whole characters, with a mark where something
// is missing.
//
//go:noinline
func Truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
