// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// suite is the tests in one directory, in a binary with all mutants that can be switched.
type suite struct {
	dir     string
	bin     *testBinary
	took    time.Duration // all tests together
	tests   []oneTest     // that pass without a mutant, the quickest first
	without []string      // that do not
}

// oneTest is a test, an example or a fuzz test with its seeds.
type oneTest struct {
	name    string
	took    time.Duration
	reaches reached
}

// reached has the numbers of the mutants whose functions are called.
type reached map[int]bool

var (
	passed    = regexp.MustCompile(`(?m)^--- PASS: (\w+) \((\d+\.\d+)s\)`)
	testNames = regexp.MustCompile(`(?m)^(?:Test|Example|Fuzz)\w*$`)
)

// suite builds the tests in a directory, runs them without a mutant, and notes what they reach.
func (r *runner) suite(ctx context.Context, dir, overlay string) (*suite, error) {
	bin, v, err := r.build(ctx, dir, overlay)
	if err != nil {
		return nil, err
	}
	if bin == nil {
		return nil, fmt.Errorf("the tests of %s do not compile:\n%s", dir, v.text)
	}
	s := &suite{dir: dir, bin: bin}
	v, by, err := r.reach(ctx, s, "-v")
	if err != nil {
		return nil, err
	}
	s.took = v.took
	for _, m := range passed.FindAllStringSubmatch(v.text, -1) {
		seconds, _ := strconv.ParseFloat(m[2], 64)
		took := time.Duration(seconds * float64(time.Second))
		s.tests = append(s.tests, oneTest{m[1], took, by[reacher(m[1])]})
	}
	if v.outcome != survived { // for once, or because of the copies; perhaps it did not come to all
		if err := r.again(ctx, s); err != nil {
			return nil, err
		}
		if len(s.tests) == 0 {
			return nil, fmt.Errorf("the tests of %s fail without a mutant:\n%s", dir, v.text)
		}
	}
	slices.SortStableFunc(s.tests, func(a, b oneTest) int { return int(a.took - b.took) })
	return s, nil
}

// reacher returns by what name a test reaches mutants.
func reacher(test string) string {
	if strings.HasPrefix(test, "Example") {
		return ""
	}
	return test
}

// again runs the tests that did not pass once more, one by one.
func (r *runner) again(ctx context.Context, s *suite) error {
	list, err := r.run(ctx, s.bin, "", time.Minute, "-list=.")
	if err != nil {
		return err
	}
	for _, name := range testNames.FindAllString(list.text, -1) {
		if slices.ContainsFunc(s.tests, func(t oneTest) bool { return t.name == name }) {
			continue
		}
		v, by, err := r.reach(ctx, s, "-run=^"+name+"$")
		if err != nil {
			return err
		}
		if v.outcome == survived {
			s.tests = append(s.tests, oneTest{name, v.took, by[reacher(name)]})
		} else {
			s.without = append(s.without, name)
		}
	}
	return nil
}

// reach runs tests without a mutant and returns the mutants that they reach, by their names.
func (r *runner) reach(
	ctx context.Context, s *suite, flags ...string,
) (verdict, map[string]reached, error) {
	path := filepath.Join(r.scratch, fmt.Sprintf("reach%d", r.files.Add(1)))
	if err := os.WriteFile(path, nil, 0o666); err != nil { // tests may have children of other users
		return verdict{}, nil, err
	}
	defer func() { _ = os.Remove(path) }()
	flags = append(flags, testArgs[s.dir]...)
	v, err := r.run(ctx, s.bin, reachPrefix+path, 10*time.Minute, flags...)
	if err != nil {
		return v, nil, err
	}
	data, err := os.ReadFile(path)
	by := map[string]reached{}
	for line := range strings.Lines(string(data)) {
		tests, number, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		n, err := strconv.Atoi(number)
		if err != nil {
			return v, nil, fmt.Errorf("%s: %w", path, err)
		}
		for name := range strings.SplitSeq(strings.TrimSuffix(tests, ","), ",") {
			if by[name] == nil {
				by[name] = reached{}
			}
			by[name][n] = true
		}
	}
	return v, by, err
}

// reaching returns the names of the tests that reach a mutant, the quickest first, and the time
// that they take.
func (s *suite) reaching(n int) (names []string, took []time.Duration) {
	for _, t := range s.tests {
		if t.reaches[n] {
			names, took = append(names, t.name), append(took, t.took)
		}
	}
	return names, took
}

// all returns flags for all tests that pass without a mutant.
func (s *suite) all() []string {
	return append([]string{"-skip=^(" + strings.Join(s.without, "|") + ")$"}, testArgs[s.dir]...)
}

// timeout returns how long tests may take with a mutant that take some time without.
func timeout(took time.Duration) time.Duration {
	return min(max(minTimeout, 8*took), maxTimeout+took)
}

// quick is the time of tests that are run together.
const quick = time.Second

// kill runs the tests that reach a mutant: first the quick ones, which kill most, then the others.
func (r *runner) kill(ctx context.Context, s *suite, number int) (verdict, error) {
	names, took := s.reaching(number)
	for len(names) > 0 {
		n, sum, size := 0, time.Duration(0), 0
		all := took[0] > quick
		for n < len(names) && (n == 0 || all || sum+took[n] <= quick) && size < maxLine {
			sum, size = sum+took[n], size+len(names[n])+1
			n++
		}
		v, err := r.run(ctx, s.bin, strconv.Itoa(number), timeout(sum),
			append([]string{"-run=^(" + strings.Join(names[:n], "|") + ")$"}, testArgs[s.dir]...)...)
		if err != nil || v.outcome != survived {
			return v, err
		}
		names, took = names[n:], took[n:]
	}
	return verdict{outcome: survived}, nil
}

// maxLine bounds the length of an argument, which Linux bounds at 128 KiB.
const maxLine = 100_000
