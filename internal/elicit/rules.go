// SPDX-License-Identifier: Apache-2.0

package elicit

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/internal/jsonvalue"
)

// rules are the rules of a field that the protocol does not have. They go along in the metadata of
// the field, under [metaRules].
type rules struct {
	ExclusiveMinimum *float64          `json:"exclusiveMinimum,omitempty"`
	ExclusiveMaximum *float64          `json:"exclusiveMaximum,omitempty"`
	MultipleOf       *float64          `json:"multipleOf,omitempty"`
	Const            json.RawMessage   `json:"const,omitempty"`
	Enum             []json.RawMessage `json:"enum,omitempty"`
	UniqueItems      bool              `json:"uniqueItems,omitempty"`
}

const metaRules = "ponte-go.dev/rules"

// unchecked are keywords that restrict answers in ways that forms do not have.
var unchecked = []string{
	"$dynamicRef", "$recursiveRef", "$ref", "additionalItems", "allOf", "contains", "dependencies",
	"dependentRequired", "dependentSchemas", "else", "if", "maxContains", "maxProperties",
	"minContains", "minProperties", "not", "patternProperties", "prefixItems", "propertyNames",
	"then", "unevaluatedItems", "unevaluatedProperties",
}

// restricted returns an error that names a keyword of a schema that is not checked.
func restricted(schema map[string]json.RawMessage, more ...string) error {
	for _, list := range [][]string{unchecked, more} {
		for _, keyword := range list {
			if _, ok := schema[keyword]; ok {
				return fmt.Errorf("forms do not have the keyword %q", keyword)
			}
		}
	}
	return nil
}

// restrictedForm is like restricted, for the schema of the whole form.
func restrictedForm(schema json.RawMessage) error {
	var form map[string]json.RawMessage
	if err := json.Unmarshal(schema, &form); err != nil {
		return fmt.Errorf("the form is not a JSON schema: %w", err)
	}
	return restricted(form, "anyOf", "const", "enum", "oneOf")
}

// rulesOf returns the rules of a field that the protocol does not have, as JSON, or nil.
func rulesOf(raw json.RawMessage, f *acp.ElicitationPropertySchema) (json.RawMessage, error) {
	var r rules
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("%w (%v)", errKind, err)
	}
	if r.MultipleOf != nil && *r.MultipleOf <= 0 {
		return nil, fmt.Errorf("multipleOf is %v: it must be above 0", *r.MultipleOf)
	}
	if f.String != nil { // the protocol has them
		r.Enum = nil
	}
	data, err := json.Marshal(r)
	if err != nil || string(data) == "{}" {
		return nil, err
	}
	return data, nil
}

// metaOf returns where the metadata of a field is.
func metaOf(f *acp.ElicitationPropertySchema) *map[string]json.RawMessage {
	switch {
	case f.String != nil:
		return &f.String.Meta
	case f.Integer != nil:
		return &f.Integer.Meta
	case f.Number != nil:
		return &f.Number.Meta
	case f.Boolean != nil:
		return &f.Boolean.Meta
	case f.Array != nil:
		return &f.Array.Meta
	}
	return new(map[string]json.RawMessage)
}

// check checks a value that has the type of its field.
func (r *rules) check(v *acp.ElicitationContentValue) error {
	if n, is := number(v); is {
		switch {
		case r.ExclusiveMinimum != nil && n <= *r.ExclusiveMinimum:
			return fmt.Errorf("must be above %v", *r.ExclusiveMinimum)
		case r.ExclusiveMaximum != nil && n >= *r.ExclusiveMaximum:
			return fmt.Errorf("must be below %v", *r.ExclusiveMaximum)
		case r.MultipleOf != nil && !isMultiple(n, *r.MultipleOf):
			return fmt.Errorf("must be a multiple of %v", *r.MultipleOf)
		}
	}
	if r.UniqueItems {
		for i, s := range v.StringArray {
			if slices.Contains(v.StringArray[:i], s) {
				return fmt.Errorf("must not contain %q twice", s)
			}
		}
	}
	allowed := r.Enum
	if r.Const != nil {
		allowed = []json.RawMessage{r.Const}
	}
	if allowed == nil {
		return nil
	}
	given, err := json.Marshal(v)
	if err != nil {
		return err
	}
	names := make([]string, len(allowed))
	for i, one := range allowed {
		if names[i] = string(one); same(given, one) {
			return nil
		}
	}
	return fmt.Errorf("must be one of %s", strings.Join(names, ", "))
}

func number(v *acp.ElicitationContentValue) (float64, bool) {
	switch {
	case v.Integer != nil:
		return float64(*v.Integer), true
	case v.Number != nil:
		return *v.Number, true
	}
	return 0, false
}

// isMultiple compares decimals, because 0.3/0.1 is not 3 for floats.
func isMultiple(n, of float64) bool {
	a, b := decimal(n), decimal(of)
	return b.Sign() != 0 && a.Quo(a, b).IsInt()
}

// decimal returns a finite number, as all are that get here.
func decimal(n float64) *big.Rat {
	r, _ := new(big.Rat).SetString(strconv.FormatFloat(n, 'g', -1, 64))
	return r
}

func same(a, b json.RawMessage) bool {
	x, err := jsonvalue.Parse(a)
	if err != nil {
		return false
	}
	y, err := jsonvalue.Parse(b)
	return err == nil && jsonvalue.Rules{}.Equal(x, y)
}
