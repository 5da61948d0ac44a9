// SPDX-License-Identifier: Apache-2.0

package elicit

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/internal/lazy"
)

// Content is the content of a completed form: values by the names of fields.
type Content = map[string]acp.ElicitationContentValue

// Check returns the content of an answer in the types of the form, or an error that names the first field that is wrong, and why. A null
// counts as absent, and a whole number as an integer. A pattern that Go's package regexp does not understand, or that is large, is not
// checked. The given content is not changed.
func Check(form *acp.ElicitationSchema, content Content) (Content, error) {
	checked := Content{}
	for _, name := range slices.Sorted(maps.Keys(content)) {
		value := content[name]
		if string(value.Unknown) == "null" {
			continue
		}
		field, ok := form.Properties[name]
		if !ok {
			return nil, fmt.Errorf("%q is not a field of the form", name)
		}
		if err := checkField(&field, &value); err != nil {
			return nil, fmt.Errorf("field %q %w", name, err)
		}
		var more rules
		if data, ok := (*metaOf(&field))[metaRules]; ok && json.Unmarshal(data, &more) == nil {
			if err := more.check(&value); err != nil {
				return nil, fmt.Errorf("field %q %w", name, err)
			}
		}
		checked[name] = value
	}
	for _, name := range form.Required {
		if _, ok := checked[name]; !ok {
			return nil, fmt.Errorf("field %q is required", name)
		}
	}
	return checked, nil
}

func checkField(f *acp.ElicitationPropertySchema, v *acp.ElicitationContentValue) error {
	switch {
	case f.String != nil:
		if v.String == nil {
			return fmt.Errorf("must be a string")
		}
		return checkString(f.String, *v.String)
	case f.Integer != nil:
		if v.Number != nil && math.Trunc(*v.Number) == *v.Number && math.Abs(*v.Number) < 1<<53 {
			*v = acp.ElicitationContentValue{Integer: new(int64(*v.Number))}
		}
		if v.Integer == nil {
			return fmt.Errorf("must be an integer")
		}
		return between(*v.Integer, f.Integer.Minimum, f.Integer.Maximum, "must be")
	case f.Number != nil:
		if v.Integer != nil {
			*v = acp.ElicitationContentValue{Number: new(float64(*v.Integer))}
		}
		if v.Number == nil {
			return fmt.Errorf("must be a number")
		}
		if math.IsNaN(*v.Number) || math.IsInf(*v.Number, 0) { // JSON does not have it
			return fmt.Errorf("must be a finite number")
		}
		return between(*v.Number, f.Number.Minimum, f.Number.Maximum, "must be")
	case f.Boolean != nil:
		if v.Boolean == nil {
			return fmt.Errorf("must be true or false")
		}
	case f.Array != nil:
		if v.StringArray == nil {
			return fmt.Errorf("must be a list of strings")
		}
		for _, s := range v.StringArray {
			if !slices.Contains(arrayChoices(&f.Array.Items), s) {
				return fmt.Errorf("must not contain %q, which was not offered", s)
			}
		}
		return between(uint64(len(v.StringArray)), f.Array.MinItems, f.Array.MaxItems, "must have a number of items that is")
	}
	return nil
}

// between checks bounds that may be nil.
func between[N int64 | uint32 | uint64 | float64](n N, lowest, highest *N, must string) error {
	switch {
	case lowest != nil && n < *lowest:
		return fmt.Errorf("%s at least %v", must, *lowest)
	case highest != nil && n > *highest:
		return fmt.Errorf("%s at most %v", must, *highest)
	}
	return nil
}

func arrayChoices(items *acp.MultiSelectItems) (all []string) {
	switch {
	case items.String != nil:
		return items.String.Enum
	case items.Titled != nil:
		return consts(items.Titled.AnyOf)
	}
	return nil
}

func consts(options []acp.EnumOption) []string {
	all := make([]string, len(options))
	for i := range options {
		all[i] = options[i].Const
	}
	return all
}

func checkString(f *acp.StringPropertySchema, s string) error {
	if choices := append(consts(f.OneOf), f.Enum...); (f.Enum != nil || f.OneOf != nil) && !slices.Contains(choices, s) {
		return fmt.Errorf("must be one of %q", choices)
	}
	n := uint32(min(utf8.RuneCountInString(s), math.MaxUint32))
	if err := between(n, f.MinLength, f.MaxLength, "must have a number of characters that is"); err != nil {
		return err
	}
	if f.Pattern != nil && lazy.Size(*f.Pattern) <= 10_000 {
		if re, err := regexp.Compile(*f.Pattern); err == nil && !re.MatchString(s) {
			return fmt.Errorf("must match %s", *f.Pattern)
		}
	}
	if valid, ok := formats[f.Format]; ok && !valid(s) {
		return fmt.Errorf("must be a valid %s", f.Format)
	}
	return nil
}

// dateTime has the digits of RFC 3339, of which time.Parse takes fewer, and a comma for the point.
var dateTime = regexp.MustCompile(`T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):\d\d)$`)

// formats are the formats of strings that forms have.
var formats = map[acp.StringFormat]func(string) bool{
	acp.StringFormatEmail: func(s string) bool {
		a, err := mail.ParseAddress(s)
		return err == nil && a.Address == s
	},
	acp.StringFormatURI: func(s string) bool {
		u, err := url.Parse(s) // takes characters that an address never has as they are
		return err == nil && u.IsAbs() && !strings.ContainsAny(s, " \"<>\\^`{|}")
	},
	acp.StringFormatDate: func(s string) bool {
		_, err := time.Parse(time.DateOnly, s)
		return err == nil
	},
	acp.StringFormatDateTime: func(s string) bool {
		_, err := time.Parse(time.RFC3339, s)
		return err == nil && dateTime.MatchString(s)
	},
}
