// SPDX-License-Identifier: Apache-2.0

// Command mutate measures how much the tests notice. It makes small changes to the code, mutants, and runs the tests of
// the packages that are known to test the changed package. A mutant is killed if a test fails or times out. It survives
// if all tests pass.
//
//	go run ./internal/mutate -seed 1 -n 600
//
// The sample is drawn by seed from all mutants of the packages in [targets]. The order in which mutants are drawn depends
// on the seed and on the mutant's id only, so most of a sample stays the same while the code is edited. Mutants that do
// not compile are not counted. Mutants listed in equivalent.txt change nothing that a caller can observe; they are not
// counted either. The command exits with status 1 if fewer than -min percent of the others are killed.
//
// The work tree is never edited: mutants reach the compiler through go test -overlay.
//
// With -named the command runs the mutants in named/*.txt instead. Each breaks one rule of docs/rules.md, and names the
// test that must fail.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
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
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// options are the command's flags.
type options struct {
	seed     uint64
	n        int
	min      float64
	workers  int
	packages string
	run      string
	list     bool
	named    bool
	verbose  bool
}

func command(ctx context.Context, args []string) error {
	var o options
	flags := flag.NewFlagSet("mutate", flag.ContinueOnError)
	flags.Uint64Var(&o.seed, "seed", 1, "which sample to draw")
	flags.IntVar(&o.n, "n", 600, "how many mutants to count")
	flags.Float64Var(&o.min, "min", 92, "the percentage that must be killed")
	flags.IntVar(&o.workers, "workers", runtime.NumCPU(), "how many mutants to test at once")
	flags.StringVar(&o.packages, "packages", "", "the packages to change, separated by commas; all by default")
	flags.StringVar(&o.run, "run", "", "a regular expression of the mutants to test, by id (or by rule, with -named)")
	flags.BoolVar(&o.list, "list", false, "list the sample with its changes and test nothing")
	flags.BoolVar(&o.named, "named", false, "test the mutants in named/*.txt")
	flags.BoolVar(&o.verbose, "v", false, "print each mutant when it is done")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	match, err := regexp.Compile(o.run)
	if err != nil {
		return err
	}
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	r := &runner{root: root, scratch: scratch}
	if o.named {
		return runNamed(ctx, r, filepath.Join(root, "internal", "mutate", "named"), match, o)
	}
	chosen, err := choose(o.packages)
	if err != nil {
		return err
	}
	return runSample(ctx, r, chosen, match, o)
}

// choose returns the targets with the given directories, or all of them.
func choose(dirs string) ([]target, error) {
	if dirs == "" {
		return targets, nil
	}
	var chosen []target
	for dir := range strings.SplitSeq(dirs, ",") {
		i := slices.IndexFunc(targets, func(t target) bool { return t.dir == dir })
		if i < 0 {
			return nil, fmt.Errorf("%s is not in the table of packages, see targets.go", dir)
		}
		chosen = append(chosen, targets[i])
	}
	return chosen, nil
}

func runSample(ctx context.Context, r *runner, chosen []target, match *regexp.Regexp, o options) error {
	code, err := load(ctx, r.root, chosen)
	if err != nil {
		return err
	}
	excused, err := readEquivalents(filepath.Join(r.root, "internal", "mutate", "equivalent.txt"))
	if err != nil {
		return err
	}
	all := code.mutants()
	if err := excused.check(all, chosen); err != nil {
		return err
	}
	s := &sampler{code: code, excused: excused, rest: draw(all, o.seed, match)}
	rep := newReport(os.Stdout, o)
	rep.candidates = len(all)
	if o.list {
		for range o.n {
			m := s.next(rep)
			if m == nil {
				break
			}
			fmt.Printf("%s\n%s", m.id, indent(m.diff()))
		}
		return nil
	}
	begin := time.Now()
	if err := r.baseline(ctx, chosen, o.workers); err != nil {
		return err
	}
	fmt.Printf("all tests pass without a mutant (%s)\n", time.Since(begin).Round(time.Second))
	if err := r.testAll(ctx, s, rep, o); err != nil {
		return err
	}
	rep.print()
	if rep.score() < o.min {
		return fmt.Errorf("%.1f %% of the mutants were killed, fewer than %.1f %%", rep.score(), o.min)
	}
	return nil
}

// moduleRoot returns the directory above the working directory that has the go.mod file.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod above the working directory")
		}
		dir = parent
	}
}
