"""The command ``brigand``: in this process, or with --full as a user meets it, in one of its own."""

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

from brigand.cli import main
from strength import full

PROGRAM = Path(sys.executable).with_name("brigand")


def in_a_process(*arguments, cwd=None, columns=100):
    """Run the command in a process of its own, which takes seconds to load a compiler."""
    return subprocess.run(
        [PROGRAM, *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=os.environ | {"COLUMNS": str(columns), "NO_COLOR": "1"},
    )


def in_this_process(*arguments, cwd=None, columns=100):
    """Run the command in this process; return what came of it."""
    out, errors, status = io.StringIO(), io.StringIO(), 0
    with (
        contextlib.chdir(cwd or "."),
        mock.patch.dict(os.environ, COLUMNS=str(columns), NO_COLOR="1"),
        mock.patch.object(sys, "argv", ["brigand", *map(str, arguments)]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(errors),
    ):
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
    return subprocess.CompletedProcess(arguments, status, out.getvalue(), errors.getvalue())


brigand = in_a_process if full else in_this_process
