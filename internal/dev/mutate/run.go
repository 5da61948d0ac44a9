// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// outcome is the end of a mutant.
type outcome int

const (
	survived outcome = iota
	killed
	timedOut   // killed, by a timeout
	equivalent // not tested: listed in equivalent.txt
	invalid    // not counted: does not compile
)

// runner runs tests.
type runner struct {
	root, scratch string
	switched      string // the overlay with all mutants that can be switched, or empty
	files         atomic.Int64
}

// verdict is the result of one run of tests.
type verdict struct {
	outcome
	by   string // the test that failed, or why none did
	text string // all output
	took time.Duration
}

// overlay writes changed files, by path, and the JSON file for the flag -overlay, and returns the
// latter's path.
func (r *runner) overlay(files map[string][]byte) (string, error) {
	replace := map[string]string{}
	for path, source := range files {
		replace[path] = filepath.Join(r.scratch, fmt.Sprintf("%d.go", r.files.Add(1)))
		if err := os.WriteFile(replace[path], source, 0o600); err != nil {
			return "", err
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(r.scratch, fmt.Sprintf("%d.json", r.files.Add(1)))
	return overlay, os.WriteFile(overlay, data, 0o600)
}

// parallel calls f for the numbers from 0 to n-1 in several goroutines, until one of them returns an
// error, and returns their errors.
func parallel(workers, n int, f func(i int) error) error {
	errs := make([]error, workers)
	var wg sync.WaitGroup
	var next atomic.Int64
	for w := range errs {
		wg.Go(func() {
			for errs[w] == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				errs[w] = f(i)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
