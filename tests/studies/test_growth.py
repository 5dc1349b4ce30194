"""A study that is changed: what two versions have in common is computed once, and nothing else is taken."""

import itertools
import json
import random
import shutil

import numpy as np
import pytest

import brigand as br
from brigand.studies import work
from brigand.studies.run import plan_study, run_study
from strength import runs

POLICIES = ("FE-Linear", "UCB1", "{policy: FE-Linear, name: windowed, parameters: {window: 9}}", "Random")
STEPS = (5, 12, 20, 30)


def definition(rng):
    """Return a study at random, all of which have something in common."""
    return {
        "horizon": rng.choice([30, 30, 30, 40]),
        "replications": rng.randrange(1, 12),
        "instances": rng.randrange(1, 8),
        "checkpoints": sorted(rng.sample(STEPS, rng.randrange(1, 4))),
        "metrics": rng.choice([[], ["pulls"]]),
        "seed": rng.choice([0, 0, 0, 1]),
        "policies": rng.sample(POLICIES, rng.randrange(1, 4)),
        "first": rng.choice([0, 0, 0, 7]),
    }


def write(path, of):
    policies = "\n".join(f"  - {policy}" for policy in of["policies"])
    path.write_text(
        f"""\
name: it grows
horizon: {of["horizon"]}
replications: {of["replications"]}
checkpoints: {of["checkpoints"]}
metrics: {of["metrics"]}
seed: {of["seed"]}
environments:
  - {{name: one, arms: [{{type: Gaussian, mu: 0, sigma: 1}}, {{type: Gaussian, mu: 1, sigma: 1}}]}}
  - name: several
    random: {{family: bernoulli, arms: 3, instances: {of["instances"]}, seed: {of["first"]}}}
policies:
{policies}
""",
        encoding="utf-8",
    )
    return path


def wanted(of):
    """Return the runs that a study wants: all that they depend on, and where in the table they are."""
    found = set()
    for policy in of["policies"]:
        for problem, instances in (("one", 1), ("several", of["instances"])):
            shared = (policy, problem, of["horizon"], of["seed"], of["first"] if problem == "several" else 0)
            found |= {(*shared, i, r) for i in range(instances) for r in range(of["replications"])}
    return found


def to_do(load):
    """Return how many runs are missing, and how many of these more than once."""
    done = [
        (json.dumps([piece.task[key] for key in ("policy", "horizon", "seed")]), problem(piece), i, r)
        for piece in load.missing
        for i, first, end in piece.task["parts"]
        for r in range(first, end)
    ]
    assert len(set(done)) == len(done)
    return len(done)


def problem(piece):
    return json.dumps(piece.task.get("random", "one"))


def numbers(folder):
    results = br.load(folder)
    assert results.missing == 0
    found = {}
    for name in results.problems:
        for policy in results.policies_of(name):
            found[name, policy, "regret"] = results.regret(name, policy)
            if "pulls" in results.manifest["metrics"]:
                found[name, policy, "pulls"] = results.pulls(name, policy)
            found[name, policy, "forced"] = results.forced(name, policy)
    return found


def assert_same(one, other):
    assert one.keys() == other.keys()
    for key, array in one.items():
        np.testing.assert_array_equal(array, other[key])


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(work, "STEPS", 30 * 8)


@pytest.mark.parametrize("seed", range(runs(3, 60)))
def test_what_is_in_both_is_computed_once_and_what_differs_is_never_taken(tmp_path, seed):
    rng = random.Random(seed)
    first, second = definition(rng), definition(rng)
    out, path = tmp_path / "out", tmp_path / "study.yaml"
    run_study(write(path, first), out, workers=1)
    load = plan_study(write(path, second), out)[2]
    covers = (
        set(first["checkpoints"]) | {first["horizon"]} >= set(second["checkpoints"])
        and first["metrics"] >= second["metrics"]
    )
    new = wanted(second) - wanted(first) if covers else wanted(second)
    assert to_do(load) <= len(wanted(second))
    if covers:
        assert to_do(load) == len(new)
    for version in (second, first, second):
        run_study(write(path, version), out, workers=1)
        assert plan_study(path, out)[2].missing == []
        run_study(path, tmp_path / "fresh", workers=1)
        assert_same(numbers(out), numbers(tmp_path / "fresh"))
        shutil.rmtree(tmp_path / "fresh")


def test_what_grows_is_gone_on_with(tmp_path):
    rng = random.Random(0)
    of = definition(rng) | {"replications": 10, "instances": 6, "policies": [*POLICIES[:2]], "horizon": 30}
    path, out = tmp_path / "study.yaml", tmp_path / "out"
    assert to_do(run_study(write(path, of), out, workers=1)) == 2 * 10 * (1 + 6)
    for change, new in (
        ({"instances": 7}, 2 * 10),
        ({"replications": 11}, 2 * (1 + 7)),
        ({"policies": [*POLICIES[:3]]}, 11 * (1 + 7)),
        ({"replications": 3}, 0),
        ({"replications": 11, "instances": 2}, 0),
        ({"instances": 7, "checkpoints": of["checkpoints"][:1]}, 0),
    ):
        of |= change
        assert to_do(run_study(write(path, of), out, workers=1)) == new, change
    run_study(path, tmp_path / "fresh", workers=1)
    assert_same(numbers(out), numbers(tmp_path / "fresh"))


def test_a_change_that_is_not_done_leaves_what_was_readable(tmp_path, monkeypatch):
    """Whatever is wanted instead; but a policy more is seen from its first piece on."""
    path, out = tmp_path / "study.yaml", tmp_path / "out"
    of = definition(random.Random(1)) | {"replications": 3, "policies": [*POLICIES[:2]]}
    run_study(write(path, of), out, workers=1)
    before = numbers(out)

    def stop(after):
        count = itertools.count(1)

        def progress(done, total):
            if next(count) > after:
                raise KeyboardInterrupt

        return progress

    write(path, of | {"replications": 9})
    for after in (0, 1, 3):
        with pytest.raises(KeyboardInterrupt):
            run_study(path, out, workers=1, progress=stop(after))
        assert_same(numbers(out), before)
    write(path, of | {"policies": [*POLICIES[:3]]})
    with pytest.raises(KeyboardInterrupt):
        run_study(path, out, workers=1, progress=stop(1))
    found = br.load(out)
    assert found.missing
    assert set(found.policies_of("one")) >= {"FE-Linear", "UCB1"}
    assert_same(
        {key: array for key, array in before.items() if key[2] == "regret"},
        {key: found.regret(*key[:2]) for key in before if key[2] == "regret"},
    )
    run_study(path, out, workers=1)
    assert br.load(out).missing == 0
