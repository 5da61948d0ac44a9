// SPDX-License-Identifier: Apache-2.0

package elicit_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/internal/elicit"
	"github.com/ponte-go/ponte/toolset"
)

// TestRefusedFormsSayWhy has what the protocol cannot describe: each keyword that restricts answers and is not checked, in each place.
func TestRefusedFormsSayWhy(t *testing.T) {
	refused := func(schema, want string) {
		t.Helper()
		_, err := elicit.Parse(json.RawMessage(schema))
		require.EqualError(t, err, want, schema)
	}
	anywhere := strings.Fields(`$dynamicRef $recursiveRef $ref additionalItems allOf contains dependencies dependentRequired dependentSchemas else if maxContains
		maxProperties minContains minProperties not patternProperties prefixItems propertyNames then unevaluatedItems unevaluatedProperties`)
	for _, k := range anywhere {
		refused(`{"properties":{},"`+k+`":{}}`, fmt.Sprintf("forms do not have the keyword %q", k))
		refused(`{"properties":{"a":{"type":"string","`+k+`":1}}}`, fmt.Sprintf(`field "a": forms do not have the keyword %q`, k))
		refused(`{"properties":{"a":{"type":"array","items":{"type":"string","enum":["x"],"`+k+`":1}}}}`, fmt.Sprintf(`field "a": forms do not have the keyword %q`, k))
	}
	for _, k := range []string{"anyOf", "const", "enum", "oneOf"} {
		refused(`{"properties":{},"`+k+`":[]}`, fmt.Sprintf("forms do not have the keyword %q", k))
	}
	for _, kind := range []string{"number", "integer", "boolean", "array"} {
		for _, k := range []string{"oneOf", "anyOf"} {
			refused(`{"properties":{"a":{"type":"`+kind+`","`+k+`":[]}}}`, fmt.Sprintf(`field "a": forms do not have the keyword %q`, k))
		}
	}
	refused(`{"properties":{"a":{"type":"string","oneOf":[{"const":"x","title":"X"}],"anyOf":[]}}}`, `field "a": forms do not have the keyword "anyOf"`)
	refused(`{"type":"array"}`, `the form describes a value of type "array": use an object`)
	refused(`{"required":["b"]}`, `field "b" is required and not described`)
	const kinds = "forms have strings, numbers, integers, booleans and lists of choices only"
	refused(`{"properties":{"a":{"type":"null"}}}`, `field "a": `+kinds)
	refused(`{"properties":{"a":{"type":"array","items":{"type":"integer"}}}}`, `field "a": `+kinds)
	for _, n := range []string{"0", "-2"} {
		refused(`{"properties":{"a":{"type":"number","multipleOf":`+n+`}}}`, `field "a": multipleOf is `+n+`: it must be above 0`)
	}
	for schema, want := range map[string]string{
		`[]`: "the form is not a JSON schema: ", `{"title":7}`: "the form is not a JSON schema: ", `{`: "the form is not a JSON schema: ",
		`{"properties":{"a":[]}}`: `field "a": ` + kinds + " (", `{"properties":{"a":{"type":"string","minLength":"x"}}}`: `field "a": ` + kinds + " (",
		`{"properties":{"a":{"type":"boolean","uniqueItems":7}}}`: `field "a": ` + kinds + " (",
	} {
		_, err := elicit.Parse(json.RawMessage(schema))
		require.ErrorContains(t, err, want, schema)
	}
}

