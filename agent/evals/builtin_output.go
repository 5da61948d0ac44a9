// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strings"

	"github.com/ponte-go/ponte/internal/jsonvalue"
	"github.com/ponte-go/ponte/internal/plainjson"
	"github.com/ponte-go/ponte/internal/schema"
)

// untyped makes an evaluator that serves every dataset.
func untyped(name string, score func(ctx context.Context, t *trial) (Score, error)) Evaluator {
	anything := reflect.TypeFor[any]()
	return Evaluator{name: name, score: score, in: anything, out: anything}
}

// ofOutput makes an evaluator that looks at the output as JSON has it.
func ofOutput(name string, score func(output any, t *trial) (Score, error)) Evaluator {
	return untyped(name, func(_ context.Context, t *trial) (Score, error) {
		output, err := t.json()
		if err != nil {
			return Score{}, fmt.Errorf("the output is not JSON: %w", err)
		}
		return score(output, t)
	})
}

// Equal passes if the output equals the case's Expected: the JSON of both has the same values. It
// does not score cases without a label.
func Equal() Evaluator {
	return ofOutput("equal", func(output any, t *trial) (Score, error) {
		if t.unlabeled {
			return Score{}, nil
		}
		want := t.want()
		if (jsonvalue.Rules{}).Equal(output, want) {
			return Pass(true), nil
		}
		return Pass(false).Because("it is %s, want %s", shown(output), shown(want)), nil
	})
}

// Subset passes if the output has all that want has, as JSON: each member of an object, also of
// objects inside it; as many items of a list, in the same order; and otherwise the same value.
func Subset(want any) Evaluator {
	return having("subset", want, jsonvalue.Rules{}.Contains, "it is %s, without %s")
}

// Contains passes if the output, as JSON, contains want: text as a part of it, a list as an item,
// an object as one of its names or, if want is an object, with the same values for its members.
func Contains(want any) Evaluator {
	return having("contains", want, has, "%s does not contain %s")
}

// having makes an evaluator that looks for a value in the output.
func having(name string, want any, has func(output, want any) bool, problem string) Evaluator {
	value, invalid := jsonvalue.Of(want)
	return ofOutput(name, func(output any, _ *trial) (Score, error) {
		if invalid != nil {
			return Score{}, fmt.Errorf("the value that is looked for is not JSON: %w", invalid)
		}
		if has(output, value) {
			return Pass(true), nil
		}
		return Pass(false).Because(problem, shown(output), shown(value)), nil
	})
}

// has reports whether a value contains another in the sense of [Contains].
func has(output, want any) bool {
	if text, ok := output.(string); ok {
		part, ok := want.(string)
		return ok && strings.Contains(text, part)
	}
	return holds(jsonvalue.Rules{}, output, want)
}

// Matches passes if the regular expression matches the output: its text or, for other types than
// string, its JSON.
func Matches(pattern string) Evaluator {
	expression, invalid := regexp.Compile(pattern)
	return ofOutput("matches", func(output any, _ *trial) (Score, error) {
		if invalid != nil {
			return Score{}, invalid
		}
		text, ok := output.(string)
		if !ok {
			text = shownWhole(output)
		}
		if expression.MatchString(text) {
			return Pass(true), nil
		}
		return Pass(false).Because("%s does not match %s", shown(output), pattern), nil
	})
}

// Schema passes if a model could return the output for an output type of T: it fits T's
// schema, decodes into T, and keeps its validate tags. A text output is read as JSON.
func Schema[T any]() Evaluator {
	kind, invalid := schema.For(reflect.TypeFor[T]())
	return ofOutput("schema", func(output any, _ *trial) (Score, error) {
		if invalid != nil {
			return Score{}, invalid
		}
		text, ok := output.(string)
		if !ok || reflect.TypeFor[T]().Kind() == reflect.String {
			text = shownWhole(output)
		}
		if kind.Wrapped() {
			text = `{"value":` + text + "}"
		}
		err := kind.Decode([]byte(text), new(T))
		if _, ok := errors.AsType[*schema.Error](err); err != nil && !ok {
			return Score{}, err
		}
		if err != nil {
			return Pass(false).Because("%v", err), nil
		}
		return Pass(true), nil
	})
}

// Near passes if the output and the case's Expected are numbers that differ by tolerance at most.
// It does not score cases without a label.
func Near(tolerance float64) Evaluator {
	return distance("near", func(d float64) Score {
		return Pass(d <= tolerance).Because("it is off by %v, %v is allowed", d, tolerance)
	})
}

// Closeness gives the number 1/(1+d/scale), where d is how far the output is from the case's
// Expected; both are numbers. It is 1 for the expected number, and 0.5 at a distance of scale. It
// does not score cases without a label.
func Closeness(scale float64) Evaluator {
	return distance("closeness", func(d float64) Score {
		return Number(1/(1+d/scale)).Because("it is off by %v", d)
	})
}

func distance(name string, score func(d float64) Score) Evaluator {
	return ofOutput(name, func(output any, t *trial) (Score, error) {
		if t.unlabeled {
			return Score{}, nil
		}
		want := t.want()
		a, ok := output.(json.Number)
		b, labeled := want.(json.Number)
		if !ok || !labeled {
			return Score{}, fmt.Errorf("%s and %s are not both numbers", shown(output), shown(want))
		}
		x, errX := a.Float64()
		y, errY := b.Float64()
		if err := errors.Join(errX, errY); err != nil {
			return Score{}, err
		}
		return score(math.Abs(x - y)), nil
	})
}

// shownLength is how much of a value a reason shows, in bytes.
const shownLength = 200

// shown returns a value for a reason.
func shown(v any) string { return shownText(shownWhole(v)) }

func shownWhole(v any) string {
	text, err := plainjson.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}
