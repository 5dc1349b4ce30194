"""The report: one file that needs no other. And the commands that read studies."""

import html.parser
import json
import re

import pytest
import typer
from typer.testing import CliRunner

import brigand as br
from brigand.cli import results as commands
from brigand.figures import style
from brigand.figures.page import inline_svg
from brigand.studies.report import report, write_report
from brigand.studies.results import StudyResults
from brigand.studies.run import run_study

TEXT = """
name: A <b>study</b> & more
description: |
  Does "FE" win?
  <script>alert(1)</script>
environments:
  - name: several
    random: {family: bernoulli, arms: 3, instances: 6}
  - name: one
    arms: [{type: Bernoulli, p: 0.2}, {type: Bernoulli, p: 0.7}]
horizon: 300
replications: 5
checkpoints: 6
policies:
  - FE-Exp
  - {policy: FE-Linear, name: 'FE <linear> "id="'}
  - UCB1
baseline: UCB1
"""
NAMES = ("FE-Exp", 'FE <linear> "id="', "UCB1")
VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(html.parser.HTMLParser):
    """What a page has: ids, links, resources, texts; and whether its elements are nested well."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.texts, self.references = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        self.texts.append(text.strip())

    def all(self, name):
        return [attributes[name] for _, attributes in self.elements if name in attributes]

    def count(self, name):
        return sum(tag == name for tag, _ in self.elements)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    (folder / "given.yaml").write_text(TEXT, encoding="utf-8")
    run_study(folder / "given.yaml", folder / "results", workers=2)
    return StudyResults(folder / "results")


@pytest.fixture(scope="module")
def text(results):
    return report(results)


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def brigand(*arguments):
    app = typer.Typer()
    for name in ("compare", "plot", "report"):
        app.command(name)(getattr(commands, name))
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "120"})


@pytest.mark.full
def test_the_report_needs_nothing_else(page, text):
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"link", "img", "iframe", "object", "embed", "image", "video", "audio", "base"}
    for name in ("href", "src", "srcset", "xlink:href", "action", "data"):
        assert all(value.startswith("#") for value in page.all(name))
    assert re.findall(r"https?:", text) == []
    assert re.findall(r"@import|url\((?!#)", text) == []
    assert [attributes for tag, attributes in page.elements if tag == "script"] == [{}]


@pytest.mark.full
def test_ids_are_unique_and_references_lead_somewhere(page, text):
    ids = page.all("id")
    assert len(set(ids)) == len(ids)
    used = {value[1:] for value in page.all("href")} | set(re.findall(r"url\(#([^)]*)\)", text))
    assert used <= set(ids)
    assert any(name.startswith("f2-") for name in used)


def test_everything_is_in_the_report(page, results):
    for name in NAMES:
        assert page.texts.count(name) >= 5  # two tables a problem, and the list of policies
    for heading in ("Regret at T", "Comparison", "Figures", "What was run", "How to reproduce"):
        assert heading in page.texts
    assert page.count("table") == 8  # two of all problems, two of each, problems and policies
    whole = "\n".join(page.texts)
    assert json.dumps(results.policy("FE-Exp")["policy"]) in whole
    assert '"family": "bernoulli"' in whole
    assert TEXT.strip() in whole
    assert "brigand run study.yaml --out results" in whole
    for fact in ("6 instances × 5 runs", "A <b>study</b> & more", "UCB1", "Brigand 0.1.0", "Seed"):
        assert fact in whole
    assert "Friedman" in whole
    mean = results.summary().loc["several", "UCB1"]["mean"]
    cells = [float(value) for value in page.all("data-value")]
    assert pytest.approx(mean) in cells


def test_what_users_write_is_escaped_in_the_page(text):
    assert "<script>alert" not in text
    assert "<b>study" not in text
    assert "<linear>" not in text
    assert text.count("<script>") == 1


def test_figures_are_inline_and_described(page):
    figures = [attributes for tag, attributes in page.elements if tag == "svg"]
    assert len(figures) == page.count("figure") == 10
    for attributes in figures:
        assert attributes["role"] == "img"
        assert "A <b>study</b> & more: " in attributes["aria-label"]
        assert attributes["viewbox"]
        assert page.all("id").count(attributes["aria-describedby"]) == 1
    assert page.count("desc") == len(figures)
    for policy in ("FE-Exp", "UCB1"):
        assert any(f"{policy} ends at" in words for words in page.texts)
    assert page.count("style") == 1
    assert page.count("metadata") == 0


def test_two_figures_share_no_ids():
    figure = style.new_figure(2, 2)
    figure.add_subplot().plot([1, 2], [1, 2], marker="o")
    pages = [Page(str(inline_svg(figure, prefix, "x"))) for prefix in ("a-", "b-")]
    first, second = (set(page.all("id")) for page in pages)
    assert first
    assert not first & second
    assert {name[:2] for name in first | second} == {"a-", "b-"}


@pytest.mark.full
def test_the_file_is_whole_or_not_there(results, tmp_path, text):
    path = write_report(results, tmp_path / "x.html")
    assert path.read_text(encoding="utf-8") == text  # also: the same, however often it is made
    with pytest.raises(br.ResultFileError, match="cannot be written"):
        write_report(results, tmp_path / "nowhere" / "x.html")


def test_a_study_without_a_figure_has_a_report(tmp_path):
    small = TEXT.replace("baseline: UCB1", "figures: []")
    (tmp_path / "given.yaml").write_text(small, encoding="utf-8")
    run_study(tmp_path / "given.yaml", tmp_path / "results", workers=1)
    (tmp_path / "results" / "study.yaml").unlink()
    page = Page(report(StudyResults(tmp_path / "results")))
    assert page.count("figure") == page.count("svg") == 0
    assert "Figures" not in page.texts
    assert page.count("pre") == 1


def test_compare_prints_tables(results):
    done = brigand("compare", results.folder)
    assert done.exit_code == 0
    for word in ("several, T = 300; 6 instances × 5 runs", "minus UCB1", "wins", "rank", "Friedman", *NAMES):
        assert word in done.output
    assert done.output.count("95 %: interval of the mean") == 2  # once over runs, once over instances
    done = brigand("compare", results.folder, "--baseline", "FE-Exp")
    assert "minus FE-Exp" in done.output
    done = brigand("compare", results.folder, "--baseline", "FE")
    assert isinstance(done.exception, br.UnknownNameError)


@pytest.mark.full
def test_plot_writes_the_figures_that_are_asked_for(results, tmp_path):
    done = brigand("plot", results.folder, "--figure", "final", "--out", tmp_path / "out")
    assert done.exit_code == 0
    names = {f"final-{problem}.{suffix}" for problem in ("one", "several") for suffix in style.FORMATS}
    assert {path.name for path in (tmp_path / "out").iterdir()} == names
    done = brigand("plot", results.folder, "--figure", "sweep", "--out", tmp_path / "none")
    assert isinstance(done.exception, br.InvalidValueError)
    assert not (tmp_path / "none").exists()


@pytest.mark.full
def test_report_writes_a_file(results, tmp_path):
    done = brigand("report", results.folder, "--out", tmp_path / "deep" / "x.html")
    assert done.exit_code == 0
    assert (tmp_path / "deep" / "x.html").stat().st_size > 100_000
    done = brigand("report", tmp_path)
    assert isinstance(done.exception, br.ResultFileError)
    assert not (tmp_path / "report.html").exists()
