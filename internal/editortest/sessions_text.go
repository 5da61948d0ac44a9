// SPDX-License-Identifier: Apache-2.0

package editortest

import (
	"bytes"
	"strings"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// shiftJIS is a line in Shift_JIS.
const shiftJIS = "\x82\xb1\x82\xea\x82\xcd\x93\xfa\x96{\x8c\xea" +
	"\x82\xcc\x83e\x83L\x83X\x83g\x82\xc5\x82\xb7\x81B\n"

// encodedAs returns text in the encoding of data, or in UTF-8 if that cannot be.
func encodedAs(data []byte, text string) []byte {
	was, _ := workspace.DecodeText(data)
	marked := text
	if strings.HasPrefix(was.Encoding, "UTF-16") {
		marked = "\ufeff" + strings.TrimPrefix(text, "\ufeff")
	}
	if out, err := was.Encode([]byte(marked)); err == nil {
		return out
	}
	return []byte(text)
}

// appended returns data with more text at its end.
func appended(data []byte, more string) []byte {
	if was, ok := workspace.DecodeText(data); ok && was.Encoding != workspace.UTF8 {
		return encodedAs(data, string(was.Data)+more)
	}
	return append(bytes.Clone(data), more...)
}
