// SPDX-License-Identifier: Apache-2.0

package plainjson

import "unicode/utf8"

const hexDigits = "0123456789abcdef"

// plainByte marks the bytes that need no escape in a JSON string.
var plainByte = func() (plain [256]bool) {
	for b := 0x20; b < utf8.RuneSelf; b++ {
		plain[b] = b != '"' && b != '\\'
	}
	return plain
}()

// AppendString appends s to dst as a JSON string. As in encoding/json, bytes that are not UTF-8 become U+FFFD. Unlike
// encoding/json, it does not escape characters for HTML. It allocates only to grow dst.
func AppendString[S ~string | ~[]byte](dst []byte, s S) []byte {
	dst = append(dst, '"')
	dst = AppendChars(dst, s)
	return append(dst, '"')
}

// AppendChars appends s as AppendString does, without the quotes.
func AppendChars[S ~string | ~[]byte](dst []byte, s S) []byte {
	done := 0
	for i := 0; i < len(s); {
		b := s[i]
		if plainByte[b] {
			i++
			continue
		}
		if b >= utf8.RuneSelf {
			if _, size := decodeRune(s, i); size > 1 {
				i += size
				continue
			}
			dst = append(dst, s[done:i]...)
			dst = append(dst, "\ufffd"...)
			i++
			done = i
			continue
		}
		dst = append(dst, s[done:i]...)
		switch b {
		case '"', '\\':
			dst = append(dst, '\\', b)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[b>>4], hexDigits[b&0xf])
		}
		i++
		done = i
	}
	return append(dst, s[done:]...)
}

// decodeRune decodes the character at i. It copies at most four bytes, so S needs no conversion.
func decodeRune[S ~string | ~[]byte](s S, i int) (rune, int) {
	var buf [utf8.UTFMax]byte
	n := copy(buf[:], s[i:min(i+utf8.UTFMax, len(s))])
	return utf8.DecodeRune(buf[:n])
}
