package acp

import (
	"bytes"
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

// unescape resolves the escapes of a valid JSON string, given without its quotes. Half a surrogate pair becomes U+FFFD.
func unescape(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\\')
		if i < 0 {
			return append(out, b...)
		}
		out = append(out, b[:i]...)
		c := b[i+1]
		b = b[i+2:]
		switch c {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, _ := hex4(b)
			b = b[4:]
			if utf16.IsSurrogate(r) {
				r, b = surrogate(r, b)
			}
			out = utf8.AppendRune(out, r)
		default: // quote, backslash, slash
			out = append(out, c)
		}
	}
	return out
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
