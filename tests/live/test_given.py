"""What people give a bandit, and what they get back: plain meanings work, others are told in one sentence."""

import json
import math
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

import brigand as br
from brigand.live.decision import plain

FE = br.ForcedExploration(br.Linear())


@pytest.mark.parametrize("kind", [str, Path, lambda path: f"sqlite:///{path}"], ids=["text", "path", "url"])
def test_a_store_is_a_path_or_a_url(tmp_path, kind):
    store = kind(tmp_path / "100 %?.db" if kind is not Path else tmp_path / "shop.db")
    if "://" in str(store):
        store = store.replace("%", "%25").replace("?", "%3F")
    with br.Bandit(["a", "b"], FE, store=store, name="x") as bandit:
        decision = bandit.ask()
    with br.Bandit.open(store, "x") as again:
        assert again.history().decision.to_list() == [decision.id]
    (file,) = tmp_path.iterdir()
    assert file.suffix == ".db"


@pytest.mark.parametrize(
    ("policy", "expected"), [("FE-Linear", FE), ("ucb1", br.UCB1(0, 1)), ("ts beta", br.ThompsonBeta())]
)
def test_a_policy_may_be_given_by_its_name(policy, expected):
    assert br.Bandit(["a"], policy).policy == expected
    assert br.CATALOGUE[policy] == expected
    assert br.trace(policy, [[0.5]]).tolist() == [0]
    env = br.Environment.stationary([br.Bernoulli(0.5)])
    assert br.simulate(env, {"x": policy}, 3, 1).policies == {"x": expected}


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("FE", "unknown policy 'FE'. Did you mean 'FE-Anytime' or 'FE-Constant'"),
        (br.UCB1, r"policy must be a policy: UCB1\(...\), with its settings"),
        (3, "such as ForcedExploration"),
    ],
)
def test_what_is_no_policy_is_told_in_one_sentence(policy, message):
    with pytest.raises(br.BrigandError, match=message):
        br.Bandit(["a"], policy)


def test_the_catalogue_is_a_dict_and_its_error_a_key_error():
    with pytest.raises(KeyError, match=r"unknown policy 'nothing'\. Known"):
        br.CATALOGUE["nothing"]
    assert br.CATALOGUE.get("nothing") is None
    assert "ucb1" not in br.CATALOGUE


def test_true_is_one_where_rewards_are_zero_or_one():
    bandit = br.Bandit(["a"], br.UCB1(0, 1))
    first, second, third = bandit.ask(3)
    assert bandit.tell(first.id, True) == bandit.tell(second.id, np.False_) == "learned"
    assert bandit.tell(first.id, 1) == "repeated"
    assert bandit.history()["reward"].to_list()[:2] == [1.0, 0.0]
    with pytest.warns(
        UserWarning, match=r"^decision 3: UCB1\(.*\) was told a range, and 40 is outside: it is learned"
    ):
        assert bandit.tell(third.id, 40) == "learned"
    strict = br.Bandit(["a"], br.ThompsonBeta())
    with pytest.raises(br.UnsupportedRewardError, match=r"\[0, 1\], not 40\.0\. Nothing was told"):
        strict.tell(strict.ask().id, 40)
    other = br.Bandit(["a"], FE)
    with pytest.raises(br.InvalidValueError, match=r"a number, not True; give 1\.0\. Nothing was told"):
        other.tell(other.ask().id, True)


@pytest.mark.parametrize("name", ["$HOME", "a" * 300, "[red]", "緑", "a\nb", ""])
def test_arms_have_the_names_that_were_typed(name, tmp_path):
    with br.Bandit([name], FE, store=tmp_path / "x.db", name=name or "x") as bandit:
        assert bandit.ask().arm == name
    with br.Bandit.open(tmp_path / "x.db", name or "x") as bandit:
        assert bandit.summary(plain=True)[0]["arm"] == name


def test_everything_that_is_returned_can_be_json(tmp_path):
    bandit = br.Bandit(["a", "b"], br.UCB1(0, 1), seed=1, store=tmp_path / "x.db", name="x")
    decisions = bandit.ask(4)
    bandit.tell(decisions[0], 0.5)
    for found in [decision.to_dict() for decision in decisions] + [
        bandit.summary(plain=True, removed=True),
        bandit.history(plain=True),
        dict(decisions[0]),
    ]:
        assert json.loads(json.dumps(found, allow_nan=False)) == found
    row = bandit.history(plain=True)[0]
    assert datetime.fromisoformat(row["asked_at"]).tzinfo is not None
    assert bandit.history(plain=True)[3]["reward"] is None
    assert decisions[0].to_dict()["reason"] == decisions[0].reason
    assert plain({"a": math.nan, "b": -math.inf, "c": np.float64(2)}) == {"a": None, "b": None, "c": 2.0}


SCRIPT = """
import brigand as br
from dataclasses import dataclass

@dataclass(frozen=True)
class Mine(br.UniformRandom):
    pass

br.Bandit(["a"], Mine()).ask()
try:
    br.Bandit(["a"], Mine(), store="x.db", name="x")
except br.InvalidValueError as error:
    print(error)
"""


@pytest.mark.full
def test_a_policy_of_a_script_is_not_stored(tmp_path):
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "Mine is defined in a script or a notebook, where no other process finds it"
    )
    assert not (tmp_path / "x.db").exists()


def test_a_policy_of_a_function_is_not_stored(tmp_path):
    class Mine(br.UniformRandom):
        pass

    with pytest.raises(br.InvalidValueError, match="Mine is defined inside a function"):
        br.Bandit(["a"], Mine(), store=tmp_path / "x.db", name="x")
    snapshot = br.Bandit(["a"], FE).snapshot()
    assert isinstance(br.Bandit.restore(snapshot, store=tmp_path / "y.db", name="x"), br.Bandit)
    assert not (tmp_path / "x.db").exists()
