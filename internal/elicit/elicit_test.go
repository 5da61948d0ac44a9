// SPDX-License-Identifier: Apache-2.0

package elicit_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/internal/elicit"
)

const form = `{
	"$schema": "x", "type": "object", "title": "Trip\u202e", "required": ["city"], "additionalProperties": false,
	"properties": {
		"city": {"type": "string", "minLength": 2, "maxLength": 5, "title": "City\u200b"},
		"mail": {"type": "string", "format": "email"},
		"page": {"type": "string", "format": "uri"},
		"day": {"type": "string", "format": "date"},
		"at": {"type": "string", "format": "date-time"},
		"code": {"type": "string", "pattern": "^[a-z]+$"},
		"look": {"type": "string", "pattern": "^(?=a)"},
		"days": {"type": "integer", "minimum": 1, "maximum": 14},
		"high": {"type": "number", "minimum": -90, "maximum": 60},
		"wet": {"type": "boolean"},
		"size": {"type": "string", "enum": ["s", "m"]},
		"colour": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]},
		"tags": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string", "enum": ["a", "b", "c"]}},
		"titled": {"type": "array", "items": {"anyOf": [{"const": "x", "title": "X"}]}}
	}
}`

func TestFormIsRead(t *testing.T) {
	f, err := elicit.Parse(json.RawMessage(form))
	require.NoError(t, err)
	require.Equal(t, "Trip⟨U+202E⟩", *f.Title, "people see all of it")
	require.Equal(t, "City⟨U+200B⟩", *f.Properties["city"].String.Title)
	require.Equal(t, []acp.EnumOption{{Const: "r", Title: "Red"}, {Const: "g", Title: "Green"}}, f.Properties["colour"].String.OneOf)
	require.Nil(t, f.Properties["colour"].String.Enum)
	data, err := json.Marshal(f)
	require.NoError(t, err)
	require.NotContains(t, string(data), "$schema")

	for _, empty := range []string{"", "null", "{}", `{"type":"object"}`} {
		f, err := elicit.Parse(json.RawMessage(empty))
		require.NoError(t, err, empty)
		data, err := json.Marshal(f)
		require.NoError(t, err)
		require.JSONEq(t, `{"type":"object","properties":{}}`, string(data))
	}
}

