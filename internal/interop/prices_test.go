// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"bytes"
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"
)

//go:embed python/prices.py
var pricesScript string

var pricesPeer = sync.OnceValues(func() (string, error) { return pythonPackages("prices", "prices-requirements.txt") })

// The table in agent/model/modelwrap gives each model of genai-prices the price that genai-prices gives it, by every name that
// python/prices.py makes for it. The table's golden file is a sample of these requests.
func TestPricesAgreeWithGenAIPrices(t *testing.T) {
	deepTier(t)
	interpreter := filepath.Join(installed(t, pricesPeer), "bin", "python")
	check := exec.Command("go", "run", "./internal/dev/pricegen", "-check")
	check.Dir = filepath.Join("..", "..")
	check.Stdin = bytes.NewReader(computed(t, interpreter, "0"))
	out, err := check.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	said := regexp.MustCompile(`(\d+) requests, 0 differ`).FindSubmatch(out)
	if said == nil {
		t.Fatalf("%s", out)
	}
	if n, _ := strconv.Atoi(string(said[1])); n < 10_000 {
		t.Fatalf("only %d requests were compared", n)
	}

	const golden = "../../agent/model/modelwrap/testdata/golden.jsonl"
	sample := computed(t, interpreter, "400")
	if kept, err := os.ReadFile(golden); err != nil || !bytes.Equal(kept, sample) {
		t.Errorf("%s is not what python/prices.py 400 writes (%v)", golden, err)
	}
}

func computed(t *testing.T, interpreter, keep string) []byte {
	t.Helper()
	cmd := exec.Command(interpreter, "-I", "-c", pricesScript, keep)
	cmd.Env = cleanEnv("HOME=" + t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	return out
}
