// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/ponte-go/ponte/internal/evalstat"
)

//go:embed python/stats.py
var statsScript string

var statsPeer = sync.OnceValues(func() (string, error) {
	const condition = "sys.version_info >= (3, 11)"
	return packagesOf("python3", "stats", "stats-requirements.txt", condition, "3.11 or newer")
})

// resultSet is a random set of results, and what scipy and statsmodels say of it.
type resultSet struct {
	Yes         int       `json:"yes"`
	N           int       `json:"n"`
	Differences []float64 `json:"differences"`
	P           []float64 `json:"p"`
	Values      []float64 `json:"values"`
	Ratings     [][2]int  `json:"ratings"` // of two raters
}

type peerStats struct {
	Wilson, Holm, Bootstrap []float64
	Paired, Kappa           float64
}

// randomResults makes a set whose kind depends on i: McNemar's, without ties, with ties, large.
func randomResults(random *rand.Rand, i int) (s resultSet) {
	s.N = 1 + random.IntN(400)
	s.Yes = random.IntN(s.N + 1)
	for range 1 + random.IntN(10) {
		s.P = append(s.P, math.Pow(random.Float64(), 3))
	}
	for range (20 + random.IntN(80)) * (1 - min(i%8, 1)) { // of each eighth set: it takes the peer long
		s.Values = append(s.Values, random.NormFloat64())
	}
	s.Ratings = [][2]int{{0, 1}, {1, 0}, {2, 2}}
	for range 20 + random.IntN(40) {
		first, second := random.IntN(3), random.IntN(3)
		if random.IntN(2) == 0 {
			second = first
		}
		s.Ratings = append(s.Ratings, [2]int{first, second})
	}
	size := []int{40, 50, 9, 400}[i%4]
	for range 1 + random.IntN(size) + size/400*300 {
		d := 0.0
		switch i % 4 {
		case 0:
			d = float64(random.IntN(3) - 1)
		case 1:
			d = random.NormFloat64() + 0.3
		case 2:
			d = float64(random.IntN(7)-3) / 4
		case 3:
			d = float64(random.IntN(9) - 4)
		}
		s.Differences = append(s.Differences, d)
	}
	return s
}

// Intervals and p-values of comparisons of evals agree with scipy and statsmodels: to 1e-6, the
// bootstrap to its sampling error.
func TestStatisticsAgreeWithSciPyAndStatsmodels(t *testing.T) {
	deepTier(t)
	random := rand.New(rand.NewPCG(7, 7))
	sets := make([]resultSet, 1200)
	for i := range sets {
		sets[i] = randomResults(random, i)
	}
	in, err := json.Marshal(sets)
	if err != nil {
		t.Fatal(err)
	}
	python := filepath.Join(installed(t, statsPeer), "bin", "python")
	cmd := exec.Command(python, "-I", "-W", "ignore", "-c", statsScript)
	cmd.Env, cmd.Stdin = cleanEnv("HOME="+t.TempDir()), bytes.NewReader(in)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	var peers []peerStats
	if err := json.Unmarshal(out, &peers); err != nil {
		t.Fatal(err)
	}
	for i, s := range sets {
		if problem := s.compare(peers[i]); problem != "" {
			t.Errorf("set %d: %s\n%+v", i, problem, s)
		}
	}
}

// compare returns how what we say differs.
func (s resultSet) compare(peer peerStats) string {
	const exact = 1e-6
	w := evalstat.Wilson(float64(s.Yes), float64(s.N))
	b := evalstat.Bootstrap(s.Values, 1)
	if len(s.Values) == 0 {
		peer.Bootstrap = []float64{0, 0}
	}
	ratings := make([][2]string, len(s.Ratings))
	for i, r := range s.Ratings {
		ratings[i] = [2]string{fmt.Sprint(r[0]), fmt.Sprint(r[1])}
	}
	sampling := 0.36 / math.Sqrt(max(1, float64(len(s.Values)))) // six errors of a percentile
	all := []struct {
		what            string
		ours, theirs, d float64
	}{
		{"low", w.Low, peer.Wilson[0], exact}, {"high", w.High, peer.Wilson[1], exact},
		{"p", evalstat.SignedRank(s.Differences), peer.Paired, exact},
		{"kappa", evalstat.Kappa(ratings), peer.Kappa, exact},
		{"bootstrap, low", b.Low, peer.Bootstrap[0], sampling},
		{"bootstrap, high", b.High, peer.Bootstrap[1], sampling},
	}
	for _, c := range all {
		if math.Abs(c.ours-c.theirs) > c.d {
			return fmt.Sprintf("%s: %v, the peer has %v", c.what, c.ours, c.theirs)
		}
	}
	for i, p := range evalstat.Holm(s.P) {
		if math.Abs(p-peer.Holm[i]) > exact {
			return fmt.Sprintf("Holm: %v, the peer has %v", p, peer.Holm[i])
		}
	}
	return ""
}
