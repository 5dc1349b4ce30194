"""The documentation site: `make docs` builds it into build/docs/html, and needs no network."""

import json
import pkgutil
import re
import sys
from importlib.metadata import version as version_of
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import pages  # noqa: E402

project = "Brigand"
author = "The Brigand developers"
copyright = author
version = release = version_of("brigand")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx_design",
]
templates_path = ["_templates"]
nitpicky = True
default_role = "py:obj"
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autosummary_generate = False
numpydoc_show_class_members = False
numpydoc_xref_param_type = True
numpydoc_xref_aliases = {
    "ndarray": "numpy.ndarray",
    "array-like": "numpy.typing.ArrayLike",
    "array_like": "numpy.typing.ArrayLike",
    "bool": "bool",
    "DataFrame": "pandas.DataFrame",
    "path": "os.PathLike",
    "callable": "collections.abc.Callable",
    "sequence": "collections.abc.Sequence",
    "iterable": "collections.abc.Iterable",
    "mapping": "collections.abc.Mapping",
    "datetime": "datetime.datetime",
    "timedelta": "datetime.timedelta",
}
numpydoc_xref_ignore = {"of", "or", "shape", "to", "optional", "with"}
numpydoc_xref_aliases |= {"None": "None"}

# Inventories of the names that we use, as text (version 1): nothing is fetched.
intersphinx_mapping = {
    name: (address, f"inventories/{name}.inv")
    for name, address in {
        "python": "https://docs.python.org/3/",
        "numpy": "https://numpy.org/doc/stable/",
        "scipy": "https://docs.scipy.org/doc/scipy/",
        "pandas": "https://pandas.pydata.org/docs/",
        "xarray": "https://docs.xarray.dev/en/stable/",
        "matplotlib": "https://matplotlib.org/stable/",
    }.items()
}

# With one version, its number stands in the header; with more, the theme's menu of them.
versions = json.loads((HERE / "_static" / "switcher.json").read_text(encoding="utf-8"))
html_theme = "pydata_sphinx_theme"
html_title = "Brigand"
html_static_path = ["_static"]
html_css_files = ["brigand.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "Brigand"},
    "header_links_before_dropdown": 7,
    "navbar_end": ["version-switcher" if len(versions) > 1 else "version", "theme-switcher"],
    "switcher": {"json_url": "_static/switcher.json", "version_match": release},
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright", "release"],
    "footer_center": [],
    "footer_end": [],
}


def plain_code(app, env, node, content):
    """Leave words in single backticks that are no documented name as code; a name of ours must exist."""
    if node.get("refdomain") != "py" or node.get("reftype") != "obj":
        return None
    target = node["reftarget"]
    if target.startswith("brigand."):
        try:
            pkgutil.resolve_name(target)
        except (AttributeError, ImportError):
            return None
    return content


def skip_fields(app, what, name, thing, skip, options):
    """Leave out the fields of NamedTuples, whose docstrings say nothing: "Attributes" tells of them."""
    return True if (thing.__doc__ or "").startswith("Alias for field number") else None


def plain_bars(app, what, name, thing, options, lines):
    """Let a formula such as E |X - mean| be text: reStructuredText would take it for a substitution."""
    lines[:] = [re.sub(r"\|(?=\w)", r"\\|", line) for line in lines]


def setup(app):
    """Connect what is above, and write the pages that are made from the code."""
    pages.write(HERE)
    app.connect("missing-reference", plain_code, priority=900)
    app.connect("autodoc-process-docstring", plain_bars)
    app.connect("autodoc-skip-member", skip_fields)
