// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"

	"github.com/ponte-go/ponte/toolset/workspace"
)

func encodedIn(t *testing.T, e encoding.Encoding, text string) string {
	t.Helper()
	data, err := e.NewEncoder().String(text)
	require.NoError(t, err)
	return data
}

func TestTextIsDecodedWhereItsEncodingIsCertain(t *testing.T) {
	japaneseText := "これは日本語のテキストです。\n二行目\n"
	for data, want := range map[string]workspace.Text{
		"":                          {Data: []byte(""), Encoding: "UTF-8"},
		"é\n":                       {Data: []byte("é\n"), Encoding: "UTF-8"},
		"\ufeffa":                   {Data: []byte("\ufeffa"), Encoding: "UTF-8"},
		"caf\xe9\nline 2\n":         {Data: []byte("café\nline 2\n"), Encoding: "windows-1252"},
		"it\x92s \x93it\x94\n":      {Data: []byte("it’s “it”\n"), Encoding: "windows-1252"},
		"Gr\xfc\xdfe!\n":            {Data: []byte("Grüße!\n"), Encoding: "windows-1252"},
		"A\xe9 Z\xe9 z\xe9 \xe9A\n": {Data: []byte("Aé Zé zé éA\n"), Encoding: "windows-1252"},
		"\xff\xfea\x00\n\x00":       {Data: []byte("\ufeffa\n"), Encoding: "UTF-16LE"},
		"\xfe\xff\x00a\x00\n":       {Data: []byte("\ufeffa\n"), Encoding: "UTF-16BE"},
		"\xff\xfe\x3d\xd8\x00\xde":  {Data: []byte("\ufeff😀"), Encoding: "UTF-16LE"},
		encodedIn(t, japanese.ShiftJIS, japaneseText): {Data: []byte(japaneseText), Encoding: "Shift_JIS"},
		encodedIn(t, japanese.EUCJP, japaneseText):    {Data: []byte(japaneseText), Encoding: "EUC-JP"},
	} {
		got, ok := workspace.DecodeText([]byte(data))
		require.True(t, ok, "%q", data)
		require.Equal(t, want.Encoding, got.Encoding, "%q", data)
		require.Equal(t, string(want.Data), string(got.Data))
		back, err := got.Encode(got.Data)
		require.NoError(t, err)
		require.Equal(t, data, string(back))
	}
}

func TestWhatIsNotCertainIsBinary(t *testing.T) {
	for _, data := range []string{
		"h\xc3\xa9llo\nw\xe9rld\n", // two encodings
		"abc\xffdef\xfe\xf0\x9d", "\x01\x02\xff\xfe\xfd\x80\x81abc\x90\xff", "GIF89a\x01\x02\xe9", "a\x00b", "\xff\xfea", "\xff\xfe\x00\xd8", "\xff\xfe\x00\x00a\x00\x00\x00",
		"\x93\xfa\x96{\n", "\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0.\n", "za\xbf\xf3\xb3\xe6 g\xea\xb6l\xb1\n", "\xe9", "\xc3",
		"@\xe9@", "`\xe9`", "[\xe9[", "{\xe9{", "1\xe91", // an accented letter that is in no word
	} {
		text, ok := workspace.DecodeText([]byte(data))
		require.False(t, ok, "%q is no %s", data, text.Encoding)
	}
}

// A line that was not touched has the bytes that it had, whatever the bytes are.
func TestTextEncodesToTheBytesItCameFrom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"caf\xe9 ", "na\xefve ", "word ", "\n", "\r\n", "\x82\xb1\x82\xea", "\xff\xfe", "a\x00", "\xc3\xa9", "\x80", "\xa4\xb3", "\ufeff", "x"}
	decoded := 0
	for range 5000 {
		var b bytes.Buffer
		for range rng.IntN(12) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		text, ok := workspace.DecodeText(b.Bytes())
		if !ok {
			continue
		}
		decoded++
		require.True(t, utf8.Valid(text.Data))
		back, err := text.Encode(text.Data)
		require.NoError(t, err)
		require.Equal(t, b.String(), string(back))
		edited, err := text.Encode(append(bytes.Clone(text.Data), "end"...))
		require.NoError(t, err)
		require.True(t, bytes.HasPrefix(edited, b.Bytes()), "%q", b.Bytes())
	}
	require.Greater(t, decoded, 500)
}

func TestCharacterThatAnEncodingLacksIsNamed(t *testing.T) {
	text, ok := workspace.DecodeText([]byte("caf\xe9\n"))
	require.True(t, ok)
	_, err := text.Encode([]byte("café → thé\n"))
	require.EqualError(t, err, "the file is encoded in windows-1252, which has no '→'")
	_, err = new(workspace.Text).Encode(nil)
	require.EqualError(t, err, `workspace: encode: the encoding "" is unknown`)
}

func TestLossyViewsAreRecognised(t *testing.T) {
	for _, c := range []struct {
		data, view string
		lossy      bool
	}{
		{"a\n", "a\n", true}, {"a\n", "b\n", false}, {"", "", true},
		{"caf\xe9\n", "caf\ufffd\n", true}, {"caf\xe9\n", "caf\n", true}, {"caf\xe9\n", "café\n", true}, {"caf\xe9\n", "cafe\n", false},
		{"\xe3\x81x", "\ufffdx", true}, {"\xe3\x81x", "\ufffd\ufffdx", true}, {"\xff\xffx", "\ufffdx", true}, {"\xff\xffx", "\ufffd\ufffdx", true},
		{"\xff\xffx", "\ufffd\ufffd\ufffdx", false},
		{"a\r\nb\r\n", "a\nb\n", true}, {"a\r\nb\rc\n", "a\nb\nc\n", true}, {"a\r\nb\rc\n", "a\nb\rc\n", true}, {"a\r\nb\r\n", "a\nc\n", false},
		{"a\nb\n", "a\r\nb\r\n", false},
		{"\ufeffa\n", "a\n", true}, {"a\n", "\ufeffa\n", false}, {"\ufeffa\r\n\xe9", "a\n\ufffd\n", true},
		{"a", "a\n", true}, {"a\n", "a", true}, {"a\n", "a\n\n", true}, {"a\n", "a\n\n\n", false}, {"a", "ab", false}, {"", "\n", true},
	} {
		require.Equal(t, c.lossy, workspace.IsLossyView([]byte(c.data), []byte(c.view)), "%q as %q", c.data, c.view)
	}
	// What one typed is seen, wherever it is.
	rng := rand.New(rand.NewPCG(3, 4))
	data := []byte(strings.Repeat("caf\xe9 au lait\r\n", 20))
	for range 500 {
		view := []byte(strings.ReplaceAll(strings.ToValidUTF8(string(data), "\ufffd"), "\r\n", "\n"))
		view[rng.IntN(len(view))] ^= 0x20
		require.False(t, workspace.IsLossyView(data, view))
	}
}
