// SPDX-License-Identifier: Apache-2.0

package evalstat_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/evalstat"
)

// TestSeedsGiveTheirIntervals holds intervals that reports have shown: a report of last year is not
// to change.
func TestSeedsGiveTheirIntervals(t *testing.T) {
	for _, c := range []struct {
		values    []float64
		seed      uint64
		low, high float64
	}{
		{[]float64{1, 2, 3, 4, 100}, 1, 1.8, 61.2},
		{[]float64{0, 1}, 1, 0, 1},
		{[]float64{-1, 0, 5, 2.5, 7, 9, -3}, 2, -0.14464285714285552, 5.857142857142857},
		{[]float64{5}, 3, 5, 5},
		{[]float64{1, 1, 1, 2}, 4, 1, 1.75},
	} {
		i := evalstat.Bootstrap(c.values, c.seed)
		require.InDelta(t, c.low, i.Low, 1e-9, "%v", c)
		require.InDelta(t, c.high, i.High, 1e-9, "%v", c)
	}
	many := make([]float64, 1000)
	random := rand.New(rand.NewPCG(1, 1))
	for i := range many {
		many[i] = random.Float64()
	}
	i := evalstat.Bootstrap(many, 9) // the percentiles are between two means
	require.InDelta(t, 0.4953843290189117, i.Low, 1e-9)
	require.InDelta(t, 0.5310387365150765, i.High, 1e-9)
	require.Equal(t, 10_000, evalstat.Resamples)
}

// TestMeansAndKappas compares with what is calculated by hand.
func TestMeansAndKappas(t *testing.T) {
	require.Zero(t, evalstat.Mean(nil))
	require.InDelta(t, 2, evalstat.Mean([]float64{1, 2, 3}), 1e-12)
	require.InDelta(t, -1.5, evalstat.Mean([]float64{-1, -2}), 1e-12)
	pairs := func(yy, yn, ny, nn int) (all [][2]string) {
		for pair, n := range map[[2]string]int{{"y", "y"}: yy, {"y", "n"}: yn, {"n", "y"}: ny, {"n", "n"}: nn} {
			for range n {
				all = append(all, pair)
			}
		}
		return all
	}
	for _, c := range []struct {
		items [][2]string
		want  float64
	}{
		{nil, 0}, {pairs(20, 5, 10, 15), 0.4}, {pairs(45, 15, 25, 15), 0.1304347826}, {pairs(25, 35, 5, 35), 0.2592592593},
		{pairs(1, 0, 0, 0), 1}, {pairs(0, 0, 0, 9), 1}, {pairs(0, 1, 0, 0), 0}, {pairs(0, 1, 1, 0), -1}, {pairs(5, 0, 0, 5), 1}, {pairs(5, 5, 5, 5), 0},
	} {
		require.InDelta(t, c.want, evalstat.Kappa(c.items), 1e-9)
	}
}

// TestClustersAreWorthWhatTheyVary compares the effective number of answers with the formula of
// robust variances, written out.
func TestClustersAreWorthWhatTheyVary(t *testing.T) {
	for _, c := range []struct {
		clusters [][]float64
		want     float64
	}{
		{nil, 0}, {[][]float64{{1, 0, 1}}, 1}, {[][]float64{{1, 1}, {1, 1}}, 2}, {[][]float64{{0, 0}, {0, 0}, {0}}, 3},
		{[][]float64{{1}, {0}}, 2},
		// p = 1/2: residuals 1 and -1 of two clusters of two, so 2/1·2/16 = 1/4, and 1/4 : 1/4 = 1.
		{[][]float64{{1, 1}, {0, 0}}, 1},
		// p = 2/3: the clusters are alike, so all answers count.
		{[][]float64{{1, 1, 0}, {1, 1, 0}}, 6},
		// p = 3/5: residuals 0.8 of {1, 1} and -0.8 of {1, 0, 0}: 2·1.28/25, and 0.24 : 0.1024.
		{[][]float64{{1, 1}, {1, 0, 0}}, 0.24 / 0.1024},
		{[][]float64{{1, 0}, {0, 1}, {1, 1}}, 6},
	} {
		require.InDelta(t, c.want, evalstat.Effective(c.clusters), 1e-9, "%v", c.clusters)
	}
}

