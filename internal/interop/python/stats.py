# SPDX-License-Identifier: Apache-2.0
"""Computes for result sets on standard input what scipy and statsmodels say of them, as JSON."""

import json
import sys

import numpy as np
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.inter_rater import cohens_kappa, to_table
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint


def paired(d):
    d = np.array([x for x in d if x != 0], dtype=float)
    if len(d) == 0:
        return 1.0
    ties = len(np.unique(np.abs(d))) < len(d)
    if len(d) > 200:
        return float(stats.wilcoxon(d, method="asymptotic", correction=False).pvalue)
    if not ties:
        return float(stats.wilcoxon(d, method="exact").pvalue)
    if set(np.abs(d)) == {1.0}:
        n, yes = len(d), int((d > 0).sum())
        return float(mcnemar([[0, yes], [n - yes, 0]], exact=True).pvalue)
    # Every choice of signs, for few differences with ties.
    assert len(d) < 12
    method = stats.PermutationMethod(n_resamples=2 ** len(d))
    return float(stats.wilcoxon(d, method=method).pvalue)


def bootstrap(values):
    if not values:
        return []
    interval = stats.bootstrap((values,), np.mean, method="percentile", n_resamples=2000,
                               rng=np.random.default_rng(1)).confidence_interval
    return [float(interval.low), float(interval.high)]


def answer(case):
    low, high = proportion_confint(case["yes"], case["n"], method="wilson")
    return {
        "wilson": [float(low), float(high)],
        "paired": paired(case["differences"]),
        "holm": [float(x) for x in multipletests(case["p"], method="holm")[1]],
        "bootstrap": bootstrap(case["values"]),
        "kappa": float(cohens_kappa(to_table(np.array(case["ratings"]))[0]).kappa),
    }


json.dump([answer(c) for c in json.load(sys.stdin)], sys.stdout)
