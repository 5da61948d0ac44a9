// SPDX-License-Identifier: Apache-2.0

package plainjson_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/plainjson"
)

// Each byte is written as encoding/json writes it, but for those that HTML pages need escaped.
func TestEveryCharacterIsWrittenAsUsual(t *testing.T) {
	usual := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\u2028`, "\u2028", `\u2029`, "\u2029", `\b`, `\u0008`, `\f`, `\u000c`, `\ufffd`, "\ufffd")
	var all []string
	for b := range 0x100 {
		all = append(all, string([]byte{byte(b)}), "a"+string([]byte{byte(b)})+"z", string(rune(b)))
	}
	for _, r := range []rune{0x7ff, 0x800, 0x2028, 0x2029, 0xfffd, 0xffff, 0x10000, utf8.MaxRune} {
		all = append(all, string(r), "é"+string(r)+"\"", string(r)[:1], string(r)+"\xff")
	}
	for _, s := range all {
		text, err := json.Marshal(s)
		require.NoError(t, err)
		want := usual.Replace(string(text))
		require.Equal(t, want, string(plainjson.AppendString(nil, s)), "%q", s)
		require.Equal(t, want[1:len(want)-1], string(plainjson.AppendChars(nil, []byte(s))), "%q", s)
		require.Equal(t, `{"k":`+want, string(plainjson.AppendString([]byte(`{"k":`), s)), "%q", s)
	}
}

func TestOnlyThreeEscapesAreUndone(t *testing.T) {
	for text, want := range map[string]string{
		`"\u003c"`: `"<"`, `"\u003C"`: `"<"`, `"\u003e"`: `">"`, `"\u003E"`: `">"`, `"\u0026"`: `"&"`, `"\u003d"`: `"\u003d"`, `"\u0027"`: `"\u0027"`, `"\u103c"`: `"\u103c"`, `"\u013c"`: `"\u013c"`, `"\\u003c"`: `"\\u003c"`, `"\\\u003c"`: `"\\<"`,
		`"\n\u003c\t"`: `"\n<\t"`, `"\u003c\u003e\u0026"`: `"<>&"`, `"x\""`: `"x\""`,
	} {
		got, err := plainjson.Marshal(json.RawMessage(text))
		require.NoError(t, err)
		require.Equal(t, want, string(got), text)
	}
}
