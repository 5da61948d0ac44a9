// SPDX-License-Identifier: Apache-2.0

// Command flakes finds tests that fail now and then. It runs them many times with the race
// detector, in random order, with one, two and eight processors.
//
//	go run ./internal/dev/flakes                          the tests that depend on time, goroutines, processes or the network
//	go run ./internal/dev/flakes -all -count 20 -part 1/4 a quarter of all tests
//
// Which tests depend on those is told by what their files mention: see choose.go. The test binary
// of a package is built once. A first run of each test shows how long it takes. If all repetitions
// take longer than -minutes, the tests that take longest are repeated less often; the report lists
// them with their counts. Quick tests are repeated first. If time runs out, because repetitions have
// taken longer than the first run, the report lists the tests that were repeated less often.
//
// The command prints its seed, and for each failure the command that repeats it. It exits with
// status 1 if a test has failed.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := command(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "flakes:", err)
		os.Exit(1)
	}
}

// options are the command's flags.
type options struct {
	all      bool
	count    int
	minutes  float64
	seed     uint64
	part     string
	run      string
	dir      string
	short    bool
	workers  int
	patterns []string
}

func command(ctx context.Context, args []string) error {
	var o options
	flags := flag.NewFlagSet("flakes", flag.ContinueOnError)
	flags.BoolVar(&o.all, "all", false, "run all tests")
	flags.IntVar(&o.count, "count", 100, "how often to run each test")
	flags.Float64Var(
		&o.minutes, "minutes", 20,
		"how long the repetitions may take, without building; 0 means as long as it takes",
	)
	flags.Uint64Var(&o.seed, "seed", 0, "the seed of the order of tests; 0 draws one")
	flags.StringVar(&o.part, "part", "1/1", "the part of the packages to take, such as 2/4")
	flags.StringVar(&o.run, "run", "", "a regular expression of the names of tests")
	flags.StringVar(&o.dir, "dir", ".", "the directory of the module")
	flags.BoolVar(&o.short, "short", true, "run tests with -short")
	flags.IntVar(&o.workers, "workers", runtime.NumCPU(), "how many test binaries to run at once")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.patterns = flags.Args(); len(o.patterns) == 0 {
		o.patterns = []string{"./..."}
	}
	match, err := regexp.Compile(o.run)
	if err != nil {
		return err
	}
	if o.count < 1 || o.workers < 1 || o.minutes < 0 {
		return errors.New("-count and -workers are at least 1, -minutes is not negative")
	}
	o.seed = cmp.Or(o.seed, rand.Uint64N(1e9)+1)
	fmt.Printf("seed %d\n", o.seed)

	packages, err := choose(ctx, o, match)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "flakes")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	r := &runner{
		options: o, out: os.Stdout, scratch: scratch, failures: map[string]int{},
		leftOut: map[string]int{},
	}
	begin := time.Now()
	if err := r.build(ctx, packages); err != nil {
		return err
	}
	fmt.Printf("%d packages are built (%s)\n", len(packages), time.Since(begin).Round(time.Second))
	if err := r.measure(ctx, packages); err != nil {
		return err
	}
	rounds := plan(packages, o)
	describe(os.Stdout, packages, o)
	if err := r.repeat(ctx, rounds); err != nil {
		return err
	}
	took := time.Since(begin).Round(time.Second)
	fmt.Printf("%d runs of tests in %s, with building\n", r.runs.Load(), took)
	if len(r.leftOut) > 0 {
		names := strings.Join(slices.Sorted(maps.Keys(r.leftOut)), " ")
		fmt.Printf("repeated less often than that, because time ran out: %s\n", names)
	}
	return r.verdict()
}
