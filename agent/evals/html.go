// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/hide"
)

//go:embed report.html
var pageText string

// page is parsed when the first report is written, not when a program starts.
var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("report").Funcs(template.FuncMap{
		"number":  func(v float64) string { return fmt.Sprintf("%.4g", v) },
		"signed":  func(v float64) string { return fmt.Sprintf("%+.4g", v) },
		"plain":   hide.Controls,
		"counted": counted,
		"json":    func(v any) string { return hide.Controls(shownWhole(v)) },
	}).Parse(pageText))
})

// WriteHTML writes the report as one file that a browser opens without a network: metrics with
// their intervals, and every transcript. With a baseline, which may be nil, it compares the two:
// the cases that got worse come first, with both transcripts beside each other and the first step
// at which they part.
func (r *Report) WriteHTML(w io.Writer, base *Report) error {
	return writeHTML(w, r.html(base))
}

// CompareHTML writes one file as [Report.WriteHTML] does that compares several reports with a
// baseline, one after another.
func CompareHTML(w io.Writer, base *Report, next ...*Report) error {
	var all []htmlPage
	for _, r := range next {
		all = append(all, r.html(base))
	}
	return writeHTML(w, all...)
}

func writeHTML(w io.Writer, all ...htmlPage) error {
	if err := page().Execute(w, all); err != nil {
		return fmt.Errorf("evals: HTML: %w", err)
	}
	return nil
}

// html returns what the page shows of a report.
func (r *Report) html(base *Report) htmlPage {
	p := htmlPage{Title: r.title(), Summary: r.summary()}
	if p.Title == "" {
		p.Title = "Evals"
	}
	for _, m := range r.Metrics() {
		p.Metrics = append(p.Metrics, htmlMetric{m, barOf(m.Mean, m.Low, m.High, m.most())})
	}
	if base != nil {
		c := Compare(base, r)
		p.Base = base.summary()
		for _, change := range c.Changes {
			most := max(change.High, -change.Low, change.Difference, -change.Difference)
			bar := barOf(change.Difference+most, change.Low+most, change.High+most, 2*most)
			p.Changes = append(p.Changes, htmlChange{change, bar})
		}
		for _, x := range c.Worse {
			p.Worse = append(p.Worse, c.pair(x))
		}
	}
	for i := range r.Cases {
		c := &r.Cases[i]
		shown := htmlCase{ReportCase: c, Good: true}
		for j := range c.Trials {
			t := &c.Trials[j]
			shown.Good = shown.Good && t.Passed()
			shown.Shown = append(shown.Shown, htmlTrial{t, transcriptOf(t, nil, "")})
		}
		p.Cases = append(p.Cases, shown)
	}
	return p
}

// htmlPage has the values of the template.
type htmlPage struct {
	Title, Summary, Base string
	Metrics              []htmlMetric
	Changes              []htmlChange
	Worse                []htmlPair
	Cases                []htmlCase
}

type htmlMetric struct {
	Metric
	Bar bar
}

type htmlChange struct {
	Change
	Bar bar
}

// htmlPair is a case that got worse, with both transcripts.
type htmlPair struct {
	CaseChange
	BaseLines, NextLines []htmlLine
}

type htmlCase struct {
	*ReportCase
	Good  bool
	Shown []htmlTrial
}

type htmlTrial struct {
	*TrialResult
	Lines []htmlLine
}

// htmlLine is a line of a transcript. Class names its kind.
type htmlLine struct {
	Class, Text string
	Parts       bool // the other transcript has something else here
}

// bar is a value with its interval, on a scale from 0 to 200 points.
type bar struct{ At, From, Width float64 }

func barOf(value, low, high, most float64) bar {
	if most <= 0 {
		most = 1
	}
	at := func(v float64) float64 { return min(200, max(0, 200*v/most)) }
	return bar{at(value), at(low), max(1, at(high)-at(low))}
}

// most is the end of the scale of a metric.
func (m *Metric) most() float64 {
	if m.Kind == KindPass {
		return 1
	}
	return max(1, m.Mean, m.High)
}

// pair returns both transcripts of a case that got worse, those that the comparison has looked at.
func (c *Comparison) pair(x CaseChange) htmlPair {
	next, _ := c.Next.find(x.Case, x.Metric, func(v float64) bool { return v < x.Base })
	base, _ := c.Base.find(x.Case, x.Metric, func(v float64) bool { return v >= x.Base })
	pair, parting := htmlPair{CaseChange: x}, cmp.Or(x.Parting, &Parting{})
	if base != nil {
		pair.BaseLines = transcriptOf(base, x.Parting, parting.Base)
	}
	if next != nil {
		pair.NextLines = transcriptOf(next, x.Parting, parting.Next)
	}
	return pair
}

// transcriptOf returns the transcript of a trial. The line at which it parts from another is
// marked.
func transcriptOf(t *TrialResult, parting *Parting, text string) (all []htmlLine) {
	for run := range t.Runs {
		r := &t.Runs[run]
		if len(t.Runs) > 1 {
			name := strings.TrimSpace("run " + r.Agent)
			all = append(all, htmlLine{Class: "run", Text: hide.Controls(name)})
		}
		step := 0
		for _, m := range r.Messages {
			if m.Kind == model.KindResponse {
				step++
			}
			for i := range m.Parts {
				said := described(&m.Parts[i])
				if said == "" {
					continue
				}
				line := htmlLine{Class: string(m.Parts[i].Kind), Text: hide.Controls(said)}
				here := parting != nil && parting.Run == run && parting.Step == max(step, 1)
				if here && said == text {
					line.Parts, parting = true, nil
				}
				all = append(all, line)
			}
		}
		if r.Error != "" {
			all = append(all, htmlLine{Class: "error", Text: hide.Controls("error: " + r.Error)})
		}
	}
	if t.Output != nil {
		said := hide.Controls("output: " + string(t.Output))
		all = append(all, htmlLine{Class: "output", Text: said})
	}
	return all
}
