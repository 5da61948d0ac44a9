// SPDX-License-Identifier: Apache-2.0

package acp

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// validString turns decoded text into a string. Invalid UTF-8 becomes U+FFFD.
func validString(b []byte) string {
	if !utf8.Valid(b) {
		b = bytes.ToValidUTF8(b, []byte("\uFFFD"))
	}
	return string(b)
}

// unescape resolves the escapes of a valid JSON string, given without its quotes. Half a surrogate
// pair becomes U+FFFD.
func unescape(b []byte) string {
	var out strings.Builder
	out.Grow(len(b))
	for {
		i := plainPrefix(b)
		out.Write(b[:i])
		if i == len(b) {
			return out.String()
		}
		c := b[i+1]
		b = b[i+2:]
		switch c {
		case 'b':
			out.WriteByte('\b')
		case 'f':
			out.WriteByte('\f')
		case 'n':
			out.WriteByte('\n')
		case 'r':
			out.WriteByte('\r')
		case 't':
			out.WriteByte('\t')
		case 'u':
			r, _ := hex4(b)
			b = b[4:]
			if utf16.IsSurrogate(r) {
				r, b = surrogate(r, b)
			}
			out.WriteRune(r)
		default: // quote, backslash, slash
			out.WriteByte(c)
		}
	}
}

// surrogate joins the half r of a pair with the escape that rest begins with.
func surrogate(r rune, rest []byte) (rune, []byte) {
	if len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' {
		second, _ := hex4(rest[2:])
		if joined := utf16.DecodeRune(r, second); joined != utf8.RuneError {
			return joined, rest[6:]
		}
	}
	return utf8.RuneError, rest
}
