// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// protocol returns a schema with the methods of both sides: each with a request, and a response unless it is a notification.
func protocol(t *testing.T, methods map[string][]string, change func(defs map[string]any)) []byte {
	t.Helper()
	defs := map[string]any{}
	for side, all := range methods {
		for _, wire := range all {
			name := goName(strings.ReplaceAll(strings.ReplaceAll(side+"_"+wire, "/", "_"), "$", ""))
			of := func(required ...string) map[string]any {
				return map[string]any{"type": "object", "x-side": side, "x-method": wire, "required": required, "properties": map[string]any{"a": map[string]any{"type": "string"}}}
			}
			if strings.HasSuffix(wire, "/update") || strings.HasSuffix(wire, "/cancel") || strings.HasSuffix(wire, "/complete") {
				defs[name+"Notification"] = of("a")
				continue
			}
			defs[name+"Request"] = of()
			if strings.HasSuffix(wire, "/new") {
				defs[name+"Response"] = of("a")
			} else {
				defs[name+"Response"] = of()
			}
		}
	}
	if change != nil {
		change(defs)
	}
	data, err := json.Marshal(map[string]any{"$defs": defs})
	require.NoError(t, err)
	return data
}

// keeps compares code with what is kept. UPDATE=1 writes it anew.
func keeps(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, strings.ReplaceAll(string(want), "\r\n", "\n"), got, name)
}

// Code is made of a schema with all methods, and none may be missing or have no place.
func TestEveryMethodHasItsPlace(t *testing.T) {
	files, err := generate(protocol(t, methodOrder, nil))
	require.NoError(t, err)
	var names []string
	for _, f := range files {
		names = append(names, f.name)
	}
	require.Equal(t, []string{"enums_gen.go", "types_gen.go", "roles_gen.go"}, names)
	roles := string(files[2].data)
	keeps(t, "roles", roles)
	for side, all := range methodOrder {
		for _, wire := range all {
			_, err := generate(protocol(t, methodOrder, func(defs map[string]any) {
				for name, d := range defs {
					if d := d.(map[string]any); d["x-method"] == wire && d["x-side"] == side && !strings.HasSuffix(name, "Response") {
						delete(defs, name)
					}
				}
			}))
			require.EqualError(t, err, "schema has no method "+wire+" of side "+side)
		}
	}
	more := func(side string) func(defs map[string]any) {
		return func(defs map[string]any) {
			defs["More"] = map[string]any{"type": "object", "x-side": side, "x-method": "more"}
		}
	}
	_, err = generate(protocol(t, methodOrder, more("agent")))
	require.EqualError(t, err, `method more of side "agent" has no place in methodOrder of internal/dev/acpgen/roles.go`)
	_, err = generate(protocol(t, methodOrder, more("protocol")))
	require.NoError(t, err, "the connection's own")
}

// The unstable package has what the stable schema lacks: new types, new fields and new variants.
func TestWhatTheUnstableSchemaHasMore(t *testing.T) {
	object := func(fields map[string]any, required ...string) map[string]any {
		return map[string]any{"type": "object", "properties": fields, "required": required}
	}
	text := map[string]any{"type": "string"}
	ref := func(name string) map[string]any { return map[string]any{"$ref": "#/$defs/" + name} }
	tagged := func(tag, name string) map[string]any {
		return map[string]any{"type": "object", "properties": map[string]any{"type": map[string]any{"type": "string", "const": tag}}, "allOf": []any{ref(name)}}
	}
	both := func(defs map[string]any) {
		defs["Old"], defs["Holder"], defs["One"] = object(map[string]any{"a": text}, "a"), object(map[string]any{"old": ref("Old")}), object(map[string]any{"x": text}, "x")
		defs["Block"] = map[string]any{"oneOf": []any{tagged("one", "One")}}
	}
	stable := protocol(t, methodOrder, both)
	methods := map[string][]string{"agent": append(append([]string{}, methodOrder["agent"]...), unstableMethods["agent"]...), "client": append(append([]string{}, methodOrder["client"]...), unstableMethods["client"]...)}
	full := func(defs map[string]any) {
		both(defs)
		defs["Old"] = object(map[string]any{"a": text, "b": text}, "a", "b")
		defs["Two"], defs["Word"], defs["McpError"] = object(map[string]any{"y": text}, "y"), text, object(map[string]any{"z": ref("Old")})
		defs["Mode"] = map[string]any{"oneOf": []any{map[string]any{"type": "string", "const": "a_b"}}}
		defs["Block"] = map[string]any{"oneOf": []any{tagged("one", "One"), tagged("two", "Two")}}
		defs["IdleStateUpdate"], defs["MessageMcpResponse"] = map[string]any{"anyOf": []any{ref("One")}}, map[string]any{"anyOf": []any{ref("One")}}
		for _, name := range dropped {
			defs[name] = map[string]any{"type": "tuple"}
		}
	}
	unstable := func(change func(defs map[string]any)) []byte {
		return protocol(t, methods, func(defs map[string]any) {
			full(defs)
			if change != nil {
				change(defs)
			}
		})
	}
	files, err := generateUnstable(stable, unstable(nil))
	require.NoError(t, err)
	require.Equal(t, []string{"types_gen.go", "roles_gen.go"}, []string{files[0].name, files[1].name})
	types, roles := string(files[0].data), string(files[1].data)
	for _, want := range []string{
		"// Block holds the unstable variants of acp.Block. Exactly one of them, or Unknown, is set.\ntype Block struct {\n\tTwo *Two `acp:\"type=two\"`\n",
		"// Old holds the unstable fields of acp.Old.\ntype Old struct {\n\tB string `json:\"b,omitzero\"", "// Holder holds the unstable fields of acp.Holder.\ntype Holder struct {\n\tOld *Old `json:\"old,omitzero\"",
		"type Word string\n", "type Mode string\n\n// Values of [Mode].\nconst (\n\tModeAB Mode = \"a_b\"\n)\n", "type McpError struct {\n\tZ *acp.Old `json:\"z,omitzero\"",
	} {
		require.Contains(t, strings.ReplaceAll(types, "MCPError", "McpError"), want)
	}
	require.NotContains(t, types, "type One ")
	for _, want := range []string{
		"= \"session/fork\"\n", "func agentRequests(agent Agent) map[string]handler {\n", "func clientNotifications(client Client) map[string]handler {\n", "type agentCalls struct{ peer Peer }\n",
	} {
		require.Contains(t, roles, want)
	}
	keeps(t, "unstable_types", types)
	keeps(t, "unstable_roles", roles)

	for want, change := range map[string]func(defs map[string]any){
		"schema has no IdleStateUpdate":                                   func(defs map[string]any) { delete(defs, "IdleStateUpdate") },
		"schema has no MessageMcpResponse":                                func(defs map[string]any) { delete(defs, "MessageMcpResponse") },
		"definition Bad: neither string, integer, enum, object nor union": func(defs map[string]any) { defs["Bad"] = map[string]any{"type": "array"} },
		`method more of side "agent" has no place in unstableMethods of internal/dev/acpgen/unstable.go`: func(defs map[string]any) {
			defs["More"] = map[string]any{"type": "object", "x-side": "agent", "x-method": "more"}
		},
		"schema has no method session/fork of side agent": func(defs map[string]any) { delete(defs, "AgentSessionForkRequest") },
	} {
		_, err := generateUnstable(stable, unstable(change))
		require.EqualError(t, err, want)
	}
	_, err = generateUnstable([]byte(`{}`), unstable(nil))
	require.EqualError(t, err, "parse schema: no $defs")
	_, err = generateUnstable(stable, []byte(`{`))
	require.EqualError(t, err, "parse schema: unexpected end of JSON input")
}

