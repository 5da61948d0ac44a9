// SPDX-License-Identifier: Apache-2.0

// Package difftest compares the schemas of random Go types with what is decoded under them, by an independent validator of
// JSON Schema. It is a module of its own, because of that validator.
package difftest

import (
	"encoding"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

var (
	seed      = flag.Uint64("seed", 0, "the seed of the types and documents; 0 is the time")
	types     = flag.Int("types", 100, "how many random types to compare")
	documents = flag.Int("documents", 50, "how many documents to try with each type")
)

// What the schema accepts is decoded, and what it refuses is refused, except for what docs/validation.md names.
func TestSchemaAndDecoderAgree(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d -types %d -documents %d", *seed, *types, *documents)
	s := &source{Rand: rand.New(rand.NewPCG(*seed, 0))}
	var count tally
	failures := 0
	for count.types < *types && failures < 10 {
		typ := s.structType()
		if s.IntN(10) == 0 {
			typ = s.typ()
		}
		made, err := schema.For(typ)
		if err != nil {
			count.refused++
			continue
		}
		count.types++
		c := newCase(t, typ, made)
		w := &writer{source: s, root: c.doc}
		for range *documents {
			if err := c.compare(w.document(made.JSON()), &count); err != nil {
				t.Errorf("-seed %d: %v\nschema: %s\n%v", *seed, typ, made.JSON(), err)
				failures++
				break
			}
		}
	}
	t.Logf("%+v", count)
	require.Greater(t, count.accepted, *types**documents/10, "too few documents are valid")
	require.Greater(t, count.rejected, *types**documents/10, "too few documents are invalid")
}

// Whatever a document has in fields that the schema calls optional may be left out, or null, if no rule asks for its presence.
func TestOptionalFieldsMayBeLeftOut(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	s := &source{Rand: rand.New(rand.NewPCG(*seed, 1))}
	left := 0
	for made := 0; made < *types; {
		typ := s.structType()
		m, err := schema.For(typ)
		if err != nil {
			continue
		}
		made++
		c := newCase(t, typ, m)
		w := &writer{source: s, root: c.doc}
		for range *documents / 5 {
			text := w.document(m.JSON())
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
			if _, isObject := value.(map[string]any); err != nil || !isObject || m.Decode([]byte(text), reflect.New(typ).Interface()) != nil {
				continue
			}
			for _, shorter := range c.shorter(c.doc, value, nil) {
				left++
				require.NoError(t, c.leaves(shorter), "-seed %d: %v\nschema: %s\ndecoded: %s", *seed, typ, m.JSON(), text)
			}
		}
	}
	t.Logf("-seed %d: %d fields left out", *seed, left)
	require.Greater(t, left, *types)
}

// leaves decodes a document in which a field was left out. Rules about presence may refuse that.
func (c *subject) leaves(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	err = c.made.Decode(text, reflect.New(c.typ).Interface())
	var problems *schema.Error
	if !errors.As(err, &problems) {
		return err
	}
	for _, p := range problems.Problems {
		equal := strings.HasPrefix(p.Rule, "unique") // without what distinguished them
		if !equal && !strings.HasPrefix(p.Rule, "required_") && !strings.HasPrefix(p.Rule, "excluded_") {
			return fmt.Errorf("without a field: %s: %w", text, err)
		}
	}
	return nil
}

// shorter returns copies of a value of s that lack one optional field, or have null there. rebuild puts a part in its place.
func (c *subject) shorter(s map[string]any, value any, rebuild func(any) any) (list []any) {
	if rebuild == nil {
		rebuild = func(v any) any { return v }
	}
	s = c.follow(s)
	switch v := value.(type) {
	case []any:
		items, _ := s["items"].(map[string]any)
		for i := range v {
			list = append(list, c.shorter(items, v[i], func(part any) any {
				other := slices.Clone(v)
				other[i] = part
				return rebuild(other)
			})...)
		}
	case map[string]any:
		properties, _ := s["properties"].(map[string]any)
		for name, inner := range v {
			property, declared := properties[name].(map[string]any)
			if !declared {
				property, _ = s["additionalProperties"].(map[string]any)
			}
			with := func(part any) any {
				other := maps.Clone(v)
				other[name] = part
				return rebuild(other)
			}
			if declared && !isRequired(s, name) {
				without := maps.Clone(v)
				delete(without, name)
				list = append(list, rebuild(without), with(nil))
			}
			list = append(list, c.shorter(property, inner, with)...)
		}
	}
	return list
}

type tally struct{ types, refused, accepted, rejected, lenient, strict int }

// subject is a type under test.
type subject struct {
	typ      reflect.Type
	made     *schema.Type
	doc      map[string]any
	compiled *jsonschema.Schema
}

func newCase(t *testing.T, typ reflect.Type, made *schema.Type) *subject {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(made.JSON())))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("schema.json", doc), "%v: %s", typ, made.JSON())
	compiled, err := compiler.Compile("schema.json")
	require.NoError(t, err, "%v: %s", typ, made.JSON())
	return &subject{typ, made, doc.(map[string]any), compiled}
}

