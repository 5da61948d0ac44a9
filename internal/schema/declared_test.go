// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

// listing is a struct in a field.
type listing struct {
	A string `json:"a"`
	B int    `json:"b,omitempty"`
}

// declaredTypes are the types of the field that is declared with each of the tags.
var declaredTypes = []reflect.Type{
	reflectType[string](), reflectType[int8](), reflectType[uint](), reflectType[float64](), reflectType[bool](), reflectType[*int](), reflectType[*string](), reflectType[[]string](), reflectType[[]int](), reflectType[[2]int](), reflectType[map[string]int](), reflectType[[]listing](), reflectType[listing](), reflectType[any](), reflectType[time.Time](), reflectType[time.Duration](), reflectType[[]byte](), reflectType[json.Number](),
}

// plainTypes are the types of the field that is declared without tags.
var plainTypes = []reflect.Type{
	reflectType[int](), reflectType[int16](), reflectType[int32](), reflectType[int64](), reflectType[uint8](), reflectType[uint16](), reflectType[uint32](), reflectType[uint64](), reflectType[uintptr](), reflectType[float32](), reflectType[complex64](), reflectType[chan int](), reflectType[func()](), reflectType[error](), reflectType[json.RawMessage](), reflectType[big.Int](), reflectType[*big.Int](), reflectType[color](), reflectType[shape](), reflectType[celsius](), reflectType[currency](), reflectType[extended](),
	reflectType[[][]string](), reflectType[[3]byte](), reflectType[[]*listing](), reflectType[**int](), reflectType[*listing](), reflectType[map[string]listing](), reflectType[map[int8]string](), reflectType[map[uint16]string](), reflectType[map[color]int](), reflectType[map[float64]int](), reflectType[map[bool]int](), reflectType[map[string]chan int](), reflectType[[]error](), reflectType[[2]func()](), reflectType[[]time.Duration](), reflectType[map[string]time.Duration](), reflectType[tree](), reflectType[forest](), reflectType[page[listing]](), reflectType[struct{}](), reflectType[[]any](), reflectType[map[string]any](),
}

// declaredTags are the tags. A line is a group, of which each word is a tag of its own behind the
// name of the group: json has options, validate rules, jsonschema keywords.
const declaredTags = `
json ,omitempty ,omitzero ,string ,omitempty,string ,omitnothing named -,
validate required omitempty omitzero omitempty,min=2 min=2 max=2 gt=1 lt=3 gte=1 lte=2 len=2 len=0 eq=2 eq=a eq=true ne=1 min=-1 max=-1 lt=0 lt=1 min=x len=-1 min=0x2 min=1.5 min=300 max=1s min=1s,max=1h min=2h,max=1h min=3,max=2 gt=1,lt=2 len=1,min=2 isdefault isdefault,required
validate unique unique=A unique,min=3 dive dive,min=2 dive,required dive,dive dive,oneof=1 min=1,dive,max=2 dive,keys,min=2,endkeys,max=5 dive,keys,oneof=a,endkeys dive,keys,required,endkeys,required dive,keys,omitempty,len=2,endkeys keys endkeys required,dive dive,unique dive,alpha omitempty,dive,min=2
validate email url uuid ipv4 hostname alpha alphanum numeric number hexadecimal e164 alpha,numeric alpha,number datetime=2006-01-02 datetime=15h startswith=a endswith=c contains=b startswith=a,endswith=c contains=0x2C ipv4|ipv6 min=2|alpha boolean port json lowercase nothing nothing|alpha = , -
validate eqfield=G nefield=G gtfield=G ltfield=G gtfield=H eqfield=None fieldcontains=G required_with=G required_without=G required_if=G|1 required_if=G required_without=G|H excluded_with=G excluded_if=H|a required_with required_with=None unique=G eqcsfield=G
validate oneof=1|2 oneof=a|b oneof=a|a oneof= oneof=01|2 oneof='a|b'|c omitempty,oneof=1|2 required,oneof=a|b oneof=a|b,oneof=b|c oneof=a|b,oneof=c oneof=abc,len=2 oneof=1.5|2
jsonschema required nullable minLength=2 maxLength=2 minimum=1 maximum=2 minimum=1.5 exclusiveMinimum=1 exclusiveMaximum=2 multipleOf=2 multipleOf=0 multipleOf=0.5 minItems=2 maxItems=1 uniqueItems=true uniqueItems=false pattern=^a format=email enum=1,enum=2 enum=a enum=a,enum=a default=1 default=a default=true example=1 title=T description=D readOnly=true readOnly=yes type=string type=integer type=number unknown=1 words minLength=-1 minLength=x minimum=x nullable,default=1 minimum=2,maximum=1 minLength=3,maxLength=2 minItems=3,maxItems=2 multipleOf=5,minimum=1,maximum=4 multipleOf=5,minimum=1 multipleOf=5,maximum=4 multipleOf=5,minimum=-4,maximum=-1 multipleOf=5,minimum=6,maximum=9 multipleOf=5,minimum=0,maximum=0 multipleOf=5,minimum=1,maximum=5 multipleOf=3,minimum=-5,maximum=-4 minimum=2,maximum=2 exclusiveMinimum=2,maximum=2 exclusiveMinimum=1,exclusiveMaximum=2 minimum=200 required,default=1 oneof_type=string;integer
enum 1,2 a,b 1,1 true ,a a\,b,c 1h,2h
default 1 a true a,b 0 [] {} null 1h 300 "a" 1.5
description D
jsonschema_description D
jsonschema_extras x-a=1 minimum=1 title=T
jsonschema_other 1
min 1
desc D
required true
enums a
yaml a
`

