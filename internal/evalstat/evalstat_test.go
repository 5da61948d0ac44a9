// SPDX-License-Identifier: Apache-2.0

package evalstat_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/evalstat"
)

// TestGoldenValues holds what statsmodels 0.15.0 and scipy 1.17.1 say. internal/interop compares
// more than 1,000 random result sets.
func TestGoldenValues(t *testing.T) {
	for _, c := range []struct{ yes, n, low, high float64 }{
		{8, 10, 0.490162471536642, 0.9433178485456247}, {0, 5, 0, 0.4344824647831054},
		{5, 5, 0.5655175352168946, 1}, {81, 263, 0.2552885198782742, 0.36620957698280004},
	} {
		i := evalstat.Wilson(c.yes, c.n)
		require.InDelta(t, c.low, i.Low, 1e-9, "%v", c)
		require.InDelta(t, c.high, i.High, 1e-9, "%v", c)
	}
	require.Equal(t, evalstat.Interval{Low: 0, High: 1}, evalstat.Wilson(0, 0))
	for _, c := range []struct {
		d []float64
		p float64
	}{
		{nil, 1}, {[]float64{0, 0}, 1}, {[]float64{1}, 1}, {[]float64{1, 1, 1, 1, 1, 1}, 0.03125},
		{[]float64{1, 1, 1, 1, 1, 1, 1, 1, -1, 0}, 0.0390625}, // McNemar: 8 against 1
		{[]float64{6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75}, 0.041259765625},
	} {
		require.InDelta(t, c.p, evalstat.SignedRank(c.d), 1e-9, "%v", c.d)
	}
	require.InDeltaSlice(t, []float64{0.03, 0.06, 0.06, 0.02}, evalstat.Holm([]float64{0.01, 0.04, 0.03, 0.005}), 1e-12)
	require.Empty(t, evalstat.Holm(nil))
}

func TestBootstrapIsReproducible(t *testing.T) {
	values := []float64{1, 2, 3, 4, 100}
	require.Equal(t, evalstat.Bootstrap(values, 7), evalstat.Bootstrap(values, 7))
	require.NotEqual(t, evalstat.Bootstrap(values, 7), evalstat.Bootstrap(values, 8))
	require.Equal(t, evalstat.Interval{Low: 3, High: 3}, evalstat.Bootstrap([]float64{3}, 7))
	require.Zero(t, evalstat.Bootstrap(nil, 7))
}

func TestRepeatsThatAgreeCountOnce(t *testing.T) {
	alike, mixed := make([][]float64, 20), make([][]float64, 20)
	for i := range alike {
		v := float64(i % 2)
		alike[i], mixed[i] = []float64{v, v, v, v}, []float64{0, 1, 0, 1}
	}
	require.InDelta(t, 19, evalstat.Effective(alike), 1, "four repeats that agree are one answer")
	require.InDelta(t, 80, evalstat.Effective(mixed), 1e-9, "never more than there are answers")
	require.InDelta(t, 20, evalstat.Effective([][]float64{19: {1}}), 1e-9)
}

// compare simulates a comparison of three metrics over cases with three repeats each, and reports
// whether any of them is called different. effect is added to the chance of a yes in the first.
func compare(random *rand.Rand, cases int, effect float64) bool {
	p := make([]float64, 3)
	for m := range p {
		d := make([]float64, cases)
		for i := range d {
			chance := 0.9 * random.Float64()
			more := 0.0
			if m == 0 {
				more = effect
			}
			for range 3 {
				if random.Float64() < min(1, chance+more) {
					d[i]++
				}
				if random.Float64() < chance {
					d[i]--
				}
			}
			d[i] /= 3
		}
		p[m] = evalstat.SignedRank(d)
	}
	for _, v := range evalstat.Holm(p) {
		if v < 0.05 {
			return true
		}
	}
	return false
}

func TestComparisonsWithoutADifferenceFindNone(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	share := func(cases int, effect float64) float64 {
		found := 0
		for range 1000 {
			if compare(random, cases, effect) {
				found++
			}
		}
		return float64(found) / 1000
	}
	error3 := 3 * math.Sqrt(0.05*0.95/1000)
	for _, cases := range []int{5, 20, 60} {
		require.LessOrEqual(t, share(cases, 0), 0.05+error3, "%d cases", cases)
	}
	power := share(60, 0.15)
	t.Logf("power with 60 cases, 3 repeats and 15 points more: %.3f", power)
	require.Greater(t, power, 0.6)
}

func TestManyDifferencesAreApproximated(t *testing.T) {
	d := make([]float64, 200)
	for i := range d {
		d[i] = float64(i+1) * float64(1-2*(i%3/2))
	}
	exact := evalstat.SignedRank(d)
	require.InDelta(t, exact, evalstat.SignedRank(append(d, 0.5)), 0.02)
}
