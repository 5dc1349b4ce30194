"""Studies whose rewards come late: their numbers are those of the simulator."""

import numpy as np

import brigand as br
from brigand.studies.run import run_study

STUDY = """\
name: late
horizon: 60
replications: 6
checkpoints: 3
environments:
  - {name: at once, arms: &arms [{type: Bernoulli, p: 0.2}, {type: Bernoulli, p: 0.8}]}
  - {name: late, arms: *arms, conditions: {delay: {type: Geometric, mean: 5}, lost: 0.1, batch: 3}}
policies: [UCB1]
"""


def test_the_numbers_are_those_of_simulate(tmp_path):
    (tmp_path / "study.yaml").write_text(STUDY, encoding="utf-8")
    run_study(tmp_path / "study.yaml", tmp_path / "out", workers=1)
    found = br.load(tmp_path / "out")
    environment = br.Environment.stationary([br.Bernoulli(0.2), br.Bernoulli(0.8)])
    given = {"at once": {}, "late": {"delay": br.Geometric(mean=5), "lost": 0.1, "batch": 3}}
    for problem, conditions in given.items():
        one = br.simulate(environment, {"UCB1": br.CATALOGUE["UCB1"]}, 60, 6, **conditions).dataset
        np.testing.assert_array_equal(
            found.regret(problem, "UCB1")[0, :, -1], one["regret"].sel(policy="UCB1", step=60)
        )
        assert found.method(problem, "UCB1") == one["method"].sel(policy="UCB1")
    late = found.results("late").dataset
    assert '"Geometric"' in late.attrs["conditions"]
    assert not np.array_equal(found.regret("late", "UCB1"), found.regret("at once", "UCB1"))
