// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// sample is one measurement of a row.
type sample struct {
	round int
	// value is nanoseconds an operation, or bytes a run if inBytes is set.
	value   float64
	inBytes bool
	allocs  float64
}

// results are the samples of each cell, at most one a round.
type results map[cell][]sample

type cell struct{ column, row string }

type measuring struct {
	benchtime string
	results   results
	// failures of other frameworks: what they did wrong, by cell.
	failures map[cell][]string
}

// row measures a row with all who can, beginning with another one every round.
func (m *measuring) row(ctx context.Context, chosen []*peer, g group, row string, round int) error {
	for i := range g.columns {
		c := g.columns[(i+round)%len(g.columns)]
		at := slices.IndexFunc(chosen, func(p *peer) bool { return p.dir == c.dir })
		if at < 0 {
			continue
		}
		to := cell{c.name, row}
		s, ok, err := m.measure(ctx, chosen[at], c.benchmark, row)
		switch {
		case err != nil && (ctx.Err() != nil || chosen[at].module == ""):
			return fmt.Errorf("%s: %s: %w", c.name, row, err)
		case err != nil:
			m.failures[to] = append(m.failures[to], err.Error())
		case ok:
			s.round = round
			m.results[to] = append(m.results[to], s)
		}
	}
	return nil
}

// measure runs one benchmark in a separate process. It reports false if the benchmark does not
// exist.
func (m *measuring) measure(ctx context.Context, p *peer, benchmark, row string) (sample, bool, error) {
	benchtime := m.benchtime
	if row == "Waiting" {
		benchtime = "1x" // it measures memory, and one time says all
	}
	cmd := exec.CommandContext(ctx, p.binary, "-test.run=^$", "-test.bench=^Benchmark"+benchmark+"$/^"+row+"$", "-test.benchtime="+benchtime, "-test.timeout=10m")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return sample{}, false, fmt.Errorf("%w: %s", err, complaint(string(out)))
	}
	for line := range strings.Lines(string(out)) {
		if s, ok := parse(line); ok {
			return s, true, nil
		}
	}
	return sample{}, false, nil
}

// complaint returns the reason that a failed benchmark gives, or its whole output.
func complaint(out string) string {
	_, reason, found := strings.Cut(out, "--- FAIL: ")
	if !found {
		return strings.TrimSpace(out)
	}
	lines := strings.SplitN(reason, "\n", 3)
	if len(lines) < 2 {
		return strings.TrimSpace(reason)
	}
	_, reason, _ = strings.Cut(lines[1], ": ") // behind the place in the source
	return strings.TrimSpace(reason)
}

// parse reads a line of the output of go test -bench.
func parse(line string) (s sample, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
		return s, false
	}
	for i := 2; i+1 < len(fields); i += 2 {
		v, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return s, false
		}
		switch fields[i+1] {
		case "ns/op":
			if !s.inBytes {
				s.value = v
			}
		case "B/run":
			s.value, s.inBytes = v, true
		case "allocs/op":
			s.allocs = v
		}
	}
	return s, s.value > 0
}

// median of what get returns for each sample.
func median(samples []sample, get func(sample) float64) float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = get(s)
	}
	return middle(values)
}

// medianRatio is the median of the ratios of two cells within each round. It is false if no round has both.
func medianRatio(of, to []sample) (float64, bool) {
	var values []float64
	for _, s := range of {
		if i := slices.IndexFunc(to, func(t sample) bool { return t.round == s.round }); i >= 0 {
			values = append(values, s.value/to[i].value)
		}
	}
	if values == nil {
		return 0, false
	}
	return middle(values), true
}

func middle(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	if n%2 == 1 {
		return values[n/2]
	}
	return (values[n/2-1] + values[n/2]) / 2
}