// combinedTags are tags that have to do with each other.
var combinedTags = []string{
	`json:"f,string" validate:"min=2"`, `json:"f,string" default:"1"`, `json:"f,string" enum:"1,2"`, `json:"f,string" validate:"required,oneof=1 2"`, `json:"f,string,omitempty" validate:"omitempty,max=2"`, `json:"f,omitempty" validate:"min=2"`, `json:"f,omitempty" validate:"required_with=G,min=2"`, `json:"f,omitempty" validate:"gtfield=G"`, `json:"f,omitempty" validate:"required"`, `json:"f,omitempty" validate:"dive,min=2"`, `json:"f,omitzero" validate:"unique,min=2"`, `json:"f,omitempty" default:"1" validate:"min=2"`, `json:"f,omitempty" default:"1" validate:"max=2"`, `json:"f" default:"2" validate:"min=2"`, `json:"f" default:"ab" validate:"alpha,len=2"`, `json:"f" default:"a,b" validate:"dive,alpha"`, `json:"f" default:"1,2" validate:"dive,min=2"`,
	`json:"f" enum:"1,2" validate:"min=2"`, `json:"f" enum:"1,2" validate:"min=3"`, `json:"f" enum:"a,b" validate:"len=2"`, `json:"f" enum:"a,b" validate:"oneof=b c"`, `json:"f" default:"a" enum:"a,b"`, `json:"f" default:"c" enum:"a,b"`, `json:"f" enum:"1h,2h" validate:"min=90m"`, `json:"f,omitempty" jsonschema:"nullable" validate:"min=2"`, `json:"f" jsonschema:"nullable" validate:"required"`, `json:"f" jsonschema:"nullable,minimum=2" validate:"eqfield=G"`, `json:"f" description:"D" jsonschema:"description=E"`, `json:"f" description:"D" jsonschema_description:"E"`, `json:"f" desc:"D" description:"E"`, `json:"f" jsonschema:"maxLength=2" validate:"min=3"`, `json:"f" jsonschema:"minimum=2" validate:"max=1"`, `json:"f" jsonschema:"enum=1" enum:"1"`, `json:"f" jsonschema:"default=1" default:"1"`, `json:"f" jsonschema:"uniqueItems=true,enum=a,enum=b,minItems=3"`, `json:"f" jsonschema:"uniqueItems=true,enum=1,enum=2,minItems=2"`, `json:"f" bad`, `json:"f" bad:x`, `json:"f"  validate:"min=2"`,
}

// documentsOf are what is decoded into a field.
var documentsOf = strings.Fields(`null true false 0 1 -1 2 3 4 5 1.0 1.5 2e0 1e2 300 "" "a" "b" "ab" "abc" "aa,b" "a@b.c" "12" "1" "true" "1h" "2024-01-02T03:04:05Z" "2024-01-02" "YWI=" "10.0.0.1" [] [""] ["a"] ["a","a"] ["ab","cd"] ["a","b","c"] [1] [1,2] [1,1] [5,6,7] [0,0.0] [1e1,10] {} {"a":1} {"ab":2} {"a":"b"} {"a":1,"b":2,"c":3} {"a":"","b":1} [{"a":"x"}] [{"a":"x"},{"a":"x","b":1}]`)

