// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

// rooted is an object whose schema has schemas for the whole of it.
type rooted struct{ raw json.RawMessage }

func (rooted) JSONSchema() *jsonschema.Schema {
	s := new(jsonschema.Schema)
	if err := json.Unmarshal([]byte(`{"type":"object","properties":{"a":{"type":"integer"},"list":{"allOf":[{"items":{"type":"object","required":["n"]}},{"type":"array","minItems":1}]},"deep":{"anyOf":[{"allOf":[{"type":"object","properties":{"x":{"type":"integer"}}}]},{"type":"array","items":{"type":"integer"}}]}},
		"additionalProperties":{"type":"boolean"},"allOf":[{"required":["a"]},{"properties":{"a":{"maximum":9}}},{"minProperties":2}],"not":{"required":["b"]}}`), s); err != nil {
		panic(err)
	}
	return s
}

func (r *rooted) UnmarshalJSON(text []byte) error { return r.raw.UnmarshalJSON(text) }

// What schemas for the same value say has the path of the value, at the root and below.
func TestProblemsOfCombinedSchemasHaveThePathOfTheirValue(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1,"c":true}`: "", `{"c":true,"d":true}`: "a: required field is missing", `{"a":10,"c":true}`: "a: must be at most 9, got 10", `{"a":1}`: `must have at least 2 fields, not 1, got {"a":1}`,
		`{"a":1,"b":true}`: `must not be such a value, got {"a":1,"b":true}`, `{"a":1,"list":[{"m":1}]}`: "list[0].n: required field is missing", `{"a":1,"list":[]}`: "list: must have at least 1 item, not 0, got []", `{"a":1,"list":[{"n":1},5]}`: "list[1]: must be an object, not a number, got 5",
		`{"a":1,"deep":{"x":"y"}}`: `deep.x: must be an integer, not a string, got "y"`, `{"a":1,"deep":[1,"y"]}`: `deep[1]: must be an integer, not a string, got "y"`, `{"a":1,"deep":"y"}`: `deep: must be an object, not a string, got "y"`,
		`{"a":"x","b":true}`: `a: must be an integer, not a string, got "x"; must not be such a value, got {"a":"x","b":true}`, `{}`: `a: required field is missing; must have at least 2 fields, not 0, got {}`,
		`{"a":1,"c":2}`: "[c]: must be a boolean, not a number, got 2",
	} {
		_, err := decode[rooted](t, text)
		if want == "" {
			require.NoError(t, err, text)
			continue
		}
		require.EqualError(t, err, want, text)
	}
}

type ring struct {
	Name  string          `json:"name" default:"x"`
	Count int             `json:"count" default:"3" validate:"max=5"`
	Next  *ring           `json:"next,omitempty"`
	Named map[string]ring `json:"named,omitempty"`
}

// A type that contains itself has its defaults at every depth.
func TestDefaultsOfRecursiveTypesAreSetAtEveryDepth(t *testing.T) {
	t.Run("empty", accepts(`{}`, ring{Name: "x", Count: 3}))
	t.Run("deep", accepts(`{"name":"a","next":{"count":1,"next":{"named":{"k":{},"l":{"name":"b"}}}}}`, ring{Name: "a", Count: 3, Next: &ring{Name: "x", Count: 1, Next: &ring{
		Name: "x", Count: 3, Named: map[string]ring{"k": {Name: "x", Count: 3}, "l": {Name: "b", Count: 3}},
	}}}))
	t.Run("null", accepts(`{"name":null,"count":null,"next":null,"named":null}`, ring{Name: "x", Count: 3}))
	t.Run("list", accepts(`{"value":[{},{"next":{}}]}`, []ring{{Name: "x", Count: 3}, {Name: "x", Count: 3, Next: &ring{Name: "x", Count: 3}}}))
	t.Run("rule", refuses[ring](`{"next":{"count":6}}`, "next.count: must be at most 5, got 6"))
}

type (
	mayEnd struct {
		Kids []mayEnd `json:"kids" jsonschema:"minItems=0"`
	}
	mayEnd2 struct {
		Kids []mayEnd2 `json:"kids" validate:"min=0"`
	}
	mayEnd3 struct {
		Kids map[string]mayEnd3 `json:"kids" validate:"max=3"`
	}
	mayEnd4 struct {
		Kids []struct{ Next *mayEnd4 } `json:"kids" validate:"min=1"`
	}
	noEnd struct {
		Kids []noEnd `json:"kids" jsonschema:"minItems=1"`
	}
	noEnd2 struct {
		Kids map[string]noEnd2 `json:"kids" validate:"min=1"`
	}
	noEnd3 struct {
		Kids [2]noEnd3parts `json:"kids"`
	}
	noEnd4 struct {
		A string
		B struct{ C noEnd4b }
	}
	noEnd4b struct {
		D []noEnd4 `validate:"min=2"`
	}
)

type noEnd3parts struct {
	In []noEnd3 `json:"in" validate:"len=1"`
}

// A list or map of the type itself gives values an end, unless it must not be empty.
func TestListsOfATypeInItselfMayBeEmpty(t *testing.T) {
	for _, of := range []reflect.Type{reflectType[mayEnd](), reflectType[mayEnd2](), reflectType[mayEnd3](), reflectType[mayEnd4]()} {
		_, err := schema.For(of)
		require.NoError(t, err, of)
	}
	for where, of := range map[string]reflect.Type{"kids[]": reflectType[noEnd](), "kids[] ": reflectType[noEnd2](), "kids[].in[]": reflectType[noEnd3](), "B.C.D[]": reflectType[noEnd4]()} {
		_, err := schema.For(of)
		require.EqualError(t, err, "schema: "+of.String()+": each "+of.String()+" must have another one in "+strings.TrimSpace(where)+", so none has an end; make it optional", of)
	}
}
