// SPDX-License-Identifier: Apache-2.0

package schema_test

import "testing"

type bounds struct {
	Above    float64        `json:"above,omitempty" validate:"omitempty,gt=1.5"`
	Below    int            `json:"below,omitempty" validate:"omitempty,lt=-5"`
	Steps    float64        `json:"steps,omitempty" jsonschema:"multipleOf=0.1"`
	Huge     uint64         `json:"huge,omitempty" validate:"omitempty,max=18446744073709551614"`
	Deep     int64          `json:"deep,omitempty" validate:"omitempty,min=-9223372036854775807"`
	Exactly  int            `json:"exactly,omitempty" validate:"omitempty,eq=4"`
	Length   string         `json:"length,omitempty" validate:"omitempty,len=2"`
	Short    string         `json:"short,omitempty" validate:"omitempty,max=3"`
	Items    []int          `json:"items,omitempty" validate:"omitempty,min=2,max=3"`
	Same     []int          `json:"same,omitempty" validate:"omitempty,eq=2"`
	Distinct []string       `json:"distinct,omitempty" validate:"unique"`
	Fields   map[string]int `json:"fields,omitempty" validate:"omitempty,min=1,max=2"`
	Off      bool           `json:"off,omitempty" validate:"omitempty,eq=true"`
	Code     string         `json:"code,omitempty" validate:"omitempty,startswith=a+"`
	One      string         `json:"one,omitempty" validate:"omitempty,eq=x"`
	Encoded  []byte         `json:"encoded,omitempty" validate:"omitempty,max=2"`
	Either   string         `json:"either,omitempty" validate:"omitempty,ipv4|ipv6"`
	Odd      int            `json:"odd,omitempty" validate:"omitempty,ne=2"`
}

func TestBoundsAreChecked(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"exclusive minimum":           refuses[bounds](`{"above":1.5}`, `above: must be greater than 1.5, got 1.5`),
		"exclusive maximum":           refuses[bounds](`{"below":-5}`, `below: must be less than -5, got -5`),
		"multiple":                    refuses[bounds](`{"steps":0.25}`, `steps: must be a multiple of 0.1, got 0.25`),
		"the last unsigned integer":   refuses[bounds](`{"huge":18446744073709551615}`, `huge: must be at most 18446744073709551614, got 18446744073709551615`),
		"the first signed integer":    refuses[bounds](`{"deep":-9223372036854775808}`, `deep: must be at least -9223372036854775807, got -9223372036854775808`),
		"equal number":                refuses[bounds](`{"exactly":5}`, `exactly: must be 4, got 5`),
		"exact length, in characters": refuses[bounds](`{"length":"ä"}`, `length: must have at least 2 characters, not 1, got "ä"`),
		"longest text":                refuses[bounds](`{"short":"abcd"}`, `short: must have at most 3 characters, not 4, got "abcd"`),
		"fewest items":                refuses[bounds](`{"items":[1]}`, `items: must have at least 2 items, not 1, got [1]`),
		"most items":                  refuses[bounds](`{"items":[1,2,3,4]}`, `items: must have at most 3 items, not 4, got [1,2,3,4]`),
		"number of items":             refuses[bounds](`{"same":[1,2,3]}`, `same: must have at most 2 items, not 3, got [1,2,3]`),
		"distinct items":              refuses[bounds](`{"distinct":["a","b", "a"]}`, `distinct: items must be unique, but items 0 and 2 are equal, got ["a","b", "a"]`),
		"fewest fields":               refuses[bounds](`{"fields":{}}`, `fields: must have at least 1 field, not 0, got {}`),
		"most fields":                 refuses[bounds](`{"fields":{"a":1,"b":2,"c":3}}`, `fields: must have at most 2 fields, not 3, got {"a":1,"b":2,"c":3}`),
		"equal bool":                  refuses[bounds](`{"off":false}`, `off: must be true, got false`),
		"pattern, quoted":             refuses[bounds](`{"code":"aa"}`, `code: must match the pattern ^a\+, got "aa"`),
		"equal text":                  refuses[bounds](`{"one":"y"}`, `one: must be "x", got "y"`),
		"length of decoded bytes":     refuses[bounds](`{"encoded":"YWJj"}`, `encoded: must satisfy the rule max=2, got "YWJj"`),
		"alternatives":                refuses[bounds](`{"either":"x"}`, `either: must satisfy one of the rules ipv4, ipv6, got "x"`),
		"unequal number":              refuses[bounds](`{"odd":2}`, `odd: must not be 2, got 2`),
		"all of them kept": accepts(`{"above":1.6,"below":-6,"steps":0.3,"huge":18446744073709551614,"deep":-9223372036854775807,`+
			`"exactly":4,"length":"äö","short":"abc","items":[1,2],"same":[1,1],"distinct":["a","b"],"fields":{"a":1},"off":true,`+
			`"code":"a+b","one":"x","encoded":"YWI=","either":"::1","odd":3}`, bounds{
			Above: 1.6, Below: -6, Steps: 0.3, Huge: 18446744073709551614, Deep: -9223372036854775807,
			Exactly: 4, Length: "äö", Short: "abc", Items: []int{1, 2}, Same: []int{1, 1}, Distinct: []string{"a", "b"},
			Fields: map[string]int{"a": 1}, Off: true, Code: "a+b", One: "x", Encoded: []byte("ab"), Either: "::1", Odd: 3,
		}),
	} {
		t.Run(name, test)
	}
}
