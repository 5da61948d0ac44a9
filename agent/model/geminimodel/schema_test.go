// SPDX-License-Identifier: Apache-2.0

package geminimodel_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

// sentSchema returns a tool's schema as it is sent.
func sentSchema(t testing.TB, schema string) string {
	t.Helper()
	sent := body(t, &model.Request{Messages: hello().Messages, Tools: []model.ToolDef{{Name: "f", Schema: json.RawMessage(schema)}}})
	_, rest, ok := strings.Cut(sent, `"parametersJsonSchema":`)
	require.True(t, ok, sent)
	rest, _, ok = strings.Cut(rest, `}]}],"contents"`)
	require.True(t, ok, rest)
	return rest
}

func TestSupportedSchemasAreSentUnchanged(t *testing.T) {
	for _, schema := range []string{
		`{"type":"object","properties":{"z":{"type":["string","null"]},"a":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}`,
		`{"type":"object","$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"}}}},"properties":{"n":{"$ref":"#/$defs/node"}}}`,
		`{"type":"object","properties":{"id":{"type":"integer","maximum":9223372036854775807}},"additionalProperties":false}`,
		`{"type":"object","properties":{"html":{"type":"string","enum":["<b>","&"],"description":"é"}}}`,
		`true`,
	} {
		require.Equal(t, schema, sentSchema(t, schema))
	}
}

func TestUnsupportedSchemaKeywordsAreReplaced(t *testing.T) {
	for schema, want := range map[string]string{
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"T","type":"object","properties":{}}`: `{"type":"object","properties":{}}`,
		`{"properties":{"kind":{"const":"a"},"n":{"const":9007199254740993},"f":{"const":1.5},"b":{"const":true}}}`: `{"properties":{"kind":{"type":"string","enum":["a"]},` +
			`"n":{"type":"integer","enum":[9007199254740993]},"f":{"type":"number","enum":[1.5]},"b":{"type":"boolean","enum":[true]}}}`,
		`{"properties":{"kind":{"type":"string","const":"a"}}}`:                                             `{"properties":{"kind":{"type":"string","enum":["a"]}}}`,
		`{"properties":{"n":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":9.5}}}`:                `{"properties":{"n":{"type":"number","description":"greater than 0, less than 9.5"}}}`,
		`{"properties":{"d":{"type":"string","format":"date","description":"A day"}}}`:                      `{"properties":{"d":{"type":"string","description":"A day (format: date)"}}}`,
		`{"properties":{"n":{"type":"integer","format":"int64"}}}`:                                          `{"properties":{"n":{"type":"integer","format":"int64"}}}`,
		`{"properties":{"title":{"type":"string"},"const":{"type":"string","title":"x"}}}`:                  `{"properties":{"title":{"type":"string"},"const":{"type":"string"}}}`,
		`{"enum":[{"title":"kept"}],"default":{"const":"kept"}}`:                                            `{"enum":[{"title":"kept"}],"default":{"const":"kept"}}`,
		`{"items":{"title":"x"},"anyOf":[{"title":"x","type":"null"}],"$defs":{"a":{"title":"x"}}}`:         `{"items":{},"anyOf":[{"type":"null"}],"$defs":{"a":{}}}`,
		`{"prefixItems":[{"title":"x"},true],"items":[{"title":"y"}],"additionalProperties":{"title":"z"}}`: `{"prefixItems":[{},true],"items":[{}],"additionalProperties":{}}`,
	} {
		require.Equal(t, want, sentSchema(t, schema), schema)
	}
}

func TestInvalidSchemasAreErrors(t *testing.T) {
	deep := strings.Repeat(`{"title":"x","items":`, 300) + "{}" + strings.Repeat("}", 300)
	_, err := newModel(t, "http://schema.test").Generate(t.Context(), &model.Request{
		Messages: hello().Messages, Tools: []model.ToolDef{{Name: "f", Schema: json.RawMessage(deep)}},
	}, nil)
	require.ErrorContains(t, err, `geminimodel: the schema of tool "f": nested more than 200 levels deep`)
	_, err = newModel(t, "http://schema.test").Generate(t.Context(), &model.Request{
		Messages: hello().Messages, Tools: []model.ToolDef{{Name: "f", Schema: json.RawMessage(`{"title":"x","properties":7}`)}},
	}, nil)
	require.ErrorContains(t, err, `geminimodel: the schema of tool "f": not an object where one is required`)
}
