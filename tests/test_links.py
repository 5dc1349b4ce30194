"""What README.md and docs/ name exists: linked files and headings, paths of the repository, Python names."""

import pkgutil
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "tutorials").glob("*.md")),
]
MADE = ("gallery/index.md", "policies/all.md", "api/index.rst")  # `make docs` makes them

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def anchors(page):
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@each_page
def test_relative_links_lead_to_a_file_and_a_heading(page):
    links = re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
    for link in links:
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if path.endswith(MADE):
            continue
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@each_page
def test_paths_of_the_repository_exist(page):
    text = page.read_text(encoding="utf-8")
    for path in re.findall(r"(?<![\w./])(?:src|tests|docs|examples|benchmarks)/[\w./-]*\w", text):
        assert (ROOT / path).exists(), path


@each_page
def test_names_of_the_package_exist(page):
    text = page.read_text(encoding="utf-8")
    names = re.findall(r"(?<![\w./-])(?:brigand|br)((?:\.[A-Za-z_]\w*)+)", text)
    for name in sorted(set(names)):
        try:
            pkgutil.resolve_name(f"brigand{name}")
        except (AttributeError, ImportError) as error:
            pytest.fail(f"brigand{name}: {error}")
