// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// Conformance runs the conformance suite and compares its results with those that the file of that
// name has. The name is the name of the column in the table. If a case has failed, or -run or -skip
// leave some out, it compares nothing.
//
// Then it has the model continue the conversations that all models of the matrix have left behind:
// with signatures, calls, opaque parts and images.
func Conformance(t *testing.T, name string, h modeltest.Harness) {
	t.Helper()
	results := modeltest.Conformance(t, h)
	switch {
	case t.Failed():
		return
	case isPartial():
		t.Log("matrix: results are compared only if all tests are run")
		return
	}
	dir, err := directory()
	if err != nil {
		t.Fatal(err)
	}
	if err := check(filepath.Join(dir, name+".json"), results, updating()); err != nil {
		t.Error(err)
	}
	histories(t, name, h)
}

// isPartial reports whether flags of the test binary may leave out subtests.
func isPartial() bool {
	value := func(name string) string {
		if f := flag.Lookup(name); f != nil {
			return f.Value.String()
		}
		return ""
	}
	return strings.Contains(value("test.run"), "/") || strings.Contains(value("test.skip"), "/")
}

// updating reports whether files are to be written rather than compared.
func updating() bool {
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		return true
	}
	return os.Getenv("PONTE_UPDATE") == "1"
}

const module = "module github.com/ponte-go/ponte\n"

// root finds the module's directory from the test's directory.
func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("matrix: %w", err)
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(strings.ReplaceAll(string(text), "\r\n", "\n"), module) {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("matrix: the test does not run in a directory of the module")
		}
		dir = parent
	}
}

// directory is where the results are.
func directory() (string, error) {
	dir, err := root()
	return filepath.Join(dir, "internal", "dev", "matrix", "testdata"), err
}

// check compares results with a file, or writes it.
func check(file string, results []modeltest.Result, update bool) error {
	got := encode(results)
	if update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return fmt.Errorf("matrix: %w", err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			return fmt.Errorf("matrix: %w", err)
		}
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("matrix: %w; %s", err, howToUpdate)
	}
	want, err := decode(text)
	if err != nil {
		return fmt.Errorf("matrix: %s: %w", filepath.Base(file), err)
	}
	if changes := difference(want, results); len(changes) > 0 {
		return fmt.Errorf(
			"matrix: the results differ from %s:\n  %s\n%s", filepath.Base(file),
			strings.Join(changes, "\n  "), howToUpdate,
		)
	}
	return nil
}

const howToUpdate = "to write the results of today, run the test with PONTE_UPDATE=1, and then go test ./internal/dev/matrix with it"

// encode writes results as a JSON array, one on each line.
func encode(results []modeltest.Result) []byte {
	var b bytes.Buffer
	for i, r := range results {
		b.WriteString([]string{"[\n", ",\n"}[min(i, 1)])
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(r) // strings alone
		b.Truncate(b.Len() - 1)
	}
	if len(results) == 0 {
		b.WriteString("[")
	}
	b.WriteString("\n]\n")
	return b.Bytes()
}

func decode(text []byte) ([]modeltest.Result, error) {
	var results []modeltest.Result
	if err := json.Unmarshal(text, &results); err != nil {
		return nil, err
	}
	return results, nil
}

// difference describes the changes from the results of a file to the present ones.
func difference(want, got []modeltest.Result) []string {
	type key struct{ rule, name string }
	now, before := map[key]modeltest.Result{}, map[key]modeltest.Result{}
	for _, r := range want {
		before[key{r.Rule, r.Case}] = r
	}
	var changes []string
	for _, r := range got {
		k := key{r.Rule, r.Case}
		now[k] = r
		switch old, ok := before[k]; {
		case !ok:
			changes = append(changes, fmt.Sprintf("%s/%s is new: %s", r.Rule, r.Case, outcome(r)))
		case old != r:
			changes = append(changes, fmt.Sprintf("%s/%s was %s, is %s", r.Rule, r.Case, outcome(old), outcome(r)))
		}
	}
	for _, r := range want {
		if _, ok := now[key{r.Rule, r.Case}]; !ok {
			changes = append(changes, fmt.Sprintf("%s/%s is gone", r.Rule, r.Case))
		}
	}
	return changes
}

func outcome(r modeltest.Result) string {
	if r.Reason == "" {
		return string(r.Outcome)
	}
	return fmt.Sprintf("%s (%s)", r.Outcome, r.Reason)
}
