// SPDX-License-Identifier: Apache-2.0

package difftest

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"strings"
	"time"
)

// source makes random types. reflect.StructOf cannot make types that embed, that have names or methods, or that recur; those
// are declared below and used as parts.
type source struct {
	*rand.Rand
	depth int
}

// Base is embedded.
type Base struct {
	ID    string `json:"id" validate:"required,max=8"`
	Level int    `json:"level,omitempty" validate:"min=1"`
}

// Span is embedded as a pointer.
type Span struct {
	From  int    `json:"from,omitempty" validate:"min=2,max=9"`
	Until *int   `json:"until,omitempty" validate:"gtefield=From"`
	Unit  string `json:"unit,omitempty" default:"m" enum:"m,km"`
}

// Embedder embeds a struct and a pointer to one, and hides one of their fields.
type Embedder struct {
	Base
	*Span
	Level float64 `json:"-"`
	Own   []Base  `json:"own" validate:"max=3"`
}

// Tree recurs.
type Tree struct {
	Name  string          `json:"name" validate:"required"`
	Left  *Tree           `json:"left,omitempty"`
	Kids  []Tree          `json:"kids,omitempty" validate:"max=2"`
	Named map[string]Tree `json:"named,omitempty"`
	Wait  time.Duration   `json:"wait,omitzero" validate:"lte=1h"`
}

// Color is read from text.
type Color string

// UnmarshalText accepts some colors.
func (c *Color) UnmarshalText(text []byte) error {
	if s := string(text); s != "red" && s != "green" && s != "a" {
		return fmt.Errorf("no color %q", s)
	}
	*c = Color(text)
	return nil
}

// Point decodes itself.
type Point struct{ X, Y int }

// UnmarshalJSON reads a list.
func (p *Point) UnmarshalJSON(text []byte) error {
	var xy [2]int
	err := json.Unmarshal(text, &xy)
	p.X, p.Y = xy[0], xy[1]
	return err
}

// Named types of the kinds that have schemas.
type (
	Word        string
	Count       int16
	Ratio       float32
	Words       []Word
	Page[T any] struct {
		Items []T    `json:"items" validate:"min=1"`
		Next  string `json:"next,omitempty" validate:"alphanum"`
	}
)

// declared are types that are parts as they are.
var declared = []reflect.Type{
	reflect.TypeFor[Base](), reflect.TypeFor[Embedder](), reflect.TypeFor[Tree](), reflect.TypeFor[Page[Base]](), reflect.TypeFor[Page[Word]](),
	reflect.TypeFor[Color](), reflect.TypeFor[Point](), reflect.TypeFor[Word](), reflect.TypeFor[Count](), reflect.TypeFor[Ratio](), reflect.TypeFor[Words](),
	reflect.TypeFor[netip.Addr](), reflect.TypeFor[big.Int](), reflect.TypeFor[json.RawMessage](), reflect.TypeFor[json.Number](), reflect.TypeFor[any](),
	reflect.TypeFor[time.Time](), reflect.TypeFor[time.Duration](), reflect.TypeFor[time.Duration](), reflect.TypeFor[[]byte](),
}

var kinds = []reflect.Type{
	reflect.TypeFor[string](), reflect.TypeFor[string](), reflect.TypeFor[string](), reflect.TypeFor[int](), reflect.TypeFor[int](), reflect.TypeFor[bool](),
	reflect.TypeFor[int8](), reflect.TypeFor[int16](), reflect.TypeFor[int32](), reflect.TypeFor[int64](), reflect.TypeFor[uint](), reflect.TypeFor[uint8](),
	reflect.TypeFor[uint16](), reflect.TypeFor[uint64](), reflect.TypeFor[float32](), reflect.TypeFor[float64](), reflect.TypeFor[float64](),
}

var keyTypes = []reflect.Type{
	reflect.TypeFor[string](), reflect.TypeFor[Word](), reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[uint16](), reflect.TypeFor[Color](),
}

func pick[T any](s *source, list []T) T { return list[s.IntN(len(list))] }

// typ returns a random type.
func (s *source) typ() reflect.Type {
	s.depth++
	defer func() { s.depth-- }()
	if s.depth > 4 {
		return pick(s, kinds)
	}
	switch n := s.IntN(20); {
	case n < 8:
		return pick(s, kinds)
	case n < 11:
		return pick(s, declared)
	case n < 13:
		return reflect.PointerTo(s.typ())
	case n < 15:
		return reflect.SliceOf(s.typ())
	case n < 16:
		return reflect.ArrayOf(1+s.IntN(3), s.typ())
	case n < 18:
		return reflect.MapOf(pick(s, keyTypes), s.typ())
	}
	return s.structType()
}

// structType returns a random struct type.
func (s *source) structType() reflect.Type {
	fields := make([]reflect.StructField, 1+s.IntN(5))
	for i := range fields {
		t := s.typ()
		tag := `json:"` + s.name(i) + s.options(t) + `"`
		for _, more := range []string{s.validate(t, i), s.keywords(t), s.choices(t)} {
			if more != "" {
				tag += " " + more
			}
		}
		fields[i] = reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: t, Tag: reflect.StructTag(tag)}
	}
	return reflect.StructOf(fields)
}

func (s *source) name(i int) string {
	return string(rune('a'+i)) + []string{"", "", "", "x", "-y", ".z", "é"}[s.IntN(7)]
}

func (s *source) options(t reflect.Type) string {
	switch s.IntN(10) {
	case 0, 1, 2, 3:
		return ",omitempty"
	case 4:
		return ",omitzero"
	case 5:
		if kind := pointee(t).Kind(); kind != reflect.Struct && kind != reflect.Slice && t.PkgPath() == "" && pointee(t).PkgPath() == "" {
			return []string{",string", ",omitempty,string"}[s.IntN(2)]
		}
	}
	return ""
}

