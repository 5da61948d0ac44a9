// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/invopop/jsonschema"
)

// maxSchemas limits the number of schemas within one type. Types are inlined, so a few structs that contain each
// other many times could otherwise produce a document too large for any model.
const maxSchemas = 4000

var (
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
	numberType   = reflect.TypeFor[json.Number]()

	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// builder builds the schema of one Go type. It sees the type as encoding/json does, which decodes the text later.
// The jsonschema package reads the keywords of jsonschema tags.
type builder struct {
	open  []reflect.Type          // named types being built, outermost first
	names map[reflect.Type]string // recursive types and their names in defs
	defs  jsonschema.Definitions
	// leaves has the schemas of values that Go decodes in one step.
	leaves map[*jsonschema.Schema]leaf
	// fields has the fields that JSON can fill, by struct and Go name.
	fields map[reflect.Type]map[string]presence
	// defaults has the fields with a default, by the schema of their struct.
	defaults map[*jsonschema.Schema][]*field
	count    int
}

// leaf describes how Go decodes the values of a schema.
type leaf struct {
	goType reflect.Type
	// custom is set if the Go value differs from the JSON value: the type decodes itself, or a string holds base64 or,
	// with the ,string option, another literal. Validate tags then do not apply to the JSON value.
	custom bool
	quoted bool         // the ,string option
	key    reflect.Type // of the keys of a map
}

// typeError reports a Go type that has no schema.
type typeError struct {
	path string // Go field names from the root
	msg  string
	next error // another problem of the type, or nil
}

func (e *typeError) Error() string {
	text := e.msg
	if e.path != "" {
		text = "field " + e.path + ": " + text
	}
	if e.next != nil {
		text += "; " + e.next.Error()
	}
	return text
}

// also adds a problem, which may be nil, to an error, which may be nil too.
func also(err, problem error) error {
	if err == nil {
		return problem
	}
	if e, ok := err.(*typeError); ok {
		e.next = also(e.next, problem)
	}
	return err
}

// errorf is not inlined, because it has many callers in code that runs once per type.
//
//go:noinline
func errorf(format string, args ...any) error {
	return &typeError{msg: fmt.Sprintf(format, args...)}
}

// within prepends a step to the paths of a typeError. It is not inlined for the same reason as errorf.
//
//go:noinline
func within(step string, err error) error {
	e, ok := err.(*typeError)
	if !ok {
		return err
	}
	sep := "."
	if e.path == "" || e.path[0] == '[' {
		sep = ""
	}
	e.path, e.next = step+sep+e.path, within(step, e.next)
	return e
}

func newBuilder() *builder {
	return &builder{
		names:  map[reflect.Type]string{},
		defs:   jsonschema.Definitions{},
		leaves: map[*jsonschema.Schema]leaf{},

		fields:   map[reflect.Type]map[string]presence{},
		defaults: map[*jsonschema.Schema][]*field{},
	}
}

// build returns the schema of t, which always describes an object. It reports whether t had to be
// wrapped.
func (b *builder) build(t reflect.Type) (root *jsonschema.Schema, wrapped bool, err error) {
	root, err = b.schemaOf(t)
	if err != nil {
		return nil, false, err
	}
	if name, ok := b.names[t]; ok {
		copied := *b.defs[name]
		root = &copied
		b.defaults[root] = b.defaults[b.defs[name]]
	}
	if root.Type != "object" || root.Properties == nil {
		if name, ok := b.names[t]; ok {
			root = reference(name)
		}
		wrapped = true
		value := root
		root = &jsonschema.Schema{Type: "object", Description: wrapperNote, Properties: jsonschema.NewProperties(), Required: []string{wrapperField}}
		root.Properties.Set(wrapperField, value)
	}
	if root.AdditionalProperties == nil {
		root.AdditionalProperties = jsonschema.FalseSchema
	}
	if len(b.defs) > 0 {
		root.Definitions = b.defs
	}
	return root, wrapped, nil
}

// schemaOf returns a schema of t. The caller may add to it.
func (b *builder) schemaOf(t reflect.Type) (*jsonschema.Schema, error) {
	if b.count++; b.count > maxSchemas {
		return nil, errorf("the schema has more than %d parts", maxSchemas)
	}
	if t = pointee(t); t.Kind() == reflect.Pointer {
		return nil, errorf("%v points only to pointers", t)
	}
	if s, err := b.selfMade(t); s != nil || err != nil {
		return s, err
	}
	if t.Name() == "" {
		return b.composite(t)
	}
	if name, ok := b.names[t]; ok {
		return reference(name), nil
	}
	if slices.Contains(b.open, t) {
		b.names[t] = b.defName(t)
		return reference(b.names[t]), nil
	}
	b.open = append(b.open, t)
	s, err := b.composite(t)
	b.open = b.open[:len(b.open)-1]
	if err != nil {
		return nil, err
	}
	if name, ok := b.names[t]; ok {
		b.defs[name] = s
		if path, is := b.endless(s, map[*jsonschema.Schema]bool{}); is {
			return nil, errorf("each %v must have another one in %s, so none has an end; "+
				"make it optional",
				t, strings.TrimPrefix(path, "."))
		}
		return reference(name), nil
	}
	return s, nil
}

// pointee follows pointers and returns the type they lead to. It stops at a pointer type that
// points to itself.
func pointee(t reflect.Type) reflect.Type {
	for n := 0; t.Kind() == reflect.Pointer && n < 8; n++ {
		t = t.Elem()
	}
	return t
}

// selfMade returns the schema of a type that is not decoded by its kind. It returns nil for other types.
func (b *builder) selfMade(t reflect.Type) (*jsonschema.Schema, error) {
	var s *jsonschema.Schema
	ptr := reflect.PointerTo(t)
	switch {
	case ptr.Implements(reflect.TypeFor[schemer]()):
		s = tidy(reflect.New(t).Interface().(schemer).JSONSchema())
		copied := *s // the method may return the same schema every time
		s = &copied
		if err := b.adopt(s.Definitions); err != nil {
			return nil, err
		}
		s.Definitions = nil
	case t == timeType:
		s = &jsonschema.Schema{Type: "string", Format: "date-time"}
	case t == durationType:
		s = &jsonschema.Schema{Type: "string", Pattern: durationPattern, Description: durationNote}
	case t == reflect.TypeFor[json.RawMessage]():
		s = anything()
	case t == numberType:
		s = &jsonschema.Schema{Type: "number"}
	case t == reflect.TypeFor[big.Int]():
		s = &jsonschema.Schema{Type: "integer"}
	case ptr.Implements(jsonUnmarshaler):
		s = anything()
	case ptr.Implements(textUnmarshaler):
		s = &jsonschema.Schema{Type: "string"}
	default:
		return nil, nil
	}
	b.leaves[s] = leaf{goType: t, custom: true}
	return s, nil
}

// adopt adds the definitions of a schema that a type returned itself. All definitions share one name space, because
// references start at the root.
func (b *builder) adopt(defs jsonschema.Definitions) error {
	for name, def := range defs {
		if known := b.defs[name]; known != nil && jsonOf(known) != jsonOf(def) || b.isNamed(name) {
			return errorf("the definition %q from JSONSchema exists already", name)
		}
		b.defs[name] = def
	}
	return nil
}

// schemer is implemented by types that return their own schema, as defined by the jsonschema package.
type schemer interface{ JSONSchema() *jsonschema.Schema }

// extender is implemented by types that change their schema, as defined by the jsonschema package.
type extender interface{ JSONSchemaExtend(*jsonschema.Schema) }

// composite returns the schema of t according to its kind.
func (b *builder) composite(t reflect.Type) (*jsonschema.Schema, error) {
	s := &jsonschema.Schema{}
	var err error
	switch t.Kind() {
	case reflect.String:
		s.Type = "string"
	case reflect.Bool:
		s.Type = "boolean"
	case reflect.Float32, reflect.Float64:
		s.Type = "number"
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return nil, errorf("JSON cannot be decoded into the interface %v", t)
		}
		s = anything()
	case reflect.Slice, reflect.Array:
		if isBytes(t) {
			s.Type, s.ContentEncoding = "string", "base64"
			b.leaves[s] = leaf{goType: t, custom: true}
			return s, nil
		}
		if s.Type = "array"; t.Kind() == reflect.Array {
			s.MinItems, s.MaxItems = new(uint64(t.Len())), new(uint64(t.Len()))
		}
		s.Items, err = b.schemaOf(t.Elem())
		err = within("[]", err)
	case reflect.Map:
		s.Type = "object"
		if s.PropertyNames, err = keys(t); err != nil {
			return nil, err
		}
		b.leaves[s] = leaf{key: t.Key()}
		s.AdditionalProperties, err = b.schemaOf(t.Elem())
		err = within("[]", err)
	case reflect.Struct:
		s, err = b.object(t)
	default:
		if !isNumeric(t) {
			return nil, errorf("%v cannot be encoded as JSON", t)
		}
		s.Type = "integer"
		s.Minimum, s.Maximum = integerBounds(t)
	}
	if err != nil {
		return nil, err
	}
	if !isCollection(t) && t.Kind() != reflect.Struct {
		b.leaves[s] = leaf{goType: t}
	}
	if e, ok := reflect.New(t).Interface().(extender); ok {
		e.JSONSchemaExtend(s)
		tidy(s)
	}
	return s, nil
}

