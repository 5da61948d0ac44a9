// SPDX-License-Identifier: Apache-2.0

package doctest

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// mostOfTheFloor bounds what it costs to build the README's first command on a machine that has never built it, over the cost of building
// what every program of that kind needs. Both are processor time.
const mostOfTheFloor = 2.3

// TestReadmesFirstCommandIsBuiltSoon bounds how long a newcomer waits for the README's first command.
func TestReadmesFirstCommandIsBuiltSoon(t *testing.T) {
	caches := os.Getenv("PONTE_COLD_BUILD")
	if caches == "" {
		t.Skip("PONTE_COLD_BUILD names a directory for empty build caches: this takes a minute and a half of processor time")
	}
	var ratios []float64
	for range 3 { // a busy machine can be wrong once
		cache, err := os.MkdirTemp(caches, "")
		require.NoError(t, err)
		ratio := coldBuild(t, programOfReadme(t), cache)
		ratios = append(ratios, ratio)
		if ratio <= mostOfTheFloor {
			return
		}
	}
	t.Errorf("the README's first command takes %.2f times what its floor takes to build, at most %.1f are allowed", slices.Min(ratios), mostOfTheFloor)
}

// programOfReadme returns the package that the README's first command runs.
func programOfReadme(t *testing.T) string {
	t.Helper()
	for _, b := range blocks(t) {
		if m := regexp.MustCompile(`^go run (\S+)`).FindStringSubmatch(b.text); b.file == "README.md" && m != nil {
			return m[1]
		}
	}
	t.Fatal("the README runs no program")
	return ""
}

// coldBuild returns the processor time of building a program with an empty cache, over that of building its floor. The program is built on
// top of the floor, which it links.
func coldBuild(t *testing.T, program, cache string) float64 {
	t.Helper()
	env := append(os.Environ(), "GOCACHE="+cache)
	build := func(packages ...string) time.Duration {
		cmd := exec.Command("go", append([]string{"build", "-o", os.DevNull}, packages...)...)
		cmd.Dir, cmd.Env = root, env
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	floor := []string{"net/http", "crypto/tls", "encoding/json"}
	base := build(floor...)
	rest := build(program)
	ratio := (base + rest).Seconds() / base.Seconds()
	t.Logf("%s: %.1f s of processor time, %s: %.1f s, ratio %.2f", program, (base + rest).Seconds(), strings.Join(floor, " "), base.Seconds(), ratio)
	return ratio
}
