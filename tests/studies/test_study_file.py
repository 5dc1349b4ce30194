"""Study files: what they mean, and every mistake in one line."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import brigand as br
from brigand.studies.expand import conditions_of, environment_of, expand
from brigand.studies.model import schema
from brigand.studies.read import read_study
from brigand.studies.run import plan_study

EXAMPLES = Path(__file__).parents[2] / "examples"
GOOD = """\
name: test
horizon: 1e4
replications: 20
environments:
  - name: pair
    arms:
      - {type: Gaussian, mu: 0, sigma: 1}
      - {type: Gaussian, mu: 0.5, sigma: 1}
  - random: {family: gaussian, arms: 3, instances: 4}
    sweep: {arms: [3, 5]}
policies:
  - FE-Exp
  - name: SW-FE
    policy: ForcedExploration
    parameters: {window: 100}
    sweep: {window: [100, 200], sequence.base: [1.1, 1.2]}
"""


def study(tmp_path, text):
    path = tmp_path / "study.yaml"
    path.write_text(text, encoding="utf-8")
    return expand(*read_study(path))


def test_sweeps_make_named_policies_and_environments(tmp_path):
    found = study(tmp_path, GOOD)
    assert [p.name for p in found.problems] == ["pair", "gaussian (arms = 3)", "gaussian (arms = 5)"]
    assert [c.name for c in found.policies] == [
        "FE-Exp",
        *(f"SW-FE (window = {w}, sequence.base = {b})" for w in (100, 200) for b in (1.1, 1.2)),
    ]
    assert found.policies[-1].policy == br.ForcedExploration(br.Exponential(1.2), window=200)
    assert found.problems[2].instances == 4
    assert environment_of(found.problems[2].recipe, 10_000, 3) == br.random_environment(
        "gaussian", 5, 10_000, 1, seed=3
    )
    assert len(found.checkpoints(10_000)) == 40
    assert found.checkpoints(10_000)[-1] == 10_000


def test_lists_of_variants_horizons_files_and_phases(tmp_path):
    environment = br.random_environment("bernoulli", 2, 500, 2, seed=3)
    (tmp_path / "shop.json").write_text(json.dumps(environment.to_json()))
    text = """
name: test
horizon: [100, 200]
checkpoints: [10, 100, 150]
replications: 2
environments:
  - file: shop.json
  - name: changing
    phases:
      - [{type: Bernoulli, p: 0.2}, {type: Bernoulli, p: 0.4}]
      - [{type: Bernoulli, p: 0.5}, {type: Bernoulli, p: 0.1}]
    starts: [1, 51]
policies:
  - {policy: ExploreThenCommit, name: ETC, sweep: [{m: 3}, {m: 7}], only: [shop.json]}
  - {policy: FE-Exp, name: FE, sweep: [{sequence: {type: Linear}}, {sequence: {type: Constant, value: inf}}]}
"""
    found = study(tmp_path, text)
    assert [p.name for p in found.problems] == [
        "shop.json (T = 100)",
        "shop.json (T = 200)",
        "changing (T = 100)",
        "changing (T = 200)",
    ]
    assert found.problems[0].first == environment
    assert [c.name for c in found.policies] == [
        "ETC (m = 3)",
        "ETC (m = 7)",
        "FE (sequence = Linear())",
        "FE (sequence = Constant(value=inf))",
    ]
    assert found.policies[3].policy.sequence == br.Constant(float("inf"))
    assert found.checkpoints(100) == (10, 100)
    assert found.checkpoints(200) == (10, 100, 150, 200)
    assert [found.policies[0].plays(p) for p in found.problems] == [True, True, False, False]


LATE = """\
name: test
horizon: 100
replications: 2
environments:
  - name: late
    arms: [{type: Bernoulli, p: 0.2}, {type: Bernoulli, p: 0.4}]
    conditions: GIVEN
policies:
  - UCB1
  - LB-SDA
