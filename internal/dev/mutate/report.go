// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"
)

// report counts outcomes. It is not safe for concurrent use.
type report struct {
	w          io.Writer
	o          options
	candidates int
	rows       map[string]*row
	begin      time.Time
}

// row is one package's figures.
type row struct{ killed, timedOut, survived, equivalent, invalid int }

func (r *row) counted() int { return r.killed + r.timedOut + r.survived }

func newReport(w io.Writer, o options) *report {
	return &report{w: w, o: o, rows: map[string]*row{}, begin: time.Now()}
}

// note adds a mutant's outcome, and prints survivors at once.
func (r *report) note(m *mutant, v verdict) {
	o, by := v.outcome, v.by
	if r.rows[m.pkg.dir] == nil {
		r.rows[m.pkg.dir] = &row{}
	}
	switch row := r.rows[m.pkg.dir]; o {
	case killed, timedOut:
		if o == timedOut {
			row.timedOut++
			by = "timeout"
		} else {
			row.killed++
		}
		if r.o.verbose {
			_, _ = fmt.Fprintf(r.w, "killed %s by %s\n", m.id, by)
		}
	case survived:
		row.survived++
		_, _ = fmt.Fprintf(r.w, "survived %s (line %d, %s)\n%s", m.id, m.line(), by, indent(m.diff()))
	case equivalent:
		row.equivalent++
	case invalid:
		row.invalid++
	}
	if n := r.counted(); n%50 == 0 && n > 0 && (o == killed || o == timedOut || o == survived) {
		_, _ = fmt.Fprintf(
			r.w, "%d mutants, %.1f %% killed (%s)\n", n, r.score(),
			time.Since(r.begin).Round(time.Second),
		)
	}
}

func (r *row) add(other *row) {
	r.killed += other.killed
	r.timedOut += other.timedOut
	r.survived += other.survived
	r.equivalent += other.equivalent
	r.invalid += other.invalid
}

func (r *report) total() (sum row) {
	for _, row := range r.rows {
		sum.add(row)
	}
	return sum
}

// groups returns the sums of the groups.
func (r *report) groups() map[string]*row {
	sums := map[string]*row{}
	for dir, one := range r.rows {
		name := groupOf(dir)
		if sums[name] == nil {
			sums[name] = &row{}
		}
		sums[name].add(one)
	}
	return sums
}

func (r *report) counted() int {
	sum := r.total()
	return sum.counted()
}

// score returns the percentage of the counted mutants that were killed.
func (r *report) score() float64 {
	sum := r.total()
	return sum.score()
}

func (r *row) score() float64 {
	if r.counted() == 0 {
		return 100
	}
	return 100 * float64(r.killed+r.timedOut) / float64(r.counted())
}

// print writes the table.
func (r *report) print() {
	_, _ = fmt.Fprintf(
		r.w, "\nseed %d, %d mutants of %d candidates, %s\n", r.o.seed, r.counted(), r.candidates,
		time.Since(r.begin).Round(time.Second),
	)
	w := tabwriter.NewWriter(r.w, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "package\tcounted\tkilled\tby timeout\tsurvived\tscore\tequivalent\tdid not compile\t")
	line := func(name string, row row) {
		_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%.1f %%\t%d\t%d\t\n", name, row.counted(), row.killed+row.timedOut, row.timedOut,
			row.survived, row.score(), row.equivalent, row.invalid)
	}
	for _, dir := range slices.Sorted(maps.Keys(r.rows)) {
		line(dir, *r.rows[dir])
	}
	if sums := r.groups(); len(sums) > 1 {
		for _, g := range groups {
			if row := sums[g.name]; row != nil {
				line("group "+g.name, *row)
			}
		}
	}
	line("all", r.total())
	_ = w.Flush()
}
