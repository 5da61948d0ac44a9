// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

type coveredPart struct {
	N string `json:"n" validate:"lowercase"`
}

// covered has rules that the text is checked for, and rules for the parts of the same values that the decoded value is
// checked for.
type covered struct {
	A  []string       `json:"a" jsonschema:"maxItems=1" validate:"dive,lowercase"`
	P  *[]coveredPart `json:"p" jsonschema:"maxItems=1"`
	AB string         `json:"ab" validate:"lowercase"`
}

// A value that breaks a rule is reported once: what is wrong with its parts is said when the rule is kept. A field whose name
// begins with that of another one is no part of it.
func TestPartsOfABadValueAreNotReported(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"good": accepts(`{"a":["a"],"p":[{"n":"n"}],"ab":"x"}`, covered{[]string{"a"}, &[]coveredPart{{"n"}}, "x"}),
		"the parts alone": refuses[covered](`{"a":["A"],"p":[{"n":"N"}],"ab":"X"}`,
			`a[0]: must be in lower case, got "A"`, `p[0].n: must be in lower case, got "N"`, `ab: must be in lower case, got "X"`),
		"all": refuses[covered](`{"a":["A","B"],"p":[{"n":"N"},{"n":"n"}],"ab":"X"}`,
			`a: must have at most 1 item, not 2, got ["A","B"]`, `p: must have at most 1 item, not 2, got [{"n":"N"},{"n":"n"}]`, `ab: must be in lower case, got "X"`),
	} {
		t.Run(name, test)
	}
}

// What a list, a map and a pointer lead to may be itself. Rules are tried on such types too.
type (
	listOfLists []listOfLists
	mapOfMaps   map[string]mapOfMaps
	ownPointer  *ownPointer
	withItself  struct {
		List listOfLists `json:"list,omitempty" validate:"omitempty,min=1"`
		Map  mapOfMaps   `json:"map,omitempty" validate:"omitempty,max=2"`
		Next *withItself `json:"next,omitempty" validate:"required_with=List"`
	}
)

func TestTypesOfThemselvesMayHaveRules(t *testing.T) {
	next := &withItself{}
	for name, test := range map[string]func(*testing.T){
		"good":     accepts(`{"list":[[],[[]]],"map":{"a":{"b":{}}},"next":{}}`, withItself{listOfLists{{}, {{}}}, mapOfMaps{"a": {"b": {}}}, next}),
		"bad":      refuses[withItself](`{"map":{"a":{},"b":{},"c":{}}}`, `map: must satisfy the rule max=2, got {"a":{},"b":{},"c":{}}`),
		"too few":  refuses[withItself](`{"list":[],"next":{}}`, `list: must satisfy the rule min=1, got []`),
		"together": refuses[withItself](`{"list":[[]]}`, `next: the field is required together with list`),
	} {
		t.Run(name, test)
	}
	_, err := schema.For(structType(named[ownPointer]("V", `json:"v,omitempty" validate:"omitempty,min=1"`)))
	require.ErrorContains(t, err, "points only to pointers")
}

type (
	farAway struct {
		N int `json:"n"`
	}
	nearBy struct {
		Far *farAway `json:"far"`
	}
)

// A condition on a field that only pointers lead to is tried like any other.
func TestConditionsBehindPointersAreTried(t *testing.T) {
	for param, want := range map[string]string{
		"Near.Far.N 1":   "",
		"Near.Far.N one": "does not apply to string: ",
		"Near.Far.M 1":   "has no field M",
	} {
		_, err := schema.For(reflect.StructOf([]reflect.StructField{
			named[*nearBy]("Near", `json:"near,omitempty"`),
			named[string]("V", reflect.StructTag(`json:"v,omitempty" validate:"required_if=`+param+`"`)),
		}))
		if want == "" {
			require.NoError(t, err, param)
		} else {
			require.ErrorContains(t, err, want, param)
		}
	}
}

// Numbers in problems are decimal, however large.
func TestBoundsAreToldInDecimal(t *testing.T) {
	type long struct {
		V string `json:"v" validate:"min=10,max=120"`
	}
	refuses[long](`{"v":"a"}`, `v: must have at least 10 characters, not 1, got "a"`)(t)
	text := strings.Repeat("a", 121)
	refuses[long](`{"v":"`+text+`"}`, `v: must have at most 120 characters, not 121, got "`+text[:79]+`…`)(t)
}