// TestPeopleSeeAllOfAForm has characters that are not seen in each text that people read. Values stay as they are.
func TestPeopleSeeAllOfAForm(t *testing.T) {
	const text, shown = `a\u200bb`, `a⟨U+200B⟩b`
	both := `"title":"` + text + `","description":"` + text + `"`
	for field, more := range map[string][2]string{
		`"type":"string"`:  {},
		`"type":"number"`:  {},
		`"type":"integer"`: {},
		`"type":"boolean"`: {},
		`"type":"string","oneOf":[{"const":"` + text + `",` + both + `}]`: {`"oneOf":[{"const":"` + text + `","title":"` + shown + `","description":"` + shown + `"}]`, `"oneOf"`},
		`"type":"string","enum":["` + text + `","c"],"enumNames":["` + text + `","C"]`: {
			`"oneOf":[{"const":"` + text + `","title":"` + shown + `"},{"const":"c","title":"C"}]`, ``},
		`"type":"string","enum":["` + text + `","c"],"enumNames":["` + text + `"]`: {`"enum":["` + text + `","c"]`, ``},
		`"type":"string","enum":["c"],"enumNames":7`:                               {`"enum":["c"]`, ``},
		`"type":"string","enumNames":["` + text + `"]`:                             {},
		`"type":"string","const":"c"`:                                              {`"enum":["c"]`, ``},
		`"type":"array","items":{"anyOf":[{"const":"` + text + `",` + both + `}]}`: {
			`"items":{"anyOf":[{"const":"` + text + `","title":"` + shown + `","description":"` + shown + `"}]}`, ``},
		`"type":"array","items":{"type":"string","enum":["` + text + `"]}`: {`"items":{"type":"string","enum":["` + text + `"]}`, ``},
	} {
		f, err := elicit.Parse(json.RawMessage(`{` + both + `,"properties":{"a":{` + field + `,` + both + `}}}`))
		require.NoError(t, err, field)
		data, err := json.Marshal(f)
		require.NoError(t, err)
		kind, _, _ := strings.Cut(field, `,`)
		want := kind + `,"title":"` + shown + `","description":"` + shown + `"`
		if more[0] != "" {
			want += "," + more[0]
		}
		require.JSONEq(t, `{"type":"object","title":"`+shown+`","description":"`+shown+`","properties":{"a":{`+want+`}}}`, string(data), field)
	}
	f, err := elicit.Parse(json.RawMessage(`{"title":"","description":"","properties":{"a":{"type":"string","title":"","description":"two\nlines"}},"required":["a"]}`))
	require.NoError(t, err)
	data, err := json.Marshal(f)
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"object","properties":{"a":{"type":"string","description":"two\nlines"}},"required":["a"]}`, string(data), "no text is none, a description may have lines")
}

// TestAnswersAreBoundedExactly has the last value that is taken on each side of each bound, and the first that is not.
func TestAnswersAreBoundedExactly(t *testing.T) {
	for _, c := range []struct{ field, fits, wrong, why string }{
		{`"type":"string","minLength":2`, `"ää"`, `"ä"`, "must have a number of characters that is at least 2"},
		{`"type":"string","maxLength":2`, `"ää"`, `"äää"`, "must have a number of characters that is at most 2"},
		{`"type":"string","maxLength":0`, `""`, `"a"`, "must have a number of characters that is at most 0"},
		{`"type":"string","pattern":"b"`, `"abc"`, `"ac"`, "must match b"},
		{`"type":"string","enum":["a","b"]`, `"b"`, `"c"`, `must be one of ["a" "b"]`},
		{`"type":"string","enum":[]`, ``, `"c"`, `must be one of []`},
		{`"type":"string","oneOf":[{"const":"a","title":"A"}]`, `"a"`, `"A"`, `must be one of ["a"]`},
		{`"type":"string","oneOf":[]`, ``, `"A"`, `must be one of []`},
		{`"type":"string","oneOf":[{"const":"a","title":"A"}],"enum":["b"]`, `"b"`, `"c"`, `must be one of ["a" "b"]`},
		{`"type":"string","format":"email"`, `"a@b.c"`, `"a@b.c, d@e.f"`, "must be a valid email"},
		{`"type":"string","format":"uri"`, `"urn:x"`, `"http://[::1"`, "must be a valid uri"},
		{`"type":"string","format":"uri"`, "\"https://a/`b\"", "\"https://a/ `b\"", "must be a valid uri"},
		{`"type":"string","format":"date"`, `"2024-02-29"`, `"2023-02-29"`, "must be a valid date"},
		{`"type":"string","format":"date-time"`, `"2024-02-29T23:59:59-23:59"`, `"2024-02-29T23:59:59+2:00"`, "must be a valid date-time"},
		{`"type":"string","format":"unknown"`, `"x"`, `7`, "must be a string"},
		{`"type":"integer","minimum":2`, `2`, `1`, "must be at least 2"},
		{`"type":"integer","maximum":2`, `2.0`, `3`, "must be at most 2"},
		{`"type":"integer"`, `9007199254740991`, `1e300`, "must be an integer"},
		{`"type":"integer"`, `-3`, `0.5`, "must be an integer"},
		{`"type":"integer"`, `0`, `true`, "must be an integer"},
		{`"type":"integer","exclusiveMinimum":2`, `3`, `2`, "must be above 2"},
		{`"type":"integer","exclusiveMaximum":2`, `1`, `2`, "must be below 2"},
		{`"type":"integer","multipleOf":3`, `-6`, `7`, "must be a multiple of 3"},
		{`"type":"integer","enum":[1,2]`, `2`, `3`, "must be one of 1, 2"},
		{`"type":"number","minimum":-0.5`, `-0.5`, `-0.6`, "must be at least -0.5"},
		{`"type":"number","maximum":0.5`, `0.5`, `0.6`, "must be at most 0.5"},
		{`"type":"number","exclusiveMinimum":0.5`, `0.51`, `0.5`, "must be above 0.5"},
		{`"type":"number","exclusiveMaximum":0.5`, `0.49`, `0.5`, "must be below 0.5"},
		{`"type":"number","multipleOf":0.1`, `0.7`, `0.75`, "must be a multiple of 0.1"},
		{`"type":"number","const":0.5`, `0.5`, `0.6`, "must be one of 0.5"},
		{`"type":"number"`, `7`, `"7"`, "must be a number"},
		{`"type":"boolean"`, `false`, `0`, "must be true or false"},
		{`"type":"boolean","const":false`, `false`, `true`, "must be one of false"},
		{`"type":"boolean","enum":[true]`, `true`, `false`, "must be one of true"},
		{`"type":"array","items":{"enum":["a","b"],"type":"string"}`, `["a","a"]`, `["a","c"]`, `must not contain "c", which was not offered`},
		{`"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}`, `["a"]`, `["A"]`, `must not contain "A", which was not offered`},
		{`"type":"array","items":{"enum":["a","b"],"type":"string"},"minItems":1`, `["b"]`, `[]`, "must have a number of items that is at least 1"},
		{`"type":"array","items":{"enum":["a","b"],"type":"string"},"maxItems":1`, `["b"]`, `["a","b"]`, "must have a number of items that is at most 1"},
		{`"type":"array","items":{"enum":["a","b"],"type":"string"},"uniqueItems":true`, `["b","a"]`, `["a","b","a"]`, `must not contain "a" twice`},
		{`"type":"array","items":{"enum":["a","b"],"type":"string"},"uniqueItems":false`, `["a","a"]`, `[7]`, "must be a list of strings"},
		{`"type":"array","items":{"enum":["a","b"],"type":"string"},"const":["a"]`, `["a"]`, `["b"]`, `must be one of ["a"]`},
	} {
		f, err := elicit.Parse(json.RawMessage(`{"properties":{"a":{` + c.field + `}}}`))
		require.NoError(t, err, c.field)
		if c.fits != "" {
			got, err := elicit.Check(f, contentOf(t, `{"a":`+c.fits+`}`))
			if strings.Contains(c.fits, "`") {
				require.EqualError(t, err, `field "a" `+c.why)
			} else {
				require.NoError(t, err, "%s: %s", c.field, c.fits)
				require.Len(t, got, 1)
			}
		}
		_, err = elicit.Check(f, contentOf(t, `{"a":`+c.wrong+`}`))
		require.EqualError(t, err, `field "a" `+c.why, c.field)
	}
	whole, err := elicit.Parse(json.RawMessage(`{"properties":{"i":{"type":"integer"},"n":{"type":"number"}}}`))
	require.NoError(t, err)
	odd := elicit.Form{Properties: map[string]acp.ElicitationPropertySchema{"n": {Number: &acp.NumberPropertySchema{Meta: map[string]json.RawMessage{"ponte-go.dev/rules": json.RawMessage(`{"multipleOf":0}`)}}}}}
	_, err = elicit.Check(&odd, contentOf(t, `{"n":1}`))
	require.EqualError(t, err, `field "n" must be a multiple of 0`, "what a peer says cannot break it")
	for n, fits := range map[float64]bool{-math.MaxFloat64: false, math.Inf(-1): false, 1<<53 - 1: true, 1 << 53: false, -(1<<53 - 1): true, -(1 << 53): false, math.NaN(): false, math.Inf(1): false} {
		got, err := elicit.Check(whole, elicit.Content{"i": {Number: &n}})
		require.Equal(t, fits, err == nil, "%v: %v", n, err)
		if fits {
			require.Equal(t, int64(n), *got["i"].Integer)
		}
		_, err = elicit.Check(whole, elicit.Content{"n": {Number: &n}})
		require.Equal(t, math.IsNaN(n) || math.IsInf(n, 0), err != nil)
		if err != nil {
			require.EqualError(t, err, `field "n" must be a finite number`)
		}
	}
	require.NotContains(t, whole.Properties["i"].Integer.Meta, "ponte-go.dev/rules", "a field without rules has none")
}

