"""Pages that are made from the code: the policies, the API reference, the gallery."""

from __future__ import annotations

import csv
import dataclasses
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import brigand as br
import brigand.client
import brigand.testing
from brigand.citations import entries
from brigand.policies.base import KNOWN_FROM

FAMILIES = {
    "forced": "Forced exploration",
    "ucb": "Upper confidence bounds",
    "divergence": "Empirical divergence",
    "heavy_tails": "Heavy tails",
    "randomised": "Randomised",
    "subsampling": "Sub-sampling",
    "changes": "Changing rewards",
    "commit": "Explore, then commit",
    "adversarial": "Adversarial rewards",
    "baselines": "Baselines",
}
PROBLEMS = ("Bernoulli", "Gaussian", "unequal Gaussian", "heavy tails", "changes")
API = {
    "simulation": (
        "Simulation",
        ["simulate", "Conditions", "Arrivals", "Results", "trace", "rare_regret", "RareRegret"],
    ),
    "environments": (
        "Environments and rewards",
        [
            "Environment",
            "random_environment",
            "World",
            "Restless",
            "Rested",
            "MeanPath",
            "LinearMeans",
            "MeanFunction",
            "MeanTable",
            "PowerMeans",
            "RandomWalkMeans",
            "SaturatingMeans",
            "SeasonalMeans",
            "SharedNoise",
            "SwitchingMeans",
            "Distribution",
            "Bernoulli",
            "Beta",
            "ClippedGaussian",
            "Empirical",
            "ExponentialReward",
            "FiniteSupport",
            "FunctionReward",
            "Geometric",
            "Gaussian",
            "Pareto",
            "Poisson",
            "SciPyReward",
            "StudentT",
            "Uniform",
        ],
    ),
    "policies": (
        "Writing policies",
        ["CATALOGUE", "Policy", "BoundedPolicy", "Kernels", "Estimated", "kernel", "record", "oracle"],
    ),
    "sequences": (
        "Exploration sequences",
        [
            "ExplorationSequence",
            "Constant",
            "Linear",
            "Exponential",
            "AnytimeExponential",
            "Power",
            "Sequence",
        ],
    ),
    "live": (
        "Live bandits",
        ["Bandit", "Bandits", "Fleet", "Decision", "Past", "Told", "Gain", "Verdict", "propensities"],
    ),
    "logs": (
        "Logs",
        ["Log", "replay", "Replay", "evaluate", "Evaluation", "arm_means", "ArmMeans"],
    ),
    "studies": ("Studies", ["load", "StudyResults", "Comparison"]),
    "errors": (
        "Errors",
        [
            "BrigandError",
            "AccessError",
            "ClusterError",
            "ConflictingRewardError",
            "InvalidValueError",
            "MissingPackageError",
            "NameTakenError",
            "NotServingError",
            "PolicyError",
            "ResultFileError",
            "ServiceError",
            "StorageError",
            "UnknownDecisionError",
            "UnknownNameError",
            "UnsupportedRewardError",
        ],
    ),
}
"""The public names that have no page on a policy, by page."""
MODULES = {"theory": "Theory", "client": "Client of the service", "testing": "Testing policies"}
"""Modules with public names of their own."""
Measured = dict[str, dict[str, dict[str, str]]]
"""What was measured: a row of the table by policy and problem."""


def write(docs: Path) -> None:
    """Write all pages that are made from the code, below `docs`."""
    _replace(docs / "policies", dict(policy_pages(docs)))
    _replace(docs / "api", dict(api_pages()))
    _replace(docs / "gallery", dict(gallery_pages(docs / "gallery")))


def _replace(folder: Path, found: dict[str, str]) -> None:
    """Write pages, where they differ from what is there, and remove those of a name that is no more."""
    folder.mkdir(exist_ok=True)
    kept = {"index.md"} | found.keys()
    for path in (*folder.rglob("*.md"), *folder.rglob("*.rst")):
        if str(path.relative_to(folder)) not in kept:
            path.unlink()
    for name, text in found.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