func TestFormsThatTheProtocolDoesNotHaveAreRefused(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"string"}`:                      `the form describes a value of type "string": use an object`,
		`[]`:                                     "the form is not a JSON schema",
		`{"properties":{"a":{"type":"object"}}}`: `field "a": forms have strings`,
		`{"properties":{"a":{"$ref":"#/x"}}}`:    `field "a": forms do not have the keyword "$ref"`,
		`{"properties":{"a":{"type":"array","items":{"type":"integer"}}}}`: `field "a": forms have strings`,
		`{"properties":{"a":7}}`:                                               `field "a": forms have strings`,
		`{"required":["b"],"properties":{"a":{"type":"string"}}}`:              `field "b" is required and not described`,
		`{"properties":{"a":{"type":"string","not":{"const":"x"}}}}`:           `field "a": forms do not have the keyword "not"`,
		`{"properties":{"a":{"type":"integer","oneOf":[{"const":1}]}}}`:        `field "a": forms do not have the keyword "oneOf"`,
		`{"properties":{"a":{"type":"boolean","anyOf":[{"const":true}]}}}`:     `field "a": forms do not have the keyword "anyOf"`,
		`{"properties":{"a":{"type":"array","items":{"enum":["x"],"if":{}}}}}`: `field "a": forms do not have the keyword "if"`,
		`{"properties":{"a":{"type":"integer","multipleOf":0}}}`:               `field "a": multipleOf is 0`,
		`{"properties":{"a":{"type":"integer","exclusiveMinimum":true}}}`:      `field "a": forms have strings`,
		`{"properties":{"a":{"type":"string"}},"minProperties":1}`:             `forms do not have the keyword "minProperties"`,
		`{"properties":{"a":{"type":"string"}},"dependentRequired":{}}`:        `forms do not have the keyword "dependentRequired"`,
		`{"properties":{"a":{"type":"string"}},"anyOf":[{"required":["a"]}]}`:  `forms do not have the keyword "anyOf"`,
		`{"properties":{"a":{"type":["string","null"]}}}`:                      `field "a": forms have strings`,
		`{"properties":{"a":{"type":"array","items":{"enum":[1],"x":null}}}}`:  `field "a": forms have strings`,
	} {
		_, err := elicit.Parse(json.RawMessage(schema))
		require.ErrorContains(t, err, want, schema)
	}
}

func TestAnswersAreCheckedAgainstTheForm(t *testing.T) {
	f, err := elicit.Parse(json.RawMessage(form))
	require.NoError(t, err)
	for answer, want := range map[string]string{
		`{}`:                                   `field "city" is required`,
		`{"city":null}`:                        `field "city" is required`,
		`{"city":"Oslo","name":"x"}`:           `"name" is not a field of the form`,
		`{"city":1}`:                           `field "city" must be a string`,
		`{"city":"O"}`:                         `field "city" must have a number of characters that is at least 2`,
		`{"city":"Tromsø"}`:                    `field "city" must have a number of characters that is at most 5`,
		`{"city":"Oslo","mail":"a b"}`:         `field "mail" must be a valid email`,
		`{"city":"Oslo","mail":"A <a@b.c>"}`:   `field "mail" must be a valid email`,
		`{"city":"Oslo","page":"x"}`:           `field "page" must be a valid uri`,
		`{"city":"Oslo","day":"1.2.2026"}`:     `field "day" must be a valid date`,
		`{"city":"Oslo","at":"2026-02-01"}`:    `field "at" must be a valid date-time`,
		`{"city":"Oslo","code":"A"}`:           `field "code" must match ^[a-z]+$`,
		`{"city":"Oslo","days":0}`:             `field "days" must be at least 1`,
		`{"city":"Oslo","days":15}`:            `field "days" must be at most 14`,
		`{"city":"Oslo","days":1.5}`:           `field "days" must be an integer`,
		`{"city":"Oslo","days":"1"}`:           `field "days" must be an integer`,
		`{"city":"Oslo","high":61}`:            `field "high" must be at most 60`,
		`{"city":"Oslo","high":true}`:          `field "high" must be a number`,
		`{"city":"Oslo","wet":"yes"}`:          `field "wet" must be true or false`,
		`{"city":"Oslo","size":"l"}`:           `field "size" must be one of ["s" "m"]`,
		`{"city":"Oslo","colour":"Red"}`:       `field "colour" must be one of ["r" "g"]`,
		`{"city":"Oslo","tags":[]}`:            `field "tags" must have a number of items that is at least 1`,
		`{"city":"Oslo","tags":["a","b","c"]}`: `field "tags" must have a number of items that is at most 2`,
		`{"city":"Oslo","tags":["d"]}`:         `field "tags" must not contain "d", which was not offered`,
		`{"city":"Oslo","tags":"a"}`:           `field "tags" must be a list of strings`,
		`{"city":"Oslo","titled":["X"]}`:       `field "titled" must not contain "X", which was not offered`,
		`{"city":"Oslo","wet":{"a":1}}`:        `field "wet" must be true or false`,
	} {
		_, err := elicit.Check(f, contentOf(t, answer))
		require.EqualError(t, err, want, answer)
	}
	const good = `{"city":"Oslo","mail":"a@b.c","page":"https://x","day":"2026-02-01","at":"2026-02-01T10:00:00Z","code":"ab",
		"look":"what we cannot check","days":7.0,"high":20,"wet":false,"size":"s","colour":"g","tags":["a","b"],"titled":["x"]}`
	given := contentOf(t, good)
	given["days"] = acp.ElicitationContentValue{Number: new(7.0)}
	got, err := elicit.Check(f, given)
	require.NoError(t, err)
	require.EqualValues(t, 7, *got["days"].Integer)
	require.EqualValues(t, 20, *got["high"].Number)
	require.NotNil(t, given["days"].Number, "what was given stays as it is")
	data, err := json.Marshal(got)
	require.NoError(t, err)
	require.JSONEq(t, good, string(data))
}

// TestRulesThatTheProtocolDoesNotHaveAreChecked has what JSON schemas say and elicitations do not.
func TestRulesThatTheProtocolDoesNotHaveAreChecked(t *testing.T) {
	for field, values := range map[string]struct{ good, bad []string }{
		`{"type":"integer","exclusiveMinimum":0,"exclusiveMaximum":5}`: {[]string{"1", "4"}, []string{"0", "5", "-1"}},
		`{"type":"number","exclusiveMinimum":0.5}`:                     {[]string{"0.6"}, []string{"0.5"}},
		`{"type":"number","multipleOf":0.1}`:                           {[]string{"0.3", "-1", "0", "1e300"}, []string{"0.35"}},
		`{"type":"integer","multipleOf":3}`:                            {[]string{"9"}, []string{"10"}},
		`{"type":"integer","enum":[1,2.0]}`:                            {[]string{"1", "2"}, []string{"3"}},
		`{"type":"boolean","const":true}`:                              {[]string{"true"}, []string{"false"}},
		`{"type":"boolean","enum":[false]}`:                            {[]string{"false"}, []string{"true"}},
		`{"type":"string","const":"yes"}`:                              {[]string{`"yes"`}, []string{`"no"`}},
		`{"type":"string","const":"yes","enum":["yes","no"]}`:          {[]string{`"yes"`}, []string{`"no"`, `"x"`}},
		`{"type":"string","anyOf":[{"const":"a","title":"A"}]}`:        {[]string{`"a"`}, []string{`"A"`}},
		`{"type":"array","items":{"type":"string","enum":["a","b"]},"uniqueItems":true}`: {
			[]string{`["a","b"]`, `[]`}, []string{`["a","a"]`}},
	} {
		f, err := elicit.Parse(json.RawMessage(`{"properties":{"a":` + field + `}}`))
		require.NoError(t, err, field)
		wire, err := json.Marshal(f) // a client that we have written has the rules, too
		require.NoError(t, err)
		var there elicit.Form
		require.NoError(t, json.Unmarshal(wire, &there))
		for _, v := range values.good {
			_, err := elicit.Check(f, contentOf(t, `{"a":`+v+`}`))
			require.NoError(t, err, "%s: %s", field, v)
			_, err = elicit.Check(&there, contentOf(t, `{"a":`+v+`}`))
			require.NoError(t, err, "%s: %s", field, v)
		}
		for _, v := range values.bad {
			_, err := elicit.Check(f, contentOf(t, `{"a":`+v+`}`))
			require.ErrorContains(t, err, `field "a" must `, "%s: %s", field, v)
			_, err = elicit.Check(&there, contentOf(t, `{"a":`+v+`}`))
			require.ErrorContains(t, err, `field "a" must `, "%s: %s", field, v)
		}
	}
}

func TestFormatsOfAnswersAreStrict(t *testing.T) {
	f, err := elicit.Parse(json.RawMessage(`{"properties":{
		"page":{"type":"string","format":"uri"},"at":{"type":"string","format":"date-time"}}}`))
	require.NoError(t, err)
	for field, values := range map[string][2][]string{
		"page": {
			{"https://[::1]:8/a?b=%20#c", "mailto:a@b.c", "urn:a:b", "https://x/ä"},
			{"https://x/a b", "https://x/<a>", `x:y"`, `https://x/a\b`, "https://x/{a}", "//x/a", "/a"},
		},
		"at": {
			{"2026-02-01T10:00:00Z", "2026-02-01T10:00:00.25+05:30"},
			{"2026-02-01T1:00:00Z", "2026-02-01T10:00:00,5Z", "2026-02-01T10:00:00+24:00", "2026-02-30T10:00:00Z"},
		},
	} {
		for i, wrong := range []bool{false, true} {
			for _, v := range values[i] {
				_, err := elicit.Check(f, elicit.Content{field: {String: &v}})
				require.Equal(t, wrong, err != nil, "%s: %v", v, err)
			}
		}
	}
}

func contentOf(t *testing.T, answer string) elicit.Content {
	var c elicit.Content
	require.NoError(t, json.Unmarshal([]byte(answer), &c))
	return c
}

func TestChoicesOfAForm(t *testing.T) {
	for schema, want := range map[string]int{
		`{"properties":{"a":{"type":"boolean"}}}`:                                      2,
		`{"properties":{"a":{"type":"boolean","const":true}}}`:                         1,
		`{"properties":{"a":{"type":"string","enum":["x","y","z"]}}}`:                  3,
		`{"properties":{"a":{"type":"string","enum":["x","yy"],"maxLength":1}}}`:       1,
		`{"properties":{"a":{"type":"string"}}}`:                                       0,
		`{"properties":{"a":{"type":"boolean"},"b":{"type":"boolean"}}}`:               0,
		`{"properties":{"a":{"type":"array","items":{"type":"string","enum":["x"]}}}}`: 0,
		`{}`: 0,
	} {
		f, err := elicit.Parse(json.RawMessage(schema))
		require.NoError(t, err)
		_, choices, ok := elicit.Choices(f)
		require.Len(t, choices, want, schema)
		require.Equal(t, want > 0, ok)
	}
}
