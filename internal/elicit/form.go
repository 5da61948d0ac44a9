// SPDX-License-Identifier: Apache-2.0

package elicit

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/internal/show"
)

// Parse returns the form that a JSON schema describes. No schema is a form without fields. A field
// that the protocol cannot describe, such as an object, is an error that names it. So is a keyword
// that restricts answers and is not checked, such as "not". Other keywords are dropped.
//
// Titles and descriptions are escaped, because people read them. Names and values of fields stay as they are.
func Parse(schema json.RawMessage) (*acp.ElicitationSchema, error) {
	form := &acp.ElicitationSchema{Type: acp.ElicitationSchemaTypeObject, Properties: map[string]acp.ElicitationPropertySchema{}}
	if len(schema) == 0 || string(schema) == "null" {
		return form, nil
	}
	var given struct {
		Type        string                     `json:"type"`
		Title       string                     `json:"title"`
		Description string                     `json:"description"`
		Properties  map[string]json.RawMessage `json:"properties"`
		Required    []string                   `json:"required"`
	}
	if err := json.Unmarshal(schema, &given); err != nil {
		return nil, fmt.Errorf("the form is not a JSON schema: %w", err)
	}
	if given.Type != "" && given.Type != "object" {
		return nil, fmt.Errorf("the form describes a value of type %q: use an object", given.Type)
	}
	if err := restrictedForm(schema); err != nil {
		return nil, err
	}
	form.Title, form.Description = line(&given.Title), text(&given.Description)
	for name, raw := range given.Properties {
		field, err := parseField(raw)
		if err != nil {
			return nil, fmt.Errorf("field %q: %w", name, err)
		}
		form.Properties[name] = *field
	}
	for _, name := range given.Required {
		if _, ok := form.Properties[name]; !ok {
			return nil, fmt.Errorf("field %q is required and not described", name)
		}
	}
	form.Required = given.Required
	return form, nil
}

var errKind = errors.New("forms have strings, numbers, integers, booleans and lists of choices only")

func parseField(raw json.RawMessage) (*acp.ElicitationPropertySchema, error) {
	raw, err := withChoices(raw)
	if err != nil {
		return nil, err
	}
	var f acp.ElicitationPropertySchema
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, fmt.Errorf("%w (%v)", errKind, err)
	}
	switch {
	case f.String != nil:
		f.String.Title, f.String.Description = line(f.String.Title), text(f.String.Description)
		showOptions(f.String.OneOf)
	case f.Number != nil:
		f.Number.Title, f.Number.Description = line(f.Number.Title), text(f.Number.Description)
	case f.Integer != nil:
		f.Integer.Title, f.Integer.Description = line(f.Integer.Title), text(f.Integer.Description)
	case f.Boolean != nil:
		f.Boolean.Title, f.Boolean.Description = line(f.Boolean.Title), text(f.Boolean.Description)
	case f.Array != nil:
		if f.Array.Items.Unknown != nil {
			return nil, errKind
		}
		f.Array.Title, f.Array.Description = line(f.Array.Title), text(f.Array.Description)
		if titled := f.Array.Items.Titled; titled != nil {
			showOptions(titled.AnyOf)
		}
	default:
		return nil, errKind
	}
	more, err := rulesOf(raw, &f)
	if meta := metaOf(&f); err == nil && more != nil {
		*meta = map[string]json.RawMessage{metaRules: more}
	}
	return &f, err
}

// withChoices rewrites choices as the protocol has them: the value in const, titles in anyOf, and
// those in enumNames, which older versions of the Model Context Protocol have. Keywords that are
// not checked are errors.
func withChoices(raw json.RawMessage) (json.RawMessage, error) {
	var field, items map[string]json.RawMessage
	if err := json.Unmarshal(raw, &field); err != nil {
		return nil, fmt.Errorf("%w (%v)", errKind, err)
	}
	_ = json.Unmarshal(field["items"], &items) // what is no object is refused below
	if string(field["type"]) == `"string"` {
		if field["const"] != nil && field["enum"] == nil {
			field["enum"] = slices.Concat(json.RawMessage("["), field["const"], json.RawMessage("]"))
			delete(field, "const")
		}
		if field["oneOf"] == nil && field["anyOf"] != nil {
			field["oneOf"] = field["anyOf"]
			delete(field, "anyOf")
		}
	} else if err := restricted(field, "oneOf"); err != nil {
		return nil, err
	}
	if err := cmp.Or(restricted(field, "anyOf"), restricted(items)); err != nil {
		return nil, err
	}
	var values, names []string
	if field["enumNames"] != nil && json.Unmarshal(field["enumNames"], &names) == nil &&
		json.Unmarshal(field["enum"], &values) == nil && len(names) == len(values) {
		options := make([]acp.EnumOption, len(values))
		for i := range values {
			options[i] = acp.EnumOption{Const: values[i], Title: names[i]}
		}
		var err error
		if field["oneOf"], err = json.Marshal(options); err != nil {
			return nil, err
		}
		delete(field, "enum")
		delete(field, "enumNames")
	}
	return json.Marshal(field)
}

func showOptions(options []acp.EnumOption) {
	for i := range options {
		options[i].Title = show.Line(options[i].Title)
		options[i].Description = text(options[i].Description)
	}
}

// line and text escape what people read. Nothing at all is nil.
func line(s *string) *string {
	if s == nil || *s == "" {
		return nil
	}
	return new(show.Line(*s))
}

func text(s *string) *string {
	if s == nil || *s == "" {
		return nil
	}
	return new(show.Text(*s))
}

// Choice is a value that a field may have, with what people read.
type Choice struct {
	Title string
	Value acp.ElicitationContentValue
}

// Choices returns the values, at most 100, of which the only field of a form has one, and the field's name. It reports false for others.
func Choices(form *acp.ElicitationSchema) (name string, choices []Choice, ok bool) {
	if len(form.Properties) != 1 {
		return "", nil, false
	}
	for n, f := range form.Properties {
		name = n
		switch {
		case f.Boolean != nil:
			choices = []Choice{{"Yes", acp.ElicitationContentValue{Boolean: new(true)}}, {"No", acp.ElicitationContentValue{Boolean: new(false)}}}
		case f.String != nil && len(f.String.Enum)+len(f.String.OneOf) <= 100:
			for _, v := range f.String.Enum {
				choices = append(choices, Choice{show.Line(v), acp.ElicitationContentValue{String: new(v)}})
			}
			for _, o := range f.String.OneOf {
				choices = append(choices, Choice{o.Title, acp.ElicitationContentValue{String: new(o.Const)}})
			}
		}
	}
	choices = slices.DeleteFunc(choices, func(c Choice) bool {
		_, err := Check(form, Content{name: c.Value})
		return err != nil
	})
	return name, choices, len(choices) > 0
}