// TestRatesHaveTheirEnds has intervals at 0 and 1, and of parts of an answer.
func TestRatesHaveTheirEnds(t *testing.T) {
	for _, c := range []struct{ yes, n, low, high float64 }{
		{0, -1, 0, 1}, {0, 0.5, 0, 0.884831}, {0.5, 0.5, 0.115169, 1}, {1, 1, 0.206549, 1}, {1, 2, 0.094531, 0.905469}, {50, 100, 0.403832, 0.596168},
	} {
		i := evalstat.Wilson(c.yes, c.n)
		require.InDelta(t, c.low, i.Low, 1e-6, "%v", c)
		require.InDelta(t, c.high, i.High, 1e-6, "%v", c)
	}
}

// TestRatesLieBetweenNoneAndAll has rates of all and none, for which the ends are rounded outside
// that range unless they are held in it.
func TestRatesLieBetweenNoneAndAll(t *testing.T) {
	for n := range 1000 {
		n := float64(n + 1)
		require.LessOrEqual(t, evalstat.Wilson(n, n).High, 1.0, "%v", n)
		require.GreaterOrEqual(t, evalstat.Wilson(0, n).Low, 0.0, "%v", n)
	}
}

// TestUpTo200DifferencesAreExact compares both methods at the bound.
func TestUpTo200DifferencesAreExact(t *testing.T) {
	d := func(n, positive int) []float64 {
		all := make([]float64, n)
		for i := range all {
			if all[i] = -1; i < positive {
				all[i] = 1
			}
		}
		return all
	}
	binomial := func(n, k int) float64 { // the two-sided probability of k or fewer of n
		p, term := 0.0, math.Pow(0.5, float64(n))
		for i := range k + 1 {
			p += term
			term *= float64(n-i) / float64(i+1)
		}
		return min(1, 2*p)
	}
	for _, c := range [][2]int{{1, 0}, {10, 2}, {10, 5}, {199, 80}, {200, 80}, {200, 100}} {
		require.InDelta(t, binomial(c[0], c[1]), evalstat.SignedRank(d(c[0], c[1])), 1e-12, "%v", c)
		require.InDelta(t, binomial(c[0], c[1]), evalstat.SignedRank(d(c[0], c[0]-c[1])), 1e-12, "%v", c)
	}
	// 201 signs: (80 - 100.5) / sqrt(201)/2, two-sided.
	require.InDelta(t, math.Erfc(20.5/(math.Sqrt(201)/2)/math.Sqrt2), evalstat.SignedRank(d(201, 80)), 1e-12)
	require.NotEqual(t, binomial(201, 80), evalstat.SignedRank(d(201, 80)))
	zeros := append(d(200, 80), 0, 0, 0)
	require.InDelta(t, binomial(200, 80), evalstat.SignedRank(zeros), 1e-12, "zeros are left out")
	require.InDelta(t, 0.25, evalstat.SignedRank([]float64{1, 2, 3}), 1e-12)
	require.InDelta(t, 0.75, evalstat.SignedRank([]float64{1, 2, -2, -3}), 1e-12, "6 of 16 signs are as uneven, and the next ones are not")
	require.InDelta(t, 1, evalstat.SignedRank([]float64{-3, 1, 2}), 1e-12, "in any order")
	require.InDelta(t, 0.5, evalstat.SignedRank([]float64{-1, -1, 2, 2}), 1e-12, "3, 3, 7 and 7 halves: 4 of 16 signs are as uneven")
	require.InDelta(t, 46.0/64, evalstat.SignedRank([]float64{1, 2, -3, 5, 5, -5}), 1e-12, "equal ones share a rank")
	require.Equal(t, []float64{1, 2, -3}, func() []float64 {
		list := []float64{1, 2, -3}
		evalstat.SignedRank(list)
		return list
	}(), "the list is not sorted")
	require.InDeltaSlice(t, []float64{1, 1, 0.3}, evalstat.Holm([]float64{0.5, 0.6, 0.1}), 1e-12, "never above 1")
	require.InDeltaSlice(t, []float64{1, 1}, evalstat.Holm([]float64{0.8, 0.9}), 1e-12, "both would be above 1")
	require.InDeltaSlice(t, []float64{0.02, 0.02}, evalstat.Holm([]float64{0.01, 0.01}), 1e-12)
}
