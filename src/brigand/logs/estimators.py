"""Estimators of what a rule would have earned in each row of a log, on average.

With the rule's probability pi and the log's propensity p of the arm that was chosen in a row, the row's
weight is w = pi / p, and r its reward; q(a) is an estimate of arm a's mean (in the row's segment), n the
number of rows.

- IPS, sum w r / n: unbiased if the propensities are right (Horvitz and Thompson 1952).
- SNIPS, sum w r / sum w: the same, biased by O(1 / n), and not changed by a number that is added to all
  rewards and to the value (Swaminathan and Joachims 2015; Hájek's ratio).
- DM, the mean over rows of sum_a pi(a) q(a): right if q is, for means that do not move and for arms that were
  not chosen by what was seen before.
- DR, the mean over rows of w (r - q(arm)) + sum_a pi(a) q(a): right if p is, or q (Dudík, Langford and Li
  2011).

What an arm is chosen for may depend on all that was before, as in a bandit's log. Then IPS is unbiased, and
so is DR, if q is made of earlier rows only. So DR is fitted forward: the log is cut into blocks of time, and
q of a block is made of all blocks before. Folds that also use later rows, as is usual, are honest for
independent rows only: what was chosen later depends on the reward now.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from brigand.logs.log import Log
from brigand.logs.targets import Rule

Floats = NDArray[np.float64]


class Cells:
    """Rewards by segment and arm: how many, their sum, their sum of squares.

    Parameters
    ----------
    log : Log

    Attributes
    ----------
    place : int64 array of shape (n,)
        Of each row's segment and arm, in tables of shape (S, K) that are laid flat.
    shape : tuple of int
        (S, K); S is 1 where the log has no segments.
    """

    def __init__(self, log: Log) -> None:
        self.reward = log.reward
        self.shape = (1 if log.segment is None else len(log.segments), len(log.arms))
        segment = 0 if log.segment is None else log.segment.astype(np.int64)
        self.place = segment * len(log.arms) + log.arm.astype(np.int64)

    def counts(self, start: int = 0, stop: int | None = None) -> Floats:
        """Return the number of rewards, shape (S, K)."""
        return self._binned(None, start, stop)

    def sums(self, start: int = 0, stop: int | None = None) -> Floats:
        """Return the sum of rewards, shape (S, K)."""
        return self._binned(self.reward, start, stop)

    def _binned(self, weights: Floats | None, start: int, stop: int | None) -> Floats:
        rows = slice(start, stop)
        found = np.bincount(
            self.place[rows], None if weights is None else weights[rows], self.shape[0] * self.shape[1]
        )
        return found.astype(np.float64).reshape(self.shape)


def shrunk_means(counts: Floats, sums: Floats) -> Floats:
    """Return the means of cells, each with one row added that has the arm's mean; that one's with the log's.

    So a cell that was not shown has its arm's mean, and an arm that was not the mean of all.
    """
    overall = sums.sum() / max(counts.sum(), 1)
    arms = (sums.sum(axis=0) + overall) / (counts.sum(axis=0) + 1)
    means: Floats = (sums + arms) / (counts + 1)
    return means


def plain_means(counts: Floats, sums: Floats) -> Floats:
    """Return the means of cells; one that was not shown has its arm's mean, or 0 if nor was the arm."""
    arms = sums.sum(axis=0) / np.maximum(counts.sum(axis=0), 1)
    return np.where(counts > 0, sums / np.maximum(counts, 1), arms)


def block_starts(rows: int, folds: int) -> NDArray[np.int64]:
    """Return where blocks of time begin, and the end: 0, 1, 2, 4, ..., then `folds` of equal length.

    The first ones are short, so that few rows come before there is an estimate.
    """
    equal = np.linspace(0, rows, folds + 1).astype(np.int64)
    doubling = 2 ** np.arange(max(int(equal[1]), 1).bit_length())
    return np.unique(np.concatenate([equal, doubling[doubling < equal[1]]]))


def direct_terms(rule: Rule, means: Floats) -> Floats:
    """Return ``sum_a pi(a) q(a)`` for each kind of row."""
    terms: Floats = np.einsum("ka,ka->k", rule.table, means[rule.segment])
    return terms


def doubly_robust_scores(rule: Rule, cells: Cells, weights: Floats, folds: int | None) -> Floats:
    """Return DR's terms, of which the value is the mean; shape (n,).

    Parameters
    ----------
    folds : int or None
        Blocks of time; None fits the means on all rows, those that they are used for among them.
    """
    reward, n = cells.reward, len(cells.reward)
    scores = np.empty(n)
    starts = np.array([0, n]) if folds is None else block_starts(n, folds)
    counts, sums = (
        (cells.counts(), cells.sums()) if folds is None else (np.zeros(cells.shape), np.zeros(cells.shape))
    )
    for start, stop in pairwise(starts):
        rows = slice(start, stop)
        means = shrunk_means(counts, sums)
        scores[rows] = (
            weights[rows] * (reward[rows] - means.ravel()[cells.place[rows]])
            + direct_terms(rule, means)[rule.kind[rows]]
        )
        if folds is not None:
            counts, sums = counts + cells.counts(start, stop), sums + cells.sums(start, stop)
    return scores


def direct_scores(rule: Rule, cells: Cells) -> Floats:
    """Return terms of which DM is the mean, and to first order an average of independent ones; shape (n,).

    A row's term is ``sum_a pi(a) q(a)`` and its share in the error of q: its residual, weighted by how often
    the rule wants its cell over how often that was shown.
    """
    counts = cells.counts()
    means = plain_means(counts, cells.sums())
    wanted = demands(rule, cells.shape) * len(cells.reward) / np.maximum(counts, 1)
    residual = cells.reward - means.ravel()[cells.place]
    scores: Floats = direct_terms(rule, means)[rule.kind] + wanted.ravel()[cells.place] * residual
    return scores


def demands(rule: Rule, shape: tuple[int, int]) -> Floats:
    """Return the share of all decisions that the rule gives to each segment and arm, shape (S, K)."""
    rows = np.bincount(rule.kind, minlength=len(rule.table)) / len(rule.kind)
    share = np.zeros(shape)
    np.add.at(share, rule.segment, rule.table * rows[:, None])
    return share
