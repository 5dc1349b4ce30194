"""Who leads, who ties and whose turn it is among very many arms: by a tree, O(log K) a change.

Where there are more than `MANY` arms, the memory ends with a binary tree. Its leaves are buckets of `BUCKET`
arms in order of index; node i has the children 2 i and 2 i + 1. A node has the largest mean of its arms, and
how many of them have it; the least step of a last pull; and the least ``last + wait``. Every choice is that
of `brigand.policies.kernels.choices` and `brigand.policies.forced.turns`, which look at arms one by one.

The tree need not know what changes at every step. The leader's leaf may have an older mean of it, and a leaf
may have earlier pulls than the last ones of its arms: what is too early is put right where it seems to come
first, at most once for each pull.

Whoever calls says where in the memory the tree begins, at `BUILT`, or None: then there is none, and no code
for one is compiled.

The tree follows from the arms, and is not stored (`brigand.policies.base.Policy.derived`). Where it is not
`BUILT`, as in a fresh table, it is built before it is used. Whatever numbers are in it, an arm that is found
is one that is there.
"""

from __future__ import annotations

import math
from typing import Any

from brigand.jit import kernel
from brigand.policies.base import Header, Table
from brigand.policies.forced import turns
from brigand.policies.forced.turns import end_round, is_due, reschedule
from brigand.policies.kernels import choices
from brigand.policies.kernels.choices import is_only

MANY = 100
"""So many arms are looked at one by one."""
BUCKET = 16
"""Arms of a leaf."""
BEST, TIES, OLDEST, DUE = "reward", "told", "rest", "rest_residue"
"""Fields of a node. They are those of a slot of the window (`brigand.policies.kernels.window.SLOT`)."""
BUILT = "told"
"""In the place of node 0, which is none: 1 if there is a tree."""


