// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/invopop/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

// level is an int that is written as text.
type level int

func (l level) MarshalText() ([]byte, error) { return []byte("level " + strconv.Itoa(int(l))), nil }

func (l *level) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text[len("level "):]))
	*l = level(n)
	return err
}

// hue is a string that makes its own schema.
type hue string

func (hue) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Enum: []any{"red", "blue"}}
}

// encoding/json cannot read what it has written of such fields, so there is no schema to give a model.
func TestStringOptionIsRefusedForTypesWithTheirOwnForm(t *testing.T) {
	_, err := schema.For(reflectType[struct {
		V level `json:"v,string"`
	}]())
	require.EqualError(t, err, `schema: struct { V schema_test.level "json:\"v,string\"" }: field V: the json option "string" does not work with schema_test.level, which has its own JSON encoding`)
	_, err = schema.For(reflectType[struct {
		In struct {
			V hue `json:"v,string"`
		}
	}]())
	require.ErrorContains(t, err, `field In.V: the json option "string" does not work with schema_test.hue`)
}

type quotedNumber struct {
	V json.Number `json:"v,string"`
}

type quotedText struct {
	V string `json:"v,string"`
}

// quotedBeside has a field that holds a literal, and one that the Go type may refuse.
type quotedBeside struct {
	Small int8 `json:"small"`
	V     int  `json:"v,string"`
}

// quotedAmong has literals and whole numbers beside a value that only its type can refuse.
type quotedAmong struct {
	Text  string `json:"text,string"`
	V     int    `json:"v,string"`
	Whole int    `json:"whole"`
	Level level  `json:"level"`
}

// quotedRule has a rule that is about the number, not about the text that it is written as.
type quotedRule struct {
	V int `json:"v,string" validate:"min=3"`
}

func TestStringOptionAsksForALiteralInAString(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"a number of any size":                           accepts(`{"v":"12345678901234567890.5"}`, quotedNumber{"12345678901234567890.5"}),
		"a number without quotes":                        refuses[quotedNumber](`{"v":12}`, `v: must be a string, not a number, got 12`),
		"a word for a number":                            refuses[quotedNumber](`{"v":"x"}`, `v: must match the pattern ^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$, got "x"`),
		"a string in a string":                           accepts(`{"v":"\"a\\nb\""}`, quotedText{"a\nb"}),
		"a string without its inner quotes":              refuses[quotedText](`{"v":"a"}`, `v: must match the pattern ^"([^"\\\x00-\x1f]|\\(["\\/bfnrt]|u[0-9a-fA-F]{4}))*"$, got "a"`),
		"a rule kept":                                    accepts(`{"v":"4"}`, quotedRule{4}),
		"a rule broken":                                  refuses[quotedRule](`{"v":"2"}`, `v: must satisfy the rule min=3, got 2`),
		"a good literal beside a bad value":              refuses[quotedBeside](`{"small":300,"v":"12"}`, `small: must be at most 127, got 300`),
		"good literals, and a value refused by its type": refuses[quotedAmong](`{"text":"\"a\"","v":"12","whole":1e2,"level":"level x"}`, `level: is not accepted: strconv.Atoi: parsing "x": invalid syntax, got "level x"`),
	} {
		t.Run(name, test)
	}
}

// A minimum means nothing to JSON schema beside a string.
func TestRulesOfAQuotedNumberAreNotInTheSchema(t *testing.T) {
	typ, err := schema.For(reflectType[quotedRule]())
	require.NoError(t, err)
	require.Contains(t, string(typ.JSON()), `"v":{"type":"string","pattern":"^-?[0-9]+$"}`)
}
