"""A policy is its file, its line in the catalogue and its bib entry: all else is read from there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import brigand as br
from policies.expectations import EXPECTED, OTHERS

PACKAGE = Path(br.__file__).parent
ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def rows(header):
    """Return the cells of a table of README.md, by row."""
    table = README.split(f"\n{header}\n")[1].split("\n\n")[0]
    return [line.strip("| ").split(" | ") for line in table.splitlines()[1:]]


@pytest.mark.parametrize("name", br.CATALOGUE)
def test_its_class_is_public(name):
    cls = type(br.CATALOGUE[name])
    assert getattr(br, cls.__name__) is cls
    assert cls.__name__ in br.__all__


def test_expectations_are_of_policies_that_exist():
    assert set(EXPECTED) - set(OTHERS) <= set(br.CATALOGUE)
    assert not OTHERS.keys() & br.CATALOGUE.keys()


@pytest.mark.parametrize(
    "row", rows("| name | policy | rewards assumed | you must know |"), ids=lambda row: row[0]
)
def test_the_readme_says_of_a_policy_what_the_catalogue_says(row):
    name, code, assumption, must_know = row
    policy = br.CATALOGUE[name]
    assert policy == eval(code.strip("`"), {public: getattr(br, public) for public in br.__all__})
    assert (assumption, must_know) == (policy.assumption, policy.must_know)


@pytest.mark.parametrize("row", rows("| family | policies |"), ids=lambda row: row[0])
def test_the_readme_lists_policies_with_their_family_and_marks_reconstructions(row):
    listed = row[1].split(", ")
    policies = {name: br.CATALOGUE[name.removesuffix("†")] for name in listed}
    assert len({type(policy).__module__.split(".")[2] for policy in policies.values()}) == 1
    for name, policy in policies.items():
        assert name.endswith("†") == (policy.known_from == "reconstruction"), name


# A policy of a user's moves into the package: that of docs/new_policy.md.

NAME = "UCB1-tuned"
DOCSTRING = '''"""UCB1 that estimates the variance of each arm.

Rule
----
The largest mean + sqrt(log n / N min(1/4, V)), with V = variance + sqrt(2 log n / N).

Source
------
Auer, Cesa-Bianchi, Fischer (2002), section 4.

Deviations
----------
None.

Late rewards
------------
An arm without a reward is pulled first, but only a few times.

Cost
----
O(K) a step, memory O(K).
"""'''
LONG = ("compile", "bits", "learns", "permut", "tied", "constant", "one_arm")
ENTRY = """
@article{tuned,
  author = {Auer, Peter},
  title  = {The paper of a new policy},
  year   = {2002}
}
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A copy of the package with one file more, its import and line in the catalogue, and its paper."""
    copy = tmp_path_factory.mktemp("package") / "brigand"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    page = (ROOT / "docs" / "new_policy.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n# my_policy\.py\n\"\"\".*?\"\"\"(.*?)```", page, flags=re.DOTALL)[1]
    sourced = re.sub(
        "( +)assumption = .*\n", r'\g<0>\1reference = "tuned"\n\1known_from = "published"\n', code
    )
    (copy / "policies" / "ucb" / "ucb_tuned.py").write_text(DOCSTRING + sourced, encoding="utf-8")
    catalogue = copy / "policies" / "catalogue.py"
    text, lines = catalogue.read_text(encoding="utf-8").split("\n\nCATALOGUE = Catalogue(\n    {\n")
    catalogue.write_text(
        f"{text}\nfrom brigand.policies.ucb.ucb_tuned import UCBTuned as UCBTuned\n\n"
        f'CATALOGUE = Catalogue(\n    {{\n    "{NAME}": UCBTuned(),\n{lines}',
        encoding="utf-8",
    )
    with open(copy / "references.bib", "a", encoding="utf-8") as bib:
        bib.write(ENTRY)
    return copy


def python(package, *arguments):
    """Run Python with the copy of the package; return what it prints."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"PYTHONPATH": str(package.parent), "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, cwd=ROOT, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_new_policy_is_public_and_listed_and_its_paper_is_cited(package):
    assert (
        python(package, "-c", "import brigand as br; print(br.UCBTuned())")
        == "UCBTuned(low=0.0, high=1.0, scale=1.0)\n"
    )
    command = ["-c", "from brigand.cli import main; main()"]
    row = next(line for line in python(package, *command, "policies").splitlines() if NAME in line)
    assert re.split(" {2,}", row.strip()) == [
        *(NAME, "bounded in [low, high]", "the range [0, 1]", "[0, 1]", "published", "O(K)")
    ]
    assert ENTRY.strip() in python(package, *command, "cite", NAME)


@pytest.mark.full
def test_a_new_policy_is_tested_by_the_contract_and_by_the_checks_of_documentation(package):
    """Tests that compile or simulate are left out here: they take long, and are picked up in the same way."""
    files = ["policies/test_contract.py", "policies/test_absent_arms.py", "policies/test_catalogue.py"]
    files += ["policies/test_docstrings.py", "test_architecture.py", "test_spec.py"]
    printed = python(
        package,
        *("-m", "pytest", "--full", "-q", "-rA", "-n", "0", "-p", "no:cacheprovider"),
        *(str(ROOT / "tests" / file) for file in files),
        *("-k", f"({NAME} or UCBTuned or ucb_tuned) and not ({' or '.join(LONG)})"),
    )
    passed = set(re.findall(r"^PASSED .*::(\w+)\[", printed, flags=re.MULTILINE))
    assert passed >= {
        "test_the_class_says_what_it_assumes",
        "test_selecting_changes_nothing_and_chooses_a_candidate",
        "test_rewards_that_come_late_in_any_order_or_never",
        "test_the_best_of_the_arms_that_are_left_is_found",
        "test_rows_that_are_never_candidates_change_nothing",
        "test_its_class_is_public",
        "test_public_names_are_documented",
        "test_every_policy_says_how_its_rule_is_known",
        "test_the_docstring_has_one_sentence_and_then_the_five_headings_in_order",
    }