func pointee(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// validate returns a validate tag for a type, or nothing.
func (s *source) validate(t reflect.Type, i int) string {
	if s.IntN(5) < 2 {
		return ""
	}
	rules := s.rules(t, 0)
	if i > 0 && s.IntN(8) == 0 {
		other := fmt.Sprintf("F%d", s.IntN(i))
		rules = append(rules, pick(s, []string{"eqfield=", "nefield=", "gtfield=", "ltefield=", "required_with=", "required_without=", "excluded_with=", "excluded_without="})+other)
	}
	if len(rules) == 0 {
		return ""
	}
	return `validate:"` + strings.Join(rules, ",") + `"`
}

var (
	stringRules = []string{
		"min=2", "max=4", "len=3", "gt=1", "lt=5", "eq=aa", "ne=a", "oneof=a bb ccc", "oneof=a 'b b'", "alpha", "alphanum", "numeric", "number",
		"hexadecimal", "startswith=a", "endswith=b", "contains=a", "excludes=z", "lowercase", "email", "ip", "uuid", "datetime=2006-01-02", "ipv4|ipv6",
		"cidr", "semver", "url", "e164", "ascii",
	}
	numberRules   = []string{"min=2", "max=100", "gte=-3", "lte=7", "gt=0", "lt=50", "eq=5", "ne=3", "len=4", "min=1,max=3", "min=5,gte=3"}
	sizeRules     = []string{"min=1", "max=2", "len=2", "gt=0", "lt=4", "gte=1,lte=2", "unique"}
	durationRules = []string{"min=1s", "max=1h", "gt=0", "lte=90m", "min=1m,max=2h"}
)

// rules returns random rules that fit a type.
func (s *source) rules(t reflect.Type, depth int) (rules []string) {
	add := func(list []string) {
		for range 1 + s.IntN(2) {
			rules = append(rules, pick(s, list))
		}
	}
	if s.IntN(4) == 0 {
		rules = append(rules, "required")
	} else if s.IntN(4) == 0 {
		rules = append(rules, "omitempty")
	}
	switch t := pointee(t); {
	case t == reflect.TypeFor[time.Duration]():
		add(durationRules)
	case t == reflect.TypeFor[json.Number](), t == reflect.TypeFor[json.RawMessage]():
	case t.Kind() == reflect.String:
		add(stringRules)
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64, t.Kind() == reflect.Float32, t.Kind() == reflect.Float64:
		add(numberRules)
	case t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uint64:
		rules = append(rules, pick(s, []string{"min=2", "max=100", "oneof=1 2 300", "oneof=5 6", "ne=3"}))
	case t.Kind() == reflect.Slice, t.Kind() == reflect.Array, t.Kind() == reflect.Map:
		add(sizeRules)
		if depth < 2 && s.IntN(2) == 0 {
			inner := s.rules(t.Elem(), depth+1)
			if t.Kind() == reflect.Map && t.Key().Kind() == reflect.String && s.IntN(3) == 0 {
				inner = append([]string{"keys", pick(s, []string{"alpha", "max=3", "required", "oneof=a b", "startswith=a"}), "endkeys"}, inner...)
			}
			rules = append(append(rules, "dive"), inner...)
		}
	}
	return rules
}

// keywords returns a jsonschema tag for a type, or nothing.
func (s *source) keywords(t reflect.Type) string {
	if s.IntN(4) > 0 {
		return ""
	}
	var words []string
	switch t := pointee(t); {
	case s.IntN(8) == 0:
		words = []string{"nullable"}
	case s.IntN(8) == 0:
		words = []string{"required"}
	case t == reflect.TypeFor[any]():
		words = []string{pick(s, []string{"type=string", "oneof_type=string;integer", "anyof_type=string;integer", "oneof_type=number;integer"})}
	case t.PkgPath() != "":
	case t.Kind() == reflect.String:
		words = []string{pick(s, []string{"minLength=2", "maxLength=3", "pattern=^[a-z]+$", "enum=a,enum=b", "title=T"})}
	case t.Kind() == reflect.Int || t.Kind() == reflect.Float64:
		words = []string{pick(s, []string{"minimum=2", "maximum=9", "exclusiveMinimum=1", "exclusiveMaximum=8", "multipleOf=3", "enum=1,enum=4"})}
	case t.Kind() == reflect.Float32:
		words = []string{"multipleOf=0.1"}
	case t.Kind() == reflect.Slice:
		words = []string{pick(s, []string{"minItems=1", "maxItems=2", "uniqueItems=true"})}
	}
	if words == nil {
		return ""
	}
	return `jsonschema:"` + strings.Join(words, ",") + `"`
}

// choices returns an enum or default tag for a type, or nothing.
func (s *source) choices(t reflect.Type) string {
	enum := s.IntN(2) == 0
	tag := func(list, value string) string {
		if enum {
			return `enum:"` + list + `"`
		}
		return `default:"` + value + `"`
	}
	if s.IntN(5) > 0 {
		return ""
	}
	switch t := pointee(t); {
	case t == reflect.TypeFor[time.Duration]():
		return tag("1s,5m,1h", "5m")
	case t == reflect.TypeFor[Color]():
		return tag("red,green", "red")
	case t.PkgPath() != "":
	case t.Kind() == reflect.String:
		return tag("a, bb,aab", "aab")
	case t.Kind() == reflect.Bool:
		return tag("true", "true")
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64:
		return tag("2,3,5", "3")
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Int:
		return tag("1,2", "1,2")
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String:
		return tag("a,bb", `[\"a\"]`)
	case t.Kind() == reflect.Map && t.Elem().Kind() == reflect.Int:
		return `default:"{}"`
	}
	return ""
}