func TestMistakesOfASchemaAreNamed(t *testing.T) {
	for defs, want := range map[string]string{
		`{"A": {"type": "array"}}`: "definition A: neither string, integer, enum, object nor union",
		`{"A": {"type": "object", "properties": {"x": {"$ref": "#/$defs/None"}}}}`:                                                                                                                                                               "definition A: property x: no definition None",
		`{"A": {"type": "object", "properties": {"x": {"type": "tuple"}}}}`:                                                                                                                                                                      `definition A: property x: unsupported type "tuple"`,
		`{"A": {"type": "object", "properties": {"x": {"type": "array", "items": {"type": "tuple"}}}}}`:                                                                                                                                          `definition A: property x: unsupported type "tuple"`,
		`{"A": {"type": "object", "properties": {"x": {"type": "object", "additionalProperties": {"type": "tuple"}}}}}`:                                                                                                                          `definition A: property x: unsupported type "tuple"`,
		`{"A": {"type": "object", "properties": {"x": {"type": "object", "additionalProperties": 7}}}}`:                                                                                                                                          "definition A: property x: json: cannot unmarshal number into Go value of type main.schema",
		`{"A": {"type": "object", "properties": {"x": {"type": "array", "items": {"type": "string"}, "x-deserialize-skip-invalid-items": true}}}}`:                                                                                               "definition A: property x: a list that is as strict as its elements are not has no tags",
		`{"A": {"type": "object", "properties": {"x": {"type": "array", "items": {"type": "string"}, "x-deserialize-default-on-error": true}}}}`:                                                                                                 "definition A: property x: a list that is as strict as its elements are not has no tags",
		`{"A": {"anyOf": [{"title": "b", "$ref": "#/$defs/B"}, {"title": "c", "$ref": "#/$defs/C"}]}, "B": {"type": "object", "required": ["k"], "properties": {"k": {}}}, "C": {"type": "object", "required": ["k"], "properties": {"k": {}}}}`: "definition A: variant b: no key tells it apart",
		`{"A": {"oneOf": [{"type": "object", "properties": {"t": {"type": "string", "const": "x"}}}, {"type": "object", "properties": {"u": {"type": "string", "const": "y"}}}]}}`:                                                               "definition A: variants with different discriminators t and u",
		`{"A": {"oneOf": [{"type": "object", "properties": {"t": {"type": "string", "const": "x"}, "bad": {"type": "tuple"}}}]}}`:                                                                                                                `definition A: property bad: unsupported type "tuple"`,
		`{"A": {"oneOf": [{"type": "object", "properties": {"t": {"type": "string", "const": "x"}}, "allOf": [{"$ref": "#/$defs/None"}]}]}}`:                                                                                                     "definition A: no definition of variant None",
	} {
		_, err := generate([]byte(`{"$defs": ` + defs + `}`))
		require.EqualError(t, err, want, defs)
	}
	for text, want := range map[string]string{"": "parse schema: unexpected end of JSON input", "{}": "parse schema: no $defs", `{"$defs": {"A": {"type": 7}}}`: "parse schema: json: cannot unmarshal number into Go "} {
		_, err := generate([]byte(text))
		require.ErrorContains(t, err, want)
	}
}
