// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/internal/jsonvalue"
)

// untypedScore makes an evaluator without a name that looks at the trial.
func untypedScore(score func(t *trial) (Score, error)) Evaluator {
	return untyped("", func(_ context.Context, t *trial) (Score, error) { return score(t) })
}

type containsArgs struct {
	evaluationName
	Value         json.RawMessage `json:"value"`
	CaseSensitive *bool           `json:"case_sensitive"`
	AsStrings     bool            `json:"as_strings"`
}

// containsValue is Contains of pydantic-evals, which tells text from other values as Python does.
func containsValue(a containsArgs) (Evaluator, error) {
	if a.Value == nil {
		return Evaluator{}, errors.New("there is no value")
	}
	want, err := jsonvalue.Parse(a.Value)
	fold := a.CaseSensitive != nil && !*a.CaseSensitive
	return ofOutput("", func(output any, _ *trial) (Score, error) {
		_, isText := output.(string)
		_, isPart := want.(string)
		ok := false
		if a.AsStrings || isText && isPart {
			text, part := pythonText(output), pythonText(want)
			if fold {
				text, part = strings.ToLower(text), strings.ToLower(part)
			}
			ok = strings.Contains(text, part)
		} else {
			ok = holds(python, output, want)
		}
		if ok {
			return Pass(true), nil
		}
		return Pass(false).Because("%s does not contain %s", shown(output), shown(want)), nil
	}), err
}

// holds reports whether a value contains another: a list as an item, an object as a name or, if
// want is an object, with the same values for its members.
func holds(rules jsonvalue.Rules, output, want any) bool {
	switch output := output.(type) {
	case []any:
		return slices.ContainsFunc(output, func(item any) bool { return rules.Equal(item, want) })
	case map[string]any:
		members, ok := want.(map[string]any)
		if !ok {
			name, isName := want.(string)
			_, has := output[name]
			return isName && has
		}
		for name, w := range members {
			if v, ok := output[name]; !ok || !rules.Equal(v, w) {
				return false
			}
		}
		return true
	}
	return false
}

// pythonText returns a value as Python's str shows it.
func pythonText(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	return pythonForm(v)
}

var pythonEscapes = strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`, "\t", `\t`)

func pythonForm(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case string:
		if strings.Contains(v, "'") && !strings.Contains(v, `"`) {
			return `"` + strings.ReplaceAll(v, `\`, `\\`) + `"`
		}
		return "'" + pythonEscapes.Replace(v) + "'"
	case []any:
		items := make([]string, len(v))
		for i := range v {
			items[i] = pythonForm(v[i])
		}
		return "[" + strings.Join(items, ", ") + "]"
	case map[string]any: // in order, which JSON does not keep
		var items []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			items = append(items, pythonForm(name)+": "+pythonForm(v[name]))
		}
		return "{" + strings.Join(items, ", ") + "}"
	}
	return fmt.Sprint(v)
}

type isInstanceArgs struct {
	evaluationName
	Type string `json:"type_name"`
}

// isInstance passes for the name of the output's type in Go, and for what Python calls the kind of
// value that it is in JSON.
func isInstance(a isInstanceArgs) (Evaluator, error) {
	if a.Type == "" {
		return Evaluator{}, errors.New("there is no type_name")
	}
	return ofOutput("", func(output any, t *trial) (Score, error) {
		names := []string{"object"}
		if own := reflect.TypeOf(t.output); own != nil {
			for own.Kind() == reflect.Pointer {
				own = own.Elem()
			}
			names = append(names, own.Name())
		}
		names = append(names, pythonTypes(output)...)
		if slices.Contains(names, a.Type) {
			return Pass(true), nil
		}
		return Pass(false).Because("output is of type %s", names[len(names)-1]), nil
	}), nil
}

func pythonTypes(v any) []string {
	switch v := v.(type) {
	case nil:
		return []string{"NoneType"}
	case bool:
		return []string{"int", "bool"}
	case string:
		return []string{"str"}
	case []any:
		return []string{"list"}
	case map[string]any:
		return []string{"dict"}
	case json.Number:
		if strings.ContainsAny(string(v), ".eE") {
			return []string{"float"}
		}
	}
	return []string{"int"}
}
