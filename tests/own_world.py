"""Functions of a user's own, as they would write them: of rewards, and of means."""

import math

import numba


def jackpot(uniform, normal):
    return 10.0 if uniform < 0.01 else 0.5 + 0.1 * normal


def product(uniform, normal):
    return uniform * abs(normal)


def halves(t, arm):
    return 0.9 if (t <= 50) == (arm == 0) else 0.1


@numba.njit
def waves(t, arm):
    return 0.5 + 0.4 * math.sin(t / 10 + arm)


def broken(t, arm):
    return math.nan if t == 7 else 0.5


def rarely(uniform, normal):
    return math.inf if 0.5 < uniform < 0.5 + 1e-7 else uniform
