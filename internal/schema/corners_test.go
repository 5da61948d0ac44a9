// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

func TestDecodeCorners(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"a wrapped value of one byte": accepts(`{"value":5}`, 5),
		"every hexadecimal digit":     accepts(`{"v":"\u0039\u00af\u00EB"}`, one[string]{"9¯ë"}),
		"a type that ignores ,string": accepts(`{"v":"red"}`, quotedColor{color{"red"}}),
	} {
		t.Run(name, test)
	}
}

func TestFirstDuplicateItemIsReported(t *testing.T) {
	_, err := decode[distinct](t, `{"v":[1,1,1]}`)
	require.ErrorContains(t, err, "items 0 and 1")
}

func TestNumbersNeedDigits(t *testing.T) {
	for text, at := range map[string]string{`{"v":1.}`: "byte 7", `{"v":-}`: "byte 6", `{"v":1e}`: "byte 7", `{"v":1e+}`: "byte 8"} {
		_, err := decode[one[float64]](t, text)
		require.ErrorContains(t, err, at)
	}
}

type quotedColor struct {
	V color `json:"v,string"` //lint:ignore SA5008 encoding/json ignores the option here, and so must we
}

type distinct struct {
	V []int `json:"v" jsonschema:"uniqueItems=true"`
}

// What a problem quotes of a text is cut between characters.
func TestQuotedTextIsCutBetweenCharacters(t *testing.T) {
	for pad := range 4 {
		text := `{"v":"` + strings.Repeat("x", 100+pad) + strings.Repeat("é", 60)
		_, err := decode[one[string]](t, text)
		require.Error(t, err)
		require.Contains(t, err.Error(), "é")
		require.NotContains(t, err.Error(), "\uFFFD")
	}
}

func TestKeywordsMustFitTheirFields(t *testing.T) {
	for want, err := range map[string]error{
		`default cannot be "maybe"`: errorOf(schema.For(reflectType[struct {
			V bool `jsonschema:"default=maybe"`
		}]())),
		`enum cannot be "x"`: errorOf(schema.For(reflectType[struct {
			V []int `jsonschema:"enum=x"`
		}]())),
		`example cannot be "x"`: errorOf(schema.For(reflectType[struct {
			V float64 `jsonschema:"example=x"`
		}]())),
	} {
		require.ErrorContains(t, err, want)
	}
	typ, err := schema.For(reflectType[struct {
		V bool     `jsonschema:"default=true"`
		W []string `jsonschema:"enum=x,enum=y,default=x"`
	}]())
	require.NoError(t, err)
	require.Contains(t, string(typ.JSON()), `"default":true`)
	require.Contains(t, string(typ.JSON()), `"enum":["x","y"]`)
}

// Rules for the keys of a map are about their names. Those that follow are about its values.
func TestRulesAfterEndkeysApplyToValues(t *testing.T) {
	typ, err := schema.For(reflectType[struct {
		V map[string]string `json:"v" validate:"dive,keys,max=3,endkeys,max=5"`
	}]())
	require.NoError(t, err)
	require.Contains(t, string(typ.JSON()), `"additionalProperties":{"type":"string","maxLength":5},"propertyNames":{"maxLength":3}`)
}

func TestFenceMayNameALanguageWithDigits(t *testing.T) {
	require.Equal(t, `{"a":1}`, string(schema.TrimFences([]byte("```json5\n{\"a\":1}\n```"))))
	require.Equal(t, `{"a":1}`, string(schema.TrimFences([]byte("```x-json+2\r\n{\"a\":1}```"))))
	for _, name := range []string{"a", "z", "A", "Z", "0", "9", "-", "+", "azAZ09-+"} {
		require.Equal(t, "1", string(schema.TrimFences([]byte("```"+name+"\n1\n```"))), name)
	}
	for _, name := range []string{"{", "@", "[", "/", ":", ".", "_", "*", ","} {
		require.Equal(t, name+"\n1", string(schema.TrimFences([]byte("```"+name+"\n1\n```"))), name)
	}
}

func TestFenceMayHoldNothing(t *testing.T) {
	for _, text := range []string{"```", "``````", "```\n```", "```text\n```", "```text\r```", "```json```", "```json"} {
		require.Empty(t, schema.TrimFences([]byte(text)), "%q", text)
	}
	require.Equal(t, "text", string(schema.TrimFences([]byte("```text```"))))
}

// untidy adds to its schema what the jsonschema package writes as true, and an identity.
type untidy struct {
	A string `json:"a"`
}

func (untidy) JSONSchemaExtend(s *jsonschema.Schema) {
	s.ID, s.Version = "https://example.com/x", "https://example.com/draft"
	s.Properties.Set("b", jsonschema.TrueSchema)
	s.Properties.Set("c", &jsonschema.Schema{Items: jsonschema.TrueSchema, AnyOf: []*jsonschema.Schema{jsonschema.TrueSchema}})
	s.Properties.Set("d", &jsonschema.Schema{AdditionalProperties: jsonschema.TrueSchema, OneOf: []*jsonschema.Schema{jsonschema.TrueSchema}})
	s.Properties.Set("e", &jsonschema.Schema{AllOf: []*jsonschema.Schema{jsonschema.TrueSchema}, PrefixItems: []*jsonschema.Schema{jsonschema.TrueSchema}})
}

func TestUserSchemasAreTidied(t *testing.T) {
	typ, err := schema.For(reflectType[struct {
		V untidy `json:"v"`
	}]())
	require.NoError(t, err)
	text := string(typ.JSON())
	require.NotContains(t, text, "true")
	require.NotContains(t, text, "example.com")
	for _, part := range []string{`"b":{}`, `"items":{}`, `"anyOf":[{}]`, `"additionalProperties":{}`, `"oneOf":[{}]`, `"allOf":[{}]`, `"prefixItems":[{}]`} {
		require.Contains(t, text, part)
	}
}

// packed is written as a string, and has a rule for a field that the string holds.
type packed struct {
	Unit string `validate:"oneof=m km"`
}

func (p *packed) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &p.Unit) }

func (packed) JSONSchema() *jsonschema.Schema { return &jsonschema.Schema{Type: "string"} }

func TestProblemsOfWrappedValuesHaveWrapperPath(t *testing.T) {
	_, err := decode[packed](t, `{"value":"km"}`)
	require.NoError(t, err)
	_, err = decode[packed](t, `{"value":"mile"}`)
	require.ErrorContains(t, err, "value.Unit: must be one of")
}
