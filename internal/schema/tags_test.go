// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

func tagged[T any](tag reflect.StructTag) reflect.Type { return structType(named[T]("V", tag)) }

func TestTagsOfOtherLibrariesAreErrors(t *testing.T) {
	for tag, use := range schema.ForeignTags() {
		if tag == use {
			continue
		}
		_, err := schema.For(tagged[string](reflect.StructTag(`json:"v" ` + tag + `:"1"`)))
		require.ErrorContains(t, err, "field V: the tag "+tag+" has no effect; use "+use, tag)
		_, err = schema.For(tagged[struct{ W []string }](reflect.StructTag(`json:"-" ` + tag + `:"1"`)))
		require.NoError(t, err, "a field that the model cannot set may have any tag")
	}
	for _, tag := range []string{"yaml", "xml", "toml", "bson", "db", "gorm", "form", "query", "uri", "header", "mapstructure", "protobuf", "example", "title", "env", "x",
		"comment", "help", "usage", "unique", "index", "name", "key", "type", "column", "size", "bun", "dynamodbav", "firestore", "time_format", "jsonapi"} {
		_, err := schema.For(tagged[string](reflect.StructTag(`json:"v" ` + tag + `:"v,omitempty"`)))
		require.NoError(t, err, tag)
	}
	for tag, want := range map[reflect.StructTag]string{
		`json:"v" min_length:"3"`:                            "the tag min_length has no effect; use validate",
		`json:"v" exclusive_minimum:"3"`:                     "the tag exclusive_minimum has no effect; use validate",
		`json:"v" ReadOnly:"true"`:                           "the tag ReadOnly has no effect; use jsonschema",
		`JSON:"v"`:                                           "the tag JSON has no effect; use json",
		`json:"v" Validate:"min=3"`:                          "the tag Validate has no effect; use validate",
		`json:"v" Enum:"a,b"`:                                "the tag Enum has no effect; use enum",
		`json:"v" DEFAULT:"a"`:                               "the tag DEFAULT has no effect; use default",
		`json:"v" Description:"a"`:                           "the tag Description has no effect; use description",
		`json:"v" jsonSchema:"minLength=3"`:                  "the tag jsonSchema has no effect; use jsonschema",
		`json:"v" jsonschema:"enum=a,enum=b,enum=a"`:         "jsonschema tag: enum=a is there twice",
		`json:"v" jsonschema_minimum:"3"`:                    "the tag jsonschema_minimum is unknown",
		`json:"v" jsonschema_extras:"minLength=3"`:           "jsonschema_extras tag: minLength is a keyword; use the tag jsonschema",
		`json:"v" validate: "min=3"`:                         "is malformed at",
		`json:"v", validate:"min=3"`:                         "is malformed at",
		`json:"v" validate:"min=3`:                           "is malformed at",
		`validate`:                                           "is malformed at",
		`json:"v" jsonschema:"uniqueItems=maybe"`:            `keyword "uniqueItems" does not apply to string`,
		`json:"v" validate:"required" jsonschema:"nullable"`: "contradict each other",
	} {
		_, err := schema.For(tagged[string](tag))
		require.ErrorContains(t, err, want, tag)
	}
	_, err := schema.For(tagged[string](`doc:"For another library" description:"For the model"`))
	require.NoError(t, err)
}

type chosenValues struct {
	Text   string          `json:"text" enum:"a, b c,d\\,e"`
	Int    int8            `json:"int" enum:"1,-2"`
	Float  float64         `json:"float" enum:"0.5,1e3"`
	Bool   *bool           `json:"bool" enum:"true"`
	List   [][]uint        `json:"list" enum:"1,2"`
	Color  color           `json:"color" enum:"red,green"`
	Waits  []time.Duration `json:"waits" enum:"1s,1m"`
	Quoted int             `json:"quoted,string" enum:"5,6"`
	Maybe  *string         `json:"maybe,omitempty" enum:"x"`
}

func TestEnumListsValues(t *testing.T) {
	const good = `{"text":"b c","int":-2,"float":1000,"bool":true,"list":[[1],[2,2]],"color":"red","waits":["1m"],"quoted":"5"}`
	_, err := decode[chosenValues](t, good)
	require.NoError(t, err)
	_, err = decode[chosenValues](t, `{"text":"d,e","int":1,"float":5e-1,"bool":null,"list":[],"color":"green","waits":[],"quoted":"6","maybe":"x"}`)
	require.NoError(t, err)
	t.Run("others", refuses[chosenValues](`{"text":"b","int":2,"float":1,"bool":false,"list":[[3]],"color":"blue","waits":["60s"],"quoted":"7","maybe":"y"}`,
		`text: must be one of "a", "b c", "d,e", got "b"`, `int: must be one of 1, -2, got 2`, `float: must be one of 0.5, 1e3, got 1`,
		`bool: must be one of true, null, got false`, `list[0][0]: must be one of 1, 2, got 3`, `color: must be one of "red", "green", got "blue"`,
		`waits[0]: must be one of "1s", "1m", got "60s"`, `quoted: must be one of "5", "6", got "7"`, `maybe: must be "x", got "y"`))
}

