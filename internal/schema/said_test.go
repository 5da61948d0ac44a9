// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/ponte-go/ponte/internal/schema"
)

// order has a field of every kind that rules are about.
type order struct {
	ID     string            `json:"id" validate:"required,len=3"`
	Lines  []orderLine       `json:"lines" validate:"required,min=1,max=2"`
	Total  float64           `json:"total" validate:"gt=0,lte=100"`
	Kind   string            `json:"kind" validate:"oneof=a b"`
	When   time.Time         `json:"when"`
	Wait   time.Duration     `json:"wait,omitempty" validate:"omitempty,min=1s,max=1h"`
	Blob   []byte            `json:"blob,omitempty"`
	Tags   []string          `json:"tags,omitempty" validate:"unique"`
	Sizes  map[string]int8   `json:"sizes,omitempty" validate:"max=2,dive,keys,alpha,endkeys,min=1"`
	Names  map[int8]string   `json:"names,omitempty"`
	Count  *uint8            `json:"count"`
	Any    any               `json:"any,omitempty"`
	Email  string            `json:"email,omitempty" validate:"omitempty,email"`
	Quoted int               `json:"quoted,string,omitempty"`
	Step   int               `json:"step" jsonschema:"multipleOf=3,default=3,exclusiveMinimum=-9,exclusiveMaximum=9"`
	Code   string            `json:"code,omitempty" jsonschema:"pattern=^[a-z]+$,minLength=2,maxLength=4"`
	Color  *color            `json:"color,omitempty"`
	After  int               `json:"after,omitempty" validate:"omitempty,gtfield=Step"`
	With   string            `json:"with,omitempty" validate:"required_with=Email"`
	Meta   map[string]string `json:"meta,omitempty"`
}

type orderLine struct {
	Article string `json:"article" validate:"required"`
	Number  int    `json:"number" validate:"min=1"`
}

const orderText = `{"id":"abc","lines":[{"article":"x","number":2}],"total":1.5,"kind":"a","when":"2024-01-02T03:04:05Z","wait":"1m","blob":"YWI=","tags":["p","q"],"sizes":{"k":1},"names":{"7":"n"},"count":null,"any":[{"deep":true}],"email":"a@b.c","quoted":"12","step":6,"code":"abc","color":"red","after":7,"with":"w","meta":{"m":""}}`

// combination has schemas for the same value, which a type makes itself.
type combination struct {
	All  json.RawMessage `json:"all"`
	Any  json.RawMessage `json:"any"`
	One  json.RawMessage `json:"one"`
	None json.RawMessage `json:"none"`
}

func (combination) JSONSchema() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: &jsonschema.Schema{Type: "boolean"}, MinProperties: new(uint64(1)), MaxProperties: new(uint64(3)), PropertyNames: &jsonschema.Schema{MaxLength: new(uint64(4))}}
	object := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), Required: []string{"a"}}
	object.Properties.Set("a", &jsonschema.Schema{Type: "string", MinLength: new(uint64(2))})
	small, even, text := &jsonschema.Schema{Type: "integer", Maximum: "9"}, &jsonschema.Schema{Type: "integer", MultipleOf: "2"}, &jsonschema.Schema{Type: "string", MaxLength: new(uint64(2))}
	s.Properties.Set("all", &jsonschema.Schema{AllOf: []*jsonschema.Schema{small, even}})
	s.Properties.Set("any", &jsonschema.Schema{AnyOf: []*jsonschema.Schema{text, small, object}})
	s.Properties.Set("one", &jsonschema.Schema{OneOf: []*jsonschema.Schema{small, even, {Type: "array", Items: text}}})
	s.Properties.Set("none", &jsonschema.Schema{Not: &jsonschema.Schema{Enum: []any{1, "x", nil, true}}})
	return s
}

