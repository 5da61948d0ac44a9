// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

// others are the fields that rules of V name.
var others = []reflect.StructField{
	named[string]("Text", `json:"text,omitempty"`), named[int]("Number", `json:"number,omitempty"`), named[bool]("Flag", `json:"flag,omitempty"`),
	named[[]string]("List", `json:"list,omitempty"`), named[time.Time]("At", `json:"at,omitzero"`), named[*int]("Pointer", `json:"pointer,omitempty"`),
	named[*WithID]("Inner", `json:"inner,omitempty"`),
}

// withRule is a struct with a field V that has a rule, beside others.
func withRule[T any](rule string) reflect.Type {
	return structType(append([]reflect.StructField{named[T]("V", reflect.StructTag(`json:"v,omitempty" validate:"`+rule+`"`))}, others...)...)
}

// TestRulesAboutOtherFields: what a rule needs is told when the type is defined.
func TestRulesAboutOtherFields(t *testing.T) {
	for _, test := range []struct {
		of   reflect.Type
		want string // a part of the error; empty if the rule is one
	}{
		{withRule[string]("required_if=Text x"), ""}, {withRule[string]("required_if=Text x Number 1"), ""}, {withRule[string]("required_if=Text 'two words'"), ""},
		{withRule[string]("required_if=Text"), "it needs pairs of a field and a value"}, {withRule[string]("required_if"), "it needs pairs of a field and a value"},
		{withRule[string]("required_if=Text x Number"), "it needs pairs of a field and a value"}, {withRule[string]("required_if=None x"), "has no field None (rules use the names of Go fields)"},
		{withRule[string]("required_if=Text x None x"), "has no field None"}, {withRule[string]("required_unless=text x"), "has no field text"},
		{withRule[string]("required_with"), "it needs a field"}, {withRule[string]("required_with=Text Number"), ""}, {withRule[string]("required_with=Text None"), "has no field None"},
		{withRule[string]("required_without=Text"), ""}, {withRule[string]("required_without=Text Number"), "it takes one field; see required_without_all for several"},
		{withRule[string]("excluded_without=Text Number"), "it takes one field; see excluded_without_all for several"}, {withRule[string]("required_without_all=Text Number"), ""},
		{withRule[string]("excluded_without"), "it needs a field"}, {withRule[string]("required_with=Inner.ID"), ""}, {withRule[string]("required_with=Inner.None"), "has no field None"},
		{withRule[string]("eqfield=Text"), ""}, {withRule[string]("eqfield=Number"), "it does not compare string with int"}, {withRule[string]("nefield=None"), "has no field None"},
		{withRule[string]("fieldcontains=Text"), ""}, {withRule[int]("fieldcontains=Number"), "it does not compare int with int"}, {withRule[int]("gtfield=Number"), ""}, {withRule[int]("gtfield=Pointer"), ""},
		{withRule[*int]("gtfield=Number"), ""}, {withRule[int]("gtfield=Text"), "it does not compare int with string"}, {withRule[bool]("eqfield=Flag"), ""}, {withRule[bool]("gtfield=Flag"), "it does not compare bool with bool"},
		{withRule[time.Time]("gtfield=At"), ""}, {withRule[WithID]("eqfield=Inner"), "it does not compare schema_test.WithID with *schema_test.WithID"}, {withRule[[]string]("eqfield=List"), ""},
		{withRule[[]string]("gtfield=List"), "it does not compare []string with []string"},
		{withRule[[]WithID]("unique=ID"), ""}, {withRule[[]WithID]("unique=None"), "schema_test.WithID has no field None"},
	} {
		_, err := schema.For(test.of)
		rule := test.of.Field(0).Tag.Get("validate")
		if test.want == "" {
			require.NoError(t, err, rule)
			continue
		}
		require.ErrorContains(t, err, test.want, rule)
		require.ErrorContains(t, err, "field V: ", rule)
	}
}

