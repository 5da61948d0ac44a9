// SPDX-License-Identifier: Apache-2.0

package form_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/app/internal/term/form"
)

// Each kind of field: how it is asked for, and what answers mean.
func TestEachKindOfField(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type": "string"}`: "f|(text; nothing to leave it out)|: left out|a b: \"a b\"",
		`{"type": "string", "title": "", "description": "What\nit is", "default": "x"}`:                                "f: What it is|(text; nothing for x)|: \"x\"|y: \"y\"",
		`{"type": "string", "format": "date", "title": "Day"}`:                                                         "Day|(date; nothing to leave it out)|2026-01-02: \"2026-01-02\"|soon: error: Day must be a valid date",
		`{"type": "string", "enum": ["a"], "default": "a"}`:                                                            "f|  1  a|(a number or a value; nothing for a)|: \"a\"|1: \"a\"|A: \"a\"|0: error: f must be one of [\"a\"]|2: error: f must be one of [\"a\"]",
		`{"type": "string", "enum": ["2", "1"]}`:                                                                       "f|  2|  1|(a value; nothing to leave it out)|1: \"1\"|2: \"2\"|3: error: f must be one of [\"2\" \"1\"]",
		`{"type": "string", "enum": ["1", "2"]}`:                                                                       "f|  1  1|  2  2|(a number or a value; nothing to leave it out)|1: \"1\"|2: \"2\"",
		`{"type": "string", "enum": ["a", "3"]}`:                                                                       "f|  1  a|  2  3|(a number or a value; nothing to leave it out)|2: \"3\"|3: \"3\"",
		`{"type": "string", "oneOf": [{"const": "x", "title": "2"}, {"const": "y", "title": "Y", "description": ""}]}`: "f|  2|  Y|(a value; nothing to leave it out)|1: error: f must be one of [\"x\" \"y\"]|2: \"x\"",
		`{"type": "integer", "title": "N", "description": "d", "default": -3}`:                                         "N: d|(a whole number; nothing for -3)|: -3|4: 4|1.5: error: N must be a whole number",
		`{"type": "number", "title": "N", "description": "d", "default": 1.5}`:                                         "N: d|(a number; nothing for 1.5)|: 1.5|x: error: N must be a number|2e3: 2000",
		`{"type": "boolean", "title": "B", "description": "d", "default": true}`:                                       "B: d|(yes or no; nothing for yes)|: true|n: false|NO: false|false: false|y: true|True: true|ja: error: B must be yes or no",
		`{"type": "boolean"}`: "f|(yes or no; nothing to leave it out)|: left out",
		`{"type": "array", "title": "L", "description": "d", "items": {"type": "string", "enum": ["a", "b"]}, "default": ["a", "b"]}`: "L: d|  1  a|  2  b|(numbers or values, separated by commas; nothing for a, b)|: [\"a\",\"b\"]|2 , A: [\"b\",\"a\"]|c: error: L must not contain \"c\", which was not offered",
		`{"type": "array", "items": {"anyOf": [{"const": "a", "title": "First"}, {"const": "b", "title": "1"}]}}`:                     "f|  First|  1|(values, separated by commas; nothing to leave it out)|first,1: [\"a\",\"b\"]",
		`{"type": "odd"}`: "f|(text; nothing to leave it out)|[1, 2]: [1,2]|{: error: f must be JSON",
	} {
		for _, required := range []bool{false, true} {
			var f acp.ElicitationSchema
			list := ""
			if required {
				list = `, "required": ["f", "gone"]`
			}
			require.NoError(t, json.Unmarshal([]byte(`{"type": "object", "properties": {"f": `+schema+`}`+list+`}`), &f))
			all := form.Fields(&f)
			require.Len(t, all, 1)
			steps := strings.Split(want, "|")
			n := 0
			for n < len(steps) && !strings.HasPrefix(steps[n], "(") {
				n++
			}
			how := steps[n]
			if required {
				how = strings.Replace(how, "; nothing to leave it out", "", 1)
			}
			require.Equal(t, append(steps[:n:n], how), all[0].Lines(), schema)
			for _, s := range steps[n+1:] {
				line, means, _ := strings.Cut(s, ": ")
				v, set, err := all[0].Read(line)
				got := "left out"
				switch {
				case err != nil:
					require.False(t, set)
					got = "error: " + err.Error()
				case set:
					data, err := json.Marshal(v)
					require.NoError(t, err)
					got = string(data)
				}
				if required && means == "left out" {
					means = "error: " + all[0].Label + " is required"
				}
				require.Equal(t, means, got, "%s: %q", schema, line)
			}
		}
	}
}

// Fields that are required come first, in their order, and the others by name.
func TestOrderOfFields(t *testing.T) {
	var f acp.ElicitationSchema
	require.NoError(t, json.Unmarshal([]byte(`{"type": "object", "required": ["z", "none", "b"], "properties": {"c": {"type": "string"}, "a": {"type": "string"}, "b": {"type": "string"}, "z": {"type": "string"}}}`), &f))
	var names []string
	for _, one := range form.Fields(&f) {
		names = append(names, one.Name+one.Lines()[1])
	}
	require.Equal(t, "z(text) b(text) a(text; nothing to leave it out) c(text; nothing to leave it out)", fmt.Sprint(strings.Join(names, " ")))
	require.Equal(t, []string{"z", "b"}, []string{form.Fields(&f)[0].Label, form.Fields(&f)[1].Label})
}

// An agent may name a field twice, and have many values to choose from.
func TestFieldsAreAskedForOnceAndAtOnce(t *testing.T) {
	f := &acp.ElicitationSchema{Required: []string{"b", "a", "b", "x"}, Properties: map[string]acp.ElicitationPropertySchema{
		"a": {String: &acp.StringPropertySchema{}}, "b": {String: &acp.StringPropertySchema{}}, "c": {String: &acp.StringPropertySchema{}},
	}}
	var names []string
	for _, one := range form.Fields(f) {
		names = append(names, one.Name)
	}
	require.Equal(t, []string{"b", "a", "c"}, names)

	cost := func(n int) float64 {
		var values []string
		for i := range n {
			values = append(values, fmt.Sprint("v", i))
		}
		fields := form.Fields(&acp.ElicitationSchema{Properties: map[string]acp.ElicitationPropertySchema{"a": {String: &acp.StringPropertySchema{Enum: values}}}})
		return testing.AllocsPerRun(1, func() { fields[0].Lines() })
	}
	require.Less(t, cost(400), 6*cost(100), "it grows with the number of values, and not faster")
}
