// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

// requirement is something that the protocol's documentation asks of an agent, in our words, and the tests against the built binary that it is
// kept. The names of tests are those that the testing package prints; a group stands for all tests in it.
type requirement struct {
	id    string
	level level
	text  string
	tests []string
}

// level says how binding a requirement is.
type level string

const (
	mandatory  level = "mandatory"  // for every agent
	capability level = "capability" // for agents that announce something, and towards clients that do
	advisory   level = "advisory"   // recommended
)

// started are the names of the tests that have started the agent.
var started sync.Map

// ranTest notes that a test has started the agent.
func ranTest(t testing.TB) { started.Store(t.Name(), true) }

// wholeRun reports whether all tests were to run, with all peers.
func wholeRun() bool {
	run, skip := flag.Lookup("test.run"), flag.Lookup("test.skip")
	return run.Value.String() == "" && skip.Value.String() == "" && os.Getenv("PONTE_INTEROP") == "require"
}

// hasRun reports whether a test, or one of a group, has started the agent.
func hasRun(name string) (found bool) {
	name = strings.ReplaceAll(name, " ", "_")
	started.Range(func(key, _ any) bool {
		found = key == name || strings.HasPrefix(key.(string), name+"/")
		return !found
	})
	return found
}

// unmetRequirements returns what has no test that ran.
func unmetRequirements() (missing []string) {
	for _, r := range requirements {
		for _, name := range r.tests {
			if !hasRun(name) {
				missing = append(missing, fmt.Sprintf("%s: %s: %s", r.id, r.text, name))
			}
		}
	}
	return missing
}

// bySDKs are the same scenario with each SDK.
func bySDKs(scenario string) (names []string) {
	for _, s := range []string{"TestTypeScriptSDK/", "TestPythonSDK/", "TestGoSDK/"} {
		names = append(names, s+scenario)
	}
	return names
}

func TestRequirementsAreComplete(t *testing.T) {
	seen, levels := map[string]bool{}, map[level]int{}
	for _, r := range requirements {
		if r.id == "" || seen[r.id] || r.text == "" || len(r.tests) == 0 {
			t.Errorf("the requirement %q needs an id of its own, a text and a test", r.id)
		}
		seen[r.id] = true
		levels[r.level]++
	}
	if levels[mandatory] == 0 || levels[capability] == 0 || levels[advisory] == 0 || len(levels) != 3 {
		t.Errorf("the levels are %v", levels)
	}
	t.Logf("%d requirements: %v", len(requirements), levels)
}
