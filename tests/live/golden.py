"""Write a store as a version of Brigand does, and how its bandits went on: ``python golden.py NAME FOLDER``.

Run with PYTHONPATH at the sources of that version. The store holds the first half of what each bandit did.
"""

import json
import shutil
import sys
from pathlib import Path

import brigand as br

POLICIES = {
    "forced": br.ForcedExploration(br.Linear()),
    "window": br.ForcedExploration(br.Linear(), window=40),
    "thompson": br.ThompsonBeta(),
    "subsampling": br.CATALOGUE["LB-SDA"],
    "weights": br.CATALOGUE["EXP3"],
}
REWARDS = [0.0, 1.0, 1.0, 0.0, 1.0]


class Clock:
    """A clock that is set by hand."""

    now = 1000.0

    def __call__(self):
        return self.now


def go_on(bandit, clock, first, last):
    """Ask, and tell two of three rewards; return the arms that were chosen."""
    chosen = []
    for step in range(first, last):
        clock.now += 1.0
        if step == 40:
            bandit.add_arm("d")
        if step == 55:
            bandit.remove_arm("a")
        among = bandit.arms()[:2] if step % 11 == 0 else None
        decision = bandit.ask(among=among)
        chosen.append(decision.arm)
        if step % 3:
            bandit.tell(decision.id, REWARDS[step % 5])
    return chosen


def main(name, folder):
    """Write the store and the arms."""
    path, going_on = folder / f"{name}.db", folder / "going on.db"
    path.unlink(missing_ok=True)
    made = {}
    for title, policy in POLICIES.items():
        made[title] = Clock()
        timeout = {"reward_timeout": 9.0, "default_reward": 0.0} if title in ("forced", "thompson") else {}
        with br.Bandit(
            ["a", "b", "c"],
            policy,
            store=f"sqlite:///{path}",
            name=title,
            seed=3,
            horizon=500,
            clock=made[title],
            **timeout,
        ) as bandit:
            go_on(bandit, made[title], 0, 70)
    shutil.copy(path, going_on)
    arms = {}
    for title, clock in made.items():
        with br.Bandit.open(f"sqlite:///{going_on}", title, clock=clock) as bandit:
            arms[title] = go_on(bandit, clock, 70, 130)
    going_on.unlink()
    (folder / f"{name}.json").write_text(json.dumps(arms) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
