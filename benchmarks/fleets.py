"""Fleets: nanoseconds a decision and a reward, by size, beside a loop of `Bandit`s; FE among many arms."""

import time

import numpy as np
from measure import job, measure, of_peer, problem

import brigand as br

POLICIES = {"FE-Linear": br.ForcedExploration(br.Linear()), "UCB1": br.UCB1()}
SIZES = ((1_000, 10), (100_000, 10), (1_000_000, 10), (10_000, 100))
BANDITS = 200
PEERS = ("river", "mabwiser")
SEQUENCES = {"FE-Linear": br.Linear(), "FE-Exp": br.Exponential()}
ARMS = (10, 100, 1_000, 10_000, 100_000, 1_000_000)


def of_fleet(policy, n, arms, order, rounds=7):
    """Return nanoseconds of CPU time of an ask and of a tell, medians of rounds, and bytes a bandit."""
    rng = np.random.default_rng(0)
    fleet = br.Fleet(n, arms, policy, seed=0)
    ids = np.arange(n) if order == "in order" else rng.permutation(n)
    for _ in range(arms + 2):  # all arms have rewards
        fleet.tell(ids, fleet.ask(ids), rng.random(n))
    times = []
    for _ in range(rounds):
        rewards = rng.random(n)
        start = time.process_time()
        chosen = fleet.ask(ids)
        asked = time.process_time()
        fleet.tell(ids, chosen, rewards)
        times.append((asked - start, time.process_time() - asked))
    ask, tell = np.median(times, axis=0) / n * 1e9
    return ask, tell, fleet.nbytes / n


def of_bandits(policy, arms):
    """Return the same of a loop over bandits in memory."""
    rng = np.random.default_rng(0)
    bandits = [br.Bandit([str(k) for k in range(arms)], policy, seed=i) for i in range(BANDITS)]
    for _ in range(2):  # the first round compiles
        start = time.process_time()
        decisions = [bandit.ask() for bandit in bandits]
        asked = time.process_time()
        for bandit, decision in zip(bandits, decisions, strict=True):
            bandit.tell(decision.id, float(rng.random()))
        told = time.process_time()
    return (asked - start) / BANDITS * 1e9, (told - asked) / BANDITS * 1e9


def of_many_arms(name, family, arms, repetitions=3):
    """Return how long a step of the simulator takes, and bytes of the state an arm."""
    horizon, policy = max(4 * arms, 200_000), br.ForcedExploration(SEQUENCES[name])
    jobs = {name: job(policy, problem(arms, horizon, family), horizon)}
    timing = measure(jobs, job(policy, problem(10, 200_000, family), 200_000), repetitions)[name]
    return timing, sum(table.nbytes for table in policy.start(arms, horizon)[1:]) / arms


def report_many_arms(out):
    """Print how the time of a step grows with the number of arms."""
    rows = []
    for name in SEQUENCES:
        for family in ("bernoulli", "gaussian"):
            for arms in ARMS:
                timing, size = of_many_arms(name, family, arms)
                numbers = f"{timing.median:,.0f}", f"{timing.ratio:.1f}", f"{size:.0f}"
                rows.append([name, family, f"{arms:,}", *numbers])
    out.table(
        "FE among many arms: a step with its reward, T = 4 K, at least 200,000",
        ["policy", "rewards", "K", "ns", "ratio to K = 10", "bytes an arm"],
        rows,
    )


def report(out):
    """Print the tables; of fleets with ratios to a loop over bandits in memory."""
    report_many_arms(out)
    rows = []
    for name, policy in POLICIES.items():
        alone = of_bandits(policy, 10)
        rows.append([name, "a loop of `Bandit`s, 10 arms", "", *(f"{t:,.0f}" for t in alone), "1", ""])
        if name == "UCB1":
            rows += [_of_peer(peer, sum(alone)) for peer in PEERS]
        for n, arms in SIZES:
            for order in ("in order", "at random"):
                ask, tell, size = of_fleet(policy, n, arms, order)
                ratio = sum(alone) / (ask + tell)
                rows.append(
                    [
                        name,
                        f"{n:,} x {arms}",
                        order,
                        f"{ask:,.0f}",
                        f"{tell:,.0f}",
                        f"{ratio:,.0f}",
                        f"{size:,.0f}",
                    ]
                )
    out.table(
        "A decision and its reward in a fleet, nanoseconds",
        ["policy", "bandits x arms", "asked", "ask", "tell", "times as fast", "bytes a bandit"],
        rows,
    )


def _of_peer(name, alone):
    """Return a row of a loop over policies of another package, beside nanoseconds of one over bandits."""
    found = of_peer("crowd", name, str(BANDITS), "10")
    if found is None:
        return ["UCB1", f"{name}, absent: make peers", "", "", "", "", ""]
    what = f"a loop of policies of {name} {found['version']}, 10 arms"
    ratio = alone / (found["ask"] + found["tell"])
    return ["UCB1", what, "", f"{found['ask']:,.0f}", f"{found['tell']:,.0f}", f"{ratio:.1f}", ""]
