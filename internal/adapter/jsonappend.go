package adapter

import "unicode/utf8"

const hexDigits = "0123456789abcdef"

// plainByte says which bytes stand for themselves inside a JSON string.
var plainByte = func() (plain [256]bool) {
	for b := 0x20; b < utf8.RuneSelf; b++ {
		plain[b] = b != '"' && b != '\\'
	}
	return plain
}()

// AppendJSONString appends s as a JSON string. Bytes that are no UTF-8 become U+FFFD, as in encoding/json; unlike
// there, nothing is escaped for the sake of HTML.
func AppendJSONString[S ~string | ~[]byte](dst []byte, s S) []byte {
	dst = append(dst, '"')
	dst = AppendJSONChars(dst, s)
	return append(dst, '"')
}

// AppendJSONChars appends s as the inside of a JSON string.
func AppendJSONChars[S ~string | ~[]byte](dst []byte, s S) []byte {
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
