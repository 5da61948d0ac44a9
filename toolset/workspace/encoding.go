// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/wlynxg/chardet/consts"
	"github.com/wlynxg/chardet/probe"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
)

// UTF8 is the [Text.Encoding] of most files.
const UTF8 = "UTF-8"

// Text is the contents of a file as text.
type Text struct {
	// Data is the text in UTF-8. A byte order mark stays, as U+FEFF.
	Data []byte
	// Encoding is how the file is encoded, by its IANA name.
	Encoding string
}

// DecodeText returns contents as text: UTF-8, UTF-16 with a byte order mark, and encodings that a
// detector recognises with certainty (windows-1252, Shift_JIS, EUC-JP). Text that is encoded
// again gives the same bytes. ok is false for everything else: that is binary.
func DecodeText(data []byte) (text Text, ok bool) {
	if binaryKind(data) == "" && utf8.Valid(data) {
		return Text{data, UTF8}, true
	}
	if name := utf16Name(data); name != "" {
		return decodeAs(name, data)
	}
	if name := detect(data); name != "" {
		return decodeAs(name, data)
	}
	return Text{}, false
}

// Encode returns changed text in the encoding of the file. Bytes of text that has not changed are
// the same as before. The error names a character that the encoding lacks, or says that
// [DecodeText] would not read the result as the changed text.
func (t *Text) Encode(changed []byte) ([]byte, error) {
	if t.Encoding == UTF8 {
		return changed, nil
	}
	if !utf8.Valid(changed) {
		return nil, fmt.Errorf("workspace: encode: %w", ErrBinary)
	}
	out, err := t.encode(changed)
	if err != nil {
		return nil, err
	}
	if again, ok := DecodeText(out); !ok || !bytes.Equal(again.Data, changed) {
		return nil, fmt.Errorf(
			"the file is encoded in %s, which could not be recognised after the change", t.Encoding,
		)
	}
	return out, nil
}

// encode returns text in the encoding, whether it can be recognised or not.
func (t *Text) encode(changed []byte) ([]byte, error) {
	if order := utf16Order(t.Encoding); order != nil {
		var out []byte
		for _, u := range utf16.Encode([]rune(string(changed))) {
			out = order.AppendUint16(out, u)
		}
		return out, nil
	}
	charset := charsets[t.Encoding]
	if charset == nil {
		return nil, fmt.Errorf("workspace: encode: the encoding %q is unknown", t.Encoding)
	}
	encoder := charset.NewEncoder()
	out, err := encoder.Bytes(changed)
	if err == nil {
		return out, nil
	}
	for _, r := range string(changed) {
		if _, err := encoder.String(string(r)); err != nil {
			return nil, fmt.Errorf("the file is encoded in %s, which has no %q", t.Encoding, r)
		}
	}
	return nil, err
}

// charsets are the encodings that [detect] finds.
var charsets = map[string]encoding.Encoding{
	"windows-1252": charmap.Windows1252, "Shift_JIS": japanese.ShiftJIS, "EUC-JP": japanese.EUCJP,
}

// utf16Name returns the encoding of data that begins with the byte order mark of UTF-16, or an
// empty string.
func utf16Name(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		return "UTF-16LE"
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		return "UTF-16BE"
	}
	return ""
}

func utf16Order(name string) binary.AppendByteOrder {
	switch name {
	case "UTF-16LE":
		return binary.LittleEndian
	case "UTF-16BE":
		return binary.BigEndian
	}
	return nil
}

// decodeAs decodes data if it is text in the encoding, and the way back leads to the same bytes.
func decodeAs(name string, data []byte) (Text, bool) {
	t := Text{Encoding: name}
	switch name {
	case "UTF-16LE", "UTF-16BE":
		t.Data = decodeUTF16(name, data)
	default:
		t.Data, _ = charsets[name].NewDecoder().Bytes(data)
	}
	for _, r := range string(t.Data) {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\f' && r != '\x1b' || r == utf8.RuneError || r >= 0x7f && r < 0xa0 {
			return Text{}, false
		}
	}
	back, err := t.encode(t.Data)
	return t, err == nil && bytes.Equal(back, data)
}

func decodeUTF16(name string, data []byte) []byte {
	var order binary.ByteOrder = binary.LittleEndian
	if name == "UTF-16BE" {
		order = binary.BigEndian
	}
	units := make([]uint16, len(data)/2) // an odd byte is missing on the way back
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	return []byte(string(utf16.Decode(units)))
}

// detected is how much of a file the detector looks at, in bytes.
const detected = 256 << 10

// sure is the confidence from which the detector is believed, for encodings with a distinct
// pattern.
const sure = 0.95

// detect returns the encoding of data that is not UTF-8, or an empty string if that is not certain.
func detect(data []byte) string {
	if bytes.IndexByte(data, 0) >= 0 || hasMagic(data) != "" {
		return ""
	}
	// The probes for alphabets of one byte have large tables, which would be filled in when any
	// program starts.
	p := probe.MBCGroupProbe(consts.UnknownLangFilter)
	p.Feed(data[:min(len(data), detected)])
	switch name := p.CharSetName(); {
	case p.GetConfidence() < sure && plausibleLatin(data):
		return "windows-1252"
	case p.GetConfidence() < sure:
	case name == consts.ShiftJis:
		return "Shift_JIS"
	case name == consts.EucJp:
		return "EUC-JP"
	}
	return ""
}

// plausibleLatin reports whether data reads like a language of western Europe in windows-1252:
// ASCII with single accented letters in words. Several of them in a row are another alphabet, and
// sequences of UTF-8 are a file with several encodings.
func plausibleLatin(data []byte) bool {
	alone, run := 0, 0 // letters that stand alone
	for i, b := range data {
		if b < 0x80 {
			run = 0
			continue
		}
		if r, n := utf8.DecodeRune(data[i:]); r != utf8.RuneError && n > 1 {
			return false
		}
		if run++; run > 2 {
			return false
		}
		if b >= 0xc0 && !nearLetter(data, i) {
			alone++
		}
	}
	return alone*4 <= len(data)
}

// nearLetter reports whether a byte is next to an ASCII letter.
func nearLetter(data []byte, i int) bool {
	isLetter := func(i int) bool {
		return i >= 0 && i < len(data) && (data[i]|0x20) >= 'a' && (data[i]|0x20) <= 'z'
	}
	return isLetter(i-1) || isLetter(i+1)
}
