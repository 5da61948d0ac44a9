// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/invopop/jsonschema"
)

// formats and patterns map validate tags to the JSON schema formats and patterns with the same meaning. The validator
// does the check, because it is stricter.
var (
	formats = map[string]string{
		"email": "email", "uri": "uri", "url": "uri", "http_url": "uri",
		"ipv4": "ipv4", "ipv6": "ipv6", "hostname": "hostname", "hostname_rfc1123": "hostname", "fqdn": "hostname",
		"uuid": "uuid", "uuid3": "uuid", "uuid4": "uuid", "uuid5": "uuid", "uuid_rfc4122": "uuid",
	}
	patterns = map[string]string{
		"alpha":       `^[a-zA-Z]+$`,
		"alphanum":    `^[a-zA-Z0-9]+$`,
		"numeric":     `^[-+]?[0-9]+(?:\.[0-9]+)?$`,
		"number":      `^[0-9]+$`,
		"hexadecimal": `^(0[xX])?[0-9a-fA-F]+$`,
		"e164":        `^\+[1-9]\d{7,14}$`,
	}
	layouts = map[string]string{
		time.RFC3339: "date-time", time.RFC3339Nano: "date-time", time.DateOnly: "date",
	}
)

// applyRules adds the rules of the validate tag of f to s, as far as a schema can express them, and reports whether the
// tag makes the field required. The validator checks the others: rules about other fields, alternatives (a|b), and
// formats without a name.
//
// "required" means that the field must be present. Its value may be zero: false, 0, a struct of zeros. Only strings
// must not be empty, which the schema expresses as a minimum length of 1. See withoutPresence, which makes the validator
// agree.
func (b *builder) applyRules(s *jsonschema.Schema, f field) (present bool, err error) {
	tag := f.Tag.Get("validate")
	if tag == "" || tag == "-" {
		return false, nil
	}
	r := rules{builder: b, schema: s, goType: f.Type, optional: f.omittable}
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
			if r = r.dive(); r.schema == nil {
				return present, nil
			}
		case "keys":
			for i < len(tokens) && tokens[i] != "endkeys" {
				i++
			}
		default:
			if err := r.add(token); err != nil {
				return present, &typeError{msg: fmt.Sprintf("validate tag %q: %v", token, err)}
			}
		}
	}
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
}

// dive returns the rules of the elements. Their schema is nil if there is none to add rules to.
func (r rules) dive() rules {
	t := pointee(r.goType)
	if r.custom() {
		return rules{}
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return rules{builder: r.builder, schema: r.schema.Items, goType: t.Elem(), inside: true}
	case reflect.Map:
		return rules{builder: r.builder, schema: r.schema.AdditionalProperties, goType: t.Elem(), inside: true}
	}
	return rules{}
}

// custom reports whether the validator sees a different value than the schema describes.
func (r rules) custom() bool {
	return r.schema.Ref != "" || r.builder.leaves[r.schema].custom
}

func (r rules) required() {
	if r.custom() || r.goType.Kind() == reflect.Pointer {
		return
	}
	if r.goType.Kind() == reflect.String {
		atLeast(&r.schema.MinLength, 1)
	}
}

// add adds one rule, name=param. It does not add a rule that would reject a zero value that must stay valid.
func (r rules) add(token string) error {
	if strings.Contains(token, "|") || r.custom() {
		return nil
	}
	before := *r.schema
	name, param, _ := strings.Cut(token, "=")
	param = strings.NewReplacer("0x2C", ",", "0x7C", "|").Replace(param)
	if err := r.translate(name, param); err != nil {
		return err
	}
	if r.lenient && refusesZero(r.schema) {
		*r.schema = before
	}
	return nil
}

func (r rules) translate(name, param string) error {
	s := r.schema
	text := pointee(r.goType).Kind() == reflect.String
	if !text && onlyText(name) && pointee(r.goType).Kind() != reflect.Interface {
		return fmt.Errorf("the rule applies to strings, not to %v", r.goType)
	}
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
	case "unique":
		if param == "" && s.Type == "array" {
			s.UniqueItems = true
		}
	case "datetime":
		if format, ok := layouts[param]; ok && text {
			s.Format = format
		}
	case "startswith":
		r.pattern("^" + regexp.QuoteMeta(param))
	case "endswith":
		r.pattern(regexp.QuoteMeta(param) + "$")
	case "contains":
		r.pattern(regexp.QuoteMeta(param))
	default:
		if format, ok := formats[name]; ok && text {
			s.Format = format
		}
		if pattern, ok := patterns[name]; ok {
			r.pattern(pattern)
		}
	}
	return nil
}

// onlyText reports whether the validator accepts only strings under a rule, or panics on other values. Such a rule on
// another type is an error when the type is defined. For example, a list of strings needs dive.
func onlyText(rule string) bool {
	switch rule {
	case "datetime", "startswith", "endswith", "contains":
		return true
	case "number", "numeric":
		return false
	}
	_, format := formats[rule]
	_, pattern := patterns[rule]
	return format || pattern
}

// pattern sets the pattern of a string. A schema has only one, so the validator alone checks further ones.
func (r rules) pattern(p string) {
	if pointee(r.goType).Kind() == reflect.String && r.schema.Pattern == "" {
		r.schema.Pattern = p
	}
}