func TestEnumMustFitItsField(t *testing.T) {
	for want, typ := range map[string]reflect.Type{
		`enum tag: the value "300" is not accepted: must be at most 127`:  tagged[int8](`enum:"1,300"`),
		`enum tag: the value "1.5" is not accepted: must be an integer`:   tagged[*int](`enum:"1.5"`),
		`enum tag: the value "mauve" is not accepted: no color "mauve"`:   tagged[color](`enum:"red,mauve"`),
		`enum tag: the value "5" is not accepted: must be a duration`:     tagged[time.Duration](`enum:"5"`),
		`enum tag: the value "yes" is not accepted`:                       tagged[bool](`enum:"yes"`),
		`enum tag: "a,,b" has an empty value`:                             tagged[string](`enum:"a,,b"`),
		`enum tag: "" has an empty value`:                                 tagged[string](`enum:""`),
		`enum tag: "a" is there twice`:                                    tagged[string](`enum:"a, a"`),
		`enum tag: it does not apply to map[string]string`:                tagged[map[string]string](`enum:"a"`),
		`enum tag: it does not apply to interface {}`:                     tagged[any](`enum:"a"`),
		`enum tag: it does not apply to struct {}`:                        tagged[struct{}](`enum:"a"`),
		`the tags jsonschema and enum both list values`:                   tagged[string](`enum:"a" jsonschema:"enum=b"`),
		`validate tag "oneof=c d": no value is left that the rules allow`: tagged[string](`enum:"a,b" validate:"oneof=c d"`),
	} {
		_, err := schema.For(typ)
		require.ErrorContains(t, err, "field V: "+want)
	}
	require.Contains(t, string(typeFor[struct {
		V string `json:"v" enum:"a,b,c" validate:"oneof=b c d"`
	}](t).JSON()), `"enum":["b","c"]`)
}

type withDefaults struct {
	Text   string                  `json:"text" default:"a\"b"`
	Int    int                     `json:"int,omitempty" default:"3" validate:"min=1"`
	Float  *float64                `json:"float" default:"0.5"`
	Bool   bool                    `json:"bool" jsonschema:"default=true"`
	List   []string                `json:"list" default:"x, y"`
	Waits  []time.Duration         `json:"waits" default:"[\"1m\"]"`
	Wait   *time.Duration          `json:"wait" default:"1h30m"`
	Map    map[string]int          `json:"map" default:"{\"a\":1}"`
	Inner  innerDefault            `json:"inner" default:"{\"b\":\"z\"}"`
	Color  color                   `json:"color" default:"red"`
	Any    any                     `json:"any" default:"word"`
	Quoted int                     `json:"quoted,string" default:"7"`
	Inners []innerDefault          `json:"inners,omitempty"`
	Named  map[string]innerDefault `json:"named,omitempty"`
	innerDefault2
}

type innerDefault struct {
	A int    `json:"a" default:"5"`
	B string `json:"b" default:"b" enum:"b,z"`
}

type innerDefault2 struct {
	Flat string `json:"flat" default:"f"`
}

func TestDefaultsAreSetWhereFieldsAreAbsent(t *testing.T) {
	want := withDefaults{Text: `a"b`, Int: 3, Float: new(0.5), Bool: true, List: []string{"x", "y"}, Waits: []time.Duration{time.Minute}, Wait: new(90 * time.Minute),
		Map: map[string]int{"a": 1}, Inner: innerDefault{5, "z"}, Color: color{"red"}, Any: "word", Quoted: 7, innerDefault2: innerDefault2{"f"}}
	t.Run("none", accepts(`{}`, want))
	t.Run("no arguments", accepts(``, want))
	t.Run("null", accepts(`{"text":null,"int":null,"float":null,"bool":null,"wait":null,"inner":null,"quoted":null}`, want))
	given := want
	given.Text, given.Int, given.Bool, given.List, given.Inner = "", 1, false, []string{}, innerDefault{0, "b"}
	given.Inners = []innerDefault{{1, "b"}, {5, "z"}, {5, "b"}}
	given.Named = map[string]innerDefault{"x": {5, "b"}}
	t.Run("given", accepts(`{"text":"","int":1,"bool":false,"list":[],"inner":{"a":0},"inners":[{"a":1},{"b":"z"},{}],"named":{"x":{"a":null}}}`, given))
	t.Run("a bad value beside", refuses[withDefaults](`{"int":0}`, `int: must be at least 1, got 0`))
	t.Run("in a wrapped type", accepts(`{"value":[{},{"a":6}]}`, []innerDefault{{5, "b"}, {6, "b"}}))
	require.NotContains(t, string(typeFor[withDefaults](t).JSON()), `"required"`)
	require.Contains(t, string(typeFor[withDefaults](t).JSON()), `"list":{"items":{"type":"string"},"type":"array","default":["x","y"]}`)
}

