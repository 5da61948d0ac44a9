// SPDX-License-Identifier: Apache-2.0

package generate_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ponte-go/ponte/internal/generate"
)

// TestSeedsMakeWhatTheyMade compares values of several seeds for schemas with every keyword. Who notes the seed of a
// test that failed gets the same values in the next version, unless the golden file changes. UPDATE=1 writes it anew.
func TestSeedsMakeWhatTheyMade(t *testing.T) {
	var b strings.Builder
	for _, schema := range []string{
		`{}`, `true`, `{"type":["null","boolean","integer","number","string","array","object"]}`,
		`{"type":"integer"}`, `{"type":"integer","minimum":-3,"maximum":3}`, `{"type":"integer","minimum":7}`, `{"type":"integer","maximum":-7}`,
		`{"type":"integer","exclusiveMinimum":1,"exclusiveMaximum":5}`, `{"type":"integer","multipleOf":7,"minimum":-50,"maximum":50}`,
		`{"type":"integer","minimum":9007199254740992}`, `{"type":"integer","minimum":-9223372036854775808,"maximum":-9223372036854775807}`,
		`{"type":"number"}`, `{"type":"number","minimum":0.25,"maximum":0.5}`, `{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":0.001}`,
		`{"type":"number","multipleOf":0.25,"minimum":-1,"maximum":1}`, `{"type":"number","minimum":1e300}`, `{"type":"number","maximum":-0.5}`,
		`{"allOf":[{"multipleOf":0.4},{"multipleOf":0.6}],"type":"number","exclusiveMinimum":0}`,
		`{"type":"string"}`, `{"type":"string","minLength":5}`, `{"type":"string","maxLength":2}`, `{"type":"string","minLength":27,"maxLength":31}`,
		`{"type":"string","format":"email"}`, `{"type":"string","format":"uuid"}`, `{"type":"string","format":"date"}`, `{"type":"string","format":"time"}`,
		`{"type":"string","format":"date-time"}`, `{"type":"string","format":"uri"}`, `{"type":"string","format":"hostname"}`, `{"type":"string","format":"ipv4"}`,
		`{"type":"string","format":"ipv6"}`, `{"type":"string","format":"duration"}`, `{"type":"string","format":"byte"}`,
		`{"type":"string","format":"unknown","minLength":3}`, `{"type":"string","contentEncoding":"base64","minLength":8,"maxLength":12}`,
		`{"type":"string","format":"email","minLength":30}`, `{"type":"string","format":"uri","maxLength":40,"minLength":35}`,
		`{"type":"string","pattern":"^[a-c]{2,4}$"}`, `{"type":"string","pattern":"^(foo|bar)+-[0-9]*x?$"}`, `{"type":"string","pattern":"[A-Z]","minLength":6}`,
		`{"type":"string","pattern":"^[^a-z]$"}`, `{"type":"string","pattern":"^\\d{3}\\.\\w+\\s$"}`, `{"type":"string","pattern":"^.{3}$"}`,
		`{"type":"string","pattern":"(?i)^abc$"}`, `{"type":"string","pattern":"^a*$","minLength":9,"maxLength":9}`, `{"type":"string","pattern":"^a{2,}b{0}$","minLength":20}`,
		`{"type":"string","pattern":"^(a|b|cc)(\\?|d)$"}`, `{"type":"string","pattern":"end$"}`, `{"type":"string","pattern":"^x+$","maxLength":3}`,
		`{"allOf":[{"pattern":"^a"},{"pattern":"z$"},{"pattern":"[0-9]{2}"}],"type":"string","maxLength":20}`,
		`{"enum":["a",1,null,{"b":[true]}]}`, `{"const":{"a":1}}`, `{"type":"boolean"}`, `{"type":"null"}`,
		`{"type":"array"}`, `{"type":"array","items":{"type":"integer","minimum":1,"maximum":9},"minItems":2,"maxItems":4}`,
		`{"type":"array","items":{"type":"boolean"},"uniqueItems":true}`, `{"type":"array","prefixItems":[{"type":"integer"},{"type":"boolean"}],"items":{"type":"null"},"minItems":3}`,
		`{"type":"array","items":{"enum":[1,2,3]},"uniqueItems":true,"minItems":3}`, `{"type":"array","maxItems":0}`,
		`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"},"c":{"type":"null"}},"required":["b"]}`,
		`{"type":"object","additionalProperties":{"type":"integer"}}`, `{"type":"object","additionalProperties":{"type":"integer"},"minProperties":3,"maxProperties":3}`,
		`{"type":"object","propertyNames":{"pattern":"^k[0-9]$"},"additionalProperties":{"type":"boolean"},"minProperties":2}`,
		`{"type":"object","properties":{"a":{},"b":{},"c":{}},"minProperties":2,"maxProperties":2,"additionalProperties":false}`,
		`{"type":"object","required":["x","y"],"properties":{"y":{"const":1}}}`,
		`{"anyOf":[{"type":"integer"},{"type":"string"},{"type":"null"}]}`, `{"oneOf":[{"type":"integer","minimum":5},{"type":"integer","maximum":7},{"type":"string"}]}`,
		`{"allOf":[{"anyOf":[{"const":1},{"const":2},{"const":3}]},{"anyOf":[{"const":2},{"const":3}]},{"not":{"const":2}}]}`,
		`{"allOf":[{"type":"object","properties":{"a":{"minimum":2}},"required":["a"]},{"properties":{"a":{"type":"integer","maximum":4}},"additionalProperties":false}]}`,
		`{"allOf":[{"type":"array","prefixItems":[{"minimum":2}]},{"items":{"type":"integer"},"minItems":1,"maxItems":2},{"uniqueItems":true}]}`,
		`{"allOf":[{"type":["integer","string"]},{"type":["number","null"]}]}`, `{"allOf":[{"type":["number","null"]},{"type":["integer","string"]}],"minimum":3}`,
		`{"$defs":{"t":{"type":"object","properties":{"v":{"type":"integer"},"l":{"anyOf":[{"$ref":"#/$defs/t"},{"type":"null"}]}},"required":["l","v"]}},"$ref":"#/$defs/t"}`,
		`{"$defs":{"a":{"minimum":2},"b":{"maximum":4}},"type":"integer","allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/b"}]}`,
		`{"if":{"type":"integer"},"then":{"minimum":4},"else":{"const":"a"}}`, `{"type":"integer","not":{"anyOf":[{"const":1},{"const":2},{"minimum":9}]}}`,
	} {
		fmt.Fprintln(&b, schema)
		for _, seed := range []uint64{0, 1, 2, 3, 42, 1 << 63} {
			got, err := generate.Seeded(json.RawMessage(schema), seed)
			if err != nil {
				got = []byte("error: " + err.Error())
			}
			fmt.Fprintf(&b, "\t%s\n", got)
		}
	}
	golden(t, "testdata/values.golden", b.String())
}
