// SPDX-License-Identifier: Apache-2.0

// Package leaktest fails a package's tests if a goroutine is left when they are over.
package leaktest

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
)

// grace is how long goroutines have to end by themselves, on a machine that is busy with other tests.
const grace = 20 * time.Second

// Main runs the tests of a package and ends the process:
//
//	func TestMain(m *testing.M) { leaktest.Main(m) }
//
// The stacks of goroutines that are left are written to standard error. While fuzzing nothing is
// checked, because the fuzzing engine runs other goroutines.
//
// Copies of the test binary that tests start end at once. With the race detector they would sleep
// for a second first.
func Main(m *testing.M) { os.Exit(Run(m)) }

// Run is [Main] for packages that have something to close before the process ends. It returns the exit code.
func Run(m *testing.M) int {
	_ = os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0")
	before := runtime.NumGoroutine()
	code := m.Run()
	if fuzz := flag.Lookup("test.fuzz"); code != 0 || fuzz != nil && fuzz.Value.String() != "" {
		return code
	}
	for end := time.Now().Add(grace); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			fmt.Fprintf(os.Stderr, "goroutines left behind:\n%s\n", stacks[:runtime.Stack(stacks, true)])
			return 1
		}
	}
	return code
}
