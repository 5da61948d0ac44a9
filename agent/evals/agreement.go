// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/ponte-go/ponte/internal/evalstat"
)

// FromMetadata gives the score that the case's Metadata has under a key, such as what a person has
// said: a yes or no, a number or a label. Cases without it are not scored.
func FromMetadata(key string) Evaluator {
	return OnFailure(untyped(key, func(_ context.Context, t *trial) (Score, error) {
		switch v := t.metadata[key].(type) {
		case nil:
			return Score{}, nil
		case bool:
			return Pass(v), nil
		case string:
			return Label(v), nil
		case float64:
			return Number(v), nil
		case int:
			return Number(float64(v)), nil
		case json.Number:
			n, err := v.Float64()
			return Number(n), err
		default:
			const problem = "the metadata %q is a %T, must be a bool, a number or a string"
			return Score{}, fmt.Errorf(problem, key, v)
		}
	}))
}

// Agreement tells how far two metrics agree, such as a judge and people.
type Agreement struct {
	// Trials is how many trials have both scores, and Same how many of them have the same.
	Trials, Same int
	// Kappa is Cohen's kappa: 1 if they always agree, 0 if they agree as often as by chance. Low
	// and High are its interval of 95 %, by bootstrap over cases. How much is enough depends on the
	// use; below 0.6, a judge says little about what people would say.
	Kappa, Low, High float64
	// Counts has how often each pair of scores was given: of the first metric, of the second.
	Counts map[[2]string]int
}

// Agreement compares two metrics of the report, trial by trial. Scores are compared as they are: a
// number agrees with the same number.
func (r *Report) Agreement(a, b string) (Agreement, error) {
	var cases [][][2]string
	found := [2]bool{}
	for i := range r.Cases {
		var items [][2]string
		for j := range r.Cases[i].Trials {
			var pair [2]string
			for _, s := range r.Cases[i].Trials[j].Scores {
				for k, name := range [2]string{a, b} {
					if s.Name == name && s.Kind != KindError && s.Kind != KindFailed {
						pair[k], found[k] = s.rating(), true
					}
				}
			}
			if pair[0] != "" && pair[1] != "" {
				items = append(items, pair)
			}
		}
		if items != nil {
			cases = append(cases, items)
		}
	}
	for k, name := range [2]string{a, b} {
		if !found[k] {
			return Agreement{}, fmt.Errorf("evals: the report has no scores of %q", name)
		}
	}
	all := slices.Concat(cases...)
	g := Agreement{Trials: len(all), Kappa: evalstat.Kappa(all), Counts: map[[2]string]int{}}
	for _, pair := range all {
		g.Counts[pair]++
		if pair[0] == pair[1] {
			g.Same++
		}
	}
	g.Low, g.High = kappaInterval(cases)
	return g, nil
}

// rating returns a score as a category.
func (s *Score) rating() string {
	switch {
	case s.Kind == KindLabel:
		return "label " + s.Label
	case s.Kind == KindPass && s.Value == 1:
		return "yes"
	case s.Kind == KindPass:
		return "no"
	}
	return strconv.FormatFloat(s.Value, 'g', -1, 64)
}

// kappaInterval draws cases, each with its trials.
func kappaInterval(cases [][][2]string) (low, high float64) {
	const draws = 2000
	if len(cases) == 0 {
		return 0, 0
	}
	random := rand.New(rand.NewPCG(seed, uint64(len(cases))))
	values := make([]float64, draws)
	var items [][2]string
	for i := range values {
		items = items[:0]
		for range cases {
			items = append(items, cases[random.IntN(len(cases))]...)
		}
		values[i] = evalstat.Kappa(items)
	}
	slices.Sort(values)
	return values[draws/40], values[draws-draws/40-1]
}