def n_rows(n_arms: int) -> int:
    """Return how many rows of the memory the tree takes: twice a power of two, or 0 for few arms."""
    return 0 if n_arms <= MANY else 2 << ((n_arms - 1) // BUCKET).bit_length()


@kernel
def n_leaves(memory: Table, top: int) -> int:
    return (len(memory) - top) // 2


@kernel
def leaf_of(memory: Table, top: int, arm: int) -> int:
    return n_leaves(memory, top) + arm // BUCKET


@kernel
def arms_of(arms: Table, memory: Table, top: int, leaf: int) -> tuple[int, int]:
    """Return the first arm of a leaf, and the one after its last."""
    first = BUCKET * (leaf - n_leaves(memory, top))
    return first, min(first + BUCKET, len(arms))


@kernel
def write(memory: Table, row: int, best: float, ties: int, oldest: float, due: float) -> bool:
    """Write a node; return whether it changed."""
    node = memory[row]
    if node[BEST] == best and node[TIES] == ties and node[OLDEST] == oldest and node[DUE] == due:
        return False
    node[BEST] = best
    node[TIES] = ties
    node[OLDEST] = oldest
    node[DUE] = due
    return True


@kernel
def write_leaf(arms: Table, memory: Table, top: int, leaf: int) -> bool:
    """Write a leaf as its arms are."""
    best, ties, oldest, due = -math.inf, 0, math.inf, math.inf
    first, end = arms_of(arms, memory, top, leaf)
    for arm in range(first, end):
        mean, last = arms[arm]["mean"], float(arms[arm]["last"])
        if mean > best:
            best, ties = mean, 1
        elif mean == best:
            ties += 1
        oldest = min(oldest, last)
        if last + arms[arm]["wait"] < due:  # never NaN, whatever was read
            due = last + arms[arm]["wait"]
    return write(memory, top + leaf, best, ties, oldest, due)


@kernel
def write_above(memory: Table, top: int, node: int) -> bool:
    """Write a node as its children are."""
    left, right = memory[top + 2 * node], memory[top + 2 * node + 1]
    best, ties = left[BEST], left[TIES]
    if right[BEST] > best:
        best, ties = right[BEST], right[TIES]
    elif right[BEST] == best:
        ties += right[TIES]
    return write(memory, top + node, best, ties, min(left[OLDEST], right[OLDEST]), min(left[DUE], right[DUE]))


@kernel
def refresh(arms: Table, memory: Table, top: int, leaf: int) -> bool:
    """Write a leaf, and what is above it as far as it changes; return whether the leaf changed."""
    if not write_leaf(arms, memory, top, leaf):
        return False
    node = leaf // 2
    while node > 0 and write_above(memory, top, node):
        node //= 2
    return True


@kernel
def build(arms: Table, memory: Table, top: int) -> None:
    """Write all nodes: O(K)."""
    leaves = n_leaves(memory, top)
    for leaf in range(leaves, 2 * leaves):
        write_leaf(arms, memory, top, leaf)
    for node in range(leaves - 1, 0, -1):
        write_above(memory, top, node)
    memory[top][BUILT] = 1


@kernel
def set_first(header: Header, arms: Table, memory: Table, top: int) -> None:
    """Find the least recently pulled arm, and the step at which one is due, as `turns.reschedule` does."""
    leaves = n_leaves(memory, top)
    leaf, changed = 1, True
    while changed:  # an earlier pull was put right
        leaf = 1
        while leaf < leaves:
            leaf *= 2
            if memory[top + leaf + 1][OLDEST] < memory[top + leaf][OLDEST]:
                leaf += 1
        changed = refresh(arms, memory, top, leaf)
    first, end = arms_of(arms, memory, top, leaf)
    first = min(first, len(arms) - 1)
    for arm in range(first + 1, end):
        if arms[arm]["last"] < arms[first]["last"]:
            first = arm
    changed = True
    while changed:
        leaf = 1
        while leaf < leaves:
            leaf *= 2
            if memory[top + leaf + 1][DUE] < memory[top + leaf][DUE]:
                leaf += 1
        changed = refresh(arms, memory, top, leaf)
    header["first"] = first
    header["due"] = memory[top + leaf][DUE] if arms[first]["last"] > 0 else 0.0


@kernel
def longest_due(header: Header, arms: Table, memory: Table, top: int) -> int:
    """Return the least recently pulled arm that is due, -1 if none is."""
    chosen, oldest, node = -1, math.inf, 1
    while node > 0:
        if memory[top + node][DUE] <= header["step"] and memory[top + node][OLDEST] < oldest:
            if node < n_leaves(memory, top):
                node *= 2
                continue
            first, end = arms_of(arms, memory, top, node)
            for arm in range(first, end):
                if arms[arm]["last"] < oldest and is_due(header, arms, arm):
                    chosen, oldest = arm, float(arms[arm]["last"])
        while node % 2 == 1:  # the next node that is neither below nor before
            node //= 2
        if node > 0:
            node += 1
    return chosen


@kernel
def best_at(arms: Table, memory: Table, top: int, place: int) -> int:
    """Return an arm with the largest mean, by its place among them."""
    best, node = memory[top + 1][BEST], 1
    while node < n_leaves(memory, top):
        node *= 2
        ties = memory[top + node][TIES] if memory[top + node][BEST] == best else 0
        if place >= ties:
            place -= ties
            node += 1
    first, end = arms_of(arms, memory, top, node)
    for arm in range(first, end):
        if arms[arm]["mean"] == best:
            if place == 0:
                return arm
            place -= 1
    return min(first, len(arms) - 1)


@kernel
def rank(header: Header, arms: Table, memory: Table, top: int) -> None:
    """Find the leader as `choices.rank` does."""
    best, second, leader = memory[top + 1][BEST], memory[top + 1][BEST], -1
    if memory[top + 1][TIES] == 1:
        leader, second = best_at(arms, memory, top, 0), -math.inf
        node = leaf_of(memory, top, leader)
        first, end = arms_of(arms, memory, top, node)
        for arm in range(first, end):
            if arm != leader and arms[arm]["mean"] > second:
                second = arms[arm]["mean"]
        while node > 1:
            second = max(second, memory[top + (node ^ 1)][BEST])
            node //= 2
    header["leader"] = leader if best > second else -1
    header["second"] = second


@kernel
def mean_moved(tree: int | None, header: Header, arms: Table, memory: Table, arm: int) -> None:
    """Keep the leader right after a change of one arm's mean, as `choices.mean_moved` does."""
    if tree is None:
        choices.mean_moved(header, arms, arm)
        return
    leader, mean = header["leader"], arms[arm]["mean"]
    if arm == leader and mean > header["second"]:
        return
    stays = arm != leader and leader >= 0 and mean < arms[leader]["mean"]
    if memory[tree][BUILT] == 1:
        refresh(arms, memory, tree, leaf_of(memory, tree, arm))
        if not stays and leader >= 0:
            refresh(arms, memory, tree, leaf_of(memory, tree, leader))
    elif not stays:
        build(arms, memory, tree)
    if stays:
        header["second"] = max(header["second"], mean)
    else:
        rank(header, arms, memory, tree)


@kernel
def means_moved(tree: int | None, header: Header, arms: Table, memory: Table) -> None:
    """Find the leader after a change of all means."""
    if tree is None:
        choices.rank(header, arms)
        return
    build(arms, memory, tree)
    rank(header, arms, memory, tree)


@kernel
def move_on(tree: int | None, parameters: Any, header: Header, arms: Table, memory: Table, arm: int) -> None:
    """As `turns.move_on`."""
    changed = end_round(parameters, header, arms, memory, arm)
    if tree is None:
        reschedule(header, arms)
        return
    if changed or memory[tree][BUILT] != 1:
        build(arms, memory, tree)
    else:
        refresh(arms, memory, tree, leaf_of(memory, tree, arm))
    set_first(header, arms, memory, tree)


@kernel
def knows(tree: int, arms: Table, memory: Table, candidates: Any) -> bool:
    """Return whether the tree is built, and all its arms are candidates."""
    return len(candidates) == len(arms) and memory[tree][BUILT] == 1


@kernel
def next_due(tree: int | None, header: Header, arms: Table, memory: Table, candidates: Any) -> int:
    """As `turns.next_due`."""
    if tree is None or not knows(tree, arms, memory, candidates) or is_due(header, arms, header["first"]):
        return turns.next_due(header, arms, candidates)
    return longest_due(header, arms, memory, tree)


@kernel
def choose(
    tree: int | None, header: Header, arms: Table, memory: Table, candidates: Any, uniform: float
) -> int:
    """As `turns.select`, by a number from the uniform distribution on [0, 1)."""
    if header["step"] >= header["due"]:
        arm = next_due(tree, header, arms, memory, candidates)
        if arm >= 0:
            return arm
    if tree is None or header["leader"] >= 0 or not knows(tree, arms, memory, candidates):
        return choices.greedy(header, arms, candidates, uniform)
    ties = memory[tree + 1][TIES]
    return best_at(arms, memory, tree, int(uniform * ties)) if ties > 0 else header["first"]


@kernel
def chance(tree: int | None, header: Header, arms: Table, memory: Table, candidates: Any, arm: int) -> float:
    """As `turns.propensity`."""
    if header["step"] >= header["due"]:
        due = next_due(tree, header, arms, memory, candidates)
        if due >= 0:
            return is_only(arm, due)
    if tree is None or header["leader"] >= 0 or not knows(tree, arms, memory, candidates):
        return choices.greedy_propensity(header, arms, candidates, arm)
    root = memory[tree + 1]
    if root[TIES] == 0:
        return is_only(arm, header["first"])
    return 1.0 / root[TIES] if arms[arm]["mean"] == root[BEST] else 0.0
