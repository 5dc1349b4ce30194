"""Studies in worlds whose means move, or whose rewards are functions."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import brigand as br
import own_world
from brigand.studies.expand import environment_of, expand
from brigand.studies.read import read_study
from brigand.studies.run import run_study

STUDY = """\
name: worlds
horizon: 60
replications: 4
checkpoints: 3
environments:
  - name: drift
    world: {type: Restless, means: {type: LinearMeans, first: [0.2, 0.8], slope: [0.01, -0.01]}}
  - name: walks
    world:
      type: Restless
      means: {type: RandomWalkMeans, first: [0.5, 0.5], sigma: 0.1, seed: 7}
      noise: {type: Gaussian, mu: 0, sigma: 0.1}
    instances: 3
  - name: rot
    world: {type: Rested, means: {type: PowerMeans, first: [1, 0.5], decay: [0.5, 0]}}
  - name: own
    world: {type: Restless, means: {type: MeanFunction, function: own_world:halves, arms: 2}, regret: static}
  - name: scipy
    arms: [{type: SciPyReward, name: gamma, shapes: [2.0]}, {type: Gaussian, mu: 1, sigma: 1}]
  - name: functions
    arms: [{type: FunctionReward, function: "own_world:jackpot", mu: 0.595}, {type: Bernoulli, p: 0.5}]
  - name: from a file
    file: world.json
  - name: late
    world: {type: Rested, means: {type: PowerMeans, first: [1, 0.4], decay: [0.4, 0]}}
    conditions: {delay: {type: Geometric, mean: 5}, lost: 0.1, batch: 3}
policies: [Random]
"""


def written(folder, text=STUDY):
    world = br.Restless.of_rewards([[0.0, 1.0]] * 60)
    (folder / "world.json").write_text(json.dumps(world.to_json()), encoding="utf-8")
    path = folder / "study.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_studies_take_every_world(tmp_path):
    study = expand(*read_study(written(tmp_path)))
    found = {problem.name: problem.first for problem in study.problems}
    assert found["drift"] == br.Restless(br.LinearMeans([0.2, 0.8], [0.01, -0.01]))
    assert found["rot"] == br.Rested(br.PowerMeans([1, 0.5], [0.5, 0]))
    assert found["own"] == br.Restless(br.MeanFunction(own_world.halves, 2), regret="static")
    assert found["from a file"].n_arms == 2
    assert study.methods["late", "Random"] == "late"
    walks = study.problems[1]
    assert walks.instances == 3
    drawn = [environment_of(walks.recipe, 60, i) for i in range(3)]
    assert [world.means.seed for world in drawn] == [7, 8, 9]
    assert drawn[0] == walks.first


MISTAKES = {
    "type": (
        "type: Restless, means: {type: Lin",
        "type: Restles, means: {type: Lin",
        7,
        "Did you mean 'Restless'",
    ),
    "parameter": ("slope: [", "slop: [", 7, "Did you mean 'slope'"),
    "means": ("slope: [0.01, -0.01]", "slope: 0.1", 7, r"in \[0, 1\], but that of arm 0 is 1.1 in row 10"),
    "instances": ("decay: [0.5, 0]}}", "decay: [0.5, 0]}}\n    instances: 2", 16, "these means have none"),
    "two": (
        "decay: [0.5, 0]}}",
        "decay: [0.5, 0]}}\n    file: world.json",
        14,
        "world or file, not world and file",
    ),
    "others": (
        "shapes: [2.0]}, {type: Gaussian, mu: 1, sigma: 1}]",
        "shapes: [2.0]}]\n    instances: 2",
        18,
        "of a world",
    ),
    "mean": ("mu: 0.595", "mu: 0.7", 21, "given as 0.7, but that of"),
    "function": ("own_world:halves", "own_world:thirds", 17, "has no 'thirds'"),
    "arms": (
        "conditions: {",
        "conditions: {arms: {type: Arrivals, starts: [1, 5]}, ",
        26,
        "all arms are there, and not all are at step 1",
    ),
    "long": ("horizon: 60", "horizon: 61", 23, "60 rows, too few"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_have_their_line(tmp_path, name):
    old, new, line, message = MISTAKES[name]
    assert old in STUDY
    with pytest.raises(br.InvalidValueError, match=message) as caught:
        expand(*read_study(written(tmp_path, STUDY.replace(old, new))))
    assert f"line {line}:" in str(caught.value)


@pytest.mark.full
def test_results_are_those_of_simulate(tmp_path):
    path = written(tmp_path)
    run_study(path, tmp_path / "out", workers=1)
    results = br.load(tmp_path / "out")
    late = {"delay": br.Geometric(mean=5), "lost": 0.1, "batch": 3}
    for problem in ("drift", "rot", "own", "scipy", "functions", "from a file", "late"):
        world, given = results.environment(problem), late if problem == "late" else {}
        expected = br.simulate(world, {"Random": br.UniformRandom()}, 60, 4, 0, **given)
        found = results.regret(problem, "Random").reshape(4, -1)[:, -1]
        np.testing.assert_array_equal(found, expected.dataset["regret"].sel(policy="Random", step=60))
    assert not run_study(path, tmp_path / "out", workers=1).missing


OWN = """\
def pays(uniform, normal):
    return uniform


def mean(t, arm):
    return 0.5
"""
SMALL = """\
name: own
horizon: 20
replications: 2
environments:
  - {name: rewards, arms: [{type: FunctionReward, function: "mine:pays", mu: 0.5}, {type: Bernoulli, p: 0.1}]}
  - {name: means, world: {type: Restless, means: {type: MeanFunction, function: "mine:mean", arms: 2}}}
  - {name: neither, arms: [{type: Bernoulli, p: 0.2}, {type: Bernoulli, p: 0.1}]}
policies: [Random]
"""
PROGRAM = """
from pathlib import Path
from brigand.studies.run import run_study

print(len(run_study(Path("study.yaml"), Path("out"), workers=1).missing))
"""


@pytest.mark.full
def test_a_function_that_was_edited_is_run_again_and_nothing_else(tmp_path):
    written(tmp_path, SMALL)

    def run(text):
        (tmp_path / "mine.py").write_text(text, encoding="utf-8")
        done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return int(done.stdout.splitlines()[-1])

    assert run(OWN) == 3
    assert run(OWN + "# a comment") == 0
    assert run(OWN.replace("return 0.5", "return 0.4")) == 2  # both use the module


def test_the_study_of_the_page_is_right(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "worlds.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```yaml\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    study = expand(*read_study(written(tmp_path, text)))
    assert [problem.instances for problem in study.problems] == [1, 10, 1, 1]
