// SPDX-License-Identifier: Apache-2.0

// Package form asks for the fields of an agent's form one after the other, in lines of text.
package form

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/internal/elicit"
	"github.com/ponte-go/ponte/internal/show"
)

// Field is a field of a form.
type Field struct {
	// Name is the field's name, and Label what people call it, both as the agent wrote them.
	Name, Label string

	required bool
	about    string
	choices  []acp.EnumOption // what can be chosen
	schema   acp.ElicitationPropertySchema
	initial  string // the default, as it is shown
}

// Fields returns the fields of a form: those that are required in their order, then the others by
// name.
func Fields(f *acp.ElicitationSchema) []Field {
	var all []Field
	asked := map[string]bool{} // an agent may require a field twice
	for i, name := range slices.Concat(f.Required, slices.Sorted(maps.Keys(f.Properties))) {
		if schema, ok := f.Properties[name]; ok && !asked[name] {
			all = append(all, field(name, schema, i < len(f.Required)))
		}
		asked[name] = true
	}
	return all
}

func field(name string, schema acp.ElicitationPropertySchema, required bool) Field {
	f := Field{Name: name, required: required, schema: schema}
	title, about := (*string)(nil), (*string)(nil)
	switch {
	case schema.String != nil:
		s := schema.String
		title, about, f.choices = s.Title, s.Description, options(s.OneOf, s.Enum)
		if s.Default != nil {
			f.initial = *s.Default
		}
	case schema.Integer != nil:
		title, about = schema.Integer.Title, schema.Integer.Description
		if d := schema.Integer.Default; d != nil {
			f.initial = strconv.FormatInt(*d, 10)
		}
	case schema.Number != nil:
		title, about = schema.Number.Title, schema.Number.Description
		if d := schema.Number.Default; d != nil {
			f.initial = strconv.FormatFloat(*d, 'g', -1, 64)
		}
	case schema.Boolean != nil:
		title, about = schema.Boolean.Title, schema.Boolean.Description
		if d := schema.Boolean.Default; d != nil {
			f.initial = map[bool]string{true: "yes", false: "no"}[*d]
		}
	case schema.Array != nil:
		a := schema.Array
		title, about = a.Title, a.Description
		if a.Items.String != nil {
			f.choices = options(nil, a.Items.String.Enum)
		} else if a.Items.Titled != nil {
			f.choices = options(a.Items.Titled.AnyOf, nil)
		}
		f.initial = strings.Join(a.Default, ", ")
	}
	f.Label = name
	if title != nil && *title != "" {
		f.Label = *title
	}
	if about != nil {
		f.about = *about
	}
	return f
}

func options(titled []acp.EnumOption, plain []string) []acp.EnumOption {
	all := slices.Clone(titled)
	for _, s := range plain {
		all = append(all, acp.EnumOption{Const: s, Title: s})
	}
	return all
}

// Lines asks for the field: what it is, what can be chosen, and how to answer. What people would
// not see is written out.
func (f *Field) Lines() []string {
	lines := f.Raw()
	for i := range lines {
		lines[i] = show.Received(lines[i])
	}
	return lines
}

// Raw is Lines with the agent's texts as they are, for a caller that has them shown by something
// that writes out what people would not see.
func (f *Field) Raw() []string {
	head := f.Label
	if f.about != "" {
		head += ": " + f.about
	}
	lines, numbered := []string{head}, f.numbered()
	for i, o := range f.choices {
		line := "  " + o.Title
		if numbered {
			line = fmt.Sprintf("  %d  %s", i+1, o.Title)
		}
		if o.Description != nil && *o.Description != "" {
			line += ": " + *o.Description
		}
		lines = append(lines, line)
	}
	lines = append(lines, "("+strings.Join(f.how(), "; ")+")")
	for i := range lines {
		lines[i] = strings.Join(strings.FieldsFunc(lines[i], func(r rune) bool { return r == '\n' || r == '\r' }), " ")
	}
	return lines
}

