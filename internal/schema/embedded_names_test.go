// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

type (
	Untagged1 struct{ X int }
	Tagged1   struct {
		Y int `json:"X"`
	}
	Untagged2 struct{ Untagged1 }
	Tagged2   struct{ Tagged1 }
	Tagged3   struct{ Tagged2 }
	Both1     struct {
		X int
		Y int `json:"Y"`
	}
	NamedInt int
)

// Of several fields with one name the one counts that encoding/json fills, and none where it fills none.
func TestOfFieldsWithOneNameThatOfEncodingJSONCounts(t *testing.T) {
	sources := []reflect.StructField{
		named[int]("X", ""), named[int]("V", `json:"X"`), named[int]("W", `json:"X,omitempty"`), named[string]("X", `json:"Z"`), named[int]("U", ``), named[int]("Y", `json:",omitempty"`),
		embed[Untagged1](""), embed[Tagged1](""), embed[*Untagged1](`json:",inline"`), embed[*Tagged1](""), embed[Untagged2](""), embed[Tagged2](""), embed[*Tagged3](""), embed[Both1](""), embed[Tagged1](`json:"X"`), embed[Tagged1](`json:"named"`), embed[NamedInt](""), embed[NamedInt](`json:"X"`),
	}
	check := func(fields ...reflect.StructField) {
		names := map[string]bool{}
		for _, f := range fields {
			if names[f.Name] {
				return // no Go type
			}
			names[f.Name] = true
		}
		of := structType(fields...)
		value, plain := reflect.New(of), reflect.New(of)
		const document = `{"X":7,"Y":8,"Z":"z","U":9,"named":{"X":6},"NamedInt":5}`
		wrong := json.Unmarshal([]byte(document), plain.Interface())
		filled, err := json.Marshal(plain.Interface())
		require.NoError(t, err)
		var members map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(filled, &members))
		typ, err := schema.For(of)
		if err != nil {
			require.ErrorContains(t, err, `have the same JSON name "`, of)
			require.NotContains(t, members, "X", "%v: %v", of, err)
			return
		}
		var doc struct{ Properties map[string]any }
		require.NoError(t, json.Unmarshal(typ.JSON(), &doc))
		for name := range doc.Properties {
			require.Contains(t, members, name, "%v", of)
		}
		require.Len(t, members, len(doc.Properties), "%v", of)
		if wrong != nil {
			return // X is an object in this one
		}
		text, err := json.Marshal(members)
		require.NoError(t, err)
		require.NoError(t, typ.Decode(text, value.Interface()), "%v", of)
		require.Equal(t, plain.Interface(), value.Interface(), "%v", of)
	}
	for i, a := range sources {
		check(a)
		for j, b := range sources {
			if i == j {
				continue
			}
			check(a, b)
			for _, c := range sources[6:13] {
				check(a, b, c)
			}
		}
	}
}

// Names of fields are those that encoding/json reads, and the Go name where the tag has none.
func TestNamesOfFieldsAreThoseOfEncodingJSON(t *testing.T) {
	for i, name := range []string{
		"a", "A", "0", "é", "ß9", "中", "a b", "a-b", "a.b", "a/b", "a:b", "a;b", "a<b>c", "a=b", "a?b", "a@b", "a[b]", "a^b", "a_b", "a{b}", "a|b", "a~b", "!#$%&()*+-./:;<=>?@[]^_{|}~ ", "-a", "$ref", " ",
		"a'b", "a\\\\b", "a`b", "a\\nb", "😀", "a\\\"b", "²", "€",
	} {
		of := structType(named[int](fmt.Sprintf("V%d", i), reflect.StructTag(`json:"`+name+`"`)))
		filled, err := json.Marshal(reflect.Zero(of).Interface())
		require.NoError(t, err)
		typ, err := schema.For(of)
		require.NoError(t, err, name)
		require.NoError(t, typ.Check(filled), "%s as %s", name, filled)
	}
}
