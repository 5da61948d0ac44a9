// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"testing"
)

type node struct {
	Name string          `json:"name,omitempty"`
	Kids []*node         `json:"kids,omitempty" validate:"unique=Name"`
	More map[string]*int `json:"more,omitempty" validate:"unique"`
}

// A rule that panics over what the schema refuses, such as null in a list, does not hide the model's mistake.
func TestNullsThatTheSchemaRefusesBreakNoRule(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"null":          refuses[node](`{"kids":[null]}`, "kids[0]: must be an object, not null"),
		"null and more": refuses[node](`{"kids":[{"name":"a"},null,{"kids":[null,null]}]}`, "kids[1]: must be an object, not null", "kids[2].kids[0]: must be an object, not null", "kids[2].kids[1]: must be an object, not null"),
		"in a map":      refuses[node](`{"more":{"a":null}}`, "more[a]: must be an integer, not null"),
	} {
		t.Run(name, test)
	}
}

func TestUniqueFieldsAreNamedAsInJSON(t *testing.T) {
	refuses[node](`{"kids":[{"name":"a"},{"name":"a","kids":[{}]}]}`, `kids: items must differ in name, got [{"name":"a"},{"name":"a","kids":[{}]}]`)(t)
}

type wholeSeconds int

func (s *wholeSeconds) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, (*int)(s)) }

type onOff string

func (o *onOff) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, (*string)(o)) }

// Models do not know Go types.
func TestMessagesNameNoGoTypes(t *testing.T) {
	type mixed struct {
		V any          `json:"v,omitempty"`
		S wholeSeconds `json:"s,omitempty"`
		O onOff        `json:"o,omitempty"`
	}
	refuses[mixed](`{"v":1e400,"s":"x","o":true}`,
		"v: must be a number that fits in a 64-bit float, got 1e400",
		"s: must be an integer from -9223372036854775808 to 9223372036854775807, got \"x\"",
		"o: is not accepted: it has another type than it should, got true")(t)
}

// As the schema's uniqueItems has it. Null where the schema does not allow it means absent.
func TestUniqueTellsNullFromAbsentWhereNullIsAValue(t *testing.T) {
	type item struct {
		N *int `json:"n,omitempty" jsonschema:"nullable"`
		A any  `json:"a,omitempty"`
		S int  `json:"s,omitempty"`
	}
	type items struct {
		V []item `json:"v" jsonschema:"uniqueItems=true"`
	}
	takes[items](`{"v":[{},{"n":null},{"a":null}]}`)(t)
	refuses[items](`{"v":[{},{"s":null}]}`, `v: items must be unique, but items 0 and 1 are equal, got [{},{"s":null}]`)(t)
}