// object returns the schema of a struct type.
func (b *builder) object(t reflect.Type) (*jsonschema.Schema, error) {
	all, err := jsonFields(t)
	if b.fields[t] == nil {
		b.fields[t] = map[string]presence{}
	}
	var fields []*field
	var children []*jsonschema.Schema
	for _, f := range all {
		if hidden(f) || b.count > maxSchemas {
			continue
		}
		if child, wrong := b.child(f); wrong != nil {
			err = also(err, within(f.Name, wrong))
		} else {
			fields, children = append(fields, f), append(children, child)
		}
	}
	s := b.withKeywords(fields, children)
	for i, f := range fields {
		err = also(err, within(f.Name, b.property(s, children[i], f)))
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// child returns the schema of a field's type.
func (b *builder) child(f *field) (*jsonschema.Schema, error) {
	if err := checkTags(f); err != nil {
		return nil, err
	}
	s, err := b.schemaOf(f.Type)
	if err == nil && f.quoted {
		s, err = b.quote(s)
	}
	if err == nil {
		err = b.checkKeywords(f, s)
	}
	if err == nil {
		_, err = described(f)
	}
	return s, err
}

// presence tells how a field may be missing.
type presence struct {
	optional bool // absent or null, which leaves the zero value
	nonZero  bool // if it is there, the schema refuses its zero value
}

// property adds the rules of a field to its schema s, and what is about the field to the schema of the object.
func (b *builder) property(object, s *jsonschema.Schema, f *field) error {
	if low, high := integerBounds(pointee(f.Type)); s.Type == "integer" && !b.leaves[s].custom { // which a keyword may have widened
		tighten(&s.Minimum, low, lower)
		tighten(&s.Maximum, high, upper)
	}
	if pointee(f.Type) == durationType && s.Description != durationNote {
		s.Description += " (" + durationNote + ")"
	}
	if err := b.addEnum(s, f); err != nil {
		return err
	}
	ruledPresent, err := b.applyRules(s, f)
	if err != nil {
		return err
	}
	if err := checkRules(f.owner, &f.StructField); err != nil {
		return err
	}
	if excludesAll(s) || b.breaksRules(s, f) {
		return errorf("no value is left that the rules allow")
	}
	required := ruledPresent || hasOption(f, "required")
	substitute, err := b.addDefault(s, f)
	switch {
	case err != nil:
		return err
	case substitute && required:
		return errorf("a required field cannot have a default, because a field with a default may be left out")
	case ruledPresent && hasOption(f, "nullable"):
		return errorf(`validate:"required" and jsonschema:"nullable" contradict each other`)
	}
	optional := !required && (f.omittable || substitute)
	if !optional {
		object.Required = append(object.Required, f.name)
	}
	nullable := hasOption(f, "nullable") || f.Type.Kind() == reflect.Pointer && !optional && !ruledPresent
	nonZero := !b.leaves[s].custom && refusesZero(s) // else its zero value in JSON is another one
	if nullable {
		object.Properties.Set(f.name, orNull(s))
	}
	if b.fields[f.owner] == nil {
		b.fields[f.owner] = map[string]presence{}
	}
	b.fields[f.owner][f.StructField.Name] = presence{optional || nullable, nonZero}
	if substitute {
		b.defaults[object] = append(b.defaults[object], f)
	}
	return nil
}

// integerBounds returns the bounds of an integer type. Those of 64 bits have none in their schemas, except that unsigned
// ones begin at 0: they would only distract models, who have no use for such numbers.
func integerBounds(t reflect.Type) (low, high json.Number) {
	if k := t.Kind(); k < reflect.Int || k > reflect.Uint64 {
		return "", ""
	}
	bits, unsigned := t.Bits(), t.Kind() >= reflect.Uint
	if unsigned {
		low = "0"
	}
	if bits == 64 {
		return low, ""
	}
	most := int64(1)<<bits - 1
	if !unsigned {
		most >>= 1
		low = json.Number(strconv.FormatInt(-most-1, 10))
	}
	return low, json.Number(strconv.FormatInt(most, 10))
}

// isBytes reports whether a type is base64 in JSON. Bytes that decode themselves are a list.
func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && !decodesItself(t.Elem())
}

// keys returns the schema of the keys of a map, or nil if they are any strings.
func keys(t reflect.Type) (*jsonschema.Schema, error) {
	kind := t.Key().Kind()
	switch {
	case hasTextKeys(t), kind == reflect.String:
		return nil, nil
	case kind >= reflect.Int && kind <= reflect.Int64:
		return &jsonschema.Schema{Pattern: "^(0|-?[1-9][0-9]*)$"}, nil
	case kind >= reflect.Uint && kind <= reflect.Uint64:
		return &jsonschema.Schema{Pattern: "^(0|[1-9][0-9]*)$"}, nil
	}
	return nil, errorf("the keys of %v are neither strings nor integers", t)
}

// hasTextKeys reports whether the keys of a map decode themselves.
func hasTextKeys(t reflect.Type) bool {
	return reflect.PointerTo(t.Key()).Implements(textUnmarshaler)
}

// quote returns the schema of a field with the ,string option: a string that holds the literal. It returns an error
// for types that decode themselves. For these, encoding/json ignores the option when it encodes but not when it
// decodes, so no schema describes both.
func (b *builder) quote(s *jsonschema.Schema) (*jsonschema.Schema, error) {
	l := b.leaves[s]
	if l.custom && l.goType != numberType {
		return nil, errorf("the json option \"string\" does not work with %v, which has its own JSON encoding", l.goType)
	}
	quoted := &jsonschema.Schema{Type: "string", Description: s.Description}
	switch s.Type {
	case "integer":
		quoted.Pattern = "^-?[0-9]+$"
		if s.Minimum == "0" {
			quoted.Pattern = "^[0-9]+$"
		}
	case "number":
		quoted.Pattern = `^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$` // RFC 8259, section 6
	case "boolean":
		quoted.Enum = []any{"true", "false"}
	case "string":
		quoted.Pattern = `^"([^"\\\x00-\x1f]|\\(["\\/bfnrt]|u[0-9a-fA-F]{4}))*"$`
	}
	b.leaves[quoted] = leaf{goType: l.goType, custom: true, quoted: true}
	return quoted, nil
}
