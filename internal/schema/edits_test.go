// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"testing"
	"time"

	"github.com/invopop/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

// A document that has its value twice is refused as such, whatever has to be changed in the values.
func TestValuesThatComeTwiceAreRefused(t *testing.T) {
	t.Run("durations", refuses[time.Duration](`{"value":"1s","value":"2s"}`, "value: duplicate field"))
	t.Run("integers", refuses[int](`{"value":1.0,"value":2.0}`, "value: duplicate field"))
	t.Run("fields", refuses[one[time.Duration]](`{"v":"1s","v":"2s"}`, "v: duplicate field"))
	t.Run("defaults", refuses[[]ring](`{"value":[{}],"value":[{},{}]}`, "value: duplicate field"))
	var d time.Duration
	typeFor[time.Duration](t).DecodePartial([]byte(`{"value":"1s","value":"2s"}`), &d)
	require.Equal(t, 2*time.Second, d)
}

// Null in the place of a value that has rules is a mistake of the document, wherever it is decoded.
func TestNullIsNoMistakeOfTheProgram(t *testing.T) {
	for _, dst := range []any{new(packed), new(*packed)} {
		err := typeFor[packed](t).Decode([]byte(`{"value":null}`), dst)
		var invalid *schema.Error
		require.ErrorAs(t, err, &invalid, "%T", dst)
		require.EqualError(t, err, "value: must be a string, not null", "%T", dst)
	}
}

// wholeText keeps the text of an integer.
type wholeText struct{ text string }

func (wholeText) JSONSchema() *jsonschema.Schema { return &jsonschema.Schema{Type: "integer"} }

func (w *wholeText) UnmarshalJSON(text []byte) error { w.text = string(text); return nil }

// An integer that is written as one reaches its type as it is written, and another one as an integer.
func TestIntegersReachTheirTypeAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]string{"-0": "-0", "7": "7", "-7": "-7", "7.0": "7", "70e-1": "7", "-0.0": "0", "123456789012345678901234567890": "123456789012345678901234567890"} {
		v, err := decode[one[wholeText]](t, `{"v":`+text+`}`)
		require.NoError(t, err)
		require.Equal(t, want, v.V.text)
	}
}

// All conditions of a rule are named, each with its value.
func TestAllConditionsOfARuleAreNamed(t *testing.T) {
	type conditions struct {
		A int    `json:"a"`
		B string `json:"b"`
		C bool   `json:"c"`
		D int    `json:"d"`
		V string `json:"v,omitempty" validate:"required_if=A 1 B x C true D 4"`
		W string `json:"w,omitempty" validate:"excluded_if=A 1 B x C true"`
	}
	t.Run("required", refuses[conditions](`{"a":1,"b":"x","c":true,"d":4}`, "v: the field is required if a is 1 and b is x and c is true and d is 4"))
	t.Run("excluded", refuses[conditions](`{"a":1,"b":"x","c":true,"d":5,"w":"y"}`, `w: must be left out if a is 1 and b is x and c is true, got "y"`))
}
