// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"reflect"
	"strconv"
	"time"
)

func isBound(rule string) bool {
	return hasWord("len min max eq ne lt lte gt gte oneof", rule)
}

// durationBounds has the words for the bounds of durations, which no keyword can express.
var durationBounds = table{
	{"min", "at least"}, {"gte", "at least"}, {"gt", "more than"}, {"max", "at most"}, {"lte", "at most"}, {"lt", "less than"},
	{"eq", "exactly"}, {"len", "exactly"}, {"ne", "not"},
}

// duration adds a bound of a duration to its description.
func (r *rules) duration(name, param string) error {
	words, ok := durationBounds.get(name)
	switch {
	case name == "oneof":
		return errorf("use the tag enum to list durations")
	case !ok:
		return nil
	}
	d, err := durationParam(param)
	if err != nil {
		return err
	}
	r.schema.Description += ", " + words + " " + d.String()
	bound := json.Number(strconv.FormatInt(int64(d), 10))
	switch words {
	case "at least", "more than":
		tighten(&r.waits.Minimum, bound, lower)
	case "at most", "less than":
		tighten(&r.waits.Maximum, bound, upper)
	}
	if excludesAll(&r.waits) {
		return errorf("no value is left that the rules allow")
	}
	return nil
}

// durationParam parses a parameter as the validator does: 1h30m, or nanoseconds.
func durationParam(param string) (time.Duration, error) {
	d, err := time.ParseDuration(param)
	if err != nil {
		n, intErr := strconv.ParseInt(param, 0, 64)
		if intErr != nil {
			return 0, errorf("%q is not a duration", param)
		}
		d = time.Duration(n)
	}
	return d, nil
}

type side int

const (
	lower side = iota
	upper
)

// bound adds a lower or upper bound: on the value of a number, with the given keyword, or on the length of anything
// else. delta makes an exclusive bound on a length inclusive.
func (r *rules) bound(param string, delta int, keyword *json.Number, which side) error {
	t := pointee(r.goType)
	if t == timeType || t.Kind() == reflect.Interface {
		return nil
	}
	if isNumeric(t) {
		n, err := numberParam(t, param)
		if err == nil {
			tighten(keyword, n, which)
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
		return errorf("%q is not a length", param)
	case which == lower && n > 0:
		atLeast(low, uint64(n))
	case which == upper && n < 0:
		return errorf("a length cannot be that small")
	case which == upper:
		atMost(high, uint64(n))
	}
	return nil
}

// equal adds the rule that a number or a length equals param. Unless the rule is only about lengths, that includes
// strings and bools.
func (r *rules) equal(param string, length bool) error {
	t := pointee(r.goType)
	switch {
	case t == timeType || t.Kind() == reflect.Interface:
		return nil
	case isNumeric(t):
		n, err := numberParam(t, param)
		if err != nil {
			return err
		}
		return r.restrict(string(n))
	case t.Kind() == reflect.String && !length:
		return r.restrict(jsonOf(param))
	case t.Kind() == reflect.Bool && !length:
		value, err := strconv.ParseBool(param)
		if err != nil {
			return err
		}
		return r.restrict(strconv.FormatBool(value))
	}
	if err := r.bound(param, 0, nil, lower); err != nil {
		return err
	}
	return r.bound(param, 0, nil, upper)
}

// lengths returns the keywords that limit the length of the value.
func (r *rules) lengths() (low, high **uint64, err error) {
	s := r.schema
	switch t := pointee(r.goType); t.Kind() {
	case reflect.String:
		return &s.MinLength, &s.MaxLength, nil
	case reflect.Slice, reflect.Array:
		return &s.MinItems, &s.MaxItems, nil
	case reflect.Map:
		return &s.MinProperties, &s.MaxProperties, nil
	default:
		return nil, nil, errorf("the rule does not apply to %v", t)
	}
}

func isNumeric(t reflect.Type) bool {
	k := t.Kind()
	return k >= reflect.Int && k <= reflect.Float64 && k != reflect.Uintptr
}

// numberParam parses the parameter of a rule about t like the validator: integers in any base.
func numberParam(t reflect.Type, param string) (json.Number, error) {
	var n any
	var err error
	what := "a number"
	switch kind := t.Kind(); {
	case kind >= reflect.Float32:
		n, err = strconv.ParseFloat(param, 64)
	case kind >= reflect.Uint:
		what = "an unsigned integer"
		n, err = strconv.ParseUint(param, 0, 64)
	default:
		what = "an integer"
		n, err = strconv.ParseInt(param, 0, 64)
	}
	if err != nil {
		return "", errorf("%q is not %s", param, what)
	}
	text, err := json.Marshal(n)
	return json.Number(text), err
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
