"""The command ``brigand``: parses, calls, prints."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import warnings
from functools import cache
from io import TextIOWrapper
from typing import NoReturn

import typer
from rich.text import Text

from brigand.cli.bandit_text import visible
from brigand.cli.console import make_console
from brigand.cli.interrupts import promptly
from brigand.errors import BrigandError, ClusterError

NOT_WRITTEN = (errno.ENOSPC, errno.EPIPE, errno.EBADF, errno.EIO, errno.EFBIG)

app = typer.Typer(
    help="Brigand: multi-armed bandits that need to know nothing about the reward distribution.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    add_completion=False,
)


def main() -> None:
    """Run the command; a mistake of the user's ends in one line, never in a traceback."""
    _register()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ± gets a question mark
    try:
        with warnings.catch_warnings(), promptly():
            warnings.showwarning = _warn
            if sys.stdout is None:
                raise OSError(errno.EBADF, "it is closed")
            app()
    except (BrigandError, ModuleNotFoundError) as error:
        message = str(error)
        if isinstance(error, ModuleNotFoundError):
            message = f"{message}, which this needs: 'pip install brigand' installs all of it."
        _say("Error:", message)
        sys.exit(1 if isinstance(error, ClusterError) else 2)
    except OSError as error:
        if error.errno not in NOT_WRITTEN or error.filename is not None:
            _say("Error:", f"{error}.")
            sys.exit(2)
        _give_up(error)  # of files there is a BrigandError: this one is of what was printed
    except SystemExit:
        _flush()
        raise
    _flush()


def _say(what: str, message: str) -> None:
    with contextlib.suppress(OSError):  # nobody can be told
        text = Text.assemble((what, "red"), f" {visible(message)}")
        make_console(stderr=True).print(text, soft_wrap=True, highlight=False)


def _warn(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: object = None,
    line: str | None = None,
) -> None:
    _say("Warning:", str(message))


def _flush() -> None:
    """Write what was printed, as long as somebody can be told that it fails."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        _give_up(error)


def _give_up(error: OSError) -> NoReturn:
    """End where the output cannot be written: at once, for Python would try again."""
    if error.errno != errno.EPIPE:  # who closes a pipe has read enough
        _say("Error:", f"the output cannot be written: {error.strerror or error}.")
    with contextlib.suppress(OSError, AttributeError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(1)


@cache
def _register() -> None:
    """Register all commands: late, so that those who import one of them do not load the others."""
    from brigand.cli import (
        bandit,
        bounds,
        catalogue,
        errata,
        evaluate,
        key,
        log,
        paper,
        replay,
        results,
        serve,
        store,
        studies,
        tune,
        validate,
    )

    app.command("paper")(paper.paper)
    app.command("run")(studies.run)
    app.command("merge")(studies.merge)
    app.command("status")(studies.status)
    app.command("verify")(studies.verify)
    app.command("clean")(studies.clean)
    app.command("schema")(studies.schema)
    app.command("compare")(results.compare)
    app.command("plot")(results.plot)
    app.command("report")(results.report)
    app.command("validate")(validate.validate)
    app.command("tune")(tune.tune)
    app.command("bounds")(bounds.bounds)
    app.command("errata")(errata.errata)
    app.command("evaluate")(evaluate.evaluate)
    app.add_typer(bandit.app, name="bandit")
    app.add_typer(store.app, name="store")
    app.add_typer(log.app, name="log")
    app.command("replay")(replay.replay)
    app.command("serve")(serve.serve)
    app.command("dashboard")(serve.dashboard)
    app.add_typer(key.app, name="key")
    app.command("policies")(catalogue.policies)
    app.command("cite")(catalogue.cite)


@app.callback(invoke_without_command=True)
def version(
    show: bool = typer.Option(False, "--version", help="Print the version and exit.", is_eager=True),
) -> None:
    """Multi-armed bandits that need to know nothing about the reward distribution."""
    if show:
        from brigand import __version__

        typer.echo(__version__)
        raise typer.Exit
