package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-playground/validator/v10"
)

// maxValue is how many bytes of a value a problem quotes.
const maxValue = 80

// shorten cuts a quoted value down to its beginning.
func shorten(value []byte) string {
	if len(value) <= maxValue {
		return string(value)
	}
	end := maxValue
	for end > maxValue-utf8.UTFMax && !utf8.RuneStart(value[end]) {
		end--
	}
	return string(value[:end]) + "…"
}

// shortenTail cuts a quoted text down to its end.
func shortenTail(text []byte) string {
	if len(text) <= maxValue {
		return string(text)
	}
	start := len(text) - maxValue
	for start < len(text)-maxValue+utf8.UTFMax && !utf8.RuneStart(text[start]) {
		start++
	}
	return "…" + string(text[start:])
}

// article names types with their article: "a string or null".
func (s typeSet) article() string {
	if s&typeNumber != 0 && s&typeInteger != 0 {
		s &^= typeInteger
	}
	var names []string
	for i, name := range typeNames {
		if s&(1<<i) == 0 {
			continue
		}
		switch {
		case name == "null":
		case strings.ContainsAny(name[:1], "aio"):
			name = "an " + name
		default:
			name = "a " + name
		}
		names = append(names, name)
	}
	return strings.Join(names, " or ")
}

func plural(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.FormatUint(n, 10) + " " + noun + "s"
}

// refusal says why a Go type does not take a JSON value that its schema allows.
func refusal(t reflect.Type, err error) string {
	if mistyped := new(json.UnmarshalTypeError); !errors.As(err, &mistyped) {
		return "is not accepted: " + shorten([]byte(err.Error()))
	}
	bits := 0
	if isNumeric(t) {
		bits = t.Bits()
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return fmt.Sprintf("must be an integer from %d to %d", math.MinInt64>>(64-bits), math.MaxInt64>>(64-bits))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("must be an integer from 0 to %d", uint64(math.MaxUint64)>>(64-bits))
	case reflect.Float32, reflect.Float64:
		return fmt.Sprintf("must be a number that a %d-bit float can hold", bits)
	}
	return "does not fit " + t.String()
}

// ruleWords say what the validate tags ask for that models break most. %s is the parameter.
var ruleWords = map[string]string{
	"required":         "is required and must not be empty or zero",
	"email":            "must be an email address",
	"url":              "must be a URL",
	"http_url":         "must be an http or https URL",
	"https_url":        "must be an https URL",
	"uri":              "must be a URI",
	"uuid":             "must be a UUID",
	"uuid4":            "must be a UUID of version 4",
	"ip":               "must be an IP address",
	"ipv4":             "must be an IPv4 address",
	"ipv6":             "must be an IPv6 address",
	"hostname":         "must be a host name",
	"hostname_rfc1123": "must be a host name",
	"fqdn":             "must be a fully qualified domain name",
	"datetime":         "must be a date or time written like %s",
	"unique":           "must not have an item twice",
	"ne":               "must not be %s",
	"oneof":            "must be one of: %s",
	"excludes":         "must not contain %s",
	"lowercase":        "must be in lower case",
	"uppercase":        "must be in upper case",
	"json":             "must be a JSON text",
	"eqfield":          "must equal %s",
	"nefield":          "must differ from %s",
	"gtfield":          "must be greater than %s",
	"gtefield":         "must not be less than %s",
	"ltfield":          "must be less than %s",
	"ltefield":         "must not be greater than %s",
	"required_if":      "the field is required if %s",
	"required_unless":  "the field is required unless %s",
	"required_with":    "the field is required together with %s",
	"required_without": "the field is required without %s",
	"excluded_if":      "must be left out if %s",
	"excluded_with":    "must be left out together with %s",
}

// ruleMessage says what a validate tag asks for.
func ruleMessage(f validator.FieldError, param string) string {
	if strings.Contains(f.Tag(), "|") {
		return "must satisfy one of the rules " + strings.ReplaceAll(f.Tag(), "|", ", ")
	}
	words, ok := ruleWords[f.Tag()]
	switch {
	case !ok && param != "":
		return "must satisfy the rule " + f.Tag() + "=" + param
	case !ok:
		return "must satisfy the rule " + f.Tag()
	case strings.Contains(words, "%s"):
		return fmt.Sprintf(words, param)
	}
	return words
}
