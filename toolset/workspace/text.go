// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ponte-go/ponte/internal/clean"
)

// binaryKind returns the kind of a file with these first bytes, or an empty string if they are
// text.
func binaryKind(data []byte) string {
	if bytes.IndexByte(data[:min(len(data), 8000)], 0) < 0 && validUTF8(data) {
		return ""
	}
	if kind := hasMagic(data); kind != "" {
		return kind
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return "a binary file"
	}
	return "not UTF-8 text"
}

// hasMagic returns the kind of file that begins in this way, or an empty string.
func hasMagic(data []byte) string {
	for _, m := range magic {
		if bytes.HasPrefix(data, []byte(m.prefix)) {
			return m.kind
		}
	}
	return ""
}

// validUTF8 reports whether data is UTF-8. A cut may have left a part of a character at the end.
func validUTF8(data []byte) bool {
	return utf8.Valid(clean.Whole(data))
}

// magic are the beginnings of files that models ask for by mistake.
var magic = []struct{ prefix, kind string }{
	{"\x89PNG\r\n", "a PNG image"}, {"\xff\xd8\xff", "a JPEG image"}, {"GIF8", "a GIF image"},
	{"%PDF-", "a PDF document"}, {"PK\x03\x04", "a ZIP archive"}, {"\x1f\x8b", "a gzip file"},
	{"\x7fELF", "an executable"}, {"MZ\x90", "an executable"}, {"\xcf\xfa\xed\xfe", "an executable"},
	{"\x00asm", "a WebAssembly module"}, {"SQLite format 3\x00", "a SQLite database"},
	{"\xff\xfe", "UTF-16 text"}, {"\xfe\xff", "UTF-16 text"},
	{"BZh", "a bzip2 file"}, {"\xfd7zXZ", "an xz file"},
}

// maxLineShown is how much of one line is shown, in bytes.
const maxLineShown = 8000

// cutLongLines shortens lines that are longer than what is shown, and counts them.
func cutLongLines(text string) (string, int) {
	if len(text) <= maxLineShown {
		return text, 0
	}
	long := 0
	var b strings.Builder
	for line := range strings.SplitAfterSeq(text, "\n") {
		body := strings.TrimRight(line, "\r\n")
		if len(body) <= maxLineShown {
			b.WriteString(line)
			continue
		}
		if long == 0 {
			b.Grow(len(text))
		}
		long++
		n := maxLineShown
		for n > 0 && !utf8.RuneStart(body[n]) {
			n--
		}
		fmt.Fprintf(&b, "%s [%d bytes of this line left out]%s", body[:n], len(body)-n, line[len(body):])
	}
	if long == 0 {
		return text, 0
	}
	return b.String(), long
}