# Policies.


def policy_modules() -> dict[str, dict[str, br.Policy]]:
    """Return the policies of the catalogue by the module that defines them, and by name."""
    found: dict[str, dict[str, br.Policy]] = {}
    for name, policy in br.CATALOGUE.items():
        found.setdefault(type(policy).__module__, {})[name] = policy
    return found


def policy_classes() -> dict[str, list[str]]:
    """Return the names of the classes of policies by module."""
    found: dict[str, list[str]] = {}
    for policy in br.CATALOGUE.values():
        names = found.setdefault(type(policy).__module__, [])
        if type(policy).__name__ not in names:
            names.append(type(policy).__name__)
    return found


def policy_pages(docs: Path) -> Iterator[tuple[str, str]]:
    """Yield path and text of a page for each family and each module of policies."""
    measured = read_measured(docs / "policies" / "measured.csv")
    classes = policy_classes()
    families: dict[str, list[str]] = {family: [] for family in FAMILIES}
    for module, policies in policy_modules().items():
        family, name = module.split(".")[-2:]
        families[family].append(name)
        yield f"{family}/{name}.md", policy_page(module, policies, classes[module], measured)
    yield "all.md", all_policies(measured)
    for family, names in families.items():
        lines = [f"# {FAMILIES[family]}", "", "```{toctree}", *names, "```", ""]
        yield f"{family}/index.md", "\n".join(lines)


def policy_page(module: str, policies: dict[str, br.Policy], classes: list[str], measured: Measured) -> str:
    """Return the page of a module: its docstring, what must be known, what was measured, its classes."""
    title, _, text = (inspect.getdoc(importlib.import_module(module)) or "").partition("\n")
    names = ", ".join(policies)
    lines = [
        f"# {names}" if len(names) < 60 else f"# {title.partition(':')[0].rstrip('.')}",
        "",
        escaped(title),
        "",
    ]
    lines += ["| in the catalogue | policy | must be known |", "| --- | --- | --- |"]
    for name, policy in policies.items():
        lines.append(f"| {name} | `{settings(policy)}` | {escaped(policy.must_know)} |")
    lines.append("")
    for policy in {type(policy): policy for policy in policies.values()}.values():
        lines.append(
            f"- **{type(policy).__name__}.** Rewards assumed: {escaped(policy.assumption)}. "
            f"Known from: {policy.known_from}; {KNOWN_FROM[policy.known_from]}. Memory: {policy.memory_cost}."
        )
    lines.append("")
    lines += [markdown(text), ""]
    lines += measured_table(policies, measured)
    lines += ["## In Python", ""]
    for name in classes:
        lines += ["```{eval-rst}", f".. autoclass:: brigand.{name}", "   :no-members:", "```", ""]
    keys = list(dict.fromkeys(policy.reference for policy in policies.values() if policy.reference))
    if keys:
        lines += ["## Citation", "", "```bibtex", *(entries()[key].rstrip() for key in keys), "```", ""]
    return "\n".join(lines)


def settings(spec: object) -> str:
    """Return a policy, or a part of one, as it is written in Python: what differs from the defaults."""
    if not dataclasses.is_dataclass(spec):
        return repr(spec)
    default = {field.name: field.default for field in dataclasses.fields(spec)}
    given = {name: getattr(spec, name) for name in default if getattr(spec, name) != default[name]}
    words = ", ".join(f"{name}={settings(value)}" for name, value in given.items())
    return f"{type(spec).__name__}({words})"


