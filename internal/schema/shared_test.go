// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/invopop/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

// metre, foot and mile each define "Length" in their schemas: metre and foot the same, mile another one.
type (
	metre struct{}
	foot  struct{}
	mile  struct{}
)

func (metre) JSONSchema() *jsonschema.Schema { return lengthSchema("number") }
func (foot) JSONSchema() *jsonschema.Schema  { return lengthSchema("number") }
func (mile) JSONSchema() *jsonschema.Schema  { return lengthSchema("integer") }

func lengthSchema(jsonType string) *jsonschema.Schema {
	return &jsonschema.Schema{Ref: "#/$defs/Length", Definitions: jsonschema.Definitions{"Length": {Type: jsonType}}}
}

func TestDefinitionsOfOneNameMustAgree(t *testing.T) {
	typ, err := schema.For(reflectType[struct {
		A metre
		B foot
	}]())
	require.NoError(t, err)
	require.Contains(t, string(typ.JSON()), `"$defs":{"Length":{"type":"number"}}`)
	_, err = schema.For(reflectType[struct {
		A metre
		B mile
	}]())
	require.ErrorContains(t, err, `field B: the definition "Length" from JSONSchema exists already`)
}

// A struct with n fields is a schema of n+1 parts.
func TestSchemaMayHave4000Parts(t *testing.T) {
	wide := func(n int) reflect.Type {
		fields := make([]reflect.StructField, n)
		for i := range fields {
			fields[i] = reflect.StructField{Name: fmt.Sprint("F", i), Type: reflectType[bool]()}
		}
		return reflect.StructOf(fields)
	}
	_, err := schema.For(wide(3999))
	require.NoError(t, err)
	_, err = schema.For(wide(4000))
	require.ErrorContains(t, err, "the schema has more than 4000 parts")
}

// signed has integers with bounds on the other side of zero.
type signed struct {
	Debt   int `json:"debt" jsonschema:"maximum=-1"`
	Credit int `json:"credit" jsonschema:"minimum=1"`
}

func TestBoundsHoldAcrossZero(t *testing.T) {
	_, err := decode[signed](t, `{"debt":5,"credit":-5}`)
	require.ErrorContains(t, err, "debt: must be at most -1, got 5")
	require.ErrorContains(t, err, "credit: must be at least 1, got -5")
	got, err := decode[signed](t, `{"debt":-5,"credit":5}`)
	require.NoError(t, err)
	require.Equal(t, signed{-5, 5}, got)
}

// envelope decides while it decodes what its body is.
type envelope struct {
	Body any `json:"body" validate:"required"`
}

type span struct {
	From int `json:"from"`
	To   int `json:"to" validate:"gtfield=From"`
}

func (e *envelope) UnmarshalJSON(data []byte) error {
	var s struct {
		Body struct {
			Range span `json:"range"`
		}
	}
	err := json.Unmarshal(data, &s)
	e.Body = s.Body
	return err
}

// The schema knows nothing of the struct, so the other field has its Go name in the message.
func TestRulesOfAStructInAnInterfaceAreWorded(t *testing.T) {
	_, err := decode[one[envelope]](t, `{"v":{"body":{"range":{"from":5,"to":3}}}}`)
	require.EqualError(t, err, "v.body.range.to: must be greater than From, got 3")
}
