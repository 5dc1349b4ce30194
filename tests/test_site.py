"""The documentation site: what its pages are made of, and with --full the site as it is built."""

import importlib.util
import json
import re
import subprocess
import sys
import zlib
from html.parser import HTMLParser
from importlib.metadata import version as version_of
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import brigand as br

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def load_pages():
    spec = importlib.util.spec_from_file_location("site_pages", DOCS / "pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


pages = load_pages()


def test_every_public_name_has_one_place_in_the_reference():
    listed = [name for _, names in pages.API.values() for name in names]
    listed += [name for names in pages.policy_classes().values() for name in names]
    listed += [module for module in pages.MODULES if hasattr(br, module) and module in br.__all__]
    assert sorted(listed) == sorted(br.__all__)


def test_every_policy_was_measured_on_the_problems_that_it_accepts():
    measured = pages.read_measured(DOCS / "policies" / "measured.csv")
    assert measured.keys() == br.CATALOGUE.keys()
    for name, policy in br.CATALOGUE.items():
        anything = policy.reward_support[0] == float("-inf")
        assert set(measured[name]) <= set(pages.PROBLEMS)
        assert "Bernoulli" in measured[name]
        assert anything == ("Gaussian" in measured[name]), name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Rule\n----\nPull\n\n    mean + x_1 * 2\n\nNext.", "## Rule\n\nPull\n\n    mean + x_1 * 2\n\nNext."),
        ("a * b, `c * d`, **bold**, e_i", "a \\* b, `c * d`, **bold**, e\\_i"),
        ("the arm with\n    max x\nelse", "the arm with\n\n    max x\n\nelse"),
    ],
)
def test_docstrings_become_markdown(text, expected):
    assert pages.markdown(text) == expected


def test_every_page_of_a_policy_says_what_is_promised():
    made = dict(pages.policy_pages(DOCS))
    for module, policies in pages.policy_modules().items():
        text = made["/".join(module.split(".")[-2:]) + ".md"]
        for words in (
            "## Rule",
            "## Source",
            "## Measured",
            "## In Python",
            "Rewards assumed",
            "must be known",
        ):
            assert words in text, (module, words)
        assert all(f"| {name} |" in text for name in policies)


# The site as it is built.


class Page(HTMLParser):
    """The links of a page, what can be linked to in it, and what a browser loads with it."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors, self.loaded = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found[key] for key in ("id", "name") if found.get(key)}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in ("script", "img", "iframe") and "src" in found:
            self.loaded.append(found["src"])
        if tag == "link" and found.get("rel") in ("stylesheet", "preload", "icon"):
            self.loaded.append(found["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("sphinx")
    made = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet"]
    done = subprocess.run(
        [*command, "--doctree-dir", made / "doctrees", DOCS, made / "html"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return made / "html"


@pytest.fixture(scope="module")
def built(site):
    paths = [path for path in site.rglob("*.html") if "_static" not in path.parts]
    return {path: Page(path.read_text(encoding="utf-8")) for path in paths}


@pytest.mark.full
def test_every_public_name_stands_in_the_inventory(site):
    content = (site / "objects.inv").read_bytes().split(b"\n", 4)[4]
    names = {line.split()[0] for line in zlib.decompress(content).decode().splitlines()}
    assert {f"brigand.{name}" for name in br.__all__} <= names


def test_this_version_is_one_of_those_that_can_be_chosen():
    versions = json.loads((DOCS / "_static" / "switcher.json").read_text(encoding="utf-8"))
    assert version_of("brigand") in [one["version"] for one in versions]


@pytest.mark.full
def test_the_version_stands_in_the_header_of_every_page(built):
    for path in built:
        header, _, _ = path.read_text(encoding="utf-8").partition("</header>")
        assert f">{version_of('brigand')}</a>" in header, path


@pytest.mark.full
def test_no_link_of_the_site_is_broken(built):
    broken = []
    for path, page in built.items():
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            missing = not target.exists()
            if not missing and parts.fragment and target in built:
                missing = unquote(parts.fragment) not in built[target].anchors
            if missing:
                broken.append((path.name, link))
    assert broken == []


@pytest.mark.full
def test_the_site_loads_nothing_from_another_host(built):
    assert [link for page in built.values() for link in page.loaded if re.match(r"(https?:)?//", link)] == []


@pytest.mark.full
def test_types_link_to_the_packages_that_define_them(built):
    links = {link for page in built.values() for link in page.links}
    for host in ("numpy.org", "docs.xarray.dev", "pandas.pydata.org", "matplotlib.org", "docs.python.org"):
        assert any(f"//{host}/" in link for link in links), host
