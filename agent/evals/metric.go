// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"slices"

	"github.com/ponte-go/ponte/internal/evalstat"
)

// Metric sums up the scores of a report for one evaluator.
type Metric struct {
	// Name is the name of the evaluator. Kind is [KindPass], [KindNumber] or [KindLabel].
	Name string
	Kind Kind
	// Trials is how many trials have a score, and Cases how many cases they belong to.
	Trials, Cases int
	// Mean is the mean of the numbers, or the share of passes. Low and High are its interval of 95
	// %: of Wilson for passes, by bootstrap for numbers. Repeats of a case count as one cluster.
	Mean, Low, High float64
	// Labels counts the labels.
	Labels map[string]int
}

// seed makes intervals reproducible.
const seed = 1

// Metrics returns the metrics of a report, in the order of their first scores.
func (r *Report) Metrics() []Metric {
	names, kinds := r.kinds()
	metrics := make([]Metric, len(names))
	for i, name := range names {
		m := Metric{Name: name, Kind: kinds[name]}
		if m.Kind == KindLabel {
			r.label(&m)
		} else {
			m.sum(r.values(name))
		}
		metrics[i] = m
	}
	return metrics
}

// sum fills in what the clusters of values say.
func (m *Metric) sum(values []cluster) {
	clusters, means, yes := make([][]float64, len(values)), make([]float64, len(values)), 0.0
	for i, c := range values {
		clusters[i], means[i] = c.values, evalstat.Mean(c.values)
		m.Trials += len(c.values)
		for _, v := range c.values {
			yes += v
		}
	}
	m.Cases = len(values)
	if m.Trials > 0 {
		m.Mean = yes / float64(m.Trials)
	}
	interval := evalstat.Interval{}
	if m.Kind == KindPass {
		n := evalstat.Effective(clusters)
		interval = evalstat.Wilson(m.Mean*n, n)
	} else {
		interval = evalstat.Bootstrap(means, seed)
	}
	m.Low, m.High = interval.Low, interval.High
}

// cluster are the scores of the trials of one case.
type cluster struct {
	name   string
	values []float64
}

// kinds returns the names of the metrics and what they are. A metric of which there are failures
// only is a pass.
func (r *Report) kinds() (names []string, kinds map[string]Kind) {
	kinds = map[string]Kind{}
	r.each(func(_ *ReportCase, s *Score) {
		switch s.Kind {
		case KindError:
			return
		case KindFailed:
			if kinds[s.Name] == "" {
				kinds[s.Name] = KindFailed
			}
		default:
			if kinds[s.Name] == "" || kinds[s.Name] == KindFailed {
				kinds[s.Name] = s.Kind
			}
		}
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	})
	for name, kind := range kinds {
		if kind == KindFailed {
			kinds[name] = KindPass
		}
	}
	return names, kinds
}

// each calls fn for each score of the report.
func (r *Report) each(fn func(c *ReportCase, s *Score)) {
	for i := range r.Cases {
		for j := range r.Cases[i].Trials {
			for k := range r.Cases[i].Trials[j].Scores {
				fn(&r.Cases[i], &r.Cases[i].Trials[j].Scores[k])
			}
		}
	}
}

// values returns the values of a metric, by case. A failure has the value 0.
func (r *Report) values(name string) (all []cluster) {
	r.each(func(c *ReportCase, s *Score) {
		if s.Name != name || s.Kind == KindError || s.Kind == KindLabel {
			return
		}
		if len(all) == 0 || all[len(all)-1].name != c.Name {
			all = append(all, cluster{name: c.Name})
		}
		last := &all[len(all)-1]
		last.values = append(last.values, s.Value)
	})
	return all
}

// label fills in what the labels of a metric say.
func (r *Report) label(m *Metric) {
	m.Labels = map[string]int{}
	var last *ReportCase
	r.each(func(c *ReportCase, s *Score) {
		if s.Name != m.Name || s.Kind != KindLabel {
			return
		}
		m.Labels[s.Label]++
		if m.Trials++; c != last {
			m.Cases, last = m.Cases+1, c
		}
	})
}