func TestDefaultsMustBeValid(t *testing.T) {
	for want, typ := range map[string]reflect.Type{
		`the default "300" is not accepted: must be at most 127`:           tagged[int8](`default:"300"`),
		`the default "c" is not accepted: must be one of "a", "b"`:         tagged[string](`default:"c" enum:"a,b"`),
		`the default "a" is not accepted: must have at least 2 characters`: tagged[string](`default:"a" validate:"min=2"`),
		`the default "a" is not accepted: it breaks the rule cidr`:         tagged[string](`default:"a" validate:"cidr"`),
		`the default "1s" is not accepted: it breaks the rule min=1m`:      tagged[time.Duration](`default:"1s" validate:"min=1m"`),
		`the default "a" is not accepted: it breaks a rule of dive,cidr`:   tagged[[]string](`default:"a" validate:"max=3,dive,cidr"`),
		`the default ",a" is not accepted: must not be empty`:              tagged[[]string](`default:",a" validate:"dive,required"`),
		`the default "[[\"a\"]]" is not accepted: it breaks a rule of div`: tagged[[][]string](`default:"[[\"a\"]]" validate:"dive,dive,cidr"`),
		`the default "{\"a\":\"b\"}" is not accepted: it breaks a rule o`:  tagged[map[string]string](`default:"{\"a\":\"b\"}" validate:"dive,keys,cidr,endkeys"`),
		`the default "60" is not accepted: must be a duration`:             tagged[time.Duration](`default:"60"`),
		`the default "mauve" is not accepted`:                              tagged[color](`default:"mauve"`),
		`the default "[1]" is not accepted: [0]: must be a string`:         tagged[[]string](`default:"[1]"`),
		`the default "{\"c\":1}" is not accepted: c: unknown field`:        tagged[innerDefault](`default:"{\"c\":1}"`),
		`a required field cannot have a default`:                           tagged[string](`default:"a" validate:"required"`),
		`the tags jsonschema and default both have a default`:              tagged[string](`default:"a" jsonschema:"default=b"`),
	} {
		_, err := schema.For(typ)
		require.ErrorContains(t, err, "field V: "+want)
	}
	for _, good := range []reflect.Type{
		tagged[[]string](`default:"10.0.0.0/8" validate:"dive,cidr"`), tagged[[]string](`default:"[]" validate:"dive,cidr"`),
		tagged[[]int](`default:"[0]" validate:"dive,required"`), tagged[[]innerDefault](`default:"[{}]" validate:"dive"`), tagged[any](`default:"null"`),
		tagged[map[string]string](`default:"{\"10.0.0.0/8\":\"b\"}" validate:"dive,keys,cidr,endkeys,lowercase"`),
	} {
		made, err := schema.For(good)
		require.NoError(t, err)
		require.NoError(t, made.Decode([]byte(`{}`), reflect.New(good).Interface()), "a field with a default may be left out")
	}
}

// The order of a map is random. Problems that only the validator finds are in the order of their paths.
func TestProblemsInMapsAreInOrder(t *testing.T) {
	type levels struct {
		Of map[string]int `json:"of" validate:"dive,ne=1"`
	}
	made, err := schema.For(reflect.TypeFor[levels]())
	require.NoError(t, err)
	for range 50 {
		err := made.Decode([]byte(`{"of":{"d":1,"b":1,"e":1,"a":1,"c":1}}`), new(levels))
		require.Error(t, err)
		at := -1
		for _, key := range []string{"of[a]", "of[b]", "of[c]", "of[d]", "of[e]"} {
			next := strings.Index(err.Error(), key)
			require.Greater(t, next, at, "%s in %s", key, err)
			at = next
		}
	}
}