// What is wrong with a document is said in words that are recorded, whatever is wrong with it: each
// token of a good one is left out, written twice and replaced.
func TestWhatIsSaidOfDocumentsIsRecorded(t *testing.T) {
	var b strings.Builder
	say := func(made *schema.Type, typ reflect.Type, doc string) {
		fmt.Fprintf(&b, "%s\n\t%s\n", doc, said(made, typ, doc))
	}
	typ := reflectType[order]()
	made := typeFor[order](t)
	tokens := tokensOf(orderText)
	text := func(tokens []string) string { return strings.Join(tokens, "") }
	for i, token := range tokens {
		fmt.Fprintf(&b, "\n# %s at %d\n", token, i)
		for _, with := range []string{"", token + token, token + "," + token, "null", "true", `"x"`, "-1", "1e99", "{}", "[]", `["x","x"]`, `{"x":1}`} {
			doc := text(tokens[:i]) + with + text(tokens[i+1:])
			fmt.Fprintf(&b, "%s: %s\n", with, said(made, typ, doc))
		}
	}
	b.WriteString("\n# others\n")
	say(made, typ, orderText)
	for _, doc := range []string{"", " ", "null", "{}", "[]", "1", `"x"`, "{} {}", `{"ID":"abc"}`, `{"ids":"abc"}`, `{"kind":"ab"}`, strings.Repeat("[", 513), `{"any":` + strings.Repeat("[", 511) + strings.Repeat("]", 511) + "}", `{"any":` + strings.Repeat("[", 512) + strings.Repeat("]", 512) + "}"} {
		say(made, typ, doc)
	}
	for _, wait := range []string{"1s", "999ms", "1h", "1h1ns", "0s", "", "1", "-1m", "300000h", "2562047h48m"} {
		say(made, typ, strings.Replace(orderText, `"1m"`, `"`+wait+`"`, 1))
	}
	for _, step := range []string{"-9", "-6", "0", "3", "9", "6.0", "60e-1", "6.5", "null", "4", "12"} {
		say(made, typ, strings.Replace(orderText, `"step":6`, `"step":`+step, 1))
	}
	for _, count := range []string{"0", "255", "256", "-1", "2.55e2", "1e3", "0.5"} {
		say(made, typ, strings.Replace(orderText, `"count":null`, `"count":`+count, 1))
	}
	for _, code := range []string{"a", "ab", "abcd", "abcde", "ABC", "äö", ""} {
		say(made, typ, strings.Replace(orderText, `"code":"abc"`, `"code":"`+code+`"`, 1))
	}
	for _, n := range []int{79, 80, 81} {
		for _, letter := range []string{"x", "é", "€", "😀", "\\n"} {
			say(made, typ, strings.Replace(orderText, `"abc"`, `"`+strings.Repeat("x", n-2-len(letter))+letter+`"`, 1))
			say(made, typ, strings.Replace(orderText, `"abc"`, `"`+strings.Repeat("x", n)+letter+strings.Repeat("y", n-3), 1)[:n+94])
		}
	}
	combined := typeFor[combination](t)
	for _, field := range []string{"all", "any", "one", "none"} {
		for _, value := range []string{"1", "2", "10", "11", `"x"`, `"xyz"`, "null", "true", "{}", `{"a":"b"}`, `{"a":"bc"}`, "[]", `["x"]`, `["xyz",1]`} {
			say(combined, reflectType[combination](), fmt.Sprintf(`{%q:%s}`, field, value))
		}
	}
	for _, doc := range []string{"{}", `{"x":true}`, `{"x":1}`, `{"wordy":true}`, `{"a":true,"b":true,"c":true}`, `{"a":true,"b":true,"c":true,"d":true}`} {
		say(combined, reflectType[combination](), doc)
	}
	golden(t, "said.txt", b.String())
}

// said returns what decoding a document says, or what is decoded.
func said(made *schema.Type, typ reflect.Type, doc string) string {
	value := reflect.New(typ)
	switch err := made.Decode([]byte(doc), value.Interface()); err := err.(type) {
	case nil:
		got, _ := schema.Marshal(value.Elem().Interface())
		if slices.Contains([]string{orderText, doc}, string(got)) {
			return "taken"
		}
		return "taken as " + string(got)
	case *schema.Error:
		var rules []string
		for _, p := range err.Problems {
			rules = append(rules, p.Rule)
		}
		text := strings.ReplaceAll(err.Prompt(), "\n", " / ")
		if text != strings.ReplaceAll(err.Error(), "; ", " / ") {
			text += " (" + err.Error() + ")"
		}
		if err.Incomplete() {
			text += " (incomplete)"
		}
		return strings.Join(rules, ",") + ": " + text
	default:
		return "program: " + err.Error()
	}
}

