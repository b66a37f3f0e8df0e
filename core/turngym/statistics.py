"""Confidence intervals for means of episodes that share tasks, so that repeats of a task don't pass for evidence.

No numpy or scipy: services use this too.
"""

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from statistics import NormalDist

LEVEL = 0.95


def clustered_interval(
    values: Sequence[float], clusters: Sequence[Hashable], level: float = LEVEL
) -> tuple[float, float, float]:
    """The mean of ``values`` and its confidence interval, clustered: mean, low, high.

    The variance is the cluster-robust one with the factor G / (G - 1) (CR1; Cameron and Miller, "A Practitioner's Guide to
    Cluster-Robust Inference", 2015), its reference the t distribution with G - 1 degrees of freedom, G being the number of
    clusters. Values within 0..1 get Wilson's interval on the effective sample size p (1 - p) / variance, scaled by the square
    of z over t (Korn and Graubard, "Confidence intervals for proportions with small expected number of positive counts
    estimated from survey data", 1998; Wilson in place of their Clopper and Pearson, as in Dean and Pagano 2015): it stays
    within 0..1. With no spread to go by, at 0 % and 100 % above all, the effective size is the number of clusters.

    :param values: one value an episode, finite.
    :param clusters: what each episode shares with others, such as its task's id; as many as values.
    :raises ValueError: if there are no values, not as many clusters, or a value that is not finite.
    """
    if not values or len(values) != len(clusters):
        raise ValueError(
            f"{len(values)} values and {len(clusters)} clusters: give as many of both, and at least one"
        )
    if not all(math.isfinite(value) for value in values):
        raise ValueError("a value is not finite")
    count = len(values)
    mean = math.fsum(values) / count
    residuals: dict[Hashable, float] = defaultdict(float)
    for value, cluster in zip(values, clusters, strict=True):
        residuals[cluster] += value - mean
    groups = len(residuals)
    variance = math.inf
    if groups > 1:
        variance = groups / (groups - 1) * math.fsum(rest**2 for rest in residuals.values()) / count**2
    quantile = student_quantile((1 + level) / 2, groups - 1) if groups > 1 else math.inf
    if min(values) >= 0 and max(values) <= 1:
        return mean, *_wilson(mean, count, groups, variance, quantile, level)
    half = quantile * math.sqrt(variance) if variance > 0 else 0.0
    return mean, mean - half, mean + half


def _wilson(
    mean: float, count: int, groups: int, variance: float, quantile: float, level: float
) -> tuple[float, float]:
    z = NormalDist().inv_cdf((1 + level) / 2)
    spread = mean * (1 - mean)
    size = float(groups)
    if spread > 1e-12 and groups > 1:
        independent = spread / variance if variance > 0 else math.inf
        size = min(independent, count) * (z / quantile) ** 2
    centre = (mean + z * z / (2 * size)) / (1 + z * z / size)
    half = z / (1 + z * z / size) * math.sqrt(spread / size + z * z / (4 * size * size))
    return min(mean, max(0.0, centre - half)), max(mean, min(1.0, centre + half))


def student_quantile(p: float, freedom: int) -> float:
    """The quantile of Student's t distribution with ``freedom`` degrees of freedom, for 0.5 < p < 1.

    Exact for 1 and 2, else the expansion 26.7.5 of Abramowitz and Stegun, "Handbook of Mathematical Functions"; for 95 %
    intervals it is right to 0.1 % from 3 degrees on.
    """
    if freedom == 1:
        return math.tan(math.pi * (p - 0.5))
    if freedom == 2:
        return (2 * p - 1) * math.sqrt(2 / (1 - (2 * p - 1) ** 2))
    z = NormalDist().inv_cdf(p)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + math.fsum(term / freedom**power for power, term in enumerate(terms, 1))
