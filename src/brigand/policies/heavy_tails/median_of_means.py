"""The median of means of every arm's rewards, kept up to date: for robust UCB, Lattimore's and its extension.

The n rewards of an arm, in order of arrival, make max(1, min(B, floor(n / 2))) blocks of equal length, where
B is the header's ``blocks``; the rewards that are left over are left out. The block means are kept until the
number of blocks or their length changes, about once in as many pulls as there are blocks. They come from
prefix sums, kept with what rounding took from them. So they are exact beside one outlier of any size; beside
more than one, they are exact to 1e-16 of the second largest.

Fields: ``log``, ``blocks`` of the header; ``count``, ``estimate``, ``blocks``, ``length`` of an arm; the
memory is that of `brigand.policies.kernels.exact_history`.
"""

from __future__ import annotations

import numpy as np

from brigand.jit import kernel
from brigand.policies.base import Header, Table
from brigand.policies.kernels.history import row_of
from brigand.policies.kernels.median import median


@kernel
def median_of_means(memory: Table, arm: int, blocks: int, length: int) -> float:
    """Return the median of the means of the arm's first blocks of rewards."""
    means = np.empty(blocks)
    total, residue = 0.0, 0.0
    for block in range(blocks):
        row = row_of(memory, arm, (block + 1) * length - 1)
        means[block] = ((memory[row]["total"] - total) + (memory[row]["residue"] - residue)) / length
        total, residue = memory[row]["total"], memory[row]["residue"]
    return median(means)


@kernel
def refresh_median(header: Header, arms: Table, memory: Table, arm: int) -> None:
    """Bring the arm's median of means up to date; needs a reward."""
    blocks = max(1, min(header["blocks"], arms[arm]["count"] // 2))
    length = arms[arm]["count"] // blocks
    if blocks != arms[arm]["blocks"] or length != arms[arm]["length"]:
        arms[arm]["blocks"] = blocks
        arms[arm]["length"] = length
        arms[arm]["estimate"] = median_of_means(memory, arm, blocks, length)


@kernel
def set_blocks(header: Header, arms: Table, memory: Table) -> None:
    """Follow L + 1/8 = log with the most blocks there may be."""
    blocks = int(8.0 * header["log"])
    if blocks != header["blocks"]:
        header["blocks"] = blocks
        for other in range(len(arms)):
            if arms[other]["count"] > 0:
                refresh_median(header, arms, memory, other)