// TestProblemsOfRules: how a model reads a rule that a value breaks.
func TestProblemsOfRules(t *testing.T) {
	for _, test := range []struct {
		of         reflect.Type
		text, want string
	}{
		{withRule[string]("required_if=Text x"), `{"text":"x"}`, "v: the field is required if text is x"},
		{withRule[string]("required_if=Text x Number 1"), `{"text":"x","number":1}`, "v: the field is required if text is x and number is 1"},
		{withRule[string]("required_if=Text x Number 1"), `{"text":"x","number":2}`, ""},
		{withRule[string]("required_unless=Text x"), `{"text":"y"}`, "v: the field is required unless text is x"},
		{withRule[string]("required_with=Text"), `{"text":"y"}`, "v: the field is required together with text"},
		{withRule[string]("required_with=Text"), `{}`, ""},
		{withRule[string]("required_without=Text"), `{}`, "v: the field is required without text"},
		{withRule[string]("excluded_if=Text x"), `{"v":"a","text":"x"}`, `v: must be left out if text is x, got "a"`},
		{withRule[string]("excluded_with=Text"), `{"v":"a","text":"x"}`, `v: must be left out together with text, got "a"`},
		{withRule[int]("gtfield=Number"), `{"v":1,"number":1}`, "v: must be greater than number, got 1"},
		{withRule[int]("gtefield=Number"), `{"v":1,"number":2}`, "v: must not be less than number, got 1"},
		{withRule[int]("gtefield=Number"), `{"v":2,"number":2}`, ""},
		{withRule[int]("ltfield=Number"), `{"v":2,"number":2}`, "v: must be less than number, got 2"},
		{withRule[int]("ltefield=Number"), `{"v":3,"number":2}`, "v: must not be greater than number, got 3"},
		{withRule[string]("eqfield=Text"), `{"v":"a","text":"b"}`, `v: must equal text, got "a"`},
		{withRule[string]("nefield=Text"), `{"v":"a","text":"a"}`, `v: must differ from text, got "a"`},
		{withRule[string]("nefield=Inner.ID"), `{"v":"a","inner":{"id":"a"}}`, `v: must differ from inner.id, got "a"`},
		{withRule[string]("ne=a"), `{"v":"a"}`, `v: must not be a, got "a"`},
		{withRule[string]("excludes=a"), `{"v":"bab"}`, `v: must not contain a, got "bab"`},
		{withRule[string]("lowercase"), `{"v":"A"}`, `v: must be in lower case, got "A"`},
		{withRule[string]("uppercase"), `{"v":"a"}`, `v: must be in upper case, got "a"`},
		{withRule[string]("json"), `{"v":"{"}`, `v: must be valid JSON, got "{"`},
		{withRule[string]("ip"), `{"v":"a"}`, `v: must be an IP address, got "a"`},
		{withRule[string]("ipv4"), `{"v":"::1"}`, `v: must be an IPv4 address, got "::1"`},
		{withRule[string]("ipv6"), `{"v":"1.2.3.4"}`, `v: must be an IPv6 address, got "1.2.3.4"`},
		{withRule[string]("uuid"), `{"v":"a"}`, `v: must be a UUID, got "a"`},
		{withRule[string]("http_url"), `{"v":"ftp://a"}`, `v: must be an http or https URL, got "ftp://a"`},
		{withRule[string]("url"), `{"v":"a"}`, `v: must be a URL, got "a"`},
		{withRule[string]("uri"), `{"v":"a"}`, `v: must be a URI, got "a"`},
		{withRule[string]("fqdn"), `{"v":"-"}`, `v: must be a fully qualified domain name, got "-"`},
		{withRule[string]("hostname"), `{"v":"-"}`, `v: must be a host name, got "-"`},
		{withRule[string]("datetime=2006"), `{"v":"a"}`, `v: must be a date or time written like 2006, got "a"`},
		{withRule[string]("ipv4|ipv6"), `{"v":"a"}`, `v: must satisfy one of the rules ipv4, ipv6, got "a"`},
		{withRule[string]("ascii"), `{"v":"é"}`, `v: must satisfy the rule ascii, got "é"`},
		{withRule[string]("containsany=xy"), `{"v":"a"}`, `v: must satisfy the rule containsany=xy, got "a"`},
		{withRule[[]WithID]("unique=ID"), `{"v":[{"id":"a"},{"id":"a"}]}`, `v: items must differ in id, got [{"id":"a"},{"id":"a"}]`},
		{withRule[map[string]int]("unique"), `{"v":{"a":1,"b":1}}`, `v: items must be unique, got {"a":1,"b":1}`},
		{withRule[time.Duration]("min=1s"), `{"v":"500ms"}`, `v: must be at least 1s, got "500ms"`},
		{withRule[time.Duration]("gt=1s"), `{"v":"1s"}`, `v: must be more than 1s, got "1s"`},
		{withRule[time.Duration]("max=1s"), `{"v":"2s"}`, `v: must be at most 1s, got "2s"`},
		{withRule[time.Duration]("lt=1s"), `{"v":"1s"}`, `v: must be less than 1s, got "1s"`},
		{withRule[time.Duration]("ne=1s"), `{"v":"1s"}`, `v: must be not 1s, got "1s"`},
	} {
		typ, err := schema.For(test.of)
		rule := test.of.Field(0).Tag.Get("validate")
		require.NoError(t, err, rule)
		if err := typ.Check([]byte(test.text)); test.want == "" {
			require.NoError(t, err, rule)
		} else {
			require.EqualError(t, err, test.want, rule)
		}
	}
}

