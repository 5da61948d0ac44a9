// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

type placed struct {
	A     *placed            `json:"a,omitempty"`
	Ab    *int               `json:"ab,omitempty"`
	List  []*placed          `json:"list,omitempty"`
	Grid  [][]*int           `json:"grid,omitempty"`
	Map   map[string]*placed `json:"map,omitempty"`
	Twice map[string][]*int  `json:"twice,omitempty"`
	Any   any                `json:"any,omitempty"`
	Text  string             `json:"text,omitempty"`
	Null  *listing           `json:"null"`
}

// A path that the validator names leads to a value that is there, to one that is absent or null, or into one that is.
// What may be there is there.
func TestPathsOfTheValidatorAreFoundInTheText(t *testing.T) {
	const text = `{"ab":1,"a":{"ab":null,"list":[]},"list":[{"ab":2},null,{"a":null}],"grid":[[1,null],[]],"text":"",` +
		`"map":{"x":{"ab":3},"y":null,"a.b":{"ab":null},"[k]":{},"x].ab":null,"":{"ab":1}},"twice":{"p":[1,null],"q":null},"any":{"deep":null},"null":null}`
	typ := typeFor[placed](t)
	for where, paths := range map[string][]string{
		"here": {
			"", "ab", "a", "a.list", "list", "list[0]", "list[0].ab", "list[2]", "grid", "grid[0]", "grid[0][0]", "grid[1]", "text", "map", "map[x]", "map[x].ab", "map[a.b]", "map[[k]]", "map[]", "map[].ab",
			"twice[p]", "twice[p][0]", "any",
			"list[3]", "list[x]", "list[-1]", "list.ab", "list0]", "grid[1][0]", // no paths of this text, and so anything
			"unknown", "unknown.ab", "abc", "ab.c", "ab[0]", "text.a", "map.x", "map[z]", "map[x]ab", "any.deep", "A",
		},
		"absent":  {"a.ab", "a.a", "a.map", "list[0].a", "list[1]", "list[2].a", "list[2].ab", "grid[0][1]", "map[y]", "map[a.b].ab", "map[[k]].ab", "map[x].text", "twice[p][1]", "twice[q]", "null", "a.null"},
		"nowhere": {"a.a.ab", "a.a.a.a", "a.map[x]", "a.map[x].ab", "a.ab.x", "list[1].ab", "list[2].a.list[0]", "grid[0][1].x", "map[y].ab", "twice[q][0]", "null.a", "a.null.b", "a.grid[0]"},
	} {
		for _, path := range paths {
			require.Equal(t, where, typ.Where(text, path), "%q", path)
		}
	}
	require.Equal(t, "here", typ.Where(text, "map[x].ab"), "the key \"x].ab\" is null, and the field is not")
	require.Equal(t, "here", typ.Where(`{"map":{"x].map[y":{},"x":{"map":{"y":null}}}}`, "map[x].map[y]"), "one of two readings has the value")
	require.Equal(t, "here", typ.Where(`{"map":{"x].map[y":null,"x":{"map":{"y":{}}}}}`, "map[x].map[y]"))
	require.Equal(t, "absent", typ.Where(`{"map":{"x].map[y":null,"x":{"map":{"y":null}}}}`, "map[x].map[y]"))

	root, err := schema.For(reflect.TypeFor[[]placed]())
	require.NoError(t, err)
	for path, where := range map[string]string{"value": "here", "value[0]": "here", "value[0].ab": "absent", "value[0].a.ab": "nowhere", "value[1]": "absent"} {
		require.Equal(t, where, root.Where(`{"value":[{},null]}`, path), path)
	}
	require.Equal(t, "absent", root.Where(`{}`, "value"))
	require.Equal(t, "nowhere", root.Where(`{}`, "value[0]"))
	require.Equal(t, "absent", root.Where(`null`, ""))
	require.Equal(t, "nowhere", root.Where(`null`, "value"))
}

// pairs is a list in JSON, and a map with any keys in Go.
type pairs map[int]listing

func (p *pairs) UnmarshalJSON([]byte) error {
	*p = pairs{-1: {}, 5: {}}
	return nil
}

// Keys that a type makes itself are no indexes of its text.
func TestKeysThatTypesMakeAreNoIndexes(t *testing.T) {
	type holder struct {
		V pairs `json:"v" validate:"dive,required"`
	}
	v, err := decode[holder](t, `{"v":[1]}`)
	require.NoError(t, err)
	require.Len(t, v.V, 2)
	type strict struct {
		V map[string]listing `json:"v,omitempty"`
		P pairsOfInts        `json:"p" validate:"dive,min=1"`
	}
	_, err = decode[strict](t, `{"p":[1]}`)
	require.EqualError(t, err, "p[-1]: must satisfy the rule min=1, got 0")
}

type pairsOfInts map[int]int

func (p *pairsOfInts) UnmarshalJSON([]byte) error {
	*p = pairsOfInts{-1: 0}
	return nil
}
