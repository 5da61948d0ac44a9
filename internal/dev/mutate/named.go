// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// namedMutant breaks one rule. Its test must fail with it, and pass without it.
type namedMutant struct {
	at   string // where it is written
	rule string
	file string // relative to the module's root
	dir  string // of the test's package
	test string
	find string
	put  string
}

// readNamed reads all mutants of a directory. A mutant begins with the lines "rule: …", "file: …"
// and "test: DIR NAME", in this order. The text to replace follows after a line "---", and its
// replacement after a line "+++"; a line "===" ends the mutant. Lines that begin with # are skipped
// between mutants.
func readNamed(dir string) ([]namedMutant, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	var all []namedMutant
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		mutants, err := parseNamed(filepath.Base(path), string(data))
		if err != nil {
			return nil, err
		}
		all = append(all, mutants...)
	}
	return all, nil
}

func parseNamed(name, text string) ([]namedMutant, error) {
	var all []namedMutant
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); {
		if lines[i] == "" || strings.HasPrefix(lines[i], "#") {
			i++
			continue
		}
		m := namedMutant{at: fmt.Sprintf("%s:%d", name, i+1)}
		var test string
		for _, field := range []struct {
			key   string
			value *string
		}{{"rule: ", &m.rule}, {"file: ", &m.file}, {"test: ", &test}} {
			value, ok := "", i < len(lines)
			if ok {
				value, ok = strings.CutPrefix(lines[i], field.key)
			}
			if !ok || value == "" {
				return nil, fmt.Errorf("%s: line %d must begin with %q", m.at, i+1, field.key)
			}
			*field.value = value
			i++
		}
		var ok bool
		if m.dir, m.test, ok = strings.Cut(test, " "); !ok {
			return nil, fmt.Errorf("%s: test must have a directory and a name", m.at)
		}
		for _, part := range []struct {
			mark, end string
			text      *string
		}{{"---", "+++", &m.find}, {"+++", "===", &m.put}} {
			if i >= len(lines) || lines[i] != part.mark {
				return nil, fmt.Errorf("%s: no line %q", m.at, part.mark)
			}
			n := slices.Index(lines[i:], part.end)
			if n < 0 {
				return nil, fmt.Errorf("%s: no line %q", m.at, part.end)
			}
			*part.text = strings.Join(lines[i+1:i+n], "\n")
			i += n
		}
		i++ // the line ===
		if m.find == "" || m.find == m.put {
			return nil, fmt.Errorf("%s: nothing is changed", m.at)
		}
		all = append(all, m)
	}
	return all, nil
}

// source returns the changed file. The text to replace must occur once.
func (m *namedMutant) source(root string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.file)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.at, err)
	}
	if n := strings.Count(string(data), m.find); n != 1 {
		return nil, fmt.Errorf("%s: %s has the text to replace %d times, it must be there once", m.at, m.file, n)
	}
	return []byte(strings.Replace(string(data), m.find, m.put, 1)), nil
}

// runNamed tests the mutants whose rules match.
func runNamed(ctx context.Context, r *runner, dir string, match *regexp.Regexp, o options) error {
	all, err := readNamed(dir)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(m namedMutant) bool { return !match.MatchString(m.rule) })
	begin := time.Now()
	if err := r.passWithout(ctx, all); err != nil {
		return err
	}
	fmt.Printf("the tests of %d rules pass without a mutant (%s)\n", len(all), time.Since(begin).Round(time.Second))
	errs := make([]error, len(all))
	err = parallel(o.workers, len(all), func(i int) error {
		if errs[i] = r.mustFail(ctx, &all[i]); errs[i] != nil {
			fmt.Println(errs[i])
		} else if o.verbose {
			fmt.Printf("%s fails: %s\n", all[i].test, all[i].rule)
		}
		return ctx.Err()
	})
	if err := errors.Join(append(errs, err)...); err != nil {
		return errors.New("not every rule is kept by its test")
	}
	fmt.Printf(
		"each of %d tests fails when its rule is broken (%s)\n", len(all),
		time.Since(begin).Round(time.Second),
	)
	return nil
}

// passWithout runs the tests without mutants.
func (r *runner) passWithout(ctx context.Context, all []namedMutant) error {
	tests := map[string][]string{}
	for _, m := range all {
		if !slices.Contains(tests[m.dir], m.test) {
			tests[m.dir] = append(tests[m.dir], m.test)
		}
	}
	for dir, names := range tests {
		v, err := r.goTest(ctx, dir, "", 10*time.Minute, "-v", "-run=^("+strings.Join(names, "|")+")$")
		if err != nil {
			return err
		}
		for _, name := range names {
			if v.outcome != survived || !strings.Contains(v.text, "--- PASS: "+name+" ") {
				return fmt.Errorf("%s in %s does not pass without a mutant:\n%s", name, dir, v.text)
			}
		}
	}
	return nil
}

// mustFail reports an error unless the mutant's test fails.
func (r *runner) mustFail(ctx context.Context, m *namedMutant) error {
	source, err := m.source(r.root)
	if err != nil {
		return err
	}
	overlay, err := r.overlay(map[string][]byte{filepath.Join(r.root, filepath.FromSlash(m.file)): source})
	if err != nil {
		return err
	}
	v, err := r.goTest(ctx, m.dir, overlay, minTimeout, "-run=^"+m.test+"$")
	switch {
	case err != nil:
		return err
	case v.outcome == invalid:
		return fmt.Errorf("%s: the mutant of %q does not compile:\n%s", m.at, m.rule, v.text)
	case v.outcome == survived:
		return fmt.Errorf("%s: %s passes though its rule is broken: %s", m.at, m.test, m.rule)
	}
	return nil
}
