// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/invopop/jsonschema"
)

// formats lists the validate tags with the meaning of a JSON schema format, and patterns has the
// patterns of others. The validator does the check, because it is stricter.
var (
	formats = table{
		{"email", "email"}, {"uri", "uri url http_url"}, {"ipv4", "ipv4"}, {"ipv6", "ipv6"},
		{"hostname", "hostname hostname_rfc1123 fqdn"}, {"uuid", "uuid uuid3 uuid4 uuid5 uuid_rfc4122"},
	}
	patterns = table{
		{"alpha", `^[a-zA-Z]+$`},
		{"alphanum", `^[a-zA-Z0-9]+$`},
		{"numeric", `^[-+]?[0-9]+(?:\.[0-9]+)?$`},
		{"number", `^[0-9]+$`},
		{"hexadecimal", `^(0[xX])?[0-9a-fA-F]+$`},
		{"e164", `^\+[1-9]\d{7,14}$`},
	}
	layouts = table{
		{time.RFC3339, "date-time"}, {time.RFC3339Nano, "date-time"}, {time.DateOnly, "date"},
	}
)

// applyRules adds those rules of the validate tag of f to s that a schema can express, and reports
// whether the tag makes the field required. The validator checks the others: rules about other
// fields, alternatives (a|b), and formats without a name.
//
// "required" means that the field must be present. Its value may be zero: false, 0, a struct of
// zeros. Only strings must not be empty, which the schema expresses as a minimum length of 1. See
// withoutPresence, which makes the validator agree.
func (b *builder) applyRules(s *jsonschema.Schema, f *field) (present bool, err error) {
	tag := f.Tag.Get("validate")
	if tag == "" || tag == "-" {
		return false, nil
	}
	r := &rules{builder: b, schema: s, goType: f.Type, optional: f.omittable}
	tokens := strings.Split(tag, ",")
	for i := 0; i < len(tokens); i++ {
		switch token := tokens[i]; token {
		case "required":
			present = present || !r.inside
			r.required()
		case "omitempty", "omitzero":
			// A scalar that must be present has no way to say "none" but its zero value.
			r.lenient = !r.optional && r.goType.Kind() != reflect.Pointer
		case "dive":
			r.finish()
			keys := r.keys()
			if i+1 < len(tokens) && tokens[i+1] == "keys" {
				if i, err = keys.addKeys(tokens, i+2); err != nil {
					return present, err
				}
				r.setKeys(keys)
			}
			if r = r.dive(); r.schema == nil {
				return present, nil
			}
		default:
			if err := r.add(token); err != nil {
				return present, errorf("validate tag %q: %v", token, err)
			}
		}
	}
	r.finish()
	return present, nil
}

// rules collects the validate rules of one value.
type rules struct {
	builder  *builder
	schema   *jsonschema.Schema
	goType   reflect.Type
	inside   bool // after dive: about the elements
	optional bool // the value may be absent
	lenient  bool // the zero value must stay acceptable
	// strict has the rules of a lenient value that its zero value would break.
	strict *jsonschema.Schema
	waits  jsonschema.Schema // the bounds of a duration, in nanoseconds
}

// dive returns the rules of the elements. Their schema is nil if there is none to add rules to.
func (r *rules) dive() *rules {
	t := pointee(r.goType)
	if r.custom() {
		return &rules{}
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return &rules{builder: r.builder, schema: r.schema.Items, goType: t.Elem(), inside: true}
	case reflect.Map:
		return &rules{builder: r.builder, schema: r.schema.AdditionalProperties, goType: t.Elem(), inside: true}
	}
	return &rules{}
}

// keys returns the rules of the keys of a map. Their schema is nil if there are none to add rules
// to.
func (r *rules) keys() *rules {
	t := pointee(r.goType)
	if r.custom() || t.Kind() != reflect.Map || t.Key().Kind() != reflect.String || hasTextKeys(t) {
		return &rules{}
	}
	return &rules{builder: r.builder, schema: &jsonschema.Schema{Type: "string"}, goType: t.Key(), inside: true}
}

// addKeys adds the rules until endkeys, and returns its position.
func (r *rules) addKeys(tokens []string, from int) (end int, err error) {
	for end = from; end < len(tokens) && tokens[end] != "endkeys"; end++ {
		switch token := tokens[end]; {
		case r.schema == nil:
		case token == "required":
			r.required()
		case token == "omitempty" || token == "omitzero":
			r.lenient = true
		default:
			if err := r.add(token); err != nil {
				return end, errorf("validate tag %q: %v", token, err)
			}
		}
	}
	return end, nil
}

// setKeys adds the rules of keys to the schema of a map.
func (r *rules) setKeys(keys *rules) {
	if keys.schema == nil {
		return
	}
	keys.finish()
	if keys.schema.Type = ""; !isAnything(keys.schema) { // a key is always a string
		r.schema.PropertyNames = keys.schema
	}
}

// finish adds the rules that a lenient value keeps unless it is zero.
func (r *rules) finish() {
	if r.strict == nil {
		return
	}
	t := r.schema.Type
	zero := &jsonschema.Schema{Type: t, Enum: []any{json.RawMessage(zeroOf(t))}}
	r.schema.AnyOf = []*jsonschema.Schema{r.strict, zero}
}

// custom reports whether the validator sees a different value than the schema describes.
func (r *rules) custom() bool {
	return r.schema.Ref != "" || r.builder.leaves[r.schema].custom
}

func (r *rules) required() {
	if r.custom() || r.goType.Kind() == reflect.Pointer {
		return
	}
	if r.goType.Kind() == reflect.String {
		atLeast(&r.schema.MinLength, 1)
	}
}