// tokensOf returns the tokens of a compact JSON text.
func tokensOf(text string) []string {
	var tokens []string
	d := json.NewDecoder(strings.NewReader(text))
	at := 0
	for {
		if _, err := d.Token(); err != nil {
			return tokens
		}
		end := int(d.InputOffset())
		for at < end && strings.ContainsRune(",:", rune(text[at])) {
			tokens = append(tokens, text[at:at+1])
			at++
		}
		tokens = append(tokens, text[at:end])
		at = end
	}
}

const syntaxText = `{"s":"a\n\u00e9\"","n":-10.5e+3,"t":true,"f":false,"z":null,"l":[1,[2],{}],"o":{"k":"v"}}`

// Whatever is wrong with the characters of a text is said, what can only have been meant is
// repaired, and of a text that has not come to its end the values so far are decoded.
func TestWhatIsSaidOfBrokenTextsIsRecorded(t *testing.T) {
	var b strings.Builder
	made := typeFor[map[string]any](t)
	always := func([]byte) bool { return true }
	tell := func(what, text string) {
		var value map[string]any
		_, says, _ := strings.Cut(said(typeFor[any](t), reflectType[any](), `{"value":`+text+`}`), ": ")
		if rest, err := schemaRaw(text); err == nil {
			says = "valid: " + rest
		}
		fmt.Fprintf(&b, "%s: %s\n", what, says)
		for _, complete := range []bool{false, true} {
			if fixed, ok := schema.Repair([]byte(text), complete, always); ok {
				fmt.Fprintf(&b, "\trepaired (%t): %s\n", complete, fixed)
			}
		}
		if fixed := schema.Repaired([]byte(text)); fixed != nil {
			fmt.Fprintf(&b, "\tplainly: %s\n", fixed)
		}
		made.DecodePartial([]byte(`{"value":`+text+`}`), &value)
		if len(value) > 0 {
			got, _ := json.Marshal(value)
			fmt.Fprintf(&b, "\tin part: %s\n", got)
		}
	}
	for i := range len(syntaxText) {
		fmt.Fprintf(&b, "\n# %s\n", syntaxText[i:])
		tell("without", syntaxText[:i]+syntaxText[i+1:])
		tell("cut off", syntaxText[:i])
		for _, c := range []string{"x", "\x01", " ", "0", `"`, "}", "]", ","} {
			tell(fmt.Sprintf("after %q", c), syntaxText[:i]+c+syntaxText[i:])
		}
	}
	b.WriteString("\n# others\n")
	for _, text := range []string{
		"```json\n{\"a\":1}\n```", "```\n{}\n```", "```json\n{\"a\":1,}\n", "```json {}```", "```true```", "```json5\n{}```", "```{}```", "``` {}", "  {\"a\":[1,2,]}  ", "{,}", "[,]", "[1,,2]", "{\"a\":1,,}", "1,", "{}{}", "{\"a\":{\"b\":[1", "{\"a\":{\"b\":[\"1\"", "[[[[[[[[\"a\"", "[[[[[[[[[\"a\"", "{\"a\":[{\"b\":1},{\"b\":2]}", "{\"a\":{\"b\":1,\"c\":2}", "{\"a\":[1,{\"b\":2}", "[{\"a\":1},{\"a\":2]", "[\"a\",[\"b\"]", "{\"a\":1 \"b\":2}", "{\"a\" 1}", "{1:2}", "tru", "nul", "fals", "-", "1.", "1e", "01", "+1", ".5", "1e+", "\"\\x\"", "\"\\u12g4\"", "\"\\u00e", "\"a\nb\"", "", " ", "[1", "```json\n[1```", "```json\n[1,2\n```",
	} {
		tell(fmt.Sprintf("%q", text), text)
	}
	golden(t, "broken.txt", b.String())
}

// schemaRaw decodes and encodes a text.
func schemaRaw(text string) (string, error) {
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return "", err
	}
	raw, err := json.Marshal(value)
	return string(raw), err
}
