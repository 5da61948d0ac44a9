// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

// The validator panics over a list of floating-point numbers, so such a tag is refused when the tool is defined.
func TestOneOfDoesNotApplyToFloats(t *testing.T) {
	for want, err := range map[string]error{
		"float64": errorOf(schema.For(reflectType[struct {
			V float64 `validate:"oneof=1 2"`
		}]())),
		"float32": errorOf(schema.For(reflectType[struct {
			V *float32 `validate:"omitempty,oneof=1 2"`
		}]())),
		"bool": errorOf(schema.For(reflectType[struct {
			V bool `validate:"oneof=true"`
		}]())),
	} {
		require.ErrorContains(t, err, "field V: validate tag")
		require.ErrorContains(t, err, "the rule does not apply to "+want)
	}
}

func errorOf(_ *schema.Type, err error) error { return err }

func TestOneOfListsValuesOfTheFieldsType(t *testing.T) {
	type wait struct {
		Port uint8 `json:"port" validate:"oneof=80 81"`
	}
	typ, err := schema.For(reflectType[wait]())
	require.NoError(t, err)
	require.Contains(t, string(typ.JSON()), `"enum":[80,81]`)

	_, err = schema.For(reflectType[one[struct { // the validator compares decimal text
		Port uint8 `validate:"oneof=80 0x51"`
	}]]())
	require.ErrorContains(t, err, `validate tag "oneof=80 0x51": "0x51" must be written 81`)
	_, err = schema.For(reflectType[one[struct { // the validator compares nanoseconds
		For time.Duration `validate:"oneof=1s 2s"`
	}]]())
	require.ErrorContains(t, err, "use the tag enum to list durations")
}