// add adds one rule, name=param. A rule that would reject a zero value that must stay valid is made
// an alternative.
func (r *rules) add(token string) error {
	if strings.Contains(token, "|") {
		return nil
	}
	name, param, _ := strings.Cut(token, "=")
	param = ruleParam(param)
	switch {
	case pointee(r.goType) == durationType && r.schema.Pattern == durationPattern:
		return r.duration(name, param)
	case pointee(r.goType) == numberType && isBound(name):
		return errorf("the rule counts the characters of a json.Number; use an integer or float type")
	case r.custom():
		return nil
	}
	before := *r.schema
	if err := r.translate(name, param); err != nil {
		return err
	}
	if !r.lenient || !refusesZero(r.schema) {
		return nil
	}
	*r.schema = before
	strict := *r
	if strict.lenient = false; r.strict == nil {
		r.strict = &jsonschema.Schema{Type: before.Type}
	}
	strict.schema = r.strict
	return strict.translate(name, param)
}

// ruleParam returns the parameter of a rule without the escapes of the validator.
func ruleParam(param string) string {
	return strings.ReplaceAll(strings.ReplaceAll(param, "0x2C", ","), "0x7C", "|")
}

func (r *rules) translate(name, param string) error {
	s := r.schema
	text := pointee(r.goType).Kind() == reflect.String
	switch name {
	case "min", "gte":
		return r.bound(param, 0, &s.Minimum, lower)
	case "gt":
		return r.bound(param, 1, &s.ExclusiveMinimum, lower)
	case "max", "lte":
		return r.bound(param, 0, &s.Maximum, upper)
	case "lt":
		return r.bound(param, -1, &s.ExclusiveMaximum, upper)
	case "len":
		return r.equal(param, true)
	case "eq":
		return r.equal(param, false)
	case "oneof":
		return r.oneOf(param)
	case "isdefault":
		if zero := zeroOf(s.Type); isNumeric(r.goType) || r.goType.Kind() == reflect.String || r.goType.Kind() == reflect.Bool {
			return r.restrict(zero)
		}
	case "unique":
		if param == "" && s.Type == "array" {
			s.UniqueItems = true
		}
	case "datetime":
		if format, ok := layouts.get(param); ok && text {
			s.Format = format
		}
	case "startswith":
		r.pattern("^" + regexp.QuoteMeta(param))
	case "endswith":
		r.pattern(regexp.QuoteMeta(param) + "$")
	case "contains":
		r.pattern(regexp.QuoteMeta(param))
	default:
		if format := formats.lists(name); format != "" && text {
			s.Format = format
		}
		if pattern, ok := patterns.get(name); ok {
			r.pattern(pattern)
		}
	}
	return nil
}

// pattern adds a pattern of a string.
func (r *rules) pattern(p string) {
	switch s := r.schema; {
	case pointee(r.goType).Kind() != reflect.String:
	case s.Pattern == "":
		s.Pattern = p
	case s.Pattern != p:
		s.AllOf = append(slices.Clip(s.AllOf), &jsonschema.Schema{Pattern: p})
	}
}

// restrict limits the values to a list, given as JSON.
func (r *rules) restrict(values ...string) error {
	s := r.schema
	if s.Enum != nil {
		allowed := values
		values = nil
		for _, v := range s.Enum {
			text := jsonOf(v)
			if slices.ContainsFunc(allowed, func(a string) bool { return canonical(free, []byte(a)) == canonical(free, []byte(text)) }) {
				values = append(values, text)
			}
		}
	}
	if len(values) == 0 {
		return errorf("no value is left that the rules allow")
	}
	var err error
	s.Enum, err = literals(values)
	return err
}

// literals returns the values of an enum, given as JSON.
func literals(texts []string) ([]any, error) {
	var values []string
	list := make([]any, len(texts))
	for i, text := range texts {
		value := canonical(free, []byte(text))
		if list[i] = json.RawMessage(text); slices.Contains(values, value) {
			return nil, errorf("%s is there twice", text)
		}
		values = append(values, value)
	}
	return list, nil
}

var oneOfValue = regexp.MustCompile(`'[^']*'|\S+`)

func (r *rules) oneOf(param string) error {
	t := pointee(r.goType)
	var values []string
	for _, v := range oneOfValue.FindAllString(param, -1) {
		v = strings.ReplaceAll(v, "'", "")
		switch {
		case t.Kind() == reflect.String:
			values = append(values, jsonOf(v))
		case isNumeric(t) && t.Kind() != reflect.Float32 && t.Kind() != reflect.Float64:
			n, err := numberParam(t, v)
			if err == nil && n.String() != v {
				err = errorf("%q must be written %s", v, n) // the validator compares text
			}
			if err != nil {
				return err
			}
			values = append(values, string(n))
		case t.Kind() == reflect.Interface:
			return nil
		default:
			return errorf("the rule does not apply to %v", t)
		}
	}
	if len(values) == 0 {
		return errorf("no values")
	}
	if zero := zeroOf(r.schema.Type); r.lenient && !slices.Contains(values, zero) {
		values = append(values, zero)
	}
	return r.restrict(values...)
}

// refusesZero reports whether the schema of a scalar rejects the zero value of its type.
func refusesZero(s *jsonschema.Schema) bool {
	zero := zeroOf(s.Type)
	return zero != "" && refuses(s, zero)
}

// refuses reports whether a schema rejects a value, given as JSON.
func refuses(s *jsonschema.Schema, text string) bool {
	n, err := (&compiler{}).compile(s)
	return err == nil && new(walker).check(n, []byte(text)) != nil
}

// zeroOf returns the zero value of a scalar JSON type, or "".
func zeroOf(name string) string {
	switch name {
	case "string":
		return `""`
	case "integer", "number":
		return "0"
	case "boolean":
		return "false"
	}
	return ""
}