// TestBoundsOfRules: of several bounds the tightest is in the schema, and those that leave no value are mistakes.
func TestBoundsOfRules(t *testing.T) {
	const none = "no value is left that the rules allow"
	for _, test := range []struct {
		of   reflect.Type
		want string // a part of the schema, or of the error
	}{
		{withRule[int]("min=3,gte=5"), `"minimum":5`}, {withRule[int]("min=5,gte=3"), `"minimum":5`}, {withRule[int]("max=3,lte=5"), `"maximum":3`}, {withRule[int]("max=5,lte=3"), `"maximum":3`},
		{withRule[int]("gt=3,gt=5"), `"exclusiveMinimum":5`}, {withRule[int]("gt=5,gt=3"), `"exclusiveMinimum":5`}, {withRule[int]("lt=3,lt=5"), `"exclusiveMaximum":3`}, {withRule[int]("lt=5,lt=3"), `"exclusiveMaximum":3`},
		{withRule[int]("min=-0x10"), `"minimum":-16`}, {withRule[uint]("min=0x10"), `"minimum":16`}, {withRule[float64]("min=1e2"), `"minimum":100`}, {withRule[float64]("gt=0.5"), `"exclusiveMinimum":0.5`},
		{withRule[string]("min=3,gt=3"), `"minLength":4`}, {withRule[string]("gt=3,min=3"), `"minLength":4`}, {withRule[string]("max=3,lt=3"), `"maxLength":2`}, {withRule[string]("lt=3,max=3"), `"maxLength":2`},
		{withRule[string]("len=3"), `"maxLength":3,"minLength":3`}, {withRule[[]int]("len=3"), `"maxItems":3,"minItems":3`}, {withRule[map[string]int]("len=3"), `"maxProperties":3,"minProperties":3`},
		{withRule[[]int]("gt=0"), `"minItems":1`}, {withRule[[]int]("lt=1"), `"maxItems":0`}, {withRule[string]("lt=0"), "a length cannot be that small"}, {withRule[string]("min=-1"), `"v":{"type":"string"}`},
		{withRule[string]("min=x"), `"x" is not a length`}, {withRule[int]("min=x"), `"x" is not an integer`}, {withRule[uint]("min=-1"), `"-1" is not an unsigned integer`}, {withRule[float64]("min=x"), `"x" is not a number`},
		{withRule[bool]("min=1"), "the rule does not apply to bool"}, {withRule[time.Duration]("min=x"), `"x" is not a duration`}, {withRule[time.Duration]("min=1000000000"), "at least 1s"},
		{withRule[int]("eq=3"), `"enum":[3]`}, {withRule[string]("eq=a"), `"enum":["a"]`}, {withRule[bool]("eq=true"), `"enum":[true]`}, {withRule[bool]("eq=x"), `strconv.ParseBool`}, {withRule[[]int]("eq=2"), `"maxItems":2,"minItems":2`},
		{withRule[int]("min=3,max=3"), `"maximum":3,"minimum":3`}, {withRule[int]("min=4,max=3"), none}, {withRule[int]("gt=3,lt=4"), none}, {withRule[int]("gt=3,lt=5"), `"exclusiveMaximum":5,"exclusiveMinimum":3`},
		{withRule[int]("gt=3,max=3"), none}, {withRule[int]("min=3,lt=3"), none}, {withRule[float64]("gt=3,lt=4"), `"exclusiveMinimum":3`}, {withRule[float64]("gt=3,lt=3"), none},
		{withRule[string]("min=4,max=3"), none}, {withRule[[]int]("min=4,max=3"), none}, {withRule[map[string]int]("min=4,max=3"), none}, {withRule[[]bool]("unique,min=2"), `"minItems":2`}, {withRule[[]bool]("unique,min=3"), none},
		{withRule[[]int]("dive,min=4,max=3"), none}, {withRule[time.Duration]("min=2s,max=1s"), none}, {withRule[time.Duration]("min=1s,max=1s"), "at least 1s, at most 1s"},
		{withRule[int]("oneof=1 2,eq=2"), `"enum":[2]`}, {withRule[int]("oneof=1 2,eq=3"), none}, {withRule[int]("oneof=1 1"), "1 is there twice"}, {withRule[int]("oneof="), "no values"}, {withRule[string]("alpha,numeric"), none},
		{withRule[string]("alphanum,numeric"), `"pattern":"^[a-zA-Z0-9]+$"`}, {withRule[string]("startswith=a.b"), `"pattern":"^a\\.b"`}, {withRule[string]("endswith=a"), `"pattern":"a$"`}, {withRule[string]("contains=a"), `"pattern":"a"`},
		{withRule[string]("startswith=a0x2Cb0x7Cc"), `"pattern":"^a,b\\|c"`}, {withRule[string]("startswith=a,endswith=b"), `"allOf":[{"pattern":"b$"}]`},
	} {
		typ, err := schema.For(test.of)
		rule := test.of.Field(0).Tag.Get("validate")
		if err != nil {
			require.ErrorContains(t, err, test.want, "%v %s", test.of.Field(0).Type, rule)
			require.ErrorContains(t, err, "field V: ", rule)
			continue
		}
		require.Contains(t, string(typ.JSON()), test.want, "%v %s", test.of.Field(0).Type, rule)
	}
}

