// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func numbered(n int) (all []*mutant) {
	for i := range n {
		all = append(all, &mutant{id: fmt.Sprintf("a/f.go:f:negate:%06x", i)})
	}
	return all
}

func idsOf(all []*mutant) (ids []string) {
	for _, m := range all {
		ids = append(ids, m.id)
	}
	return ids
}

func TestSeedDecidesTheSample(t *testing.T) {
	all, any := numbered(1000), regexp.MustCompile("")
	one := idsOf(draw(all, 1, any))
	slices.Reverse(all)
	require.Equal(t, one, idsOf(draw(all, 1, any)))
	require.NotEqual(t, one[:100], idsOf(draw(all, 2, any))[:100])

	// The sample is spread over all mutants.
	first := 0
	for _, id := range one[:200] {
		if id < "a/f.go:f:negate:0001f4" {
			first++
		}
	}
	require.InDelta(t, 100, first, 30)
}

func TestSampleStaysWhenMutantsComeAndGo(t *testing.T) {
	any := regexp.MustCompile("")
	before := idsOf(draw(numbered(1000), 1, any))
	after := idsOf(draw(numbered(990), 1, any))
	gone := regexp.MustCompile("0003(de|df|e.)$")
	require.Equal(t, after, slices.DeleteFunc(before, gone.MatchString))
}

func TestEquivalentsNeedAReason(t *testing.T) {
	file := filepath.Join(t.TempDir(), "equivalent.txt")
	read := func(text string) (equivalents, error) {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return readEquivalents(file)
	}
	list, err := read("# comment\n\na/f.go:f:negate:000001\n\tThe loop ends\n\tone step later.\n")
	require.NoError(t, err)
	require.Equal(t, equivalents{"a/f.go:f:negate:000001": "The loop ends one step later."}, list)

	for _, text := range []string{"a/f.go:f:negate:000001\n", "\treason\n", "x\n\tr\nx\n\tr\n"} {
		_, err := read(text)
		require.Error(t, err, text)
	}
}

func TestStaleEquivalentsAreReported(t *testing.T) {
	chosen := []target{{dir: "a"}}
	list := equivalents{"a/f.go:f:negate:000001": "r", "a/f.go:f:negate:ffffff": "r", "b/f.go:f:negate:000001": "r"}
	err := list.check(numbered(10), chosen)
	require.ErrorContains(t, err, "a/f.go:f:negate:ffffff")
	require.NotContains(t, err.Error(), "000001")
}

// Every entry of the list has a form that readEquivalents takes.
// A change to the code of an equivalent mutant asks for a new judgement.
func TestEquivalentsFitTheCode(t *testing.T) {
	root, err := moduleRoot()
	require.NoError(t, err)
	list, err := readEquivalents(filepath.Join(root, own, "equivalent.txt"))
	require.NoError(t, err)
	if testing.Short() {
		t.Skip("type-checks many packages")
	}
	all, err := findTargets(t.Context(), root, []string{"."})
	require.NoError(t, err)
	var chosen []target
	for _, target := range all {
		for id := range list {
			if file, _, _ := strings.Cut(id, ":"); path.Dir(file) == target.dir {
				chosen = append(chosen, target)
				break
			}
		}
	}
	c, err := load(t.Context(), root, chosen)
	require.NoError(t, err)
	require.NoError(t, list.check(c.mutants(), all))
}