// Every tag means for every type what is recorded: the schema, and for which documents the outcome
// is another one than without the tag: what is decoded, or the path and the rule of the first
// problem. What cannot work is an error, in words for whoever wrote the tag.
func TestDeclarationsMeanWhatIsRecorded(t *testing.T) {
	var b strings.Builder
	plain := map[reflect.Type]map[string]string{}
	for _, typ := range append(slices.Clone(declaredTypes), plainTypes...) {
		text, outcomes := declare(typ, "")
		fmt.Fprintf(&b, "%v: %s%s\n", typ, text, listed(outcomes, nil))
		plain[typ] = outcomes
	}
	for line := range strings.Lines(declaredTags) {
		words := strings.Fields(line)
		for _, word := range words[min(len(words), 1):] {
			if strings.Contains(word, "oneof=") || strings.Contains(word, "_if=") || strings.Contains(word, "without=") {
				word = strings.ReplaceAll(word, "|", " ")
			}
			tag := fmt.Sprintf("%s:%q", words[0], word)
			fmt.Fprintf(&b, "\n# %s\n", tag)
			for _, typ := range declaredTypes {
				text, outcomes := declare(typ, tag)
				fmt.Fprintf(&b, "%v: %s%s\n", typ, text, listed(outcomes, plain[typ]))
			}
		}
	}
	for _, tag := range combinedTags {
		fmt.Fprintf(&b, "\n# %s\n", tag)
		for _, typ := range declaredTypes {
			text, outcomes := declare(typ, tag)
			fmt.Fprintf(&b, "%v: %s%s\n", typ, text, listed(outcomes, plain[typ]))
		}
	}
	golden(t, "declared.txt", b.String())
}

// listed lists outcomes with their documents, except those that are the same in others.
func listed(outcomes, others map[string]string) string {
	by := map[string][]string{}
	for doc, what := range outcomes {
		if others[doc] != what {
			if what == doc {
				what = "taken"
			}
			by[what] = append(by[what], doc)
		}
	}
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(by)) {
		slices.Sort(by[what])
		fmt.Fprintf(&b, "; %s: %s", what, strings.Join(by[what], " "))
	}
	return b.String()
}

// declare describes the schema of a field of a type with a tag, and returns what becomes of
// documents.
func declare(typ reflect.Type, tag string) (text string, outcomes map[string]string) {
	if !strings.HasPrefix(tag, "json:") {
		tag = strings.TrimSpace(`json:"f" ` + tag)
	}
	st := reflect.StructOf([]reflect.StructField{
		{Name: "F", Type: typ, Tag: reflect.StructTag(tag)},
		{Name: "G", Type: typ, Tag: `json:"g,omitempty"`},
		{Name: "H", Type: reflectType[string](), Tag: `json:"h,omitempty"`},
	})
	made, err := schema.For(st)
	if err != nil {
		_, text, _ = strings.Cut(err.Error(), `omitempty\"" }: `) // the type is long
		return "! " + text, nil
	}
	var doc struct {
		Properties map[string]json.RawMessage
		Required   []string
	}
	if err := json.Unmarshal(made.JSON(), &doc); err != nil {
		return "! " + err.Error(), nil
	}
	name := "f"
	for other := range doc.Properties {
		if other != "g" && other != "h" {
			name = other
		}
	}
	text = string(doc.Properties[name])
	if name != "f" {
		text = name + " " + text
	}
	if len(doc.Required) > 0 {
		text += " required"
	}
	outcomes = map[string]string{}
	try := func(shown, others string) {
		raw := "{" + strings.TrimPrefix(others, ",") + "}"
		if shown != "" {
			raw = fmt.Sprintf(`{%q:%s%s}`, name, shown, others)
		}
		value := reflect.New(st)
		switch err := made.Decode([]byte(raw), value.Interface()); err := err.(type) {
		case nil:
			got, _ := json.Marshal(value.Elem().Field(0).Interface())
			if string(got) == shown {
				got = []byte(shown + others)
			}
			outcomes[shown+others] = string(got)
		case *schema.Error:
			outcomes[shown+others] = strings.TrimPrefix(err.Problems[0].Path, name) + " " + err.Problems[0].Rule
		default:
			outcomes[shown+others] = err.Error()
		}
	}
	try("", "")
	for _, value := range documentsOf {
		try(value, "")
	}
	for _, other := range []string{`,"g":1`, `,"g":"b"`, `,"h":"a"`} {
		try("", other)
	}
	for _, value := range []string{"1", "2", `"b"`, `"c"`, `[1]`} {
		try(value, `,"g":`+value)
		try(value, `,"h":"a"`)
	}
	return text, outcomes
}

// golden compares a text with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	wantLines, gotLines := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	heading := ""
	for i := range min(len(wantLines), len(gotLines)) {
		if strings.HasPrefix(wantLines[i], "#") {
			heading = wantLines[i]
		}
		require.Equal(t, wantLines[i], gotLines[i], "%s, line %d %s", name, i+1, heading)
	}
	require.Len(t, gotLines, len(wantLines), name)
}
