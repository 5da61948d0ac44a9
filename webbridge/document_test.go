// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/webbridge"
)

// content is a body in the document.
type content map[string]struct {
	Schema json.RawMessage `json:"schema"`
}

type operation struct {
	RequestBody *struct {
		Content content `json:"content"`
	} `json:"requestBody"`
	Responses map[string]struct {
		Content content `json:"content"`
	} `json:"responses"`
}

// apiDocument is what the tests read of the OpenAPI document.
type apiDocument struct {
	Paths      map[string]map[string]json.RawMessage `json:"paths"`
	Components struct {
		Schemas map[string]json.RawMessage `json:"schemas"`
	} `json:"components"`
}

var document = sync.OnceValue(func() *apiDocument {
	d := new(apiDocument)
	if err := json.Unmarshal(webbridge.OpenAPI(), d); err != nil {
		panic(err)
	}
	return d
})

// operationOf returns the operation for a request.
func operationOf(t testing.TB, method, path string) *operation {
	t.Helper()
	path, _, _ = strings.Cut(path, "?")
	parts := strings.Split(path, "/")
	for template, item := range document().Paths {
		names := strings.Split(template, "/")
		same := len(names) == len(parts)
		for i := 0; same && i < len(names); i++ {
			same = names[i] == parts[i] || strings.HasPrefix(names[i], "{") && parts[i] != "openapi.json"
		}
		if same && item[strings.ToLower(method)] != nil {
			op := new(operation)
			require.NoError(t, json.Unmarshal(item[strings.ToLower(method)], op))
			return op
		}
	}
	return nil
}

var schemas sync.Map // of resolved schemas, by their text

// requireFits requires that JSON fits a schema of the document.
func requireFits(t testing.TB, schema, data []byte) {
	t.Helper()
	found, ok := schemas.Load(string(schema))
	if !ok {
		defs, err := json.Marshal(document().Components.Schemas)
		require.NoError(t, err)
		text := `{"allOf":[` + string(schema) + `],"$defs":` + string(defs) + `}`
		s := new(jsonschema.Schema)
		require.NoError(t, json.Unmarshal([]byte(strings.ReplaceAll(text, "#/components/schemas/", "#/$defs/")), s))
		found, err = s.Resolve(nil)
		require.NoError(t, err)
		schemas.Store(string(schema), found)
	}
	var v any
	require.NoError(t, json.Unmarshal(data, &v), string(data))
	require.NoError(t, found.(*jsonschema.Resolved).Validate(v), "%s\n%s", schema, data)
}

func requireIs(t testing.TB, name string, data []byte) {
	t.Helper()
	requireFits(t, []byte(`{"$ref":"#/components/schemas/`+name+`"}`), data)
}

func TestDocumentHasEveryRoute(t *testing.T) {
	h := serve(t, options{}).handler
	var documented []string
	for path, item := range document().Paths {
		for method := range item {
			if method != "parameters" {
				documented = append(documented, strings.ToUpper(method)+" "+path)
			}
		}
	}
	require.ElementsMatch(t, h.Routes(), documented)
}

func TestDocumentHasEveryField(t *testing.T) {
	for name, v := range map[string]any{
		"Session": session.Info{}, "Change": view.Change{}, "Entity": view.Entity{}, "Content": view.Content{}, "FileChange": view.FileChange{}, "Location": view.Location{},
		"Exit": view.Exit{}, "Step": view.Step{}, "Choice": view.Choice{}, "Tokens": view.Tokens{}, "Setting": view.Setting{}, "SlashCommand": view.SlashCommand{},
	} {
		var schema struct {
			Properties map[string]any `json:"properties"`
		}
		require.NoError(t, json.Unmarshal(document().Components.Schemas[name], &schema))
		var want, got []string
		for p := range schema.Properties {
			got = append(got, p)
		}
		for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "Session" && (tag == "values" || tag == "tenant" || tag == "owner") || name == "Change" && tag == "pos" {
				continue // the server's own
			}
			want = append(want, tag)
		}
		require.ElementsMatch(t, want, got, name)
	}
}

var update = flag.Bool("update", false, "write the kinds of entities into openapi.json and types.ts of the page")

// TestDocumentHasEveryKind keeps the lists of kinds, which -update writes.
func TestDocumentHasEveryKind(t *testing.T) {
	source, err := os.ReadFile("../agent/view/entity.go")
	require.NoError(t, err)
	for _, list := range []struct{ name, file, begins, before, between, after string }{
		{"Kind", "chatui/page/src/client/types.ts", "export type Kind =", "\n  | ", "\n  | ", ";"},
		{"Kind", "openapi.json", `"Entity": {`, `"kind": {
      "enum": [
       `, ",\n       ", "\n      ]"},
		{"ContentKind", "openapi.json", `"Content": {`, `"kind": {
      "enum": [
       `, ",\n       ", "\n      ]"},
	} {
		var kinds []string
		for _, m := range regexp.MustCompile(`(?m)^\t\w+ +`+list.name+` += ("\w+")`).FindAllSubmatch(source, -1) {
			kinds = append(kinds, string(m[1]))
		}
		text, err := os.ReadFile(list.file)
		require.NoError(t, err)
		head, rest, ok := strings.Cut(string(text), list.begins)
		require.True(t, ok, list.begins)
		inside, rest, ok := strings.Cut(rest, list.before)
		require.True(t, ok, list.before)
		is, rest, ok := strings.Cut(rest, list.after)
		require.True(t, ok, list.after)
		want := strings.Join(kinds, list.between)
		if *update {
			made := head + list.begins + inside + list.before + want + list.after + rest
			require.NoError(t, os.WriteFile(list.file, []byte(made), 0o644))
			continue
		}
		require.Equal(t, want, is, "%s has other kinds than agent/view: go test ./webbridge -run TestDocumentHasEveryKind -update", list.file)
	}
}