def all_policies(measured: Measured) -> str:
    """Return the page with a table of all policies."""
    lines = [
        "# All policies",
        "",
        "Mean regret at T = 10,000 and nanoseconds a step, on the [standard problems](index.md#measured).",
    ]
    lines += ["", "| policy | must be known | known from | " + " | ".join(PROBLEMS) + " | ns |"]
    lines += ["| --- | --- | --- |" + " ---: |" * (len(PROBLEMS) + 1)]
    for module, policies in policy_modules().items():
        path = "/".join(module.split(".")[-2:])
        for name, policy in policies.items():
            rows = measured.get(name, {})
            means = [
                f"{float(rows[problem]['mean']):,.0f}" if problem in rows else "–" for problem in PROBLEMS
            ]
            cells = [f"[{name}]({path}.md)", policy.must_know, policy.known_from, *means, speed(rows)]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


def speed(rows: dict[str, dict[str, str]]) -> str:
    """Return the nanoseconds of a step."""
    return f"{float(rows['Bernoulli']['nanoseconds']):,.0f}" if "Bernoulli" in rows else "–"


def escaped(line: str) -> str:
    """Return a line of plain text as Markdown, but for what stands in backticks or is bold."""
    parts = re.split(r"(`+[^`]*`+|\*\*[^*]+\*\*)", line)
    return "".join(
        part if i % 2 else re.sub(r"([*_<>\[\]$\\])", r"\\\1", part) for i, part in enumerate(parts)
    )


def markdown(text: str) -> str:
    """Return a docstring as Markdown: headings one level down, indented lines as they are."""
    lines: list[str] = []
    for line in text.strip().splitlines():
        if re.fullmatch(r"-{3,}", line) and lines and lines[-1]:
            lines[-1] = f"## {lines[-1]}\n"
        elif line.startswith("    "):
            if lines and lines[-1] and not lines[-1].startswith("    "):
                lines.append("")
            lines.append(line)
        else:
            if line and lines and lines[-1].startswith("    "):
                lines.append("")
            lines.append(escaped(line))
    return "\n".join(lines)


def read_measured(path: Path) -> Measured:
    """Return what `benchmarks/standard.py` measured, by policy and problem."""
    found: Measured = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["policy"], {})[row["problem"]] = row
    return found


def measured_table(policies: dict[str, br.Policy], measured: Measured) -> list[str]:
    """Return the lines of a table: a policy's regret on each problem, with its interval, and its speed."""
    lines = [
        "## Measured",
        "",
        "Mean regret at T = 10,000 with its 95 % interval, the median in brackets, and the time of a step,",
        "on the [five standard problems](../index.md#measured).",
        "",
    ]
    lines += [
        "| policy | " + " | ".join(PROBLEMS) + " | ns a step |",
        "| --- |" + " ---: |" * (len(PROBLEMS) + 1),
    ]
    for name in policies:
        rows = measured.get(name, {})
        cells = [regret_cell(rows.get(problem)) for problem in PROBLEMS]
        lines.append(f"| {name} | " + " | ".join([*cells, speed(rows)]) + " |")
    return [*lines, ""]


def regret_cell(row: dict[str, str] | None) -> str:
    """Return a regret with its interval and its median; a dash where the policy takes no such rewards."""
    if row is None:
        return "–"
    mean, low, high, median = (float(row[name]) for name in ("mean", "low", "high", "median"))
    few = "" if row["runs"] == "1000" else f", {row['runs']} runs"
    return f"{mean:,.0f}<br>{low:,.0f} to {high:,.0f}<br>({median:,.0f}{few})"


# The API reference.


def api_pages() -> Iterator[tuple[str, str]]:
    """Yield path and text of the pages of the API reference."""
    for page, (title, names) in API.items():
        yield f"{page}.rst", api_page(title, "brigand", names)
    for module, title in MODULES.items():
        yield f"{module}.rst", module_page(title, f"brigand.{module}")
    yield "index.rst", api_index()


def heading(title: str, under: str = "=") -> list[str]:
    """Return the lines of a heading in reStructuredText."""
    return [title, under * len(title), ""]


