// SPDX-License-Identifier: Apache-2.0

package generate_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/generate"
)

// author writes random schemas.
type author struct{ r *rand.Rand }

func (a author) of(choices ...string) string { return choices[a.r.IntN(len(choices))] }

func (a author) number() string {
	return a.of("-7", "-3", "-1", "-0.5", "0", "0.25", "1", "2", "3", "4.5", "9", "10", "17", "100", "1e3", "12345678901234567890")
}

func (a author) size() string { return a.of("0", "1", "2", "3", "4", "5", "7", "12", "30") }

// keyword writes one keyword and its value.
func (a author) keyword(depth int) string {
	sub := func() string { return a.schema(depth + 1) }
	switch a.r.IntN(34) {
	case 0, 1, 2, 3:
		return `"type":"` + a.of("integer", "number", "string", "array", "object", "boolean", "null") + `"`
	case 4:
		return `"type":["` + a.of("integer", "number", "string") + `","` + a.of("null", "boolean", "array", "object") + `"]`
	case 5:
		return `"minimum":` + a.number()
	case 6:
		return `"maximum":` + a.number()
	case 7:
		return `"exclusiveMinimum":` + a.number()
	case 8:
		return `"exclusiveMaximum":` + a.number()
	case 9:
		return `"multipleOf":` + a.of("1", "2", "3", "7", "0.5", "0.25", "1.5", "10")
	case 10:
		return `"minLength":` + a.size()
	case 11:
		return `"maxLength":` + a.size()
	case 12:
		return `"pattern":"` + a.of("^[a-c]+$", "z$", "^a", "[0-9]{2}", "^(x|yy)*-$", "^\\\\d{1,3}(\\\\.\\\\d+)?$", "^.{4}$", "(?i)^ab", "^[^a-z]+$", "^$", "b{3,}", "^(a|b)(c|d)?e$", "\\\\bw\\\\b", "^k[0-9]*$") + `"`
	case 13:
		return `"format":"` + a.of("email", "uuid", "date", "time", "date-time", "uri", "uri-reference", "hostname", "ipv4", "ipv6", "duration", "byte", "other") + `"`
	case 14:
		return `"contentEncoding":"base64"`
	case 15:
		return `"minItems":` + a.of("0", "1", "2", "3", "5")
	case 16:
		return `"maxItems":` + a.of("0", "1", "2", "3", "5")
	case 17:
		return `"uniqueItems":true`
	case 18, 19:
		return `"items":` + sub()
	case 20:
		return `"prefixItems":[` + sub() + "," + sub() + "]"
	case 21, 22:
		return fmt.Sprintf(`"properties":{"a":%s,"b":%s,"c":%s}`, sub(), sub(), sub())
	case 23:
		return `"required":["` + a.of("a", "b", "x") + `","` + a.of("c", "y") + `"]`
	case 24:
		return `"additionalProperties":` + a.of("false", "true", sub())
	case 25:
		return `"propertyNames":` + a.of(`{"pattern":"^k[0-9]$"}`, `{"maxLength":1}`, `{"enum":["a","b","p","q"]}`, `{"minLength":3}`)
	case 26:
		return `"minProperties":` + a.of("0", "1", "2", "3", "4")
	case 27:
		return `"maxProperties":` + a.of("0", "1", "2", "3", "4")
	case 28:
		return `"enum":[1,2,4,"a","zz",null,[1],{"a":1},true,3.0]`
	case 29:
		return `"anyOf":[` + sub() + "," + sub() + "," + sub() + "]"
	case 30:
		return `"oneOf":[` + sub() + "," + sub() + "]"
	case 31:
		return `"allOf":[` + sub() + "," + sub() + "]"
	case 32:
		return `"not":` + sub()
	}
	return `"$ref":"#/$defs/` + a.of("t", "low", "text") + `"`
}

// schema writes a schema of one keyword or a few.
func (a author) schema(depth int) string {
	if depth > 3 {
		return a.of(`{"type":"integer"}`, `{"type":"string"}`, `true`, `{"const":2}`, `{"type":"null"}`)
	}
	n := 1 + a.r.IntN(4)
	words, seen := []string{}, map[string]bool{}
	for range n {
		word := a.keyword(depth)
		name, _, _ := strings.Cut(word, ":")
		if !seen[name] {
			seen[name] = true
			words = append(words, word)
		}
	}
	return "{" + strings.Join(words, ",") + "}"
}

// TestValuesOfManySchemas has values of schemas that are written at random, of which twenty are compared as a hash. A validator accepts those
// that are found. UPDATE=1 writes the hashes anew.
func TestValuesOfManySchemas(t *testing.T) {
	a := author{rand.New(rand.NewPCG(29, 22))}
	h := fnv.New64a()
	var b strings.Builder
	found, judged := 0, 0
	for i := range 600 {
		text := a.schema(0)
		text = `{"$defs":{"t":{"type":"object","properties":{"v":{"type":"integer"},"l":{"anyOf":[{"$ref":"#/$defs/t"},{"type":"null"}]}},"required":["l","v"]},` +
			`"low":{"minimum":-9,"maximum":8},"text":{"type":["string","object"]}},` + text[1:]
		var judge *jsonschema.Resolved
		if i%12 == 0 && !strings.Contains(text, "contentEncoding") { // it takes long, and does not look at encodings
			var s jsonschema.Schema
			if json.Unmarshal([]byte(text), &s) == nil {
				judge, _ = s.Resolve(nil)
			}
		}
		for _, seed := range []uint64{0, 1, 2, 77} {
			got, err := generate.Seeded(json.RawMessage(text), seed)
			fmt.Fprintln(h, text, string(got), err)
			if err != nil {
				continue
			}
			found++
			var v any
			if judge != nil && json.Unmarshal(got, &v) == nil {
				judged++
				require.NoError(t, judge.Validate(v), "%s for %s", got, text)
			}
		}
		if i%20 == 19 {
			fmt.Fprintf(&b, "%d %x\n", i, h.Sum64())
		}
	}
	t.Log(found, judged)
	require.Greater(t, found, 1500)
	require.Greater(t, judged, 100)
	golden(t, "testdata/many.golden", b.String())
}