// TestFirstWrongFieldIsNamed has several fields that are wrong. The first by its name is told.
func TestFirstWrongFieldIsNamed(t *testing.T) {
	f, err := elicit.Parse(json.RawMessage(`{"properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"string"}},"required":["c","b"]}`))
	require.NoError(t, err)
	for range 10 {
		_, err = elicit.Check(f, contentOf(t, `{"c":3,"b":2,"a":1}`))
		require.EqualError(t, err, `field "a" must be a string`)
		_, err = elicit.Check(f, contentOf(t, `{"x":1,"b":"b","w":null,"y":1}`))
		require.EqualError(t, err, `"x" is not a field of the form`)
		_, err = elicit.Check(f, contentOf(t, `{"a":"a"}`))
		require.EqualError(t, err, `field "c" is required`)
		got, err := elicit.Check(f, contentOf(t, `{"a":null,"b":"b","c":"c"}`))
		require.NoError(t, err)
		require.Len(t, got, 2)
	}
}

// TestRepliesAreChecked has replies with content that is taken, refused, and left out.
func TestRepliesAreChecked(t *testing.T) {
	f, err := elicit.Parse(json.RawMessage(`{"properties":{"n":{"type":"integer"}},"required":["n"]}`))
	require.NoError(t, err)
	free, err := elicit.Parse(json.RawMessage(`{"properties":{"n":{"type":"integer"}}}`))
	require.NoError(t, err)
	none, err := elicit.Parse(nil)
	require.NoError(t, err)
	for _, c := range []struct {
		form          *elicit.Form
		action        toolset.Action
		content       string
		want, problem string
	}{
		{f, toolset.ActionAccept, `{"n":7.0}`, `{"n":7}`, ""},
		{f, toolset.ActionAccept, `{"n":7,"m":null}`, `{"n":7}`, ""},
		{f, toolset.ActionAccept, ``, ``, `field "n" is required`},
		{f, toolset.ActionAccept, `{}`, ``, `field "n" is required`},
		{f, toolset.ActionAccept, `null`, ``, "the content is not a JSON object"},
		{f, toolset.ActionAccept, `[]`, ``, "the content is not a JSON object"},
		{f, toolset.ActionAccept, `{`, ``, "the content is not a JSON object"},
		{free, toolset.ActionAccept, ``, `{}`, ""},
		{none, toolset.ActionAccept, ``, ``, ""},
		{none, toolset.ActionAccept, `{}`, `{}`, ""},
		{none, toolset.ActionAccept, `{"n":1}`, ``, `"n" is not a field of the form`},
		{f, toolset.ActionDecline, `{"n":7}`, ``, ""},
		{f, toolset.ActionCancel, `{`, ``, ""},
		{f, "", `{"n":7}`, ``, `the action is "": use accept, decline or cancel`},
		{f, toolset.Action(strings.Repeat("x", 50)), ``, ``, `the action is "` + strings.Repeat("x", 40) + `": use accept, decline or cancel`},
	} {
		given := toolset.Reply{Action: c.action, Content: json.RawMessage(c.content)}
		got, err := elicit.Reply(c.form, given)
		if c.problem != "" {
			require.EqualError(t, err, c.problem, c.content)
			require.Equal(t, given, got, "what is refused stays as it is")
			continue
		}
		require.NoError(t, err, c.content)
		require.Equal(t, c.action, got.Action)
		require.Equal(t, c.want, string(got.Content))
	}
}

