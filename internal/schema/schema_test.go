// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"io"
	"reflect"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

func TestTypesWithoutASchemaAreRefusedByPath(t *testing.T) {
	for name, test := range map[string]struct {
		of   reflect.Type
		want string
	}{
		"nothing": {nil, "schema: the type is nil"},
		"func":    {reflectType[func()](), "schema: func(): func() cannot be encoded as JSON"},
		"chan in a struct": {reflectType[struct {
			List []struct{ Done chan int }
		}](), "field List[].Done: chan int cannot be encoded as JSON"},
		"complex":    {reflectType[one[complex128]](), "schema: schema_test.one[complex128]: field V: complex128 cannot be encoded as JSON"},
		"float keys": {reflectType[one[map[float64]string]](), "field V: the keys of map[float64]string are neither strings nor integers"},
		"an interface with methods": {reflectType[one[io.Reader]](),
			"field V: JSON cannot be decoded into the interface io.Reader"},
		"an embedded pointer that cannot be set": {reflectType[struct{ *lower }](),
			"field lower: encoding/json cannot fill an embedded pointer to an unexported struct"},
		"an unknown validate tag": {reflectType[struct {
			A int `validate:"mni=3"`
		}](), `field A: validate tag "mni=3": the rule is unknown`},
		"an unknown validate tag, nested": {reflectType[[]struct {
			B *struct {
				A int `validate:"mni=3"`
			}
		}](), `field [].B.A: validate tag "mni=3": the rule is unknown`},
		"a rule for another kind": {reflectType[struct {
			A struct {
				B bool `validate:"min=3"`
			}
		}](), `field A.B: validate tag "min=3": the rule does not apply to bool`},
		"a bound that is not a number": {reflectType[struct {
			A int `validate:"min=x"`
		}](), `field A: validate tag "min=x": "x" is not an integer`},
		"a length that is negative": {reflectType[struct {
			A string `validate:"lt=0"`
		}](), `field A: validate tag "lt=0": a length cannot be that small`},
		"a misspelt keyword": {reflectType[struct {
			A int `jsonschema:"minimun=1"`
		}](), `field A: jsonschema tag: keyword "minimun" is unknown`},
		"a keyword of another type": {reflectType[struct {
			A int `jsonschema:"minLength=1"`
		}](), `field A: jsonschema tag: keyword "minLength" does not apply to integer`},
		"a description that a comma cuts off": {reflectType[struct {
			A int `jsonschema:"description=one, two"`
		}](), `field A: jsonschema tag: " two" is not keyword=value (write a comma in a value as \\,)`},
		"a keyword with another's value": {reflectType[struct {
			A int `jsonschema:"minimum=one"`
		}](), `field A: jsonschema tag: minimum cannot be "one"`},
		"a broken pattern": {reflectType[struct {
			A string `json:"a" jsonschema:"pattern=("`
		}](), "field a: error parsing regexp"},
		"too large": {reflectType[grow[grow[grow[grow[grow[grow[grow[grow[grow[grow[grow[grow[int]]]]]]]]]]]]](), "the schema has more than 4000 parts"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := schema.For(test.of)
			require.ErrorContains(t, err, test.want)
		})
	}
}

type grow[T any] struct{ A, B, C T }

func TestSchemaIsBuiltOncePerType(t *testing.T) {
	var all [8]*schema.Type
	var group sync.WaitGroup
	for i := range all {
		group.Go(func() {
			typ, err := schema.For(reflectType[onceOnly]())
			if err == nil {
				var v onceOnly
				err = typ.Decode([]byte(`{"list":[{"city":"x"}]}`), &v)
			}
			if err != nil {
				t.Error(err)
			}
			all[i] = typ
		})
	}
	group.Wait()
	for _, typ := range all {
		require.Same(t, all[0], typ)
	}
	pointer, err := schema.For(reflectType[**onceOnly]())
	require.NoError(t, err)
	require.Same(t, all[0], pointer)
}

type onceOnly struct {
	List []weatherQuery `json:"list"`
}

func TestPropertiesKeepFieldOrder(t *testing.T) {
	require.Equal(t, `{"properties":{`+
		`"city":{"type":"string","minLength":1,"description":"City to look up"},`+
		`"days":{"type":"integer","maximum":14,"minimum":1},`+
		`"unit":{"type":"string","enum":["celsius","fahrenheit"]}},`+
		`"additionalProperties":false,"type":"object","required":["city"]}`, string(typeFor[weatherQuery](t).JSON()))
}

func TestTypesWithTheSameNameHaveOwnDefinitions(t *testing.T) {
	type tree struct {
		Up []tree `json:"up,omitempty"`
	}
	text := string(typeFor[struct {
		A outerTree `json:"a"`
		B tree      `json:"b"`
	}](t).JSON())
	require.Contains(t, text, `"a":{"$ref":"#/$defs/tree"}`)
	require.Contains(t, text, `"b":{"$ref":"#/$defs/tree_2"}`)
}

type outerTree = tree

func TestFieldConflictsFollowEncodingJSON(t *testing.T) {
	type A struct{ X string }
	type shadowed struct {
		A
		X int
	}
	require.Equal(t, `{"properties":{"X":{"type":"integer"}},"additionalProperties":false,"type":"object","required":["X"]}`,
		string(typeFor[shadowed](t).JSON()))
}
