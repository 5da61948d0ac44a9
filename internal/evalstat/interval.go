// SPDX-License-Identifier: Apache-2.0

// Package evalstat has the statistics of package evals: intervals, tests of paired differences, and
// the correction for several tests.
package evalstat

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Interval is a confidence interval.
type Interval struct{ Low, High float64 }

// z is the quantile of the normal distribution for intervals of 95 %.
const z = 1.959963984540054

// Wilson returns the interval of 95 % for a rate, from the number of yeses among n answers. n need
// not be whole: answers that depend on each other count less than one, see [Effective]. Without
// answers, nothing is known.
func Wilson(yes, n float64) Interval {
	if n <= 0 {
		return Interval{0, 1}
	}
	p, d := yes/n, 1+z*z/n
	mid := (p + z*z/(2*n)) / d
	half := z / d * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return Interval{max(0, mid-half), min(1, mid+half)}
}

// Effective returns how many independent answers a sample is worth, whose answers come in clusters:
// repeats of a case. Each cluster is its values, 0 or 1. It is never more than there are answers,
// and never fewer than there are clusters unless clusters differ in size.
func Effective(clusters [][]float64) float64 {
	n, sum := 0.0, 0.0
	for _, c := range clusters {
		n += float64(len(c))
		for _, v := range c {
			sum += v
		}
	}
	k := float64(len(clusters))
	p := sum / n
	if k < 2 || p == 0 || p == 1 || n == k {
		return k
	}
	between := 0.0
	for _, c := range clusters {
		residual := 0.0
		for _, v := range c {
			residual += v - p
		}
		between += residual * residual
	}
	variance := k / (k - 1) * between / (n * n) // of the rate, robust to clusters
	return min(n, p*(1-p)/variance)
}

// Resamples is how often [Bootstrap] draws.
const Resamples = 10_000

// Bootstrap returns the interval of 95 % for the mean of values, by percentiles of the means of
// samples drawn from them. The same seed gives the same interval. Without values it is zero.
func Bootstrap(values []float64, seed uint64) Interval {
	if len(values) == 0 {
		return Interval{}
	}
	random := rand.New(rand.NewPCG(seed, uint64(len(values))))
	means := make([]float64, Resamples)
	for i := range means {
		sum := 0.0
		for range values {
			sum += values[random.IntN(len(values))]
		}
		means[i] = sum / float64(len(values))
	}
	slices.Sort(means)
	return Interval{percentile(means, 0.025), percentile(means, 0.975)}
}

// percentile returns a percentile of sorted values, between two of them where it falls there. It is
// below the last.
func percentile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// Mean returns the mean of values, 0 if there are none.
func Mean(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
