// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every package with code is in the sample, and somebody tests it.
func TestEveryPackageIsCovered(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	require.NoError(t, err)
	all, err := findTargets(t.Context(), root, modules)
	require.NoError(t, err)
	dirs := map[string]target{}
	for _, target := range all {
		dirs[target.dir] = target
		require.NotEmpty(t, target.tests, "%s: nobody tests it: name tests in moreTests", target.dir)
		require.NotEmpty(t, groupOf(target.dir), target.dir)
	}
	for _, dir := range []string{"agent", "internal/loop", "webbridge", "examples/bank", "agent/session/pgstore", "agent/engine/temporalengine"} {
		require.Contains(t, dirs, dir)
	}
	require.Equal(t, []string{"agent", "internal/engine"}, dirs["internal/loop"].tests[len(dirs["internal/loop"].tests)-2:])
	require.Equal(t, "agent/session/pgstore", dirs["agent/session/pgstore"].module)
	require.NotContains(t, dirs, "internal/dev/mutate")
	for dir, tests := range moreTests {
		require.Contains(t, dirs, dir, "moreTests names it")
		for _, test := range tests {
			require.DirExists(t, filepath.Join(root, test), "moreTests names it for %s", dir) // it may have tests only
		}
	}
	for name, want := range map[string]bool{"(Config).Format": true, "(*Config).MarshalJSON": true, "(Config).open": false, "Format": false, "(t).Marshal": false} {
		for dir, exported := range map[string]bool{"agent/model/openaimodel": true, "toolset/mcptoolset": true, "internal/hide": false, "agent/session/pgstore": false} {
			tests := testsOf(&mutant{function: name, pkg: &pkg{target: dirs[dir]}})
			require.Equal(t, want && exported, slices.Contains(tests, printing), "%s of %s", name, dir)
			require.NotContains(t, dirs[dir].tests, printing)
		}
	}
	for _, g := range groups {
		require.True(t, slices.ContainsFunc(all, func(t target) bool { return groupOf(t.dir) == g.name }), "the group %s is empty: is its module in modules?", g.name)
	}
}

func TestPackagesAreChosenByGroupsAndPatterns(t *testing.T) {
	all := []target{{dir: "agent"}, {dir: "agent/session"}, {dir: "agent/session/host"}, {dir: "agent/session/pgstore"}, {dir: "webbridge"}}
	for _, test := range []struct {
		group, only, without string
		want                 []string
	}{
		{"", "", "", []string{"agent", "agent/session", "agent/session/host", "agent/session/pgstore", "webbridge"}},
		{"sessions", "", "", []string{"agent/session", "agent/session/host"}},
		{"sessions,web", "", "agent/session/host", []string{"agent/session", "webbridge"}},
		{"", "agent", "", []string{"agent"}},
		{"", "agent/session/...", "agent/session/host,agent/session/pgstore", []string{"agent/session"}},
		{"web", "agent", "", []string{"agent", "webbridge"}},
	} {
		chosen, err := choose(all, test.group, test.only, test.without)
		require.NoError(t, err, test)
		var dirs []string
		for _, c := range chosen {
			dirs = append(dirs, c.dir)
		}
		require.Equal(t, test.want, dirs, test)
	}
	for _, wrong := range [][3]string{{"x", "", ""}, {"", "x", ""}, {"", "", "x/..."}, {"", "agent", "agent"}} {
		_, err := choose(all, wrong[0], wrong[1], wrong[2])
		require.Error(t, err, wrong)
	}
}

// A package without tests of its own is tested by those that import it, however many steps away.
func TestUntestedPackagesAreTestedByTheirUsers(t *testing.T) {
	low := &listed{ImportPath: "m/low", target: target{dir: "low"}}
	mid := &listed{ImportPath: "m/mid", Imports: []string{"m/low"}, target: target{dir: "mid"}}
	top := &listed{ImportPath: "m/top", XTestImports: []string{"m/mid"}, XTestGoFiles: []string{"top_test.go"}, target: target{dir: "top"}}
	all := []*listed{low, mid, top}
	require.Equal(t, []string{"top"}, testsFor(low, all))
	require.Equal(t, []string{"top"}, testsFor(mid, all))
	require.Equal(t, []string{"top"}, testsFor(top, all))
	require.Empty(t, testsFor(&listed{ImportPath: "m/alone", target: target{dir: "alone"}}, all))
}
