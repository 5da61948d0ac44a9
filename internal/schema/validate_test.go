// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

type mail struct {
	To string `json:"to" validate:"email"`
}

type period struct {
	From  int    `json:"from"`
	Until int    `json:"until" validate:"gtfield=From"`
	Kind  string `json:"kind"`
	Path  string `json:"path,omitempty" validate:"required_if=Kind file"`
}

type mailbox struct {
	Direct  mail            `json:"direct,omitzero" validate:"-"`
	Pointer *mail           `json:"pointer,omitempty"`
	List    []mail          `json:"list,omitempty"`
	Dived   []*mail         `json:"dived,omitempty" validate:"max=9,dive"`
	Sized   []mail          `json:"sized,omitempty" validate:"max=9"`
	Grid    [][]mail        `json:"grid,omitempty"`
	Map     map[string]mail `json:"map,omitempty"`
	Through *[]mail         `json:"through,omitempty"`
	Inner   struct {
		Mails []mail `json:"mails"`
	} `json:"inner,omitzero"`
}

type left struct {
	Rights []right `json:"rights,omitempty"`
}

type right struct {
	Left *left  `json:"left,omitempty"`
	To   string `json:"to" validate:"email"`
}

// outer and inner contain each other, and the rule is at the far end of that circle.
type outer struct {
	Inners []inner `json:"inners,omitempty"`
	Mail   *mail   `json:"mail,omitempty"`
}

type inner struct {
	Outers []outer `json:"outers,omitempty"`
}

func TestValidatorFindingsHaveJSONPaths(t *testing.T) {
	const wrong = `: must be an email address, got "x"`
	for name, test := range map[string]func(*testing.T){
		"at the root":                  refuses[mail](`{"to":"x"}`, `to`+wrong),
		"through a pointer":            refuses[mailbox](`{"pointer":{"to":"x"}}`, `pointer.to`+wrong),
		"in a slice without dive":      refuses[mailbox](`{"list":[{"to":"a@b.org"},{"to":"x"}]}`, `list[1].to`+wrong),
		"in a slice with dive":         refuses[mailbox](`{"dived":[{"to":"x"}]}`, `dived[0].to`+wrong),
		"in a slice with another rule": refuses[mailbox](`{"sized":[{"to":"x"}]}`, `sized[0].to`+wrong),
		"in a slice of slices":         refuses[mailbox](`{"grid":[[],[{"to":"x"}]]}`, `grid[1][0].to`+wrong),
		"in a map":                     refuses[mailbox](`{"map":{"k":{"to":"x"}}}`, `map[k].to`+wrong),
		"through a pointer to a slice": refuses[mailbox](`{"through":[{"to":"x"}]}`, `through[0].to`+wrong),
		"in a struct without rules":    refuses[mailbox](`{"inner":{"mails":[{"to":"x"}]}}`, `inner.mails[0].to`+wrong),
		"in an embedded struct":        refuses[embedding](`{"first":"a","id":"b","lower":{"low":1},"shadow":2,"more":"x"}`, `more`+wrong),
		"in a slice at the root":       refuses[[]mail](`{"value":[{"to":"x"}]}`, `value[0].to`+wrong),
		"in a map at the root":         refuses[map[string][]mail](`{"value":{"k":[{"to":"x"}]}}`, `value[k][0].to`+wrong),
		"in a generic struct":          refuses[page[mail]](`{"items":[{"to":"x"}]}`, `items[0].to`+wrong),
		"in recursive structs":         refuses[left](`{"rights":[{"to":"a@b.org","left":{"rights":[{"to":"x"}]}}]}`, `rights[0].left.rights[0].to`+wrong),
		"around a circle of structs":   refuses[inner](`{"outers":[{"inners":[{"outers":[{"mail":{"to":"x"}}]}]}]}`, `outers[0].inners[0].outers[0].mail.to`+wrong),
		"beside what the walk found":   refuses[[]mail](`{"value":[{"to":"x"},{"to":"a@b.org","cc":"x"}]}`, `value[1].cc: unknown field: the fields are to`, `value[0].to`+wrong),
		"about other fields":           refuses[period](`{"from":5,"until":4,"kind":"file"}`, `until: must be greater than from, got 4`, `path: the field is required if kind is file`),
		"about other fields, inside":   refuses[[]period](`{"value":[{"from":5,"until":4,"kind":"x"}]}`, `value[0].until: must be greater than from, got 4`),
	} {
		t.Run(name, test)
	}
	_, err := decode[mailbox](t, `{"direct":{"to":"x"}}`)
	require.NoError(t, err, `validate:"-" keeps the validator out`)
	_, err = decode[mailbox](t, `{}`)
	require.NoError(t, err)
}

func TestProblemIsReportedOnce(t *testing.T) {
	type nested struct {
		Level int    `json:"level" validate:"oneof=1 2"`
		Name  string `json:"name" validate:"required,min=2,email"`
	}
	type root struct {
		Nested nested `json:"nested"`
	}
	t.Run("a broken bound", refuses[root](`{"nested":{"level":3,"name":"a"}}`, `nested.level: must be one of 1, 2, got 3`, `nested.name: must have at least 2 characters, not 1, got "a"`))
	t.Run("a missing struct with rules of its own", refuses[root](`{}`, `nested: required field is missing`))
}

type explosive struct{}

func (*explosive) UnmarshalJSON([]byte) error { panic("boom") }

func TestPanicsOfUserCodeAreProgramErrors(t *testing.T) {
	check := func(err error) {
		t.Helper()
		require.ErrorContains(t, err, "schema: panic while decoding into")
		require.False(t, errors.As(err, new(*schema.Error)))
	}
	_, err := decode[one[explosive]](t, `{"v":1}`)
	check(err)
}

func TestDecodedValuesMatchTheSchema(t *testing.T) {
	v, err := decode[everyKind](t, everyKindText)
	require.NoError(t, err)
	text, err := schema.Marshal(struct {
		everyKind
		Hidden string `json:"hidden,omitempty"`
	}{everyKind: v})
	require.NoError(t, err)
	again, err := decode[everyKind](t, string(text))
	require.NoError(t, err)
	require.Equal(t, v, again)
}

const everyKindText = `{"bool":true,"int":-1,"int8":1,"uint16":2,"float32":1.5,"string":"s","bytes":"aGk=","digest":[1,2],
	"strings":["a"],"grid":[[1],[]],"labels":{"a":"b"},"any":{"x":[1]},"anys":{"y":null},"raw":{"z":1},"number":1e3,
	"time":"2026-01-02T03:04:05.5+01:00","duration":"1µs","quoted":"9007199254740993","flag":"true","nested":{"inner":1},
	"Untagged":"u","-":"d"}`
