"""A process that has compiled everything, and forks those in which tests run.

So a test may fork, be killed, limit the size of its files or trace its lines, whatever threads pytest has,
and compiles nothing.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import pickle
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from typing import Any, BinaryIO

import brigand as br

FE = br.ForcedExploration(br.Linear())
SW_FE = br.ForcedExploration(br.Linear(), window=40)
THOMPSON = br.CATALOGUE["TS-Beta"]
PATIENCE = 120
"""Seconds after which a process is taken to hang."""


class Failed(Exception):
    """Another process failed, with this traceback."""


class Child:
    """A forked process that runs a function; its result, or its failure, comes through a pipe.

    Parameters
    ----------
    function : callable
    *arguments
    """

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        end, pipe = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.close(end)
            _run(function, arguments, pipe)
        os.close(pipe)
        self._pipe = end

    def result(self) -> Any:
        """Wait for its end, and return what the function returned."""
        with open(self._pipe, "rb") as file:
            answer = file.read()
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        if not answer:
            raise Failed(f"process {self.pid} of {os.getpid()} ended with {status} and said nothing.")
        good, result = pickle.loads(answer)
        if not good:
            raise Failed(result)
        return result

    def kill(self) -> None:
        """Kill it, and wait for its end."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._pipe)


def at_once(function: Callable[..., Any], arguments: list[tuple[Any, ...]]) -> list[Any]:
    """Return what several processes make of one function, one after each tuple of arguments.

    They begin together, when all are there.
    """
    gate, key = os.pipe()
    children = [Child(_begin, gate, key, function, *one) for one in arguments]
    os.close(gate)
    os.close(key)
    return [child.result() for child in children]


def _begin(gate: int, key: int, function: Callable[..., Any], *arguments: Any) -> Any:
    os.close(key)
    os.read(gate, 1)  # returns when nobody has the key
    return function(*arguments)


def _run(function: Callable[..., Any], arguments: tuple[Any, ...], pipe: int) -> None:
    status = 1
    try:
        signal.signal(signal.SIGALRM, _hangs)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE, 5)  # again, in case that something swallows it
        try:
            answer = pickle.dumps((True, function(*arguments)))
            status = 0
        except BaseException:
            answer = pickle.dumps((False, traceback.format_exc()))
        signal.setitimer(signal.ITIMER_REAL, 0)
        with open(pipe, "wb") as file:
            file.write(answer)
    finally:
        os._exit(status)


def _hangs(*_: object) -> None:
    raise TimeoutError(f"this process hangs: it took more than {PATIENCE} seconds.")


class Warm:
    """The process. Call it with a function of a test file and with arguments: a child runs that."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # threads and forks do not go together
        )

    def __call__(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what the function returns; it is found by its name in its file."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        pickle.dump((function.__code__.co_filename, function.__name__, arguments), self._process.stdin)
        self._process.stdin.flush()
        good, result = pickle.load(self._process.stdout)
        if not good:
            raise Failed(result)
        return result

    def close(self) -> None:
        """End it."""
        self._process.communicate()


def _warm_up() -> None:
    for policy in (FE, SW_FE, THOMPSON):
        bandit = br.Bandit(["a", "b"], policy, seed=0)
        for decision in bandit.ask(3):
            bandit.tell(decision.id, 0.5)
        bandit.summary()
        bandit.history()


@functools.cache
def _module(path: str) -> Any:
    spec = importlib.util.spec_from_file_location(os.path.basename(path).removesuffix(".py"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _work_for(path: str, name: str, arguments: tuple[Any, ...]) -> Any:
    return getattr(_module(path), name)(*arguments)


def _serve(answers: BinaryIO) -> None:
    _warm_up()
    with contextlib.suppress(EOFError):
        while True:
            path, name, arguments = pickle.load(sys.stdin.buffer)
            _module(path)
            try:
                answer = True, Child(_work_for, path, name, arguments).result()
            except Failed as failure:
                answer = False, str(failure)
            pickle.dump(answer, answers)
            answers.flush()


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    with os.fdopen(os.dup(1), "wb") as file:
        os.dup2(2, 1)  # what a test prints is no answer
        _serve(file)