// TestKeywordsOfTags: the value of a keyword must be one that it can have.
func TestKeywordsOfTags(t *testing.T) {
	field := func(keywords string, of reflect.StructField) reflect.Type {
		of.Name, of.Tag = "V", reflect.StructTag(`json:"v" jsonschema:"`+keywords+`"`)
		return structType(of)
	}
	number, text, list, flag := named[float64]("", ""), named[string]("", ""), named[[]string]("", ""), named[bool]("", "")
	for _, test := range []struct {
		of   reflect.Type
		want string
	}{
		{field("multipleOf=0.5", number), `"multipleOf":0.5`}, {field("multipleOf=0", number), `multipleOf cannot be "0"`}, {field("multipleOf=-1", number), `multipleOf cannot be "-1"`}, {field("multipleOf=x", number), `multipleOf cannot be "x"`},
		{field("minimum=1e1", number), `"minimum":1e1`}, {field("minimum=x", number), `minimum cannot be "x"`}, {field("minimum=null", number), `minimum cannot be "null"`}, {field("exclusiveMaximum=", number), `exclusiveMaximum cannot be ""`},
		{field("minLength=1", text), `"minLength":1`}, {field("minLength=-1", text), `minLength cannot be "-1"`}, {field("maxLength=x", text), `maxLength cannot be "x"`}, {field("minItems=1", list), `"minItems":1`}, {field("maxItems=1.5", list), `maxItems cannot be "1.5"`},
		{field("uniqueItems=true", list), `"uniqueItems":true`}, {field("uniqueItems=false", list), `uniqueItems cannot be "false"`}, {field("readOnly=true", text), `"readOnly":true`}, {field("writeOnly=maybe", text), `writeOnly cannot be "maybe"`},
		{field("default=true", flag), `"default":true`}, {field("minimum=1", text), `keyword "minimum" does not apply to string`}, {field("nonsense=1", text), `keyword "nonsense" is unknown`}, {field("x", text), `"x" is not keyword=value (write a comma in a value as \\,)`},
		{field("type=integer", text), `type=integer contradicts the type string of the field`}, {field("type=integer", number), `"type":"integer"`}, {field("enum=a,enum=a", text), "enum=a is there twice"}, {field("pattern=^a\\\\,b$", text), `"pattern":"^a,b$"`},
	} {
		typ, err := schema.For(test.of)
		tag := test.of.Field(0).Tag.Get("jsonschema")
		if err != nil {
			require.ErrorContains(t, err, "field V: jsonschema tag: "+test.want, tag)
			continue
		}
		require.Contains(t, string(typ.JSON()), test.want, tag)
	}
}