"""


def test_conditions_are_those_of_simulate(tmp_path):
    arms = "{type: Arrivals, starts: [1, 7]}"
    given = f"{{delay: [{{type: Geometric, mean: 5}}, 3], lost: 0.1, arms: {arms}, batch: 2}}"
    found = study(tmp_path, LATE.replace("GIVEN", given))
    (problem,) = found.problems
    assert set(found.methods.values()) == {"late"}
    assert conditions_of(problem.recipe) == br.Conditions(
        [br.Geometric(mean=5), 3], 0.1, 2, br.Arrivals([1, 7])
    )
    plain = study(tmp_path, LATE.replace("GIVEN", "{delay: 0}"))
    assert "conditions" not in plain.problems[0].recipe
    assert set(plain.methods.values()) == {"step"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("{dely: 5}", "Did you mean 'delay'"),
        ("{delay: -5}", "delay must be >= 0"),
        ("{delay: {mean: 5}}", "type: Geometric"),
        ("{delay: {type: Geometrc, mean: 5}}", "Did you mean 'Geometric'"),
        ("{delay: {type: UCB1}}", "a delay must be"),
        ("{lost: [0.1, 0.2, 0.3]}", "3 arms, but there are 2"),
        ("{arms: {type: Arrivals, starts: [2, 2]}}", "no arm is there at step 1"),
        ("{arms: {type: Arrivals, starts: [1, 1], ends: [5, 99999999999999999999]}}", "must be in"),
        ("{pending: imputed, delay: 3}", "'LB-SDA' learns no corrections"),
        ("[5]", "dictionary"),
    ],
)
def test_a_mistake_in_conditions_is_told_with_its_line(tmp_path, given, message):
    with pytest.raises(br.InvalidValueError, match=re.escape(message)) as raised:
        study(tmp_path, LATE.replace("GIVEN", given))
    assert f"line {10 if 'LB-SDA' in message else 7}:" in str(raised.value)


MISTAKES = [
    ("horizon: 1e4", "horizon: -5", 2, "horizon: input should be greater than or equal to 1, not -5"),
    ("horizon: 1e4", "horizn: 5", 2, "unknown key 'horizn'. Did you mean 'horizon'? Allowed: baseline,"),
    ("horizon: 1e4", "horizon: 10.5", 2, "not 10.5"),
    ("horizon: 1e4", "horizon: [10, x]", 2, "not 'x'"),
    ("horizon: 1e4\n", "", 1, "'horizon' is missing"),
    ("replications: 20", "replications: abc", 3, "replications: input should be a valid integer"),
    (
        "family: gaussian",
        "family: gauss",
        9,
        "'bernoulli', 'gaussian', 'exponential' or 'poisson', not 'gauss'",
    ),
    ("instances: 4", "instance: 4", 9, "unknown key 'instance'. Did you mean 'instances'?"),
    ("arms: 3, inst", "arms: 0, inst", 9, "arms: input should be greater than or equal to 1, not 0"),
    ("  - FE-Exp", "  - FE-Expp", 12, "unknown policy 'FE-Expp'. Did you mean 'FE-Exp'?"),
    (
        "  - FE-Exp",
        "  - FE-Exp: 3",
        12,
        "unknown key 'FE-Exp'. Allowed: name, only, parameters, policy, sweep",
    ),
    ("  - FE-Exp", "  - 3", 12, "not 3"),
    ("  - FE-Exp", "  - FE-Exp\n  - FE-Exp", 13, "two of the policies are called 'FE-Exp'"),
    ("  - FE-Exp", "  - ExploreThenCommit", 12, "ExploreThenCommit needs parameters: m"),
    ("  - FE-Exp", "  - nomodule:X", 12, "'nomodule:X' cannot be imported"),
    ("  - FE-Exp", "  - brigand.rng:Stream", 12, "is no policy"),
    ("  - FE-Exp", "  - UCB1-sigma\n  - KL-UCB", 13, "'KL-UCB' in 'pair': KLUCB needs rewards in [0, 1]"),
    (
        "  - FE-Exp",
        "  - {policy: FE-Exp, only: [pear]}",
        12,
        "unknown environment 'pear'. Did you mean 'pair'?",
    ),
    ("    policy: Forced", "    policie: Forced", 14, "unknown key 'policie'. Did you mean 'policy'?"),
    ("{window: 100}", "{windows: 100}", 15, "unknown parameter of ForcedExploration 'windows'"),
    ("{window: 100}", "{reset_round: x}", 15, "reset_round must be an integer, not 'x'"),
    ("window: [100, 200]", "windo: [100]", 16, "unknown parameter of ForcedExploration 'windo'"),
    ("window: [100, 200]", "window: [0]", 16, "window must be >= 1, not 0"),
    ("window: [100, 200]", "window: []", 16, "window: list should have at least 1 item"),
    ("sequence.base", "sequence.bas", 16, "unknown parameter of Exponential 'bas'. Did you mean 'base'?"),
    ("sequence.base", "window.base", 16, "window has no parameters, so window.base is none"),
    ("sweep: {arms: [3, 5]}", "sweep: {armss: [3]}", 10, "unknown parameter of random instances 'armss'"),
    ("sweep: {arms: [3, 5]}", "sweep: {arms: [0]}", 10, "arms: input should be greater than or equal to 1"),
    ("sweep: {arms: [3, 5]}", "sweep: 7", 10, "not 7"),
    ("sweep: {arms: [3, 5]}", "name: pair", 9, "two of the environments are called 'pair'"),
    ("mu: 0.5, sigma: 1", "mu: 0.5, sigma: -1", 8, "Gaussian's standard deviation must be >= 0, not -1"),
    ("mu: 0.5,", "mu: x,", 8, "Gaussian's mean must be a number, not 'x'"),
    ("mu: 0.5,", "mean: 0.5,", 8, "unknown parameter of Gaussian 'mean'. Known: mu, sigma."),
    ("type: Gaussian, mu: 0.5", "type: Gauss, mu: 0.5", 8, "unknown type 'Gauss'. Did you mean 'Gaussian'?"),
    ("    arms:\n", "    random: {family: gaussian, arms: 3}\n    arms:\n", 5, "not random and arms"),
    ("    arms:\n", "    sweep: {p: [1]}\n    arms:\n", 5, "only random instances can be swept over"),
    ("    arms:\n", "    starts: [1]\n    arms:\n", 5, "phases and starts belong together"),
    ("name: test", "name: [test", 2, "expected"),
    ("name: test", "name: test\nname: x", 2, 'found duplicate key "name"'),
    ("name: test", "name: test\nbaseline: UCB1", 2, "unknown baseline 'UCB1'"),
    ("name: test", "name: test\nmethod: skip", 14, "cannot be skipped"),
    ("name: test", "name: test\nfigures: [pie]", 2, "not 'pie'"),
    ("name: test", "name: test\nmetrics: pulls", 2, "metrics: input should be a valid list, not 'pulls'"),
]


@pytest.mark.parametrize(("old", "new", "line", "message"), MISTAKES, ids=[new for _, new, *_ in MISTAKES])
def test_every_mistake_is_one_error_with_its_line(tmp_path, old, new, line, message):
    assert old in GOOD
    with pytest.raises(br.BrigandError) as caught:
        study(tmp_path, GOOD.replace(old, new, 1))
    text = str(caught.value)
    assert f"study.yaml, line {line}: " in text
    assert message in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read"),
        (b"\xff\xfe\xfa", "it is not UTF-8 text"),
        (b"", "a study is a mapping"),
        (b"- 1\n- 2", "a study is a mapping"),
        (b"a: \t- b: *x", "line 1"),
        (b"{}", "is missing"),
    ],
)
def test_what_is_not_a_study_is_refused(tmp_path, content, message):
    path = tmp_path / "x.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(br.BrigandError, match=message):
        read_study(path)


def test_a_missing_environment_file_is_named(tmp_path):
    text = GOOD.replace(
        "  - random: {family: gaussian, arms: 3, instances: 4}\n    sweep: {arms: [3, 5]}\n",
        "  - file: x.json\n",
    )
    with pytest.raises(br.InvalidValueError, match=r"line 9: .*x.json' cannot be read"):
        study(tmp_path, text)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_examples_are_right(path):
    _, _, load = plan_study(path, None)
    assert load.runs > 0


def test_the_schema_describes_every_key(tmp_path):
    described = schema()
    assert set(described["properties"]) == {
        "name", "description", "environments", "policies", "horizon", "replications", "checkpoints", "seed",
        "method", "metrics", "baseline", "figures",
    }  # fmt: skip
    assert set(described["required"]) == {"name", "environments", "policies", "horizon", "replications"}
    assert described["$defs"]["PolicyEntry"]["additionalProperties"] is False
    text = json.dumps(described)
    for word in ("Random instances", "sequence.base", "log-spaced"):
        assert word in text


@pytest.mark.full
def test_the_command_line_says_what_is_wrong_and_how_much_there_is_to_do(tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text(GOOD)
    program = shutil.which("brigand", path=str(Path(sys.executable).parent))

    def run(*arguments):
        return subprocess.run([program, "run", *arguments], capture_output=True, text=True, cwd=tmp_path)

    right = run("study.yaml", "--check")
    assert right.returncode == 0
    assert "15 combinations of policy and problem, 900 runs, 9e+06 steps, in 25 pieces" in right.stdout
    assert not (tmp_path / "study").exists()
    path.write_text(GOOD.replace("horizon", "horizn"))
    wrong = run("study.yaml")
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("Error: study.yaml, line 2: unknown key 'horizn'.")
    assert "Traceback" not in wrong.stderr
