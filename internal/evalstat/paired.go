// SPDX-License-Identifier: Apache-2.0

package evalstat

import (
	"cmp"
	"math"
	"slices"
)

// exactUpTo is up to how many differences the p-value of [SignedRank] is exact.
const exactUpTo = 200

// SignedRank returns the two-sided p-value of the Wilcoxon signed-rank test: how probable ranks as
// uneven as those of the differences are, if each difference were as likely to have the other sign.
// Differences of 0 are left out, as by Wilcoxon. Equal ones share their mean rank.
//
// Up to 200 differences the p-value is exact, with ties too, so the test never finds more than it
// should. For differences that are all 1 or -1 it is McNemar's exact test. With more differences
// the normal approximation takes over, with the correction for ties.
func SignedRank(differences []float64) float64 {
	ranks := signedRanks(differences)
	if len(ranks) > exactUpTo {
		return normal(ranks)
	}
	return exact(ranks)
}

// signedRanks returns the ranks of the differences with their signs, times two to be whole.
func signedRanks(differences []float64) []int {
	d := slices.DeleteFunc(slices.Clone(differences), func(v float64) bool { return v == 0 })
	slices.SortFunc(d, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	ranks := make([]int, len(d))
	for i := 0; i < len(d); {
		j := i
		for j < len(d) && math.Abs(d[j]) == math.Abs(d[i]) {
			j++
		}
		for k := i; k < j; k++ {
			ranks[k] = i + j + 1 // twice the mean of i+1 to j
			if d[k] < 0 {
				ranks[k] = -ranks[k]
			}
		}
		i = j
	}
	return ranks
}

// exact counts the signs that give as uneven ranks: ways[s] is the share of them whose positive
// ranks have the sum s.
func exact(ranks []int) float64 {
	total, positive := 0, 0
	for _, r := range ranks {
		total += max(r, -r)
		positive += max(r, 0)
	}
	ways := make([]float64, total+1)
	ways[0] = 1
	reached := 0
	for _, r := range ranks {
		r = max(r, -r)
		reached += r
		for s := reached; s >= 0; s-- {
			ways[s] /= 2
			if s >= r {
				ways[s] += ways[s-r] / 2
			}
		}
	}
	p := 0.0
	for s := range min(positive, total-positive) + 1 {
		p += ways[s]
	}
	return min(1, 2*p)
}

// normal approximates the p-value.
func normal(ranks []int) float64 {
	n, positive, squares := float64(len(ranks)), 0.0, 0.0
	for _, r := range ranks {
		squares += float64(r) * float64(r) / 4
		positive += float64(max(r, 0)) / 2
	}
	return math.Erfc(math.Abs(positive-n*(n+1)/4) / math.Sqrt(squares/4) / math.Sqrt2)
}

// Holm returns the p-values of several tests, corrected by the method of Holm: to find none below a
// level has at least the probability 1 - level if nothing is there to be found. The order is kept.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	corrected, most := make([]float64, len(p)), 0.0
	for i, at := range order {
		most = max(most, min(1, p[at]*float64(len(p)-i)))
		corrected[at] = most
	}
	return corrected
}

// Kappa returns Cohen's kappa of two raters of the same items: how much more often they agree than
// by chance, relative to what is possible. It is 1 if they always agree, and 0 for raters that do
// not look. Each item is the two ratings. If both raters gave everything the same rating, it is 1.
func Kappa(items [][2]string) float64 {
	n := float64(len(items))
	agreed, first, second := 0.0, map[string]float64{}, map[string]float64{}
	for _, item := range items {
		if item[0] == item[1] {
			agreed++
		}
		first[item[0]]++
		second[item[1]]++
	}
	chance := 0.0
	for label, k := range first {
		chance += k / n * second[label] / n
	}
	switch {
	case n == 0:
		return 0
	case chance == 1:
		return 1
	}
	return (agreed/n - chance) / (1 - chance)
}
