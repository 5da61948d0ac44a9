// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// How deep a text is nested is not how many objects and lists it has.
func TestDepthIsNotTheNumberOfObjects(t *testing.T) {
	for _, part := range []string{"{}", "[]", `{"a":{}}`, `[[]]`, `{"a":[{}]}`} {
		_, err := decode[any](t, `{"value":[`+strings.TrimSuffix(strings.Repeat(part+",", 1200), ",")+`]}`)
		require.NoError(t, err, part)
	}
	for _, pair := range [][2]string{{"[", "]"}, {`{"a":`, "}"}} {
		for n, good := range map[int]bool{510: true, 511: true, 512: false, 513: false} {
			_, err := decode[any](t, `{"value":`+strings.Repeat(pair[0], n-1)+"{}"+strings.Repeat(pair[1], n-1)+`}`)
			require.Equal(t, good, err == nil, "%d of %s", n, pair[0])
		}
	}
}

// Whatever character is anywhere in a text, it is JSON to us if it is to encoding/json.
func TestTextsAreValidIfTheyAreToEncodingJSON(t *testing.T) {
	typ := typeFor[any](t)
	for _, frame := range []string{
		`"\u%s041"`, `"\u0%s41"`, `"\u00%s1"`, `"\u004%s"`, `"\%s"`, `"a%s"`, `%s`, `1%s`, `-%s`, `0%s`, `1.%s`, `1.5%s`, `1e%s`, `1e+%s`, `1e5%s`, `[1%s2]`, `[%s1]`, `{"a"%s1}`, `{"a":1%s}`, `{%s"a":1}`, `tru%s`, `true%s`, `%srue`, `nul%s`, `f%slse`, `"a"%s`, `[]%s`, `[1,%s]`,
	} {
		for c := range 0x102 {
			text := fmt.Sprintf(frame, string(rune(c)))
			document := `{"value":` + text + `}`
			require.Equal(t, json.Valid([]byte(document)), typ.Check([]byte(document)) == nil, "%q", document)
		}
		text := fmt.Sprintf(frame, "")
		document := `{"value":` + text + `}`
		require.Equal(t, json.Valid([]byte(document)), typ.Check([]byte(document)) == nil, "%q", document)
	}
}