// how explains how to answer.
func (f *Field) how() (hints []string) {
	s := &f.schema
	switch {
	case s.Array != nil && f.numbered():
		hints = append(hints, "numbers or values, separated by commas")
	case s.Array != nil:
		hints = append(hints, "values, separated by commas")
	case len(f.choices) > 0 && !f.numbered():
		hints = append(hints, "a value")
	case len(f.choices) > 0:
		hints = append(hints, "a number or a value")
	case s.Boolean != nil:
		hints = append(hints, "yes or no")
	case s.Integer != nil:
		hints = append(hints, "a whole number")
	case s.Number != nil:
		hints = append(hints, "a number")
	case s.String != nil && s.String.Format != "":
		hints = append(hints, string(s.String.Format))
	default:
		hints = append(hints, "text")
	}
	switch {
	case f.initial != "":
		hints = append(hints, "nothing for "+f.initial)
	case !f.required:
		hints = append(hints, "nothing to leave it out")
	}
	return hints
}

// Read reads an answer. set is false if the field is left out. The error describes a valid answer.
func (f *Field) Read(line string) (v acp.ElicitationContentValue, set bool, err error) {
	line = strings.TrimSpace(line)
	byDefault := line == ""
	if byDefault {
		if line = f.initial; line == "" {
			if f.required {
				return v, false, fmt.Errorf("%s is required", f.Label)
			}
			return v, false, nil
		}
	}
	s := &f.schema
	switch {
	case s.String != nil:
		if !byDefault {
			line = f.chosen(line)
		}
		v.String = &line
	case s.Integer != nil:
		n, err := strconv.ParseInt(line, 10, 64)
		if err != nil {
			return v, false, fmt.Errorf("%s must be a whole number", f.Label)
		}
		v.Integer = &n
	case s.Number != nil:
		n, err := strconv.ParseFloat(line, 64)
		if err != nil {
			return v, false, fmt.Errorf("%s must be a number", f.Label)
		}
		v.Number = &n
	case s.Boolean != nil:
		yes, ok := map[string]bool{
			"yes": true, "y": true, "true": true, "no": false, "n": false, "false": false,
		}[strings.ToLower(line)]
		if !ok {
			return v, false, fmt.Errorf("%s must be yes or no", f.Label)
		}
		v.Boolean = &yes
	case s.Array != nil:
		v.StringArray = []string{}
		if byDefault {
			v.StringArray = slices.Clone(s.Array.Default) // its values may contain commas
			break
		}
		for part := range strings.SplitSeq(line, ",") {
			v.StringArray = append(v.StringArray, f.chosen(strings.TrimSpace(part)))
		}
	default: // a kind of field that this client does not know: JSON is what remains
		if !json.Valid([]byte(line)) {
			return v, false, fmt.Errorf("%s must be JSON", f.Label)
		}
		v.Unknown = json.RawMessage(line)
	}
	one := acp.ElicitationSchema{Properties: map[string]acp.ElicitationPropertySchema{f.Name: f.schema}}
	checked, err := elicit.Check(&one, elicit.Content{f.Name: v})
	if err != nil {
		return v, false, fmt.Errorf("%s", strings.Replace(err.Error(), fmt.Sprintf("field %q", f.Name), f.Label, 1))
	}
	return checked[f.Name], true, nil
}

// numbered reports whether choices have numbers: not if one of them looks like the number of
// another.
func (f *Field) numbered() bool {
	for i, o := range f.choices {
		for _, s := range []string{o.Const, o.Title} {
			if n, err := strconv.Atoi(s); err == nil && n != i+1 && n >= 1 && n <= len(f.choices) {
				return false
			}
		}
	}
	return true
}

// chosen returns the value of a choice: its number, its title, or the value itself. It returns s if
// that is none of them, or the title of several.
func (f *Field) chosen(s string) string {
	var titled []string
	for i, o := range f.choices {
		switch {
		case s == o.Const, s == strconv.Itoa(i+1) && f.numbered():
			return o.Const
		case strings.EqualFold(s, o.Title):
			titled = append(titled, o.Const)
		}
	}
	if len(titled) == 1 {
		return titled[0]
	}
	return s
}
