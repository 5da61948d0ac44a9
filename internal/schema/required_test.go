// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type point struct {
	X int `json:"x" validate:"required"`
	Y int `json:"y" validate:"required"`
}

// everyRequired has required in all places where a zero may stand.
type everyRequired struct {
	Bool     bool               `json:"bool" validate:"required"`
	Int      int                `json:"int" validate:"required"`
	Uint     uint8              `json:"uint" validate:"required"`
	Float    float64            `json:"float" validate:"required"`
	Wait     time.Duration      `json:"wait" validate:"required"`
	Optional int                `json:"optional,omitempty" validate:"required,max=9"`
	Nested   point              `json:"nested" validate:"required"`
	Pointer  *point             `json:"pointer" validate:"required"`
	Number   *int               `json:"number" validate:"required"`
	Array    [2]int             `json:"array" validate:"required,dive,required"`
	Flags    []bool             `json:"flags" validate:"required,min=1,dive,required"`
	Points   []point            `json:"points" validate:"required,dive,required"`
	Grid     [][]int            `json:"grid" validate:"dive,required,dive,required"`
	Sizes    map[string]float64 `json:"sizes" validate:"required,dive,keys,required,endkeys,required"`
	Named    map[string]point   `json:"named" validate:"dive,required"`
	Celsius  celsius            `json:"celsius" validate:"required"`
	Addr     netip.Addr         `json:"addr" validate:"required"`
	Empty    []string           `json:"empty" validate:"required"`
}

const everyZero = `{"bool":false,"int":0,"uint":0,"float":0,"wait":"0s","optional":0,"nested":{"x":0,"y":0},"pointer":{"x":0,"y":0},
	"number":0,"array":[0,0],"flags":[false],"points":[{"x":0,"y":0}],"grid":[[0]],"sizes":{"a":0},"named":{"a":{"x":0,"y":0}},
	"celsius":0,"addr":"","empty":[]}`

func TestRequiredAcceptsAPresentZero(t *testing.T) {
	var want everyRequired
	require.NoError(t, json.Unmarshal([]byte(strings.Replace(everyZero, `"0s"`, "0", 1)), &want))
	t.Run("in a struct", accepts(everyZero, want))
	t.Run("in an output that is a list", accepts(`{"value":[`+everyZero+`]}`, []everyRequired{want}))
	t.Run("in a struct within", accepts(`{"v":`+everyZero+`}`, one[everyRequired]{want}))
	t.Run("through a pointer", accepts(`{"v":`+everyZero+`}`, one[*everyRequired]{&want}))
}

func TestRequiredRefusesAMissingField(t *testing.T) {
	typ := typeFor[everyRequired](t)
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(everyZero), &fields))
	require.Len(t, fields, 18)
	for name := range fields {
		rest := map[string]json.RawMessage{}
		for other, value := range fields {
			if other != name {
				rest[other] = value
			}
		}
		text, err := json.Marshal(rest)
		require.NoError(t, err)
		require.EqualError(t, typ.Decode(text, new(everyRequired)), name+": required field is missing")

		rest[name] = json.RawMessage("null")
		text, err = json.Marshal(rest)
		require.NoError(t, err)
		require.ErrorContains(t, typ.Decode(text, new(everyRequired)), name+": must be ", "null is not a value")
	}
}

// TestRequiredIsOnlyPresenceInTheSchema looks for keywords that would refuse a zero.
func TestRequiredIsOnlyPresenceInTheSchema(t *testing.T) {
	typ := typeFor[everyRequired](t)
	var root map[string]any
	require.NoError(t, numbers(string(typ.JSON())).Decode(&root))
	require.Len(t, root["required"], 18)
	value, err := orderedValue(numbers(everyZero))
	require.NoError(t, err)
	require.NoError(t, conforms(root, root, value), "the independent check of the fuzz test agrees")
	require.NotContains(t, string(typ.JSON()), `"enum"`)
	require.NotContains(t, string(typ.JSON()), `"const"`)
}

func TestRequiredStringsMustNotBeEmpty(t *testing.T) {
	t.Run("string", refuses[weatherQuery](`{"city":""}`, `city: must not be empty`))
	t.Run("element", refuses[struct {
		Tags []string `json:"tags" validate:"dive,required"`
	}](`{"tags":["a",""]}`, `tags[1]: must not be empty`))
	t.Run("any", refuses[struct {
		Any any `json:"any" validate:"required"`
	}](`{"any":null}`, `any: is required and must not be empty, got null`))
}

func TestRulesBesideRequiredStillHoldForZero(t *testing.T) {
	type ruled struct {
		From  int    `json:"from" validate:"required"`
		Until int    `json:"until" validate:"required,gtfield=From"`
		Level int    `json:"level" validate:"required,ne=0"`
		Sizes []uint `json:"sizes" validate:"dive,required,min=1"`
	}
	t.Run("zero", refuses[ruled](`{"from":0,"until":0,"level":0,"sizes":[1,0]}`,
		`sizes[1]: must be at least 1, got 0`, `until: must be greater than from, got 0`, `level: must not be 0, got 0`))
	t.Run("others", accepts(`{"from":0,"until":1,"level":2,"sizes":[3]}`, ruled{0, 1, 2, []uint{3}}))
}

// numbers returns a decoder that keeps numbers as they are written.
func numbers(text string) *json.Decoder {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	return dec
}
