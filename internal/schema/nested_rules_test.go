// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

// Rules of structs hold in up to eight lists and maps around them, in a field and at the root.
func TestRulesHoldInUpToEightListsAndMaps(t *testing.T) {
	for n := range 10 {
		for shape, of := range map[string]func(reflect.Type, int) (reflect.Type, string, string, string){
			"lists": func(t reflect.Type, _ int) (reflect.Type, string, string, string) {
				return reflect.SliceOf(t), "[", "]", "[0]"
			},
			"arrays": func(t reflect.Type, _ int) (reflect.Type, string, string, string) {
				return reflect.ArrayOf(1, t), "[", "]", "[0]"
			},
			"maps": func(t reflect.Type, _ int) (reflect.Type, string, string, string) {
				return reflect.MapOf(reflectType[string](), t), `{"k":`, "}", "[k]"
			},
			"both": func(t reflect.Type, i int) (reflect.Type, string, string, string) {
				if i%2 == 0 {
					return reflect.PointerTo(reflect.SliceOf(reflect.PointerTo(t))), "[", "]", "[0]"
				}
				return reflect.MapOf(reflectType[string](), t), `{"k":`, "}", "[k]"
			},
		} {
			typ, document, path := reflectType[mail](), `{"to":"x"}`, ".to"
			for i := range n {
				var open, end, step string
				typ, open, end, step = of(typ, i)
				document, path = open+document+end, step+path
			}
			want := ": must be an email address, got \"x\""
			field, err := schema.For(structType(reflect.StructField{Name: "V", Type: typ, Tag: `json:"v"`}))
			require.NoError(t, err)
			err = field.Check([]byte(`{"v":` + document + `}`))
			if n <= 8 {
				require.EqualError(t, err, "v"+path+want, "%d %s", n, shape)
			} else {
				require.NoError(t, err, "%d %s", n, shape)
			}
			require.NoError(t, field.Check([]byte(`{"v":`+strings.ReplaceAll(document, `"x"`, `"x@y.org"`)+`}`)))
			root, err := schema.For(typ)
			require.NoError(t, err)
			if root.Wrapped() {
				document, path = `{"value":`+document+`}`, "value"+path
			} else {
				path = strings.TrimPrefix(path, ".")
			}
			if err = root.Check([]byte(document)); n <= 8 {
				require.EqualError(t, err, path+want, "%d %s", n, shape)
			} else {
				require.NoError(t, err, "%d %s", n, shape)
			}
		}
	}
}

// A comparison names the other field as it is called in JSON, wherever both are.
func TestComparisonsNameTheFieldsOfTheirStruct(t *testing.T) {
	type span struct {
		Begin int `json:"from"`
		End   int `json:"to" validate:"gtfield=Begin"`
	}
	type outer struct {
		Low   int             `json:"low"`
		Spans []span          `json:"spans,omitempty"`
		Named map[string]span `json:"named,omitempty"`
		Grid  [][]*span       `json:"grid,omitempty"`
		High  int             `json:"high,omitempty" validate:"omitempty,gtefield=Low"`
		Inner struct {
			span
			Deep struct {
				Text  string `json:"text,omitempty"`
				Again string `json:"again,omitempty" validate:"eqfield=Text"`
			} `json:"deep,omitzero"`
		} `json:"inner,omitzero"`
	}
	for text, want := range map[string]string{
		`{"low":5,"high":4}`: "high: must not be less than low, got 4", `{"low":5,"high":5}`: "", `{"low":1,"spans":[{"from":1,"to":2},{"from":2,"to":1}]}`: "spans[1].to: must be greater than from, got 1",
		`{"low":1,"named":{"a b":{"from":2,"to":2}}}`: "named[a b].to: must be greater than from, got 2", `{"low":1,"grid":[[],[{"from":0,"to":0}]]}`: "grid[1][0].to: must be greater than from, got 0",
		`{"low":1,"inner":{"from":3,"to":2}}`: "inner.to: must be greater than from, got 2", `{"low":1,"inner":{"from":3,"to":4,"deep":{"text":"a","again":"b"}}}`: `inner.deep.again: must equal text, got "b"`,
		`{"low":1,"inner":{"from":3,"to":4,"deep":{"again":"b"}}}`: "",
	} {
		_, err := decode[outer](t, text)
		if want == "" {
			require.NoError(t, err, text)
			continue
		}
		require.EqualError(t, err, want, text)
	}
	_, err := schema.For(reflectType[[]outer]())
	require.NoError(t, err)
	_, err = decode[[]outer](t, `{"value":[{"low":1},{"low":5,"high":4}]}`)
	require.EqualError(t, err, "value[1].high: must not be less than low, got 4")
	_, err = decode[map[string]span](t, `{"value":{"k":{"from":5,"to":4}}}`)
	require.EqualError(t, err, "value[k].to: must be greater than from, got 4")
}
