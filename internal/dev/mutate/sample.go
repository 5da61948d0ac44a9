// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"regexp"
	"slices"
	"strings"
)

// draw returns the mutants whose ids match, in the order in which the seed draws them. The place of
// a mutant depends on the seed and on its id.
func draw(all []*mutant, seed uint64, match *regexp.Regexp) []*mutant {
	type drawn struct {
		*mutant
		rank uint64
	}
	var list []drawn
	for _, m := range all {
		if match.MatchString(m.id) {
			h := fnv.New64a()
			_, _ = h.Write(binary.BigEndian.AppendUint64(nil, seed))
			_, _ = h.Write([]byte(m.id))
			list = append(list, drawn{m, mix(h.Sum64())})
		}
	}
	slices.SortFunc(list, func(a, b drawn) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.id, b.id))
	})
	sample := make([]*mutant, len(list))
	for i, d := range list {
		sample[i] = d.mutant
	}
	return sample
}

// mix spreads the bits of a hash, because FNV leaves ids that differ in their last bytes near each
// other. It is the finalizer of SplitMix64.
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// sampler hands out the mutants that count.
type sampler struct {
	code    *code
	excused equivalents
	rest    []*mutant
}

// next returns the next mutant that compiles and is not known to be equivalent, or nil. It notes
// the others.
func (s *sampler) next(rep *report) *mutant {
	for len(s.rest) > 0 {
		m := s.rest[0]
		s.rest = s.rest[1:]
		switch {
		case s.excused[m.id] != "":
			rep.note(m, verdict{outcome: equivalent})
		case !s.code.compiles(m):
			rep.note(m, verdict{outcome: invalid})
		default:
			return m
		}
	}
	return nil
}

// equivalents are the reasons why mutants cannot be killed, by id.
type equivalents map[string]string

// readEquivalents reads a list. The id of a mutant is alone on a line, and the lines after it,
// which begin with a tab, give the reason. Empty lines and lines that begin with # are skipped.
func readEquivalents(path string) (equivalents, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	list, id := equivalents{}, ""
	scan := bufio.NewScanner(file)
	for n := 1; scan.Scan(); n++ {
		line := scan.Text()
		reason, indented := strings.CutPrefix(line, "\t")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case !indented:
			if _, twice := list[line]; twice {
				return nil, fmt.Errorf("%s:%d: %s is listed twice", path, n, line)
			}
			id = line
			list[id] = ""
		case id == "":
			return nil, fmt.Errorf("%s:%d: a reason without an id", path, n)
		default:
			list[id] = strings.TrimSpace(list[id] + " " + reason)
		}
	}
	for id, reason := range list {
		if reason == "" {
			return nil, fmt.Errorf("%s: %s has no reason", path, id)
		}
	}
	return list, scan.Err()
}

// check reports entries for mutants that no longer exist in the chosen packages, because the code
// has changed.
func (e equivalents) check(all []*mutant, chosen []target) error {
	ids := map[string]bool{}
	for _, m := range all {
		ids[m.id] = true
	}
	var errs []error
	for id := range e {
		file, _, _ := strings.Cut(id, ":")
		dir := file[:max(0, strings.LastIndexByte(file, '/'))]
		if !ids[id] && slices.ContainsFunc(chosen, func(t target) bool { return t.dir == dir }) {
			errs = append(errs, fmt.Errorf(
				"equivalent.txt: no mutant %s; remove it, or judge the changed code anew", id,
			))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}
