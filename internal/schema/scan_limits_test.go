// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
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
	same := func(text string) {
		document := []byte(`{"value":` + text + `}`)
		err := typ.Check(document)
		require.Equal(t, json.Valid(document), err == nil, "%q", document)
		if err != nil {
			var said *schema.Error
			require.ErrorAs(t, err, &said)
			require.Contains(t, []string{schema.RuleSyntax, schema.RuleIncomplete}, said.Problems[0].Rule, "%q", document)
		}
	}
	for _, frame := range []string{
		`"\u%s041"`, `"\u0%s41"`, `"\u00%s1"`, `"\u004%s"`, `"\%s"`, `"a%s"`, `%s`, `1%s`, `-%s`, `0%s`, `1.%s`, `1.5%s`, `1e%s`, `1e+%s`, `1e5%s`, `1%s5`, `[1%s2]`, `[%s1]`, `{"a"%s1}`, `{"a":1%s}`, `{%s"a":1}`, `tru%s`, `true%s`, `%srue`, `nul%s`, `f%slse`, `"a"%s`, `[]%s`, `[1,%s]`,
	} {
		for c := range 0x102 {
			same(fmt.Sprintf(frame, string(rune(c))))
		}
		same(fmt.Sprintf(frame, ""))
	}
}
