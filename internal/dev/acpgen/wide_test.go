// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMain makes the command of this program, too.
func TestMain(m *testing.M) {
	if os.Getenv("ACPGEN_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// wide has what the protocol's schema has in a few places only.
const wide = `{"$defs": {
	"SessionInfoUpdate": {"type": "object", "properties": {"title": {"type": ["string", "null"]}, "updatedAt": {"type": ["string", "null"]}, "other": {"type": ["string", "null"]}}},
	"CompactionUpdate": {"type": "object", "properties": {"error": {"type": ["string", "null"]}, "summary": {"type": ["array", "null"], "items": {"type": "string"}}, "rest": {"type": ["array", "null"], "items": {"type": "string"}}}},
	"SetSessionConfigOptionRequest": {"x-side": "agent", "x-method": "session/set_config_option", "type": "object", "properties": {"id": {"$ref": "#/$defs/RequestId"}, "options": {"$ref": "#/$defs/SessionConfigSelectOptions"}},
		"required": ["id"], "anyOf": [
			{"type": "object", "properties": {"type": {"type": "string", "const": "boolean"}, "value": {"type": "boolean"}}, "required": ["type", "value"]},
			{"title": "value_id", "type": "object", "properties": {"value": {"$ref": "#/$defs/ValueId"}}, "required": ["value"]},
			{"title": "other", "type": "object"}]},
	"SetSessionConfigOptionResponse": {"x-side": "agent", "x-method": "session/set_config_option", "type": "object", "properties": {"all": {"type": "array", "items": {"$ref": "#/$defs/ValueId"}}}, "required": ["all"]},
	"RequestId": {"type": "tuple"}, "SessionConfigSelectOptions": {"type": "tuple"}, "ElicitationContentValue": {"type": "tuple"}, "Error": {"type": "tuple"}, "AgentRequest": {"type": "tuple"},
	"ValueId": {"type": "string"}, "LonelyId": {"type": "string"}, "Size": {"type": "integer", "format": "uint64"}, "Plain": {"type": "integer"}, "Small": {"type": "integer", "format": "uint8"},
	"FirstTwin": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "string"}, "d": {"$ref": "#/$defs/Size"}}},
	"SecondTwin": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "string"}, "d": {"$ref": "#/$defs/Size"}}},
	"ThirdTwin": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "string"}}},
	"FourthTwin": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "string"}}},
	"LoneCapabilities": {"type": "object", "properties": {"one": {"type": "boolean"}}}, "EmptyCapabilities": {"type": "object"},
	"TwoCapabilities": {"type": "object", "properties": {"one": {"$ref": "#/$defs/EmptyCapabilities"}, "two": {"$ref": "#/$defs/EmptyCapabilities"}}},
	"Level": {"anyOf": [{"type": "string", "const": "low"}, {"type": "string", "const": "very-high"}, {"type": "string"}]},
	"AnyText": {"anyOf": [{"type": "string"}, {"type": "string"}]},
	"Inner": {"oneOf": [{"type": "object", "properties": {"kind": {"type": "string", "const": "x"}, "n": {"type": "integer"}}, "required": ["n"]}, {"type": "object", "properties": {"kind": {"type": "string", "const": "unknown"}}, "allOf": [{"$ref": "#/$defs/ThirdTwin"}]}]},
	"Outer": {"type": "object", "properties": {"shared": {"type": "boolean", "default": true}, "word": {"type": "string", "default": "red"}, "limit": {"type": "integer", "default": 3, "format": "int32"}, "loose": {"type": ["boolean", "null"], "default": false}},
		"oneOf": [{"type": "object", "properties": {"is": {"type": "string", "const": "inner"}}, "allOf": [{"$ref": "#/$defs/Inner"}]}, {"title": "TextResourceContents", "allOf": [{"$ref": "#/$defs/ThirdTwin"}]}]},
	"Keyed": {"anyOf": [{"title": "TextResourceContents", "$ref": "#/$defs/HasText"}, {"title": "BlobResourceContents", "$ref": "#/$defs/HasBlob"}, {"title": "third one", "type": "object", "properties": {"uri": {"type": "string"}, "z": {"type": "number"}}, "required": ["uri", "z"]}]},
	"HasText": {"type": "object", "properties": {"uri": {"type": "string"}, "text": {"type": "string"}}, "required": ["uri", "text"]},
	"HasBlob": {"type": "object", "properties": {"uri": {"type": "string"}, "blob": {"type": "string"}, "mimeType": {"type": "string"}}, "required": ["uri", "blob"]},
	"Fields": {"type": "object", "properties": {
		"numbers": {"type": "object", "additionalProperties": {"type": "number"}}, "any": {"type": "object", "additionalProperties": true}, "values": {"type": "object", "additionalProperties": {"$ref": "#/$defs/ElicitationContentValue"}},
		"deep": {"type": "array", "items": {"type": "array", "items": {"$ref": "#/$defs/Level"}}}, "lists": {"type": "object", "additionalProperties": {"type": "array", "items": {"$ref": "#/$defs/Plain"}}},
		"i32": {"type": "integer", "format": "int32"}, "i64": {"type": "integer", "format": "int64"}, "u16": {"type": "integer", "format": "uint16"}, "double": {"type": "number", "format": "double"}, "maybe": {"type": ["null", "integer"]},
		"nulled": {"type": "string", "x-deserialize-default-on-null": true}, "dropped": {"type": "string", "x-deserialize-default-on-error": true}, "droppedToo": {"allOf": [{"$ref": "#/$defs/Level"}], "x-deserialize-default-on-error": true},
		"keyed": {"anyOf": [{"$ref": "#/$defs/Keyed"}, {"type": "null"}]}, "level": {"$ref": "#/$defs/Level"}, "levels": {"type": "array", "items": {"$ref": "#/$defs/Level"}}, "again": {"$ref": "#/$defs/Level"}, "size": {"$ref": "#/$defs/Size"},
		"outer": {"$ref": "#/$defs/Outer"}, "enumOrNull": {"anyOf": [{"$ref": "#/$defs/Level"}, {"type": "null"}]}, "anyText": {"$ref": "#/$defs/AnyText"}},
		"required": ["numbers", "deep", "dropped", "droppedToo", "nulled", "maybe", "keyed", "i32"]},
	"PromptResponse": {"x-side": "agent", "x-method": "session/prompt", "type": "object"}, "PromptRequest": {"x-side": "agent", "x-method": "session/prompt", "type": "object"}, "ToolKind": {"oneOf": [{"type": "string", "const": "read"}]}
}}`

// The code of what is rare in the protocol is what it was. UPDATE=1 writes it anew.
func TestCodeOfAWideSchema(t *testing.T) {
	m, err := modelOf([]byte(strings.Replace(wide, `"AnyText": {"anyOf": [{"type": "string"}, {"type": "string"}]},`, `"AnyText": {"type": "string"},`, 1)))
	require.NoError(t, err)
	files, err := emitFiles("acp", []emitter{{"enums.go", nil, m.emitEnums}, {"types.go", []string{"encoding/json", "x/y"}, m.emitTypes}})
	require.NoError(t, err)
	keeps(t, "wide", string(files[0].data)+"\n//////\n\n"+string(files[1].data))
	var b strings.Builder
	for _, d := range m.sorted() {
		fmt.Fprintf(&b, "%s %s string %v number %q enum %q method %q side %q used by %q\n", d.name, d.goName, d.isString, d.number, d.enum, d.method, d.side, d.usedBy)
		for _, f := range d.fields {
			fmt.Fprintf(&b, "  %+v leaf %s\n", struct {
				JSON, Name, Type                                                  string
				Kind                                                              kind
				Required, Nullable, Lenient, NullEmpty, Pointer, HasDefault, Enum bool
				Default                                                           string
			}{f.json, f.name, f.typ.name, f.typ.kind, f.required, f.nullable, f.lenient, f.nullEmpty, f.pointer, f.hasDefault, false, f.defaultValue}, leaf(f.typ))
		}
		if d.union != nil {
			fmt.Fprintf(&b, "  union %q closed %v fallback %v\n", d.union.tag, d.union.closed, d.union.fallback)
			for _, v := range d.union.variants {
				fmt.Fprintf(&b, "    %s %s tag %q alias %q key %q of %s\n", v.field, v.typ, v.tag, v.alias, v.key, v.def.goName)
			}
		}
	}
	keeps(t, "wide_model", b.String())
}

// What a schema must not have is told with its place.
func TestMistakesOfASchema(t *testing.T) {
	for defs, want := range map[string]string{
		`x`:                                    "parse schema: invalid character 'x' looking for beginning of object key string",
		``:                                     "parse schema: no $defs",
		`"A": {"type": 7}`:                     "parse schema: json: cannot unmarshal number into Go struct field schema.$defs.type of type string",
		`"A": {"type": [7]}`:                   "parse schema: json: cannot unmarshal number into Go struct field schema.$defs.type of type string",
		`"A": {"type": "array"}`:               "definition A: neither string, integer, enum, object nor union",
		`"A": {"anyOf": [{"type": "string"}]}`: "",
		`"A": {"type": "object", "properties": {"x": {"$ref": "#/$defs/None"}}}`:                                                                                                          "definition A: property x: no definition None",
		`"A": {"type": "object", "properties": {"x": {"type": "tuple"}}}`:                                                                                                                 `definition A: property x: unsupported type "tuple"`,
		`"A": {"type": "object", "properties": {"x": {"type": "array", "items": {"type": "tuple"}}}}`:                                                                                     `definition A: property x: unsupported type "tuple"`,
		`"A": {"type": "object", "properties": {"x": {"type": "object", "additionalProperties": {"type": "tuple"}}}}`:                                                                     `definition A: property x: unsupported type "tuple"`,
		`"A": {"type": "object", "properties": {"x": {"type": "object"}}}`:                                                                                                                "definition A: property x: unexpected end of JSON input",
		`"A": {"type": "object", "properties": {"x": {"type": "array", "items": {"type": "string"}, "x-deserialize-default-on-error": true}}}`:                                            "definition A: property x: a list that is as strict as its elements are not has no tags",
		`"A": {"anyOf": [{"title": "a", "$ref": "#/$defs/B"}, {"title": "b", "$ref": "#/$defs/B"}]}, "B": {"type": "object", "properties": {"k": {"type": "string"}}, "required": ["k"]}`: "definition A: variant a: no key tells it apart",
		`"A": {"anyOf": [{"title": "a", "$ref": "#/$defs/B"}]}, "B": {"type": "object"}`:                                                                                                  "definition A: variant a: no key tells it apart",
		`"A": {"oneOf": [{"type": "object", "properties": {"t": {"const": "a"}}}, {"type": "object", "properties": {"u": {"const": "b"}}}]}`:                                              "definition A: variants with different discriminators t and u",
		`"A": {"oneOf": [{"type": "object", "properties": {"t": {"const": "a"}, "x": {"type": "tuple"}}}]}`:                                                                               `definition A: property x: unsupported type "tuple"`,
		`"A": {"oneOf": [{"type": "object", "properties": {"t": {"const": "a"}}, "allOf": [{"$ref": "#/$defs/RequestId"}]}]}, "RequestId": {}`:                                            "definition A: no definition of variant RequestID",
	} {
		_, err := modelOf([]byte(`{"$defs": {` + defs + `}}`))
		if want == "" {
			require.Error(t, err, defs)
			continue
		}
		require.EqualError(t, err, want, defs)
	}
}

func TestWordsOfNames(t *testing.T) {
	for in, want := range map[string][]string{
		"": nil, "a": {"a"}, "_a__b_": {"a", "b"}, "fooBar": {"foo", "Bar"}, "FooBar": {"Foo", "Bar"}, "foo-bar baz": {"foo", "bar", "baz"}, "HTTP": {"H", "T", "T", "P"}, "a_B": {"a", "B"}, "_Meta": {"Meta"},
	} {
		require.Equal(t, want, words(in), in)
	}
	require.Equal(t, "ABC", goName("aBC"))
	require.Equal(t, "IDsAPILLM", goName("ids_api_llm"))
}

// A definition is referred to in itself, or as the only one of all.
func TestReferences(t *testing.T) {
	x := &schema{Ref: "#/$defs/X"}
	require.Equal(t, []string{"X", "X", "", ""}, []string{x.ref(), (&schema{AllOf: []*schema{x}}).ref(), (&schema{AllOf: []*schema{x, x}}).ref(), (&schema{}).ref()})
	null := &schema{Type: typeSet{"null"}}
	for _, c := range []struct {
		s        *schema
		inner    *schema
		nullable bool
	}{
		{&schema{AnyOf: []*schema{x, null}}, x, true}, {&schema{AnyOf: []*schema{null, x}}, nil, false}, {&schema{AnyOf: []*schema{x, null, null}}, nil, false}, {&schema{Type: typeSet{"string", "null"}}, nil, true}, {x, nil, false},
		{&schema{AnyOf: []*schema{x, {Type: typeSet{"null", "string"}}}}, nil, false},
	} {
		inner, nullable := c.s.nonNull()
		require.Equal(t, c.nullable, nullable)
		if c.inner == nil {
			require.Same(t, c.s, inner)
		} else {
			require.Same(t, c.inner, inner)
		}
	}
	require.Equal(t, []string{"string", "", "a"}, []string{typeSet{"null", "string"}.base(), typeSet{"null"}.base(), typeSet{"a", "b"}.base()})
	require.True(t, typeSet{"a"}.is("a"))
	require.False(t, typeSet{"a", "b"}.is("a"))
	require.Equal(t, []string{"", "", "x"}, []string{(&schema{}).constString(), (&schema{Const: []byte("7")}).constString(), (&schema{Const: []byte(`"x"`)}).constString()})
}

// The command tells what is wrong, and exits with 1.
func TestTheCommand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "schema.json")
	require.NoError(t, os.WriteFile(file, []byte("{}"), 0o600))
	for _, c := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{"-schema", file}, "acpgen: ", 1},
		{[]string{"-schema", file, "-unstable", "-unstable-schema", file, "-out", t.TempDir()}, "want " + schemaSHA256, 1},
		{[]string{"-nothing"}, "write the generated files into `dir`", 2},
		{[]string{"-h"}, "generate package unstable: what the unstable schema has beyond the stable one", 0},
	} {
		cmd := exec.Command(os.Args[0], c.args...)
		cmd.Env = append(os.Environ(), "ACPGEN_MAIN=1")
		out, _ := cmd.CombinedOutput()
		if c.code == 2 {
			c.want = "write the generated files into dir"
		}
		require.Contains(t, string(out), c.want)
		require.Equal(t, c.code, cmd.ProcessState.ExitCode())
		if c.code == 1 {
			require.True(t, strings.HasPrefix(string(out), "acpgen: ") && strings.Count(string(out), "\n") == 1, "%s", out)
		}
	}
}
