// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"bytes"
	"iter"
	"unicode/utf8"
)

// IsLossyView reports whether an editor may show the contents data as text, without any change by
// the user: bytes that are not UTF-8 are replaced, dropped or decoded, the byte order mark is
// left out, line endings become "\n", or the final newline is added or left out. Equal contents
// are their own view.
func IsLossyView(data, text []byte) bool {
	for decoded := range decodings(data) {
		if sameText(decoded, text) {
			return true
		}
	}
	return false
}

// decodings yields the texts in UTF-8 that programs read from contents.
func decodings(data []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if utf8.Valid(data) {
			yield(data)
			return
		}
		for _, r := range []invalidBytes{{'\ufffd', perSequence}, {'\ufffd', perByte}, {'\ufffd', perRun}, {-1, perByte}} {
			if !yield(r.replace(data)) {
				return
			}
		}
		if t, ok := DecodeText(data); ok {
			yield(t.Data)
		}
	}
}

// invalidBytes is a way to deal with bytes that are not UTF-8.
type invalidBytes struct {
	replacement rune // negative for none
	each        granularity
}

// granularity is how many invalid bytes become one replacement.
type granularity uint8

const (
	perSequence granularity = iota // a truncated sequence, as browsers, Node.js, Python and Rust do
	perByte
	perRun // any number in a row
)

func (v invalidBytes) replace(data []byte) []byte {
	out := make([]byte, 0, len(data)+len(data)/8)
	inRun := false
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r != utf8.RuneError || n > 1 {
			out, inRun = append(out, data[i:i+n]...), false
			i += n
			continue
		}
		if v.each == perSequence {
			n = truncated(data[i:])
		}
		if v.replacement >= 0 && !(v.each == perRun && inRun) {
			out = utf8.AppendRune(out, v.replacement)
		}
		inRun = true
		i += n
	}
	return out
}

// truncated returns how many bytes at the beginning of data are the beginning of a sequence of
// UTF-8 that is not complete, at least one: what the standards of Unicode and of the web replace
// at once.
func truncated(data []byte) int {
	low, high, more := byte(0x80), byte(0xbf), 0
	switch b := data[0]; {
	case b >= 0xc2 && b <= 0xdf:
		more = 1
	case b >= 0xe0 && b <= 0xef:
		more = 2
		if b == 0xe0 {
			low = 0xa0
		} else if b == 0xed {
			high = 0x9f
		}
	case b >= 0xf0 && b <= 0xf4:
		more = 3
		if b == 0xf0 {
			low = 0x90
		} else if b == 0xf4 {
			high = 0x8f
		}
	}
	n := 1
	for n <= more && n < len(data) && data[n] >= low && data[n] <= high {
		low, high = 0x80, 0xbf
		n++
	}
	return n
}

const byteOrderMark = "\ufeff"

// sameText reports whether text is decoded, but for the byte order mark, line endings and the
// final newline.
func sameText(decoded, text []byte) bool {
	if !bytes.HasPrefix(text, []byte(byteOrderMark)) {
		decoded = bytes.TrimPrefix(decoded, []byte(byteOrderMark))
	}
	if sameButEnd(decoded, text) {
		return true
	}
	if bytes.IndexByte(decoded, '\r') < 0 {
		return false
	}
	decoded = bytes.ReplaceAll(decoded, []byte("\r\n"), []byte{'\n'})
	return sameButEnd(decoded, text) || sameButEnd(bytes.ReplaceAll(decoded, []byte{'\r'}, []byte{'\n'}), text)
}

// sameButEnd reports whether two texts are the same, but for a newline at the end.
func sameButEnd(a, b []byte) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	rest, ok := bytes.CutPrefix(b, a)
	return ok && (len(rest) == 0 || string(rest) == "\n" || string(rest) == "\r\n")
}