// compare returns an error if the schema and the decoder disagree about a document in a way that has no name.
func (c *subject) compare(text string, count *tally) error {
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return fmt.Errorf("the document %s: %w", text, err)
	}
	if value == nil { // no arguments are an empty object
		value = map[string]any{}
	}
	refused := c.compiled.Validate(value)
	target := reflect.New(c.typ)
	failed := c.made.Decode([]byte(text), target.Interface())
	var problems *schema.Error
	switch {
	case failed != nil && !errors.As(failed, &problems):
		return fmt.Errorf("a mistake in the program for %s: %w", text, failed)
	case refused == nil && failed == nil:
		count.accepted++
	case refused != nil && failed != nil:
		count.rejected++
	case failed == nil:
		if left := c.compiled.Validate(c.withoutNulls(c.doc, value)); left != nil {
			return fmt.Errorf("the schema refuses %s, which is decoded: %w", text, left)
		}
		count.lenient++
	default:
		for _, p := range problems.Problems {
			if !c.named(p) {
				return fmt.Errorf("the schema accepts %s, but the decoder says (%s) %v", text, p.Rule, p)
			}
		}
		count.strict++
	}
	return nil
}

// withoutNulls leaves out the fields that are null although they may be absent. null means absent there.
func (c *subject) withoutNulls(s map[string]any, value any) any {
	s = c.follow(s)
	switch v := value.(type) {
	case []any:
		items, _ := s["items"].(map[string]any)
		list := make([]any, len(v))
		for i := range v {
			list[i] = c.withoutNulls(items, v[i])
		}
		return list
	case map[string]any:
		object := map[string]any{}
		for name, inner := range v {
			properties, _ := s["properties"].(map[string]any)
			property, declared := properties[name].(map[string]any)
			if inner == nil && declared && !isRequired(s, name) {
				continue
			}
			if !declared {
				property, _ = s["additionalProperties"].(map[string]any)
			}
			object[name] = c.withoutNulls(property, inner)
		}
		return object
	}
	return value
}

func isRequired(s map[string]any, name string) bool {
	required, _ := s["required"].([]any)
	for _, r := range required {
		if r == name {
			return true
		}
	}
	return false
}

// follow follows references, and leads from a schema that allows null to that of the other values.
func (c *subject) follow(s map[string]any) map[string]any {
	for {
		if ref, ok := s["$ref"].(string); ok {
			s = c.doc["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
			continue
		}
		if list, ok := s["anyOf"].([]any); ok && len(list) == 2 && reflect.DeepEqual(list[1], map[string]any{"type": "null"}) {
			s = list[0].(map[string]any)
			continue
		}
		return s
	}
}

// other reports whether the value at a path of a problem has another form in Go than in JSON: it is base64, or in a string
// because of the json option, or its type decodes itself. The schema describes the form in JSON, and validate tags are about
// the value in Go.
func other(t reflect.Type, path string) bool {
	t = pointee(t)
	switch {
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()), reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()),
		t == reflect.TypeFor[time.Duration](), t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return true
	case path == "":
		return false
	case path[0] == '[':
		for i := 1; i < len(path); i++ { // keys may have brackets
			if path[i] == ']' && isList(t) && (other(t.Elem(), path[i+1:]) || t.Kind() == reflect.Map && i == len(path)-1 && other(t.Key(), "")) {
				return true
			}
		}
		return false
	case t.Kind() != reflect.Struct:
		return false
	}
	path = strings.TrimPrefix(path, ".")
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && other(f.Type, path) {
			return true
		}
		rest, ok := strings.CutPrefix(path, name)
		if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
			continue
		}
		if rest == "" && strings.Contains(options, "string") || other(f.Type, rest) {
			return true
		}
	}
	return false
}

func isList(t reflect.Type) bool {
	return t.Kind() == reflect.Map || t.Kind() == reflect.Slice || t.Kind() == reflect.Array
}

var integerKey = regexp.MustCompile(`\[-?[0-9]+\]$`)

// named reports whether the decoder may refuse for a reason that the schema does not give.
func (c *subject) named(p schema.Problem) bool {
	rule, _, _ := strings.Cut(p.Rule, "=")
	switch rule {
	case "format", "contentEncoding": // annotations, which Go's parsers check
		return true
	case "ne", "excludes", "lowercase", "email", "ip", "uuid", "datetime", "ipv4|ipv6", "cidr", "semver", "url", "ascii":
		return true
	case "eqfield", "nefield", "gtfield", "gtefield", "ltefield", "required_with", "required_without", "excluded_with", "excluded_without":
		return true
	}
	path := p.Path
	if c.made.Wrapped() {
		path = strings.TrimPrefix(path, "value")
	}
	// A number or a key of a map may be out of the range of its type.
	number := p.Value != "" && strings.Contains("-0123456789", p.Value[:1]) || p.Value == "" && integerKey.MatchString(path)
	return other(c.typ, path) || rule == schema.RuleDecode && number || rule == "unique" && strings.HasPrefix(p.Value, "{") || rule == "required" && p.Value == "null"
}
