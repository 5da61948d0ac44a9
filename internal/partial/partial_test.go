// SPDX-License-Identifier: Apache-2.0

package partial_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/partial"
)

func TestComplete(t *testing.T) {
	for in, want := range map[string]string{
		``:                               ``,
		` `:                              ``,
		`{`:                              `{}`,
		`{"a`:                            `{}`,
		`{"a"`:                           `{}`,
		`{"a":`:                          `{}`,
		`{"a":1`:                         `{}`,
		`{"a":1,`:                        `{"a":1}`,
		`{"a":12}`:                       `{"a":12}`,
		`{"a":12 `:                       `{"a":12}`,
		`{"a":tru`:                       `{}`,
		`{"a":true,"b":"x`:               `{"a":true,"b":"x"}`,
		`{"a":"x\`:                       `{"a":"x"}`,
		`{"a":"x\n`:                      `{"a":"x\n"}`,
		`{"a":"x\u00`:                    `{"a":"x"}`,
		`{"a":"x\u00e9`:                  `{"a":"x\u00e9"}`,
		`{"a":"x\"y`:                     `{"a":"x\"y"}`,
		`{"a":[1,2`:                      `{"a":[1]}`,
		`{"a":[1,2,`:                     `{"a":[1,2]}`,
		`{"a":[{"b":"c"},{"b":"d`:        `{"a":[{"b":"c"},{"b":"d"}]}`,
		`{"a":{"b":{},"c":[`:             `{"a":{"b":{},"c":[]}}`,
		`[`:                              `[]`,
		`["a","b`:                        `["a","b"]`,
		`"te`:                            `"te"`,
		`{"a":[]`:                        `{"a":[]}`,
		`{"a":1,"b`:                      `{"a":1}`,
		`{"a":1,"b":{"c"`:                `{"a":1,"b":{}}`,
		`{"a":"x","b":nul`:               `{"a":"x"}`,
		"{\n  \"a\": \"x\",\n  \"b\": [": "{\n  \"a\": \"x\",\n  \"b\": []}",
	} {
		require.Equal(t, want, string(partial.Complete([]byte(in))), in)
	}
}

func TestEveryPrefixOfADocumentCanBeCompleted(t *testing.T) {
	doc := []byte(`{"s":"a\"b\\c\u00e9\ud83d\ude00","n":[-1.5e3,0,true,false,null],"o":{"":{}, "x" : [ [ ] , {"y":"z"} ]},"last":"é"}`)
	require.True(t, json.Valid(doc))
	for i := range doc {
		got := partial.Complete(doc[:i])
		if i == 0 {
			require.Nil(t, got)
			continue
		}
		require.True(t, json.Valid(got), "%s => %s", doc[:i], got)
	}
	require.Equal(t, string(doc), string(partial.Complete(doc)))
}

func FuzzComplete(f *testing.F) {
	for _, seed := range []string{`{"a":[1,{"b":"c\u00e9"}],"d":null}`, `[[],{}]`, `"x"`, `{]`, `}}`, `{"a":`} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, doc []byte, n int) {
		partial.Complete(doc)
		if n < 0 || n > len(doc) || !json.Valid(doc) {
			return
		}
		if got := partial.Complete(doc[:n]); got != nil && !json.Valid(got) {
			t.Fatalf("%q => %q", doc[:n], got)
		}
	})
}