// TestNestedListsAreUnique: however their numbers are written, and whatever is null in them.
func TestNestedListsAreUnique(t *testing.T) {
	type item struct {
		N    []float64 `json:"n"`
		Note *string   `json:"note,omitempty"`
	}
	type list struct {
		V []item `json:"v" jsonschema:"uniqueItems=true"`
	}
	for text, want := range map[string]string{
		`[{"n":[1,2]},{"n":[1,3]}]`: "", `[{"n":[1,2]},{"n":[1.0,2e0]}]`: "items 0 and 1 are equal", `[{"n":[1]},{"n":[2]},{"n":[10e-1],"note":null}]`: "items 0 and 2 are equal",
		`[{"n":[]},{"n":[],"note":"x"}]`: "", `[{"n":[1],"note":"x"},{"note":"\u0078","n":[1]}]`: "items 0 and 1 are equal", `[{"n":[-1]},{"n":[1]}]`: "", `[{"n":[100]},{"n":[1e2]}]`: "items 0 and 1 are equal",
		`[{"n":[0.1]},{"n":[1e-1]}]`: "items 0 and 1 are equal", `[{"n":[12345678901234567890]},{"n":[12345678901234567891]}]`: "", `[{"n":[9223372036854775808]},{"n":[9.223372036854775808e18]}]`: "items 0 and 1 are equal",
	} {
		_, err := decode[list](t, `{"v":`+text+`}`)
		if want == "" {
			require.NoError(t, err, text)
		} else {
			require.ErrorContains(t, err, want, text)
		}
	}
}

// TestIntegersMayBeWrittenOut: an exponent of up to 400 digits is an integer; what Go does not take is told as such.
func TestIntegersMayBeWrittenOut(t *testing.T) {
	for text, want := range map[string]int64{`0`: 0, `-0`: 0, `0.0`: 0, `-0e5`: 0, `1.0`: 1, `1e3`: 1000, `-12.50e1`: -125, `9223372036854775807`: 1<<63 - 1, `9.223372036854775807e18`: 1<<63 - 1, `100e-2`: 1, `-1E+2`: -100, `0.5e1`: 5} {
		v, err := decode[one[int64]](t, `{"v":`+text+`}`)
		require.NoError(t, err, text)
		require.Equal(t, want, v.V, text)
	}
	const large = "v: must be an integer from -9223372036854775808 to 9223372036854775807, got "
	for text, want := range map[string]string{
		`1.5`: "v: must be an integer, got 1.5", `1e-1`: "v: must be an integer, got 1e-1", `0.01e1`: "v: must be an integer, got 0.01e1", `9223372036854775808`: large + "9223372036854775808", `1e19`: large + "1e19",
		`1e400`: large + "1e400", `1e401`: large + "1e401", `-1e999999999999`: large + "-1e999999999999", `1e-999999999999`: "v: must be an integer, got 1e-999999999999",
	} {
		_, err := decode[one[int64]](t, `{"v":`+text+`}`)
		require.EqualError(t, err, want)
	}
}