type side int

const (
	lower side = iota
	upper
)

// bound adds a lower or upper bound: on the value of a number, with the given keyword, or on the length of anything
// else. delta makes an exclusive bound on a length inclusive.
func (r rules) bound(param string, delta int, keyword *json.Number, which side) error {
	t := pointee(r.goType)
	if t == timeType || t.Kind() == reflect.Interface {
		return nil
	}
	if isNumeric(t) {
		n, err := numberParam(t, param)
		if err == nil {
			*keyword = n
		}
		return err
	}
	low, high, err := r.lengths()
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(param, 0, 64)
	n += int64(delta)
	switch {
	case err != nil:
		return fmt.Errorf("%q is not a length", param)
	case which == lower && n > 0:
		atLeast(low, uint64(n))
	case which == upper && n < 0:
		return fmt.Errorf("a length cannot be that small")
	case which == upper:
		atMost(high, uint64(n))
	}
	return nil
}

// equal adds the rule that a number or a length equals param. Unless the rule is only about lengths, that includes
// strings and bools.
func (r rules) equal(param string, length bool) error {
	t := pointee(r.goType)
	switch {
	case t == timeType || t.Kind() == reflect.Interface:
		return nil
	case isNumeric(t):
		n, err := numberParam(t, param)
		if err == nil {
			r.schema.Enum = []any{n}
		}
		return err
	case t.Kind() == reflect.String && !length:
		r.schema.Enum = []any{param}
		return nil
	case t.Kind() == reflect.Bool && !length:
		value, err := strconv.ParseBool(param)
		if err == nil {
			r.schema.Enum = []any{value}
		}
		return err
	}
	if err := r.bound(param, 0, nil, lower); err != nil {
		return err
	}
	return r.bound(param, 0, nil, upper)
}

// lengths returns the keywords that limit the length of the value.
func (r rules) lengths() (low, high **uint64, err error) {
	s := r.schema
	switch t := pointee(r.goType); t.Kind() {
	case reflect.String:
		return &s.MinLength, &s.MaxLength, nil
	case reflect.Slice, reflect.Array:
		return &s.MinItems, &s.MaxItems, nil
	case reflect.Map:
		return &s.MinProperties, &s.MaxProperties, nil
	default:
		return nil, nil, fmt.Errorf("the rule does not apply to %v", t)
	}
}

var oneOfValue = regexp.MustCompile(`'[^']*'|\S+`)

func (r rules) oneOf(param string) error {
	t := pointee(r.goType)
	var values []any
	for _, v := range oneOfValue.FindAllString(param, -1) {
		v = strings.ReplaceAll(v, "'", "")
		switch {
		case t.Kind() == reflect.String:
			values = append(values, v)
		case isNumeric(t) && t.Kind() != reflect.Float32 && t.Kind() != reflect.Float64:
			n, err := numberParam(t, v)
			if err != nil {
				return err
			}
			values = append(values, n)
		case t.Kind() == reflect.Interface:
			return nil
		default:
			return fmt.Errorf("the rule does not apply to %v", t)
		}
	}
	if len(values) == 0 {
		return fmt.Errorf("no values")
	}
	if r.lenient {
		if t.Kind() == reflect.String {
			values = append(values, "")
		} else {
			values = append(values, json.Number("0"))
		}
	}
	r.schema.Enum = values
	return nil
}

func isNumeric(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	}
	return false
}

// numberParam parses the parameter of a rule about t like the validator: integers in any base, and durations such as
// 1h30m.
func numberParam(t reflect.Type, param string) (json.Number, error) {
	switch t.Kind() {
	case reflect.Float32, reflect.Float64:
		f, err := strconv.ParseFloat(param, 64)
		if err != nil {
			return "", fmt.Errorf("%q is not a number", param)
		}
		text, err := json.Marshal(f)
		return json.Number(text), err
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n, err := strconv.ParseUint(param, 0, 64)
		if err != nil {
			return "", fmt.Errorf("%q is not an unsigned integer", param)
		}
		return json.Number(strconv.FormatUint(n, 10)), nil
	}
	if t == durationType {
		if d, err := time.ParseDuration(param); err == nil {
			return json.Number(strconv.FormatInt(int64(d), 10)), nil
		}
	}
	n, err := strconv.ParseInt(param, 0, 64)
	if err != nil {
		return "", fmt.Errorf("%q is not an integer", param)
	}
	return json.Number(strconv.FormatInt(n, 10)), nil
}

func atLeast(keyword **uint64, n uint64) {
	if *keyword == nil || **keyword < n {
		*keyword = &n
	}
}

func atMost(keyword **uint64, n uint64) {
	if *keyword == nil || **keyword > n {
		*keyword = &n
	}
}

// refusesZero reports whether the schema of a scalar rejects the zero value of its type.
func refusesZero(s *jsonschema.Schema) bool {
	zero := map[string]string{"string": `""`, "integer": "0", "number": "0", "boolean": "false"}[s.Type]
	if zero == "" {
		return false
	}
	n, err := (&compiler{}).compile(s)
	return err == nil && new(walker).check(n, []byte(zero)) != nil
}
