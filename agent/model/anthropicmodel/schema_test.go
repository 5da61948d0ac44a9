// SPDX-License-Identifier: Apache-2.0

package anthropicmodel_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

func TestFitSchema(t *testing.T) {
	for schema, want := range map[string]string{
		`true`: `true`,
		`{}`:   `{}`,
		`{"type":"integer","minimum":1,"maximum":9007199254740993}`:                                      `{"type":"integer","description":"{\"minimum\":1,\"maximum\":9007199254740993}"}`,
		`{"type":"string","minLength":2,"description":"A name."}`:                                        `{"type":"string","description":"A name.\n\n{\"minLength\":2}"}`,
		`{"type":"string","format":"uri","pattern":"a"}`:                                                 `{"type":"string","format":"uri","pattern":"a"}`,
		`{"type":"string","format":"regex"}`:                                                             `{"type":"string","description":"{\"format\":\"regex\"}"}`,
		`{"type":"array","minItems":1,"items":{"type":"number","minimum":0}}`:                            `{"type":"array","minItems":1,"items":{"type":"number","description":"{\"minimum\":0}"}}`,
		`{"type":"array","minItems":2}`:                                                                  `{"type":"array","description":"{\"minItems\":2}"}`,
		`{"type":"object"}`:                                                                              `{"type":"object","additionalProperties":false}`,
		`{"type":"object","properties":{"z":{"type":"string"},"a":{}},"additionalProperties":{}}`:        `{"type":"object","properties":{"z":{"type":"string"},"a":{}},"additionalProperties":false}`,
		`{"type":"object","additionalProperties":{"type":"integer","minimum":0}}`:                        `{"type":"object","additionalProperties":{"type":"integer","description":"{\"minimum\":0}"}}`,
		`{"type":["object","null"],"properties":{}}`:                                                     `{"type":["object","null"],"properties":{},"additionalProperties":false}`,
		`{"oneOf":[{"type":"object"},{"type":"null"}]}`:                                                  `{"anyOf":[{"type":"object","additionalProperties":false},{"type":"null"}]}`,
		`{"$schema":"x","$ref":"#/$defs/a","$defs":{"a":{"type":"object"}},"minimum":1,"type":"object"}`: `{"$ref":"#/$defs/a","$defs":{"a":{"type":"object","additionalProperties":false}}}`,
		`{"enum":["a","b"],"default":"a","title":"T"}`:                                                   `{"enum":["a","b"],"title":"T","description":"{\"default\":\"a\"}"}`,
	} {
		req := hello()
		req.Output = &model.OutputSchema{Schema: json.RawMessage(schema)}
		req.Tools = []model.ToolDef{{Name: "strict", Schema: json.RawMessage(schema), Strict: true}, {Name: "free", Schema: json.RawMessage(schema)}}
		body := sent(t, uncached, req)
		var config struct {
			Format struct{ Schema json.RawMessage }
		}
		require.NoError(t, json.Unmarshal(body["output_config"], &config))
		require.Equal(t, want, string(config.Format.Schema))
		var tools []struct {
			InputSchema json.RawMessage `json:"input_schema"`
		}
		require.NoError(t, json.Unmarshal(body["tools"], &tools))
		require.Equal(t, want, string(tools[0].InputSchema))
		require.Equal(t, schema, string(tools[1].InputSchema), "a schema that is not enforced is sent unchanged")
	}
}
