// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

// write writes the group's two tables, who of the others is not slower than we are, and who failed.
func (g group) write(out *strings.Builder, r results, failures map[cell][]string) {
	var columns []column
	for _, c := range g.columns {
		if r.hasColumn(g, c) {
			columns = append(columns, c)
		}
	}
	if len(columns) == 0 {
		return
	}
	fmt.Fprintf(out, "### %s: times the floor (allocations)\n\n", g.title)
	g.table(out, r, columns, r.relative)
	fmt.Fprintf(out, "### %s: medians\n\n", g.title)
	g.table(out, r, columns, r.absolute)
	for _, d := range g.growths {
		d.write(out, r, columns)
	}
	out.WriteString(g.verdict(r, columns) + "\n\n")
	for _, row := range g.rows {
		for _, c := range columns {
			if f := failures[cell{c.name, row}]; f != nil {
				fmt.Fprintf(out, "Failed in %d of %d rounds: %s in %s (%s).\n\n", len(f), len(f)+len(r[cell{c.name, row}]), c.name, row, f[0])
			}
		}
	}
}

func (r results) hasColumn(g group, c column) bool {
	for _, row := range g.rows {
		if r[cell{c.name, row}] != nil {
			return true
		}
	}
	return false
}

func (g group) table(out *strings.Builder, r results, columns []column, show func(c column, row string) string) {
	header(out, columns)
	for _, row := range g.rows {
		cells := make([]string, len(columns))
		filled := false
		for i, c := range columns {
			cells[i] = "–"
			if r[cell{c.name, row}] != nil {
				cells[i], filled = show(c, row), true
			}
		}
		if filled {
			fmt.Fprintf(out, "| %s | %s |\n", row, strings.Join(cells, " | "))
		}
	}
	out.WriteString("\n")
}

func header(out *strings.Builder, columns []column) {
	out.WriteString("| |")
	for _, c := range columns {
		out.WriteString(" " + c.name + " |")
	}
	out.WriteString("\n|---|" + strings.Repeat("---:|", len(columns)) + "\n")
}

// ratio returns the median of a cell's ratio to the floor in the same round.
func (r results) ratio(c column, row string) (float64, bool) {
	return medianRatio(r[cell{c.name, row}], r[cell{floor, row}])
}

func (r results) relative(c column, row string) string {
	text := "?"
	if ratio, ok := r.ratio(c, row); ok {
		text = precise(ratio) + "×"
	}
	samples := r[cell{c.name, row}]
	if samples[0].inBytes {
		return text
	}
	return fmt.Sprintf("%s (%s)", text, count(median(samples, func(s sample) float64 { return s.allocs })))
}

func (r results) absolute(c column, row string) string {
	samples := r[cell{c.name, row}]
	if samples[0].inBytes {
		return fmt.Sprintf("%.0f B", r.median(c, row))
	}
	return duration(r.median(c, row))
}

func (r results) median(c column, row string) float64 {
	return median(r[cell{c.name, row}], func(s sample) float64 { return s.value })
}

// growth compares the cost of two rows, divided by the ratio of their work.
type growth struct {
	title       string
	small, more string
	times       float64
}

func (d growth) write(out *strings.Builder, r results, columns []column) {
	var list []string
	for _, c := range columns {
		if ratio, ok := medianRatio(r[cell{c.name, d.more}], r[cell{c.name, d.small}]); ok {
			list = append(list, c.name+" "+precise(ratio/d.times))
		}
	}
	if list != nil {
		fmt.Fprintf(out, "%s: %s.\n\n", d.title, strings.Join(list, ", "))
	}
}

// verdict names the cells in which another framework is not slower than ours.
func (g group) verdict(r results, columns []column) string {
	var list []string
	for _, row := range g.rows {
		mine, ok := r.ratio(column{name: own}, row)
		if !ok {
			continue
		}
		for _, c := range columns {
			if c.name == floor || c.name == own {
				continue
			}
			if ratio, ok := r.ratio(c, row); ok && ratio <= mine {
				list = append(list, fmt.Sprintf("%s in %s (%s of ours)", c.name, row, precise(ratio/mine)))
			}
		}
	}
	if list == nil {
		return "No peer is as good as Ponte in any row."
	}
	return "As good as Ponte or better: " + strings.Join(list, ", ") + "."
}

// precise gives a ratio three digits.
func precise(v float64) string {
	switch {
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	case v < 100:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

func count(v float64) string {
	switch {
	case v < 10_000:
		return fmt.Sprintf("%.0f", v)
	case v < 1e6:
		return fmt.Sprintf("%.0fk", v/1e3)
	}
	return fmt.Sprintf("%.1fM", v/1e6)
}

// duration writes nanoseconds in the unit that suits them.
func duration(ns float64) string {
	switch {
	case ns < 1e3:
		return precise(ns) + " ns"
	case ns < 1e6:
		return precise(ns/1e3) + " µs"
	case ns < 1e9:
		return precise(ns/1e6) + " ms"
	}
	return precise(ns/1e9) + " s"
}
