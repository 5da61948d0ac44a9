// SPDX-License-Identifier: Apache-2.0

// Command mutate measures how much the tests notice. It makes small changes to the code, mutants,
// and runs the tests of the packages that are known to test the changed package. A mutant is killed
// if a test fails or times out. It survives if all tests pass.
//
//	go run ./internal/dev/mutate -seed 1                   100 mutants of all packages
//	go run ./internal/dev/mutate -group web,editors -n 50  of two groups
//	go run ./internal/dev/mutate -packages agent/session/... -without agent/session/host
//
// The sample is drawn by seed from all mutants of the packages that users import, of the samples,
// and of the house's own tools; nothing is generated code. [groups] has the names of groups. The
// order in which mutants are drawn depends on the seed and on the mutant's id only, so most of a
// sample stays the same while the code is edited, and a group's part of a sample is the same
// without the others. Mutants that do not compile are not counted. Mutants listed in equivalent.txt
// change nothing that a caller can observe; they are not counted either. The command exits with
// status 1 if fewer than -min percent of the others are killed.
//
// All tests that may be needed are built once with all mutants, and run without one: see switch.go.
// A mutant is then tested by those that reach it. After -minutes no mutant is begun any more.
//
// The work tree is never edited: mutants reach the compiler through go test -overlay.
//
// With -named the command runs the mutants in named/*.txt instead. Each breaks one rule of
// docs/rules.md, and names the test that must fail.
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

// own is the directory of the command, below the root, with its lists.
var own = filepath.Join("internal", "dev", "mutate")

// options are the command's flags.
type options struct {
	seed     uint64
	n        int
	min      float64
	workers  int
	minutes  float64
	group    string
	packages string
	without  string
	run      string
	list     bool
	named    bool
	verbose  bool
}

func command(ctx context.Context, args []string) error {
	var o options
	flags := flag.NewFlagSet("mutate", flag.ContinueOnError)
	flags.Uint64Var(&o.seed, "seed", 1, "which sample to draw")
	flags.IntVar(&o.n, "n", 100, "how many mutants to count")
	flags.Float64Var(&o.min, "min", 92, "the percentage that must be killed")
	flags.IntVar(&o.workers, "workers", runtime.NumCPU(), "how many mutants to test at once")
	flags.Float64Var(&o.minutes, "minutes", 90, "after how many minutes to begin no more mutants; 0 means never")
	flags.StringVar(&o.group, "group", "", "groups of packages to change, separated by commas: see targets.go")
	flags.StringVar(
		&o.packages, "packages", "",
		"packages to change, separated by commas, with /... for those below; all by default",
	)
	flags.StringVar(&o.without, "without", "", "packages to leave out, in the same form")
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
		return runNamed(ctx, r, filepath.Join(root, own, "named"), match, o)
	}
	all, err := findTargets(ctx, root, modules)
	if err != nil {
		return err
	}
	chosen, err := choose(all, o.group, o.packages, o.without)
	if err != nil {
		return err
	}
	return runSample(ctx, r, chosen, match, o)
}

func runSample(ctx context.Context, r *runner, chosen []target, match *regexp.Regexp, o options) error {
	code, err := load(ctx, r.root, chosen)
	if err != nil {
		return err
	}
	excused, err := readEquivalents(filepath.Join(r.root, own, "equivalent.txt"))
	if err != nil {
		return err
	}
	all := code.mutants()
	if err := excused.check(all, chosen); err != nil { // a test fails of it; the sample is good without the entry
		fmt.Println(err)
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
