// SPDX-License-Identifier: Apache-2.0

package geminimodel_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

func TestSchemasMatchTheGoldenFile(t *testing.T) {
	schemas := []string{
		`{}`, `true`, `false`, ` {"title":"t"} `, `null`, `7`, `"title"`, `["title"]`, `{"type":"object","properties":{}}`,
		`{"\u0074itle":"escaped","type":"object"}`, `{"$schema":"s","type":"a"}`, `{"$comment":"c","type":"a"}`, `{"examples":[1],"type":"a"}`, `{"discriminator":{},"type":"a"}`,
		`{"title":"t", "type" : "object" , "x-own": {"title":"kept"}, "enum":[{"title":"kept"}], "default":{"title":"kept"}}`,
	}
	for _, value := range []string{
		`"a"`, `"2"`, `true`, `false`, `null`, `0`, `9`, `-1`, `1.5`, `1e3`, `1E3`, `[]`, `{}`, ` 5 `, `":"`,
	} {
		schemas = append(schemas, `{"const":`+value+`}`, `{"const":`+value+`,"type":"string"}`, `{"type":"string","const":`+value+`}`)
	}
	for _, format := range []string{`"date"`, `""`, `7`, `null`} {
		schemas = append(schemas, `{"type":"string","format":`+format+`}`, `{"type": "string" ,"format":`+format+`,"description":"d"}`,
			`{"type":"number","format":`+format+`}`, `{"format":`+format+`}`, `{"type":["string","null"],"format":`+format+`}`)
	}
	for _, described := range []string{``, `"description":"d",`, `"description":"",`, `"description":7,`} {
		schemas = append(schemas, `{`+described+`"exclusiveMinimum":1}`, `{`+described+`"exclusiveMaximum":-2.5e3}`, `{`+described+`"exclusiveMinimum":0,"exclusiveMaximum":9}`,
			`{"type":"string","format":"f","exclusiveMinimum":1,`+described+`"exclusiveMaximum":2}`)
	}
	for _, member := range []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"} {
		for _, inner := range []string{`{"a":{"title":"t","type":"b"},"title":{"const":1},"c":true}`, `{}`, `[]`, `7`, `{"a":{"properties":7}}`} {
			schemas = append(schemas, `{"title":"t","`+member+`":`+inner+`}`)
		}
	}
	for _, member := range []string{"anyOf", "oneOf", "allOf", "prefixItems"} {
		for _, inner := range []string{`[{"title":"t","type":"b"},true,{"const":1}]`, `[]`, `{}`, `7`, `[{"title":"t"}]`, `[{"properties":7}]`} {
			schemas = append(schemas, `{"title":"t","`+member+`":`+inner+`}`)
		}
	}
	for _, member := range []string{"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unknown"} {
		for _, inner := range []string{`{"title":"t","type":"b"}`, `true`, ` [{"title":"t"}, {"title":"u"}]`, `{"properties":7}`, `[{"properties":7}]`, `7`} {
			schemas = append(schemas, `{"title":"t","`+member+`":`+inner+`}`)
		}
	}
	var told story
	for _, schema := range schemas {
		sent := saying(t, &model.Request{Messages: hello().Messages, Tools: []model.ToolDef{{Name: "f", Schema: json.RawMessage(schema)}}})
		if _, rest, ok := strings.Cut(sent, `"parametersJsonSchema":`); ok {
			sent, _, _ = strings.Cut(rest, `}]}],"contents"`)
		}
		told.tell(schema, sent)
	}
	told.compare(t, "schemas.txt")
}

// TestSchemasMayBeDeep checks, for each keyword that holds schemas, how deep they may be nested.
func TestSchemasMayBeDeep(t *testing.T) {
	around := map[string][2]string{"items": {`{"items":`, `}`}, "items in a list": {`{"items":[`, `]}`}}
	for _, member := range []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"} {
		around[member] = [2]string{`{"` + member + `":{"a":`, `}}`}
	}
	for _, member := range []string{"anyOf", "oneOf", "allOf", "prefixItems"} {
		around[member] = [2]string{`{"` + member + `":[`, `]}`}
	}
	for _, member := range []string{"additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"} {
		around[member] = [2]string{`{"` + member + `":`, `}`}
	}
	for member, form := range around {
		nested := func(n int) json.RawMessage {
			return json.RawMessage(strings.Repeat(form[0], n) + `{"title":"t"}` + strings.Repeat(form[1], n))
		}
		for _, n := range []int{200, 201} {
			req := &model.Request{Messages: hello().Messages, Tools: []model.ToolDef{{Name: "f", Schema: nested(n)}}}
			sent := saying(t, req)
			if n == 200 {
				require.Contains(t, sent, strings.Repeat(form[0], n)+`{}`+strings.Repeat(form[1], n), member)
			} else {
				require.Equal(t, `error: geminimodel: the schema of tool "f": nested more than 200 levels deep`, sent, member)
			}
		}
	}
}