func TestMapKeysMayBeIntegers(t *testing.T) {
	t.Run("signed", accepts(`{"value":{"-5":"a","0":"b"}}`, map[int]string{-5: "a", 0: "b"}))
	t.Run("small", accepts(`{"value":{"255":[1]}}`, map[uint8][]int{255: {1}}))
	t.Run("largest", accepts(`{"value":{"18446744073709551615":1}}`, map[uint64]int{1<<64 - 1: 1}))
	t.Run("text", accepts(`{"value":{"red":1}}`, map[color]int{{"red"}: 1}))
	t.Run("structs", accepts(`{"value":{"1":{"a":1}}}`, map[int64]innerDefault{1: {1, "b"}}))
	t.Run("no integer", refuses[map[int]string](`{"value":{"x":"a","1.0":"b","01":"c","+1":"d","-0":"e"}}`,
		`value[x]: must match the pattern ^(0|-?[1-9][0-9]*)$`, `value[1.0]: must match the pattern ^(0|-?[1-9][0-9]*)$`,
		`value[01]: must match the pattern ^(0|-?[1-9][0-9]*)$`, `value[+1]: must match the pattern ^(0|-?[1-9][0-9]*)$`,
		`value[-0]: must match the pattern ^(0|-?[1-9][0-9]*)$`))
	t.Run("too large", refuses[map[int8]string](`{"value":{"128":"a"}}`, `value[128]: the key must be an integer from -128 to 127`))
	t.Run("negative", refuses[map[uint]string](`{"value":{"-1":"a"}}`, `value[-1]: must match the pattern ^(0|[1-9][0-9]*)$`))
	type ruled struct {
		Sizes map[string]int   `json:"sizes" validate:"dive,keys,min=2,alpha,endkeys"`
		Named map[int]withMail `json:"named"`
	}
	t.Run("rules of keys", refuses[ruled](`{"sizes":{"a":1,"b1":2},"named":{"7":{"to":"x"}}}`,
		`sizes[a]: must have at least 2 characters, not 1`, `sizes[b1]: must match the pattern ^[a-zA-Z]+$`, `named[7].to: must be an email address, got "x"`))
}

type withMail struct {
	To string `json:"to" validate:"email"`
}

type mayBeEmpty struct {
	Sizes map[string]int `json:"sizes" validate:"dive,keys,omitempty,min=2,endkeys"`
}

func TestKeysWithOmitemptyMayBeEmpty(t *testing.T) {
	t.Run("empty or long", accepts(`{"sizes":{"":1,"ab":2}}`, mayBeEmpty{map[string]int{"": 1, "ab": 2}}))
	_, err := decode[mayBeEmpty](t, `{"sizes":{"a":1}}`)
	require.Error(t, err, "the rule is about the other keys")
}

func TestDurationRulesMayBeNanoseconds(t *testing.T) {
	made, err := schema.For(tagged[time.Duration](`json:"v" validate:"min=60000000000"`))
	require.NoError(t, err)
	require.Contains(t, string(made.JSON()), "1m0s")
	dst := reflect.New(tagged[time.Duration](`json:"v" validate:"min=60000000000"`)).Interface()
	require.NoError(t, made.Decode([]byte(`{"v":"1m"}`), dst))
	require.Error(t, made.Decode([]byte(`{"v":"59s"}`), dst))
}

func TestTagsOfEmbeddedStructsAndMisspeltOptionsAreErrors(t *testing.T) {
	for want, of := range map[string]reflect.Type{
		"field WithID: the tag description has no effect; use it on a field": structType(embed[WithID](`description:"a"`)),
		"field WithID: the tag jsonschema has no effect; use it on a field":  structType(embed[*WithID](`jsonschema:"-"`)),
		"field WithID: the tag default has no effect; use it on a field":     structType(embed[WithID](`default:"{}"`)),
		"field WithID: the tag binding has no effect; use validate":          structType(embed[WithID](`binding:"required"`)),
		`field V: the json option "omitemty" is unknown`:                     tagged[string](`json:"v,omitemty"`),
		`field V: the json option " omitempty" is unknown`:                   tagged[string](`json:"v, omitempty"`),
	} {
		_, err := schema.For(of)
		require.ErrorContains(t, err, want)
	}
	for _, of := range []reflect.Type{
		structType(embed[WithID](`json:",inline" yaml:",inline" mapstructure:",squash"`)), structType(embed[*WithID](`validate:"required"`)),
		structType(embed[WithID](`json:"id" description:"a" jsonschema:"title=b"`)), tagged[string](`json:"v,required,omitzero"`),
	} {
		_, err := schema.For(of)
		require.NoError(t, err)
	}
}
