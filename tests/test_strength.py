"""`docs/testing.md` lists what only the full tests have."""

import re
from pathlib import Path

TESTS = Path(__file__).parent
HERE = ("ahead.py", "conftest.py", "strength.py", "test_strength.py")


def test_the_page_lists_the_files_that_are_stronger_with_full():
    files = {str(path.relative_to(TESTS)): path.read_text(encoding="utf-8") for path in TESTS.rglob("*.py")}
    stronger = {
        name
        for name, text in files.items()
        if name not in HERE and re.search(r"^from strength import|mark\.(?:full|every)\b", text, re.MULTILINE)
    }
    page = (TESTS.parent / "docs" / "testing.md").read_text(encoding="utf-8")
    assert stronger == set(re.findall(r"^\| (\S+\.py) \|", page, re.MULTILINE))
