// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
)

//go:embed python/evals.py
var evalsScript string

var evalsPeer = sync.OnceValues(func() (string, error) {
	return pythonPackages("evals", "evals-requirements.txt")
})

// The scores that agent/evals is held against are those that pydantic-evals gives.
func TestScoresOfPydanticEvals(t *testing.T) {
	deepTier(t)
	at := filepath.Join("..", "..", "agent", "evals", "testdata")
	file, err := filepath.Abs(filepath.Join(at, "pydantic.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	python := filepath.Join(installed(t, evalsPeer), "bin", "python")
	cmd := exec.Command(python, "-I", "-W", "ignore", "-c", evalsScript, file)
	cmd.Env = cleanEnv("HOME=" + t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	known, err := os.ReadFile(filepath.Join(at, "pydantic.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got, want map[string]map[string]any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(known, &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the peer gives other scores than agent/evals/testdata/pydantic.json has:\n%s", out)
	}
}
