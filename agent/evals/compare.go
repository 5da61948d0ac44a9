// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"cmp"
	"slices"

	"github.com/ponte-go/ponte/internal/evalstat"
)

// Verdict is the result of comparing a metric.
type Verdict string

const (
	// Better means that the metric is significantly better than in the baseline.
	Better Verdict = "better"
	// Worse means that the metric is significantly worse than in the baseline.
	Worse Verdict = "worse"
	// NoDifference means that the cases do not show a difference. There may be one.
	NoDifference Verdict = "no significant difference"
)

// level is the probability with which a comparison without any difference finds one.
const level = 0.05

// Comparison tells how a report differs from a baseline.
type Comparison struct {
	// Base is the baseline, and Next the report that is compared with it.
	Base, Next *Report
	// Changes has the metrics that both reports have, labels excepted.
	Changes []Change
	// Worse has the cases that got worse, the worst first.
	Worse []CaseChange
}

// Change tells how a metric differs. It is about the cases that have scores in both reports.
type Change struct {
	// Name is the metric, and Cases the number of cases.
	Name  string
	Cases int
	// Base and Next are the means over the cases, with one value for each case: the mean of its
	// repeats.
	Base, Next float64
	// Difference is Next - Base. Low and High are its interval of 95 %, by bootstrap over cases.
	Difference, Low, High float64
	// P is the p-value of the Wilcoxon signed-rank test over the cases; with one pass or no for
	// each case, that is McNemar's exact test. Corrected is P after Holm's correction for all
	// metrics of the comparison.
	P, Corrected float64
	Verdict      Verdict
}

// CaseChange tells how a case got worse.
type CaseChange struct {
	// Case and Metric are the names of the case and of the metric.
	Case, Metric string
	// Base and Next are the means of the case's scores.
	Base, Next float64
	// Reason is the reason of the first score of Next that is below Base.
	Reason string
	// Parting is the first step at which the two transcripts differ; nil if they do not.
	Parting *Parting
}

// Compare compares a report with a baseline, case by case. The probability that it finds any metric
// better or worse if no metric is different is at most 5 %.
func Compare(base, next *Report) *Comparison {
	c := &Comparison{Base: base, Next: next}
	baseNames, baseKinds := base.kinds()
	_, nextKinds := next.kinds()
	var p []float64
	for _, name := range baseNames {
		if baseKinds[name] == KindLabel || nextKinds[name] == "" || nextKinds[name] == KindLabel {
			continue
		}
		change := c.change(name)
		c.Changes, p = append(c.Changes, change), append(p, change.P)
	}
	for i, corrected := range evalstat.Holm(p) {
		change := &c.Changes[i]
		change.Corrected, change.Verdict = corrected, NoDifference
		switch {
		case corrected >= level:
		case change.Difference < 0:
			change.Verdict = Worse
		case change.Difference > 0:
			change.Verdict = Better
		}
	}
	slices.SortStableFunc(c.Worse, func(a, b CaseChange) int {
		return cmp.Compare(a.Next-a.Base, b.Next-b.Base)
	})
	return c
}

// change compares one metric, and notes the cases that got worse.
func (c *Comparison) change(name string) Change {
	before := map[string]float64{}
	for _, v := range c.Base.values(name) {
		before[v.name] = evalstat.Mean(v.values)
	}
	var base, next, differences []float64
	for _, v := range c.Next.values(name) {
		old, ok := before[v.name]
		if !ok {
			continue
		}
		now := evalstat.Mean(v.values)
		base, next, differences = append(base, old), append(next, now), append(differences, now-old)
		if now < old {
			c.Worse = append(c.Worse, c.worse(v.name, name, old, now))
		}
	}
	interval := evalstat.Bootstrap(differences, seed)
	return Change{
		Name: name, Cases: len(differences), Base: evalstat.Mean(base), Next: evalstat.Mean(next),
		Difference: evalstat.Mean(differences), Low: interval.Low, High: interval.High,
		P: evalstat.SignedRank(differences),
	}
}

// worse describes a case that got worse: by the first trial that is below the mean of the baseline,
// and the first of the baseline that is not.
func (c *Comparison) worse(name, metric string, before, now float64) CaseChange {
	w := CaseChange{Case: name, Metric: metric, Base: before, Next: now}
	next, score := c.Next.find(name, metric, func(v float64) bool { return v < before })
	base, _ := c.Base.find(name, metric, func(v float64) bool { return v >= before })
	if score != nil {
		w.Reason = score.Reason
	}
	if base != nil && next != nil {
		w.Parting = part(base, next)
		if w.Reason == "" {
			w.Reason = next.Error
		}
	}
	return w
}

// find returns the first trial of a case whose score for a metric fits, and the score.
func (r *Report) find(name, metric string, fits func(v float64) bool) (*TrialResult, *Score) {
	for i := range r.Cases {
		if r.Cases[i].Name != name {
			continue
		}
		for j := range r.Cases[i].Trials {
			t := &r.Cases[i].Trials[j]
			for k := range t.Scores {
				s := &t.Scores[k]
				if s.Name == metric && s.Kind != KindError && s.Kind != KindLabel && fits(s.Value) {
					return t, s
				}
			}
		}
	}
	return nil, nil
}
