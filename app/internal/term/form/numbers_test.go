// SPDX-License-Identifier: Apache-2.0

package form_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/app/internal/term/form"
)

// Whole numbers are decimal and have 64 bits, and choices have numbers unless these are values of others.
func TestNumbersInForms(t *testing.T) {
	field := func(schema string) *form.Field {
		var f acp.ElicitationSchema
		require.NoError(t, json.Unmarshal([]byte(`{"type": "object", "properties": {"f": `+schema+`}}`), &f))
		return &form.Fields(&f)[0]
	}
	whole := field(`{"type": "integer"}`)
	for line, want := range map[string]int64{"10": 10, "-7": -7, "4611686018427387904": 1 << 62, " 3 ": 3} {
		v, set, err := whole.Read(line)
		require.NoError(t, err, line)
		require.True(t, set)
		require.Equal(t, want, *v.Integer)
	}
	for _, line := range []string{"a", "1a", "0x1", "1.5", "9223372036854775808"} {
		v, set, err := whole.Read(line)
		require.EqualError(t, err, "f must be a whole number", line)
		require.False(t, set)
		require.Zero(t, v)
	}
	for schema, want := range map[string]string{
		`{"type": "string", "enum": ["a"]}`: "(a number or a value; nothing to leave it out)", `{"type": "string", "enum": ["0", "a"]}`: "(a number or a value; nothing to leave it out)",
		`{"type": "string", "enum": ["2", "a"]}`: "(a value; nothing to leave it out)", `{"type": "string", "enum": ["1", "a"]}`: "(a number or a value; nothing to leave it out)", `{"type": "string", "enum": ["3", "a"]}`: "(a number or a value; nothing to leave it out)",
	} {
		lines := field(schema).Lines()
		require.Equal(t, want, lines[len(lines)-1], schema)
	}
}
