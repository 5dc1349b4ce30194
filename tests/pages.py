"""Pages of the documentation, run as a reader would: blocks in order, in an empty folder."""

import json
import os
import re
import subprocess
import sys

from cli.command import PROGRAM

MARK = "\x1e"
STRICT = ["-W", "error", *(f"-W{option}" for option in sys.warnoptions)]
"""Options of Python: warnings are errors, but for those that $PYTHONWARNINGS leaves out."""
RUNNER = f"""
import json, subprocess, sys

names = {{"__name__": "__main__"}}
for language, name, code in json.load(sys.stdin):
    print("{MARK}", end="", flush=True)
    if name:
        with open(name, "w", encoding="utf-8") as file:
            file.write(code)
    elif language == "python":
        exec(compile(code, "page", "exec"), names)
    elif language == "console":
        lines = [line.removeprefix("$ ") for line in code.splitlines()]
        subprocess.run(["bash", "-e", "-c", "\\n".join(lines)], check=True)
    sys.stdout.flush()
"""


def blocks(text):
    """Yield language, file name and content of every fenced block; the name stands in its first line."""
    for language, content in re.findall(r"^```(\w+)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL):
        name = re.match(r"(?:#|//|<!--) (\w+\.\w+)(?: -->)?\n", content)
        yield language, name and name[1], content


def run_page(path, folder, replace=(), seconds=600):
    """Run the blocks of a page in one process; return what each printed, and what the page shows of it."""
    text = path.read_text(encoding="utf-8")
    for old, new in replace:
        text = text.replace(old, new)
    found = list(blocks(text))
    done = subprocess.run(
        [sys.executable, *STRICT, "-c", RUNNER],
        input=json.dumps(found),
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | {"PATH": os.pathsep.join([str(PROGRAM.parent), os.environ["PATH"]])},
        timeout=seconds,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    printed = done.stdout.split(MARK)[1:]
    shown = [block[2] if block[0] == "text" else None for block in [*found[1:], ("", None, "")]]
    return list(zip(printed, shown, strict=True))
