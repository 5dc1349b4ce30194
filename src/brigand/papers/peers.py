"""What other public code does differently, and where it errs; read in that code, not copied from it.

``tests/validation/test_peers.py`` has a test for each line, of the value that is right. None of this says
that a package is bad: the list is of what explains differences between its numbers and ours.
"""

from __future__ import annotations

from typing import NamedTuple


class Difference(NamedTuple):
    """One line.

    Attributes
    ----------
    key : str
        For the test.
    code : str
        Whose, which file, and as of when.
    theirs, ours : str
        What it does, and what is done here.
    """

    key: str
    code: str
    theirs: str
    ours: str


SMP = "SMPyBandits"
PYMAB = "pymab 2.0"
DIFFERENCES = (
    Difference(
        "gaussian-kl",
        f"{SMP}, `klUCB.py` and the policies made from it, commit 012fc13",
        "The index is called as klucb(mean, level, tolerance), and `klucbGauss` takes the variance in third "
        "place: with the default tolerance the variance is 0.0001, and the bonus 50 times too small for "
        "sigma = 1/2.",
        '`KLUCB("gaussian", sigma=s)`: mean + s sqrt(2 log n / N)',
    ),
    Difference(
        "discounted-counts",
        f"{SMP}, `DiscountedUCB.py`, before commits 72916dc and 266168e (December 2019)",
        "The discounted count, gamma^d N + 1, is stored in an array of integers: 0.99 + 1 becomes 1, and no "
        "count is ever more than 1.",
        "`DiscountedUCB`: N is the sum of gamma^j, as a float",
    ),
    Difference(
        "discounted-infinite",
        f"{SMP}, `DiscountedUCB.py`, commit 012fc13",
        "The index is infinite while the discounted count is below 1, so that every arm is forced at least "
        "once in about 1 / (1 - gamma) steps.",
        "`DiscountedUCB`: the paper's index, which is finite for any N > 0",
    ),
    Difference(
        "last-arm",
        f"{SMP}, `CD_UCB.py` (CUSUM-UCB and others), commit 012fc13",
        "Uniform exploration draws `np.random.randint(0, K - 1)`, which is never the last arm.",
        "`CUSUMUCB`, `PHTUCB`: all K arms are equally likely",
    ),
    Difference(
        "window-log",
        "LB-SDA (Y. Russac), `MAB.py`, `SW_UCB`, commit 1bdbf3a",
        "The bonus has min(log t, tau): it never levels off, since log t is below any tau in use.",
        "`SlidingWindowUCB`: log(min(n, tau))",
    ),
    Difference(
        "ucb1-log",
        f"{PYMAB}, `policies/ucb.py`, commit acc902f",
        "UCB1 has log(n + 1) after n pulls.",
        "`UCB1`: log n after n pulls, as in Auer, Cesa-Bianchi and Fischer",
    ),
    Difference(
        "window-per-arm",
        f"{PYMAB}, `policies/ucb.py`, SlidingWindowUCBPolicy, commit acc902f",
        "Each arm keeps its own last rewards, so that an arm that is not pulled forgets nothing.",
        "`SlidingWindowUCB`: the last pulls of all arms together, as in Garivier and Moulines",
    ),
)


def table() -> list[str]:
    """Return the lines as a Markdown table."""
    rows = ["| whose | what it does | what is done here |", "| --- | --- | --- |"]
    return rows + [f"| {line.code} | {line.theirs} | {line.ours} |" for line in DIFFERENCES]
