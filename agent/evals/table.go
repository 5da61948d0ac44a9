// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/ponte-go/ponte/internal/hide"
)

// Format is the form of a table.
type Format int

const (
	// Text aligns columns with blanks, for terminals.
	Text Format = iota
	// Markdown writes tables as on GitHub, for pull requests.
	Markdown
)

// Write writes the report: a row for each metric, and the cases that did not pass.
func (r *Report) Write(w io.Writer, f Format) error {
	rows := [][]string{{"metric", "mean", "95 % interval", "trials", "cases"}}
	for _, m := range r.Metrics() {
		value, interval := fmt.Sprintf("%.4g", m.Mean), fmt.Sprintf("%.4g to %.4g", m.Low, m.High)
		if m.Kind == KindLabel {
			value, interval = counted(m.Labels), ""
		}
		trials, cases := fmt.Sprint(m.Trials), fmt.Sprint(m.Cases)
		rows = append(rows, []string{m.Name, value, interval, trials, cases})
	}
	failed := [][]string{{"case", "not passed", "reason"}}
	for i := range r.Cases {
		failed = append(failed, r.Cases[i].problems()...)
	}
	return writeTables(w, f, r.summary(), rows, failed)
}

// summary is the line above the tables.
func (r *Report) summary() string {
	trials := 0
	for i := range r.Cases {
		trials += len(r.Cases[i].Trials)
	}
	text := fmt.Sprintf("%s: %d cases, %d trials", r.title(), len(r.Cases), trials)
	text += fmt.Sprintf(", %d failed, %d unavailable, %d stopped or not run",
		r.Count(StatusFailed), r.Count(StatusUnavailable),
		r.Count(StatusStopped)+r.Count(StatusNotRun))
	text += fmt.Sprintf("; %d requests, %d tokens", r.Usage.Requests, r.Usage.TotalTokens())
	if r.Usage.Cost > 0 {
		text += fmt.Sprintf(", cost %.4f", r.Usage.Cost)
	}
	return text
}

// title names the report.
func (r *Report) title() string { return strings.TrimSpace(r.Dataset + " " + r.Name) }

// problems returns a row for each score of the case that did not pass.
func (c *ReportCase) problems() (rows [][]string) {
	for i := range c.Trials {
		t := &c.Trials[i]
		if t.Status != StatusCompleted {
			rows = append(rows, []string{c.Name, string(t.Status), t.Error})
			continue
		}
		for _, s := range t.Scores {
			if s.failing() || s.Kind == KindError {
				rows = append(rows, []string{c.Name, s.Name, s.Reason})
			}
		}
	}
	return rows
}

func counted(labels map[string]int) string {
	var all []string
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, fmt.Sprintf("%s: %d", label, labels[label]))
	}
	return strings.Join(all, ", ")
}

// Write writes the comparison: a row for each metric, and the cases that got worse.
func (c *Comparison) Write(w io.Writer, f Format) error {
	rows := [][]string{{"metric", "base", "next", "difference", "95 % interval", "p", "verdict"}}
	for _, m := range c.Changes {
		rows = append(rows, []string{
			m.Name, fmt.Sprintf("%.4g", m.Base), fmt.Sprintf("%.4g", m.Next),
			fmt.Sprintf("%+.4g", m.Difference), fmt.Sprintf("%+.4g to %+.4g", m.Low, m.High),
			fmt.Sprintf("%.4f", m.Corrected), string(m.Verdict),
		})
	}
	worse := [][]string{{"worse", "metric", "base", "next", "reason", "transcripts part"}}
	for _, x := range c.Worse {
		parting := "never"
		if p := x.Parting; p != nil {
			base, next := shownText(p.Base), shownText(p.Next)
			parting = fmt.Sprintf("in step %d: %s | %s", p.Step, base, next)
		}
		worse = append(worse, []string{
			x.Case, x.Metric, fmt.Sprintf("%.4g", x.Base), fmt.Sprintf("%.4g", x.Next),
			x.Reason, parting,
		})
	}
	return writeTables(w, f, c.Next.summary(), rows, worse)
}

// writeTables writes a line and tables. A table of a head alone is left out.
func writeTables(w io.Writer, f Format, summary string, tables ...[][]string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", cell(summary, f))
	for _, rows := range tables {
		if len(rows) < 2 {
			continue
		}
		b.WriteString("\n")
		if f == Markdown {
			writeMarkdown(&b, rows)
			continue
		}
		columns := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		for _, row := range rows {
			for i, text := range row {
				if i > 0 {
					_, _ = io.WriteString(columns, "\t")
				}
				_, _ = io.WriteString(columns, cell(text, f))
			}
			_, _ = io.WriteString(columns, "\n")
		}
		_ = columns.Flush()
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeMarkdown(b *strings.Builder, rows [][]string) {
	for i, row := range rows {
		for _, text := range row {
			b.WriteString("| " + cell(text, Markdown) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
}

// cell returns a text on one line, without what would change the table or the terminal.
func cell(text string, f Format) string {
	text = hide.Controls(strings.Join(strings.Fields(shownText(text)), " "))
	if f == Markdown {
		text = markdown.Replace(text)
	}
	return text
}

// markdown escapes what would be markup.
var markdown = strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;", "&", "&amp;", "`", "\\`",
	"*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "@", "&#64;", "#", "\\#", "~", "\\~")