def summary(names: list[str]) -> list[str]:
    """Return the lines of a table of names with the first line of each docstring."""
    return [".. autosummary::", "   :nosignatures:", "", *(f"   {name}" for name in names), ""]


def api_page(title: str, module: str, names: list[str]) -> str:
    """Return a page with a table of some names of a module, and what each docstring says."""
    lines = [*heading(title), f".. currentmodule:: {module}", "", *summary(names)]
    for name in names:
        lines += [*described(module, name), ""]
    return "\n".join(lines)


def described(module: str, name: str) -> list[str]:
    """Return the directive of autodoc for a name."""
    thing = getattr(sys.modules[module], name)
    if inspect.isclass(thing):
        kind = "autoexception" if issubclass(thing, BaseException) else "autoclass"
        return [f".. {kind}:: {module}.{name}", "   :members:"]
    if callable(thing):
        return [f".. autofunction:: {module}.{name}"]
    return [f".. autodata:: {module}.{name}", "   :no-value:"]


def module_page(title: str, name: str) -> str:
    """Return the page of a module with public names of its own."""
    module = importlib.import_module(name)
    names = public_names(module)
    lines = [*heading(title), f".. automodule:: {name}", "   :no-members:", "", *summary(names)]
    for one in names:
        lines += [*described(name, one), ""]
    return "\n".join(lines)


def public_names(module: object) -> list[str]:
    """Return the public names of a module: its ``__all__``, or what it imports ``as`` itself."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return list(listed)
    return re.findall(r"\b(\w+) as \1\b", inspect.getsource(module))  # type: ignore[arg-type]


def api_index() -> str:
    """Return the first page of the reference: every public name, with a line on each."""
    lines = [
        *heading("API reference"),
        "Every public name; ``import brigand as br``. Policies have pages of their own.",
        "",
    ]
    lines += [".. toctree::", "   :hidden:", "", *(f"   {page}" for page in (*API, *MODULES)), ""]
    for title, names in API.values():
        lines += [*heading(title, "-"), *summary([f"brigand.{name}" for name in names])]
    policies = sorted(name for names in policy_classes().values() for name in names)
    lines += [
        *heading("Policies", "-"),
        ":doc:`What is measured and how each is known </policies/index>`",
        "",
    ]
    lines += summary([f"brigand.{name}" for name in policies])
    for module, title in MODULES.items():
        lines += [*heading(title, "-"), *summary([f"brigand.{module}"])]
    return "\n".join(lines)


# The gallery.


def gallery_scripts(folder: Path) -> list[Path]:
    """Return the scripts of the gallery, in the order of their names."""
    return sorted(folder.glob("*.py"))


def gallery_pages(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield path and text of a page for each script, and of the index."""
    cards = [
        "# Gallery",
        "",
        "Each figure with the script that draws it. `make gallery` draws them all again.",
        "",
    ]
    cards += ["::::{grid} 1 2 3 3", ":gutter: 3", ""]
    names = []
    for script in gallery_scripts(folder):
        title, _, text = (inspect.cleandoc(_docstring(script))).partition("\n")
        name = script.stem
        names.append(name)
        cards += [
            f":::{{grid-item-card}} {title.rstrip('.')}",
            f":link: {name}",
            ":link-type: doc",
            f":img-top: {name}.png",
            f":img-alt: {title}",
            ":::",
            "",
        ]
        code = script.read_text(encoding="utf-8").split('"""', 2)[2].strip()
        lines = [
            f"# {title.rstrip('.')}",
            "",
            text.strip(),
            "",
            f"![{title}]({name}.png)",
            "",
            "```python",
            code,
            "```",
            "",
        ]
        yield f"{name}.md", "\n".join(lines)
    cards += ["::::", "", "```{toctree}", ":hidden:", *names, "```", ""]
    yield "index.md", "\n".join(cards)


def _docstring(script: Path) -> str:
    return script.read_text(encoding="utf-8").split('"""', 2)[1]
