"""The papers behind the package, as BibTeX."""

from __future__ import annotations

import re
from importlib.resources import files


def entries() -> dict[str, str]:
    """Return the entries of ``references.bib`` by key, in the file's order."""
    text = files("brigand").joinpath("references.bib").read_text(encoding="utf-8")
    found = re.findall(r"^@\w+\{(\w+),.*?^\}$", text, flags=re.MULTILINE | re.DOTALL)
    blocks = re.split(r"(?m)^(?=@)", text)[1:]
    return dict(zip(found, (block.strip() + "\n" for block in blocks), strict=True))
