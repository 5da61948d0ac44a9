// SPDX-License-Identifier: Apache-2.0

package generate_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/generate"
)

// parts are schemas with each keyword that two schemas can have together.
var parts = []string{
	`{"type":"integer"}`, `{"type":["null","number"]}`, `{"type":["string","integer","array"]}`, `{"type":"object"}`, `{"type":["array","object"]}`,
	`{"minimum":3}`, `{"maximum":5,"minimum":-2}`, `{"exclusiveMinimum":3,"exclusiveMaximum":4}`, `{"exclusiveMaximum":5}`, `{"multipleOf":0.4}`, `{"multipleOf":3}`,
	`{"minLength":2}`, `{"maxLength":4,"minLength":1}`, `{"pattern":"^[a-c]+$"}`, `{"pattern":"z$"}`, `{"format":"email"}`, `{"contentEncoding":"base64"}`,
	`{"items":{"type":"integer"},"minItems":2}`, `{"items":{"minimum":3},"maxItems":3}`, `{"uniqueItems":true}`, `{"prefixItems":[{"const":4},{"type":"null"}]}`, `{"items":false}`,
	`{"properties":{"a":{"type":"integer"},"b":{}},"required":["a"]}`, `{"properties":{"a":{"minimum":3},"c":{"const":1}},"required":["c","b"]}`, `{"additionalProperties":{"type":"integer"},"minProperties":2}`,
	`{"properties":{"a":{}},"additionalProperties":false}`, `{"propertyNames":{"pattern":"^[a-c]$"},"maxProperties":2}`, `{"additionalProperties":{"maximum":5},"propertyNames":{"minLength":1}}`,
	`{"enum":[1,4,"abc","z",null]}`, `{"enum":["z",4.0,7]}`, `{"const":4}`, `{"anyOf":[{"type":"integer"},{"type":"string"}]}`, `{"anyOf":[{"const":7},{"minimum":4}]}`,
	`{"oneOf":[{"type":"integer"},{"minimum":2,"maximum":9}]}`, `{"oneOf":[{"maxLength":1},{"minLength":2}]}`, `{"not":{"const":4}}`, `{"not":{"type":["string","array"]}}`,
	`{"$ref":"#/$defs/low"}`, `{"$ref":"#/$defs/text"}`, `{"allOf":[{"minimum":1},{"type":"integer"}]}`, `true`, `false`,
}

// TestValuesOfTwoSchemas compares values of all pairs of schemas, which a validator accepts. UPDATE=1 writes them anew.
func TestValuesOfTwoSchemas(t *testing.T) {
	var b strings.Builder
	found := 0
	for _, first := range parts {
		fmt.Fprintln(&b, first)
		for _, second := range parts {
			text := `{"$defs":{"low":{"minimum":-9,"maximum":8},"text":{"type":["string","object"]}},"allOf":[` + first + "," + second + "]}"
			var s jsonschema.Schema
			require.NoError(t, json.Unmarshal([]byte(text), &s))
			judge, err := s.Resolve(nil)
			require.NoError(t, err)
			for _, seed := range []uint64{0, 4} {
				got, err := generate.Seeded(json.RawMessage(text), seed)
				if err != nil {
					require.Nil(t, got)
					fmt.Fprintf(&b, "\t%v\n", err)
					continue
				}
				fmt.Fprintf(&b, "\t%s\n", got)
				found++
				if strings.Contains(text, "0.4") {
					continue // which the validator divides by inexactly
				}
				var v any
				require.NoError(t, json.Unmarshal(got, &v))
				require.NoError(t, judge.Validate(v), "%s for %s", got, text)
			}
		}
	}
	require.Greater(t, found, len(parts)*len(parts))
	golden(t, "testdata/pairs.golden", b.String())
}
