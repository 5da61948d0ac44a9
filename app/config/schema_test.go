// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"encoding/json"
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/app/config"
	"github.com/ponte-go/ponte/toolset/lsptoolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

var update = flag.Bool("update", false, "write the schemas in docs/schemas")

// judge returns whether a schema accepts a text, by a validator that others wrote.
func judge(t *testing.T, make func() ([]byte, error)) (accepts func(text string) error, s *jsonschema.Schema) {
	t.Helper()
	data, err := make()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &s))
	resolved, err := s.Resolve(nil)
	require.NoError(t, err)
	return func(text string) error {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			return err
		}
		return resolved.Validate(v)
	}, s
}

// TestSchemaIsWhatIsRead compares the schemas of both files with what reads the files.
func TestSchemaIsWhatIsRead(t *testing.T) {
	user, s := judge(t, config.UserSchema)
	project, p := judge(t, config.ProjectSchema)
	known := map[string]bool{"$schema": true}
	for _, k := range config.Keys() {
		known[k.Name] = true
		require.Contains(t, s.Properties, k.Name)
		for _, v := range k.Values {
			require.Contains(t, s.Properties[k.Name].Enum, v)
		}
		require.Len(t, s.Properties[k.Name].Enum, len(k.Values))
		require.Equal(t, k.Project, p.Properties[k.Name] != nil, k.Name)
	}
	require.Len(t, s.Properties, len(known))
	for name, property := range s.Properties {
		require.NotEmpty(t, property.Description, name)
	}
	for name, rule := range s.Properties["permissions"].Properties["rules"].Items.Properties {
		require.NotEmpty(t, rule.Description, name)
	}
	for _, text := range []string{
		`{}`, whole[len("\uFEFF"):], `{"$schema": "./config.schema.json", "model": "offline"}`,
		`{"permissions": {"mode": "read-only", "rules": [{"decision": "ask", "command": "git push", "reason": "x"}, {"decision": "deny", "sandbox": "outside"}]}}`,
		`{"mcpServers": {"a": {"url": "http://x", "headers": {"A": "b"}, "type": "http"}}, "languageServers": {"zls": {"command": ["zls"], "files": {".zig": "zig"}, "options": {"a": 1}}}}`,
	} {
		_, err := config.ParseUser("f", []byte(text))
		require.NoError(t, err, text)
		require.NoError(t, user(text), text)
	}
	for _, text := range []string{
		`{"modell": "offline"}`, `{"model": null}`, `{"model": "gpt-5"}`, `{"models": "offline"}`, `{"models": ["x"]}`, `{"models": ["offline", "offline"]}`,
		`{"thinking": "hihg"}`, `{"mode": "Plan"}`, `{"files": "editor"}`, `{"env": ["GH_TOKEN=x"]}`, `{"env": [""]}`, `{"bare": "yes"}`, `{"prompts": " "}`,
		`{"permissions": {"mode": "all"}}`, `{"permissions": {"rules": [{"decision": "maybe", "tool": "x"}]}}`, `{"permissions": {"rules": [{"tool": "x"}]}}`,
		`{"always": [{"project": "/p", "verdict": "allow"}]}`, `{"sandbox": "yes"}`, `[]`,
	} {
		_, err := config.ParseUser("f", []byte(text))
		require.Error(t, err, text)
		require.Error(t, user(text), text)
	}
	const may, mayNot = `{"permissions": {"mode": "ask", "rules": [{"decision": "deny", "path": "x"}]}}`, `{"permissions": {"rules": [{"decision": "allow", "path": "x"}]}}`
	for _, text := range []string{may, mayNot, `{"permissions": {"mode": "auto"}}`, `{"model": "offline"}`} {
		_, err := config.ParseProject("f", []byte(text))
		require.Equal(t, err == nil, project(text) == nil, "%s: %v %v", text, err, project(text))
	}
}

// TestSchemaOfServersIsWhatIsRead keeps the forms of servers that other packages read.
func TestSchemaOfServersIsWhatIsRead(t *testing.T) {
	_, s := judge(t, config.UserSchema)
	for key, values := range map[string]map[string]string{
		"mcpServers": {
			"type": `"stdio"`, "command": `"x"`, "args": `["x"]`, "env": `{"A": "b"}`, "cwd": `"/"`, "url": `"http://x"`, "headers": `{"A": "b"}`, "disabled": `true`,
		},
		"languageServers": {
			"command": `["x"]`, "files": `{".x": "x"}`, "install": `"x"`, "settings": `{"a": 1}`, "options": `{"a": 1}`, "disabled": `true`,
		},
	} {
		members := s.Properties[key].AdditionalProperties.Properties
		require.Len(t, members, len(values))
		for member := range members {
			require.Contains(t, values, member)
			var err error
			if key == "mcpServers" {
				other := `, "command": "x"`
				if slices.Contains([]string{"url", "headers"}, member) {
					other = `, "url": "http://x"`
				}
				if member == "command" || member == "url" {
					other = ""
				}
				_, err = mcptoolset.ParseConfig([]byte(`{"mcpServers": {"a": {"`+member+`": `+values[member]+other+`}}}`), nil)
			} else {
				_, err = lsptoolset.ParseConfig([]byte(`{"gopls": {"` + member + `": ` + values[member] + `}}`))
			}
			require.NoError(t, err, member)
		}
	}
}

// TestSchemasAreInTheDocs keeps the files that docs/configuration.md names.
func TestSchemasAreInTheDocs(t *testing.T) {
	for file, make := range map[string]func() ([]byte, error){"user": config.UserSchema, "project": config.ProjectSchema} {
		want, err := make()
		require.NoError(t, err)
		file = "../../docs/schemas/" + file + ".schema.json"
		if *update {
			require.NoError(t, os.MkdirAll("../../docs/schemas", 0o755))
			require.NoError(t, os.WriteFile(file, want, 0o644))
		}
		got, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "%s: go test ./app/config -update writes it anew", file)
	}
}
