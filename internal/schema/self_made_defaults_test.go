// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"testing"

	"github.com/invopop/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

// anyList is a list of anything.
type anyList []any

func (anyList) JSONSchema() *jsonschema.Schema { return &jsonschema.Schema{Type: "array"} }

// A list whose schema says nothing of its items may have a default, and so may lists of every kind of item.
func TestListsMayHaveDefaults(t *testing.T) {
	type lists struct {
		Any    anyList   `json:"any" jsonschema:"default=a,default=b"`
		Text   []string  `json:"text" jsonschema:"default=1,default=2"`
		Int    []int     `json:"int" jsonschema:"default=1,default=2"`
		Float  []float64 `json:"float" jsonschema:"default=1.5"`
		Bool   []bool    `json:"bool" jsonschema:"default=true,default=false"`
		Single int       `json:"single" jsonschema:"default=3"`
	}
	v, err := decode[lists](t, `{}`)
	require.NoError(t, err)
	require.Equal(t, lists{anyList{"a", "b"}, []string{"1", "2"}, []int{1, 2}, []float64{1.5}, []bool{true, false}, 3}, v)
	var doc struct {
		Properties map[string]struct{ Default json.RawMessage }
	}
	require.NoError(t, json.Unmarshal(typeFor[lists](t).JSON(), &doc))
	for name, want := range map[string]string{"any": `["a","b"]`, "text": `["1","2"]`, "int": `[1,2]`, "float": `[1.5]`, "bool": `[true,false]`, "single": `3`} {
		require.Equal(t, want, string(doc.Properties[name].Default), name)
	}
	_, err = schema.For(reflectType[struct {
		V []int `json:"v" jsonschema:"default=x"`
	}]())
	require.ErrorContains(t, err, `field V: jsonschema tag: default cannot be "x"`)
}
