// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// processors are the numbers of processors that each test is run with.
var processors = []int{1, 2, 8}

// round is one run of a test binary.
type round struct {
	pkg        *testPackage
	names      []string
	count      int
	processors int
	seed       uint64
}

// plan decides how often each test is run, and returns the runs. Those of one test binary with one
// number of processors are together as far as their tests are run equally often.
func plan(packages []*testPackage, o options) []round {
	fit(packages, o)
	var rounds []round
	for i, n := range processors {
		for _, p := range packages {
			groups := map[int][]string{}
			for _, name := range p.names {
				if _, ok := p.took[name]; ok {
					count := share(p.counts[name], i)
					groups[count] = append(groups[count], name)
				}
			}
			for count, names := range groups {
				if count > 0 {
					slices.Sort(names)
					rounds = append(rounds, round{
						pkg: p, names: names, count: count, processors: n, seed: o.seed + uint64(i),
					})
				}
			}
		}
	}
	// If time runs out, it is the longest tests that are repeated less often than planned.
	slices.SortStableFunc(rounds, func(a, b round) int {
		return cmp.Or(
			cmp.Compare(b.count/len(processors), a.count/len(processors)),
			cmp.Compare(a.takes(), b.takes()), cmp.Compare(a.pkg.ImportPath, b.pkg.ImportPath),
			cmp.Compare(a.processors, b.processors),
		)
	})
	return rounds
}

// share returns how many of a test's runs are made with the i-th number of processors: a third, and
// what is left over with the first ones.
func share(count, i int) int {
	n := count / len(processors)
	if i < count%len(processors) {
		n++
	}
	return n
}

// takes returns how long a run takes, about.
func (r round) takes() (sum time.Duration) {
	for _, name := range r.names {
		sum += time.Duration(r.count) * cost(r.pkg.took[name])
	}
	return sum
}

// cost estimates the time of a run from the time that the test took with two processors. With one
// and with eight it takes longer. The quickest tests take about 2 ms.
func cost(took time.Duration) time.Duration { return max(took*8/5, 2*time.Millisecond) }

// fit sets how often each test is run. No test gets more time than it needs; those that would need
// more than the others share what is left equally.
func fit(packages []*testPackage, o options) {
	type test struct {
		pkg  *testPackage
		name string
		took time.Duration
	}
	var tests []test
	for _, p := range packages {
		for name, took := range p.took {
			tests = append(tests, test{p, name, cost(took)})
		}
	}
	slices.SortFunc(tests, func(a, b test) int { return cmp.Compare(a.took, b.took) })
	left := time.Duration(o.minutes * float64(time.Minute) * float64(o.workers))
	for i, t := range tests {
		count := o.count
		if o.minutes > 0 {
			most := int(left / time.Duration(len(tests)-i) / t.took)
			count = min(count, max(most, len(processors)))
		}
		count = classed(count, o.count)
		t.pkg.counts[t.name] = count
		left -= time.Duration(count) * t.took
	}
}

// short is the name of a test in reports.
func (p *testPackage) short(name string) string {
	return p.ImportPath[strings.LastIndexByte(p.ImportPath, '/')+1:] + "." + name
}

// classed rounds a number of repetitions down to one of a few, which lets tests share a process.
func classed(count, most int) int {
	for class := most; class > len(processors); class /= 2 {
		if count >= class {
			return class
		}
	}
	return min(most, len(processors))
}

// describe reports how often the tests are run.
func describe(w io.Writer, packages []*testPackage, o options) {
	tests, less := 0, map[int][]string{}
	for _, p := range packages {
		tests += len(p.took)
		for name := range p.took {
			if n := p.counts[name]; n < o.count {
				less[n] = append(less[n], p.short(name))
			}
		}
	}
	fmt.Fprintf(w, "%d tests, %d times each\n", tests, o.count)
	counts := make([]int, 0, len(less))
	for n := range less {
		counts = append(counts, n)
	}
	slices.Sort(counts)
	for _, n := range slices.Backward(counts) {
		slices.Sort(less[n])
		fmt.Fprintf(w, "only %d times, because they take long: %s\n", n, strings.Join(less[n], " "))
	}
}