// TestChoicesAreShownWithTheirTitles has the forms that are a choice, in order.
func TestChoicesAreShownWithTheirTitles(t *testing.T) {
	for schema, want := range map[string][]string{
		`{"type":"boolean"}`:                       {"Yes true", "No false"},
		`{"type":"boolean","const":false}`:         {"No false"},
		`{"type":"string","enum":["x\u200b","y"]}`: {`x⟨U+200B⟩ "x\u200b"`, `y "y"`},
		`{"type":"string","oneOf":[{"const":"x","title":"X\u200b"},{"const":"long","title":"L"}],"maxLength":3}`: {`X⟨U+200B⟩ "x"`},
		`{"type":"string","enum":["a"],"oneOf":[{"const":"x","title":"X"}]}`:                                     {`a "a"`, `X "x"`},
		`{"type":"integer"}`: nil,
	} {
		f, err := elicit.Parse(json.RawMessage(`{"properties":{"field":` + schema + `}}`))
		require.NoError(t, err)
		name, choices, ok := elicit.Choices(f)
		require.Equal(t, want != nil, ok, schema)
		require.Equal(t, "field", name)
		var got []string
		for _, c := range choices {
			data, err := json.Marshal(c.Value)
			require.NoError(t, err)
			got = append(got, c.Title+" "+strings.ReplaceAll(string(data), "\u200b", `\u200b`))
		}
		require.Equal(t, want, got, schema)
	}
	name, choices, ok := elicit.Choices(&acp.ElicitationSchema{})
	require.Equal(t, []any{"", 0, false}, []any{name, len(choices), ok})
}

// A short pattern may compile to hundreds of megabytes, and a form may have it beside many values.
func TestLargePatternsAndListsCostLittle(t *testing.T) {
	large := "^(?:" + strings.Repeat("ab", 400) + "){1000}$"
	f, err := elicit.Parse(json.RawMessage(`{"properties":{"a":{"type":"string","enum":["x","y"],"pattern":"` + large + `"}}}`))
	require.NoError(t, err)
	spent := testing.AllocsPerRun(1, func() {
		_, choices, ok := elicit.Choices(f)
		require.True(t, ok)
		require.Len(t, choices, 2, "the pattern is not checked")
	})
	require.Less(t, spent, 1000.0)
	values := `"v"` + strings.Repeat(`,"v"`, 100)
	f, err = elicit.Parse(json.RawMessage(`{"properties":{"a":{"type":"string","enum":[` + values + `]}}}`))
	require.NoError(t, err)
	_, choices, ok := elicit.Choices(f)
	require.False(t, ok)
	require.Empty(t, choices)
}
